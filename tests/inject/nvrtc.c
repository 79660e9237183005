/* nvrtc.c - an NVRTC that remembers its answers. It answers known requests from files. For any other request it loads
 * the real NVRTC and asks it. A run of the command becomes about five times faster, and all runs are alike.
 *
 *   INJECT_NVRTC  the real libnvrtc.so
 *   INJECT_MEMO   the folder of the files */
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) (__extension__(__typeof__(&name)) real(#name))

enum { NAMES = 16, HEADERS = 16, PARTS = 3 + NAMES, PTX = 0, CUBIN, LOG, LOWERED };

struct _nvrtcProgram {
    nvrtcProgram real;
    uint64_t key;
    char *source, *name, *headers[HEADERS], *header_names[HEADERS], *names[NAMES];
    int header_count, name_count;
    size_t sizes[PARTS];
    char *parts[PARTS];
    nvrtcResult result;
};

static void *real(const char *name)
{
    static void *library;
    const char *path = getenv("INJECT_NVRTC");
    if (!library)
        library = dlopen(path ? path : "libnvrtc.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "no %s in INJECT_NVRTC\n", name);
        abort();
    }
    return found;
}

static FILE *memo(const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("INJECT_MEMO"), name);
    return fopen(path, mode);
}

/* ---- functions without a program ---- */

static struct info {
    int major, minor, count, archs[256];
} info;

static void load_info(void)
{
    FILE *file = info.major ? NULL : memo("info", "re");
    if (info.major)
        return;
    if (file && fread(&info, sizeof info, 1, file) == 1) {
        fclose(file);
        return;
    }
    if (file)
        fclose(file);
    REAL(nvrtcVersion)(&info.major, &info.minor);
    REAL(nvrtcGetNumSupportedArchs)(&info.count);
    if (info.count < 256)
        REAL(nvrtcGetSupportedArchs)(info.archs);
    file = memo("info", "we");
    if (file) {
        fwrite(&info, sizeof info, 1, file);
        fclose(file);
    }
}

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor)
{
    load_info();
    *major = info.major;
    *minor = info.minor;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    load_info();
    *count = info.count;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int *archs)
{
    load_info();
    memcpy(archs, info.archs, (size_t)info.count * sizeof *archs);
    return NVRTC_SUCCESS;
}

EXPORT const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_ERROR_INTERNAL_ERROR ? "NVRTC_ERROR_INTERNAL_ERROR" : REAL(nvrtcGetErrorString)(result);
}

/* ---- programs ---- */

static uint64_t mix(uint64_t key, const char *text)
{
    if (text)
        for (; *text; text++)
            key = (key ^ (unsigned char)*text) * 1099511628211u;
    return (key ^ 255) * 1099511628211u;
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int count,
                                      const char *const *headers, const char *const *names)
{
    nvrtcProgram made = calloc(1, sizeof *made);
    if (count > HEADERS)
        return NVRTC_ERROR_INVALID_INPUT;
    made->source = strdup(source);
    made->name = strdup(name);
    made->key = mix(mix(14695981039346656037u, source), name);
    for (int i = 0; i < count; i++) {
        made->headers[i] = strdup(headers[i]);
        made->header_names[i] = strdup(names[i]);
        made->key = mix(mix(made->key, headers[i]), names[i]);
    }
    made->header_count = count;
    *program = made;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    nvrtcProgram gone = *program;
    if (gone->real)
        REAL(nvrtcDestroyProgram)(&gone->real);
    free(gone->source);
    free(gone->name);
    for (int i = 0; i < HEADERS; i++) {
        free(gone->headers[i]);
        free(gone->header_names[i]);
    }
    for (int i = 0; i < NAMES; i++)
        free(gone->names[i]);
    for (int i = 0; i < PARTS; i++)
        free(gone->parts[i]);
    free(gone);
    *program = NULL;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *name)
{
    if (program->name_count == NAMES)
        return NVRTC_ERROR_INVALID_INPUT;
    program->names[program->name_count++] = strdup(name);
    return NVRTC_SUCCESS;
}

static bool recall(nvrtcProgram program, FILE *file)
{
    if (fread(&program->result, sizeof program->result, 1, file) != 1 ||
        fread(program->sizes, sizeof program->sizes, 1, file) != 1)
        return false;
    for (int i = 0; i < PARTS; i++) {
        program->parts[i] = calloc(1, program->sizes[i] + 1);
        if (fread(program->parts[i], 1, program->sizes[i], file) != program->sizes[i])
            return false;
    }
    return true;
}

static void keep(nvrtcProgram program, int part, nvrtcResult (*size)(nvrtcProgram, size_t *),
                 nvrtcResult (*get)(nvrtcProgram, char *))
{
    if (size(program->real, &program->sizes[part]) != NVRTC_SUCCESS)
        program->sizes[part] = 0;
    program->parts[part] = calloc(1, program->sizes[part] + 1);
    if (program->sizes[part])
        get(program->real, program->parts[part]);
}

static void compile(nvrtcProgram program, int count, const char *const *options)
{
    REAL(nvrtcCreateProgram)
    (&program->real, program->source, program->name, program->header_count, (const char *const *)program->headers,
     (const char *const *)program->header_names);
    for (int i = 0; i < program->name_count; i++)
        REAL(nvrtcAddNameExpression)(program->real, program->names[i]);
    program->result = REAL(nvrtcCompileProgram)(program->real, count, options);
    keep(program, PTX, REAL(nvrtcGetPTXSize), REAL(nvrtcGetPTX));
    keep(program, CUBIN, REAL(nvrtcGetCUBINSize), REAL(nvrtcGetCUBIN));
    keep(program, LOG, REAL(nvrtcGetProgramLogSize), REAL(nvrtcGetProgramLog));
    for (int i = 0; i < program->name_count; i++) {
        const char *lowered = "";
        if (program->result == NVRTC_SUCCESS)
            REAL(nvrtcGetLoweredName)(program->real, program->names[i], &lowered);
        program->parts[LOWERED + i] = strdup(lowered ? lowered : "");
        program->sizes[LOWERED + i] = strlen(program->parts[LOWERED + i]);
    }
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    char name[32];
    uint64_t key = program->key;
    for (int i = 0; i < count; i++)
        key = mix(key, options[i]);
    for (int i = 0; i < program->name_count; i++)
        key = mix(key, program->names[i]);
    snprintf(name, sizeof name, "%016llx.bin", (unsigned long long)key);
    FILE *file = memo(name, "re");
    bool known = file && recall(program, file);
    if (file)
        fclose(file);
    if (known)
        return program->result;
    compile(program, count, options);
    file = memo(name, "we");
    if (file) {
        fwrite(&program->result, sizeof program->result, 1, file);
        fwrite(program->sizes, sizeof program->sizes, 1, file);
        for (int i = 0; i < PARTS; i++)
            fwrite(program->parts[i] ? program->parts[i] : "", 1, program->sizes[i], file);
        fclose(file);
    }
    return program->result;
}

EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *name, const char **lowered)
{
    for (int i = 0; i < program->name_count; i++)
        if (strcmp(program->names[i], name) == 0) {
            *lowered = program->parts[LOWERED + i];
            return NVRTC_SUCCESS;
        }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

static nvrtcResult give(nvrtcProgram program, int part, char *to)
{
    if (!program || !program->parts[part])
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(to, program->parts[part], program->sizes[part]);
    return NVRTC_SUCCESS;
}

static nvrtcResult give_size(nvrtcProgram program, int part, size_t *size)
{
    if (!program || !program->parts[part])
        return NVRTC_ERROR_INVALID_PROGRAM;
    *size = program->sizes[part];
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) { return give_size(program, PTX, size); }

EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *to) { return give(program, PTX, to); }

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) { return give_size(program, CUBIN, size); }

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *to) { return give(program, CUBIN, to); }

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) { return give_size(program, LOG, size); }

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *to) { return give(program, LOG, to); }
