/* view.c - the asynchronous part of vector clocks (vm_more). This part has the phases of mbarriers that are known to be
 * complete, the accesses of only some lanes of a warp, and the writes before a fence.proxy.async. Every function that
 * joins two vector clocks also joins their asynchronous parts. */
#include <string.h>

#include "before_internal.h"
#include "dependent_internal.h"
#include "far_internal.h"
#include "view_internal.h"
#include "vm_checks_internal.h"

static vm_clock *clock_of(const vm_warp *w) { return &w->block->check->warps[w->index]; }

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

bool check_view_new(vm_block *block)
{
    const kiln_allocator *mem = block->runner->run->device->mem;
    vm_check_block *b = block->check;
    if (!block->runner->run->launch->module->check->async)
        return true;
    b->gate_more = kiln__calloc(mem, VM_BARRIERS + 1, sizeof *b->gate_more);
    b->more = kiln__calloc(mem, block->warp_count, sizeof *b->more);
    b->fences = kiln__calloc(mem, (size_t)block->warp_count * VM_LANES, sizeof *b->fences);
    const uint32_t regs = block->runner->run->launch->module->check->reg_count;
    const bool tensor = block->runner->run->launch->module->check->tensor;
    if (tensor)
        b->tensor = kiln__calloc(mem, 1, sizeof *b->tensor);
    if (regs)
        b->regs = kiln__calloc(mem, (size_t)block->warp_count * regs, sizeof *b->regs);
    return b->gate_more && b->more && b->fences && (b->regs || !regs) && (b->tensor || !tensor);
}

void check_view_free(vm_block *block)
{
    const kiln_allocator *mem = block->runner->run->device->mem;
    vm_check_block *b = block->check;
    kiln__free(mem, b->gate_more);
    kiln__free(mem, b->more);
    kiln__free(mem, b->fences);
    kiln__free(mem, b->bars);
    kiln__free(mem, b->regs);
    kiln__free(mem, b->tensor);
}

void check_view_start(vm_block *block)
{
    vm_check_block *b = block->check;
    b->bar_count = 0;
    memset(b->pushed, 0, sizeof b->pushed);
    if (!b->more)
        return;
    if (b->tensor)
        memset(b->tensor, 0, sizeof *b->tensor);
    memset(b->gate_more, 0, (VM_BARRIERS + 1) * sizeof *b->gate_more);
    memset(b->products, 0, sizeof b->products);
    if (b->regs)
        memset(b->regs, 0,
               (size_t)block->warp_count * block->runner->run->launch->module->check->reg_count * sizeof *b->regs);
    memset(b->more, 0, block->warp_count * sizeof *b->more);
    memset(b->fences, 0, (size_t)block->warp_count * VM_LANES * sizeof *b->fences);
    for (uint32_t k = 0; k < block->warp_count; k++)
        b->warps[k].more = &b->more[k];
}

/* ---- joins ---- */

/* Adds to a clock the accesses of some lanes of warp v up to a time. An entry of a clock holds only one set of lanes.
 * So two sets become their union, with the later time. This rule may order too many accesses, but never too few. If
 * `know` is not NULL, it is the array of entries for whole warps. The entry of warp v rises when the set has all live
 * lanes. */
static void join_part(const vm_block *block, vm_more *to, uint32_t *know, uint32_t v, uint32_t part, uint32_t lanes)
{
    if (!lanes || (know && part <= know[v]))
        return;
    to->part[v] = larger(to->part[v], part);
    to->lanes[v] |= lanes;
    if (know && (to->lanes[v] | block->warps[v].dead) == VM_ALL) {
        know[v] = larger(know[v], to->part[v]);
        to->part[v] = to->lanes[v] = 0;
    }
}

/* Joins `from` into `to`, but not the phases of mbarriers, because these differ from lane to lane. */
static void join_more(const vm_block *block, vm_more *to, uint32_t *know, const vm_more *from)
{
    for (uint32_t v = 0; v < block->warp_count; v++) {
        join_part(block, to, know, v, from->part[v], from->lanes[v]);
        to->fenced[v] = larger(to->fenced[v], from->fenced[v]);
    }
    to->fenced_horizon = larger(to->fenced_horizon, from->fenced_horizon);
    vm_check *check = block->runner->run->device->check;
    for (uint32_t r = 0; block->cluster->size > 1 && r < block->cluster->size; r++) {
        to->wrote[r] = check_far_join(check, to->wrote[r], from->wrote[r]);
        to->read[r] = check_far_join(check, to->read[r], from->read[r]);
    }
}

/* Joins the entries for the other blocks of the cluster. */
static void join_ranks(const vm_block *block, uint32_t *to, const uint32_t *from)
{
    for (uint32_t v = VM_LANES; v < VM_LANES + block->cluster->size; v++)
        to[v] = larger(to[v], from[v]);
}

/* Joins the numbers of phases that are known to be complete, for all mbarriers. */
static void join_seen(const vm_block *block, vm_more *to, const vm_more *from)
{
    for (size_t n = 0; n < block->check->bar_count; n++)
        to->seen[n] = larger(to->seen[n], from->seen[n]);
}

void check_more_join(const vm_block *block, vm_more *to, const vm_more *from)
{
    join_more(block, to, NULL, from);
    join_seen(block, to, from);
}

/* Records that some lanes know that `phases` phases of an mbarrier are complete. The entry has only one number, so it
 * keeps the larger number and the lanes that know it. */
static void learn_phases(vm_clock *c, size_t bar, uint32_t phases, uint32_t lanes)
{
    if (phases > c->more->seen[bar]) {
        c->more->seen[bar] = phases;
        c->seen_lanes[bar] = lanes;
    } else if (phases == c->more->seen[bar]) {
        c->seen_lanes[bar] |= lanes;
    }
}

void check_more_learn(vm_warp *w, const vm_more *from, uint32_t lanes)
{
    vm_clock *c = clock_of(w);
    join_more(w->block, c->more, c->know, from);
    for (size_t n = 0; n < w->block->check->bar_count; n++)
        learn_phases(c, n, from->seen[n], lanes);
}

void check_more_lanes(vm_warp *w, uint32_t lanes)
{
    vm_clock *c = clock_of(w);
    for (size_t n = 0; n < w->block->check->bar_count; n++)
        if (c->seen_lanes[n] & lanes)
            c->seen_lanes[n] |= lanes;
}

/* A flag carries only a time, and no vector clock. So the thread that reads the flag gets the asynchronous parts of all
 * warps of its block. This rule may order too many accesses, but never too few. */
void check_more_acquire(vm_warp *w, uint32_t known)
{
    const uint32_t fence = w->runner->run->device->check->last_fence;
    vm_clock *c = clock_of(w);
    for (uint32_t k = 0; k < w->block->warp_count; k++) {
        const vm_more *from = &w->block->check->more[k];
        for (size_t n = 0; n < w->block->check->bar_count; n++)
            learn_phases(c, n, from->seen[n], VM_ALL);
        join_more(w->block, c->more, c->know, from);
    }
    c->more->fenced_horizon = larger(c->more->fenced_horizon, known < fence ? known : fence);
}

/* The arriving lanes publish their clock and the current time. If the arriving lanes have synchronised with other lanes
 * of the warp, these lanes count as arrived too. */
void check_view_arrive(const vm_warp *w, vm_view *to, uint32_t lanes, uint32_t now)
{
    const vm_clock *c = clock_of(w);
    check_share_flags(w);
    for (uint32_t k = 0; c->lanes && k < VM_LANES * VM_LANES; k++)
        lanes |= (uint32_t)(lanes >> k / VM_LANES & 1 && c->lanes[k] > c->full) << k % VM_LANES;
    for (uint32_t v = 0; v < w->block->warp_count; v++)
        to->gate.know[v] = larger(to->gate.know[v], v == w->index ? c->full : c->know[v]);
    join_ranks(w->block, to->gate.know, c->know);
    to->gate.horizon = larger(to->gate.horizon, c->horizon);
    to->gate.early = larger(to->gate.early, check_dependent_known(w));
    if ((lanes | w->dead) == VM_ALL)
        to->gate.know[w->index] = now;
    else
        join_part(w->block, &to->more, to->gate.know, w->index, now, lanes);
    join_more(w->block, &to->more, to->gate.know, c->more);
    for (size_t n = 0; n < w->block->check->bar_count; n++) {
        /* if none of these lanes knows the last phase, all of them know one phase less */
        uint32_t seen = c->more->seen[n];
        to->more.seen[n] = larger(to->more.seen[n], seen && !(c->seen_lanes[n] & lanes) ? seen - 1 : seen);
    }
}

/* Every arrival at another block's mbarrier publishes two facts. One is the time of the warp's last fence (the entry
 * for the rank of its block in `gate.know`). The other is that the reads before the arrival are complete. Only an
 * arrival that is a release for the cluster publishes the rest of the vector clock. */
void check_view_arrive_far(const vm_warp *w, const vm_block *home, vm_bar *bar, uint32_t lanes, bool cluster,
                           uint32_t now)
{
    const vm_clock *c = clock_of(w);
    vm_check *check = w->runner->run->device->check;
    vm_view *to = &bar->gather;
    if (!bar->owner)
        bar->owner = ++check->far_owner;
    const uint32_t rank = w->block->rank, own = VM_LANES + rank, known = c->know[VM_LANES + home->rank];
    check_share_flags(w);
    to->more.read[rank] = check_far_arrive(w, to->more.read[rank], bar->owner, lanes, now);
    to->gate.know[own] = larger(to->gate.know[own], c->released);
    if (!cluster)
        return;
    to->more.wrote[rank] = check_far_arrive(w, to->more.wrote[rank], bar->owner, lanes, now);
    join_ranks(w->block, to->gate.know, c->know);
    for (uint32_t r = 0; r < w->block->cluster->size; r++)
        if (r != rank && r != home->rank) {
            to->more.wrote[r] = check_far_join(check, to->more.wrote[r], c->more->wrote[r]);
            to->more.read[r] = check_far_join(check, to->more.read[r], c->more->read[r]);
        }
    for (uint32_t v = 0; v < home->warp_count; v++)
        to->gate.know[v] = larger(to->gate.know[v], known);
    check_far_return(home, to, c->more->wrote[home->rank]);
    to->gate.horizon = larger(to->gate.horizon, c->horizon);
    to->gate.early = larger(to->gate.early, check_dependent_known(w));
}

/* Joins the entry that the phase has for the warp of the lanes, if it has one. Other threads that arrive at the
 * mbarrier publish their entries for this warp too. */
static void learn_own(vm_warp *w, const vm_view *from, uint32_t lanes)
{
    vm_clock *c = clock_of(w);
    const uint32_t know = from->gate.know[w->index], part = from->more.part[w->index];
    if (know > c->full && (lanes | w->dead) == VM_ALL)
        c->full = c->firm = know;
    if (know <= c->full && part <= c->full)
        return;
    if (!c->lanes)
        c->lanes = kiln__calloc(w->runner->run->device->mem, VM_LANES * VM_LANES, sizeof *c->lanes);
    /* memory has run out: all lanes count as ordered, and the report says that findings may be missing */
    if (!c->lanes) {
        w->runner->run->device->check->starved = true;
        c->full = c->firm = larger(know, part);
        return;
    }
    VM_EACH(lane, lanes)
        for (uint32_t k = 0; k < VM_LANES; k++) {
            uint32_t *row = &c->lanes[lane * VM_LANES + k];
            *row = larger(*row, from->more.lanes[w->index] >> k & 1 ? larger(know, part) : know);
        }
}

void check_view_learn(vm_warp *w, const vm_view *from, uint32_t lanes)
{
    vm_clock *c = clock_of(w);
    learn_own(w, from, lanes);
    for (uint32_t v = 0; v < w->block->warp_count; v++)
        c->know[v] = larger(c->know[v], from->gate.know[v]);
    join_ranks(w->block, c->know, from->gate.know);
    c->horizon = larger(c->horizon, from->gate.horizon);
    check_dependent_learn(w, from->gate.early, lanes);
    c->synced = w->runner->run->device->check->time;
    check_more_learn(w, &from->more, lanes);
    check_refresh_fast(w->block, c);
}

/* ---- proxy fences ---- */

/* The fence covers the thread's own earlier writes, and all writes that happened before it. Each thread keeps the times
 * of its last VM_FENCES + 1 fences. check_view_fenced() tests the order of all of them but the oldest. If a write is
 * older than the oldest fence that is kept, it counts as fenced without a test. */
void check_view_fence(vm_warp *w, uint32_t m)
{
    vm_clock *c = clock_of(w);
    vm_check *check = w->runner->run->device->check;
    const uint32_t now = check->last_fence = check_advance_time(check);
    VM_EACH(lane, m) {
        uint32_t *last = w->block->check->fences[w->index * VM_LANES + lane];
        memmove(last + 1, last, VM_FENCES * sizeof *last);
        last[0] = now;
    }
    for (uint32_t v = 0; v < w->block->warp_count; v++)
        c->more->fenced[v] = larger(c->more->fenced[v], v == w->index ? c->full : larger(c->know[v], c->more->part[v]));
    c->more->fenced_horizon = c->horizon;
}
