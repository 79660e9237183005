/* cusparse_work.h - declarations that the files of the stand-in of cuSPARSE share: descriptors, the arguments of a call
 * as a `work`, and functions that visit the entries of a sparse matrix in any format. */
#ifndef KILN_SIM_VENDOR_CUSPARSE_WORK_H
#define KILN_SIM_VENDOR_CUSPARSE_WORK_H

#include <stdatomic.h>
#include <stddef.h>

#include "cusparse.h"
#include "vendor.h"

#define LIBRARY "libcusparse"

/* Several threads may use one handle, so each setting is atomic. A call reads each setting only once. */
struct cusparse_context {
    void *context; /* the context for threads that have no current context */
    _Atomic(void *) stream;
    atomic_int pointers;
};
typedef struct cusparse_context *cusparse_handle; /* NULL if there is none */

typedef vendor_number number;

/* The type of cusparseDnVecDescr_t and cusparseDnMatDescr_t. A vector is a matrix of one column. */
typedef struct dense {
    int64_t rows, columns, ld, stride; /* `stride` is the distance between two matrices of a batch */
    void *values;
    int type, order, batch;
} dense;

/* The type of cusparseSpVecDescr_t and cusparseSpMatDescr_t. A vector has `rows` elements. */
typedef struct sparse {
    int format;
    int64_t rows, columns, nnz;        /* `nnz` is the number of entries, or of blocks for BSR */
    int64_t block_rows, block_columns; /* size of a block, for BSR and BLOCKED_ELL */
    /* number of columns of `values` for BLOCKED_ELL, or of rows of a slice for SLICED_ELL */
    int64_t width;
    int64_t stored; /* number of elements of `values` */
    /* `offsets` has the offsets of rows or columns, or for COO the rows of the entries */
    void *offsets, *indices, *values;
    int offset_type, index_type, base;                 /* `base` is the index base, 0 or 1 */
    int type, order, fill, diag, batch;                /* `order` is the order inside a block, for BSR */
    int64_t offset_stride, index_stride, value_stride; /* distances between two matrices of a batch */
} sparse;

typedef union scalar {
    double at[2]; /* room for the largest type */
} scalar;

/* All arguments of a call. Each function of the library uses some of the arguments. */
typedef struct work {
    const char *name;
    bool device_scalars; /* true if alpha and beta are in device memory */
    const void *alpha_at, *beta_at;
    scalar alpha, beta;
    int compute, op_a, op_b;
    sparse a, b, c;
    dense x, y, z;
    void *result; /* address of the result, in device memory if device_scalars is set and in host memory if not */
    void *plan;   /* a descriptor of the call; a call with a descriptor cannot be captured */
} work;

/* Sets alpha and beta of the work, which have the type w->compute, and enqueues the work. `function` returns false if
 * memory is missing or if an index of a matrix is wrong. `alpha` and `beta` are NULL for functions that have no such
 * scalars. Returns a cusparseStatus_t. */
int sparse_enqueue(cusparse_handle handle, work *w, const void *alpha, const void *beta,
                   bool (*function)(const void *));
/* Does the same as sparse_enqueue() for a call whose result the host needs. A graph cannot capture such a call. */
int sparse_wait(cusparse_handle handle, work *w, const void *alpha, const void *beta, bool (*function)(const void *));
/* Enqueue a call whose arguments are not a `work`. The host needs the result of sparse_wait_bytes(), so a graph cannot
 * capture that call. */
int sparse_enqueue_bytes(cusparse_handle handle, const char *name, const void *what, size_t bytes,
                         bool (*function)(const void *));
int sparse_wait_bytes(cusparse_handle handle, const char *name, const void *what, size_t bytes,
                      bool (*function)(const void *));

/* Returns DONE if cuSPARSE has a product of these types. Otherwise prints that the product is missing, and returns
 * NOT_SUPPORTED. */
int sparse_check_types(const char *name, int a, int x, int y, int compute);

/* The stand-in needs no buffers. The size that it reports is not 0: a call with the buffer NULL only returns the size,
 * so a program needs a buffer that is not NULL. */
enum { BUFFER_BYTES = 256 };
int sparse_set_buffer(cusparse_handle handle, size_t *bytes);

/* ---- functions for a work that runs. Each function returns NULL or false if the memory does not exist ---- */

/* Returns a host pointer to `count` numbers of `size` bytes on the device. For 0 numbers the pointer is not NULL. */
void *sparse_reach(const char *name, const void *at, int64_t count, size_t size, bool write);
bool sparse_scalar(const work *w, const void *at, const scalar *kept, number *value);

/* One matrix of a batch of sparse matrices, with host pointers. */
typedef struct view {
    const sparse *m;
    const char *name;
    const void *offsets, *indices;
    void *values;
} view;
bool sparse_open(const char *name, const sparse *m, int64_t index, bool write_values, view *v);
number sparse_value(const view *v, int64_t at);
/* Finds the range of the entries of one line: a row of CSR, a column of CSC, a row of blocks of BSR, or a slice of
 * SLICED_ELL. */
bool sparse_range(const view *v, int64_t row, int64_t *begin, int64_t *end);
/* Returns the index of an entry: its column, or its row for CSC. The index is from 0 to `limit` - 1. If it is wrong,
 * prints the reason and returns -1. */
int64_t sparse_index(const view *v, int64_t entry, int64_t limit);
/* Visits all stored entries. `at` is the place of the value. The walk ends when visit() returns false. */
typedef bool visitor(void *to, int64_t row, int64_t column, int64_t at);
bool sparse_walk(const view *v, visitor *visit, void *to);

/* Prints that a sparse matrix is wrong, and returns false. Prints only a limited number of lines in a process. */
bool sparse_tell(const char *name, const char *what, int64_t place, int64_t value);

int64_t read_index(const void *at, int64_t place, int type);
void write_index(void *at, int64_t place, int type, int64_t value);

void *dense_open(const char *name, const dense *m, int64_t index, bool write);
static inline int64_t dense_at(const dense *m, int64_t row, int64_t column)
{
    return m->order == ORDER_ROWS ? row * m->ld + column : column * m->ld + row;
}
/* Returns the number of rows to visit. For a matrix without columns this is 0, because such a matrix needs no memory
 * and may have any number of rows. */
static inline int64_t dense_rows(const dense *m) { return m->columns > 0 ? m->rows : 0; }
/* Returns a copy of op(M), stored by rows without gaps. The caller frees it. */
number *dense_read(const char *name, const dense *m, int64_t index, int op);
/* Computes M = alpha * result + beta * M. If beta is 0, M is not read. `result` is stored by rows without gaps. */
bool dense_write(const char *name, const dense *m, int64_t index, number alpha, const number *result, number beta);

/* Allocates `count` numbers that are 0. */
number *new_numbers(int64_t count);

static inline bool is_zero(number a) { return a.re == 0 && a.im == 0; }
static inline bool is_two(int value) { return value == 0 || value == 1; }
static inline bool is_op(int op) { return op >= OP_N && op <= OP_C; }

#define CHECK(handle, condition)                                                                                       \
    if (!(handle))                                                                                                     \
        return NOT_INITIALIZED;                                                                                        \
    if (!(condition))                                                                                                  \
    return INVALID_VALUE

#endif
