/* cusparse_factors.c - cuSPARSE's incomplete factors of a CSR matrix without fill: LU (csrilu02) and Cholesky
 * (csric02). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cusparse_work.h"

/* The type of csrilu02Info_t and csric02Info_t. */
typedef struct info {
    bool analysed;
    int64_t rows, nnz;
    /* the first row without a pivot, counted from the matrix's index base, or -1 if all rows have a pivot */
    int32_t pivot;
} info;

typedef struct factors {
    const char *name;
    int64_t size, nnz;
    const void *offsets, *indices;
    void *values;
    int type, base;
    info *info;
} factors;

int cusparseGetMatIndexBase(const void *descriptor); /* cusparse_objects.c */

/* The matrix on the host, while it is being factored. */
typedef struct square {
    const factors *f;
    sparse m;
    view v;
    int64_t *begin;    /* indexed by row: its first entry; the last element is the end of the last row */
    int64_t *columns;  /* indexed by entry: its column */
    int64_t *diagonal; /* indexed by row: the entry on the diagonal, or -1 */
    int64_t *place;    /* indexed by column: the entry of the current row, or -1 */
    number *values;
} square;

static void close_square(square *s)
{
    free(s->begin);
    free(s->columns);
    free(s->diagonal);
    free(s->place);
    free(s->values);
}

/* Reads and checks the structure of the matrix. If `values` is set, also reads the values. */
static bool open_square(const factors *f, square *s, bool values)
{
    const size_t rows = (size_t)f->size + 1, entries = (size_t)f->nnz + 1;
    *s = (square){.f = f,
                  .m = {.format = CSR,
                        .rows = f->size,
                        .columns = f->size,
                        .nnz = f->nnz,
                        .stored = f->nnz,
                        .offsets = (void *)(uintptr_t)f->offsets,
                        .indices = (void *)(uintptr_t)f->indices,
                        .values = f->values,
                        .offset_type = INDEX_32,
                        .index_type = INDEX_32,
                        .base = f->base,
                        .type = f->type}};
    if (!sparse_open(f->name, &s->m, 0, values, &s->v))
        return false;
    s->begin = calloc(rows, sizeof *s->begin);
    s->columns = calloc(entries, sizeof *s->columns);
    s->diagonal = calloc(rows, sizeof *s->diagonal);
    s->place = calloc(rows, sizeof *s->place);
    s->values = new_numbers(f->nnz);
    if (!s->begin || !s->columns || !s->diagonal || !s->place || !s->values)
        return false;
    for (int64_t i = 0; i < f->size; i++) {
        s->diagonal[i] = s->place[i] = -1;
        if (!sparse_range(&s->v, i, &s->begin[i], &s->begin[i + 1]))
            return false;
        for (int64_t k = s->begin[i]; k < s->begin[i + 1]; k++) {
            s->columns[k] = sparse_index(&s->v, k, f->size);
            if (s->columns[k] < 0)
                return false;
            if (s->columns[k] == i)
                s->diagonal[i] = k;
            if (values)
                s->values[k] = sparse_value(&s->v, k);
        }
    }
    return true;
}

static void tell_pivot(const square *s, int64_t row)
{
    if (s->f->info->pivot < 0)
        s->f->info->pivot = (int32_t)(row + s->f->base);
}

/* Finds the first row without an entry on the diagonal. */
static bool run_analysis(const void *what)
{
    const factors *f = what;
    square s;
    const bool done = open_square(f, &s, false);
    *f->info = (info){.analysed = done, .rows = f->size, .nnz = f->nnz, .pivot = -1};
    for (int64_t i = 0; done && i < f->size; i++)
        if (s.diagonal[i] < 0)
            tell_pivot(&s, i);
    close_square(&s);
    return done;
}

static void mark_row(const square *s, int64_t row, bool set)
{
    for (int64_t k = s->begin[row]; k < s->begin[row + 1]; k++)
        s->place[s->columns[k]] = set ? k : -1;
}

/* Computes LU row by row. From row i it subtracts the rows above, in the order of the columns, and only at existing
 * entries of row i. */
static void factor_lu(const square *s)
{
    for (int64_t i = 0; i < s->m.rows; i++) {
        mark_row(s, i, true);
        for (int64_t k = s->begin[i]; k < s->begin[i + 1]; k++) {
            const int64_t j = s->columns[k];
            if (j >= i || s->diagonal[j] < 0)
                continue;
            const number factor = vendor_divide(s->values[k], s->values[s->diagonal[j]]);
            s->values[k] = factor;
            for (int64_t e = s->begin[j]; e < s->begin[j + 1]; e++) {
                const int64_t at = s->place[s->columns[e]];
                if (s->columns[e] > j && at >= 0)
                    s->values[at] = vendor_subtract(s->values[at], vendor_multiply(factor, s->values[e]));
            }
        }
        if (s->diagonal[i] < 0 || is_zero(s->values[s->diagonal[i]]))
            tell_pivot(s, i);
        mark_row(s, i, false);
    }
}

/* Returns the square root of the real part of a number. If the real part is not positive, the matrix has no factor, and
 * the result is 0, a zero pivot. */
static number root_of(number value) { return (number){value.re > 0 ? sqrt(value.re) : 0, 0}; }

/* Computes L of A = L L^H by rows: l_ij is a_ij minus the sum of l_ik conj(l_jk), divided by l_jj. The upper triangle
 * stays unchanged. */
static void factor_cholesky(const square *s)
{
    for (int64_t i = 0; i < s->m.rows; i++) {
        mark_row(s, i, true);
        for (int64_t k = s->begin[i]; k < s->begin[i + 1]; k++) {
            const int64_t j = s->columns[k];
            if (j >= i || s->diagonal[j] < 0)
                continue;
            number sum = s->values[k];
            for (int64_t e = s->begin[j]; e < s->begin[j + 1]; e++) {
                const int64_t at = s->place[s->columns[e]];
                if (s->columns[e] < j && at >= 0)
                    sum = vendor_subtract(sum, vendor_multiply(s->values[at], vendor_conjugate(s->values[e])));
            }
            s->values[k] = vendor_divide(sum, s->values[s->diagonal[j]]);
        }
        if (s->diagonal[i] >= 0) {
            number sum = s->values[s->diagonal[i]];
            for (int64_t k = s->begin[i]; k < s->begin[i + 1]; k++)
                if (s->columns[k] < i)
                    sum.re -= s->values[k].re * s->values[k].re + s->values[k].im * s->values[k].im;
            s->values[s->diagonal[i]] = root_of(sum);
        }
        if (s->diagonal[i] < 0 || is_zero(s->values[s->diagonal[i]]))
            tell_pivot(s, i);
        mark_row(s, i, false);
    }
}

static bool run_factors(const void *what, void factor(const square *))
{
    const factors *f = what;
    square s;
    const bool done = open_square(f, &s, true);
    if (done) {
        f->info->pivot = -1; /* reset the pivot that the analysis or earlier values have set */
        factor(&s);
        for (int64_t k = 0; k < f->nnz; k++)
            vendor_write_number(s.v.values, k, f->type, s.values[k]);
    }
    close_square(&s);
    return done;
}

static bool run_lu(const void *what) { return run_factors(what, factor_lu); }
static bool run_cholesky(const void *what) { return run_factors(what, factor_cholesky); }

/* A graph cannot keep the info of the call, so the host waits for each call, and the call cannot be captured. */
static int enqueue_factors(cusparse_handle handle, const factors *f, bool (*function)(const void *))
{
    return sparse_wait_bytes(handle, f->name, f, sizeof *f, function);
}

static int create_info(info **to)
{
    if (!to)
        return INVALID_VALUE;
    *to = calloc(1, sizeof **to);
    if (*to)
        (*to)->pivot = -1;
    return *to ? DONE : ALLOC_FAILED;
}

static int destroy_info(info *i)
{
    free(i);
    return DONE;
}

typedef struct pivot {
    const char *name;
    int32_t value;
    void *to;
} pivot;

static bool run_pivot(const void *what)
{
    const pivot *p = what;
    int32_t *to = sparse_reach(p->name, p->to, 1, sizeof *to, true);
    if (to)
        *to = p->value;
    return to;
}

/* Writes the first row without a pivot, or -1. */
static int write_pivot(cusparse_handle handle, const info *i, int *position, const char *name)
{
    CHECK(handle, i && position);
    const pivot p = {.name = name, .value = i->pivot, .to = position};
    int status = DONE;
    if (handle->pointers == POINTER_DEVICE)
        status = sparse_enqueue_bytes(handle, name, &p, sizeof p, run_pivot);
    else
        *position = i->pivot;
    return status == DONE && i->pivot >= 0 ? ZERO_PIVOT : status;
}

#define INFO(kind, Name)                                                                                               \
    VENDOR_API int cusparseCreate##Name##Info(info **to) { return create_info(to); }                                   \
    VENDOR_API int cusparseDestroy##Name##Info(info *i) { return destroy_info(i); }                                    \
    VENDOR_API int cusparseX##kind##_zeroPivot(cusparse_handle handle, const info *i, int *position)                   \
    {                                                                                                                  \
        return write_pivot(handle, i, position, "cusparseX" #kind "_zeroPivot");                                       \
    }
INFO(csrilu02, Csrilu02)
INFO(csric02, Csric02)

#define FACTOR_PARAMETERS                                                                                              \
    cusparse_handle handle, int m, int nnz, const void *descriptor, void *values, const void *offsets,                 \
        const void *indices, info *i
#define FACTOR_VALID m >= 0 && nnz >= 0 && descriptor &&i
#define FACTORS(kind, letter, type_, function)                                                                         \
    static factors set_##letter##kind(const char *name, FACTOR_PARAMETERS)                                             \
    {                                                                                                                  \
        (void)handle;                                                                                                  \
        return (factors){.name = name,                                                                                 \
                         .size = m,                                                                                    \
                         .nnz = nnz,                                                                                   \
                         .offsets = offsets,                                                                           \
                         .indices = indices,                                                                           \
                         .values = values,                                                                             \
                         .type = (type_),                                                                              \
                         .base = cusparseGetMatIndexBase(descriptor),                                                  \
                         .info = i};                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusparse##letter##kind##_bufferSize(FACTOR_PARAMETERS, int *bytes)                                  \
    {                                                                                                                  \
        CHECK(handle, FACTOR_VALID &&bytes);                                                                           \
        (void)values, (void)offsets, (void)indices;                                                                    \
        *bytes = BUFFER_BYTES;                                                                                         \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusparse##letter##kind##_analysis(FACTOR_PARAMETERS, int policy, void *buffer)                      \
    {                                                                                                                  \
        CHECK(handle, FACTOR_VALID);                                                                                   \
        (void)policy, (void)buffer;                                                                                    \
        const factors f = set_##letter##kind("cusparse" #letter #kind "_analysis", handle, m, nnz, descriptor, values, \
                                             offsets, indices, i);                                                     \
        return enqueue_factors(handle, &f, run_analysis);                                                              \
    }                                                                                                                  \
    VENDOR_API int cusparse##letter##kind(FACTOR_PARAMETERS, int policy, void *buffer)                                 \
    {                                                                                                                  \
        CHECK(handle, FACTOR_VALID && i->analysed && i->rows == m && i->nnz == nnz);                                   \
        (void)policy, (void)buffer;                                                                                    \
        const factors f = set_##letter##kind("cusparse" #letter #kind, handle, m, nnz, descriptor, values, offsets,    \
                                             indices, i);                                                              \
        return enqueue_factors(handle, &f, function);                                                                  \
    }
FACTORS(csrilu02, S, R_32F, run_lu)
FACTORS(csrilu02, D, R_64F, run_lu)
FACTORS(csrilu02, C, C_32F, run_lu)
FACTORS(csrilu02, Z, C_64F, run_lu)
FACTORS(csric02, S, R_32F, run_cholesky)
FACTORS(csric02, D, R_64F, run_cholesky)
FACTORS(csric02, C, C_32F, run_cholesky)
FACTORS(csric02, Z, C_64F, run_cholesky)
