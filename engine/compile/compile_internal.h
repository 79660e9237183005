/* compile_internal.h - declarations that the files of the compiler share. */
#ifndef KILN_COMPILE_INTERNAL_H
#define KILN_COMPILE_INTERNAL_H

#include <nvrtc.h>
#include <pthread.h>

#include "wire.h"
#include "compile.h"

/* Functions of NVRTC: X(function, required), where `required` is 1, or 0 if older libraries lack the function */
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

/* Functions of NVRTC since CUDA 12.8. They are declared here because the headers may be older than the library. */
typedef int kiln__nvrtc_flow_fn(void *user, void *reserved);
typedef nvrtcResult kiln__nvrtc_set_flow_fn(nvrtcProgram program, kiln__nvrtc_flow_fn *fn, void *user);
typedef nvrtcResult kiln__nvrtc_pch_status_fn(nvrtcProgram program);

/* The largest number of architectures that are kept from NVRTC's list. */
enum { KILN__MAX_ARCHS = 64 };

/* Folders of the include path: CUDA's folder of headers itself, and subfolders whose headers include their neighbours
 * as "info.h". "cccl" is used only if it exists. */
static const char *const kiln__include_folders[] = {"", "cooperative_groups/", "cooperative_groups/details/", "crt/",
                                                    "cccl/"};

typedef struct kiln__toolkit kiln__toolkit; /* the CUDA headers that toolkit.c has read so far */
void kiln__toolkit_free(const kiln_allocator *mem, kiln__toolkit *toolkit);

/* Returns the operand of the next #include at or after *at, and moves *at behind the start of its line. Returns NULL if
 * there is no further #include. The caller sets *at to `text` before the first call. The function finds the same
 * directives as kiln__includes_collect(). */
const char *kiln__include_next(const char *text, const char **at);

/* Returns Kiln's own text for a header of the host, or NULL if Kiln has no header of that name. */
const char *kiln__header_own(const char *name);
/* nvcc includes some headers although the source does not name them. If the log reports a missing name that such a
 * header declares, the function returns the name of the header and sets *text to its text. If the log reports no such
 * name, the function returns NULL. */
const char *kiln__header_implied(const char *log, const char **text);
/* Returns true if `text` is Kiln's replacement for a header of a library of the host. The replacement lacks most or all
 * declarations of the library. */
bool kiln__header_is_of_host(const char *text);
/* Adds advice to a message if `log` has errors about a header or a name that only the host has. `include` is the folder
 * of CUDA's headers. `headers` are the headers of the source that Kiln gives to the compiler. */
void kiln__header_hints(kiln__text *text, const char *include, const kiln__include *headers, size_t header_count,
                        const char *log);

/* Blanks explicit instantiations of kernels in `text`. Returns false if memory runs out. */
bool kiln__host_drop_instances(const kiln_allocator *mem, char *text);

/* A declaration of the host that was removed (blanked) from a source. `hash` is the common hash of the source and the
 * text of the declaration. `name` is the hash of the declared name, or zero if the name is not known. */
typedef struct kiln__host_item {
    kiln__hash128 hash, name;
} kiln__host_item;
typedef struct kiln__host_list {
    kiln__hash128 source; /* hash of the source from which kiln__host_remove() removes declarations */
    kiln__host_item *items;
    size_t count, capacity;
} kiln__host_list;
/* Adds an item unless the list has an item with the same hash. Does nothing if the list is full or memory runs out. */
void kiln__host_list_add(const kiln_allocator *mem, kiln__host_list *list, const kiln__host_item *item);
/* Removes each declaration from the list whose name is unknown, or occurs elsewhere in the text. If such a declaration
 * is removed from a source, the rest of the source might mean something else, for example call another overload. If
 * memory runs out, removes all declarations from the list. */
void kiln__host_list_drop(const kiln_allocator *mem, kiln__host_list *list, const char *text);
/* Blanks declarations of the host: main(), functions that call the runtime, and std:: variables. A blanked declaration
 * has an error in `log`, or is in the list `known`. It contains nothing of the device (__global__, __device__,
 * __constant__, ...). `name` is the name by which the log calls the text, unless a #line changes the name. Returns the
 * number of blanked declarations, or 0 if memory runs out. Adds the blanked declarations to `removed`, and their
 * positions to `places`. `known` and `removed` may be NULL. */
size_t kiln__host_remove(const kiln_allocator *mem, char *text, const char *name, const char *log,
                         const kiln__host_list *known, kiln__host_list *removed, kiln__text *places);

/* NVRTC's library, its headers, and the functions that were found in the library. */
struct kiln__nvrtc {
    const kiln_allocator *mem;
    /* handles of dlopen(), or NULL until the libraries are loaded; see check_builtins() about `builtins` */
    void *library, *builtins;
    int version;
    char *path, *include, *cccl, *identity;
    int archs[KILN__MAX_ARCHS];
    size_t arch_count;
    pthread_mutex_t lock; /* guards `toolkit`, `host` and the loading of the library */
    kiln__toolkit *toolkit;
    kiln__host_list host; /* declarations that were removed from sources that then compiled */
    /* this version of NVRTC does not know one of the engine's own options, so later compiles use none of them */
    atomic_bool plain;
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

/* The first message of a worker, which it sends when it is ready. */
typedef struct kiln__hello {
    const char *identity; /* identity of the worker's NVRTC, or the reason why the worker has none */
    bool confined;        /* the system's kernel lets the worker open only the CUDA headers */
    const char *how;      /* the mechanism that confines the worker, or the reason why the worker is not confined */
} kiln__hello;

/* Write messages into `message`, after space for the header. kiln__message_request() returns the position of the names
 * in the message, which are its last field. */
size_t kiln__message_request(kiln__text *message, const kiln__compile_request *request);
void kiln__message_result(kiln__text *message, kiln_status status, uint64_t ns, const kiln__unit *unit, const char *why,
                          bool passing, bool pch); /* `passing` is kiln__error_is_passing() of the error */
/* Writes the message that names the precompiled headers which the next request may use or make. The worker does not
 * answer this message. */
void kiln__message_pch(kiln__text *message, const char *path, bool make);
void kiln__message_hello(kiln__text *message, kiln_status status, const kiln__hello *hello);
/* Read the bodies of messages, which are untrusted. The results point into the body or the arena. The functions return
 * false if a body is malformed or memory runs out (arena->failed). */
bool kiln__message_read_request(const char *body, size_t length, kiln__arena *arena, kiln__compile_request *request);
bool kiln__message_read_result(const char *body, size_t length, kiln_status *status, uint64_t *ns, kiln__unit *unit,
                               const char **why, bool *passing, bool *pch);
bool kiln__message_read_pch(const char *body, size_t length, const char **path, bool *make);
bool kiln__message_read_hello(const char *body, size_t length, kiln_status *status, kiln__hello *hello);

/* Refuses a source whose nesting could make NVRTC overflow the stack of this process. Only a compile without a worker
 * needs this check. */
kiln_status kiln__nesting_check(const kiln_allocator *mem, const kiln__compile_request *request, kiln_error **error);

#endif
