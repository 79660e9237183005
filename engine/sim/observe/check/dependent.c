/* dependent.c - programmatic dependent launches: the order between a thread and the prerequisite launches of its
 * launch.
 *
 * A dependent launch may begin when each block of its prerequisite launch has either executed
 * griddepcontrol.launch_dependents or ended. Nothing orders the accesses of a thread after the accesses of the
 * prerequisite launch until the thread executes griddepcontrol.wait (PTX ISA, griddepcontrol). The simulator runs the
 * prerequisite launch completely before the dependent launch. The driver calls check_concurrent() to tell the checks
 * which earlier launches are prerequisites. The marks of these launches in shadow memory count as concurrent with every
 * thread that has not waited.
 *
 * Two fields of a warp's vector clock describe the waits. `after` has the lanes for which all prerequisite launches
 * happened before the next access. The wait adds the lanes that execute it to `after`. A barrier, an mbarrier or a flag
 * passes this knowledge on for whole warps: if one lane has waited, all lanes of its warp count as having waited. So
 * the checks may order too many accesses, and miss a race. The checks never order too few accesses. `early` is an entry
 * for the lanes that are not in `after`: accesses of prerequisite launches up to this time happened before the next
 * accesses of these lanes. A flag that a prerequisite launch has published raises this entry. Barriers and mbarriers
 * join `early` like the other entries of a clock. If the joined value reaches the start of this launch, the lanes that
 * get it are added to `after`. */
#include "dependent_internal.h"

static vm_clock *clock_of(const vm_warp *w) { return &w->block->check->warps[w->index]; }

/* If `early` is equal to `launch`, the launch has no prerequisite launches. Then all lanes are in `after` from the
 * start of the block. In a grid that a kernel has launched, all prerequisite launches count as ordered, because the
 * launching kernel may have waited for them. */
void check_dependent_start(const vm_block *block, vm_clock *c)
{
    const vm_check *check = block->runner->run->device->check;
    const bool ordered = check->early == check->launch || block->runner->run->launcher;
    c->early = ordered ? check->launch : check->early;
    c->after = ordered ? VM_ALL : 0;
}

/* `wait` adds the lanes that execute it to `after`. The first launch_dependents that any thread of a block executes
 * counts for the whole block. If a lane that executes it is in `after`, `waited_first` becomes true. In that case the
 * next launch begins after the prerequisite launches have ended (driver/work/order.c). In a launch without prerequisite
 * launches all lanes are in `after`. */
void check_dependent(vm_warp *w, const ptx_insn *in, uint32_t m)
{
    vm_check *check = get_check(w);
    vm_check_block *b = w->block->check;
    vm_clock *c = clock_of(w);
    if (m == 0)
        return;
    if (ptx_has(in, PTX_MOD_WAIT)) {
        const uint32_t now = check_advance_time(check);
        check->first_wait = check->first_wait ? check->first_wait : now;
        check->dependence.waited = b->waited = true;
        c->after |= m;
        return;
    }
    check->dependence.waited_first |= !b->triggered && (c->after & m) != 0;
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
    return clock_of(w)->after ? get_check(w)->launch : clock_of(w)->early;
}

void check_dependent_learn(vm_warp *w, uint32_t known, uint32_t lanes)
{
    vm_clock *c = clock_of(w);
    if (known >= get_check(w)->launch)
        c->after |= lanes;
    else if (known > c->early)
        c->early = known;
}

/* A flag carries only a time, and no vector clock. A flag of an earlier launch raises `early` to that time. Suppose
 * that any thread of this launch had waited before the time of the flag. Then a flag of this launch adds all lanes of
 * the reading warp to `after`. This rule may order too many accesses, but never too few. */
void check_dependent_acquire(vm_warp *w, uint32_t known)
{
    const vm_check *check = get_check(w);
    if (known < check->launch)
        check_dependent_learn(w, known, 0);
    else if (check->first_wait && check->first_wait <= known)
        clock_of(w)->after = VM_ALL;
}
