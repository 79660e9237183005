/* multimem.c - decodes multimem instructions, which access memory of multicast objects. */
#include "vm_decode.h"
#include "vm_multimem.h"

#define OPERAND(n) (&d->in->operands[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

static const ptx_operand *element(const vm_decoder *d, const ptx_operand *o, uint32_t k)
{
    return o->kind == PTX_OPERAND_VECTOR ? &d->f->elements[o->index + k] : o;
}

static uint32_t operation(const vm_decoder *d)
{
    static const ptx_mod operations[] = {PTX_MOD_MIN, PTX_MOD_MAX, PTX_MOD_AND, PTX_MOD_OR, PTX_MOD_XOR};
    for (unsigned k = 0; k < KILN__COUNT(operations); k++)
        if (ptx_has(d->in, operations[k]))
            return operations[k];
    return PTX_MOD_ADD;
}

/* Decodes multimem instructions. The handlers compute a lane's address before they write its registers, so the result
 * and the address may be the same register. */
void decode_multimem(vm_decoder *d)
{
    const bool load = d->in->op == PTX_OP_MULTIMEM_LD_REDUCE, store = d->in->op == PTX_OP_MULTIMEM_ST;
    const unsigned count = d->in->vector ? d->in->vector : 1, type = d->in->types[0], bytes = decode_container(type);
    const ptx_operand *values = OPERAND(load ? 0 : 1);
    vm_multimem *x = decode_allocate(d, sizeof *x);
    if (!x)
        return;
    *x = (vm_multimem){.type = type,
                       .op = operation(d),
                       .sum = HAS(ACC_F32)   ? PTX_F32
                              : HAS(ACC_F16) ? PTX_F16
                                             : PTX_NONE};
    for (uint32_t k = 0; k < count; k++) {
        const ptx_operand *e = element(d, values, k);
        x->slots[k] = !load                        ? decode_source(d, e, bytes)
                      : e->kind == PTX_OPERAND_REG ? decode_dest(d, e, bytes)
                                                   : d->sink;
    }
    const vm_place place = decode_address(d, OPERAND(load ? 1 : 0), 0);
    vm_code *i = decode_emit_op(d, load ? ops_multimem_load : store ? ops_multimem_store : ops_multimem_reduce);
    i->a = place.slot;
    i->imm = (uint64_t)place.offset;
    i->extra = x;
    i->count = (uint8_t)count;
    i->size = (uint8_t)ptx_type_bytes((ptx_type)type);
    i->space = d->in->space;
    i->flags = (uint8_t)((place.addr32 ? VM_ADDR32 : 0) | (load ? 0 : VM_WRITES) | (bytes > 4 ? VM_REG64 : 0) |
                         (HAS(RELAXED) || HAS(ACQUIRE) || HAS(RELEASE) ? VM_STRONG : 0));
}
