/* mbarrier.c - checks mbarriers. This file counts the arrivals of each phase, computes the vector clock that a wait
 * acquires, and reports wrong counts and waits that never end.
 *
 * From a wait, a thread learns only facts that hold on every schedule of the threads. Suppose that a thread knows of n
 * complete phases. If it waits for the parity of phase n, it learns that phase n is complete. A wait for the other
 * parity returns at once, because phase n - 1 is complete. This is also true on a GPU. So the wait for the other parity
 * teaches the thread nothing. Therefore the checks find a wait with a wrong parity, even if the data has already
 * arrived in the simulator. */
#include <inttypes.h>
#include <string.h>

#include "access_internal.h"
#include "before_internal.h"
#include "bounds_internal.h"
#include "finding_internal.h"
#include "flight_internal.h"
#include "look_internal.h"
#include "mbarrier_internal.h"
#include "order_internal.h"
#include "view_internal.h"
#include "vm_async.h"
#include "vm_checks_internal.h"
#include "vm_access.h"
#include "vm_block.h"
#include "vm_fault.h"
#include "vm_path.h"

static vm_clock *clock_of(const vm_warp *w) { return &w->block->check->warps[w->index]; }
static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

uint32_t check_bar_find(const vm_block *block, uint64_t address)
{
    for (size_t n = 0; n < block->check->bar_count; n++)
        if (block->check->bars[n].address == address)
            return (uint32_t)n;
    return VM_BAR_NONE;
}

/* Returns the number of the mbarrier at an address. If the mbarrier is new, the function adds it. Returns VM_BAR_NONE
 * if the block already has VM_BARS mbarriers, or if memory runs out. */
static uint32_t make_bar(vm_warp *w, uint64_t address)
{
    vm_check_block *b = w->block->check;
    uint32_t n = check_bar_find(w->block, address);
    if (n != VM_BAR_NONE)
        return n;
    if (!b->more || b->bar_count == VM_BARS ||
        !kiln__grow(w->runner->run->device->mem, &b->bars, &b->bar_capacity, b->bar_count + 1, sizeof *b->bars)) {
        get_check(w)->starved = true;
        return VM_BAR_NONE;
    }
    b->bars[b->bar_count] = (vm_bar){.address = (uint32_t)address};
    for (uint32_t k = 0; k < w->block->warp_count; k++)
        b->warps[k].seen_lanes[b->bar_count] = VM_ALL;
    return (uint32_t)b->bar_count++;
}

/* Starts a finding about an mbarrier. `what` names the other side of the finding, whose epoch is `other`. */
static kiln_check_finding *start_finding_beside(vm_warp *w, uint32_t insn, uint32_t lane, const vm_bar *bar,
                                                kiln_check_kind kind, const vm_mark *other, const char *what)
{
    kiln_check_finding *f = check_find_finding(w, kind, false, insn, other->insn, lane, 1);
    if (!f)
        return NULL;
    vm_access a = {.space = PTX_SPACE_SHARED, .lanes = 1u << lane, .bytes = 8};
    a.address[lane] = bar->address;
    vm_look k = {.check = get_check(w), .w = w, .a = &a, .home = w->block, .insn = insn, .shared = true};
    f->space = "shared";
    f->address = bar->address;
    f->bytes = 8;
    f->allocation = check_describe(&k, lane);
    f->other.what = what;
    check_side_thread(w, other, &f->other);
    return f;
}

/* Starts a finding about an mbarrier. The other side of the finding is the initialisation of the mbarrier. */
static kiln_check_finding *start_finding(vm_warp *w, uint32_t insn, uint32_t lane, const vm_bar *bar,
                                         kiln_check_kind kind)
{
    return start_finding_beside(w, insn, lane, bar, kind, &bar->init, "mbarrier.init");
}

/* Returns the number of the last operation that any commit of the phase tracks. */
static uint32_t last_of(const vm_committed *c)
{
    uint32_t last = 0;
    for (uint32_t k = 0; k < c->count && k < VM_COMMITS; k++)
        last = larger(last, c->by[k].last);
    return last;
}

/* Returns the number of the last operation that any commit at the mbarrier tracks. */
static uint32_t last_commit(const vm_bar *bar)
{
    uint32_t last = bar->old_commit;
    for (unsigned k = 0; k < VM_BAR_PHASES; k++)
        last = larger(last, last_of(&bar->committed[k]));
    return last;
}

/* Records that a commit of the lane arrives in the current phase of the mbarrier with the number `n` in the block
 * `home`. If `n` is VM_BAR_NONE, the operations before the commit count as complete.
 *
 * A phase keeps VM_COMMITS commits. If there are more, the operations of the oldest commit count as complete. */
static void record_commit(const vm_warp *w, uint32_t lane, const vm_block *home, uint32_t n)
{
    const vm_commit commit = {
        .block = (uint32_t)w->block->number, .who = w->index * VM_LANES + lane, .last = get_check(w)->flight};
    if (n == VM_BAR_NONE) {
        if (w->block->check->tensor)
            w->block->check->tensor->lost = commit.last;
        return;
    }
    vm_bar *bar = &home->check->bars[n];
    vm_committed *c = &bar->committed[bar->phase % VM_BAR_PHASES];
    if (c->phase != bar->phase) {
        bar->old_commit = larger(bar->old_commit, last_of(c));
        *c = (vm_committed){.phase = bar->phase};
    }
    vm_commit *to = &c->by[c->count % VM_COMMITS];
    if (c->count >= VM_COMMITS)
        bar->old_commit = larger(bar->old_commit, to->last);
    *to = commit;
    c->count++;
}

/* Returns the record of a lane that commits to mbarriers of the block `home`. A new record replaces the oldest one.
 * Returns NULL if the block has no tensor memory. */
static vm_committer *find_committer(const vm_warp *w, uint32_t lane, const vm_block *home)
{
    vm_tensor_state *t = home->check->tensor;
    const uint32_t block = (uint32_t)w->block->number, who = w->index * VM_LANES + lane;
    for (uint32_t k = 0; t && k < t->committer_count && k < VM_COMMITTERS; k++)
        if (t->committers[k].block == block && t->committers[k].who == who)
            return &t->committers[k];
    if (!t)
        return NULL;
    vm_committer *made = &t->committers[t->committer_count++ % VM_COMMITTERS];
    *made = (vm_committer){.block = block, .who = who};
    return made;
}

/* Publishes the phases that earlier commits of the same thread have completed. A thread that waits for this commit
 * learns that these phases are complete too. */
static void publish_commits(const vm_block *home, vm_bar *bar, const vm_committer *committer)
{
    for (size_t k = 0; k < home->check->bar_count; k++)
        bar->gather.more.seen[k] = larger(bar->gather.more.seen[k], committer->phases[k]);
}

vm_block *check_find_home(const vm_warp *w, uint64_t address)
{
    char why[200] = "";
    return vm_block_at(w, &address, why, sizeof why);
}

/* Performs mbarrier.init. Reports an error if the mbarrier is already live. */
static void init_bar(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint32_t count)
{
    uint32_t n = make_bar(w, address);
    if (n == VM_BAR_NONE)
        return;
    vm_bar *bar = &w->block->check->bars[n];
    const uint32_t insn = vm_insn_of(w, i);
    if (bar->live) {
        kiln_check_finding *f = start_finding(w, insn, lane, bar, KILN_CHECK_ASYNC);
        if (f) {
            f->at.what = "mbarrier.init";
            f->message = check_print(get_check(w), "an mbarrier is initialised again without mbarrier.inval before, %s",
                                     f->allocation);
        }
    }
    /* If an old mbarrier had the same address, the new mbarrier continues its count of phases. Otherwise a thread that
     * knows phases of the old mbarrier would seem to know phases of the new mbarrier. */
    const uint32_t phase = bar->phase + (bar->phase & 1);
    for (uint32_t k = 0; k < w->block->warp_count && phase; k++) {
        w->block->check->more[k].seen[n] = phase;
        w->block->check->warps[k].seen_lanes[n] = VM_ALL;
    }
    *bar = (vm_bar){.address = (uint32_t)address,
                    .live = true,
                    .old_commit = last_commit(bar),
                    .pending = count,
                    .expected = count,
                    .phase = phase,
                    .init = {.stamp = get_check(w)->time,
                             .who = w->index * VM_LANES + lane,
                             .insn = insn,
                             .block = (uint32_t)w->block->number}};
}

/* Reports a use of an mbarrier if the initialisation is not ordered before this use. If `copy` is true, the
 * asynchronous proxy uses the mbarrier. Then a fence must lie between the initialisation and the use. */
static void check_init(vm_warp *w, const vm_code *i, uint32_t lane, const vm_bar *bar, bool copy)
{
    const bool before = check_happened_before(w, &bar->init, lane, true);
    vm_mark announced = bar->init;
    announced.stamp = bar->announced;
    if (before && (!copy || check_view_fenced(w, &bar->init, lane) ||
                   (bar->announced && check_happened_before(w, &announced, lane, true))))
        return;
    const uint32_t insn = vm_insn_of(w, i);
    kiln_check_finding *f = start_finding(w, insn, lane, bar, before ? KILN_CHECK_ASYNC : KILN_CHECK_RACE);
    if (!f)
        return;
    const ptx_function *function = w->frame->function->ptx;
    f->at.what = ptx_op_name((ptx_op)function->insns[i->insn].op);
    f->message = before ? check_print(get_check(w),
                                      "%s completes on an mbarrier without fence.mbarrier_init or "
                                      "fence.proxy.async after its initialisation, %s",
                                      f->at.what, f->allocation)
                        : check_print(get_check(w),
                                      "%s of an mbarrier whose initialisation is not ordered before this access, %s",
                                      f->at.what, f->allocation);
}

void check_announce(vm_warp *w, uint32_t m)
{
    vm_check_block *b = w->block->check;
    const uint32_t now = check_advance_time(get_check(w));
    for (size_t n = 0; n < b->bar_count; n++) {
        const uint32_t who = b->bars[n].init.who;
        if (who / VM_LANES == w->index && m >> who % VM_LANES & 1)
            b->bars[n].announced = now;
    }
    check_release(w, false); /* a later barrier.cluster.arrive.relaxed needs this release */
}

/* ---- arrivals ---- */

/* Returns the time up to which accesses of a warp are ordered before at least one arrival of the current phase. A
 * product of a warpgroup needs all four warps, so a warpgroup with products counts as one warp. */
static uint32_t find_arrived(const vm_block *home, const vm_view *gather, uint32_t warp)
{
    enum { WARPS = 4 }; /* of a warpgroup */
    const uint32_t first = warp / WARPS * WARPS;
    const bool group = home->check->products[warp / WARPS].count > 0;
    uint32_t known = gather->gate.horizon;
    for (uint32_t v = first; v < first + WARPS; v++)
        if (group || v == warp)
            known = larger(known, larger(gather->gate.know[v], gather->more.part[v]));
    return known;
}

/* Returns the warps whose wait for the previous phase is not ordered before any arrival of the current phase. The test
 * is lenient: it is enough that one lane of the warp has synchronised. Arrivals of other blocks carry only a part of a
 * vector clock, so all warps count as ordered in a phase with such arrivals. */
static uint32_t find_outrun(const vm_block *home, const vm_bar *bar)
{
    uint32_t outrun = 0;
    for (uint32_t v = 0; v < home->warp_count && !(bar->far.stamp && bar->far_phase == bar->phase); v++) {
        const vm_passed *p = &bar->passed[v];
        if (p->phases && p->phases == bar->phase && find_arrived(home, &bar->gather, v) < p->wait.stamp)
            outrun |= 1u << v;
    }
    return outrun;
}

/* While no arrival and no byte is pending, moves the mbarrier to its next phase, and keeps the clock of the complete
 * phase. */
static void complete_phases(const vm_block *home, vm_bar *bar)
{
    while (bar->pending == 0 && bar->tx == 0 && bar->expected) {
        bar->outrun |= find_outrun(home, bar);
        bar->phases[bar->phase % VM_BAR_PHASES] = bar->gather;
        bar->learned[bar->phase % VM_BAR_PHASES] = 0;
        bar->owner = 0;
        bar->phase++;
        bar->pending = bar->expected;
        bar->expected_tx = bar->came_tx = bar->arrived = 0;
    }
}

/* Adds arrivals and expected bytes to the current phase. `drop` is the number by which later phases need fewer
 * arrivals. `expect` announces bytes. `come` is the number of bytes that came. */
static void count_arrivals(const vm_block *home, vm_bar *bar, uint32_t arrive, uint32_t drop, uint64_t expect,
                           uint64_t come)
{
    /* If more threads arrive than the phase lacks, the instruction raises a fault later. */
    bar->pending -= arrive < bar->pending ? arrive : bar->pending;
    bar->expected -= drop < bar->expected ? drop : bar->expected;
    bar->arrived += arrive;
    bar->tx += (int64_t)expect - (int64_t)come;
    bar->expected_tx += expect;
    bar->came_tx += come;
    complete_phases(home, bar);
}

/* Returns true if the lane knows that the previous phase is over although it has not waited for it: all arrivals and
 * copies of that phase are ordered before the lane's next access. */
static bool is_over(const vm_warp *w, const vm_bar *bar, uint32_t lane)
{
    const vm_clock *c = clock_of(w);
    const vm_view *view = &bar->phases[(bar->phase - 1) % VM_BAR_PHASES];
    const vm_flight *f = check_flight_at(get_check(w), bar->last);
    if (f && f->phase + 1 == bar->phase && !check_flight_is_complete(w, f->id, 0, lane, false))
        return false;
    for (uint32_t v = 0; v < w->block->warp_count; v++) {
        const uint32_t known = c->know[v] > c->horizon ? c->know[v] : c->horizon, part = view->more.part[v];
        const bool has_part = !view->more.lanes[v] || part <= known ||
                              (part <= c->more->part[v] && !(view->more.lanes[v] & ~c->more->lanes[v]));
        if (v != w->index && (view->gate.know[v] > known || !has_part))
            return false;
    }
    return true;
}

/* Reports an arrival that counts in the current phase only because the previous phase is already complete in this run.
 * On another schedule, this arrival could count in the previous phase. If `split` is true, other lanes of the same
 * instruction have completed the previous phase. */
static void check_early(vm_warp *w, const vm_code *i, uint32_t lane, const vm_bar *bar, uint32_t which, bool split)
{
    if (!bar->phase || (!split && (check_view_knows(w, which, bar->phase - 1, lane) || is_over(w, bar, lane))))
        return;
    kiln_check_finding *found = start_finding(w, vm_insn_of(w, i), lane, bar, KILN_CHECK_ASYNC);
    if (!found)
        return;
    found->at.what = "arrival";
    found->message =
        check_print(get_check(w),
                    "an arrival may count in the previous phase of the mbarrier: the thread does not know that this "
                    "phase is complete, %s",
                    found->allocation);
}

/* Reports a phase that may become complete before a thread has waited for the previous phase. In this run the thread
 * waited in time. On another schedule the wait comes later. Then it lasts until one more phase is complete
 * (check_overtaken). */
static void report_outrun(vm_warp *w, const vm_code *i, uint32_t lane, vm_bar *bar)
{
    if (!bar->outrun)
        return;
    const vm_passed *p = &bar->passed[__builtin_ctz(bar->outrun)];
    bar->outrun = 0;
    kiln_check_finding *f = start_finding_beside(w, vm_insn_of(w, i), lane, bar, KILN_CHECK_ASYNC, &p->wait,
                                                 "wait for an mbarrier");
    if (!f)
        return;
    f->at.what = "arrival";
    f->message =
        check_print(get_check(w),
                    "phase %u of an mbarrier can be complete before a wait for phase %u: no arrival in phase %u "
                    "comes after this wait, %s",
                    p->phases, p->phases - 1, p->phases, f->allocation);
}

/* Performs the arrivals of lanes at one mbarrier of the block `home`. If `copies` is true, a lane's arrival takes place
 * when the earlier cp.async of the lane are complete.
 *
 * All lanes can publish their clocks together, unless the arrivals of only some of the lanes complete a phase. In that
 * case each lane publishes its own clock. */
static void arrive_lanes(vm_warp *w, const vm_code *i, uint32_t lanes, const vm_block *home, uint32_t which,
                         bool copies)
{
    const ptx_insn *in = &w->frame->function->ptx->insns[i->insn];
    const bool far = home != w->block, commit = in->op == PTX_OP_TCGEN05_COMMIT;
    const bool cluster = (ptx_has(in, PTX_MOD_CLUSTER) && !ptx_has(in, PTX_MOD_RELAXED)) || commit;
    vm_bar *bar = &home->check->bars[which];
    const bool counts = i->size != VM_BAR_EXPECT && i->size != VM_BAR_COMPLETE;
    const uint32_t now = check_advance_time(get_check(w));
    uint32_t left = lanes, arrivals = 0;
    VM_EACH(lane, lanes)
        arrivals += i->size == VM_BAR_ARRIVE && i->b ? vm_r32(w, i->b)[lane] : 1;
    if (far && counts) {
        bar->far = (vm_mark){.stamp = now,
                             .who = w->index * VM_LANES + (uint32_t)__builtin_ctz(lanes),
                             .insn = vm_insn_of(w, i),
                             .block = (uint32_t)w->block->number};
        bar->far_phase = bar->phase;
        bar->far_product = commit && w->block->check->tensor ? w->block->check->tensor->users[w->block->rank] : 0;
    }
    const uint32_t phase = bar->phase;
    bool at_once = arrivals <= bar->pending; /* false if a phase ends between the arrivals of two lanes */
    while (left) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left), n = i->b ? vm_r32(w, i->b)[lane] : 1;
        if (copies)
            check_flight_bind(w, 1u << lane, which);
        if (counts && !far && (left == lanes || bar->phase != phase))
            check_early(w, i, lane, bar, which, bar->phase != phase);
        if (counts && far && (!at_once || left == lanes))
            check_view_arrive_far(w, home, bar, at_once ? lanes : 1u << lane, cluster, now);
        else if (counts && !far)
            check_view_arrive(w, &bar->gather, at_once ? lanes : 1u << lane, now);
        switch (i->size) {
        case VM_BAR_EXPECT: count_arrivals(home, bar, 0, 0, n, 0); break;
        case VM_BAR_COMPLETE: count_arrivals(home, bar, 0, 0, 0, n); break;
        case VM_BAR_ARRIVE: count_arrivals(home, bar, n, 0, 0, 0); break;
        case VM_BAR_DROP: count_arrivals(home, bar, n, n, 0, 0); break;
        case VM_BAR_ARRIVE_EXPECT: count_arrivals(home, bar, 1, 0, n, 0); break;
        default: count_arrivals(home, bar, 1, 1, n, 0); break; /* DROP_EXPECT */
        }
        report_outrun(w, i, lane, bar);
        left &= left - 1;
    }
}

/* ---- waits ---- */

#define TESTS 1024u /* number of failed tests of a warp after which the checks know which of its lanes wait */

/* Returns true if at least one path of the warp can run and does not merely wait. A path merely waits if one of its
 * lanes has failed a test of an mbarrier in the last TESTS tests. The paths of a warp take turns, so TESTS tests
 * include each path that waits. */
static bool can_move(const vm_warp *w)
{
    const vm_clock *c = clock_of(w);
    const uint32_t waiting = c->spins >= TESTS ? c->still : 0;
    bool moves = false;
    for (uint32_t k = 0; k < w->path_count; k++) {
        const uint32_t lanes = k == w->current ? w->mask : w->paths[k].mask;
        moves |= w->paths[k].state == VM_PATH_READY && !(lanes & waiting);
    }
    return moves;
}

/* Returns true if every live warp of the cluster waits at a barrier, or has failed many tests of mbarriers in a row. */
static bool nothing_moves(const vm_cluster *cluster)
{
    for (uint32_t r = 0; r < cluster->size; r++) {
        const vm_block *block = cluster->blocks[r];
        for (uint32_t k = 0; k < block->warp_count && block->live; k++)
            if (block->warps[k].dead != VM_ALL && can_move(&block->warps[k]))
                return false;
    }
    return true;
}

/* Reports the mbarrier for which a warp waits, and how many arrivals and bytes came. */
static void report_endless_wait(vm_warp *w)
{
    const vm_clock *c = clock_of(w);
    const vm_bar *bar = &w->block->check->bars[c->wait_bar];
    kiln_check_finding *f = start_finding(w, c->wait_insn, c->wait_lane, bar, KILN_CHECK_BARRIER);
    if (!f)
        return;
    vm_check *check = get_check(w);
    f->at.what = "wait for an mbarrier";
    const char *bytes = bar->expected_tx || bar->came_tx
                            ? check_print(check, " and %" PRIu64 " of %" PRIu64 " bytes that were announced came",
                                          bar->came_tx, bar->expected_tx)
                            : "";
    f->message = check_print(
        check, "a wait for parity %u of an mbarrier never ends: in its phase %u (parity %u) %u of %u arrivals%s, %s",
        c->wait_parity, bar->phase, bar->phase & 1, bar->expected - bar->pending, bar->expected, bytes, f->allocation);
}

/* Counts a failed test of an mbarrier. If no warp of the cluster can make progress any more, reports every warp that
 * waits for an mbarrier, and ends the launch. */
static void count_failed_test(vm_warp *w, const vm_code *i, uint32_t lanes, uint32_t bar, uint32_t parity)
{
    enum { OFTEN = 256 };
    vm_clock *c = clock_of(w);
    const uint32_t lane = (uint32_t)__builtin_ctz(lanes);
    c->waited = lanes | (c->spins ? c->waited : 0);
    c->wait_bar = bar;
    c->wait_insn = vm_insn_of(w, i);
    c->wait_lane = lane;
    c->wait_parity = parity;
    const vm_cluster *cluster = w->block->cluster;
    if (++c->spins % TESTS == 0) {
        c->still = c->waited;
        c->waited = 0;
    }
    if (c->spins % OFTEN || !nothing_moves(cluster))
        return;
    for (uint32_t r = 0; r < cluster->size; r++) {
        const vm_block *block = cluster->blocks[r];
        for (uint32_t k = 0; k < block->warp_count && block->live; k++)
            if (block->warps[k].dead != VM_ALL && block->check->warps[k].spins)
                report_endless_wait(&block->warps[k]);
    }
    get_check(w)->told = true;
    vm_fault_raise(w, i, lane, VM_FAULT_DEADLOCK, w->block->check->bars[bar].address, 8,
                   "deadlock: all threads wait for mbarriers or barriers, this one for a phase that never completes");
}

/* Reports a test that fails although the lane knows that a phase of this parity is complete. Then the next phase is
 * complete too, so the mbarrier is again in a phase of this parity. If the wait had come earlier, it would have passed
 * at once, and would have ordered nothing. */
static void check_lapped(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t n, uint32_t parity)
{
    const vm_clock *c = clock_of(w);
    const vm_bar *bar = &w->block->check->bars[n];
    const uint32_t seen = c->more->seen[n], known = seen && !(c->seen_lanes[n] >> lane & 1) ? seen - 1 : seen;
    if (((known - 1) & 1) != parity || bar->phase <= known)
        return;
    kiln_check_finding *f = start_finding(w, vm_insn_of(w, i), lane, bar, KILN_CHECK_ASYNC);
    if (!f)
        return;
    f->at.what = "wait for an mbarrier";
    f->message =
        check_print(get_check(w),
                    "whether a wait for parity %u of an mbarrier passes at once depends on timing: it does if only the "
                    "%u phases are complete that the thread knows to be complete, but %u are complete, %s",
                    parity, known, bar->phase, f->allocation);
}

/* Reports a wait for a phase if the next phase is already complete. Nothing forces the other threads to complete that
 * next phase only after this wait. If they complete it before, the wait lasts until yet another phase is complete,
 * because the next phase has the other parity. If there is no further phase, the wait never ends. */
static void check_overtaken(vm_warp *w, const vm_code *i, uint32_t lanes, uint32_t n, uint32_t parity, uint32_t known)
{
    const vm_bar *bar = &w->block->check->bars[n];
    if ((known & 1) != parity || bar->phase < known + 2)
        return;
    kiln_check_finding *f = start_finding(w, vm_insn_of(w, i), (uint32_t)__builtin_ctz(lanes), bar, KILN_CHECK_ASYNC);
    if (!f)
        return;
    f->at.what = "wait for an mbarrier";
    f->message = check_print(get_check(w),
                             "a wait for parity %u of an mbarrier comes too late: the thread waits for phase %u, and "
                             "phase %u is complete already, because it does not need an arrival after this wait, %s",
                             parity, known, known + 1, f->allocation);
}

/* Gives the clock of the next phase to lanes that know `known` phases, if the next phase has this parity. An mbarrier
 * keeps the clocks of the last VM_BAR_PHASES phases only. If a lane needs an older clock, it gets the oldest clock that
 * is kept, so some races are missed. */
static void learn_phase(vm_warp *w, const vm_code *i, uint32_t lanes, uint32_t n, uint32_t parity, uint32_t known)
{
    vm_clock *c = clock_of(w);
    vm_bar *bar = &w->block->check->bars[n];
    const uint32_t next = (known + 1) % 2 == parity ? known : known + 1;
    if (next == 0 || next > bar->phase)
        return;
    uint32_t phase = next - 1;
    if (phase + VM_BAR_PHASES < bar->phase)
        phase = bar->phase - VM_BAR_PHASES;
    check_view_learn(w, &bar->phases[phase % VM_BAR_PHASES], lanes);
    if (!bar->learned[phase % VM_BAR_PHASES])
        bar->learned[phase % VM_BAR_PHASES] = check_advance_time(get_check(w));
    if (next == bar->phase)
        bar->passed[w->index] = (vm_passed){.phases = next,
                                            .wait = {.stamp = get_check(w)->time,
                                                     .who = w->index * VM_LANES + (uint32_t)__builtin_ctz(lanes),
                                                     .insn = vm_insn_of(w, i),
                                                     .block = (uint32_t)w->block->number}};
    if (next > c->more->seen[n]) {
        c->more->seen[n] = next;
        c->seen_lanes[n] = lanes;
    } else if (next == c->more->seen[n]) {
        c->seen_lanes[n] |= lanes;
    }
}

/* Performs a test of the mbarrier n for lanes that wait for the same parity. Some of these lanes may know the last
 * phase, while the others know one phase less. */
static void test_phase(vm_warp *w, const vm_code *i, uint32_t lanes, uint32_t n, uint32_t parity)
{
    vm_clock *c = clock_of(w);
    const uint32_t known = c->more->seen[n], ahead = lanes & c->seen_lanes[n], behind = lanes & ~c->seen_lanes[n];
    if (behind)
        check_overtaken(w, i, behind, n, parity, known ? known - 1 : 0);
    if (ahead)
        check_overtaken(w, i, ahead, n, parity, known);
    if ((w->block->check->bars[n].phase & 1) == parity) {
        check_lapped(w, i, (uint32_t)__builtin_ctz(lanes), n, parity);
        count_failed_test(w, i, lanes, n, parity);
        return;
    }
    c->spins = 0;
    if (behind)
        learn_phase(w, i, behind, n, parity, known ? known - 1 : 0);
    if (ahead)
        learn_phase(w, i, ahead, n, parity, known);
}

/* ---- an instruction ---- */

static uint32_t read_parity(const vm_warp *w, const vm_code *i, uint32_t lane)
{
    return i->flags & VM_REG64 ? ops_mbarrier_parity_of(vm_r64(w, i->b)[lane]) : vm_r32(w, i->b)[lane] & 1;
}

/* Returns those lanes of `left` that do the same as the first lane of `left`: they have the same address and, for a
 * test, the same parity. */
static uint32_t find_alike(const vm_warp *w, const vm_code *i, uint32_t left)
{
    const uint32_t first = (uint32_t)__builtin_ctz(left);
    const uint64_t address = vm_lane_address(w, i, i->a, first);
    uint32_t lanes = 0;
    VM_EACH(lane, left)
        if (vm_lane_address(w, i, i->a, lane) == address &&
            (i->size != VM_BAR_TEST || read_parity(w, i, lane) == read_parity(w, i, first)))
            lanes |= 1u << lane;
    return i->size == VM_BAR_INIT ? 1u << first : lanes;
}

/* Groups the lanes that do the same, and handles one group after the other. PTX does not allow a test of another
 * block's mbarrier, so this function ignores such a test. */
uint32_t check_mbarrier(vm_warp *w, const vm_code *i, uint32_t m, bool copies)
{
    uint32_t good = m, left = m;
    const unsigned kind = i->size == VM_BAR_INIT || i->size == VM_BAR_INVAL ? VM_WRITE | VM_ORDERED
                          : i->size == VM_BAR_TEST                          ? VM_READS | VM_ORDERED
                                                   : VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED;
    while (left) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left), lanes = find_alike(w, i, left);
        left &= ~lanes;
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        if (!check_stretch(w, i, lane, i->space, address, 8, kind, 0)) {
            good &= ~lanes;
            continue;
        }
        const vm_block *home = check_find_home(w, address);
        address = (address - (i->space == PTX_SPACE_GENERIC ? VM_SHARED_BASE : 0)) % VM_SHARED_WINDOW;
        if (i->size == VM_BAR_INIT) {
            init_bar(w, i, lane, address, vm_r32(w, i->b)[lane]);
            continue;
        }
        const uint32_t n = home ? check_bar_find(home, address) : VM_BAR_NONE;
        vm_bar *bar = n == VM_BAR_NONE ? NULL : &home->check->bars[n];
        if (home && !bar && home->check->bar_count == VM_BARS)
            check_know_all(w); /* the block has too many mbarriers, so everything counts as ordered */
        if (!bar || !bar->live)
            /* either the mbarrier is not live and the instruction raises a fault, or make_bar() could not record it */
            continue;
        check_init(w, i, lane, bar, false);
        if (i->size == VM_BAR_INVAL)
            bar->live = false;
        else if (i->size != VM_BAR_TEST)
            arrive_lanes(w, i, lanes, home, n, copies && home == w->block);
        else if (home == w->block)
            test_phase(w, i, lanes, n, read_parity(w, i, lane));
    }
    return good;
}

bool check_complete_tx(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint64_t bytes, uint32_t flight)
{
    if (!check_stretch(w, i, lane, PTX_SPACE_SHARED, address, 8, VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED, 0))
        return false;
    const vm_block *home = check_find_home(w, address);
    const uint32_t n = home ? check_bar_find(home, address % VM_SHARED_WINDOW) : VM_BAR_NONE;
    vm_bar *bar = n == VM_BAR_NONE ? NULL : &home->check->bars[n];
    if (!bar || !bar->live)
        return true;
    vm_flight *f = check_flight_at(get_check(w), flight);
    check_init(w, i, lane, bar, f && !f->generic && home == w->block);
    if (f) {
        f->bar = n;
        f->phase = bar->phase;
        bar->last = flight;
    }
    /* the arrival tells that the earlier reads of the sending thread are complete */
    const uint32_t now = check_advance_time(get_check(w));
    if (home != w->block)
        check_view_arrive_far(w, home, bar, 1u << lane, false, now);
    else if (f && f->generic) /* st.async */
        check_view_arrive(w, &bar->gather, 1u << lane, now);
    count_arrivals(home, bar, 0, 0, 0, bytes);
    report_outrun(w, i, lane, bar);
    return true;
}

bool check_commit_one(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address)
{
    if (!check_stretch(w, i, lane, space, address, 8, VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED, 0))
        return false;
    const vm_block *home = check_find_home(w, address);
    const uint32_t n = home ? check_bar_find(home, address % VM_SHARED_WINDOW) : VM_BAR_NONE;
    if (n == VM_BAR_NONE || !home->check->bars[n].live) {
        /* either the mbarrier is not live and the instruction raises a fault, or make_bar() could not record it */
        record_commit(w, lane, home, VM_BAR_NONE);
        return true;
    }
    vm_bar *bar = &home->check->bars[n];
    vm_committer *committer = find_committer(w, lane, home);
    const uint32_t phase = bar->phase;
    check_init(w, i, lane, bar, false);
    record_commit(w, lane, home, n);
    if (committer)
        publish_commits(home, bar, committer);
    arrive_lanes(w, i, 1u << lane, home, n, false);
    if (committer && bar->expected == 1 && bar->phase > phase)
        committer->phases[n] = bar->phase;
    return true;
}
