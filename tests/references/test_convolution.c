/* Tests convolution_f64, the reference of convolutions, and outer_product, the input of their masks. */
#include <math.h>

#include "check.h"
#include "hosts.h"

static kiln_array array_of(uint64_t rows, uint64_t columns)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f32, 2, (uint64_t[]){rows, columns}, &array, &error), error);
    return array;
}

static kiln_status convolve(kiln_array *x, kiln_array *mask, kiln_array *y, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "x", .kind = KILN__CALL_ARRAY, .array = x},
        {.name = "mask", .kind = KILN__CALL_ARRAY, .array = mask},
        {.name = "y", .kind = KILN__CALL_ARRAY, .array = y, .writable = true},
    };
    kiln_call call = {.arg_count = 3, .args = args};
    kiln_status status = kiln__call(&call, builtin("convolution_f64"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static void expect(uint64_t rows, uint64_t columns, const float *image, uint64_t mask_rows, uint64_t mask_columns,
                   const float *weights, const float *want)
{
    kiln_array x = array_of(rows, columns), y = array_of(rows, columns), mask = array_of(mask_rows, mask_columns);
    kiln_error *error = NULL;
    if (rows * columns > 0)
        memcpy(x.data, image, rows * columns * sizeof *image);
    memcpy(mask.data, weights, mask_rows * mask_columns * sizeof *weights);
    CHECK_OK(convolve(&x, &mask, &y, &error), error);
    for (uint64_t i = 0; i < rows * columns; i++) {
        float got = ((const float *)y.data)[i];
        CHECK(isnan(want[i]) ? isnan(got) : got == want[i]);
    }
    kiln_array *all[] = {&x, &y, &mask};
    for (int i = 0; i < 3; i++)
        kiln__array_free(NULL, all[i]);
}

static void test_by_hand(void)
{
    static const float ones[] = {1, 10, 100};
    /* The mask is not reversed: its first element multiplies the element to the left of the point. */
    expect(1, 4, (float[]){1, 2, 3, 4}, 1, 3, ones, (float[]){210, 321, 432, 43});
    expect(4, 1, (float[]){1, 2, 3, 4}, 3, 1, ones, (float[]){210, 321, 432, 43});
    expect(2, 3, (float[]){1, 2, 3, 4, 5, 6}, 3, 3, (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9},
           (float[]){5 * 1 + 6 * 2 + 8 * 4 + 9 * 5, 4 * 1 + 5 * 2 + 6 * 3 + 7 * 4 + 8 * 5 + 9 * 6,
                     4 * 2 + 5 * 3 + 7 * 5 + 8 * 6, 2 * 1 + 3 * 2 + 5 * 4 + 6 * 5,
                     1 * 1 + 2 * 2 + 3 * 3 + 4 * 4 + 5 * 5 + 6 * 6, 1 * 2 + 2 * 3 + 4 * 5 + 5 * 6});
    /* The mask is larger than the image. */
    expect(1, 2, (float[]){1, 2}, 3, 7, (float[]){9, 9, 9, 9, 9, 9, 9, 9, 9, 3, 5, 7, 9, 9, 9, 9, 9, 9, 9, 9, 9},
           (float[]){19, 13});
    /* The sums must be in double, because 2^24 + 1 is not a float. */
    expect(1, 3, (float[]){16777216, 1, 1}, 1, 5, (float[]){1, 1, 1, 1, 1}, (float[]){16777218, 16777218, 16777218});
    expect(0, 3, NULL, 1, 1, ones, NULL);
    expect(3, 0, NULL, 1, 1, ones, NULL);
}

static void test_special(void)
{
    static const float mask[] = {1, INFINITY, 1};
    expect(1, 3, (float[]){1, -2, 0}, 1, 3, mask, (float[]){INFINITY, -INFINITY, NAN});
    expect(1, 3, (float[]){1, 2, 3}, 3, 1, mask, (float[]){INFINITY, INFINITY, INFINITY});
    /* The zeros outside are multiplied. */
    expect(1, 3, (float[]){1, 2, 3}, 1, 3, (float[]){INFINITY, 1, 1}, (float[]){NAN, INFINITY, INFINITY});
    expect(2, 1, (float[]){1, 2}, 3, 1, (float[]){1, 1, NAN}, (float[]){NAN, NAN});
    expect(1, 4, (float[]){INFINITY, 1, -INFINITY, 1}, 1, 3, (float[]){1, 1, 1},
           (float[]){INFINITY, NAN, -INFINITY, -INFINITY});
}

/* The image is wider than a segment of sums. The mask selects the point two columns to the right and one row up. */
static void test_segments(void)
{
    enum { COLUMNS = 5003 };
    kiln_array x = array_of(3, COLUMNS), y = array_of(3, COLUMNS), mask = array_of(3, 5);
    kiln_error *error = NULL;
    size_t wrong = 0;
    for (int i = 0; i < 3 * COLUMNS; i++)
        ((float *)x.data)[i] = (float)i + 1;
    ((float *)mask.data)[4] = 1;
    CHECK_OK(convolve(&x, &mask, &y, &error), error);
    for (int i = 0; i < 3 * COLUMNS; i++) {
        bool inside = i >= COLUMNS && i % COLUMNS + 2 < COLUMNS;
        wrong += ((float *)y.data)[i] != (inside ? (float)(i - COLUMNS + 2) + 1 : 0);
    }
    CHECK(wrong == 0);
    kiln_array *all[] = {&x, &y, &mask};
    for (int i = 0; i < 3; i++)
        kiln__array_free(NULL, all[i]);
}

static void fails(kiln_array x, kiln_array mask, kiln_array y, const char *message)
{
    kiln_error *error = NULL;
    CHECK(convolve(&x, &mask, &y, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
}

static void test_errors(void)
{
    kiln_array x = {.type = KILN_f32, .dims = 2, .shape = {4, 5}},
               mask = {.type = KILN_f32, .dims = 2, .shape = {3, 3}};
    kiln_array other = x;
    other.shape[1] = 6;
    fails(x, mask, other, "host function 'convolution_f64': x and y must have two dimensions and the same shape");
    other = x;
    other.type = KILN_f64;
    fails(x, mask, other, "host function 'convolution_f64': x, mask and y must be of f32");
    other = mask;
    other.shape[0] = 2;
    fails(x, other, x, "host function 'convolution_f64': mask must have two dimensions, both odd");
    other = mask;
    other.dims = 1;
    fails(x, other, x, "host function 'convolution_f64': mask must have two dimensions, both odd");
}

static kiln_status multiply(kiln_call *call, const kiln_allocator *mem, int64_t rows, int64_t columns,
                            kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "rows", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = rows}},
        {.name = "columns", .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = columns}},
    };
    *call = (kiln_call){.mem = mem, .arg_count = 2, .args = args};
    return kiln__call(call, builtin("outer_product"), (kiln__pos){0}, error);
}

static void test_outer_product(void)
{
    kiln_call call;
    kiln_error *error = NULL;
    CHECK_OK(multiply(&call, NULL, 3, 5, &error), error);
    const kiln__export *column = kiln__export_find(call.exports, "column"),
                       *row = kiln__export_find(call.exports, "row");
    const kiln__export *product = kiln__export_find(call.exports, "product");
    CHECK(column && row && product);
    if (!column || !row || !product)
        return;
    CHECK(product->array.dims == 2 && product->array.shape[0] == 3 && product->array.shape[1] == 5);
    const float *a = column->array.data, *b = row->array.data, *made = product->array.data;
    CHECK(a[0] != a[1] && a[0] != b[0] && b[0] != b[1]);
    for (int i = 0; i < 15; i++)
        CHECK(made[i] == a[i / 5] * b[i % 5]);
    kiln__call_free(&call);
    CHECK(multiply(&call, NULL, -1, 5, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'outer_product': -1 rows and 5 columns");
    kiln_error_free(error);
    kiln__call_free(&call);
}

static void test_memory(void)
{
    bool failed = true;
    for (long i = 0; failed; i++) {
        check_oom oom = {.countdown = i};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_call call;
        kiln_error *error = NULL;
        failed = multiply(&call, &mem, 3, 5, &error) != KILN_OK;
        CHECK(failed == oom.failed);
        kiln_error_free(error);
        kiln__call_free(&call);
        CHECK(oom.live == 0);
    }
}

static const check_case cases[] = {
    {"by hand", test_by_hand}, {"special values", test_special},      {"segments", test_segments},
    {"errors", test_errors},   {"outer product", test_outer_product}, {"memory", test_memory},
};
KILN_SUITE("convolution", cases)
