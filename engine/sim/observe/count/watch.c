/* watch.c - the hooks of an observed launch. These hooks call the counters (count.c), the trace (trace.c) and the
 * checks, which have their own table of hooks. */
#include "vm_collective.h"
#include "vm_count.h"
#include "vm_hooks.h"
#include "vm_matrix.h"
#include "vm_trace.h"

static vm_tally *get_tally(const vm_warp *w, const vm_code *i)
{
    return &w->runner->tally[w->frame->function->first_tally + i->insn];
}

static void count_insn(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_runner *runner = w->runner;
    const struct vm_watch *watch = runner->run->launch->watch;
    uint32_t site = VM_NO_SITE;
    if (runner->tally) {
        size_t at = w->frame->function->first_tally + i->insn;
        runner->tally[at].executed++;
        runner->tally[at].lanes += m == VM_ALL ? VM_LANES : (uint32_t)__builtin_popcount(m);
        site = runner->site_of ? runner->site_of[at] : VM_NO_SITE;
    }
    if (site == VM_NO_SITE && !watch->see)
        return;
    vm_access list[VM_ACCESSES];
    unsigned count = count_accesses(w, i, m, list);
    if (site != VM_NO_SITE)
        count_instruction(&runner->sites[site], w, i, m, list, count);
    if (watch->see && count)
        watch->see(watch->user, w, i, list, count);
}

static uint32_t show(vm_warp *w, const vm_code *i, uint32_t m)
{
    const struct vm_watch *watch = w->runner->run->launch->watch;
    if (w->runner->tally || watch->see)
        count_insn(w, i, m);
    if (w->runner->met && m)
        m = watch->checks->insn(w, i, m);
    if (w->block->trace)
        count_trace_insn(w, i, m);
    return m;
}

static void unseen(vm_warp *w, const vm_code *i, uint32_t lanes, bool all)
{
    if (w->runner->tally) {
        vm_tally *tally = get_tally(w, i);
        tally->executed -= all;
        tally->lanes -= (uint32_t)__builtin_popcount(lanes);
    }
    if (w->block->trace && all)
        count_trace_unseen(w, i);
}

static void late(vm_warp *w, const vm_share *share, bool more)
{
    if (!w->runner->tally)
        return;
    vm_tally *tally = &w->runner->tally[share->frame->function->first_tally + share->code->insn];
    tally->executed += more;
    tally->lanes += (uint32_t)__builtin_popcount(share->lanes);
}

/* ---- the hooks ---- */

/* Returns the hooks of the checks. Returns NULL if the device has no shadow memory for checks. */
static const struct vm_hooks *get_checks(const vm_run_state *run)
{
    return run->device->check ? run->launch->watch->checks : NULL;
}
static const struct vm_hooks *checks_of_block(const vm_block *block)
{
    return block->check ? block->runner->run->launch->watch->checks : NULL;
}

static bool begin(vm_run_state *run)
{
    const struct vm_hooks *checks = get_checks(run);
    run->serial = checks != NULL;
    return !checks || checks->begin(run);
}

static void end(vm_run_state *run)
{
    const struct vm_hooks *checks = get_checks(run);
    if (checks)
        checks->end(run);
}

/* If the trace needs only its own blocks, limits the grid to them. The limit does not hold for grids that the kernels
 * of this launch launch themselves. */
static void grid(vm_run_state *run)
{
    const struct vm_trace *trace = run->launch->watch->trace;
    if (!trace || !trace->only || trace->launch != run->launch)
        return;
    run->chosen = true;
    run->block_count = trace->block_count;
}
static uint64_t chosen(const vm_run_state *run, uint64_t index)
{
    return run->launch->watch->trace->blocks[index].number;
}

static bool runner_begin(vm_runner *runner)
{
    const vm_launch *launch = runner->run->launch;
    runner->met = get_checks(runner->run) && launch->module->check;
    if (!count_begin_runner(runner))
        return false;
    const bool checks_alone = runner->met && !runner->tally && !launch->watch->see && !launch->watch->trace;
    if (checks_alone) {
        runner->show = launch->watch->checks->insn;
        runner->shown = launch->watch->checks->shown ? launch->watch->checks->shown(runner) : NULL;
        if (runner->shown && launch->watch->checks->compiles && launch->watch->checks->compiles(runner))
            runner->access = launch->watch->checks->access;
    }
    return true;
}

static bool block_new(vm_block *block)
{
    return !block->runner->met || block->runner->run->launch->watch->checks->block_new(block);
}
static void block_free(vm_block *block)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->block_free(block);
}

static void block_start(vm_block *block)
{
    const vm_launch *launch = block->runner->run->launch;
    struct vm_trace *trace = launch->watch->trace;
    block->trace = trace && trace->launch == launch ? count_trace_find(trace, block->number) : NULL;
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->block_start(block);
}

static void block_end(vm_block *block)
{
    const struct vm_watch *watch = block->runner->run->launch->watch;
    const struct vm_hooks *checks = checks_of_block(block);
    count_trace_end(block);
    if (checks)
        checks->block_end(block);
    if (watch->block_ends)
        watch->block_ends(watch->user, block);
}

static bool enough(const vm_block *block) { return block->trace && count_trace_enough(block); }
static uint64_t slice(const vm_warp *w, uint64_t most) { return w->block->trace ? count_trace_slice(w, most) : most; }

static bool wants(const vm_warp *w) { return !w->runner->run->launch->watch->trace_alone || count_trace_is_open(w); }

static void barrier(vm_block *block, uint32_t which)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->barrier(block, which);
}
static void stuck(vm_block *block)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->stuck(block);
}
static void deadlock(vm_block *block)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->deadlock(block);
}
static void children(vm_block *block)
{
    const struct vm_hooks *checks = checks_of_block(block);
    if (checks)
        checks->children(block);
}

static void met(vm_warp *w, const vm_code *i, uint32_t m, const vm_meeting *meeting)
{
    w->runner->run->launch->watch->checks->met(w, i, m, meeting);
}
static void outside(vm_warp *w, const vm_code *i, uint32_t lane, int64_t at, uint32_t size, bool linear)
{
    w->runner->run->launch->watch->checks->outside(w, i, lane, at, size, linear);
}
static void malloced(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address)
{
    w->runner->run->launch->watch->checks->malloced(w, i, lane, address);
}

const struct vm_hooks count_watch_hooks = {
    .begin = begin,
    .end = end,
    .grid = grid,
    .chosen = chosen,
    .runner_begin = runner_begin,
    .runner_end = count_end_runner,
    .runner_free = count_drop,
    .block_new = block_new,
    .block_free = block_free,
    .block_start = block_start,
    .block_end = block_end,
    .enough = enough,
    .barrier = barrier,
    .stuck = stuck,
    .deadlock = deadlock,
    .children = children,
    .wants = wants,
    .slice = slice,
    .insn = show,
    .unseen = unseen,
    .late = late,
    .met = met,
    .outside = outside,
    .malloced = malloced,
};
