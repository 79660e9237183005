/* mbarrier_internal.h - checks mbarriers (mbarrier.c). */
#ifndef KILN_SIM_CHECK_MBARRIER_INTERNAL_H
#define KILN_SIM_CHECK_MBARRIER_INTERNAL_H

#include "vm_checks_internal.h"

/* Checks an mbarrier instruction. If `copies` is true, a lane's arrival takes place when the earlier cp.async of the
 * lane are complete. Returns the lanes that may execute it. */
uint32_t check_mbarrier(vm_warp *w, const vm_code *i, uint32_t m, bool copies);
/* Counts the bytes of a copy at the mbarrier on which it completes. Returns false if the instruction must not access
 * the mbarrier. */
bool check_complete_tx(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint64_t bytes, uint32_t flight);
/* Counts the arrival of a tcgen05.commit at an mbarrier, and records the operations that this commit tracks. Returns
 * false if the instruction must not access the mbarrier. */
bool check_commit_one(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address);
/* Returns the block that owns the shared memory at the address. Returns NULL if no live block owns this memory. */
vm_block *check_find_home(const vm_warp *w, uint64_t address);
/* Returns the number of the mbarrier at an address. If there is no mbarrier, returns VM_BAR_NONE. */
uint32_t check_bar_find(const vm_block *block, uint64_t address);
/* Performs fence.mbarrier_init for the mbarriers that these lanes have initialised. */
void check_announce(vm_warp *w, uint32_t m);

#endif
