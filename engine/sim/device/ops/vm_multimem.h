/* vm_multimem.h - multimem instructions (multimem.c). */
#ifndef KILN_SIM_VM_MULTIMEM_H
#define KILN_SIM_VM_MULTIMEM_H

#include "vm_machine.h"

/* vm_code.extra of a multimem instruction. The address of the access is in vm_code.a and imm. `size` is the size of an
 * element in bytes, and `count` is the number of elements. VM_WRITES marks a store or reduction. */
typedef struct vm_multimem {
    uint32_t type; /* the ptx_type of an element */
    uint32_t op;   /* the operation of a reduction, a ptx_mod */
    /* The type of intermediate sums: PTX_F32 for .acc::f32, PTX_F16 for .acc::f16, or PTX_NONE for the element's
     * type. */
    uint32_t sum;
    uint32_t slots[8]; /* the slots of the results of a load, or of the operands of any other instruction */
} vm_multimem;
void ops_multimem_load(vm_warp *w, const vm_code *i, uint32_t m);
void ops_multimem_store(vm_warp *w, const vm_code *i, uint32_t m);
void ops_multimem_reduce(vm_warp *w, const vm_code *i, uint32_t m);

#endif
