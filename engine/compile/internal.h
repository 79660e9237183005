/* internal.h - what the files of the compiler share. */
#ifndef KILN_COMPILE_INTERNAL_H
#define KILN_COMPILE_INTERNAL_H

#include <nvrtc.h>

#include "base/wire.h"
#include "compile/compile.h"

/* X(function, needed: 1, or 0 where older libraries lack it) */
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

/* Since CUDA 12.8; declared here, because the headers at hand may be older than the library. */
typedef int kiln__nvrtc_flow_fn(void *user, void *reserved);
typedef nvrtcResult kiln__nvrtc_set_flow_fn(nvrtcProgram program, kiln__nvrtc_flow_fn *fn, void *user);

enum { KILN__MAX_ARCHS = 64 };

struct kiln__nvrtc {
    const kiln_allocator *mem;
    void *library, *builtins; /* what dlopen gave; builtins is loaded ahead, see check_builtins() */
    int version;
    char *path, *include, *cccl, *identity;
    int archs[KILN__MAX_ARCHS];
    size_t arch_count;
    atomic_bool plain; /* an option of ours is unknown to this version: compile without them */
    kiln__nvrtc_set_flow_fn *set_flow;
#define KILN_X(name, needed) __typeof__(name) *name;
    KILN__NVRTC_FUNCTIONS(KILN_X)
#undef KILN_X
};

/* ---- messages between the library and a worker (base/wire.h) ---- */
enum { KILN__MESSAGE_HELLO = 1, KILN__MESSAGE_REQUEST, KILN__MESSAGE_RESULT };

/* A message in memory that starts with room for its header. */
void kiln__message_request(kiln__text *message, const kiln__compile_request *request);
void kiln__message_result(kiln__text *message, kiln_status status, uint64_t ns, const kiln__unit *unit,
                          const char *why, bool passing); /* passing: kiln__error_is_passing() */
void kiln__message_hello(kiln__text *message, kiln_status status, const char *identity);
/* Reads bodies. What comes out points into the body or the arena. False: malformed (or memory: arena->failed). */
bool kiln__message_read_request(const char *body, size_t length, kiln__arena *arena, kiln__compile_request *request);
bool kiln__message_read_result(const char *body, size_t length, kiln_status *status, uint64_t *ns, kiln__unit *unit,
                               const char **why, bool *passing);
bool kiln__message_read_hello(const char *body, size_t length, kiln_status *status, const char **identity);

#endif
