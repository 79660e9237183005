/* quick.c - the fast path, for plain loads and stores whose lanes have the same address differences as an earlier
 * access of the instruction (vm_pattern). It checks eight cells at once with vector instructions.
 *
 * This file reports nothing. If an access is not plain or may have a defect, the functions return false, and access.c
 * checks the access cell by cell. Both files must give the same results: tests/sim/test_check_quick.c compares them.
 * The fast path of a load may stop in the middle, because recording the same read twice changes nothing. A store tests
 * all cells before it records anything.
 *
 * This file is compiled for AVX2. No function in it may be called on a host without AVX2; check_can_quick() tests
 * that. */
#include <string.h>

#include "bounds_internal.h"
#include "dependent_internal.h"
#include "quick_internal.h"
#include "shadow_internal.h"
#include "vm_checks_internal.h"

/* GNU vectors. A comparison sets all bits of an element if it is true, otherwise none. */
typedef uint32_t x8 __attribute__((vector_size(32)));
typedef uint64_t y4 __attribute__((vector_size(32)));
_Static_assert(sizeof(x8) == VM_CELLS * sizeof(uint32_t), "a vector is a field of a group");
#define INLINE static inline __attribute__((always_inline))

/* Loads one field of a group of cells. */
INLINE x8 load8(const uint32_t *from)
{
    x8 v;
    memcpy(&v, from, sizeof v);
    return v;
}
/* Returns true if any bit is set. */
INLINE bool any_lane(x8 v)
{
    const y4 w = (y4)v;
#ifdef __AVX__
    typedef long long s4 __attribute__((vector_size(32)));
    return !__builtin_ia32_ptestz256((s4)w, (s4)w);
#else
    return (w[0] | w[1] | w[2] | w[3]) != 0;
#endif
}
/* Selects bit by bit: `yes` where the mask is set, otherwise `no`. */
INLINE x8 choose(x8 mask, x8 yes, x8 no) { return (mask & yes) | (~mask & no); }
/* Stores one field of the cells `in`. If `whole` is true, `in` has all eight cells, so the old values are not
 * needed. */
INLINE void store8(uint32_t *to, x8 in, x8 v, bool whole)
{
    if (!whole)
        v = choose(in, v, load8(to));
    memcpy(to, &v, sizeof v);
}

/* The cells of one group that an instruction touches. in[c] has all bits set if the instruction touches cell c,
 * otherwise none. who[c] is the lane of that cell's mark, with VM_MANY if several lanes touch the cell. */
typedef struct part {
    uint32_t in[VM_CELLS], who[VM_CELLS];
    int64_t at; /* the group's distance from the group of the first lane's cell */
    bool whole;
    uint8_t only; /* the only cell that is touched, or VM_CELLS if there are several */
} part;
/* The parts of a pattern, for one place of the first lane's cell in its group. */
struct vm_parts {
    uint32_t count;
    part part[];
};

/* One access of a warp, while it is checked. */
typedef struct quick_access {
    const vm_clock *clock;
    uint32_t now, insn, block, who, limit;
    uint32_t base;  /* the time at which the block began (shared memory) or the launch began (global memory) */
    bool read_only; /* ld.global.nc */
    bool readers;   /* asynchronous operations may have read cells */
} quick_access;

enum { SAME = VM_WHO | VM_MANY }; /* the bits of `who` that are equal if two marks have the same threads */

/* Selects the marks that only the accessing thread itself has made. Program order puts them before this access. */
INLINE x8 own_marks(const quick_access *k, const vm_marks *m, x8 who)
{
    const x8 old = load8(m->who);
    return (x8)((((old ^ who) & SAME) | (old & (VM_MANY | VM_PENDING))) == 0) & (x8)(load8(m->block) == k->block) &
           (x8)(load8(m->stamp) > k->base);
}

/* Selects the marks that are newer than the limit and that another thread may have made. */
INLINE x8 unordered_marks(const quick_access *k, const vm_marks *m, x8 in, x8 who)
{
    x8 fresh = in & (x8)(load8(m->stamp) > k->limit);
    if (VM_UNLIKELY(any_lane(fresh)))
        fresh &= ~own_marks(k, m, who);
    return fresh;
}

/* Merges this read into marks `near` of the same warp or block, as merge_read() of access.c does. Returns the cells for
 * which this function cannot decide. */
INLINE x8 merge_reads(const quick_access *k, vm_marks *m, x8 near, x8 who, bool shared)
{
    const x8 old = load8(m->who), stamp = load8(m->stamp), apart = (old ^ who) & VM_WHO;
    const x8 many = (x8)((old & VM_MANY) != 0), single_same = (x8)(apart == 0) & (~many | (x8)((who & VM_MANY) != 0));
    const x8 warp = (x8)(apart < VM_LANES), full = (x8)(stamp <= k->clock->full);
    const x8 unknown = (x8){0} - (k->clock->lanes != NULL); /* some lanes have clocks of their own */
    x8 mine, odd;
    if (shared) {
        mine = single_same | full;
        odd = unknown & ~mine;
    } else {
        const x8 others = near & ~many & ~warp;
        x8 known = {0};
        for (unsigned j = 0; j < VM_CELLS && any_lane(others); j++)
            known[j] = k->clock->know[(old[j] & VM_WHO) / VM_LANES];
        mine = single_same | choose(many, (x8)(stamp <= k->clock->synced), choose(warp, full, (x8)(stamp <= known)));
        odd = (~many & ~mine & choose(warp, unknown, (x8){0} - (k->clock->more != NULL))) | (x8)(stamp <= k->base);
    }
    odd &= near;
    near &= ~odd;
    store8(m->stamp, near, (x8){0} + k->now, false);
    store8(m->who, near, choose(mine, who, (old | VM_MANY) & ~(uint32_t)VM_STRONG_SIDE), false);
    store8(m->insn, near & mine, (x8){0} + k->insn, false);
    store8(m->block, near & mine, (x8){0} + k->block, false);
    return odd;
}

/* Sets the marks of the cells `in` to this access. */
INLINE void record_marks(const quick_access *k, vm_marks *m, x8 in, x8 who, bool whole)
{
    store8(m->stamp, in, (x8){0} + k->now, whole);
    store8(m->who, in, who, whole);
    store8(m->insn, in, (x8){0} + k->insn, whole);
    store8(m->block, in, (x8){0} + k->block, whole);
}

/* Copies the marks of the cells `in` from the first read slot to the second. */
INLINE void copy_marks(vm_marks *to, const vm_marks *from, x8 in, bool whole)
{
    store8(to->stamp, in, load8(from->stamp), whole);
    store8(to->who, in, load8(from->who), whole);
    store8(to->insn, in, load8(from->insn), whole);
    store8(to->block, in, load8(from->block), whole);
}

/* Selects the fresh marks of the same warp (shared memory) or block (global memory). */
INLINE x8 find_near(const quick_access *k, const vm_marks *m, x8 fresh, x8 who, bool shared)
{
    return fresh & (shared ? (x8)(((load8(m->who) ^ who) & VM_WHO) < VM_LANES) : (x8)(load8(m->block) == k->block));
}

/* Checks and records a read of the cells `in` of a group. Returns false if access.c must decide. */
INLINE bool read_group(const quick_access *k, vm_cells *g, x8 in, x8 who, bool whole, bool shared)
{
    const x8 written = load8(g->w.stamp);
    x8 bad = in & (x8)(written > k->limit);
    if (VM_UNLIKELY(any_lane(bad)))
        bad &= ~own_marks(k, &g->w, who);
    if (shared)
        bad |= in & (x8)(written <= k->base); /* these cells were never written */
    else if (k->read_only)
        bad |= in & (x8)(written > k->base);
    if (VM_UNLIKELY(any_lane(bad)))
        return false;
    if (k->read_only) {
        store8(g->constant, in, (x8){0} + k->now, whole);
        store8(g->constant_insn, in, (x8){0} + k->insn, whole);
    }
    const x8 fresh1 = in & (x8)(load8(g->r1.stamp) > k->limit);
    if (!any_lane(fresh1)) {
        record_marks(k, &g->r1, in, who, whole);
        return true;
    }
    const x8 near1 = find_near(k, &g->r1, fresh1, who, shared);
    const x8 fresh2 = fresh1 & ~near1 & (x8)(load8(g->r2.stamp) > k->limit);
    const x8 near2 = find_near(k, &g->r2, fresh2, who, shared), later = fresh1 & ~near1 & ~near2;
    if (!any_lane(later ^ in)) { /* other warps or blocks made all of these reads, so both marks are kept */
        copy_marks(&g->r2, &g->r1, in, whole);
        record_marks(k, &g->r1, in, who, whole);
        return true;
    }
    x8 odd = {0};
    if (any_lane(near1))
        odd |= merge_reads(k, &g->r1, near1, who, shared);
    if (any_lane(near2))
        odd |= merge_reads(k, &g->r2, near2, who, shared);
    copy_marks(&g->r2, &g->r1, later, false);
    record_marks(k, &g->r1, (in & ~fresh1) | later, who, false);
    return !any_lane(odd);
}

/* Records a read of a single cell as read_group() does, in the most frequent case. Returns false if read_group() has to
 * decide. */
INLINE bool read_cell(const quick_access *k, vm_cells *g, unsigned n, uint32_t who, bool shared)
{
    const uint32_t written = g->w.stamp[n], limit = k->limit, stamp1 = g->r1.stamp[n];
    if (written > limit || (shared && written <= k->base) || k->read_only)
        return false;
    if (stamp1 > limit) {
        const vm_mark r1 = vm_mark_get(&g->r1, n);
        if (shared ? ((r1.who ^ who) & VM_WHO) < VM_LANES : r1.block == k->block)
            return false;
        if (g->r2.stamp[n] > limit &&
            (shared ? ((g->r2.who[n] ^ who) & VM_WHO) < VM_LANES : g->r2.block[n] == k->block))
            return false;
        vm_mark_put(&g->r2, n, &r1);
    }
    vm_mark_put(&g->r1, n, &(vm_mark){k->now, who, k->insn, k->block});
    return true;
}

/* Returns true if a write to the cells `in` does not race with any recorded access. Does not change the cells. */
INLINE bool may_write(const quick_access *k, const vm_cells *g, x8 in, x8 who, bool shared)
{
    x8 bad = unordered_marks(k, &g->w, in, who) | unordered_marks(k, &g->r1, in, who) |
             unordered_marks(k, &g->r2, in, who);
    if (!shared)
        bad |= in & (x8)(load8(g->constant) > k->base);
    else if (k->readers)
        bad |= in & (load8(g->constant) | load8(g->constant_insn));
    return !any_lane(bad);
}

/* ---- patterns ---- */

/* Computes which cells of which groups a pattern touches, if the first lane's cell is number `first` of its group.
 * Returns NULL if memory runs out or the pattern touches more than MOST groups. */
static vm_parts *make_parts(vm_check *check, const vm_pattern *p, unsigned first, unsigned shift)
{
    enum { MOST = 128 };
    int64_t group[MOST];
    const uint32_t cells = p->bytes >> shift ? p->bytes >> shift : 1;
    uint32_t count = 0;
    uint16_t where[VM_LANES * 16];
    if (p->bytes > 16 || cells > 16)
        return NULL;
    for (uint32_t n = 0; n < p->count * cells; n++) {
        const int64_t cell = p->at[n / cells] / (1 << shift) + n % cells + first;
        const int64_t at = (cell - (cell < 0 ? VM_CELLS - 1 : 0)) / VM_CELLS;
        uint32_t k = count;
        while (k && group[k - 1] != at)
            k--;
        if (!k) {
            if (count == MOST)
                return NULL;
            group[count] = at;
            k = ++count;
        }
        where[n] = (uint16_t)(k - 1);
    }
    vm_parts *made = kiln__calloc(check->mem, 1, sizeof *made + count * sizeof(part));
    if (!made)
        return NULL;
    made->count = count;
    for (uint32_t k = 0; k < count; k++)
        made->part[k].at = group[k];
    for (uint32_t n = 0; n < p->count * cells; n++) {
        const int64_t cell = p->at[n / cells] / (1 << shift) + n % cells + first;
        const uint32_t lanes = p->who[n / cells];
        part *to = &made->part[where[n]];
        to->in[cell & (VM_CELLS - 1)] = UINT32_MAX;
        to->who[cell & (VM_CELLS - 1)] = p->lane[n / cells] | (lanes & (lanes - 1) ? VM_MANY : 0);
    }
    for (uint32_t k = 0; k < count; k++) {
        unsigned cells_in = 0, last = 0;
        for (unsigned j = 0; j < VM_CELLS; j++)
            if (made->part[k].in[j])
                cells_in++, last = j;
        made->part[k].whole = cells_in == VM_CELLS;
        made->part[k].only = (uint8_t)(cells_in == 1 ? last : VM_CELLS);
    }
    return made;
}

/* Returns the parts of a pattern for one place of the first cell. Makes them at the first use and after a change of the
 * granule. */
static const vm_parts *get_parts(vm_check *check, vm_pattern *p, unsigned first, unsigned shift)
{
    if (VM_UNLIKELY(p->shift != shift)) {
        check_parts_drop(check, p);
        p->shift = (uint8_t)shift;
    }
    if (VM_UNLIKELY(!p->parts[first]))
        p->parts[first] = make_parts(check, p, first, shift);
    return p->parts[first];
}

/* Returns true if the lanes' addresses have the distances of the pattern. */
INLINE bool has_same_distances(const vm_pattern *p, const vm_warp *w, const vm_code *i, uint32_t m)
{
    if (i->flags & VM_ADDR32) {
        const uint32_t *r = (const uint32_t *)(const void *)vm_at(w, i->a);
        const uint32_t base = r[__builtin_ctz(m)];
        x8 apart = {0};
        for (unsigned l = 0; l < VM_LANES; l += VM_CELLS)
            apart |= ((load8(r + l) - base) ^ load8(p->rel + l)) & load8(p->live + l);
        return !any_lane(apart);
    }
    const uint64_t *r = (const uint64_t *)(const void *)vm_at(w, i->a);
    const uint64_t base = r[__builtin_ctz(m)];
    if (m != VM_ALL) {
        uint64_t apart = 0;
        VM_EACH(l, m)
            apart |= (r[l] - base) ^ (uint64_t)(int64_t)(int32_t)p->rel[l];
        return apart == 0;
    }
    y4 apart = {0};
    for (unsigned l = 0; l < VM_LANES; l += 4) {
        typedef int32_t i4 __attribute__((vector_size(16)));
        typedef int64_t l4 __attribute__((vector_size(32)));
        y4 v;
        i4 rel;
        memcpy(&v, r + l, sizeof v);
        memcpy(&rel, p->rel + l, sizeof rel);
        apart |= (v - base) ^ (y4) __builtin_convertvector(rel, l4);
    }
    return !any_lane((x8)apart);
}

/* ---- memory ---- */

/* Checks and records the access in all groups that the pattern touches. A write tests all groups before it changes
 * any. */
INLINE bool visit_groups(const quick_access *k, const vm_parts *parts, vm_cells *cells, uint64_t group, bool write,
                         bool shared)
{
    const uint32_t me = k->who;
    for (uint32_t n = 0; n < parts->count; n++) {
        const part *p = &parts->part[n];
        vm_cells *g = &cells[group + (uint64_t)p->at];
        if (!write && p->only < VM_CELLS && read_cell(k, g, p->only, p->who[p->only] + me, shared))
            continue;
        const x8 in = load8(p->in), who = load8(p->who) + me;
        if (write ? !may_write(k, g, in, who, shared)
                  : !(p->whole ? read_group(k, g, in, who, true, shared) : read_group(k, g, in, who, false, shared)))
            return false;
    }
    for (uint32_t n = 0; n < parts->count && write; n++) {
        const part *p = &parts->part[n];
        vm_cells *g = &cells[group + (uint64_t)p->at];
        record_marks(k, &g->w, load8(p->in), load8(p->who) + me, p->whole);
    }
    return true;
}

/* Tries the fast path in shared memory. All lanes must be aligned and inside one variable, and the cluster must have
 * only this block. */
static bool try_shared(const vm_warp *w, const vm_code *i, uint32_t m, vm_pattern *p, quick_access *k, bool write)
{
    const vm_run_state *run = w->runner->run;
    const vm_check_block *b = w->block->check;
    const uint32_t lane = (uint32_t)__builtin_ctz(m);
    const uint64_t base = (uint32_t)((i->flags & VM_ADDR32 ? vm_r32(w, i->a)[lane] : vm_r64(w, i->a)[lane]) + i->imm);
    const uint64_t first = base + (uint64_t)p->low, end = base + (uint64_t)p->high + p->bytes;
    uint64_t low, high;
    if (!check_find_shared_bounds(run, base, run->launch->module->check->owner[k->insn], &low, &high) || first < low ||
        first > base || end > high || (base | p->bits) & (p->bytes - 1) || w->block->cluster->size > 1 ||
        run->shared_system)
        return false;
    const uint64_t cell = base >> b->shift;
    const vm_parts *parts = get_parts(run->device->check, p, cell % VM_CELLS, b->shift);
    if (!parts)
        return false;
    k->limit = k->clock->fast;
    k->base = b->base;
    k->readers = b->dirty;
    return write ? visit_groups(k, parts, b->cells, cell / VM_CELLS, true, true)
                 : visit_groups(k, parts, b->cells, cell / VM_CELLS, false, true);
}

/* Returns true if all bytes of [from, end) were written. */
static bool is_written(const vm_shadow *shadow, uint64_t from, uint64_t end)
{
    for (uint64_t at = from; at < end; at = (at / 64 + 1) * 64) {
        const uint64_t count = end - at / 64 * 64, mask = count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
        if (~shadow->written[at / 64] & mask >> at % 64 << at % 64)
            return false;
    }
    return true;
}

/* Tries the fast path in global memory. The pattern's allocation must still be valid. All lanes must be aligned and
 * inside one page of shadow memory, and all bytes must have been written. */
static bool try_global(const vm_warp *w, const vm_code *i, uint32_t m, vm_pattern *p, quick_access *k, bool write)
{
    const vm_run_state *run = w->runner->run;
    const vm_allocation *a = p->allocation;
    const uint32_t lane = (uint32_t)__builtin_ctz(m);
    const uint64_t base = i->flags & VM_ADDR32 ? vm_r32(w, i->a)[lane] + (uint32_t)i->imm
                                               : vm_r64(w, i->a)[lane] + i->imm;
    if (!a || p->generation != atomic_load_explicit(&run->device->generation, memory_order_relaxed))
        return false;
    const uint64_t first = base - a->base + (uint64_t)p->low, end = base - a->base + (uint64_t)p->high + p->bytes;
    if (base - a->base >= a->bytes || first > base - a->base || end > a->bytes || (base | p->bits) & (p->bytes - 1))
        return false;
    if (a->constant && write)
        return false;
    vm_shadow *shadow = a->shadow;
    if (!shadow || a->home != run->device || shadow->used || shadow->shift != run->launch->module->check->shift ||
        first / VM_SHADOW_PAGE != (end - 1) / VM_SHADOW_PAGE || (write && shadow->pitch))
        return false;
    vm_cells *page = shadow->pages[first / VM_SHADOW_PAGE];
    if (!page || (shadow->unwritten && !is_written(shadow, first, end)))
        return false;
    const uint64_t cell = (base - a->base) % VM_SHADOW_PAGE >> shadow->shift;
    const vm_parts *parts = get_parts(run->device->check, p, cell % VM_CELLS, shadow->shift);
    if (!parts)
        return false;
    k->limit = check_dependent_limit(k->clock, m);
    k->base = run->device->check->launch;
    return write ? visit_groups(k, parts, page, cell / VM_CELLS, true, false)
                 : visit_groups(k, parts, page, cell / VM_CELLS, false, false);
}

#ifdef __AVX2__
const bool check_has_vectors = true;
#else
const bool check_has_vectors = false; /* without AVX2 this path would be slower than access.c */
#endif

/* The pattern must be known and have repeated often enough. A store must have a different address in each lane. */
bool check_quick(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind)
{
    vm_check *check = w->runner->run->device->check;
    const bool write = kind == VM_SEE_STORE;
    quick_access k = {.clock = &w->block->check->warps[w->index],
                      .now = check->time,
                      .insn = vm_insn_of(w, i),
                      .block = (uint32_t)w->block->number,
                      .who = w->index * VM_LANES | (w->block->check->triggered ? VM_LATE_SIDE : 0),
                      .read_only = kind & VM_SEE_CONSTANT};
    vm_pattern *p = check->patterns[k.insn % VM_PATTERNS];
    if ((i->space != PTX_SPACE_SHARED && i->space != PTX_SPACE_GLOBAL) || !p || p->hits < check->often ||
        p->insn != k.insn + 1 || p->lanes != m || p->bytes != (uint32_t)i->size * i->count ||
        p->bytes & (p->bytes - 1) || !has_same_distances(p, w, i, m) ||
        (write && p->count < (unsigned)__builtin_popcount(m)))
        return false;
    /* The warp has synchronised at the current time. A read that is recorded now would have a time that is not newer
     * than `synced`. merge_reads() would later treat it as a read before the synchronisation, so access.c decides. */
    if (VM_UNLIKELY(k.clock->synced >= k.now))
        return false;
    return i->space == PTX_SPACE_SHARED ? try_shared(w, i, m, p, &k, write) : try_global(w, i, m, p, &k, write);
}
