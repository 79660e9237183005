/* compile_internal.h - declarations that the files of the compiler share. */
#ifndef KILN_COMPILE_INTERNAL_H
#define KILN_COMPILE_INTERNAL_H

#include <nvrtc.h>
#include <pthread.h>

#include "wire.h"
#include "compile.h"

/* Functions of NVRTC: X(function, 1: required; 0 means that older libraries lack it) */
#define KILN__NVRTC_FUNCTIONS(X)                                                                                       \
    X(nvrtcVersion, 1)                                                                                                 \
    X(nvrtcGetErrorString, 1)                                                                                          \
    X(nvrtcGetNumSupportedArchs, 0)                                                                                    \
    X(nvrtcGetSupportedArchs, 0)                                                                                       \
    X(nvrtcCreateProgram, 1)                                                                                           \
    X(nvrtcDestroyProgram, 1)                                                                                          \
    X(nvrtcAddNameExpression, 1)                                                                                       \
    X(nvrtcCompileProgram, 1)                                                                                          \
    X(nvrtcGetLoweredName, 1)                                                                                          \
    X(nvrtcGetPTXSize, 1)                                                                                              \
    X(nvrtcGetPTX, 1)                                                                                                  \
    X(nvrtcGetCUBINSize, 0)                                                                                            \
    X(nvrtcGetCUBIN, 0)                                                                                                \
    X(nvrtcGetProgramLogSize, 1)                                                                                       \
    X(nvrtcGetProgramLog, 1)

/* Functions since CUDA 12.8, declared here because the headers may be older than the library. */
typedef int kiln__nvrtc_flow_fn(void *user, void *reserved);
typedef nvrtcResult kiln__nvrtc_set_flow_fn(nvrtcProgram program, kiln__nvrtc_flow_fn *fn, void *user);
typedef nvrtcResult kiln__nvrtc_pch_status_fn(nvrtcProgram program);

/* The most architectures that are kept from NVRTC's list. */
enum { KILN__MAX_ARCHS = 64 };

/* Folders of the include path below the folder of CUDA's headers: the folder itself, and folders whose headers include
 * their neighbours as "info.h". "cccl" is used only if it exists. */
static const char *const kiln__include_folders[] = {"", "cooperative_groups/", "cooperative_groups/details/", "crt/",
                                                    "cccl/"};

typedef struct kiln__toolkit kiln__toolkit; /* the CUDA headers that were read so far */
void kiln__toolkit_free(const kiln_allocator *mem, kiln__toolkit *toolkit);

/* Returns the operand of the next #include at or after *at, and moves *at to the text after that line start. Returns
 * NULL if there is no further #include. Set *at to `text` before the first call. Uses the parser of
 * kiln__includes_collect(). */
const char *kiln__include_next(const char *text, const char **at);

/* Returns Kiln's own text for a header of the host, or NULL if Kiln has no header of that name. */
const char *kiln__header_own(const char *name);
/* nvcc includes some headers unasked. If the log misses a name that such a header declares, the function returns the
 * name of the header and sets *text to its text. Otherwise it returns NULL. */
const char *kiln__header_implied(const char *log, const char **text);
/* Returns true if `text` is Kiln's text for a header of a host library, which has no declarations of the library. */
bool kiln__header_is_of_host(const char *text);
/* Adds advice about errors in `log` to a message: a header or a name that only the host has. `include` is the folder of
 * CUDA's headers. `headers` are the headers of the source that the compiler gets from Kiln. */
void kiln__header_hints(kiln__text *text, const char *include, const kiln__include *headers, size_t header_count,
                        const char *log);

/* Blanks explicit instantiations of kernels in the text. Returns false if memory runs out. */
bool kiln__host_drop_instances(const kiln_allocator *mem, char *text);

/* A declaration of the host that was blanked. `hash` is one hash of the source and the text of the declaration. `name` is the hash of the declared name, or zero if the name is not known. */
typedef struct kiln__host_item {
    kiln__hash128 hash, name;
} kiln__host_item;
typedef struct kiln__host_list {
    kiln__hash128 source; /* hash of the source whose declarations kiln__host_remove() looks up */
    kiln__host_item *items;
    size_t count, capacity;
} kiln__host_list;
/* Adds an item whose hash the list does not have. Does nothing if the list is full or memory runs out. */
void kiln__host_list_add(const kiln_allocator *mem, kiln__host_list *list, const kiln__host_item *item);
/* Removes from the list each declaration whose name is not known, or is elsewhere in the text. Without such a
 * declaration the rest of the text might mean something else, for example call another overload. Removes all if memory
 * runs out. */
void kiln__host_list_drop(const kiln_allocator *mem, kiln__host_list *list, const char *text);
/* Blanks declarations that have an error in `log`, or that are in the list `known`, and that contain nothing of the
 * device (__global__, __device__, __constant__, ...): main(), functions that call the runtime, and std:: variables.
 * `name` is the name of the text in the log, unless a #line changes the name. Returns the number of blanked
 * declarations, or 0 if memory runs out. Adds the declarations to `removed`, and their positions to `places`. `known`
 * and `removed` may be NULL. */
size_t kiln__host_remove(const kiln_allocator *mem, char *text, const char *name, const char *log,
                         const kiln__host_list *known, kiln__host_list *removed, kiln__text *places);

/* The library, its headers, and the functions that were found in it. */
struct kiln__nvrtc {
    const kiln_allocator *mem;
    void *library, *builtins; /* handles of dlopen(), NULL until loaded; for builtins see check_builtins() */
    int version;
    char *path, *include, *cccl, *identity;
    int archs[KILN__MAX_ARCHS];
    size_t arch_count;
    pthread_mutex_t lock; /* guards `toolkit`, `host` and the loading */
    kiln__toolkit *toolkit;
    kiln__host_list host; /* declarations without which earlier sources compiled */
    atomic_bool plain;    /* this version of NVRTC does not know one of the engine's own options, so none is given */
    kiln__nvrtc_set_flow_fn *set_flow;
    kiln__nvrtc_pch_status_fn *pch_status;
#define KILN_X(name, needed) __typeof__(name) *name;
    KILN__NVRTC_FUNCTIONS(KILN_X)
#undef KILN_X
};

/* The folder of temporary files inside the folder of precompiled headers. */
#define KILN__PCH_TEMPORARY "temporary"

/* ---- messages between the library and a worker (base/wire.h) ---- */
enum { KILN__MESSAGE_HELLO = 1, KILN__MESSAGE_REQUEST, KILN__MESSAGE_RESULT, KILN__MESSAGE_PCH };

/* A worker's first message, when it is ready. */
typedef struct kiln__hello {
    const char *identity; /* identity of the worker's NVRTC, or the reason why the worker has none */
    bool confined;        /* the kernel lets it open only the CUDA headers */
    const char *how;      /* the mechanism, or the reason why it is not confined */
} kiln__hello;

/* Builds messages in memory, with room for the header. kiln__message_request() returns the place of the names in the
 * message: the names are its last field. */
size_t kiln__message_request(kiln__text *message, const kiln__compile_request *request);
void kiln__message_result(kiln__text *message, kiln_status status, uint64_t ns, const kiln__unit *unit, const char *why,
                          bool passing, bool pch); /* passing: kiln__error_is_passing() of the error */
/* Announces the precompiled headers that the next request may use, or makes. It has no answer. */
void kiln__message_pch(kiln__text *message, const char *path, bool make);
void kiln__message_hello(kiln__text *message, kiln_status status, const kiln__hello *hello);
/* Reads the bodies of messages, which are untrusted. Results point into the body or the arena. Returns false if a body
 * is malformed or memory is lacking (arena->failed). */
bool kiln__message_read_request(const char *body, size_t length, kiln__arena *arena, kiln__compile_request *request);
bool kiln__message_read_result(const char *body, size_t length, kiln_status *status, uint64_t *ns, kiln__unit *unit,
                               const char **why, bool *passing, bool *pch);
bool kiln__message_read_pch(const char *body, size_t length, const char **path, bool *make);
bool kiln__message_read_hello(const char *body, size_t length, kiln_status *status, kiln__hello *hello);

/* Refuses a source whose nesting could make NVRTC overflow the stack of this process. Only compiles without a worker
 * need this check. */
kiln_status kiln__nesting_check(const kiln_allocator *mem, const kiln__compile_request *request, kiln_error **error);

#endif
