/* tcgen.c - decodes the tcgen05 instructions. */
#include "vm_decode.h"
#include "vm_tcgen.h"

#define OPERAND(n) (&d->in->operands[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

/* Reads an address of tensor memory, which must be in a register of 32 bits. */
static vm_side tensor_side(vm_decoder *d, const ptx_operand *o)
{
    const vm_place place = decode_address(d, o, 0);
    if (o->base != PTX_BASE_REG || !place.addr32)
        decode_set_error(d, "an address of tensor memory that is not in a register of 32 bits");
    return (vm_side){.slot = place.slot, .addr32 = true, .offset = place.offset};
}

void decode_tcgen05_alloc(vm_decoder *d)
{
    uint32_t address = 0, columns = 0;
    vm_place to = {0};
    unsigned what = VM_TCGEN_GIVE_UP;
    if (d->in->op == PTX_OP_TCGEN05_ALLOC) {
        what = VM_TCGEN_ALLOC;
        to = decode_address(d, OPERAND(0), 0);
        address = to.slot;
        columns = decode_source(d, OPERAND(1), 4);
    } else if (d->in->op == PTX_OP_TCGEN05_DEALLOC) {
        what = VM_TCGEN_DEALLOC;
        address = decode_source(d, OPERAND(0), 4);
        columns = decode_source(d, OPERAND(1), 4);
    }
    vm_code *i = decode_emit_op(d, ops_tcgen_alloc);
    i->a = address, i->b = columns;
    i->imm = (uint64_t)to.offset;
    i->e = decode_cache_slot(d);
    i->space = d->in->space;
    i->size = (uint8_t)what;
    i->flags = to.addr32 ? VM_ADDR32 : 0;
}

/* Decodes tcgen05.ld, tcgen05.ld.red and tcgen05.st. The operands of a load are the registers, the result of the
 * reduction, the address, and the distance of .16x32bx2, in this order. In a store the registers are the last
 * operand. */
void decode_tcgen05_move(vm_decoder *d)
{
    const bool store = d->in->op == PTX_OP_TCGEN05_ST, split = HAS(16X32BX2);
    const bool reduce = d->in->op == PTX_OP_TCGEN05_LD_RED;
    const unsigned address = store ? 0 : reduce ? 2 : 1;
    const ptx_operand *at = OPERAND(address), *values = OPERAND(!store ? 0 : split ? 2 : 1);
    const uint32_t count = values->kind == PTX_OPERAND_VECTOR ? values->count : 1;
    vm_tcgen_move *x = decode_allocate(d, sizeof *x);
    uint32_t *slots = decode_allocate(d, count * sizeof *slots);
    if (!x || !slots)
        return;
    for (uint32_t k = 0; k < count; k++) {
        const ptx_operand *one = values->kind == PTX_OPERAND_VECTOR ? &d->f->elements[values->index + k] : values;
        slots[k] = store ? decode_source(d, one, 4) : decode_dest(d, one, 4);
    }
    *x = (vm_tcgen_move){.at = tensor_side(d, at),
                         .shape = (uint8_t)(split          ? VM_TCGEN_16X32BX2
                                            : HAS(16X64B)  ? VM_TCGEN_16X64B
                                            : HAS(16X128B) ? VM_TCGEN_16X128B
                                            : HAS(16X256B) ? VM_TCGEN_16X256B
                                                           : VM_TCGEN_32X32B),
                         .store = store,
                         .pack = HAS(PACK_16B) || HAS(UNPACK_16B),
                         .count = (uint16_t)count,
                         .split = split ? (uint32_t)OPERAND(address + 1)->imm : 0,
                         .slots = slots,
                         .type = reduce ? (uint8_t)d->in->types[0] : PTX_NONE,
                         .result = reduce ? decode_dest(d, OPERAND(1), 4) : 0,
                         .max = HAS(MAX),
                         .absolute = HAS(ABS),
                         .keeps_nan = HAS(NAN)};
    if (split && OPERAND(address + 1)->imm >= VM_TENSOR_COLUMNS)
        decode_set_error(d, "a distance that is larger than tensor memory, which has 512 columns,");
    decode_emit_op(d, ops_tcgen_move)->extra = x;
}

void decode_tcgen05_commit(vm_decoder *d)
{
    vm_bulk *b = decode_allocate(d, sizeof *b);
    if (!b)
        return;
    const vm_place place = decode_address(d, OPERAND(0), 0);
    *b = (vm_bulk){.bar = {.slot = place.slot,
                           /* The lower 32 bits of a generic address of shared memory are the shared address. The
                            * machine code of ptxas makes the same assumption. */
                           .space = PTX_SPACE_SHARED,
                           .addr32 = place.addr32,
                           .offset = place.offset}};
    if (HAS(MULTICAST))
        b->multicast = decode_source(d, OPERAND(1), 4);
    vm_code *i = decode_emit_op(d, ops_tcgen_commit);
    i->size = VM_BAR_ARRIVE; /* a commit counts as one arrival for the checks */
    i->e = decode_cache_slot(d);
    i->extra = b;
}

void decode_tcgen05_copy(vm_decoder *d)
{
    vm_tcgen_copy *x = decode_allocate(d, sizeof *x);
    if (!x)
        return;
    const bool copy = d->in->op == PTX_OP_TCGEN05_CP;
    *x = (vm_tcgen_copy){.to = tensor_side(d, OPERAND(0)),
                         .descriptor = copy ? decode_source(d, OPERAND(1), 8) : 0,
                         .group = HAS(CTA_GROUP_2) ? 2 : 1,
                         .shape = (uint8_t)(HAS(128X256B)       ? VM_TCGEN_128X256B
                                            : HAS(4X256B)       ? VM_TCGEN_4X256B
                                            : HAS(128X128B)     ? VM_TCGEN_128X128B
                                            : HAS(WARPX2_02_13) ? VM_TCGEN_64X128B_02_13
                                            : HAS(WARPX2_01_23) ? VM_TCGEN_64X128B_01_23
                                                                : VM_TCGEN_32X128B),
                         .type = (uint8_t)(HAS(B4X16_P64)   ? PTX_E2M1
                                           : HAS(B6X16_P32) ? PTX_E3M2
                                                            : PTX_B8)};
    vm_code *i = decode_emit_op(d, copy ? ops_tcgen_copy : ops_tcgen_shift);
    i->e = decode_cache_slot(d);
    i->extra = x;
}

/* Reads the kind of a tcgen05.mma, and the number of elements that share a scale factor. */
static void read_kind(vm_decoder *d, vm_tcgen_mma *x)
{
    x->kind = HAS(KIND_F16)        ? VM_TCGEN_F16
              : HAS(KIND_TF32)     ? VM_TCGEN_TF32
              : HAS(KIND_I8)       ? VM_TCGEN_I8
              : HAS(KIND_F8F6F4)   ? VM_TCGEN_F8F6F4
              : HAS(KIND_MXF8F6F4) ? VM_TCGEN_MXF8F6F4
              : HAS(KIND_MXF4)     ? VM_TCGEN_MXF4
                                   : VM_TCGEN_MXF4NVF4;
    x->block = HAS(BLOCK16) || HAS(SCALE_VEC_4X) ? 16 : 32;
    x->by_count = HAS(SCALE_VEC_1X) || HAS(SCALE_VEC_2X) || HAS(SCALE_VEC_4X);
}

/* Decodes tcgen05.mma and tcgen05.mma.ws. The operands are D, A, B, the metadata of a sparse A, the instruction
 * descriptor, the scale factors or the mask of disabled lanes, the predicate, and the scale of D or the zero-column
 * mask. Some of these operands are optional. A is a descriptor or an address of tensor memory. */
void decode_tcgen05_mma(vm_decoder *d)
{
    vm_tcgen_mma *x = decode_allocate(d, sizeof *x);
    if (!x)
        return;
    unsigned next = 3;
    *x = (vm_tcgen_mma){.d = tensor_side(d, OPERAND(0)),
                        .a_tensor = OPERAND(1)->kind == PTX_OPERAND_ADDRESS,
                        .sparse = HAS(SP),
                        .stationary = d->in->op == PTX_OP_TCGEN05_MMA_WS,
                        .shift = HAS(ASHIFT),
                        .group = HAS(CTA_GROUP_2) ? 2 : 1};
    read_kind(d, x);
    if (x->a_tensor)
        x->a = tensor_side(d, OPERAND(1));
    else
        x->a_descriptor = decode_source(d, OPERAND(1), 8);
    x->b_descriptor = decode_source(d, OPERAND(2), 8);
    if (x->sparse)
        x->metadata = tensor_side(d, OPERAND(next++));
    x->description = decode_source(d, OPERAND(next++), 4);
    for (unsigned k = 0; k < 2 && vm_tcgen_is_scaled(x); k++)
        x->scales[k] = tensor_side(d, OPERAND(next++));
    if (OPERAND(next)->kind == PTX_OPERAND_VECTOR) {
        const ptx_operand *masks = OPERAND(next++);
        for (; x->mask_count < masks->count && x->mask_count < KILN__COUNT(x->masks); x->mask_count++)
            x->masks[x->mask_count] = decode_source(d, &d->f->elements[masks->index + x->mask_count], 4);
    }
    x->enable = decode_pred_source(d, OPERAND(next++));
    if (next < d->in->operand_count && x->stationary) {
        x->masks_columns = true;
        x->zero_mask = decode_source(d, OPERAND(next), 8);
    } else if (next < d->in->operand_count) {
        x->scale = (uint8_t)OPERAND(next)->imm;
        if (OPERAND(next)->imm > 15)
            decode_set_error(d, "a scale of D above 15");
    }
    vm_code *i = decode_emit(d, VM_H_tcgen05);
    i->e = decode_cache_slot(d);
    i->extra = x;
}
