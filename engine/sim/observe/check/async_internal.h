/* async_internal.h - checks asynchronous instructions (async.c). */
#ifndef KILN_SIM_CHECK_ASYNC_INTERNAL_H
#define KILN_SIM_CHECK_ASYNC_INTERNAL_H

#include "vm_checks_internal.h"

/* Checks an instruction of kind VM_SEE_ASYNC. Returns the lanes that may execute it. */
uint32_t check_async(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);

#endif
