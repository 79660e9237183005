/* shared_internal.h - contents that are made once and used by the plans of a sweep (shared.c). */
#ifndef KILN_PLAN_SHARED_INTERNAL_H
#define KILN_PLAN_SHARED_INTERNAL_H

#include "cache.h"
#include "call.h"
#include "driver.h"
#include "plan.h"

/* An entry of a kiln__shared. Every plan has a kiln__shared: the object of the sweep, or its own. The key of an entry
 * contains everything that determines the content of the entry. So any plan of the sweep can use an entry that another
 * plan made. */
typedef struct kiln__plan_entry {
    struct kiln__plan_entry *next;
    char *key;
    /* the exports of an input, the content of a buffer (one array), or the outputs of a reference */
    kiln__export *values;
    CUdeviceptr device; /* a copy of a buffer's content that no kernel accesses; 0 means no copy */
    uint64_t device_bytes;
    kiln__unit unit; /* the memory of `values` that are read from disk */
    double seconds;  /* for an input the time of its host function; for a device copy the time of copying */
} kiln__plan_entry;
/* For answer.c: the kernels that compare answers, and the word into which they write their result. */
typedef struct kiln__comparer {
    CUmodule module; /* NULL means not loaded yet */
    CUfunction wide, bytes;
    CUdeviceptr found;
} kiln__comparer;
/* For count.c: the kernel that compares elements of one type with a reference. */
typedef struct kiln__counter {
    CUmodule module; /* NULL means not loaded yet, or refused */
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
    bool sweep; /* the object belongs to a sweep: it keeps contents and device memory */
    kiln__plan_entry *entries;
    kiln__device_block *spare; /* device memory that plans have given back */
    size_t spare_count, spare_capacity;
    CUdeviceptr flush; /* memory larger than the L2 cache, which is written between repetitions */
    uint64_t flush_bytes;
    kiln__comparer comparer;
    kiln__counter counters[KILN_TYPE_COUNT];
    CUdeviceptr counted;  /* device memory for the counts of these kernels; 0 means not allocated yet */
    uint64_t count_least; /* bytes of an output that the device compares; 0 means the default */
    void *staging;        /* host memory for outputs that are read one after the other */
    uint64_t staging_bytes;
    void (*on_launch)(void *user); /* may be NULL */
    void *on_launch_user;
    void (*on_wait)(void *user, const char *why); /* may be NULL */
    void *on_wait_user;
    bool (*on_ask)(void *user); /* called while a run waits for another process: true ends the run. May be NULL */
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
/* Allocates device memory. A sweep keeps released memory for the next plan. The context must be current. */
kiln_status kiln__shared_alloc(kiln__shared *shared, uint64_t bytes, const char *what, CUdeviceptr *pointer,
                               kiln_error **error);
void kiln__shared_release(kiln__shared *shared, CUdeviceptr pointer, uint64_t bytes);
/* Returns host memory for `bytes`, valid until the next call; NULL means out of memory. The memory is kept, because the
 * first access to new pages takes longer than the copy. */
void *kiln__shared_staging(kiln__shared *shared, uint64_t bytes);
void kiln__shared_drop_device(kiln__shared *shared); /* copies and spare memory */
/* takes ownership of `array` */
kiln__export *kiln__export_of(const kiln_allocator *mem, const char *name, const kiln_array *array);

#endif
