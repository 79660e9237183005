/* streams_internal.h - the order of launches in streams (streams.c). */
#ifndef KILN_SIM_CHECK_STREAMS_INTERNAL_H
#define KILN_SIM_CHECK_STREAMS_INTERNAL_H

#include "vm_checks_internal.h"

/* Records the name and the start of the launch that begins. */
void check_launched(vm_check *check, const vm_run_state *run);
/* Returns the launch that made an access at that time. Returns NULL if that launch is too old or was not recorded. */
const vm_launched *check_launch_at(const vm_check *check, uint32_t stamp);
/* Sets vm_check.known for the launch that begins. */
void check_known(vm_check *check);
/* Returns true if an access of an earlier launch is concurrent with this launch. */
bool check_is_concurrent(const vm_check *check, uint32_t stamp);

#endif
