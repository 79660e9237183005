/* spmv.c has spmv_f64, the reference of products of a sparse matrix and a vector, and sparse_add_rest, a step on the
 * host. The folder sparse/ has the functions that make matrices and their formats. */
#include "formats.h"

typedef struct product {
    const uint32_t *offsets, *index;
    const float *values, *x;
    float *y;
    uint64_t rows;
} product;

enum { ROWS_A_PART = 8192 };

static void multiply_rows(void *user, size_t part, size_t worker)
{
    (void)worker;
    const product *p = user;
    uint64_t first = (uint64_t)part * ROWS_A_PART;
    for (uint64_t r = first; r < first + ROWS_A_PART && r < p->rows; r++) {
        double sum = 0;
        for (uint32_t i = p->offsets[r]; i < p->offsets[r + 1]; i++)
            sum += (double)p->values[i] * (double)p->x[p->index[i]];
        p->y[r] = (float)sum;
    }
}

/* Computes y = A x in double. The entries of a row are added in order. The buffers offsets, index and values are the
 * matrix A in CSR. */
static kiln_status spmv_f64(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *offsets, *index, *values, *x;
    kiln_array *y;
    if (kiln_call_array(call, "offsets", &offsets) != KILN_OK || kiln_call_array(call, "index", &index) != KILN_OK ||
        kiln_call_array(call, "values", &values) != KILN_OK || kiln_call_array(call, "x", &x) != KILN_OK ||
        kiln_call_output(call, "y", &y) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (!kiln__is_line(offsets, KILN_u32) || !kiln__is_line(index, KILN_u32) || !kiln__is_line(values, KILN_f32) ||
        !kiln__is_line(x, KILN_f32) || !kiln__is_line(y, KILN_f32) || values->shape[0] != index->shape[0] ||
        offsets->shape[0] != y->shape[0] + 1 || !kiln__is_csr(offsets, index, x->shape[0]))
        return kiln_call_fail(call,
                              "offsets and index (u32) and values (f32) must be a CSR matrix that fits x and y (f32)");
    product p = {offsets->data, index->data, values->data, x->data, y->data, y->shape[0]};
    kiln__parallel(0, (size_t)((p.rows + ROWS_A_PART - 1) / ROWS_A_PART), multiply_rows, &p);
    return KILN_OK;
}

/* For each i, adds values[i] * x[index[i]] to y[rows[i]], in the order of i. These entries are the rest of a hybrid
 * format, which the ELL part has no room for. */
static kiln_status sparse_add_rest(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *rows, *index, *values, *x;
    kiln_array *y;
    if (kiln_call_array(call, "rows", &rows) != KILN_OK || kiln_call_array(call, "index", &index) != KILN_OK ||
        kiln_call_array(call, "values", &values) != KILN_OK || kiln_call_array(call, "x", &x) != KILN_OK ||
        kiln_call_output(call, "y", &y) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    uint64_t count = rows->dims == 1 ? rows->shape[0] : 0;
    if (!kiln__is_line(rows, KILN_u32) || !kiln__is_line(index, KILN_u32) || !kiln__is_line(values, KILN_f32) ||
        !kiln__is_line(x, KILN_f32) || !kiln__is_line(y, KILN_f32) || index->shape[0] != count ||
        values->shape[0] != count)
        return kiln_call_fail(call,
                              "rows and index (u32) and values (f32) must be one-dimensional and of one length, and "
                              "x and y one-dimensional, of f32");
    const uint32_t *row = rows->data, *column = index->data;
    const float *value = values->data, *from = x->data;
    float *to = y->data;
    for (uint64_t i = 0; i < count; i++) {
        if (row[i] >= y->shape[0] || column[i] >= x->shape[0])
            return kiln_call_fail(call, "entry %llu lies outside the matrix", (unsigned long long)i);
        to[row[i]] += value[i] * from[column[i]];
    }
    return KILN_OK;
}

KILN__FAMILY(
    spmv,
    KILN__HOST("sparse_matrix", KILN_HOST_INPUT, kiln__host_sparse_matrix,
               "matrix (a file, or a kind), [rows, degree, seed]",
               "csr.offsets, csr.index, csr.values, rows, columns, nonzeros, diagonals, and facts"),
    KILN__HOST("sparse_coo", KILN_HOST_INPUT, kiln__host_sparse_coo, "matrix (an input)", "rows"),
    KILN__HOST("sparse_ell", KILN_HOST_INPUT, kiln__host_sparse_ell, "matrix (an input), [padding]",
               "width, ell.index, ell.values"),
    KILN__HOST("sparse_hybrid", KILN_HOST_INPUT, kiln__host_sparse_hybrid, "matrix (an input), [width, band, padding]",
               "width, ell.index, ell.values, rest, rest.rows, rest.index, rest.values"),
    KILN__HOST("sparse_jds", KILN_HOST_INPUT, kiln__host_sparse_jds, "matrix (an input)",
               "largest, order, csr.offsets, csr.index, csr.values, starts, index, values"),
    KILN__HOST("sparse_sell", KILN_HOST_INPUT, kiln__host_sparse_sell, "matrix (an input), height, [sigma, padding]",
               "slices, order, starts, index, values"),
    KILN__HOST("sparse_dia", KILN_HOST_INPUT, kiln__host_sparse_dia, "matrix (an input), [padding]",
               "diagonals, offsets, values"),
    KILN__HOST("sparse_bcsr", KILN_HOST_INPUT, kiln__host_sparse_bcsr, "matrix (an input), height, width, [padding]",
               "rows, offsets, blocks, index, values"),
    KILN__HOST("sparse_delta", KILN_HOST_INPUT, kiln__host_sparse_delta, "matrix (an input)",
               "offsets, distance, values, rest, rest.rows, rest.index, rest.values"),
    KILN__HOST("sparse_popular", KILN_HOST_INPUT, kiln__host_sparse_popular, "matrix (an input)", "order, index"),
    KILN__HOST(
        "sparse_binned", KILN_HOST_INPUT, kiln__host_sparse_binned, "matrix (an input), width, lines",
        "panels, width, groups, chunks, pieces, cut, group.lines, panel.starts, group.starts, to, columns, values, slots, cut.rows, cut.starts"),
    KILN__HOST("sparse_add_rest", KILN_HOST_STEP, sparse_add_rest, "rows, index, values, x", "y"),
    KILN__HOST("spmv_f64", KILN_HOST_REFERENCE, spmv_f64, "offsets, index, values, x", "y"))
