/* cusparse_products.c - cuSPARSE's products of a sparse and a dense operand, products of dense matrices that are
 * computed only at the entries of a sparse matrix, and operations on a sparse and a dense vector. */
#include <stdlib.h>
#include <string.h>

#include "cusparse_work.h"

/* ---- Y = alpha op(A) op(X) + beta Y; a vector is a matrix of one column ---- */

typedef struct product {
    const view *a;
    const number *x; /* * stored by rows * */
    number *y;
    int64_t columns;
    int op;
} product;

static bool add_product(void *to, int64_t row, int64_t column, int64_t at)
{
    const product *p = to;
    const number value = sparse_value(p->a, at), factor = p->op == OP_C ? vendor_conjugate(value) : value;
    const number *x = p->x + (p->op == OP_N ? column : row) * p->columns;
    number *y = p->y + (p->op == OP_N ? row : column) * p->columns;
    for (int64_t k = 0; k < p->columns; k++)
        y[k] = vendor_add(y[k], vendor_multiply(factor, x[k]));
    return true;
}

static bool multiply_one(const work *w, int64_t index, number alpha, number beta)
{
    view a;
    bool done = dense_open(w->name, &w->y, index, true) && sparse_open(w->name, &w->a, index, false, &a);
    number *x = done ? dense_read(w->name, &w->x, index, w->op_b) : NULL;
    number *y = x ? new_numbers(w->y.rows * w->y.columns) : NULL;
    product p = {.a = &a, .x = x, .y = y, .columns = w->y.columns, .op = w->op_a};
    done = y && sparse_walk(&a, add_product, &p) && dense_write(w->name, &w->y, index, alpha, y, beta);
    free(x);
    free(y);
    return done;
}

static bool run_product(const void *what)
{
    const work *w = what;
    number alpha, beta;
    bool done = sparse_scalar(w, w->alpha_at, &w->alpha, &alpha) && sparse_scalar(w, w->beta_at, &w->beta, &beta);
    for (int64_t i = 0; done && i < w->y.batch; i++)
        done = multiply_one(w, i, alpha, beta);
    return done;
}

/* If one matrix serves all products of a batch, sets its stride to 0. Returns false if the number of matrices does not
 * fit. */
static bool set_batch(int *batch, int64_t *stride, int all)
{
    if (*batch == 1)
        *stride = 0;
    return *batch == 1 || *batch == all;
}

/* Checks the arguments of a product, and fills the work. Returns a cusparseStatus_t. */
static int set_product(cusparse_handle handle, work *w, const void *alpha, const sparse *a, const dense *x,
                       const void *beta, const dense *y)
{
    CHECK(handle, alpha && a && x && beta && y && is_op(w->op_a) && is_op(w->op_b) && a->format != VECTOR);
    w->a = *a;
    w->x = *x;
    w->y = *y;
    const int64_t rows = w->op_a == OP_N ? a->rows : a->columns, inner = w->op_a == OP_N ? a->columns : a->rows,
                  x_rows = w->op_b == OP_N ? x->rows : x->columns, x_columns = w->op_b == OP_N ? x->columns : x->rows;
    int64_t *strides[] = {&w->a.offset_stride, &w->a.index_stride, &w->a.value_stride};
    bool valid = rows == y->rows && inner == x_rows && x_columns == y->columns &&
                 set_batch(&w->x.batch, &w->x.stride, y->batch);
    for (size_t k = 0; k < sizeof strides / sizeof strides[0]; k++)
        valid = set_batch(&w->a.batch, strides[k], y->batch) && valid;
    return valid ? sparse_check_types(w->name, a->type, x->type, y->type, w->compute) : INVALID_VALUE;
}

/* The functions of a product. The first function returns the size of the buffer. The second function prepares the
 * product, which needs nothing here. The third function computes the product. */
#define PRODUCT(function_name, parameters, op_b_)                                                                      \
    VENDOR_API int function_name##_bufferSize(cusparse_handle handle, PARAMETERS parameters, size_t *bytes)            \
    {                                                                                                                  \
        work w = {.name = #function_name, .op_a = op_a, .op_b = (op_b_), .compute = compute};                          \
        const int status = set_product(handle, &w, alpha, a, x, beta, y);                                              \
        (void)algorithm;                                                                                               \
        return status == DONE ? sparse_set_buffer(handle, bytes) : status;                                             \
    }                                                                                                                  \
    VENDOR_API int function_name##_preprocess(cusparse_handle handle, PARAMETERS parameters, void *buffer)             \
    {                                                                                                                  \
        work w = {.name = #function_name, .op_a = op_a, .op_b = (op_b_), .compute = compute};                          \
        (void)algorithm, (void)buffer;                                                                                 \
        return set_product(handle, &w, alpha, a, x, beta, y);                                                          \
    }                                                                                                                  \
    VENDOR_API int function_name(cusparse_handle handle, PARAMETERS parameters, void *buffer)                          \
    {                                                                                                                  \
        work w = {.name = #function_name, .op_a = op_a, .op_b = (op_b_), .compute = compute};                          \
        const int status = set_product(handle, &w, alpha, a, x, beta, y);                                              \
        (void)algorithm, (void)buffer;                                                                                 \
        return status == DONE ? sparse_enqueue(handle, &w, alpha, beta, run_product) : status;                         \
    }
#define PARAMETERS(...) __VA_ARGS__
PRODUCT(cusparseSpMV,
        (int op_a, const void *alpha, const sparse *a, const dense *x, const void *beta, const dense *y, int compute,
         int algorithm),
        OP_N)
PRODUCT(cusparseSpMM,
        (int op_a, int op_b, const void *alpha, const sparse *a, const dense *x, const void *beta, const dense *y,
         int compute, int algorithm),
        op_b)

/* ---- C = alpha op(X) op(Y) + beta C, at the entries of C only ---- */

typedef struct sample {
    const view *c;
    const number *x, *y; /* both are stored by rows, and y is transposed */
    int64_t inner;
    number alpha, beta;
} sample;

static bool sample_product(void *to, int64_t row, int64_t column, int64_t at)
{
    const sample *s = to;
    number sum = {0, 0};
    for (int64_t k = 0; k < s->inner; k++)
        sum = vendor_add(sum, vendor_multiply(s->x[row * s->inner + k], s->y[column * s->inner + k]));
    sum = vendor_multiply(s->alpha, sum);
    if (!is_zero(s->beta))
        sum = vendor_add(sum, vendor_multiply(s->beta, sparse_value(s->c, at)));
    vendor_write_number(s->c->values, at, s->c->m->type, sum);
    return true;
}

static bool run_samples(const void *what)
{
    const work *w = what;
    number alpha, beta;
    bool done = sparse_scalar(w, w->alpha_at, &w->alpha, &alpha) && sparse_scalar(w, w->beta_at, &w->beta, &beta);
    for (int64_t i = 0; done && i < w->c.batch; i++) {
        view c;
        /* reads the transpose of op(Y), whose rows are the columns of op(Y) */
        number *x = dense_read(w->name, &w->x, i, w->op_a),
               *y = x ? dense_read(w->name, &w->y, i, w->op_b == OP_N ? OP_T : OP_N) : NULL;
        if (y && w->op_b == OP_C)
            for (int64_t k = 0; k < w->y.rows * w->y.columns; k++)
                y[k] = vendor_conjugate(y[k]);
        sample s = {
            .c = &c, .x = x, .y = y, .inner = w->op_a == OP_N ? w->x.columns : w->x.rows, .alpha = alpha, .beta = beta};
        done = y && sparse_open(w->name, &w->c, i, true, &c) && sparse_walk(&c, sample_product, &s);
        free(x);
        free(y);
    }
    return done;
}

static int set_samples(cusparse_handle handle, work *w, const void *alpha, const dense *x, const dense *y,
                       const void *beta, const sparse *c)
{
    CHECK(handle, alpha && x && y && beta && c && is_op(w->op_a) && is_op(w->op_b) && c->format != VECTOR);
    w->x = *x;
    w->y = *y;
    w->c = *c;
    const bool fits = (w->op_a == OP_N ? x->rows : x->columns) == c->rows &&
                      (w->op_b == OP_N ? y->columns : y->rows) == c->columns &&
                      (w->op_a == OP_N ? x->columns : x->rows) == (w->op_b == OP_N ? y->rows : y->columns) &&
                      set_batch(&w->x.batch, &w->x.stride, c->batch) && set_batch(&w->y.batch, &w->y.stride, c->batch);
    return fits ? sparse_check_types(w->name, x->type, y->type, c->type, w->compute) : INVALID_VALUE;
}

#define SAMPLES_PARAMETERS                                                                                             \
    cusparse_handle handle, int op_a, int op_b, const void *alpha, const dense *x, const dense *y, const void *beta,   \
        const sparse *c, int compute, int algorithm

VENDOR_API int cusparseSDDMM_bufferSize(SAMPLES_PARAMETERS, size_t *bytes)
{
    work w = {.name = "cusparseSDDMM", .op_a = op_a, .op_b = op_b, .compute = compute};
    const int status = set_samples(handle, &w, alpha, x, y, beta, c);
    (void)algorithm;
    return status == DONE ? sparse_set_buffer(handle, bytes) : status;
}

VENDOR_API int cusparseSDDMM_preprocess(SAMPLES_PARAMETERS, void *buffer)
{
    work w = {.name = "cusparseSDDMM", .op_a = op_a, .op_b = op_b, .compute = compute};
    (void)algorithm, (void)buffer;
    return set_samples(handle, &w, alpha, x, y, beta, c);
}

VENDOR_API int cusparseSDDMM(SAMPLES_PARAMETERS, void *buffer)
{
    work w = {.name = "cusparseSDDMM", .op_a = op_a, .op_b = op_b, .compute = compute};
    const int status = set_samples(handle, &w, alpha, x, y, beta, c);
    (void)algorithm, (void)buffer;
    return status == DONE ? sparse_enqueue(handle, &w, alpha, beta, run_samples) : status;
}

/* ---- a sparse vector x and a dense vector y ---- */

typedef struct pair {
    const work *w;
    const view *x;
    void *y; /* host pointer to the numbers of y */
    number alpha, beta, sum;
} pair;

/* Returns the type of the scalars for vectors of a type. */
static int scalar_type(int type)
{
    return type == R_16F || type == R_16BF ? R_32F : type == C_16F || type == C_16BF ? C_32F : type;
}

/* Runs visit() for each entry of x. `writes_x` and `writes_y` tell which vectors visit() changes. */
static bool run_pair(const work *w, pair *p, bool writes_x, bool writes_y, visitor *visit)
{
    view x;
    p->w = w;
    p->x = &x;
    p->y = dense_open(w->name, &w->y, 0, writes_y);
    return p->y && sparse_open(w->name, &w->a, 0, writes_x, &x) && sparse_walk(&x, visit, p);
}

static int set_pair(cusparse_handle handle, work *w, const sparse *x, const dense *y)
{
    CHECK(handle, x && y && x->format == VECTOR && x->rows == y->rows && y->columns == 1 && y->order == ORDER_COLUMNS);
    w->a = *x;
    w->y = *y;
    return DONE;
}

/* Checks that both vectors have the same type, which must not be an integer. */
static int check_pair(const work *w)
{
    return w->a.type == w->y.type && w->a.type != R_8I && w->a.type != R_32I
               ? DONE
               : (vendor_tell_missing(LIBRARY, "vectors of these types"), NOT_SUPPORTED);
}

static bool add_entry(void *to, int64_t row, int64_t column, int64_t at)
{
    const pair *p = to;
    const int type = p->w->y.type;
    (void)column;
    vendor_write_number(
        p->y, row, type,
        vendor_add(vendor_read_number(p->y, row, type), vendor_multiply(p->alpha, sparse_value(p->x, at))));
    return true;
}

static bool run_axpby(const void *what)
{
    const work *w = what;
    pair p = {.w = w};
    void *y = dense_open(w->name, &w->y, 0, true);
    if (!y || !sparse_scalar(w, w->alpha_at, &w->alpha, &p.alpha) || !sparse_scalar(w, w->beta_at, &w->beta, &p.beta))
        return false;
    for (int64_t k = 0; k < w->y.rows; k++)
        vendor_write_number(y, k, w->y.type,
                            is_zero(p.beta) ? p.beta : vendor_multiply(p.beta, vendor_read_number(y, k, w->y.type)));
    return run_pair(w, &p, false, true, add_entry);
}

VENDOR_API int cusparseAxpby(cusparse_handle handle, const void *alpha, const sparse *x, const void *beta,
                             const dense *y)
{
    work w = {.name = "cusparseAxpby"};
    int status = set_pair(handle, &w, x, y);
    if (status == DONE && !(alpha && beta))
        status = INVALID_VALUE;
    if (status == DONE)
        status = check_pair(&w);
    w.compute = scalar_type(w.y.type);
    return status == DONE ? sparse_enqueue(handle, &w, alpha, beta, run_axpby) : status;
}

static bool gather_entry(void *to, int64_t row, int64_t column, int64_t at)
{
    const pair *p = to;
    const size_t size = vendor_number_size(p->w->y.type);
    (void)column;
    memcpy((char *)p->x->values + (size_t)at * size, (const char *)p->y + (size_t)row * size, size);
    return true;
}

static bool run_gather(const void *what)
{
    pair p = {.w = NULL};
    return run_pair(what, &p, true, false, gather_entry);
}

VENDOR_API int cusparseGather(cusparse_handle handle, const dense *y, const sparse *x)
{
    work w = {.name = "cusparseGather"};
    const int status = set_pair(handle, &w, x, y);
    return status != DONE         ? status
           : w.a.type != w.y.type ? INVALID_VALUE
                                  : sparse_enqueue(handle, &w, NULL, NULL, run_gather);
}

static bool scatter_entry(void *to, int64_t row, int64_t column, int64_t at)
{
    const pair *p = to;
    const size_t size = vendor_number_size(p->w->y.type);
    (void)column;
    memcpy((char *)p->y + (size_t)row * size, (const char *)p->x->values + (size_t)at * size, size);
    return true;
}

static bool run_scatter(const void *what)
{
    pair p = {.w = NULL};
    return run_pair(what, &p, false, true, scatter_entry);
}

VENDOR_API int cusparseScatter(cusparse_handle handle, const sparse *x, const dense *y)
{
    work w = {.name = "cusparseScatter"};
    const int status = set_pair(handle, &w, x, y);
    return status != DONE         ? status
           : w.a.type != w.y.type ? INVALID_VALUE
                                  : sparse_enqueue(handle, &w, NULL, NULL, run_scatter);
}

/* Rotates one entry of x and the corresponding number of y. alpha is the cosine, and beta is the sine. */
static bool rotate_entry(void *to, int64_t row, int64_t column, int64_t at)
{
    const pair *p = to;
    const int type = p->w->y.type;
    const number x = sparse_value(p->x, at), y = vendor_read_number(p->y, row, type);
    (void)column;
    vendor_write_number(p->x->values, at, type, vendor_add(vendor_multiply(p->alpha, x), vendor_multiply(p->beta, y)));
    vendor_write_number(p->y, row, type, vendor_subtract(vendor_multiply(p->alpha, y), vendor_multiply(p->beta, x)));
    return true;
}

static bool run_rotation(const void *what)
{
    const work *w = what;
    pair p = {.w = w};
    return sparse_scalar(w, w->alpha_at, &w->alpha, &p.alpha) && sparse_scalar(w, w->beta_at, &w->beta, &p.beta) &&
           run_pair(w, &p, true, true, rotate_entry);
}

VENDOR_API int cusparseRot(cusparse_handle handle, const void *cosine, const void *sine, const sparse *x,
                           const dense *y)
{
    work w = {.name = "cusparseRot"};
    int status = set_pair(handle, &w, x, y);
    if (status == DONE && !(cosine && sine))
        status = INVALID_VALUE;
    if (status == DONE)
        status = check_pair(&w);
    w.compute = scalar_type(w.y.type);
    return status == DONE ? sparse_enqueue(handle, &w, cosine, sine, run_rotation) : status;
}

static bool sum_entry(void *to, int64_t row, int64_t column, int64_t at)
{
    pair *p = to;
    const number x = sparse_value(p->x, at);
    (void)column;
    p->sum = vendor_add(p->sum, vendor_multiply(p->w->op_a == OP_C ? vendor_conjugate(x) : x,
                                                vendor_read_number(p->y, row, p->w->y.type)));
    return true;
}

static bool run_dot(const void *what)
{
    const work *w = what;
    pair p = {.w = w};
    void *result = w->device_scalars ? sparse_reach(w->name, w->result, 1, vendor_number_size(w->compute), true)
                                     : w->result;
    if (!result || !run_pair(w, &p, false, false, sum_entry))
        return false;
    vendor_write_number(result, 0, w->compute, p.sum);
    return true;
}

static int set_dot(cusparse_handle handle, work *w, const sparse *x, const dense *y)
{
    const int status = set_pair(handle, w, x, y);
    if (status != DONE || !is_op(w->op_a))
        return status != DONE ? status : INVALID_VALUE;
    return sparse_check_types(w->name, x->type, y->type, w->compute, w->compute);
}

VENDOR_API int cusparseSpVV_bufferSize(cusparse_handle handle, int op, const sparse *x, const dense *y,
                                       const void *result, int compute, size_t *bytes)
{
    work w = {.name = "cusparseSpVV", .op_a = op, .compute = compute};
    const int status = set_dot(handle, &w, x, y);
    (void)result;
    return status == DONE ? sparse_set_buffer(handle, bytes) : status;
}

VENDOR_API int cusparseSpVV(cusparse_handle handle, int op, const sparse *x, const dense *y, void *result, int compute,
                            void *buffer)
{
    work w = {.name = "cusparseSpVV", .op_a = op, .compute = compute, .result = result};
    const int status = set_dot(handle, &w, x, y);
    (void)buffer;
    if (status != DONE || !result)
        return status != DONE ? status : INVALID_VALUE;
    /* if the call is captured, the graph writes the result to the host's memory when it runs */
    return sparse_enqueue(handle, &w, NULL, NULL, run_dot);
}
