/* cusolver_work.h - declarations that the files of cuSOLVER's stand-in share: the arguments of a call as a `work`, and
 * functions that copy matrices for the host's LAPACK. */
#ifndef KILN_SIM_VENDOR_CUSOLVER_WORK_H
#define KILN_SIM_VENDOR_CUSOLVER_WORK_H

#include <stdatomic.h>
#include <stddef.h>

#include "cusolver.h"
#include "vendor.h"

#define LIBRARY "libcusolver"

/* Several threads may use one handle, so each setting is atomic. */
struct cusolver_context {
    void *context; /* the context for threads that have no current context */
    _Atomic(void *) stream;
    atomic_int deterministic, math;
};
typedef struct cusolver_context *cusolver_handle; /* NULL if there is none */

/* The type of syevjInfo_t and gesvdjInfo_t. */
typedef struct jacobi {
    double tolerance, residual;
    int sweeps, sorts;
    bool solved, measured, batched; /* facts about the last call, where `measured` means that it has a residual */
} jacobi;

/* A matrix, stored by columns. A vector is a matrix of one column. `stride` is the distance, in numbers, from one
 * matrix of a batch to the next. */
typedef struct matrix {
    void *at;
    int64_t rows, columns, ld, stride;
} matrix;

/* All arguments of a call. Each function of the library uses some of the arguments. */
typedef struct work {
    const char *name;
    int type, vector_type; /* `vector_type` is the type of `values` */
    int uplo, diag, op, side, kind, job, econ;
    char job_u, job_v;
    int64_t m, n, k, batch;
    matrix a, b, c, tau, values; /* `values` has the eigenvalues or singular values */
    bool lists;                  /* a and b are device addresses of lists of `batch` addresses */
    void *pivots, *info, *buffer;
    bool wide_pivots;       /* the pivots have 64 bits */
    jacobi *jacobi;         /* an object in host memory, or NULL; a captured call runs without it */
    int range, first, last; /* the range of eigenvalues: RANGE_..., and the first and the last one, counted from 1 */
    double low, high;
    void *result;     /* address in host memory, so a graph cannot capture a call that writes it */
    bool wide_result; /* *result has 64 bits */
    matrix x;
    int *rounds; /* address in host memory, so a graph cannot capture a call that writes it */
} work;

/* Every function asks for this many numbers of working memory. The stand-in checks that the memory exists, but does not
 * use it. */
enum { BUFFER_NUMBERS = 32 };
bool is_matrix(const matrix *m); /* returns true if the sizes are valid */
bool is_type(int type);          /* returns true for the four types of LAPACK */
int real_type(int type);

/* Enqueues the work. `function` returns false if the work fails, for example because a matrix does not exist. Returns a
 * cusolverStatus_t. */
int solver_enqueue(cusolver_handle handle, const work *w, bool (*function)(const work *));
/* Does the same as solver_enqueue() for a call whose result the host needs. A graph cannot capture such a call. */
int solver_wait(cusolver_handle handle, const work *w, bool (*function)(const work *));
/* Set the size of the working memory: the first function in numbers, the second in bytes on the device and on the
 * host. */
int solver_set_buffer(cusolver_handle handle, bool valid, int *numbers);
int solver_set_buffers(cusolver_handle handle, bool valid, int type, size_t *on_device, size_t *on_host);
int solver_refuse_types(void);

/* ---- functions for a work that runs. Each function returns NULL or false if the memory does not exist ---- */

void *solver_reach(const work *w, const void *at, int64_t count, size_t size, bool write);
/* Returns a copy of matrix `index` of a batch, without gaps. The caller frees it. The leading dimension of a copy is
 * leading(m). */
void *solver_read(const work *w, const matrix *m, int type, int64_t index);
bool solver_write(const work *w, const matrix *m, int type, int64_t index, const void *copy);
bool solver_write_info(const work *w, int64_t index, int info);
static inline int leading(const matrix *m) { return m->rows > 1 ? (int)m->rows : 1; }

/* Finds a LAPACK function by its name for the type, such as "potrf" or, for complex types, another name. If LAPACK
 * lacks the function, prints its name and returns NULL. */
vendor_function *solver_find(int type, const char *name, const char *complex_name);
/* Allocates working memory for LAPACK, which the caller frees. `query` points to the size that a query of LAPACK has
 * returned, as a number of the type `type`. Sets *count to the size in numbers. */
void *solver_buffer(int type, const void *query, int *count);

enum { BUFFER_QUERY = -1 }; /* a size with which LAPACK only returns the size of the working memory that it needs */

/* Replaces `a` by the eigenvectors if w->job says so. Returns false if LAPACK cannot run. */
bool solver_call_syevd(const work *w, void *a, void *values, int *info);
/* Returns true if all numbers are finite. If a number is not finite, the caller must not call LAPACK: its gesvd may
 * never return, and its geev may end the process. */
bool solver_is_finite(int type, const void *numbers, int64_t count);
/* Calls LAPACK's gesvd, which overwrites `a`. u and vt are NULL if their jobs are 'N' or 'O'; 'O' returns the vectors
 * in `a`. If a number of `a` is not finite, sets the singular values to NaN, and *info to the value that means that no
 * value has converged. */
bool solver_call_gesvd(const work *w, char job_u, char job_vt, void *a, void *s, void *u, int ld_u, void *vt, int ld_vt,
                       int *info);

static inline matrix matrix_of(const void *at, int64_t rows, int64_t columns, int64_t ld)
{
    return (matrix){.at = (void *)(uintptr_t)at, .rows = rows, .columns = columns, .ld = ld};
}

static inline matrix vector_of(const void *at, int64_t count) { return matrix_of(at, count, 1, count > 1 ? count : 1); }

/* Returns the type of a call that has matrices of one type and real vectors of another type. Returns -1 if the types do
 * not fit each other. */
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

/* The types: X(letter, type). */
#define REAL_TYPES(X) X(S, R_32F) X(D, R_64F)
#define COMPLEX_TYPES(X) X(C, C_32F) X(Z, C_64F)
#define ALL_TYPES(X) REAL_TYPES(X) COMPLEX_TYPES(X)

/* The work areas of the functions with 64-bit sizes, as parameters. */
#define AREAS void *area, size_t area_bytes, void *host_area, size_t host_bytes
#define AREAS_UNUSED (void)area_bytes, (void)host_area, (void)host_bytes
#define AREA_FITS(type) (area_bytes >= BUFFER_NUMBERS * vendor_number_size(type))

#endif
