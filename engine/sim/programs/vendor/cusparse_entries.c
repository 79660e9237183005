/* cusparse_entries.c - visits the entries of a sparse matrix on the device, in each of cuSPARSE's formats. All offsets
 * and indices come from the program, so the functions check each of them before use. */
#include <stdio.h>

#include "cusparse_work.h"

bool sparse_tell(const char *name, const char *what, int64_t place, int64_t value)
{
    enum { MOST = 20 };
    static int told;
    if (__atomic_fetch_add(&told, 1, __ATOMIC_RELAXED) < MOST)
        fprintf(stderr, "kiln: %s: %s %lld of the sparse matrix is %lld, which is out of range\n", name, what,
                (long long)place, (long long)value);
    return false;
}

int64_t read_index(const void *at, int64_t place, int type)
{
    return type == INDEX_64 ? ((const int64_t *)at)[place] : ((const int32_t *)at)[place];
}

void write_index(void *at, int64_t place, int type, int64_t value)
{
    if (type == INDEX_64)
        ((int64_t *)at)[place] = value;
    else
        ((int32_t *)at)[place] = (int32_t)value;
}

static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* Returns the number of lines that have offsets: rows, columns, rows of blocks, or slices. Returns -1 if lines have no
 * offsets in this format. */
static int64_t count_lines(const sparse *m)
{
    switch (m->format) {
    case CSR: return m->rows;
    case CSC: return m->columns;
    case BSR: return m->rows / m->block_rows;
    case SLICED_ELL: return divide_up(m->rows, m->width);
    default: return -1;
    }
}

static int64_t count_indices(const sparse *m)
{
    switch (m->format) {
    case BLOCKED_ELL: return m->stored / m->block_rows / m->block_rows;
    case SLICED_ELL: return m->stored;
    default: return m->nnz;
    }
}

static const void *advance(const void *at, int64_t index, int64_t stride, size_t size)
{
    /* vendor_reach() checks this address before any use */
    return (const void *)((uintptr_t)at + (uintptr_t)index * (uintptr_t)stride * size);
}

bool sparse_open(const char *name, const sparse *m, int64_t index, bool write_values, view *v)
{
    const int64_t lines = count_lines(m), offsets = m->format == COO ? m->nnz : lines > 0 ? lines + 1 : 0;
    const size_t offset_size = m->offset_type == INDEX_64 ? sizeof(int64_t) : sizeof(int32_t),
                 index_size = m->index_type == INDEX_64 ? sizeof(int64_t) : sizeof(int32_t),
                 value_size = vendor_number_size(m->type);
    const void *values = advance(m->values, index, m->value_stride, value_size);
    *v = (view){.m = m, .name = name};
    v->offsets = sparse_reach(name, advance(m->offsets, index, m->offset_stride, offset_size), offsets, offset_size,
                              false);
    v->indices = v->offsets ? sparse_reach(name, advance(m->indices, index, m->index_stride, index_size),
                                           count_indices(m), index_size, false)
                            : NULL;
    v->values = v->indices ? sparse_reach(name, values, m->stored, value_size, write_values) : NULL;
    return v->values;
}

number sparse_value(const view *v, int64_t at) { return vendor_read_number(v->values, at, v->m->type); }

bool sparse_range(const view *v, int64_t row, int64_t *begin, int64_t *end)
{
    const sparse *m = v->m;
    const int64_t most = m->format == SLICED_ELL ? m->stored : m->nnz;
    for (int64_t k = 0; k < 2; k++) {
        const int64_t raw = read_index(v->offsets, row + k, m->offset_type);
        if (raw < m->base || raw - m->base > most || (k == 1 && raw - m->base < *begin))
            return sparse_tell(v->name, "offset", row + k, raw);
        *(k ? end : begin) = raw - m->base;
    }
    return true;
}

int64_t sparse_index(const view *v, int64_t entry, int64_t limit)
{
    const int64_t raw = read_index(v->indices, entry, v->m->index_type);
    if (raw >= v->m->base && raw - v->m->base < limit)
        return raw - v->m->base;
    sparse_tell(v->name, "index", entry, raw);
    return -1;
}

/* Visits the entries of CSR and CSC. */
static bool walk_lines(const view *v, visitor *visit, void *to)
{
    const bool by_rows = v->m->format == CSR;
    const int64_t lines = by_rows ? v->m->rows : v->m->columns, limit = by_rows ? v->m->columns : v->m->rows;
    for (int64_t i = 0; i < lines; i++) {
        int64_t begin, end;
        if (!sparse_range(v, i, &begin, &end))
            return false;
        for (int64_t k = begin; k < end; k++) {
            const int64_t j = sparse_index(v, k, limit);
            if (j < 0 || !visit(to, by_rows ? i : j, by_rows ? j : i, k))
                return false;
        }
    }
    return true;
}

/* Visits the entries of COO, and of vectors, which have one column. */
static bool walk_pairs(const view *v, visitor *visit, void *to)
{
    const sparse *m = v->m;
    for (int64_t k = 0; k < m->nnz; k++) {
        int64_t row = 0;
        const int64_t other = sparse_index(v, k, m->format == COO ? m->columns : m->rows);
        if (other < 0)
            return false;
        if (m->format == COO) {
            row = read_index(v->offsets, k, m->offset_type);
            if (row < m->base || row - m->base >= m->rows)
                return sparse_tell(v->name, "row index", k, row);
            row -= m->base;
        }
        if (!(m->format == COO ? visit(to, row, other, k) : visit(to, other, 0, k)))
            return false;
    }
    return true;
}

static bool walk_blocks(const view *v, visitor *visit, void *to)
{
    const sparse *m = v->m;
    const int64_t high = m->block_rows, wide = m->block_columns;
    for (int64_t i = 0; i < m->rows / high; i++) {
        int64_t begin, end;
        if (!sparse_range(v, i, &begin, &end))
            return false;
        for (int64_t k = begin; k < end; k++) {
            const int64_t j = sparse_index(v, k, m->columns / wide);
            if (j < 0)
                return false;
            for (int64_t e = 0; e < high * wide; e++) {
                const int64_t row = m->order == ORDER_ROWS ? e / wide : e % high,
                              column = m->order == ORDER_ROWS ? e % wide : e / high;
                if (!visit(to, i * high + row, j * wide + column, k * high * wide + e))
                    return false;
            }
        }
    }
    return true;
}

/* Visits the entries of BLOCKED_ELL, whose values are stored by rows. Like SLICED_ELL, this format marks padding by the
 * index -1. */
static bool walk_blocked_ell(const view *v, visitor *visit, void *to)
{
    const sparse *m = v->m;
    const int64_t size = m->block_rows, blocks = m->width / size,
                  /* a matrix without columns has no blocks, whatever its number of rows is */
        lines = blocks > 0 ? m->rows / size : 0;
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < blocks; k++) {
            if (read_index(v->indices, i * blocks + k, m->index_type) == -1)
                continue;
            const int64_t j = sparse_index(v, i * blocks + k, m->columns / size);
            if (j < 0)
                return false;
            for (int64_t e = 0; e < size * size; e++)
                if (!visit(to, i * size + e / size, j * size + e % size,
                           (i * size + e / size) * m->width + k * size + e % size))
                    return false;
        }
    return true;
}

/* Visits the entries of SLICED_ELL. Inside a slice the entries are stored by columns. Rows of a slice beyond the last
 * row of the matrix are padding too. */
static bool walk_slices(const view *v, visitor *visit, void *to)
{
    const sparse *m = v->m;
    for (int64_t s = 0; s < divide_up(m->rows, m->width); s++) {
        int64_t begin, end;
        if (!sparse_range(v, s, &begin, &end))
            return false;
        for (int64_t k = begin; k < end; k++) {
            const int64_t row = s * m->width + (k - begin) % m->width;
            if (row >= m->rows || read_index(v->indices, k, m->index_type) == -1)
                continue;
            const int64_t j = sparse_index(v, k, m->columns);
            if (j < 0 || !visit(to, row, j, k))
                return false;
        }
    }
    return true;
}

bool sparse_walk(const view *v, visitor *visit, void *to)
{
    switch (v->m->format) {
    case CSR:
    case CSC: return walk_lines(v, visit, to);
    case BSR: return walk_blocks(v, visit, to);
    case BLOCKED_ELL: return walk_blocked_ell(v, visit, to);
    case SLICED_ELL: return walk_slices(v, visit, to);
    default: return walk_pairs(v, visit, to);
    }
}
