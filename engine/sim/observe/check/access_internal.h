/* access_internal.h - checks and records accesses (access.c, insn.c). */
#ifndef KILN_SIM_CHECK_ACCESS_INTERNAL_H
#define KILN_SIM_CHECK_ACCESS_INTERNAL_H

#include "vm_checks_internal.h"

/* Checks a load, store, atomic, cp.async or matrix access of the lanes m, and records it in shadow memory. Returns the
 * lanes that may execute it. If a lane must not execute its load or atomic, its destination registers get bytes 0xa5. A
 * lane may execute a load that begins inside an allocation and ends outside of it. The checks do not record this
 * load. */
uint32_t check_access(vm_warp *w, const vm_code *i, uint32_t m, unsigned see);
/* Checks and records one access of one lane. `flight` is the number of the asynchronous operation that makes the
 * access, or 0. Returns false if the access must not be made. */
bool check_lane_access(vm_warp *w, const vm_code *i, vm_access *a, uint32_t flight);
/* Checks a call of free() or of another built-in function. Returns the lanes that may make the call. */
uint32_t check_free_call(vm_warp *w, const vm_code *i, uint32_t m);
/* Checks an access of one lane to `bytes` bytes, in pieces of at most 16 bytes. Returns false if a piece must not be
 * accessed. */
bool check_stretch(vm_warp *w, const vm_code *i, uint32_t lane, unsigned space, uint64_t address, uint64_t bytes,
                   unsigned kind, uint32_t flight);

/* ---- insn.c ---- */
/* Checks an instruction before it executes. Returns the lanes that may execute it. If a lane must not execute its load
 * or atomic, its destination registers get bytes 0xa5. */
uint32_t check_insn(vm_warp *w, const vm_code *i, uint32_t m);
void check_malloced(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address);
/* Reports a read of global memory by a tensor map that races with a write of an earlier launch. */
void check_earlier_writes(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint64_t bytes);

#endif
