/* order.c - the happens-before order: the vector clocks of warps, and how barriers, warp operations and fences change
 * them.
 *
 * The vector clock of a warp has an entry for each warp of its block and for each other block of its cluster (`know`).
 * The entry for the warp itself is `full`. The entry `horizon` stands for all threads beyond these. The lanes of a warp
 * have separate clocks (`lanes`) only if some lanes have synchronised without the others. A barrier joins the clocks of
 * the warps that arrive, by a pointwise maximum, and gives the join to all warps that wait.
 *
 * RACES.md has the rules of each operation. An approximate rule orders too many accesses, never too few. So the checks
 * may miss a race, but they never report a false race. */
#include <stddef.h>
#include <string.h>

#include "before_internal.h"
#include "dependent_internal.h"
#include "finding_internal.h"
#include "line_internal.h"
#include "order_internal.h"
#include "shadow_internal.h"
#include "view_internal.h"
#include "vm_checks_internal.h"
#include "vm_collective.h"

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Returns the number of entries of a vector clock that are in use. A clock has entries for other blocks only in
 * clusters. */
static uint32_t clock_length(const vm_block *block)
{
    return VM_LANES + (block->cluster->size > 1 ? block->cluster->size : 0);
}

/* Allocates the state of a resident block: clocks, barriers, and the shadow of its shared and local memory. */
bool check_block_new(vm_block *block)
{
    const vm_run_state *run = block->runner->run;
    const kiln_allocator *mem = run->device->mem;
    vm_check_block *made = kiln__calloc(mem, 1, sizeof *made);
    if (!made)
        return false;
    block->check = made;
    made->shift = run->launch->module->check->shift;
    uint64_t shared = run->shared_end > run->shared_gap ? run->shared_end : run->shared_gap;
    shared = run->shared_system ? run->shared_reach : shared;
    made->line_count = (size_t)(shared >> made->shift) / VM_LINE + 1;
    made->warps = kiln__calloc(mem, block->warp_count, sizeof *made->warps);
    made->lines = check_lines_new(mem, made->line_count);
    made->local_words = (size_t)run->local_bytes * block->warp_count * VM_LANES / 64;
    if (made->local_words)
        made->local_written = kiln__calloc(mem, made->local_words, sizeof *made->local_written);
    return made->warps && made->lines && (made->local_written || !made->local_words) && check_view_new(block);
}

void check_block_free(vm_block *block)
{
    const kiln_allocator *mem = block->runner->run->device->mem;
    vm_check_block *gone = block->check;
    if (!gone)
        return;
    for (uint32_t k = 0; gone->warps && k < block->warp_count; k++) {
        kiln__free(mem, gone->warps[k].lanes);
        kiln__free(mem, gone->warps[k].pending);
    }
    check_view_free(block);
    kiln__free(mem, gone->warps);
    check_lines_free(block->runner->run->device->check, mem, gone->lines, gone->line_count);
    kiln__free(mem, gone->local_written);
    kiln__free(mem, gone);
    block->check = NULL;
}

/* Resets the clocks for the next block that becomes resident here. Shared memory counts as unwritten, because all marks
 * in its shadow are older than `base`. A mark of an asynchronous operation has no time, so it would look newer than
 * every access. So if any asynchronous mark exists, the function clears all lines of the block's shared memory. */
void check_block_start(vm_block *block)
{
    vm_check *check = block->runner->run->device->check;
    vm_check_block *b = block->check;
    b->base = check_advance_time(check);
    if (b->arrived || block->cluster->size > 1) {
        memset(b->gates, 0, sizeof b->gates);
        memset(b->came, 0, sizeof b->came);
        memset(b->visitors, 0, sizeof b->visitors);
    }
    b->arrived = false;
    if (b->local_words)
        memset(b->local_written, 0, b->local_words * sizeof *b->local_written);
    if (b->dirty) /* true if the shadow has marks of the previous block's asynchronous operations */
        for (size_t k = 0; k < b->line_count; k++)
            check_line_clear(check, &b->lines[k]);
    b->dirty = false;
    /* The members of a clock from `know` on are set only by asynchronous instructions. Without such instructions they
     * keep their zeros. */
    const bool asynchronous = block->runner->run->launch->module->check->async;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_clock *c = &b->warps[k];
        if (c->lanes)
            memset(c->lanes, 0, VM_LANES * VM_LANES * sizeof *c->lanes);
        /* All accesses before the launch of a child kernel are ordered before the child kernel, and the child never
         * runs at the same time as its launcher. */
        uint32_t *const lanes = c->lanes, *const pending = c->pending;
        const size_t capacity = c->pending_capacity;
        memset(c, 0, asynchronous ? sizeof *c : offsetof(vm_clock, know));
        c->horizon = block->runner->run->launcher ? b->base : check->known;
        c->full = c->firm = c->synced = b->base;
        c->lanes = lanes;
        c->pending = pending;
        c->pending_capacity = capacity;
        for (uint32_t v = 0; v < (asynchronous ? VM_KNOWN : clock_length(block)); v++)
            c->know[v] = b->base;
        check_dependent_start(block, c);
        check_refresh_fast(block, c);
    }
    b->waited = b->triggered = false;
    check_view_start(block);
}

void check_children(vm_block *block)
{
    uint32_t now = check_advance_time(block->runner->run->device->check);
    for (uint32_t k = 0; k < block->warp_count; k++) {
        block->check->warps[k].horizon = now;
        check_refresh_fast(block, &block->check->warps[k]);
    }
}

/* ---- lanes of a warp ---- */

/* If all live lanes of the warp take part, the warp's own entry rises to the current time. Otherwise the function joins
 * the rows of the lane matrix that belong to the lanes in `mask`. Each of these lanes gets the join as its row, with
 * the current time in the entries of the lanes in `mask`. In both cases the lanes share the knowledge that any of them
 * has from flags and from phases of mbarriers. If one of the lanes has waited for the prerequisite launches, all of
 * them count as having waited. */
void check_join_lanes(vm_warp *w, uint32_t mask)
{
    vm_check *check = get_check(w);
    vm_clock *c = &w->block->check->warps[w->index];
    uint32_t now = check_advance_time(check);
    if (c->heard_lanes & mask)
        check_acquire_flag(w, c->heard, mask);
    if (c->more)
        check_more_lanes(w, mask);
    if (c->after & mask)
        c->after |= mask;
    if ((mask | w->dead) == VM_ALL) {
        c->full = c->firm = c->synced = now;
        check_refresh_fast(w->block, c);
        return;
    }
    if (!c->lanes)
        c->lanes = kiln__calloc(w->runner->run->device->mem, VM_LANES * VM_LANES, sizeof *c->lanes);
    c->synced = now;
    if (!c->lanes) { /* memory has run out, so all lanes count as ordered */
        c->full = c->firm = now;
        check->starved = true;
        check_refresh_fast(w->block, c);
        return;
    }
    uint32_t all[VM_LANES] = {0};
    VM_EACH(lane, mask)
        for (uint32_t k = 0; k < VM_LANES; k++)
            all[k] = larger(all[k], c->lanes[lane * VM_LANES + k]);
    VM_EACH(member, mask)
        all[member] = now;
    VM_EACH(lane, mask)
        memcpy(c->lanes + lane * VM_LANES, all, sizeof all);
}

/* Orders the lanes of an operation that waits for all its lanes but orders no memory. A shuffle is such an operation.
 * So `firm` does not change. */
static void join_loosely(vm_warp *w, uint32_t mask)
{
    vm_clock *c = &w->block->check->warps[w->index];
    if (VM_LIKELY((mask | w->dead) == VM_ALL && !c->heard_lanes && !c->more && (c->after == VM_ALL || !c->after))) {
        c->full = c->synced = check_advance_time(get_check(w)); /* `fast` does not depend on these entries */
        return;
    }
    const uint32_t firm = c->firm;
    check_join_lanes(w, mask);
    c->firm = firm;
    check_refresh_fast(w->block, c);
}

static const char *op_name(const ptx_insn *in) { return ptx_op_name((ptx_op)in->op); }

/* Reports a lane whose member mask does not name it, and a lane whose mask names another arrived lane with another mask.
 * `m` has the lanes that arrived last, and `arrived` has all lanes that have arrived. */
static void check_masks(vm_warp *w, const ptx_insn *in, uint32_t insn, const vm_u32 *masks, uint32_t m,
                        uint32_t arrived)
{
    vm_check *check = get_check(w);
    VM_EACH(lane, m) {
        kiln_check_finding *f = NULL;
        if (!(masks[lane] >> lane & 1)) {
            f = check_find_finding(w, KILN_CHECK_WARP, false, insn, VM_NO_INSN, lane, 1);
            if (f)
                f->message = check_print(check, "%s by lane %u, which is not in its member mask 0x%08x", op_name(in),
                                         lane, masks[lane]);
        } else {
            uint32_t apart = 0;
            VM_EACH(other, masks[lane] & arrived)
                apart |= (uint32_t)(masks[other] != masks[lane]) << other;
            if (!apart)
                continue;
            uint32_t other = (uint32_t)__builtin_ctz(apart);
            f = check_find_finding(w, KILN_CHECK_WARP, false, insn, VM_NO_INSN - 1, lane, 1);
            if (f)
                f->message = check_print(
                    check, "%s with member mask 0x%08x by lane %u, which names lane %u, and 0x%08x by lane %u",
                    op_name(in), masks[lane], lane, other, masks[other], other);
        }
        if (f)
            f->at.what = op_name(in);
    }
}

/* Reports lanes that shuffle from a lane that does not take part. The function computes the source lane as PTX defines
 * shfl. */
static void check_shuffle(vm_warp *w, const vm_share *share, const vm_meeting *t)
{
    const vm_code *i = share->code;
    const uint32_t insn = (uint32_t)share->frame->function->first_tally + i->insn;
    const vm_u32 *b = vm_row_of(share->frame, i->b), *c = vm_row_of(share->frame, i->c);
    VM_EACH(lane, share->lanes) {
        uint32_t bval = b[lane] & 31, cval = c[lane] & 31, seg = c[lane] >> 8 & 31;
        uint32_t most = (lane & seg) | (cval & ~seg & 31), least = lane & seg, j = 0;
        bool inside = false;
        switch (i->size) {
        case 0: j = lane - bval, inside = (int32_t)j >= (int32_t)most; break;
        case 1: j = lane + bval, inside = j <= most; break;
        case 2: j = lane ^ bval, inside = j <= most; break;
        default: j = least | (bval & ~seg & 31), inside = j <= most; break;
        }
        uint32_t part = t->lanes & t->masks[lane];
        if (!inside || j == lane || part >> (j & 31) & 1)
            continue;
        kiln_check_finding *f = check_find_finding(w, KILN_CHECK_WARP, false, insn, VM_NO_INSN, lane, 1);
        if (!f)
            continue;
        f->at.what = op_name(&share->frame->function->ptx->insns[i->insn]);
        f->message = check_print(get_check(w), "%s by lane %u reads from lane %u, which %s", f->at.what, lane, j & 31,
                                 w->dead >> (j & 31) & 1 ? "has exited or does not exist" : "does not take part");
    }
}

/* Returns true if all lanes take part and each lane names all lanes. Then no mask is wrong, and a shuffle may read any
 * lane. */
static bool is_whole_warp(const vm_meeting *t)
{
    uint32_t all = t->lanes;
    for (uint32_t lane = 0; lane < VM_LANES; lane++)
        all &= t->masks[lane];
    return all == VM_ALL;
}

/* Orders the lanes of a complete warp operation. The lanes of a group with a common mask are ordered among each other,
 * and no other lanes. Only bar.warp.sync also orders memory. If only other operations lie between a write and a read of
 * two lanes, the read gets a note (is_loose() in race.c). */
void check_order_meeting(vm_warp *w, const vm_code *i, uint32_t m, const vm_meeting *t)
{
    const ptx_function *f = w->frame->function->ptx;
    if (i->insn >= f->insn_count)
        return;
    if (!t->masks) { /* mma and similar operations have no mask, so all lanes take part */
        join_loosely(w, t->lanes);
        return;
    }
    const ptx_insn *in = &f->insns[i->insn];
    uint32_t left = t->lanes;
    if (VM_LIKELY(is_whole_warp(t))) {
        if (in->op == PTX_OP_BAR_WARP)
            check_join_lanes(w, VM_ALL);
        else
            join_loosely(w, VM_ALL);
        return;
    }
    check_masks(w, in, vm_insn_of(w, i), t->masks, m, t->lanes | m);
    for (uint32_t k = 0; in->op == PTX_OP_SHFL && k < t->count; k++)
        check_shuffle(w, &t->shares[k], t);
    while (left) { /* one round for each group of lanes with a common mask */
        uint32_t first = (uint32_t)__builtin_ctz(left), group = (t->masks[first] & t->lanes) | 1u << first;
        if (in->op == PTX_OP_BAR_WARP)
            check_join_lanes(w, group);
        else
            join_loosely(w, group);
        left &= ~group;
    }
}

/* ---- barriers of a block ---- */

static bool is_aligned(const ptx_insn *in) { return in->op == PTX_OP_BAR || ptx_has(in, PTX_MOD_ALIGNED); }

/* Joins the warp's clock into the join of the barrier. The warp's own entry is the current time. */
void check_arrive(vm_warp *w, uint32_t id)
{
    const vm_clock *c = &w->block->check->warps[w->index];
    vm_gate *gate = &w->block->check->gates[id];
    w->block->check->arrived = true;
    check_share_flags(w);
    for (uint32_t v = 0; v < clock_length(w->block); v++)
        gate->know[v] = larger(gate->know[v], c->know[v]);
    gate->horizon = larger(gate->horizon, c->horizon);
    gate->early = larger(gate->early, check_dependent_known(w));
    gate->know[w->index] = check_advance_time(get_check(w));
    if (c->more)
        check_more_join(w->block, &w->block->check->gate_more[id], c->more);
}

/* Joins the warp's clock into the join of the cluster's barrier. The other blocks get one entry for this whole block,
 * and not an entry for each warp. A relaxed arrival contributes only the time of the warp's last fence. For
 * check_visitors() even a relaxed arrival orders the blocks. A block exits only after the arrivals of the other blocks,
 * so it exits after this warp's earlier accesses. */
void check_cluster_arrive(vm_warp *w, bool relaxed)
{
    const vm_cluster *cluster = w->block->cluster;
    const vm_clock *c = &w->block->check->warps[w->index];
    w->block->check->came[w->index] = check_advance_time(get_check(w));
    if (relaxed) {
        for (uint32_t k = 0; k < cluster->size; k++) {
            vm_mark *visit = &cluster->blocks[k]->check->visitors[w->block->rank];
            if ((visit->who & VM_WHO) / VM_LANES == w->index)
                visit->stamp = 0;
            vm_gate *gate = &cluster->blocks[k]->check->gates[VM_BARRIERS];
            gate->horizon = larger(gate->horizon, larger(c->released, c->released_cta));
        }
        return;
    }
    check_arrive(w, VM_BARRIERS);
    uint32_t now = check_advance_time(get_check(w));
    for (uint32_t k = 0; k < cluster->size; k++) {
        vm_gate *gate = &cluster->blocks[k]->check->gates[VM_BARRIERS];
        gate->horizon = larger(gate->horizon, c->horizon);
        gate->early = larger(gate->early, check_dependent_known(w));
        for (uint32_t v = VM_LANES; v < clock_length(w->block); v++)
            gate->know[v] = larger(gate->know[v], c->know[v]);
        gate->know[VM_LANES + w->block->rank] = now;
    }
}

/* Gives the join of a barrier to lanes that pass the barrier. `more` is the asynchronous part of the join. If `more` is
 * NULL, the lanes get the asynchronous parts of all warps of their block instead. */
static void pass_gate(vm_warp *w, const vm_gate *gate, const vm_more *more, uint32_t lanes, uint32_t now)
{
    vm_clock *c = &w->block->check->warps[w->index];
    for (uint32_t v = 0; v < clock_length(w->block); v++)
        c->know[v] = larger(c->know[v], gate->know[v]);
    c->horizon = larger(c->horizon, gate->horizon);
    check_dependent_learn(w, gate->early, lanes);
    c->synced = now;
    if (c->more && more)
        check_more_learn(w, more, lanes);
    else if (c->more)
        check_more_acquire(w, c->horizon);
    if ((lanes | w->dead) == VM_ALL)
        c->full = c->firm = now;
    else
        check_join_lanes(w, lanes);
    check_refresh_fast(w->block, c);
}

void check_know_all(vm_warp *w)
{
    vm_clock *c = &w->block->check->warps[w->index];
    c->horizon = c->synced = check_advance_time(get_check(w));
    check_dependent_acquire(w, c->horizon);
    if (c->more)
        check_more_acquire(w, c->horizon);
    check_refresh_fast(w->block, c);
}

void check_cluster_wait(vm_warp *w, uint32_t m)
{
    vm_clock *c = &w->block->check->warps[w->index];
    c->met = true;
    c->met_at = check_advance_time(get_check(w));
    pass_gate(w, &w->block->check->opened, NULL, m, c->met_at);
}

/* Reports a wrong number or a wrong count of a barrier. If both are right, joins the clock of the arriving warp into
 * the barrier. */
void check_barrier(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t id = vm_r32(w, i->a)[__builtin_ctz(m)];
    uint32_t need = i->b ? vm_r32(w, i->b)[__builtin_ctz(m)] : 0;
    const vm_barrier *barrier = id < VM_BARRIERS ? &w->block->barriers[id] : NULL;
    if (!barrier || (i->b && (need == 0 || need % VM_LANES)) || (barrier->arrived && barrier->need != need)) {
        get_check(w)->told = true; /* the instruction raises a fault, which needs no second finding */
        kiln_check_finding *f = check_find_finding(w, KILN_CHECK_BARRIER, false, vm_insn_of(w, i), VM_NO_INSN,
                                                   (uint32_t)__builtin_ctz(m), (unsigned)__builtin_popcount(m));
        if (!f)
            return;
        f->at.what = "barrier";
        if (barrier && barrier->arrived)
            f->message = check_print(get_check(w), "barrier %u for %u threads while others wait there for %u", id, need,
                                     barrier->need);
        else
            f->message = check_print(get_check(w),
                                     "barrier %u for %u threads: barriers have the numbers 0 to 15, and a number of "
                                     "threads that is a multiple of 32",
                                     id, need);
        return;
    }
    check_arrive(w, id);
}

/* Returns the lanes of a warp that wait at the barrier, and sets *first to the path of the first of these lanes. Sets
 * *apart to true if these lanes wait at different instructions. */
static uint32_t find_waiting_lanes(const vm_warp *w, uint32_t barrier, const vm_path **first, bool *apart)
{
    uint32_t lanes = 0;
    *first = NULL;
    *apart = false;
    for (uint32_t p = 0; p < w->path_count; p++) {
        const vm_path *path = &w->paths[p];
        if (path->state != VM_PATH_BARRIER || path->barrier != barrier)
            continue;
        *apart |= *first && (*first)->pc != path->pc;
        *first = *first ? *first : path;
        lanes |= path->arrived;
    }
    return lanes;
}

static uint32_t get_insn(const vm_path *path)
{
    return (uint32_t)(path->frame->function->first_tally + path->pc->insn);
}

/* Reports an aligned barrier that opens while some lanes of a warp are missing or wait at another instruction. */
static void check_aligned(vm_warp *w, uint32_t id, uint32_t lanes, const vm_path *first, bool apart)
{
    const ptx_function *f = first->frame->function->ptx;
    if (first->pc->insn >= f->insn_count || !is_aligned(&f->insns[first->pc->insn]) ||
        (!apart && (lanes | w->dead) == VM_ALL))
        return;
    uint32_t other = VM_NO_INSN;
    for (uint32_t p = 0; p < w->path_count && apart; p++)
        if (w->paths[p].state == VM_PATH_BARRIER && w->paths[p].barrier == id && w->paths[p].pc != first->pc)
            other = get_insn(&w->paths[p]);
    kiln_check_finding *found = check_find_finding(w, KILN_CHECK_BARRIER, false, get_insn(first), other,
                                                   (uint32_t)__builtin_ctz(first->arrived), 1);
    if (!found)
        return;
    found->at.what = found->other.what = "barrier";
    if (apart)
        found->message = check_print(get_check(w), "lanes of one warp wait at barrier %u at different places", id);
    else {
        found->other.what = NULL;
        found->message = check_print(get_check(w),
                                     "barrier %u opens for lanes 0x%08x of a warp whose lanes 0x%08x did not arrive",
                                     id, lanes, ~(lanes | w->dead));
    }
}

/* Sets the entry of each block of the cluster in which at least one thread has exited to the current time, because an
 * exited thread counts as arrived. */
static void count_exited(const vm_cluster *cluster, vm_gate *gate, uint32_t now)
{
    for (uint32_t k = 0; k < cluster->size; k++)
        if (cluster->blocks[k]->live < cluster->runner->run->block_threads)
            gate->know[VM_LANES + k] = now;
}

/* If every live thread of each warp that waits at a barrier has executed a fence for the device since its last barrier, publishes all
 * accesses before this barrier. Barriers of the grid rely on this: all threads execute __threadfence() and
 * __syncthreads(), and then the first thread sets a flag. PTX's memory model demands a fence after the barrier by the
 * thread that sets the flag. But a device performs the writes of a thread before the thread's fence completes, so
 * fences before the barrier are enough. This rule is approximate: an access between the fence and the barrier counts as
 * published too. */
static void publish_barrier(vm_block *block, const uint32_t lanes[VM_LANES], uint32_t now)
{
    bool fenced = true;
    for (uint32_t k = 0; k < block->warp_count; k++)
        fenced = fenced && (!lanes[k] || (block->check->warps[k].fencing | block->warps[k].dead) == VM_ALL);
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_clock *c = &block->check->warps[k];
        if (lanes[k] && fenced)
            c->released = c->released_cta = now;
        if (lanes[k])
            c->fencing = 0;
    }
}

/* Opens a barrier. Checks how the warps wait there, gives the join of the clocks to each of them, and then empties the
 * join. The number VM_BARRIERS is the cluster's barrier. Warps may wait at the cluster's barrier after it has
 * opened, so `opened` gets a copy of its join. If the barrier is for all threads, exited warps count as arrived. */
void check_open(vm_block *block, uint32_t id)
{
    vm_check *check = block->runner->run->device->check;
    vm_gate *gate = &block->check->gates[id];
    uint32_t now = check_advance_time(check), lanes[VM_LANES], insn = VM_NO_INSN;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_warp *w = &block->warps[k];
        const vm_path *first;
        bool apart;
        lanes[k] = find_waiting_lanes(w, id, &first, &apart);
        if (lanes[k])
            check_aligned(w, id, lanes[k], first, apart);
        if (lanes[k] && insn == VM_NO_INSN)
            insn = get_insn(first);
        /* true if the warp has exited; it then counts as arrived, because the barrier is for all threads */
        bool left = w->dead == VM_ALL && block->barriers[id].need == 0;
        if (left || (id < VM_BARRIERS && lanes[k] && (lanes[k] | w->dead) == VM_ALL))
            gate->know[k] = now;
        if (lanes[k] && insn != get_insn(first) && id < VM_BARRIERS && block->barriers[id].need == 0) {
            kiln_check_finding *f = check_find_finding(w, KILN_CHECK_BARRIER, true, insn, get_insn(first),
                                                       (uint32_t)__builtin_ctz(lanes[k]), 1);
            if (f) {
                f->at.what = f->other.what = "barrier";
                f->message = check_print(check, "warps of one block wait at barrier %u at different places", id);
            }
        }
    }
    if (id == VM_BARRIERS)
        count_exited(block->cluster, gate, now);
    for (uint32_t k = 0; k < block->warp_count; k++)
        if (lanes[k])
            pass_gate(&block->warps[k], gate, block->check->gate_more ? &block->check->gate_more[id] : NULL, lanes[k],
                      now);
    for (uint32_t k = 0; k < block->warp_count && id == VM_BARRIERS; k++)
        if (lanes[k]) {
            block->check->warps[k].met = true;
            block->check->warps[k].met_at = now;
        }
    if (id < VM_BARRIERS)
        publish_barrier(block, lanes, now);
    check_advance_time(check);
    if (id == VM_BARRIERS)
        block->check->opened = *gate;
    memset(gate, 0, sizeof *gate);
    if (block->check->gate_more)
        memset(&block->check->gate_more[id], 0, sizeof *block->check->gate_more);
}

/* Returns true if a reconvergence point is followed only by the end of the kernel. Lanes that wait at such a point have
 * returned early from the kernel. */
static bool is_end(const vm_sync *sync)
{
    const vm_function *function = sync->frame->function;
    const vm_code *i = sync->pc, *end = function->code + function->code_count;
    while (i && i < end && i->guard & 2)
        i++;
    if (!i || i >= end || i->insn >= function->ptx->insn_count)
        return true;
    unsigned op = function->ptx->insns[i->insn].op;
    return (op == PTX_OP_RET && !sync->frame->caller) || op == PTX_OP_EXIT;
}

/* Reports each aligned barrier at which some lanes of a warp wait while other lanes wait at a reconvergence point. Lanes that wait at the end of the kernel do not count, because PTX allows an early return. */
void check_stuck(vm_block *block)
{
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_warp *w = &block->warps[k];
        for (uint32_t p = 0; p < w->path_count; p++) {
            const vm_path *path = &w->paths[p];
            const ptx_function *f = path->frame->function->ptx;
            if (path->state != VM_PATH_BARRIER || path->pc->insn >= f->insn_count ||
                !is_aligned(&f->insns[path->pc->insn]))
                continue;
            for (uint32_t s = 0; s < VM_LANES; s++) {
                const vm_sync *sync = &w->syncs[s];
                if (!(w->sync_used >> s & 1) || !sync->waiting || !sync->pc || is_end(sync))
                    continue;
                kiln_check_finding *found =
                    check_find_finding(w, KILN_CHECK_BARRIER, false, get_insn(path),
                                       (uint32_t)(sync->frame->function->first_tally + sync->pc->insn),
                                       (uint32_t)__builtin_ctz(path->arrived), 1);
                if (!found)
                    continue;
                found->at.what = "barrier";
                found->other.what = "reconvergence point";
                found->message = check_print(
                    block->runner->run->device->check,
                    "barrier in divergent code: lanes 0x%08x of a warp wait at it, lanes 0x%08x went past it",
                    path->arrived, sync->waiting);
            }
        }
    }
}

/* Reports each place where threads wait, if no warp can ever continue. */
void check_deadlock(vm_block *block)
{
    vm_check *check = block->runner->run->device->check;
    check->told = true;
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_warp *w = &block->warps[k];
        for (uint32_t p = 0; p < w->path_count; p++) {
            const vm_path *path = &w->paths[p];
            const ptx_function *f = path->frame->function->ptx;
            bool barrier = path->state == VM_PATH_BARRIER;
            kiln_check_finding *found =
                check_find_finding(w, barrier ? KILN_CHECK_BARRIER : KILN_CHECK_WARP, false, get_insn(path), VM_NO_INSN,
                                   (uint32_t)__builtin_ctz(path->arrived), (unsigned)__builtin_popcount(path->arrived));
            if (!found)
                continue;
            found->at.what = path->pc->insn < f->insn_count ? op_name(&f->insns[path->pc->insn]) : "end";
            if (barrier && path->barrier == VM_BARRIERS)
                found->message = check_print(check, "barrier.cluster never completes: %u of %u threads arrived",
                                             block->cluster->arrived, block->cluster->live);
            else if (barrier)
                found->message = check_print(check, "barrier %u never completes: %u of %s threads arrived",
                                             path->barrier, block->barriers[path->barrier].arrived,
                                             block->barriers[path->barrier].need
                                                 ? check_print(check, "%u", block->barriers[path->barrier].need)
                                                 : "all");
            else
                found->message = check_print(check, "%s by lanes 0x%08x waits for lanes that never arrive",
                                             found->at.what, path->arrived);
        }
    }
}

/* ---- fences ---- */

/* A fence only records its time. The next strong write attaches this time to its cell: see publish_flag(). */
void check_release(vm_warp *w, bool block)
{
    vm_clock *c = &w->block->check->warps[w->index];
    uint32_t now = check_advance_time(get_check(w));
    c->released_cta = now;
    if (!block)
        c->released = now;
}

void check_fence(vm_warp *w, const ptx_insn *in, uint32_t lanes)
{
    check_release(w, ptx_has(in, PTX_MOD_CTA));
    if (!ptx_has(in, PTX_MOD_CTA))
        w->block->check->warps[w->index].fencing |= lanes;
}
