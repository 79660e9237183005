/* cusolver_linear.c - cuSOLVER's factorisations of dense matrices and solutions with the factors: Cholesky, LU, QR, and
 * the inverse of a triangular matrix. LAPACK's Fortran functions take every argument by address, and the lengths of
 * strings as additional arguments at the end. */
#include <stdio.h>
#include <stdlib.h>

#include "cusolver_work.h"

static matrix square_of(const void *at, int64_t n, int64_t ld)
{
    return (matrix){.at = (void *)(uintptr_t)at, .rows = n, .columns = n, .ld = ld};
}

/* ---- Cholesky ---- */

/* Runs potrf or potri, which use one triangle of a matrix and leave the other triangle unchanged. */
static bool run_triangle(const work *w, const char *name)
{
    typedef void function(const char *, const int *, void *, const int *, int *, size_t);
    function *f = (function *)solver_find(w->type, name, name);
    bool done = f;
    for (int64_t i = 0; done && i < w->batch; i++) {
        const int n = (int)w->n, ld = leading(&w->a);
        int info = 0;
        void *a = solver_read(w, &w->a, w->type, i);
        if (a && n > 0)
            f(letter_of_fill(w->uplo), &n, a, &ld, &info, 1);
        done = a && solver_write(w, &w->a, w->type, i, a) && solver_write_info(w, i, info);
        free(a);
    }
    return done;
}

static bool run_potrf(const work *w) { return run_triangle(w, "potrf"); }
static bool run_potri(const work *w) { return run_triangle(w, "potri"); }

static bool run_potrs(const work *w)
{
    typedef void function(const char *, const int *, const int *, const void *, const int *, void *, const int *, int *,
                          size_t);
    function *f = (function *)solver_find(w->type, "potrs", "potrs");
    bool done = f;
    for (int64_t i = 0; done && i < w->batch; i++) {
        const int n = (int)w->n, columns = (int)w->k, ld_a = leading(&w->a), ld_b = leading(&w->b);
        int info = 0;
        void *a = solver_read(w, &w->a, w->type, i), *b = a ? solver_read(w, &w->b, w->type, i) : NULL;
        if (b && n > 0 && columns > 0)
            f(letter_of_fill(w->uplo), &n, &columns, a, &ld_a, b, &ld_b, &info, 1);
        /* by NVIDIA's guide, a batch has only one info */
        done = b && solver_write(w, &w->b, w->type, i, b) && solver_write_info(w, 0, info);
        free(a);
        free(b);
    }
    return done;
}

static int check_triangle(cusolver_handle handle, const work *w)
{
    CHECK(handle, w->info && is_two(w->uplo) && is_matrix(&w->a) && w->batch >= 0);
    return is_type(w->type) ? DONE : solver_refuse_types();
}

static int solve_potrs(cusolver_handle handle, work *w, const void *a, int64_t lda, void *b, int64_t ldb)
{
    w->a = square_of(a, w->n, lda);
    w->b = matrix_of(b, w->n, w->k, ldb);
    const int status = check_triangle(handle, w);
    if (status != DONE || !is_matrix(&w->b))
        return status != DONE ? status : INVALID_VALUE;
    return solver_enqueue(handle, w, run_potrs);
}

#define CHOLESKY(X_, type_)                                                                                            \
    VENDOR_API int cusolverDn##X_##potrf_bufferSize(cusolver_handle handle, int uplo, int n, void *a, int lda,         \
                                                    int *numbers)                                                      \
    {                                                                                                                  \
        const matrix m = square_of(a, n, lda);                                                                         \
        return solver_set_buffer(handle, is_two(uplo) && is_matrix(&m), numbers);                                      \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##potri_bufferSize(cusolver_handle handle, int uplo, int n, void *a, int lda,         \
                                                    int *numbers)                                                      \
    {                                                                                                                  \
        return cusolverDn##X_##potrf_bufferSize(handle, uplo, n, a, lda, numbers);                                     \
    }                                                                                                                  \
    static int triangle_##X_(cusolver_handle handle, const char *name, int uplo, int n, void *a, int lda,              \
                             void *buffer, int numbers, void *info, bool (*function)(const work *))                    \
    {                                                                                                                  \
        const work w = {.name = name,                                                                                  \
                        .type = (type_),                                                                               \
                        .uplo = uplo,                                                                                  \
                        .n = n,                                                                                        \
                        .batch = 1,                                                                                    \
                        .a = square_of(a, n, lda),                                                                     \
                        .info = info,                                                                                  \
                        .buffer = buffer};                                                                             \
        const int status = check_triangle(handle, &w);                                                                 \
        if (status != DONE || !buffer || numbers < BUFFER_NUMBERS)                                                     \
            return status != DONE ? status : INVALID_VALUE;                                                            \
        return solver_enqueue(handle, &w, function);                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##potrf(cusolver_handle handle, int uplo, int n, void *a, int lda, void *buffer,      \
                                         int numbers, void *info)                                                      \
    {                                                                                                                  \
        return triangle_##X_(handle, "cusolverDn" #X_ "potrf", uplo, n, a, lda, buffer, numbers, info, run_potrf);     \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##potri(cusolver_handle handle, int uplo, int n, void *a, int lda, void *buffer,      \
                                         int numbers, void *info)                                                      \
    {                                                                                                                  \
        return triangle_##X_(handle, "cusolverDn" #X_ "potri", uplo, n, a, lda, buffer, numbers, info, run_potri);     \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##potrs(cusolver_handle handle, int uplo, int n, int columns, const void *a, int lda, \
                                         void *b, int ldb, void *info)                                                 \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ "potrs",                                                                    \
                  .type = (type_),                                                                                     \
                  .uplo = uplo,                                                                                        \
                  .n = n,                                                                                              \
                  .k = columns,                                                                                        \
                  .batch = 1,                                                                                          \
                  .info = info};                                                                                       \
        return solve_potrs(handle, &w, a, lda, b, ldb);                                                                \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##potrfBatched(cusolver_handle handle, int uplo, int n, void *list, int lda,          \
                                                void *info, int batch)                                                 \
    {                                                                                                                  \
        const work w = {.name = "cusolverDn" #X_ "potrfBatched",                                                       \
                        .type = (type_),                                                                               \
                        .uplo = uplo,                                                                                  \
                        .n = n,                                                                                        \
                        .batch = batch,                                                                                \
                        .lists = true,                                                                                 \
                        .a = square_of(list, n, lda),                                                                  \
                        .info = info};                                                                                 \
        const int status = check_triangle(handle, &w);                                                                 \
        return status == DONE ? solver_enqueue(handle, &w, run_potrf) : status;                                        \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##potrsBatched(cusolver_handle handle, int uplo, int n, int columns, void *a,         \
                                                int lda, void *b, int ldb, void *info, int batch)                      \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ "potrsBatched",                                                             \
                  .type = (type_),                                                                                     \
                  .uplo = uplo,                                                                                        \
                  .n = n,                                                                                              \
                  .k = columns,                                                                                        \
                  .batch = batch,                                                                                      \
                  .lists = true,                                                                                       \
                  .info = info};                                                                                       \
        CHECK(handle, columns == 1); /* NVIDIA's guide allows no other number */                                       \
        return solve_potrs(handle, &w, a, lda, b, ldb);                                                                \
    }
ALL_TYPES(CHOLESKY)

VENDOR_API int cusolverDnXpotrf_bufferSize(cusolver_handle handle, const void *parameters, int uplo, int64_t n,
                                           int type, const void *a, int64_t lda, int compute, size_t *on_device,
                                           size_t *on_host)
{
    const matrix m = square_of(a, n, lda);
    (void)parameters;
    return solver_set_buffers(handle, is_two(uplo) && is_matrix(&m), compute == type ? type : -1, on_device, on_host);
}

VENDOR_API int cusolverDnXpotrf(cusolver_handle handle, const void *parameters, int uplo, int64_t n, int type, void *a,
                                int64_t lda, int compute, AREAS, void *info)
{
    const work w = {.name = "cusolverDnXpotrf",
                    .type = compute == type ? type : -1,
                    .uplo = uplo,
                    .n = n,
                    .batch = 1,
                    .a = square_of(a, n, lda),
                    .info = info,
                    .buffer = area};
    const int status = check_triangle(handle, &w);
    (void)parameters, AREAS_UNUSED;
    if (status != DONE || !area || !AREA_FITS(type))
        return status != DONE ? status : INVALID_VALUE;
    return solver_enqueue(handle, &w, run_potrf);
}

VENDOR_API int cusolverDnXpotrs(cusolver_handle handle, const void *parameters, int uplo, int64_t n, int64_t columns,
                                int type, const void *a, int64_t lda, int type_b, void *b, int64_t ldb, void *info)
{
    work w = {.name = "cusolverDnXpotrs",
              .type = type_b == type ? type : -1,
              .uplo = uplo,
              .n = n,
              .k = columns,
              .batch = 1,
              .info = info};
    (void)parameters;
    return solve_potrs(handle, &w, a, lda, b, ldb);
}

/* ---- the inverse of a triangle ---- */

static bool run_trtri(const work *w)
{
    typedef void function(const char *, const char *, const int *, void *, const int *, int *, size_t, size_t);
    function *f = (function *)solver_find(w->type, "trtri", "trtri");
    const int n = (int)w->n, ld = leading(&w->a);
    int info = 0;
    void *a = f ? solver_read(w, &w->a, w->type, 0) : NULL;
    if (a && n > 0)
        f(letter_of_fill(w->uplo), w->diag == DIAG_UNIT ? "U" : "N", &n, a, &ld, &info, 1, 1);
    const bool done = a && solver_write(w, &w->a, w->type, 0, a) && solver_write_info(w, 0, info);
    free(a);
    return done;
}

VENDOR_API int cusolverDnXtrtri_bufferSize(cusolver_handle handle, int uplo, int diag, int64_t n, int type, void *a,
                                           int64_t lda, size_t *on_device, size_t *on_host)
{
    const matrix m = square_of(a, n, lda);
    return solver_set_buffers(handle, is_two(uplo) && is_two(diag) && is_matrix(&m), type, on_device, on_host);
}

VENDOR_API int cusolverDnXtrtri(cusolver_handle handle, int uplo, int diag, int64_t n, int type, void *a, int64_t lda,
                                AREAS, void *info)
{
    const work w = {.name = "cusolverDnXtrtri",
                    .type = type,
                    .uplo = uplo,
                    .diag = diag,
                    .n = n,
                    .batch = 1,
                    .a = square_of(a, n, lda),
                    .info = info,
                    .buffer = area};
    const int status = check_triangle(handle, &w);
    AREAS_UNUSED;
    if (status != DONE || !is_two(diag) || !area || !AREA_FITS(type))
        return status != DONE ? status : INVALID_VALUE;
    return solver_enqueue(handle, &w, run_trtri);
}

/* ---- LU ---- */

/* Computes LU without exchanges of rows, which LAPACK does not offer. Returns the position of the first zero pivot,
 * counted from 1, or 0. */
static int factor_in_order(void *a, int64_t rows, int64_t columns, int64_t ld, int type)
{
    int info = 0;
    for (int64_t k = 0; k < rows && k < columns; k++) {
        const vendor_number pivot = vendor_read_number(a, k * ld + k, type);
        if (pivot.re == 0 && pivot.im == 0) {
            info = info ? info : (int)k + 1;
            continue;
        }
        for (int64_t i = k + 1; i < rows; i++)
            vendor_write_number(a, k * ld + i, type, vendor_divide(vendor_read_number(a, k * ld + i, type), pivot));
        for (int64_t j = k + 1; j < columns; j++) {
            const vendor_number factor = vendor_read_number(a, j * ld + k, type);
            for (int64_t i = k + 1; i < rows; i++)
                vendor_write_number(a, j * ld + i, type,
                                    vendor_subtract(vendor_read_number(a, j * ld + i, type),
                                                    vendor_multiply(vendor_read_number(a, k * ld + i, type), factor)));
        }
    }
    return info;
}

static bool write_pivots(const work *w, const int *pivots, int64_t count)
{
    void *to = solver_reach(w, w->pivots, count, w->wide_pivots ? sizeof(int64_t) : sizeof(int), true);
    for (int64_t k = 0; to && k < count; k++)
        if (w->wide_pivots)
            ((int64_t *)to)[k] = pivots[k];
        else
            ((int *)to)[k] = pivots[k];
    return to;
}

static void tell_pivot(const char *name, int64_t place, int64_t value)
{
    enum { MOST = 20 };
    static int told;
    if (__atomic_fetch_add(&told, 1, __ATOMIC_RELAXED) < MOST)
        fprintf(stderr, "kiln: %s: pivot %lld is %lld, which is no row of the matrix\n", name, (long long)place,
                (long long)value);
}

/* Returns a copy of the pivots, which the caller frees. Checks each pivot, because a pivot outside of the matrix would
 * lead LAPACK out of bounds. */
static int *read_pivots(const work *w)
{
    const void *from = w->pivots
                           ? solver_reach(w, w->pivots, w->n, w->wide_pivots ? sizeof(int64_t) : sizeof(int), false)
                           : NULL;
    int *pivots = from || !w->pivots ? calloc((size_t)w->n + 1, sizeof *pivots) : NULL;
    for (int64_t k = 0; pivots && k < w->n; k++) {
        const int64_t pivot = !from ? k + 1 : w->wide_pivots ? ((const int64_t *)from)[k] : ((const int *)from)[k];
        if (pivot < 1 || pivot > w->n) {
            tell_pivot(w->name, k, pivot);
            free(pivots);
            return NULL;
        }
        pivots[k] = (int)pivot;
    }
    return pivots;
}

static bool run_getrf(const work *w)
{
    typedef void function(const int *, const int *, void *, const int *, int *, int *);
    function *f = (function *)solver_find(w->type, "getrf", "getrf");
    const int m = (int)w->m, n = (int)w->n, ld = leading(&w->a), least = m < n ? m : n;
    int info = 0;
    void *a = f ? solver_read(w, &w->a, w->type, 0) : NULL;
    int *pivots = a ? calloc((size_t)least + 1, sizeof *pivots) : NULL;
    if (pivots && least > 0 && w->pivots)
        f(&m, &n, a, &ld, pivots, &info);
    else if (pivots && least > 0)
        info = factor_in_order(a, m, n, ld, w->type);
    const bool done = pivots && (!w->pivots || write_pivots(w, pivots, least)) &&
                      solver_write(w, &w->a, w->type, 0, a) && solver_write_info(w, 0, info);
    free(a);
    free(pivots);
    return done;
}

static bool run_getrs(const work *w)
{
    typedef void function(const char *, const int *, const int *, const void *, const int *, const int *, void *,
                          const int *, int *, size_t);
    static const char *const ops[] = {"N", "T", "C"};
    function *f = (function *)solver_find(w->type, "getrs", "getrs");
    const int n = (int)w->n, columns = (int)w->k, ld_a = leading(&w->a), ld_b = leading(&w->b);
    int info = 0, *pivots = f ? read_pivots(w) : NULL;
    void *a = pivots ? solver_read(w, &w->a, w->type, 0) : NULL, *b = a ? solver_read(w, &w->b, w->type, 0) : NULL;
    if (b && n > 0 && columns > 0)
        f(ops[w->op], &n, &columns, a, &ld_a, pivots, b, &ld_b, &info, 1);
    const bool done = b && solver_write(w, &w->b, w->type, 0, b) && solver_write_info(w, 0, info);
    free(pivots);
    free(a);
    free(b);
    return done;
}

static int factor_lu(cusolver_handle handle, work *w, void *a, int64_t lda, bool area_fits)
{
    w->a = matrix_of(a, w->m, w->n, lda);
    CHECK(handle, w->info && is_matrix(&w->a) && w->buffer && area_fits);
    return is_type(w->type) ? solver_enqueue(handle, w, run_getrf) : solver_refuse_types();
}

static int solve_lu(cusolver_handle handle, work *w, const void *a, int64_t lda, void *b, int64_t ldb)
{
    w->a = square_of(a, w->n, lda);
    w->b = matrix_of(b, w->n, w->k, ldb);
    CHECK(handle, w->info && is_op(w->op) && is_matrix(&w->a) && is_matrix(&w->b));
    return is_type(w->type) ? solver_enqueue(handle, w, run_getrs) : solver_refuse_types();
}

#define LU(X_, type_)                                                                                                  \
    VENDOR_API int cusolverDn##X_##getrf_bufferSize(cusolver_handle handle, int m, int n, void *a, int lda,            \
                                                    int *numbers)                                                      \
    {                                                                                                                  \
        const matrix whole = matrix_of(a, m, n, lda);                                                                  \
        return solver_set_buffer(handle, is_matrix(&whole), numbers);                                                  \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##getrf(cusolver_handle handle, int m, int n, void *a, int lda, void *buffer,         \
                                         void *pivots, void *info)                                                     \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ "getrf",                                                                    \
                  .type = (type_),                                                                                     \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .pivots = pivots,                                                                                    \
                  .info = info,                                                                                        \
                  .buffer = buffer};                                                                                   \
        return factor_lu(handle, &w, a, lda, true);                                                                    \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##getrs(cusolver_handle handle, int op, int n, int columns, const void *a, int lda,   \
                                         const void *pivots, void *b, int ldb, void *info)                             \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ "getrs",                                                                    \
                  .type = (type_),                                                                                     \
                  .op = op,                                                                                            \
                  .n = n,                                                                                              \
                  .k = columns,                                                                                        \
                  .pivots = (void *)(uintptr_t)pivots,                                                                 \
                  .info = info};                                                                                       \
        return solve_lu(handle, &w, a, lda, b, ldb);                                                                   \
    }
ALL_TYPES(LU)

VENDOR_API int cusolverDnXgetrf_bufferSize(cusolver_handle handle, const void *parameters, int64_t m, int64_t n,
                                           int type, const void *a, int64_t lda, int compute, size_t *on_device,
                                           size_t *on_host)
{
    const matrix whole = matrix_of(a, m, n, lda);
    (void)parameters;
    return solver_set_buffers(handle, is_matrix(&whole), compute == type ? type : -1, on_device, on_host);
}

VENDOR_API int cusolverDnXgetrf(cusolver_handle handle, const void *parameters, int64_t m, int64_t n, int type, void *a,
                                int64_t lda, void *pivots, int compute, AREAS, void *info)
{
    work w = {.name = "cusolverDnXgetrf",
              .type = compute == type ? type : -1,
              .m = m,
              .n = n,
              .pivots = pivots,
              .wide_pivots = true,
              .info = info,
              .buffer = area};
    (void)parameters, AREAS_UNUSED;
    return factor_lu(handle, &w, a, lda, AREA_FITS(type));
}

VENDOR_API int cusolverDnXgetrs(cusolver_handle handle, const void *parameters, int op, int64_t n, int64_t columns,
                                int type, const void *a, int64_t lda, const void *pivots, int type_b, void *b,
                                int64_t ldb, void *info)
{
    work w = {.name = "cusolverDnXgetrs",
              .type = type_b == type ? type : -1,
              .op = op,
              .n = n,
              .k = columns,
              .pivots = (void *)(uintptr_t)pivots,
              .wide_pivots = true,
              .info = info};
    (void)parameters;
    return solve_lu(handle, &w, a, lda, b, ldb);
}

/* ---- QR ---- */

static bool run_geqrf(const work *w)
{
    typedef void function(const int *, const int *, void *, const int *, void *, void *, const int *, int *);
    function *f = (function *)solver_find(w->type, "geqrf", "geqrf");
    const int m = (int)w->m, n = (int)w->n, ld = leading(&w->a);
    int info = 0, count = BUFFER_QUERY;
    double query[2] = {0};
    void *a = f ? solver_read(w, &w->a, w->type, 0) : NULL, *tau = a ? solver_read(w, &w->tau, w->type, 0) : NULL,
         *room = NULL;
    if (tau) {
        f(&m, &n, a, &ld, tau, query, &count, &info);
        room = solver_buffer(w->type, query, &count);
    }
    if (room && m > 0 && n > 0)
        f(&m, &n, a, &ld, tau, room, &count, &info);
    const bool done = room && solver_write(w, &w->a, w->type, 0, a) && solver_write(w, &w->tau, w->type, 0, tau) &&
                      solver_write_info(w, 0, info);
    free(a);
    free(tau);
    free(room);
    return done;
}

static bool run_orgqr(const work *w)
{
    typedef void function(const int *, const int *, const int *, void *, const int *, const void *, void *, const int *,
                          int *);
    function *f = (function *)solver_find(w->type, "orgqr", "ungqr");
    const int m = (int)w->m, n = (int)w->n, k = (int)w->k, ld = leading(&w->a);
    int info = 0, count = BUFFER_QUERY;
    double query[2] = {0};
    void *a = f ? solver_read(w, &w->a, w->type, 0) : NULL, *tau = a ? solver_read(w, &w->tau, w->type, 0) : NULL,
         *room = NULL;
    if (tau) {
        f(&m, &n, &k, a, &ld, tau, query, &count, &info);
        room = solver_buffer(w->type, query, &count);
    }
    if (room && m > 0 && n > 0)
        f(&m, &n, &k, a, &ld, tau, room, &count, &info);
    const bool done = room && solver_write(w, &w->a, w->type, 0, a) && solver_write_info(w, 0, info);
    free(a);
    free(tau);
    free(room);
    return done;
}

static bool run_ormqr(const work *w)
{
    typedef void function(const char *, const char *, const int *, const int *, const int *, const void *, const int *,
                          const void *, void *, const int *, void *, const int *, int *, size_t, size_t);
    function *f = (function *)solver_find(w->type, "ormqr", "unmqr");
    const char *side = w->side == SIDE_LEFT ? "L" : "R", *op = w->op == OP_N ? "N" : w->op == OP_T ? "T" : "C";
    const int m = (int)w->m, n = (int)w->n, k = (int)w->k, ld_a = leading(&w->a), ld_c = leading(&w->c);
    int info = 0, count = BUFFER_QUERY;
    double query[2] = {0};
    void *a = f ? solver_read(w, &w->a, w->type, 0) : NULL, *tau = a ? solver_read(w, &w->tau, w->type, 0) : NULL,
         *c = tau ? solver_read(w, &w->c, w->type, 0) : NULL, *room = NULL;
    if (c) {
        f(side, op, &m, &n, &k, a, &ld_a, tau, c, &ld_c, query, &count, &info, 1, 1);
        room = solver_buffer(w->type, query, &count);
    }
    if (room && m > 0 && n > 0)
        f(side, op, &m, &n, &k, a, &ld_a, tau, c, &ld_c, room, &count, &info, 1, 1);
    const bool done = room && solver_write(w, &w->c, w->type, 0, c) && solver_write_info(w, 0, info);
    free(a);
    free(tau);
    free(c);
    free(room);
    return done;
}

static int factor_qr(cusolver_handle handle, work *w, void *a, int64_t lda, void *tau, bool area_fits)
{
    w->a = matrix_of(a, w->m, w->n, lda);
    w->tau = vector_of(tau, w->m < w->n ? w->m : w->n);
    CHECK(handle, w->info && is_matrix(&w->a) && w->buffer && area_fits);
    return is_type(w->type) ? solver_enqueue(handle, w, run_geqrf) : solver_refuse_types();
}

/* Fills the work of a product with Q, which is the product of k reflections. For a real matrix, the conjugate transpose
 * becomes the transpose. */
static bool set_ormqr(work *w, const void *a, int64_t lda, const void *tau, const void *c, int64_t ldc)
{
    const int64_t rows = w->side == SIDE_LEFT ? w->m : w->n;
    w->a = matrix_of(a, rows, w->k, lda);
    w->tau = vector_of(tau, w->k);
    w->c = matrix_of(c, w->m, w->n, ldc);
    if (w->op == OP_C && vendor_part_type(w->type) < 0)
        w->op = OP_T;
    return is_two(w->side) && is_op(w->op) && is_matrix(&w->a) && is_matrix(&w->c) && w->k <= rows &&
           !(w->op == OP_T && vendor_part_type(w->type) >= 0);
}

static bool set_orgqr(work *w, const void *a, int64_t lda, const void *tau)
{
    w->a = matrix_of(a, w->m, w->n, lda);
    w->tau = vector_of(tau, w->k);
    return is_matrix(&w->a) && fits(w->k) && w->n <= w->m && w->k <= w->n;
}

#define QR(X_, type_, letters)                                                                                         \
    VENDOR_API int cusolverDn##X_##geqrf_bufferSize(cusolver_handle handle, int m, int n, void *a, int lda,            \
                                                    int *numbers)                                                      \
    {                                                                                                                  \
        const matrix whole = matrix_of(a, m, n, lda);                                                                  \
        return solver_set_buffer(handle, is_matrix(&whole), numbers);                                                  \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##geqrf(cusolver_handle handle, int m, int n, void *a, int lda, void *tau,            \
                                         void *buffer, int numbers, void *info)                                        \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ "geqrf", .type = (type_), .m = m, .n = n, .info = info, .buffer = buffer};  \
        return factor_qr(handle, &w, a, lda, tau, numbers >= BUFFER_NUMBERS);                                          \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##gqr_bufferSize(cusolver_handle handle, int m, int n, int k, const void *a, \
                                                           int lda, const void *tau, int *numbers)                     \
    {                                                                                                                  \
        work w = {.type = (type_), .m = m, .n = n, .k = k};                                                            \
        return solver_set_buffer(handle, set_orgqr(&w, a, lda, tau), numbers);                                         \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##gqr(cusolver_handle handle, int m, int n, int k, void *a, int lda,         \
                                                const void *tau, void *buffer, int numbers, void *info)                \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ #letters "gqr",                                                             \
                  .type = (type_),                                                                                     \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .k = k,                                                                                              \
                  .info = info,                                                                                        \
                  .buffer = buffer};                                                                                   \
        CHECK(handle, info &&set_orgqr(&w, a, lda, tau) && buffer && numbers >= BUFFER_NUMBERS);                       \
        return solver_enqueue(handle, &w, run_orgqr);                                                                  \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##mqr_bufferSize(cusolver_handle handle, int side, int op, int m, int n,     \
                                                           int k, const void *a, int lda, const void *tau,             \
                                                           const void *c, int ldc, int *numbers)                       \
    {                                                                                                                  \
        work w = {.type = (type_), .side = side, .op = op, .m = m, .n = n, .k = k};                                    \
        return solver_set_buffer(handle, set_ormqr(&w, a, lda, tau, c, ldc), numbers);                                 \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##mqr(cusolver_handle handle, int side, int op, int m, int n, int k,         \
                                                const void *a, int lda, const void *tau, void *c, int ldc,             \
                                                void *buffer, int numbers, void *info)                                 \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ #letters "mqr",                                                             \
                  .type = (type_),                                                                                     \
                  .side = side,                                                                                        \
                  .op = op,                                                                                            \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .k = k,                                                                                              \
                  .info = info,                                                                                        \
                  .buffer = buffer};                                                                                   \
        CHECK(handle, info &&set_ormqr(&w, a, lda, tau, c, ldc) && buffer && numbers >= BUFFER_NUMBERS);               \
        return solver_enqueue(handle, &w, run_ormqr);                                                                  \
    }
QR(S, R_32F, or)
QR(D, R_64F, or)
QR(C, C_32F, un)
QR(Z, C_64F, un)

VENDOR_API int cusolverDnXgeqrf_bufferSize(cusolver_handle handle, const void *parameters, int64_t m, int64_t n,
                                           int type, const void *a, int64_t lda, int type_tau, const void *tau,
                                           int compute, size_t *on_device, size_t *on_host)
{
    const matrix whole = matrix_of(a, m, n, lda);
    (void)parameters, (void)tau;
    return solver_set_buffers(handle, is_matrix(&whole), compute == type && type_tau == type ? type : -1, on_device,
                              on_host);
}

VENDOR_API int cusolverDnXgeqrf(cusolver_handle handle, const void *parameters, int64_t m, int64_t n, int type, void *a,
                                int64_t lda, int type_tau, void *tau, int compute, AREAS, void *info)
{
    work w = {.name = "cusolverDnXgeqrf",
              .type = compute == type && type_tau == type ? type : -1,
              .m = m,
              .n = n,
              .info = info,
              .buffer = area};
    (void)parameters, AREAS_UNUSED;
    return factor_qr(handle, &w, a, lda, tau, AREA_FITS(type));
}

/* ---- solutions in one call, which cuSOLVER computes in a lower precision and refines (gesv, gels) ---- */

/* The stand-in computes in the precision of the matrices, so it does not refine, and reports 0 iterations. A stays
 * unchanged. */
static bool run_gesv(const work *w)
{
    typedef void function(const int *, const int *, void *, const int *, int *, void *, const int *, int *);
    function *f = (function *)solver_find(w->type, "gesv", "gesv");
    const int n = (int)w->n, columns = (int)w->k, ld_a = leading(&w->a), ld_b = leading(&w->b);
    int info = 0, *pivots = f ? calloc((size_t)w->n + 1, sizeof *pivots) : NULL;
    void *a = pivots ? solver_read(w, &w->a, w->type, 0) : NULL, *b = a ? solver_read(w, &w->b, w->type, 0) : NULL;
    if (b && n > 0)
        f(&n, &columns, a, &ld_a, pivots, b, &ld_b, &info);
    const bool done = b && write_pivots(w, pivots, w->n) && (info || solver_write(w, &w->x, w->type, 0, b)) &&
                      solver_write_info(w, 0, info);
    *w->rounds = 0;
    free(pivots);
    free(a);
    free(b);
    return done;
}

/* Least squares of a matrix with full rank, by LAPACK's gels, which leaves the solution in the first rows of b. */
static bool run_gels(const work *w)
{
    typedef void function(const char *, const int *, const int *, const int *, void *, const int *, void *, const int *,
                          void *, const int *, int *, size_t);
    function *f = (function *)solver_find(w->type, "gels", "gels");
    const int m = (int)w->m, n = (int)w->n, columns = (int)w->k, ld_a = leading(&w->a), ld_b = leading(&w->b);
    int info = 0, count = BUFFER_QUERY;
    double query[2] = {0};
    void *a = f ? solver_read(w, &w->a, w->type, 0) : NULL, *b = a ? solver_read(w, &w->b, w->type, 0) : NULL,
         *x = b ? solver_read(w, &w->x, w->type, 0) : NULL, *room = NULL;
    if (x) {
        f("N", &m, &n, &columns, a, &ld_a, b, &ld_b, query, &count, &info, 1);
        room = solver_buffer(w->type, query, &count);
    }
    if (room && n > 0 && columns > 0)
        f("N", &m, &n, &columns, a, &ld_a, b, &ld_b, room, &count, &info, 1);
    for (int64_t j = 0; room && j < w->k; j++)
        for (int64_t i = 0; i < w->n; i++)
            vendor_write_number(x, j * w->n + i, w->type, vendor_read_number(b, j * w->m + i, w->type));
    const bool done = room && (info || solver_write(w, &w->x, w->type, 0, x)) && solver_write_info(w, 0, info);
    *w->rounds = 0;
    free(a);
    free(b);
    free(x);
    free(room);
    return done;
}

/* Fills the matrices of gesv or gels. Returns false if an argument is not valid. */
static bool set_refined(work *w, const void *a, int lda, const void *b, int ldb, const void *x, int ldx)
{
    w->a = matrix_of(a, w->m, w->n, lda);
    w->b = matrix_of(b, w->m, w->k, ldb);
    w->x = matrix_of(x, w->n, w->k, ldx);
    return w->m >= w->n && is_matrix(&w->a) && is_matrix(&w->b) && is_matrix(&w->x);
}

static int set_bytes(cusolver_handle handle, const work *w, bool valid, size_t *bytes)
{
    CHECK(handle, valid && bytes);
    *bytes = BUFFER_NUMBERS * vendor_number_size(w->type);
    return DONE;
}

#define REFINED(letters, type_)                                                                                        \
    VENDOR_API int cusolverDn##letters##gesv_bufferSize(cusolver_handle handle, int n, int columns, void *a, int lda,  \
                                                        void *pivots, void *b, int ldb, void *x, int ldx,              \
                                                        void *buffer, size_t *bytes)                                   \
    {                                                                                                                  \
        work w = {.type = (type_), .m = n, .n = n, .k = columns};                                                      \
        (void)pivots, (void)buffer;                                                                                    \
        return set_bytes(handle, &w, set_refined(&w, a, lda, b, ldb, x, ldx), bytes);                                  \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##letters##gesv(cusolver_handle handle, int n, int columns, void *a, int lda,             \
                                             void *pivots, void *b, int ldb, void *x, int ldx, void *buffer,           \
                                             size_t bytes, int *rounds, void *info)                                    \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #letters "gesv",                                                                \
                  .type = (type_),                                                                                     \
                  .m = n,                                                                                              \
                  .n = n,                                                                                              \
                  .k = columns,                                                                                        \
                  .pivots = pivots,                                                                                    \
                  .info = info,                                                                                        \
                  .rounds = rounds,                                                                                    \
                  .buffer = buffer};                                                                                   \
        CHECK(handle, set_refined(&w, a, lda, b, ldb, x, ldx) && pivots && info && rounds && buffer &&                 \
                          bytes >= BUFFER_NUMBERS * vendor_number_size(type_));                                        \
        return solver_wait(handle, &w, run_gesv);                                                                      \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##letters##gels_bufferSize(cusolver_handle handle, int m, int n, int columns, void *a,    \
                                                        int lda, void *b, int ldb, void *x, int ldx, void *buffer,     \
                                                        size_t *bytes)                                                 \
    {                                                                                                                  \
        work w = {.type = (type_), .m = m, .n = n, .k = columns};                                                      \
        (void)buffer;                                                                                                  \
        return set_bytes(handle, &w, set_refined(&w, a, lda, b, ldb, x, ldx), bytes);                                  \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##letters##gels(cusolver_handle handle, int m, int n, int columns, void *a, int lda,      \
                                             void *b, int ldb, void *x, int ldx, void *buffer, size_t bytes,           \
                                             int *rounds, void *info)                                                  \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #letters "gels",                                                                \
                  .type = (type_),                                                                                     \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .k = columns,                                                                                        \
                  .info = info,                                                                                        \
                  .rounds = rounds,                                                                                    \
                  .buffer = buffer};                                                                                   \
        CHECK(handle, set_refined(&w, a, lda, b, ldb, x, ldx) && info && rounds && buffer &&                           \
                          bytes >= BUFFER_NUMBERS * vendor_number_size(type_));                                        \
        return solver_wait(handle, &w, run_gels);                                                                      \
    }
/* The first letter is the precision of the matrices. The second letter is the lowest precision that cuSOLVER uses. */
REFINED(DD, R_64F)
REFINED(DS, R_64F)
REFINED(DH, R_64F)
REFINED(DB, R_64F)
REFINED(DX, R_64F)
REFINED(SS, R_32F)
REFINED(SH, R_32F)
REFINED(SB, R_32F)
REFINED(SX, R_32F)
REFINED(ZZ, C_64F)
REFINED(ZC, C_64F)
REFINED(ZK, C_64F)
REFINED(ZE, C_64F)
REFINED(ZY, C_64F)
REFINED(CC, C_32F)
REFINED(CK, C_32F)
REFINED(CE, C_32F)
REFINED(CY, C_32F)
