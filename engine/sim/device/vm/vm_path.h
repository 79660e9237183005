/* vm_path.h - functions on the paths of a warp, branches and calls (path.c, exit.c, warp.c, call.c, frame.c). */
#ifndef KILN_SIM_VM_PATH_H
#define KILN_SIM_VM_PATH_H

#include "vm_machine.h"

void vm_op_bra(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_brx(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_meet(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_exit(vm_warp *w, const vm_code *i, uint32_t m);
void vm_warp_select(vm_warp *w, const vm_path *path);
void vm_warp_save(vm_warp *w);
void vm_path_drop(vm_warp *w); /* removes the running path */
bool vm_path_add(vm_warp *w, const vm_code *pc, uint32_t mask, vm_sync *sync, vm_frame *frame);
/* Removes lanes from the reconvergence points from `sync` up to `until` (exclusive), because these lanes will not
 * arrive there. */
void vm_leave(vm_warp *w, vm_sync *sync, vm_sync *until, uint32_t lanes);
/* Waits in an operation of the whole warp until all its live lanes have arrived. Returns all live lanes if all have
 * arrived, otherwise 0. */
uint32_t vm_gather(vm_warp *w, const vm_code *i, uint32_t m);
/* Lets the lanes m of the running path wait at the path's instruction. The other lanes of the path continue. */
void vm_path_wait(vm_warp *w, const vm_code *i, uint32_t m);
/* Runs the paths of a warp in turn, for about `quantum` operations together. */
void vm_warp_run(vm_warp *w, uint64_t quantum, uint64_t begun);
/* Runs a turn of a warp that is a single path of 32 lanes. Returns true if the turn of the warp is over. */
bool vm_warp_run_whole(vm_warp *w, uint64_t quantum, uint64_t *begun);
void vm_warp_step(vm_warp *w); /* runs one instruction of the selected path */
bool vm_warp_ready(const vm_warp *w);
/* Lets lanes that wait at reconvergence points continue without the lanes that have not arrived. Returns false if no
 * lanes of the warp wait there. */
bool vm_warp_release_waiting(vm_warp *w);
/* Makes a reconvergence point at `meet` for the lanes of the running path, which are about to diverge. If `meet` is
 * NULL, the lanes reconverge only at the enclosing point, or when the function returns. After vm_diverge(), the caller
 * calls vm_send_lanes(), which sends some of the lanes to `target`. */
vm_sync *vm_diverge(vm_warp *w, const vm_code *meet);
void vm_send_lanes(vm_warp *w, const vm_code *target, uint32_t lanes, vm_sync *sync);
/* Counts an execution of the code from `first` to `i` by a whole warp, for the compiler of hot code. */
void vm_add_heat(vm_warp *w, const vm_code *i, const vm_code *first);

/* Empties the runner's caches if memory was freed since they were filled. */
void vm_runner_refresh(vm_runner *runner);
/* Counts a miss: a region ended at an operand for which the region was not compiled. `weight` is the number of misses
 * that this sample represents. If more than 1 / `share` of many entries are misses, the function calls the compiler, which
 * may replace the region. */
struct vm_native;
void vm_warp_count_miss(vm_warp *w, const vm_code *head, struct vm_native *region, unsigned weight, unsigned share);

/* ---- call.c, frame.c ---- */
void vm_op_call(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_ret(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_stack(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_home(vm_warp *w, const vm_code *i, uint32_t m);
void vm_frame_finish(vm_warp *w, vm_frame *frame, bool resume);
void vm_frame_return(vm_warp *w, vm_frame *frame);
vm_frame *vm_frame_new(vm_warp *w, const vm_function *function, vm_frame *caller);
bool vm_frame_renew(vm_warp *w, const vm_function *kernel);
void vm_frame_free(vm_warp *w, vm_frame *frame);
void *vm_pool_get(vm_runner *runner, size_t bytes);
void vm_pool_put(vm_runner *runner, void *pointer, size_t bytes);
void vm_pool_clear(vm_runner *runner);
/* Copies the arguments of a call into the frame of the callee if `in` is true. Otherwise copies the results of the call
 * back. */
void vm_frame_copy(vm_warp *w, vm_frame *caller, vm_frame *callee, const vm_call *call, uint32_t lanes, bool in);

#endif
