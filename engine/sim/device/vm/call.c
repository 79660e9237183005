/* call.c - calls of device functions. Each call has a frame. A frame holds the callee's registers, a parameter block
 * for each lane, and the .param variables of the calls that the callee makes. Lanes that call together return together,
 * because the return is a reconvergence point. */
#include <string.h>

#include "vm_builtin.h"
#include "vm_fault.h"
#include "vm_limit.h"
#include "vm_machine.h"
#include "vm_path.h"

/* Lets the lanes of the running path enter the callee: checks the stack, makes a frame, copies the arguments. `back` is
 * the instruction at which the lanes continue after the return. */
static void enter_call(vm_warp *w, const vm_code *i, const vm_call *call, const vm_function *callee, uint32_t lanes,
                       const vm_code *back)
{
    vm_frame *caller = w->frame;
    uint32_t lane = (uint32_t)__builtin_ctz(lanes);
    if (!callee->code) {
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "call of '%s', which has no body", callee->ptx->name);
        return;
    }
    const vm_device *device = w->runner->run->device;
    if (caller->depth + 1 >= VM_DEPTH_MAX || caller->chain > vm_frames_most(device) || !vm_frame_fits(device, callee) ||
        (callee->local_bytes && caller->local_top + callee->local_bytes > w->runner->run->local_bytes)) {
        vm_fault_raise(w, i, lane, VM_FAULT_STACK, 0, 0, "stack overflow: call of '%s' at depth %u", callee->ptx->name,
                       caller->depth + 1);
        return;
    }
    vm_frame *frame = vm_frame_new(w, callee, caller);
    if (!frame) {
        vm_fault_raise(w, i, lane, VM_FAULT_MEMORY, 0, 0, "no memory for the frames of calls, in a call of '%s'",
                       callee->ptx->name);
        return;
    }
    frame->call = call;
    frame->back = back;
    frame->join = (vm_sync){.pc = NULL, .expected = lanes, .parent = w->sync, .frame = frame};
    vm_frame_copy(w, caller, frame, call, lanes, true);
    w->paths[w->current] = (vm_path){.pc = callee->code, .mask = lanes, .sync = &frame->join, .frame = frame};
    vm_warp_select(w, &w->paths[w->current]);
}

/* Executes ret: the lanes wait at the return until all lanes of the call have arrived. A return from the kernel is an
 * exit. */
void vm_op_ret(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_frame *frame = w->frame;
    if (!frame->caller) {
        vm_op_exit(w, i, m);
        return;
    }
    vm_leave(w, w->sync, &frame->join, m);
    frame->join.waiting |= m;
    w->mask &= ~m;
    bool complete = frame->join.waiting == frame->join.expected;
    if (w->mask) /* some lanes of the path continue inside the function */
        return;
    if (complete)
        vm_frame_finish(w, frame, true);
    else
        vm_path_drop(w);
}

/* Returns true if the function `callee`, which an indirect call reached through a pointer, matches the prototype of the
 * call. */
static bool matches_prototype(const vm_function *callee, const vm_call *call)
{
    const ptx_function *f = callee->ptx;
    if (f->return_count != call->result_count || f->param_count != call->argument_count)
        return false;
    for (uint32_t k = 0; k < f->return_count + f->param_count; k++) {
        const vm_transfer *t = k < f->return_count ? &call->results[k] : &call->arguments[k - f->return_count];
        if (callee->module->ptx->symbols[f->params[k]].bytes != t->bytes)
            return false;
    }
    return true;
}

/* Executes call, a direct or an indirect call. If lanes of an indirect call have different targets, each target gets a
 * path. */
void vm_op_call(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_call *call = i->extra;
    if (call->builtin) {
        vm_builtin_run(w, i, m);
        return;
    }
    /* Lanes for which the guard is false, and lanes with another target, wait at the return until the call ends. Other
     * divergent lanes wait in the same way. */
    uint32_t lanes = m;
    const vm_function *callee = call->callee;
    if (!callee) {
        const vm_module *module = w->frame->function->module;
        uint32_t first = (uint32_t)__builtin_ctz(m);
        const vm_u64 *target = vm_r64(w, i->a);
        uint64_t want = i->flags & VM_ADDR32 ? vm_r32(w, i->a)[first] : target[first];
        uint64_t index = (want - VM_CODE_BASE) / 16;
        if (want < VM_CODE_BASE || want % 16 || index >= module->ptx->function_count ||
            module->ptx->functions[index].entry) {
            vm_fault_raise(w, i, first, VM_FAULT_INSTRUCTION, want, 0, "call through 0x%llx, which is not a function",
                           (unsigned long long)want);
            return;
        }
        callee = &module->functions[index];
        if (!matches_prototype(callee, call)) {
            vm_fault_raise(w, i, first, VM_FAULT_INSTRUCTION, want, 0,
                           "call through a pointer to '%s', whose parameters do not fit the prototype",
                           callee->ptx->name);
            return;
        }
        VM_EACH(lane, m)
            if ((i->flags & VM_ADDR32 ? vm_r32(w, i->a)[lane] : target[lane]) != want)
                lanes &= ~(1u << lane);
    }
    const vm_code *back = w->pc;
    if (lanes != w->mask) { /* not all lanes call, so the instruction after the call becomes a reconvergence point */
        uint32_t others = m & ~lanes, passed = w->mask & ~m;
        w->sync = vm_diverge(w, back);
        w->mask = lanes;
        if (others)
            vm_path_add(w, i, others, w->sync, w->frame);
        if (passed)
            vm_send_lanes(w, back, passed, w->sync);
    }
    enter_call(w, i, call, callee, lanes, back);
}

/* An extra operation at the start of a function: copies one parameter, whose address the function takes, into its local
 * memory. */
void vm_op_home(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_function *function = w->frame->function;
    const ptx_symbol *symbol = &function->module->ptx->symbols[i->b];
    uint32_t local = w->runner->run->local_bytes;
    VM_EACH(lane, m)
        memcpy(w->block->local + (size_t)(w->index * VM_LANES + lane) * local + w->frame->local_base + i->imm,
               w->frame->params + lane * (size_t)function->ptx->param_bytes + symbol->offset, (size_t)symbol->bytes);
}

/* Executes alloca, stacksave and stackrestore: c is 0 for alloca, 1 for stacksave, 2 for stackrestore. The lanes of a
 * path share one stack height. */
void vm_op_stack(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_frame *frame = w->frame;
    uint64_t value = frame->local_top;
    if (i->c == 0) {
        uint64_t most = 0;
        VM_EACH(lane, m) {
            uint64_t ask = i->flags & VM_REG64 ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane];
            most = ask > most ? ask : most;
        }
        uint64_t align = i->imm, base = (frame->local_top + align - 1) & ~(align - 1);
        if (most > VM_LOCAL_BYTES_MAX || base + most > w->runner->run->local_bytes) {
            vm_fault_raise(w, i, (uint32_t)__builtin_ctz(m), VM_FAULT_STACK, 0, 0,
                           "stack overflow: alloca of %llu bytes", (unsigned long long)most);
            return;
        }
        frame->local_top = (uint32_t)(base + most);
        value = base;
    } else if (i->c == 2) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint64_t top = i->flags & VM_REG64 ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane];
        if (top >= frame->local_base + frame->function->local_bytes && top <= frame->local_top)
            frame->local_top = (uint32_t)top;
        return;
    }
    VM_EACH(lane, m) {
        if (i->flags & VM_REG64)
            vm_r64(w, i->d)[lane] = value;
        else
            vm_r32(w, i->d)[lane] = (uint32_t)value;
    }
}
