/* cusparse_gemm.c - cuSPARSE's products of two sparse matrices (SpGEMM): Gustavson's algorithm, row by row. Some calls
 * find the structure of the result and store it in the descriptor of the product. The host waits for these calls. */
#include <stdlib.h>
#include <string.h>

#include "cusparse_work.h"

/* cusparseSpGEMMDescr_t: the structure of the last product, and its values without alpha. */
typedef struct plan {
    bool known;
    int64_t rows, nnz, products; /* `products` is the number of products of two entries, before the summation */
    int64_t *offsets, *columns;
    number *values;
} plan;

VENDOR_API int cusparseSpGEMM_createDescr(plan **to)
{
    if (!to)
        return INVALID_VALUE;
    *to = calloc(1, sizeof **to);
    return *to ? DONE : ALLOC_FAILED;
}

static void clear_plan(plan *p)
{
    free(p->offsets);
    free(p->columns);
    free(p->values);
    *p = (plan){.known = false};
}

VENDOR_API int cusparseSpGEMM_destroyDescr(plan *p)
{
    if (p)
        clear_plan(p);
    free(p);
    return DONE;
}

/* ---- one row of the result: its products in any order, then sorted and summed ---- */

typedef struct term {
    int64_t column, order; /* `order` is the number of the product, so that the sums always have the same order */
    number value;
} term;

static int compare_terms(const void *a, const void *b)
{
    const term *x = a, *y = b;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Makes room for `count` elements of `size` bytes in a list. */
static bool grow(void **list, int64_t *room, int64_t count, size_t size)
{
    size_t bytes;
    if (count <= *room)
        return true;
    const int64_t wanted = count < INT64_MAX / 2 ? 2 * count : count;
    void *larger = __builtin_mul_overflow((size_t)wanted, size, &bytes) ? NULL : realloc(*list, bytes);
    if (larger) {
        *list = larger;
        *room = wanted;
    }
    return larger;
}

/* Appends the products of the entries of row `row` of A with the rows of B to the terms. */
static bool multiply_row(const view *a, const view *b, int64_t row, term **terms, int64_t *room, int64_t *count)
{
    int64_t begin, end;
    *count = 0;
    if (!sparse_range(a, row, &begin, &end))
        return false;
    for (int64_t k = begin; k < end; k++) {
        int64_t first, last;
        const int64_t inner = sparse_index(a, k, a->m->columns);
        if (inner < 0 || !sparse_range(b, inner, &first, &last))
            return false;
        const number factor = sparse_value(a, k);
        void *list = *terms;
        const bool fits = grow(&list, room, *count + (last - first), sizeof **terms);
        *terms = list;
        if (!fits)
            return false;
        for (int64_t e = first; e < last; e++) {
            const int64_t column = sparse_index(b, e, b->m->columns);
            if (column < 0)
                return false;
            (*terms)[*count] = (term){column, *count, vendor_multiply(factor, sparse_value(b, e))};
            ++*count;
        }
    }
    return true;
}

/* Appends a row to the result. */
static bool append_row(plan *p, int64_t *column_room, int64_t *value_room, term *terms, int64_t count)
{
    void *columns = p->columns, *values = p->values;
    const bool fits = grow(&columns, column_room, p->nnz + count + 1, sizeof *p->columns) &&
                      grow(&values, value_room, p->nnz + count + 1, sizeof *p->values);
    p->columns = columns;
    p->values = values;
    if (!fits)
        return false;
    if (count)
        qsort(terms, (size_t)count, sizeof *terms, compare_terms);
    for (int64_t k = 0; k < count; k++) {
        const bool next = k == 0 || terms[k].column != terms[k - 1].column;
        if (next) {
            p->columns[p->nnz] = terms[k].column;
            p->values[p->nnz++] = terms[k].value;
        } else {
            p->values[p->nnz - 1] = vendor_add(p->values[p->nnz - 1], terms[k].value);
        }
    }
    p->products += count;
    return true;
}

static bool run_structure(const void *what)
{
    const work *w = what;
    plan *p = w->plan;
    view a, b;
    term *terms = NULL;
    int64_t room = 0, column_room = 0, value_room = 0, count = 0;
    clear_plan(p);
    bool done = sparse_open(w->name, &w->a, 0, false, &a) && sparse_open(w->name, &w->b, 0, false, &b);
    p->offsets = done ? calloc((size_t)w->a.rows + 1, sizeof *p->offsets)
                      : NULL; /* the size fits, because the device has this number of offsets */
    done = p->offsets;
    for (int64_t i = 0; done && i < w->a.rows; i++) {
        done = multiply_row(&a, &b, i, &terms, &room, &count) && append_row(p, &column_room, &value_room, terms, count);
        p->offsets[i + 1] = p->nnz;
    }
    free(terms);
    p->rows = w->a.rows;
    p->known = done;
    return done;
}

/* Writes the structure of the result to C. */
static bool write_structure(const work *w)
{
    const plan *p = w->plan;
    const sparse *c = &w->c;
    const size_t offset_size = c->offset_type == INDEX_64 ? sizeof(int64_t) : sizeof(int32_t),
                 index_size = c->index_type == INDEX_64 ? sizeof(int64_t) : sizeof(int32_t);
    void *offsets = sparse_reach(w->name, c->offsets, p->rows + 1, offset_size, true);
    void *indices = offsets ? sparse_reach(w->name, c->indices, p->nnz, index_size, true) : NULL;
    if (!indices)
        return false;
    for (int64_t i = 0; i <= p->rows; i++)
        write_index(offsets, i, c->offset_type, p->offsets[i] + c->base);
    for (int64_t k = 0; k < p->nnz; k++)
        write_index(indices, k, c->index_type, p->columns[k] + c->base);
    return true;
}

/* Computes C = alpha * product + beta * C. If beta is not 0, C already has the structure of the product. */
static bool write_values(const work *w)
{
    const plan *p = w->plan;
    number alpha, beta;
    void *values = sparse_reach(w->name, w->c.values, p->nnz, vendor_number_size(w->c.type), true);
    if (!values || !sparse_scalar(w, w->alpha_at, &w->alpha, &alpha) || !sparse_scalar(w, w->beta_at, &w->beta, &beta))
        return false;
    for (int64_t k = 0; k < p->nnz; k++) {
        number value = vendor_multiply(alpha, p->values[k]);
        if (!is_zero(beta))
            value = vendor_add(value, vendor_multiply(beta, vendor_read_number(values, k, w->c.type)));
        vendor_write_number(values, k, w->c.type, value);
    }
    return true;
}

static bool run_structure_copy(const void *what) { return write_structure(what); }

static bool run_copy(const void *what) { return write_structure(what) && write_values(what); }

/* Computes the product again, because the values of A and B may have changed since the structure was found. */
static bool run_again(const void *what)
{
    const work *w = what;
    const int64_t nnz = ((const plan *)w->plan)->nnz;
    return run_structure(what) && ((const plan *)w->plan)->nnz == nnz && write_values(w);
}

/* ---- the calls ---- */

static int set_gemm(cusparse_handle handle, work *w, const sparse *a, const sparse *b, const sparse *c)
{
    CHECK(handle, a && b && c && w->plan && is_op(w->op_a) && is_op(w->op_b) && a->columns == b->rows &&
                      a->rows == c->rows && b->columns == c->columns);
    w->a = *a;
    w->b = *b;
    w->c = *c;
    if (w->op_a != OP_N || w->op_b != OP_N || a->format != CSR || b->format != CSR || c->format != CSR) {
        vendor_tell_missing(LIBRARY, "a product of sparse matrices that are transposed or not CSR");
        return NOT_SUPPORTED;
    }
    return DONE;
}

#define STRUCTURE_PARAMETERS cusparse_handle handle, int op_a, int op_b
#define GEMM_PARAMETERS                                                                                                \
    STRUCTURE_PARAMETERS, const void *alpha, const sparse *a, const sparse *b, const void *beta, sparse *c,            \
        int compute, int algorithm, plan *p
#define GEMM_WORK(name_)                                                                                               \
    {                                                                                                                  \
        .name = (name_), .op_a = op_a, .op_b = op_b, .compute = compute, .plan = p                                     \
    }

static int set_typed_gemm(cusparse_handle handle, work *w, const void *alpha, const sparse *a, const sparse *b,
                          const void *beta, const sparse *c)
{
    const int status = set_gemm(handle, w, a, b, c);
    if (status != DONE || !alpha || !beta)
        return status != DONE ? status : INVALID_VALUE;
    return sparse_check_types(w->name, a->type, b->type, c->type, w->compute);
}

/* If `buffer` is not NULL, the function finds the structure. If `buffer` is NULL, it only returns the size of the
 * buffer. */
VENDOR_API int cusparseSpGEMM_workEstimation(GEMM_PARAMETERS, size_t *bytes, void *buffer)
{
    work w = GEMM_WORK("cusparseSpGEMM_workEstimation");
    const int status = set_typed_gemm(handle, &w, alpha, a, b, beta, c);
    (void)algorithm;
    if (status != DONE || !bytes)
        return status != DONE ? status : INVALID_VALUE;
    if (buffer)
        return sparse_wait(handle, &w, NULL, NULL, run_structure);
    return sparse_set_buffer(handle, bytes);
}

VENDOR_API int cusparseSpGEMM_getNumProducts(const plan *p, int64_t *count)
{
    if (!p || !count || !p->known)
        return INVALID_VALUE;
    *count = p->products;
    return DONE;
}

VENDOR_API int cusparseSpGEMM_estimateMemory(GEMM_PARAMETERS, float fraction, size_t *bytes3, void *buffer3,
                                             size_t *bytes2)
{
    work w = GEMM_WORK("cusparseSpGEMM_estimateMemory");
    const int status = set_typed_gemm(handle, &w, alpha, a, b, beta, c);
    (void)algorithm;
    if (status != DONE || !bytes3 || (buffer3 && !bytes2) || !(fraction > 0 && fraction <= 1))
        return status != DONE ? status : INVALID_VALUE;
    return sparse_set_buffer(handle, buffer3 ? bytes2 : bytes3);
}

/* Computes the product, and stores its number of entries in the descriptor of C. */
VENDOR_API int cusparseSpGEMM_compute(GEMM_PARAMETERS, size_t *bytes, void *buffer)
{
    work w = GEMM_WORK("cusparseSpGEMM_compute");
    int status = set_typed_gemm(handle, &w, alpha, a, b, beta, c);
    (void)algorithm;
    if (status != DONE || !bytes)
        return status != DONE ? status : INVALID_VALUE;
    if (!buffer)
        return sparse_set_buffer(handle, bytes);
    status = sparse_wait(handle, &w, NULL, NULL, run_structure);
    if (status == DONE)
        c->nnz = c->stored = p->nnz;
    return status;
}

/* Returns true if the descriptor has a product that fits the matrix. */
static bool has_product(const plan *p, const sparse *c) { return p->known && p->rows == c->rows && p->nnz == c->nnz; }

VENDOR_API int cusparseSpGEMM_copy(GEMM_PARAMETERS)
{
    work w = GEMM_WORK("cusparseSpGEMM_copy");
    const int status = set_typed_gemm(handle, &w, alpha, a, b, beta, c);
    (void)algorithm;
    if (status != DONE || !has_product(p, c))
        return status != DONE ? status : INVALID_VALUE;
    return sparse_wait(handle, &w, alpha, beta, run_copy);
}

/* ---- products with one structure and many values ---- */

#define REUSE_PARAMETERS                                                                                               \
    STRUCTURE_PARAMETERS, const sparse *a, const sparse *b, sparse *c, int algorithm, plan *p, size_t *bytes,          \
        void *buffer

VENDOR_API int cusparseSpGEMMreuse_workEstimation(REUSE_PARAMETERS)
{
    work w = {.name = "cusparseSpGEMMreuse_workEstimation", .op_a = op_a, .op_b = op_b, .plan = p};
    const int status = set_gemm(handle, &w, a, b, c);
    (void)algorithm, (void)buffer;
    return status == DONE ? sparse_set_buffer(handle, bytes) : status;
}

VENDOR_API int cusparseSpGEMMreuse_nnz(REUSE_PARAMETERS, size_t *bytes3, void *buffer3, size_t *bytes4, void *buffer4)
{
    work w = {.name = "cusparseSpGEMMreuse_nnz", .op_a = op_a, .op_b = op_b, .plan = p};
    int status = set_gemm(handle, &w, a, b, c);
    (void)algorithm;
    if (status != DONE || !bytes || !bytes3 || !bytes4)
        return status != DONE ? status : INVALID_VALUE;
    *bytes = *bytes3 = *bytes4 = BUFFER_BYTES;
    if (!buffer || !buffer3 || !buffer4)
        return DONE;
    status = sparse_wait(handle, &w, NULL, NULL, run_structure);
    if (status == DONE)
        c->nnz = c->stored = p->nnz;
    return status;
}

VENDOR_API int cusparseSpGEMMreuse_copy(REUSE_PARAMETERS)
{
    work w = {.name = "cusparseSpGEMMreuse_copy", .op_a = op_a, .op_b = op_b, .plan = p};
    const int status = set_gemm(handle, &w, a, b, c);
    (void)algorithm;
    if (status != DONE || !bytes)
        return status != DONE ? status : INVALID_VALUE;
    if (!buffer)
        return sparse_set_buffer(handle, bytes);
    return has_product(p, c) ? sparse_wait(handle, &w, NULL, NULL, run_structure_copy) : INVALID_VALUE;
}

VENDOR_API int cusparseSpGEMMreuse_compute(GEMM_PARAMETERS)
{
    work w = GEMM_WORK("cusparseSpGEMMreuse_compute");
    const int status = set_typed_gemm(handle, &w, alpha, a, b, beta, c);
    (void)algorithm;
    if (status != DONE || !has_product(p, c))
        return status != DONE ? status : INVALID_VALUE;
    return sparse_wait(handle, &w, alpha, beta, run_again);
}
