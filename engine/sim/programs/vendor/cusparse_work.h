/* cusparse_work.h - what the files of the stand-in of cuSPARSE share: descriptors, the arguments of a call as a `work`, and the
 * way through the entries of a sparse matrix in any format. */
#ifndef KILN_SIM_VENDOR_CUSPARSE_WORK_H
#define KILN_SIM_VENDOR_CUSPARSE_WORK_H

#include <stddef.h>

#include "cusparse.h"
#include "vendor.h"

#define LIBRARY "libcusparse"

struct cusparse_context {
    void *stream, *context; /* context: for threads that have none */
    int pointers;
};
typedef struct cusparse_context *cusparse_handle; /* NULL: none */

typedef vendor_number number;

/* cusparseDnVecDescr_t and cusparseDnMatDescr_t. A vector is a matrix of one column. */
typedef struct dense {
    int64_t rows, columns, ld, stride; /* stride: numbers from one matrix of a batch to the next */
    void *values;
    int type, order, batch;
} dense;

/* cusparseSpVecDescr_t and cusparseSpMatDescr_t. A vector has `rows` elements. */
typedef struct sparse {
    int format;
    int64_t rows, columns, nnz;         /* nnz: entries; BSR: blocks */
    int64_t block_rows, block_columns;  /* BSR, BLOCKED_ELL */
    int64_t width;                      /* BLOCKED_ELL: columns of `values`; SLICED_ELL: rows of a slice */
    int64_t stored;                     /* numbers of `values` */
    void *offsets, *indices, *values;   /* offsets: of rows or columns; COO: the rows of the entries */
    int offset_type, index_type, base;  /* base: 0 or 1 */
    int type, order, fill, diag, batch; /* order: BSR, inside a block */
    int64_t offset_stride, index_stride, value_stride; /* from one matrix of a batch to the next */
} sparse;

typedef union scalar {
    double at[2]; /* room for the largest type */
} scalar;

/* All arguments of a call. Each function uses some. */
typedef struct work {
    const char *name;
    bool device_scalars; /* alpha and beta are addresses of the device */
    const void *alpha_at, *beta_at;
    scalar alpha, beta;
    int compute, op_a, op_b;
    sparse a, b, c;
    dense x, y, z;
    void *result; /* host memory; or device memory, if device_scalars is set */
    void *plan;   /* a descriptor of the call; never in a graph */
} work;

/* Fills alpha and beta, which have the type w->compute, and enqueues the work, whose function returns false if memory is missing
 * or an index of a matrix is wrong. Both may be NULL for functions without them. Returns a cusparseStatus_t. */
int sparse_enqueue(cusparse_handle handle, work *w, const void *alpha, const void *beta,
                   bool (*function)(const void *));
/* The same for a call that the host waits for: it cannot be captured. */
int sparse_wait(cusparse_handle handle, work *w, const void *alpha, const void *beta, bool (*function)(const void *));
/* Enqueues other arguments than a `work`. */
int sparse_enqueue_bytes(cusparse_handle handle, const char *name, const void *what, size_t bytes,
                         bool (*function)(const void *));

/* Returns DONE if cuSPARSE has a product of these types, and tells the missing product otherwise. */
int sparse_check_types(const char *name, int a, int x, int y, int compute);

/* The stand-in needs no buffers. Their size is not 0, because some calls only return a size if the buffer is NULL. */
enum { BUFFER_BYTES = 256 };
int sparse_set_buffer(cusparse_handle handle, size_t *bytes);

/* ---- for a work that runs. Each returns NULL or false if the memory is not there ---- */

/* `count` numbers of `size` bytes on the device. Returns a pointer that is not NULL for 0 numbers. */
void *sparse_reach(const char *name, const void *at, int64_t count, size_t size, bool write);
bool sparse_scalar(const work *w, const void *at, const scalar *kept, number *value);

/* One matrix of a batch of sparse matrices, with pointers of the host. */
typedef struct view {
    const sparse *m;
    const char *name;
    const void *offsets, *indices;
    void *values;
} view;
bool sparse_open(const char *name, const sparse *m, int64_t index, bool write_values, view *v);
number sparse_value(const view *v, int64_t at);
/* Finds the range of the entries of one line: a row of CSR, a column of CSC, a row of blocks of BSR, or a slice of SLICED_ELL. */
bool sparse_range(const view *v, int64_t row, int64_t *begin, int64_t *end);
/* The index of an entry: its column, or its row (CSC); from 0 to `limit` - 1. Returns -1, and prints why, if it is wrong. */
int64_t sparse_index(const view *v, int64_t entry, int64_t limit);
/* Visits all stored entries. `at` is the place of the value. The walk ends when visit() returns false. */
typedef bool visitor(void *to, int64_t row, int64_t column, int64_t at);
bool sparse_walk(const view *v, visitor *visit, void *to);

/* Prints that a sparse matrix is wrong, at most some times in a process. Returns false. */
bool sparse_tell(const char *name, const char *what, int64_t place, int64_t value);

int64_t read_index(const void *at, int64_t place, int type);
void write_index(void *at, int64_t place, int type, int64_t value);

void *dense_open(const char *name, const dense *m, int64_t index, bool write);
static inline int64_t dense_at(const dense *m, int64_t row, int64_t column)
{
    return m->order == ORDER_ROWS ? row * m->ld + column : column * m->ld + row;
}
/* The rows to visit. A matrix without columns needs no memory, so a program may ask for any number of rows. */
static inline int64_t dense_rows(const dense *m) { return m->columns > 0 ? m->rows : 0; }
/* Copies op(M) by rows without gaps, for free(). */
number *dense_read(const char *name, const dense *m, int64_t index, int op);
/* M = alpha * result + beta * M. M is not read if beta is 0. `result` is stored by rows without gaps. */
bool dense_write(const char *name, const dense *m, int64_t index, number alpha, const number *result, number beta);

/* Memory for `count` numbers that are 0. */
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
