/* dependent_internal.h - dependent launches: the order between a warp and the launches that are prerequisites of its
 * launch. */
#ifndef KILN_SIM_CHECK_DEPENDENT_INTERNAL_H
#define KILN_SIM_CHECK_DEPENDENT_INTERNAL_H

#include "vm_checks_internal.h"

/* Returns a limit: all marks in global memory up to this time are ordered before an access of these lanes. */
static inline uint32_t check_dependent_limit(const vm_clock *c, uint32_t lanes)
{
    return VM_UNLIKELY(lanes & ~c->after) && c->early < c->horizon ? c->early : c->horizon;
}
/* Sets the clock of a warp whose block begins. */
void check_dependent_start(const vm_block *block, vm_clock *c);
/* Performs griddepcontrol. */
void check_dependent(vm_warp *w, const ptx_insn *in, uint32_t m);
/* Counts the end of a block, because dependent launches may begin when all blocks have ended. */
void check_dependent_end(const vm_block *block);
/* Returns the time that a warp publishes about prerequisite launches. The accesses of these launches up to this time
 * happened before the present point of the warp. If a lane of the warp is in `after`, all accesses of the prerequisite
 * launches happened before, so the time is the start of the warp's own launch. Otherwise the time is the entry `early`
 * of the warp's clock. */
uint32_t check_dependent_known(const vm_warp *w);
/* Joins a time that another warp got from check_dependent_known() into the clock of lanes that acquire it. */
void check_dependent_learn(vm_warp *w, uint32_t known, uint32_t lanes);
/* Performs the acquire of a flag that was published at the time `known`, by this launch or an earlier one. */
void check_dependent_acquire(vm_warp *w, uint32_t known);

#endif
