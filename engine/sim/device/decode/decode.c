/* decode.c - a checked PTX function to executable instructions: operands become slots, labels become pointers. The
 * files of this folder hold one function for each entry of the `decode` column in ops.def. */
#include "vm_decode.h"

#include <string.h>

#define TEMPS 14u
#define TEMP_BYTES 256u
#define TEMP_PREDS 6u
#define SINK_BYTES 512u
#define CONSTANTS_MOST (1u << 30)

static vm_decode_fn *const decoders[PTX_OP_COUNT] = {
#define OP(name, text, decode, class, cost, effect, since, ...) [PTX_OP_##name] = vm_decode_##decode,
#include "ops.def"
#undef OP
};

void vm_decode_fail(vm_decoder *d, const char *what)
{
    if (!d->failed)
        kiln__text_printf(d->log, "ptxas application ptx input, line %u; error   : %s in '%s', instruction '%s'\n",
                          d->in ? d->in->line : d->f->line, what, d->f->name,
                          d->in ? ptx_op_name((ptx_op)d->in->op) : "");
    d->failed = true;
}

static void no_memory(vm_decoder *d) { d->failed = d->out_of_memory = true; }

void *vm_keep(vm_decoder *d, size_t bytes)
{
    void *made = kiln__arena_alloc(&d->module->arena, bytes);
    if (!made)
        no_memory(d);
    return made;
}

/* ---- emitting ---- */

static vm_code *emit(vm_decoder *d, vm_handlers handlers, bool step, bool guarded)
{
    if (d->count + 1 >= d->capacity &&
        !kiln__grow(d->module->device->mem, &d->code, &d->capacity, d->count + 2, sizeof *d->code)) {
        no_memory(d);
        if (!d->code)
            return &d->scratch;
        d->count = 0; /* this instruction is never executed */
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

vm_code *vm_emit(vm_decoder *d, vm_handler_id id) { return emit(d, d->table[id], false, true); }
vm_code *vm_emit_op(vm_decoder *d, vm_handler h) { return emit(d, (vm_handlers){h, h}, false, true); }
vm_code *vm_step(vm_decoder *d, vm_handler_id id) { return emit(d, d->table[id], true, false); }
vm_code *vm_step_op(vm_decoder *d, vm_handler h) { return emit(d, (vm_handlers){h, h}, true, false); }
vm_code *vm_guarded_step(vm_decoder *d, vm_handler_id id) { return emit(d, d->table[id], true, true); }
vm_code *vm_guarded_step_op(vm_decoder *d, vm_handler h) { return emit(d, (vm_handlers){h, h}, true, true); }

/* ---- slots ---- */

unsigned vm_container(unsigned type)
{
    unsigned bytes = ptx_type_bytes((ptx_type)type);
    return bytes <= 4 ? 4 : bytes;
}

unsigned vm_reg_bytes(const vm_decoder *d, const ptx_operand *o)
{
    return o->kind == PTX_OPERAND_REG ? vm_container(d->f->regs[o->index].type) : 0;
}

uint32_t vm_temp(vm_decoder *d)
{
    if (d->temp_used == TEMPS) {
        vm_decode_fail(d, "too many operands");
        return d->temp_base;
    }
    return d->temp_base + TEMP_BYTES * d->temp_used++;
}

uint32_t vm_temp_pred(vm_decoder *d)
{
    if (d->temp_pred_used == TEMP_PREDS) {
        vm_decode_fail(d, "too many predicates");
        return 4;
    }
    return 4 + 4 * d->temp_pred_used++; /* slot 0 is the predicate that is always true */
}

uint32_t vm_constant_slot(vm_decoder *d, uint64_t value, unsigned bytes)
{
    if (bytes < 8)
        value = (uint32_t)value;
    /* Most constants repeat: a small hash table finds the last one. */
    uint32_t *known = &d->known[(value ^ value >> 32 ^ value >> 7 ^ bytes) % KILN__COUNT(d->known)];
    if (*known && d->constants[*known - 1].value == value && d->constants[*known - 1].bytes == bytes)
        return d->constants[*known - 1].slot | 1;
    if (d->constant_bytes >= CONSTANTS_MOST) {
        vm_decode_fail(d, "too many constants");
        return 1;
    }
    if (!kiln__grow(d->module->device->mem, &d->constants, &d->constant_capacity, d->constant_count + 1,
                    sizeof *d->constants)) {
        no_memory(d);
        return 1;
    }
    vm_constant *made = &d->constants[d->constant_count++];
    *made = (vm_constant){value, d->constant_bytes, (uint8_t)bytes};
    d->constant_bytes += bytes * VM_LANES;
    *known = (uint32_t)d->constant_count;
    return made->slot | 1;
}

static uint32_t symbol_source(vm_decoder *d, uint32_t index, uint64_t offset, unsigned bytes)
{
    const ptx_symbol *symbol = &d->module->ptx->symbols[index];
    uint64_t address = d->module->address[index];
    if (symbol->space == PTX_SPACE_LOCAL || d->module->home[index]) {
        vm_code *i = vm_step_op(d, vm_op_local_address);
        uint32_t temp = vm_temp(d);
        i->imm = address + offset;
        i->flags = bytes == 8 ? VM_REG64 : 0;
        return i->d = temp;
    }
    if (symbol->space == PTX_SPACE_PARAM) {
        if (!d->f->entry || !symbol->formal)
            vm_decode_fail(d, "the address of a call's .param variable or of a return value");
        address = symbol->offset;
    } else if (symbol->linkage == PTX_EXTERN && symbol->space != PTX_SPACE_SHARED) {
        vm_decode_fail(d, "unresolved extern variable");
    }
    return vm_constant_slot(d, address + offset, bytes);
}

uint8_t vm_sreg_flags(const ptx_operand *o, unsigned bytes)
{
    return bytes == 8 ? VM_REG64 : ptx_type_bytes((ptx_type)o->type) == 2 ? VM_REG16 : 0;
}

uint32_t vm_source(vm_decoder *d, const ptx_operand *o, unsigned bytes)
{
    switch (o->kind) {
    case PTX_OPERAND_REG: {
        uint32_t slot = d->fn->reg_slot[o->index];
        unsigned have = vm_reg_bytes(d, o);
        if (have == bytes || d->f->regs[o->index].type == PTX_PRED)
            return slot;
        vm_code *i = vm_step(d, have > bytes ? VM_H_low_b32 : VM_H_ext64_u32);
        uint32_t temp = vm_temp(d);
        i->a = slot;
        return i->d = temp;
    }
    case PTX_OPERAND_IMM: return vm_constant_slot(d, o->imm, bytes);
    case PTX_OPERAND_SREG: {
        vm_code *i = vm_step_op(d, vm_op_special);
        uint32_t temp = vm_temp(d);
        d->module->uses_system_shared |= o->index == PTX_SREG_RESERVED_SMEM_1;
        i->b = o->index;
        i->flags = vm_sreg_flags(o, bytes);
        return i->d = temp;
    }
    case PTX_OPERAND_SYMBOL: return symbol_source(d, o->index, o->imm, bytes);
    case PTX_OPERAND_FUNCTION: return vm_constant_slot(d, VM_CODE_BASE + 16 * (uint64_t)o->index, bytes);
    default: vm_decode_fail(d, "operand of a kind that is not supported here"); return 1;
    }
}

uint32_t vm_dest(vm_decoder *d, const ptx_operand *o, unsigned bytes)
{
    if (o->kind == PTX_OPERAND_SINK)
        return d->sink;
    if (o->kind != PTX_OPERAND_REG) {
        vm_decode_fail(d, "destination is not a register");
        return d->sink;
    }
    unsigned have = d->f->regs[o->index].type == PTX_PRED ? 0 : vm_reg_bytes(d, o);
    if (have != bytes)
        vm_decode_fail(d, "destination register has the wrong size");
    return d->fn->reg_slot[o->index];
}

uint32_t vm_pred_plain(vm_decoder *d, const ptx_operand *o, bool *negated)
{
    *negated = o->negate;
    if (o->kind == PTX_OPERAND_REG)
        return d->fn->reg_slot[o->index];
    if (o->kind == PTX_OPERAND_IMM) {
        *negated = (o->imm == 0) != (o->negate != 0);
        return 0;
    }
    vm_decode_fail(d, "operand is not a predicate");
    return 0;
}

uint32_t vm_pred_source(vm_decoder *d, const ptx_operand *o)
{
    bool negated;
    uint32_t slot = vm_pred_plain(d, o, &negated);
    if (!negated)
        return slot;
    vm_code *i = vm_step_op(d, vm_op_pred_logic);
    uint32_t temp = vm_temp_pred(d);
    i->a = i->b = slot;
    i->flags = 1;
    return i->d = temp;
}

uint32_t vm_second_pred(vm_decoder *d, const ptx_operand *o) { return o->pred ? d->fn->reg_slot[o->pred - 1] : 0; }

uint32_t vm_cache_slot(vm_decoder *d) { return d->module->cache_count++; }

vm_place vm_address(vm_decoder *d, const ptx_operand *o, unsigned want)
{
    vm_place place = {.offset = o->offset};
    if (o->kind != PTX_OPERAND_ADDRESS) {
        vm_decode_fail(d, "operand is not an address");
        return place;
    }
    if (o->base == PTX_BASE_REG) {
        ptx_operand base = {.kind = PTX_OPERAND_REG, .index = o->index};
        unsigned have = vm_reg_bytes(d, &base);
        place.slot = vm_source(d, &base, want ? want : have);
        place.addr32 = (want ? want : have) == 4;
    } else {
        place.addr32 = want == 4;
        place.slot = o->base == PTX_BASE_SYMBOL ? symbol_source(d, o->index, 0, want == 4 ? 4 : 8)
                                                : vm_constant_slot(d, 0, want == 4 ? 4 : 8);
    }
    return place;
}

/* ---- functions ---- */

/* Gives each register of the function a slot, and sets the size of the register file. The order is: the predicate that
 * is always true (slot 0), temporary predicates, the function's predicates, its other registers, temporaries, the sink.
 * Rows of lanes start at a multiple of 64 bytes. Returns false after a message if the function has too many registers,
 * or more bytes of parameters than a thread's stack. */
static bool lay_out_registers(vm_decoder *d)
{
    const ptx_function *f = d->f;
    uint64_t at = 4 + 4 * TEMP_PREDS;
    d->fn->reg_slot = vm_keep(d, ((size_t)f->reg_count + 1) * sizeof *d->fn->reg_slot);
    if (!d->fn->reg_slot)
        return false;
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (f->regs[r].type == PTX_PRED)
            d->fn->reg_slot[r] = (uint32_t)at, at += 4;
    at = (at + 63) & ~(uint64_t)63;
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (f->regs[r].type != PTX_PRED)
            d->fn->reg_slot[r] = (uint32_t)at, at += vm_container(f->regs[r].type) * VM_LANES;
    d->temp_base = d->fn->temp_base = (uint32_t)at;
    at += TEMPS * TEMP_BYTES;
    d->sink = d->fn->sink = (uint32_t)at;
    at += SINK_BYTES;
    if (at > VM_REGISTERS_MAX) {
        vm_decode_fail(d, "too many registers");
        return false;
    }
    d->fn->reg_bytes = (uint32_t)at;
    if (f->frame_bytes > VM_LOCAL_BYTES_MAX || (!f->entry && f->param_bytes > VM_LOCAL_BYTES_MAX)) {
        vm_decode_fail(d, "more bytes of parameters than a thread's stack has");
        return false;
    }
    return true;
}

/* Lanes do not wait for each other where only an exit follows. */
static bool leaves(const vm_decoder *d, uint32_t at)
{
    return at >= d->f->insn_count || ((d->f->insns[at].op == PTX_OP_RET || d->f->insns[at].op == PTX_OP_EXIT) &&
                                      d->f->insns[at].guard == PTX_NO_PRED);
}

/* Marks reconvergence points: the post-dominators of branches. */
static bool *meeting_points(vm_decoder *d)
{
    const ptx_function *f = d->f;
    bool *meet = kiln__calloc(d->module->device->mem, (size_t)f->insn_count + 1, 1);
    if (!meet) {
        no_memory(d);
        return NULL;
    }
    for (uint32_t k = 0; k < f->insn_count; k++)
        if ((f->insns[k].op == PTX_OP_BRA || f->insns[k].op == PTX_OP_BRX) && !leaves(d, f->insns[k].reconverge))
            meet[f->insns[k].reconverge] = true;
    return meet;
}

/* Instruction indices become pointers once all code is in place. */
static void link_branches(vm_decoder *d)
{
    vm_function *fn = d->fn;
    for (uint32_t k = 0; k < fn->code_count; k++) {
        vm_code *i = &fn->code[k];
        if (i->masked == vm_op_bra) {
            i->target = fn->code + fn->start[i->imm];
            i->extra = leaves(d, i->e) ? NULL : fn->code + fn->start[i->e];
        } else if (i->masked == vm_op_brx) {
            uint32_t *targets = (uint32_t *)(uintptr_t)i->extra;
            for (uint32_t n = 0; n < i->b; n++)
                targets[n] = fn->start[targets[n]];
            targets[i->b] = leaves(d, i->e) ? UINT32_MAX : fn->start[i->e];
        }
    }
}

static bool take_over(vm_decoder *d)
{
    vm_function *fn = d->fn;
    unsigned char *raw = vm_keep(d, (size_t)d->constant_bytes + 64);
    char *code = vm_keep(d, d->count * sizeof *fn->code + 64);
    if (!raw || !code)
        return false;
    fn->constants = (unsigned char *)(((uintptr_t)raw + 63) & ~(uintptr_t)63);
    fn->constant_bytes = d->constant_bytes;
    for (size_t k = 0; k < d->constant_count; k++)
        for (uint32_t lane = 0; lane < VM_LANES; lane++)
            memcpy(fn->constants + d->constants[k].slot + lane * (d->constants[k].bytes < 8 ? 4 : 8),
                   &d->constants[k].value, d->constants[k].bytes < 8 ? 4 : 8); /* the high half of 16 bytes is zero */
    fn->code = (vm_code *)(((uintptr_t)code + 63) & ~(uintptr_t)63);
    fn->code_count = (uint32_t)d->count;
    memcpy(fn->code, d->code, d->count * sizeof *fn->code);
    link_branches(d);
    return true;
}

static void move_home(vm_decoder *d)
{
    if (d->fn->has_homes)
        for (uint32_t k = 0; k < d->f->param_count + d->f->return_count; k++)
            if (d->module->home[d->f->params[k]]) {
                vm_code *i = vm_step_op(d, vm_op_home);
                i->b = d->f->params[k];
                i->imm = d->module->address[d->f->params[k]];
            }
}

/* Decodes the function `index` into module->functions[index]. start[] gets the first executable instruction of each PTX
 * instruction, so that branches can be linked when all code is in place. A reconvergence point starts with the step
 * vm_op_meet. The code ends with a return, because a branch may go to the end of the function. Returns false after a
 * message, or if there is no memory. */
bool vm_decode_function(vm_module *module, uint32_t index, kiln__text *log, const vm_handlers *table)
{
    vm_decoder d = {.module = module,
                    .fn = &module->functions[index],
                    .f = &module->ptx->functions[index],
                    .table = table,
                    .log = log};
    bool *meet = NULL;
    if (!lay_out_registers(&d) || !(meet = meeting_points(&d)))
        goto done;
    d.fn->start = vm_keep(&d, ((size_t)d.f->insn_count + 1) * sizeof *d.fn->start);
    if (!d.fn->start)
        goto done;
    move_home(&d);
    for (d.at = 0; d.at < d.f->insn_count && !d.out_of_memory; d.at++) {
        d.in = &d.f->insns[d.at];
        d.fn->start[d.at] = (uint32_t)d.count;
        d.temp_used = d.temp_pred_used = 0;
        if (meet[d.at])
            vm_step_op(&d, vm_op_meet);
        decoders[d.in->op](&d);
    }
    d.fn->start[d.f->insn_count] = (uint32_t)d.count;
    d.in = NULL;
    vm_step_op(&d, vm_op_ret);
    if (!d.failed)
        take_over(&d);
done:
    kiln__free(module->device->mem, meet);
    kiln__free(module->device->mem, d.code);
    kiln__free(module->device->mem, d.constants);
    return !d.failed;
}
