/* watch.c - changes the regions of launches whose instructions an observer (the checks) sees. The region calls the
 * observer before each access of a whole warp. For atomics, the region calls jit_run_watched(). The interpreter
 * executes all other instructions that the observer must see. */
#include <string.h>

#include "emit.h"
#include "vm_collective.h"
#include "vm_hooks.h"

/* Loads and stores stay in the region, because the region calls the observer before them. Atomics become calls of
 * jit_run_watched(). An operation between lanes stays too, because the region calls its hook (jit_emit_meeting). All
 * other instructions that the observer sees end the region. The observer does not see extra operations (guard & 2). */
void jit_watch(const vm_function *function, uint32_t at, const uint8_t *watched, jit_insn *insn)
{
    const vm_code *i = &function->code[at];
    const bool meets = i->masked == vm_op_shfl || i->masked == vm_op_vote || i->masked == vm_op_warp_sync;
    const bool seen = !(i->guard & 2) && watched[i->insn];
    if (insn->kind == JIT_STOP || (!seen && !meets))
        return;
    if (meets && !seen) { /* a bar.warp.sync with a constant mask has the kind JIT_MEET, which would write no code */
        insn->kind = JIT_PLAIN;
        return;
    }
    if (jit_is_access(insn) && (i->space == PTX_SPACE_GLOBAL || i->space == PTX_SPACE_SHARED))
        return;
    if (i->masked == ops_atom)
        insn->kind = JIT_CALL;
    else
        *insn = (jit_insn){.id = insn->id, .kind = JIT_STOP};
}

void jit_run_watched(vm_warp *w, const vm_code *i, uint32_t m)
{
    m = w->runner->show(w, i, m);
    if (m)
        i->masked(w, i, m);
}

/* Tells the observer that all lanes of a warp take part in an operation between lanes, as gather_lanes() of
 * vm/collective.c does. */
static void show_meeting(vm_warp *w, const vm_code *i)
{
    static const vm_u32 all[VM_LANES] = {VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL,
                                         VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL,
                                         VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL,
                                         VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL, VM_ALL};
    vm_meeting t;
    t.lanes = VM_ALL;
    t.masks = all;
    t.count = 1;
    t.shares[0] = (vm_share){i, w->frame, VM_ALL};
    w->runner->run->hooks->met(w, i, VM_ALL, &t);
}

void jit_emit_meeting(jit_emitter *e, const vm_code *i)
{
    void (*const show)(vm_warp *, const vm_code *) = show_meeting;
    uint64_t address = 0;
    if (!e->u->access)
        return;
    memcpy(&address, &show, sizeof show);
    jit_line(e, "call void inttoptr (i64 %llu to %s)(i64 %%w, i64 %llu)", (unsigned long long)address,
             e->u->typed ? "void (i64, i64)*" : "ptr", (unsigned long long)(uintptr_t)i);
}

void jit_emit_watch(jit_emitter *e, const vm_code *i, const jit_insn *insn)
{
    uint64_t address = 0;
    const unsigned on = ++e->labels;
    if (!e->u->access || i->guard & 2 || !e->u->watched[i->insn])
        return;
    memcpy(&address, &e->u->access, sizeof e->u->access);
    for (unsigned k = 0; k < insn->use_count; k++)
        if (!insn->uses[k].write && insn->uses[k].slot == i->a)
            jit_spill(e, i->a, insn->uses[k].width);
    unsigned good = jit_value(e, "call i32 inttoptr (i64 %llu to %s)(i64 %%w, i64 %llu)", (unsigned long long)address,
                              e->u->typed ? "i32 (i64, i64)*" : "ptr", (unsigned long long)(uintptr_t)i);
    good = jit_value(e, "icmp ne i32 %%v%u, 0", good);
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", good, on, jit_exit(e, e->at, false));
    jit_label(e, on);
}
