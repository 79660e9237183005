/* call.h - calls of host functions: the members of a kiln_call, and the functions by which the engine makes a call. A host
 * function knows nothing of this header: it sees the public functions kiln_call_*() alone. */
#ifndef KILN_CALL_H
#define KILN_CALL_H

#include "data.h"

typedef struct kiln__host {
    const char *name;
    unsigned uses;
    kiln_host_fn function;
    void *user;
} kiln__host;
/* The host functions that every engine has: `captured`. */
extern const kiln__host kiln__builtin_hosts[];
extern const size_t kiln__builtin_host_count;

typedef struct kiln__call_arg {
    const char *name;
    enum { KILN__CALL_VALUE, KILN__CALL_ARRAY } kind;
    kiln_value value;
    kiln_array *array;
    bool writable, written; /* written: the function requested it as an output */
    bool read;              /* the function asked for it */
} kiln__call_arg;
typedef struct kiln__export {
    const char *name;
    bool is_array;
    kiln_value value;
    kiln_array array;
    struct kiln__export *next;
} kiln__export;
struct kiln_call {
    const kiln_allocator *mem;
    const char *function;
    size_t arg_count;
    kiln__call_arg *args;
    kiln__export *exports; /* grows during the call; owned by the caller of kiln__call */
    /* Resolves a file name under the trust rules into a path from `arena`. */
    kiln_status (*file)(void *user, kiln__arena *arena, const char *name, const char **path, kiln_error **error);
    void *file_user;
    const char *hint; /* NULL, or what can be done about a missing argument */
    bool missed;      /* the function asked for an argument that it was not given */
    kiln__arena arena;
    kiln_error *failure;      /* set by kiln_call_fail */
    const kiln__log *log;     /* NULL: says nothing */
    const volatile int *stop; /* NULL, or nonzero once the caller wants the call to end (KILN_ERROR_INTERRUPTED) */
};
#if defined __clang_analyzer__ || defined KILN_ANALYZER /* as for kiln__fail() */
#define kiln_call_fail(...) (kiln_call_fail(__VA_ARGS__), KILN_ERROR_HOST_FUNCTION)
#endif
/* Calls the function; a failure becomes an error at `pos`. */
kiln_status kiln__call(kiln_call *call, const kiln__host *host, kiln__pos pos, kiln_error **error);
const kiln__export *kiln__export_find(const kiln__export *exports, const char *name); /* NULL: not there */
void kiln__exports_free(const kiln_allocator *mem, kiln__export *exports);
void kiln__call_free(kiln_call *call); /* its arena, exports and failure */
#endif
