/* columns.c - finds how many columns of tensor memory a kernel allocates, if the PTX tells the number. */
#include "ptx.h"

/* Sets *value to the value of an operand. The operand is a constant, or a register that only one instruction writes, by
 * moving a constant to it. Returns false for any other operand. */
static bool get_constant(const ptx_function *f, const ptx_operand *o, uint64_t *value)
{
    unsigned writes = 0;
    bool moved = false;
    if (o->kind == PTX_OPERAND_IMM) {
        *value = o->imm;
        return true;
    }
    for (uint32_t k = 0; o->kind == PTX_OPERAND_REG && k < f->insn_count; k++) {
        const ptx_insn *in = &f->insns[k];
        const ptx_operand *to = &in->operands[0];
        bool named = in->operand_count > 0 && to->kind == PTX_OPERAND_REG && to->index == o->index;
        for (uint32_t n = 0;
             in->operand_count > 0 && n < to->count && (to->kind == PTX_OPERAND_VECTOR || to->kind == PTX_OPERAND_LIST);
             n++)
            named |= f->elements[to->index + n].kind == PTX_OPERAND_REG && f->elements[to->index + n].index == o->index;
        writes += named;
        if (named && in->op == PTX_OP_MOV && in->operands[1].kind == PTX_OPERAND_IMM) {
            moved = true;
            *value = in->operands[1].imm;
        }
    }
    return moved && writes == 1;
}

static bool allocates(const ptx_function *f)
{
    for (uint32_t k = 0; k < f->insn_count; k++)
        if (f->insns[k].op == PTX_OP_TCGEN05_ALLOC)
            return true;
    return false;
}

/* Each allocation costs a scan of the kernel, so the function returns -1 for a kernel with more than MOST allocations.
 * A hostile text with 100,000 allocations would otherwise keep the loader busy for minutes. */
int ptx_tensor_columns(const ptx_module *module, uint32_t kernel)
{
    enum { MOST = 64 };
    const ptx_function *f = &module->functions[kernel];
    uint64_t all = 0, one = 0;
    unsigned count = 0;
    bool calls = false;
    for (uint32_t k = 0; k < f->insn_count; k++) {
        calls |= f->insns[k].op == PTX_OP_CALL;
        if (f->insns[k].op != PTX_OP_TCGEN05_ALLOC)
            continue;
        if (++count > MOST || !get_constant(f, &f->insns[k].operands[1], &one))
            return -1;
        all += (uint32_t)one;
    }
    for (uint32_t n = 0; calls && n < module->function_count; n++)
        if (!module->functions[n].entry && allocates(&module->functions[n]))
            return -1;
    return (int)(all < PTX_TENSOR_COLUMNS ? all : PTX_TENSOR_COLUMNS);
}
