/* compile_internal.h - what the files of the compiler share. */
#ifndef KILN_COMPILE_INTERNAL_H
#define KILN_COMPILE_INTERNAL_H

#include <nvrtc.h>
#include <pthread.h>

#include "wire.h"
#include "compile.h"

/* X(function, 1: required, 0: missing in older libraries) */
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

/* Since CUDA 12.8; declared here, because the headers may be older than the library. */
typedef int kiln__nvrtc_flow_fn(void *user, void *reserved);
typedef nvrtcResult kiln__nvrtc_set_flow_fn(nvrtcProgram program, kiln__nvrtc_flow_fn *fn, void *user);
typedef nvrtcResult kiln__nvrtc_pch_status_fn(nvrtcProgram program);

enum { KILN__MAX_ARCHS = 64 };

/* The include path for NVRTC, below the folder of CUDA's headers: that folder, and folders whose headers include others
 * of the same folder as "info.h". (cccl only if it exists.) */
static const char *const kiln__include_folders[] = {"", "cooperative_groups/", "cooperative_groups/details/", "crt/",
                                                    "cccl/"};

typedef struct kiln__toolkit kiln__toolkit; /* CUDA's headers as far as they were read */
void kiln__toolkit_free(const kiln_allocator *mem, kiln__toolkit *toolkit);

/* The operand of the next #include at or after *at, parsed as kiln__includes_collect() does; NULL at the end. *at
 * starts as `text`. */
const char *kiln__include_next(const char *text, const char **at);

/* A header of the host, as Kiln has it itself; NULL: it has none of that name. */
const char *kiln__header_own(const char *name);
/* Adds to a message what may be done about NVRTC's errors in `log`: a header or a name that only the host has.
 * `include`: the folder of CUDA's headers. */
void kiln__header_hints(kiln__text *text, const char *include, const char *log);

/* Puts blanks in place of the declarations that have an error in `log` and nothing of the device's (__global__, __device__,
 * __constant__, ...): of main(), of functions that call the runtime, of std:: variables. `name`: of the text in the log, if
 * no #line says another. How many they were, 0 also where memory is lacking; where each was is added to `places`. */
size_t kiln__host_remove(const kiln_allocator *mem, char *text, const char *name, const char *log, kiln__text *places);

struct kiln__nvrtc {
    const kiln_allocator *mem;
    void *library, *builtins; /* from dlopen, NULL: not yet; builtins: see check_builtins() */
    int version;
    char *path, *include, *cccl, *identity;
    int archs[KILN__MAX_ARCHS];
    size_t arch_count;
    pthread_mutex_t lock; /* for the toolkit, and for loading */
    kiln__toolkit *toolkit;
    atomic_bool plain; /* an option of ours is unknown to this version: compile without them */
    kiln__nvrtc_set_flow_fn *set_flow;
    kiln__nvrtc_pch_status_fn *pch_status;
#define KILN_X(name, needed) __typeof__(name) *name;
    KILN__NVRTC_FUNCTIONS(KILN_X)
#undef KILN_X
};

/* In the folder of precompiled headers: the folder of temporary files. */
#define KILN__PCH_TEMPORARY "temporary"

/* ---- messages between the library and a worker (base/wire.h) ---- */
enum { KILN__MESSAGE_HELLO = 1, KILN__MESSAGE_REQUEST, KILN__MESSAGE_RESULT, KILN__MESSAGE_PCH };

/* A worker's first message, when it is ready. */
typedef struct kiln__hello {
    const char *identity; /* of its NVRTC, or why it has none */
    bool confined;        /* the kernel lets it open only the CUDA headers */
    const char *how;      /* by what, or why not */
} kiln__hello;

/* Builds messages in memory, with room for the header. */
void kiln__message_request(kiln__text *message, const kiln__compile_request *request);
void kiln__message_result(kiln__text *message, kiln_status status, uint64_t ns, const kiln__unit *unit, const char *why,
                          bool passing, bool pch); /* passing: kiln__error_is_passing() */
/* For the next request alone: the precompiled headers that it may use, or makes. No answer. */
void kiln__message_pch(kiln__text *message, const char *path, bool make);
void kiln__message_hello(kiln__text *message, kiln_status status, const kiln__hello *hello);
/* Reads bodies. The results point into the body or the arena. False: malformed, or out of memory (arena->failed). */
bool kiln__message_read_request(const char *body, size_t length, kiln__arena *arena, kiln__compile_request *request);
bool kiln__message_read_result(const char *body, size_t length, kiln_status *status, uint64_t *ns, kiln__unit *unit,
                               const char **why, bool *passing, bool *pch);
bool kiln__message_read_pch(const char *body, size_t length, const char **path, bool *make);
bool kiln__message_read_hello(const char *body, size_t length, kiln_status *status, kiln__hello *hello);

/* Refuses a source whose nesting could make NVRTC overflow this process's stack. For compiles without a worker. */
kiln_status kiln__nesting_check(const kiln_allocator *mem, const kiln__compile_request *request, kiln_error **error);

#endif
