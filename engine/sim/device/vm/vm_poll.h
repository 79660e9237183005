/* vm_poll.h - recognises warps that wait in a loop (poll.c, endless.c). */
#ifndef KILN_SIM_VM_POLL_H
#define KILN_SIM_VM_POLL_H

#include "vm_machine.h"

/* Called when a polling instruction was executed. A polling instruction is an ordered load, an atomic, or a test of an
 * mbarrier. `seen` is a hash of the addresses and values that were read. `changed` is true if the instruction has
 * changed memory. If the lanes read the same values several times in a row, they count as waiting. */
void vm_poll(vm_warp *w, const vm_code *i, uint32_t m, uint64_t seen, bool changed);
void vm_poll_changed(vm_warp *w, const vm_code *i); /* called when an instruction has changed memory */
static inline uint64_t vm_poll_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}
void vm_op_polled(vm_warp *w, const vm_code *i, uint32_t m);
/* Records that a cluster of this runner did more than wait in vain. */
void vm_poll_moved(vm_runner *runner);
/* Votes that all clusters of this runner have waited in vain for a round. Returns true if all runners have cast this
 * vote since a runner last made progress. */
bool vm_poll_all_wait(vm_runner *runner);
/* Returns true if the clusters of this runner will wait for ever unless another runner changes memory. If the function
 * returns true for all runners, the launch ends as a deadlock. */
bool vm_poll_endless(vm_runner *runner);
/* Returns true if every path of the runner comes back to its current instruction with the same registers, and changes
 * nothing on the way. */
bool vm_poll_repeats(vm_runner *runner);

#endif
