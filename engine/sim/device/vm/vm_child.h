/* vm_child.h - runs grids, and the work that kernels launch (run.c, prepare.c, child.c, runtime.c). */
#ifndef KILN_SIM_VM_CHILD_H
#define KILN_SIM_VM_CHILD_H

#include "vm_machine.h"

/* returns the index + 1 of a function of the device runtime, or 0 if there is no such function */
uint32_t vm_runtime_find(const char *name);
/* If `function` returns names or texts of errors, creates these texts in the module's device memory. Returns false if
 * memory runs out. */
bool vm_runtime_texts(vm_module *module, uint32_t function);
bool vm_runtime_fits(uint32_t function, const ptx_function *declared, const ptx_module *ptx);
void vm_runtime_run(vm_warp *w, const vm_code *i, uint32_t m, uint32_t function);
/* runs all work that the block has launched so far, and returns when all this work has ended */
void vm_children_run(vm_block *block);
/* prepares the block's data for the next block, and discards work that has not run */
void vm_children_reset(vm_block *block);
void vm_children_free(vm_block *block);
void vm_task_free(const kiln_allocator *mem, struct vm_task *task);
/* returns the largest number of threads of a block that the directives allow */
uint32_t vm_max_threads(const ptx_function *f);
/* Checks the requirements of a launch, and fills in `run`. If a requirement is violated, the message of `fault` names
 * it. */
vm_fault_kind vm_launch_prepare(vm_run_state *run, vm_fault *fault);
/* Sets the message of a launch that cannot run. */
vm_fault_kind vm_launch_refuse(vm_fault *fault, vm_fault_kind kind, const char *format, ...) KILN__PRINTF(3, 4);
/* Runs a prepared grid to its end, together with the work that it launches. */
void vm_grid_run(vm_run_state *run);

/* A queued kernel launch, copy or fill. */
typedef struct vm_task {
    struct vm_task *next;
    bool is_launch;
    vm_launch launch; /* the parameters follow the task in memory */
    /* A copy or fill of `depth` slices, each with `height` rows of `width` bytes. If `source` is 0, the task is a fill
     * with `value`. */
    uint64_t target, source, width, height, depth;
    uint64_t target_pitch, target_slice, source_pitch, source_slice;
    unsigned char value;
    const vm_code *at; /* the instruction that enqueued the task, for messages */
    uint32_t block[3];
} vm_task;

#endif
