/* before.c - tests of the happens-before order. The tests tell whether an access, an asynchronous operation, a phase of
 * an mbarrier or a fence happened before the current access of a lane. These tests read the vector clocks. order.c,
 * view.c and flight.c change the clocks. */
#include "before_internal.h"
#include "far_internal.h"
#include "streams_internal.h"
#include "vm_checks_internal.h"

static vm_clock *clock_of(const vm_warp *w) { return &w->block->check->warps[w->index]; }

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Returns the number of entries of a vector clock that are in use. A clock has entries for other blocks only in
 * clusters. */
static uint32_t clock_length(const vm_block *block)
{
    return VM_LANES + (block->cluster->size > 1 ? block->cluster->size : 0);
}

/* Computes `fast` again. `fast` is the minimum over all entries, or the horizon if the horizon is later. A mark whose
 * stamp is at most `fast` is ordered before every access of the warp, whichever thread of the cluster made the mark. So
 * one comparison is enough for most cells. */
void check_refresh_fast(const vm_block *block, vm_clock *c)
{
    uint32_t least = c->firm;
    for (uint32_t v = 0; v < block->warp_count; v++)
        if (&block->check->warps[v] != c)
            least = c->know[v] < least ? c->know[v] : least;
    for (uint32_t v = VM_LANES; v < clock_length(block); v++)
        if (v - VM_LANES != block->rank)
            least = c->know[v] < least ? c->know[v] : least;
    c->fast = larger(least, c->horizon);
}

void check_share_flags(const vm_warp *w)
{
    vm_clock *c = clock_of(w);
    if (!c->heard_lanes)
        return;
    c->horizon = larger(c->horizon, c->heard);
    c->fast = larger(c->fast, c->heard);
    c->heard_lanes = 0;
}

void check_acquire_flag(const vm_warp *w, uint32_t known, uint32_t lanes)
{
    vm_clock *c = clock_of(w);
    c->heard = c->heard_lanes ? larger(c->heard, known) : known;
    c->heard_lanes |= lanes;
    if ((c->heard_lanes | w->dead) == VM_ALL)
        check_share_flags(w);
}

/* Returns the rank of a block in the cluster. If the block is not in the cluster, returns the cluster's size. */
static uint32_t get_rank(const vm_cluster *cluster, uint32_t number)
{
    uint32_t rank = 0;
    while (rank < cluster->size && (uint32_t)cluster->blocks[rank]->number != number)
        rank++;
    return rank;
}

bool check_is_near(const vm_block *block, uint32_t number)
{
    return number == (uint32_t)block->number ||
           (block->cluster->size > 1 && get_rank(block->cluster, number) < block->cluster->size);
}

bool check_far_done(const vm_warp *w, uint32_t block, uint32_t warp, uint32_t lanes, uint32_t when)
{
    const vm_clock *c = &w->block->check->warps[w->index];
    const uint32_t rank = get_rank(w->block->cluster, block);
    return when <= c->horizon || rank == w->block->cluster->size || when <= c->know[VM_LANES + rank] ||
           (c->more && (check_far_knows(get_check(w), c->more->read[rank], warp, lanes, when) ||
                        check_far_knows(get_check(w), c->more->wrote[rank], warp, lanes, when)));
}

bool check_far_later(const vm_warp *w, uint32_t block, uint32_t when)
{
    const vm_clock *c = &w->block->check->warps[w->index];
    const uint32_t rank = get_rank(w->block->cluster, block);
    return when <= c->horizon || rank == w->block->cluster->size || when <= c->know[VM_LANES + rank] ||
           check_far_any(get_check(w), c->more->read[rank], when);
}

/* ---- asynchronous operations ---- */

bool check_view_knows(const vm_warp *w, uint32_t bar, uint32_t phase, uint32_t lane)
{
    const vm_clock *c = clock_of(w);
    if (bar >= VM_BARS)
        return true;
    uint32_t seen = c->more->seen[bar];
    return seen > phase && (seen - 1 > phase || c->seen_lanes[bar] >> lane & 1);
}

vm_flight *check_flight_at(const vm_check *check, uint32_t id)
{
    vm_flight *f = check->flights && id > check->launch_flight ? &check->flights[id % VM_FLIGHTS] : NULL;
    return f && f->id == id ? f : NULL;
}

/* ---- tcgen05.commit ---- */

/* Returns true if one of the commits in a phase tracks the operation. A commit tracks the earlier operations of the
 * thread that executes it. */
static bool tracks(const vm_committed *c, const vm_flight *f)
{
    for (uint32_t k = 0; k < c->count && k < VM_COMMITS; k++)
        if (c->by[k].last >= f->id && c->by[k].who == f->who && c->by[k].block == f->block)
            return true;
    return false;
}

static bool knows_phase(const vm_warp *w, uint32_t n, uint32_t phase, uint32_t lane)
{
    const vm_clock *c = clock_of(w);
    return lane == VM_LANES ? c->more->seen[n] > phase : check_view_knows(w, n, phase, lane);
}

/* Tells whether a phase of an mbarrier of the block itself shows that the operation is complete. */
static vm_order find_own_commit(const vm_warp *w, const vm_flight *f, uint32_t lane)
{
    const vm_check_block *b = w->block->check;
    const vm_tensor_warp *fenced = &b->tensor->warps[w->index];
    vm_order result = VM_UNCOMMITTED;
    for (uint32_t n = 0; n < b->bar_count; n++) {
        const vm_bar *bar = &b->bars[n];
        if (f->id <= bar->old_commit)
            return VM_IN_ORDER;
        for (unsigned k = 0; k < VM_BAR_PHASES; k++) {
            const vm_committed *c = &bar->committed[k];
            if (!tracks(c, f))
                continue;
            if (!knows_phase(w, n, c->phase, lane))
                result = result == VM_UNCOMMITTED ? VM_UNSEEN : result;
            else if (fenced->seen[n] > c->phase)
                return VM_IN_ORDER;
            else
                result = VM_NO_AFTER;
        }
    }
    return result;
}

/* Tells whether a phase of an mbarrier of another block of the cluster shows that the operation is complete. A phase
 * shows this if a thread of the other block has waited for the phase, and this warp has synchronised with that block
 * after the wait. */
static vm_order find_far_commit(const vm_warp *w, const vm_flight *f)
{
    const vm_cluster *cluster = w->block->cluster;
    vm_order result = VM_UNCOMMITTED;
    for (uint32_t r = 0; cluster->size > 1 && r < cluster->size; r++) {
        const vm_block *other = cluster->blocks[r];
        for (uint32_t n = 0; other != w->block && n < other->check->bar_count; n++) {
            const vm_bar *bar = &other->check->bars[n];
            if (f->id <= bar->old_commit)
                return VM_IN_ORDER;
            for (unsigned k = 0; k < VM_BAR_PHASES; k++) {
                const uint32_t phase = bar->committed[k].phase;
                if (!tracks(&bar->committed[k], f))
                    continue;
                result = VM_UNSEEN;
                const uint32_t when = bar->phase > phase ? bar->learned[phase % VM_BAR_PHASES] : 0;
                if (bar->phase > phase + VM_BAR_PHASES || (when && check_far_later(w, (uint32_t)other->number, when)))
                    return VM_IN_ORDER;
            }
        }
    }
    return result;
}

vm_order check_commit_order(const vm_warp *w, const vm_flight *f, uint32_t lane)
{
    if (!w->block->check->tensor || f->id <= w->block->check->tensor->lost)
        return VM_IN_ORDER;
    const vm_order own = find_own_commit(w, f, lane), far = own == VM_IN_ORDER ? VM_IN_ORDER : find_far_commit(w, f);
    return own == VM_IN_ORDER || far == VM_IN_ORDER ? VM_IN_ORDER : own == VM_UNCOMMITTED ? far : own;
}

bool check_met_after(const vm_warp *w, uint32_t v, uint32_t when)
{
    const uint32_t came = w->block->check->came[v];
    return when && when <= came && came < clock_of(w)->met_at;
}

bool check_met_commit(const vm_warp *w, const vm_flight *f)
{
    const vm_check_block *b = w->block->check;
    for (uint32_t n = 0; n < b->bar_count; n++)
        for (unsigned k = 0; k < VM_BAR_PHASES; k++) {
            const vm_committed *c = &b->bars[n].committed[k];
            for (uint32_t v = 0; tracks(c, f) && v < w->block->warp_count; v++)
                if (b->bars[n].passed[v].phases > c->phase && check_met_after(w, v, b->bars[n].passed[v].wait.stamp))
                    return true;
        }
    return false;
}

bool check_tensor_complete(const vm_warp *w, const vm_flight *f, uint32_t lane)
{
    const vm_order found = check_commit_order(w, f, lane);
    return found == VM_IN_ORDER || found == VM_NO_AFTER;
}

/* ---- the waits of threads ---- */

/* Returns true if the thread `who` waited at the time `when`, and this wait happened before the lane's access. */
static bool waited_before(const vm_warp *w, const vm_flight *f, uint32_t who, uint32_t when, uint32_t lane)
{
    vm_mark s = {.stamp = when, .who = who, .block = f->block};
    return when && check_happened_before(w, &s, lane, true);
}

/* Returns true if any warp of the warpgroup has waited for the product, and that wait happened before the warp's
 * access. The wait of one thread is enough for the whole warpgroup. */
static bool product_is_complete(const vm_warp *w, const vm_flight *f)
{
    const vm_clock *c = clock_of(w);
    const uint32_t first = f->who / VM_LANES & ~3u;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t v = first + k, when = f->done[k];
        if (when && (v == w->index || when <= c->horizon || when <= c->know[v] || when <= c->more->part[v]))
            return true;
    }
    return false;
}

/* Does the same as product_is_complete() for a product of another block of the cluster. */
static bool far_product_is_complete(const vm_warp *w, const vm_flight *f)
{
    for (uint32_t k = 0; k < 4; k++)
        if (f->done[k] && check_far_done(w, f->block, (f->who / VM_LANES & ~3u) + k, VM_ALL, f->done[k]))
            return true;
    return false;
}

/* The function handles operations of other blocks first. For the block's own operations the kind decides. A block of
 * another cluster cannot access this block's shared memory. So only its bulk copies to global memory matter. */
bool check_flight_is_complete(const vm_warp *w, uint32_t id, uint32_t by, uint32_t lane, bool read)
{
    const vm_flight *f = check_flight_at(get_check(w), id);
    if (!f)
        return true;
    /* for a STORE: the time of the wait for the reads of the copy, or for its writes */
    const uint32_t when = read && f->done[0] ? f->done[0] : f->done[1];
    if (f->block != (uint32_t)w->block->number && f->kind == VM_FLIGHT_WGMMA && check_is_near(w->block, f->block))
        return far_product_is_complete(w, f);
    if (f->kind == VM_FLIGHT_TENSOR && check_is_near(w->block, f->block))
        return check_tensor_complete(w, f, lane);
    if (f->block != (uint32_t)w->block->number && f->kind == VM_FLIGHT_STORE && read && when &&
        check_is_near(w->block, f->block) &&
        check_far_done(w, f->block, f->who / VM_LANES, 1u << f->who % VM_LANES, when))
        return true;
    /* another block's bulk copy, which writes global memory */
    if (f->block != (uint32_t)w->block->number)
        return f->kind != VM_FLIGHT_STORE || (when && when <= clock_of(w)->horizon);
    if (!clock_of(w)->more)
        return true;
    switch ((vm_flight_kind)f->kind) {
    case VM_FLIGHT_COPY:
        if (f->waited >> by & 1 && waited_before(w, f, (f->who & ~31u) | by, f->done[0], lane))
            return true;
        return f->bound >> by & 1 && check_view_knows(w, f->bar, f->phase, lane);
    case VM_FLIGHT_LOAD: return check_view_knows(w, f->bar, f->phase, lane);
    case VM_FLIGHT_STORE: return waited_before(w, f, f->who, when, lane);
    case VM_FLIGHT_WGMMA: return product_is_complete(w, f);
    case VM_FLIGHT_TENSOR:
    case VM_FLIGHT_TENSOR_LOAD:
    /* an operation of a block of another cluster, or an access that is not to shared memory */
    case VM_FLIGHT_TENSOR_STORE: break;
    }
    return true;
}

/* ---- accesses ---- */

/* check_happened_before() is the central test. It compares the time of the mark with the entry that the lane's vector
 * clock has for the mark's thread. FastTrack calls this test "epoch <= clock". The cases come in this order: operations
 * in flight, the horizon, earlier launches, other blocks, several threads at once, other warps of the block, and other
 * lanes of the same warp. */
bool check_happened_before(const vm_warp *w, const vm_mark *s, uint32_t lane, bool shared)
{
    const vm_clock *c = &w->block->check->warps[w->index];
    const uint32_t earlier = shared ? 0 : check_earlier_stamp(get_check(w), s);
    if (earlier > c->early && !(c->after >> lane & 1)) {
        const vm_prior *prior = check_prior_at(get_check(w), earlier);
        if (prior && prior->why == VM_APART_UNTIL_WAIT)
            return false;
    }
    if (s->who & VM_PENDING && !earlier)
        return check_flight_is_complete(w, s->insn, s->who % VM_LANES, lane, false);
    if (s->stamp <= c->horizon || (s->stamp <= c->heard && c->heard_lanes >> lane & 1))
        return true;
    if (earlier) {
        const vm_prior *prior = check_prior_at(get_check(w), earlier);
        return !prior || prior->why == VM_APART_UNTIL_WAIT;
    }
    if (s->block != (uint32_t)w->block->number) {
        const vm_cluster *cluster = w->block->cluster;
        uint32_t rank = cluster->size > 1 ? get_rank(cluster, s->block) : cluster->size;
        return rank < cluster->size &&
               (s->stamp <= c->know[VM_LANES + rank] ||
                (c->more && check_far_knows(get_check(w), c->more->wrote[rank], (s->who & VM_WHO) / VM_LANES,
                                            1u << s->who % VM_LANES, s->stamp)));
    }
    uint32_t warp = (s->who & VM_WHO) / VM_LANES, other = s->who % VM_LANES;
    bool many = s->who & VM_MANY;
    /* the mark stands for several threads of the block, and at least one of them is not the accessing thread */
    if (many && !shared)
        return s->stamp <= c->synced;
    if (warp != w->index)
        return s->stamp <= c->know[warp] ||
               (c->more && s->stamp <= c->more->part[warp] && c->more->lanes[warp] >> other & 1);
    if (s->stamp <= c->full || (other == lane && !many))
        return true;
    if (!c->lanes)
        return false;
    const uint32_t *row = c->lanes + lane * VM_LANES;
    uint32_t latest = 0;
    for (uint32_t k = 0; k < VM_LANES && many; k++)
        latest = larger(latest, row[k]);
    return s->stamp <= (many ? latest : row[other]);
}

/* A fence lies between the write and the access in two cases. In the first case the writing thread executed the fence
 * after the write, and the fence happened before this access. In the second case another thread executed the fence, and
 * the write happened before the fence. */
bool check_view_fenced(const vm_warp *w, const vm_mark *s, uint32_t lane)
{
    const vm_clock *c = clock_of(w);
    const uint32_t who = s->who & VM_WHO;
    if (s->stamp <= c->more->fenced_horizon)
        return true;
    /* A kernel may have launched a grid that has a block of this number, with more threads than this block. */
    if (s->block != (uint32_t)w->block->number || who / VM_LANES >= w->block->warp_count)
        return false;
    const uint32_t *last = w->block->check->fences[who];
    if (s->stamp <= c->more->fenced[who / VM_LANES] || s->stamp <= last[VM_FENCES])
        return true;
    for (unsigned n = 0; n < VM_FENCES; n++) {
        vm_mark fence = {.stamp = last[n], .who = who, .block = s->block};
        if (s->stamp <= last[n] && check_happened_before(w, &fence, lane, true))
            return true;
    }
    return false;
}
