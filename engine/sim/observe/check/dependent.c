/* dependent.c - programmatic dependent launches: what a thread knows about the prerequisite launches of its launch.
 *
 * A dependent launch may begin when each block of its prerequisite launch has executed
 * griddepcontrol.launch_dependents or has ended. Nothing orders its accesses after those of the prerequisite launch,
 * until a thread executes griddepcontrol.wait (PTX ISA, griddepcontrol). The simulator runs the prerequisite launch to
 * its end first. The driver tells the checks which earlier launches are prerequisites (check_concurrent(),
 * VM_APART_UNTIL_WAIT), and the marks that these launches have left in the shadow count as concurrent with every thread
 * that is not settled.
 *
 * A lane is *settled* once all prerequisite launches happened before its next access: it has waited, or it has
 * synchronised with a thread that is settled. `early` is an entry of the warp's vector clock: accesses of prerequisite
 * launches up to this time happened before. A flag that a prerequisite launch has published raises it. Barriers and
 * mbarriers join it like the other entries. A join that reaches the start of this launch settles the lanes. */
#include "dependent_internal.h"

static vm_check *check_of(const vm_warp *w) { return w->runner->run->device->check; }
static vm_clock *clock_of(const vm_warp *w) { return &w->block->check->warps[w->index]; }

/* A grid that a kernel launches counts as settled: its launcher runs, and may have waited. */
void check_dependent_start(const vm_block *block, vm_clock *c)
{
    const vm_check *check = block->runner->run->device->check;
    const bool settled = check->early == check->launch || block->runner->run->launcher;
    c->early = settled ? check->launch : check->early;
    c->settled = settled ? VM_ALL : 0;
}

/* `wait` settles the lanes that execute it. The first launch_dependents of a block counts for the whole block, whichever
 * thread executes it. */
void check_dependent(vm_warp *w, const ptx_insn *in, uint32_t m)
{
    vm_check *check = check_of(w);
    vm_check_block *b = w->block->check;
    vm_clock *c = clock_of(w);
    if (m == 0)
        return;
    if (ptx_has(in, PTX_MOD_WAIT)) {
        const uint32_t now = vm_check_tick(check);
        check->first_wait = check->first_wait ? check->first_wait : now;
        check->dependence.waited = b->waited = true;
        c->settled |= m;
        return;
    }
    check->dependence.waited_first |= !b->triggered && (c->settled & m) != 0;
    b->triggered = true;
}

void check_dependent_end(const vm_block *block)
{
    const vm_check_block *b = block->check;
    block->runner->run->device->check->dependence.waited_first |= b->waited && !b->triggered;
}

vm_dependence check_dependence(const vm_check *check) { return check->dependence; }

uint32_t check_dependent_known(const vm_warp *w)
{
    return clock_of(w)->settled ? check_of(w)->launch : clock_of(w)->early;
}

void check_dependent_learn(vm_warp *w, uint32_t known, uint32_t lanes)
{
    vm_clock *c = clock_of(w);
    if (known >= check_of(w)->launch)
        c->settled |= lanes;
    else if (known > c->early)
        c->early = known;
}

/* A flag carries only a time, not a clock. So the reader of a flag of this launch counts as settled if any thread of the
 * launch had waited before that time. This may order too much, but never too little. */
void check_dependent_acquire(vm_warp *w, uint32_t known)
{
    const vm_check *check = check_of(w);
    if (known < check->launch)
        check_dependent_learn(w, known, 0);
    else if (check->first_wait && check->first_wait <= known)
        clock_of(w)->settled = VM_ALL;
}
