/* product_internal.h - products of a warpgroup: wgmma (product.c). */
#ifndef KILN_SIM_CHECK_PRODUCT_INTERNAL_H
#define KILN_SIM_CHECK_PRODUCT_INTERNAL_H

#include "look_internal.h"

/* Finds and numbers the registers that products use until their wait. Returns false if memory runs out. */
bool check_number_registers(vm_module *module, vm_check_code *code, uint8_t *kind);
/* Checks the accesses and registers of a wgmma. Returns the lanes that may execute it. */
uint32_t check_product_reads(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);
/* Records the registers that a tcgen05.ld writes at any time until its wait. `flight` is the number of the
 * tcgen05.ld. */
void check_product_load(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t flight);
/* Performs wgmma.fence: earlier accesses to the registers of the warp are ordered before later products. */
void check_product_fence(vm_warp *w);
/* Reports an instruction that uses a register of a product before the wait for the product. */
void check_product_registers(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m);

#endif
