/* vm_memory.h - device memory: allocations, spans of allocations, and memory of other devices. */
#ifndef KILN_SIM_VM_MEMORY_H
#define KILN_SIM_VM_MEMORY_H

#include "vm_machine.h"

/* ---- pages.c ---- */
/* Reserves `bytes` of address space between two guards. A page contains poison (VM_POISON) until it is written. *poison
 * is the descriptor + 1 of a file with poison. If *poison is 0, the function makes the file and sets *poison. Returns
 * NULL if the system refuses. The caller then uses ordinary memory. */
void *vm_pages_reserve(int *poison, uint64_t bytes);
void vm_pages_free(void *host, uint64_t bytes);
/* Sets the content of memory from vm_pages_reserve() to `period` bytes of `pattern`, repeated. `bytes` and `period` are
 * multiples of a page. Returns false if memory runs out. The content is then undefined. */
bool vm_pages_repeat(void *host, uint64_t bytes, const void *pattern, uint64_t period);
/* Makes the content of memory from vm_pages_reserve() zero. The pages take no memory before they are written. Returns
 * false if the system refuses. */
bool vm_pages_zero(void *host, uint64_t bytes);

/* ---- memory.c, search.c, describe.c ---- */
vm_allocation *vm_allocate(vm_device *device, uint64_t bytes, const char *name);
/* Allocates memory for malloc() in a kernel. Returns NULL if memory runs out or the heap is full. */
vm_allocation *vm_allocate_heap(vm_device *device, uint64_t bytes, uint64_t limit);
/* Allocates memory for cudaMalloc() in a kernel. */
vm_allocation *vm_allocate_from_kernel(vm_device *device, uint64_t bytes);
/* Frees memory that a kernel has allocated, for a call of free() or cudaFree() by the warp. The work counts as steps.
 * Returns false if no kernel has allocated the memory at the address. Such memory is the host's memory, a variable of a
 * module, or the simulator's own memory. */
bool vm_free_from_kernel(vm_warp *w, uint64_t address);
/* Moves an allocation to another device. Returns false if memory runs out. In this case nothing has changed. */
bool vm_hand_over(vm_allocation *allocation, vm_device *to);
vm_allocation *vm_allocate_shared(vm_device *device, uint64_t bytes, const char *name); /* like vm_alloc_host() */
/* Adds a filler. A filler is the memory for an access between the allocations of a page. On a GPU such an access is not
 * a fault, and fresh pages are zero. Returns false if the page has no allocation, or if the address was freed. */
bool vm_fill(vm_device *device, uint64_t address);
/* Returns the allocation that holds the address, or NULL. The allocation may belong to another device (`home`) whose
 * memory this device may use. The function does not find memory of multicast objects: see vm_team_at(). */
const vm_allocation *vm_allocation_of(vm_device *device, uint64_t address);
bool vm_was_freed(vm_device *device, uint64_t address);
/* Releases all freed memory that no runner can have in its caches any more. The caller holds the device's lock. */
void vm_bury(vm_device *device);
/* Returns the index + 1 of the allocation that contains `address`, or of the last allocation before it. Returns 0 if
 * all allocations are at higher addresses. The caller holds the device's lock. */
size_t vm_search(const vm_device *device, uint64_t address);
void vm_describe(vm_device *device, uint64_t address, char *text, size_t size);
/* An allocation with a label that contains an address, or that is nearest to the address. */
typedef struct vm_labelled {
    char name[128], role[32];
    /* the address minus the beginning of the allocation, which is negative if the address is before the allocation */
    int64_t offset;
    uint64_t bytes;
} vm_labelled;
bool vm_labelled_at(vm_device *device, uint64_t address, vm_labelled *found);
/* Registers a runner with the device. While a runner is registered, memory that is freed stays mapped until the
 * runner's generation is later than the generation of the free. Until then the caches of the runner may still point to
 * this memory. */
void vm_runner_enter(vm_device *device, vm_runner *runner);
void vm_runner_leave(vm_device *device, vm_runner *runner);
void vm_runner_update(vm_runner *runner, uint64_t generation);

/* ---- team.c: memory of multicast objects ---- */
/* Returns the part of a multicast object that holds [address, address + bytes), or NULL. */
const vm_allocation *vm_team_at(vm_device *device, uint64_t address, uint64_t bytes);
/* Returns the memory that a device of the team has bound to all of [offset, offset + bytes) of the multicast object.
 * `member` is the device's index in the team. Returns NULL if there is no such memory. */
const vm_replica *vm_replica_of(const vm_team *team, uint32_t member, uint64_t offset, uint64_t bytes);
/* Sets hosts[k] to the host pointer of one lane's range on device k of the team, and returns how many devices the team
 * has. The address must be a multiple of `bytes`. Raises a fault and returns 0 in these cases: the address is not
 * multicast memory, it is misaligned, the memory must not be written, or a device has bound no memory there. */
uint32_t vm_reach_team(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint32_t bytes, bool write,
                       unsigned char *hosts[VM_TEAM_MOST]);

/* Returns the device's own allocation that holds the address, or NULL. Unlike vm_allocation_of(), this function finds
 * no memory of other devices. It counts the bytes after an allocation's end that kernels can access
 * (vm_allocation.reach). */
const vm_allocation *vm_reached(vm_device *device, uint64_t address);

/* ---- span.c: the caches of memory instructions ---- */
/* Finds the span of the allocation that holds the address. Sets `constant` for .const memory, and `read_only` for all
 * memory that kernels must not write. */
bool vm_find(vm_device *device, uint64_t address, vm_span *span, bool *constant, bool *read_only);
/* Fills the instruction's cache with the allocation, or the contiguous allocations, that hold [low, high). Returns
 * false if no such memory holds the whole range [low, high). Also returns false if `write` is set and kernels must not
 * write the memory. So the cache of an instruction with the flag VM_WRITES always holds writable memory. */
bool vm_refill(vm_warp *w, const vm_code *i, uint64_t low, uint64_t high, bool write);

/* ---- group.c: the other devices of the process ---- */
void vm_group_join(vm_device *device);
void vm_group_leave(vm_device *device);
/* Returns an allocation of another device that holds the address and that kernels of this device may use, or NULL. The
 * allocation stays alive as long as nothing else runs on that device. */
const vm_allocation *vm_elsewhere(vm_device *device, uint64_t address);
/* Invalidates the caches of all devices of the group, because memory was freed. */
void vm_group_freed(vm_device *device);
/* If the address is in the memory of another device, describes the address and returns true. Otherwise returns
 * false. */
bool vm_describe_elsewhere(vm_device *device, uint64_t address, char *text, size_t size);

/* ---- textures.c ---- */
/* Returns the texture or surface with that handle, or NULL. */
const vm_texture *vm_texture_find(const vm_device *device, uint64_t handle);

#endif
