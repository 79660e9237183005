/* library.c - a stand-in for NVIDIA's libnvrtc.so, which remembers NVIDIA's answers while one run of tools/test.sh lasts.
 *
 * Hundreds of tests have separate caches, and compile the same kernels. The builds with sanitizers then compile all of them
 * again. NVRTC took a third of the time of these tests, although they do not test NVRTC.
 *
 * The memory is the file $KILN_TEST_NVRTC, which tools/test.sh makes. Without this variable each request goes to NVIDIA's
 * library. The library maps the file when it is loaded, because a compile worker must not open or write files later. The file has
 * its full size from the beginning, so that no write has to enlarge it. A process that is already in a sandbox when it loads
 * the library, such as the process of a kernel, cannot open the file. It then asks NVIDIA's library, which is in the same
 * folder.
 *
 * A key is the hash of the whole request. Requests whose answer depends on anything else are not remembered (is_complete). */
#include <dlfcn.h>
#include <fcntl.h>
#include <nvrtc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) (__extension__(__typeof__(&name)) find(#name))

enum { BUCKETS = 1 << 14, PATH_BYTES = 4096, HERE = 1 }; /* HERE: stands for the current folder in remembered PTX */
enum { PTX, CUBIN, LOG, SYMBOLS, PARTS };

/* An answer has NVRTC's result for each part, and the parts one after another. Symbols are texts with their NUL,
 * in the order of the names. */
typedef struct answer {
    int32_t result, results[PARTS];
    uint64_t sizes[PARTS];
    char data[];
} answer;

typedef struct entry {
    uint64_t next; /* offset of the next entry of the bucket in the file, or 0 */
    XXH128_hash_t key;
    uint64_t size; /* bytes of the answer that follows */
} entry;

/* The file. It begins as zeros. */
typedef struct memory {
    // `used`: bytes after this head, which may exceed the size of the file; `count`: number of entries
    _Atomic uint64_t used, count;
    _Atomic uint64_t buckets[BUCKETS];
} memory;

/* Functions since CUDA 12.8, declared here because the headers may be older than the library. */
typedef int flow_fn(void *user, void *reserved);
EXPORT nvrtcResult nvrtcSetFlowCallback(nvrtcProgram program, flow_fn *fn, void *user);
EXPORT nvrtcResult nvrtcGetPCHCreateStatus(nvrtcProgram program);

struct _nvrtcProgram {
    nvrtcProgram real; /* NULL before the first compile that NVIDIA's library makes */
    char *source, *name;
    char **headers, **names; /* `headers` has a text, its name, the next text, and so on */
    int header_count, name_count;
    flow_fn *flow;
    void *flow_user;
    answer *said;
};

static struct {
    void *library; /* NVIDIA's library */
    memory *memory;
    size_t size;
} with;

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("KILN_TEST_NVRTC");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat is;
    with.library = dlopen(KILN_NVRTC_REAL, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (fd >= 0 && fstat(fd, &is) == 0 && is.st_size > (off_t)sizeof(memory)) {
        void *map = mmap(NULL, (size_t)is.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            with.memory = map;
            with.size = (size_t)is.st_size;
        }
    }
    if (fd >= 0)
        close(fd);
}

static void *find(const char *name)
{
    void *found = with.library ? dlsym(with.library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s of " KILN_NVRTC_REAL " was not found\n", name);
        abort();
    }
    return found;
}

/* ---- the memory ---- */

static const entry *recall(XXH128_hash_t key)
{
    uint64_t at = atomic_load(&with.memory->buckets[key.low64 % BUCKETS]);
    while (at) {
        const entry *one = (const entry *)((const char *)with.memory + at);
        if (one->key.low64 == key.low64 && one->key.high64 == key.high64)
            return one;
        at = one->next;
    }
    return NULL;
}

/* Adds an answer, if there is room. If two processes add the same answer at once, the file has it twice. */
static void remember(XXH128_hash_t key, const answer *said, size_t size)
{
    memory *into = with.memory;
    const uint64_t step = (sizeof(entry) + size + 15) / 16 * 16, room = with.size - sizeof *into;
    if (step > room || atomic_load(&into->used) > room - step)
        return;
    const uint64_t begin = atomic_fetch_add(&into->used, step);
    if (begin > room - step)
        return;
    entry *made = (entry *)((char *)(into + 1) + begin);
    made->key = key;
    made->size = size;
    memcpy(made + 1, said, size);
    _Atomic uint64_t *bucket = &into->buckets[key.low64 % BUCKETS];
    made->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &made->next, sizeof *into + begin))
        ;
    atomic_fetch_add(&into->count, 1);
}

static void hash(XXH3_state_t *state, const char *text)
{
    const uint64_t length = strlen(text);
    XXH3_128bits_update(state, &length, sizeof length);
    XXH3_128bits_update(state, text, length);
}

static XXH128_hash_t find_key(const struct _nvrtcProgram *program, int count, const char *const *options)
{
    XXH3_state_t state;
    const uint64_t counts[] = {(uint64_t)count, (uint64_t)program->header_count, (uint64_t)program->name_count};
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, counts, sizeof counts);
    hash(&state, program->source);
    hash(&state, program->name);
    for (int i = 0; i < count; i++)
        hash(&state, options[i]);
    for (int i = 0; i < 2 * program->header_count; i++)
        hash(&state, program->headers[i]);
    for (int i = 0; i < program->name_count; i++)
        hash(&state, program->names[i]);
    return XXH3_128bits_digest(&state);
}

static bool begins(const char *text, const char *with_this) { return strncmp(text, with_this, strlen(with_this)) == 0; }

/* Returns true for the folder of the CUDA headers, and for the folders in it. */
static bool is_of_cuda(const char *folder)
{
    const size_t length = strlen(KILN_CUDA_HEADERS);
    return begins(folder, KILN_CUDA_HEADERS) && (folder[length] == '/' || folder[length] == '\0') &&
           !strstr(folder, "..");
}

/* Returns true for a text that may include a file by a path which leads out of the CUDA headers, or that contains the time. */
static bool looks_outside(const char *text)
{
    static const char *const signs[] = {"\"/", "</", "../", "__TIME", "__DATE", "include_next"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

/* Returns whether the answer depends on nothing but the request, the compiler and its headers. */
static bool is_complete(const struct _nvrtcProgram *program, int count, const char *const *options)
{
    bool closed = false, cubin = false, lines = false, outside = looks_outside(program->source);
    for (int i = 0; i < 2 * program->header_count; i += 2)
        outside = outside || looks_outside(program->headers[i]);
    for (int i = 0; i < count && !outside; i++) {
        const char *option = options[i];
        closed = closed || strcmp(option, "--no-source-include") == 0;
        cubin = cubin || strstr(option, "architecture=sm_") || begins(option, "-arch=sm_");
        lines = lines || strstr(option, "line") || begins(option, "-G") || strstr(option, "debug");
        if (begins(option, "-I"))
            outside = !is_of_cuda(option + 2);
        else if (strcmp(option, "--no-source-include") != 0)
            outside = strstr(option, "include") || strstr(option, "options-file") || strstr(option, "time") ||
                      looks_outside(option) || (strstr(option, "pch") && strcmp(option, "--pch-messages=false") != 0);
    }
    return closed && !outside && !(cubin && lines); /* machine code with lines has the current folder */
}

/* ---- the current folder, which NVRTC writes into PTX with lines ---- */

/* Returns a copy of an answer, whose PTX has `to` in place of each `from` that begins a path. The caller frees it. *size is the
 * size of the answer, and becomes the size of the copy. Returns NULL if there is no memory. */
static answer *move_folder(const answer *said, size_t *size, const char *from, const char *to)
{
    const size_t from_length = strlen(from), to_length = strlen(to), rest = *size - sizeof *said - said->sizes[PTX];
    size_t places = 0;
    const char *at = said->data, *const end = at + said->sizes[PTX];
    for (const char *hit = at; (hit = memmem(hit, (size_t)(end - hit), from, from_length)); hit += from_length)
        places++;
    answer *made = malloc(*size + places * to_length);
    if (!made)
        return NULL;
    *made = *said;
    char *out = made->data;
    for (const char *hit; (hit = memmem(at, (size_t)(end - at), from, from_length)); at = hit + from_length) {
        memcpy(out, at, (size_t)(hit - at));
        out += hit - at;
        memcpy(out, to, to_length);
        out += to_length;
    }
    memcpy(out, at, (size_t)(end - at));
    out += end - at;
    made->sizes[PTX] = (uint64_t)(out - made->data);
    memcpy(out, end, rest);
    *size = (size_t)(out - made->data) + sizeof *made + rest;
    return made;
}

/* Writes "\"FOLDER/", as a path in PTX begins. Returns false in the root folder, with which all paths begin. */
static bool begin_path(char text[PATH_BYTES + 3])
{
    text[0] = '"';
    if (!getcwd(text + 1, PATH_BYTES) || strcmp(text, "\"/") == 0)
        return false;
    strcat(text, "/");
    return true;
}

static const char kept_path[] = {'"', HERE, '/', '\0'};

/* ---- one compile ---- */

/* Asks NVIDIA's library for one text, and adds it to the answer. */
static bool add_part(answer **said, size_t *size, int part, nvrtcProgram real,
                     nvrtcResult (*size_of)(nvrtcProgram, size_t *), nvrtcResult (*get)(nvrtcProgram, char *))
{
    size_t more = 0;
    (*said)->results[part] = (int32_t)size_of(real, &more);
    if ((*said)->results[part] != NVRTC_SUCCESS)
        more = 0;
    answer *longer = realloc(*said, *size + more + 1);
    if (!longer)
        return false;
    *said = longer;
    if (more)
        longer->results[part] = (int32_t)get(real, (char *)longer + *size);
    longer->sizes[part] = more;
    *size += more;
    return true;
}

static bool add_symbols(answer **said, size_t *size, const struct _nvrtcProgram *program)
{
    for (int i = 0; i < program->name_count; i++) {
        const char *symbol = NULL;
        if (REAL(nvrtcGetLoweredName)(program->real, program->names[i], &symbol) != NVRTC_SUCCESS || !symbol)
            symbol = "";
        const size_t more = strlen(symbol) + 1;
        answer *longer = realloc(*said, *size + more);
        if (!longer)
            return false;
        memcpy((char *)longer + *size, symbol, more);
        longer->sizes[SYMBOLS] += more;
        *size += more;
        *said = longer;
    }
    return true;
}

/* Compiles by NVIDIA's library. Returns its answer, which the caller frees, or NULL if there is no memory. */
static answer *ask_real(struct _nvrtcProgram *program, int count, const char *const *options, size_t *size)
{
    nvrtcResult result = NVRTC_SUCCESS;
    if (program->real)
        REAL(nvrtcDestroyProgram)(&program->real);
    const char **texts = calloc(2 * (size_t)program->header_count + 1, sizeof *texts);
    answer *said = calloc(1, sizeof *said);
    *size = sizeof *said;
    if (!said || !texts)
        result = NVRTC_ERROR_OUT_OF_MEMORY;
    for (int i = 0; texts && i < program->header_count; i++) {
        texts[i] = program->headers[2 * i];
        texts[program->header_count + i] = program->headers[2 * i + 1];
    }
    if (result == NVRTC_SUCCESS)
        result = REAL(nvrtcCreateProgram)(&program->real, program->source, program->name, program->header_count, texts,
                                          texts + program->header_count);
    for (int i = 0; result == NVRTC_SUCCESS && i < program->name_count; i++)
        result = REAL(nvrtcAddNameExpression)(program->real, program->names[i]);
    if (result == NVRTC_SUCCESS && program->flow)
        result = REAL(nvrtcSetFlowCallback)(program->real, program->flow, program->flow_user);
    if (result == NVRTC_SUCCESS)
        result = REAL(nvrtcCompileProgram)(program->real, count, options);
    free(texts);
    if (said)
        said->result = (int32_t)result;
    if (program->real && said &&
        !(add_part(&said, size, PTX, program->real, REAL(nvrtcGetPTXSize), REAL(nvrtcGetPTX)) &&
          add_part(&said, size, CUBIN, program->real, REAL(nvrtcGetCUBINSize), REAL(nvrtcGetCUBIN)) &&
          add_part(&said, size, LOG, program->real, REAL(nvrtcGetProgramLogSize), REAL(nvrtcGetProgramLog)) &&
          add_symbols(&said, size, program))) {
        free(said);
        said = NULL;
    }
    return said;
}

/* Returns whether a result says something about the source, and not about the machine. */
static bool is_of_source(int32_t result)
{
    return result == NVRTC_SUCCESS || result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION ||
           result == NVRTC_ERROR_INVALID_INPUT || result == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    char here[PATH_BYTES + 3];
    size_t size;
    const bool keep = with.memory && is_complete(program, count, options) && begin_path(here);
    const XXH128_hash_t key = keep ? find_key(program, count, options) : (XXH128_hash_t){0};
    const entry *known = keep ? recall(key) : NULL;
    free(program->said);
    if (known) {
        size = known->size;
        program->said = move_folder((const answer *)(known + 1), &size, kept_path, here);
        return program->said ? (nvrtcResult)program->said->result : NVRTC_ERROR_OUT_OF_MEMORY;
    }
    program->said = ask_real(program, count, options, &size);
    if (!program->said)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    if (keep && is_of_source(program->said->result) && !memchr(program->said->data, HERE, program->said->sizes[PTX])) {
        answer *moved = move_folder(program->said, &size, here, kept_path);
        if (moved)
            remember(key, moved, size);
        free(moved);
    }
    return (nvrtcResult)program->said->result;
}

/* ---- the other functions ---- */

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor) { return REAL(nvrtcVersion)(major, minor); }

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *count) { return REAL(nvrtcGetNumSupportedArchs)(count); }

EXPORT nvrtcResult nvrtcGetSupportedArchs(int *archs) { return REAL(nvrtcGetSupportedArchs)(archs); }

EXPORT const char *nvrtcGetErrorString(nvrtcResult result) { return REAL(nvrtcGetErrorString)(result); }

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    nvrtcProgram gone = *program;
    if (gone->real)
        REAL(nvrtcDestroyProgram)(&gone->real);
    for (int i = 0; gone->headers && i < 2 * gone->header_count; i++)
        free(gone->headers[i]);
    for (int i = 0; i < gone->name_count; i++)
        free(gone->names[i]);
    free(gone->headers);
    free(gone->names);
    free(gone->source);
    free(gone->name);
    free(gone->said);
    free(gone);
    *program = NULL;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int count,
                                      const char *const *headers, const char *const *names)
{
    nvrtcProgram made = calloc(1, sizeof *made);
    if (!made)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    made->header_count = count;
    made->source = strdup(source);
    made->name = strdup(name ? name : "default_program");
    made->headers = calloc(2 * (size_t)count + 1, sizeof *made->headers);
    bool good = made->source && made->name && made->headers;
    for (int i = 0; good && i < count; i++) {
        made->headers[2 * i] = strdup(headers[i]);
        made->headers[2 * i + 1] = strdup(names[i]);
        good = made->headers[2 * i] && made->headers[2 * i + 1];
    }
    *program = made;
    if (good)
        return NVRTC_SUCCESS;
    nvrtcDestroyProgram(program);
    return NVRTC_ERROR_OUT_OF_MEMORY;
}

EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *name)
{
    char **names = realloc(program->names, ((size_t)program->name_count + 1) * sizeof *names);
    if (!names)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    program->names = names;
    names[program->name_count] = strdup(name);
    if (!names[program->name_count])
        return NVRTC_ERROR_OUT_OF_MEMORY;
    program->name_count++;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcSetFlowCallback(nvrtcProgram program, flow_fn *fn, void *user)
{
    program->flow = fn;
    program->flow_user = user;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetPCHCreateStatus(nvrtcProgram program)
{
    return program->real ? REAL(nvrtcGetPCHCreateStatus)(program->real) : NVRTC_ERROR_INVALID_PROGRAM;
}

static const char *find_part(const struct _nvrtcProgram *program, int part)
{
    const char *at = program->said->data;
    for (int i = 0; i < part; i++)
        at += program->said->sizes[i];
    return at;
}

EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *name, const char **lowered)
{
    const char *symbol = program->said && program->said->sizes[SYMBOLS] ? find_part(program, SYMBOLS) : NULL;
    for (int i = 0; symbol && i < program->name_count; i++) {
        if (strcmp(program->names[i], name) == 0) {
            *lowered = symbol;
            return *symbol ? NVRTC_SUCCESS : NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
        }
        symbol += strlen(symbol) + 1;
    }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

static nvrtcResult give(const struct _nvrtcProgram *program, int part, char *to)
{
    if (!program || !program->said)
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(to, find_part(program, part), program->said->sizes[part]);
    return (nvrtcResult)program->said->results[part];
}

static nvrtcResult give_size(const struct _nvrtcProgram *program, int part, size_t *size)
{
    if (!program || !program->said)
        return NVRTC_ERROR_INVALID_PROGRAM;
    *size = program->said->sizes[part];
    return (nvrtcResult)program->said->results[part];
}

EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) { return give_size(program, PTX, size); }

EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *to) { return give(program, PTX, to); }

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) { return give_size(program, CUBIN, size); }

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *to) { return give(program, CUBIN, to); }

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) { return give_size(program, LOG, size); }

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *to) { return give(program, LOG, to); }
