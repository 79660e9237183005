/* series.c - runs blocks of kernels whose code between barriers is compiled. Starting and ending such a block, and the
 * turns of its warps, would take most of the time. So one compiled function runs all warps of a block up to the next
 * barrier or to the kernel's end. This function is called a series (vm_native.series). If all turns of a block ran in
 * series, memory of the block, paths, barriers and counts of live threads are as vm_block_start() has made them, and
 * renew_block() resets the rest. */
#include <string.h>

#include "vm_block.h"
#include "vm_jit.h"
#include "vm_memory.h"
#include "vm_path.h"
#include "vm_poll.h"

/* Steps between two tests of the launch's limits. The tests need as many steps of the budget that nobody has used. */
#define CHARGE VM_SLICE
#define SHARE 4u /* the compiler is called if more than 1 / SHARE of the blocks miss in a series */
#define SPARE ((uint64_t)2 * VM_SLICE * VM_LANES)

/* A block whose warps run in series. */
typedef struct progress {
    vm_block *block;
    const vm_code *from; /* the instruction at which the turns of all warps begin */
    /* issued, lanes: the instructions in all turns that have ended; charged: the steps that the launch's budget and the
     * block's turn have counted */
    uint64_t issued, lanes, charged;
} progress;

/* Returns the series that begins at the instruction, or NULL. */
static vm_native *find_series(const vm_runner *runner, const vm_code *at)
{
    const vm_function *kernel = runner->run->kernel;
    if (__atomic_load_n(&at->full, __ATOMIC_ACQUIRE) != vm_op_region)
        return NULL;
    _Atomic(vm_native *) *all = atomic_load_explicit(&kernel->compiled->at, memory_order_acquire);
    vm_native *region = atomic_load_explicit(&all[at - kernel->code], memory_order_acquire);
    return region->run && region->series && !region->watched && region->need <= VM_SLICE ? region : NULL;
}

/* Returns true if the launch can run series. A launch with observers, clusters or a late order cannot. A series needs
 * warps of 32 lanes, and blocks without local memory. */
static bool may_run_series(const vm_runner *runner)
{
    const vm_run_state *run = runner->run;
    return !run->hooks && runner->jit && run->cluster_size == 1 && !(run->launch->order & VM_LATE) &&
           !run->local_bytes && run->block_threads % VM_LANES == 0 &&
           atomic_load_explicit(&run->kernel->compiled->blank, memory_order_acquire);
}

/* Adds the warps that a series has run to the region's counter. Host threads that write the same counter wait for each
 * other, so a runner adds many warps at once. */
static void count_entered(vm_runner *runner, vm_native *region, const vm_code *from, unsigned warps, unsigned most)
{
    vm_entered *entered = &runner->series_entered[(from - runner->run->kernel->code) % VM_SERIES];
    if (entered->region != region) {
        if (entered->region)
            atomic_fetch_add_explicit(&entered->region->entered, entered->warps, memory_order_relaxed);
        *entered = (vm_entered){.region = region};
    }
    entered->warps += warps;
    if (entered->warps < most)
        return;
    atomic_fetch_add_explicit(&region->entered, entered->warps, memory_order_relaxed);
    entered->warps = 0;
}

/* Returns the steps of all turns that have ended. The first turn of a warp also counts the cost of its frame. */
static uint64_t get_steps(const progress *p)
{
    const vm_block *block = p->block;
    return p->issued + (p->from == block->runner->run->kernel->code ? 0 : block->warp_count * block->warps[0].charge);
}

/* Lets all warps begin their next turn at p->from. */
static void set_paths(const progress *p)
{
    for (uint32_t k = 0; k < p->block->warp_count; k++)
        p->block->warps[k].paths[0].pc = p->from;
}

/* Counts the steps against the limits of the launch and the turn of the block. `more` are steps that get_steps() does
 * not have. */
static void charge_steps(progress *p, vm_warp *w, uint64_t more)
{
    const uint64_t steps = get_steps(p) + more - p->charged;
    p->charged += steps;
    p->block->ahead += steps;
    p->block->runner->clock += steps;
    if (steps)
        vm_charge_steps(p->block, w, steps);
}

/* Updates the state of a warp whose turn has ended in a series. `place` is the barrier at which it waits, or NULL if it
 * has ended. */
static void end_turn(vm_warp *w, const vm_code *place)
{
    vm_path *path = &w->paths[0];
    if (place) {
        path->pc = place;
        path->arrived = VM_ALL;
        path->state = VM_PATH_BARRIER;
        path->barrier = (uint8_t)vm_r32(w, place->a)[0];
        return;
    }
    w->dead = VM_ALL;
    w->mask = w->path_count = 0;
    w->current = VM_PATHS;
}

/* Updates the state of the block and its warps after a series has ended in the turn of the warp `last`, which has run
 * `ran` operations. If `ran` is 0, the turn has not begun. The state is then the same as if each warp had run its own
 * turns. The block's ordinary turn then continues the turn of the warp `last`. */
static void leave_series(progress *p, vm_warp *last, uint64_t ran, uint64_t added)
{
    vm_block *block = p->block;
    vm_runner *runner = block->runner;
    const vm_code *code = runner->run->kernel->code;
    const bool first = p->from == code;
    const vm_code *place = last->index == 0 || runner->series_place == VM_SERIES_END ? NULL
                                                                                     : code + runner->series_place;
    uint64_t more = 0;
    set_paths(p);
    if (ran)
        vm_warp_save(last);
    block->barred = !first || place;
    for (vm_warp *w = block->warps; w < last; w++)
        end_turn(w, place);
    for (vm_warp *w = last + 1; first && w < block->warps + block->warp_count; w++)
        w->current = VM_PATHS, w->idle = 0;
    if (place) {
        vm_barrier *barrier = &block->barriers[block->warps[0].paths[0].barrier];
        barrier->arrived = last->index * VM_LANES;
        barrier->all = true;
    } else {
        block->live -= last->index * VM_LANES;
        block->cluster->live -= last->index * VM_LANES;
    }
    for (vm_warp *w = block->warps; first && w < last; w++)
        more += w->charge;
    charge_steps(p, last, more);
    for (vm_warp *w = block->warps; w < block->warps + (first ? last->index : block->warp_count); w++)
        w->charge = 0;
    block->warps[0].issued = p->issued;
    block->warps[0].lanes = p->lanes;
    last->issued += ran - added;
    last->idle = (first ? 0 : last->idle) + ran;
    block->next_warp = last->index;
    block->begun = ran;
    block->begun_issued = ran - added;
}

/* Tests the limits of the launch between two turns of all warps. Returns false if the block must leave its series. */
static bool pass_limits(progress *p, uint64_t quantum)
{
    vm_runner *runner = p->block->runner;
    if (get_steps(p) - p->charged < CHARGE)
        return true;
    set_paths(p);
    charge_steps(p, &p->block->warps[0], 0);
    vm_runner_refresh(runner);
    return !atomic_load_explicit(&runner->run->family->stop, memory_order_relaxed) && p->block->ahead < quantum &&
           vm_budget_left(runner) >= SPARE;
}

/* Runs the warps of a block that has just started. Returns true if all of them have ended. In this case *steps is the
 * number of steps that the caller charges. The block is then as vm_block_start() has made it. Otherwise vm_block_run()
 * must continue the block. */
static bool run_series(vm_block *block, vm_native *region, uint64_t quantum, uint64_t *steps)
{
    vm_runner *runner = block->runner;
    const vm_code *code = runner->run->kernel->code;
    const vm_warp *end = block->warps + block->warp_count;
    progress p = {.block = block, .from = code};
    block->fresh = false;
    for (;;) {
        uint64_t added = 0, ran = region->run(block->warps, block->warp_count, VM_SLICE, &p.lanes, &added);
        vm_warp *last = runner->series_last;
        p.issued += runner->series_issued;
        if (VM_UNLIKELY(last < end)) {
            const bool missed = ran & VM_REGION_MISSED;
            ran &= ~VM_REGION_MISSED;
            count_entered(runner, region, p.from, last->index + 1, missed ? 0 : 4096);
            if (missed) /* the miss of one warp ends the series of the block */
                vm_warp_count_miss(last, p.from, region, 1, SHARE * block->warp_count);
            leave_series(&p, last, ran, added);
            return false;
        }
        count_entered(runner, region, p.from, block->warp_count, 4096);
        if (runner->series_place == VM_SERIES_END)
            break;
        p.from = code + runner->series_place + 1; /* the barrier has opened */
        region = find_series(runner, p.from);
        if (!region || !pass_limits(&p, quantum)) {
            leave_series(&p, block->warps, 0, 0);
            return false;
        }
    }
    runner->counters.warp_instructions += p.issued;
    runner->counters.lane_instructions += p.lanes;
    runner->counters.blocks++;
    runner->counters.warps += block->warp_count;
    *steps = p.issued + block->warp_count * block->warps[0].charge - p.charged;
    runner->clock += *steps;
    return true;
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
    if (block->ahead) { /* the paths were set between barriers */
        set_paths(&(progress){.block = block, .from = run->kernel->code});
        block->ahead = 0;
    }
    for (uint32_t k = 0; k < block->warp_count; k++)
        block->warps[k].idle = block->warps[k].yields = block->warps[k].vain_yields = 0;
    block->warps[0].pc = run->kernel->code;
    vm_charge_steps(block, &block->warps[0], steps + vm_block_fill(block));
}

bool vm_series_run(vm_runner *runner, vm_cluster *cluster, uint64_t quantum,
                   bool (*next)(vm_runner *runner, uint64_t *number))
{
    vm_block *block = cluster->blocks[0];
    const vm_run_state *run = runner->run;
    vm_native *region = block->fresh && may_run_series(runner) ? find_series(runner, run->kernel->code) : NULL;
    uint64_t number, steps = 0;
    bool any = false;
    if (!region)
        return false;
    for (uint32_t k = 0; k < block->warp_count; k++)
        vm_warp_select(&block->warps[k], &block->warps[k].paths[0]);
    /* near the end of the budget the loop ends, because ordinary turns count the steps exactly */
    while (!atomic_load_explicit(&run->family->stop, memory_order_relaxed) && vm_budget_left(runner) >= SPARE) {
        vm_runner_refresh(runner);
        if (!run_series(block, region, quantum, &steps))
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
