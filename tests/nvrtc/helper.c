/* helper.c - helper FD: asks NVIDIA's NVRTC for the stand-in (library.c) at the other end of the socket FD.
 *            helper listen FD: for the one that will connect with the socket FD.
 *
 * It remembers answers in $KILN_TEST_CACHE/nvrtc, if that variable is set: a file for each request, which has the whole
 * request, so that an answer can never be another request's. It does not remember:
 *   - a request that may read files which are not in the request, other than the CUDA headers of this build;
 *   - precompiled headers;
 *   - results that say nothing about the source.
 * A key has the times of NVIDIA's library and of the folders of its headers, so that an update begins anew.
 *
 * NVIDIA's library is loaded when there is first something to ask. It writes the current folder into the PTX, so every request
 * is compiled in the same folder. */
#include <dlfcn.h>
#include <nvrtc.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "wire.h"

enum { PATH_BYTES = 4096 };

#define REAL(name) (__extension__(__typeof__(&name)) find(#name))

static void *find(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen(KILN_NVRTC_REAL, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "helper: %s of " KILN_NVRTC_REAL ": %s\n", name, dlerror());
        abort();
    }
    return found;
}

/* ---- the memory ---- */

/* Writes the path of the file of a request, which depends on NVIDIA's library and headers too. The time of a folder changes
 * when a file in it is replaced. The path is "" if no folder is named by its full path. */
static void name_file(const message *request, char path[PATH_BYTES])
{
    const char *folder = getenv("KILN_TEST_CACHE");
    static const char *const compiler[] = {KILN_NVRTC_REAL, KILN_CUDA_HEADERS "/../lib", KILN_CUDA_HEADERS "/../lib64",
                                           KILN_CUDA_HEADERS, KILN_CUDA_HEADERS "/cccl/cuda/std"};
    uint64_t identity[sizeof compiler / sizeof *compiler][3] = {{0}};
    *path = '\0';
    if (!folder || *folder != '/' || strlen(folder) > PATH_BYTES / 2)
        return;
    for (size_t i = 0; i < sizeof compiler / sizeof *compiler; i++) {
        struct stat is;
        if (stat(compiler[i], &is) == 0)
            memcpy(identity[i], (uint64_t[]){(uint64_t)is.st_size, (uint64_t)is.st_mtim.tv_sec, is.st_ino},
                   sizeof identity[i]);
    }
    const XXH128_hash_t key = XXH3_128bits_withSeed(request->data, request->length,
                                                    XXH3_64bits(identity, sizeof identity));
    snprintf(path, PATH_BYTES, "%s/nvrtc", folder);
    mkdir(folder, 0700);
    mkdir(path, 0700);
    snprintf(path, PATH_BYTES, "%s/nvrtc/%016llx%016llx", folder, (unsigned long long)key.high64,
             (unsigned long long)key.low64);
}

/* Reads the answer of a request. The file has two texts: the request and the answer. */
static bool recall(const char *path, const message *request, message *answer)
{
    FILE *file = *path ? fopen(path, "re") : NULL;
    struct stat is;
    if (!file)
        return false;
    message all = {0};
    if (fstat(fileno(file), &is) == 0 && is.st_size > 0 && (all.data = malloc((size_t)is.st_size)))
        all.length = fread(all.data, 1, (size_t)is.st_size, file);
    fclose(file);
    size_t asked_length, length;
    const char *asked = take_text(&all, &asked_length), *text = take_text(&all, &length);
    const bool known = !all.failed && asked_length == request->length &&
                       memcmp(asked, request->data, asked_length) == 0;
    if (known)
        put_bytes(answer, text, length);
    free(all.data);
    return known;
}

static void remember(const char *path, const message *request, const message *answer)
{
    char partial[PATH_BYTES + 32];
    message all = {0};
    if (!*path || request->failed || answer->failed)
        return;
    snprintf(partial, sizeof partial, "%s.%ld", path, (long)getpid());
    put_text(&all, request->data, request->length);
    put_text(&all, answer->data, answer->length);
    FILE *file = all.failed ? NULL : fopen(partial, "we");
    if (file) {
        const bool written = fwrite(all.data, 1, all.length, file) == all.length;
        if (fclose(file) != 0 || !written || rename(partial, path) != 0)
            unlink(partial);
    }
    free(all.data);
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* Returns true for the folder of the CUDA headers, and for the folders in it. */
static bool names_headers(const char *folder)
{
    const size_t length = strlen(KILN_CUDA_HEADERS);
    return begins(folder, KILN_CUDA_HEADERS) && (folder[length] == '/' || folder[length] == '\0');
}

static bool has(const message *request, const char *word)
{
    return memmem(request->data, request->length, word, strlen(word)) != NULL;
}

/* Returns whether the answer depends on nothing but the request, the compiler and its headers. Only an absolute path or one with
 * `..` leads from the headers to another file. */
static bool is_complete(const message *request, const char *const *options, uint64_t count)
{
    bool closed = false;
    if (has(request, "\"/") || has(request, "</") || has(request, "../") || has(request, "__TIME") ||
        has(request, "__DATE"))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const char *option = options[i];
        closed |= strcmp(option, "--no-source-include") == 0;
        if (begins(option, "-I") ? !names_headers(option + 2)
                                 : strstr(option, "include") && strcmp(option, "--no-source-include") != 0)
            return false;
        if (strstr(option, "pch") && strcmp(option, "--pch-messages=false") != 0)
            return false;
        if (begins(option, "-time") || begins(option, "--time") || begins(option, "--fdevice-time-trace"))
            return false;
    }
    return closed;
}

/* ---- requests ---- */

/* Compiles, and writes the answer. Returns whether the result says something about the source. */
static bool ask_real(message *request, const char *const *options, uint64_t count, message *answer)
{
    const uint64_t name_count = take_number(request);
    const char **names = calloc(name_count + 1, sizeof *names);
    for (uint64_t i = 0; names && i < name_count; i++)
        names[i] = take_text(request, NULL);
    const char *source = take_text(request, NULL), *name = take_text(request, NULL);
    const uint64_t header_count = take_number(request);
    const char **headers = calloc(2 * header_count + 1, sizeof *headers);
    for (uint64_t i = 0; headers && i < header_count; i++) {
        headers[i] = take_text(request, NULL);
        headers[header_count + i] = take_text(request, NULL);
    }
    nvrtcProgram program = NULL;
    nvrtcResult result = NVRTC_ERROR_INTERNAL_ERROR;
    if (names && headers && !request->failed)
        result = REAL(nvrtcCreateProgram)(&program, source, name, (int)header_count, headers, headers + header_count);
    for (uint64_t i = 0; result == NVRTC_SUCCESS && i < name_count; i++)
        result = REAL(nvrtcAddNameExpression)(program, names[i]);
    if (result == NVRTC_SUCCESS)
        result = REAL(nvrtcCompileProgram)(program, (int)count, options);
    put_bytes(answer, &(int32_t){(int32_t)result}, sizeof(int32_t));
    nvrtcResult (*const sizes[PARTS])(nvrtcProgram, size_t *) = {REAL(nvrtcGetPTXSize), REAL(nvrtcGetCUBINSize),
                                                                 REAL(nvrtcGetProgramLogSize)};
    nvrtcResult (*const texts[PARTS])(nvrtcProgram, char *) = {REAL(nvrtcGetPTX), REAL(nvrtcGetCUBIN),
                                                               REAL(nvrtcGetProgramLog)};
    for (int i = 0; i < PARTS; i++) {
        size_t size = 0;
        if (!program || sizes[i](program, &size) != NVRTC_SUCCESS)
            size = 0;
        char *text = calloc(1, size + 1);
        if (!text || (size && texts[i](program, text) != NVRTC_SUCCESS))
            size = 0;
        put_text(answer, text ? text : "", size);
        free(text);
    }
    for (uint64_t i = 0; i < name_count; i++) {
        const char *lowered = NULL;
        if (result != NVRTC_SUCCESS || REAL(nvrtcGetLoweredName)(program, names[i], &lowered) != NVRTC_SUCCESS)
            lowered = NULL;
        put_text(answer, lowered ? lowered : "", lowered ? strlen(lowered) : 0);
    }
    if (program)
        REAL(nvrtcDestroyProgram)(&program);
    free(names);
    free(headers);
    return result == NVRTC_SUCCESS || result == NVRTC_ERROR_COMPILATION;
}

/* After its kind, a request has the options, the names, the source, the name of the source, and the headers. The text of a
 * header is followed by its name. The length of a list stands before the list. */
static void compile(int fd, message *request, message *answer)
{
    char path[PATH_BYTES] = "";
    const uint64_t count = take_number(request);
    const char **options = calloc(count + 1, sizeof *options);
    for (uint64_t i = 0; options && i < count; i++)
        options[i] = take_text(request, NULL);
    if (options && is_complete(request, options, count))
        name_file(request, path);
    if (!recall(path, request, answer)) {
        /* A compile may never end. While it runs, the other side sends nothing: SIGIO tells that it has ended, and ends this
         * process. */
        fcntl(fd, F_SETFL, O_ASYNC);
        const bool kept = ask_real(request, options, options ? count : 0, answer);
        fcntl(fd, F_SETFL, 0);
        if (kept)
            remember(path, request, answer);
    }
    free(options);
}

static void tell_about(const message *request, message *answer)
{
    char path[PATH_BYTES];
    about found = {0};
    name_file(request, path);
    if (recall(path, request, answer))
        return;
    REAL(nvrtcVersion)(&found.major, &found.minor);
    REAL(nvrtcGetNumSupportedArchs)(&found.count);
    if (found.count < 0 || found.count > (int)(sizeof found.archs / sizeof found.archs[0]))
        found.count = 0;
    if (found.count)
        REAL(nvrtcGetSupportedArchs)(found.archs);
    put_bytes(answer, &found, sizeof found);
    remember(path, request, answer);
}

/* Answers a request. Returns false if it is none, or if the other side has ended. */
static bool answer_request(int fd, message *request)
{
    message answer = {0};
    const char *kind = take_bytes(request, 1);
    int32_t result;
    bool good = kind != NULL;
    if (good && *kind == ASK_COMPILE) {
        compile(fd, request, &answer);
    } else if (good && *kind == ASK_ABOUT) {
        tell_about(request, &answer);
    } else if (good && *kind == ASK_ERROR && request->length == 1 + sizeof result) {
        memcpy(&result, kind + 1, sizeof result);
        const char *text = REAL(nvrtcGetErrorString)((nvrtcResult)result);
        put_bytes(&answer, text, strlen(text));
    } else {
        good = false;
    }
    good = good && send_message(fd, &answer);
    free(answer.data);
    return good;
}

int main(int count, char **arguments)
{
    const bool listens = count == 3 && strcmp(arguments[1], "listen") == 0;
    if (count != 2 + listens)
        return 2;
    if (!listens && fork() != 0) /* the process that started it waits for this end */
        return 0;
    int given = atoi(arguments[count - 1]);
    if (listens)
        given = accept(given, NULL, NULL);
    /* Keep nothing open that others wait for: the process may be killed during a compile, and this one then ends later. */
    const int fd = dup2(given, 3), nothing = open("/dev/null", O_RDWR);
    if (fd != 3 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0)
        return 1;
    close_range(4, ~0u, 0);
    if (chdir("/") != 0 || fcntl(fd, F_SETOWN, getpid()) != 0)
        return 1;
    message request;
    bool good = true;
    while (good && receive_message(fd, &request)) {
        good = answer_request(fd, &request);
        free(request.data);
    }
    return good ? 0 : 1;
}
