/* shared_internal.h - contents that are made once for all plans of a sweep (shared.c). */
#ifndef KILN_PLAN_SHARED_INTERNAL_H
#define KILN_PLAN_SHARED_INTERNAL_H

#include "cache.h"
#include "call.h"
#include "driver.h"
#include "plan.h"

/* An entry of a kiln__shared object. Every plan has such an object, either the object of its sweep or an object of its
 * own. The key of an entry contains everything that determines the content of the entry. So any plan of the sweep can
 * use an entry that another plan made. */
typedef struct kiln__plan_entry {
    struct kiln__plan_entry *next;
    char *key;
    /* the exports of an input, one array for the content of a buffer, or the outputs of a reference */
    kiln__export *values;
    /* a copy of a buffer's content on the device, to which no kernel gets the address; 0 means no copy */
    CUdeviceptr device;
    uint64_t device_bytes;
    kiln__unit unit; /* the memory of `values`, if they were read from disk */
    double seconds;  /* the time of an input's host function, or the time of copying the content to the device */
} kiln__plan_entry;
/* The kernels of answer.c, which compare answers, and the word into which they write their result. */
typedef struct kiln__comparer {
    CUmodule module; /* NULL means that it has not been loaded yet */
    CUfunction wide, bytes;
    CUdeviceptr found;
} kiln__comparer;
/* The kernel of count.c, which compares elements of one type with a reference. */
typedef struct kiln__counter {
    CUmodule module; /* NULL means that it has not been loaded yet, or that the device refused it */
    CUfunction function;
    bool refused;
} kiln__counter;
typedef struct kiln__device_block {
    CUdeviceptr pointer;
    uint64_t bytes;
} kiln__device_block;
struct kiln__shared {
    kiln_engine *engine;
    const kiln_allocator *mem;
    bool sweep; /* the object belongs to a sweep, so it keeps contents and device memory */
    kiln__plan_entry *entries;
    kiln__device_block *spare; /* blocks of device memory that plans have given back */
    size_t spare_count, spare_capacity;
    /* memory larger than the L2 cache; the engine writes it between repetitions to flush the cache */
    CUdeviceptr flush;
    uint64_t flush_bytes;
    kiln__comparer comparer;
    kiln__counter counters[KILN_TYPE_COUNT];
    /* the device memory into which the kernels of count.c write their counts; 0 means not allocated yet */
    CUdeviceptr counted;
    uint64_t count_least; /* outputs of at least this many bytes are compared on the device; 0 means the default */
    void *staging;        /* host memory into which outputs are read, one after the other */
    uint64_t staging_bytes;
    void (*on_launch)(void *user); /* may be NULL */
    void *on_launch_user;
    void (*on_wait)(void *user, const char *why); /* may be NULL */
    void *on_wait_user;
    bool (*on_ask)(void *user); /* called while a run waits for another process; true ends the run. May be NULL */
    void *on_ask_user;
    void (*on_keep)(void *user, const kiln__kept_reference *kept); /* may be NULL */
    void *on_keep_user;
};
kiln__plan_entry *kiln__shared_find(kiln__shared *shared, const char *key);
/* Takes ownership of `values`, also on failure. */
kiln_status kiln__shared_add(kiln__shared *shared, const char *key, kiln__export *values, kiln__plan_entry **entry,
                             kiln_error **error);
/* Frees the entries whose key begins with `prefix`. */
void kiln__shared_drop(kiln__shared *shared, const char *prefix);
/* Allocates device memory. A sweep keeps the memory that its plans release for the next plans. The context must be
 * current. */
kiln_status kiln__shared_alloc(kiln__shared *shared, uint64_t bytes, const char *what, CUdeviceptr *pointer,
                               kiln_error **error);
void kiln__shared_release(kiln__shared *shared, CUdeviceptr pointer, uint64_t bytes);
/* Returns host memory of `bytes` bytes, which is valid until the next call. Returns NULL if memory is exhausted. The
 * object keeps this memory, because the first access to new pages takes longer than the copy. */
void *kiln__shared_staging(kiln__shared *shared, uint64_t bytes);
/* frees the copies of contents and the spare memory on the device */
void kiln__shared_drop_device(kiln__shared *shared);
/* takes ownership of the data of `array` */
kiln__export *kiln__export_of(const kiln_allocator *mem, const char *name, const kiln_array *array);

#endif
