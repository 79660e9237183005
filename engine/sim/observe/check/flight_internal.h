/* flight_internal.h - asynchronous operations in flight (flight.c). */
#ifndef KILN_SIM_CHECK_FLIGHT_INTERNAL_H
#define KILN_SIM_CHECK_FLIGHT_INTERNAL_H

#include "look_internal.h"

/* Makes an operation that lanes of the warp begin, on the shared memory of `home`. Returns NULL if memory runs out;
 * nothing is then checked about it. */
vm_flight *check_flight_new(vm_warp *w, const vm_code *i, vm_flight_kind kind, uint32_t lanes, vm_block *home);
/* Adds the operation to those that the warp has to wait for. */
void check_flight_pend(vm_warp *w, const vm_flight *f);
/* Returns the name of the operation's instruction, for messages. */
const char *check_flight_name(const vm_flight *f);
/* Begins a cp.async of the lanes. Returns its number, or 0 if memory ran out. */
uint32_t check_flight_copy(vm_warp *w, const vm_code *i, uint32_t m);
/* Binds the lanes' copies so far to the phase of an mbarrier (cp.async.mbarrier.arrive). */
void check_flight_bind(vm_warp *w, uint32_t m, uint32_t bar);
/* Performs a wait_group of the lanes m: all groups but the last `leave` are complete. `read`: only their reads are. */
void check_flight_wait(vm_warp *w, vm_flight_kind kind, uint32_t m, uint32_t leave, bool read);
/* Turns the mark of a thread into a mark of its operation. */
void check_flight_write(vm_look *k, vm_cell *c, const vm_mark *me);
/* Returns true if the operation goes through the generic proxy: st.async and red.async. */
bool check_flight_is_generic(const vm_check *check, uint32_t id);
/* Records in the cell that the operation reads it. */
void check_flight_read(vm_look *k, vm_cell *c);
/* Reports a write to a cell that an operation may still read. */
void check_readers(vm_look *k, vm_cell *c, uint32_t lane, uint64_t offset);
/* Reports an access by the asynchronous proxy to a cell that a thread has written, without a fence.proxy.async between
 * them. */
void check_proxy(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset);
/* Reports a bulk copy to shared memory that a thread has read, without a fence.proxy.async between the read and the copy.
 * The finding is a note. */
void check_proxy_read(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset);
/* Reports operations that still use the shared memory of a block that ends. */
void check_block_end(vm_block *block);

#endif
