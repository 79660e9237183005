/* poll.c - recognises warps that wait for other threads in a loop (polling). The function vm_poll() counts equal reads.
 * It marks the reading lanes as waiting, so that their path gives way to other paths. If all warps of a launch wait,
 * endless.c ends the launch. */
#include "vm_hooks.h"
#include "vm_poll.h"

#define SAME 4u /* after this number of repetitions of an equal read, the lanes of an instruction count as waiting */

/* Compares the values that the instruction has seen with the values that it saw at its last execution by the same
 * lanes. If the values differ, or if the instruction has changed memory, the warp has made progress. After SAME equal
 * executions in a row, the lanes count as waiting in vain. For each lane that is the first lane of a path, w->polls
 * keeps the last two polling instructions, because a loop may poll two places. */
void vm_poll(vm_warp *w, const vm_code *i, uint32_t m, uint64_t seen, bool changed)
{
    vm_polling *ways = w->polls[__builtin_ctz(m)];
    vm_polling *p = ways[0].at == i ? &ways[0] : ways[1].at == i ? &ways[1] : NULL;
    if (!p) {
        w->polled = true;
        p = &ways[ways[0].at && (ways[1].at == NULL || w->poll_next++ & 1)];
        p->at = i;
        p->same = 0;
        changed = true;
    }
    if (changed || p->mask != m || p->seen != seen) {
        p->mask = m;
        p->seen = seen;
        p->same = 0;
        w->moved = true;
        w->waits = false;
        return;
    }
    if (++p->same < SAME)
        return;
    p->same = SAME;
    w->waits = true;
    w->event |= VM_EVENT_IN_VAIN;
}

void vm_poll_changed(vm_warp *w, const vm_code *i) { vm_poll(w, i, VM_ALL, 0, true); }

/* Executes the extra operation after a load that may poll. Such a load has the handler of ordinary loads, which does
 * not call vm_poll(). The slot a has the loaded value, and b has the address, which has 64 bits in global memory. */
void vm_op_polled(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint64_t seen = 0;
    VM_EACH(lane, m) {
        const uint64_t value = i->flags & VM_REG64 ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane];
        const uint64_t address = i->space == PTX_SPACE_GLOBAL ? vm_r64(w, i->b)[lane] : vm_r32(w, i->b)[lane];
        seen = vm_poll_mix(vm_poll_mix(seen, value), address);
    }
    vm_poll(w, i, m, seen, false);
}

void vm_poll_moved(vm_runner *runner)
{
    runner->rounds = 0;
    atomic_fetch_add(&runner->run->moves, 1);
}
