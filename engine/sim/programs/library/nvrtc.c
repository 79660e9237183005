/* nvrtc.c - a libnvrtc.so that forwards calls to NVIDIA's library ($KILN_NVRTC, or the library of the toolkit) and
 * always produces PTX. A program that asks for machine code (nvrtcGetCUBIN) gets the PTX, which the simulated device
 * can load. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These types stand in NVIDIA's header nvrtc.h. This file declares the types itself, because it serves two versions of
 * NVRTC, and each header is for one version. */
typedef int result;
typedef void *program;
enum { OUT_OF_MEMORY = 1, INVALID_INPUT = 3, INTERNAL_ERROR = 11 };

#define FUNCTIONS(X)                                                                                                   \
    X(nvrtcVersion, (int *major, int *minor), (major, minor))                                                          \
    X(nvrtcGetNumSupportedArchs, (int *count), (count))                                                                \
    X(nvrtcGetSupportedArchs, (int *archs), (archs))                                                                   \
    X(nvrtcCreateProgram,                                                                                              \
      (program * p, const char *source, const char *name, int count, const char *const *headers,                       \
       const char *const *names),                                                                                      \
      (p, source, name, count, headers, names))                                                                        \
    X(nvrtcDestroyProgram, (program * p), (p))                                                                         \
    X(nvrtcGetPTXSize, (program p, size_t * size), (p, size))                                                          \
    X(nvrtcGetPTX, (program p, char *to), (p, to))                                                                     \
    X(nvrtcGetLTOIRSize, (program p, size_t * size), (p, size))                                                        \
    X(nvrtcGetLTOIR, (program p, char *to), (p, to))                                                                   \
    X(nvrtcGetOptiXIRSize, (program p, size_t * size), (p, size))                                                      \
    X(nvrtcGetOptiXIR, (program p, char *to), (p, to))                                                                 \
    X(nvrtcGetProgramLogSize, (program p, size_t * size), (p, size))                                                   \
    X(nvrtcGetProgramLog, (program p, char *to), (p, to))                                                              \
    X(nvrtcAddNameExpression, (program p, const char *name), (p, name))                                                \
    X(nvrtcGetLoweredName, (program p, const char *name, const char **lowered), (p, name, lowered))                    \
    X(nvrtcGetPCHHeapSize, (size_t * size), (size))                                                                    \
    X(nvrtcSetPCHHeapSize, (size_t size), (size))                                                                      \
    X(nvrtcGetPCHCreateStatus, (program p), (p))                                                                       \
    X(nvrtcGetPCHHeapSizeRequired, (program p, size_t * size), (p, size))                                              \
    X(nvrtcSetFlowCallback, (program p, int (*callback)(void *, void *), void *payload), (p, callback, payload))

static struct {
    const char *(*nvrtcGetErrorString)(result);
    result (*nvrtcCompileProgram)(program, int, const char *const *);
#define X(name, declared, passed) result(*name) declared;
    FUNCTIONS(X)
#undef X
} real;

#define PUBLIC __attribute__((visibility("default")))
PUBLIC result nvrtcVersion(int *major, int *minor);

/* Opens NVIDIA's library, but never this library under another path. */
static void *open_at(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL
#ifdef RTLD_DEEPBIND /* the library's internal calls must not reach the functions of this file */
                                     | RTLD_DEEPBIND
#endif
    );
    result (*here)(int *, int *) = nvrtcVersion;
    void *there = library ? dlsym(library, "nvrtcVersion") : NULL;
    if (there && memcmp(&there, (const void *)&here, sizeof there) != 0)
        return library;
    if (library)
        dlclose(library);
    return NULL;
}

/* NVRTC opens libnvrtc-builtins by its name, without a folder, at the first compile. If the loader does not find that
 * file, the compile fails with NVRTC_ERROR_BUILTIN_OPERATION_FAILURE. NVIDIA's Python wheels put libnvrtc-builtins
 * beside NVRTC, in a folder that the loader does not search. If a library is already open, the loader finds it by its
 * name. So this function opens the file by its path. If the file is not beside NVRTC, the loader may still find it. */
static void open_builtins(result (*version)(int *, int *))
{
    Dl_info info;
    void *function;
    char path[PATH_MAX];
    int major = 0, minor = 0;
    memcpy(&function, (const void *)&version, sizeof function);
    if (!version || version(&major, &minor) != 0 || !dladdr(function, &info) || !info.dli_fname)
        return;
    const char *end = strrchr(info.dli_fname, '/');
    int folder = end ? (int)(end - info.dli_fname) : 0;
    int length = snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", folder, info.dli_fname, major, minor);
    if (end && length > 0 && (size_t)length < sizeof path)
        dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Opens NVIDIA's library at the first place that has it, and takes its functions. The places are, in this order:
 * $KILN_NVRTC, the toolkit of $CUDA_HOME or $CUDA_PATH, /usr/local/cuda, and the toolkit of the build. If no library is
 * found, `real` stays empty. */
static void find(void)
{
    static const char *const variables[] = {"KILN_NVRTC", "CUDA_HOME", "CUDA_PATH", NULL, NULL};
    static const char *const places[] = {
        "%s", "%s/lib64/libnvrtc.so." NVRTC_VERSION, "%s/lib64/libnvrtc.so." NVRTC_VERSION,
        "/usr/local/cuda/lib64/libnvrtc.so." NVRTC_VERSION, KILN_CUDA_ROOT "/lib/libnvrtc.so." NVRTC_VERSION};
    char path[PATH_MAX];
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !library; i++) {
        const char *value = variables[i] ? getenv(variables[i]) : "";
        const char *percent = strchr(places[i], '%');
        if (value && (size_t)snprintf(path, sizeof path, "%s%s", percent ? value : "",
                                      percent ? percent + 2 : places[i]) < sizeof path)
            library = open_at(path);
    }
    if (!library) {
        fprintf(stderr, "kiln: nvrtc: NVIDIA's libnvrtc.so.%s was not found; set KILN_NVRTC to it\n", NVRTC_VERSION);
        return;
    }
    void *found;
#define FIND(name)                                                                                                     \
    found = dlsym(library, #name);                                                                                     \
    memcpy(&real.name, &found, sizeof found);
#define X(name, declared, passed) FIND(name)
    FUNCTIONS(X)
#undef X
    FIND(nvrtcGetErrorString)
    FIND(nvrtcCompileProgram)
    open_builtins(real.nvrtcVersion);
}

static void load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
}

#define X(name, declared, passed)                                                                                      \
    PUBLIC result name declared;                                                                                       \
    result name declared                                                                                               \
    {                                                                                                                  \
        load();                                                                                                        \
        return real.name ? real.name passed : INTERNAL_ERROR;                                                          \
    }
FUNCTIONS(X)
#undef X

PUBLIC const char *nvrtcGetErrorString(result error);
const char *nvrtcGetErrorString(result error)
{
    load();
    return real.nvrtcGetErrorString ? real.nvrtcGetErrorString(error) : "NVRTC_ERROR_INTERNAL_ERROR";
}

PUBLIC result nvrtcGetCUBINSize(program p, size_t *size);
PUBLIC result nvrtcGetCUBIN(program p, char *to);
result nvrtcGetCUBINSize(program p, size_t *size) { return nvrtcGetPTXSize(p, size); }
result nvrtcGetCUBIN(program p, char *to) { return nvrtcGetPTX(p, to); }

/* Returns the number in an option that names an architecture for machine code, such as 90 in -arch=sm_90. `before` is
 * the option before it, or "", because -arch and its value may be two options. Returns NULL for any other option. */
static const char *machine_number(const char *option, const char *before)
{
    static const char *const names[] = {"-arch=sm_", "--gpu-architecture=sm_", "-arch sm_", "sm_"};
    const bool asked = strcmp(before, "-arch") == 0 || strcmp(before, "--gpu-architecture") == 0;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if ((names[k][0] == '-' || asked) && strncmp(option, names[k], strlen(names[k])) == 0)
            return option + strlen(names[k]);
    return NULL;
}

/* Replaces an option such as sm_90 by compute_90, so that NVRTC makes PTX. */
PUBLIC result nvrtcCompileProgram(program p, int count, const char *const *options);
result nvrtcCompileProgram(program p, int count, const char *const *options)
{
    if (count > 0 && !options)
        return INVALID_INPUT;
    load();
    if (!real.nvrtcCompileProgram)
        return INTERNAL_ERROR;
    char **mine = count > 0 ? calloc((size_t)count, sizeof *mine) : NULL;
    result got = count > 0 && !mine ? OUT_OF_MEMORY : 0;
    for (int i = 0; i < count && got == 0; i++) {
        const char *option = options[i] ? options[i] : "";
        const char *rest = machine_number(option, i > 0 && options[i - 1] ? options[i - 1] : "");
        size_t room = strlen(option) + sizeof "compute_";
        mine[i] = malloc(room);
        if (!mine[i])
            got = OUT_OF_MEMORY;
        else if (rest)
            snprintf(mine[i], room, "%.*scompute_%s", (int)(rest - option) - 3, option, rest);
        else
            memcpy(mine[i], option, strlen(option) + 1);
    }
    if (got == 0)
        got = real.nvrtcCompileProgram(p, count, (const char *const *)mine);
    for (int i = 0; mine && i < count; i++)
        free(mine[i]);
    free(mine);
    return got;
}
