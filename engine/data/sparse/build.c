/* build.c - makes a matrix in CSR form from entries in any order.
 *
 * A row of a large matrix may be anywhere in memory. So if entries were written directly to their rows, each write
 * would cost a cache miss. An atomic counter for each row would cost further cache misses. Therefore entries are first
 * partitioned into buckets. A bucket is a group of neighbouring rows. Four steps follow each other:
 *   1. A walk counts the entries of each bucket, separately for each group of chunks.
 *   2. A second walk puts each entry into the segment of its group and bucket. Segments need no atomic operation.
 *   3. Each bucket is permuted in place by row ("American flag sort": McIlroy, Bostic, McIlroy, 1993).
 *   4. Each row is sorted by column and then by the bits of the value. So entries at the same place are added up in
 *      an order that depends on neither the threads nor the walk.
 *
 * A bucket has at most 2^16 rows. In a bucket, an entry takes 10 bytes: 8 for its column and its value, and 2 for its
 * row in the bucket. */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "random.h"
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
    SHORT = 32,        /* the length of the longest row that is sorted by insertion */
    GROUPS_MOST = 128, /* the largest number of groups of chunks; a group is one task of a walk */
    /* the usual number of buckets; there are more only if a bucket would have more than 2^BUCKET_BITS rows */
    BUCKETS_USUAL = 2048,
    BUCKET_BITS = 16,
    ROW_BYTES = 16, /* the memory for each row while a matrix is built */
    /* the memory for each entry: first 10 bytes, later 8 bytes in `entries` and 8 bytes in the result */
    ENTRY_BYTES = 16,
    MANY_BYTES = 1 << 28 /* a build that needs less memory does not check the free memory */
};

/* The places of the entries that a group has in one bucket. In the first walk `next` counts these entries. */
typedef struct segment {
    uint64_t next, end;
} segment;

typedef struct builder {
    const kiln__entries *from;
    size_t groups, buckets;
    unsigned shift;    /* a bucket has 2^shift rows of the matrix */
    segment *segments; /* for each group, one segment for each bucket */
    uint64_t *checks;  /* for each group, the sum of the hashes of the rows in the first walk */
    uint64_t *starts;  /* buckets + 1 numbers: the place at which the entries of a bucket begin */
    /* buckets + 1 numbers: the number of entries that a bucket keeps; later the sum over all buckets before it */
    uint64_t *kept;
    uint32_t *counts;   /* the number of entries in a row; later the number of entries that remain after adding */
    uint64_t *ends;     /* the place in `entries` at which a row ends */
    uint64_t *entries;  /* the column of each entry in the upper half, and the bits of its value in the lower half */
    uint16_t *lines;    /* the row of each entry, counted from the first row of its bucket */
    atomic_bool failed; /* a row has 2^32 entries or more */
    /* the second walk gave other entries than the first walk, because somebody wrote to the file */
    atomic_bool changed;
    kiln__csr *matrix;
} builder;

/* One walk over the chunks of a group. */
typedef struct walker {
    builder *b;
    segment *segments;
    uint64_t check;
    bool overfull; /* a segment had no place for an entry */
} walker;

static bool has_mirror(const kiln__entries *from, uint32_t row, uint32_t column)
{
    return (from->symmetric || from->skew) && row != column;
}

static void walk_group(walker *w, size_t group, kiln__entry_sink sink)
{
    const kiln__entries *from = w->b->from;
    const size_t first = from->chunks * group / w->b->groups, end = from->chunks * (group + 1) / w->b->groups;
    w->segments = w->b->segments + group * w->b->buckets;
    for (size_t chunk = first; chunk < end && !kiln__is_stopped(from->patience); chunk++)
        from->walk(from->source, chunk, sink, w);
}

/* ---- counting ---- */

static void count_row(walker *w, uint32_t row)
{
    w->segments[row >> w->b->shift].next++;
    w->check += kiln__random_mix(row);
}

static void count_entry(void *to, uint32_t row, uint32_t column, float value)
{
    (void)value;
    walker *w = to;
    count_row(w, row);
    if (has_mirror(w->b->from, row, column))
        count_row(w, column);
}

static void count_group(void *user, size_t group, size_t worker)
{
    (void)worker;
    builder *b = user;
    walker w = {.b = b};
    walk_group(&w, group, count_entry);
    b->checks[group] = w.check;
}

/* ---- putting ---- */

static void add_entry(walker *w, uint32_t row, uint32_t column, float value)
{
    builder *b = w->b;
    segment *to = &w->segments[row >> b->shift];
    uint32_t bits;
    value += 0.0F; /* adding 0 turns -0 into 0 */
    memcpy(&bits, &value, sizeof bits);
    w->check += kiln__random_mix(row);
    if (to->next == to->end) {
        w->overfull = true;
        return;
    }
    b->lines[to->next] = (uint16_t)(row & ((UINT32_C(1) << b->shift) - 1));
    b->entries[to->next++] = (uint64_t)column << 32 | bits;
}

static void put_entry(void *to, uint32_t row, uint32_t column, float value)
{
    walker *w = to;
    const kiln__entries *from = w->b->from;
    value = from->pattern ? 0 : value;
    add_entry(w, row, column, value);
    if (has_mirror(from, row, column))
        add_entry(w, column, row, from->skew ? -value : value);
}

/* Puts the entries of a group into its segments. If a segment is not full afterwards, sets `changed`, because
 * order_bucket() must not read places without an entry. */
static void put_group(void *user, size_t group, size_t worker)
{
    (void)worker;
    builder *b = user;
    walker w = {.b = b};
    walk_group(&w, group, put_entry);
    bool same = !w.overfull && w.check == b->checks[group];
    for (size_t bucket = 0; bucket < b->buckets; bucket++)
        same = same && w.segments[bucket].next == w.segments[bucket].end;
    if (!same)
        atomic_store_explicit(&b->changed, true, memory_order_relaxed);
}

/* ---- sorting the entries, and adding up entries at the same place ---- */

/* Sorts a row in place by radix exchange, from the highest bit in which two numbers differ. The depth of the recursion
 * is at most 64. The partition swaps in each step, so no branch depends on the numbers. */
static void sort_row(uint64_t *row, size_t count)
{
    while (count > SHORT) {
        uint64_t different = 0;
        for (size_t i = 1; i < count; i++)
            different |= row[i] ^ row[0];
        if (different == 0)
            return;
        const unsigned bit = 63 - (unsigned)__builtin_clzll(different);
        size_t zeros = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t moving = row[i];
            row[i] = row[zeros];
            row[zeros] = moving;
            zeros += !(moving >> bit & 1);
        }
        sort_row(row, zeros);
        row += zeros;
        count -= zeros;
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

/* Adds up the entries at the same place of the matrix. Returns the number of different places. */
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

static uint64_t end_row(const builder *b, size_t bucket)
{
    const uint64_t end = ((uint64_t)bucket + 1) << b->shift;
    return end < b->from->rows ? end : b->from->rows;
}

/* Moves each entry of a bucket to its row. Before the call, `ends` has the first place of each row, and during the call
 * its next free place. Each cycle of the permutation ends at the entry where it began. After the call, `ends` has the
 * end of each row. */
static void permute_bucket(const builder *b, uint64_t first, uint64_t end, uint64_t begin)
{
    uint64_t *const next = b->ends + first;
    uint64_t at = begin;
    for (uint64_t r = first; r < end; r++) {
        b->ends[r] = at;
        at += b->counts[r];
    }
    at = begin;
    for (uint64_t r = 0; r < end - first; r++) {
        at += b->counts[first + r];
        while (next[r] < at) {
            const uint64_t hole = next[r]++;
            uint64_t entry = b->entries[hole];
            uint16_t line = b->lines[hole];
            while (line != r) {
                const uint64_t to = next[line]++, other = b->entries[to];
                const uint16_t other_line = b->lines[to];
                b->entries[to] = entry;
                b->lines[to] = line;
                entry = other;
                line = other_line;
            }
            b->entries[hole] = entry;
            b->lines[hole] = line;
        }
    }
}

/* Sorts the entries of a bucket by row and column, and adds up the entries at the same place. */
static void order_bucket(void *user, size_t bucket, size_t worker)
{
    (void)worker;
    builder *b = user;
    const uint64_t first = (uint64_t)bucket << b->shift, end = end_row(b, bucket), begin = b->starts[bucket];
    if (kiln__is_stopped(b->from->patience))
        return;
    for (uint64_t i = begin; i < b->starts[bucket + 1]; i++)
        if (++b->counts[first + b->lines[i]] == 0) {
            atomic_store_explicit(&b->failed, true, memory_order_relaxed);
            return;
        }
    permute_bucket(b, first, end, begin);
    uint64_t at = begin, kept = 0;
    for (uint64_t r = first; r < end; r++) {
        sort_row(b->entries + at, b->counts[r]);
        b->counts[r] = (uint32_t)add_up(b->entries + at, b->counts[r]);
        kept += b->counts[r];
        at = b->ends[r];
    }
    b->kept[bucket] = kept;
}

static void copy_bucket(void *user, size_t bucket, size_t worker)
{
    (void)worker;
    const builder *b = user;
    const kiln__csr *m = b->matrix;
    if (kiln__is_stopped(b->from->patience))
        return;
    uint64_t at = b->starts[bucket];
    uint32_t to = (uint32_t)b->kept[bucket];
    for (uint64_t r = (uint64_t)bucket << b->shift; r < end_row(b, bucket); r++) {
        const uint64_t *row = b->entries + at;
        m->offsets[r] = to;
        for (uint32_t i = 0; i < b->counts[r]; i++, to++) {
            m->index[to] = (uint32_t)(row[i] >> 32);
            if (m->values)
                m->values[to] = value_of(row[i]);
        }
        at = b->ends[r];
    }
}

/* ---- building the whole matrix ---- */

static kiln_status too_large(const kiln_allocator *mem, kiln_error **error)
{
    return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                      "the matrix has 2^32 entries or more, and offsets of rows have only 32 bits");
}

static kiln_status stopped(const kiln_allocator *mem, kiln_error **error)
{
    return kiln__fail(mem, error, KILN_ERROR_INTERRUPTED, "interrupted while the matrix was made");
}

/* Allocates the arrays whose sizes depend only on the numbers of rows and chunks. */
static kiln_status begin_build(const kiln_allocator *mem, builder *b, kiln_error **error)
{
    const uint64_t rows = b->from->rows;
    while (b->shift < BUCKET_BITS && rows >> b->shift > BUCKETS_USUAL)
        b->shift++;
    b->buckets = (size_t)((rows + (UINT64_C(1) << b->shift) - 1) >> b->shift);
    b->groups = b->from->chunks < GROUPS_MOST ? b->from->chunks : GROUPS_MOST;
    b->segments = kiln__calloc(mem, b->groups * b->buckets + 1, sizeof *b->segments);
    b->checks = kiln__calloc(mem, b->groups + 1, sizeof *b->checks);
    b->starts = kiln__calloc(mem, b->buckets + 1, sizeof *b->starts);
    b->kept = kiln__calloc(mem, b->buckets + 1, sizeof *b->kept);
    b->counts = kiln__calloc(mem, (size_t)rows + 1, sizeof *b->counts);
    b->ends = kiln__alloc(mem, (size_t)(rows + 1) * sizeof *b->ends);
    return b->segments && b->checks && b->starts && b->kept && b->counts && b->ends ? KILN_OK
                                                                                    : kiln__fail_memory(error);
}

/* Gives each segment its places in `entries`, in the order of the buckets. Allocates the memory for the entries of all
 * segments. */
static kiln_status make_room(const kiln_allocator *mem, builder *b, kiln_error **error)
{
    uint64_t total = 0;
    if (kiln__is_stopped(b->from->patience))
        return stopped(mem, error);
    for (size_t bucket = 0; bucket < b->buckets; bucket++) {
        b->starts[bucket] = total;
        for (size_t group = 0; group < b->groups; group++) {
            segment *s = &b->segments[group * b->buckets + bucket];
            const uint64_t count = s->next;
            s->next = total;
            s->end = total += count;
        }
    }
    b->starts[b->buckets] = total;
    if (total > SIZE_MAX / ENTRY_BYTES)
        return too_large(mem, error);
    /* Checks the free memory before the allocation. Without this check the system would grant memory that does not
     * exist, and end the process when it uses the memory. */
    if (total * ENTRY_BYTES > MANY_BYTES && total * ENTRY_BYTES > kiln__host_memory_free())
        return kiln__fail(mem, error, KILN_ERROR_MEMORY, "%" PRIu64 " entries need %" PRIu64 " MiB, more than is free",
                          total, total * ENTRY_BYTES >> 20);
    b->entries = kiln__alloc(mem, (size_t)total * sizeof *b->entries);
    b->lines = kiln__alloc(mem, (size_t)total * sizeof *b->lines);
    kiln__huge_pages(mem, b->entries, total * sizeof *b->entries);
    kiln__huge_pages(mem, b->lines, total * sizeof *b->lines);
    return b->entries && b->lines ? KILN_OK : kiln__fail_memory(error);
}

/* Allocates the matrix. The number kept[bucket] becomes the number of entries before the bucket. */
static kiln_status make_matrix(const kiln_allocator *mem, builder *b, kiln_error **error)
{
    const uint64_t rows = b->from->rows;
    uint64_t total = 0;
    kiln__csr *m = b->matrix;
    for (size_t bucket = 0; bucket < b->buckets; bucket++) {
        const uint64_t kept = b->kept[bucket];
        b->kept[bucket] = total;
        total += kept;
    }
    if (total > UINT32_MAX)
        return too_large(mem, error);
    kiln__free(mem, b->lines);
    b->lines = NULL;
    m->offsets = kiln__alloc(mem, (size_t)(rows + 1) * sizeof *m->offsets);
    if (!m->offsets)
        return kiln__fail_memory(error);
    m->offsets[rows] = (uint32_t)total;
    m->nonzeros = (uint32_t)total;
    m->index = kiln__alloc(mem, (size_t)total * sizeof *m->index);
    if (!b->from->pattern)
        m->values = kiln__alloc(mem, (size_t)total * sizeof *m->values);
    kiln__huge_pages(mem, m->index, total * sizeof *m->index);
    kiln__huge_pages(mem, m->values, total * sizeof *m->values);
    return m->index && (m->values || b->from->pattern) ? KILN_OK : kiln__fail_memory(error);
}

static kiln_status walk_twice(const kiln_allocator *mem, builder *b, kiln_error **error)
{
    kiln__parallel(0, b->groups, count_group, b);
    KILN__TRY(make_room(mem, b, error));
    kiln__parallel(0, b->groups, put_group, b);
    if (kiln__is_stopped(b->from->patience))
        return stopped(mem, error);
    if (atomic_load(&b->changed))
        return kiln__fail(mem, error, KILN_ERROR_IO, "the entries changed while they were read");
    return KILN_OK;
}

static kiln_status order_all(const kiln_allocator *mem, builder *b, kiln_error **error)
{
    kiln__parallel(0, b->buckets, order_bucket, b);
    if (kiln__is_stopped(b->from->patience))
        return stopped(mem, error);
    if (atomic_load(&b->failed))
        return too_large(mem, error);
    KILN__TRY(make_matrix(mem, b, error));
    kiln__parallel(0, b->buckets, copy_bucket, b);
    /* if the caller stopped the work, rows may be missing */
    return kiln__is_stopped(b->from->patience) ? stopped(mem, error) : KILN_OK;
}

kiln_status kiln__csr_build(const kiln_allocator *mem, const kiln__entries *entries, kiln__csr *matrix,
                            kiln_error **error)
{
    *matrix = (kiln__csr){0};
    if (entries->rows >= UINT32_MAX || entries->columns >= UINT32_MAX)
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                          "a matrix of %" PRIu64 " x %" PRIu64 " is too large: it can have at most 2^32 - 2 rows and "
                          "columns",
                          entries->rows, entries->columns);
    builder b = {.from = entries, .matrix = matrix};
    atomic_init(&b.failed, false);
    atomic_init(&b.changed, false);
    if (entries->rows * ROW_BYTES > kiln__host_memory_free()) /* the header of a file may announce any number of rows */
        return kiln__fail(mem, error, KILN_ERROR_MEMORY,
                          "%" PRIu64 " rows need %" PRIu64 " MiB before their first entry, "
                          "more than is free",
                          entries->rows, entries->rows * ROW_BYTES >> 20);
    matrix->rows = (uint32_t)entries->rows;
    matrix->columns = (uint32_t)entries->columns;
    kiln_status status = begin_build(mem, &b, error);
    if (status == KILN_OK)
        status = walk_twice(mem, &b, error);
    if (status == KILN_OK)
        status = order_all(mem, &b, error);
    void *const all[] = {b.segments, b.checks, b.starts, b.kept, b.counts, b.ends, b.entries, b.lines};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__free(mem, all[i]);
    if (status != KILN_OK)
        kiln__csr_free(mem, matrix);
    return status;
}
