/* flow.c - decodes control flow, calls, barriers, and warp operations. */
#include "vm_block.h"
#include "vm_builtin.h"
#include "vm_child.h"
#include "vm_collective.h"
#include "vm_decode.h"
#include "vm_path.h"

#define OPERAND(n) (&d->in->operands[n])
#define TYPE(n) (d->in->types[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

void decode_bra(vm_decoder *d)
{
    vm_code *i = decode_emit_op(d, vm_op_bra);
    i->imm = OPERAND(0)->index; /* `imm` and `e` are indices of PTX instructions until link_branches() replaces them */
    i->e = d->in->reconverge;
}

void decode_brx(vm_decoder *d)
{
    const ptx_operand *list = OPERAND(1);
    uint32_t index = decode_source(d, OPERAND(0), 4);
    uint32_t *targets = decode_allocate(d, ((size_t)list->count + 1) * sizeof *targets);
    if (!targets)
        return;
    for (uint32_t k = 0; k < list->count; k++)
        targets[k] = d->f->elements[list->index + k].index;
    vm_code *i = decode_emit_op(d, vm_op_brx);
    i->a = index;
    i->b = list->count;
    i->e = d->in->reconverge;
    i->extra = targets;
}

/* Decodes the list of arguments or the list of results of a call into *count transfers at *out. A transfer of a .param
 * variable of the caller has the offset of the variable in the frame. A transfer of a register or a constant has its
 * operand slot. `result` is true for the list of results, which the call writes. Returns false after a failure. */
static bool list_of(vm_decoder *d, const ptx_operand *list, uint32_t *count, const vm_transfer **out, bool result)
{
    *count = list->kind == PTX_OPERAND_LIST ? list->count : 0;
    vm_transfer *made = decode_allocate(d, ((size_t)*count + 1) * sizeof *made);
    if (!made)
        return false;
    for (uint32_t k = 0; k < *count; k++) {
        const ptx_operand *e = &d->f->elements[list->index + k];
        vm_transfer *t = &made[k];
        if (e->kind == PTX_OPERAND_SYMBOL) {
            const ptx_symbol *symbol = &d->module->ptx->symbols[e->index];
            if (symbol->space != PTX_SPACE_PARAM || symbol->formal) {
                decode_set_error(d, "call with a variable that is not of .param space");
                return false;
            }
            t->from = (uint32_t)symbol->offset;
            t->bytes = (uint32_t)symbol->bytes;
            continue;
        }
        unsigned type = e->kind == PTX_OPERAND_REG ? d->f->regs[e->index].type : e->type;
        t->is_register = true;
        t->bytes = ptx_type_bytes((ptx_type)type);
        t->wide = t->bytes > 4;
        if (type == PTX_PRED || t->bytes > 8) {
            decode_set_error(d, "call with an argument of an unsupported type");
            return false;
        }
        t->slot = result ? decode_dest(d, e, decode_container(type)) : decode_source(d, e, decode_container(type));
    }
    *out = made;
    return true;
}

static bool check_lists(vm_decoder *d, const vm_call *call, const ptx_function *f)
{
    bool fits = f->return_count == call->result_count && f->param_count == call->argument_count;
    for (uint32_t k = 0; fits && k < f->return_count + f->param_count; k++) {
        const vm_transfer *t = k < f->return_count ? &call->results[k] : &call->arguments[k - f->return_count];
        fits = d->module->ptx->symbols[f->params[k]].bytes == t->bytes;
    }
    if (!fits)
        decode_set_error(d, "call whose arguments do not fit the function");
    return fits;
}

void decode_call(vm_decoder *d)
{
    vm_call *call = decode_allocate(d, sizeof *call);
    if (!call || !list_of(d, OPERAND(0), &call->result_count, &call->results, true) ||
        !list_of(d, OPERAND(2), &call->argument_count, &call->arguments, false))
        return;
    const ptx_operand *target = OPERAND(1);
    uint32_t a = 0;
    bool wide = true;
    if (target->kind == PTX_OPERAND_FUNCTION) {
        const ptx_function *f = &d->module->ptx->functions[target->index];
        if (f->entry) {
            decode_set_error(d, "call of a kernel");
            return;
        }
        call->callee = &d->module->functions[target->index];
        if (!check_lists(d, call, f))
            return;
        call->builtin = f->defined ? 0 : vm_builtin_find(f->name);
        if (!f->defined && !call->builtin) {
            kiln__text_printf(d->log,
                              "ptxas application ptx input, line %u; fatal   : Unresolved extern function '%s'\n",
                              d->in->line, f->name);
            d->failed = true;
            return;
        }
        static const uint32_t least[VM_BUILTINS] = {2, 4, 1, 1};
        bool runtime = call->builtin > VM_BUILTINS;
        if (runtime ? !vm_runtime_fits(call->builtin - VM_BUILTINS - 1, f, d->module->ptx)
                    : call->builtin && call->argument_count < least[call->builtin - 1])
            decode_set_error(d, "call of a function of the device that is declared with other parameters");
        else if (runtime && !vm_runtime_texts(d->module, call->builtin - VM_BUILTINS - 1))
            d->failed = d->out_of_memory = true;
    } else {
        wide = decode_reg_bytes(d, target) == 8;
        a = decode_source(d, target, wide ? 8 : 4);
    }
    vm_code *i = decode_emit_op(d, vm_op_call);
    i->a = a;
    i->extra = call;
    i->e = decode_cache_slot(d);
    i->flags = wide ? 0 : VM_ADDR32;
    if (!call->builtin && (!call->callee || d->in->guard != PTX_NO_PRED))
        /* A guard or an indirect call may make the lanes diverge, so the instruction after the call is a reconvergence
         * point. */
        decode_step_op(d, vm_op_meet);
}

void decode_ret(vm_decoder *d) { decode_emit_op(d, vm_op_ret); }
void decode_exit(vm_decoder *d) { decode_emit_op(d, vm_op_exit); }
void decode_trap(vm_decoder *d) { decode_emit_op(d, d->in->op == PTX_OP_TRAP ? ops_trap : ops_nop); }
void decode_nanosleep(vm_decoder *d) { decode_emit_op(d, ops_nanosleep); }
void decode_nop(vm_decoder *d) { decode_emit_op(d, ops_nop); }

/* Decodes setmaxnreg. The decoder only checks the number, because a simulated warp always has all registers that it
 * needs. */
void decode_setmaxnreg(vm_decoder *d)
{
    enum { LEAST = 24, MOST = 256, STEP = 8 };
    uint64_t count = d->in->operands[0].imm;
    if (count < LEAST || count > MOST || count % STEP)
        decode_set_error(d, "a number of registers that is not a multiple of 8 from 24 to 256");
    decode_nop(d);
}

void decode_stack(vm_decoder *d)
{
    unsigned bytes = decode_container(TYPE(0));
    uint32_t a = 0, to = 0, kind = d->in->op == PTX_OP_ALLOCA ? 0 : d->in->op == PTX_OP_STACKSAVE ? 1 : 2;
    uint64_t align = 16;
    if (kind == 0)
        a = decode_source(d, OPERAND(1), bytes);
    if (kind == 0 && d->in->operand_count > 2)
        align = OPERAND(2)->imm;
    if (kind == 2)
        a = decode_source(d, OPERAND(0), bytes);
    else
        to = decode_dest(d, OPERAND(0), bytes);
    if (align == 0 || align & (align - 1) || align > 4096)
        decode_set_error(d, "alignment is not a power of two");
    vm_code *i = decode_emit_op(d, vm_op_stack);
    i->d = to, i->a = a, i->c = kind;
    i->imm = align < 16 ? 16 : align;
    i->flags = bytes == 8 ? VM_REG64 : 0;
}

void decode_bar(vm_decoder *d)
{
    bool red = HAS(RED);
    unsigned at = red ? 1 : 0, count = d->in->operand_count;
    uint32_t id = decode_source(d, OPERAND(at), 4), need = 0, p = 0, to = 0;
    bool negated = false;
    if (count > at + (red ? 2 : 1))
        need = decode_source(d, OPERAND(at + 1), 4);
    if (red) {
        p = decode_pred_plain(d, OPERAND(count - 1), &negated);
        to = decode_dest(d, OPERAND(0), HAS(POPC) ? 4 : 0);
    }
    vm_code *i = decode_emit_op(d, vm_op_bar);
    i->d = to, i->a = id, i->b = need, i->c = p;
    i->size = (uint8_t)(!red ? 0 : HAS(POPC) ? 1 : HAS(AND) ? 2 : 3);
    i->flags = (uint8_t)((negated ? 1 : 0) | (HAS(ARRIVE) ? 2 : 0));
}

void decode_warp_sync(vm_decoder *d)
{
    uint32_t mask = decode_source(d, OPERAND(0), 4);
    decode_emit_op(d, vm_op_warp_sync)->a = mask;
}

void decode_shfl(vm_decoder *d)
{
    uint32_t a = decode_source(d, OPERAND(1), 4), b = decode_source(d, OPERAND(2), 4),
             c = decode_source(d, OPERAND(3), 4);
    uint32_t mask = decode_source(d, OPERAND(4), 4);
    uint32_t to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, vm_op_shfl);
    i->d = to, i->a = a, i->b = b, i->c = c;
    i->e = decode_second_pred(d, OPERAND(0));
    i->imm = mask;
    i->size = (uint8_t)(HAS(UP) ? 0 : HAS(DOWN) ? 1 : HAS(BFLY) ? 2 : 3);
}

void decode_vote(vm_decoder *d)
{
    bool negated;
    uint32_t p = decode_pred_plain(d, OPERAND(1), &negated), mask = decode_source(d, OPERAND(2), 4);
    uint32_t to = decode_dest(d, OPERAND(0), HAS(BALLOT) ? 4 : 0);
    vm_code *i = decode_emit_op(d, vm_op_vote);
    i->d = to, i->a = p, i->b = mask;
    i->size = (uint8_t)(HAS(ALL) ? 0 : HAS(ANY) ? 1 : HAS(UNI) ? 2 : 3);
    i->flags = negated;
}

void decode_match(vm_decoder *d)
{
    unsigned bytes = decode_container(TYPE(0));
    uint32_t a = decode_source(d, OPERAND(1), bytes), mask = decode_source(d, OPERAND(2), 4),
             to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, vm_op_match);
    i->d = to, i->a = a, i->b = mask;
    i->e = decode_second_pred(d, OPERAND(0));
    i->size = (uint8_t)bytes;
    i->flags = HAS(ALL);
}

void decode_redux(vm_decoder *d)
{
    static const ptx_mod operations[] = {PTX_MOD_ADD, PTX_MOD_MIN, PTX_MOD_MAX, PTX_MOD_AND, PTX_MOD_OR, PTX_MOD_XOR};
    uint32_t a = decode_source(d, OPERAND(1), 4), mask = decode_source(d, OPERAND(2), 4),
             to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, vm_op_redux);
    i->d = to, i->a = a, i->b = mask;
    i->space = TYPE(0);
    i->flags = vm_flags(d->in);
    i->count = HAS(ABS);
    for (unsigned k = 0; k < KILN__COUNT(operations); k++)
        if (ptx_has(d->in, operations[k]))
            i->size = (uint8_t)operations[k];
}

void decode_activemask(vm_decoder *d)
{
    uint32_t to = decode_dest(d, OPERAND(0), 4);
    decode_emit_op(d, vm_op_activemask)->d = to;
}

void decode_elect(vm_decoder *d)
{
    uint32_t mask = decode_source(d, OPERAND(1), 4), to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, vm_op_elect);
    i->d = to, i->a = mask;
    i->e = decode_second_pred(d, OPERAND(0));
}
