/* cublas.c - libcublas for the simulated device: handles, levels 1 to 3 and the products with types, over the host's BLAS.
 *
 * A function checks its arguments, packs them into a `work`, and enqueues the work (device.c). The work finds the host's
 * pointers of the matrices when it runs, because a graph may run it later. The host's BLAS rounds sums in its own way, so
 * they differ from the sums of a GPU in the last digits. Any thread may use a handle, if no two threads use one handle at once, as in cuBLAS.
 *
 * Names that are missing are in cublas_absent.c: they return CUBLAS_STATUS_NOT_SUPPORTED. */
#include "cublas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vendor.h"

#define LIBRARY "libcublas"

struct cublas_context {
    void *stream, *context; /* context: for threads that have none */
    int pointers, math, atomics, sms;
};

/* One matrix or vector: rows x columns, with `ld` elements from one column to the next. */
typedef struct matrix {
    const void *at;
    int64_t rows, columns, ld, stride; /* stride: elements from one matrix of a batch to the next */
} matrix;

typedef union scalar {
    float s;
    double d;
    complex8 c;
    complex16 z;
    int32_t i;
    uint16_t h;
} scalar;

/* All arguments of a call. Each function uses some. */
typedef struct work {
    const char *name;
    bool device_scalars; /* alpha and beta are addresses of the device */
    const void *alpha_at, *beta_at;
    scalar alpha, beta;
    int64_t m, n, k, batch;
    int op_a, op_b, side, uplo, diag;
    matrix a, b, c;
    bool lists; /* a, b and c are device addresses of lists of `batch` addresses */
    int type_a, type_b, type_c, compute, scale;
    void *result; /* host memory; or device memory, if device_scalars is set */
} work;

/* ---- handles ---- */

CUBLAS_API int cublasCreate_v2(cublas_handle *handle)
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

CUBLAS_API int cublasDestroy_v2(cublas_handle handle)
{
    free(handle);
    return handle ? DONE : NOT_INITIALIZED;
}

static bool is_two(int value) { return value == 0 || value == 1; }

#define SETTING(name, field, type, valid)                                                                              \
    CUBLAS_API int cublasSet##name(cublas_handle handle, type value)                                                   \
    {                                                                                                                  \
        if (!handle || !(valid))                                                                                       \
            return handle ? INVALID_VALUE : NOT_INITIALIZED;                                                           \
        handle->field = value;                                                                                         \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublasGet##name(cublas_handle handle, type *value)                                                  \
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

/* The stand-in needs no workspace. */
CUBLAS_API int cublasSetWorkspace_v2(cublas_handle handle, void *workspace, size_t bytes)
{
    (void)workspace, (void)bytes;
    return handle ? DONE : NOT_INITIALIZED;
}

CUBLAS_API int cublasGetVersion_v2(cublas_handle handle, int *version)
{
    (void)handle;
    if (!version)
        return INVALID_VALUE;
    *version = KILN_CUBLAS_VERSION;
    return DONE;
}

CUBLAS_API int cublasGetProperty(int what, int *value)
{
    const int parts[] = {KILN_CUBLAS_VERSION / 10000, KILN_CUBLAS_VERSION / 100 % 100, KILN_CUBLAS_VERSION % 100};
    if (!value || what < 0 || what > 2)
        return INVALID_VALUE;
    *value = parts[what];
    return DONE;
}

CUBLAS_API size_t cublasGetCudartVersion(void) { return KILN_CUBLAS_VERSION / 10000 * 1000; }

CUBLAS_API const char *cublasGetStatusName(int status)
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

CUBLAS_API const char *cublasGetStatusString(int status)
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

CUBLAS_API int cublasLoggerConfigure(int on, int to_output, int to_errors, const char *file)
{
    (void)on, (void)to_output, (void)to_errors, (void)file;
    return DONE;
}
CUBLAS_API int cublasSetLoggerCallback(void (*function)(const char *))
{
    (void)function;
    return DONE;
}

/* ---- copies of vectors and matrices between host and device ---- */

/* Copies `columns` pieces of `rows` elements; a vector is one row of `columns` elements. */
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
    CUBLAS_API int cublasSetMatrix##suffix(int rows, int columns, int size, const void *from, int from_ld, void *to,   \
                                           int to_ld parameter)                                                        \
    {                                                                                                                  \
        return copy_matrix(rows, columns, size, from, from_ld, to, to_ld, true, waits, stream);                        \
    }                                                                                                                  \
    CUBLAS_API int cublasGetMatrix##suffix(int rows, int columns, int size, const void *from, int from_ld, void *to,   \
                                           int to_ld parameter)                                                        \
    {                                                                                                                  \
        return copy_matrix(rows, columns, size, from, from_ld, to, to_ld, false, waits, stream);                       \
    }                                                                                                                  \
    CUBLAS_API int cublasSetVector##suffix(int n, int size, const void *from, int from_step, void *to,                 \
                                           int to_step parameter)                                                      \
    {                                                                                                                  \
        return copy_matrix(1, n, size, from, from_step, to, to_step, true, waits, stream);                             \
    }                                                                                                                  \
    CUBLAS_API int cublasGetVector##suffix(int n, int size, const void *from, int from_step, void *to,                 \
                                           int to_step parameter)                                                      \
    {                                                                                                                  \
        return copy_matrix(1, n, size, from, from_step, to, to_step, false, waits, stream);                            \
    }
#define NO_STREAM
#define A_STREAM , void *stream
COPIES(, true, NO_STREAM, NULL)
COPIES(Async, false, A_STREAM, stream)

/* ---- work ---- */

/* Returns the bytes from the first to the last element; SIZE_MAX, which no memory has, if the number is larger. */
static size_t bytes_of(const matrix *m, size_t size)
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

static bool is_stored(const matrix *m)
{
    return m->rows >= 0 && m->columns >= 0 && m->ld >= (m->rows > 1 ? m->rows : 1) && m->ld <= INT32_MAX;
}

static void *reach(const work *w, const matrix *m, size_t size, bool write)
{
    return vendor_reach(m->at, bytes_of(m, size), write, w->name);
}

/* Finds the host's pointer of one matrix of a batch. */
static void *reach_one(const work *w, const matrix *m, size_t size, int64_t index, bool write)
{
    matrix one = *m;
    if (w->lists) {
        void *const *list = vendor_reach(m->at, (size_t)w->batch * sizeof(void *), false, w->name);
        one.at = list ? list[index] : NULL;
        return list ? reach(w, &one, size, write) : NULL;
    }
    one.at = (const void *)((uintptr_t)m->at +
                            (uintptr_t)index * (uintptr_t)m->stride * size); /* checked when it is reached */
    return reach(w, &one, size, write);
}

/* Returns a scalar: from the work, or from the device's memory. NULL: it is not there. */
static const void *get_scalar(const work *w, const void *at, const scalar *kept, size_t size)
{
    return w->device_scalars ? vendor_reach(at, size, false, w->name) : kept;
}

static void take_scalar(const struct cublas_context *handle, const void *at, size_t size, const void **device,
                        scalar *kept)
{
    *device = at;
    if (handle->pointers == POINTER_HOST)
        memcpy(kept, at, size);
}

/* Fills alpha and beta, and enqueues the work. `alpha` and `beta` may be NULL for functions without them. */
static int enqueue(cublas_handle handle, work *w, const void *alpha, const void *beta, size_t size,
                   bool (*function)(const void *))
{
    bool done = true;
    if (!vendor_enter(handle->context))
        return EXECUTION_FAILED;
    w->device_scalars = handle->pointers == POINTER_DEVICE;
    if (alpha)
        take_scalar(handle, alpha, size, &w->alpha_at, &w->alpha);
    if (beta)
        take_scalar(handle, beta, size, &w->beta_at, &w->beta);
    if (w->result && !w->device_scalars && vendor_is_capturing(handle->stream))
        return NOT_SUPPORTED; /* the call must wait for its result */
    if (!vendor_enqueue(handle->stream, function, w, sizeof *w, &done))
        return EXECUTION_FAILED;
    return done ? DONE : EXECUTION_FAILED;
}

static int cblas_op(int op) { return CBLAS_N + op; }
static int cblas_uplo(int uplo) { return uplo == FILL_UPPER ? CBLAS_UPPER : CBLAS_LOWER; }
static int cblas_diag(int diag) { return diag == DIAG_UNIT ? CBLAS_UNIT : CBLAS_NON_UNIT; }
static int cblas_side(int side) { return side == SIDE_RIGHT ? CBLAS_RIGHT : CBLAS_LEFT; }
static bool is_op(int op) { return op >= OP_N && op <= OP_C; }
static bool fits(int64_t number) { return number >= 0 && number <= INT32_MAX; }

/* The function of the host's BLAS, or a return: the work fails, and its name is told. */
#define FIND(type, function, name)                                                                                     \
    type *function = (type *)vendor_find_blas(name);                                                                   \
    if (!function) {                                                                                                   \
        vendor_tell_missing("the host's BLAS", name);                                                                  \
        return false;                                                                                                  \
    }

/* ---- level 1 ---- */

/* A vector is a matrix of one row. `stride` keeps the step, which may be negative: the last element is then the first in
 * memory. */
static matrix vector(const void *at, int64_t n, int64_t step)
{
    return (matrix){.at = at, .rows = n > 0, .columns = n, .ld = step < 0 ? -step : step, .stride = step};
}

static int64_t first_of(const matrix *v) { return v->stride < 0 ? (1 - v->columns) * v->stride : 0; }

/* Returns a copy of a vector without steps. Some of OpenBLAS's kernels read behind the last element of a vector with steps, and
 * there the simulated device's memory may end. NULL: the vector is not there, or no memory is left. */
static void *pack(const work *w, const matrix *v, size_t size)
{
    enum { SLACK = 64 };
    const char *from = reach(w, v, size, false);
    char *copy = from ? malloc((size_t)v->columns * size + SLACK) : NULL;
    for (int64_t k = 0; copy && k < v->columns; k++)
        memcpy(copy + (size_t)k * size, from + (size_t)(first_of(v) + k * v->stride) * size, size);
    return copy;
}

/* Writes the copy of a vector back. */
static bool unpack(const work *w, const matrix *v, size_t size, const char *copy)
{
    char *to = reach(w, v, size, true);
    for (int64_t k = 0; to && k < v->columns; k++)
        memcpy(to + (size_t)(first_of(v) + k * v->stride) * size, copy + (size_t)k * size, size);
    return to;
}

/* X(prefix of cuBLAS, prefix of the host's BLAS, type, type of a real part, host's prefix of nrm2, letter of amax, scalars by value) */
#define REAL_TYPES(X) X(S, s, float, float, s) X(D, d, double, double, d)
#define COMPLEX_TYPES(X) X(C, c, complex8, float, sc) X(Z, z, complex16, double, dz)
#define ALL_TYPES(X) REAL_TYPES(X) COMPLEX_TYPES(X)

#define CHECK(handle, condition)                                                                                       \
    if (!(handle))                                                                                                     \
        return NOT_INITIALIZED;                                                                                        \
    if (!(condition))                                                                                                  \
    return INVALID_VALUE

/* Scalars: the real functions take them by value, and the complex ones by address. */
#define VALUE_S(p) *(const float *)(p)
#define VALUE_D(p) *(const double *)(p)
#define VALUE_C(p) (p)
#define VALUE_Z(p) (p)
#define PASS_S float
#define PASS_D double
#define PASS_C const void *
#define PASS_Z const void *

#define LEVEL_1(X_, x_, type, real, norm)                                                                              \
    static bool run_##x_##axpy(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(type));                                       \
        typedef void function(int, PASS_##X_, const void *, int, void *, int);                                         \
        FIND(function, axpy, "cblas_" #x_ "axpy")                                                                      \
        type *x = pack(w, &w->a, sizeof(type)), *y = pack(w, &w->b, sizeof(type));                                     \
        bool done = alpha && x && y;                                                                                   \
        if (done) {                                                                                                    \
            axpy((int)w->n, VALUE_##X_(alpha), x, 1, y, 1);                                                            \
            done = unpack(w, &w->b, sizeof(type), (char *)y);                                                          \
        }                                                                                                              \
        free(x);                                                                                                       \
        free(y);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##axpy_v2(cublas_handle handle, int n, const type *alpha, const type *x, int dx, type *y, \
                                       int dy)                                                                         \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "axpy", .n = n, .a = vector(x, n, dx), .b = vector(y, n, dy)};                  \
        CHECK(handle, alpha && (dy != 0 || n <= 1));                                                                   \
        return n <= 0 ? DONE : enqueue(handle, &w, alpha, NULL, sizeof *alpha, run_##x_##axpy);                        \
    }                                                                                                                  \
    static bool run_##x_##scal(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(type));                                       \
        typedef void function(int, PASS_##X_, void *, int);                                                            \
        FIND(function, scal, "cblas_" #x_ "scal")                                                                      \
        type *x = pack(w, &w->a, sizeof(type));                                                                        \
        bool done = alpha && x;                                                                                        \
        if (done) {                                                                                                    \
            scal((int)w->n, VALUE_##X_(alpha), x, 1);                                                                  \
            done = unpack(w, &w->a, sizeof(type), (char *)x);                                                          \
        }                                                                                                              \
        free(x);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##scal_v2(cublas_handle handle, int n, const type *alpha, type *x, int dx)                \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "scal", .n = n, .a = vector(x, n, dx)};                                         \
        CHECK(handle, alpha);                                                                                          \
        return n <= 0 || dx <= 0 ? DONE : enqueue(handle, &w, alpha, NULL, sizeof *alpha, run_##x_##scal);             \
    }                                                                                                                  \
    /* Copies x to y, and with w->m also y to x. */                                                                    \
    static bool run_##x_##copy(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        type *x = pack(w, &w->a, sizeof(type)), *y = w->m ? pack(w, &w->b, sizeof(type)) : NULL;                       \
        const bool done = x && (y || !w->m) && unpack(w, &w->b, sizeof(type), (char *)x) &&                            \
                          (!w->m || unpack(w, &w->a, sizeof(type), (char *)y));                                        \
        free(x);                                                                                                       \
        free(y);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##copy_v2(cublas_handle handle, int n, const type *x, int dx, type *y, int dy)            \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "copy", .n = n, .a = vector(x, n, dx), .b = vector(y, n, dy)};                  \
        CHECK(handle, true);                                                                                           \
        return n <= 0 ? DONE : enqueue(handle, &w, NULL, NULL, 0, run_##x_##copy);                                     \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##swap_v2(cublas_handle handle, int n, type *x, int dx, type *y, int dy)                  \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "swap", .n = n, .m = 1, .a = vector(x, n, dx), .b = vector(y, n, dy)};          \
        CHECK(handle, true);                                                                                           \
        return n <= 0 ? DONE : enqueue(handle, &w, NULL, NULL, 0, run_##x_##copy);                                     \
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

/* nrm2 and asum: one real number of one vector. */
#define NORM(X_, x_, type, real, norm, which)                                                                          \
    static bool run_##x_##which(const void *what)                                                                      \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        real value = 0;                                                                                                \
        typedef real function(int, const void *, int);                                                                 \
        FIND(function, sum, "cblas_" #norm #which)                                                                     \
        if (w->n > 0 && w->m > 0) {                                                                                    \
            type *x = pack(w, &w->a, sizeof(type));                                                                    \
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
    CUBLAS_API int cublas##call##_v2(cublas_handle handle, int n, const type *x, int dx, real *result)                 \
    {                                                                                                                  \
        work w = {.name = "cublas" #call, .n = n, .m = dx, .a = vector(x, n, dx), .result = result};                   \
        CHECK(handle, result);                                                                                         \
        return enqueue(handle, &w, NULL, NULL, 0, run_##x_##which);                                                    \
    }
NORM_CALL(Snrm2, s, float, float, nrm2)
NORM_CALL(Dnrm2, d, double, double, nrm2)
NORM_CALL(Scnrm2, c, complex8, float, nrm2)
NORM_CALL(Dznrm2, z, complex16, double, nrm2)
NORM_CALL(Sasum, s, float, float, asum)
NORM_CALL(Dasum, d, double, double, asum)
NORM_CALL(Scasum, c, complex8, float, asum)
NORM_CALL(Dzasum, z, complex16, double, asum)

/* Returns the place of the element of the largest or smallest size, counted from 1, or 0 for an empty vector. A complex number counts by the sum of
 * its parts' sizes, as in BLAS. The first of equal ones wins. */
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
            const type *x = reach(w, &w->a, sizeof(type), false);                                                      \
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
    CUBLAS_API int cublasI##x_##amax_v2(cublas_handle handle, int n, const type *x, int dx, int *result)               \
    {                                                                                                                  \
        work w = {.name = "cublasI" #x_ "amax", .n = n, .m = dx, .k = 1, .a = vector(x, n, dx), .result = result};     \
        CHECK(handle, result);                                                                                         \
        return enqueue(handle, &w, NULL, NULL, 0, run_i##x_##extreme);                                                 \
    }                                                                                                                  \
    CUBLAS_API int cublasI##x_##amin_v2(cublas_handle handle, int n, const type *x, int dx, int *result)               \
    {                                                                                                                  \
        work w = {.name = "cublasI" #x_ "amin", .n = n, .m = dx, .a = vector(x, n, dx), .result = result};             \
        CHECK(handle, result);                                                                                         \
        return enqueue(handle, &w, NULL, NULL, 0, run_i##x_##extreme);                                                 \
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
            type *x = pack(w, &w->a, sizeof(type)), *y = pack(w, &w->b, sizeof(type));                                 \
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
    CUBLAS_API int cublas##X_##dot_v2(cublas_handle handle, int n, const type *x, int dx, const type *y, int dy,       \
                                      type *result)                                                                    \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "dot", .n = n, .a = vector(x, n, dx), .b = vector(y, n, dy), .result = result}; \
        CHECK(handle, result);                                                                                         \
        return enqueue(handle, &w, NULL, NULL, 0, run_##x_##dot);                                                      \
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
            type *x = pack(w, &w->a, sizeof(type)), *y = pack(w, &w->b, sizeof(type));                                 \
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
    CUBLAS_API int cublas##X_##which##_v2(cublas_handle handle, int n, const type *x, int dx, const type *y, int dy,   \
                                          type *result)                                                                \
    {                                                                                                                  \
        work w = {                                                                                                     \
            .name = "cublas" #X_ #which, .n = n, .a = vector(x, n, dx), .b = vector(y, n, dy), .result = result};      \
        CHECK(handle, result);                                                                                         \
        return enqueue(handle, &w, NULL, NULL, 0, run_##x_##which);                                                    \
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
        const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(type)),                                       \
                   *beta = get_scalar(w, w->beta_at, &w->beta, sizeof(type));                                          \
        const type *a = reach(w, &w->a, sizeof(type), false);                                                          \
        typedef void function(int, int, int, int, PASS_##X_, const void *, int, const void *, int, PASS_##X_, void *,  \
                              int);                                                                                    \
        FIND(function, gemv, "cblas_" #x_ "gemv")                                                                      \
        type *x = pack(w, &w->b, sizeof(type)), *y = pack(w, &w->c, sizeof(type));                                     \
        bool done = alpha && beta && a && x && y;                                                                      \
        if (done) {                                                                                                    \
            gemv(CBLAS_COLUMNS, cblas_op(w->op_a), (int)w->m, (int)w->n, VALUE_##X_(alpha), a, (int)w->a.ld, x, 1,     \
                 VALUE_##X_(beta), y, 1);                                                                              \
            done = unpack(w, &w->c, sizeof(type), (char *)y);                                                          \
        }                                                                                                              \
        free(x);                                                                                                       \
        free(y);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##gemv_v2(cublas_handle handle, int op, int m, int n, const type *alpha, const type *a,   \
                                       int lda, const type *x, int dx, const type *beta, type *y, int dy)              \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "gemv",                                                                         \
                  .op_a = op,                                                                                          \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .a = {.at = a, .rows = m, .columns = n, .ld = lda},                                                  \
                  .b = vector(x, op == OP_N ? n : m, dx),                                                              \
                  .c = vector(y, op == OP_N ? m : n, dy)};                                                             \
        CHECK(handle, alpha &&beta &&is_op(op) && is_stored(&w.a) && dx && dy);                                        \
        return m == 0 || n == 0 ? DONE : enqueue(handle, &w, alpha, beta, sizeof *alpha, run_##x_##gemv);              \
    }                                                                                                                  \
    static bool run_##x_##trmv(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const type *a = reach(w, &w->a, sizeof(type), false);                                                          \
        typedef void function(int, int, int, int, int, const void *, int, void *, int);                                \
        FIND(function, multiply, "cblas_" #x_ "trmv")                                                                  \
        FIND(function, solve, "cblas_" #x_ "trsv")                                                                     \
        type *x = pack(w, &w->b, sizeof(type));                                                                        \
        bool done = a && x;                                                                                            \
        if (done) {                                                                                                    \
            (w->m ? solve : multiply)(CBLAS_COLUMNS, cblas_uplo(w->uplo), cblas_op(w->op_a), cblas_diag(w->diag),      \
                                      (int)w->n, a, (int)w->a.ld, x, 1);                                               \
            done = unpack(w, &w->b, sizeof(type), (char *)x);                                                          \
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
                  .b = vector(x, n, dx)};                                                                              \
        CHECK(handle, is_two(uplo) && is_op(op) && is_two(diag) && is_stored(&w.a) && dx);                             \
        return n == 0 ? DONE : enqueue(handle, &w, NULL, NULL, 0, run_##x_##trmv);                                     \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##trmv_v2(cublas_handle handle, int uplo, int op, int diag, int n, const type *a,         \
                                       int lda, type *x, int dx)                                                       \
    {                                                                                                                  \
        return triangular_##x_(handle, "cublas" #X_ "trmv", false, uplo, op, diag, n, a, lda, x, dx);                  \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##trsv_v2(cublas_handle handle, int uplo, int op, int diag, int n, const type *a,         \
                                       int lda, type *x, int dx)                                                       \
    {                                                                                                                  \
        return triangular_##x_(handle, "cublas" #X_ "trsv", true, uplo, op, diag, n, a, lda, x, dx);                   \
    }
ALL_TYPES(LEVEL_2)

/* Rank-1 updates: ger of the real types, geru and gerc of the complex ones. */
#define GER(X_, x_, type, which)                                                                                       \
    static bool run_##x_##which(const void *what)                                                                      \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(type));                                       \
        type *a = reach(w, &w->a, sizeof(type), true);                                                                 \
        typedef void function(int, int, int, PASS_##X_, const void *, int, const void *, int, void *, int);            \
        FIND(function, ger, "cblas_" #x_ #which)                                                                       \
        type *x = pack(w, &w->b, sizeof(type)), *y = pack(w, &w->c, sizeof(type));                                     \
        const bool done = alpha && a && x && y;                                                                        \
        if (done)                                                                                                      \
            ger(CBLAS_COLUMNS, (int)w->m, (int)w->n, VALUE_##X_(alpha), x, 1, y, 1, a, (int)w->a.ld);                  \
        free(x);                                                                                                       \
        free(y);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##which##_v2(cublas_handle handle, int m, int n, const type *alpha, const type *x,        \
                                          int dx, const type *y, int dy, type *a, int lda)                             \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ #which,                                                                         \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .a = {.at = a, .rows = m, .columns = n, .ld = lda},                                                  \
                  .b = vector(x, m, dx),                                                                               \
                  .c = vector(y, n, dy)};                                                                              \
        CHECK(handle, alpha &&is_stored(&w.a) && dx && dy);                                                            \
        return m == 0 || n == 0 ? DONE : enqueue(handle, &w, alpha, NULL, sizeof *alpha, run_##x_##which);             \
    }
GER(S, s, float, ger)
GER(D, d, double, ger)
GER(C, c, complex8, geru)
GER(C, c, complex8, gerc)
GER(Z, z, complex16, geru)
GER(Z, z, complex16, gerc)

/* ---- level 3 ---- */

/* Sets the shapes of the three matrices of C = alpha op(A) op(B) + beta C. Returns false if an argument is not valid. */
static bool set_product(work *w, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
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
    return is_op(op_a) && is_op(op_b) && fits(m) && fits(n) && fits(k) && is_stored(&w->a) && is_stored(&w->b) &&
           is_stored(&w->c);
}

static void set_strides(work *w, int64_t a, int64_t b, int64_t c, int64_t batch)
{
    w->a.stride = a;
    w->b.stride = b;
    w->c.stride = c;
    w->batch = batch;
}

#define GEMM(X_, x_, type, real, norm)                                                                                 \
    static bool run_##x_##gemm(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(type)),                                       \
                   *beta = get_scalar(w, w->beta_at, &w->beta, sizeof(type));                                          \
        typedef void function(int, int, int, int, int, int, PASS_##X_, const void *, int, const void *, int,           \
                              PASS_##X_, void *, int);                                                                 \
        FIND(function, gemm, "cblas_" #x_ "gemm")                                                                      \
        for (int64_t i = 0; i < w->batch; i++) {                                                                       \
            const type *a = reach_one(w, &w->a, sizeof(type), i, false),                                               \
                       *b = reach_one(w, &w->b, sizeof(type), i, false);                                               \
            type *c = reach_one(w, &w->c, sizeof(type), i, true);                                                      \
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
                   : enqueue(handle, w, alpha, beta, sizeof *alpha, run_##x_##gemm);                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##gemm_v2_64(cublas_handle handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k,   \
                                          const type *alpha, const type *a, int64_t lda, const type *b, int64_t ldb,   \
                                          const type *beta, type *c, int64_t ldc)                                      \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "gemm"};                                                                        \
        const bool valid = set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);                               \
        set_strides(&w, 0, 0, 0, 1);                                                                                   \
        return product_##x_(handle, &w, valid, alpha, beta);                                                           \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##gemm_v2(cublas_handle handle, int op_a, int op_b, int m, int n, int k,                  \
                                       const type *alpha, const type *a, int lda, const type *b, int ldb,              \
                                       const type *beta, type *c, int ldc)                                             \
    {                                                                                                                  \
        return cublas##X_##gemm_v2_64(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);               \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##gemmStridedBatched(cublas_handle handle, int op_a, int op_b, int m, int n, int k,       \
                                                  const type *alpha, const type *a, int lda, long long stride_a,       \
                                                  const type *b, int ldb, long long stride_b, const type *beta,        \
                                                  type *c, int ldc, long long stride_c, int batch)                     \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "gemmStridedBatched"};                                                          \
        const bool valid = set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);                               \
        set_strides(&w, stride_a, stride_b, stride_c, batch);                                                          \
        return product_##x_(handle, &w, valid, alpha, beta);                                                           \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##gemmBatched(cublas_handle handle, int op_a, int op_b, int m, int n, int k,              \
                                           const type *alpha, const type *const a[], int lda, const type *const b[],   \
                                           int ldb, const type *beta, type *const c[], int ldc, int batch)             \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "gemmBatched", .lists = true};                                                  \
        const bool valid = set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, (void *)(uintptr_t)c, ldc);            \
        w.batch = batch;                                                                                               \
        return product_##x_(handle, &w, valid, alpha, beta);                                                           \
    }
ALL_TYPES(GEMM)

/* Rank-k updates: C = alpha op(A) op(A)^T + beta C. `scalar_` is the type of alpha and beta, `pass` how the host's BLAS takes
 * them. `refused` is an operation that the update does not have, or NO_OP. */
#define SYRK(X_, x_, type, which, scalar_, pass, value, refused)                                                       \
    static bool run_##x_##which(const void *what)                                                                      \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(scalar_)),                                    \
                   *beta = get_scalar(w, w->beta_at, &w->beta, sizeof(scalar_));                                       \
        const type *a = reach(w, &w->a, sizeof(type), false);                                                          \
        type *c = reach(w, &w->c, sizeof(type), true);                                                                 \
        typedef void function(int, int, int, int, int, pass, const void *, int, pass, void *, int);                    \
        FIND(function, syrk, "cblas_" #x_ #which)                                                                      \
        if (!alpha || !beta || !c || (w->k > 0 && !a))                                                                 \
            return false;                                                                                              \
        syrk(CBLAS_COLUMNS, cblas_uplo(w->uplo), cblas_op(w->op_a), (int)w->n, (int)w->k, value(alpha), a,             \
             (int)w->a.ld, value(beta), c, (int)w->c.ld);                                                              \
        return true;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##which##_v2(cublas_handle handle, int uplo, int op, int n, int k, const scalar_ *alpha,  \
                                          const type *a, int lda, const scalar_ *beta, type *c, int ldc)               \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ #which,                                                                         \
                  .uplo = uplo,                                                                                        \
                  .op_a = op,                                                                                          \
                  .n = n,                                                                                              \
                  .k = k,                                                                                              \
                  .a = {.at = a, .rows = op == OP_N ? n : k, .columns = op == OP_N ? k : n, .ld = lda},                \
                  .c = {.at = c, .rows = n, .columns = n, .ld = ldc}};                                                 \
        CHECK(handle,                                                                                                  \
              alpha &&beta &&is_two(uplo) && is_op(op) && op != (refused) && is_stored(&w.a) && is_stored(&w.c));      \
        return n == 0 ? DONE : enqueue(handle, &w, alpha, beta, sizeof *alpha, run_##x_##which);                       \
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
        const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(type)),                                       \
                   *beta = get_scalar(w, w->beta_at, &w->beta, sizeof(type));                                          \
        const type *a = reach(w, &w->a, sizeof(type), false), *b = reach(w, &w->b, sizeof(type), false);               \
        type *c = reach(w, &w->c, sizeof(type), true);                                                                 \
        typedef void function(int, int, int, int, int, PASS_##X_, const void *, int, const void *, int, PASS_##X_,     \
                              void *, int);                                                                            \
        FIND(function, symm, "cblas_" #x_ #which)                                                                      \
        if (!alpha || !beta || !a || !b || !c)                                                                         \
            return false;                                                                                              \
        symm(CBLAS_COLUMNS, cblas_side(w->side), cblas_uplo(w->uplo), (int)w->m, (int)w->n, VALUE_##X_(alpha), a,      \
             (int)w->a.ld, b, (int)w->b.ld, VALUE_##X_(beta), c, (int)w->c.ld);                                        \
        return true;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##which##_v2(cublas_handle handle, int side, int uplo, int m, int n, const type *alpha,   \
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
        CHECK(handle,                                                                                                  \
              alpha &&beta &&is_two(side) && is_two(uplo) && is_stored(&w.a) && is_stored(&w.b) && is_stored(&w.c));   \
        return m == 0 || n == 0 ? DONE : enqueue(handle, &w, alpha, beta, sizeof *alpha, run_##x_##which);             \
    }
SYMM(S, s, float, symm)
SYMM(D, d, double, symm)
SYMM(C, c, complex8, symm)
SYMM(Z, z, complex16, symm)
SYMM(C, c, complex8, hemm)
SYMM(Z, z, complex16, hemm)

/* Products with a triangular matrix (w->k is 1), and solutions (0). cuBLAS's trmm writes to a third matrix, and BLAS's in
 * place. */
#define TRIANGULAR(X_, x_, type, real, norm)                                                                           \
    static bool run_##x_##trmm(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(type));                                       \
        const type *a = reach(w, &w->a, sizeof(type), false);                                                          \
        const bool solves = w->k != 0; /* in place */                                                                  \
        const type *b = solves ? NULL : reach(w, &w->b, sizeof(type), false);                                          \
        type *c = reach(w, &w->c, sizeof(type), true);                                                                 \
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
        CHECK(handle, alpha &&is_two(side) && is_two(uplo) && is_op(op) && is_two(diag) && is_stored(&w->a) &&         \
                          is_stored(&w->c) && (w->k || is_stored(&w->b)));                                             \
        return m == 0 || n == 0 ? DONE : enqueue(handle, w, alpha, NULL, sizeof *alpha, run_##x_##trmm);               \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##trmm_v2(cublas_handle handle, int side, int uplo, int op, int diag, int m, int n,       \
                                       const type *alpha, const type *a, int lda, const type *b, int ldb, type *c,     \
                                       int ldc)                                                                        \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "trmm",                                                                         \
                  .b = {.at = b, .rows = m, .columns = n, .ld = ldb},                                                  \
                  .c = {.at = c, .rows = m, .columns = n, .ld = ldc}};                                                 \
        return triangles_##x_(handle, &w, side, uplo, op, diag, m, n, alpha, a, lda);                                  \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##trsm_v2(cublas_handle handle, int side, int uplo, int op, int diag, int m, int n,       \
                                       const type *alpha, const type *a, int lda, type *b, int ldb)                    \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "trsm", .k = 1, .c = {.at = b, .rows = m, .columns = n, .ld = ldb}};            \
        return triangles_##x_(handle, &w, side, uplo, op, diag, m, n, alpha, a, lda);                                  \
    }
ALL_TYPES(TRIANGULAR)

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
    const void *at = reach_one(w, m, size_of_type(type), index, false);
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
    void *to = reach_one(w, &w->c, size_of_type(w->type_c), index, true);
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
    const void *alpha = get_scalar(w, w->alpha_at, &w->alpha, size), *beta = get_scalar(w, w->beta_at, &w->beta, size);
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
    return w->m == 0 || w->n == 0 || w->batch == 0 ? DONE
                                                   : enqueue(handle, w, alpha, beta, size_of_type(w->scale), run_typed);
}

CUBLAS_API int cublasGemmEx(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                            const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta,
                            void *c, int type_c, int ldc, int compute, int algorithm)
{
    work w = {.name = "cublasGemmEx", .type_a = type_a, .type_b = type_b, .type_c = type_c, .compute = compute};
    const bool valid = set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
    (void)algorithm;
    set_strides(&w, 0, 0, 0, 1);
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
    const bool valid = set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
    (void)algorithm;
    set_strides(&w, stride_a, stride_b, stride_c, batch);
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
    const bool valid = set_product(&w, op_a, op_b, m, n, k, a, lda, b, ldb, (void *)(uintptr_t)c, ldc);
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
    /* A matrix whose factor is zero is not read: it may hold NaN, or not exist. */                                    \
    static bool run_##x_##geam(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const type *alpha = get_scalar(w, w->alpha_at, &w->alpha, sizeof(type)),                                       \
                   *beta = get_scalar(w, w->beta_at, &w->beta, sizeof(type));                                          \
        type *c = reach(w, &w->c, sizeof(type), true);                                                                 \
        if (!alpha || !beta || !c)                                                                                     \
            return false;                                                                                              \
        const bool with_a = !(IS_ZERO_##X_(*alpha)), with_b = !(IS_ZERO_##X_(*beta));                                  \
        const type *a = with_a ? reach(w, &w->a, sizeof(type), false) : NULL,                                          \
                   *b = with_b ? reach(w, &w->b, sizeof(type), false) : NULL, none = ZERO_##X_;                        \
        type *sum = malloc((size_t)w->m * (size_t)w->n * sizeof *sum); /* C may be A or B */                           \
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
    CUBLAS_API int cublas##X_##geam(cublas_handle handle, int op_a, int op_b, int m, int n, const type *alpha,         \
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
        CHECK(handle,                                                                                                  \
              alpha &&beta &&is_op(op_a) && is_op(op_b) && is_stored(&w.a) && is_stored(&w.b) && is_stored(&w.c));     \
        return m == 0 || n == 0 ? DONE : enqueue(handle, &w, alpha, beta, sizeof *alpha, run_##x_##geam);              \
    }                                                                                                                  \
    static bool run_##x_##dgmm(const void *what)                                                                       \
    {                                                                                                                  \
        const work *w = what;                                                                                          \
        const type *a = reach(w, &w->a, sizeof(type), false), none = ZERO_##X_;                                        \
        type *c = reach(w, &w->c, sizeof(type), true), *x = pack(w, &w->b, sizeof(type));                              \
        const bool done = a && x && c;                                                                                 \
        for (int64_t j = 0; done && j < w->n; j++)                                                                     \
            for (int64_t i = 0; i < w->m; i++)                                                                         \
                c[j * w->c.ld + i] = ADD_##X_(x[w->side == SIDE_LEFT ? i : j], a[j * w->a.ld + i], none, none);        \
        free(x);                                                                                                       \
        return done;                                                                                                   \
    }                                                                                                                  \
    CUBLAS_API int cublas##X_##dgmm(cublas_handle handle, int side, int m, int n, const type *a, int lda,              \
                                    const type *x, int dx, type *c, int ldc)                                           \
    {                                                                                                                  \
        work w = {.name = "cublas" #X_ "dgmm",                                                                         \
                  .side = side,                                                                                        \
                  .m = m,                                                                                              \
                  .n = n,                                                                                              \
                  .a = {.at = a, .rows = m, .columns = n, .ld = lda},                                                  \
                  .b = vector(x, side == SIDE_LEFT ? m : n, dx),                                                       \
                  .c = {.at = c, .rows = m, .columns = n, .ld = ldc}};                                                 \
        CHECK(handle, is_two(side) && is_stored(&w.a) && is_stored(&w.c));                                             \
        return m == 0 || n == 0 ? DONE : enqueue(handle, &w, NULL, NULL, 0, run_##x_##dgmm);                           \
    }
ALL_TYPES(EXTRAS)
