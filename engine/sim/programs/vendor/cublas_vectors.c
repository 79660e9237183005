/* cublas_vectors.c - levels 1 and 2 of cuBLAS: operations on vectors, and on a matrix and a vector. Macros make the
 * functions of each type. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cublas_work.h"

/* ---- level 1 ---- */

#define LEVEL_1(X_, x_, type, real, norm)                                                                              \
    static bool run_##x_##axpy(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(type));                                      \
        typedef void function(int, PASS_##X_, const void *, int, void *, int);                                         \
        FIND(function, axpy, "cblas_" #x_ "axpy")                                                                      \
        type *x = blas_pack(w, &w->a, sizeof(type)), *y = blas_pack(w, &w->b, sizeof(type));                           \
        bool done = alpha && x && y;                                                                                   \
        if (done) {                                                                                                    \
            axpy((int)w->n, VALUE_##X_(alpha), x, 1, y, 1);                                                            \
            done = blas_unpack(w, &w->b, sizeof(type), (char *)y);                                                     \
        }                                                                                                              \
        free(x);                                                                                                       \
        free(y);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##axpy_v2(cublas_handle handle, int n, const type *alpha, const type *x, int dx, type *y, \
                                       int dy)                                                                         \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "axpy", .n = n, .a = blas_vector(x, n, dx), .b = blas_vector(y, n, dy)};        \
        CHECK(handle, alpha && (dy != 0 || n <= 1));                                                                   \
        return n <= 0 ? DONE : blas_enqueue(handle, &w, alpha, NULL, sizeof *alpha, run_##x_##axpy);                   \
    }                                                                                                                  \
    static bool run_##x_##scal(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(type));                                      \
        typedef void function(int, PASS_##X_, void *, int);                                                            \
        FIND(function, scal, "cblas_" #x_ "scal")                                                                      \
        type *x = blas_pack(w, &w->a, sizeof(type));                                                                   \
        bool done = alpha && x;                                                                                        \
        if (done) {                                                                                                    \
            scal((int)w->n, VALUE_##X_(alpha), x, 1);                                                                  \
            done = blas_unpack(w, &w->a, sizeof(type), (char *)x);                                                     \
        }                                                                                                              \
        free(x);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##scal_v2(cublas_handle handle, int n, const type *alpha, type *x, int dx)                \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "scal", .n = n, .a = blas_vector(x, n, dx)};                                    \
        CHECK(handle, alpha);                                                                                          \
        return n <= 0 || dx <= 0 ? DONE : blas_enqueue(handle, &w, alpha, NULL, sizeof *alpha, run_##x_##scal);        \
    }                                                                                                                  \
    /* Copies x to y. If w->m is set, also copies y to x. */                                                           \
    static bool run_##x_##copy(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        type *x = blas_pack(w, &w->a, sizeof(type)), *y = w->m ? blas_pack(w, &w->b, sizeof(type)) : NULL;             \
        const bool done = x && (y || !w->m) && blas_unpack(w, &w->b, sizeof(type), (char *)x) &&                       \
                          (!w->m || blas_unpack(w, &w->a, sizeof(type), (char *)y));                                   \
        free(x);                                                                                                       \
        free(y);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##copy_v2(cublas_handle handle, int n, const type *x, int dx, type *y, int dy)            \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "copy", .n = n, .a = blas_vector(x, n, dx), .b = blas_vector(y, n, dy)};        \
        CHECK(handle, true);                                                                                           \
        return n <= 0 ? DONE : blas_enqueue(handle, &w, NULL, NULL, 0, run_##x_##copy);                                \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##swap_v2(cublas_handle handle, int n, type *x, int dx, type *y, int dy)                  \
    {                                                                                                                  \
        work w = {                                                                                                     \
            .name = "cublas" #X_ "swap", .n = n, .m = 1, .a = blas_vector(x, n, dx), .b = blas_vector(y, n, dy)};      \
        CHECK(handle, true);                                                                                           \
        return n <= 0 ? DONE : blas_enqueue(handle, &w, NULL, NULL, 0, run_##x_##copy);                                \
    }
ALL_TYPES(LEVEL_1)

/* Writes the result of a reduction to the memory of the host or of the device. */
static bool put_result(const work *w, const void *value, size_t size)
{
    void *to = w->device_scalars ? vendor_reach(w->result, size, true, w->name) : w->result;
    if (to)
        memcpy(to, value, size);
    return to;
}

/* nrm2 and asum, which return one real number. */
#define NORM(X_, x_, type, real, norm, which)                                                                          \
    static bool run_##x_##which(const void *what)                                                                      \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        real value = 0;                                                                                                \
        typedef real function(int, const void *, int);                                                                 \
        FIND(function, sum, "cblas_" #norm #which)                                                                     \
        if (w->n > 0 && w->m > 0) {                                                                                    \
            type *x = blas_pack(w, &w->a, sizeof(type));                                                               \
            if (!x)                                                                                                    \
                return false;                                                                                          \
            value = sum((int)w->n, x, 1);                                                                              \
            free(x);                                                                                                   \
        }                                                                                                              \
        return put_result(w, &value, sizeof value);                                                                    \
    }
#define NORMS(X_, x_, type, real, norm)                                                                                \
    NORM(X_, x_, type, real, norm, nrm2)                                                                               \
    NORM(X_, x_, type, real, norm, asum)
ALL_TYPES(NORMS)
#define NORM_CALL(call, x_, type, real, which)                                                                         \
    VENDOR_API int cublas##call##_v2(cublas_handle handle, int n, const type *x, int dx, real *result)                 \
    {                                                                                                                  \
        work w = {.name = "cublas" #call, .n = n, .m = dx, .a = blas_vector(x, n, dx), .result = result};              \
        CHECK(handle, result);                                                                                         \
        return blas_enqueue(handle, &w, NULL, NULL, 0, run_##x_##which);                                               \
    }
NORM_CALL(Snrm2, s, float, float, nrm2)
NORM_CALL(Dnrm2, d, double, double, nrm2)
NORM_CALL(Scnrm2, c, complex8, float, nrm2)
NORM_CALL(Dznrm2, z, complex16, double, nrm2)
NORM_CALL(Sasum, s, float, float, asum)
NORM_CALL(Dasum, d, double, double, asum)
NORM_CALL(Scasum, c, complex8, float, asum)
NORM_CALL(Dzasum, z, complex16, double, asum)

/* Returns the position, counted from 1, of the element with the largest or smallest magnitude, or 0 for an empty
 * vector. As in BLAS, the magnitude of a complex number is the sum of the magnitudes of its parts. If several elements
 * are equal, returns the position of the first. */
static int find_extreme(const double *sizes, int64_t n, bool largest)
{
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++)
        if (largest ? sizes[k] > sizes[best] : sizes[k] < sizes[best])
            best = k;
    return (int)best + 1;
}
#define SIZE_S(v) fabs((double)(v))
#define SIZE_D(v) fabs(v)
#define SIZE_C(v) (fabs((double)(v).x) + fabs((double)(v).y))
#define SIZE_Z(v) (fabs((v).x) + fabs((v).y))
#define EXTREME(X_, x_, type, real, norm)                                                                              \
    static bool run_i##x_##extreme(const void *what)                                                                   \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        int place = 0;                                                                                                 \
        if (w->n > 0 && w->m > 0) {                                                                                    \
            const type *x = blas_reach(w, &w->a, sizeof(type), false);                                                 \
            double *sizes = x ? malloc((size_t)w->n * sizeof *sizes) : NULL;                                           \
            if (!sizes)                                                                                                \
                return false;                                                                                          \
            for (int64_t k = 0; k < w->n; k++)                                                                         \
                sizes[k] = SIZE_##X_(x[k * w->m]);                                                                     \
            place = find_extreme(sizes, w->n, w->k != 0);                                                              \
            free(sizes);                                                                                               \
        }                                                                                                              \
        return put_result(w, &place, sizeof place);                                                                    \
    }                                                                                                                  \
    VENDOR_API int cublasI##x_##amax_v2(cublas_handle handle, int n, const type *x, int dx, int *result)               \
    {                                                                                                                  \
        work w = {                                                                                                     \
            .name = "cublasI" #x_ "amax", .n = n, .m = dx, .k = 1, .a = blas_vector(x, n, dx), .result = result};      \
        CHECK(handle, result);                                                                                         \
        return blas_enqueue(handle, &w, NULL, NULL, 0, run_i##x_##extreme);                                            \
    }                                                                                                                  \
    VENDOR_API int cublasI##x_##amin_v2(cublas_handle handle, int n, const type *x, int dx, int *result)               \
    {                                                                                                                  \
        work w = {.name = "cublasI" #x_ "amin", .n = n, .m = dx, .a = blas_vector(x, n, dx), .result = result};        \
        CHECK(handle, result);                                                                                         \
        return blas_enqueue(handle, &w, NULL, NULL, 0, run_i##x_##extreme);                                            \
    }
ALL_TYPES(EXTREME)

#define DOT_REAL(X_, x_, type, real, norm)                                                                             \
    static bool run_##x_##dot(const void *what)                                                                        \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        type value = 0;                                                                                                \
        typedef type function(int, const void *, int, const void *, int);                                              \
        FIND(function, dot, "cblas_" #x_ "dot")                                                                        \
        if (w->n > 0) {                                                                                                \
            type *x = blas_pack(w, &w->a, sizeof(type)), *y = blas_pack(w, &w->b, sizeof(type));                       \
            const bool there = x && y;                                                                                 \
            if (there)                                                                                                 \
                value = dot((int)w->n, x, 1, y, 1);                                                                    \
            free(x);                                                                                                   \
            free(y);                                                                                                   \
            if (!there)                                                                                                \
                return false;                                                                                          \
        }                                                                                                              \
        return put_result(w, &value, sizeof value);                                                                    \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##dot_v2(cublas_handle handle, int n, const type *x, int dx, const type *y, int dy,       \
                                      type *result)                                                                    \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "dot",                                                                          \
                  .n = n,                                                                                              \
                  .a = blas_vector(x, n, dx),                                                                          \
                  .b = blas_vector(y, n, dy),                                                                          \
                  .result = result};                                                                                   \
        CHECK(handle, result);                                                                                         \
        return blas_enqueue(handle, &w, NULL, NULL, 0, run_##x_##dot);                                                 \
    }
REAL_TYPES(DOT_REAL)
#define DOT_COMPLEX_ONE(X_, x_, type, which)                                                                           \
    static bool run_##x_##which(const void *what)                                                                      \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        type value = {0};                                                                                              \
        typedef void function(int, const void *, int, const void *, int, void *);                                      \
        FIND(function, dot, "cblas_" #x_ #which "_sub")                                                                \
        if (w->n > 0) {                                                                                                \
            type *x = blas_pack(w, &w->a, sizeof(type)), *y = blas_pack(w, &w->b, sizeof(type));                       \
            const bool there = x && y;                                                                                 \
            if (there)                                                                                                 \
                dot((int)w->n, x, 1, y, 1, &value);                                                                    \
            free(x);                                                                                                   \
            free(y);                                                                                                   \
            if (!there)                                                                                                \
                return false;                                                                                          \
        }                                                                                                              \
        return put_result(w, &value, sizeof value);                                                                    \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##which##_v2(cublas_handle handle, int n, const type *x, int dx, const type *y, int dy,   \
                                          type *result)                                                                \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ #which,                                                                         \
                  .n = n,                                                                                              \
                  .a = blas_vector(x, n, dx),                                                                          \
                  .b = blas_vector(y, n, dy),                                                                          \
                  .result = result};                                                                                   \
        CHECK(handle, result);                                                                                         \
        return blas_enqueue(handle, &w, NULL, NULL, 0, run_##x_##which);                                               \
    }
#define DOT_COMPLEX(X_, x_, type, real, norm)                                                                          \
    DOT_COMPLEX_ONE(X_, x_, type, dotu)                                                                                \
    DOT_COMPLEX_ONE(X_, x_, type, dotc)
COMPLEX_TYPES(DOT_COMPLEX)

/* ---- level 2 ---- */

#define LEVEL_2(X_, x_, type, real, norm)                                                                              \
    static bool run_##x_##gemv(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(type)),                                      \
                   *beta = blas_scalar(w, w->beta_at, &w->beta, sizeof(type));                                         \
        const type *a = blas_reach(w, &w->a, sizeof(type), false);                                                     \
        typedef void function(int, int, int, int, PASS_##X_, const void *, int, const void *, int, PASS_##X_, void *,  \
                              int);                                                                                    \
        FIND(function, gemv, "cblas_" #x_ "gemv")                                                                      \
        type *x = blas_pack(w, &w->b, sizeof(type)), *y = blas_pack(w, &w->c, sizeof(type));                           \
        bool done = alpha && beta && a && x && y;                                                                      \
        if (done) {                                                                                                    \
            gemv(CBLAS_COLUMNS, cblas_op(w->op_a), (int)w->m, (int)w->n, VALUE_##X_(alpha), a, (int)w->a.ld, x, 1,     \
                 VALUE_##X_(beta), y, 1);                                                                              \
            done = blas_unpack(w, &w->c, sizeof(type), (char *)y);                                                     \
        }                                                                                                              \
        free(x);                                                                                                       \
        free(y);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##gemv_v2(cublas_handle handle, int op, int m, int n, const type *alpha, const type *a,   \
                                       int lda, const type *x, int dx, const type *beta, type *y, int dy)              \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "gemv",                                                                         \
                  .op_a = op,                                                                                          \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .a = {.at = a, .rows = m, .columns = n, .ld = lda},                                                  \
                  .b = blas_vector(x, op == OP_N ? n : m, dx),                                                         \
                  .c = blas_vector(y, op == OP_N ? m : n, dy)};                                                        \
        CHECK(handle, alpha &&beta &&is_op(op) && blas_is_stored(&w.a) && dx && dy);                                   \
        return m == 0 || n == 0 ? DONE : blas_enqueue(handle, &w, alpha, beta, sizeof *alpha, run_##x_##gemv);         \
    }                                                                                                                  \
    static bool run_##x_##trmv(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const type *a = blas_reach(w, &w->a, sizeof(type), false);                                                     \
        typedef void function(int, int, int, int, int, const void *, int, void *, int);                                \
        FIND(function, multiply, "cblas_" #x_ "trmv")                                                                  \
        FIND(function, solve, "cblas_" #x_ "trsv")                                                                     \
        type *x = blas_pack(w, &w->b, sizeof(type));                                                                   \
        bool done = a && x;                                                                                            \
        if (done) {                                                                                                    \
            (w->m ? solve : multiply)(CBLAS_COLUMNS, cblas_uplo(w->uplo), cblas_op(w->op_a), cblas_diag(w->diag),      \
                                      (int)w->n, a, (int)w->a.ld, x, 1);                                               \
            done = blas_unpack(w, &w->b, sizeof(type), (char *)x);                                                     \
        }                                                                                                              \
        free(x);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    static int triangular_##x_(cublas_handle handle, const char *name, bool solves, int uplo, int op, int diag, int n, \
                               const type *a, int lda, type *x, int dx)                                                \
    {                                                                                                                  \
        work w = {.name = name,                                                                                        \
                  .uplo = uplo,                                                                                        \
                  .op_a = op,                                                                                          \
                  .diag = diag,                                                                                        \
                  .n = n,                                                                                              \
                  .m = solves,                                                                                         \
                  .a = {.at = a, .rows = n, .columns = n, .ld = lda},                                                  \
                  .b = blas_vector(x, n, dx)};                                                                         \
        CHECK(handle, is_two(uplo) && is_op(op) && is_two(diag) && blas_is_stored(&w.a) && dx);                        \
        return n == 0 ? DONE : blas_enqueue(handle, &w, NULL, NULL, 0, run_##x_##trmv);                                \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##trmv_v2(cublas_handle handle, int uplo, int op, int diag, int n, const type *a,         \
                                       int lda, type *x, int dx)                                                       \
    {                                                                                                                  \
        return triangular_##x_(handle, "cublas" #X_ "trmv", false, uplo, op, diag, n, a, lda, x, dx);                  \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##trsv_v2(cublas_handle handle, int uplo, int op, int diag, int n, const type *a,         \
                                       int lda, type *x, int dx)                                                       \
    {                                                                                                                  \
        return triangular_##x_(handle, "cublas" #X_ "trsv", true, uplo, op, diag, n, a, lda, x, dx);                   \
    }
ALL_TYPES(LEVEL_2)

/* Rank-1 updates: ger for real types, geru and gerc for complex types. */
#define GER(X_, x_, type, which)                                                                                       \
    static bool run_##x_##which(const void *what)                                                                      \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = blas_scalar(w, w->alpha_at, &w->alpha, sizeof(type));                                      \
        type *a = blas_reach(w, &w->a, sizeof(type), true);                                                            \
        typedef void function(int, int, int, PASS_##X_, const void *, int, const void *, int, void *, int);            \
        FIND(function, ger, "cblas_" #x_ #which)                                                                       \
        type *x = blas_pack(w, &w->b, sizeof(type)), *y = blas_pack(w, &w->c, sizeof(type));                           \
        const bool done = alpha && a && x && y;                                                                        \
        if (done)                                                                                                      \
            ger(CBLAS_COLUMNS, (int)w->m, (int)w->n, VALUE_##X_(alpha), x, 1, y, 1, a, (int)w->a.ld);                  \
        free(x);                                                                                                       \
        free(y);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublas##X_##which##_v2(cublas_handle handle, int m, int n, const type *alpha, const type *x,        \
                                          int dx, const type *y, int dy, type *a, int lda)                             \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ #which,                                                                         \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .a = {.at = a, .rows = m, .columns = n, .ld = lda},                                                  \
                  .b = blas_vector(x, m, dx),                                                                          \
                  .c = blas_vector(y, n, dy)};                                                                         \
        CHECK(handle, alpha &&blas_is_stored(&w.a) && dx && dy);                                                       \
        return m == 0 || n == 0 ? DONE : blas_enqueue(handle, &w, alpha, NULL, sizeof *alpha, run_##x_##which);        \
    }
GER(S, s, float, ger)
GER(D, d, double, ger)
GER(C, c, complex8, geru)
GER(C, c, complex8, gerc)
GER(Z, z, complex16, geru)
GER(Z, z, complex16, gerc)
