/* bounds_internal.h - bounds of memory (bounds.c). */
#ifndef KILN_SIM_CHECK_BOUNDS_INTERNAL_H
#define KILN_SIM_CHECK_BOUNDS_INTERNAL_H

#include "look_internal.h"

/* Sets `low` and `end` to the bounds of the shared variable `owner` (symbol + 1). If `owner` is 0, sets them to the
 * bounds of the piece of shared memory around `address`. Such a piece is the static variables, the dynamic memory or
 * the system's part. Returns false if the variable does not belong to this kernel. */
static inline bool check_find_shared_bounds(const vm_run_state *run, uint64_t address, uint32_t owner, uint64_t *low,
                                            uint64_t *end)
{
    if (owner) {
        *low = run->launch->module->address[owner - 1];
        *end = *low + run->launch->module->ptx->symbols[owner - 1].bytes;
        return *end <= run->shared_gap; /* if the variable ends later, it belongs to another kernel */
    }
    *low = address < run->shared_gap ? run->shared_low : run->shared_dynamic;
    *end = address < run->shared_gap ? run->shared_gap : run->shared_end;
    if (run->shared_system && address >= run->shared_system)
        *low = run->shared_system, *end = run->shared_reach;
    return true;
}
/* Returns the last shared variable that begins at or before the address, and sets `start` to the variable's address.
 * The kernel, or the function of the instruction, must name the variable. Returns NULL if there is no such variable. */
const ptx_symbol *check_find_shared_variable(const vm_run_state *run, uint32_t insn, uint64_t address, uint64_t *start);
/* Reports lanes that access the shared memory of a block that has exited, or that access shared memory which they must
 * not access. `why` is the reason, for the message. */
void check_no_block(vm_look *k, uint32_t lane, uint32_t lanes, const char *why);
/* Reports lanes that access the shared memory of another block of the cluster, if the warp does not know that this
 * block has begun. */
void check_begun(vm_look *k, const vm_block *home, uint32_t lane, uint32_t lanes);
/* Sets `low` and `end` to the bounds of the memory around `address`. Returns false if there is no memory that the
 * access may touch. */
bool check_variable_bounds(const vm_look *k, uint64_t address, uint32_t owner, uint64_t *low, uint64_t *end);
/* Tests each lane separately. Reports lanes whose access is out of bounds or misaligned, and returns these lanes. */
uint32_t check_refuse(vm_look *k, uint32_t owner);
/* Describes the memory at a lane's address, for a message. */
const char *check_describe(const vm_look *k, uint32_t lane);

/* Reports lanes whose access leaves their local variable and reaches the next one. */
void check_next_local(vm_look *k);
/* Reports a write that touches the padding of rows. */
void check_padding(vm_look *k, const vm_shadow *shadow, uint64_t offset, uint32_t lane, uint32_t lanes);
void check_outside(vm_warp *w, const vm_code *i, uint32_t lane, int64_t at, uint32_t size, bool linear);

#endif
