/* decode.c - turns a checked PTX function into executable instructions: operands become operand slots (README.md), and
 * labels become pointers. The other files of this folder have one function for each entry of the `decode` column in
 * ops.def. */
#include "vm_decode.h"
#include "vm_path.h"

#include <string.h>

#define SINK_BYTES 512u

static vm_decode_fn *const decoders[PTX_OP_COUNT] = {
#define OP(name, text, decode, class, cost, effect, since, ...) [PTX_OP_##name] = decode_##decode,
#include "ops.def"
#undef OP
};

/* Gives each register of the function an operand slot, and sets the size of the frame's registers. They have this
 * order: the predicate that is always true (slot 0), temporary predicates, the function's predicates, the address of
 * the block's shared memory, the function's other registers, temporary registers, the sink. The values of a register's
 * lanes start at a multiple of 64 bytes. Returns false after a message if the function has too many registers, or if
 * its parameters are larger than a thread's stack. */
static bool lay_out_registers(vm_decoder *d)
{
    const ptx_function *f = d->f;
    uint64_t at = 4 + 4 * VM_TEMP_PREDS;
    d->fn->reg_slot = decode_allocate(d, ((size_t)f->reg_count + 1) * sizeof *d->fn->reg_slot);
    if (!d->fn->reg_slot)
        return false;
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (f->regs[r].type == PTX_PRED)
            d->fn->reg_slot[r] = (uint32_t)at, at += 4;
    at = (at + 63) & ~(uint64_t)63;
    d->fn->window = (uint32_t)at;
    at += 4 * VM_LANES;
    for (uint32_t r = 0; r < f->reg_count; r++)
        if (f->regs[r].type != PTX_PRED)
            d->fn->reg_slot[r] = (uint32_t)at, at += decode_container(f->regs[r].type) * VM_LANES;
    d->temp_base = d->fn->temp_base = (uint32_t)at;
    at += VM_TEMPS * VM_TEMP_BYTES;
    d->sink = d->fn->sink = (uint32_t)at;
    at += SINK_BYTES;
    if (at > VM_REGISTERS_MAX) {
        decode_set_error(d, "too many registers");
        return false;
    }
    d->fn->reg_bytes = (uint32_t)at;
    if (f->frame_bytes > VM_LOCAL_BYTES_MAX || (!f->entry && f->param_bytes > VM_LOCAL_BYTES_MAX)) {
        decode_set_error(d, "more bytes of parameters than a thread's stack has");
        return false;
    }
    return true;
}

/* Returns true if the instruction `at` is an exit or return without a guard, or if `at` is the end of the function. The
 * decoder makes no reconvergence point there, because no code follows that the lanes could execute together. */
static bool is_exit(const vm_decoder *d, uint32_t at)
{
    return at >= d->f->insn_count || ((d->f->insns[at].op == PTX_OP_RET || d->f->insns[at].op == PTX_OP_EXIT) &&
                                      d->f->insns[at].guard == PTX_NO_PRED);
}

/* Returns an array that marks the reconvergence points: the immediate post-dominators of branches. The caller frees the
 * array. Returns NULL if memory runs out. */
static bool *meeting_points(vm_decoder *d)
{
    const ptx_function *f = d->f;
    bool *meet = kiln__calloc(d->module->device->mem, (size_t)f->insn_count + 1, 1);
    if (!meet) {
        decode_no_memory(d);
        return NULL;
    }
    for (uint32_t k = 0; k < f->insn_count; k++)
        if ((f->insns[k].op == PTX_OP_BRA || f->insns[k].op == PTX_OP_BRX) && !is_exit(d, f->insns[k].reconverge))
            meet[f->insns[k].reconverge] = true;
    return meet;
}

/* Sets the targets of branches. Until then, branches have indices of PTX instructions. The function replaces them by
 * pointers to, or indices of, executable instructions. The decoder must have emitted all code before. */
static void link_branches(vm_decoder *d)
{
    vm_function *fn = d->fn;
    for (uint32_t k = 0; k < fn->code_count; k++) {
        vm_code *i = &fn->code[k];
        if (i->masked == vm_op_bra) {
            i->target = fn->code + fn->start[i->imm];
            i->extra = is_exit(d, i->e) ? NULL : fn->code + fn->start[i->e];
        } else if (i->masked == vm_op_brx) {
            uint32_t *targets = (uint32_t *)(uintptr_t)i->extra;
            for (uint32_t n = 0; n < i->b; n++)
                targets[n] = fn->start[targets[n]];
            targets[i->b] = is_exit(d, i->e) ? UINT32_MAX : fn->start[i->e];
        }
    }
}

/* Copies the code and the constants to memory of the module that is aligned to 64 bytes, and links the branches. */
static bool take_over(vm_decoder *d)
{
    vm_function *fn = d->fn;
    unsigned char *raw = decode_allocate(d, (size_t)d->constant_bytes + 64);
    char *code = decode_allocate(d, d->count * sizeof *fn->code + 64);
    if (!raw || !code)
        return false;
    fn->constants = (unsigned char *)(((uintptr_t)raw + 63) & ~(uintptr_t)63);
    fn->constant_bytes = d->constant_bytes;
    for (size_t k = 0; k < d->constant_count; k++)
        for (uint32_t lane = 0; lane < VM_LANES; lane++)
            memcpy(fn->constants + d->constants[k].slot + lane * (d->constants[k].bytes < 8 ? 4 : 8),
                   /* the upper 8 bytes of a constant of 16 bytes stay zero */
                   &d->constants[k].value, d->constants[k].bytes < 8 ? 4 : 8);
    fn->code = (vm_code *)(((uintptr_t)code + 63) & ~(uintptr_t)63);
    fn->code_count = (uint32_t)d->count;
    memcpy(fn->code, d->code, d->count * sizeof *fn->code);
    link_branches(d);
    return true;
}

/* Emits operations that copy the parameters whose address the function takes to local memory. */
static void move_home(vm_decoder *d)
{
    if (d->fn->has_homes)
        for (uint32_t k = 0; k < d->f->param_count + d->f->return_count; k++)
            if (d->module->home[d->f->params[k]]) {
                vm_code *i = decode_step_op(d, vm_op_home);
                i->b = d->f->params[k];
                i->imm = d->module->address[d->f->params[k]];
            }
}

/* Decodes the function `index` into module->functions[index]. Sets start[] to the index of the first executable
 * instruction of each PTX instruction, so that link_branches() can link branches at the end. The first operation at a
 * reconvergence point is vm_op_meet. The code ends with a return, because a branch may go to the end of the function.
 * If the function is invalid, writes a message and returns false. Also returns false if memory runs out. */
bool decode_function(vm_module *module, uint32_t index, kiln__text *log, const vm_handlers *table)
{
    vm_decoder d = {.module = module,
                    .fn = &module->functions[index],
                    .f = &module->ptx->functions[index],
                    .table = table,
                    .log = log};
    bool *meet = NULL;
    if (!lay_out_registers(&d) || !(meet = meeting_points(&d)))
        goto done;
    d.fn->start = decode_allocate(&d, ((size_t)d.f->insn_count + 1) * sizeof *d.fn->start);
    if (!d.fn->start)
        goto done;
    move_home(&d);
    for (d.at = 0; d.at < d.f->insn_count && !d.out_of_memory; d.at++) {
        d.in = &d.f->insns[d.at];
        d.fn->start[d.at] = (uint32_t)d.count;
        d.temp_used = d.temp_pred_used = 0;
        if (meet[d.at])
            decode_step_op(&d, vm_op_meet);
        decoders[d.in->op](&d);
    }
    d.fn->start[d.f->insn_count] = (uint32_t)d.count;
    d.in = NULL;
    decode_step_op(&d, vm_op_ret);
    if (!d.failed)
        take_over(&d);
done:
    kiln__free(module->device->mem, meet);
    kiln__free(module->device->mem, d.code);
    kiln__free(module->device->mem, d.constants);
    return !d.failed;
}
