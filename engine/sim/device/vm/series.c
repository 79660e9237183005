/* series.c - runs blocks of kernels that are a single compiled region. Starting and ending such a block and its warps
 * would take most of the time, so one compiled function runs all warps of a block. This function is called a series
 * (vm_native.series). A series leaves everything except registers as vm_block_start() has made it, so the next block
 * only needs its own number. */
#include <string.h>

#include "vm_block.h"
#include "vm_jit.h"
#include "vm_memory.h"
#include "vm_path.h"
#include "vm_poll.h"

/* Returns the series of the launch's kernel. Returns NULL if the kernel has no series. A launch with observers,
 * clusters or a late order cannot run a series. A series needs warps of 32 lanes, and blocks without local memory. */
static vm_native *find_series(const vm_runner *runner)
{
    const vm_run_state *run = runner->run;
    const vm_function *kernel = run->kernel;
    if (run->hooks || !runner->jit || run->cluster_size > 1 || run->launch->order & VM_LATE || run->local_bytes ||
        run->block_threads % VM_LANES || __atomic_load_n(&kernel->code->full, __ATOMIC_ACQUIRE) != vm_op_region ||
        !atomic_load_explicit(&kernel->compiled->blank, memory_order_acquire))
        return NULL;
    _Atomic(vm_native *) *at = atomic_load_explicit(&kernel->compiled->at, memory_order_acquire);
    vm_native *region = atomic_load_explicit(&at[0], memory_order_acquire);
    return region->run && region->series && !region->watched && region->need <= VM_SLICE ? region : NULL;
}

/* Adds the warps that a series has run to the region's counter. Host threads that write the same counter wait for each
 * other, so a runner adds many warps at once. */
static void count_entered(vm_runner *runner, vm_native *region, unsigned warps, unsigned most)
{
    runner->series_entered += warps;
    if (runner->series_entered < most)
        return;
    atomic_fetch_add_explicit(&region->entered, runner->series_entered, memory_order_relaxed);
    runner->series_entered = 0;
}

/* Updates the state of the block's warps after a series has ended at the warp `last`, which has run `ran` operations.
 * The state is then the same as if each warp had run its own turn. The block's ordinary turn then continues the turn of
 * the warp `last`. */
static void leave_series(vm_block *block, vm_warp *last, uint64_t ran, uint64_t added, uint64_t lanes)
{
    vm_runner *runner = block->runner;
    uint64_t steps = runner->series_issued;
    for (vm_warp *w = block->warps; w < last; w++) {
        steps += w->charge;
        w->dead = VM_ALL;
        w->charge = w->mask = w->path_count = 0;
        w->current = VM_PATHS;
    }
    for (vm_warp *w = last + 1; w < block->warps + block->warp_count; w++)
        w->current = VM_PATHS;
    block->warps[0].issued = runner->series_issued; /* if `last` is the first warp, this is 0 */
    last->issued = ran - added;
    last->lanes = lanes;
    last->idle = ran;
    block->live -= last->index * VM_LANES;
    block->cluster->live -= last->index * VM_LANES;
    block->next_warp = last->index;
    block->begun = ran;
    block->moved = true;
    runner->clock += steps;
    if (steps)
        vm_charge_steps(block, last, steps);
}

/* Runs the warps of a block that has just started. Returns true if all of them have ended. In this case *steps is the
 * number of steps that the block has run, which the caller charges. The block is then as vm_block_start() has made it.
 * Otherwise vm_block_run() must continue the block. */
static bool run_series(vm_block *block, vm_native *region, uint64_t *steps)
{
    vm_runner *runner = block->runner;
    const vm_code *head = runner->run->kernel->code;
    const vm_warp *end = block->warps + block->warp_count;
    uint64_t lanes = 0, added = 0;
    uint64_t ran = region->run(block->warps, block->warp_count, VM_SLICE, &lanes, &added);
    vm_warp *last = runner->series_last;
    const bool missed = ran & VM_REGION_MISSED;
    ran &= ~VM_REGION_MISSED;
    block->fresh = false;
    if (VM_LIKELY(last + 1 == end && !missed && ran < VM_SLICE && vm_is_end(last->pc))) {
        const bool counts = !(last->pc->guard & 2);
        const uint64_t issued = runner->series_issued + ran - added + counts;
        runner->counters.warp_instructions += issued;
        runner->counters.lane_instructions += lanes + (counts ? VM_LANES : 0);
        runner->counters.blocks++;
        runner->counters.warps += block->warp_count;
        *steps = issued + block->warp_count * last->charge;
        runner->clock += *steps;
        count_entered(runner, region, block->warp_count, 4096);
        return true;
    }
    count_entered(runner, region, last->index + 1, missed ? 0 : 4096);
    if (missed)
        vm_warp_count_miss(last, head, region, 1);
    if (ran == 0)
        last->pc = head;
    leave_series(block, last, ran, added, lanes);
    return false;
}

/* Prepares a block for the block `number` of the grid, after all its warps have ended in a series. `steps` is the
 * number of steps that the ended block has run. */
static void renew_block(vm_block *block, uint64_t number, uint64_t steps)
{
    const vm_run_state *run = block->runner->run;
    const vm_compiled *compiled = run->kernel->compiled;
    vm_block_number(block, number);
    for (uint32_t k = 0; k < compiled->clear_count; k++)
        for (uint32_t n = 0; n < block->warp_count; n++)
            memset(block->warps[n].root->regs + compiled->clear[k].slot, 0, compiled->clear[k].bytes);
    block->fresh = true;
    block->warps[0].pc = run->kernel->code;
    vm_charge_steps(block, &block->warps[0], steps + vm_block_fill(block));
}

bool vm_series_run(vm_runner *runner, vm_cluster *cluster, bool (*next)(vm_runner *runner, uint64_t *number))
{
    vm_block *block = cluster->blocks[0];
    const vm_run_state *run = runner->run;
    vm_native *region = block->fresh ? find_series(runner) : NULL;
    uint64_t number, steps = 0;
    bool any = false;
    if (!region)
        return false;
    for (uint32_t k = 0; k < block->warp_count; k++)
        vm_warp_select(&block->warps[k], &block->warps[k].paths[0]);
    /* near the end of the budget the loop ends, because ordinary turns count the steps exactly */
    while (!atomic_load_explicit(&run->family->stop, memory_order_relaxed) &&
           vm_budget_left(runner) >= (uint64_t)2 * VM_SLICE * VM_LANES) {
        vm_runner_refresh(runner);
        if (!run_series(block, region, &steps))
            break;
        any = true;
        if (next(runner, &number)) {
            renew_block(block, number, steps);
            continue;
        }
        vm_block_drop_paths(block);
        block->live = cluster->live = 0;
        block->ended = true;
        vm_charge_steps(block, &block->warps[0], steps);
        break;
    }
    if (any)
        vm_poll_moved(runner);
    return block->ended;
}
