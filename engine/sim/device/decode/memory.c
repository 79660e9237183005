/* memory.c - decodes loads, stores, atomics and similar instructions. */
#include "vm_access.h"
#include "vm_decode.h"
#include "vm_poll.h"

#define OPERAND(n) (&d->in->operands[n])
#define TYPE(n) (d->in->types[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

static bool is_strong(const vm_decoder *d)
{
    return HAS(VOLATILE) || HAS(RELAXED) || HAS(ACQUIRE) || HAS(RELEASE) || HAS(MMIO);
}

/* Returns true for an access with a memory order (such as .acquire) to memory that other host threads, or other blocks
 * of the cluster, may change meanwhile. */
static bool is_shared_by_threads(const vm_decoder *d, unsigned space)
{
    return is_strong(d) && (space != PTX_SPACE_SHARED || HAS(SHARED_CLUSTER) || HAS(CLUSTER));
}

/* Returns true for a load that bypasses the L1 cache (.cg, .cv). Although it has no memory order, it may read a value
 * that another block has just written. */
static bool is_past_cache(const vm_decoder *d, unsigned space)
{
    return (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_GENERIC) && (HAS(CG) || HAS(CV));
}

/* Returns the fast handler for a load or store of this type in this state space, or VM_H_COUNT if no fast handler
 * exists. */
static vm_handler_id fast_handler(unsigned space, unsigned type, bool load)
{
    bool shared = space == PTX_SPACE_SHARED, sign = load && vm_is_signed(type);
    if (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_GENERIC && space != PTX_SPACE_CONST && !shared)
        return VM_H_COUNT;
    switch (ptx_type_bytes((ptx_type)type)) {
    case 1:
        return !load    ? (shared ? VM_H_st_shared_u8 : VM_H_st_global_u8)
               : shared ? (sign ? VM_H_ld_shared_s8 : VM_H_ld_shared_u8)
               : sign   ? VM_H_ld_global_s8
                        : VM_H_ld_global_u8;
    case 2:
        return !load    ? (shared ? VM_H_st_shared_u16 : VM_H_st_global_u16)
               : shared ? (sign ? VM_H_ld_shared_s16 : VM_H_ld_shared_u16)
               : sign   ? VM_H_ld_global_s16
                        : VM_H_ld_global_u16;
    case 4:
        return !load    ? (shared ? VM_H_st_shared_u32 : VM_H_st_global_u32)
               : shared ? VM_H_ld_shared_u32
                        : VM_H_ld_global_u32;
    case 8:
        return !load    ? (shared ? VM_H_st_shared_u64 : VM_H_st_global_u64)
               : shared ? VM_H_ld_shared_u64
                        : VM_H_ld_global_u64;
    default: return VM_H_COUNT;
    }
}

static const ptx_operand *element(const vm_decoder *d, const ptx_operand *o, uint32_t k)
{
    return o->kind == PTX_OPERAND_VECTOR ? &d->f->elements[o->index + k] : o;
}

static bool is_register(const ptx_operand *o) { return o->kind == PTX_OPERAND_REG; }

/* The destination registers of a load. If a register is wider than the loaded element, the load writes a temporary
 * register instead. `after` lists the elements that extra operations then extend into their registers. */
typedef struct widening {
    uint32_t from, to;
    vm_handler_id id;
} widening;
typedef struct landing {
    uint32_t *slots;
    widening after[8];
    unsigned after_count;
} landing;

static bool land(vm_decoder *d, const ptx_operand *o, unsigned count, unsigned type, landing *out)
{
    unsigned bytes = decode_container(type);
    out->after_count = 0;
    out->slots = decode_allocate(d, count * sizeof *out->slots);
    if (!out->slots)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        const ptx_operand *e = element(d, o, k);
        if (!is_register(e)) {
            out->slots[k] = d->sink;
            continue;
        }
        uint32_t slot = d->fn->reg_slot[e->index];
        unsigned reg = ptx_type_bytes((ptx_type)d->f->regs[e->index].type), have = decode_reg_bytes(d, e);
        bool short_register = reg == 2 && type == PTX_S8;
        out->slots[k] = have != bytes ? decode_take_temp(d) : slot;
        if (have != bytes || short_register)
            out->after[out->after_count++] = (widening){out->slots[k], slot,
                                                        short_register       ? VM_H_ext32_u16
                                                        : vm_is_signed(type) ? VM_H_ext64_s32
                                                                             : VM_H_ext64_u32};
    }
    return true;
}

static void extend_after(vm_decoder *d, const landing *l)
{
    for (unsigned k = 0; k < l->after_count; k++) {
        vm_code *i = decode_guarded_step(d, l->after[k].id);
        i->a = l->after[k].from, i->d = l->after[k].to;
    }
}

/* Sets the fields of a load or store: the slots of the elements, their number, their size and the flags. */
static void fill(vm_decoder *d, vm_code *i, const uint32_t *slots, unsigned count, unsigned type, uint8_t flags)
{
    (void)d;
    i->d = slots[0];
    i->extra = slots;
    i->count = (uint8_t)count;
    i->size = (uint8_t)ptx_type_bytes((ptx_type)type);
    i->flags = (uint8_t)(flags | (vm_is_signed(type) ? VM_SIGNED : 0) | (decode_container(type) > 4 ? VM_REG64 : 0));
}

/* Decodes an access to .param space: to a parameter of the kernel or function, or to a .param variable for a call. The
 * offset is known when the module is loaded, so this function checks it. For any other access, returns false and does
 * nothing. */
static bool param(vm_decoder *d, const ptx_operand *address, const uint32_t *slots, unsigned count, unsigned type,
                  bool write)
{
    if (address->kind != PTX_OPERAND_ADDRESS || address->base != PTX_BASE_SYMBOL)
        return false;
    const ptx_symbol *symbol = &d->module->ptx->symbols[address->index];
    if (symbol->space != PTX_SPACE_PARAM || d->module->home[address->index])
        return false;
    unsigned bytes = ptx_type_bytes((ptx_type)type);
    uint64_t at = symbol->offset + (uint64_t)address->offset, total = (uint64_t)bytes * count;
    uint64_t limit = symbol->formal ? d->f->param_bytes : d->f->frame_bytes;
    if (at > limit || total > limit - at) {
        decode_set_error(d, "parameter access beyond its end");
        return true;
    }
    bool entry = d->f->entry && symbol->formal;
    if (entry && write) {
        decode_set_error(d, "store to a kernel parameter");
        return true;
    }
    bool hot = entry && count == 1 && (bytes == 4 || bytes == 8);
    vm_code *i = hot ? decode_emit(d, bytes == 8 ? VM_H_param_b64 : VM_H_param_b32)
                     : decode_emit_op(d, vm_op_load_param);
    fill(d, i, slots, count, type, write ? VM_WRITES : 0);
    i->b = !symbol->formal;
    i->imm = at;
    return true;
}

/* Emits a memory access and sets its members `a`, `imm`, `e` and `space`, and the width of the address. If `id` is
 * VM_H_COUNT, uses the handler `slow`, which works lane by lane. For a load of several elements, `slots` has the
 * operand slots of the destinations. For any other access, `count` is 0. */
static vm_code *access(vm_decoder *d, vm_handler_id id, vm_handler slow, const ptx_operand *address, unsigned space,
                       const uint32_t *slots, unsigned count)
{
    vm_place place = decode_address(d, address, id == VM_H_COUNT ? 0 : space == PTX_SPACE_SHARED ? 4 : 8);
    for (unsigned k = 0; k < count; k++)
        /* The handler writes one destination after the other. So a destination must not be the register of the
         * address. */
        if (slots[k] == place.slot) {
            vm_code *copy = decode_step(d, place.addr32 ? VM_H_mov_b32 : VM_H_mov_b64);
            copy->a = place.slot;
            place.slot = copy->d = decode_take_temp(d);
            break;
        }
    vm_code *i = id == VM_H_COUNT ? decode_emit_op(d, slow) : decode_emit(d, id);
    i->a = place.slot;
    i->imm = (uint64_t)place.offset;
    i->e = decode_cache_slot(d);
    i->space = (uint8_t)(space == PTX_SPACE_CONST ? PTX_SPACE_GLOBAL : space);
    i->flags = place.addr32 ? VM_ADDR32 : 0;
    return i;
}

/* Returns the address space of an access. A parameter whose address the function takes is in local memory, even for
 * instructions that access it by its name. So an access to .param space through a register is an access to local
 * memory. */
static unsigned space_of(const vm_decoder *d, const ptx_operand *address)
{
    bool home = address->kind == PTX_OPERAND_ADDRESS && address->base == PTX_BASE_SYMBOL &&
                d->module->home[address->index];
    bool pointer = d->in->space == PTX_SPACE_PARAM && address->base == PTX_BASE_REG && !d->f->entry;
    return home || pointer ? PTX_SPACE_LOCAL : d->in->space;
}

void decode_ld(vm_decoder *d)
{
    unsigned count = d->in->vector ? d->in->vector : 1, type = TYPE(0), space = space_of(d, OPERAND(1));
    landing l;
    if (d->in->op == PTX_OP_LDU && space == PTX_SPACE_GENERIC)
        space = PTX_SPACE_GLOBAL;
    if (!land(d, OPERAND(0), count, type, &l))
        return;
    if (space == PTX_SPACE_PARAM && param(d, OPERAND(1), l.slots, count, type, false)) {
        extend_after(d, &l);
        return;
    }
    bool strong = is_shared_by_threads(d, space);
    vm_code *i = access(d, strong ? VM_H_COUNT : fast_handler(space, type, true), vm_load_slow, OPERAND(1), space,
                        l.slots, count > 1 ? count : 0);
    const uint32_t address = i->a;
    fill(d, i, l.slots, count, type, (uint8_t)(i->flags | (strong ? VM_STRONG : 0)));
    const bool wide = !(i->flags & VM_ADDR32);
    /* Programs may wait for another warp or block by two kinds of loads: loads of shared memory with a memory order,
     * and loads that bypass the L1 cache. After such a load, the extra operation vm_op_polled calls vm_poll(). */
    if (!strong && (is_strong(d) || is_past_cache(d, space)) && count == 1 && i->size <= 8) {
        i = decode_guarded_step_op(d, vm_op_polled);
        i->a = l.slots[0];
        i->b = address;
        i->space = wide && space != PTX_SPACE_SHARED ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED;
        i->flags = decode_container(type) > 4 ? VM_REG64 : 0;
    }
    extend_after(d, &l);
}

void decode_st(vm_decoder *d)
{
    unsigned count = d->in->vector ? d->in->vector : 1, type = TYPE(0), space = space_of(d, OPERAND(0));
    uint32_t *slots = decode_allocate(d, count * sizeof *slots);
    for (uint32_t k = 0; slots && k < count; k++)
        slots[k] = decode_source(d, element(d, OPERAND(1), k), decode_container(type));
    if (!slots || (space == PTX_SPACE_PARAM && param(d, OPERAND(0), slots, count, type, true)))
        return;
    bool strong = is_shared_by_threads(d, space);
    if (space == PTX_SPACE_CONST) {
        decode_set_error(d, "store to constant memory");
        return;
    }
    vm_code *i = access(d, strong ? VM_H_COUNT : fast_handler(space, type, false), vm_store_slow, OPERAND(0), space,
                        NULL, 0);
    fill(d, i, slots, count, type, (uint8_t)(i->flags | VM_WRITES | (strong ? VM_STRONG : 0)));
}

/* Decodes atom and red. `extra` has the type, the operation, and two operand slots for each element: the destination
 * and the operand. A destination of 0 means that the instruction does not return the old value: red, or atom with the
 * sink `_`. The flag VM_SIGNED marks f32 and f64 elements that may be in global memory, because atomics on global
 * memory flush subnormal numbers and keep NaNs. */
void decode_atom(vm_decoder *d)
{
    static const ptx_mod operations[] = {PTX_MOD_ADD, PTX_MOD_MIN, PTX_MOD_MAX, PTX_MOD_AND,  PTX_MOD_OR,
                                         PTX_MOD_XOR, PTX_MOD_INC, PTX_MOD_DEC, PTX_MOD_EXCH, PTX_MOD_CAS};
    bool red = ptx_effect_of(d->in) == PTX_EFFECT_REDUCTION;
    unsigned count = d->in->vector ? d->in->vector : 1, type = TYPE(0), bytes = decode_container(type),
             op = PTX_MOD_ADD;
    const ptx_operand *to = red ? NULL : OPERAND(0), *address = OPERAND(red ? 0 : 1), *b = OPERAND(red ? 1 : 2);
    for (unsigned k = 0; k < KILN__COUNT(operations); k++)
        if (ptx_has(d->in, operations[k]))
            op = operations[k];
    uint32_t *how = decode_allocate(d, (2 + 2 * count) * sizeof *how);
    if (!how)
        return;
    how[0] = type;
    how[1] = op;
    for (uint32_t k = 0; k < count; k++) {
        const ptx_operand *e = to ? element(d, to, k) : NULL;
        how[2 + 2 * k] = e && is_register(e) ? decode_dest(d, e, bytes) : 0;
        how[2 + 2 * k + 1] = decode_source(d, element(d, b, k), bytes);
    }
    uint32_t c = op == PTX_MOD_CAS ? decode_source(d, OPERAND(3), bytes) : 0;
    vm_code *i = access(d, VM_H_COUNT, ops_atom, address, d->in->space, NULL, 0);
    i->d = how[2];
    i->b = how[3];
    i->c = c;
    i->extra = how;
    i->count = (uint8_t)count;
    i->size = (uint8_t)ptx_type_bytes((ptx_type)type);
    i->flags |= (uint8_t)(VM_WRITES | (bytes > 4 ? VM_REG64 : 0) |
                          ((type == PTX_F32 || type == PTX_F64) && d->in->space != PTX_SPACE_SHARED ? VM_SIGNED : 0));
}

void decode_cp_async(vm_decoder *d)
{
    vm_place to = decode_address(d, OPERAND(0), 0), from = decode_address(d, OPERAND(1), 8);
    uint32_t bytes = 0, ignore = 0, count = 0;
    if (d->in->operand_count > 3 && OPERAND(3)->type == PTX_PRED) {
        bool negated;
        ignore = decode_pred_plain(d, OPERAND(3), &negated);
        count = negated ? 2 : 1;
    } else if (d->in->operand_count > 3 && OPERAND(3)->type == PTX_U32) {
        bytes = decode_source(d, OPERAND(3), 4);
    }
    int64_t *offset = decode_allocate(d, sizeof *offset);
    if (!offset)
        return;
    *offset = to.offset;
    vm_code *i = decode_emit_op(d, vm_op_cp_async);
    i->d = to.slot, i->a = from.slot, i->b = bytes, i->c = ignore;
    i->imm = (uint64_t)from.offset;
    i->extra = offset;
    i->e = decode_cache_slot(d);
    i->flags = to.addr32 ? 0 : VM_REG64;
    i->count = (uint8_t)count;
    uint64_t size = OPERAND(2)->imm;
    i->size = (uint8_t)size;
    if (size != 16 && (HAS(CG) || (size != 4 && size != 8)))
        decode_set_error(d, HAS(CG) ? "cp.async.cg needs size 16" : "cp.async needs size 4, 8 or 16");
}

void decode_cp_async_group(vm_decoder *d) { decode_emit_op(d, ops_nop); }
void decode_hint(vm_decoder *d) { decode_emit_op(d, ops_nop); }
void decode_fence(vm_decoder *d) { decode_emit_op(d, ops_fence); }

void decode_policy(vm_decoder *d)
{
    uint32_t to = decode_dest(d, OPERAND(0), 8);
    decode_emit_op(d, ops_createpolicy)->d = to;
}
