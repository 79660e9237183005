/* race_internal.h - reports races (race.c). */
#ifndef KILN_SIM_CHECK_RACE_INTERNAL_H
#define KILN_SIM_CHECK_RACE_INTERNAL_H

#include "look_internal.h"

/* Reports a race with the access of the mark `s`, unless that access is ordered before this one. The caller has found
 * that the mark is newer than the limit. */
void check_conflict(vm_look *k, const vm_mark *s, bool other_writes, uint32_t lanes, uint64_t offset);
/* Reports a write to data that the same launch reads as read-only, whichever of the two comes first. Read-only data
 * must not change during a launch. */
void check_constant(vm_look *k, vm_cell *c, uint32_t lane);
/* Reports lanes of one store that write different values to the same address, because it is undefined which value
 * remains. */
void check_one_store(vm_look *k);

#endif
