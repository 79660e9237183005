/* streams_internal.h - the order of launches in streams (streams.c). */
#ifndef KILN_SIM_CHECK_STREAMS_INTERNAL_H
#define KILN_SIM_CHECK_STREAMS_INTERNAL_H

#include "vm_checks_internal.h"

/* Records the name and the start of the launch that begins. */
void check_launched(vm_check *check, const vm_run_state *run);
/* Returns the launch that made an access at the time `stamp`. Returns NULL if that launch is too old or was not
 * recorded. */
const vm_launched *check_launch_at(const vm_check *check, uint32_t stamp);
/* Sets vm_check.known and vm_check.early for the launch that is about to begin. */
void check_known(vm_check *check);
/* Returns the entry of check_concurrent() that contains the time. Returns NULL if the work of that time is ordered
 * before this launch. */
const vm_prior *check_prior_at(const vm_check *check, uint32_t stamp);
/* Returns the time at which an earlier launch made the access, so that check_prior_at() can find the launch. Returns 0
 * if this launch made the access, or if the list of launches no longer has the launch that made it. */
uint32_t check_earlier_stamp(const vm_check *check, const vm_mark *s);

#endif
