/* explain.c - describes a launch that did not end: the loop in which a warp was, and the memory for which the warp
 * waited. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vm_fault.h"
#include "vm_limit.h"
#include "vm_machine.h"
#include "vm_memory.h"

/* Returns the index of the PTX instruction at which the path is in the function of `frame`. If `frame` is a caller of
 * the path's own frame, the result is the index of the call instruction. */
static uint32_t get_position(const vm_frame *frame, const vm_path *path)
{
    if (frame == path->frame)
        return path->pc->insn;
    const vm_frame *inner = path->frame;
    while (inner->caller != frame)
        inner = inner->caller;
    return inner->back->insn ? inner->back->insn - 1 : 0;
}

/* Returns true for a direct branch, and sets *target to the index of its target. */
static bool is_branch(const ptx_insn *insn, uint32_t *target)
{
    if (insn->op != PTX_OP_BRA || insn->operand_count < 1 || insn->operands[0].kind != PTX_OPERAND_LABEL)
        return false;
    *target = insn->operands[0].index;
    return true;
}

/* Finds the innermost loop around the path's position: the shortest backward branch across the position. If the path's
 * function has no such branch, searches its callers. */
static bool find_loop(const vm_path *path, vm_loop *loop)
{
    for (const vm_frame *frame = path->frame; frame; frame = frame->caller) {
        const ptx_function *f = frame->function->ptx;
        uint32_t at = get_position(frame, path), target;
        bool found = false;
        for (uint32_t k = at; k < f->insn_count; k++)
            if (is_branch(&f->insns[k], &target) && target <= at && (!found || k - target < loop->last - loop->first)) {
                *loop = (vm_loop){.function = frame->function, .first = target, .last = k};
                found = true;
            }
        if (found)
            return true;
    }
    return false;
}

const vm_code *vm_wait_of(const vm_function *function, uint32_t first, uint32_t last, uint32_t *at, bool *mbarrier)
{
    const ptx_function *f = function->ptx;
    uint32_t waits = 0, reads = 0, wait = 0, read = 0;
    for (uint32_t k = first; k <= last; k++) {
        const ptx_insn *insn = &f->insns[k];
        ptx_effect effect = ptx_effect_of(insn);
        bool common = insn->space == PTX_SPACE_GLOBAL || insn->space == PTX_SPACE_SHARED ||
                      insn->space == PTX_SPACE_GENERIC;
        if (insn->op == PTX_OP_MBARRIER_TRY_WAIT || insn->op == PTX_OP_MBARRIER_TEST_WAIT)
            waits++, wait = k;
        else if (common && (effect == PTX_EFFECT_LOAD || effect == PTX_EFFECT_ATOMIC))
            reads++, read = k;
    }
    *mbarrier = waits == 1;
    *at = waits == 1 ? wait : read;
    if (waits > 1 || (waits == 0 && reads != 1))
        return NULL;
    const vm_code *code = &function->code[function->start[*at]], *end = &function->code[function->start[*at + 1]];
    while (code < end && code->guard & 2) /* skips the extra operations of the instruction */
        code++;
    return code < end ? code : NULL;
}

/* Returns the address that the first lane of a path accesses with the instruction `code`, from the registers of the
 * path's frame. The function does not use w->base[]. Another path may have run last, so w->base[] may point to the
 * registers of another function, or to a freed frame. */
static uint64_t get_address(const vm_path *path, const vm_code *code)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(path->mask);
    const vm_u32 *row = vm_row_of(path->frame, code->a);
    return code->flags & VM_ADDR32 ? (uint32_t)(row[lane] + (uint32_t)code->imm)
                                   : ((const vm_u64 *)(const void *)row)[lane] + code->imm;
}

/* Describes the memory or the mbarrier for which the path waits in the loop. The text is empty if vm_wait_of() finds no
 * single read. If the current iteration of the loop has not computed the address yet, the text has the address of an
 * earlier iteration, or zero. */
static void describe_wait(vm_warp *w, const vm_path *path, const vm_loop *loop, char *text, size_t size)
{
    const vm_function *function = path->frame->function;
    bool mbarrier;
    uint32_t at;
    const vm_code *code = loop->function == function ? vm_wait_of(function, loop->first, loop->last, &at, &mbarrier)
                                                     : NULL;
    text[0] = '\0';
    if (!code)
        return;
    uint64_t address = get_address(path, code);
    unsigned space = function->ptx->insns[at].space;
    if (space == PTX_SPACE_GENERIC && address - VM_SHARED_BASE < VM_CLUSTER_WINDOW)
        space = PTX_SPACE_SHARED, address -= VM_SHARED_BASE;
    if (space == PTX_SPACE_SHARED) {
        snprintf(text, size, ", which %s at shared address 0x%" PRIx64,
                 mbarrier ? "waits for the mbarrier" : "reads memory", address);
        return;
    }
    char where[200];
    vm_describe(w->runner->run->device, address, where, sizeof where);
    snprintf(text, size, ", which reads memory %s", where);
}

/* Describes the place of a loop's backward branch in the source. */
static void describe_place(const vm_loop *loop, char *place, size_t size)
{
    const ptx_module *ptx = loop->function->module->ptx;
    const ptx_insn *back = &loop->function->ptx->insns[loop->last];
    snprintf(place, size, "PTX line %u", back->line);
    if (back->loc && back->loc < ptx->loc_count && ptx->locs[back->loc].line) {
        const ptx_loc *loc = &ptx->locs[back->loc];
        const char *file = loc->file < ptx->file_count ? ptx->files[loc->file] : NULL;
        const char *name = file ? strrchr(file, '/') : NULL;
        snprintf(place, size, "%.100s%s%u", name ? name + 1 : file ? file : "line ", file ? ":" : "", loc->line);
    }
}

void vm_wait_describe(vm_warp *w, const vm_path *path, char *where, size_t size, char *what, size_t room)
{
    vm_loop loop;
    char place[160];
    what[0] = '\0';
    w->frame = path->frame;
    if (!find_loop(path, &loop)) {
        snprintf(where, size, "in '%.60s'", path->frame->function->ptx->name);
        return;
    }
    describe_place(&loop, place, sizeof place);
    snprintf(where, size, "in the loop at %.100s of '%.60s'", place, loop.function->ptx->name);
    describe_wait(w, path, &loop, what, room);
}

/* Stores the loop of the warp for vm_limit_explain(), then raises the fault. */
void vm_limit_raise(vm_warp *w, vm_fault_kind kind)
{
    vm_family *family = w->runner->run->family;
    const vm_path *path = &w->paths[0];
    uint32_t lane = (uint32_t)__builtin_ctz(path->mask);
    vm_loop loop = {0};
    char waits[sizeof family->waits] = "";
    w->frame = path->frame;
    if (kind != VM_FAULT_STOPPED && find_loop(path, &loop))
        describe_wait(w, path, &loop, waits, sizeof waits);
    pthread_mutex_lock(&family->lock);
    if (family->fault->kind == VM_OK && kind != VM_FAULT_STOPPED) {
        family->stuck_in = w->runner->run;
        family->loop = loop;
        memcpy(family->waits, waits, sizeof waits);
    }
    pthread_mutex_unlock(&family->lock);
    if (kind == VM_FAULT_STOPPED)
        vm_fault_raise(w, path->pc, lane, kind, 0, 0, "stopped on request");
    else if (kind == VM_FAULT_TIME)
        vm_fault_raise(w, path->pc, lane, kind, 0, 0, "the launch has not ended within its time limit");
    else
        vm_fault_raise(w, path->pc, lane, kind, 0, 0,
                       "the launch has used up its budget of %llu steps, so it may have an endless loop",
                       (unsigned long long)w->runner->run->family->budget);
}

void vm_limit_count(const vm_block *block)
{
    vm_run_state *run = block->runner->run;
    vm_family *family = run->family;
    uint32_t running = 0, inside = 0;
    if (!atomic_load(&family->stop) || family->stuck_in != run)
        return;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        const vm_warp *w = &block->warps[k];
        bool in = false;
        for (uint32_t p = 0; p < w->path_count && !in; p++)
            for (const vm_frame *frame = w->paths[p].frame; frame && !in; frame = frame->caller) {
                uint32_t at = frame->function == family->loop.function ? get_position(frame, &w->paths[p]) : UINT32_MAX;
                in = at >= family->loop.first && at <= family->loop.last;
            }
        running += w->path_count > 0;
        inside += in;
    }
    atomic_fetch_add(&family->running, running);
    atomic_fetch_add(&family->inside, inside);
}

void vm_limit_explain(vm_run_state *run)
{
    vm_family *family = run->family;
    vm_fault *fault = family->fault;
    if (family->stuck_in != run || (fault->kind != VM_FAULT_TIME && fault->kind != VM_FAULT_STEPS))
        return;
    size_t used = strlen(fault->message), left = sizeof fault->message - used;
    unsigned running = atomic_load(&family->running), inside = atomic_load(&family->inside);
    if (!family->loop.function) {
        snprintf(fault->message + used, left, "; %u running warp%s, not in a loop", running, running == 1 ? "" : "s");
        return;
    }
    char place[160];
    describe_place(&family->loop, place, sizeof place);
    snprintf(fault->message + used, left, "; %u of the %u running warps were in the loop at %s%s", inside, running,
             place, family->waits);
}
