/* call.h - calls of host functions: the members of a kiln_call, and the functions with which the engine makes a call. A
 * host function does not know this header. It sees only the public functions kiln_call_*(). */
#ifndef KILN_CALL_H
#define KILN_CALL_H

#include "data.h"

typedef struct kiln__host {
    const char *name;
    unsigned uses;
    kiln_host_fn function;
    void *user;
    const char *takes; /* the same text as in kiln_host_info; NULL if it is not known */
} kiln__host;
/* The host functions that every engine has: `captured`. */
extern const kiln__host kiln__builtin_hosts[];
extern const size_t kiln__builtin_host_count;

typedef struct kiln__call_arg {
    const char *name;
    enum { KILN__CALL_VALUE, KILN__CALL_ARRAY } kind;
    kiln_value value;
    kiln_array *array;
    bool writable, written; /* written: the host function requested the argument as an output */
    bool read;              /* the host function has read the argument */
} kiln__call_arg;
typedef struct kiln__export {
    const char *name;
    bool is_array;
    /* the name, the text and the elements belong to memory that lives longer, as in kiln__exports_unpack() */
    bool lent;
    kiln_value value;
    kiln_array array;
    struct kiln__export *next;
} kiln__export;
struct kiln_call {
    const kiln_allocator *mem;
    const char *function;
    size_t arg_count;
    kiln__call_arg *args;
    kiln__export *exports; /* the list grows during the call, and the caller of kiln__call() owns it */
    /* Resolves the name of a file by the trust rules. The path is in `arena`. */
    kiln_status (*file)(void *user, kiln__arena *arena, const char *name, const char **path, kiln_error **error);
    void *file_user;
    const char *hint; /* a text about a missing argument for the message, or NULL */
    bool missed;      /* the function has asked for an argument that the spec does not give */
    bool opened;      /* the function has asked for a file */
    kiln__arena arena;
    kiln_error *failure;  /* set by kiln_call_fail */
    const kiln__log *log; /* NULL means no log */
    /* when *stop is nonzero, the call should end with KILN_ERROR_INTERRUPTED; may be NULL */
    const volatile int *stop;
};
#if defined __clang_analyzer__ || defined KILN_ANALYZER /* see kiln__fail() */
#define kiln_call_fail(...) (kiln_call_fail(__VA_ARGS__), KILN_ERROR_HOST_FUNCTION)
#endif
/* Calls a host function. If it fails, the error has the place `pos`. */
kiln_status kiln__call(kiln_call *call, const kiln__host *host, kiln__pos pos, kiln_error **error);
/* Returns NULL if no export has this name. */
const kiln__export *kiln__export_find(const kiln__export *exports, const char *name);
void kiln__exports_free(const kiln_allocator *mem, kiln__export *exports);

/* ---- a list of exports as bytes (exports.c) ---- */
/* Hashes the elements of an array, with all cores. Returns false if memory runs out. */
bool kiln__array_hash(const kiln_allocator *mem, const kiln_array *array, kiln__hash128 *hash);
/* Appends the exports to two texts. Their fields go to `list`, and the elements of their arrays go to `data`. Returns
 * false if memory runs out. */
bool kiln__exports_pack(const kiln__export *exports, kiln__text *list, kiln__text *data);
/* returns the number of bytes that kiln__exports_pack() appends to `data` */
uint64_t kiln__exports_bytes(const kiln__export *exports);
/* Reads exports that kiln__exports_pack() wrote. The bytes are untrusted. *exports points into `list` and `data`, which
 * must outlive it. The caller frees *exports. *whole is false if the bytes are not a complete list of exports. The only
 * error is KILN_ERROR_MEMORY. */
kiln_status kiln__exports_unpack(const kiln_allocator *mem, const void *list, size_t list_length, const void *data,
                                 size_t data_length, kiln__export **exports, bool *whole);
void kiln__call_free(kiln_call *call); /* frees the arena, the exports and the failure of the call */
#endif
