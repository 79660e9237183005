/* cublas_types.c - products of matrices whose types differ or are small (cublasGemmEx and its batches). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cublas_work.h"

/* ---- products with types ---- */

static size_t size_of_type(int type)
{
    switch (type) {
    case R_8I: return 1;
    case R_16F:
    case R_16BF: return 2;
    case R_32F:
    case R_32I: return 4;
    case R_64F: return 8;
    default: return 0; /* complex types have functions of their own */
    }
}

static double half_to_double(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                                       : ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
    return bits & 0x8000 ? -size : size;
}

/* Rounds to the nearest half, and from a tie to the even one. */
static uint16_t double_to_half(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value))
        return 0x7fff;
    const double size = fabs(value);
    if (size == 0) /* zero has no exponent */
        return sign;
    if (size >= 65520) /* halfway to the number after the largest */
        return sign | 0x7c00;
    frexp(size, &exponent);
    const int unit = exponent < -13 ? -24 : exponent - 11; /* the exponent of the last place */
    const double scaled = nearbyint(ldexp(size, -unit));   /* at most 2048, which carries into the exponent */
    return (uint16_t)(sign | (unit == -24 ? (uint16_t)scaled : (uint16_t)(((unit + 24) << 10) + (int)scaled)));
}

static float bfloat_to_float(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t float_to_bfloat(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double read_element(const void *at, int64_t index, int type)
{
    switch (type) {
    case R_8I: return ((const int8_t *)at)[index];
    case R_16F: return half_to_double(((const uint16_t *)at)[index]);
    case R_16BF: return (double)bfloat_to_float(((const uint16_t *)at)[index]);
    case R_32F: return (double)((const float *)at)[index];
    case R_32I: return ((const int32_t *)at)[index];
    default: return ((const double *)at)[index];
    }
}

/* Sums wrap, as on the device. A product of other types may be infinite, or no number: it becomes 0. */
static int32_t wrap(double value)
{
    return isfinite(value) ? (int32_t)(uint32_t)(int64_t)fmod(value, 4294967296.0) : 0;
}

static void write_element(void *at, int64_t index, int type, double value)
{
    switch (type) {
    case R_16F: ((uint16_t *)at)[index] = double_to_half(value); break;
    case R_16BF: ((uint16_t *)at)[index] = float_to_bfloat((float)value); break;
    case R_32F: ((float *)at)[index] = (float)value; break;
    case R_32I: ((int32_t *)at)[index] = wrap(value); break;
    case R_8I: ((int8_t *)at)[index] = (int8_t)(value > 127 ? 127 : value >= -128 ? nearbyint(value) : -128); break;
    default: ((double *)at)[index] = value; break;
    }
}

/* Returns a copy of a matrix in double precision, without gaps. NULL: the memory is not there, or none is left. */
static double *read_matrix(const work *w, const matrix *m, int type, int64_t index)
{
    const void *at = blas_reach_one(w, m, size_of_type(type), index, false);
    double *copy = at ? malloc(((size_t)m->rows * (size_t)m->columns + 1) * sizeof *copy) : NULL;
    for (int64_t j = 0; copy && j < m->columns; j++)
        for (int64_t i = 0; i < m->rows; i++)
            copy[j * m->rows + i] = read_element(at, j * m->ld + i, type);
    return copy;
}

/* One product in double precision, whose result is rounded to the type of C once. An integer sum below 2^53 is exact. */
static bool multiply_typed(const work *w, double alpha, double beta, int64_t index)
{
    typedef void function(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                          double *, int);
    FIND(function, gemm, "cblas_dgemm")
    const bool sums = w->k > 0; /* if not, A and B have no elements, and may be NULL */
    double *a = sums ? read_matrix(w, &w->a, w->type_a, index) : NULL;
    double *b = sums ? read_matrix(w, &w->b, w->type_b, index) : NULL;
    double *c = read_matrix(w, &w->c, w->type_c, index);
    void *to = blas_reach_one(w, &w->c, size_of_type(w->type_c), index, true);
    const bool there = (!sums || (a && b)) && c && to;
    if (there) {
        const int ld_a = w->a.rows > 1 ? (int)w->a.rows : 1, ld_b = w->b.rows > 1 ? (int)w->b.rows : 1;
        gemm(CBLAS_COLUMNS, cblas_op(w->op_a), cblas_op(w->op_b), (int)w->m, (int)w->n, (int)w->k, alpha, a, ld_a, b,
             ld_b, beta, c, (int)w->m);
        for (int64_t j = 0; j < w->n; j++)
            for (int64_t i = 0; i < w->m; i++)
                write_element(to, j * w->c.ld + i, w->type_c, c[j * w->m + i]);
    }
    free(a);
    free(b);
    free(c);
    return there;
}

/* The type of alpha and beta that a kind of computation takes; -1: it is not supported. */
static int scale_type(int compute)
{
    switch (compute) {
    case COMPUTE_16F:
    case COMPUTE_16F_PEDANTIC: return R_16F;
    case COMPUTE_32F:
    case COMPUTE_32F_PEDANTIC:
    case COMPUTE_32F_FAST_16F:
    case COMPUTE_32F_FAST_16BF:
    case COMPUTE_32F_FAST_TF32: return R_32F;
    case COMPUTE_64F:
    case COMPUTE_64F_PEDANTIC: return R_64F;
    case COMPUTE_32I:
    case COMPUTE_32I_PEDANTIC: return R_32I;
    default: return -1;
    }
}

static bool run_typed(const void *what)
{
    const work *w = what;
    const size_t size = size_of_type(w->scale);
    const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, size),
               *beta = blas_scalar(w, w->beta_at, &w->beta, size);
    bool done = alpha && beta;
    for (int64_t i = 0; done && i < w->batch; i++)
        done = multiply_typed(w, read_element(alpha, 0, w->scale), read_element(beta, 0, w->scale), i);
    return done;
}

static int multiply_types(cublas_handle handle, work *w, bool valid, const void *alpha, const void *beta)
{
    w->scale = scale_type(w->compute);
    CHECK(handle, valid && alpha && beta && w->batch >= 0);
    if (w->scale < 0 || !size_of_type(w->type_a) || !size_of_type(w->type_b) || !size_of_type(w->type_c)) {
        vendor_tell_missing(LIBRARY, "a product of these types (cublasGemmEx)");
        return NOT_SUPPORTED;
    }
    return w->m == 0 || w->n == 0 || w->batch == 0
               ? DONE
               : blas_enqueue(handle, w, alpha, beta, size_of_type(w->scale), run_typed);
}

CUBLAS_API int cublasGemmEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                            const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                            void *c, int type_c, int ldc, int compute, int algorithm)
{
    work w = {.name = "cublasGemmEx", .type_a = type_a, .type_b = type_b, .type_c = type_c, .compute = compute};
    const bool valid = blas_set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
    (void)algorithm;
    blas_set_strides(&w, 0, 0, 0, 1);
    return multiply_types(handle, &w, valid, alpha, beta);
}

CUBLAS_API int cublasGemmStridedBatchedEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k,
                                          const void *alpha, const void *a, int type_a, int lda, long long stride_a,
                                          const void *b, int type_b, int ldb, long long stride_b, const void *beta,
                                          void *c, int type_c, int ldc, long long stride_c, int batch, int compute,
                                          int algorithm)
{
    work w = {
        .name = "cublasGemmStridedBatchedEx", .type_a = type_a, .type_b = type_b, .type_c = type_c, .compute = compute};
    const bool valid = blas_set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
    (void)algorithm;
    blas_set_strides(&w, stride_a, stride_b, stride_c, batch);
    return multiply_types(handle, &w, valid, alpha, beta);
}

CUBLAS_API int cublasGemmBatchedEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                                   const void *const a[], int type_a, int lda, const void *const b[], int type_b,
                                   int ldb, const void *beta, void *const c[], int type_c, int ldc, int batch,
                                   int compute, int algorithm)
{
    work w = {.name = "cublasGemmBatchedEx",
              .lists = true,
              .type_a = type_a,
              .type_b = type_b,
              .type_c = type_c,
              .compute = compute};
    const bool valid = blas_set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, (void *)(uintptr_t)c, ldc);
    (void)algorithm;
    w.batch = batch;
    return multiply_types(handle, &w, valid, alpha, beta);
}

CUBLAS_API int cublasSgemmEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                             const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const float *beta,
                             void *c, int type_c, int ldc)
{
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                        COMPUTE_32F, 0);
}

/* Halves, by their bits. */
CUBLAS_API int cublasHgemm(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                           const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc)
{
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, R_16F, lda, b, R_16F, ldb, beta, c, R_16F, ldc,
                        COMPUTE_16F, 0);
}

CUBLAS_API int cublasHgemmStridedBatched(cublas_handle handle, int op_a, int op_b, int m, int n, int k,
                                         const void *alpha, const void *a, int lda, long long stride_a, const void *b,
                                         int ldb, long long stride_b, const void *beta, void *c, int ldc,
                                         long long stride_c, int batch)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, R_16F, lda, stride_a, b, R_16F, ldb,
                                      stride_b, beta, c, R_16F, ldc, stride_c, batch, COMPUTE_16F, 0);
}
