/* quick.c - plain loads and stores whose lanes touch memory as they did the last times: eight cells at once by vector
 * instructions. Nothing is reported here: what is not quite ordinary goes the long way (access.c), which this must agree
 * with. Reading again what was read here changes nothing, so an access may be given up in the middle.
 * This file is compiled for AVX2: no function of it may be called on a host without (vm_check_can_quick). */
#include <string.h>

#include "vm_checks_internal.h"

/* GNU vectors: a comparison sets all bits of an element, or none. */
typedef uint32_t x8 __attribute__((vector_size(32)));
typedef uint64_t y4 __attribute__((vector_size(32)));
_Static_assert(sizeof(x8) == VM_CELLS * sizeof(uint32_t), "a vector is a field of a group");
#define INLINE static inline __attribute__((always_inline))

INLINE x8 get(const uint32_t *from)
{
    x8 v;
    memcpy(&v, from, sizeof v);
    return v;
}
INLINE bool any(x8 v)
{
    const y4 w = (y4)v;
#ifdef __AVX__
    typedef long long s4 __attribute__((vector_size(32)));
    return !__builtin_ia32_ptestz256((s4)w, (s4)w);
#else
    return (w[0] | w[1] | w[2] | w[3]) != 0;
#endif
}
INLINE x8 choose(x8 mask, x8 yes, x8 no) { return (mask & yes) | (~mask & no); }
INLINE void put(uint32_t *to, x8 in, x8 v, bool whole)
{
    if (!whole)
        v = choose(in, v, get(to));
    memcpy(to, &v, sizeof v);
}

/* The cells of a group that an instruction touches: all bits set where it does; lane and flags of a mark there. */
typedef struct part {
    uint32_t in[VM_CELLS], who[VM_CELLS];
    int64_t at; /* the group, from the one of the first lane's cell */
    bool whole;
    uint8_t only; /* the only cell; VM_CELLS: there are several */
} part;
/* A pattern, for first lanes at one place in their group. */
struct vm_parts {
    uint32_t count;
    part part[];
};

/* One access of a warp. */
typedef struct look {
    const vm_clock *clock;
    uint32_t now, insn, block, who, limit;
    uint32_t base;  /* shared memory: when the block began; else when the launch did */
    bool read_only; /* ld.global.nc */
    bool readers;   /* asynchronous operations may read cells */
} look;

enum { SAME = VM_WHO | VM_MANY }; /* of `who`: the same threads */

/* Marks of the very thread that makes this access, and of no other: they are ordered before it. */
INLINE x8 own(const look *k, const vm_marks *m, x8 who)
{
    const x8 old = get(m->who);
    return (x8)((((old ^ who) & SAME) | (old & (VM_MANY | VM_PENDING))) == 0) & (x8)(get(m->block) == k->block) &
           (x8)(get(m->stamp) > k->base);
}

/* Marks newer than the limit that another thread may have made. */
INLINE x8 foreign(const look *k, const vm_marks *m, x8 in, x8 who)
{
    x8 fresh = in & (x8)(get(m->stamp) > k->limit);
    if (VM_UNLIKELY(any(fresh)))
        fresh &= ~own(k, m, who);
    return fresh;
}

/* A mark of the same warp (shared memory) or block (global) and this read become one, as merge() of access.c does.
 * Returns those that it cannot tell about. */
INLINE x8 merge(const look *k, vm_marks *m, x8 near, x8 who, bool shared)
{
    const x8 old = get(m->who), stamp = get(m->stamp), apart = (old ^ who) & VM_WHO;
    const x8 many = (x8)((old & VM_MANY) != 0), single_same = (x8)(apart == 0) & (~many | (x8)((who & VM_MANY) != 0));
    const x8 warp = (x8)(apart < VM_LANES), full = (x8)(stamp <= k->clock->full);
    const x8 unknown = (x8){0} - (k->clock->lanes != NULL); /* what only some lanes know of each other */
    x8 mine, odd;
    if (shared) {
        mine = single_same | full;
        odd = unknown & ~mine;
    } else {
        const x8 others = near & ~many & ~warp;
        x8 known = {0};
        for (unsigned j = 0; j < VM_CELLS && any(others); j++)
            known[j] = k->clock->know[(old[j] & VM_WHO) / VM_LANES];
        mine = single_same | choose(many, (x8)(stamp <= k->clock->synced), choose(warp, full, (x8)(stamp <= known)));
        odd = (~many & ~mine & choose(warp, unknown, (x8){0} - (k->clock->more != NULL))) | (x8)(stamp <= k->base);
    }
    odd &= near;
    near &= ~odd;
    put(m->stamp, near, (x8){0} + k->now, false);
    put(m->who, near, choose(mine, who, (old | VM_MANY) & ~(uint32_t)VM_STRONG_SIDE), false);
    put(m->insn, near & mine, (x8){0} + k->insn, false);
    put(m->block, near & mine, (x8){0} + k->block, false);
    return odd;
}

INLINE void mark(const look *k, vm_marks *m, x8 in, x8 who, bool whole)
{
    put(m->stamp, in, (x8){0} + k->now, whole);
    put(m->who, in, who, whole);
    put(m->insn, in, (x8){0} + k->insn, whole);
    put(m->block, in, (x8){0} + k->block, whole);
}

INLINE void move(vm_marks *to, const vm_marks *from, x8 in, bool whole)
{
    put(to->stamp, in, get(from->stamp), whole);
    put(to->who, in, get(from->who), whole);
    put(to->insn, in, get(from->insn), whole);
    put(to->block, in, get(from->block), whole);
}

/* Fresh marks of the same warp or block. */
INLINE x8 near_of(const look *k, const vm_marks *m, x8 fresh, x8 who, bool shared)
{
    return fresh & (shared ? (x8)(((get(m->who) ^ who) & VM_WHO) < VM_LANES) : (x8)(get(m->block) == k->block));
}

/* Notes a read. False: it is not ordinary. */
INLINE bool read_part(const look *k, vm_cells *g, x8 in, x8 who, bool whole, bool shared)
{
    const x8 written = get(g->w.stamp);
    x8 bad = in & (x8)(written > k->limit);
    if (VM_UNLIKELY(any(bad)))
        bad &= ~own(k, &g->w, who);
    if (shared)
        bad |= in & (x8)(written <= k->base); /* never written */
    else if (k->read_only)
        bad |= in & (x8)(written > k->base);
    if (VM_UNLIKELY(any(bad)))
        return false;
    if (k->read_only) {
        put(g->constant, in, (x8){0} + k->now, whole);
        put(g->constant_insn, in, (x8){0} + k->insn, whole);
    }
    const x8 fresh1 = in & (x8)(get(g->r1.stamp) > k->limit);
    if (!any(fresh1)) {
        mark(k, &g->r1, in, who, whole);
        return true;
    }
    const x8 near1 = near_of(k, &g->r1, fresh1, who, shared);
    const x8 fresh2 = fresh1 & ~near1 & (x8)(get(g->r2.stamp) > k->limit);
    const x8 near2 = near_of(k, &g->r2, fresh2, who, shared), later = fresh1 & ~near1 & ~near2;
    if (!any(later ^ in)) { /* others read all of it: both stay */
        move(&g->r2, &g->r1, in, whole);
        mark(k, &g->r1, in, who, whole);
        return true;
    }
    x8 odd = {0};
    if (any(near1))
        odd |= merge(k, &g->r1, near1, who, shared);
    if (any(near2))
        odd |= merge(k, &g->r2, near2, who, shared);
    move(&g->r2, &g->r1, later, false);
    mark(k, &g->r1, (in & ~fresh1) | later, who, false);
    return !any(odd);
}

/* The same of one cell, where most is as it should be. False: read_part() must look. */
INLINE bool read_cell(const look *k, vm_cells *g, unsigned n, uint32_t who, bool shared)
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

/* True if a write is ordinary. */
INLINE bool may_write(const look *k, const vm_cells *g, x8 in, x8 who, bool shared)
{
    x8 bad = foreign(k, &g->w, in, who) | foreign(k, &g->r1, in, who) | foreign(k, &g->r2, in, who);
    if (!shared)
        bad |= in & (x8)(get(g->constant) > k->base);
    else if (k->readers)
        bad |= in & (get(g->constant) | get(g->constant_insn));
    return !any(bad);
}

/* ---- patterns ---- */

/* The first lane's cell is number `first` of its group. NULL: no memory, or too many cells. */
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

static const vm_parts *parts_of(vm_check *check, vm_pattern *p, unsigned first, unsigned shift)
{
    if (VM_UNLIKELY(p->shift != shift)) {
        vm_parts_drop(check, p);
        p->shift = (uint8_t)shift;
    }
    if (VM_UNLIKELY(!p->parts[first]))
        p->parts[first] = make_parts(check, p, first, shift);
    return p->parts[first];
}

/* True if the lanes' addresses are apart as they were. */
INLINE bool fits(const vm_pattern *p, const vm_warp *w, const vm_code *i, uint32_t m)
{
    if (i->flags & VM_ADDR32) {
        const uint32_t *r = (const uint32_t *)(const void *)vm_at(w, i->a);
        const uint32_t base = r[__builtin_ctz(m)];
        x8 apart = {0};
        for (unsigned l = 0; l < VM_LANES; l += VM_CELLS)
            apart |= ((get(r + l) - base) ^ get(p->rel + l)) & get(p->live + l);
        return !any(apart);
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
    return !any((x8)apart);
}

/* ---- memory ---- */

INLINE bool walk(const look *k, const vm_parts *parts, vm_cells *cells, uint64_t group, bool write, bool shared)
{
    const uint32_t me = k->who;
    for (uint32_t n = 0; n < parts->count; n++) {
        const part *p = &parts->part[n];
        vm_cells *g = &cells[group + (uint64_t)p->at];
        if (!write && p->only < VM_CELLS && read_cell(k, g, p->only, p->who[p->only] + me, shared))
            continue;
        const x8 in = get(p->in), who = get(p->who) + me;
        if (write ? !may_write(k, g, in, who, shared)
                  : !(p->whole ? read_part(k, g, in, who, true, shared) : read_part(k, g, in, who, false, shared)))
            return false;
    }
    for (uint32_t n = 0; n < parts->count && write; n++) {
        const part *p = &parts->part[n];
        vm_cells *g = &cells[group + (uint64_t)p->at];
        mark(k, &g->w, get(p->in), get(p->who) + me, p->whole);
    }
    return true;
}

static bool quick_shared(const vm_warp *w, const vm_code *i, uint32_t m, vm_pattern *p, look *k, bool write)
{
    const vm_run_state *run = w->runner->run;
    const vm_check_block *b = w->block->check;
    const uint32_t lane = (uint32_t)__builtin_ctz(m);
    const uint64_t base = (uint32_t)((i->flags & VM_ADDR32 ? vm_r32(w, i->a)[lane] : vm_r64(w, i->a)[lane]) + i->imm);
    const uint64_t first = base + (uint64_t)p->low, end = base + (uint64_t)p->high + p->bytes;
    uint64_t low, high;
    if (!vm_check_shared_bounds(run, base, run->launch->module->check->owner[k->insn], &low, &high) || first < low ||
        first > base || end > high || (base | p->bits) & (p->bytes - 1) || w->block->cluster->size > 1 ||
        run->shared_system)
        return false;
    const uint64_t cell = base >> b->shift;
    const vm_parts *parts = parts_of(run->device->check, p, cell % VM_CELLS, b->shift);
    if (!parts)
        return false;
    k->limit = k->clock->fast;
    k->base = b->base;
    k->readers = b->dirty;
    return write ? walk(k, parts, b->cells, cell / VM_CELLS, true, true)
                 : walk(k, parts, b->cells, cell / VM_CELLS, false, true);
}

/* All bytes of [from, end) were written. */
static bool is_written(const vm_shadow *shadow, uint64_t from, uint64_t end)
{
    for (uint64_t at = from; at < end; at = (at / 64 + 1) * 64) {
        const uint64_t count = end - at / 64 * 64, mask = count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
        if (~shadow->written[at / 64] & mask >> at % 64 << at % 64)
            return false;
    }
    return true;
}

static bool quick_global(const vm_warp *w, const vm_code *i, uint32_t m, vm_pattern *p, look *k, bool write)
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
    if (a->constant)
        return !write;
    vm_shadow *shadow = a->shadow;
    if (!shadow || a->home != run->device || shadow->used || shadow->shift != run->launch->module->check->shift ||
        first / VM_SHADOW_PAGE != (end - 1) / VM_SHADOW_PAGE || (write && shadow->pitch))
        return false;
    vm_cells *page = shadow->pages[first / VM_SHADOW_PAGE];
    if (!page || (shadow->unwritten && !is_written(shadow, first, end)))
        return false;
    const uint64_t cell = (base - a->base) % VM_SHADOW_PAGE >> shadow->shift;
    const vm_parts *parts = parts_of(run->device->check, p, cell % VM_CELLS, shadow->shift);
    if (!parts)
        return false;
    k->limit = k->clock->horizon;
    k->base = run->device->check->launch;
    return write ? walk(k, parts, page, cell / VM_CELLS, true, false)
                 : walk(k, parts, page, cell / VM_CELLS, false, false);
}

#ifdef __AVX2__
const bool vm_check_has_vectors = true;
#else
const bool vm_check_has_vectors = false; /* without them it would be slower than the long way */
#endif

bool vm_check_quick(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind)
{
    vm_check *check = w->runner->run->device->check;
    const bool write = kind == VM_SEE_STORE;
    look k = {.clock = &w->block->check->warps[w->index],
              .now = check->time,
              .insn = vm_insn_of(w, i),
              .block = (uint32_t)w->block->number,
              .who = w->index * VM_LANES,
              .read_only = kind & VM_SEE_CONSTANT};
    vm_pattern *p = check->patterns[k.insn % VM_PATTERNS];
    if ((i->space != PTX_SPACE_SHARED && i->space != PTX_SPACE_GLOBAL) || !p || p->hits < check->often ||
        p->insn != k.insn + 1 || p->lanes != m || p->bytes != (uint32_t)i->size * i->count ||
        p->bytes & (p->bytes - 1) || !fits(p, w, i, m) || (write && p->count < (unsigned)__builtin_popcount(m)))
        return false;
    /* Synchronised by a flag: what is of now is known, so that a read that was noted is not found the same again. */
    if (VM_UNLIKELY(k.clock->synced >= k.now))
        return false;
    return i->space == PTX_SPACE_SHARED ? quick_shared(w, i, m, p, &k, write) : quick_global(w, i, m, p, &k, write);
}
