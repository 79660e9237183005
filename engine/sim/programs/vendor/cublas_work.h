/* cublas_work.h - declarations that the files of the stand-in of cuBLAS share: the arguments of a call as a `work`, and
 * functions that find the matrices and scalars of a work when it runs. */
#ifndef KILN_SIM_VENDOR_CUBLAS_WORK_H
#define KILN_SIM_VENDOR_CUBLAS_WORK_H

#include <stdatomic.h>
#include <stddef.h>

#include "cublas.h"
#include "vendor.h"

#define LIBRARY "libcublas"
#define VERSION (KILN_VENDOR_VERSION * 10000) /* the version that cublasGetVersion() returns */

/* Several threads may use one handle, so each setting is atomic. A call reads each setting once. */
struct cublas_context {
    void *context; /* the context for calls from threads that have no current context */
    _Atomic(void *) stream;
    atomic_int pointers, math, atomics, sms;
};

/* One matrix or vector: rows x columns, with `ld` elements from one column to the next. */
typedef struct matrix {
    const void *at;
    int64_t rows, columns, ld, stride; /* `stride` is the number of elements from one matrix of a batch to the next */
} matrix;

typedef union scalar {
    float s;
    double d;
    complex8 c;
    complex16 z;
    int32_t i;
    uint16_t h;
} scalar;

/* All arguments of a call. Each function of the library uses some of the arguments. */
typedef struct work {
    const char *name;
    bool device_scalars; /* true if alpha and beta are in device memory */
    const void *alpha_at, *beta_at;
    scalar alpha, beta;
    int64_t m, n, k, batch;
    int op_a, op_b, side, uplo, diag;
    matrix a, b, c;
    bool lists; /* a, b and c are device addresses of lists of `batch` addresses */
    int type_a, type_b, type_c, compute, scale;
    void *result; /* address of the result, in device memory if device_scalars is set and in host memory if not */
} work;

/* Sets the shapes of the three matrices of C = alpha op(A) op(B) + beta C. Returns false if an argument is not
 * valid. */
bool blas_set_product(work *w, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                      const void *b, int64_t ldb, void *c, int64_t ldc);
void blas_set_strides(work *w, int64_t a, int64_t b, int64_t c, int64_t batch);
bool blas_is_stored(const matrix *m); /* returns true if the sizes and the leading dimension are valid */

/* Sets alpha and beta of the work, and enqueues the work. `function` returns false if the work fails, for example
 * because a matrix or scalar does not exist. `alpha` and `beta` are NULL for functions that have no such scalars.
 * `size` is the size of a scalar. Returns a cublasStatus_t. */
int blas_enqueue(cublas_handle handle, work *w, const void *alpha, const void *beta, size_t size,
                 bool (*function)(const void *));

/* ---- functions for a work that runs. Each function returns NULL or false if the memory does not exist ---- */

/* finds a matrix in device memory; `size` is the size of an element in bytes */
void *blas_reach(const work *w, const matrix *m, size_t size, bool write);
void *blas_reach_one(const work *w, const matrix *m, size_t size, int64_t index,
                     bool write); /* finds matrix number `index` of a batch */
/* Returns a pointer to a scalar, in the work or in device memory. */
const void *blas_scalar(const work *w, const void *at, const scalar *kept, size_t size);
/* A vector is a matrix of one row. `stride` has the step. If the step is negative, the last element comes first in
 * memory. */
matrix blas_vector(const void *at, int64_t n, int64_t step);
/* blas_pack() returns a copy of a vector without steps, which the caller frees. blas_unpack() writes the copy back. The
 * copy is needed because some kernels of OpenBLAS read beyond the last element of a vector with steps, where the
 * simulated device's memory may end. */
void *blas_pack(const work *w, const matrix *v, size_t size);
bool blas_unpack(const work *w, const matrix *v, size_t size, const char *copy);

static inline bool is_two(int value) { return value == 0 || value == 1; }
static inline int cblas_op(int op) { return CBLAS_N + op; }
static inline int cblas_uplo(int uplo) { return uplo == FILL_UPPER ? CBLAS_UPPER : CBLAS_LOWER; }
static inline int cblas_diag(int diag) { return diag == DIAG_UNIT ? CBLAS_UNIT : CBLAS_NON_UNIT; }
static inline int cblas_side(int side) { return side == SIDE_RIGHT ? CBLAS_RIGHT : CBLAS_LEFT; }
static inline bool is_op(int op) { return op >= OP_N && op <= OP_C; }
static inline bool fits(int64_t number) { return number >= 0 && number <= INT32_MAX; }

/* Finds a function of the host's BLAS. If the function is missing, prints its name and returns from the work, which
 * fails. */
#define FIND(type, function, name)                                                                                     \
    type *function = (type *)vendor_find_blas(name);                                                                   \
    if (!function) {                                                                                                   \
        vendor_tell_missing("the host's BLAS", name);                                                                  \
        return false;                                                                                                  \
    }

/* The types: X(letter of cuBLAS, letter of the host's BLAS, type, type of a real part, letters of the host's nrm2). */
#define REAL_TYPES(X) X(S, s, float, float, s) X(D, d, double, double, d)
#define COMPLEX_TYPES(X) X(C, c, complex8, float, sc) X(Z, z, complex16, double, dz)
#define ALL_TYPES(X) REAL_TYPES(X) COMPLEX_TYPES(X)

#define CHECK(handle, condition)                                                                                       \
    if (!(handle))                                                                                                     \
        return NOT_INITIALIZED;                                                                                        \
    if (!(condition))                                                                                                  \
    return INVALID_VALUE

/* The host's BLAS takes scalars of real types by value, and scalars of complex types by address. */
#define VALUE_S(p) *(const float *)(p)
#define VALUE_D(p) *(const double *)(p)
#define VALUE_C(p) (p)
#define VALUE_Z(p) (p)
#define PASS_S float
#define PASS_D double
#define PASS_C const void *
#define PASS_Z const void *

#endif
