/* cublas_matrices.c - level 3 of cuBLAS: products, rank-k updates and triangular solutions. The file also has sums of
 * matrices, and products with diagonal matrices. Macros make the functions of each type. */
#include <stdlib.h>
#include <string.h>

#include "cublas_work.h"

/* ---- level 3 ---- */

#define GEMM(X_, x_, type, real, norm)                                                                                 \
    static bool run_##x_##gemm(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(type)),                                      \
                   *beta = blas_scalar(w, w->beta_at, &w->beta, sizeof(type));                                         \
        typedef void function(int, int, int, int, int, int, PASS_##X_, const void *, int, const void *, int,           \
                              PASS_##X_, void *, int);                                                                 \
        FIND(function, gemm, "cblas_" #x_ "gemm")                                                                      \
        for (int64_t i = 0; i < w->batch; i++) {                                                                       \
            const type *a = blas_reach_one(w, &w->a, sizeof(type), i, false),                                          \
                       *b = blas_reach_one(w, &w->b, sizeof(type), i, false);                                          \
            type *c = blas_reach_one(w, &w->c, sizeof(type), i, true);                                                 \
            if (!alpha || !beta || !c || (w->k > 0 && (!a || !b)))                                                     \
                return false;                                                                                          \
            gemm(CBLAS_COLUMNS, cblas_op(w->op_a), cblas_op(w->op_b), (int)w->m, (int)w->n, (int)w->k,                 \
                 VALUE_##X_(alpha), a, (int)w->a.ld, b, (int)w->b.ld, VALUE_##X_(beta), c, (int)w->c.ld);              \
        }                                                                                                              \
        return true;                                                                                                   \
    }                                                                                                                  \
    static int product_##x_(cublas_handle handle, work *w, bool valid, const type *alpha, const type *beta)            \
    {                                                                                                                  \
        CHECK(handle, valid &&alpha &&beta && w->batch >= 0);                                                          \
        return w->m == 0 || w->n == 0 || w->batch == 0                                                                 \
                   ? DONE                                                                                              \
                   : blas_enqueue(handle, w, alpha, beta, sizeof *alpha, run_##x_##gemm);                              \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##gemm_v2_64(cublas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,   \
                                          const type *alpha, const type *a, int64_t lda, const type *b, int64_t ldb,   \
                                          const type *beta, type *c, int64_t ldc)                                      \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "gemm"};                                                                        \
        const bool valid = blas_set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);                          \
        blas_set_strides(&w, 0, 0, 0, 1);                                                                              \
        return product_##x_(handle, &w, valid, alpha, beta);                                                           \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##gemm_v2(cublas_handle handle, int op_a, int op_b, int m, int n, int k,                  \
                                       const type *alpha, const type *a, int lda, const type *b, int ldb,              \
                                       const type *beta, type *c, int ldc)                                             \
    {                                                                                                                  \
        return cublas##X_##gemm_v2_64(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);               \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##gemmStridedBatched(cublas_handle handle, int op_a, int op_b, int m, int n, int k,       \
                                                  const type *alpha, const type *a, int lda, long long stride_a,       \
                                                  const type *b, int ldb, long long stride_b, const type *beta,        \
                                                  type *c, int ldc, long long stride_c, int batch)                     \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "gemmStridedBatched"};                                                          \
        const bool valid = blas_set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);                          \
        blas_set_strides(&w, stride_a, stride_b, stride_c, batch);                                                     \
        return product_##x_(handle, &w, valid, alpha, beta);                                                           \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##gemmBatched(cublas_handle handle, int op_a, int op_b, int m, int n, int k,              \
                                           const type *alpha, const type *const a[], int lda, const type *const b[],   \
                                           int ldb, const type *beta, type *const c[], int ldc, int batch)             \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "gemmBatched", .lists = true};                                                  \
        const bool valid = blas_set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, (void *)(uintptr_t)c, ldc);       \
        w.batch = batch;                                                                                               \
        return product_##x_(handle, &w, valid, alpha, beta);                                                           \
    }
ALL_TYPES(GEMM)

/* Rank-k updates: Computes C = alpha op(A) op(A)^T + beta C. `scalar_` is the type of alpha and beta, and `pass` is the
 * type in which the host's BLAS takes them. `refused` is an operation that the update does not support, or NO_OP. */
#define SYRK(X_, x_, type, which, scalar_, pass, value, refused)                                                       \
    static bool run_##x_##which(const void *what)                                                                      \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(scalar_)),                                   \
                   *beta = blas_scalar(w, w->beta_at, &w->beta, sizeof(scalar_));                                      \
        const type *a = blas_reach(w, &w->a, sizeof(type), false);                                                     \
        type *c = blas_reach(w, &w->c, sizeof(type), true);                                                            \
        typedef void function(int, int, int, int, int, pass, const void *, int, pass, void *, int);                    \
        FIND(function, syrk, "cblas_" #x_ #which)                                                                      \
        if (!alpha || !beta || !c || (w->k > 0 && !a))                                                                 \
            return false;                                                                                              \
        syrk(CBLAS_COLUMNS, cblas_uplo(w->uplo), cblas_op(w->op_a), (int)w->n, (int)w->k, value(alpha), a,             \
             (int)w->a.ld, value(beta), c, (int)w->c.ld);                                                              \
        return true;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##which##_v2(cublas_handle handle, int uplo, int op, int n, int k, const scalar_ *alpha,  \
                                          const type *a, int lda, const scalar_ *beta, type *c, int ldc)               \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ #which,                                                                         \
                  .uplo = uplo,                                                                                        \
                  .op_a = op,                                                                                          \
                  .n = n,                                                                                              \
                  .k = k,                                                                                              \
                  .a = {.at = a, .rows = op == OP_N ? n : k, .columns = op == OP_N ? k : n, .ld = lda},                \
                  .c = {.at = c, .rows = n, .columns = n, .ld = ldc}};                                                 \
        CHECK(handle, alpha &&beta &&is_two(uplo) && is_op(op) && op != (refused) && blas_is_stored(&w.a) &&           \
                          blas_is_stored(&w.c));                                                                       \
        return n == 0 ? DONE : blas_enqueue(handle, &w, alpha, beta, sizeof *alpha, run_##x_##which);                  \
    }
SYRK(S, s, float, syrk, float, float, VALUE_S, NO_OP)
SYRK(D, d, double, syrk, double, double, VALUE_D, NO_OP)
SYRK(C, c, complex8, syrk, complex8, const void *, VALUE_C, OP_C)
SYRK(Z, z, complex16, syrk, complex16, const void *, VALUE_Z, OP_C)
SYRK(C, c, complex8, herk, float, float, VALUE_S, OP_T)
SYRK(Z, z, complex16, herk, double, double, VALUE_D, OP_T)

/* Products with a symmetric or Hermitian matrix. */
#define SYMM(X_, x_, type, which)                                                                                      \
    static bool run_##x_##which(const void *what)                                                                      \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(type)),                                      \
                   *beta = blas_scalar(w, w->beta_at, &w->beta, sizeof(type));                                         \
        const type *a = blas_reach(w, &w->a, sizeof(type), false), *b = blas_reach(w, &w->b, sizeof(type), false);     \
        type *c = blas_reach(w, &w->c, sizeof(type), true);                                                            \
        typedef void function(int, int, int, int, int, PASS_##X_, const void *, int, const void *, int, PASS_##X_,     \
                              void *, int);                                                                            \
        FIND(function, symm, "cblas_" #x_ #which)                                                                      \
        if (!alpha || !beta || !a || !b || !c)                                                                         \
            return false;                                                                                              \
        symm(CBLAS_COLUMNS, cblas_side(w->side), cblas_uplo(w->uplo), (int)w->m, (int)w->n, VALUE_##X_(alpha), a,      \
             (int)w->a.ld, b, (int)w->b.ld, VALUE_##X_(beta), c, (int)w->c.ld);                                        \
        return true;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##which##_v2(cublas_handle handle, int side, int uplo, int m, int n, const type *alpha,   \
                                          const type *a, int lda, const type *b, int ldb, const type *beta, type *c,   \
                                          int ldc)                                                                     \
    {                                                                                                                  \
        const int order = side == SIDE_LEFT ? m : n;                                                                   \
        work w = {.name = "cublas" #X_ #which,                                                                         \
                  .side = side,                                                                                        \
                  .uplo = uplo,                                                                                        \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .a = {.at = a, .rows = order, .columns = order, .ld = lda},                                          \
                  .b = {.at = b, .rows = m, .columns = n, .ld = ldb},                                                  \
                  .c = {.at = c, .rows = m, .columns = n, .ld = ldc}};                                                 \
        CHECK(handle, alpha &&beta &&is_two(side) && is_two(uplo) && blas_is_stored(&w.a) && blas_is_stored(&w.b) &&   \
                          blas_is_stored(&w.c));                                                                       \
        return m == 0 || n == 0 ? DONE : blas_enqueue(handle, &w, alpha, beta, sizeof *alpha, run_##x_##which);        \
    }
SYMM(S, s, float, symm)
SYMM(D, d, double, symm)
SYMM(C, c, complex8, symm)
SYMM(Z, z, complex16, symm)
SYMM(C, c, complex8, hemm)
SYMM(Z, z, complex16, hemm)

/* Products with a triangular matrix (trmm), and triangular solutions (trsm). cuBLAS's trmm writes to a third matrix,
 * while the trmm of BLAS works in place. */
#define TRIANGULAR(X_, x_, type, real, norm)                                                                           \
    static bool run_##x_##trmm(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(type));                                      \
        const type *a = blas_reach(w, &w->a, sizeof(type), false);                                                     \
        const bool solves = w->k != 0; /* in place */                                                                  \
        const type *b = solves ? NULL : blas_reach(w, &w->b, sizeof(type), false);                                     \
        type *c = blas_reach(w, &w->c, sizeof(type), true);                                                            \
        typedef void function(int, int, int, int, int, int, int, PASS_##X_, const void *, int, void *, int);           \
        FIND(function, multiply, "cblas_" #x_ "trmm")                                                                  \
        FIND(function, solve, "cblas_" #x_ "trsm")                                                                     \
        if (!alpha || !a || !c || (!solves && !b))                                                                     \
            return false;                                                                                              \
        for (int64_t j = 0; b && j < w->n; j++)                                                                        \
            memmove(c + j * w->c.ld, b + j * w->b.ld, (size_t)w->m * sizeof *c);                                       \
        (solves ? solve : multiply)(CBLAS_COLUMNS, cblas_side(w->side), cblas_uplo(w->uplo), cblas_op(w->op_a),        \
                                    cblas_diag(w->diag), (int)w->m, (int)w->n, VALUE_##X_(alpha), a, (int)w->a.ld, c,  \
                                    (int)w->c.ld);                                                                     \
        return true;                                                                                                   \
    }                                                                                                                  \
    static int triangles_##x_(cublas_handle handle, work *w, int side, int uplo, int op, int diag, int m, int n,       \
                              const type *alpha, const type *a, int lda)                                               \
    {                                                                                                                  \
        const int order = side == SIDE_LEFT ? m : n;                                                                   \
        w->side = side;                                                                                                \
        w->uplo = uplo;                                                                                                \
        w->op_a = op;                                                                                                  \
        w->diag = diag;                                                                                                \
        w->m = m;                                                                                                      \
        w->n = n;                                                                                                      \
        w->a = (matrix){.at = a, .rows = order, .columns = order, .ld = lda};                                          \
        CHECK(handle, alpha &&is_two(side) && is_two(uplo) && is_op(op) && is_two(diag) && blas_is_stored(&w->a) &&    \
                          blas_is_stored(&w->c) && (w->k || blas_is_stored(&w->b)));                                   \
        return m == 0 || n == 0 ? DONE : blas_enqueue(handle, w, alpha, NULL, sizeof *alpha, run_##x_##trmm);          \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##trmm_v2(cublas_handle handle, int side, int uplo, int op, int diag, int m, int n,       \
                                       const type *alpha, const type *a, int lda, const type *b, int ldb, type *c,     \
                                       int ldc)                                                                        \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "trmm",                                                                         \
                  .b = {.at = b, .rows = m, .columns = n, .ld = ldb},                                                  \
                  .c = {.at = c, .rows = m, .columns = n, .ld = ldc}};                                                 \
        return triangles_##x_(handle, &w, side, uplo, op, diag, m, n, alpha, a, lda);                                  \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##trsm_v2(cublas_handle handle, int side, int uplo, int op, int diag, int m, int n,       \
                                       const type *alpha, const type *a, int lda, type *b, int ldb)                    \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "trsm", .k = 1, .c = {.at = b, .rows = m, .columns = n, .ld = ldb}};            \
        return triangles_##x_(handle, &w, side, uplo, op, diag, m, n, alpha, a, lda);                                  \
    }
ALL_TYPES(TRIANGULAR)

/* ---- sums of matrices, products with diagonals ---- */

#define ADD_S(p, a, q, b) ((p) * (a) + (q) * (b))
#define ADD_D(p, a, q, b) ((p) * (a) + (q) * (b))
#define ADD_COMPLEX(type, p, a, q, b)                                                                                  \
    (type)                                                                                                             \
    {                                                                                                                  \
        (p).x *(a).x - (p).y *(a).y + (q).x *(b).x - (q).y *(b).y,                                                     \
            (p).x *(a).y + (p).y *(a).x + (q).x *(b).y + (q).y *(b).x                                                  \
    }
#define ADD_C(p, a, q, b) ADD_COMPLEX(complex8, p, a, q, b)
#define ADD_Z(p, a, q, b) ADD_COMPLEX(complex16, p, a, q, b)
#define CONJUGATE_S(v) (v)
#define CONJUGATE_D(v) (v)
#define CONJUGATE_C(v)                                                                                                 \
    (complex8) { (v).x, -(v).y }
#define CONJUGATE_Z(v)                                                                                                 \
    (complex16) { (v).x, -(v).y }
#define IS_ZERO_S(v) ((v) == 0)
#define IS_ZERO_D(v) ((v) == 0)
#define IS_ZERO_C(v) ((v).x == 0 && (v).y == 0)
#define IS_ZERO_Z(v) ((v).x == 0 && (v).y == 0)
#define ZERO_S 0
#define ZERO_D 0
#define ZERO_C                                                                                                         \
    {                                                                                                                  \
        0                                                                                                              \
    }
#define ZERO_Z                                                                                                         \
    {                                                                                                                  \
        0                                                                                                              \
    }

#define EXTRAS(X_, x_, type, real, norm)                                                                               \
    static type element_##x_(const type *m, int op, int64_t ld, int64_t i, int64_t j)                                  \
    {                                                                                                                  \
        const type value = op == OP_N ? m[j * ld + i] : m[i * ld + j];                                                 \
        return op == OP_C ? CONJUGATE_##X_(value) : value;                                                             \
    }                                                                                                                  \
    /* A matrix whose factor is zero is not read, because it may hold NaN or may not exist. */                         \
    static bool run_##x_##geam(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const type *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(type)),                                      \
                   *beta = blas_scalar(w, w->beta_at, &w->beta, sizeof(type));                                         \
        type *c = blas_reach(w, &w->c, sizeof(type), true);                                                            \
        if (!alpha || !beta || !c)                                                                                     \
            return false;                                                                                              \
        const bool with_a = !(IS_ZERO_##X_(*alpha)), with_b = !(IS_ZERO_##X_(*beta));                                  \
        const type *a = with_a ? blas_reach(w, &w->a, sizeof(type), false) : NULL,                                     \
                   *b = with_b ? blas_reach(w, &w->b, sizeof(type), false) : NULL, none = ZERO_##X_;                   \
        /* a separate buffer, because C may be the memory of A or B */                                                 \
        type *sum = malloc((size_t)w->m * (size_t)w->n * sizeof *sum);                                                 \
        const bool there = sum && (a || !with_a) && (b || !with_b);                                                    \
        for (int64_t j = 0; there && j < w->n; j++)                                                                    \
            for (int64_t i = 0; i < w->m; i++) {                                                                       \
                const type x = a ? element_##x_(a, w->op_a, w->a.ld, i, j) : none,                                     \
                           y = b ? element_##x_(b, w->op_b, w->b.ld, i, j) : none;                                     \
                sum[j * w->m + i] = ADD_##X_(*alpha, x, *beta, y);                                                     \
            }                                                                                                          \
        for (int64_t j = 0; there && j < w->n; j++)                                                                    \
            memcpy(c + j * w->c.ld, sum + j * w->m, (size_t)w->m * sizeof *c);                                         \
        free(sum);                                                                                                     \
        return there;                                                                                                  \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##geam(cublas_handle handle, int op_a, int op_b, int m, int n, const type *alpha,         \
                                    const type *a, int lda, const type *beta, const type *b, int ldb, type *c,         \
                                    int ldc)                                                                           \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "geam",                                                                         \
                  .op_a = op_a,                                                                                        \
                  .op_b = op_b,                                                                                        \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .a = {.at = a, .rows = op_a == OP_N ? m : n, .columns = op_a == OP_N ? n : m, .ld = lda},            \
                  .b = {.at = b, .rows = op_b == OP_N ? m : n, .columns = op_b == OP_N ? n : m, .ld = ldb},            \
                  .c = {.at = c, .rows = m, .columns = n, .ld = ldc}};                                                 \
        CHECK(handle, alpha &&beta &&is_op(op_a) && is_op(op_b) && blas_is_stored(&w.a) && blas_is_stored(&w.b) &&     \
                          blas_is_stored(&w.c));                                                                       \
        return m == 0 || n == 0 ? DONE : blas_enqueue(handle, &w, alpha, beta, sizeof *alpha, run_##x_##geam);         \
    }                                                                                                                  \
    static bool run_##x_##dgmm(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const type *a = blas_reach(w, &w->a, sizeof(type), false), none = ZERO_##X_;                                   \
        type *c = blas_reach(w, &w->c, sizeof(type), true), *x = blas_pack(w, &w->b, sizeof(type));                    \
        const bool done = a && x && c;                                                                                 \
        for (int64_t j = 0; done && j < w->n; j++)                                                                     \
            for (int64_t i = 0; i < w->m; i++)                                                                         \
                c[j * w->c.ld + i] = ADD_##X_(x[w->side == SIDE_LEFT ? i : j], a[j * w->a.ld + i], none, none);        \
        free(x);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##dgmm(cublas_handle handle, int side, int m, int n, const type *a, int lda,              \
                                    const type *x, int dx, type *c, int ldc)                                           \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "dgmm",                                                                         \
                  .side = side,                                                                                        \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .a = {.at = a, .rows = m, .columns = n, .ld = lda},                                                  \
                  .b = blas_vector(x, side == SIDE_LEFT ? m : n, dx),                                                  \
                  .c = {.at = c, .rows = m, .columns = n, .ld = ldc}};                                                 \
        CHECK(handle, is_two(side) && blas_is_stored(&w.a) && blas_is_stored(&w.c));                                   \
        return m == 0 || n == 0 ? DONE : blas_enqueue(handle, &w, NULL, NULL, 0, run_##x_##dgmm);                      \
    }
ALL_TYPES(EXTRAS)
