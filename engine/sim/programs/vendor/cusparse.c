/* cusparse.c - libcusparse for the simulated device: handles, settings, and the work of a call. The file
 * cusparse_objects.c has the descriptors. cusparse_entries.c visits the entries of a sparse matrix. cusparse_products.c
 * and cusparse_gemm.c have products, cusparse_solve.c and cusparse_factors.c have solutions, and cusparse_convert.c has
 * conversions.
 *
 * A function checks its arguments, packs copies of the descriptors into a `work`, and enqueues the work (device.c).
 * Plain loops compute in double precision and round the result once, so results are more exact than on a GPU. Every
 * offset and index of a sparse matrix is checked before it is used. As in cuSPARSE, several threads may use the same
 * handle at the same time, but not the same descriptor if a call changes it. cusparse_absent.c defines the names that
 * are not implemented. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cusparse_work.h"

/* ---- handles ---- */

VENDOR_API int cusparseCreate(cusparse_handle *handle)
{
    if (!handle)
        return INVALID_VALUE;
    *handle = NULL;
    void *context = vendor_open_device(LIBRARY) ? vendor_enter(NULL) : NULL;
    if (!context)
        return NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    if (*handle)
        (*handle)->context = context;
    return *handle ? DONE : ALLOC_FAILED;
}

VENDOR_API int cusparseDestroy(cusparse_handle handle)
{
    free(handle);
    return handle ? DONE : NOT_INITIALIZED;
}

#define SETTING(name, field, type, valid)                                                                              \
    VENDOR_API int cusparseSet##name(cusparse_handle handle, type value)                                               \
    {                                                                                                                  \
        CHECK(handle, valid);                                                                                          \
        handle->field = value;                                                                                         \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusparseGet##name(cusparse_handle handle, type *value)                                              \
    {                                                                                                                  \
        CHECK(handle, value);                                                                                          \
        *value = handle->field;                                                                                        \
        return DONE;                                                                                                   \
    }
SETTING(Stream, stream, void *, true)
SETTING(PointerMode, pointers, int, is_two(value))

/* the version in CUDA 13.0; the library has the same name in CUDA 12 and 13 */
enum { MAJOR = 12, MINOR = 6, PATCH = 3 };

VENDOR_API int cusparseGetVersion(cusparse_handle handle, int *version)
{
    CHECK(handle, version);
    *version = MAJOR * 1000 + MINOR * 100 + PATCH;
    return DONE;
}

VENDOR_API int cusparseGetProperty(int what, int *value)
{
    return vendor_version_part((const int[]){MAJOR, MINOR, PATCH}, what, value) ? DONE : INVALID_VALUE;
}

/* The statuses: X(number, name, text). */
#define STATUSES(X)                                                                                                    \
    X(0, "CUSPARSE_STATUS_SUCCESS", "success")                                                                         \
    X(1, "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error")                                                    \
    X(2, "CUSPARSE_STATUS_ALLOC_FAILED", "out of memory")                                                              \
    X(3, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value")                                                             \
    X(4, "CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch")                                                     \
    X(5, "CUSPARSE_STATUS_MAPPING_ERROR", "texture memory not supported")                                              \
    X(6, "CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure")                                                  \
    X(7, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error")                                                           \
    X(8, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported")                                     \
    X(9, "CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot")                                                                   \
    X(10, "CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported")                                                  \
    X(11, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources")

VENDOR_API const char *cusparseGetErrorName(int status)
{
#define NAME(number_, name, text)                                                                                      \
    if (status == (number_))                                                                                           \
        return name;
    STATUSES(NAME)
    return "CUSPARSE_STATUS_UNKNOWN";
}

VENDOR_API const char *cusparseGetErrorString(int status)
{
#define TEXT(number_, name, text)                                                                                      \
    if (status == (number_))                                                                                           \
        return text;
    STATUSES(TEXT)
    return "unknown error";
}

/* ---- work ---- */

/* Enqueues a work in the stream of the handle. If the host waits for the result, a graph cannot capture the call. */
static int enqueue(cusparse_handle handle, bool waits, const char *name, const void *what, size_t bytes,
                   bool (*function)(const void *))
{
    bool done = true;
    void *stream = handle->stream;
    if (!vendor_enter(handle->context))
        return EXECUTION_FAILED;
    if (waits && vendor_is_capturing(stream)) {
        vendor_tell_missing(LIBRARY, name); /* a graph cannot capture the call */
        return NOT_SUPPORTED;
    }
    return vendor_enqueue(stream, name, function, what, bytes, &done) && done ? DONE : EXECUTION_FAILED;
}

int sparse_enqueue_bytes(cusparse_handle handle, const char *name, const void *what, size_t bytes,
                         bool (*function)(const void *))
{
    return enqueue(handle, false, name, what, bytes, function);
}

int sparse_wait_bytes(cusparse_handle handle, const char *name, const void *what, size_t bytes,
                      bool (*function)(const void *))
{
    return enqueue(handle, true, name, what, bytes, function);
}

static void set_scalars(cusparse_handle handle, work *w, const void *alpha, const void *beta)
{
    const size_t size = vendor_number_size(w->compute);
    w->device_scalars = handle->pointers == POINTER_DEVICE;
    w->alpha_at = alpha;
    w->beta_at = beta;
    if (alpha && !w->device_scalars)
        memcpy(&w->alpha, alpha, size);
    if (beta && !w->device_scalars)
        memcpy(&w->beta, beta, size);
}

int sparse_enqueue(cusparse_handle handle, work *w, const void *alpha, const void *beta, bool (*function)(const void *))
{
    set_scalars(handle, w, alpha, beta);
    return enqueue(handle, false, w->name, w, sizeof *w, function);
}

int sparse_wait(cusparse_handle handle, work *w, const void *alpha, const void *beta, bool (*function)(const void *))
{
    set_scalars(handle, w, alpha, beta);
    return enqueue(handle, true, w->name, w, sizeof *w, function);
}

int sparse_set_buffer(cusparse_handle handle, size_t *bytes)
{
    CHECK(handle, bytes);
    *bytes = BUFFER_BYTES;
    return DONE;
}

/* ---- types ---- */

/* The combinations of types of a product, from NVIDIA's guide: the types of the sparse matrix, the other factor, the
 * result, and the computation. */
static const int products[][4] = {
    {R_32F, R_32F, R_32F, R_32F},    {R_64F, R_64F, R_64F, R_64F},   {C_32F, C_32F, C_32F, C_32F},
    {C_64F, C_64F, C_64F, C_64F},    {R_8I, R_8I, R_32I, R_32I},     {R_8I, R_8I, R_32F, R_32F},
    {R_16F, R_16F, R_16F, R_16F},    {R_16F, R_16F, R_16F, R_32F},   {R_16F, R_16F, R_32F, R_32F},
    {R_16BF, R_16BF, R_16BF, R_32F}, {R_16BF, R_16BF, R_32F, R_32F}, {C_16F, C_16F, C_16F, C_32F},
    {C_16BF, C_16BF, C_16BF, C_32F}, {R_32F, R_64F, R_64F, R_64F},   {C_32F, C_64F, C_64F, C_64F},
    {R_32F, C_32F, C_32F, C_32F},    {R_64F, C_64F, C_64F, C_64F}};

int sparse_check_types(const char *name, int a, int x, int y, int compute)
{
    for (size_t k = 0; k < sizeof products / sizeof products[0]; k++)
        if (products[k][0] == a && products[k][1] == x && products[k][2] == y && products[k][3] == compute)
            return DONE;
    (void)name;
    vendor_tell_missing(LIBRARY, "a product of these types");
    return NOT_SUPPORTED;
}

/* ---- device memory ---- */

void *sparse_reach(const char *name, const void *at, int64_t count, size_t size, bool write)
{
    enum { MOST = 8 };
    static char nothing[MOST]; /* a valid address for 0 numbers, which is never read or written */
    size_t bytes;
    if (count == 0)
        return nothing;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        (uintptr_t)at % (size < MOST ? size : MOST) != 0)
        return NULL;
    return vendor_reach(at, bytes, write, name);
}

bool sparse_scalar(const work *w, const void *at, const scalar *kept, number *value)
{
    const void *from = w->device_scalars ? sparse_reach(w->name, at, 1, vendor_number_size(w->compute), false) : kept;
    if (from)
        *value = vendor_read_number(from, 0, w->compute);
    return from;
}

number *new_numbers(int64_t count)
{
    size_t slots;
    /* allocates at least one number, because NULL means that memory has run out */
    if (count < 0 || __builtin_add_overflow((size_t)count, 1, &slots))
        return NULL;
    return calloc(slots, sizeof(number));
}

/* ---- dense matrices ---- */

void *dense_open(const char *name, const dense *m, int64_t index, bool write)
{
    const int64_t lines = m->order == ORDER_ROWS ? m->rows : m->columns,
                  length = m->order == ORDER_ROWS ? m->columns : m->rows;
    const size_t size = vendor_number_size(m->type);
    int64_t count;
    if (lines == 0 || length == 0)
        return sparse_reach(name, NULL, 0, size, write);
    if (__builtin_mul_overflow(lines - 1, m->ld, &count) || __builtin_add_overflow(count, length, &count))
        return NULL;
    /* vendor_reach() checks this address before any use */
    const uintptr_t at = (uintptr_t)m->values + (uintptr_t)index * (uintptr_t)m->stride * size;
    return sparse_reach(name, (const void *)at, count, size, write);
}

number *dense_read(const char *name, const dense *m, int64_t index, int op)
{
    const void *from = dense_open(name, m, index, false);
    /* the product cannot overflow, because all these numbers are on the device */
    number *copy = from ? new_numbers(m->rows * m->columns) : NULL;
    for (int64_t i = 0; copy && i < dense_rows(m); i++)
        for (int64_t j = 0; j < m->columns; j++) {
            const number value = vendor_read_number(from, dense_at(m, i, j), m->type);
            copy[op == OP_N ? i * m->columns + j : j * m->rows + i] = op == OP_C ? vendor_conjugate(value) : value;
        }
    return copy;
}

bool dense_write(const char *name, const dense *m, int64_t index, number alpha, const number *result, number beta)
{
    void *to = dense_open(name, m, index, true);
    for (int64_t i = 0; to && i < dense_rows(m); i++)
        for (int64_t j = 0; j < m->columns; j++) {
            const int64_t at = dense_at(m, i, j);
            number value = vendor_multiply(alpha, result[i * m->columns + j]);
            if (!is_zero(beta))
                value = vendor_add(value, vendor_multiply(beta, vendor_read_number(to, at, m->type)));
            vendor_write_number(to, at, m->type, value);
        }
    return to;
}
