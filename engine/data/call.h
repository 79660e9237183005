/* call.h - calls of host functions: the members of a kiln_call, and the functions by which the engine makes a call. A
 * host function knows nothing of this header: it sees the public functions kiln_call_*() alone. */
#ifndef KILN_CALL_H
#define KILN_CALL_H

#include "data.h"

typedef struct kiln__host {
    const char *name;
    unsigned uses;
    kiln_host_fn function;
    void *user;
    const char *takes; /* as in kiln_host_info; NULL if it is not known */
} kiln__host;
/* The host functions that every engine has: `captured`. */
extern const kiln__host kiln__builtin_hosts[];
extern const size_t kiln__builtin_host_count;

typedef struct kiln__call_arg {
    const char *name;
    enum { KILN__CALL_VALUE, KILN__CALL_ARRAY } kind;
    kiln_value value;
    kiln_array *array;
    bool writable, written; /* written: the function requested the argument as an output */
    bool read;              /* the function read the argument */
} kiln__call_arg;
typedef struct kiln__export {
    const char *name;
    bool is_array;
    bool lent; /* name, text and elements belong to memory that lives longer; see kiln__exports_unpack() */
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
    /* Resolves the name of a file under the trust rules, into a path in `arena`. */
    kiln_status (*file)(void *user, kiln__arena *arena, const char *name, const char **path, kiln_error **error);
    void *file_user;
    const char *hint; /* NULL, or a hint about a missing argument */
    bool missed;      /* the function asked for an argument that the spec does not give */
    bool opened;      /* the function asked for a file */
    kiln__arena arena;
    kiln_error *failure;      /* set by kiln_call_fail */
    const kiln__log *log;     /* NULL means no log */
    const volatile int *stop; /* may be NULL; when *stop is nonzero, the call should end (KILN_ERROR_INTERRUPTED) */
};
#if defined __clang_analyzer__ || defined KILN_ANALYZER /* see kiln__fail() */
#define kiln_call_fail(...) (kiln_call_fail(__VA_ARGS__), KILN_ERROR_HOST_FUNCTION)
#endif
/* Calls the function. If it fails, the error has the place `pos`. */
kiln_status kiln__call(kiln_call *call, const kiln__host *host, kiln__pos pos, kiln_error **error);
/* Returns NULL if there is no export of this name. */
const kiln__export *kiln__export_find(const kiln__export *exports, const char *name);
void kiln__exports_free(const kiln_allocator *mem, kiln__export *exports);

/* ---- exports as bytes (exports.c) ---- */
/* Hashes the elements of an array, with all cores. Returns false if memory is exhausted. */
bool kiln__array_hash(const kiln_allocator *mem, const kiln_array *array, kiln__hash128 *hash);
/* Appends the exports to two texts: their fields to `list`, the elements of their arrays to `data`. Returns false if
 * memory runs out. */
bool kiln__exports_pack(const kiln__export *exports, kiln__text *list, kiln__text *data);
uint64_t kiln__exports_bytes(const kiln__export *exports); /* the number of bytes that `data` gets */
/* Reads exports that kiln__exports_pack() wrote. The bytes are untrusted. *exports points into `list` and `data`, which
 * must outlive it; the caller frees *exports. *whole is false if the bytes are not a complete list of exports. The only
 * error is KILN_ERROR_MEMORY. */
kiln_status kiln__exports_unpack(const kiln_allocator *mem, const void *list, size_t list_length, const void *data,
                                 size_t data_length, kiln__export **exports, bool *whole);
void kiln__call_free(kiln_call *call); /* frees the arena, the exports and the failure */
#endif
