/* cusparse_objects.c - cuSPARSE's descriptors of vectors and matrices. A descriptor owns no memory of the device. */
#include <stdlib.h>
#include <string.h>

#include "cusparse_work.h"

static bool is_index_type(int type) { return type == INDEX_32 || type == INDEX_64; }
static bool is_order(int order) { return order == ORDER_ROWS || order == ORDER_COLUMNS; }
/* Returns true for a valid size. A size is at most 2^62, so that a sum of two sizes does not overflow. */
static bool is_count(int64_t count) { return count >= 0 && count <= INT64_MAX / 2 + 1; }

/* Returns true for a valid type of values. The fp8 types are excluded, because no function of cuSPARSE takes them and
 * vendor_write() cannot write them. */
static bool is_value_type(int type)
{
    return vendor_number_size(type) && (vendor_part_type(type) >= 0 || vendor_type_is_written(type));
}

static int keep(void **to, const void *object, size_t bytes)
{
    *to = malloc(bytes);
    if (*to)
        memcpy(*to, object, bytes);
    return *to ? DONE : ALLOC_FAILED;
}

/* Checks a sparse matrix or vector, and makes its descriptor. */
static int create_sparse(sparse **to, sparse m)
{
    if (!to || !is_count(m.rows) || !is_count(m.columns) || !is_count(m.nnz) || !is_count(m.stored) ||
        !is_index_type(m.offset_type) || !is_index_type(m.index_type) || !is_two(m.base))
        return INVALID_VALUE;
    if (!is_value_type(m.type))
        return NOT_SUPPORTED;
    m.batch = 1;
    return keep((void **)to, &m, sizeof m);
}

/* ---- sparse vectors and matrices. Most functions have a second name, for a constant descriptor ---- */

#define BOTH(name, constant, parameters, m)                                                                            \
    VENDOR_API int name parameters { return create_sparse(to, (sparse)m); }                                            \
    VENDOR_API int constant parameters { return create_sparse(to, (sparse)m); }
#define FIELDS(...)                                                                                                    \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

BOTH(cusparseCreateSpVec, cusparseCreateConstSpVec,
     (sparse * *to, int64_t size, int64_t nnz, void *indices, void *values, int index_type, int base, int type),
     FIELDS(.format = VECTOR, .rows = size, .columns = 1, .nnz = nnz, .stored = nnz, .indices = indices,
            .values = values, .offset_type = index_type, .index_type = index_type, .base = base, .type = type))
#define LINES(which)                                                                                                   \
    BOTH(cusparseCreate##which, cusparseCreateConst##which,                                                            \
         (sparse * *to, int64_t rows, int64_t columns, int64_t nnz, void *offsets, void *indices, void *values,        \
          int offset_type, int index_type, int base, int type),                                                        \
         FIELDS(.format = WHICH_##which, .rows = rows, .columns = columns, .nnz = nnz, .stored = nnz,                  \
                .offsets = offsets, .indices = indices, .values = values, .offset_type = offset_type,                  \
                .index_type = index_type, .base = base, .type = type))
#define WHICH_Csr CSR
#define WHICH_Csc CSC
LINES(Csr)
LINES(Csc)
BOTH(cusparseCreateCoo, cusparseCreateConstCoo,
     (sparse * *to, int64_t rows, int64_t columns, int64_t nnz, void *row_indices, void *column_indices, void *values,
      int index_type, int base, int type),
     FIELDS(.format = COO, .rows = rows, .columns = columns, .nnz = nnz, .stored = nnz, .offsets = row_indices,
            .indices = column_indices, .values = values, .offset_type = index_type, .index_type = index_type,
            .base = base, .type = type))

/* Multiplies two sizes. Returns -1 if a size is negative or the product is too large. */
static int64_t product_of(int64_t a, int64_t b)
{
    int64_t product;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

static int create_bsr(sparse **to, sparse m)
{
    m.rows = product_of(m.rows, m.block_rows);
    m.columns = product_of(m.columns, m.block_columns);
    m.stored = product_of(m.nnz, product_of(m.block_rows, m.block_columns));
    return m.block_rows > 0 && m.block_columns > 0 && is_order(m.order) ? create_sparse(to, m) : INVALID_VALUE;
}

#define CREATE_BSR(name)                                                                                               \
    VENDOR_API int name(sparse **to, int64_t rows, int64_t columns, int64_t nnz, int64_t block_rows,                   \
                        int64_t block_columns, void *offsets, void *indices, void *values, int offset_type,            \
                        int index_type, int base, int type, int order)                                                 \
    {                                                                                                                  \
        return create_bsr(to, (sparse){.format = BSR,                                                                  \
                                       .rows = rows,                                                                   \
                                       .columns = columns,                                                             \
                                       .nnz = nnz,                                                                     \
                                       .block_rows = block_rows,                                                       \
                                       .block_columns = block_columns,                                                 \
                                       .offsets = offsets,                                                             \
                                       .indices = indices,                                                             \
                                       .values = values,                                                               \
                                       .offset_type = offset_type,                                                     \
                                       .index_type = index_type,                                                       \
                                       .base = base,                                                                   \
                                       .type = type,                                                                   \
                                       .order = order});                                                               \
    }
CREATE_BSR(cusparseCreateBsr)
CREATE_BSR(cusparseCreateConstBsr)

static int create_blocked_ell(sparse **to, sparse m)
{
    const int64_t size = m.block_rows;
    m.nnz = m.stored = product_of(m.rows, m.width);
    return size > 0 && m.rows % size == 0 && m.columns % size == 0 && m.width % size == 0 && m.width <= m.columns
               ? create_sparse(to, m)
               : INVALID_VALUE;
}

#define CREATE_BLOCKED_ELL(name)                                                                                       \
    VENDOR_API int name(sparse **to, int64_t rows, int64_t columns, int64_t block, int64_t width, void *indices,       \
                        void *values, int index_type, int base, int type)                                              \
    {                                                                                                                  \
        return create_blocked_ell(to, (sparse){.format = BLOCKED_ELL,                                                  \
                                               .rows = rows,                                                           \
                                               .columns = columns,                                                     \
                                               .block_rows = block,                                                    \
                                               .block_columns = block,                                                 \
                                               .width = width,                                                         \
                                               .indices = indices,                                                     \
                                               .values = values,                                                       \
                                               .offset_type = index_type,                                              \
                                               .index_type = index_type,                                               \
                                               .base = base,                                                           \
                                               .type = type});                                                         \
    }
CREATE_BLOCKED_ELL(cusparseCreateBlockedEll)
CREATE_BLOCKED_ELL(cusparseCreateConstBlockedEll)

static int create_sliced_ell(sparse **to, sparse m) { return m.width > 0 ? create_sparse(to, m) : INVALID_VALUE; }

#define CREATE_SLICED_ELL(name)                                                                                        \
    VENDOR_API int name(sparse **to, int64_t rows, int64_t columns, int64_t nnz, int64_t stored, int64_t slice,        \
                        void *offsets, void *indices, void *values, int offset_type, int index_type, int base,         \
                        int type)                                                                                      \
    {                                                                                                                  \
        return create_sliced_ell(to, (sparse){.format = SLICED_ELL,                                                    \
                                              .rows = rows,                                                            \
                                              .columns = columns,                                                      \
                                              .nnz = nnz,                                                              \
                                              .stored = stored,                                                        \
                                              .width = slice,                                                          \
                                              .offsets = offsets,                                                      \
                                              .indices = indices,                                                      \
                                              .values = values,                                                        \
                                              .offset_type = offset_type,                                              \
                                              .index_type = index_type,                                                \
                                              .base = base,                                                            \
                                              .type = type});                                                          \
    }
CREATE_SLICED_ELL(cusparseCreateSlicedEll)
CREATE_SLICED_ELL(cusparseCreateConstSlicedEll)

#define DESTROY(name, type)                                                                                            \
    VENDOR_API int name(type *object)                                                                                  \
    {                                                                                                                  \
        free(object);                                                                                                  \
        return DONE;                                                                                                   \
    }
DESTROY(cusparseDestroySpVec, sparse)
DESTROY(cusparseDestroySpMat, sparse)
DESTROY(cusparseDestroyDnVec, dense)
DESTROY(cusparseDestroyDnMat, dense)

/* ---- queries of descriptors. A pointer for a result must not be NULL ---- */

#define GET_SPARSE(name, parameters, valid, body)                                                                      \
    VENDOR_API int name parameters                                                                                     \
    {                                                                                                                  \
        if (!(m && (valid)))                                                                                           \
            return INVALID_VALUE;                                                                                      \
        body;                                                                                                          \
        return DONE;                                                                                                   \
    }
#define LINES_PARAMETERS                                                                                               \
    (const sparse *m, int64_t *rows, int64_t *columns, int64_t *nnz, void **offsets, void **indices, void **values,    \
     int *offset_type, int *index_type, int *base, int *type)
#define LINES_VALID(which)                                                                                             \
    m->format == (which) && rows &&columns &&nnz &&offsets &&indices &&values &&offset_type &&index_type &&base &&type
#define LINES_BODY                                                                                                     \
    *rows = m->rows, *columns = m->columns, *nnz = m->nnz, *offsets = m->offsets, *indices = m->indices,               \
    *values = m->values, *offset_type = m->offset_type, *index_type = m->index_type, *base = m->base, *type = m->type
GET_SPARSE(cusparseCsrGet, LINES_PARAMETERS, LINES_VALID(CSR), LINES_BODY)
GET_SPARSE(cusparseConstCsrGet, LINES_PARAMETERS, LINES_VALID(CSR), LINES_BODY)
GET_SPARSE(cusparseCscGet, LINES_PARAMETERS, LINES_VALID(CSC), LINES_BODY)
GET_SPARSE(cusparseConstCscGet, LINES_PARAMETERS, LINES_VALID(CSC), LINES_BODY)

#define COO_PARAMETERS                                                                                                 \
    (const sparse *m, int64_t *rows, int64_t *columns, int64_t *nnz, void **row_indices, void **column_indices,        \
     void **values, int *index_type, int *base, int *type)
#define COO_VALID                                                                                                      \
    m->format == COO &&rows &&columns &&nnz &&row_indices &&column_indices &&values &&index_type &&base &&type
#define COO_BODY                                                                                                       \
    *rows = m->rows, *columns = m->columns, *nnz = m->nnz, *row_indices = m->offsets, *column_indices = m->indices,    \
    *values = m->values, *index_type = m->index_type, *base = m->base, *type = m->type
GET_SPARSE(cusparseCooGet, COO_PARAMETERS, COO_VALID, COO_BODY)
GET_SPARSE(cusparseConstCooGet, COO_PARAMETERS, COO_VALID, COO_BODY)

#define ELL_PARAMETERS                                                                                                 \
    (const sparse *m, int64_t *rows, int64_t *columns, int64_t *block, int64_t *width, void **indices, void **values,  \
     int *index_type, int *base, int *type)
#define ELL_VALID                                                                                                      \
    m->format == BLOCKED_ELL &&rows &&columns &&block &&width &&indices &&values &&index_type &&base &&type
#define ELL_BODY                                                                                                       \
    *rows = m->rows, *columns = m->columns, *block = m->block_rows, *width = m->width, *indices = m->indices,          \
    *values = m->values, *index_type = m->index_type, *base = m->base, *type = m->type
GET_SPARSE(cusparseBlockedEllGet, ELL_PARAMETERS, ELL_VALID, ELL_BODY)
GET_SPARSE(cusparseConstBlockedEllGet, ELL_PARAMETERS, ELL_VALID, ELL_BODY)

#define VECTOR_PARAMETERS                                                                                              \
    (const sparse *m, int64_t *size, int64_t *nnz, void **indices, void **values, int *index_type, int *base, int *type)
#define VECTOR_VALID m->format == VECTOR &&size &&nnz &&indices &&values &&index_type &&base &&type
#define VECTOR_BODY                                                                                                    \
    *size = m->rows, *nnz = m->nnz, *indices = m->indices, *values = m->values, *index_type = m->index_type,           \
    *base = m->base, *type = m->type
GET_SPARSE(cusparseSpVecGet, VECTOR_PARAMETERS, VECTOR_VALID, VECTOR_BODY)
GET_SPARSE(cusparseConstSpVecGet, VECTOR_PARAMETERS, VECTOR_VALID, VECTOR_BODY)

GET_SPARSE(cusparseSpVecGetIndexBase, (const sparse *m, int *base), base, *base = m->base)
GET_SPARSE(cusparseSpVecGetValues, (const sparse *m, void **values), values, *values = m->values)
GET_SPARSE(cusparseConstSpVecGetValues, (const sparse *m, void **values), values, *values = m->values)
GET_SPARSE(cusparseSpVecSetValues, (sparse * m, void *values), values, m->values = values)
GET_SPARSE(cusparseSpMatGetFormat, (const sparse *m, int *format), format, *format = m->format)
GET_SPARSE(cusparseSpMatGetIndexBase, (const sparse *m, int *base), base, *base = m->base)
GET_SPARSE(cusparseSpMatGetValues, (const sparse *m, void **values), values, *values = m->values)
GET_SPARSE(cusparseConstSpMatGetValues, (const sparse *m, void **values), values, *values = m->values)
GET_SPARSE(cusparseSpMatSetValues, (sparse * m, void *values), values, m->values = values)
GET_SPARSE(cusparseSpMatGetSize, (const sparse *m, int64_t *rows, int64_t *columns, int64_t *nnz), rows &&columns &&nnz,
           (*rows = m->rows, *columns = m->columns, *nnz = m->nnz))
GET_SPARSE(cusparseSpMatGetStridedBatch, (const sparse *m, int *batch), batch, *batch = m->batch)

#define POINTERS(name, format_)                                                                                        \
    GET_SPARSE(name, (sparse * m, void *offsets, void *indices, void *values), m->format == (format_),                 \
               (m->offsets = offsets, m->indices = indices, m->values = values))
POINTERS(cusparseCsrSetPointers, CSR)
POINTERS(cusparseCscSetPointers, CSC)
POINTERS(cusparseCooSetPointers, COO)

GET_SPARSE(cusparseCooSetStridedBatch, (sparse * m, int batch, int64_t stride),
           m->format == COO && batch > 0 && (batch == 1 || stride >= m->nnz),
           (m->batch = batch, m->offset_stride = m->index_stride = m->value_stride = stride))
GET_SPARSE(cusparseCsrSetStridedBatch, (sparse * m, int batch, int64_t offsets, int64_t values),
           m->format == CSR && batch > 0 && offsets >= 0 && values >= 0,
           (m->batch = batch, m->offset_stride = offsets, m->index_stride = m->value_stride = values))
GET_SPARSE(cusparseBsrSetStridedBatch, (sparse * m, int batch, int64_t offsets, int64_t indices, int64_t values),
           m->format == BSR && batch > 0 && offsets >= 0 && indices >= 0 && values >= 0,
           (m->batch = batch, m->offset_stride = offsets, m->index_stride = indices, m->value_stride = values))

VENDOR_API int cusparseSpMatSetAttribute(sparse *m, int attribute, const void *data, size_t bytes)
{
    int value;
    if (!m || !data || bytes != sizeof value || !is_two(attribute))
        return INVALID_VALUE;
    memcpy(&value, data, sizeof value);
    if (!is_two(value))
        return INVALID_VALUE;
    *(attribute == ATTRIBUTE_FILL ? &m->fill : &m->diag) = value;
    return DONE;
}

VENDOR_API int cusparseSpMatGetAttribute(const sparse *m, int attribute, void *data, size_t bytes)
{
    if (!m || !data || bytes != sizeof(int) || !is_two(attribute))
        return INVALID_VALUE;
    memcpy(data, attribute == ATTRIBUTE_FILL ? &m->fill : &m->diag, sizeof(int));
    return DONE;
}

/* ---- dense vectors and matrices ---- */

static int create_dense(dense **to, dense m)
{
    const int64_t least = m.order == ORDER_ROWS ? m.columns : m.rows;
    if (!to || !is_count(m.rows) || !is_count(m.columns) || !is_order(m.order) || m.ld < least)
        return INVALID_VALUE;
    if (!is_value_type(m.type))
        return NOT_SUPPORTED;
    m.batch = 1;
    return keep((void **)to, &m, sizeof m);
}

#define CREATE_DENSE(vector, matrix)                                                                                   \
    VENDOR_API int vector(dense **to, int64_t size, void *values, int type)                                            \
    {                                                                                                                  \
        return create_dense(                                                                                           \
            to,                                                                                                        \
            (dense){.rows = size, .columns = 1, .ld = size, .values = values, .type = type, .order = ORDER_COLUMNS});  \
    }                                                                                                                  \
    VENDOR_API int matrix(dense **to, int64_t rows, int64_t columns, int64_t ld, void *values, int type, int order)    \
    {                                                                                                                  \
        return create_dense(                                                                                           \
            to, (dense){.rows = rows, .columns = columns, .ld = ld, .values = values, .type = type, .order = order});  \
    }
CREATE_DENSE(cusparseCreateDnVec, cusparseCreateDnMat)
CREATE_DENSE(cusparseCreateConstDnVec, cusparseCreateConstDnMat)

GET_SPARSE(cusparseDnVecGet, (const dense *m, int64_t *size, void **values, int *type), size &&values &&type,
           (*size = m->rows, *values = m->values, *type = m->type))
GET_SPARSE(cusparseConstDnVecGet, (const dense *m, int64_t *size, void **values, int *type), size &&values &&type,
           (*size = m->rows, *values = m->values, *type = m->type))
GET_SPARSE(cusparseDnVecGetValues, (const dense *m, void **values), values, *values = m->values)
GET_SPARSE(cusparseConstDnVecGetValues, (const dense *m, void **values), values, *values = m->values)
GET_SPARSE(cusparseDnVecSetValues, (dense * m, void *values), values, m->values = values)
#define DENSE_PARAMETERS                                                                                               \
    (const dense *m, int64_t *rows, int64_t *columns, int64_t *ld, void **values, int *type, int *order)
#define DENSE_BODY                                                                                                     \
    *rows = m->rows, *columns = m->columns, *ld = m->ld, *values = m->values, *type = m->type, *order = m->order
GET_SPARSE(cusparseDnMatGet, DENSE_PARAMETERS, rows &&columns &&ld &&values &&type &&order, DENSE_BODY)
GET_SPARSE(cusparseConstDnMatGet, DENSE_PARAMETERS, rows &&columns &&ld &&values &&type &&order, DENSE_BODY)
GET_SPARSE(cusparseDnMatGetValues, (const dense *m, void **values), values, *values = m->values)
GET_SPARSE(cusparseConstDnMatGetValues, (const dense *m, void **values), values, *values = m->values)
GET_SPARSE(cusparseDnMatSetValues, (dense * m, void *values), values, m->values = values)
GET_SPARSE(cusparseDnMatSetStridedBatch, (dense * m, int batch, int64_t stride), batch > 0 && stride >= 0,
           (m->batch = batch, m->stride = stride))
GET_SPARSE(cusparseDnMatGetStridedBatch, (const dense *m, int *batch, int64_t *stride), batch &&stride,
           (*batch = m->batch, *stride = m->stride))

/* ---- the older descriptor of matrices ---- */

typedef struct old_matrix {
    int type, fill, diag, base;
} old_matrix;

VENDOR_API int cusparseCreateMatDescr(old_matrix **to)
{
    if (!to)
        return INVALID_VALUE;
    *to = calloc(1, sizeof **to);
    return *to ? DONE : ALLOC_FAILED;
}
DESTROY(cusparseDestroyMatDescr, old_matrix)

#define OLD(name, field, most)                                                                                         \
    VENDOR_API int cusparseSetMat##name(old_matrix *m, int value)                                                      \
    {                                                                                                                  \
        if (!m || value < 0 || value > (most))                                                                         \
            return INVALID_VALUE;                                                                                      \
        m->field = value;                                                                                              \
        return DONE;                                                                                                   \
    }                                                                                                                  \
    VENDOR_API int cusparseGetMat##name(const old_matrix *m) { return m ? m->field : 0; }
OLD(Type, type, 3)
OLD(FillMode, fill, 1)
OLD(DiagType, diag, 1)
OLD(IndexBase, base, 1)
