/* before_internal.h - tests of the happens-before order (before.c). */
#ifndef KILN_SIM_CHECK_BEFORE_INTERNAL_H
#define KILN_SIM_CHECK_BEFORE_INTERNAL_H

#include "vm_checks_internal.h"

/* Tells how an operation on tensor memory and a later access are ordered, or which step is missing. */
typedef enum vm_order {
    VM_IN_ORDER,
    VM_UNCOMMITTED, /* no tcgen05.commit tracks the operation */
    VM_UNSEEN,      /* the thread does not know that the phase in which the commit arrives is complete */
    VM_UNWAITED,    /* tcgen05.wait::ld or tcgen05.wait::st is missing */
    VM_UNSYNCED,    /* no barrier orders the two threads */
    VM_NO_BEFORE,   /* tcgen05.fence::before_thread_sync is missing */
    VM_NO_AFTER     /* tcgen05.fence::after_thread_sync is missing */
} vm_order;

/* Returns true if the access `s` happened before the lane's current access. */
bool check_happened_before(const vm_warp *w, const vm_mark *s, uint32_t lane, bool shared);
/* Returns true if the reads by `lanes` of a warp of another block up to the time `when` are ordered before the current
 * access. Then the current access may overwrite the data that these lanes have read. */
bool check_far_done(const vm_warp *w, uint32_t block, uint32_t warp, uint32_t lanes, uint32_t when);
/* Returns true if an action of another block of the cluster at the time `when` or later happened before the current
 * access. */
bool check_far_later(const vm_warp *w, uint32_t block, uint32_t when);
/* Returns true if the block `number` is in the same cluster. */
bool check_is_near(const vm_block *block, uint32_t number);
/* Recomputes `fast`. The caller must call this after every change of `know`, `full`, `firm` or `horizon`. */
void check_refresh_fast(const vm_block *block, vm_clock *c);
/* Performs the acquire of lanes that have read a flag: from now on, the accesses of all threads up to the time `known`
 * count as happened before. The other lanes of the warp learn this when they synchronise with one of these lanes. */
void check_acquire_flag(const vm_warp *w, uint32_t known, uint32_t lanes);
/* Gives all lanes of the warp the knowledge that some of its lanes have learnt from flags. */
void check_share_flags(const vm_warp *w);
/* Returns the operation `id`. Returns NULL if the operation belongs to an earlier launch or is too old. Such an
 * operation counts as complete. */
vm_flight *check_flight_at(const vm_check *check, uint32_t id);
/* Returns true if the operation is complete for the lane's current access. If `read` is true, it is enough that the
 * reads of the operation are complete. */
bool check_flight_is_complete(const vm_warp *w, uint32_t id, uint32_t by, uint32_t lane, bool read);
/* Tells whether commits and waits order a product or a copy of tensor memory before the lane's next operation. The
 * result is VM_IN_ORDER, VM_UNCOMMITTED, VM_UNSEEN or VM_NO_AFTER. If `lane` is VM_LANES, it is enough that one lane of
 * the warp knows that the operation is complete. */
vm_order check_commit_order(const vm_warp *w, const vm_flight *f, uint32_t lane);
/* Returns true if warp v of the block has arrived at the cluster's barrier after the time `when`, and the warp w has
 * passed this barrier. The arrival may be relaxed, so it orders no accesses to memory. It orders the execution. */
bool check_met_after(const vm_warp *w, uint32_t v, uint32_t when);
/* Returns true if a warp of the block has waited for a commit of the operation, and then has met the warp w at the
 * cluster's barrier. */
bool check_met_commit(const vm_warp *w, const vm_flight *f);
/* Returns true if the lane knows that the product or copy is complete. */
bool check_tensor_complete(const vm_warp *w, const vm_flight *f, uint32_t lane);
/* Returns true if the lane knows that the mbarrier's phase is complete. */
bool check_view_knows(const vm_warp *w, uint32_t bar, uint32_t phase, uint32_t lane);
/* Returns true if a fence.proxy.async lies between the write `s` and the lane's next access. */
bool check_view_fenced(const vm_warp *w, const vm_mark *s, uint32_t lane);

#endif
