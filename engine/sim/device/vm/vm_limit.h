/* vm_limit.h - the limits of a launch: its time, and the host memory of its blocks (limit.c, explain.c). */
#ifndef KILN_SIM_VM_LIMIT_H
#define KILN_SIM_VM_LIMIT_H

#include "vm_machine.h"

void vm_limit_init(vm_family *family, const vm_device *device, const vm_launch *launch);
/* Counts host memory that the simulator needs for a kernel besides device memory. Returns false if the launch's limit
 * is reached. */
bool vm_hold(vm_family *family, uint64_t bytes);
void vm_let_go(vm_family *family, uint64_t bytes);
void vm_limit_begin(vm_runner *runner);
vm_fault_kind vm_limit_ask(const vm_family *family); /* VM_OK, VM_FAULT_STOPPED or VM_FAULT_TIME */
/* Called with the steps of each turn of a warp. Tests the limits after a number of steps. Returns VM_FAULT_STOPPED or
 * VM_FAULT_TIME if the launch must end, otherwise VM_OK. */
vm_fault_kind vm_limit_look(vm_runner *runner, uint64_t steps);
/* Raises one of these faults, or VM_FAULT_STEPS. The warp must have a path. */
void vm_limit_raise(vm_warp *w, vm_fault_kind kind);
/* Called after one of these faults: counts the warps of a block that are in the loop that did not end. Called for each
 * block of the grid before its frames are freed. */
void vm_limit_count(const vm_block *block);
/* Completes the message of one of these faults. Called once, when all host threads of the grid have ended. */
void vm_limit_explain(vm_run_state *run);
/* Returns the only instruction of [first, last] that can see what other threads do: a wait for an mbarrier, or
 * otherwise a read of memory that threads share. Sets *at to its index in the PTX function. Returns NULL if there is no
 * such instruction, or if there are several. */
const vm_code *vm_wait_of(const vm_function *function, uint32_t first, uint32_t last, uint32_t *at, bool *mbarrier);
/* Describes the loop in which a path is, and the memory for which it waits there, as far as both are known. May change
 * w->frame. */
void vm_wait_describe(vm_warp *w, const vm_path *path, char *where, size_t size, char *what, size_t room);
static inline uint32_t vm_local_most(const vm_device *device)
{
    uint32_t most = device->limits.local_bytes;
    return most && most < VM_LOCAL_BYTES_MAX ? most : VM_LOCAL_BYTES_MAX;
}
/* Returns how many bytes the frames of a chain of calls may take for all 32 lanes. */
static inline uint64_t vm_frames_most(const vm_device *device) { return (uint64_t)VM_LANES * vm_local_most(device); }
/* Returns true if the frame of one function is small enough. The parameters of calls count like local memory, because
 * both are on the stack of a thread. */
static inline bool vm_frame_fits(const vm_device *device, const vm_function *function)
{
    const ptx_function *f = function->ptx;
    return f->frame_bytes <= vm_local_most(device) && (f->entry || f->param_bytes <= vm_local_most(device));
}

#endif
