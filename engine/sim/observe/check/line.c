/* line.c - decides which of the two read slots of a cell gets a new read. This file handles compact lines in which some
 * earlier reads are not ordered before the new read. For open lines, record_read() and merge_read() of access.c do the
 * same cell by cell. This file also has the reads of single cells. */
#include <stddef.h>
#include <string.h>

#include "line_internal.h"

/* The reads that a merge adds: at most two reads for each row in each slot. */
typedef struct added {
    vm_row row;
    uint32_t in;
    enum vm_role role;
} added;
typedef struct additions {
    added list[4 * VM_ROWS_MOST + 1];
    unsigned count;
    uint32_t gone[VM_ROLES]; /* indexed by role: the cells whose old marks are replaced */
} additions;

static void add(additions *a, enum vm_role role, const vm_row *row, uint32_t in)
{
    if (!in)
        return;
    a->list[a->count++] = (added){*row, in, role};
    a->gone[role] |= in;
}

/* Returns true if the reads of the row and this read may share a read slot: both belong to one warp (shared memory) or
 * to one block (global memory). */
static bool is_near(const vm_plain *k, const vm_row *row)
{
    return k->shared ? ((row->who ^ k->who) & VM_WHO) < VM_LANES : row->block == k->block;
}

/* Merges this read into those reads of a row that the cells `in` have. The row belongs to the same warp or block as
 * this read. If the old read of a cell is by the same thread, or ordered before this read, the cell gets the mark of
 * this read. Each other cell gets a mark that represents several threads. Returns false if this function cannot decide
 * which mark is right. */
static bool merge_row(const vm_plain *k, const vm_row *row, const vm_touch *t, uint32_t in, enum vm_role role,
                      additions *a)
{
    const vm_clock *c = k->clock;
    const bool warp = ((row->who ^ k->who) & VM_WHO) == 0, many = row->who & VM_MANY, full = row->stamp <= c->full;
    uint32_t mine = warp && (!many || t->many) ? check_same_lanes(row, t, in) : 0;
    if (k->shared || (warp && !many))
        mine |= full ? in : 0;
    else if (many ? row->stamp <= c->synced : row->stamp <= c->know[(row->who & VM_WHO) / VM_LANES])
        mine = in;
    const bool unknown = k->shared ? c->lanes != NULL : !many && (warp ? c->lanes != NULL : c->more != NULL);
    if ((unknown && mine != in) || (!k->shared && row->stamp <= k->base))
        return false;
    const vm_row own = check_own_row(k, t);
    vm_row both = *row;
    both.stamp = k->now;
    both.who = (uint16_t)((row->who | VM_MANY) & ~VM_STRONG_SIDE);
    add(a, role, &own, mine);
    add(a, role, &both, in & ~mine);
    return true;
}

/* `fresh` has the cells whose first read slot holds a read that is not ordered before this read. */
bool check_line_merge(const vm_plain *k, vm_line *line, const vm_touch *t, uint32_t fresh)
{
    additions a;
    const vm_row own = check_own_row(k, t);
    a.count = 0;
    memset(a.gone, 0, sizeof a.gone);
    uint32_t near1 = 0, near2 = 0;
    vm_row *rows = check_line_rows(line);
    for (uint32_t n = 0; n < line->count; n++) {
        const vm_row *row = &rows[n];
        const uint32_t in = row->stamp > k->limit && is_near(k, row) ? row->in[VM_ROLE_READ] & fresh : 0;
        near1 |= in;
        if (in && !merge_row(k, row, t, in, VM_ROLE_READ, &a))
            return false;
    }
    const uint32_t others = fresh & ~near1;
    for (uint32_t n = 0; n < line->count && others; n++) {
        const vm_row *row = &rows[n];
        const uint32_t in = row->stamp > k->limit && is_near(k, row) ? row->in[VM_ROLE_READ2] & others : 0;
        near2 |= in;
        if (in && !merge_row(k, row, t, in, VM_ROLE_READ2, &a))
            return false;
    }
    const uint32_t later = others & ~near2; /* in these cells the read of the first slot moves to the second slot */
    for (uint32_t n = 0; n < line->count && later; n++) {
        uint32_t *in = rows[n].in;
        in[VM_ROLE_READ2] = (in[VM_ROLE_READ2] & ~later) | (in[VM_ROLE_READ] & later);
    }
    add(&a, VM_ROLE_READ, &own, (t->in & ~fresh) | later);
    check_line_remove(line, VM_ROLE_READ, a.gone[VM_ROLE_READ]);
    check_line_remove(line, VM_ROLE_READ2, a.gone[VM_ROLE_READ2]);
    for (unsigned n = 0; n < a.count; n++)
        check_line_add(k->check, line, a.list[n].role, &a.list[n].row, a.list[n].in);
    return true;
}

/* The rows of a line that matter for one cell and one access, as find_rows() finds them. A pointer is NULL if there is
 * no such row. */
typedef struct found {
    const vm_row *write; /* the row that has the cell's mark of this role */
    vm_row *read, *constant;
    vm_row *own;  /* a row that the access has made: it has the cell, or can get it */
    vm_row *free; /* a row without cells; it may be the row after the last one */
} found;

/* A row as four words, because comparing words is faster than comparing fields. Two words are fields, and two are sets
 * of cells. */
typedef struct row_words {
    uint64_t of[4];
} row_words;
_Static_assert(sizeof(row_words) == sizeof(vm_row) && offsetof(vm_row, in) == 16, "fields and sets");

static inline row_words get_words(const vm_row *row)
{
    row_words words;
    memcpy(&words, row, sizeof words);
    return words;
}

/* Finds the rows in a single scan of a compact line. `made` is the row that the access makes, and `cell` is its only
 * cell. */
static found find_rows(vm_line *line, const vm_row *made, unsigned cell)
{
    found f = {0};
    vm_row *rows = check_line_rows(line), *joined = NULL;
    const row_words mine = get_words(made);
    const uint64_t only = get_words(&(vm_row){.block = UINT32_MAX, .who = UINT16_MAX}).of[1]; /* without the lane */
    const uint64_t bits = (uint64_t)0x100000001 << cell;
    for (uint32_t n = 0; n < line->count; n++) {
        vm_row *row = &rows[n];
        const row_words its = get_words(row);
        const uint64_t sets = its.of[2] | its.of[3],
                       other = (its.of[0] ^ mine.of[0]) | ((its.of[1] ^ mine.of[1]) & only);
        if (VM_UNLIKELY(sets & bits)) {
            f.write = row->in[VM_ROLE_WRITE] >> cell & 1 ? row : f.write;
            f.read = row->in[VM_ROLE_READ] >> cell & 1 ? row : f.read;
            f.constant = row->in[VM_ROLE_CONSTANT] >> cell & 1 ? row : f.constant;
        }
        if (VM_UNLIKELY(!sets))
            f.free = f.free ? f.free : row;
        else if (VM_UNLIKELY(!other) && !f.own) {
            if (row->lane == made->lane && row->step == made->step)
                f.own = row;
            else if (!joined && check_fit_row(row, cell, (uint32_t)check_row_lane(made->lane, made->step, cell)))
                joined = row;
        }
    }
    f.own = f.own ? f.own : joined;
    if (!f.free && line->count < (line->more ? line->room : VM_ROWS))
        f.free = &rows[line->count];
    return f;
}

bool check_line_read_cell(const vm_plain *k, vm_line *line, const vm_touch *t)
{
    const unsigned cell = (unsigned)__builtin_ctz(t->in);
    if (line->words)
        return check_thin_read(k, line, t);
    const vm_row made = check_own_row(k, t);
    const found f = find_rows(line, &made, cell);
    if (k->scattered && !f.own && check_thin_make(k->check, line))
        return check_thin_read(k, line, t);
    if (k->shared || (f.read && f.read->stamp > k->limit) || (!f.own && !f.free))
        return check_line_read(k, line, t);
    if (f.write && (check_is_unordered(k, f.write, t, t->in) || (k->read_only && f.write->stamp > k->base)))
        return false;
    if (f.read)
        f.read->in[VM_ROLE_READ] &= ~t->in;
    if (k->read_only && f.constant)
        f.constant->in[VM_ROLE_CONSTANT] &= ~t->in;
    vm_row *row = f.own;
    if (!row) {
        row = f.free;
        if (row == check_line_rows(line) + line->count)
            line->count++;
        *row = made;
        memset(row->in, 0, sizeof row->in);
    }
    row->in[VM_ROLE_READ] |= t->in;
    row->in[VM_ROLE_CONSTANT] |= k->read_only ? t->in : 0;
    return true;
}
