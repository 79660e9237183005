/* endless.c - ends a launch in which all remaining warps wait, and nothing can change any more. The message tells which
 * warps wait, and where.
 *
 *    vm_poll_all_wait() a vote of all runners, after a round in which all clusters of a runner have waited in vain
 *    vm_poll_repeats()  follows each path of a runner once around its loop
 *    vm_poll_endless()  ends the launch as a deadlock, if vm_poll_repeats() is true for all runners */
#include <stdio.h>
#include <string.h>

#include "vm_access.h"
#include "vm_fault.h"
#include "vm_hooks.h"
#include "vm_limit.h"
#include "vm_memory.h"
#include "vm_path.h"
#include "vm_poll.h"
#include "vm_tensor_memory.h"

#define LOOP_MOST 4096u  /* the longest loop that a proof follows, in operations */
#define WAITERS_LISTED 3 /* number of waiting warps that a message lists */

/* Casts the runner's vote in a ballot. The runner has one vote for each value of `moves`. *mine remembers the runner's
 * last vote. Returns true if all runners have voted since a runner last made progress. */
static bool cast_vote(vm_run_state *run, vm_ballot *ballot, uint64_t *mine, uint64_t moves)
{
    pthread_mutex_lock(&run->family->lock);
    if (ballot->moves != moves) {
        ballot->moves = moves;
        ballot->votes = 0;
    }
    if (*mine != moves + 1) {
        *mine = moves + 1;
        ballot->votes++;
    }
    const bool all = ballot->votes == atomic_load(&run->working) && atomic_load(&run->moves) == moves;
    pthread_mutex_unlock(&run->family->lock);
    return all;
}

bool vm_poll_all_wait(vm_runner *runner)
{
    vm_run_state *run = runner->run;
    return cast_vote(run, &run->waiting, &runner->waits_since, atomic_load(&run->moves));
}

/* Returns true if a lane reads memory that the host or another process may write meanwhile. */
static bool reads_host(vm_warp *w, const vm_code *i, uint32_t m)
{
    if (i->space != PTX_SPACE_GLOBAL && i->space != PTX_SPACE_GENERIC)
        return false;
    VM_EACH(lane, m) {
        const vm_allocation *a = vm_allocation_of(w->runner->run->device, vm_lane_address(w, i, i->a, lane));
        if (a && (a->shared || a->outside))
            return true;
    }
    return false;
}

/* Returns true if the instruction reads a clock or a timer. */
static bool reads_time(const ptx_insn *insn)
{
    for (unsigned k = 0; k < insn->operand_count; k++) {
        const ptx_operand *o = &insn->operands[k];
        if (o->kind == PTX_OPERAND_SREG && (o->index == PTX_SREG_CLOCK || o->index == PTX_SREG_CLOCK64 ||
                                            o->index == PTX_SREG_CLOCK_HI || o->index == PTX_SREG_GLOBALTIMER ||
                                            o->index == PTX_SREG_GLOBALTIMER_LO || o->index == PTX_SREG_GLOBALTIMER_HI))
            return true;
    }
    return false;
}

/* Returns true if the next instruction is harmless: it changes only registers, and reads only memory that nobody
 * outside this launch can change. For an atomic, the function also returns true and sets *atomic. An atomic is harmless
 * only if it leaves its memory unchanged, and the caller has to test this. */
static bool is_harmless(vm_warp *w, const vm_code *i, uint32_t m, bool *atomic)
{
    const ptx_insn *insn = &w->frame->function->ptx->insns[i->insn];
    *atomic = false;
    if (i->insn >= w->frame->function->ptx->insn_count || reads_time(insn))
        return false;
    if (i->guard & 2) /* an extra operation of the decoder is always harmless */
        return true;
    switch (ptx_effect_of(insn)) {
    case PTX_EFFECT_NONE:
    case PTX_EFFECT_HINT:
    case PTX_EFFECT_FENCE:
    case PTX_EFFECT_PROXY_FENCE:
    case PTX_EFFECT_BRANCH: return true;
    case PTX_EFFECT_LOAD: return !reads_host(w, i, m);
    case PTX_EFFECT_ATOMIC: *atomic = true; return i->count == 1 && i->size <= 8 && !reads_host(w, i, m);
    case PTX_EFFECT_TENSOR_MEMORY:
        if (insn->op == PTX_OP_TCGEN05_ALLOC) /* an allocation of tensor memory that waits changes nothing */
            return vm_tensor_is_full(w->block, vm_r32(w, i->b)[__builtin_ctz(m ? m : 1)]);
        return insn->op != PTX_OP_TCGEN05_DEALLOC && insn->op != PTX_OP_TCGEN05_RELINQUISH &&
               insn->op != PTX_OP_TCGEN05_ST && insn->op != PTX_OP_TCGEN05_COMMIT;
    case PTX_EFFECT_MBARRIER: return insn->op == PTX_OP_MBARRIER_TEST_WAIT || insn->op == PTX_OP_MBARRIER_TRY_WAIT;
    default: return false;
    }
}

/* Reads the memory at the address of each lane of an atomic. The caller compares the values from before the atomic with
 * the values from after the atomic. */
static void read_lanes(vm_warp *w, const vm_code *i, uint32_t m, uint64_t values[VM_LANES])
{
    VM_EACH(lane, m) {
        const unsigned char *p = vm_reach(w, i, lane, i->space, vm_lane_address(w, i, i->a, lane), i->size, false);
        if (p)
            memcpy(&values[lane], p, i->size);
    }
}

/* Runs one instruction of the selected path. Returns false if the instruction may have changed anything except
 * registers. */
static bool step_harmless(vm_warp *w)
{
    const vm_code *i = w->pc;
    const uint32_t m = w->mask & (*vm_pred(w, i->guard & ~3u) ^ (0 - (i->guard & 1)));
    uint64_t before[VM_LANES] = {0}, after[VM_LANES] = {0};
    bool atomic;
    if (!is_harmless(w, i, m, &atomic))
        return false;
    if (atomic)
        read_lanes(w, i, m, before);
    w->event = 0;
    vm_warp_step(w);
    if (w->event & ~(VM_EVENT_YIELD | VM_EVENT_IN_VAIN) || w->current == VM_PATHS)
        return false;
    if (atomic)
        read_lanes(w, i, m, after);
    return memcmp(before, after, sizeof before) == 0;
}

/* Runs the path for at most LOOP_MOST operations. Returns true if the path comes back to its instruction with the same
 * registers, and has changed nothing on the way. If so, every further iteration of the loop is the same. The path is
 * then endless, unless another warp changes the memory that the path reads. */
static bool path_repeats(vm_warp *w, uint32_t at)
{
    const vm_code *from = w->paths[at].pc;
    const uint32_t mask = w->paths[at].mask;
    vm_frame *frame = w->paths[at].frame;
    const kiln_allocator *mem = w->runner->run->device->mem;
    const size_t bytes = frame->function->reg_bytes;
    unsigned char *regs = kiln__alloc(mem, bytes ? bytes : 1);
    bool same = false, good = regs != NULL;
    if (regs)
        memcpy(regs, frame->regs, bytes);
    vm_warp_select(w, &w->paths[at]);
    for (uint32_t n = 0; good && !same && n < LOOP_MOST; n++) {
        good = step_harmless(w) && w->frame == frame && w->mask == mask;
        same = good && w->pc == from;
    }
    same = same && memcmp(regs, frame->regs, bytes) == 0;
    if (!(w->event & VM_EVENT_FAULT) && w->current != VM_PATHS && w->paths[w->current].state == VM_PATH_READY)
        vm_warp_save(w);
    kiln__free(mem, regs);
    return same;
}

/* Returns true if all ready paths of the warp repeat. */
static bool warp_repeats(vm_warp *w)
{
    for (uint32_t p = 0; p < w->path_count; p++) {
        const uint32_t count = w->path_count;
        if (w->paths[p].state == VM_PATH_READY && (!path_repeats(w, p) || w->path_count != count))
            return false;
    }
    return true;
}

bool vm_poll_repeats(vm_runner *runner)
{
    for (size_t c = 0; c < runner->cluster_count; c++)
        for (uint32_t b = 0; b < runner->clusters[c]->size; b++) {
            vm_block *block = runner->clusters[c]->blocks[b];
            for (uint32_t k = 0; !block->ended && k < block->warp_count; k++)
                if (!warp_repeats(&block->warps[k]))
                    return false;
        }
    return true;
}

/* ---- the message ---- */

/* The message about waiting warps while the functions below write it. */
typedef struct waiters {
    vm_warp *warp; /* the first warp that polls */
    const vm_path *path;
    unsigned polling, stopped;
    char text[280];
    size_t used;
} waiters;

/* Adds a warp to the message. Describes the loop and the polled memory of the first WAITERS_LISTED warps, and counts
 * the later warps. */
static void list_warp(waiters *all, vm_warp *w)
{
    const vm_path *path = NULL;
    for (uint32_t p = 0; p < w->path_count && !path; p++)
        path = w->paths[p].state == VM_PATH_READY ? &w->paths[p] : NULL;
    all->stopped += !path && w->path_count;
    if (!path)
        return;
    if (!all->warp)
        all->warp = w, all->path = path;
    if (all->polling++ >= WAITERS_LISTED)
        return;
    char where[160], what[240];
    vm_frame *frame = w->frame;
    vm_wait_describe(w, path, where, sizeof where, what, sizeof what);
    w->frame = frame;
    const int wrote = snprintf(all->text + all->used, sizeof all->text - all->used, "%sblock (%u,%u,%u) warp %u %s%s",
                               all->used ? "; " : "", w->block->id[0], w->block->id[1], w->block->id[2], w->index,
                               where, what);
    all->used += wrote > 0 && (size_t)wrote < sizeof all->text - all->used ? (size_t)wrote : 0;
    all->text[all->used] = '\0'; /* if the text is full, the warp is left out */
}

/* Raises the fault of a launch in which all warps wait for ever. */
static void raise_endless(vm_runner *runner)
{
    waiters all = {0};
    for (size_t c = 0; c < runner->cluster_count; c++)
        for (uint32_t b = 0; b < runner->clusters[c]->size; b++) {
            vm_block *block = runner->clusters[c]->blocks[b];
            for (uint32_t k = 0; !block->ended && k < block->warp_count; k++)
                list_warp(&all, &block->warps[k]);
        }
    if (!all.warp)
        return;
    all.warp->frame = all.path->frame;
    char stopped[40] = "";
    if (all.stopped)
        snprintf(stopped, sizeof stopped, " and %u are at barriers", all.stopped);
    vm_fault_raise(all.warp, all.path->pc, (uint32_t)__builtin_ctz(all.path->mask), VM_FAULT_DEADLOCK, 0, 0,
                   "deadlock: nothing can change what is waited for; %u warp%s poll%s%s: %s", all.polling,
                   all.polling == 1 ? "" : "s", all.polling == 1 ? "s" : "", stopped, all.text);
}

bool vm_poll_endless(vm_runner *runner)
{
    vm_run_state *run = runner->run;
    const uint64_t moves = atomic_load(&run->moves);
    /* If a kernel has launched this grid, other grids of the same launch may still change the memory for which the
     * warps wait. If only some blocks run, the blocks that do not run might have changed this memory. */
    if (run->depth || run->chosen)
        return false;
    if (runner->repeats_since != moves + 1 && !vm_poll_repeats(runner))
        return false;
    if (!cast_vote(run, &run->repeating, &runner->repeats_since, moves))
        return true;
    raise_endless(runner);
    return true;
}
