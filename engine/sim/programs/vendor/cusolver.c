/* cusolver.c - libcusolver for the simulated device, over the host's LAPACK: handles, settings, and the work of a call.
 * cusolver_linear.c has factors and solutions, cusolver_values.c eigenvalues and singular values. The stand-in has only
 * the part for dense matrices (cusolverDn). cusolver_absent.c defines the names of the other parts.
 *
 * A function checks its arguments, packs them into a `work`, and enqueues the work (device.c). The work copies its
 * matrices for LAPACK, because LAPACK's kernels may read beyond the last element, and writes the results back. As in
 * cuSOLVER, several threads may use the same handle at the same time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cusolver_work.h"

/* ---- handles ---- */

VENDOR_API int cusolverDnCreate(cusolver_handle *handle)
{
    if (!handle)
        return INVALID_VALUE;
    *handle = NULL;
    if (!vendor_open_device(LIBRARY))
        return NOT_INITIALIZED;
    if (!vendor_find_lapack("dpotrf_")) {
        fprintf(stderr,
                "kiln: libcusolver needs a LAPACK of the host: install libopenblas0 (or liblapack3), or name one in "
                "$KILN_LAPACK\n");
        return NOT_INITIALIZED;
    }
    void *context = vendor_enter(NULL);
    if (!context)
        return NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    if (*handle) {
        (*handle)->context = context;
        (*handle)->deterministic = (*handle)->math = 1;
    }
    return *handle ? DONE : ALLOC_FAILED;
}

VENDOR_API int cusolverDnDestroy(cusolver_handle handle)
{
    free(handle);
    return handle ? DONE : NOT_INITIALIZED;
}

#define SETTING(name, field, type, valid)                                                                              \
    VENDOR_API int cusolverDnSet##name(cusolver_handle handle, type value)                                             \
    {                                                                                                                  \
        CHECK(handle, valid);                                                                                          \
        handle->field = value;                                                                                         \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusolverDnGet##name(cusolver_handle handle, type *value)                                            \
    {                                                                                                                  \
        CHECK(handle, value);                                                                                          \
        *value = handle->field;                                                                                        \
        return DONE;                                                                                                   \
    }
SETTING(Stream, stream, void *, true)
SETTING(DeterministicMode, deterministic, int, value == 1 || value == 2)
SETTING(MathMode, math, int, value == 1 || value == 2)

/* The version of the library in CUDA 12.6 and in CUDA 13.0. */
static const int version_parts[3] = {KILN_VENDOR_VERSION, KILN_VENDOR_VERSION == 11 ? 7 : 0,
                                     KILN_VENDOR_VERSION == 11 ? 1 : 4};

VENDOR_API int cusolverGetVersion(int *version)
{
    if (!version)
        return INVALID_VALUE;
    *version = version_parts[0] * 1000 + version_parts[1] * 100 + version_parts[2];
    return DONE;
}

VENDOR_API int cusolverGetProperty(int what, int *value)
{
    return vendor_version_part(version_parts, what, value) ? DONE : INVALID_VALUE;
}

/* cusolverDnParams_t. The parameters choose among algorithms of a GPU, which the stand-in lacks. */
typedef struct parameters {
    int algorithm;
} parameters;

VENDOR_API int cusolverDnCreateParams(parameters **to)
{
    if (!to)
        return INVALID_VALUE;
    *to = calloc(1, sizeof **to);
    return *to ? DONE : ALLOC_FAILED;
}

VENDOR_API int cusolverDnDestroyParams(parameters *p)
{
    free(p);
    return DONE;
}

VENDOR_API int cusolverDnSetAdvOptions(parameters *p, int function, int algorithm)
{
    if (!p || function < 0 || algorithm < 0)
        return INVALID_VALUE;
    p->algorithm = algorithm;
    return DONE;
}

/* ---- work ---- */

bool is_type(int type) { return type == R_32F || type == R_64F || type == C_32F || type == C_64F; }

int real_type(int type) { return vendor_part_type(type) < 0 ? type : vendor_part_type(type); }

bool is_matrix(const matrix *m)
{
    return fits(m->rows) && fits(m->columns) && m->ld >= leading(m) && m->ld <= INT32_MAX;
}

int solver_set_buffer(cusolver_handle handle, bool valid, int *numbers)
{
    CHECK(handle, valid && numbers);
    *numbers = BUFFER_NUMBERS;
    return DONE;
}

int solver_refuse_types(void)
{
    vendor_tell_missing(LIBRARY, "a matrix of this type, or different types in one call");
    return NOT_SUPPORTED;
}

int solver_set_buffers(cusolver_handle handle, bool valid, int type, size_t *on_device, size_t *on_host)
{
    CHECK(handle, valid && on_device && on_host);
    if (!is_type(type))
        return solver_refuse_types();
    *on_device = BUFFER_NUMBERS * vendor_number_size(type);
    *on_host = 0;
    return DONE;
}

typedef struct job {
    work w;
    bool (*function)(const work *);
} job;

/* Runs the function of a work. If the call takes working memory on the device, first checks that this memory exists. */
static bool run_job(const void *what)
{
    const job *j = what;
    return (!j->w.buffer || solver_reach(&j->w, j->w.buffer, BUFFER_NUMBERS, vendor_number_size(j->w.type), true)) &&
           j->function(&j->w);
}

/* Enqueues a work in the stream of the handle. If the host waits for the result, a graph cannot capture the call. */
static int enqueue(cusolver_handle handle, bool waits, const work *w, bool (*function)(const work *))
{
    job j = {.w = *w, .function = function};
    bool done = true;
    void *stream = handle->stream;
    if (!vendor_enter(handle->context))
        return EXECUTION_FAILED;
    const bool captured = vendor_is_capturing(stream);
    if (waits && captured) {
        vendor_tell_missing(LIBRARY, w->name); /* a graph cannot capture the call */
        return NOT_SUPPORTED;
    }
    if (captured)
        j.w.jacobi = NULL; /* a graph may run the work after the program has destroyed the object */
    return vendor_enqueue(stream, w->name, run_job, &j, sizeof j, &done) && done ? DONE : EXECUTION_FAILED;
}

int solver_enqueue(cusolver_handle handle, const work *w, bool (*function)(const work *))
{
    return enqueue(handle, false, w, function);
}

int solver_wait(cusolver_handle handle, const work *w, bool (*function)(const work *))
{
    return enqueue(handle, true, w, function);
}

/* ---- matrices ---- */

void *solver_reach(const work *w, const void *at, int64_t count, size_t size, bool write)
{
    enum { MOST = 8 };
    static char nothing[MOST]; /* a valid address for 0 numbers, which is never read or written */
    size_t bytes;
    if (count == 0)
        return nothing;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        (uintptr_t)at % (size < MOST ? size : MOST) != 0)
        return NULL;
    return vendor_reach(at, bytes, write, w->name);
}

/* Finds the host's pointer of one matrix of a batch. */
static char *reach_matrix(const work *w, const matrix *m, size_t size, int64_t index, bool write)
{
    const bool empty = m->rows == 0 || m->columns == 0;
    const int64_t count = empty ? 0 : (m->columns - 1) * m->ld + m->rows; /* each factor is below 2^31 */
    const void *at = (const void *)((uintptr_t)m->at + (uintptr_t)index * (uintptr_t)m->stride * size);
    if (w->lists && !empty) {
        void *const *list = solver_reach(w, m->at, w->batch, sizeof(void *), false);
        if (!list)
            return NULL;
        at = list[index];
    }
    return solver_reach(w, at, count, size, write);
}

void *solver_read(const work *w, const matrix *m, int type, int64_t index)
{
    enum { SLACK = 64 }; /* number of elements that LAPACK's kernels may read beyond the end */
    const size_t size = vendor_number_size(type), line = (size_t)m->rows * size;
    const char *from = reach_matrix(w, m, size, index, false);
    char *copy = from ? calloc(1, (size_t)m->columns * line + SLACK) : NULL;
    for (int64_t j = 0; copy && line && j < m->columns; j++)
        memcpy(copy + (size_t)j * line, from + (size_t)(j * m->ld) * size, line);
    return copy;
}

bool solver_write(const work *w, const matrix *m, int type, int64_t index, const void *copy)
{
    const size_t size = vendor_number_size(type), line = (size_t)m->rows * size;
    char *to = reach_matrix(w, m, size, index, true);
    for (int64_t j = 0; to && line && j < m->columns; j++)
        memcpy(to + (size_t)(j * m->ld) * size, (const char *)copy + (size_t)j * line, line);
    return to;
}

bool solver_write_info(const work *w, int64_t index, int info)
{
    int *to = solver_reach(w, w->info, index + 1, sizeof *to, true);
    if (to)
        to[index] = info;
    return to;
}

/* ---- LAPACK ---- */

bool solver_is_finite(int type, const void *numbers, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const vendor_number value = vendor_read_number(numbers, k, type);
        if (!isfinite(value.re) || !isfinite(value.im))
            return false;
    }
    return true;
}

vendor_function *solver_find(int type, const char *name, const char *complex_name)
{
    enum { MOST = 16 };
    char whole[MOST];
    const bool is_complex = vendor_part_type(type) >= 0;
    snprintf(whole, sizeof whole, "%c%s_",
             type == R_32F   ? 's'
             : type == R_64F ? 'd'
             : type == C_32F ? 'c'
                             : 'z',
             is_complex ? complex_name : name);
    vendor_function *found = vendor_find_lapack(whole);
    if (!found)
        vendor_tell_missing("the host's LAPACK", name);
    return found;
}

void *solver_buffer(int type, const void *query, int *count)
{
    enum { SLACK = 64 };
    const double wanted = vendor_read_number(query, 0, type).re;
    if (!(wanted >= 0 && wanted < INT32_MAX - SLACK))
        return NULL;
    *count = (int)wanted + SLACK; /* a float may have rounded the size down */
    return calloc((size_t)*count, vendor_number_size(type));
}
