/* view_internal.h - the asynchronous part of vector clocks (view.c). */
#ifndef KILN_SIM_CHECK_VIEW_INTERNAL_H
#define KILN_SIM_CHECK_VIEW_INTERNAL_H

#include "vm_checks_internal.h"

/* Allocates the asynchronous state of a block, if its module uses asynchronous instructions. Returns false if memory
 * runs out. */
bool check_view_new(vm_block *block);
void check_view_free(vm_block *block);
/* Resets the asynchronous state for the next block. */
void check_view_start(vm_block *block);
/* Joins the clock of the lanes into a phase of an mbarrier that belongs to their own block. */
void check_view_arrive(const vm_warp *w, vm_view *to, uint32_t lanes, uint32_t now);
/* Joins the clock of the lanes into a phase of an mbarrier that belongs to another block. If `cluster` is true, the
 * arrival is a release for the cluster. Otherwise the arrival publishes only two facts: the writes before the last
 * fence, and the completion of the earlier reads. The reads need no fence, because a read changes nothing that other
 * threads would have to see. */
void check_view_arrive_far(const vm_warp *w, const vm_block *home, vm_bar *bar, uint32_t lanes, bool cluster,
                           uint32_t now);
/* Joins the clock of a complete phase of an mbarrier into the clock of the lanes. */
void check_view_learn(vm_warp *w, const vm_view *from, uint32_t lanes);
/* Joins the asynchronous part of a warp's vector clock into the join of a barrier. */
void check_more_join(const vm_block *block, vm_more *to, const vm_more *from);
/* Joins the asynchronous part of a vector clock into the clock of these lanes. */
void check_more_learn(vm_warp *w, const vm_more *from, uint32_t lanes);
/* When lanes of a warp synchronise, gives each of them the knowledge of phases that any of them has. */
void check_more_lanes(vm_warp *w, uint32_t lanes);
/* Performs an acquire at the time `known`: joins the asynchronous parts of all warps of the block. The release may have
 * published less, so the checks may miss some races. */
void check_more_acquire(vm_warp *w, uint32_t known);
/* Performs fence.proxy.async for the lanes. */
void check_view_fence(vm_warp *w, uint32_t m);

#endif
