/* vm_guard.h - host memory of kernels, between pages that nothing may touch (guard.c). */
#ifndef KILN_SIM_VM_GUARD_H
#define KILN_SIM_VM_GUARD_H

#include <pthread.h>
#include <sys/types.h>

#include "base.h"

enum { VM_GUARD_CLASSES = 256 };
/* Free regions or slots of one size class. */
typedef struct vm_guard_list {
    unsigned char **at;
    size_t count, capacity;
    size_t size; /* bytes of each region or slot of the list */
    size_t made; /* number of regions or slots that exist, free or in use; the list has room for all of them */
} vm_guard_list;
/* A mapping that several slots share. */
typedef struct vm_guard_arena {
    unsigned char *at;
    size_t bytes;
} vm_guard_arena;

/* The free host memory of a device. The functions below take the lock of this structure. */
typedef struct vm_guards {
    const kiln_allocator *mem; /* allocates the lists */
    pthread_mutex_t lock;
    vm_guard_list regions[VM_GUARD_CLASSES], slots[VM_GUARD_CLASSES];
    vm_guard_arena *arenas;
    size_t arena_count, arena_capacity;
    size_t kept; /* bytes of free regions that are kept for later use */
} vm_guards;

/* OWN: the memory is a separate region, even if it is small. ANY: the memory may share an arena with other memory of
 * kernels. */
typedef enum vm_guard_kind { VM_GUARD_ANY, VM_GUARD_OWN } vm_guard_kind;

/* Initialises a vm_guards that is all zero. Returns false if the lock cannot be made. */
bool vm_guards_open(vm_guards *g, const kiln_allocator *mem);
/* Unmaps all regions and arenas. The caller must have freed all memory before. */
void vm_guards_close(vm_guards *g);
/* Returns memory that begins at a multiple of 64 bytes, or of 4096 if `bytes` is a multiple of 4096. A guard or the
 * next slot begins less than 64 bytes after the end of the memory. If `zeroed` is set, the memory is zero. If `zeroed`
 * is not set, the memory may contain old bytes of kernels. Returns NULL if memory runs out. */
void *vm_guard_take(vm_guards *g, size_t bytes, vm_guard_kind kind, bool zeroed);
/* Frees memory. `bytes` and `kind` must be the same as in the call of vm_guard_take(). NULL is allowed. */
void vm_guard_give(vm_guards *g, void *memory, size_t bytes, vm_guard_kind kind);

/* Maps `bytes` of a file between guards, for reading and writing. If `file` is -1, the function only reserves the
 * addresses, and the caller maps parts of them. Returns NULL if the system refuses. */
void *vm_guard_map(size_t bytes, int file, off_t offset);
void vm_guard_unmap(void *at, size_t bytes);

#endif
