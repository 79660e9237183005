/* insn.c - chooses the check of an instruction. The interpreter calls this file before each instruction. */
#include "access_internal.h"
#include "async_internal.h"
#include "dependent_internal.h"
#include "finding_internal.h"
#include "order_internal.h"
#include "product_internal.h"
#include "quick_internal.h"
#include "vm_checks_internal.h"
#include "vm_memory.h"

/* The interpreter calls this function before it executes an instruction. The function chooses the check by the
 * instruction's kind. Plain loads and stores first try the fast path (quick.c). */
uint32_t check_insn(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_function *function = w->frame->function;
    unsigned kind = function->module->check->kind[function->first_tally + i->insn];
    if (kind == VM_SEE_NOTHING)
        return m;
    const ptx_insn *in = &function->ptx->insns[i->insn];
    if (VM_UNLIKELY(kind & VM_SEE_REGISTERS)) {
        kind &= ~VM_SEE_REGISTERS;
        check_product_registers(w, i, in, m);
        if (kind == VM_SEE_NOTHING)
            return m;
    }
    if (function->module->check->async && kind != VM_SEE_ASYNC)
        w->block->check->warps[w->index].spins = 0;
    if (check_is_plain(kind) && w->runner->run->device->check->quick && VM_LIKELY(check_quick(w, i, m, kind)))
        return m;
    switch ((enum vm_check_see)kind) {
    case VM_SEE_BARRIER: check_barrier(w, i, m); return m;
    case VM_SEE_FENCE: check_fence(w, in, m); return m;
    case VM_SEE_CALL: return check_free_call(w, i, m);
    case VM_SEE_GRID: check_dependent(w, in, m); return m;
    case VM_SEE_ASYNC: return check_async(w, i, in, m);
    case VM_SEE_LOAD:
    case VM_SEE_STORE:
    case VM_SEE_ATOMIC:
    case VM_SEE_COPY:
    case VM_SEE_TEAM:
    case VM_SEE_OTHER:
    case VM_SEE_NOTHING: break;
    }
    return check_access(w, i, m, kind); /* check_access() also handles kinds with VM_SEE_SPECIAL */
}

/* Returns the place of an instruction that allocates memory. A kernel may allocate any number of times, so the texts of
 * each place are made only once. At most VM_FOUND_MOST places get texts, because a report shows at most this number of
 * findings. */
static kiln_check_side find_allocating(vm_check *check, const vm_module *module, uint32_t insn)
{
    const uint32_t serial = module->check->serial;
    for (size_t k = 0; k < check->allocating_count; k++) {
        const vm_allocating *known = &check->allocating[k];
        if (known->module == module && known->serial == serial && known->insn == insn)
            return known->place;
    }
    if (check->allocating_count == VM_FOUND_MOST || !kiln__grow(check->mem, &check->allocating, &check->allocating_room,
                                                                check->allocating_count + 1, sizeof *check->allocating))
        return (kiln_check_side){0};
    vm_allocating *made = &check->allocating[check->allocating_count++];
    *made = (vm_allocating){.module = module, .serial = serial, .insn = insn};
    check_side_place(check, module, insn, &made->place);
    return made->place;
}

/* Records where a kernel has allocated memory, for findings about leaks. */
void check_malloced(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address)
{
    vm_check *check = w->runner->run->device->check;
    const vm_allocation *a = vm_allocation_of(w->runner->run->device, address);
    if (!a || !a->shadow)
        return;
    vm_mark me = {.who = w->index * VM_LANES + lane, .block = (uint32_t)w->block->number};
    a->shadow->by_kernel = true;
    a->shadow->made = find_allocating(check, w->runner->run->launch->module, vm_insn_of(w, i));
    check_side_thread(w, &me, &a->shadow->made);
}
