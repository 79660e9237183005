/* order_internal.h - the happens-before order: barriers, warp operations, fences (order.c). */
#ifndef KILN_SIM_CHECK_ORDER_INTERNAL_H
#define KILN_SIM_CHECK_ORDER_INTERNAL_H

#include "vm_checks_internal.h"
#include "vm_collective.h"

/* Orders all earlier accesses of these lanes before all their later accesses. bar.warp.sync and other .sync operations
 * need this. */
void check_join_lanes(vm_warp *w, uint32_t mask);
void check_arrive(vm_warp *w, uint32_t barrier); /* Joins the warp's clock into a barrier. */
/* Orders all earlier accesses of all threads before the warp's next access. The checks call this function where they
 * know nothing more precise. */
void check_know_all(vm_warp *w);
/* Joins the warp's clock into the cluster's barrier. If `relaxed` is true, joins no entry: it raises `horizon` to the
 * time of the warp's last fence. */
void check_cluster_arrive(vm_warp *w, bool relaxed);
/* Lets lanes pass the cluster's barrier after it has opened. */
void check_cluster_wait(vm_warp *w, uint32_t m);
/* Performs a release fence. If `block` is true, the scope of the fence is .cta. */
void check_release(vm_warp *w, bool block);
/* Checks the arrival of lanes at a barrier of the block, and joins their warp's clock into it. */
void check_barrier(vm_warp *w, const vm_code *i, uint32_t m);
/* Performs a fence with the scope that the instruction names. `lanes` has the lanes that execute a fence instruction.
 * `lanes` is 0 for a fence that another instruction implies. */
void check_fence(vm_warp *w, const ptx_insn *in, uint32_t lanes);
bool check_block_new(vm_block *block);
void check_block_start(vm_block *block);
void check_block_free(vm_block *block);
/* Orders the lanes of a warp operation, and checks their member masks (vm_hooks.met). */
void check_order_meeting(vm_warp *w, const vm_code *i, uint32_t m, const vm_meeting *meeting);
/* Opens a barrier that is complete: each warp that waits there gets the join of the clocks. At this time the
 * interpreter has not yet released the paths of these warps. */
void check_open(vm_block *block, uint32_t barrier);
/* Reports barriers in divergent code, at which some lanes of a warp wait while the other lanes wait at a reconvergence
 * point. */
void check_stuck(vm_block *block);
/* Reports each place where threads of the block wait, if no warp of the block can ever continue. */
void check_deadlock(vm_block *block);
/* Orders the accesses of child launches that have run before the later accesses of the block. */
void check_children(vm_block *block);

#endif
