/* limit.c - the limits of a launch: its time, and the host memory of its blocks. */

#include "vm_limit.h"
#include "vm_machine.h"

/* steps of a host thread between two tests of the clock and the stop flag; these steps take about 0.1 ms */
#define LOOK 32768u
#define TURN_COST 32u /* extra steps for each turn, because warps that only wait for each other have very short turns */
/* the least limit of host memory for frames and local memory, in bytes */
#define HOLD_LEAST ((uint64_t)1 << 30)

/* ---- host memory ---- */

void vm_limit_init(vm_family *family, const vm_device *device, const vm_launch *launch)
{
    uint64_t half = device->limits.memory / 2;
    family->budget = vm_budget(device);
    if (launch->steps_left && *launch->steps_left < family->budget)
        family->budget = *launch->steps_left;
    family->deadline = launch->deadline;
    family->asked = launch->stop;
    family->hold_most = half > HOLD_LEAST ? half : HOLD_LEAST;
    atomic_init(&family->held, 0);
}

bool vm_hold(vm_family *family, uint64_t bytes)
{
    if (atomic_fetch_add(&family->held, bytes) + bytes <= family->hold_most)
        return true;
    atomic_fetch_sub(&family->held, bytes);
    return false;
}

void vm_let_go(vm_family *family, uint64_t bytes) { atomic_fetch_sub(&family->held, bytes); }

/* ---- time ---- */

/* Makes the next call of vm_limit_look() test the clock without waiting for LOOK steps. Without vm_limit_begin(), an
 * endless chain of short grids would never test the clock. */
void vm_limit_begin(vm_runner *runner) { runner->unlooked = LOOK; }

vm_fault_kind vm_limit_ask(const vm_family *family)
{
    if (family->asked && __atomic_load_n(family->asked, __ATOMIC_RELAXED))
        return VM_FAULT_STOPPED;
    return family->deadline && kiln__now_ns() >= family->deadline ? VM_FAULT_TIME : VM_OK;
}

vm_fault_kind vm_limit_look(vm_runner *runner, uint64_t steps)
{
    runner->unlooked += steps + TURN_COST;
    if (VM_LIKELY(runner->unlooked < LOOK))
        return VM_OK;
    runner->unlooked = 0;
    return vm_limit_ask(runner->run->family);
}
