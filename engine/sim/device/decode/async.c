/* async.c - decodes operations on mbarriers, bulk copies, and operations on clusters. */
#include <string.h>

#include "vm_async.h"
#include "vm_block.h"
#include "vm_decode.h"

#define OPERAND(n) (&d->in->operands[n])
#define TYPE(n) (d->in->types[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

static vm_side side(vm_decoder *d, const ptx_operand *o, unsigned space)
{
    vm_place place = decode_address(d, o, 0);
    return (vm_side){.slot = place.slot, .space = (uint8_t)space, .addr32 = place.addr32, .offset = place.offset};
}

/* Emits the operation `what` (VM_BAR_...) on the mbarrier at `address`. */
static vm_code *at_barrier(vm_decoder *d, const ptx_operand *address, unsigned what)
{
    vm_place place = decode_address(d, address, 0);
    vm_code *i = decode_emit_op(d, ops_mbarrier);
    i->a = place.slot;
    i->imm = (uint64_t)place.offset;
    i->e = decode_cache_slot(d);
    i->space = d->in->space;
    i->size = (uint8_t)what;
    i->flags = place.addr32 ? VM_ADDR32 : 0;
    return i;
}

void decode_mbarrier(vm_decoder *d)
{
    unsigned what = VM_BAR_INIT;
    uint32_t n = 0;
    switch (d->in->op) {
    case PTX_OP_MBARRIER_INIT: n = decode_source(d, OPERAND(1), 4); break;
    case PTX_OP_MBARRIER_INVAL: what = VM_BAR_INVAL; break;
    case PTX_OP_MBARRIER_EXPECT_TX: what = VM_BAR_EXPECT, n = decode_source(d, OPERAND(1), 4); break;
    default: what = VM_BAR_COMPLETE, n = decode_source(d, OPERAND(1), 4); break;
    }
    at_barrier(d, OPERAND(0), what)->b = n;
}

void decode_mbarrier_arrive(vm_decoder *d)
{
    bool drop = d->in->op == PTX_OP_MBARRIER_ARRIVE_DROP;
    unsigned what = HAS(EXPECT_TX) ? (drop ? VM_BAR_DROP_EXPECT : VM_BAR_ARRIVE_EXPECT)
                    : drop         ? VM_BAR_DROP
                                   : VM_BAR_ARRIVE;
    uint32_t n = d->in->operand_count > 2 ? decode_source(d, OPERAND(2), 4) : 0;
    uint32_t to = OPERAND(0)->kind == PTX_OPERAND_SINK ? 0 : decode_dest(d, OPERAND(0), 8);
    vm_code *i = at_barrier(d, OPERAND(1), what);
    i->b = n;
    i->d = to;
}

void decode_mbarrier_wait(vm_decoder *d)
{
    bool parity = HAS(PARITY);
    uint32_t state = decode_source(d, OPERAND(2), parity ? 4 : 8), to = decode_dest(d, OPERAND(0), 0);
    vm_code *i = at_barrier(d, OPERAND(1), VM_BAR_TEST);
    i->d = to;
    i->b = state;
    i->count = d->in->op == PTX_OP_MBARRIER_TRY_WAIT;
    i->flags |= parity ? 0 : VM_REG64;
}

void decode_pending_count(vm_decoder *d)
{
    uint32_t a = decode_source(d, OPERAND(1), 8), to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, ops_pending_count);
    i->d = to, i->a = a;
}

/* Decodes cp.async.mbarrier.arrive. In the simulator the thread's copies are already complete. So with .noinc the
 * instruction is a plain arrival. Without .noinc, the pending count would grow by one and then fall by one. So the
 * decoder emits an operation that leaves the pending count unchanged. */
void decode_cp_async_arrive(vm_decoder *d)
{
    if (HAS(NOINC))
        at_barrier(d, OPERAND(0), VM_BAR_ARRIVE);
    else
        at_barrier(d, OPERAND(0), VM_BAR_EXPECT)->b = decode_constant_slot(d, 0, 4);
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

void decode_bulk(vm_decoder *d)
{
    bool out = HAS(BULK_GROUP), local = HAS(SHARED_CLUSTER) && HAS(SHARED_CTA);
    vm_bulk *b = decode_allocate(d, sizeof *b);
    if (!b)
        return;
    *b = (vm_bulk){.to = side(d, OPERAND(0), out ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED),
                   .from = side(d, OPERAND(1), out || local ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL)};
    uint32_t bytes = decode_source(d, OPERAND(2), 4), mask = 0;
    if (HAS(MULTICAST))
        b->multicast = decode_source(d, OPERAND(4), 4);
    if (d->in->op == PTX_OP_CP_REDUCE_BULK)
        b->op = (uint8_t)operation(d), b->type = TYPE(0);
    if (!out)
        b->bar = side(d, OPERAND(3), PTX_SPACE_SHARED);
    if (HAS(CP_MASK))
        mask = decode_source(d, OPERAND(d->in->operand_count - 1u), 4);
    vm_code *i = decode_emit_op(d, ops_bulk);
    i->a = bytes, i->b = mask;
    i->e = decode_cache_slot(d);
    i->extra = b;
}

void decode_remote(vm_decoder *d)
{
    const ptx_operand *value = OPERAND(1);
    vm_bulk *b = decode_allocate(d, sizeof *b);
    if (!b)
        return;
    *b = (vm_bulk){.to = side(d, OPERAND(0), d->in->space),
                   .bar = side(d, OPERAND(2), d->in->space),
                   .type = TYPE(0),
                   .op = (uint8_t)(d->in->op == PTX_OP_RED_ASYNC ? operation(d) : 0),
                   .count = (uint8_t)(value->kind == PTX_OPERAND_VECTOR ? value->count : 1)};
    for (uint32_t k = 0; k < b->count && k < KILN__COUNT(b->slots); k++)
        b->slots[k] = decode_source(d, value->kind == PTX_OPERAND_VECTOR ? &d->f->elements[value->index + k] : value,
                                    decode_container(TYPE(0)));
    vm_code *i = decode_emit_op(d, ops_remote);
    i->e = decode_cache_slot(d);
    i->extra = b;
}

void decode_st_bulk(vm_decoder *d)
{
    vm_bulk *b = decode_allocate(d, sizeof *b);
    if (!b)
        return;
    *b = (vm_bulk){.to = side(d, OPERAND(0), d->in->space)};
    if (OPERAND(2)->imm)
        decode_set_error(d, "st.bulk of a value that is not 0");
    uint32_t bytes = decode_source(d, OPERAND(1), 8);
    vm_code *i = decode_emit_op(d, ops_st_bulk);
    i->a = bytes;
    i->e = decode_cache_slot(d);
    i->extra = b;
}

void decode_try_cancel(vm_decoder *d)
{
    const unsigned space = d->in->space;
    vm_bulk *b = decode_allocate(d, sizeof *b);
    if (!b)
        return;
    *b = (vm_bulk){.to = side(d, OPERAND(0), space),
                   .bar = side(d, OPERAND(1), space),
                   .type = PTX_B128,
                   .count = 1,
                   .everywhere = HAS(MULTICAST_ALL)};
    vm_code *i = decode_emit_op(d, ops_try_cancel);
    i->e = decode_cache_slot(d);
    i->extra = b;
}

void decode_query_cancel(vm_decoder *d)
{
    enum { AXES = 3 };
    const ptx_operand *to = OPERAND(0);
    const uint32_t response = decode_source(d, OPERAND(1), 16);
    uint32_t *slots = decode_allocate(d, AXES * sizeof *slots), pred = 0;
    if (!slots)
        return;
    memset(slots, 0, AXES * sizeof *slots);
    if (HAS(IS_CANCELED))
        pred = decode_dest(d, to, 0);
    else if (to->kind != PTX_OPERAND_VECTOR)
        slots[HAS(GET_FIRST_CTAID_X) ? 0 : HAS(GET_FIRST_CTAID_Y) ? 1 : 2] = decode_dest(d, to, 4);
    else
        for (uint32_t k = 0; k < AXES; k++) {
            const ptx_operand *one = &d->f->elements[to->index + k];
            slots[k] = one->kind == PTX_OPERAND_SINK ? 0 : decode_dest(d, one, 4);
        }
    vm_code *i = decode_emit_op(d, ops_query_cancel);
    i->a = response, i->d = pred;
    i->size = HAS(IS_CANCELED) ? VM_QUERY_CANCELED : VM_QUERY_FIRST;
    i->extra = slots;
}

/* Returns true if the address operand of mapa or getctarank is a generic address. The address of a variable is a shared
 * address. A 32-bit address is never generic. */
static bool is_generic(const vm_decoder *d, unsigned bytes)
{
    return bytes == 8 && !HAS(SHARED_CLUSTER) && d->in->operands[1].kind == PTX_OPERAND_REG;
}

void decode_mapa(vm_decoder *d)
{
    unsigned bytes = decode_container(TYPE(0));
    uint32_t a = decode_source(d, OPERAND(1), bytes), rank = decode_source(d, OPERAND(2), 4),
             to = decode_dest(d, OPERAND(0), bytes);
    vm_code *i = decode_emit_op(d, vm_op_mapa);
    i->d = to, i->a = a, i->b = rank;
    i->flags = bytes == 8 ? VM_REG64 : 0;
    i->size = is_generic(d, bytes);
}

void decode_getctarank(vm_decoder *d)
{
    unsigned bytes = decode_container(TYPE(0));
    uint32_t a = decode_source(d, OPERAND(1), bytes), to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, vm_op_getctarank);
    i->d = to, i->a = a;
    i->flags = bytes == 8 ? VM_REG64 : 0;
    i->size = is_generic(d, bytes);
}

void decode_cluster_barrier(vm_decoder *d)
{
    decode_emit_op(d, vm_op_cluster_barrier)->flags = d->in->op == PTX_OP_BARRIER_CLUSTER_WAIT;
}
