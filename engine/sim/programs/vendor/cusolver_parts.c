/* cusolver_parts.c - three functions of cuSOLVER. syevdx finds a range of the eigenvalues. geev finds eigenvalues of
 * matrices that are not symmetric. gesvda finds the largest singular values of a batch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cusolver_work.h"

/* ---- a range of the eigenvalues: LAPACK computes all eigenvalues, and the range moves to the front ---- */

static bool is_in_range(const work *w, int64_t place, double value)
{
    return w->range == RANGE_ALL      ? true
           : w->range == RANGE_PLACES ? place + 1 >= w->first && place + 1 <= w->last
                                      : value > w->low && value <= w->high;
}

static bool run_syevdx(const work *w)
{
    const int type = w->type, real = w->vector_type;
    const size_t line = (size_t)w->n * vendor_number_size(type);
    int64_t count = 0;
    int info = 0;
    char *a = solver_read(w, &w->a, type, 0);
    void *values = a ? solver_read(w, &w->values, real, 0) : NULL;
    bool done = values && (w->n == 0 || solver_call_syevd(w, a, values, &info));
    for (int64_t k = 0; done && info == 0 && k < w->n; k++) {
        const double value = vendor_read(values, k, real);
        if (!is_in_range(w, k, value))
            continue;
        vendor_write(values, count, real, value);
        if (w->job == VECTORS && k != count)
            memcpy(a + (size_t)count * line, a + (size_t)k * line, line);
        count++;
    }
    done = done && solver_write(w, &w->a, type, 0, a) && solver_write(w, &w->values, real, 0, values) &&
           solver_write_info(w, 0, info);
    if (w->wide_result)
        *(int64_t *)w->result = count;
    else
        *(int *)w->result = (int)count;
    free(a);
    free(values);
    return done;
}

/* Fills the matrices. Returns false if an argument is not valid. */
static bool set_syevdx(work *w, const void *a, int64_t lda, int64_t first, int64_t last, void *result,
                       const void *values)
{
    w->a = matrix_of(a, w->n, w->n, lda);
    w->values = vector_of(values, w->n);
    w->vector_type = real_type(w->type);
    w->result = result;
    const bool places = w->range == RANGE_PLACES;
    if (places) {
        w->first = fits(first) ? (int)first : 0;
        w->last = fits(last) ? (int)last : 0;
    }
    return w->range >= RANGE_ALL && w->range <= RANGE_VALUES && is_two(w->job) && is_two(w->uplo) && is_matrix(&w->a) &&
           result && (!places || w->n == 0 || (w->first >= 1 && w->first <= w->last && w->last <= w->n)) &&
           !(w->range == RANGE_VALUES && !(w->low < w->high));
}

#define RANGE_PARAMETERS(real)                                                                                         \
    cusolver_handle handle, int job, int range, int uplo, int n, void *a, int lda, real low, real high, int first,     \
        int last, int *found, void *values
#define RANGE_WORK(name_, type_)                                                                                       \
    {                                                                                                                  \
        .name = (name_), .type = (type_), .job = job, .range = range, .uplo = uplo, .n = n, .low = (double)low,        \
        .high = (double)high                                                                                           \
    }
#define RANGE(X_, type_, letters, real)                                                                                \
    VENDOR_API int cusolverDn##X_##letters##evdx_bufferSize(RANGE_PARAMETERS(real), int *numbers)                      \
    {                                                                                                                  \
        work w = RANGE_WORK(NULL, type_);                                                                              \
        return solver_set_buffer(handle, set_syevdx(&w, a, lda, first, last, found, values), numbers);                 \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##letters##evdx(RANGE_PARAMETERS(real), void *buffer, int numbers, void *info)        \
    {                                                                                                                  \
        work w = RANGE_WORK("cusolverDn" #X_ #letters "evdx", type_);                                                  \
        CHECK(handle,                                                                                                  \
              set_syevdx(&w, a, lda, first, last, found, values) && buffer && numbers >= BUFFER_NUMBERS && info);      \
        w.buffer = buffer;                                                                                             \
        w.info = info;                                                                                                 \
        return solver_wait(handle, &w, run_syevdx);                                                                    \
    }
RANGE(S, R_32F, sy, float)
RANGE(D, R_64F, sy, double)
RANGE(C, C_32F, he, float)
RANGE(Z, C_64F, he, double)

#define WIDE_RANGE                                                                                                     \
    cusolver_handle handle, const void *parameters, int job, int range, int uplo, int64_t n, int type, void *a,        \
        int64_t lda, const void *low, const void *high, int64_t first, int64_t last, int64_t *found, int type_values,  \
        void *values, int compute

/* Fills the work. `low` and `high` are in host memory and have the type of the eigenvalues. */
static bool set_wide(work *w, void *a, int64_t lda, const void *low, const void *high, int64_t first, int64_t last,
                     int64_t *found, void *values)
{
    const bool has_ends = w->range == RANGE_VALUES && low && high && is_type(w->type);
    w->low = has_ends ? vendor_read(low, 0, real_type(w->type)) : 0;
    w->high = has_ends ? vendor_read(high, 0, real_type(w->type)) : 0;
    w->wide_result = true;
    return (has_ends || w->range != RANGE_VALUES || !is_type(w->type)) &&
           set_syevdx(w, a, lda, first, last, found, values);
}

VENDOR_API int cusolverDnXsyevdx_bufferSize(WIDE_RANGE, size_t *on_device, size_t *on_host)
{
    work w = {.type = type_of_call(type, type_values, compute), .job = job, .range = range, .uplo = uplo, .n = n};
    (void)parameters;
    return solver_set_buffers(handle, set_wide(&w, a, lda, low, high, first, last, found, values), w.type, on_device,
                              on_host);
}

VENDOR_API int cusolverDnXsyevdx(WIDE_RANGE, AREAS, void *info)
{
    work w = {.name = "cusolverDnXsyevdx",
              .type = type_of_call(type, type_values, compute),
              .job = job,
              .range = range,
              .uplo = uplo,
              .n = n};
    (void)parameters, AREAS_UNUSED;
    CHECK(handle, set_wide(&w, a, lda, low, high, first, last, found, values) && area && AREA_FITS(type) && info);
    w.buffer = area;
    w.info = info;
    return is_type(w.type) ? solver_wait(handle, &w, run_syevdx) : solver_refuse_types();
}

/* ---- eigenvalues of any square matrix ---- */

/* LAPACK gives the eigenvalues of a real matrix as two vectors. `values` becomes the real parts and then the imaginary
 * parts, or complex numbers. b has the left vectors and c the right vectors, as LAPACK stores them. */
static bool run_geev(const work *w)
{
    typedef void real_function(const char *, const char *, const int *, void *, const int *, void *, void *, void *,
                               const int *, void *, const int *, void *, const int *, int *, size_t, size_t);
    typedef void complex_function(const char *, const char *, const int *, void *, const int *, void *, void *,
                                  const int *, void *, const int *, void *, const int *, void *, int *, size_t, size_t);
    vendor_function *found = solver_find(w->type, "geev", "geev");
    const char *job_l = w->job_u ? "V" : "N", *job_r = w->job_v ? "V" : "N";
    const int n = (int)w->n, ld = leading(&w->a), real = real_type(w->type);
    const int64_t parts = is_complex(w->type) ? 1 : 2;
    int info = 0, count = BUFFER_QUERY;
    double query[2] = {0};
    void *a = found ? solver_read(w, &w->a, w->type, 0) : NULL, *l = a ? solver_read(w, &w->b, w->type, 0) : NULL,
         *r = l ? solver_read(w, &w->c, w->type, 0) : NULL,
         *values = r ? solver_read(w, &w->values, w->vector_type, 0) : NULL,
         *found_values = values ? calloc((size_t)(parts * w->n) + 1, vendor_number_size(w->type)) : NULL,
         *real_room = found_values ? calloc((size_t)(2 * w->n) + 1, sizeof(double)) : NULL, *room = NULL;
    char *imaginary = found_values ? (char *)found_values + (size_t)w->n * vendor_number_size(w->type) : NULL;
    const bool finite = real_room && solver_is_finite(w->type, a, w->n * w->n);
    for (int64_t k = 0; real_room && !finite && k < parts * w->n; k++)
        vendor_write_number(found_values, k, w->type, (vendor_number){NAN, 0});
    if (!finite) /* LAPACK was not called, so no eigenvalue has converged */
        info = n;
    /* the first pass asks LAPACK for the size of its working memory */
    for (int pass = 0; finite && n > 0 && pass < 2; pass++) {
        if (pass && !(room = solver_buffer(w->type, query, &count)))
            break;
        void *area = pass ? room : query;
        if (is_complex(w->type))
            ((complex_function *)found)(job_l, job_r, &n, a, &ld, found_values, l, &ld, r, &ld, area, &count, real_room,
                                        &info, 1, 1);
        else
            ((real_function *)found)(job_l, job_r, &n, a, &ld, found_values, imaginary, l, &ld, r, &ld, area, &count,
                                     &info, 1, 1);
    }
    bool done = real_room && (n == 0 || room || !finite);
    for (int64_t k = 0; done && k < w->n; k++) {
        const vendor_number value = is_complex(w->type) ? vendor_read_number(found_values, k, w->type)
                                                        : (vendor_number){vendor_read(found_values, k, real),
                                                                          vendor_read(imaginary, k, real)};
        if (is_complex(w->vector_type)) {
            vendor_write_number(values, k, w->vector_type, value);
        } else {
            vendor_write(values, k, real, value.re);
            vendor_write(values, w->n + k, real, value.im);
        }
    }
    done = done && solver_write(w, &w->a, w->type, 0, a) && solver_write(w, &w->values, w->vector_type, 0, values) &&
           (!w->job_u || solver_write(w, &w->b, w->type, 0, l)) &&
           (!w->job_v || solver_write(w, &w->c, w->type, 0, r)) && solver_write_info(w, 0, info);
    free(a);
    free(l);
    free(r);
    free(values);
    free(found_values);
    free(real_room);
    free(room);
    return done;
}

#define GEEV_PARAMETERS                                                                                                \
    cusolver_handle handle, const void *parameters, int job_l, int job_r, int64_t n, int type, void *a, int64_t lda,   \
        int type_values, void *values, int type_l, void *l, int64_t ldl, int type_r, void *r, int64_t ldr, int compute

/* Fills the work. If vectors are not requested, their matrix has no columns, and its address is not used. */
static bool set_geev(work *w, int job_l, int job_r, const void *a, int64_t lda, const void *values, const void *l,
                     int64_t ldl, const void *r, int64_t ldr)
{
    if (!fits(w->n) || w->n > INT32_MAX / 2)
        return false;
    w->a = matrix_of(a, w->n, w->n, lda);
    w->values = vector_of(values, is_complex(w->vector_type) ? w->n : 2 * w->n);
    w->b = job_l == VECTORS ? matrix_of(l, w->n, w->n, ldl) : matrix_of(NULL, 0, 0, 1);
    w->c = job_r == VECTORS ? matrix_of(r, w->n, w->n, ldr) : matrix_of(NULL, 0, 0, 1);
    w->job_u = (char)job_l;
    w->job_v = (char)job_r;
    return is_two(job_l) && is_two(job_r) && is_matrix(&w->a) && is_matrix(&w->b) && is_matrix(&w->c);
}

/* Returns the type of the call, or -1 if its types do not fit. The eigenvalues of a real matrix may be two real vectors
 * or one complex vector. */
static int type_of_geev(int type, int values, int l, int r, int compute)
{
    const bool fit = is_type(type) && compute == type && l == type && r == type &&
                     (values == type || (vendor_part_type(values) == type));
    return fit ? type : -1;
}

VENDOR_API int cusolverDnXgeev_bufferSize(GEEV_PARAMETERS, size_t *on_device, size_t *on_host)
{
    work w = {.type = type_of_geev(type, type_values, type_l, type_r, compute), .vector_type = type_values, .n = n};
    (void)parameters;
    return solver_set_buffers(handle, set_geev(&w, job_l, job_r, a, lda, values, l, ldl, r, ldr), w.type, on_device,
                              on_host);
}

VENDOR_API int cusolverDnXgeev(GEEV_PARAMETERS, AREAS, void *info)
{
    work w = {.name = "cusolverDnXgeev",
              .type = type_of_geev(type, type_values, type_l, type_r, compute),
              .vector_type = type_values,
              .n = n,
              .info = info,
              .buffer = area};
    (void)parameters, AREAS_UNUSED;
    CHECK(handle, set_geev(&w, job_l, job_r, a, lda, values, l, ldl, r, ldr) && area && AREA_FITS(type) && info);
    return is_type(w.type) ? solver_enqueue(handle, &w, run_geev) : solver_refuse_types();
}

/* ---- the k largest singular values of each matrix of a batch ---- */

/* Returns the Frobenius norm of A - U S V^H, where S is the diagonal matrix of the first k singular values. V^H has
 * `least` rows. */
static double measure_rest(const work *w, const void *a, const void *u, const void *s, const void *vt, int64_t least)
{
    double sum = 0;
    for (int64_t j = 0; j < w->n; j++)
        for (int64_t i = 0; i < w->m; i++) {
            vendor_number rest = vendor_read_number(a, j * w->m + i, w->type);
            for (int64_t k = 0; k < w->k; k++) {
                const vendor_number value = {vendor_read(s, k, w->vector_type), 0};
                rest = vendor_subtract(
                    rest, vendor_multiply(vendor_multiply(vendor_read_number(u, k * w->m + i, w->type), value),
                                          vendor_read_number(vt, j * least + k, w->type)));
            }
            sum += rest.re * rest.re + rest.im * rest.im;
        }
    return sqrt(sum);
}

/* Computes the singular values and vectors. b is U, and c is V. */
static bool run_gesvda(const work *w)
{
    const int64_t least = w->n; /* the matrix has at least as many rows as columns */
    const size_t size = vendor_number_size(w->type);
    bool done = true;
    for (int64_t i = 0; done && i < w->batch; i++) {
        int info = 0;
        const matrix s_matrix = w->values;
        void *a = solver_read(w, &w->a, w->type, i), *before = a ? solver_read(w, &w->a, w->type, i) : NULL,
             *s = before ? calloc((size_t)least + 1, sizeof(double)) : NULL,
             *u = s ? calloc((size_t)(w->m * least) + 1, size) : NULL,
             *vt = u ? calloc((size_t)(least * w->n) + 1, size) : NULL,
             *v = vt ? calloc((size_t)(w->n * w->k) + 1, size) : NULL;
        const int ld_u = leading(&w->a), ld_vt = least > 1 ? (int)least : 1;
        done = v && (least == 0 || solver_call_gesvd(w, 'S', 'S', a, s, u, ld_u, vt, ld_vt, &info));
        for (int64_t k = 0; done && k < w->k; k++)
            for (int64_t r = 0; r < w->n; r++)
                vendor_write_number(v, k * w->n + r, w->type,
                                    vendor_conjugate(vendor_read_number(vt, r * least + k, w->type)));
        done = done && solver_write(w, &s_matrix, w->vector_type, i, s) &&
               (w->job == NO_VECTORS ||
                (solver_write(w, &w->b, w->type, i, u) && solver_write(w, &w->c, w->type, i, v))) &&
               solver_write_info(w, i, info);
        if (done && w->result && w->job == VECTORS)
            ((double *)w->result)[i] = measure_rest(w, before, u, s, vt, least);
        free(a);
        free(before);
        free(s);
        free(u);
        free(vt);
        free(v);
    }
    return done;
}

#define LARGEST_PARAMETERS                                                                                             \
    cusolver_handle handle, int job, int rank, int m, int n, const void *a, int lda, long long stride_a, void *s,      \
        long long stride_s, void *u, int ldu, long long stride_u, void *v, int ldv, long long stride_v

/* Fills the matrices. Returns false if an argument is not valid. */
static bool set_gesvda(work *w, int job, int rank, int m, int n, int batch)
{
    w->job = job;
    w->m = m;
    w->n = n;
    w->k = rank;
    w->batch = batch;
    w->a.rows = w->b.rows = m;
    w->a.columns = w->c.rows = n;
    w->b.columns = w->c.columns = w->values.rows = rank;
    w->values.columns = 1;
    w->values.ld = rank > 1 ? rank : 1;
    w->vector_type = real_type(w->type);
    return is_two(job) && n >= 0 && m >= n && rank >= 0 && rank <= n && batch >= 0 && is_matrix(&w->a) &&
           w->a.stride >= 0 && w->values.stride >= 0 &&
           (job == NO_VECTORS || (is_matrix(&w->b) && is_matrix(&w->c) && w->b.stride >= 0 && w->c.stride >= 0));
}

#define LARGEST_WORK(name_, type_)                                                                                     \
    {                                                                                                                  \
        .name = (name_), .type = (type_), .a = {.at = (void *)(uintptr_t)a, .ld = lda, .stride = stride_a},            \
        .values = {.at = s, .stride = stride_s}, .b = {.at = u, .ld = ldu, .stride = stride_u}, .c = {                 \
            .at = v,                                                                                                   \
            .ld = ldv,                                                                                                 \
            .stride = stride_v                                                                                         \
        }                                                                                                              \
    }
#define LARGEST(X_, type_)                                                                                             \
    VENDOR_API int cusolverDn##X_##gesvdaStridedBatched_bufferSize(LARGEST_PARAMETERS, int *numbers, int batch)        \
    {                                                                                                                  \
        work w = LARGEST_WORK(NULL, type_);                                                                            \
        return solver_set_buffer(handle, set_gesvda(&w, job, rank, m, n, batch), numbers);                             \
    }                                                                                                                  \
    VENDOR_API int cusolverDn##X_##gesvdaStridedBatched(LARGEST_PARAMETERS, void *buffer, int numbers, void *info,     \
                                                        double *rest, int batch)                                       \
    {                                                                                                                  \
        work w = LARGEST_WORK("cusolverDn" #X_ "gesvdaStridedBatched", type_);                                         \
        CHECK(handle, set_gesvda(&w, job, rank, m, n, batch) && buffer && numbers >= BUFFER_NUMBERS && info);          \
        w.buffer = buffer;                                                                                             \
        w.info = info;                                                                                                 \
        w.result = rest;                                                                                               \
        return rest ? solver_wait(handle, &w, run_gesvda) : solver_enqueue(handle, &w, run_gesvda);                    \
    }
ALL_TYPES(LARGEST)
