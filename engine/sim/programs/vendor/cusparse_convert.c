/* cusparse_convert.c - cuSPARSE's conversions: between sparse and dense matrices, and between formats. Also sorts
 * entries. */
#include <stdlib.h>
#include <string.h>

#include "cusparse_work.h"

/* ---- sparse to dense ---- */

typedef struct conversion {
    const work *w;
    const view *a;
    void *y;
} conversion;

static bool put_entry(void *to, int64_t row, int64_t column, int64_t at)
{
    const conversion *c = to;
    vendor_write_number(c->y, dense_at(&c->w->y, row, column), c->w->y.type, sparse_value(c->a, at));
    return true;
}

static bool run_to_dense(const void *what)
{
    const work *w = what;
    view a;
    conversion c = {.w = w, .a = &a, .y = dense_open(w->name, &w->y, 0, true)};
    if (!c.y || !sparse_open(w->name, &w->a, 0, false, &a))
        return false;
    for (int64_t i = 0; i < dense_rows(&w->y); i++)
        for (int64_t j = 0; j < w->y.columns; j++)
            vendor_write_number(c.y, dense_at(&w->y, i, j), w->y.type, (number){0, 0});
    return sparse_walk(&a, put_entry, &c);
}

/* Checks the operands of both conversions. */
static int set_conversion(cusparse_handle handle, work *w, const sparse *a, const dense *y)
{
    CHECK(handle, a && y && a->rows == y->rows && a->columns == y->columns && a->type == y->type);
    w->a = *a;
    w->y = *y;
    return DONE;
}

VENDOR_API int cusparseSparseToDense_bufferSize(cusparse_handle handle, const sparse *a, const dense *y, int algorithm,
                                                size_t *bytes)
{
    work w = {.name = "cusparseSparseToDense"};
    const int status = set_conversion(handle, &w, a, y);
    (void)algorithm;
    return status == DONE ? sparse_set_buffer(handle, bytes) : status;
}

VENDOR_API int cusparseSparseToDense(cusparse_handle handle, const sparse *a, const dense *y, int algorithm,
                                     void *buffer)
{
    work w = {.name = "cusparseSparseToDense"};
    const int status = set_conversion(handle, &w, a, y);
    (void)algorithm, (void)buffer;
    return status == DONE ? sparse_enqueue(handle, &w, NULL, NULL, run_to_dense) : status;
}

/* ---- dense to sparse ---- */

/* Reads element k of a line of the dense matrix. A line is a column for CSC, otherwise a row. */
static number read_line(const work *w, const void *y, int64_t line, int64_t k, bool by_columns)
{
    return vendor_read_number(y, by_columns ? dense_at(&w->y, k, line) : dense_at(&w->y, line, k), w->y.type);
}

/* Counts the entries that are not 0, and writes the offsets of CSR and CSC. */
static bool run_count(const void *what)
{
    const work *w = what;
    const sparse *m = &w->a;
    const bool by_columns = m->format == CSC, has_offsets = m->format == CSR || by_columns;
    const int64_t length = by_columns ? m->rows : m->columns, lines = by_columns    ? m->columns
                                                                      : has_offsets ? m->rows
                                                                                    : dense_rows(&w->y);
    const size_t size = m->offset_type == INDEX_64 ? sizeof(int64_t) : sizeof(int32_t);
    const void *y = dense_open(w->name, &w->y, 0, false);
    void *offsets = has_offsets && y ? sparse_reach(w->name, m->offsets, lines + 1, size, true) : NULL;
    int64_t count = 0;
    if (!y || (has_offsets && !offsets))
        return false;
    for (int64_t i = 0; i < lines; i++) {
        if (has_offsets)
            write_index(offsets, i, m->offset_type, count + m->base);
        for (int64_t k = 0; k < length; k++)
            count += !is_zero(read_line(w, y, i, k, by_columns));
    }
    if (has_offsets)
        write_index(offsets, lines, m->offset_type, count + m->base);
    memcpy(w->result, &count, sizeof count);
    return true;
}

/* Writes the indices and values of CSR, CSC and COO. */
static bool run_fill(const void *what)
{
    const work *w = what;
    const sparse *m = &w->a;
    const bool by_columns = m->format == CSC;
    const int64_t length = by_columns ? m->rows : m->columns, lines = length == 0  ? 0
                                                                      : by_columns ? m->columns
                                                                                   : m->rows;
    const size_t size = m->index_type == INDEX_64 ? sizeof(int64_t) : sizeof(int32_t);
    const void *y = dense_open(w->name, &w->y, 0, false);
    void *values = y ? sparse_reach(w->name, m->values, m->nnz, vendor_number_size(m->type), true) : NULL,
         *indices = values ? sparse_reach(w->name, m->indices, m->nnz, size, true) : NULL,
         *rows = indices && m->format == COO ? sparse_reach(w->name, m->offsets, m->nnz, size, true) : NULL;
    int64_t at = 0;
    if (!indices || (m->format == COO && !rows))
        return false;
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < length; k++) {
            const number value = read_line(w, y, i, k, by_columns);
            if (is_zero(value))
                continue;
            if (at == m->nnz) /* the dense matrix has changed since its analysis */
                return sparse_tell(w->name, "the number of entries", 0, m->nnz);
            if (rows)
                write_index(rows, at, m->offset_type, i + m->base);
            write_index(indices, at, m->index_type, k + m->base);
            vendor_write_number(values, at++, m->type, value);
        }
    return true;
}

static bool copy_entry(void *to, int64_t row, int64_t column, int64_t at)
{
    const conversion *c = to;
    vendor_write_number(c->a->values, at, c->w->a.type,
                        vendor_read_number(c->y, dense_at(&c->w->y, row, column), c->w->y.type));
    return true;
}

/* Writes the values of BLOCKED_ELL, whose blocks the program has chosen. Padding becomes 0. */
static bool run_fill_blocks(const void *what)
{
    const work *w = what;
    view a;
    conversion c = {.w = w, .a = &a, .y = dense_open(w->name, &w->y, 0, false)};
    if (!c.y || !sparse_open(w->name, &w->a, 0, true, &a))
        return false;
    for (int64_t k = 0; k < w->a.stored; k++)
        vendor_write_number(a.values, k, w->a.type, (number){0, 0});
    return sparse_walk(&a, copy_entry, &c);
}

static int set_to_sparse(cusparse_handle handle, work *w, const dense *y, const sparse *a)
{
    const int status = set_conversion(handle, w, a, y);
    if (status != DONE)
        return status;
    if (a->format == CSR || a->format == CSC || a->format == COO || a->format == BLOCKED_ELL)
        return DONE;
    vendor_tell_missing(LIBRARY, "cusparseDenseToSparse to this format");
    return NOT_SUPPORTED;
}

VENDOR_API int cusparseDenseToSparse_bufferSize(cusparse_handle handle, const dense *y, const sparse *a, int algorithm,
                                                size_t *bytes)
{
    work w = {.name = "cusparseDenseToSparse"};
    const int status = set_to_sparse(handle, &w, y, a);
    (void)algorithm;
    return status == DONE ? sparse_set_buffer(handle, bytes) : status;
}

VENDOR_API int cusparseDenseToSparse_analysis(cusparse_handle handle, const dense *y, sparse *a, int algorithm,
                                              void *buffer)
{
    int64_t count = 0;
    work w = {.name = "cusparseDenseToSparse_analysis", .result = &count};
    int status = set_to_sparse(handle, &w, y, a);
    (void)algorithm, (void)buffer;
    if (status != DONE || a->format == BLOCKED_ELL)
        return status;
    status = sparse_wait(handle, &w, NULL, NULL, run_count);
    if (status == DONE)
        a->nnz = a->stored = count;
    return status;
}

VENDOR_API int cusparseDenseToSparse_convert(cusparse_handle handle, const dense *y, const sparse *a, int algorithm,
                                             void *buffer)
{
    work w = {.name = "cusparseDenseToSparse_convert"};
    const int status = set_to_sparse(handle, &w, y, a);
    (void)algorithm, (void)buffer;
    if (status != DONE)
        return status;
    return sparse_enqueue(handle, &w, NULL, NULL, a->format == BLOCKED_ELL ? run_fill_blocks : run_fill);
}

/* ---- conversions between row offsets and row indices ---- */

/* The arguments of the conversions and sorts that take plain arrays of 32-bit indices. */
typedef struct arrays {
    const char *name;
    int64_t rows, columns, nnz;
    const void *from, *from_indices, *from_values;
    void *to, *to_indices, *to_values;
    int base, type;
    bool by_columns;
} arrays;

static bool run_coo2csr(const void *what)
{
    const arrays *w = what;
    const int32_t *rows = sparse_reach(w->name, w->from, w->nnz, sizeof *rows, false);
    int32_t *offsets = rows ? sparse_reach(w->name, w->to, w->rows + 1, sizeof *offsets, true) : NULL;
    if (!offsets)
        return false;
    for (int64_t i = 0; i <= w->rows; i++)
        offsets[i] = 0;
    for (int64_t k = 0; k < w->nnz; k++) {
        if (rows[k] < w->base || rows[k] - w->base >= w->rows)
            return sparse_tell(w->name, "row index", k, rows[k]);
        offsets[rows[k] - w->base + 1]++;
    }
    offsets[0] = w->base;
    for (int64_t i = 0; i < w->rows; i++)
        offsets[i + 1] += offsets[i];
    return true;
}

/* Sets *m and *v to a CSR matrix that consists of the plain arrays. */
static bool open_arrays(const arrays *w, sparse *m, view *v)
{
    *m = (sparse){.format = CSR,
                  .rows = w->rows,
                  .columns = w->columns,
                  .nnz = w->nnz,
                  .offset_type = INDEX_32,
                  .index_type = INDEX_32,
                  .base = w->base};
    *v = (view){.m = m, .name = w->name};
    v->offsets = sparse_reach(w->name, w->from, w->rows + 1, sizeof(int32_t), false);
    v->indices = v->offsets && w->from_indices ? sparse_reach(w->name, w->from_indices, w->nnz, sizeof(int32_t), false)
                                               : NULL;
    return v->offsets && (v->indices || !w->from_indices);
}

static bool run_csr2coo(const void *what)
{
    const arrays *w = what;
    sparse m;
    view v;
    int32_t *rows = sparse_reach(w->name, w->to, w->nnz, sizeof *rows, true);
    if (!rows || !open_arrays(w, &m, &v))
        return false;
    for (int64_t i = 0; i < w->rows; i++) {
        int64_t begin, end;
        if (!sparse_range(&v, i, &begin, &end))
            return false;
        for (int64_t k = begin; k < end; k++)
            rows[k] = (int32_t)i + w->base;
    }
    return true;
}

#define ROWS(function_name, function)                                                                                  \
    VENDOR_API int function_name(cusparse_handle handle, const void *from, int nnz, int m, void *to, int base)         \
    {                                                                                                                  \
        CHECK(handle, nnz >= 0 && m >= 0 && is_two(base));                                                             \
        const arrays w = {.name = #function_name, .rows = m, .nnz = nnz, .from = from, .to = to, .base = base};        \
        return sparse_enqueue_bytes(handle, w.name, &w, sizeof w, function);                                           \
    }
ROWS(cusparseXcoo2csr, run_coo2csr)
ROWS(cusparseXcsr2coo, run_csr2coo)

/* ---- CSR to CSC: a transposition by counting sort ---- */

static bool run_transpose(const void *what)
{
    const arrays *w = what;
    sparse m;
    view v;
    const size_t size = w->from_values ? vendor_number_size(w->type) : 0;
    const char *values = size ? sparse_reach(w->name, w->from_values, w->nnz, size, false) : "";
    char *to_values = !size ? NULL : values ? sparse_reach(w->name, w->to_values, w->nnz, size, true) : NULL;
    int32_t *rows = sparse_reach(w->name, w->to_indices, w->nnz, sizeof *rows, true);
    int32_t *offsets = rows ? sparse_reach(w->name, w->to, w->columns + 1, sizeof *offsets, true) : NULL;
    if (!offsets || !values || (size && !to_values) || !open_arrays(w, &m, &v))
        return false;
    /* indexed by column: the position of its next entry */
    int64_t *next = calloc((size_t)w->columns + 1, sizeof *next);
    bool done = next;
    for (int64_t k = 0; done && k < w->nnz; k++) {
        const int64_t j = sparse_index(&v, k, w->columns);
        done = j >= 0;
        if (done)
            next[j + 1]++;
    }
    for (int64_t j = 0; done && j < w->columns; j++)
        next[j + 1] += next[j];
    for (int64_t j = 0; done && j <= w->columns; j++)
        offsets[j] = (int32_t)next[j] + w->base;
    for (int64_t i = 0; done && i < w->rows; i++) {
        int64_t begin = 0, end = 0;
        done = sparse_range(&v, i, &begin, &end);
        for (int64_t k = begin; done && k < end; k++) {
            const int64_t column = sparse_index(&v, k, w->columns), at = column < 0 ? w->nnz : next[column]++;
            done = at < w->nnz; /* false if the column is wrong, or if wrong offsets visit an entry twice */
            if (!done)
                break;
            rows[at] = (int32_t)i + w->base;
            if (size)
                memcpy(to_values + (size_t)at * size, values + (size_t)k * size, size);
        }
    }
    free(next);
    return done;
}

#define CSC_PARAMETERS                                                                                                 \
    cusparse_handle handle, int m, int n, int nnz, const void *values, const void *offsets, const void *indices,       \
        void *to_values, void *to, void *to_indices, int type, int action, int base, int algorithm

VENDOR_API int cusparseCsr2cscEx2_bufferSize(CSC_PARAMETERS, size_t *bytes)
{
    CHECK(handle, m >= 0 && n >= 0 && nnz >= 0 && is_two(base) && is_two(action));
    (void)values, (void)offsets, (void)indices, (void)to_values, (void)to, (void)to_indices, (void)type,
        (void)algorithm;
    return sparse_set_buffer(handle, bytes);
}

VENDOR_API int cusparseCsr2cscEx2(CSC_PARAMETERS, void *buffer)
{
    CHECK(handle, m >= 0 && n >= 0 && nnz >= 0 && is_two(base) && is_two(action) && indices &&
                      (action == ACTION_SYMBOLIC || (values && to_values && vendor_number_size(type))));
    (void)algorithm, (void)buffer;
    const arrays w = {.name = "cusparseCsr2cscEx2",
                      .rows = m,
                      .columns = n,
                      .nnz = nnz,
                      .from = offsets,
                      .from_indices = indices,
                      .from_values = action == ACTION_NUMERIC ? values : NULL,
                      .to = to,
                      .to_indices = to_indices,
                      .to_values = to_values,
                      .base = base,
                      .type = type};
    return sparse_enqueue_bytes(handle, w.name, &w, sizeof w, run_transpose);
}

/* ---- sorting of entries, with a permutation that is sorted along with them ---- */

typedef struct item {
    int32_t first, second, permuted;
    int64_t order; /* position before the sort, by which equal entries keep their order */
} item;

static int compare_items(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_items(item *items, int64_t count)
{
    if (count)
        qsort(items, (size_t)count, sizeof *items, compare_items);
}

/* Sorts by rows or by columns. `to` has the rows, `to_indices` has the columns, and `to_values` has the permutation or
 * is NULL. */
static bool run_coosort(const void *what)
{
    const arrays *w = what;
    int32_t *rows = sparse_reach(w->name, w->to, w->nnz, sizeof *rows, true),
            *columns = rows ? sparse_reach(w->name, w->to_indices, w->nnz, sizeof *columns, true) : NULL,
            *permutation = w->to_values ? sparse_reach(w->name, w->to_values, w->nnz, sizeof *permutation, true) : NULL;
    item *items = columns && (permutation || !w->to_values) ? calloc((size_t)w->nnz + 1, sizeof *items) : NULL;
    if (!items)
        return false;
    for (int64_t k = 0; k < w->nnz; k++)
        items[k] = (item){.first = w->by_columns ? columns[k] : rows[k],
                          .second = w->by_columns ? rows[k] : columns[k],
                          .permuted = permutation ? permutation[k] : 0,
                          .order = k};
    sort_items(items, w->nnz);
    for (int64_t k = 0; k < w->nnz; k++) {
        rows[k] = w->by_columns ? items[k].second : items[k].first;
        columns[k] = w->by_columns ? items[k].first : items[k].second;
        if (permutation)
            permutation[k] = items[k].permuted;
    }
    free(items);
    return true;
}

VENDOR_API int cusparseXcoosort_bufferSizeExt(cusparse_handle handle, int m, int n, int nnz, const int *rows,
                                              const int *columns, size_t *bytes)
{
    CHECK(handle, m >= 0 && n >= 0 && nnz >= 0);
    (void)rows, (void)columns;
    return sparse_set_buffer(handle, bytes);
}

#define COOSORT(function_name, by_columns_)                                                                            \
    VENDOR_API int function_name(cusparse_handle handle, int m, int n, int nnz, void *rows, void *columns,             \
                                 void *permutation, void *buffer)                                                      \
    {                                                                                                                  \
        CHECK(handle, m >= 0 && n >= 0 && nnz >= 0);                                                                   \
        (void)buffer;                                                                                                  \
        const arrays w = {.name = #function_name,                                                                      \
                          .nnz = nnz,                                                                                  \
                          .to = rows,                                                                                  \
                          .to_indices = columns,                                                                       \
                          .to_values = permutation,                                                                    \
                          .by_columns = (by_columns_)};                                                                \
        return sparse_enqueue_bytes(handle, w.name, &w, sizeof w, run_coosort);                                        \
    }
COOSORT(cusparseXcoosortByRow, false)
COOSORT(cusparseXcoosortByColumn, true)

/* Sorts the indices inside each row. */
static bool run_csrsort(const void *what)
{
    const arrays *w = what;
    sparse m;
    view v;
    int32_t *indices = sparse_reach(w->name, w->to_indices, w->nnz, sizeof *indices, true),
            *permutation = w->to_values ? sparse_reach(w->name, w->to_values, w->nnz, sizeof *permutation, true) : NULL;
    if (!indices || (w->to_values && !permutation) || !open_arrays(w, &m, &v))
        return false;
    item *items = calloc((size_t)w->nnz + 1, sizeof *items);
    bool done = items;
    for (int64_t i = 0; done && i < w->rows; i++) {
        int64_t begin = 0, end = 0;
        done = sparse_range(&v, i, &begin, &end);
        for (int64_t k = begin; done && k < end; k++)
            items[k - begin] = (item){.second = indices[k], .permuted = permutation ? permutation[k] : 0, .order = k};
        if (done)
            sort_items(items, end - begin);
        for (int64_t k = begin; done && k < end; k++) {
            indices[k] = items[k - begin].second;
            if (permutation)
                permutation[k] = items[k - begin].permuted;
        }
    }
    free(items);
    return done;
}

int cusparseGetMatIndexBase(const void *descriptor); /* cusparse_objects.c */

/* The sorting functions of CSR and CSC. A line is a row of CSR or a column of CSC. */
#define CSRSORT(function_name, lines)                                                                                  \
    VENDOR_API int function_name##_bufferSizeExt(cusparse_handle handle, int m, int n, int nnz, const int *offsets,    \
                                                 const int *indices, size_t *bytes)                                    \
    {                                                                                                                  \
        CHECK(handle, m >= 0 && n >= 0 && nnz >= 0);                                                                   \
        (void)offsets, (void)indices;                                                                                  \
        return sparse_set_buffer(handle, bytes);                                                                       \
    }                                                                                                                  \
    VENDOR_API int function_name(cusparse_handle handle, int m, int n, int nnz, const void *descriptor,                \
                                 const void *offsets, void *indices, void *permutation, void *buffer)                  \
    {                                                                                                                  \
        CHECK(handle, m >= 0 && n >= 0 && nnz >= 0 && descriptor);                                                     \
        (void)buffer;                                                                                                  \
        const arrays w = {.name = #function_name,                                                                      \
                          .rows = (lines),                                                                             \
                          .nnz = nnz,                                                                                  \
                          .from = offsets,                                                                             \
                          .to_indices = indices,                                                                       \
                          .to_values = permutation,                                                                    \
                          .base = cusparseGetMatIndexBase(descriptor)};                                                \
        return sparse_enqueue_bytes(handle, w.name, &w, sizeof w, run_csrsort);                                        \
    }
CSRSORT(cusparseXcsrsort, m)
CSRSORT(cusparseXcscsort, n)

static bool run_identity(const void *what)
{
    const arrays *w = what;
    int32_t *to = sparse_reach(w->name, w->to, w->nnz, sizeof *to, true);
    for (int64_t k = 0; to && k < w->nnz; k++)
        to[k] = (int32_t)k;
    return to;
}

VENDOR_API int cusparseCreateIdentityPermutation(cusparse_handle handle, int n, void *p)
{
    CHECK(handle, n >= 0);
    const arrays w = {.name = "cusparseCreateIdentityPermutation", .nnz = n, .to = p};
    return sparse_enqueue_bytes(handle, w.name, &w, sizeof w, run_identity);
}
