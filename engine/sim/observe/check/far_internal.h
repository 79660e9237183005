/* far_internal.h - vector clocks for other blocks of a cluster (far.c). */
#ifndef KILN_SIM_CHECK_FAR_INTERNAL_H
#define KILN_SIM_CHECK_FAR_INTERNAL_H

#include "vm_checks_internal.h"

/* Returns the number of a record that is the join of two records. */
uint32_t check_far_join(vm_check *check, uint32_t a, uint32_t b);
/* Returns the number of the record `to`, joined with the clock of the lanes for their own block. */
uint32_t check_far_arrive(const vm_warp *w, uint32_t to, uint32_t owner, uint32_t lanes, uint32_t now);
/* Returns true if the record orders an access of those lanes of the warp at the time `when`. */
bool check_far_knows(const vm_check *check, uint32_t id, uint32_t warp, uint32_t lanes, uint32_t when);
/* Returns true if the record orders an access of any thread at the time `when` or later. */
bool check_far_any(const vm_check *check, uint32_t id, uint32_t when);
/* Joins a record about the block `home` into a phase of an mbarrier of that block. Such a record comes from another
 * block. */
void check_far_return(const vm_block *home, vm_view *to, uint32_t id);

#endif
