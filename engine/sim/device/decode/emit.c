/* emit.c - functions that all files of the decoder use. They append operations to the code, and find the operand slots
 * of registers, constants, addresses and predicates. */
#include "vm_decode.h"

#include <string.h>

#define CONSTANTS_MOST (1u << 30)

void decode_set_error(vm_decoder *d, const char *what)
{
    if (!d->failed)
        kiln__text_printf(d->log, "ptxas application ptx input, line %u; error   : %s in '%s', instruction '%s'\n",
                          d->in ? d->in->line : d->f->line, what, d->f->name,
                          d->in ? ptx_op_name((ptx_op)d->in->op) : "");
    d->failed = true;
}

void decode_no_memory(vm_decoder *d) { d->failed = d->out_of_memory = true; }

void *decode_allocate(vm_decoder *d, size_t bytes)
{
    void *made = kiln__arena_alloc(&d->module->arena, bytes);
    if (!made)
        decode_no_memory(d);
    return made;
}

/* ---- emitting ---- */

static vm_code *emit(vm_decoder *d, vm_handlers handlers, bool step, bool guarded)
{
    if (d->count + 1 >= d->capacity &&
        !kiln__grow(d->module->device->mem, &d->code, &d->capacity, d->count + 2, sizeof *d->code)) {
        decode_no_memory(d);
        if (!d->code)
            return &d->scratch;
        d->count = 0; /* decoding has failed, so nothing executes this code */
    }
    vm_code *i = &d->code[d->count++];
    memset(i, 0, sizeof *i);
    i->full = handlers.full;
    i->masked = handlers.masked;
    i->insn = d->at;
    i->guard = step ? 2 : 0;
    if (guarded && d->in && d->in->guard != PTX_NO_PRED)
        i->guard |= d->fn->reg_slot[d->in->guard] | (d->in->guard_negate ? 1u : 0u);
    return i;
}

vm_code *decode_emit(vm_decoder *d, vm_handler_id id) { return emit(d, d->table[id], false, true); }
vm_code *decode_emit_op(vm_decoder *d, vm_handler h) { return emit(d, (vm_handlers){h, h}, false, true); }
vm_code *decode_step(vm_decoder *d, vm_handler_id id) { return emit(d, d->table[id], true, false); }
vm_code *decode_step_op(vm_decoder *d, vm_handler h) { return emit(d, (vm_handlers){h, h}, true, false); }
vm_code *decode_guarded_step(vm_decoder *d, vm_handler_id id) { return emit(d, d->table[id], true, true); }
vm_code *decode_guarded_step_op(vm_decoder *d, vm_handler h) { return emit(d, (vm_handlers){h, h}, true, true); }

/* ---- slots ---- */

unsigned decode_container(unsigned type)
{
    unsigned bytes = ptx_type_bytes((ptx_type)type);
    return bytes <= 4 ? 4 : bytes;
}

unsigned decode_reg_bytes(const vm_decoder *d, const ptx_operand *o)
{
    return o->kind == PTX_OPERAND_REG ? decode_container(d->f->regs[o->index].type) : 0;
}

uint32_t decode_take_temp(vm_decoder *d)
{
    if (d->temp_used == VM_TEMPS) {
        decode_set_error(d, "too many operands");
        return d->temp_base;
    }
    return d->temp_base + VM_TEMP_BYTES * d->temp_used++;
}

uint32_t decode_take_temp_pred(vm_decoder *d)
{
    if (d->temp_pred_used == VM_TEMP_PREDS) {
        decode_set_error(d, "too many predicates");
        return 4;
    }
    return 4 + 4 * d->temp_pred_used++; /* operand slot 0 is the predicate that is always true */
}

uint32_t decode_constant_slot(vm_decoder *d, uint64_t value, unsigned bytes)
{
    if (bytes < 8)
        value = (uint32_t)value;
    /* Most constants repeat. A small hash table remembers the last constant of each hash value. A constant that is no
     * longer in the table is stored a second time. */
    uint32_t *known = &d->known[(value ^ value >> 32 ^ value >> 7 ^ bytes) % KILN__COUNT(d->known)];
    if (*known && d->constants[*known - 1].value == value && d->constants[*known - 1].bytes == bytes)
        return d->constants[*known - 1].slot | 1;
    if (d->constant_bytes >= CONSTANTS_MOST) {
        decode_set_error(d, "too many constants");
        return 1;
    }
    if (!kiln__grow(d->module->device->mem, &d->constants, &d->constant_capacity, d->constant_count + 1,
                    sizeof *d->constants)) {
        decode_no_memory(d);
        return 1;
    }
    vm_constant *made = &d->constants[d->constant_count++];
    *made = (vm_constant){value, d->constant_bytes, (uint8_t)bytes};
    d->constant_bytes += bytes * VM_LANES;
    *known = (uint32_t)d->constant_count;
    return made->slot | 1;
}

static bool is_shared_symbol(const vm_decoder *d, uint32_t index)
{
    return d->module->ptx->symbols[index].space == PTX_SPACE_SHARED;
}

/* Emits extra operations that compute the address of the shared variable at this offset in the block's shared
 * memory. */
static uint32_t shared_source(vm_decoder *d, uint64_t offset, unsigned bytes)
{
    vm_code *i = decode_step(d, VM_H_add_u32);
    const uint32_t narrow = decode_take_temp(d);
    i->d = narrow, i->a = d->fn->window, i->b = decode_constant_slot(d, offset, 4);
    if (bytes == 4)
        return narrow;
    i = decode_step(d, VM_H_ext64_u32);
    const uint32_t wide = decode_take_temp(d);
    i->d = wide, i->a = narrow;
    return wide;
}

static uint32_t symbol_source(vm_decoder *d, uint32_t index, uint64_t offset, unsigned bytes)
{
    const ptx_symbol *symbol = &d->module->ptx->symbols[index];
    uint64_t address = d->module->address[index];
    if (is_shared_symbol(d, index))
        return shared_source(d, address + offset, bytes);
    if (symbol->space == PTX_SPACE_LOCAL || d->module->home[index]) {
        vm_code *i = decode_step_op(d, ops_local_address);
        uint32_t temp = decode_take_temp(d);
        i->imm = address + offset;
        i->flags = bytes == 8 ? VM_REG64 : 0;
        return i->d = temp;
    }
    if (symbol->space == PTX_SPACE_PARAM) {
        if (!d->f->entry || !symbol->formal)
            decode_set_error(d, "the address of a .param variable of a call, or of a return value, cannot be taken");
        address = symbol->offset;
    } else if (symbol->linkage == PTX_EXTERN && symbol->space != PTX_SPACE_SHARED) {
        decode_set_error(d, "unresolved extern variable");
    }
    return decode_constant_slot(d, address + offset, bytes);
}

uint8_t decode_sreg_flags(const ptx_operand *o, unsigned bytes)
{
    return bytes == 8 ? VM_REG64 : ptx_type_bytes((ptx_type)o->type) == 2 ? VM_REG16 : 0;
}

uint32_t decode_source(vm_decoder *d, const ptx_operand *o, unsigned bytes)
{
    switch (o->kind) {
    case PTX_OPERAND_REG: {
        uint32_t slot = d->fn->reg_slot[o->index];
        unsigned have = decode_reg_bytes(d, o);
        if (have == bytes || d->f->regs[o->index].type == PTX_PRED)
            return slot;
        vm_code *i = decode_step(d, have > bytes ? VM_H_low_b32 : VM_H_ext64_u32);
        uint32_t temp = decode_take_temp(d);
        i->a = slot;
        return i->d = temp;
    }
    case PTX_OPERAND_IMM: return decode_constant_slot(d, o->imm, bytes);
    case PTX_OPERAND_SREG: {
        vm_code *i = decode_step_op(d, ops_special);
        uint32_t temp = decode_take_temp(d);
        d->module->uses_system_shared |= o->index == PTX_SREG_RESERVED_SMEM_1;
        i->b = o->index;
        i->flags = decode_sreg_flags(o, bytes);
        return i->d = temp;
    }
    case PTX_OPERAND_SYMBOL: return symbol_source(d, o->index, o->imm, bytes);
    case PTX_OPERAND_FUNCTION: return decode_constant_slot(d, VM_CODE_BASE + 16 * (uint64_t)o->index, bytes);
    default: decode_set_error(d, "operand of a kind that is not supported here"); return 1;
    }
}

uint32_t decode_dest(vm_decoder *d, const ptx_operand *o, unsigned bytes)
{
    if (o->kind == PTX_OPERAND_SINK)
        return d->sink;
    if (o->kind != PTX_OPERAND_REG) {
        decode_set_error(d, "destination is not a register");
        return d->sink;
    }
    unsigned have = d->f->regs[o->index].type == PTX_PRED ? 0 : decode_reg_bytes(d, o);
    if (have != bytes)
        decode_set_error(d, "destination register has the wrong size");
    return d->fn->reg_slot[o->index];
}

uint32_t decode_pred_plain(vm_decoder *d, const ptx_operand *o, bool *negated)
{
    *negated = o->negate;
    if (o->kind == PTX_OPERAND_REG)
        return d->fn->reg_slot[o->index];
    if (o->kind == PTX_OPERAND_IMM) {
        *negated = (o->imm == 0) != (o->negate != 0);
        return 0;
    }
    decode_set_error(d, "operand is not a predicate");
    return 0;
}

uint32_t decode_pred_source(vm_decoder *d, const ptx_operand *o)
{
    bool negated;
    uint32_t slot = decode_pred_plain(d, o, &negated);
    if (!negated)
        return slot;
    vm_code *i = decode_step_op(d, ops_pred_logic);
    uint32_t temp = decode_take_temp_pred(d);
    i->a = i->b = slot;
    i->flags = 1;
    return i->d = temp;
}

uint32_t decode_second_pred(vm_decoder *d, const ptx_operand *o) { return o->pred ? d->fn->reg_slot[o->pred - 1] : 0; }

uint32_t decode_cache_slot(vm_decoder *d) { return d->module->cache_count++; }

vm_place decode_address(vm_decoder *d, const ptx_operand *o, unsigned want)
{
    vm_place place = {.offset = o->offset};
    if (o->kind != PTX_OPERAND_ADDRESS) {
        decode_set_error(d, "operand is not an address");
        return place;
    }
    if (o->base == PTX_BASE_REG) {
        ptx_operand base = {.kind = PTX_OPERAND_REG, .index = o->index};
        unsigned have = decode_reg_bytes(d, &base);
        place.slot = decode_source(d, &base, want ? want : have);
        place.addr32 = (want ? want : have) == 4;
    } else if (o->base == PTX_BASE_SYMBOL && want != 8 && is_shared_symbol(d, o->index)) {
        place.addr32 = true;
        place.slot = d->fn->window;
        place.offset += (int64_t)d->module->address[o->index];
    } else {
        place.addr32 = want == 4;
        place.slot = o->base == PTX_BASE_SYMBOL ? symbol_source(d, o->index, 0, want == 4 ? 4 : 8)
                                                : decode_constant_slot(d, 0, want == 4 ? 4 : 8);
    }
    return place;
}
