/* far_internal.h - vector clocks for the threads of other blocks of a cluster (far.c). */
#ifndef KILN_SIM_CHECK_FAR_INTERNAL_H
#define KILN_SIM_CHECK_FAR_INTERNAL_H

#include "vm_checks_internal.h"

/* Returns the number of a record that is the join of the two records. */
uint32_t check_far_join(vm_check *check, uint32_t a, uint32_t b);
/* Joins the clock that the arriving lanes have for their own block into the record `to`. Returns the number of the
 * resulting record. The phase `owner` may change this record later. */
uint32_t check_far_arrive(const vm_warp *w, uint32_t to, uint32_t owner, uint32_t lanes, uint32_t now);
/* Returns true if the record orders the accesses of `lanes` of the warp at the time `when` before the access that is
 * checked. */
bool check_far_knows(const vm_check *check, uint32_t id, uint32_t warp, uint32_t lanes, uint32_t when);
/* Returns true if the record tells that an action of any thread at the time `when` or later happened before the access
 * that is checked. */
bool check_far_any(const vm_check *check, uint32_t id, uint32_t when);
/* An arrival from another block brings a record of those accesses of `home` that happened before the arrival. This
 * function joins the record into the phase of the mbarrier of `home`. */
void check_far_return(const vm_block *home, vm_view *to, uint32_t id);

#endif
