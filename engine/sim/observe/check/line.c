/* line.c - a read of a compact line whose cells have reads that are not ordered before it: which of the two read slots
 * of each cell takes the new read. access.c does the same cell by cell (record_read(), merge_read()). */
#include <string.h>

#include "line_internal.h"

/* The reads that a merge adds: at most two for each row in each slot. */
typedef struct added {
    vm_row row;
    uint32_t in;
    enum vm_role role;
} added;
typedef struct additions {
    added list[4 * VM_ROWS_MOST + 1];
    unsigned count;
    uint32_t gone[VM_ROLES]; /* the cells whose old marks are replaced, by role */
} additions;

static void add(additions *a, enum vm_role role, const vm_row *row, uint32_t in)
{
    if (!in)
        return;
    a->list[a->count++] = (added){*row, in, role};
    a->gone[role] |= in;
}

/* Returns true if the row's reads share a read slot with this read: both of one warp (shared memory), or both of one
 * block (global memory). */
static bool is_near(const vm_plain *k, const vm_row *row)
{
    return k->shared ? ((row->who ^ k->who) & VM_WHO) < VM_LANES : row->block == k->block;
}

/* Merges this read into the reads `in` of a row of the same warp or block. Cells whose reads are by the same thread, or
 * ordered before this read, get this read's mark. The other cells get a mark that represents several threads. Returns
 * false if that cannot be decided here. */
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

/* `fresh`: the cells whose first read slot holds a read that is not ordered before this one. */
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
    const uint32_t later = others & ~near2; /* the first read moves to the second slot */
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
