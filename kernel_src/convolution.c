/* convolution.c - the reference and an input of convolutions. The reference convolution_f64 computes in double that
 * y[r][c] is the sum of x[r + i - MASK_H / 2][c + j - MASK_W / 2] * mask[i][j]. Outside the image, x is zero. The
 * reference also multiplies these zeros, so that an infinity in the mask gives NaN there.
 *
 * The input outer_product exports a column, a row, and the mask that is their product. */
#include <inttypes.h>
#include <string.h>

#include "catalogue.h"

enum { SEGMENT = 2048 }; /* number of columns that are added at once: their sums stay in the L1 cache */

typedef struct convolution {
    const float *x, *mask;
    float *y;
    int64_t height, width, mask_height, mask_width, segments;
} convolution;

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Adds weight * row[c + shift] to sums[c] for all c below count. The array `row` has elements from `first` to `end` -
 * 1. */
static void add_shifted(double *sums, int64_t count, const float *row, int64_t shift, int64_t first, int64_t end,
                        double weight)
{
    int64_t from = clamp(first - shift, 0, count), to = clamp(end - shift, from, count);
    double outside = weight * 0.0; /* zero, or NaN if the weight is not finite */
    for (int64_t c = 0; c < from; c++)
        sums[c] += outside;
    for (int64_t c = from; c < to; c++)
        sums[c] += weight * (double)row[c + shift];
    for (int64_t c = to; c < count; c++)
        sums[c] += outside;
}

static void make_segment(void *user, size_t index, size_t worker)
{
    (void)worker;
    const convolution *all = user;
    int64_t r = (int64_t)index / all->segments, begin = (int64_t)index % all->segments * SEGMENT;
    int64_t count = all->width - begin < SEGMENT ? all->width - begin : SEGMENT;
    double sums[SEGMENT] = {0};
    for (int64_t i = 0; i < all->mask_height; i++) {
        int64_t row = r + i - all->mask_height / 2;
        bool inside = row >= 0 && row < all->height;
        for (int64_t j = 0; j < all->mask_width; j++) /* a row outside the image has no elements */
            add_shifted(sums, count, inside ? all->x + row * all->width : NULL, begin + j - all->mask_width / 2, 0,
                        inside ? all->width : 0, (double)all->mask[i * all->mask_width + j]);
    }
    kiln__from_doubles(KILN_f32, all->y, (uint64_t)(r * all->width + begin), (size_t)count, sums);
}

static kiln_status convolution_f64(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *x, *mask;
    kiln_array *y;
    if (kiln_call_array(call, "x", &x) != KILN_OK || kiln_call_array(call, "mask", &mask) != KILN_OK ||
        kiln_call_output(call, "y", &y) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (x->type != KILN_f32 || y->type != KILN_f32 || mask->type != KILN_f32)
        return kiln_call_fail(call, "x, mask and y must be of f32");
    if (x->dims != 2 || y->dims != 2 || memcmp(x->shape, y->shape, 2 * sizeof x->shape[0]) != 0)
        return kiln_call_fail(call, "x and y must have two dimensions and the same shape");
    if (mask->dims != 2 || mask->shape[0] % 2 == 0 || mask->shape[1] % 2 == 0)
        return kiln_call_fail(call, "mask must have two dimensions, both odd");
    convolution all = {.x = x->data,
                       .mask = mask->data,
                       .y = y->data,
                       .height = (int64_t)x->shape[0],
                       .width = (int64_t)x->shape[1],
                       .mask_height = (int64_t)mask->shape[0],
                       .mask_width = (int64_t)mask->shape[1]};
    if (all.height == 0 || all.width == 0)
        return KILN_OK;
    all.segments = (all.width + SEGMENT - 1) / SEGMENT;
    kiln__parallel(0, (size_t)(all.height * all.segments), make_segment, &all);
    return KILN_OK;
}

/* Exports a column and a row of random numbers, made from consecutive seeds, and the matrix of their products. This
 * matrix is a mask that a separable kernel can split. */
static kiln_status outer_product(void *user, kiln_call *call)
{
    (void)user;
    int64_t rows, columns, seed;
    if (kiln_call_int(call, "rows", NULL, &rows) != KILN_OK ||
        kiln_call_int(call, "columns", NULL, &columns) != KILN_OK ||
        kiln_call_int(call, "seed", &(int64_t){0}, &seed) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (rows < 0 || columns < 0)
        return kiln_call_fail(call, "%" PRId64 " rows and %" PRId64 " columns", rows, columns);
    const uint64_t shape[] = {(uint64_t)rows, (uint64_t)columns};
    kiln_array *column, *row, *product;
    kiln_status status = kiln_call_export_array(call, "column", KILN_f32, 1, &shape[0], &column);
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "row", KILN_f32, 1, &shape[1], &row);
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "product", KILN_f32, 2, shape, &product);
    kiln__fill_values fill = {.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 2 * (uint64_t)seed};
    kiln_error *why = NULL;
    if (status == KILN_OK)
        status = kiln__array_fill(column, &fill, kiln_call_allocator(call), &why);
    fill.seed++;
    if (status == KILN_OK)
        status = kiln__array_fill(row, &fill, kiln_call_allocator(call), &why);
    if (status != KILN_OK)
        return kiln__call_pass(call, status, why);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            ((float *)product->data)[i * columns + j] = ((const float *)column->data)[i] *
                                                        ((const float *)row->data)[j];
    return KILN_OK;
}

KILN__FAMILY(convolution, KILN__HOST("convolution_f64", KILN_HOST_REFERENCE, convolution_f64, "x, mask", "y"),
             KILN__HOST("outer_product", KILN_HOST_INPUT, outer_product, "rows, columns, [seed]",
                        "column, row, product"))
