/* vm_access.h - accesses to memory lane by lane; an invalid access raises a fault (access.c). */
#ifndef KILN_SIM_VM_ACCESS_H
#define KILN_SIM_VM_ACCESS_H

#include "vm_machine.h"

typedef enum vm_reach_kind { VM_REACH_READ = 1, VM_REACH_WRITE = 2, VM_REACH_BOTH = 3 } vm_reach_kind;
/* Returns the host pointer for all of [address, address + bytes) of one lane, or NULL with a fault recorded. The
 * address is in `space`, or in any space if `space` is PTX_SPACE_GENERIC. The address must be a multiple of `align`.
 * All bytes of the range must lie in one object, such as an allocation. The pointer is valid only for [address, address
 * + bytes). tests/style/boundary.py finds code that tests the two ends of a range itself instead of calling this
 * function. */
unsigned char *vm_reach_span(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address,
                             uint64_t bytes, uint32_t align, vm_reach_kind kind);
/* Does the same as vm_reach_span() for an access of at most 16 bytes that must be aligned to its size. */
unsigned char *vm_reach(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address, uint32_t bytes,
                        bool write);
/* Describes why the block may not use a shared address. */
void vm_describe_shared(const vm_run_state *run, uint64_t address, char *text, size_t size);
uint64_t vm_lane_address(const vm_warp *w, const vm_code *i, uint32_t slot, uint32_t lane);
void vm_load_slow(vm_warp *w, const vm_code *i, uint32_t m);
void vm_store_slow(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_isspacep(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_cp_async(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_load_param(vm_warp *w, const vm_code *i, uint32_t m);
bool vm_read_string(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, char *text, size_t size);

#endif
