/* vm_limit.h - the limits of a launch: its time, and the host memory of its blocks (limit.c, explain.c). */
#ifndef KILN_SIM_VM_LIMIT_H
#define KILN_SIM_VM_LIMIT_H

#include "vm_machine.h"

void vm_limit_init(vm_family *family, const vm_device *device, const vm_launch *launch);
/* Counts host memory that the simulator allocates for a kernel besides device memory, such as frames and local memory.
 * vm_let_go() subtracts this memory again. Returns false if the launch's limit of host memory is reached. */
bool vm_hold(vm_family *family, uint64_t bytes);
void vm_let_go(vm_family *family, uint64_t bytes);
void vm_limit_begin(vm_runner *runner);
/* returns VM_FAULT_STOPPED or VM_FAULT_TIME if the launch must end, otherwise VM_OK */
vm_fault_kind vm_limit_ask(const vm_family *family);
/* Counts the steps of a turn of a warp, after each turn. Tests the limits of the launch whenever a certain number of
 * steps have been counted. Returns VM_FAULT_STOPPED or VM_FAULT_TIME if the launch must end, otherwise VM_OK. */
vm_fault_kind vm_limit_look(vm_runner *runner, uint64_t steps);
/* Raises the fault VM_FAULT_STOPPED, VM_FAULT_TIME or VM_FAULT_STEPS in a warp. The warp must have a path. */
void vm_limit_raise(vm_warp *w, vm_fault_kind kind);
/* Counts the warps of a block that are in the loop that the message names. The caller calls this function after a fault
 * of vm_limit_raise(), for each block of the grid, before it frees the block's frames. */
void vm_limit_count(const vm_block *block);
/* Completes the message of a fault of vm_limit_raise(). The caller calls this function once, when all host threads of
 * the grid have ended. */
void vm_limit_explain(vm_run_state *run);
/* Returns the only instruction of [first, last] through which a thread can see the progress of other threads. The
 * instruction is a wait for an mbarrier. If the range has no such wait, it is a read of memory that threads share. Sets
 * *at to the index of this instruction in the PTX function. Returns NULL if the range has no such instruction, or
 * several such instructions. */
const vm_code *vm_wait_of(const vm_function *function, uint32_t first, uint32_t last, uint32_t *at, bool *mbarrier);
/* Describes the loop in which a path is (`where`) and the memory for which the path waits in that loop (`what`). A text
 * is empty if the loop or the memory is unknown. May change w->frame. */
void vm_wait_describe(vm_warp *w, const vm_path *path, char *where, size_t size, char *what, size_t room);
static inline uint32_t vm_local_most(const vm_device *device)
{
    uint32_t most = device->limits.local_bytes;
    return most && most < VM_LOCAL_BYTES_MAX ? most : VM_LOCAL_BYTES_MAX;
}
/* Returns how many bytes the frames of a chain of calls may take for all 32 lanes together. */
static inline uint64_t vm_frames_most(const vm_device *device) { return (uint64_t)VM_LANES * vm_local_most(device); }
/* Returns true if the frame of one function is small enough. The parameters of calls count like local memory, because a
 * GPU keeps both on the stack of a thread. */
static inline bool vm_frame_fits(const vm_device *device, const vm_function *function)
{
    const ptx_function *f = function->ptx;
    return f->frame_bytes <= vm_local_most(device) && (f->entry || f->param_bytes <= vm_local_most(device));
}

#endif
