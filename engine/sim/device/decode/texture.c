/* texture.c - decodes instructions on textures and surfaces. A vm_lookup has the operand slots of such an
 * instruction. */
#include <string.h>

#include "vm_decode.h"

#define OPERAND(n) (&d->in->operands[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

static vm_geometry geometry_of(const vm_decoder *d)
{
    if (HAS(1D) || HAS(A1D))
        return VM_GEOMETRY_1D;
    if (HAS(2D) || HAS(A2D))
        return VM_GEOMETRY_2D;
    return HAS(3D) ? VM_GEOMETRY_3D : VM_GEOMETRY_CUBE;
}

static unsigned dimensions(const vm_lookup *l)
{
    return l->geometry == VM_GEOMETRY_1D ? 1 : l->geometry == VM_GEOMETRY_2D ? 2 : 3;
}

static const ptx_operand *element(const vm_decoder *d, const ptx_operand *o, uint32_t k)
{
    return o->kind == PTX_OPERAND_VECTOR ? &d->f->elements[o->index + k] : o;
}

/* Makes a vm_lookup without operands. Returns NULL if memory runs out. */
static vm_lookup *lookup_new(vm_decoder *d)
{
    vm_lookup *l = decode_allocate(d, sizeof *l);
    if (!l)
        return NULL;
    memset(l, 0, sizeof *l);
    l->object = l->layer = l->lod = l->resident = VM_NO_SLOT;
    for (unsigned k = 0; k < 3; k++)
        l->at[k] = l->gradient[0][k] = l->gradient[1][k] = l->offset[k] = VM_NO_SLOT;
    for (unsigned k = 0; k < 4; k++)
        l->values[k] = VM_NO_SLOT;
    return l;
}

/* Reads the operand [object, {layer, x, y, z}]. The geometry (1d, a2d, ...) determines which coordinates the operand
 * has, and whether it has a layer. */
static void read_object(vm_decoder *d, const ptx_operand *o, vm_lookup *l)
{
    uint32_t next = 1;
    l->geometry = (uint8_t)geometry_of(d);
    l->object = decode_source(d, element(d, o, 0), 8);
    if (HAS(A1D) || HAS(A2D) || HAS(ACUBE))
        l->layer = decode_source(d, element(d, o, next++), 4);
    for (unsigned k = 0; k < dimensions(l); k++)
        l->at[k] = decode_source(d, element(d, o, next++), 4);
}

static void read_values(vm_decoder *d, const ptx_operand *o, vm_lookup *l)
{
    l->count = (uint8_t)(o->kind == PTX_OPERAND_VECTOR ? o->count : 1);
    for (uint32_t k = 0; k < l->count; k++)
        l->values[k] = decode_source(d, element(d, o, k), decode_container(l->type));
}

static void read_results(vm_decoder *d, const ptx_operand *o, vm_lookup *l)
{
    l->count = (uint8_t)(o->kind == PTX_OPERAND_VECTOR ? o->count : 1);
    for (uint32_t k = 0; k < l->count; k++) {
        const ptx_operand *e = element(d, o, k);
        if (e->kind != PTX_OPERAND_REG)
            continue;
        l->values[k] = d->fn->reg_slot[e->index];
        l->wide[k] = decode_reg_bytes(d, e) == 8;
    }
}

static void read_vector(vm_decoder *d, const ptx_operand *o, unsigned count, uint32_t *slots)
{
    for (uint32_t k = 0; k < count; k++)
        slots[k] = decode_source(d, element(d, o, k), 4);
}

static vm_code *emit(vm_decoder *d, vm_handler handler, const vm_lookup *l)
{
    vm_code *i = decode_emit_op(d, handler);
    i->extra = l;
    i->e = decode_cache_slot(d);
    i->count = 1;
    return i;
}

void decode_tex(vm_decoder *d)
{
    vm_lookup *l = lookup_new(d);
    if (!l)
        return;
    unsigned next = 2;
    l->type = d->in->types[0];
    l->texels = d->in->types[1] == PTX_S32;
    l->detail = d->in->op == PTX_OP_TLD4 ? VM_DETAIL_GATHER
                : HAS(LEVEL)             ? VM_DETAIL_LEVEL
                : HAS(GRAD)              ? VM_DETAIL_GRAD
                                         : VM_DETAIL_BASE;
    l->channel = HAS(R) ? 0 : HAS(G) ? 1 : HAS(B) ? 2 : 3;
    read_results(d, OPERAND(0), l);
    uint32_t resident = decode_second_pred(d, OPERAND(0));
    l->resident = resident ? resident : VM_NO_SLOT;
    read_object(d, OPERAND(1), l);
    if (l->detail == VM_DETAIL_LEVEL)
        l->lod = decode_source(d, OPERAND(next++), 4);
    for (unsigned k = 0; l->detail == VM_DETAIL_GRAD && k < 2; k++)
        read_vector(d, OPERAND(next++), dimensions(l), l->gradient[k]);
    if (next < d->in->operand_count)
        read_vector(d, OPERAND(next), dimensions(l), l->offset);
    emit(d, ops_tex, l);
}

void decode_query(vm_decoder *d)
{
    vm_lookup *l = lookup_new(d);
    if (!l)
        return;
    l->values[0] = decode_dest(d, OPERAND(0), 4);
    l->object = decode_source(d, element(d, OPERAND(1), 0), 8);
    if (d->in->operand_count > 2)
        l->lod = decode_source(d, OPERAND(2), 4);
    emit(d, ops_query, l)->b = d->in->op;
}

void decode_istypep(vm_decoder *d)
{
    uint32_t to = decode_dest(d, OPERAND(0), 0), from = decode_source(d, OPERAND(1), 8);
    vm_code *i = decode_emit_op(d, ops_istypep);
    i->d = to;
    i->a = from;
    i->b = d->in->op;
}

void decode_surface(vm_decoder *d)
{
    static const ptx_mod operations[] = {PTX_MOD_ADD, PTX_MOD_MIN, PTX_MOD_MAX, PTX_MOD_AND, PTX_MOD_OR};
    const bool load = d->in->op == PTX_OP_SULD_B, reduce = d->in->op == PTX_OP_SURED_B || d->in->op == PTX_OP_SURED_P;
    vm_lookup *l = lookup_new(d);
    if (!l)
        return;
    l->type = d->in->types[0];
    l->edge = HAS(TRAP) ? PTX_MOD_TRAP : HAS(CLAMP) ? PTX_MOD_CLAMP : PTX_MOD_ZERO;
    l->formatted = d->in->op == PTX_OP_SUST_P || d->in->op == PTX_OP_SURED_P;
    for (unsigned k = 0; k < KILN__COUNT(operations); k++)
        if (ptx_has(d->in, operations[k]))
            l->operation = (uint8_t)operations[k];
    if (load)
        read_results(d, OPERAND(0), l);
    read_object(d, OPERAND(load ? 1 : 0), l);
    if (!load)
        read_values(d, OPERAND(1), l);
    vm_code *i = emit(d, load ? ops_surface_load : reduce ? ops_surface_reduce : ops_surface_store, l);
    i->size = (uint8_t)ptx_type_bytes((ptx_type)l->type);
    i->flags = i->size == 8 ? VM_REG64 : 0;
}
