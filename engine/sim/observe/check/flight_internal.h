/* flight_internal.h - asynchronous operations in flight (flight.c). */
#ifndef KILN_SIM_CHECK_FLIGHT_INTERNAL_H
#define KILN_SIM_CHECK_FLIGHT_INTERNAL_H

#include "look_internal.h"

/* Creates the record of an asynchronous operation that lanes of the warp begin. `home` is the block in whose shared
 * memory the operation completes. `home` is the block of the mbarrier, or the block of the warp. Returns NULL if memory
 * or numbers run out, or if the warp has no asynchronous state (vm_clock.more). Then the checks do not follow the
 * operation. */
vm_flight *check_flight_new(vm_warp *w, const vm_code *i, vm_flight_kind kind, uint32_t lanes, vm_block *home);
/* Adds the operation to the list of operations for which the warp has to wait. */
void check_flight_pend(vm_warp *w, const vm_flight *f);
/* Returns the name of the operation's instruction for a message. */
const char *check_flight_name(const vm_flight *f);
/* Begins a cp.async of the lanes. Returns the number of the operation, or 0 if the checks do not follow it. */
uint32_t check_flight_copy(vm_warp *w, const vm_code *i, uint32_t m);
/* Binds the copies that the lanes have made so far to the phase of an mbarrier (cp.async.mbarrier.arrive). */
void check_flight_bind(vm_warp *w, uint32_t m, uint32_t bar);
/* Performs a wait_group of the lanes m: all groups of this kind except the last `leave` groups are complete. If `read`
 * is true, only the reads of these groups are complete. Removes complete operations from the warp's list. */
void check_flight_wait(vm_warp *w, vm_flight_kind kind, uint32_t m, uint32_t leave, bool read);
/* Records in the cell that the operation writes it. `me` is the mark of the thread that issued the operation. */
void check_flight_write(vm_look *k, vm_cell *c, const vm_mark *me);
/* Returns true if the operation uses the generic proxy, as st.async and red.async do. */
bool check_flight_is_generic(const vm_check *check, uint32_t id);
/* Records in the cell that the operation `k->flight` reads it. */
void check_flight_read(vm_look *k, vm_cell *c);
/* Reports a write to a cell that an operation may still read. */
void check_readers(vm_look *k, vm_cell *c, uint32_t lane, uint64_t offset);
/* Reports an access by the asynchronous proxy to a cell that a thread has written, if no fence.proxy.async lies between
 * the two. */
void check_proxy(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset);
/* Reports a bulk copy that overwrites shared memory which a thread has read, if no fence.proxy.async lies between the
 * read and the copy. The finding is a note. */
void check_proxy_read(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset);
/* Reports operations that may still use the shared memory of a block that ends. */
void check_block_end(vm_block *block);

#endif
