/* transpose.c has transpose_exact, the reference of transposes. It sets T[..., n, m] = A[..., m, n] for elements of any
 * type, bit by bit. A and T are matrices, or stacks of matrices with as many dimensions as an array can have.
 *
 * The reference works in tiles of 64 x 64 elements, so that the cache lines of A and T stay in the cache. Each thread
 * takes one row of tiles after another. */
#include <inttypes.h>
#include <string.h>

#include "catalogue.h"

enum { TILE = 64 };

typedef struct transpose {
    const unsigned char *a;
    unsigned char *t;
    size_t size;                   /* number of bytes of an element */
    uint64_t rows, columns, tiles; /* rows and columns of a matrix; number of rows of tiles of a matrix */
} transpose;

/* Transposes one tile. The function is compiled once for each element size, so that copying an element is one
 * instruction. */
static inline __attribute__((always_inline)) void turn(const unsigned char *a, unsigned char *t, uint64_t rows,
                                                       uint64_t columns, uint64_t row, uint64_t column, size_t size)
{
    uint64_t row_end = rows - row < TILE ? rows : row + TILE;
    uint64_t column_end = columns - column < TILE ? columns : column + TILE;
    for (uint64_t n = column; n < column_end; n++)
        for (uint64_t m = row; m < row_end; m++)
            memcpy(t + (n * rows + m) * size, a + (m * columns + n) * size, size);
}

static void tile_row(void *user, size_t index, size_t worker)
{
    (void)worker;
    const transpose *x = user;
    uint64_t matrix = index / x->tiles, row = index % x->tiles * TILE;
    const unsigned char *a = x->a + matrix * x->rows * x->columns * x->size;
    unsigned char *t = x->t + matrix * x->rows * x->columns * x->size;
    for (uint64_t column = 0; column < x->columns; column += TILE)
        switch (x->size) {
        case 1: turn(a, t, x->rows, x->columns, row, column, 1); break;
        case 2: turn(a, t, x->rows, x->columns, row, column, 2); break;
        case 4: turn(a, t, x->rows, x->columns, row, column, 4); break;
        case 8: turn(a, t, x->rows, x->columns, row, column, 8); break;
        }
}

/* The reference of transposes, for matrices or stacks of matrices of any type. Each thread takes one row of tiles after
 * another. */
static kiln_status transpose_exact(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *a;
    kiln_array *t;
    if (kiln_call_array(call, "A", &a) != KILN_OK || kiln_call_output(call, "T", &t) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (a->dims < 2 || a->dims != t->dims)
        return kiln_call_fail(call, "A and T must have the same number of dimensions, 2 or more, not %d and %d",
                              a->dims, t->dims);
    if (a->type != t->type)
        return kiln_call_fail(call, "A and T must be of the same type, not %s and %s", kiln__type_name(a->type),
                              kiln__type_name(t->type));
    int last = a->dims - 1;
    uint64_t matrices = 1;
    for (int d = 0; d < last - 1; d++) {
        if (a->shape[d] != t->shape[d])
            return kiln_call_fail(call,
                                  "A and T must be stacks of equal size: %" PRIu64 " and %" PRIu64 " in dimension %d",
                                  a->shape[d], t->shape[d], d);
        matrices *= a->shape[d];
    }
    transpose x = {.a = a->data,
                   .t = t->data,
                   .size = kiln__type_bytes(a->type),
                   .rows = a->shape[last - 1],
                   .columns = a->shape[last]};
    if (t->shape[last - 1] != x.columns || t->shape[last] != x.rows)
        return kiln_call_fail(call, "the transpose of %" PRIu64 " x %" PRIu64 " is not %" PRIu64 " x %" PRIu64, x.rows,
                              x.columns, t->shape[last - 1], t->shape[last]);
    if (matrices == 0 || x.rows == 0 || x.columns == 0)
        return KILN_OK;
    x.tiles = (x.rows + TILE - 1) / TILE;
    kiln__parallel(0, (size_t)(matrices * x.tiles), tile_row, &x);
    return KILN_OK;
}

KILN__FAMILY(transpose, KILN__HOST("transpose_exact", KILN_HOST_REFERENCE, transpose_exact, "A", "T"))
