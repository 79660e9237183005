/* cusolver_work.h - what the files of the stand-in of cuSOLVER share: the arguments of a call as a `work`, and matrices that are
 * copied for the host's LAPACK. */
#ifndef KILN_SIM_VENDOR_CUSOLVER_WORK_H
#define KILN_SIM_VENDOR_CUSOLVER_WORK_H

#include <stddef.h>

#include "cusolver.h"
#include "vendor.h"

#define LIBRARY "libcusolver"

struct cusolver_context {
    void *stream, *context; /* context: for threads that have none */
    int deterministic, math;
};
typedef struct cusolver_context *cusolver_handle; /* NULL: none */

/* syevjInfo_t and gesvdjInfo_t. */
typedef struct jacobi {
    double tolerance, residual;
    int sweeps, sorts;
    bool solved, measured, batched; /* of the last call; measured: it has a residual */
} jacobi;

/* A matrix by columns, or a vector as a matrix of one column. `stride`: numbers from one matrix of a batch to the next. */
typedef struct matrix {
    void *at;
    int64_t rows, columns, ld, stride;
} matrix;

/* All arguments of a call. Each function uses some. */
typedef struct work {
    const char *name;
    int type, vector_type; /* vector_type: of `values` */
    int uplo, diag, op, side, kind, job, econ;
    char job_u, job_v;
    int64_t m, n, k, batch;
    matrix a, b, c, tau, values; /* values: eigenvalues or singular values */
    bool lists;                  /* a and b are device addresses of lists of `batch` addresses */
    void *pivots, *info, *buffer;
    bool wide_pivots;       /* of 64 bits */
    jacobi *jacobi;         /* host memory; never in a graph */
    int range, first, last; /* of eigenvalues: RANGE_...; counted from 1 */
    double low, high;
    void *result;     /* host memory; never in a graph */
    bool wide_result; /* of 64 bits */
    matrix x;
    int *rounds; /* host memory; never in a graph */
} work;

/* Every function needs this many numbers of working memory, which the stand-in checks and does not use. */
enum { BUFFER_NUMBERS = 32 };
bool is_matrix(const matrix *m); /* the sizes are possible */
bool is_type(int type);          /* one of the four types of LAPACK */
int real_type(int type);

/* Enqueues the work, whose function returns false if memory is missing. Returns a cusolverStatus_t. */
int solver_enqueue(cusolver_handle handle, const work *w, bool (*function)(const work *));
/* The same for a call whose result the host waits for: it cannot be captured. */
int solver_wait(cusolver_handle handle, const work *w, bool (*function)(const work *));
/* The size of working memory: in numbers, or in bytes of the device and of the host. */
int solver_set_buffer(cusolver_handle handle, bool valid, int *numbers);
int solver_set_buffers(cusolver_handle handle, bool valid, int type, size_t *on_device, size_t *on_host);
int solver_refuse_types(void);

/* ---- for a work that runs. Each returns NULL or false if the memory is not there ---- */

void *solver_reach(const work *w, const void *at, int64_t count, size_t size, bool write);
/* Copies matrix `index` of a batch without gaps, for free(). The leading dimension of a copy is leading(m). */
void *solver_read(const work *w, const matrix *m, int type, int64_t index);
bool solver_write(const work *w, const matrix *m, int type, int64_t index, const void *copy);
bool solver_write_info(const work *w, int64_t index, int info);
static inline int leading(const matrix *m) { return m->rows > 1 ? (int)m->rows : 1; }

/* Finds a LAPACK function by its name for the type, such as "potrf" or, for complex types, another name. NULL: its absence is
 * told. */
vendor_function *solver_find(int type, const char *name, const char *complex_name);
/* Memory for LAPACK, for free(); `query`: LAPACK's answer to a query for its size, as a number of this type. */
void *solver_buffer(int type, const void *query, int *count);

enum { BUFFER_QUERY = -1 }; /* LAPACK then returns the size of working memory only */

/* Replaces `a` by the eigenvectors if w->job says so. Returns false if LAPACK cannot run. */
bool solver_call_syevd(const work *w, void *a, void *values, int *info);
/* Returns whether all numbers are finite. If one is not, LAPACK's gesvd may never return, and its geev may end the process. */
bool solver_is_finite(int type, const void *numbers, int64_t count);
/* LAPACK's gesvd; `a` is destroyed. u, vt: NULL if their jobs are 'N'; 'O' uses `a`. If a number of `a` is not finite, the singular
 * values are NaN, and *info says that none has converged. */
bool solver_call_gesvd(const work *w, char job_u, char job_vt, void *a, void *s, void *u, int ld_u, void *vt, int ld_vt,
                       int *info);

static inline matrix matrix_of(const void *at, int64_t rows, int64_t columns, int64_t ld)
{
    return (matrix){.at = (void *)(uintptr_t)at, .rows = rows, .columns = columns, .ld = ld};
}

static inline matrix vector_of(const void *at, int64_t count) { return matrix_of(at, count, 1, count > 1 ? count : 1); }

/* The types of a call that has one type of matrices, and one of real vectors; -1: they do not fit. */
static inline int type_of_call(int type, int vector, int compute)
{
    return is_type(type) && vector == real_type(type) && compute == type ? type : -1;
}

static inline bool is_complex(int type) { return vendor_part_type(type) >= 0; }
static inline const char *letter_of_job(int job) { return job == VECTORS ? "V" : "N"; }
static inline bool is_two(int value) { return value == 0 || value == 1; }
static inline bool is_op(int op) { return op >= OP_N && op <= OP_C; }
static inline bool fits(int64_t number) { return number >= 0 && number <= INT32_MAX; }
static inline const char *letter_of_fill(int uplo) { return uplo == FILL_UPPER ? "U" : "L"; }

#define CHECK(handle, condition)                                                                                       \
    if (!(handle))                                                                                                     \
        return NOT_INITIALIZED;                                                                                        \
    if (!(condition))                                                                                                  \
    return INVALID_VALUE

/* X(letter, type) */
#define REAL_TYPES(X) X(S, R_32F) X(D, R_64F)
#define COMPLEX_TYPES(X) X(C, C_32F) X(Z, C_64F)
#define ALL_TYPES(X) REAL_TYPES(X) COMPLEX_TYPES(X)

/* Parameters and work areas of the functions with 64-bit sizes. */
#define AREAS void *area, size_t area_bytes, void *host_area, size_t host_bytes
#define AREAS_UNUSED (void)area_bytes, (void)host_area, (void)host_bytes
#define AREA_FITS(type) (area_bytes >= BUFFER_NUMBERS * vendor_number_size(type))

#endif
