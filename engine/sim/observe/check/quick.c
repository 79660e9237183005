/* quick.c - the fast path for plain loads and stores. The fast path handles accesses with address differences between
 * lanes that an earlier access of the same instruction had (vm_pattern). The fast path checks eight cells at once with
 * vector instructions.
 *
 * This file never reports a finding. If an access is not plain or may have a defect, the functions return false. Then
 * access.c checks the access cell by cell. quick.c and access.c must give the same results:
 * tests/sim/test_check_quick.c compares them. For a load, the fast path may stop in the middle, because it does no harm
 * to record the same read twice. For a store, the fast path tests all cells before it records anything.
 *
 * This file is compiled for AVX2. No function of this file may be called on a host without AVX2. check_can_quick() of
 * check.c tests this. */
#include <string.h>

#include "bounds_internal.h"
#include "dependent_internal.h"
#include "line_internal.h"
#include "quick_internal.h"
#include "shadow_internal.h"
#include "vm_checks_internal.h"

/* GNU vectors. A comparison sets all bits of an element if the comparison is true there, otherwise none. */
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
/* Selects bit by bit: the result has the bit of `yes` where the mask has a 1, and the bit of `no` elsewhere. */
INLINE x8 choose(x8 mask, x8 yes, x8 no) { return (mask & yes) | (~mask & no); }
/* Stores one field of the cells `in`. If `whole` is true, `in` has all eight cells, so the function need not read the
 * old values. */
INLINE void store8(uint32_t *to, x8 in, x8 v, bool whole)
{
    if (!whole)
        v = choose(in, v, load8(to));
    memcpy(to, &v, sizeof v);
}

/* The cells of one line that an instruction touches. who[c] is the lane of cell c. who[c] has the flag VM_MANY if
 * several lanes touch the cell. For a compact line, `touch` describes the same cells by rows. */
enum { TOUCHES = 4 };
typedef struct part {
    int64_t at;     /* distance in lines from the line of the first lane's cell */
    uint32_t cells; /* one bit for each cell that is touched */
    uint32_t count; /* number of rows; 0 if there would be more than TOUCHES rows, so that the line must be open */
    vm_touch touch[TOUCHES];
    uint32_t who[VM_LINE];
} part;
/* The parts of a pattern if the cell of the first lane has a certain place in its line. */
struct vm_parts {
    uint32_t count;
    part part[];
};

/* The binary logarithm of the number of lines of a page if a cell covered one byte. */
enum { PAGE_LINES_SHIFT = 7 };
_Static_assert(VM_SHADOW_PAGE / VM_LINE == 1 << PAGE_LINES_SHIFT, "the size of a page");
/* Tells where the lines of a piece of memory are, in pages of 1 << shift lines each. */
typedef struct line_table {
    vm_line *const *pages;
    unsigned shift;
} line_table;

/* Selects the marks that only the accessing thread itself has made. Program order puts these marks before this
 * access. */
INLINE x8 own_marks(const vm_plain *k, const vm_marks *m, x8 who)
{
    const x8 old = load8(m->who);
    return (x8)((((old ^ who) & VM_SAME) | (old & (VM_MANY | VM_PENDING))) == 0) & (x8)(load8(m->block) == k->block) &
           (x8)(load8(m->stamp) > k->base);
}

/* Selects the marks that are newer than the limit and that another thread may have made. */
INLINE x8 unordered_marks(const vm_plain *k, const vm_marks *m, x8 in, x8 who)
{
    x8 fresh = in & (x8)(load8(m->stamp) > k->limit);
    if (VM_UNLIKELY(any_lane(fresh)))
        fresh &= ~own_marks(k, m, who);
    return fresh;
}

/* Merges this read into the marks `near` of the same warp or block. merge_read() of access.c does the same. Returns the
 * cells for which the function cannot decide. */
INLINE x8 merge_reads(const vm_plain *k, vm_marks *m, x8 near, x8 who, bool shared)
{
    const x8 old = load8(m->who), stamp = load8(m->stamp), apart = (old ^ who) & VM_WHO;
    const x8 many = (x8)((old & VM_MANY) != 0), single_same = (x8)(apart == 0) & (~many | (x8)((who & VM_MANY) != 0));
    const x8 warp = (x8)(apart < VM_LANES), full = (x8)(stamp <= k->clock->full);
    const x8 unknown = (x8){0} - (k->clock->lanes != NULL); /* true if some lanes have clocks of their own */
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
INLINE void record_marks(const vm_plain *k, vm_marks *m, x8 in, x8 who, bool whole)
{
    store8(m->stamp, in, (x8){0} + k->now, whole);
    store8(m->who, in, who, whole);
    store8(m->insn, in, (x8){0} + k->insn, whole);
    store8(m->block, in, (x8){0} + k->block, whole);
}

/* Copies the marks that the cells `in` have in the first read slot to the second read slot. */
INLINE void copy_marks(vm_marks *to, const vm_marks *from, x8 in, bool whole)
{
    store8(to->stamp, in, load8(from->stamp), whole);
    store8(to->who, in, load8(from->who), whole);
    store8(to->insn, in, load8(from->insn), whole);
    store8(to->block, in, load8(from->block), whole);
}

/* Selects the fresh marks that the same warp (shared memory) or the same block (global memory) has made. */
INLINE x8 find_near(const vm_plain *k, const vm_marks *m, x8 fresh, x8 who, bool shared)
{
    return fresh & (shared ? (x8)(((load8(m->who) ^ who) & VM_WHO) < VM_LANES) : (x8)(load8(m->block) == k->block));
}

/* Checks and records a read of the cells `in` of a group. Returns false if the fast path cannot decide. */
INLINE bool read_group(const vm_plain *k, vm_cells *g, x8 in, x8 who, bool whole, bool shared)
{
    const x8 written = load8(g->w.stamp);
    x8 bad = in & (x8)(written > k->limit);
    if (VM_UNLIKELY(any_lane(bad)))
        bad &= ~own_marks(k, &g->w, who);
    if (shared)
        bad |= in & (x8)(written <= k->base); /* cells that were never written */
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
    if (!any_lane(later ^ in)) { /* other warps or blocks made all of these reads, so the cells keep both marks */
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

/* Returns true if a write to the cells `in` does not race with any recorded access. Does not change the cells. */
INLINE bool may_write(const vm_plain *k, const vm_cells *g, x8 in, x8 who, bool shared)
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

/* Returns true if the formula of the row gives the right lane for each of the cells `in`. */
static bool fits(const part *p, const vm_touch *t, uint32_t in)
{
    VM_EACH(c, in)
        if (check_row_lane(t->lane, t->step, c) != (int)(p->who[c] % VM_LANES))
            return false;
    return true;
}

/* Describes the cells of a part by rows. Each cell joins the first row that has a formula for its cells and this
 * cell. */
static void make_touches(part *p)
{
    VM_EACH(c, p->cells) {
        const uint16_t many = (uint16_t)(p->who[c] & VM_MANY);
        const int lane = (int)(p->who[c] % VM_LANES);
        bool found = false;
        for (uint32_t n = 0; n < p->count && !found; n++)
            for (uint8_t step = 0; step <= VM_STEP_ONE && !found && p->touch[n].many == many; step++) {
                const vm_touch made = {p->touch[n].in | (uint32_t)1 << c, many, (int8_t)(lane - (int)(c >> step)),
                                       step};
                found = fits(p, &made, made.in);
                if (found)
                    p->touch[n] = made;
            }
        if (!found && p->count == TOUCHES) {
            p->count = 0;
            return;
        }
        if (!found)
            p->touch[p->count++] = (vm_touch){(uint32_t)1 << c, many, (int8_t)lane, VM_STEP_ONE};
    }
}

/* Computes the lines and cells that a pattern touches, if the first lane's cell has the number `first` in its line.
 * Returns NULL if memory runs out or the pattern touches more than MOST lines. */
static vm_parts *make_parts(vm_check *check, const vm_pattern *p, unsigned first, unsigned shift)
{
    enum { MOST = 128 };
    int64_t line[MOST];
    const uint32_t cells = p->bytes >> shift ? p->bytes >> shift : 1;
    uint32_t count = 0;
    uint16_t where[VM_LANES * 16];
    if (p->bytes > 16 || cells > 16)
        return NULL;
    for (uint32_t n = 0; n < p->count * cells; n++) {
        const int64_t cell = p->at[n / cells] / (1 << shift) + n % cells + first;
        const int64_t at = (cell - (cell < 0 ? VM_LINE - 1 : 0)) / VM_LINE;
        uint32_t k = count;
        while (k && line[k - 1] != at)
            k--;
        if (!k) {
            if (count == MOST)
                return NULL;
            line[count] = at;
            k = ++count;
        }
        where[n] = (uint16_t)(k - 1);
    }
    vm_parts *made = kiln__calloc(check->mem, 1, sizeof *made + count * sizeof(part));
    if (!made)
        return NULL;
    made->count = count;
    for (uint32_t k = 0; k < count; k++)
        made->part[k].at = line[k];
    for (uint32_t n = 0; n < p->count * cells; n++) {
        const int64_t cell = p->at[n / cells] / (1 << shift) + n % cells + first;
        const uint32_t lanes = p->who[n / cells];
        part *to = &made->part[where[n]];
        to->cells |= (uint32_t)1 << (cell & (VM_LINE - 1));
        to->who[cell & (VM_LINE - 1)] = p->lane[n / cells] | (lanes & (lanes - 1) ? VM_MANY : 0);
    }
    for (uint32_t k = 0; k < count; k++)
        make_touches(&made->part[k]);
    return made;
}

/* Returns the parts of a pattern for one place of the first lane's cell. Computes the parts at the first use, and again
 * after a change of the granule. */
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

/* Returns the distance of a lane's address from the address of the pattern's first lane. */
INLINE uint64_t get_distance(const vm_pattern *p, uint32_t lane) { return (uint64_t)(int64_t)(int32_t)p->rel[lane]; }

/* Does the same as has_same_distances(), but only for the lanes m of the pattern. */
static bool have_same_distances(const vm_pattern *p, const vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t first = (uint32_t)__builtin_ctz(m);
    uint64_t apart = 0;
    if (i->flags & VM_ADDR32) {
        const uint32_t *r = vm_r32(w, i->a), base = r[first] - p->rel[first];
        VM_EACH(l, m)
            apart |= (r[l] - base) ^ p->rel[l];
        return apart == 0;
    }
    const uint64_t *r = vm_r64(w, i->a), base = r[first] - get_distance(p, first);
    VM_EACH(l, m)
        apart |= (r[l] - base) ^ get_distance(p, l);
    return apart == 0;
}

/* Returns true if the distances between the lanes' addresses are the distances of the pattern. */
INLINE bool has_same_distances(const vm_pattern *p, const vm_warp *w, const vm_code *i, uint32_t m)
{
    if (VM_UNLIKELY(m != p->lanes))
        return have_same_distances(p, w, i, m);
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

/* Returns a mask of the cells whose bits are set. An element of the mask has either all bits or none. */
INLINE x8 cells_mask(uint32_t cells)
{
    const x8 bits = {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u};
    return (x8)((bits & cells) != 0);
}

/* Returns those cells of the touch that the lanes m touch. */
static uint32_t find_touched(const vm_touch *t, uint32_t m)
{
    if (t->step == 0)
        return t->in & (t->lane >= 0 ? m >> t->lane : m << -t->lane);
    uint32_t in = 0;
    VM_EACH(c, t->in)
        in |= (m >> ((uint32_t)check_row_lane(t->lane, t->step, c) % VM_LANES) & 1) << c;
    return in;
}

/* Sets *to to those cells of a part that the lanes m touch. Returns false if several lanes touch a cell, because the
 * mark of the cell may then name a lane that is not in m. */
static bool select_lanes(part *to, const part *from, uint32_t m)
{
    uint32_t count = 0;
    *to = *from;
    to->cells = 0;
    for (uint32_t n = 0; n < from->count; n++) {
        vm_touch *t = &to->touch[count];
        *t = from->touch[n];
        t->in = find_touched(t, m);
        to->cells |= t->in;
        count += t->in != 0;
        if (t->many)
            return false;
    }
    to->count = count;
    return from->count != 0;
}

INLINE vm_line *get_line(const vm_plain *k, const vm_check_block *b, const line_table *table, uint64_t at, bool shared)
{
    if (shared)
        return check_shared_line(k->check, b, at);
    vm_line *page = table->pages[at >> table->shift];
    return page ? page + (at & (((uint64_t)1 << table->shift) - 1)) : NULL;
}

/* If the rows of a line cannot hold the access, opens the line. Returns false if memory runs out. */
INLINE bool is_ready(const vm_plain *k, vm_line *line, const part *p)
{
    return line->cells || p->count || check_line_open(k->check, line);
}

/* Checks and records a read of one line. Returns false if the fast path cannot decide. */
INLINE bool read_line(const vm_plain *k, vm_line *line, const part *p, bool shared)
{
    uint32_t done = 0;
    for (uint32_t n = 0; n < p->count && !line->cells; n++) {
        if (!check_line_read(k, line, &p->touch[n]))
            return false;
        done |= p->touch[n].in;
    }
    for (unsigned g = 0; done != p->cells && g < VM_LINE / VM_CELLS; g++) {
        /* if a row was recorded before the line was opened, recording it again changes nothing */
        const uint32_t cells = p->cells >> g * VM_CELLS & 255;
        const x8 in = cells_mask(cells), who = load8(p->who + g * VM_CELLS) + k->who;
        if (cells && !read_group(k, &line->cells[g], in, who, cells == 255, shared))
            return false;
    }
    return true;
}

/* Returns true if a write to one line does not race with any recorded access. */
INLINE bool may_write_line(const vm_plain *k, const vm_line *line, const part *p, bool shared)
{
    for (uint32_t n = 0; n < p->count && !line->cells; n++)
        if (!check_line_may_write(k, line, &p->touch[n]))
            return false;
    for (unsigned g = 0; line->cells && g < VM_LINE / VM_CELLS; g++)
        if (p->cells >> g * VM_CELLS & 255 && !may_write(k, &line->cells[g], cells_mask(p->cells >> g * VM_CELLS),
                                                         load8(p->who + g * VM_CELLS) + k->who, shared))
            return false;
    return true;
}

INLINE void write_line(const vm_plain *k, vm_line *line, const part *p)
{
    uint32_t done = 0;
    for (uint32_t n = 0; n < p->count && !line->cells; n++) {
        check_line_record(k, line, VM_ROLE_WRITE, &p->touch[n]);
        done |= p->touch[n].in;
    }
    for (unsigned g = 0; done != p->cells && g < VM_LINE / VM_CELLS; g++) {
        const uint32_t cells = p->cells >> g * VM_CELLS & 255;
        if (cells)
            record_marks(k, &line->cells[g].w, cells_mask(cells), load8(p->who + g * VM_CELLS) + k->who, cells == 255);
    }
}

/* Does the same as visit_lines(), but only for the lanes m of the pattern. */
static bool visit_lanes(const vm_plain *k, const vm_parts *parts, const vm_check_block *b, const line_table *table,
                        uint64_t first, bool write, bool shared, uint32_t m)
{
    for (unsigned recording = 0; recording <= write; recording++)
        for (uint32_t n = 0; n < parts->count; n++) {
            part p;
            if (!select_lanes(&p, &parts->part[n], m))
                return false;
            if (!p.cells)
                continue;
            vm_line *line = get_line(k, b, table, first + (uint64_t)p.at, shared);
            if (recording)
                write_line(k, line, &p);
            else if (!line || !(write ? may_write_line(k, line, &p, shared) : read_line(k, line, &p, shared)))
                return false;
        }
    return true;
}

/* Checks and records an access in all lines that the pattern touches. For a write, the function tests all lines before
 * it changes any line. `first` is the line of the first lane's cell. `some` has the lanes of the access if the pattern
 * has more lanes, otherwise it is 0. */
INLINE bool visit_lines(const vm_plain *k, const vm_parts *parts, const vm_check_block *b, const line_table *table,
                        uint64_t first, bool write, bool shared, uint32_t some)
{
    if (VM_UNLIKELY(some))
        return visit_lanes(k, parts, b, table, first, write, shared, some);
    for (uint32_t n = 0; n < parts->count; n++) {
        const part *p = &parts->part[n];
        vm_line *line = get_line(k, b, table, first + (uint64_t)p->at, shared);
        if (VM_UNLIKELY(!line || !is_ready(k, line, p)) ||
            !(write ? may_write_line(k, line, p, shared) : read_line(k, line, p, shared)))
            return false;
    }
    for (uint32_t n = 0; n < parts->count && write; n++) {
        const part *p = &parts->part[n];
        write_line(k, get_line(k, b, table, first + (uint64_t)p->at, shared), p);
    }
    return true;
}

/* Tries the fast path for an access to shared memory. All lanes must be aligned and inside one variable, and the block
 * must be alone in its cluster. */
static bool try_shared(const vm_warp *w, const vm_code *i, uint32_t m, vm_pattern *p, vm_plain *k, bool write)
{
    const vm_run_state *run = w->runner->run;
    const vm_check_block *b = w->block->check;
    const uint32_t lane = (uint32_t)__builtin_ctz(m);
    const uint64_t base = (uint32_t)((i->flags & VM_ADDR32 ? vm_r32(w, i->a)[lane] : vm_r64(w, i->a)[lane]) + i->imm) -
                          get_distance(p, lane);
    const uint64_t first = base + (uint64_t)p->low, end = base + (uint64_t)p->high + p->bytes;
    uint64_t low, high;
    if (base > UINT32_MAX ||
        !check_find_shared_bounds(run, base, run->launch->module->check->owner[k->insn], &low, &high) || first < low ||
        first > base || end > high || (base | p->bits) & (p->bytes - 1) || w->block->cluster->size > 1 ||
        run->shared_system)
        return false;
    const uint64_t cell = base >> b->shift;
    const vm_parts *parts = get_parts(run->device->check, p, cell % VM_LINE, b->shift);
    if (!parts)
        return false;
    k->limit = k->clock->fast;
    k->base = b->base;
    k->readers = b->dirty;
    k->shared = true;
    const uint32_t some = m == p->lanes ? 0 : m;
    return write ? visit_lines(k, parts, b, NULL, cell / VM_LINE, true, true, some)
                 : visit_lines(k, parts, b, NULL, cell / VM_LINE, false, true, some);
}

/* Returns true if all bytes of [from, end) have been written. */
static bool is_written(const vm_shadow *shadow, uint64_t from, uint64_t end)
{
    for (uint64_t at = from; at < end; at = (at / 64 + 1) * 64) {
        const uint64_t count = end - at / 64 * 64, mask = count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
        if (~shadow->written[at / 64] & mask >> at % 64 << at % 64)
            return false;
    }
    return true;
}

/* Prefetches the shadow lines of a later access, because a grid-stride loop touches lines that are far apart. The
 * function expects that the distance between two accesses of an instruction stays the same, and looks two accesses
 * ahead. */
INLINE void prefetch_next(vm_pattern *p, const vm_allocation *a, const line_table *table, uint64_t cell)
{
    const uint64_t next = cell + 2 * (cell - p->last);
    p->last = cell;
    if (next >= a->bytes >> a->shadow->shift)
        return;
    const uint64_t at = next / VM_LINE;
    const vm_line *page = table->pages[at >> table->shift];
    if (!page)
        return;
    const vm_line *line = page + (at & (((uint64_t)1 << table->shift) - 1));
    __builtin_prefetch(line, 1);
    __builtin_prefetch(&line->rows[1], 1);
}

/* Tries the fast path for an access to global memory. The allocation that the pattern remembers must still be valid.
 * All lanes must be aligned, and all bytes must have been written. */
static bool try_global(const vm_warp *w, const vm_code *i, uint32_t m, vm_pattern *p, vm_plain *k, bool write)
{
    const vm_run_state *run = w->runner->run;
    const vm_allocation *a = p->allocation;
    const uint32_t lane = (uint32_t)__builtin_ctz(m);
    const uint64_t base = (i->flags & VM_ADDR32 ? vm_r32(w, i->a)[lane] + (uint32_t)i->imm
                                                : vm_r64(w, i->a)[lane] + i->imm) -
                          get_distance(p, lane);
    if (!a || p->generation != atomic_load_explicit(&run->device->generation, memory_order_relaxed))
        return false;
    const uint64_t first = base - a->base + (uint64_t)p->low, end = base - a->base + (uint64_t)p->high + p->bytes;
    if (base - a->base >= a->bytes || first > base - a->base || end > a->bytes || (base | p->bits) & (p->bytes - 1))
        return false;
    if (a->constant && write)
        return false;
    vm_shadow *shadow = a->shadow;
    if (!shadow || a->home != run->device || shadow->used || shadow->shift != run->launch->module->check->shift ||
        (write && shadow->pitch) || (shadow->unwritten && !is_written(shadow, first, end)))
        return false;
    const uint64_t cell = (base - a->base) >> shadow->shift;
    const vm_parts *parts = get_parts(run->device->check, p, cell % VM_LINE, shadow->shift);
    if (!parts)
        return false;
    k->limit = check_dependent_limit(k->clock, m);
    k->base = run->device->check->launch;
    k->shared = false;
    const line_table table = {shadow->pages, PAGE_LINES_SHIFT - shadow->shift};
    prefetch_next(p, a, &table, cell);
    const uint32_t some = m == p->lanes ? 0 : m;
    return write ? visit_lines(k, parts, NULL, &table, cell / VM_LINE, true, false, some)
                 : visit_lines(k, parts, NULL, &table, cell / VM_LINE, false, false, some);
}

#ifdef __AVX2__
const bool check_has_vectors = true;
#else
const bool check_has_vectors = false; /* without AVX2 the fast path would be slower than access.c */
#endif

/* The pattern must have been hit often enough. In a store, each lane must have a different address. */
bool check_quick(const vm_warp *w, const vm_code *i, uint32_t m, unsigned kind)
{
    vm_check *check = w->runner->run->device->check;
    const bool write = kind == VM_SEE_STORE;
    vm_plain k = {.check = check,
                  .clock = &w->block->check->warps[w->index],
                  .now = check->time,
                  .insn = vm_insn_of(w, i),
                  .block = (uint32_t)w->block->number,
                  .who = w->index * VM_LANES | (w->block->check->triggered ? VM_LATE_SIDE : 0),
                  .read_only = kind & VM_SEE_CONSTANT};
    vm_pattern *p = check->patterns[k.insn % VM_PATTERNS];
    if ((i->space != PTX_SPACE_SHARED && i->space != PTX_SPACE_GLOBAL) || !p || p->hits < check->often ||
        p->insn != k.insn + 1 || m & ~p->lanes || p->bytes != (uint32_t)i->size * i->count ||
        p->bytes & (p->bytes - 1) || !has_same_distances(p, w, i, m) ||
        (write && p->count < (unsigned)__builtin_popcount(p->lanes)))
        return false;
    /* The warp has synchronised at the current time, so access.c must decide. A read that is recorded now would have a
     * time that is not newer than `synced`. Later merge_reads() would take it for a read before the synchronisation. */
    if (VM_UNLIKELY(k.clock->synced >= k.now))
        return false;
    return i->space == PTX_SPACE_SHARED ? try_shared(w, i, m, p, &k, write) : try_global(w, i, m, p, &k, write);
}

/* Does the same as check_insn() for accesses that check_insn() gives to the fast path. */
uint32_t check_compiled_access(vm_warp *w, const vm_code *i)
{
    const unsigned kind = w->runner->shown[w->frame->function->first_tally + i->insn];
    if (!check_is_plain(kind))
        return 0;
    w->block->check->warps[w->index].spins = 0;
    return check_quick(w, i, VM_ALL, kind);
}
