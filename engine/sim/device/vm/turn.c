/* turn.c - runs the blocks of a cluster in turn, and the warps of a block in turn. */
#include "vm_block.h"
#include "vm_child.h"
#include "vm_hooks.h"
#include "vm_limit.h"
#include "vm_path.h"

uint64_t vm_budget_left(const vm_runner *runner)
{
    const uint64_t budget = runner->run->family->budget,
                   spent = atomic_load_explicit(&runner->run->family->steps, memory_order_relaxed) + runner->kept;
    return spent < budget ? budget - spent : 0;
}

/* If a series has begun the turn of block->next_warp, returns the number of operations that the series has run.
 * Otherwise runs turns of warps by vm_warp_run_whole(), one warp after the other. Stops at a warp that cannot run in
 * this way or whose turn is not over, or when a slice is used up. Adds the instructions that have run to *spent.
 * Returns the number of operations that block->next_warp has run in its turn, or 0 if the turn has not begun. Sets
 * *before to the number of instructions that this warp had issued before its turn. The function runs nothing near the
 * end of the budget, in clusters, with observers, and in short turns. In these cases warps run only in ordinary
 * turns. */
static uint64_t run_whole_warps(vm_block *block, uint64_t quantum, uint64_t *spent, uint64_t *before)
{
    vm_runner *runner = block->runner;
    uint64_t begun = block->begun, ran = 0;
    vm_warp *w = &block->warps[block->next_warp];
    block->begun = 0;
    *before = w->issued - block->begun_issued;
    if (begun)
        return begun;
    if (runner->run->hooks || !runner->jit || quantum < VM_SLICE || runner->run->cluster_size > 1 ||
        vm_budget_left(runner) < (uint64_t)64 * VM_SLICE)
        return 0;
    for (; block->live && ran < VM_SLICE; w = &block->warps[block->next_warp]) {
        *before = w->issued;
        if (!vm_warp_run_whole(w, VM_SLICE, &begun))
            break;
        ran += w->issued - *before + w->charge;
        w->charge = begun = 0;
        block->next_warp = block->next_warp + 1 == block->warp_count ? 0 : block->next_warp + 1;
    }
    *spent += ran;
    block->moved = block->moved || ran;
    runner->clock += ran;
    if (ran)
        vm_charge_steps(block, w, ran);
    return begun;
}

/* Runs the warps of a block in turn, for about `quantum` operations. Returns when the quantum is used up, the block has
 * ended, all warps of the block wait in vain, or the block needs another block of its cluster. In a cluster, the
 * function also returns when a warp has completed a phase of an mbarrier, so that the other blocks see the phase. If
 * neither a warp of this block nor another block of the cluster can continue, the function releases lanes at
 * reconvergence points. If no lanes wait there, the launch ends as a deadlock. */
vm_turn vm_block_run(vm_block *block, uint64_t quantum)
{
    vm_runner *runner = block->runner;
    vm_run_state *run = runner->run;
    const struct vm_hooks *hooks = run->hooks;
    /* in a cluster other blocks may wait for this block, so observers cannot end it early */
    const bool alone = run->cluster_size == 1;
    uint64_t spent = block->ahead;
    /* blocked: number of consecutive warps that cannot continue; still: number of consecutive warps that cannot
     * continue or have waited in vain */
    uint32_t blocked = 0, still = 0;
    block->fresh = false;
    block->moved = block->ahead > 0; /* the steps that the block has run in series */
    block->ahead = 0;
    /* a series may have used up the quantum, and may have ended within the turn of a warp, which must be completed */
    while (block->live && (block->begun || spent < quantum) && still < block->warp_count) {
        const uint64_t earlier = spent;
        uint64_t before = 0, begun = run_whole_warps(block, quantum, &spent, &before);
        vm_warp *w = &block->warps[block->next_warp];
        if (spent != earlier)
            blocked = still = 0;
        if (!block->live || atomic_load_explicit(&run->family->stop, memory_order_relaxed))
            break;
        block->next_warp = block->next_warp + 1 == block->warp_count ? 0 : block->next_warp + 1;
        if (!vm_warp_ready(w)) {
            still += still > 0;
            if (++blocked < block->warp_count || vm_block_ready(block))
                continue;
            if (vm_cluster_ready(block->cluster))
                return VM_TURN_WAITS;
            if (vm_cluster_release_waiting(block->cluster))
                continue;
            vm_cluster_deadlock(block->cluster);
            break;
        }
        blocked = 0;
        const uint64_t left = vm_budget_left(runner);
        before = begun ? before : w->issued;
        const uint64_t longest = quantum < VM_SLICE ? quantum : VM_SLICE;
        uint64_t slice = hooks ? hooks->slice(w, longest) : longest;
        vm_warp_run(w, left < slice ? left + 1 : slice, begun);
        spent += w->issued - before;
        runner->clock += w->issued - before;
        spent += w->charge;
        vm_charge_steps(block, w, w->issued - before + w->charge);
        w->charge = 0;
        if (atomic_load_explicit(&run->family->stop, memory_order_relaxed))
            break;
        if (hooks && alone && hooks->enough(block))
            break;
        if (w->gave_way && !w->in_vain) /* the warp may spin on another warp or block */
            spent += VM_SLICE;
        /* the other blocks of the cluster must see the end of the phase before the next phase is complete */
        if (w->phase_over && block->cluster->size > 1)
            spent = quantum;
        still = w->in_vain ? still + 1 : 0;
        block->moved = block->moved || !w->in_vain;
    }
    if (block->live && !atomic_load(&run->family->stop) && !(hooks && alone && hooks->enough(block)))
        return VM_TURN_OVER;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        runner->counters.warp_instructions += block->warps[k].issued;
        runner->counters.lane_instructions += block->warps[k].lanes;
    }
    if (hooks)
        hooks->block_end(block);
    runner->counters.blocks++;
    runner->counters.warps += block->warp_count;
    vm_limit_count(block);
    vm_block_drop_paths(block);
    block->ended = block->moved = true;
    return VM_TURN_ENDED;
}

/* Runs the blocks of a cluster in turn, until one of them uses up its quantum, all blocks have ended, or the launch
 * stops. If every block only waits for another block, the turn starts again. */
bool vm_cluster_run(vm_cluster *cluster, uint64_t quantum, bool *moved)
{
    const vm_family *family = cluster->runner->run->family;
    bool waits = true, ended = false;
    *moved = false;
    while (waits && !ended && !atomic_load_explicit(&family->stop, memory_order_relaxed)) {
        ended = true;
        for (uint32_t k = 0; k < cluster->size; k++) {
            vm_block *block = cluster->blocks[k];
            if (block->ended)
                continue;
            vm_turn turn = vm_block_run(block, quantum / cluster->size);
            waits = waits && turn != VM_TURN_OVER;
            *moved = *moved || block->moved;
            if (turn == VM_TURN_ENDED)
                vm_children_run(block);
            else
                ended = false;
            if (atomic_load_explicit(&family->stop, memory_order_relaxed))
                return ended && k + 1 == cluster->size;
        }
    }
    return ended;
}
