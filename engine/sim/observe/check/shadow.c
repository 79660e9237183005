/* shadow.c - shadow memory of an allocation. The shadow has a bit for each byte, set if the byte was written. It also
 * has lines of cells, in pages that are allocated at the first access. RACES.md describes the layout of lines and
 * cells. */
#include <string.h>

#include "line_internal.h"
#include "shadow_internal.h"
#include "vm_checks_internal.h"
#include "vm_memory.h"

static size_t page_count(uint64_t bytes) { return (size_t)((bytes + VM_SHADOW_PAGE - 1) / VM_SHADOW_PAGE); }

enum { CACHE_LINE = 64 };

/* Returns zeroed memory that begins at a cache line. The pointer that must be freed is stored just before this
 * memory. */
static void *aligned_calloc(const kiln_allocator *mem, size_t bytes)
{
    unsigned char *raw = kiln__calloc(mem, 1, bytes + CACHE_LINE);
    if (!raw)
        return NULL;
    /* the raw memory is aligned for pointers, so there is room for a pointer before `at` */
    unsigned char *at = raw + CACHE_LINE - (uintptr_t)raw % CACHE_LINE;
    memcpy(at - sizeof raw, &raw, sizeof raw);
    return at;
}

static void aligned_free(const kiln_allocator *mem, void *at)
{
    void *raw;
    if (!at)
        return;
    memcpy(&raw, (unsigned char *)at - sizeof raw, sizeof raw);
    kiln__free(mem, raw);
}

vm_line *check_lines_new(const kiln_allocator *mem, size_t count)
{
    return aligned_calloc(mem, count * sizeof(vm_line));
}

void check_lines_free(vm_check *check, const kiln_allocator *mem, vm_line *lines, size_t count)
{
    for (size_t k = 0; lines && k < count; k++)
        check_line_clear(check, &lines[k]);
    aligned_free(mem, lines);
}

/* ---- lines ---- */

/* Returns true if the row's formula gives this lane for the cell. */
static bool has_lane(const vm_row *row, unsigned cell, uint32_t lane)
{
    return check_row_lane(row->lane, row->step, cell) == (int)lane;
}

bool check_fit_row(vm_row *row, unsigned cell, uint32_t lane)
{
    const uint32_t all = row->in[0] | row->in[1] | row->in[2] | row->in[3];
    if (has_lane(row, cell, lane))
        return true;
    for (unsigned step = 0; step <= VM_STEP_ONE; step++) {
        const vm_row made = {.lane = (int8_t)((int)lane - (int)(cell >> step)), .step = (uint8_t)step};
        bool fits = true;
        VM_EACH(c, all)
            fits = fits && check_row_lane(row->lane, row->step, c) == check_row_lane(made.lane, made.step, c);
        if (fits) {
            row->lane = made.lane, row->step = made.step;
            return true;
        }
    }
    return false;
}

/* Removes rows that have no cells. In shared memory it also removes rows that are older than the block, because such
 * marks count as "never written". `base` is 0 in global memory. A row of an asynchronous operation has no time, so it
 * stays. */
static void drop_old_rows(vm_line *line)
{
    vm_row *rows = check_line_rows(line);
    for (uint32_t k = 0; k < line->count;) {
        const vm_row *row = &rows[k];
        const uint32_t marks = row->in[VM_ROLE_WRITE] | row->in[VM_ROLE_READ] | row->in[VM_ROLE_READ2];
        if (row->in[VM_ROLE_CONSTANT] || (marks && row->stamp > line->base))
            k++;
        else
            rows[k] = rows[--line->count];
    }
}

static vm_marks *marks_of(vm_cells *group, enum vm_role role)
{
    return role == VM_ROLE_WRITE ? &group->w : role == VM_ROLE_READ ? &group->r1 : &group->r2;
}

static void put_in_cells(vm_cells *cells, unsigned n, enum vm_role role, const vm_mark *mark)
{
    vm_cells *group = &cells[n / VM_CELLS];
    n %= VM_CELLS;
    if (role == VM_ROLE_CONSTANT)
        group->constant[n] = mark->stamp, group->constant_insn[n] = mark->insn;
    else
        vm_mark_put(marks_of(group, role), n, mark);
}

static void free_rows(vm_check *check, vm_line *line)
{
    if (line->words)
        check_thin_free(check, line);
    check->cell_bytes -= line->room * sizeof(vm_row);
    kiln__free(check->mem, line->more);
    line->more = NULL;
    line->count = line->room = 0;
}

vm_cells *check_line_open(vm_check *check, vm_line *line)
{
    const size_t bytes = VM_LINE * sizeof(vm_cell);
    if (line->cells)
        return line->cells;
    vm_cells *cells = check->cell_bytes + bytes <= CHECK_CELL_BYTES_MOST ? aligned_calloc(check->mem, bytes) : NULL;
    if (!cells) {
        check->starved = true;
        return NULL;
    }
    check->cell_bytes += bytes;
    for (uint32_t k = 0; k < line->count; k++) {
        const vm_row *row = &check_line_rows(line)[k];
        for (unsigned role = 0; role < VM_ROLES; role++)
            VM_EACH(c, row->in[role])
                put_in_cells(cells, c, role,
                             &(vm_mark){row->stamp, row->who + (uint32_t)check_row_lane(row->lane, row->step, c),
                                        row->insn, row->block});
    }
    for (unsigned n = 0; n < VM_LINE && line->words; n++)
        for (unsigned role = VM_ROLE_READ; role < VM_ROLES; role++) {
            vm_mark mark;
            if (check_thin_get(line, n, (enum vm_role)role, &mark))
                put_in_cells(cells, n, (enum vm_role)role, &mark);
        }
    free_rows(check, line);
    line->cells = cells;
    return cells;
}

void check_line_clear(vm_check *check, vm_line *line)
{
    if (line->cells) {
        check->cell_bytes -= VM_LINE * sizeof(vm_cell);
        aligned_free(check->mem, line->cells);
        line->cells = NULL;
    }
    free_rows(check, line);
}

/* Returns the mark that a cell has in one role. */
static vm_mark get_mark(const vm_line *line, unsigned n, enum vm_role role)
{
    vm_mark mark;
    if (line->words && check_thin_get(line, n, role, &mark))
        return mark;
    for (uint32_t k = 0; k < line->count; k++) {
        const vm_row *row = &check_line_rows_of(line)[k];
        if (row->in[role] >> n & 1)
            return (vm_mark){row->stamp, row->who + (uint32_t)check_row_lane(row->lane, row->step, n), row->insn,
                             row->block};
    }
    return (vm_mark){0};
}

vm_cell check_line_get(const vm_line *line, unsigned n)
{
    if (line->cells) {
        const vm_cells *g = &line->cells[n / VM_CELLS];
        n %= VM_CELLS;
        return (vm_cell){.w = vm_mark_get(&g->w, n),
                         .r1 = vm_mark_get(&g->r1, n),
                         .r2 = vm_mark_get(&g->r2, n),
                         .constant = g->constant[n],
                         .constant_insn = g->constant_insn[n],
                         .published = g->published[n],
                         .published_cta = g->published_cta[n]};
    }
    const vm_mark constant = get_mark(line, n, VM_ROLE_CONSTANT);
    return (vm_cell){.w = get_mark(line, n, VM_ROLE_WRITE),
                     .r1 = get_mark(line, n, VM_ROLE_READ),
                     .r2 = get_mark(line, n, VM_ROLE_READ2),
                     .constant = constant.stamp,
                     .constant_insn = constant.insn};
}

/* Makes room for more rows: 7 rows, then 15 rows, and in global memory then VM_ROWS_MOST rows. In shared memory an open
 * line is faster than more rows, and all open lines together need little memory. Returns false if the line already has
 * the largest number of rows, or if memory runs out. */
static bool grow_rows(vm_check *check, vm_line *line)
{
    const uint32_t room = line->room ? 2u * line->room + 1 : 7;
    const size_t bytes = (room - line->room) * sizeof(vm_row);
    if (line->words || line->room == (line->base ? VM_ROWS_MOST / 2 : VM_ROWS_MOST) ||
        check->cell_bytes + bytes > CHECK_CELL_BYTES_MOST)
        return false;
    vm_row *more = kiln__alloc(check->mem, room * sizeof *more);
    if (!more)
        return false;
    memcpy(more, check_line_rows(line), line->count * sizeof *more);
    kiln__free(check->mem, line->more);
    line->more = more;
    line->room = (uint8_t)room;
    check->cell_bytes += bytes;
    return true;
}

/* Returns a free row of a compact line. If the line has too many rows, opens the line and returns NULL. If there is no
 * memory to open the line, forgets the oldest row. A race with the accesses of this row may then be missed. */
static vm_row *take_row(vm_check *check, vm_line *line)
{
    vm_row *rows = check_line_rows(line), *oldest = rows;
    const uint32_t room = line->more ? line->room : line->words ? VM_ROWS - 1 : VM_ROWS;
    for (uint32_t k = 0; k < line->count; k++) {
        if (check_is_empty_row(&rows[k]))
            return &rows[k];
        oldest = rows[k].stamp < oldest->stamp ? &rows[k] : oldest;
    }
    if (line->count == room)
        drop_old_rows(line);
    if (line->count < room || grow_rows(check, line))
        return &check_line_rows(line)[line->count++];
    return check_line_open(check, line) ? NULL : oldest;
}

/* Adds one cell to a row of the same access, if a formula fits the row's cells and this cell. */
static bool join_row(vm_line *line, enum vm_role role, const vm_row *mark, unsigned cell)
{
    vm_row *rows = check_line_rows(line);
    for (uint32_t k = 0; k < line->count; k++)
        if (rows[k].stamp == mark->stamp && rows[k].insn == mark->insn && rows[k].block == mark->block &&
            rows[k].who == mark->who && !check_is_empty_row(&rows[k]) &&
            check_fit_row(&rows[k], cell, (uint32_t)check_row_lane(mark->lane, mark->step, cell))) {
            rows[k].in[role] |= (uint32_t)1 << cell;
            return true;
        }
    return false;
}

void check_line_add(vm_check *check, vm_line *line, enum vm_role role, const vm_row *mark, uint32_t in)
{
    vm_row *rows = check_line_rows(line);
    for (uint32_t k = 0; k < line->count; k++)
        if (check_is_same_row(&rows[k], mark)) {
            rows[k].in[role] |= in;
            return;
        }
    if (!line->cells && !(in & (in - 1)) && join_row(line, role, mark, (uint32_t)__builtin_ctz(in)))
        return;
    vm_row *row = line->cells ? NULL : take_row(check, line);
    if (row) {
        *row = *mark;
        memset(row->in, 0, sizeof row->in);
        row->in[role] = in;
        return;
    }
    VM_EACH(c, in)
        put_in_cells(line->cells, c, role,
                     &(vm_mark){mark->stamp, mark->who + (uint32_t)check_row_lane(mark->lane, mark->step, c),
                                mark->insn, mark->block});
}

/* Sets the mark of a cell in one role in a compact line. */
static void put_mark(vm_check *check, vm_line *line, unsigned n, enum vm_role role, const vm_mark *mark)
{
    const uint32_t bit = (uint32_t)1 << n, lane = mark->who % VM_LANES;
    const vm_row made = {.stamp = mark->stamp,
                         .insn = mark->insn,
                         .block = mark->block,
                         .who = (uint16_t)(mark->who - lane),
                         .lane = (int8_t)lane,
                         .step = VM_STEP_ONE};
    if (line->cells) { /* an earlier mark of this cell has opened the line */
        put_in_cells(line->cells, n, role, mark);
        return;
    }
    check_line_remove(line, role, bit);
    if (!(mark->stamp | mark->who | mark->insn | mark->block))
        return;
    check_line_add(check, line, role, &made, bit);
}

static bool is_same_mark(const vm_mark *a, const vm_mark *b)
{
    return a->stamp == b->stamp && a->who == b->who && a->insn == b->insn && a->block == b->block;
}

void check_line_put(vm_check *check, vm_line *line, unsigned n, const vm_cell *before, const vm_cell *cell)
{
    const vm_mark old = {before->constant, 0, before->constant_insn, 0};
    const vm_mark constant = {cell->constant, 0, cell->constant_insn, 0};
    if (before->published != cell->published || before->published_cta != cell->published_cta) {
        vm_cells *cells = check_line_open(check, line);
        if (cells) {
            cells[n / VM_CELLS].published[n % VM_CELLS] = cell->published;
            cells[n / VM_CELLS].published_cta[n % VM_CELLS] = cell->published_cta;
        }
    }
    if (!is_same_mark(&before->w, &cell->w))
        put_mark(check, line, n, VM_ROLE_WRITE, &cell->w);
    if (line->words && check_thin_put(check, line, n, before, cell))
        return;
    if (line->words)
        check_line_open(check, line);
    if (!is_same_mark(&before->r1, &cell->r1))
        put_mark(check, line, n, VM_ROLE_READ, &cell->r1);
    if (!is_same_mark(&before->r2, &cell->r2))
        put_mark(check, line, n, VM_ROLE_READ2, &cell->r2);
    if (!is_same_mark(&old, &constant))
        put_mark(check, line, n, VM_ROLE_CONSTANT, &constant);
}

/* ---- allocations ---- */

/* The bits are allocated only if some byte may be unwritten. */
vm_shadow *check_shadow_new(vm_check *check, uint64_t bytes, bool written)
{
    vm_shadow *made = kiln__calloc(check->mem, 1, sizeof *made);
    if (!made)
        return NULL;
    made->shift = 2;
    made->unwritten = written ? 0 : bytes;
    made->pages = kiln__calloc(check->mem, page_count(bytes), sizeof *made->pages);
    if (!written)
        made->written = kiln__calloc(check->mem, (size_t)(bytes / 64) + 1, sizeof *made->written);
    if (!made->pages || (!written && !made->written)) {
        check_shadow_free(check, made, bytes);
        return NULL;
    }
    return made;
}

void check_shadow_renew(vm_check *check, vm_shadow *shadow, uint64_t bytes)
{
    if (shadow->used)
        memset(shadow->used, 0, 2 * page_count(bytes) * sizeof *shadow->used);
    shadow->flagged = 0;
    for (size_t k = 0; shadow->pages && k < page_count(bytes); k++) {
        check->cell_bytes -= shadow->pages[k] ? check_page_lines(shadow) * sizeof(vm_line) : 0;
        check_lines_free(check, check->mem, shadow->pages[k], check_page_lines(shadow));
        shadow->pages[k] = NULL;
    }
}

void check_shadow_free(vm_check *check, vm_shadow *shadow, uint64_t bytes)
{
    check_shadow_renew(check, shadow, bytes);
    kiln__free(check->mem, shadow->pages);
    kiln__free(check->mem, shadow->used);
    kiln__free(check->mem, shadow->written);
    kiln__free(check->mem, shadow);
}

void check_shadow_write(vm_shadow *shadow, uint64_t offset, uint64_t bytes)
{
    uint64_t end = offset + bytes;
    while (shadow->unwritten && offset < end) {
        uint64_t shift = offset % 64, count = 64 - shift < end - offset ? 64 - shift : end - offset;
        uint64_t mask = (count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1) << shift;
        uint64_t *word = &shadow->written[offset / 64], fresh = mask & ~*word;
        *word |= mask;
        shadow->unwritten -= (unsigned)__builtin_popcountll(fresh);
        offset += count;
    }
}

/* Marks bytes as unwritten. The bits of the shadow must exist. */
static void mark_unwritten(vm_shadow *shadow, uint64_t offset, uint64_t bytes)
{
    for (uint64_t at = offset; at < offset + bytes; at++) {
        uint64_t bit = (uint64_t)1 << at % 64;
        shadow->unwritten += (shadow->written[at / 64] & bit) != 0;
        shadow->written[at / 64] &= ~bit;
    }
}

/* Creates the bits of an allocation all of whose bytes count as written until now. Returns false if memory runs out. */
static bool open_bits(vm_check *check, vm_shadow *shadow, uint64_t bytes)
{
    shadow->written = kiln__alloc(check->mem, (size_t)(bytes / 64 + 1) * sizeof *shadow->written);
    if (shadow->written)
        memset(shadow->written, 0xff, (size_t)(bytes / 64 + 1) * sizeof *shadow->written);
    return shadow->written != NULL;
}

/* Returns the shadow of the allocation that contains an address, and the offset of the address. Lowers `bytes` so that
 * the range ends with the allocation. Returns NULL if no allocation contains the address, or if another device owns
 * it. */
static vm_shadow *find_shadow(vm_device *device, uint64_t address, uint64_t *offset, uint64_t *bytes)
{
    const vm_allocation *a = device->check ? vm_allocation_of(device, address) : NULL;
    if (!a || !a->shadow || a->home != device)
        return NULL;
    *offset = address - a->base;
    *bytes = *bytes < a->bytes - *offset ? *bytes : a->bytes - *offset;
    return a->shadow;
}

void check_forget_bytes(vm_device *device, uint64_t address, uint64_t bytes)
{
    uint64_t offset;
    vm_shadow *shadow = find_shadow(device, address, &offset, &bytes);
    if (shadow && !shadow->written && !open_bits(device->check, shadow, vm_allocation_of(device, address)->bytes))
        return;
    if (shadow)
        mark_unwritten(shadow, offset, bytes);
}

void check_track(vm_device *device, uint64_t address)
{
    uint64_t offset, bytes = 1;
    vm_shadow *shadow = device->check ? find_shadow(device, address, &offset, &bytes) : NULL;
    if (shadow && !shadow->used) /* if memory runs out, the checks do not track this allocation */
        shadow->used = kiln__calloc(device->check->mem, 2 * page_count(vm_allocation_of(device, address)->bytes),
                                    sizeof *shadow->used);
}

void check_rows(vm_device *device, uint64_t address, uint64_t row, uint64_t pitch)
{
    uint64_t offset, bytes = pitch;
    vm_shadow *shadow = device->check ? find_shadow(device, address, &offset, &bytes) : NULL;
    if (shadow && row < pitch)
        shadow->row = row, shadow->pitch = pitch;
}

void check_copied(vm_device *device, uint64_t to, uint64_t from, uint64_t bytes)
{
    uint64_t at = 0, source_at = 0, most = bytes;
    vm_shadow *target = find_shadow(device, to, &at, &bytes), *source = find_shadow(device, from, &source_at, &most);
    if (!target || !source || !target->written || source->unwritten == 0)
        return; /* the copy has already marked the target as written, so there is nothing to do */
    bytes = bytes < most ? bytes : most;
    for (uint64_t k = 0; k < bytes; k++)
        if (!(source->written[(source_at + k) / 64] >> (source_at + k) % 64 & 1))
            mark_unwritten(target, at + k, 1);
}

void check_parts_drop(vm_check *check, vm_pattern *p)
{
    for (unsigned k = 0; k < VM_LINE; k++) {
        kiln__free(check->mem, p->parts[k]);
        p->parts[k] = NULL;
    }
}
