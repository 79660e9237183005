/* uninitialised_internal.h - reports reads of unwritten memory (uninitialised.c). */
#ifndef KILN_SIM_CHECK_UNINITIALISED_INTERNAL_H
#define KILN_SIM_CHECK_UNINITIALISED_INTERNAL_H

#include "look_internal.h"

/* Reports lanes that read bytes of global memory that nothing has written. */
void check_written(vm_look *k, vm_shadow *shadow, uint64_t offset, uint32_t lane, uint32_t lanes); /* global memory */
/* Reports a read of unwritten bytes. If `note` is true, some of the bytes were written. */
void check_unwritten(vm_look *k, uint32_t lane, uint32_t lanes, bool note);
/* Handles an access to local memory: records a write, or reports a read of unwritten bytes. */
void check_local(vm_look *k);
/* Marks all local memory of these lanes as written. */
void check_local_known(vm_warp *w, uint32_t lanes);

#endif
