/* cublas_lt.c - libcublasLt for the simulated device, over the host's BLAS: cublasLtMatmul with orders, batches,
 * scales, biases and activations.
 *
 * The result is D = f(alpha * a * b * opA * opB + beta * c * C + bias). The stand-in computes D in double precision and
 * rounds once to the type of D. The scales a, b and c are in device memory. opA is A or its transpose. A descriptor is
 * memory of the caller with a fixed size, so it holds its fields directly. There is only one algorithm, which needs no
 * workspace.
 *
 * A handle has no state. PyTorch passes a handle of cuBLAS instead, which NVIDIA's library allows, so the stand-in
 * never reads a handle.
 *
 * The formulas are in NVIDIA's guide of cuBLASLt, cublasLtEpilogue_t. GELU is the approximation by tanh of D. Hendrycks
 * and K. Gimpel, "Gaussian error linear units" (2016). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cublas_work.h"

#undef LIBRARY
#define LIBRARY "libcublasLt"

enum { ORDER_COLUMNS, ORDER_ROWS }; /* cublasLtOrder_t */
enum {                              /* cublasLtPointerMode_t: the place of alpha and beta */
       SCALARS_HOST,
       SCALARS_DEVICE,
       VECTORS_DEVICE,
       ALPHA_VECTOR_BETA_ZERO,
       ALPHA_VECTOR_BETA_HOST
};
enum { /* cublasLtEpilogue_t, a set of bits */
       EPILOGUE_RELU = 2,
       EPILOGUE_BIAS = 4,
       EPILOGUE_BIAS_GRADIENT = 16,
       EPILOGUE_GELU = 32,
       EPILOGUE_GELU_GRADIENT = 64,
       EPILOGUE_AUX = 128,
       EPILOGUE_BIAS_GRADIENT_A = 256,
       EPILOGUE_BIAS_GRADIENT_B = 512
};

/* ---- descriptors ---- */

typedef struct layout { /* cublasLtMatrixLayoutOpaque_t */
    int32_t type, order;
    uint64_t rows, columns;
    int64_t ld;
    int32_t batch, unused;
    int64_t stride, plane;
} layout;

typedef struct product { /* cublasLtMatmulDescOpaque_t */
    int32_t compute, scale_type, pointers, op_a, op_b, op_c, fill, epilogue;
    const void *bias;
    int64_t bias_stride;
    void *aux;
    int64_t aux_ld, aux_stride, alpha_stride;
    const float *a_scale, *b_scale, *c_scale, *d_scale;
    float *amax;
    int32_t aux_type, bias_type, sms;
    int32_t a_mode, b_mode, c_mode, d_mode, aux_mode;
    int8_t fast;
} product;

/* PRODUCT_SIZE is the size of the struct in CUDA 12.0. Newer headers have a larger struct. */
enum { LAYOUT_SIZE = 64, PRODUCT_SIZE = 184, PREFERENCE_SIZE = 64, NO_TYPE = -1 };
_Static_assert(sizeof(layout) <= LAYOUT_SIZE && sizeof(product) <= PRODUCT_SIZE, "a descriptor is the caller's memory");

typedef struct attribute {
    int number;
    size_t at, size;
} attribute;
#define FIELD(number, type, field)                                                                                     \
    {                                                                                                                  \
        number, offsetof(type, field), sizeof(((type *)0)->field)                                                      \
    }

static const attribute layout_attributes[] = {
    FIELD(0, layout, type), FIELD(1, layout, order), FIELD(2, layout, rows),   FIELD(3, layout, columns),
    FIELD(4, layout, ld),   FIELD(5, layout, batch), FIELD(6, layout, stride), FIELD(7, layout, plane),
};
static const attribute product_attributes[] = {
    FIELD(0, product, compute),      FIELD(1, product, scale_type),    FIELD(2, product, pointers),
    FIELD(3, product, op_a),         FIELD(4, product, op_b),          FIELD(5, product, op_c),
    FIELD(6, product, fill),         FIELD(7, product, epilogue),      FIELD(8, product, bias),
    FIELD(10, product, bias_stride), FIELD(11, product, aux),          FIELD(12, product, aux_ld),
    FIELD(13, product, aux_stride),  FIELD(14, product, alpha_stride), FIELD(15, product, sms),
    FIELD(17, product, a_scale),     FIELD(18, product, b_scale),      FIELD(19, product, c_scale),
    FIELD(20, product, d_scale),     FIELD(21, product, amax),         FIELD(22, product, aux_type),
    FIELD(25, product, fast),        FIELD(26, product, bias_type),    FIELD(31, product, a_mode),
    FIELD(32, product, b_mode),      FIELD(33, product, c_mode),       FIELD(34, product, d_mode),
    FIELD(35, product, aux_mode),
};

static const attribute *find_attribute(const attribute *list, size_t count, int number)
{
    for (size_t k = 0; k < count; k++)
        if (list[k].number == number)
            return list + k;
    return NULL;
}

static int set_attribute(void *of, const attribute *list, size_t count, int number, const void *value, size_t size)
{
    const attribute *found = find_attribute(list, count, number);
    if (!of || !value || !found || size < found->size)
        return INVALID_VALUE;
    memcpy((char *)of + found->at, value, found->size);
    return DONE;
}

static int get_attribute(const void *of, const attribute *list, size_t count, int number, void *value, size_t size,
                         size_t *written)
{
    const attribute *found = find_attribute(list, count, number);
    if (!of || !found || (size == 0 && !written) || (size > 0 && (!value || size < found->size)))
        return INVALID_VALUE;
    if (size > 0)
        memcpy(value, (const char *)of + found->at, found->size);
    if (written)
        *written = found->size;
    return DONE;
}

#define ATTRIBUTES(name, type, list)                                                                                   \
    VENDOR_API int cublasLt##name##SetAttribute(type *of, int number, const void *value, size_t size)                  \
    {                                                                                                                  \
        return set_attribute(of, list, sizeof list / sizeof list[0], number, value, size);                             \
    }                                                                                                                  \
    VENDOR_API int cublasLt##name##GetAttribute(const type *of, int number, void *value, size_t size, size_t *written) \
    {                                                                                                                  \
        return get_attribute(of, list, sizeof list / sizeof list[0], number, value, size, written);                    \
    }                                                                                                                  \
    VENDOR_API int cublasLt##name##Destroy(type *of)                                                                   \
    {                                                                                                                  \
        free(of);                                                                                                      \
        return DONE;                                                                                                   \
    }
ATTRIBUTES(MatrixLayout, layout, layout_attributes)
ATTRIBUTES(MatmulDesc, product, product_attributes)

VENDOR_API int cublasLtMatrixLayoutInit_internal(layout *of, size_t size, int type, uint64_t rows, uint64_t columns,
                                                 int64_t ld)
{
    if (!of || size < LAYOUT_SIZE)
        return INVALID_VALUE;
    *of = (layout){.type = type, .rows = rows, .columns = columns, .ld = ld, .batch = 1};
    return DONE;
}

VENDOR_API int cublasLtMatrixLayoutCreate(layout **made, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    if (!made)
        return INVALID_VALUE;
    *made = calloc(1, LAYOUT_SIZE);
    return *made ? cublasLtMatrixLayoutInit_internal(*made, LAYOUT_SIZE, type, rows, columns, ld) : ALLOC_FAILED;
}

VENDOR_API int cublasLtMatmulDescInit_internal(product *of, size_t size, int compute, int scale_type)
{
    enum { FILL_WHOLE = 2, NO_EPILOGUE = 1 };
    if (!of || size < PRODUCT_SIZE)
        return INVALID_VALUE;
    *of = (product){.compute = compute,
                    .scale_type = scale_type,
                    .fill = FILL_WHOLE,
                    .epilogue = NO_EPILOGUE,
                    .aux_type = NO_TYPE,
                    .bias_type = NO_TYPE};
    return DONE;
}

VENDOR_API int cublasLtMatmulDescCreate(product **made, int compute, int scale_type)
{
    if (!made)
        return INVALID_VALUE;
    *made = calloc(1, PRODUCT_SIZE);
    return *made ? cublasLtMatmulDescInit_internal(*made, PRODUCT_SIZE, compute, scale_type) : ALLOC_FAILED;
}

/* Preferences choose among algorithms. The stand-in has only one algorithm, so it does not read preferences. */
VENDOR_API int cublasLtMatmulPreferenceInit_internal(void *of, size_t size)
{
    if (!of || size < PREFERENCE_SIZE)
        return INVALID_VALUE;
    memset(of, 0, PREFERENCE_SIZE);
    return DONE;
}

VENDOR_API int cublasLtMatmulPreferenceCreate(void **made)
{
    if (!made)
        return INVALID_VALUE;
    *made = calloc(1, PREFERENCE_SIZE);
    return *made ? DONE : ALLOC_FAILED;
}

VENDOR_API int cublasLtMatmulPreferenceSetAttribute(void *of, int number, const void *value, size_t size)
{
    (void)number, (void)size;
    return of && value ? DONE : INVALID_VALUE;
}

VENDOR_API int cublasLtMatmulPreferenceDestroy(void *of)
{
    free(of);
    return DONE;
}

/* ---- a product ---- */

typedef struct lt_work {
    work base; /* the part that blas_reach_one() reads: batches and pointers */
    product product;
    layout a, b, c, d;
    const void *c_at;
    double alpha, beta;
    const void *alpha_at, *beta_at; /* device addresses, depending on `product.pointers` */
} lt_work;

/* Converts a layout to the form that blas_reach_one() takes. For ORDER_ROWS, exchanges rows and columns. */
static matrix stored(const layout *l, const void *at)
{
    const bool by_rows = l->order == ORDER_ROWS;
    return (matrix){.at = at,
                    .rows = (int64_t)(by_rows ? l->columns : l->rows),
                    .columns = (int64_t)(by_rows ? l->rows : l->columns),
                    .ld = l->ld,
                    .stride = l->batch > 1 ? l->stride : 0};
}

static int64_t place(const layout *l, int64_t row, int64_t column)
{
    return l->order == ORDER_ROWS ? row * l->ld + column : column * l->ld + row;
}

/* Returns a copy of a matrix in double precision, stored by columns without gaps. The caller frees it. Returns NULL if
 * the matrix's memory does not exist, or if memory runs out. */
static double *read_whole(const lt_work *w, const layout *l, const void *at, int64_t index)
{
    const matrix m = stored(l, at);
    const void *from = blas_reach_one(&w->base, &m, vendor_type_size(l->type), index, false);
    double *copy = from ? malloc(((size_t)l->rows * (size_t)l->columns + 1) * sizeof *copy) : NULL;
    for (int64_t j = 0; copy && j < (int64_t)l->columns; j++)
        for (int64_t i = 0; i < (int64_t)l->rows; i++)
            copy[j * (int64_t)l->rows + i] = vendor_read(from, place(l, i, j), l->type);
    return copy;
}

/* Returns a host pointer to `count` numbers of a type in device memory. Returns NULL if this memory does not exist or
 * is misaligned. */
static void *reach_numbers(const lt_work *w, const void *at, int64_t count, int type, bool write)
{
    const size_t size = vendor_type_size(type);
    size_t bytes;
    return (uintptr_t)at % size || __builtin_mul_overflow((size_t)count, size, &bytes)
               ? NULL
               : vendor_reach(at, bytes, write, w->base.name);
}

/* Reads a scale. If `at` is NULL, the scale is 1. Returns false if the memory does not exist. */
static bool read_scale(const lt_work *w, const float *at, double *scale)
{
    const float *there = at ? reach_numbers(w, at, 1, R_32F, false) : NULL;
    *scale = there ? (double)*there : 1;
    return !at || there;
}

static double gelu(double x) { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

static double gelu_gradient(double x)
{
    const double root = 0.7978845608028654, t = tanh(root * (x + 0.044715 * x * x * x)); /* sqrt(2 / pi) */
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
}

/* The data that an epilogue reads and writes for one matrix of a batch. */
typedef struct epilogue {
    int what, bias_type, aux_type;
    const void *bias;
    void *bias_out, *aux;
    int64_t aux_ld;
} epilogue;

/* Returns the type of the bias if the caller has not set it: the type of D, except for two kinds of products. */
static int default_bias_type(const lt_work *w)
{
    const bool fractions = w->a.type == R_8F_E4M3 || w->a.type == R_8F_E5M2;
    if (fractions && w->d.type == R_32F)
        return R_16BF;
    return w->d.type == R_8I ? w->product.scale_type : w->d.type;
}

static bool open_epilogue(const lt_work *w, int64_t index, epilogue *e)
{
    const product *p = &w->product;
    const int64_t rows = (int64_t)w->d.rows, columns = (int64_t)w->d.columns;
    *e = (epilogue){.what = p->epilogue,
                    .bias_type = p->bias_type == NO_TYPE ? default_bias_type(w) : p->bias_type,
                    .aux_type = p->aux_type == NO_TYPE ? w->d.type : p->aux_type,
                    .aux_ld = p->aux_ld};
    const bool gradient = e->what & (EPILOGUE_BIAS_GRADIENT | EPILOGUE_BIAS_GRADIENT_A | EPILOGUE_BIAS_GRADIENT_B);
    if (e->what & EPILOGUE_BIAS || gradient) {
        const uintptr_t at = (uintptr_t)p->bias +
                             (uintptr_t)index * (uintptr_t)p->bias_stride * vendor_type_size(e->bias_type);
        void *bias = reach_numbers(w, (const void *)at, e->what & EPILOGUE_BIAS_GRADIENT_B ? columns : rows,
                                   e->bias_type, gradient);
        e->bias = bias;
        e->bias_out = gradient ? bias : NULL;
        if (!bias)
            return false;
    }
    if (e->what & EPILOGUE_AUX) {
        const uintptr_t at = (uintptr_t)p->aux +
                             (uintptr_t)index * (uintptr_t)p->aux_stride * vendor_type_size(e->aux_type);
        const bool stored_aux = e->aux_ld >= rows && e->aux_ld <= INT32_MAX;
        e->aux = !stored_aux ? NULL
                             : reach_numbers(w, (const void *)at, (columns - 1) * e->aux_ld + rows, e->aux_type,
                                             e->what & EPILOGUE_GELU);
        if (!e->aux)
            return false;
    }
    return true;
}

/* Applies the epilogue to element (i, j) of the result. */
static double finish_element(const epilogue *e, int64_t i, int64_t j, double value)
{
    if (e->what & EPILOGUE_BIAS)
        value += vendor_read(e->bias, i, e->bias_type);
    if (e->what & EPILOGUE_GELU && e->aux)
        vendor_write(e->aux, j * e->aux_ld + i, e->aux_type, value);
    if (e->what & EPILOGUE_GELU)
        return gelu(value);
    if (e->what & EPILOGUE_GELU_GRADIENT)
        return value * gelu_gradient(vendor_read(e->aux, j * e->aux_ld + i, e->aux_type));
    return e->what & EPILOGUE_RELU && value < 0 ? 0 : value;
}

/* Writes the sums of the rows of op(A) or of the columns of op(B), over k. */
static void write_input_sums(const lt_work *w, const epilogue *e, const double *a, const double *b)
{
    const bool of_b = e->what & EPILOGUE_BIAS_GRADIENT_B;
    const layout *l = of_b ? &w->b : &w->a;
    const bool turned = (of_b ? w->product.op_b : w->product.op_a) != OP_N;
    const int64_t rows = (int64_t)l->rows, count = of_b ? (int64_t)w->d.columns : (int64_t)w->d.rows;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < w->base.k; k++)
            sum += (of_b ? b : a)[of_b == turned ? k * rows + i : i * rows + k];
        vendor_write(e->bias_out, i, e->bias_type, sum);
    }
}

/* Returns alpha or beta for a row: an element of the vector, or `same` if there is no vector. */
static double scalar_of(const void *vector, double same, int64_t row, int type)
{
    return vector ? vendor_read(vector, row, type) : same;
}

/* Finds alpha and beta if they are in device memory. Each matrix of a batch may have a separate vector alpha. */
static bool reach_scalars(const lt_work *w, int64_t index, const void **alpha, const void **beta, double *a, double *b)
{
    const int mode = w->product.pointers, type = w->product.scale_type;
    const int64_t rows = (int64_t)w->d.rows;
    *alpha = *beta = NULL;
    *a = w->alpha;
    *b = mode == ALPHA_VECTOR_BETA_ZERO ? 0 : w->beta;
    if (mode == SCALARS_HOST)
        return true;
    const uintptr_t skipped = mode == SCALARS_DEVICE ? 0 : (uintptr_t)index * (uintptr_t)w->product.alpha_stride;
    *alpha = reach_numbers(w, (const void *)((uintptr_t)w->alpha_at + skipped * vendor_type_size(type)),
                           mode == SCALARS_DEVICE ? 1 : rows, type, false);
    if (mode == SCALARS_DEVICE || mode == VECTORS_DEVICE)
        *beta = reach_numbers(w, w->beta_at, mode == SCALARS_DEVICE ? 1 : rows, type, false);
    const bool there = *alpha && (*beta || mode > VECTORS_DEVICE);
    if (there && mode == SCALARS_DEVICE) {
        *a = vendor_read(*alpha, 0, type);
        *b = vendor_read(*beta, 0, type);
        *alpha = *beta = NULL;
    }
    return there;
}

/* Computes one matrix of a batch from copies in double precision. */
static bool compute_product(const lt_work *w, int64_t index, double *a, double *b, double *c)
{
    typedef void function(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                          double *, int);
    FIND(function, gemm, "cblas_dgemm")
    const int64_t rows = (int64_t)w->d.rows, columns = (int64_t)w->d.columns;
    const void *alphas, *betas;
    double alpha, beta, a_scale, b_scale, c_scale, d_scale, most = 0;
    epilogue e;
    const matrix to = stored(&w->d, w->base.c.at);
    void *d = blas_reach_one(&w->base, &to, vendor_type_size(w->d.type), index, true);
    if (!d || !reach_scalars(w, index, &alphas, &betas, &alpha, &beta) ||
        !read_scale(w, w->product.a_scale, &a_scale) || !read_scale(w, w->product.b_scale, &b_scale) ||
        !read_scale(w, w->product.c_scale, &c_scale) || !read_scale(w, w->product.d_scale, &d_scale) ||
        (!w->c_at && beta != 0) || !open_epilogue(w, index, &e))
        return false;
    double *sums = calloc((size_t)rows * (size_t)columns + 1, sizeof *sums);
    if (!sums)
        return false;
    if (w->base.k > 0)
        gemm(CBLAS_COLUMNS, cblas_op(w->product.op_a), cblas_op(w->product.op_b), (int)rows, (int)columns,
             (int)w->base.k, a_scale * b_scale, a, (int)w->a.rows, b, (int)w->b.rows, 0, sums, (int)rows);
    for (int64_t i = 0; i < rows; i++) {
        const double scale = scalar_of(alphas, alpha, i, w->product.scale_type);
        const double of_c = scalar_of(betas, beta, i, w->product.scale_type) * c_scale;
        double gradient = 0;
        for (int64_t j = 0; j < columns; j++) {
            const double sum = scale * sums[j * rows + i] + (of_c == 0 ? 0 : of_c * c[j * rows + i]);
            const double value = finish_element(&e, i, j, sum);
            gradient += value;
            most = fmax(most, fabs(value));
            vendor_write(d, place(&w->d, i, j), w->d.type, value * d_scale);
        }
        if (e.what & EPILOGUE_BIAS_GRADIENT)
            vendor_write(e.bias_out, i, e.bias_type, gradient);
    }
    if (e.what & (EPILOGUE_BIAS_GRADIENT_A | EPILOGUE_BIAS_GRADIENT_B))
        write_input_sums(w, &e, a, b);
    free(sums);
    float *amax = w->product.amax ? reach_numbers(w, w->product.amax, 1, R_32F, true) : NULL;
    if (amax)
        *amax = index > 0 && *amax > (float)most ? *amax : (float)most;
    return amax || !w->product.amax;
}

static bool run_product(const void *what)
{
    const lt_work *w = what;
    const bool sums = w->base.k > 0;
    const int mode = w->product.pointers; /* if the host knows that beta is 0, the function does not read C */
    const bool with_c = mode == SCALARS_DEVICE || mode == VECTORS_DEVICE ? w->c_at != NULL : w->beta != 0;
    bool done = true;
    for (int64_t index = 0; done && index < w->base.batch; index++) {
        double *a = sums ? read_whole(w, &w->a, w->base.a.at, index) : NULL;
        double *b = sums ? read_whole(w, &w->b, w->base.b.at, index) : NULL;
        double *c = with_c ? read_whole(w, &w->c, w->c_at, index)
                           : calloc((size_t)w->d.rows * (size_t)w->d.columns + 1, sizeof *c);
        done = (!sums || (a && b)) && c && compute_product(w, index, a, b, c);
        free(a);
        free(b);
        free(c);
    }
    return done;
}

/* ---- supported layouts and types ---- */

static bool is_layout(const layout *l)
{
    const uint64_t inner = l->order == ORDER_ROWS ? l->columns : l->rows;
    return l->rows <= INT32_MAX && l->columns <= INT32_MAX && l->ld >= (int64_t)(inner ? inner : 1) &&
           l->ld <= INT32_MAX && l->batch >= 1;
}

static bool is_typed(const layout *l)
{
    return vendor_type_size(l->type) && (l->order == ORDER_COLUMNS || l->order == ORDER_ROWS);
}

static bool is_epilogue(int what)
{
    static const int known[] = {1,
                                EPILOGUE_RELU,
                                EPILOGUE_BIAS,
                                EPILOGUE_RELU | EPILOGUE_BIAS,
                                EPILOGUE_GELU,
                                EPILOGUE_GELU | EPILOGUE_BIAS,
                                EPILOGUE_GELU | EPILOGUE_AUX,
                                EPILOGUE_GELU | EPILOGUE_AUX | EPILOGUE_BIAS,
                                EPILOGUE_GELU_GRADIENT | EPILOGUE_AUX,
                                EPILOGUE_GELU_GRADIENT | EPILOGUE_AUX | EPILOGUE_BIAS_GRADIENT,
                                EPILOGUE_BIAS_GRADIENT_A,
                                EPILOGUE_BIAS_GRADIENT_B};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (known[k] == what)
            return true;
    return false;
}

/* Returns DONE, INVALID_VALUE if the shapes do not fit each other, or NOT_SUPPORTED after a message. */
static int check_product(const product *p, const layout *a, const layout *b, const layout *c, const layout *d)
{
    if (!p || !a || !b || !c || !d || !is_op(p->op_a) || !is_op(p->op_b) || p->pointers < SCALARS_HOST ||
        p->pointers > ALPHA_VECTOR_BETA_HOST)
        return INVALID_VALUE;
    const uint64_t m = p->op_a == OP_N ? a->rows : a->columns, k = p->op_a == OP_N ? a->columns : a->rows;
    const uint64_t n = p->op_b == OP_N ? b->columns : b->rows, kb = p->op_b == OP_N ? b->rows : b->columns;
    const int64_t batch = d->batch;
    if (k != kb || d->rows != m || d->columns != n || c->rows != m || c->columns != n || !is_layout(a) ||
        !is_layout(b) || !is_layout(c) || !is_layout(d) || a->batch != batch || b->batch != batch || c->batch != batch)
        return INVALID_VALUE;
    /* in this mode all matrices of a batch share one vector */
    if (p->pointers == ALPHA_VECTOR_BETA_ZERO && p->alpha_stride != 0)
        return INVALID_VALUE;
    const bool plain = p->a_mode == 0 && p->b_mode == 0 && p->c_mode == 0 && p->d_mode == 0 && p->op_c == OP_N;
    const bool types = is_typed(a) && is_typed(b) && is_typed(c) && is_typed(d) && vendor_type_is_written(d->type) &&
                       vendor_type_is_written(p->scale_type) &&
                       (p->bias_type == NO_TYPE || vendor_type_is_written(p->bias_type)) &&
                       (p->aux_type == NO_TYPE || vendor_type_is_written(p->aux_type));
    if (plain && types && is_epilogue(p->epilogue))
        return DONE;
    vendor_tell_missing(LIBRARY, !is_epilogue(p->epilogue) ? "this epilogue of cublasLtMatmul"
                                 : !plain                  ? "block scales, or op(C), of cublasLtMatmul"
                                                           : "these types or orders of cublasLtMatmul");
    return NOT_SUPPORTED;
}

VENDOR_API int cublasLtMatmul(void *handle, const product *p, const void *alpha, const void *a, const layout *a_layout,
                              const void *b, const layout *b_layout, const void *beta, const void *c,
                              const layout *c_layout, void *d, const layout *d_layout, const void *algorithm,
                              void *workspace, size_t bytes, void *stream)
{
    (void)algorithm, (void)workspace, (void)bytes;
    if (!handle)
        return NOT_INITIALIZED;
    const int status = check_product(p, a_layout, b_layout, c_layout, d_layout);
    if (status != DONE)
        return status;
    lt_work w = {.product = *p,
                 .a = *a_layout,
                 .b = *b_layout,
                 .c = *c_layout,
                 .d = *d_layout,
                 .c_at = c,
                 .alpha_at = alpha,
                 .beta_at = beta};
    w.base = (work){.name = "cublasLtMatmul", .a.at = a, .b.at = b, .c.at = d, .batch = d_layout->batch};
    w.base.k = (int64_t)(p->op_a == OP_N ? a_layout->columns : a_layout->rows);
    const bool host_beta = p->pointers == SCALARS_HOST || p->pointers == ALPHA_VECTOR_BETA_HOST;
    if (!alpha || (!beta && p->pointers != ALPHA_VECTOR_BETA_ZERO))
        return INVALID_VALUE;
    if (p->pointers == SCALARS_HOST)
        w.alpha = vendor_read(alpha, 0, p->scale_type);
    if (host_beta)
        w.beta = vendor_read(beta, 0, p->scale_type);
    if (d_layout->rows == 0 || d_layout->columns == 0)
        return DONE;
    if (!c && w.beta != 0)
        return INVALID_VALUE;
    bool done = true;
    return vendor_enter(NULL) && vendor_enqueue(stream, w.base.name, run_product, &w, sizeof w, &done) && done
               ? DONE
               : EXECUTION_FAILED;
}

/* ---- the algorithm ---- */

typedef struct heuristic { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int unused[4];
} heuristic;

VENDOR_API int cublasLtMatmulAlgoGetHeuristic(void *handle, const product *p, const layout *a, const layout *b,
                                              const layout *c, const layout *d, const void *preference, int room,
                                              heuristic *results, int *count)
{
    (void)preference;
    if (!handle || !results || !count || room < 1)
        return handle ? INVALID_VALUE : NOT_INITIALIZED;
    const int status = check_product(p, a, b, c, d);
    *count = status == DONE;
    if (status == DONE)
        results[0] = (heuristic){.state = DONE, .waves = 1};
    return status;
}

VENDOR_API int cublasLtMatmulAlgoCheck(void *handle, const product *p, const layout *a, const layout *b,
                                       const layout *c, const layout *d, const void *algorithm, heuristic *result)
{
    int count = 0;
    return algorithm ? cublasLtMatmulAlgoGetHeuristic(handle, p, a, b, c, d, NULL, 1, result, &count) : INVALID_VALUE;
}

VENDOR_API int cublasLtMatmulAlgoGetIds(void *handle, int compute, int scale, int a, int b, int c, int d, int room,
                                        int *ids, int *count)
{
    (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
    if (!handle || !ids || !count || room < 1)
        return handle ? INVALID_VALUE : NOT_INITIALIZED;
    ids[0] = 0;
    *count = 1;
    return DONE;
}

VENDOR_API int cublasLtMatmulAlgoInit(void *handle, int compute, int scale, int a, int b, int c, int d, int id,
                                      void *algorithm)
{
    enum { ALGORITHM_SIZE = 64 };
    (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
    if (!handle || !algorithm || id != 0)
        return handle ? INVALID_VALUE : NOT_INITIALIZED;
    memset(algorithm, 0, ALGORITHM_SIZE);
    return DONE;
}

/* ---- handles and versions ---- */

VENDOR_API int cublasLtCreate(void **handle)
{
    static char shared; /* only the address of this variable is used */
    if (!handle)
        return INVALID_VALUE;
    *handle = NULL;
    if (!vendor_open_device(LIBRARY) || !vendor_find_blas("cblas_dgemm"))
        return NOT_INITIALIZED;
    *handle = &shared;
    return DONE;
}

VENDOR_API int cublasLtDestroy(void *handle) { return handle ? DONE : NOT_INITIALIZED; }
VENDOR_API size_t cublasLtGetVersion(void) { return VERSION; }
VENDOR_API size_t cublasLtGetCudartVersion(void) { return VERSION / 10000 * 1000; }

VENDOR_API int cublasLtGetProperty(int what, int *value)
{
    return vendor_version_part((const int[]){KILN_VENDOR_VERSION, 0, 0}, what, value) ? DONE : INVALID_VALUE;
}

VENDOR_API const char *cublasLtGetStatusName(int status)
{
    return status == DONE              ? "CUBLAS_STATUS_SUCCESS"
           : status == NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
           : status == ALLOC_FAILED    ? "CUBLAS_STATUS_ALLOC_FAILED"
           : status == INVALID_VALUE   ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                       : "CUBLAS_STATUS_EXECUTION_FAILED";
}
VENDOR_API const char *cublasLtGetStatusString(int status) { return cublasLtGetStatusName(status); }

#define ABSENT(name) VENDOR_ABSENT(LIBRARY, name, NOT_SUPPORTED)
ABSENT(cublasLtAlgoCharacteristicGetAttribute)
ABSENT(cublasLtEmulationDescCreate)
ABSENT(cublasLtEmulationDescDestroy)
ABSENT(cublasLtEmulationDescGetAttribute)
ABSENT(cublasLtEmulationDescInit_internal)
ABSENT(cublasLtEmulationDescSetAttribute)
ABSENT(cublasLtHeuristicsCacheGetCapacity)
ABSENT(cublasLtHeuristicsCacheSetCapacity)
ABSENT(cublasLtLoggerForceDisable)
ABSENT(cublasLtLoggerOpenFile)
ABSENT(cublasLtLoggerSetCallback)
ABSENT(cublasLtLoggerSetFile)
ABSENT(cublasLtLoggerSetLevel)
ABSENT(cublasLtLoggerSetMask)
ABSENT(cublasLtMatmulAlgoCapGetAttribute)
ABSENT(cublasLtMatmulAlgoConfigGetAttribute)
ABSENT(cublasLtMatmulAlgoConfigSetAttribute)
ABSENT(cublasLtMatmulPreferenceGetAttribute)
ABSENT(cublasLtMatrixTransform)
ABSENT(cublasLtMatrixTransformDescCreate)
ABSENT(cublasLtMatrixTransformDescDestroy)
ABSENT(cublasLtMatrixTransformDescGetAttribute)
ABSENT(cublasLtMatrixTransformDescInit_internal)
ABSENT(cublasLtMatrixTransformDescSetAttribute)
