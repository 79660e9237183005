/* tensor_memory_internal.h - the order of operations on tensor memory (tensor_memory.c). */
#ifndef KILN_SIM_CHECK_TENSOR_MEMORY_INTERNAL_H
#define KILN_SIM_CHECK_TENSOR_MEMORY_INTERNAL_H

#include "vm_checks_internal.h"

/* Checks an instruction of tensor memory (tcgen05). Returns the lanes that may execute it. */
uint32_t check_tensor_memory(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);
/* Reports columns that a block leaves allocated when it ends. If the launch was stopped early, the function reports
 * nothing. */
void check_tensor_end(vm_block *block);

#endif
