/* vm_guard.h - host memory of kernels, between pages that nothing may touch (guard.c). */
#ifndef KILN_SIM_VM_GUARD_H
#define KILN_SIM_VM_GUARD_H

#include <pthread.h>
#include <sys/types.h>

#include "base.h"

enum { VM_GUARD_CLASSES = 256 };
typedef struct vm_guard_list {
    unsigned char **at;
    size_t count, capacity;
    size_t size; /* of regions: bytes of each */
    size_t made; /* all of them, given back or not: the list has room for so many */
} vm_guard_list;
typedef struct vm_guard_arena {
    unsigned char *at;
    size_t bytes;
} vm_guard_arena;

/* A device's memory that is free. */
typedef struct vm_guards {
    const kiln_allocator *mem; /* of the lists */
    pthread_mutex_t lock;
    vm_guard_list regions[VM_GUARD_CLASSES], slots[VM_GUARD_CLASSES];
    vm_guard_arena *arenas;
    size_t arena_count, arena_capacity;
    size_t kept; /* bytes of regions that wait to be used again */
} vm_guards;

/* OWN: a separate region, however small. ANY: the memory may share an arena with other memory of kernels. */
typedef enum vm_guard_kind { VM_GUARD_ANY, VM_GUARD_OWN } vm_guard_kind;

bool vm_guards_open(vm_guards *g, const kiln_allocator *mem); /* of a structure of zeros; false: no lock */
void vm_guards_close(vm_guards *g);                           /* all memory was given back */
/* Memory that begins at a multiple of 64 bytes, and of 4096 if `bytes` is one; it ends, within less than 64 bytes, at a
 * guard or at the next slot. Zeros if `zeroed`, else any bytes of kernels. NULL: out of memory. */
void *vm_guard_take(vm_guards *g, size_t bytes, vm_guard_kind kind, bool zeroed);
void vm_guard_give(vm_guards *g, void *memory, size_t bytes, vm_guard_kind kind); /* as it was taken; NULL: nothing */

/* Maps `bytes` of a file between guards, to be read and written; file -1: only addresses, of which the caller maps parts.
 * NULL: the system refuses. */
void *vm_guard_map(size_t bytes, int file, off_t offset);
void vm_guard_unmap(void *at, size_t bytes);

#endif
