/* tensor.c - decodes bulk copies by tensor maps. */
#include "vm_decode.h"
#include "vm_tensor.h"

#define OPERAND(n) (&d->in->operands[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

static vm_side side(vm_decoder *d, const ptx_operand *o)
{
    vm_place place = decode_address(d, o, 0);
    return (vm_side){.slot = place.slot, .space = PTX_SPACE_SHARED, .addr32 = place.addr32, .offset = place.offset};
}

static unsigned operation(const vm_decoder *d)
{
    static const ptx_mod operations[] = {PTX_MOD_ADD, PTX_MOD_MIN, PTX_MOD_MAX, PTX_MOD_AND,
                                         PTX_MOD_OR,  PTX_MOD_XOR, PTX_MOD_INC, PTX_MOD_DEC};
    for (unsigned k = 0; k < KILN__COUNT(operations); k++)
        if (ptx_has(d->in, operations[k]))
            return operations[k];
    return 0;
}

/* Decodes cp.async.bulk.tensor and cp.reduce.async.bulk.tensor. The instruction is a store if it has .bulk_group, and a
 * load otherwise. The operands of a store are the tensor (a map and coordinates) and the shared address. The operands
 * of a load are the shared address, the tensor, the mbarrier, the offsets of im2col, and the mask of a multicast, in
 * this order. The offsets of im2col and the mask are optional. The vm_tensor has the operand slots of all operands. For
 * a store, bar.space stays 0. */
void decode_tensor(vm_decoder *d)
{
    const bool store = HAS(BULK_GROUP);
    const ptx_operand *map = OPERAND(store ? 0 : 1), *part = &d->f->elements[map->index];
    vm_tensor *x = decode_allocate(d, sizeof *x);
    if (!x)
        return;
    const unsigned coordinates = map->count - 1;
    *x = (vm_tensor){.rank = (uint8_t)coordinates, .rows = HAS(GATHER4) || HAS(SCATTER4), .pair = HAS(CTA_GROUP_2)};
    if (x->rows)
        x->rank = 2;
    x->im2col = HAS(IM2COL_W128)                     ? VM_IM2COL_W128
                : HAS(IM2COL_W)                      ? VM_IM2COL_W
                : HAS(IM2COL) || HAS(IM2COL_NO_OFFS) ? VM_IM2COL
                                                     : VM_TILED;
    x->map = decode_source(d, part, 8);
    for (unsigned k = 0; k < coordinates && k < KILN__COUNT(x->at); k++)
        x->at[k] = decode_source(d, part + 1 + k, 4);
    x->shared = side(d, OPERAND(store ? 1 : 0));
    if (store) {
        x->op = (uint8_t)(d->in->op == PTX_OP_CP_REDUCE_TENSOR ? operation(d) : 0);
    } else {
        unsigned next = 3;
        x->bar = side(d, OPERAND(2));
        if (x->im2col) {
            const ptx_operand *offsets = OPERAND(next++);
            for (unsigned k = 0; k < offsets->count && k < KILN__COUNT(x->offset); k++)
                x->offset[k] = decode_source(d, &d->f->elements[offsets->index + k], 4);
        }
        if (HAS(MULTICAST))
            x->multicast = decode_source(d, OPERAND(next), 4);
    }
    vm_code *i = decode_emit_op(d, ops_tensor);
    i->e = decode_cache_slot(d);
    i->extra = x;
}

void decode_tensormap_replace(vm_decoder *d)
{
    static const ptx_mod fields[] = {
        PTX_MOD_GLOBAL_ADDRESS, PTX_MOD_RANK,           PTX_MOD_BOX_DIM,  PTX_MOD_GLOBAL_DIM,
        PTX_MOD_GLOBAL_STRIDE,  PTX_MOD_ELEMENT_STRIDE, PTX_MOD_ELEMTYPE, PTX_MOD_INTERLEAVE_LAYOUT,
        PTX_MOD_SWIZZLE_MODE,   PTX_MOD_FILL_MODE};
    const bool ordered = d->in->operand_count > 2;
    const unsigned bytes = ptx_type_bytes((ptx_type)d->in->types[0]);
    vm_bulk *b = decode_allocate(d, sizeof *b);
    if (!b)
        return;
    *b = (vm_bulk){.to = side(d, OPERAND(0))};
    b->to.space = d->in->space;
    const uint32_t value = decode_source(d, OPERAND(ordered ? 2 : 1), bytes),
                   /* the checks need the size of the store */
        size = decode_constant_slot(d, VM_TENSOR_BYTES, 8);
    const uint64_t ord = ordered ? OPERAND(1)->imm : 0;
    if (ord >= VM_TENSOR_RANK - (HAS(GLOBAL_STRIDE) ? 1u : 0u))
        decode_set_error(d, "tensormap.replace of a dimension that no tensor map has");
    vm_code *i = decode_emit_op(d, ops_tensormap);
    i->a = size, i->b = value, i->c = ord < VM_TENSOR_RANK ? (uint32_t)ord : 0;
    i->e = decode_cache_slot(d);
    i->flags = bytes == 8 ? VM_REG64 : 0;
    i->extra = b;
    for (unsigned k = 0; k < KILN__COUNT(fields); k++)
        if (ptx_has(d->in, fields[k]))
            i->d = fields[k];
}

/* Decodes tensormap.cp_fenceproxy. The instruction copies 128 bytes from shared to global memory. One lane makes the
 * copy for the warp. The fence of this instruction has no effect in the simulator. */
void decode_cp_fenceproxy(vm_decoder *d)
{
    vm_bulk *b = decode_allocate(d, sizeof *b);
    if (!b)
        return;
    *b = (vm_bulk){.to = side(d, OPERAND(0)), .from = side(d, OPERAND(1)), .once = true};
    b->to.space = PTX_SPACE_GLOBAL;
    if (OPERAND(2)->imm != VM_TENSOR_BYTES)
        decode_set_error(d, "tensormap.cp_fenceproxy of another size than 128");
    const uint32_t size = decode_constant_slot(d, VM_TENSOR_BYTES, 4);
    vm_code *i = decode_emit_op(d, ops_bulk);
    i->a = size;
    i->e = decode_cache_slot(d);
    i->extra = b;
}
