/* cusolver_values.c - cuSOLVER's eigenvalues and singular values. NVIDIA's library computes some functions by Jacobi's
 * method or by polar decomposition. The stand-in computes the same results by LAPACK's methods. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cusolver_work.h"

static void start_jacobi(jacobi *p, bool batched)
{
    p->solved = p->measured = false;
    p->batched = batched;
}

/* Stores the residual of a call. `vectors` is true if the call computed vectors, which the residual needs. */
static void end_jacobi(jacobi *p, bool vectors, double residual)
{
    p->solved = true;
    p->measured = vectors;
    p->residual = residual;
}

/* ---- eigenvalues of symmetric and Hermitian matrices ---- */

/* Replaces `a` by the eigenvectors if w->job says so. Returns false if LAPACK cannot run. */
bool solver_call_syevd(const work *w, void *a, void *values, int *info)
{
    typedef void real_function(const char *, const char *, const int *, void *, const int *, void *, void *,
                               const int *, int *, const int *, int *, size_t, size_t);
    typedef void complex_function(const char *, const char *, const int *, void *, const int *, void *, void *,
                                  const int *, void *, const int *, int *, const int *, int *, size_t, size_t);
    vendor_function *found = solver_find(w->type, "syevd", "heevd");
    real_function *real = (real_function *)found;
    complex_function *complex = (complex_function *)found;
    const char *job = letter_of_job(w->job), *uplo = letter_of_fill(w->uplo);
    const int n = (int)w->n, ld = leading(&w->a);
    int count = BUFFER_QUERY, real_count = BUFFER_QUERY, integer_count = BUFFER_QUERY, integers = 0, *integer_room;
    double query[2] = {0}, real_query[2] = {0};
    void *room, *real_room;
    if (!found)
        return false;
    if (is_complex(w->type))
        complex(job, uplo, &n, a, &ld, values, query, &count, real_query, &real_count, &integers, &integer_count, info,
                1, 1);
    else
        real(job, uplo, &n, a, &ld, values, query, &count, &integers, &integer_count, info, 1, 1);
    integer_count = integers > 0 ? integers : 1;
    room = solver_buffer(w->type, query, &count);
    real_room = solver_buffer(real_type(w->type), real_query, &real_count);
    integer_room = calloc((size_t)integer_count, sizeof *integer_room);
    const bool done = room && real_room && integer_room;
    if (done && is_complex(w->type))
        complex(job, uplo, &n, a, &ld, values, room, &count, real_room, &real_count, integer_room, &integer_count, info,
                1, 1);
    else if (done)
        real(job, uplo, &n, a, &ld, values, room, &count, integer_room, &integer_count, info, 1, 1);
    free(room);
    free(real_room);
    free(integer_room);
    return done;
}

/* Returns the Frobenius norm of U^H A V - diag(s), where A has m x n numbers, and all matrices are stored without
 * gaps. */
static double measure_residual(int type, int64_t m, int64_t n, const void *a, const void *u, const void *s,
                               const void *v)
{
    const int64_t least = m < n ? m : n;
    double sum = 0;
    for (int64_t j = 0; j < least; j++) {
        vendor_number *column = calloc((size_t)m + 1, sizeof *column); /* A times column j of V */
        if (!column)
            return NAN;
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < m; i++)
                column[i] = vendor_add(column[i], vendor_multiply(vendor_read_number(a, k * m + i, type),
                                                                  vendor_read_number(v, j * n + k, type)));
        for (int64_t i = 0; i < least; i++) {
            vendor_number entry = {i == j ? -vendor_read(s, i, real_type(type)) : 0, 0};
            for (int64_t k = 0; k < m; k++)
                entry = vendor_add(
                    entry, vendor_multiply(vendor_conjugate(vendor_read_number(u, i * m + k, type)), column[k]));
            sum += entry.re * entry.re + entry.im * entry.im;
        }
        free(column);
    }
    return sqrt(sum);
}

/* Copies the triangle that LAPACK reads to the other triangle. */
static void fill_triangle(void *a, int64_t n, int uplo, int type)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            const int64_t upper = j * n + i, lower = i * n + j, from = uplo == FILL_UPPER ? upper : lower;
            vendor_number value = vendor_read_number(a, from, type);
            if (i == j)
                value.im = 0; /* the diagonal of a Hermitian matrix is real */
            vendor_write_number(a, from, type, value);
            vendor_write_number(a, uplo == FILL_UPPER ? lower : upper, type, vendor_conjugate(value));
        }
}

static bool run_syevd(const work *w)
{
    bool done = true;
    for (int64_t i = 0; done && i < w->batch; i++) {
        int info = 0;
        const bool measures = w->jacobi && !w->jacobi->batched && w->job == VECTORS;
        void *a = solver_read(w, &w->a, w->type, i), *before = measures && a ? solver_read(w, &w->a, w->type, i) : NULL,
             *values = a ? solver_read(w, &w->values, w->vector_type, i) : NULL;
        done = values && (before || !measures) && (w->n == 0 || solver_call_syevd(w, a, values, &info)) &&
               solver_write(w, &w->a, w->type, i, a) && solver_write(w, &w->values, w->vector_type, i, values) &&
               solver_write_info(w, i, info);
        if (done && measures)
            fill_triangle(before, w->n, w->uplo, w->type);
        if (done && w->jacobi)
            end_jacobi(w->jacobi, measures, measures ? measure_residual(w->type, w->n, w->n, before, a, values, a) : 0);
        free(a);
        free(before);
        free(values);
    }
    return done;
}

/* Checks the arguments, and enqueues the work. */
static int start_syevd(cusolver_handle handle, work *w, void *a, int64_t lda, void *values, bool area_fits)
{
    w->a = matrix_of(a, w->n, w->n, lda);
    w->values = vector_of(values, w->n);
    w->vector_type = real_type(w->type);
    CHECK(handle,
          w->info && is_two(w->job) && is_two(w->uplo) && is_matrix(&w->a) && w->batch >= 0 && w->buffer && area_fits);
    w->a.stride = lda * w->n; /* for the calls with a batch */
    w->values.stride = w->n;
    return is_type(w->type) ? solver_enqueue(handle, w, run_syevd) : solver_refuse_types();
}

#define EIGEN(X_, type_, letters)                                                                                      \
    VENDOR_API int cusolverDn##X_##letters##evd_bufferSize(cusolver_handle handle, int job, int uplo, int n,           \
                                                           const void *a, int lda, const void *values, int *numbers)   \
    {                                                                                                                  \
        const matrix m = matrix_of(a, n, n, lda);                                                                      \
        (void)values;                                                                                                  \
        return solver_set_buffer(handle, is_two(job) && is_two(uplo) && is_matrix(&m), numbers);                       \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##evd(cusolver_handle handle, int job, int uplo, int n, void *a, int lda,    \
                                                void *values, void *buffer, int numbers, void *info)                   \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ #letters "evd",                                                             \
                  .type = (type_),                                                                                     \
                  .job = job,                                                                                          \
                  .uplo = uplo,                                                                                        \
                  .n = n,                                                                                              \
                  .batch = 1,                                                                                          \
                  .info = info,                                                                                        \
                  .buffer = buffer};                                                                                   \
        return start_syevd(handle, &w, a, lda, values, numbers >= BUFFER_NUMBERS);                                     \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##evj_bufferSize(cusolver_handle handle, int job, int uplo, int n,           \
                                                           const void *a, int lda, const void *values, int *numbers,   \
                                                           const jacobi *parameters)                                   \
    {                                                                                                                  \
        const matrix m = matrix_of(a, n, n, lda);                                                                      \
        (void)values;                                                                                                  \
        return solver_set_buffer(handle, parameters && is_two(job) && is_two(uplo) && is_matrix(&m), numbers);         \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##evj(cusolver_handle handle, int job, int uplo, int n, void *a, int lda,    \
                                                void *values, void *buffer, int numbers, void *info,                   \
                                                jacobi *parameters)                                                    \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ #letters "evj",                                                             \
                  .type = (type_),                                                                                     \
                  .job = job,                                                                                          \
                  .uplo = uplo,                                                                                        \
                  .n = n,                                                                                              \
                  .batch = 1,                                                                                          \
                  .info = info,                                                                                        \
                  .buffer = buffer,                                                                                    \
                  .jacobi = parameters};                                                                               \
        CHECK(handle, parameters);                                                                                     \
        start_jacobi(parameters, false);                                                                               \
        return start_syevd(handle, &w, a, lda, values, numbers >= BUFFER_NUMBERS);                                     \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##evjBatched_bufferSize(cusolver_handle handle, int job, int uplo, int n,    \
                                                                  const void *a, int lda, const void *values,          \
                                                                  int *numbers, const jacobi *parameters, int batch)   \
    {                                                                                                                  \
        CHECK(handle, batch >= 0);                                                                                     \
        return cusolverDn##X_##letters##evj_bufferSize(handle, job, uplo, n, a, lda, values, numbers, parameters);     \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##evjBatched(cusolver_handle handle, int job, int uplo, int n, void *a,      \
                                                       int lda, void *values, void *buffer, int numbers, void *info,   \
                                                       jacobi *parameters, int batch)                                  \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ #letters "evjBatched",                                                      \
                  .type = (type_),                                                                                     \
                  .job = job,                                                                                          \
                  .uplo = uplo,                                                                                        \
                  .n = n,                                                                                              \
                  .batch = batch,                                                                                      \
                  .info = info,                                                                                        \
                  .buffer = buffer,                                                                                    \
                  .jacobi = parameters};                                                                               \
        CHECK(handle, parameters);                                                                                     \
        start_jacobi(parameters, true);                                                                                \
        return start_syevd(handle, &w, a, lda, values, numbers >= BUFFER_NUMBERS);                                     \
    }

/* ---- the parameters of Jacobi's method ---- */

static int create_jacobi(jacobi **to)
{
    enum { SWEEPS = 100 }; /* NVIDIA's default */
    if (!to)
        return INVALID_VALUE;
    *to = calloc(1, sizeof **to);
    if (*to)
        **to = (jacobi){.sweeps = SWEEPS, .sorts = 1};
    return *to ? DONE : ALLOC_FAILED;
}

/* The functions about the parameters. LAPACK's methods have no sweeps, so the number of sweeps is 0. The residual is
 * known only if the call computed vectors. */
#define JACOBI(Which, which)                                                                                           \
    VENDOR_API int cusolverDnCreate##Which##Info(jacobi **to) { return create_jacobi(to); }                            \
    VENDOR_API int cusolverDnDestroy##Which##Info(jacobi *p)                                                           \
    {                                                                                                                  \
        free(p);                                                                                                       \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusolverDnX##which##SetTolerance(jacobi *p, double tolerance)                                       \
    {                                                                                                                  \
        if (!p || !(tolerance >= 0))                                                                                   \
            return INVALID_VALUE;                                                                                      \
        p->tolerance = tolerance;                                                                                      \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusolverDnX##which##SetMaxSweeps(jacobi *p, int sweeps)                                             \
    {                                                                                                                  \
        if (!p || sweeps < 0)                                                                                          \
            return INVALID_VALUE;                                                                                      \
        p->sweeps = sweeps;                                                                                            \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusolverDnX##which##SetSortEig(jacobi *p, int sorts)                                                \
    {                                                                                                                  \
        if (!p)                                                                                                        \
            return INVALID_VALUE;                                                                                      \
        p->sorts = sorts != 0;                                                                                         \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusolverDnX##which##GetResidual(cusolver_handle handle, const jacobi *p, double *residual)          \
    {                                                                                                                  \
        CHECK(handle, p &&residual);                                                                                   \
        /* there is no residual, because the last call had no vectors or was a batch, or there was no call */          \
        if (!p->measured) {                                                                                            \
            vendor_tell_missing(LIBRARY, "the residual of a call without vectors");                                    \
            return NOT_SUPPORTED;                                                                                      \
        }                                                                                                              \
        *residual = p->residual;                                                                                       \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusolverDnX##which##GetSweeps(cusolver_handle handle, const jacobi *p, int *sweeps)                 \
    {                                                                                                                  \
        CHECK(handle, p &&sweeps);                                                                                     \
        if (p->batched || !p->solved)                                                                                  \
            return p->batched ? NOT_SUPPORTED : INVALID_VALUE;                                                         \
        *sweeps = 0;                                                                                                   \
        return DONE;                                                                                                   \
    }
JACOBI(Syevj, syevj)
JACOBI(Gesvdj, gesvdj)
EIGEN(S, R_32F, sy)
EIGEN(D, R_64F, sy)
EIGEN(C, C_32F, he)
EIGEN(Z, C_64F, he)

#define WIDE_EIGEN(which, batch_parameter, batch_)                                                                     \
    VENDOR_API int cusolverDnXsy##which##_bufferSize(cusolver_handle handle, const void *parameters, int job,          \
                                                     int uplo, int64_t n, int type, const void *a, int64_t lda,        \
                                                     int type_values, const void *values, int compute,                 \
                                                     size_t *on_device, size_t *on_host batch_parameter)               \
    {                                                                                                                  \
        const matrix m = matrix_of(a, n, n, lda);                                                                      \
        (void)parameters, (void)values;                                                                                \
        return solver_set_buffers(handle, is_two(job) && is_two(uplo) && is_matrix(&m) && (batch_) >= 0,               \
                                  type_of_call(type, type_values, compute), on_device, on_host);                       \
    }                                                                                                                  \
    VENDOR_API int cusolverDnXsy##which(cusolver_handle handle, const void *parameters, int job, int uplo, int64_t n,  \
                                        int type, void *a, int64_t lda, int type_values, void *values, int compute,    \
                                        AREAS, void *info batch_parameter)                                             \
    {                                                                                                                  \
        work w = {.name = "cusolverDnXsy" #which,                                                                      \
                  .type = type_of_call(type, type_values, compute),                                                    \
                  .job = job,                                                                                          \
                  .uplo = uplo,                                                                                        \
                  .n = n,                                                                                              \
                  .batch = (batch_),                                                                                   \
                  .info = info,                                                                                        \
                  .buffer = area};                                                                                     \
        (void)parameters, AREAS_UNUSED;                                                                                \
        return start_syevd(handle, &w, a, lda, values, AREA_FITS(type));                                               \
    }
#define NO_BATCH
#define A_BATCH , int64_t batch
WIDE_EIGEN(evd, NO_BATCH, 1)
WIDE_EIGEN(evBatched, A_BATCH, batch)

/* ---- generalised eigenvalues: A x = w B x, and the two other kinds ---- */

/* Uses LAPACK's sygv, without "divide and conquer": it gives the same results and needs less working memory. */
static bool run_sygvd(const work *w)
{
    typedef void real_function(const int *, const char *, const char *, const int *, void *, const int *, void *,
                               const int *, void *, void *, const int *, int *, size_t, size_t);
    typedef void complex_function(const int *, const char *, const char *, const int *, void *, const int *, void *,
                                  const int *, void *, void *, const int *, void *, int *, size_t, size_t);
    vendor_function *found = solver_find(w->type, "sygv", "hegv");
    const char *job = letter_of_job(w->job), *uplo = letter_of_fill(w->uplo);
    const int n = (int)w->n, ld_a = leading(&w->a), ld_b = leading(&w->b), kind = w->kind;
    int info = 0, count = BUFFER_QUERY;
    double query[2] = {0};
    void *a = found ? solver_read(w, &w->a, w->type, 0) : NULL, *b = a ? solver_read(w, &w->b, w->type, 0) : NULL,
         *values = b ? solver_read(w, &w->values, w->vector_type, 0) : NULL,
         *real_room = values ? calloc((size_t)(3 * w->n + 1), sizeof(double)) : NULL, *room = NULL;
    /* the first pass asks LAPACK for the size of its working memory */
    for (int pass = 0; real_room && n > 0 && pass < 2; pass++) {
        if (pass && !(room = solver_buffer(w->type, query, &count)))
            break;
        void *area = pass ? room : query;
        if (is_complex(w->type))
            ((complex_function *)found)(&kind, job, uplo, &n, a, &ld_a, b, &ld_b, values, area, &count, real_room,
                                        &info, 1, 1);
        else
            ((real_function *)found)(&kind, job, uplo, &n, a, &ld_a, b, &ld_b, values, area, &count, &info, 1, 1);
    }
    const bool done = real_room && (n == 0 || room) && solver_write(w, &w->a, w->type, 0, a) &&
                      solver_write(w, &w->b, w->type, 0, b) && solver_write(w, &w->values, w->vector_type, 0, values) &&
                      solver_write_info(w, 0, info);
    free(a);
    free(b);
    free(values);
    free(real_room);
    free(room);
    return done;
}

static bool set_sygvd(work *w, const void *a, int lda, const void *b, int ldb, const void *values)
{
    w->a = matrix_of(a, w->n, w->n, lda);
    w->b = matrix_of(b, w->n, w->n, ldb);
    w->values = vector_of(values, w->n);
    w->vector_type = real_type(w->type);
    return w->kind >= 1 && w->kind <= 3 && is_two(w->job) && is_two(w->uplo) && is_matrix(&w->a) && is_matrix(&w->b);
}

#define PENCIL(X_, type_, letters)                                                                                     \
    VENDOR_API int cusolverDn##X_##letters##gvd_bufferSize(cusolver_handle handle, int kind, int job, int uplo, int n, \
                                                           const void *a, int lda, const void *b, int ldb,             \
                                                           const void *values, int *numbers)                           \
    {                                                                                                                  \
        work w = {.type = (type_), .kind = kind, .job = job, .uplo = uplo, .n = n};                                    \
        return solver_set_buffer(handle, set_sygvd(&w, a, lda, b, ldb, values), numbers);                              \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##gvd(cusolver_handle handle, int kind, int job, int uplo, int n, void *a,   \
                                                int lda, void *b, int ldb, void *values, void *buffer, int numbers,    \
                                                void *info)                                                            \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ #letters "gvd",                                                             \
                  .type = (type_),                                                                                     \
                  .kind = kind,                                                                                        \
                  .job = job,                                                                                          \
                  .uplo = uplo,                                                                                        \
                  .n = n,                                                                                              \
                  .info = info,                                                                                        \
                  .buffer = buffer};                                                                                   \
        CHECK(handle, info &&set_sygvd(&w, a, lda, b, ldb, values) && buffer && numbers >= BUFFER_NUMBERS);            \
        return solver_enqueue(handle, &w, run_sygvd);                                                                  \
    }
PENCIL(S, R_32F, sy)
PENCIL(D, R_64F, sy)
PENCIL(C, C_32F, he)
PENCIL(Z, C_64F, he)

/* ---- singular values ---- */

bool solver_call_gesvd(const work *w, char job_u, char job_vt, void *a, void *s, void *u, int ld_u, void *vt, int ld_vt,
                       int *info)
{
    typedef void real_function(const char *, const char *, const int *, const int *, void *, const int *, void *,
                               void *, const int *, void *, const int *, void *, const int *, int *, size_t, size_t);
    typedef void complex_function(const char *, const char *, const int *, const int *, void *, const int *, void *,
                                  void *, const int *, void *, const int *, void *, const int *, void *, int *, size_t,
                                  size_t);
    vendor_function *found = solver_find(w->type, "gesvd", "gesvd");
    const int m = (int)w->m, n = (int)w->n, ld = leading(&w->a);
    const int64_t least = m < n ? m : n;
    int count = BUFFER_QUERY;
    double query[2] = {0}, nothing[2] = {0};
    if (!solver_is_finite(w->type, a, w->m * w->n)) {
        for (int64_t k = 0; k < least; k++)
            vendor_write(s, k, real_type(w->type), NAN);
        *info = (int)least;
        return true;
    }
    void *real_room = found ? calloc((size_t)(5 * least + 1), sizeof(double)) : NULL, *room = NULL;
    bool done = real_room;
    u = u ? u : nothing;
    vt = vt ? vt : nothing;
    for (int pass = 0; done && pass < 2; pass++) { /* the first pass asks LAPACK for the size of its working memory */
        if (pass && !(room = solver_buffer(w->type, query, &count))) {
            done = false;
            break;
        }
        void *area = pass ? room : query;
        if (is_complex(w->type))
            ((complex_function *)found)(&job_u, &job_vt, &m, &n, a, &ld, s, u, &ld_u, vt, &ld_vt, area, &count,
                                        real_room, info, 1, 1);
        else
            ((real_function *)found)(&job_u, &job_vt, &m, &n, a, &ld, s, u, &ld_u, vt, &ld_vt, area, &count, info, 1,
                                     1);
    }
    free(real_room);
    free(room);
    return done;
}

/* gesvd, where b is U and c is V^H. Copies of these matrices exist only for the jobs 'A' and 'S'. */
static bool run_gesvd(const work *w)
{
    const bool has_u = w->job_u == 'A' || w->job_u == 'S', has_vt = w->job_v == 'A' || w->job_v == 'S';
    int info = 0;
    void *a = solver_read(w, &w->a, w->type, 0), *s = a ? solver_read(w, &w->values, w->vector_type, 0) : NULL,
         *u = s && has_u ? solver_read(w, &w->b, w->type, 0) : NULL,
         *vt = s && has_vt ? solver_read(w, &w->c, w->type, 0) : NULL;
    const bool done = s && (u || !has_u) && (vt || !has_vt) &&
                      (w->n == 0 ||
                       solver_call_gesvd(w, w->job_u, w->job_v, a, s, u, leading(&w->b), vt, leading(&w->c), &info)) &&
                      solver_write(w, &w->a, w->type, 0, a) && solver_write(w, &w->values, w->vector_type, 0, s) &&
                      (!has_u || solver_write(w, &w->b, w->type, 0, u)) &&
                      (!has_vt || solver_write(w, &w->c, w->type, 0, vt)) && solver_write_info(w, 0, info);
    free(a);
    free(s);
    free(u);
    free(vt);
    return done;
}

static bool is_job(int job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; }

/* NVIDIA's gesvd needs at least as many rows as columns. */
static int start_gesvd(cusolver_handle handle, work *w, void *a, int64_t lda, void *s, void *u, int64_t ldu, void *vt,
                       int64_t ldvt, bool area_fits)
{
    w->a = matrix_of(a, w->m, w->n, lda);
    w->values = vector_of(s, w->n);
    w->b = matrix_of(u, w->m, w->job_u == 'A' ? w->m : w->n, ldu);
    w->c = matrix_of(vt, w->n, w->n, ldvt);
    w->vector_type = real_type(w->type);
    CHECK(handle, w->info && is_matrix(&w->a) && w->m >= w->n && is_job(w->job_u) && is_job(w->job_v) &&
                      !(w->job_u == 'O' && w->job_v == 'O') && w->buffer && area_fits &&
                      (w->job_u == 'N' || w->job_u == 'O' || is_matrix(&w->b)) &&
                      (w->job_v == 'N' || w->job_v == 'O' || is_matrix(&w->c)));
    return is_type(w->type) ? solver_enqueue(handle, w, run_gesvd) : solver_refuse_types();
}

/* gesvdj and gesvdp, where b is U and c is V. LAPACK returns V^H. A is overwritten. */
static bool run_jacobi(const work *w)
{
    bool done = true;
    for (int64_t i = 0; done && i < w->batch; i++) {
        const int64_t least = w->m < w->n ? w->m : w->n, u_columns = w->econ ? least : w->m,
                      v_columns = w->econ ? least : w->n;
        const int ld_vt = v_columns > 1 ? (int)v_columns : 1;
        const char job = w->job == VECTORS ? (w->econ ? 'S' : 'A') : 'N';
        int info = 0;
        void *a = solver_read(w, &w->a, w->type, i), *before = a ? solver_read(w, &w->a, w->type, i) : NULL,
             *s = before ? solver_read(w, &w->values, w->vector_type, i) : NULL,
             *u = s && job != 'N' ? solver_read(w, &w->b, w->type, i) : NULL,
             *v = s && job != 'N' ? solver_read(w, &w->c, w->type, i) : NULL,
             *vt = s ? calloc((job != 'N' ? (size_t)(v_columns * w->n) : 0) + 1, vendor_number_size(w->type)) : NULL;
        done = vt && (job == 'N' || (u && v));
        if (done && least > 0)
            done = solver_call_gesvd(w, job, job, a, s, u, leading(&w->b), vt, ld_vt, &info);
        else if (done && job != 'N') /* if there are no singular values, the vectors are the identity */
            for (int64_t k = 0; k < u_columns || k < v_columns; k++) {
                if (k < u_columns)
                    vendor_write_number(u, k * w->m + k, w->type, (vendor_number){1, 0});
                if (k < v_columns)
                    vendor_write_number(vt, k * ld_vt + k, w->type, (vendor_number){1, 0});
            }
        for (int64_t k = 0; done && job != 'N' && k < v_columns; k++)
            for (int64_t r = 0; r < w->n; r++)
                vendor_write_number(v, k * w->n + r, w->type,
                                    vendor_conjugate(vendor_read_number(vt, r * ld_vt + k, w->type)));
        done = done && solver_write(w, &w->values, w->vector_type, i, s) &&
               (job == 'N' || (solver_write(w, &w->b, w->type, i, u) && solver_write(w, &w->c, w->type, i, v))) &&
               solver_write_info(w, i, info);
        if (done && w->jacobi)
            end_jacobi(w->jacobi, job != 'N' && !w->jacobi->batched,
                       job != 'N' && !w->jacobi->batched ? measure_residual(w->type, w->m, w->n, before, u, s, v) : 0);
        free(a);
        free(before);
        free(s);
        free(u);
        free(v);
        free(vt);
    }
    return done;
}

/* Fills the matrices of gesvdj. Returns false if an argument is not valid. */
static bool set_jacobi(work *w, const void *a, int64_t lda, const void *s, const void *u, int64_t ldu, const void *v,
                       int64_t ldv)
{
    const int64_t least = w->m < w->n ? w->m : w->n;
    w->a = matrix_of(a, w->m, w->n, lda);
    w->values = vector_of(s, least);
    w->b = matrix_of(u, w->m, w->econ ? least : w->m, ldu);
    w->c = matrix_of(v, w->n, w->econ ? least : w->n, ldv);
    w->vector_type = real_type(w->type);
    if (!is_two(w->job) || !is_two(w->econ) || !is_matrix(&w->a) || w->batch < 0 ||
        (w->job == VECTORS && !(is_matrix(&w->b) && is_matrix(&w->c))))
        return false;
    w->a.stride = lda * w->n; /* for the calls with a batch */
    w->values.stride = least;
    w->b.stride = w->job == VECTORS ? ldu * w->m : 0;
    w->c.stride = w->job == VECTORS ? ldv * w->n : 0;
    return true;
}

enum { MOST_OF_BATCH = 32 }; /* limit of the rows and columns of a matrix of a batch, from NVIDIA's guide */

#define SINGULAR(X_, type_)                                                                                            \
    VENDOR_API int cusolverDn##X_##gesvd_bufferSize(cusolver_handle handle, int m, int n, int *numbers)                \
    {                                                                                                                  \
        return solver_set_buffer(handle, n >= 0 && m >= n, numbers);                                                   \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##gesvd(cusolver_handle handle, signed char job_u, signed char job_v, int m, int n,   \
                                         void *a, int lda, void *s, void *u, int ldu, void *vt, int ldvt,              \
                                         void *buffer, int numbers, void *real_buffer, void *info)                     \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ "gesvd",                                                                    \
                  .type = (type_),                                                                                     \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .job_u = (char)job_u,                                                                                \
                  .job_v = (char)job_v,                                                                                \
                  .info = info,                                                                                        \
                  .buffer = buffer};                                                                                   \
        (void)real_buffer; /* NVIDIA's method writes to it if it does not converge */                                  \
        return start_gesvd(handle, &w, a, lda, s, u, ldu, vt, ldvt, numbers >= BUFFER_NUMBERS);                        \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##gesvdj_bufferSize(cusolver_handle handle, int job, int econ, int m, int n,          \
                                                     const void *a, int lda, const void *s, const void *u, int ldu,    \
                                                     const void *v, int ldv, int *numbers, const jacobi *parameters)   \
    {                                                                                                                  \
        work w = {.type = (type_), .job = job, .econ = econ, .m = m, .n = n};                                          \
        return solver_set_buffer(handle, parameters && set_jacobi(&w, a, lda, s, u, ldu, v, ldv), numbers);            \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##gesvdj(cusolver_handle handle, int job, int econ, int m, int n, void *a, int lda,   \
                                          void *s, void *u, int ldu, void *v, int ldv, void *buffer, int numbers,      \
                                          void *info, jacobi *parameters)                                              \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ "gesvdj",                                                                   \
                  .type = (type_),                                                                                     \
                  .job = job,                                                                                          \
                  .econ = econ,                                                                                        \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .batch = 1,                                                                                          \
                  .info = info,                                                                                        \
                  .buffer = buffer,                                                                                    \
                  .jacobi = parameters};                                                                               \
        CHECK(handle,                                                                                                  \
              info &&parameters &&set_jacobi(&w, a, lda, s, u, ldu, v, ldv) && buffer && numbers >= BUFFER_NUMBERS);   \
        start_jacobi(parameters, false);                                                                               \
        return solver_enqueue(handle, &w, run_jacobi);                                                                 \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##gesvdjBatched_bufferSize(                                                           \
        cusolver_handle handle, int job, int m, int n, const void *a, int lda, const void *s, const void *u, int ldu,  \
        const void *v, int ldv, int *numbers, const jacobi *parameters, int batch)                                     \
    {                                                                                                                  \
        work w = {.type = (type_), .job = job, .m = m, .n = n, .batch = batch};                                        \
        return solver_set_buffer(handle,                                                                               \
                                 parameters && m <= MOST_OF_BATCH && n <= MOST_OF_BATCH &&                             \
                                     set_jacobi(&w, a, lda, s, u, ldu, v, ldv),                                        \
                                 numbers);                                                                             \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##gesvdjBatched(cusolver_handle handle, int job, int m, int n, void *a, int lda,      \
                                                 void *s, void *u, int ldu, void *v, int ldv, void *buffer,            \
                                                 int numbers, void *info, jacobi *parameters, int batch)               \
    {                                                                                                                  \
        work w = {.name = "cusolverDn" #X_ "gesvdjBatched",                                                            \
                  .type = (type_),                                                                                     \
                  .job = job,                                                                                          \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .batch = batch,                                                                                      \
                  .info = info,                                                                                        \
                  .buffer = buffer,                                                                                    \
                  .jacobi = parameters};                                                                               \
        CHECK(handle, info &&parameters &&m <= MOST_OF_BATCH && n <= MOST_OF_BATCH &&                                  \
                          set_jacobi(&w, a, lda, s, u, ldu, v, ldv) && buffer && numbers >= BUFFER_NUMBERS);           \
        start_jacobi(parameters, true);                                                                                \
        return solver_enqueue(handle, &w, run_jacobi);                                                                 \
    }
ALL_TYPES(SINGULAR)

VENDOR_API int cusolverDnXgesvd_bufferSize(cusolver_handle handle, const void *parameters, signed char job_u,
                                           signed char job_v, int64_t m, int64_t n, int type, const void *a,
                                           int64_t lda, int type_s, const void *s, int type_u, const void *u,
                                           int64_t ldu, int type_v, const void *vt, int64_t ldvt, int compute,
                                           size_t *on_device, size_t *on_host)
{
    const matrix whole = matrix_of(a, m, n, lda);
    (void)parameters, (void)s, (void)u, (void)ldu, (void)vt, (void)ldvt;
    return solver_set_buffers(handle, is_job(job_u) && is_job(job_v) && is_matrix(&whole) && m >= n,
                              type_u == type && type_v == type ? type_of_call(type, type_s, compute) : -1, on_device,
                              on_host);
}

VENDOR_API int cusolverDnXgesvd(cusolver_handle handle, const void *parameters, signed char job_u, signed char job_v,
                                int64_t m, int64_t n, int type, void *a, int64_t lda, int type_s, void *s, int type_u,
                                void *u, int64_t ldu, int type_v, void *vt, int64_t ldvt, int compute, AREAS,
                                void *info)
{
    work w = {.name = "cusolverDnXgesvd",
              .type = type_u == type && type_v == type ? type_of_call(type, type_s, compute) : -1,
              .m = m,
              .n = n,
              .job_u = (char)job_u,
              .job_v = (char)job_v,
              .info = info,
              .buffer = area};
    (void)parameters, AREAS_UNUSED;
    return start_gesvd(handle, &w, a, lda, s, u, ldu, vt, ldvt, AREA_FITS(type));
}

#define POLAR_PARAMETERS                                                                                               \
    cusolver_handle handle, const void *parameters, int job, int econ, int64_t m, int64_t n, int type, void *a,        \
        int64_t lda, int type_s, void *s, int type_u, void *u, int64_t ldu, int type_v, void *v, int64_t ldv,          \
        int compute

VENDOR_API int cusolverDnXgesvdp_bufferSize(POLAR_PARAMETERS, size_t *on_device, size_t *on_host)
{
    work w = {.type = type, .job = job, .econ = econ, .m = m, .n = n};
    (void)parameters;
    return solver_set_buffers(handle, set_jacobi(&w, a, lda, s, u, ldu, v, ldv),
                              type_u == type && type_v == type ? type_of_call(type, type_s, compute) : -1, on_device,
                              on_host);
}

/* NVIDIA's gesvdp may perturb the singular values, and returns the error that results. The stand-in does not perturb
 * them, so the error is 0. */
VENDOR_API int cusolverDnXgesvdp(POLAR_PARAMETERS, AREAS, void *info, double *error)
{
    work w = {.name = "cusolverDnXgesvdp",
              .type = type_u == type && type_v == type ? type_of_call(type, type_s, compute) : -1,
              .job = job,
              .econ = econ,
              .m = m,
              .n = n,
              .batch = 1,
              .info = info,
              .buffer = area};
    (void)parameters, AREAS_UNUSED;
    CHECK(handle, info && error && set_jacobi(&w, a, lda, s, u, ldu, v, ldv) && area && AREA_FITS(type));
    if (!is_type(w.type))
        return solver_refuse_types();
    *error = 0;
    return solver_enqueue(handle, &w, run_jacobi);
}
