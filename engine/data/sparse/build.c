/* build.c - entries in any order to CSR.
 *
 * Two walks: one counts the entries of each row, one puts each where its row has room. Threads take places in a row in
 * whatever order they come, so each row is sorted afterwards, by column and then by the bits of the value: entries at
 * the same place are added up in an order that does not depend on the threads. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sparse.h"

void kiln__csr_free(const kiln_allocator *mem, kiln__csr *matrix)
{
    kiln__free(mem, matrix->offsets);
    kiln__free(mem, matrix->index);
    kiln__free(mem, matrix->values);
    *matrix = (kiln__csr){0};
}

enum {
    ROWS_A_PART = 4096,
    SHORT = 48,          /* a row that is sorted by insertion */
    ROW_BYTES = 16,      /* of memory for each row while a matrix is built */
    ENTRY_BYTES = 16,    /* for each entry: 8 while it is built, 8 in the result */
    MANY_BYTES = 1 << 28 /* below that nobody asks how much is free */
};

typedef struct builder {
    const kiln__entries *from;
    atomic_uint *counts;  /* a row's entries; then what is left of its room */
    atomic_bool too_many; /* a row of 2^32 entries or more */
    atomic_bool changed;  /* the second walk gave other entries than the first: a file that was written to */
    uint64_t *begin;      /* rows + 1: where a row's entries begin among `entries` */
    uint64_t *entries;    /* the column above, the value's bits below */
    kiln__csr *matrix;
} builder;

/* ---- counting ---- */

static void count_row(builder *b, uint32_t row)
{
    if (atomic_fetch_add_explicit(&b->counts[row], 1, memory_order_relaxed) == UINT32_MAX)
        atomic_store_explicit(&b->too_many, true, memory_order_relaxed);
}

static bool has_mirror(const kiln__entries *from, uint32_t row, uint32_t column)
{
    return (from->symmetric || from->skew) && row != column;
}

static void count_entry(void *to, uint32_t row, uint32_t column, float value)
{
    (void)value;
    builder *b = to;
    count_row(b, row);
    if (has_mirror(b->from, row, column))
        count_row(b, column);
}

static void count_chunk(void *user, size_t index, size_t worker)
{
    (void)worker;
    builder *b = user;
    if (!kiln__is_stopped(b->from->patience))
        b->from->walk(b->from->source, index, count_entry, b);
}

/* ---- putting ---- */

static void put(builder *b, uint32_t row, uint32_t column, float value)
{
    uint32_t bits;
    value += 0.0F; /* one zero, not two */
    memcpy(&bits, &value, sizeof bits);
    uint32_t left = atomic_fetch_sub_explicit(&b->counts[row], 1, memory_order_relaxed);
    if (left == 0 || left > b->begin[row + 1] - b->begin[row]) /* below 0 it wraps */
        atomic_store_explicit(&b->changed, true, memory_order_relaxed);
    else
        b->entries[b->begin[row] + left - 1] = (uint64_t)column << 32 | bits;
}

static void put_entry(void *to, uint32_t row, uint32_t column, float value)
{
    builder *b = to;
    value = b->from->pattern ? 0 : value;
    put(b, row, column, value);
    if (has_mirror(b->from, row, column))
        put(b, column, row, b->from->skew ? -value : value);
}

static void put_chunk(void *user, size_t index, size_t worker)
{
    (void)worker;
    builder *b = user;
    if (!kiln__is_stopped(b->from->patience))
        b->from->walk(b->from->source, index, put_entry, b);
}

/* ---- sorting, and adding up what lies at the same place ---- */

static int by_bits(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void sort_row(uint64_t *row, size_t count)
{
    if (count > SHORT) {
        qsort(row, count, sizeof *row, by_bits);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        uint64_t moving = row[i];
        size_t at = i;
        for (; at > 0 && row[at - 1] > moving; at--)
            row[at] = row[at - 1];
        row[at] = moving;
    }
}

static float value_of(uint64_t entry)
{
    uint32_t bits = (uint32_t)entry;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* How many places are left. */
static size_t add_up(uint64_t *row, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count;) {
        uint64_t column = row[i] >> 32;
        double sum = 0;
        for (; i < count && row[i] >> 32 == column; i++)
            sum += (double)value_of(row[i]);
        float value = (float)sum;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        row[kept++] = column << 32 | bits;
    }
    return kept;
}

static void finish_rows(void *user, size_t index, size_t worker)
{
    (void)worker;
    builder *b = user;
    uint64_t first = (uint64_t)index * ROWS_A_PART, end = first + ROWS_A_PART;
    if (kiln__is_stopped(b->from->patience))
        return;
    for (uint64_t r = first; r < end && r < b->from->rows; r++) {
        size_t count = (size_t)(b->begin[r + 1] - b->begin[r]);
        if (atomic_load_explicit(&b->counts[r], memory_order_relaxed) != 0) {
            atomic_store_explicit(&b->changed, true, memory_order_relaxed);
            return;
        }
        sort_row(b->entries + b->begin[r], count);
        atomic_store_explicit(&b->counts[r], (unsigned)add_up(b->entries + b->begin[r], count), memory_order_relaxed);
    }
}

static void copy_rows(void *user, size_t index, size_t worker)
{
    (void)worker;
    builder *b = user;
    uint64_t first = (uint64_t)index * ROWS_A_PART, end = first + ROWS_A_PART;
    if (kiln__is_stopped(b->from->patience))
        return;
    for (uint64_t r = first; r < end && r < b->from->rows; r++) {
        const uint64_t *row = b->entries + b->begin[r];
        uint32_t to = b->matrix->offsets[r], count = b->matrix->offsets[r + 1] - to;
        for (uint32_t i = 0; i < count; i++) {
            b->matrix->index[to + i] = (uint32_t)(row[i] >> 32);
            if (b->matrix->values)
                b->matrix->values[to + i] = value_of(row[i]);
        }
    }
}

/* ---- all of it ---- */

static kiln_status too_large(const kiln_allocator *mem, kiln_error **error)
{
    return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                      "the matrix has 2^32 entries or more; offsets of rows have 32 "
                      "bits");
}

static kiln_status stopped(const kiln_allocator *mem, kiln_error **error)
{
    return kiln__fail(mem, error, KILN_ERROR_INTERRUPTED, "interrupted while the matrix was made");
}

static kiln_status make_room(const kiln_allocator *mem, builder *b, kiln_error **error)
{
    uint64_t rows = b->from->rows, total = 0;
    if (kiln__is_stopped(b->from->patience))
        return stopped(mem, error);
    b->begin = kiln__alloc(mem, (size_t)(rows + 1) * sizeof *b->begin);
    if (!b->begin)
        return kiln__fail_memory(error);
    for (uint64_t r = 0; r < rows; r++) {
        b->begin[r] = total;
        total += atomic_load_explicit(&b->counts[r], memory_order_relaxed);
    }
    b->begin[rows] = total;
    if (total > SIZE_MAX / ENTRY_BYTES)
        return too_large(mem, error);
    /* Asked before, because the kernel gives memory that it does not have and ends a process that uses it. */
    if (total * ENTRY_BYTES > MANY_BYTES && total * ENTRY_BYTES > kiln__host_memory_free())
        return kiln__fail(mem, error, KILN_ERROR_MEMORY, "%" PRIu64 " entries need %" PRIu64 " MiB, more than is free",
                          total, total * ENTRY_BYTES >> 20);
    b->entries = kiln__alloc(mem, (size_t)total * sizeof *b->entries);
    return b->entries ? KILN_OK : kiln__fail_memory(error);
}

static kiln_status make_offsets(const kiln_allocator *mem, builder *b, kiln_error **error)
{
    uint64_t rows = b->from->rows, total = 0;
    kiln__csr *m = b->matrix;
    m->offsets = kiln__alloc(mem, (size_t)(rows + 1) * sizeof *m->offsets);
    if (!m->offsets)
        return kiln__fail_memory(error);
    for (uint64_t r = 0; r < rows; r++) {
        m->offsets[r] = (uint32_t)total;
        total += atomic_load_explicit(&b->counts[r], memory_order_relaxed);
        if (total > UINT32_MAX)
            return too_large(mem, error);
    }
    m->offsets[rows] = (uint32_t)total;
    m->nonzeros = (uint32_t)total;
    m->index = kiln__alloc(mem, (size_t)total * sizeof *m->index);
    if (!b->from->pattern)
        m->values = kiln__alloc(mem, (size_t)total * sizeof *m->values);
    return m->index && (m->values || b->from->pattern) ? KILN_OK : kiln__fail_memory(error);
}

kiln_status kiln__csr_build(const kiln_allocator *mem, const kiln__entries *entries, kiln__csr *matrix,
                            kiln_error **error)
{
    *matrix = (kiln__csr){0};
    if (entries->rows >= UINT32_MAX || entries->columns >= UINT32_MAX)
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                          "a matrix of %" PRIu64 " x %" PRIu64 ": at most 2^32 - 2 "
                          "rows and columns",
                          entries->rows, entries->columns);
    builder b = {.from = entries, .matrix = matrix};
    atomic_init(&b.too_many, false);
    atomic_init(&b.changed, false);
    if (entries->rows * ROW_BYTES > kiln__host_memory_free()) /* a header may announce any number of rows */
        return kiln__fail(mem, error, KILN_ERROR_MEMORY,
                          "%" PRIu64 " rows need %" PRIu64 " MiB before their first entry, "
                          "more than is free",
                          entries->rows, entries->rows * ROW_BYTES >> 20);
    matrix->rows = (uint32_t)entries->rows;
    matrix->columns = (uint32_t)entries->columns;
    b.counts = kiln__calloc(mem, (size_t)entries->rows + 1, sizeof *b.counts);
    kiln_status status = b.counts ? KILN_OK : kiln__fail_memory(error);
    if (status == KILN_OK) {
        kiln__parallel(0, entries->chunks, count_chunk, &b);
        status = atomic_load(&b.too_many) ? too_large(mem, error) : make_room(mem, &b, error);
    }
    if (status == KILN_OK) {
        size_t parts = (size_t)((entries->rows + ROWS_A_PART - 1) / ROWS_A_PART);
        kiln__parallel(0, entries->chunks, put_chunk, &b);
        kiln__parallel(0, parts, finish_rows, &b);
        status = kiln__is_stopped(entries->patience) ? stopped(mem, error)
                 : atomic_load(&b.changed)           ? kiln__fail(mem, error, KILN_ERROR_IO,
                                                                  "the entries changed while they were "
                                                                            "read")
                                                     : make_offsets(mem, &b, error);
        if (status == KILN_OK)
            kiln__parallel(0, parts, copy_rows, &b);
        if (status == KILN_OK && kiln__is_stopped(entries->patience)) /* then rows may be missing */
            status = stopped(mem, error);
    }
    kiln__free(mem, b.counts);
    kiln__free(mem, b.begin);
    kiln__free(mem, b.entries);
    if (status != KILN_OK)
        kiln__csr_free(mem, matrix);
    return status;
}
