/* line_internal.h - lines of shadow memory: their marks, and the checks of plain accesses to compact lines.
 *
 * A plain access checks and records whole rows of marks. To do so it uses operations on sets of cells (`vm_row.in`). If
 * a function cannot decide, it returns false, and the caller checks cell by cell. */
#ifndef KILN_SIM_CHECK_LINE_INTERNAL_H
#define KILN_SIM_CHECK_LINE_INTERNAL_H

#include "dependent_internal.h"
#include "vm_checks_internal.h"

/* The largest size of all shadow cells of a device, in bytes. Beyond this size the checks may miss races. */
#define CHECK_CELL_BYTES_MOST ((size_t)1 << 31)

/* Returns the lane to which a cell of a row belongs. */
static inline int check_row_lane(int8_t lane, uint8_t step, unsigned cell) { return lane + (int)(cell >> step); }

/* Returns the rows of a compact line. */
static inline vm_row *check_line_rows(vm_line *line)
{
    return VM_UNLIKELY(line->more != NULL) ? line->more : line->rows;
}
static inline const vm_row *check_line_rows_of(const vm_line *line) { return line->more ? line->more : line->rows; }

/* Opens a compact line, whose cells get the marks of its rows. Returns the cells. If memory runs out, the line stays
 * compact. Then the function returns NULL and sets `starved`. */
vm_cells *check_line_open(vm_check *check, vm_line *line);
/* Removes all marks. Then the line is compact. */
void check_line_clear(vm_check *check, vm_line *line);
/* Finds a formula that gives the right lane for all cells of `row`, and gives `lane` for one more cell. If no formula
 * fits, returns false and leaves the row unchanged. */
bool check_fit_row(vm_row *row, unsigned cell, uint32_t lane);
static inline bool check_is_empty_row(const vm_row *row)
{
    return !(row->in[0] | row->in[1] | row->in[2] | row->in[3]);
}
/* Returns a copy of a cell of the line. */
vm_cell check_line_get(const vm_line *line, unsigned n);
/* Changes a cell of the line to `cell`. The present value of the cell must be `before`. */
void check_line_put(vm_check *check, vm_line *line, unsigned n, const vm_cell *before, const vm_cell *cell);
/* Gives the mark to the cells `in`. These cells must have no mark in this role, or the line must be open. */
void check_line_add(vm_check *check, vm_line *line, enum vm_role role, const vm_row *mark, uint32_t in);

/* Returns a copy of cell `n` of an array of lines. */
static inline vm_cell check_page_get(const vm_line *lines, uint64_t n)
{
    return check_line_get(&lines[n / VM_LINE], (unsigned)(n % VM_LINE));
}

/* Returns the time of the last write to a cell. */
static inline uint32_t check_line_written(const vm_line *line, unsigned n)
{
    if (line->cells)
        return line->cells[n / VM_CELLS].w.stamp[n % VM_CELLS];
    const vm_row *rows = check_line_rows_of(line);
    for (uint32_t k = 0; k < line->count; k++)
        if (rows[k].in[VM_ROLE_WRITE] >> n & 1)
            return rows[k].stamp;
    return 0;
}

/* Returns a line of shared memory. If an open line has not been used by this block, all its marks are older than the
 * block. Such marks count as "never written", so the line becomes compact again. */
static inline vm_line *check_shared_line(vm_check *check, const vm_check_block *b, uint64_t at)
{
    vm_line *line = &b->lines[at];
    if (VM_UNLIKELY(line->cells && line->base != b->base))
        check_line_clear(check, line);
    line->base = b->base;
    return line;
}

/* A plain access of a warp while it is checked. */
typedef struct vm_plain {
    vm_check *check; /* the check of the device that owns the memory */
    const vm_clock *clock;
    uint32_t now, insn, block, who, limit; /* who: the value of vm_mark.who for the first lane of the warp */
    uint32_t base; /* the time at which the block began (shared memory) or the launch began (global memory) */
    bool shared;
    bool scattered; /* a read whose lanes have irregular addresses; its lines become thin */
    bool read_only; /* ld.global.nc */
    bool readers;   /* true if asynchronous operations may have read cells */
} vm_plain;

/* The cells of a line that a plain access touches, and the lanes that touch these cells (vm_row). `many`: VM_MANY if
 * several lanes touch each of these cells, otherwise 0. */
typedef struct vm_touch {
    uint32_t in;
    uint16_t many;
    int8_t lane;
    uint8_t step;
} vm_touch;

enum { VM_SAME = VM_WHO | VM_MANY }; /* the bits of `who` that are equal if two marks are by the same thread */

/* Returns those cells of `in` that have the same lane in the row and in the access. */
static inline uint32_t check_same_lanes(const vm_row *row, const vm_touch *t, uint32_t in)
{
    if (row->step == t->step)
        return row->lane == t->lane ? in : 0;
    uint32_t same = 0;
    VM_EACH(c, in)
        same |= (uint32_t)(check_row_lane(row->lane, row->step, c) == check_row_lane(t->lane, t->step, c)) << c;
    return same;
}

/* Returns true if, for some of the cells `in`, the mark of the row is newer than the limit and belongs to another
 * thread. */
static inline bool check_is_unordered(const vm_plain *k, const vm_row *row, const vm_touch *t, uint32_t in)
{
    if (row->stamp <= k->limit || !in)
        return false;
    if (((row->who ^ k->who) & VM_WHO) || (row->who & (VM_MANY | VM_PENDING)) || t->many || row->block != k->block ||
        row->stamp <= k->base)
        return true;
    return check_same_lanes(row, t, in) != in;
}

/* Removes the marks that the cells `in` have in one role. */
static inline void check_line_remove(vm_line *line, enum vm_role role, uint32_t in)
{
    vm_row *rows = check_line_rows(line);
    for (uint32_t n = 0; n < line->count; n++)
        rows[n].in[role] &= ~in;
}

static inline vm_row check_own_row(const vm_plain *k, const vm_touch *t)
{
    return (vm_row){.stamp = k->now,
                    .insn = k->insn,
                    .block = k->block,
                    .who = (uint16_t)(k->who | t->many),
                    .lane = t->lane,
                    .step = t->step};
}

/* ---- thin lines (thin.c) ---- */

/* Makes a compact line thin. Returns false if the line has too many rows, or if memory runs out. */
bool check_thin_make(vm_check *check, vm_line *line);
/* Frees the words of a thin line, which then is compact and has only its rows. */
void check_thin_free(vm_check *check, vm_line *line);
/* Returns the mark that a cell of a thin line has in one role. Returns false if no word has it. */
bool check_thin_get(const vm_line *line, unsigned n, enum vm_role role, vm_mark *mark);
/* Changes the reads of a cell of a thin line to the reads of `cell`. The present value of the cell must be `before`. If
 * words cannot hold the marks, returns false and may have changed nothing but rows. Then the caller must open the
 * line. */
bool check_thin_put(vm_check *check, vm_line *line, unsigned n, const vm_cell *before, const vm_cell *cell);
/* Checks and records a read of one or more cells of a thin line. Returns false if it cannot decide. Then the caller
 * must check all cells one by one, and may record the same reads again. */
bool check_thin_read(const vm_plain *k, vm_line *line, const vm_touch *t);
/* Returns true if the words of a thin line show no read that races with a write to the cells of `t`. */
bool check_thin_may_write(const vm_plain *k, const vm_line *line, const vm_touch *t);
/* Forgets all records. No line may be thin. */
void check_records_clear(vm_check *check);
/* If there are many records, drops those that no word names. The caller may call this between launches. */
void check_records_trim(vm_device *device, vm_check *check);

/* Returns true if a write to these cells races with no recorded access. Changes nothing. */
static inline bool check_line_may_write(const vm_plain *k, const vm_line *line, const vm_touch *t)
{
    const vm_row *rows = check_line_rows_of(line);
    for (uint32_t n = 0; n < line->count; n++) {
        const vm_row *row = &rows[n];
        if (check_is_unordered(k, row, t,
                               (row->in[VM_ROLE_WRITE] | row->in[VM_ROLE_READ] | row->in[VM_ROLE_READ2]) & t->in))
            return false;
        if (row->in[VM_ROLE_CONSTANT] & t->in && (k->shared ? k->readers : row->stamp > k->base))
            return false;
    }
    return VM_LIKELY(!line->words) || check_thin_may_write(k, line, t);
}

/* Returns true if one access has made the marks of both rows. */
static inline bool check_is_same_row(const vm_row *a, const vm_row *b)
{
    return a->stamp == b->stamp && a->insn == b->insn && a->block == b->block && a->who == b->who &&
           a->lane == b->lane && a->step == b->step;
}

/* Records the access, in one role, for all cells that it touches. */
static inline void check_line_record(const vm_plain *k, vm_line *line, enum vm_role role, const vm_touch *t)
{
    const vm_row made = check_own_row(k, t);
    vm_row *rows = check_line_rows(line), *same = NULL;
    for (uint32_t n = 0; n < line->count; n++) {
        rows[n].in[role] &= ~t->in;
        same = check_is_same_row(&rows[n], &made) ? &rows[n] : same;
    }
    if (VM_LIKELY(same != NULL))
        same->in[role] |= t->in;
    else
        check_line_add(k->check, line, role, &made, t->in);
}

bool check_line_merge(const vm_plain *k, vm_line *line, const vm_touch *t, uint32_t fresh);

/* Does the same as check_line_read() for an access to one cell. It scans the rows of the line only once. */
bool check_line_read_cell(const vm_plain *k, vm_line *line, const vm_touch *t);

/* Checks and records a read of a compact line. check_cell() of access.c does the same for a cell. */
static inline bool check_line_read(const vm_plain *k, vm_line *line, const vm_touch *t)
{
    if (VM_UNLIKELY(line->words))
        return check_thin_read(k, line, t);
    const vm_row *rows = check_line_rows_of(line);
    uint32_t written = 0, fresh = 0;
    for (uint32_t n = 0; n < line->count; n++) {
        const vm_row *row = &rows[n];
        const uint32_t in = row->in[VM_ROLE_WRITE] & t->in;
        if (check_is_unordered(k, row, t, in) || (in && k->read_only && !k->shared && row->stamp > k->base))
            return false;
        written |= row->stamp > k->base ? in : 0;
        fresh |= row->stamp > k->limit ? row->in[VM_ROLE_READ] & t->in : 0;
    }
    if (k->shared && written != t->in) /* some of these cells were never written */
        return false;
    if (VM_UNLIKELY(k->read_only && !k->shared)) {
        check_line_record(k, line, VM_ROLE_CONSTANT, t);
        if (line->cells) /* the line needed one more row and became open */
            return false;
    }
    if (VM_UNLIKELY(fresh))
        return check_line_merge(k, line, t, fresh);
    check_line_record(k, line, VM_ROLE_READ, t);
    return true;
}

#endif
