/* cublas_types.c - products of matrices whose types differ or are small (cublasGemmEx and its batches). */
#include <stdlib.h>
#include <string.h>

#include "cublas_work.h"

/* Returns a copy of a matrix in double precision, without gaps. The caller frees it. Returns NULL if the matrix's
 * memory does not exist, or if memory runs out. */
static double *read_matrix(const work *w, const matrix *m, int type, int64_t index)
{
    const void *at = blas_reach_one(w, m, vendor_type_size(type), index, false);
    double *copy = at ? malloc(((size_t)m->rows * (size_t)m->columns + 1) * sizeof *copy) : NULL;
    for (int64_t j = 0; copy && j < m->columns; j++)
        for (int64_t i = 0; i < m->rows; i++)
            copy[j * m->rows + i] = vendor_read(at, j * m->ld + i, type);
    return copy;
}

/* Computes one product in double precision, and rounds the result to the type of C once. An integer sum below 2^53 is
 * exact. */
static bool multiply_typed(const work *w, double alpha, double beta, int64_t index)
{
    typedef void function(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                          double *, int);
    FIND(function, gemm, "cblas_dgemm")
    const bool sums = w->k > 0; /* if k is 0, A and B have no elements and may be NULL */
    double *a = sums ? read_matrix(w, &w->a, w->type_a, index) : NULL;
    double *b = sums ? read_matrix(w, &w->b, w->type_b, index) : NULL;
    double *c = read_matrix(w, &w->c, w->type_c, index);
    void *to = blas_reach_one(w, &w->c, vendor_type_size(w->type_c), index, true);
    const bool there = (!sums || (a && b)) && c && to;
    if (there) {
        const int ld_a = w->a.rows > 1 ? (int)w->a.rows : 1, ld_b = w->b.rows > 1 ? (int)w->b.rows : 1;
        gemm(CBLAS_COLUMNS, cblas_op(w->op_a), cblas_op(w->op_b), (int)w->m, (int)w->n, (int)w->k, alpha, a, ld_a, b,
             ld_b, beta, c, (int)w->m);
        for (int64_t j = 0; j < w->n; j++)
            for (int64_t i = 0; i < w->m; i++)
                vendor_write(to, j * w->c.ld + i, w->type_c, c[j * w->m + i]);
    }
    free(a);
    free(b);
    free(c);
    return there;
}

/* Returns the type of alpha and beta for a kind of computation, or -1 if the kind is not supported. */
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
    const size_t size = vendor_type_size(w->scale);
    const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, size),
               *beta = blas_scalar(w, w->beta_at, &w->beta, size);
    bool done = alpha && beta;
    for (int64_t i = 0; done && i < w->batch; i++)
        done = multiply_typed(w, vendor_read(alpha, 0, w->scale), vendor_read(beta, 0, w->scale), i);
    return done;
}

static int multiply_types(cublas_handle handle, work *w, bool valid, const void *alpha, const void *beta)
{
    w->scale = scale_type(w->compute);
    CHECK(handle, valid && alpha && beta && w->batch >= 0);
    /* Unlike cuBLASLt, cuBLAS does not take the fp8 types. These are the types that vendor_write() cannot write. */
    if (w->scale < 0 || !vendor_type_is_written(w->type_a) || !vendor_type_is_written(w->type_b) ||
        !vendor_type_is_written(w->type_c)) {
        vendor_tell_missing(LIBRARY, "a product of these types (cublasGemmEx)");
        return NOT_SUPPORTED;
    }
    return w->m == 0 || w->n == 0 || w->batch == 0
               ? DONE
               : blas_enqueue(handle, w, alpha, beta, vendor_type_size(w->scale), run_typed);
}

VENDOR_API int cublasGemmEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                            const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                            void *c, int type_c, int ldc, int compute, int algorithm)
{
    work w = {.name = "cublasGemmEx", .type_a = type_a, .type_b = type_b, .type_c = type_c, .compute = compute};
    const bool valid = blas_set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
    (void)algorithm;
    blas_set_strides(&w, 0, 0, 0, 1);
    return multiply_types(handle, &w, valid, alpha, beta);
}

VENDOR_API int cublasGemmStridedBatchedEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k,
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

VENDOR_API int cublasGemmBatchedEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
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

VENDOR_API int cublasSgemmEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                             const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const float *beta,
                             void *c, int type_c, int ldc)
{
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                        COMPUTE_32F, 0);
}

/* Computes the product of matrices of halves. */
VENDOR_API int cublasHgemm(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                           const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc)
{
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, R_16F, lda, b, R_16F, ldb, beta, c, R_16F, ldc,
                        COMPUTE_16F, 0);
}

VENDOR_API int cublasHgemmStridedBatched(cublas_handle handle, int op_a, int op_b, int m, int n, int k,
                                         const void *alpha, const void *a, int lda, long long stride_a, const void *b,
                                         int ldb, long long stride_b, const void *beta, void *c, int ldc,
                                         long long stride_c, int batch)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, R_16F, lda, stride_a, b, R_16F, ldb,
                                      stride_b, beta, c, R_16F, ldc, stride_c, batch, COMPUTE_16F, 0);
}
