/* access.c - checks loads, stores, atomics, cp.async and matrix accesses. This file makes one pass over the shadow
 * cells that the lanes of an instruction touch. bounds.c, race.c and uninitialised.c report the defects that this pass
 * finds. Two facts make the common case cheap. First, the address differences between lanes repeat from warp to warp,
 * so a table entry for each instruction (vm_pattern) remembers which lanes touch the same cell. Second, if all marks of
 * a cell are older than the warp's limit, one comparison for each mark decides that there is no race.
 *
 * A checked launch runs on one host thread, so this file needs no locks. */
#include <inttypes.h>
#include <string.h>

#include "access_internal.h"
#include "before_internal.h"
#include "bounds_internal.h"
#include "dependent_internal.h"
#include "finding_internal.h"
#include "flight_internal.h"
#include "line_internal.h"
#include "look_internal.h"
#include "order_internal.h"
#include "race_internal.h"
#include "shadow_internal.h"
#include "streams_internal.h"
#include "uninitialised_internal.h"
#include "view_internal.h"
#include "vm_checks_internal.h"
#include "vm_block.h"
#include "vm_builtin.h"
#include "vm_memory.h"
#include "vm_multimem.h"

#define POISON32 0xa5a5a5a5u

/* ---- patterns ---- */

/* Groups the lanes by address: lanes with the same address share one entry. An open-addressing hash table with 64 slots
 * finds equal addresses. The pattern keeps this result, unless a distance does not fit into 32 bits. */
static void make_pattern(vm_check *check, vm_pattern *p, const vm_access *a, uint32_t insn)
{
    enum { SLOTS = 64 };
    uint8_t slot[SLOTS];
    uint64_t used = 0, base = a->address[__builtin_ctz(a->lanes)];
    bool wide = false;
    if (p->hits) /* a pattern that was never hit has no parts */
        check_parts_drop(check, p);
    if (a->lanes != VM_ALL)
        memset(p->live, 0, sizeof p->live);
    p->lanes = a->lanes;
    p->bytes = a->bytes;
    p->count = p->hits = 0;
    p->low = p->high = 0;
    p->bits = 0;
    p->allocation = NULL;
    p->generation = 0;
    VM_EACH(lane, a->lanes) {
        int64_t rel = (int64_t)(a->address[lane] - base);
        unsigned h = (unsigned)(((uint64_t)rel * 0x9e3779b97f4a7c15u) >> 58);
        wide |= rel != (int32_t)rel;
        p->rel[lane] = (uint32_t)rel;
        p->live[lane] = UINT32_MAX;
        p->bits |= (uint64_t)rel;
        while (used >> h & 1 && p->at[slot[h]] != rel)
            h = (h + 1) % SLOTS;
        if (used >> h & 1) {
            p->who[slot[h]] |= 1u << lane;
            continue;
        }
        used |= (uint64_t)1 << h;
        slot[h] = (uint8_t)p->count;
        p->lane[p->count] = (uint8_t)lane;
        p->at[p->count] = rel;
        p->who[p->count++] = 1u << lane;
        p->low = rel < p->low ? rel : p->low;
        p->high = rel > p->high ? rel : p->high;
    }
    p->insn = wide ? 0 : insn + 1;
}

/* Returns true if the addresses of the access have the distances of the pattern. The function ignores lanes that do not
 * take part in the access. */
static bool fits_pattern(const vm_pattern *p, const vm_access *a)
{
    if (a->lanes & ~p->lanes)
        return false;
    const uint32_t first = (uint32_t)__builtin_ctz(a->lanes);
    const uint64_t base = a->address[first] - (uint64_t)(int64_t)(int32_t)p->rel[first];
    uint64_t apart = 0;
    VM_EACH(l, a->lanes)
        apart |= a->address[l] - base - (uint64_t)(int64_t)(int32_t)p->rel[l];
    return apart == 0;
}

/* Sets *whole to an access of all lanes, with the distance between neighbouring lanes that `a` has. Returns false if
 * the distances in `a` differ, or if `a` has fewer than two lanes. */
static bool extend_access(const vm_access *a, vm_access *whole)
{
    const uint32_t first = (uint32_t)__builtin_ctz(a->lanes), rest = a->lanes & (a->lanes - 1);
    if (!rest)
        return false;
    const uint32_t second = (uint32_t)__builtin_ctz(rest);
    const int64_t away = (int64_t)(a->address[second] - a->address[first]), step = away / (int64_t)(second - first);
    if (step == 0 || step * (int64_t)(second - first) != away)
        return false;
    *whole = (vm_access){.space = a->space, .kind = a->kind, .bytes = a->bytes, .lanes = VM_ALL};
    for (uint32_t l = 0; l < VM_LANES; l++)
        whole->address[l] = a->address[first] + (uint64_t)step * (l - (uint64_t)first);
    VM_EACH(l, a->lanes)
        if (whole->address[l] != a->address[l])
            return false;
    return true;
}

/* Finds a pattern for an access by some lanes of the warp. The mask of these lanes may differ from time to time. The
 * cached pattern is for all lanes, and quick.c leaves out the lanes that do not take part. Returns a pattern of exactly
 * this access, which is not cached. Returns NULL if the distances between the lanes differ. The access then needs its
 * own cached pattern. */
static vm_pattern *get_part_pattern(vm_check *check, vm_pattern *p, const vm_access *a, uint32_t insn)
{
    vm_access whole;
    if (p->insn == insn + 1 && p->bytes == a->bytes && fits_pattern(p, a))
        p->hits += check->quick && p->hits < check->often;
    else if (extend_access(a, &whole))
        make_pattern(check, p, &whole, insn);
    else
        return NULL;
    make_pattern(check, &check->spare, a, insn);
    return &check->spare;
}

/* Returns the pattern of an access. This is the cached pattern if the distances between the lanes are the same,
 * otherwise a new pattern that replaces it. */
static vm_pattern *get_pattern(vm_check *check, const vm_access *a, uint32_t insn)
{
    vm_pattern *p = check->patterns[insn % VM_PATTERNS];
    if (VM_LIKELY(p && p->insn == insn + 1 && p->lanes == a->lanes && p->bytes == a->bytes)) {
        uint64_t base = a->address[__builtin_ctz(a->lanes)], apart = 0;
        for (uint32_t l = 0; l < VM_LANES; l++) {
            uint64_t rel = a->address[l] - base;
            apart |= (rel ^ (uint64_t)(int64_t)(int32_t)p->rel[l]) & (uint64_t)(int64_t)(int32_t)p->live[l];
        }
        if (VM_LIKELY(apart == 0)) {
            p->hits += check->quick && p->hits < check->often;
            return p;
        }
    }
    if (!p)
        p = check->patterns[insn % VM_PATTERNS] = kiln__calloc(check->mem, 1, sizeof *p);
    vm_pattern *part = p && a->lanes != VM_ALL ? get_part_pattern(check, p, a, insn) : NULL;
    if (part)
        return part;
    if (!p)
        p = &check->spare;
    make_pattern(check, p, a, insn);
    return p;
}

/* ---- cells ---- */

/* Returns a limit: all marks up to this time are ordered before an access of these lanes. */
static inline uint32_t get_limit(const vm_clock *c, bool shared, uint32_t lanes)
{
    return shared ? c->fast : check_dependent_limit(c, lanes);
}

/* Returns true if the reads `a` and `b` may share a read slot: in shared memory two reads of one warp, in global memory
 * two reads of one block of this launch. */
static inline bool is_same_group(const vm_look *k, const vm_mark *a, const vm_mark *b)
{
    return a->block == b->block &&
           (k->shared ? ((a->who ^ b->who) & VM_WHO) / VM_LANES == 0 : a->stamp > k->check->launch);
}

/* Merges a read into a mark of the same warp or block. If the same thread made both reads, or if the old read is
 * ordered before the new read, the new read replaces the old read. In other cases the merged mark represents several
 * threads (VM_MANY): it keeps the first thread and its instruction, takes the new time, and is strong only if both
 * reads are strong. */
static void merge_read(vm_look *k, vm_mark *r, const vm_mark *me)
{
    if (((r->who ^ me->who) & (VM_WHO | VM_MANY)) == 0 ||
        check_happened_before(k->w, r, me->who % VM_LANES, k->shared)) {
        *r = *me;
        return;
    }
    r->stamp = me->stamp;
    r->who = (r->who | VM_MANY) & (me->who | ~(uint32_t)VM_STRONG_SIDE);
}

/* Records a read in the two read slots (r1, r2) of the cell. A slot is free if its mark is ordered before this read. If
 * r1 is free, the new read goes there. If a slot has a read of the same warp or block, the new read is merged into that
 * slot. If neither slot is free or has such a read, the mark of r1 moves to r2, and r1 gets the new read. If r2 had a
 * concurrent read of a third warp or block, that read is lost, and a race with it may be missed. The lost read is
 * usually the oldest of the three reads, unless merge_read() has renewed its mark. */
static inline void record_read(vm_look *k, vm_cell *c, const vm_mark *me)
{
    if (c->r1.stamp <= k->limit)
        c->r1 = *me;
    else if (is_same_group(k, &c->r1, me))
        merge_read(k, &c->r1, me);
    else if (c->r2.stamp > k->limit && is_same_group(k, &c->r2, me))
        merge_read(k, &c->r2, me);
    else
        c->r2 = c->r1, c->r1 = *me;
}

/* Performs the acquire of a strong load or an atomic. For the thread that reads a flag, all accesses up to the last
 * fence of the flag's writer happened before. A fence for the block (published_cta) counts only if the reader's block
 * made the last write. A cell has only one time for a whole release sequence. So the lanes' entry for all other threads
 * rises to this time. The entry may then order accesses of threads that have not synchronised with the writer, so a
 * race may be missed. */
static void acquire_flag(vm_look *k, const vm_cell *c, uint32_t lanes)
{
    uint32_t known = c->published;
    if (c->published_cta > known && c->w.block == k->block)
        known = c->published_cta;
    if (VM_UNLIKELY(k->clock->after != VM_ALL)) {
        check_dependent_acquire(k->w, known);
        k->limit = get_limit(k->clock, k->shared, k->a->lanes);
    }
    if (known <= k->clock->horizon)
        return;
    check_acquire_flag(k->w, known, lanes);
    k->clock->synced = k->now;
    k->limit = get_limit(k->clock, k->shared, k->a->lanes);
    if (k->clock->more)
        check_more_acquire(k->w, known);
}

/* Performs the release of a strong write: attaches the time of the writer's last fence to the cell. The times of
 * earlier writers stay in the cell, as in a release sequence. */
static void publish_flag(vm_look *k, vm_cell *c)
{
    if (c->published < k->clock->released)
        c->published = k->clock->released;
    if (c->published_cta < k->clock->released_cta)
        c->published_cta = k->clock->released_cta;
}

/* Orders the lanes of a warp that update the same address by one atomic. The lanes update the address one after the
 * other. If the atomic counts arrivals, the lane that updates the counter last sees the full count, and may then read
 * the data that the other lanes wrote before their fence. The checks do not know which lane comes last. Therefore this
 * function orders all lanes after the warp's last fence, as if __syncwarp() followed the fence. */
static void order_updating_lanes(vm_look *k, uint32_t lanes)
{
    const uint32_t fence = k->clock->released > k->clock->released_cta ? k->clock->released : k->clock->released_cta;
    if (lanes & (lanes - 1) && k->a->kind & VM_ATOMIC && k->clock->full < fence)
        k->clock->full = k->clock->firm = fence;
}

/* Checks one cell against one access of some lanes, and records the access in the cell. `lane` is the first of these
 * lanes, and `offset` is the distance of the cell from this lane's address. */
static void check_cell(vm_look *k, vm_cell *c, vm_mark me, uint32_t lanes, uint32_t lane, uint64_t offset)
{
    k->flagged = k->shared && c->published_cta > k->home->check->base;
    /* a strong store reads no value, so it acquires nothing */
    if (VM_UNLIKELY(k->strong && !k->quiet && k->a->kind & VM_READS))
        acquire_flag(k, c, lanes);
    if (VM_UNLIKELY(c->w.stamp > k->limit))
        check_conflict(k, &c->w, true, lanes, offset);
    if (VM_UNLIKELY(k->flight))
        check_proxy(k, &c->w, lane, offset);
    if (!k->write) {
        if (VM_UNLIKELY(k->flight && k->shared))
            check_flight_read(k, c);
        else
            record_read(k, c, &me);
        return;
    }
    if (VM_UNLIKELY(k->shared && (c->readers[0] | c->readers[1])))
        check_readers(k, c, lane, offset);
    if (VM_UNLIKELY(c->r1.stamp > k->limit))
        check_conflict(k, &c->r1, false, lanes, offset);
    if (VM_UNLIKELY(c->r2.stamp > k->limit))
        check_conflict(k, &c->r2, false, lanes, offset);
    if (VM_UNLIKELY(k->flight && k->shared)) {
        check_proxy_read(k, &c->r1, lane, offset);
        check_proxy_read(k, &c->r2, lane, offset);
    }
    c->w = me;
    if (VM_UNLIKELY(k->strong && !k->quiet)) {
        publish_flag(k, c);
        order_updating_lanes(k, lanes);
    }
    if (VM_UNLIKELY(k->flight) && !(k->strong && check_flight_is_generic(k->check, k->flight)))
        check_flight_write(k, c, &me);
}

/* Returns true if the mark belongs to the thread that makes this access, and to no other thread. */
static inline bool is_own_mark(const vm_look *k, const vm_marks *m, uint32_t n, const vm_mark *me)
{
    return ((m->who[n] ^ me->who) & (VM_WHO | VM_MANY | VM_PENDING)) == 0 && !(me->who & VM_MANY) &&
           m->block[n] == me->block && m->stamp[n] > (k->shared ? k->home->check->base : k->check->launch);
}

/* Handles the common case of check_cell(). Records the access if each mark that could conflict with it is ordered
 * before this access, or belongs to the accessing thread. Otherwise returns false and changes nothing, and the caller
 * must call check_cell(). */
static inline bool check_cell_plain(vm_look *k, vm_cells *g, uint32_t n, const vm_mark *me)
{
    const uint32_t limit = k->limit;
    if (VM_UNLIKELY(g->w.stamp[n] > limit && !is_own_mark(k, &g->w, n, me)))
        return false;
    if (k->write) {
        if (VM_UNLIKELY((g->r1.stamp[n] > limit && !is_own_mark(k, &g->r1, n, me)) ||
                        (g->r2.stamp[n] > limit && !is_own_mark(k, &g->r2, n, me)) ||
                        g->constant[n] | g->constant_insn[n]))
            return false;
        vm_mark_put(&g->w, n, me);
        return true;
    }
    if (VM_UNLIKELY(k->constant && !k->shared)) {
        if (g->w.stamp[n] > k->check->launch)
            return false;
        g->constant[n] = k->now, g->constant_insn[n] = k->insn;
    }
    vm_mark r1 = *me; /* the following lines do the same as record_read() */
    if (g->r1.stamp[n] > limit) {
        vm_mark old = vm_mark_get(&g->r1, n), r2 = vm_mark_get(&g->r2, n);
        if (is_same_group(k, &old, me)) {
            merge_read(k, &old, me);
            r1 = old;
        } else if (r2.stamp > limit && is_same_group(k, &r2, me)) {
            merge_read(k, &r2, me);
            vm_mark_put(&g->r2, n, &r2);
            return true;
        } else {
            vm_mark_put(&g->r2, n, &old);
        }
    }
    vm_mark_put(&g->r1, n, &r1);
    return true;
}

/* Handles the common case of an atomic or a strong store in shared memory: the access neither reads nor publishes a
 * flag, and every mark that is newer than the limit is a strong access of this block. Otherwise returns false and
 * changes nothing. */
static inline bool check_cell_strong(const vm_look *k, vm_cells *g, uint32_t n, const vm_mark *me)
{
    if (!k->shared || !k->write || k->quiet || k->sides != VM_STRONG_SIDE || k->clock->after != VM_ALL ||
        (k->clock->released | k->clock->released_cta | g->published[n] | g->published_cta[n] | g->constant[n] |
         g->constant_insn[n]) != 0 ||
        g->r1.stamp[n] > k->limit || g->r2.stamp[n] > k->limit ||
        (g->w.stamp[n] > k->limit &&
         ((g->w.who[n] & (VM_STRONG_SIDE | VM_PENDING)) != VM_STRONG_SIDE || g->w.block[n] != k->block)))
        return false;
    vm_mark_put(&g->w, n, me);
    return true;
}

/* Makes the description of the access that check_compact_plain() needs. `owner` is the check of the device that owns
 * the memory. */
static vm_plain make_plain(const vm_look *k, vm_check *owner)
{
    return (vm_plain){.check = owner,
                      .clock = k->clock,
                      .now = k->now,
                      .insn = k->insn,
                      .block = k->block,
                      .who = k->w->index * VM_LANES | (k->w->block->check->triggered ? VM_LATE_SIDE : 0),
                      .limit = k->limit,
                      .base = k->shared ? k->home->check->base : k->check->launch,
                      .shared = k->shared,
                      .read_only = k->constant,
                      /* lanes whose distances have just changed, and that are spread over many lines */
                      .scattered = k->check->quick && !k->shared && !k->write && !k->p->hits && k->p->count > 1 &&
                                   k->p->high - k->p->low >= (int64_t)VM_SHADOW_PAGE / 4,
                      .readers = true};
}

/* Checks a plain access to one cell of a compact line. Otherwise like check_cell_plain(). */
static bool check_compact_plain(const vm_look *k, const vm_plain *plain, vm_line *line, unsigned n, const vm_mark *me)
{
    const vm_touch touch = {
        .in = (uint32_t)1 << n, .many = me->who & VM_MANY, .lane = (int8_t)(me->who % VM_LANES), .step = VM_STEP_ONE};
    if (k->clock->synced >= k->now) /* check_quick() tells why */
        return false;
    if (!k->write)
        return check_line_read_cell(plain, line, &touch);
    if (!check_line_may_write(plain, line, &touch))
        return false;
    check_line_record(plain, line, VM_ROLE_WRITE, &touch);
    return true;
}

/* Checks cell n of a line for an entry of the pattern. */
static void visit_cell(vm_look *k, const vm_plain *plain, vm_line *line, unsigned n, uint32_t entry, uint64_t offset)
{
    const uint32_t lane = k->p->lane[entry], lanes = k->p->who[entry];
    const vm_mark me = {.stamp = k->now,
                        .insn = k->insn,
                        .block = k->block,
                        .who = (k->w->index * VM_LANES + lane) | (lanes & (lanes - 1) ? VM_MANY : 0) | k->sides |
                               (k->w->block->check->triggered ? VM_LATE_SIDE : 0)};
    if (k->strong && !k->flight && line->cells && check_cell_strong(k, &line->cells[n / VM_CELLS], n % VM_CELLS, &me))
        return;
    if (!k->strong && !k->flight &&
        (line->cells ? check_cell_plain(k, &line->cells[n / VM_CELLS], n % VM_CELLS, &me)
                     : check_compact_plain(k, plain, line, n, &me)))
        return;
    const vm_cell before = check_line_get(line, n);
    vm_cell c = before;
    check_cell(k, &c, me, lanes, lane, offset);
    if (!k->shared && VM_UNLIKELY(k->constant || (k->write && c.constant)))
        check_constant(k, &c, lane);
    check_line_put(plain->check, line, n, &before, &c);
}

/* ---- global memory ---- */

/* Returns the page of shadow cells for an offset in an allocation, and allocates it at the first access. Returns NULL
 * if memory runs out or the limit is reached. Then the page is not checked for races. */
static vm_line *open_global_page(vm_look *k, vm_allocation *a, uint64_t offset)
{
    vm_shadow *shadow = a->shadow;
    vm_check *owner = a->home->check; /* the memory may belong to another device */
    unsigned shift = k->w->runner->run->launch->module->check->shift;
    size_t count = (size_t)((a->bytes + VM_SHADOW_PAGE - 1) / VM_SHADOW_PAGE);
    /* the module has accesses smaller than a cell, so the shadow starts again with smaller cells */
    if (VM_UNLIKELY(shadow->shift > shift)) {
        for (size_t n = 0; n < count; n++) {
            owner->cell_bytes -= shadow->pages[n] ? check_page_lines(shadow) * sizeof(vm_line) : 0;
            check_lines_free(owner, owner->mem, shadow->pages[n], check_page_lines(shadow));
            shadow->pages[n] = NULL;
        }
        shadow->shift = shift;
    }
    vm_line **page = &shadow->pages[offset / VM_SHADOW_PAGE];
    if (VM_UNLIKELY(!*page)) {
        size_t bytes = check_page_lines(shadow) * sizeof(vm_line);
        if (owner->cell_bytes + bytes <= CHECK_CELL_BYTES_MOST)
            *page = check_lines_new(owner->mem, check_page_lines(shadow));
        if (!*page) {
            k->check->starved = true;
            return NULL;
        }
        owner->cell_bytes += bytes;
    }
    return *page;
}

/* If check_track() was called for the allocation, records the use of a page that the host can also access. */
static void record_page_use(const vm_look *k, vm_shadow *shadow, uint64_t offset)
{
    shadow->used[2 * (offset / VM_SHADOW_PAGE) + k->write] = k->now;
    if (k->write && k->strong)
        shadow->flagged = k->now;
}

/* If the lanes have scattered addresses, they touch many lines, and these lines are seldom in a cache. */
static void prefetch_lines(const vm_look *k, const vm_shadow *shadow, uint64_t base)
{
    for (uint32_t n = 0; n < k->p->count; n++) {
        const uint64_t offset = base + (uint64_t)k->p->at[n];
        const vm_line *page = shadow->pages[offset / VM_SHADOW_PAGE];
        const vm_line *line = page ? &page[(offset % VM_SHADOW_PAGE >> shadow->shift) / VM_LINE] : NULL;
        if (line)
            __builtin_prefetch(line, 1);
    }
    for (uint32_t n = 0; n < k->p->count; n++) {
        const uint64_t offset = base + (uint64_t)k->p->at[n], at = offset % VM_SHADOW_PAGE >> shadow->shift;
        const vm_line *page = shadow->pages[offset / VM_SHADOW_PAGE];
        const vm_line *line = page ? &page[at / VM_LINE] : NULL;
        if (!line)
            continue;
        if (line->cells) {
            const vm_cells *g = &line->cells[at % VM_LINE / VM_CELLS];
            __builtin_prefetch(&g->w, 1);
            __builtin_prefetch(&g->r1, 1);
            __builtin_prefetch(&g->r1.insn, 1);
        }
        if (line->words)
            __builtin_prefetch(&line->words[at % VM_LINE * (line->wide ? VM_WIDE : 1)], 1);
        if (line->count > 1)
            __builtin_prefetch(&line->rows[1], 1);
        for (uint32_t j = 0; line->more && j < line->count; j += 2)
            __builtin_prefetch(&line->more[j], 1);
    }
}

/* Checks an access to global memory. For each entry of the pattern it checks unwritten bytes, the padding of rows, and
 * then each cell. */
static void check_global(vm_look *k, vm_allocation *a)
{
    vm_shadow *shadow = a->shadow;
    const vm_pattern *p = k->p;
    uint64_t base = k->a->address[__builtin_ctz(k->a->lanes)] - a->base;
    bool reads = k->a->kind & VM_READS;
    if (!shadow || VM_UNLIKELY(!a->home->check))
        return;
    const bool own = a->home == k->w->runner->run->device;
    const vm_plain plain = make_plain(k, a->home->check);
    prefetch_lines(k, shadow, base);
    for (uint32_t n = 0; n < p->count; n++) {
        uint64_t offset = base + (uint64_t)p->at[n];
        k->told = false;
        if (VM_UNLIKELY(reads && shadow->unwritten && own))
            check_written(k, shadow, offset, p->lane[n], p->who[n]);
        if (k->write && shadow->unwritten)
            check_shadow_write(shadow, offset, k->a->bytes);
        if (VM_UNLIKELY(shadow->pitch && k->write))
            check_padding(k, shadow, offset, p->lane[n], p->who[n]);
        if (VM_UNLIKELY(shadow->used))
            record_page_use(k, shadow, offset);
        vm_line *page = open_global_page(k, a, offset);
        const uint64_t in_page = VM_SHADOW_PAGE >> shadow->shift, first = offset >> shadow->shift;
        unsigned cells = k->a->bytes >> shadow->shift;
        for (unsigned j = 0; j < (cells ? cells : 1); j++) {
            /* the misaligned source of a cp.async may cross the end of the page */
            if (j && (first + j) % in_page == 0)
                page = open_global_page(k, a, (first + j) << shadow->shift);
            const uint64_t at = (first + j) % in_page;
            if (page)
                visit_cell(k, &plain, &page[at / VM_LINE], at % VM_LINE, n, (uint64_t)j << shadow->shift);
        }
    }
}

/* ---- shared memory ---- */

/* Checks an access to shared memory. A cell whose last write is not newer than the start of the block was never
 * written. */
static void check_shared(vm_look *k)
{
    const vm_check_block *b = k->home->check;
    const vm_pattern *p = k->p;
    uint64_t base = k->a->address[__builtin_ctz(k->a->lanes)];
    const uint64_t system = k->w->runner->run->shared_system, own = system ? system : UINT64_MAX;
    unsigned cells = k->a->bytes >> b->shift;
    bool reads = k->a->kind & VM_READS;
    const vm_plain plain = make_plain(k, k->check);
    cells = cells ? cells : 1;
    for (uint32_t n = 0; n < p->count; n++) {
        uint64_t at = (base + (uint64_t)p->at[n]) >> b->shift;
        k->told = false;
        if (reads) {
            unsigned missing = 0;
            for (unsigned j = 0; j < cells; j++)
                missing += check_line_written(check_shared_line(k->check, b, (at + j) / VM_LINE), (at + j) % VM_LINE) <=
                           b->base;
            /* the part of shared memory that belongs to the system begins as zeros */
            if (VM_UNLIKELY(missing) && (at << b->shift) < own)
                check_unwritten(k, p->lane[n], p->who[n], missing != cells);
        }
        for (unsigned j = 0; j < cells; j++)
            visit_cell(k, &plain, check_shared_line(k->check, b, (at + j) / VM_LINE), (at + j) % VM_LINE, n,
                       (uint64_t)j << b->shift);
    }
}

/* ---- one access ---- */

/* Splits an access to several allocations, and checks the lanes of each allocation separately. */
static void check_each_allocation(vm_look *k, vm_access *a)
{
    uint32_t lanes = a->lanes;
    vm_pattern part = {0};
    k->p = &part;
    while (lanes) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        vm_allocation *allocation = NULL;
        if (a->space == PTX_SPACE_GLOBAL)
            allocation = (vm_allocation *)(uintptr_t)vm_allocation_of(k->w->runner->run->device, a->address[lane]);
        a->lanes = 1u << lane;
        VM_EACH(other, lanes)
            if (!allocation || a->address[other] - allocation->base < allocation->bytes)
                a->lanes |= 1u << other;
        lanes &= ~a->lanes;
        make_pattern(k->check, &part, a, k->insn);
        if (allocation)
            check_global(k, allocation);
        else if (k->shared)
            check_shared(k);
    }
    k->p = NULL;
}

static uint32_t check_one_access(vm_look *k, vm_access *a);

static bool has_remote_lane(const vm_access *a)
{
    VM_EACH(lane, a->lanes)
        if (a->address[lane] >= VM_SHARED_WINDOW)
            return true;
    return false;
}

/* Splits an access to shared memory of several blocks of the cluster, and checks the lanes of each block separately. A
 * cp.async can write only to the shared memory of its own block. Records the last plain access in each other block, for
 * check_visitors(). Returns the lanes that must not make their access. */
static uint32_t check_each_block(vm_look *k, const vm_access *a)
{
    uint32_t left = a->lanes, bad = 0;
    while (left) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        char why[200] = "";
        uint64_t address = vm_window_address(k->w->block, a->address[lane]);
        k->rank = vm_rank_of(address);
        vm_block *home = vm_block_at(k->w, &address, why, sizeof why);
        vm_access part = {.space = a->space, .kind = a->kind, .bytes = a->bytes};
        VM_EACH(other, left)
            if (a->address[other] / VM_SHARED_WINDOW == a->address[lane] / VM_SHARED_WINDOW) {
                part.lanes |= 1u << other;
                part.address[other] = a->address[other] % VM_SHARED_WINDOW;
            }
        left &= ~part.lanes;
        if (home && !(k->see == VM_SEE_COPY && k->write && home != k->w->block)) {
            k->home = home;
            k->a = &part;
            if (home != k->w->block)
                check_begun(k, home, lane, part.lanes);
            if (home != k->w->block && !k->flight && !k->quiet)
                home->check->visitors[k->w->block->rank] = (vm_mark){
                    .stamp = k->now, .who = k->w->index * VM_LANES + lane, .insn = k->insn, .block = k->block};
            bad |= check_one_access(k, &part);
            continue;
        }
        k->a = &part;
        bad |= part.lanes;
        check_no_block(k, lane, part.lanes, home ? "which is not the block's own" : why);
    }
    return bad;
}

/* Checks one access of a warp. First it checks that all lanes are aligned and inside one piece of memory, and then it
 * checks the cells. Returns the lanes that failed the test of bounds and alignment. The checks do not record the
 * accesses of these lanes. The lanes must not make their accesses, except the lanes of k->begin_inside. */
static uint32_t check_one_access(vm_look *k, vm_access *a)
{
    const vm_run_state *run = k->w->runner->run;
    uint32_t bad = 0, owner = a->space == PTX_SPACE_SHARED && k->see != VM_SEE_OTHER
                                  ? run->launch->module->check->owner[k->insn]
                                  : 0;
    k->a = a;
    k->shared = a->space == PTX_SPACE_SHARED;
    k->write = a->kind & VM_WRITE;
    k->strong = a->kind & (VM_ORDERED | VM_ATOMIC);
    k->sides = !k->strong ? 0
                          : VM_STRONG_SIDE | (ptx_has(k->in, PTX_MOD_VOLATILE) ? VM_VOLATILE_SIDE : 0) |
                                (ptx_has(k->in, PTX_MOD_CTA) ? VM_BLOCK_SIDE : 0);
    if (a->space == PTX_SPACE_CONST)
        a->space = PTX_SPACE_GLOBAL;
    vm_pattern *p = get_pattern(k->check, a,
                                /* a cp.async has two patterns, one for its source and one for its target */
                                k->insn + (uint32_t)(a->kind & VM_ASYNC && !k->write));
    uint64_t base = a->address[__builtin_ctz(a->lanes)], low = 0, end = 0, generation = 0;
    uint64_t first = base + (uint64_t)p->low, last = base + (uint64_t)p->high + a->bytes;
    vm_allocation *allocation = NULL;
    bool inside;
    if (a->space == PTX_SPACE_GLOBAL) {
        generation = atomic_load_explicit(&run->device->generation, memory_order_relaxed);
        allocation = p->generation == generation ? (vm_allocation *)(uintptr_t)p->allocation : NULL;
        if (!allocation || base - allocation->base >= allocation->bytes) {
            allocation = (vm_allocation *)(uintptr_t)vm_allocation_of(run->device, base);
            p->allocation = allocation;
            p->generation = generation;
            vm_pattern *cached = k->check->patterns[k->insn % VM_PATTERNS];
            if (cached && p == &k->check->spare && cached->insn == k->insn + 1)
                cached->allocation = allocation, cached->generation = generation;
        }
        inside = allocation && first >= allocation->base && last >= first &&
                 last <= allocation->base + allocation->bytes && !(allocation->constant && k->write);
    } else {
        inside = check_variable_bounds(k, base, owner, &low, &end) && first >= low && last >= first && last <= end;
    }
    uint64_t align = (a->bytes & (a->bytes - 1)) == 0 ? a->bytes - 1 : 0;
    if (VM_UNLIKELY(!inside) && k->shared && has_remote_lane(a))
        return check_each_block(k, a);
    if (VM_UNLIKELY(!inside || (base | p->bits) & align)) {
        bad = check_refuse(k, owner);
        a->lanes &= ~bad;
        if (!a->lanes)
            return bad;
        if (bad || a->space == PTX_SPACE_GLOBAL) {
            check_each_allocation(k, a);
            return bad;
        }
    }
    k->p = p;
    k->limit = get_limit(k->clock, k->shared, a->lanes);
    if (k->write && k->see == VM_SEE_STORE && p->count < (unsigned)__builtin_popcount(a->lanes) &&
        a->space != PTX_SPACE_LOCAL)
        check_one_store(k);
    if (k->shared)
        check_shared(k);
    else if (allocation)
        check_global(k, allocation);
    else if (a->space == PTX_SPACE_LOCAL)
        check_next_local(k), check_local(k);
    return bad;
}

/* If lanes must not execute their load or atomic, fills their destination registers with bytes 0xa5. Does nothing for
 * other instructions. */
static void poison_registers(const vm_warp *w, const vm_code *i, unsigned see, uint32_t lanes)
{
    const bool team = see == VM_SEE_TEAM && !(i->flags & VM_WRITES);
    const uint32_t *slots = team ? ((const vm_multimem *)i->extra)->slots : i->extra;
    uint32_t count = see == VM_SEE_LOAD || team     ? i->count
                     : see == VM_SEE_ATOMIC && i->d ? 1
                                                    : 0,
             half = i->size == 16 ? 2 : 1;
    for (uint32_t k = 0; k < count * half; k++) {
        uint32_t slot = (see == VM_SEE_ATOMIC || (i->count == 1 && !team) ? i->d : slots[k / half]) +
                        (k % half) * 8 * VM_LANES;
        VM_EACH(lane, lanes) {
            if (i->flags & VM_REG64)
                vm_r64(w, slot)[lane] = (uint64_t)POISON32 << 32 | POISON32;
            else
                vm_r32(w, slot)[lane] = i->size == 1 ? POISON32 & 0xff : i->size == 2 ? POISON32 & 0xffff : POISON32;
        }
    }
}

/* Performs the release fence that .release, .acq_rel or .sc implies. The caller calls the function before it records
 * the access. */
static void perform_release(vm_look *k)
{
    if (ptx_has(k->in, PTX_MOD_RELEASE) || ptx_has(k->in, PTX_MOD_ACQ_REL) || ptx_has(k->in, PTX_MOD_SC))
        check_fence(k->w, k->in, 0);
}

/* Lists the accesses of the instruction, and checks each of them. A plain load or store has one access, which this
 * function reads from the registers. For other instructions count_accesses() lists the accesses. */
uint32_t check_access(vm_warp *w, const vm_code *i, uint32_t m, unsigned kind)
{
    bool special = kind & VM_SEE_SPECIAL;
    kind &= ~(VM_SEE_SPECIAL | VM_SEE_CONSTANT);
    const ptx_function *f = w->frame->function->ptx;
    const ptx_insn *in = &f->insns[i->insn];
    vm_look k = {
        .check = w->runner->run->device->check,
        .w = w,
        .code = i,
        .in = in,
        .insn = vm_insn_of(w, i),
        .see = kind,
        .clock = &w->block->check->warps[w->index],
        .block = (uint32_t)w->block->number,
        .constant = special && kind == VM_SEE_LOAD && ptx_has(in, PTX_MOD_NC),
    };
    k.now = k.check->time;
    vm_access list[VM_ACCESSES];
    bool fast = i->space == PTX_SPACE_GLOBAL || i->space == PTX_SPACE_SHARED;
    unsigned count = 1;
    if (VM_LIKELY(fast && !special && (kind == VM_SEE_LOAD || kind == VM_SEE_STORE))) {
        list[0].space = i->space;
        list[0].kind = kind == VM_SEE_LOAD ? VM_READS : VM_WRITE;
        list[0].lanes = m;
        list[0].bytes = (uint32_t)i->size * i->count;
        count_read_addresses(w, i, &list[0]);
    } else {
        perform_release(&k);
        k.now = k.check->time;
        count = count_accesses(w, i, m, list);
        if (kind == VM_SEE_ATOMIC || kind == VM_SEE_LOAD || kind == VM_SEE_STORE)
            for (unsigned n = 0; n < count; n++)
                list[n].bytes = (uint32_t)i->size * i->count;
    }
    uint32_t bad = 0;
    for (unsigned n = 0; n < count; n++) {
        for (uint32_t l = 0; l < VM_LANES && count > 1; l++)
            list[n].address[l] = list[n].lanes >> l & 1 ? list[n].address[l] : 0;
        list[n].lanes &= ~bad;
        if (!list[n].lanes)
            continue;
        k.limit = get_limit(k.clock, list[n].space == PTX_SPACE_SHARED, list[n].lanes);
        if (kind == VM_SEE_COPY)
            k.flight = list[n].kind & VM_WRITE ? check_flight_copy(w, i, list[n].lanes) : 0;
        k.home = w->block;
        bad |= check_one_access(&k, &list[n]);
    }
    bad &= ~k.begin_inside;
    if (VM_UNLIKELY(bad))
        poison_registers(w, i, kind, bad);
    return bad && kind == VM_SEE_OTHER ? 0 : m & ~bad; /* either all lanes load a matrix or no lane does */
}

bool check_lane_access(vm_warp *w, const vm_code *i, vm_access *a, uint32_t flight)
{
    vm_look k = {.check = w->runner->run->device->check,
                 .w = w,
                 .code = i,
                 .in = &w->frame->function->ptx->insns[i->insn],
                 .insn = vm_insn_of(w, i),
                 .see = VM_SEE_OTHER,
                 .flight = flight,
                 .quiet = true,
                 .clock = &w->block->check->warps[w->index],
                 .block = (uint32_t)w->block->number};
    k.now = k.check->time;
    k.home = w->block;
    k.limit = get_limit(k.clock, a->space == PTX_SPACE_SHARED, a->lanes);
    return check_one_access(&k, a) == 0;
}

/* Compares a read by a tensor map with the writes of launches that are not ordered before this launch. The function
 * records nothing, and ignores writes of this launch, because the copy reads at an unknown time after its issue. */
void check_earlier_writes(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint64_t bytes)
{
    vm_check *check = w->runner->run->device->check;
    const vm_allocation *a = check->concurrent_count > 0 ? vm_allocation_of(w->runner->run->device, address) : NULL;
    const vm_shadow *shadow = a ? a->shadow : NULL;
    if (!shadow || bytes > a->base + a->bytes - address)
        return;
    vm_access access = {
        .space = PTX_SPACE_GLOBAL, .kind = VM_READS | VM_ASYNC, .lanes = 1u << lane, .bytes = (uint32_t)bytes};
    access.address[lane] = address;
    vm_look k = {.check = check,
                 .w = w,
                 .code = i,
                 .in = &w->frame->function->ptx->insns[i->insn],
                 .insn = vm_insn_of(w, i),
                 .see = VM_SEE_OTHER,
                 .a = &access,
                 .home = w->block,
                 .clock = &w->block->check->warps[w->index],
                 .block = (uint32_t)w->block->number};
    const uint64_t step = (uint64_t)1 << shadow->shift, first = (address - a->base) / step * step;
    for (uint64_t at = first; at < address - a->base + bytes && !k.told; at += step) {
        const vm_line *page = shadow->pages[at / VM_SHADOW_PAGE];
        const vm_cell cell = page ? check_page_get(page, at % VM_SHADOW_PAGE >> shadow->shift) : (vm_cell){0};
        if (check_earlier_stamp(check, &cell.w))
            check_conflict(&k, &cell.w, true, 1u << lane, at < address - a->base ? 0 : at - (address - a->base));
    }
}

/* ---- malloc and free in device code ---- */

/* Reports `free` of an address that no kernel has allocated, or that is already free, even if two lanes of the same
 * call free it. */
uint32_t check_free_call(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_call *call = i->extra;
    vm_device *device = w->runner->run->device;
    uint64_t freed[VM_LANES] = {0};
    if (call->builtin) /* the builtin may write to memory through its pointer arguments */
        check_local_known(w, m);
    if (call->builtin != VM_BUILTIN_FREE + 1)
        return m;
    uint32_t good = m;
    VM_EACH(lane, m) {
        uint64_t address = vm_argument(w, call, lane, 0);
        const vm_allocation *a = address ? vm_allocation_of(device, address) : NULL;
        bool right = a && a->home == device && a->base == address && !a->name && (!a->shadow || a->shadow->by_kernel);
        for (uint32_t other = 0; other < lane && right; other++)
            right = freed[other] != address;
        freed[lane] = address;
        if (right || address == 0)
            continue;
        good &= ~(1u << lane);
        kiln_check_finding *f = check_find_finding(w, KILN_CHECK_BAD_FREE, false, vm_insn_of(w, i), VM_NO_INSN, lane,
                                                   1);
        if (!f)
            continue;
        char where[200];
        vm_describe(device, address, where, sizeof where);
        f->at.what = "free in device code";
        f->space = "global";
        f->address = address;
        f->allocation = check_print(device->check, "%s", where);
        f->message = check_print(
            device->check, "free of 0x%" PRIx64 ", which no kernel has allocated or which is freed already: it is %s",
            address, where);
    }
    return good;
}

bool check_stretch(vm_warp *w, const vm_code *i, uint32_t lane, unsigned space, uint64_t address, uint64_t bytes,
                   unsigned kind, uint32_t flight)
{
    enum { PIECE = 16, MOST = 1 << 20 };
    bool good = bytes <= MOST; /* if the count is too large, the instruction itself raises a fault */
    if (space == PTX_SPACE_GENERIC)
        space = address - VM_SHARED_BASE < VM_CLUSTER_WINDOW ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL;
    if (space == PTX_SPACE_SHARED)
        address = vm_window_offset(w->block, address);
    for (uint64_t at = 0; good && at < bytes; at += PIECE) {
        vm_access a = {.space = (uint8_t)space,
                       .kind = (uint8_t)(kind | (flight ? VM_ASYNC : 0)),
                       .lanes = 1u << lane,
                       .bytes = (uint32_t)(bytes - at < PIECE ? bytes - at : PIECE)};
        a.address[lane] = address + at;
        good = check_lane_access(w, i, &a, flight);
    }
    return good;
}
