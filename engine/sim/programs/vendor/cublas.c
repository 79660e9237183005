/* cublas.c - libcublas for the simulated device, over the host's BLAS: handles, settings, copies of vectors and
 * matrices, and the work of a call. The file cublas_vectors.c has levels 1 and 2, cublas_matrices.c has level 3, and
 * cublas_types.c has products of matrices with different types.
 *
 * A function of the library checks its arguments, packs them into a `work`, and enqueues the work (device.c). The work
 * finds the host's pointers of the matrices when it runs, because a graph may run it later. The host's BLAS rounds sums
 * in its own way, so they differ from the sums of a GPU in the last digits. As in cuBLAS, several threads may use the
 * same handle at the same time. If one thread changes a setting, the next calls of all threads use it.
 *
 * cublas_absent.c defines the functions that are not implemented. They return CUBLAS_STATUS_NOT_SUPPORTED. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas_work.h"

/* ---- handles ---- */

VENDOR_API int cublasCreate_v2(cublas_handle *handle)
{
    if (!handle)
        return INVALID_VALUE;
    *handle = NULL;
    if (!vendor_open_device(LIBRARY))
        return NOT_INITIALIZED;
    if (!vendor_find_blas("cblas_sgemm")) {
        fprintf(
            stderr,
            "kiln: libcublas needs a BLAS of the host: install libopenblas0 (or libblas3), or name one in $KILN_BLAS\n");
        return NOT_INITIALIZED;
    }
    void *context = vendor_enter(NULL);
    if (!context)
        return NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    if (*handle)
        (*handle)->context = context;
    return *handle ? DONE : ALLOC_FAILED;
}

VENDOR_API int cublasDestroy_v2(cublas_handle handle)
{
    free(handle);
    return handle ? DONE : NOT_INITIALIZED;
}

#define SETTING(name, field, type, valid)                                                                              \
    VENDOR_API int cublasSet##name(cublas_handle handle, type value)                                                   \
    {                                                                                                                  \
        if (!handle || !(valid))                                                                                       \
            return handle ? INVALID_VALUE : NOT_INITIALIZED;                                                           \
        handle->field = value;                                                                                         \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cublasGet##name(cublas_handle handle, type *value)                                                  \
    {                                                                                                                  \
        if (!handle || !value)                                                                                         \
            return handle ? INVALID_VALUE : NOT_INITIALIZED;                                                           \
        *value = handle->field;                                                                                        \
        return DONE;                                                                                                   \
    }
SETTING(Stream_v2, stream, void *, true)
SETTING(PointerMode_v2, pointers, int, is_two(value))
SETTING(AtomicsMode, atomics, int, is_two(value))
SETTING(MathMode, math, int, true)
SETTING(SmCountTarget, sms, int, value >= 0)

/* The function ignores the workspace, because the stand-in needs none. */
VENDOR_API int cublasSetWorkspace_v2(cublas_handle handle, void *workspace, size_t bytes)
{
    (void)workspace, (void)bytes;
    return handle ? DONE : NOT_INITIALIZED;
}

VENDOR_API int cublasGetVersion_v2(cublas_handle handle, int *version)
{
    (void)handle;
    if (!version)
        return INVALID_VALUE;
    *version = VERSION;
    return DONE;
}

VENDOR_API int cublasGetProperty(int what, int *value)
{
    return vendor_version_part((const int[]){KILN_VENDOR_VERSION, 0, 0}, what, value) ? DONE : INVALID_VALUE;
}

VENDOR_API size_t cublasGetCudartVersion(void) { return VERSION / 10000 * 1000; }

VENDOR_API const char *cublasGetStatusName(int status)
{
    switch (status) {
    case DONE: return "CUBLAS_STATUS_SUCCESS";
    case NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_UNKNOWN";
    }
}

VENDOR_API const char *cublasGetStatusString(int status)
{
    switch (status) {
    case DONE: return "success";
    case NOT_INITIALIZED: return "the library was not initialized";
    case ALLOC_FAILED: return "the resource allocation failed";
    case INVALID_VALUE: return "an invalid value was used as an argument";
    case EXECUTION_FAILED: return "the function failed to run";
    case NOT_SUPPORTED: return "the function is not supported";
    default: return "an internal operation failed";
    }
}

VENDOR_API int cublasLoggerConfigure(int on, int to_output, int to_errors, const char *file)
{
    (void)on, (void)to_output, (void)to_errors, (void)file;
    return DONE;
}
VENDOR_API int cublasSetLoggerCallback(void (*function)(const char *))
{
    (void)function;
    return DONE;
}

/* ---- copies of vectors and matrices between host and device ---- */

/* Copies `columns` columns of `rows` elements. A vector has one row of `columns` elements. */
static int copy_matrix(int64_t rows, int64_t columns, int64_t size, const void *from, int64_t from_ld, void *to,
                       int64_t to_ld, bool to_device, bool waits, void *stream)
{
    if (!vendor_open_device(LIBRARY))
        return NOT_INITIALIZED;
    if (rows < 0 || columns < 0 || size <= 0 || from_ld < rows || to_ld < rows || from_ld <= 0 || to_ld <= 0)
        return INVALID_VALUE;
    const vendor_box box = {.to = to,
                            .from = from,
                            .to_pitch = (size_t)(to_ld * size),
                            .from_pitch = (size_t)(from_ld * size),
                            .width = (size_t)(rows * size),
                            .height = (size_t)columns,
                            .to_device = to_device};
    return rows == 0 || columns == 0 || (vendor_enter(NULL) && vendor_copy(&box, waits, stream)) ? DONE
                                                                                                 : EXECUTION_FAILED;
}

#define COPIES(suffix, waits, parameter, stream)                                                                       \
    VENDOR_API int cublasSetMatrix##suffix(int rows, int columns, int size, const void *from, int from_ld, void *to,   \
                                           int to_ld parameter)                                                        \
    {                                                                                                                  \
        return copy_matrix(rows, columns, size, from, from_ld, to, to_ld, true, waits, stream);                        \
    }                                                                                                                  \
    VENDOR_API int cublasGetMatrix##suffix(int rows, int columns, int size, const void *from, int from_ld, void *to,   \
                                           int to_ld parameter)                                                        \
    {                                                                                                                  \
        return copy_matrix(rows, columns, size, from, from_ld, to, to_ld, false, waits, stream);                       \
    }                                                                                                                  \
    VENDOR_API int cublasSetVector##suffix(int n, int size, const void *from, int from_step, void *to,                 \
                                           int to_step parameter)                                                      \
    {                                                                                                                  \
        return copy_matrix(1, n, size, from, from_step, to, to_step, true, waits, stream);                             \
    }                                                                                                                  \
    VENDOR_API int cublasGetVector##suffix(int n, int size, const void *from, int from_step, void *to,                 \
                                           int to_step parameter)                                                      \
    {                                                                                                                  \
        return copy_matrix(1, n, size, from, from_step, to, to_step, false, waits, stream);                            \
    }
#define NO_STREAM
#define A_STREAM , void *stream
COPIES(, true, NO_STREAM, NULL)
COPIES(Async, false, A_STREAM, stream)

/* ---- work ---- */

/* Returns the number of bytes from the first to the last element of a matrix. If the number does not fit into a size_t,
 * returns SIZE_MAX, because no memory is so large. */
size_t blas_bytes(const matrix *m, size_t size)
{
    size_t elements, bytes;
    if (m->rows <= 0 || m->columns <= 0)
        return 0;
    return __builtin_mul_overflow((size_t)(m->columns - 1), (size_t)m->ld, &elements) ||
                   __builtin_add_overflow(elements, (size_t)m->rows, &elements) ||
                   __builtin_mul_overflow(elements, size, &bytes)
               ? SIZE_MAX
               : bytes;
}

bool blas_is_stored(const matrix *m)
{
    return m->rows >= 0 && m->columns >= 0 && m->ld >= (m->rows > 1 ? m->rows : 1) && m->ld <= INT32_MAX;
}

/* Returns true if a device address is aligned for elements of `size` bytes. The host pointer has the same alignment. */
static bool is_aligned(const void *at, size_t size)
{
    enum { MOST = 8 };
    return (uintptr_t)at % (size < MOST ? size : MOST) == 0;
}

void *blas_reach(const work *w, const matrix *m, size_t size, bool write)
{
    return is_aligned(m->at, size) ? vendor_reach(m->at, blas_bytes(m, size), write, w->name) : NULL;
}

/* Finds the host's pointer of one matrix of a batch. */
void *blas_reach_one(const work *w, const matrix *m, size_t size, int64_t index, bool write)
{
    matrix one = *m;
    if (w->lists) {
        void *const *list = is_aligned(m->at, sizeof(void *))
                                ? vendor_reach(m->at, (size_t)w->batch * sizeof(void *), false, w->name)
                                : NULL;
        one.at = list ? list[index] : NULL;
        return list ? blas_reach(w, &one, size, write) : NULL;
    }
    /* vendor_reach() checks this address before any use */
    one.at = (const void *)((uintptr_t)m->at + (uintptr_t)index * (uintptr_t)m->stride * size);
    return blas_reach(w, &one, size, write);
}

/* Returns a pointer to a scalar, which is in the work or in device memory. Returns NULL if the device memory does not
 * exist. */
const void *blas_scalar(const work *w, const void *at, const scalar *kept, size_t size)
{
    if (!w->device_scalars)
        return kept;
    return is_aligned(at, size) ? vendor_reach(at, size, false, w->name) : NULL;
}

static void take_scalar(bool on_device, const void *at, size_t size, const void **device, scalar *kept)
{
    *device = at;
    if (!on_device)
        memcpy(kept, at, size);
}

/* Fills alpha and beta, and enqueues the work. `alpha` and `beta` may be NULL for functions that have no such
 * scalars. */
int blas_enqueue(cublas_handle handle, work *w, const void *alpha, const void *beta, size_t size,
                 bool (*function)(const void *))
{
    bool done = true;
    void *stream = handle->stream;
    if (!vendor_enter(handle->context))
        return EXECUTION_FAILED;
    w->device_scalars = handle->pointers == POINTER_DEVICE;
    if (alpha)
        take_scalar(w->device_scalars, alpha, size, &w->alpha_at, &w->alpha);
    if (beta)
        take_scalar(w->device_scalars, beta, size, &w->beta_at, &w->beta);
    if (w->result && !w->device_scalars && vendor_is_capturing(stream))
        return NOT_SUPPORTED; /* the call must wait for its result, so a graph cannot capture it */
    if (!vendor_enqueue(stream, w->name, function, w, sizeof *w, &done))
        return EXECUTION_FAILED;
    return done ? DONE : EXECUTION_FAILED;
}

/* ---- vectors with a step between elements ---- */

/* A vector is a matrix of one row. `stride` of the matrix is the step of the vector. If the step is negative, the last
 * element comes first in memory. */
matrix blas_vector(const void *at, int64_t n, int64_t step)
{
    return (matrix){.at = at, .rows = n > 0, .columns = n, .ld = step < 0 ? -step : step, .stride = step};
}

static int64_t first_of(const matrix *v) { return v->stride < 0 ? (1 - v->columns) * v->stride : 0; }

/* Returns a copy of a vector, where the elements are contiguous. A copy is needed because some kernels of OpenBLAS read
 * beyond the last element of a vector with steps, where the simulated device's memory may end. Returns NULL if the
 * vector's memory does not exist, or if memory runs out. The caller frees the copy. */
void *blas_pack(const work *w, const matrix *v, size_t size)
{
    enum { SLACK = 64 };
    const char *from = blas_reach(w, v, size, false);
    char *copy = from ? malloc((size_t)v->columns * size + SLACK) : NULL;
    for (int64_t k = 0; copy && k < v->columns; k++)
        memcpy(copy + (size_t)k * size, from + (size_t)(first_of(v) + k * v->stride) * size, size);
    return copy;
}

/* Writes the elements of a copy back to the vector. Returns false if the vector's memory does not exist. */
bool blas_unpack(const work *w, const matrix *v, size_t size, const char *copy)
{
    char *to = blas_reach(w, v, size, true);
    for (int64_t k = 0; to && k < v->columns; k++)
        memcpy(to + (size_t)(first_of(v) + k * v->stride) * size, copy + (size_t)k * size, size);
    return to;
}

/* ---- products ---- */

/* Sets the shapes of the three matrices of C = alpha op(A) op(B) + beta C. Returns false if an argument is not
 * valid. */
bool blas_set_product(work *w, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                      const void *b, int64_t ldb, void *c, int64_t ldc)
{
    w->op_a = op_a;
    w->op_b = op_b;
    w->m = m;
    w->n = n;
    w->k = k;
    w->a = (matrix){.at = a, .rows = op_a == OP_N ? m : k, .columns = op_a == OP_N ? k : m, .ld = lda};
    w->b = (matrix){.at = b, .rows = op_b == OP_N ? k : n, .columns = op_b == OP_N ? n : k, .ld = ldb};
    w->c = (matrix){.at = c, .rows = m, .columns = n, .ld = ldc};
    return is_op(op_a) && is_op(op_b) && fits(m) && fits(n) && fits(k) && blas_is_stored(&w->a) &&
           blas_is_stored(&w->b) && blas_is_stored(&w->c);
}

void blas_set_strides(work *w, int64_t a, int64_t b, int64_t c, int64_t batch)
{
    w->a.stride = a;
    w->b.stride = b;
    w->c.stride = c;
    w->batch = batch;
}
