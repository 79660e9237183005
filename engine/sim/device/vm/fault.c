/* fault.c - faults: the message of a fault, its place in the source, and its thread. Only the first fault of a launch
 * is kept. */
#include <stdio.h>
#include <string.h>

#include "vm_fault.h"
#include "vm_machine.h"

void vm_fault_in(const vm_function *function, const vm_code *i, vm_fault *fault)
{
    const ptx_module *ptx = function->module->ptx;
    if (i->insn >= function->ptx->insn_count)
        return;
    const ptx_insn *insn = &function->ptx->insns[i->insn];
    fault->ptx_line = insn->line;
    if (insn->loc == 0 || insn->loc >= ptx->loc_count)
        return;
    const ptx_loc *loc = &ptx->locs[insn->loc];
    fault->file_line = loc->line;
    if (loc->file < ptx->file_count && ptx->files[loc->file])
        snprintf(fault->file, sizeof fault->file, "%s", ptx->files[loc->file]);
}

void vm_fault_at(const vm_warp *w, const vm_frame *frame, const vm_code *i, vm_fault *fault)
{
    const char *kernel = w->runner->run->kernel->ptx->name;
    snprintf(fault->kernel, sizeof fault->kernel, "%s", kernel);
    memcpy(fault->block, w->block->id, sizeof fault->block);
    vm_fault_in(frame->function, i, fault);
}

void vm_fault_breaks(vm_warp *w, vm_tensor_rule rule)
{
    vm_fault *fault = w->runner->run->family->fault;
    pthread_mutex_lock(&w->runner->run->family->lock);
    if (fault->rule == VM_RULE_NONE)
        fault->rule = rule;
    pthread_mutex_unlock(&w->runner->run->family->lock);
}

void vm_fault_raise(vm_warp *w, const vm_code *i, uint32_t lane, vm_fault_kind kind, uint64_t address, uint32_t bytes,
                    const char *format, ...)
{
    vm_run_state *run = w->runner->run;
    w->event |= VM_EVENT_FAULT;
    pthread_mutex_lock(&run->family->lock);
    if (run->family->fault->kind == VM_OK) {
        vm_fault *fault = run->family->fault;
        memset(fault, 0, sizeof *fault);
        fault->kind = kind;
        fault->address = address;
        fault->bytes = bytes;
        vm_fault_at(w, w->frame, i, fault);
        for (unsigned axis = 0; axis < 3; axis++)
            fault->thread[axis] = w->tid[axis][lane % VM_LANES];
        char what[400];
        va_list arguments;
        va_start(arguments, format);
        kiln__vformat(what, sizeof what, format, arguments);
        va_end(arguments);
        char place[160] = "";
        if (fault->file_line && fault->file[0]) {
            const char *name = strrchr(fault->file, '/');
            snprintf(place, sizeof place, " at %.100s:%u", name ? name + 1 : fault->file, fault->file_line);
        } else if (fault->ptx_line) {
            snprintf(place, sizeof place, " at PTX line %u", fault->ptx_line);
        }
        char launcher[120] = "";
        if (run->launcher)
            snprintf(launcher, sizeof launcher, ", launched by kernel '%.80s'", run->launcher);
        int wrote = snprintf(fault->message, sizeof fault->message,
                             "%s: kernel '%.80s'%s, block (%u,%u,%u), thread (%u,%u,%u)%s", what, fault->kernel, place,
                             fault->block[0], fault->block[1], fault->block[2], fault->thread[0], fault->thread[1],
                             fault->thread[2], launcher);
        if (wrote < 0)
            fault->message[0] = '\0'; /* a truncated message still has the beginning */
    }
    pthread_mutex_unlock(&run->family->lock);
    atomic_store(&run->family->stop, 1);
}
