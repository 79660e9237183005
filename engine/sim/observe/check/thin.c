/* thin.c - thin lines of shadow memory. If each lane of a warp reads its own part of an array, or random elements, the
 * marks of a line come from many lanes, and no formula of a row (vm_row) fits them. A thin line keeps each read in a
 * word: the number of a record, and the lane. A record is a mark without its lane, and all reads of one instruction of a
 * warp share it. So a read of a cell changes one or two words, where a compact line would need a new row.
 *
 * The stamps of the records ascend. So one comparison of numbers tells whether a read is newer than a limit.
 *
 * If this file cannot decide about an access, its functions return false. Then access.c checks the access with a copy of
 * the cell (check_line_get, check_line_put). So every mark is the same as in a line of another form. */
#include <string.h>

#include "line_internal.h"
#include "vm_memory.h"

enum { RECORDS_MOST = 1 << 26, LANE_BITS = 5, SEARCHED = 4 };
_Static_assert(1 << LANE_BITS == VM_LANES, "a word has the number of a record above the lane");

/* ---- records ---- */

static bool is_same_record(const vm_mark *a, const vm_mark *b)
{
    return a->stamp == b->stamp && a->who == b->who && a->insn == b->insn && a->block == b->block;
}

/* Returns the number of a new record. Returns 0 if the stamp is older than the last record, if an asynchronous operation
 * made the mark, if there are too many records, or if memory runs out. */
static uint32_t add_record(vm_check *check, const vm_mark *mark)
{
    const uint32_t n = check->record_count ? check->record_count : 1;
    if (n == RECORDS_MOST || mark->stamp == UINT32_MAX || (n > 1 && mark->stamp < check->records[n - 1].stamp))
        return 0;
    if (n >= check->record_room) {
        const size_t before = check->record_room, room = before ? 2 * before : 256;
        if (check->cell_bytes + (room - before) * sizeof *mark > CHECK_CELL_BYTES_MOST ||
            !kiln__grow(check->mem, &check->records, &check->record_room, room, sizeof *check->records))
            return 0;
        check->cell_bytes += (check->record_room - before) * sizeof *mark;
        check->records[0] = (vm_mark){0}; /* get_own_record() compares with the record 0, which is no record */
    }
    if (mark->stamp <= check->record_limit)
        check->record_after = 0;
    check->records[n] = *mark;
    check->record_count = n + 1;
    return n;
}

/* Returns the number of a record with this content, which may be a new record. Returns 0 if add_record() fails. */
static uint32_t get_record(vm_check *check, const vm_mark *mark)
{
    for (uint32_t n = check->record_count, left = SEARCHED; n > 1 && left; left--)
        if (is_same_record(&check->records[--n], mark))
            return n;
    return add_record(check, mark);
}

/* Returns the number of the record of this access. Returns 0 if add_record() fails. */
static inline uint32_t get_own_record(const vm_plain *k, uint32_t many)
{
    vm_check *check = k->check;
    uint32_t *recent = &check->record_of[(2 * k->insn + (many != 0)) % VM_RECENT];
    const vm_mark own = {k->now, k->who | many, k->insn, k->block};
    if (VM_UNLIKELY(*recent >= check->record_count || !is_same_record(&check->records[*recent], &own)))
        *recent = add_record(check, &own);
    return *recent;
}

/* Returns a limit: the words of records that are newer than `limit` are at least this limit. Finds the first such record
 * by binary search. */
static inline uint32_t get_word_limit(vm_check *check, uint32_t limit)
{
    if (VM_UNLIKELY(!check->record_after || check->record_limit != limit)) {
        uint32_t low = 1, high = check->record_count ? check->record_count : 1;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (check->records[middle].stamp > limit)
                high = middle;
            else
                low = middle + 1;
        }
        check->record_after = low;
        check->record_limit = limit;
    }
    return check->record_after << LANE_BITS;
}

void check_records_clear(vm_check *check)
{
    check->record_count = check->record_after = 0;
    memset(check->record_of, 0, sizeof check->record_of);
}

/* ---- words ---- */

static uint32_t *new_words(vm_check *check, size_t bytes)
{
    uint32_t *words = check->cell_bytes + bytes <= CHECK_CELL_BYTES_MOST ? kiln__calloc(check->mem, 1, bytes) : NULL;
    check->cell_bytes += words ? bytes : 0;
    return words;
}

static size_t get_size(const vm_line *line) { return (line->wide ? (size_t)VM_WIDE : 1) * VM_LINE * sizeof(uint32_t); }

bool check_thin_make(vm_check *check, vm_line *line)
{
    vm_row *rows = line->rows;
    if (line->more || line->cells || line->base)
        return false;
    for (uint32_t n = 0; n < line->count;)
        if (check_is_empty_row(&rows[n]))
            rows[n] = rows[--line->count];
        else
            n++;
    line->wide = false;
    uint32_t *words = line->count < VM_ROWS ? new_words(check, get_size(line)) : NULL;
    if (!words)
        return false;
    line->words = words;
    line->same = true; /* there is no word yet */
    line->owner = check;
    return true;
}

void check_thin_free(vm_check *check, vm_line *line)
{
    check->cell_bytes -= get_size(line);
    kiln__free(check->mem, line->words);
    line->words = NULL;
    line->wide = line->same = false;
}

/* Makes a thin line wide. Returns false if memory runs out. */
static bool widen(vm_check *check, vm_line *line)
{
    if (line->wide)
        return true;
    uint32_t *words = new_words(check, VM_WIDE * VM_LINE * sizeof *words);
    for (unsigned n = 0; n < VM_LINE && words; n++) {
        words[n * VM_WIDE + VM_ROLE_READ - 1] = line->words[n];
        words[n * VM_WIDE + VM_ROLE_CONSTANT - 1] = line->same ? line->words[n] : 0;
    }
    if (!words)
        return false;
    check->cell_bytes -= get_size(line);
    kiln__free(check->mem, line->words);
    line->words = words;
    line->wide = true;
    return true;
}

static uint32_t get_word(const vm_line *line, unsigned n, enum vm_role role)
{
    if (role == VM_ROLE_WRITE)
        return 0;
    if (line->wide)
        return line->words[n * VM_WIDE + (unsigned)role - 1];
    return role == VM_ROLE_READ || (role == VM_ROLE_CONSTANT && line->same) ? line->words[n] : 0;
}

bool check_thin_get(const vm_line *line, unsigned n, enum vm_role role, vm_mark *mark)
{
    const uint32_t word = get_word(line, n, role);
    if (!word)
        return false;
    *mark = line->owner->records[word >> LANE_BITS];
    mark->who += word % VM_LANES;
    return true;
}

/* Sets *word to a word for a mark, which is 0 if there is no mark. Returns false if no record can hold the mark. `line`
 * has the words of the cell before the change, because a read moves from one slot to the other with an old stamp. */
static bool find_word(vm_check *check, const vm_line *line, unsigned n, const vm_mark *mark, uint32_t *word)
{
    vm_mark record = *mark;
    record.who -= mark->who % VM_LANES;
    *word = 0;
    if (!(mark->stamp | mark->who | mark->insn | mark->block))
        return true;
    for (unsigned role = VM_ROLE_READ; role < VM_ROLES; role++) {
        const uint32_t old = get_word(line, n, (enum vm_role)role);
        if (old && old % VM_LANES == mark->who % VM_LANES &&
            is_same_record(&check->records[old >> LANE_BITS], &record)) {
            *word = old;
            return true;
        }
    }
    const uint32_t id = get_record(check, &record);
    *word = id << LANE_BITS | mark->who % VM_LANES;
    return id != 0;
}

static bool has_moved(const vm_mark *a, const vm_mark *b) { return !is_same_record(a, b); }

bool check_thin_put(vm_check *check, vm_line *line, unsigned n, const vm_cell *before, const vm_cell *cell)
{
    const vm_mark old = {before->constant, 0, before->constant_insn, 0},
                  constant = {cell->constant, 0, cell->constant_insn, 0};
    const bool moved[VM_ROLES] = {[VM_ROLE_READ] = has_moved(&before->r1, &cell->r1),
                                  [VM_ROLE_READ2] = has_moved(&before->r2, &cell->r2),
                                  [VM_ROLE_CONSTANT] = has_moved(&old, &constant)};
    const vm_mark *const marks[VM_ROLES] = {
        [VM_ROLE_READ] = &cell->r1, [VM_ROLE_READ2] = &cell->r2, [VM_ROLE_CONSTANT] = &constant};
    uint32_t words[VM_ROLES] = {0};
    if (line->owner != check)
        return false;
    for (unsigned role = VM_ROLE_READ; role < VM_ROLES; role++)
        if (moved[role] && !find_word(check, line, n, marks[role], &words[role]))
            return false;
    const bool any = moved[VM_ROLE_READ] || moved[VM_ROLE_READ2] || moved[VM_ROLE_CONSTANT];
    if (any && !widen(check, line))
        return false;
    for (unsigned role = VM_ROLE_READ; role < VM_ROLES; role++)
        if (moved[role]) {
            check_line_remove(line, (enum vm_role)role, (uint32_t)1 << n);
            line->words[n * VM_WIDE + role - 1] = words[role];
        }
    return true;
}

/* ---- accesses ---- */

/* Returns true if the word is newer than the limit, and its read was made by the block with the same number. */
static bool is_near_word(const vm_plain *k, uint32_t word, uint32_t limit)
{
    return word >= limit && k->check->records[word >> LANE_BITS].block == k->block;
}

static bool has_words(const vm_line *line)
{
    uint32_t any = 0;
    for (unsigned n = 0; n < VM_LINE; n++)
        any |= line->words[n];
    return any != 0;
}

/* Checks and records a read of one cell by one lane, or by several lanes if `t->many` is set. Does the same as
 * check_line_read(). A read that is newer than the limit and belongs to another block moves to the second slot. Returns
 * false for other reads that are newer than the limit. */
static bool read_cell(const vm_plain *k, vm_line *line, const vm_touch *t, unsigned n, uint32_t word, uint32_t limit)
{
    const uint32_t bit = (uint32_t)1 << n;
    bool second = false;
    vm_touch one = *t;
    one.in = bit;
    for (uint32_t r = 0; r < line->count; r++) {
        const vm_row *row = &line->rows[r];
        const uint32_t in = row->in[VM_ROLE_WRITE] & bit;
        if (check_is_unordered(k, row, &one, in) || (in && k->read_only && row->stamp > k->base) ||
            (row->in[VM_ROLE_READ] & bit && row->stamp > k->limit))
            return false;
        second = second || row->in[VM_ROLE_READ2] & bit;
    }
    uint32_t *mine = line->words + (line->wide ? n * VM_WIDE : n);
    const bool moves = *mine >= limit && *mine != word;
    if (moves &&
        (is_near_word(k, *mine, limit) || second || (line->wide && is_near_word(k, mine[VM_ROLE_READ2 - 1], limit))))
        return false;
    if (VM_UNLIKELY(!line->wide && (moves || line->same != k->read_only))) {
        /* a line that has no words yet gets words for reads of one kind */
        if (!moves && !has_words(line)) {
            line->same = k->read_only;
        } else if (!widen(k->check, line)) {
            return false;
        }
        mine = line->words + (line->wide ? n * VM_WIDE : n);
    }
    for (uint32_t r = 0; r < line->count; r++) {
        line->rows[r].in[VM_ROLE_READ] &= ~bit;
        line->rows[r].in[VM_ROLE_CONSTANT] &= k->read_only ? ~bit : UINT32_MAX;
    }
    if (moves)
        mine[VM_ROLE_READ2 - 1] = *mine;
    if (k->read_only && line->wide)
        mine[VM_ROLE_CONSTANT - 1] = word;
    *mine = word;
    return true;
}

bool check_thin_read(const vm_plain *k, vm_line *line, const vm_touch *t)
{
    const uint32_t record = line->owner == k->check ? get_own_record(k, t->many) : 0;
    if (!record)
        return false;
    const uint32_t limit = get_word_limit(k->check, k->limit);
    VM_EACH(n, t->in)
        if (!read_cell(k, line, t, n, record << LANE_BITS | (uint32_t)check_row_lane(t->lane, t->step, n), limit))
            return false;
    return true;
}

/* Returns true if the read is newer than the limit and another thread may have made it. */
static bool is_unordered_word(const vm_plain *k, uint32_t word, uint32_t lane, uint32_t many)
{
    const vm_mark *mark = &k->check->records[word >> LANE_BITS];
    return mark->stamp > k->limit && ((mark->who ^ k->who) & VM_WHO || mark->who & (VM_MANY | VM_PENDING) || many ||
                                      mark->block != k->block || mark->stamp <= k->base || word % VM_LANES != lane);
}

bool check_thin_may_write(const vm_plain *k, const vm_line *line, const vm_touch *t)
{
    if (line->owner != k->check)
        return false;
    VM_EACH(n, t->in) {
        const uint32_t lane = (uint32_t)check_row_lane(t->lane, t->step, n), one = get_word(line, n, VM_ROLE_READ),
                       two = get_word(line, n, VM_ROLE_READ2), constant = get_word(line, n, VM_ROLE_CONSTANT);
        if ((one && is_unordered_word(k, one, lane, t->many)) || (two && is_unordered_word(k, two, lane, t->many)))
            return false;
        if (constant && k->check->records[constant >> LANE_BITS].stamp > k->base)
            return false;
    }
    return true;
}

/* ---- between launches ---- */

/* Calls `visit` for the words of each thin line of the device. */
static void visit_words(vm_device *device, uint32_t *numbers,
                        void (*visit)(uint32_t *numbers, uint32_t *words, size_t count))
{
    for (size_t k = 0; k < device->live_count; k++) {
        const vm_allocation *a = device->live[k];
        const size_t pages = a->shadow ? (size_t)((a->bytes + VM_SHADOW_PAGE - 1) / VM_SHADOW_PAGE) : 0;
        for (size_t p = 0; p < pages; p++)
            for (size_t n = 0; a->shadow->pages[p] && n < (VM_SHADOW_PAGE >> a->shadow->shift) / VM_LINE; n++)
                if (a->shadow->pages[p][n].words)
                    visit(numbers, a->shadow->pages[p][n].words, get_size(&a->shadow->pages[p][n]) / sizeof(uint32_t));
    }
}

static void mark_used(uint32_t *numbers, uint32_t *words, size_t count)
{
    for (size_t n = 0; n < count; n++)
        numbers[words[n] >> LANE_BITS] = 1;
}

static void renumber(uint32_t *numbers, uint32_t *words, size_t count)
{
    for (size_t n = 0; n < count; n++)
        words[n] = numbers[words[n] >> LANE_BITS] << LANE_BITS | words[n] % VM_LANES;
}

/* Keeps the order of the records, because their stamps must ascend. The number 0 stays 0. */
void check_records_trim(vm_device *device, vm_check *check)
{
    uint32_t kept = 1;
    if (check->record_count < check->record_few || check->record_count < check->record_room / 2)
        return;
    uint32_t *numbers = kiln__calloc(check->mem, check->record_count, sizeof *numbers);
    if (!numbers)
        return;
    pthread_rwlock_rdlock(&device->lock);
    visit_words(device, numbers, mark_used);
    numbers[0] = 0;
    for (uint32_t n = 1; n < check->record_count; n++)
        if (numbers[n]) {
            check->records[kept] = check->records[n];
            numbers[n] = kept++;
        }
    visit_words(device, numbers, renumber);
    pthread_rwlock_unlock(&device->lock);
    check_records_clear(check);
    check->record_count = kept;
    kiln__free(check->mem, numbers);
}
