/* Tests the references of reductions and scans. */
#include <inttypes.h>
#include <math.h>

#include "check.h"
#include "hosts.h"

static kiln_array make(kiln_type type, uint64_t n)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, type, 1, &n, &array, &error), error);
    return array;
}

/* reduction_f64 has an output `at`, and scan_f64 has no such output. */
static kiln_status call(const char *function, const char *size, int64_t value, kiln_array *x, kiln_array *y,
                        kiln_array *at, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "x", .kind = KILN__CALL_ARRAY, .array = x},
        {.name = "y", .kind = KILN__CALL_ARRAY, .array = y, .writable = true},
        {.name = size, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = value}},
        {.name = "at", .kind = KILN__CALL_ARRAY, .array = at, .writable = true},
    };
    kiln_call made = {.mem = mem, .arg_count = at ? 4 : 3, .args = args};
    kiln_status status = kiln__call(&made, builtin(function), (kiln__pos){0}, error);
    kiln__call_free(&made);
    return status;
}

enum { SUM, MAX, ARGMAX };

/* Returns the bits of the result. For ARGMAX, *place becomes its index. */
static uint32_t reduce(int64_t op, kiln_array *x, int64_t *place)
{
    kiln_array y = make(x->type, 1), at = make(KILN_i64, op == ARGMAX ? 1 : 0);
    kiln_error *error = NULL;
    uint32_t bits;
    CHECK_OK(call("reduction_f64", "OP", op, x, &y, &at, NULL, &error), error);
    memcpy(&bits, y.data, sizeof bits);
    if (op == ARGMAX)
        *place = *(int64_t *)at.data;
    kiln__array_free(NULL, &y);
    kiln__array_free(NULL, &at);
    return bits;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static kiln_array floats(size_t count, const float *values)
{
    kiln_array x = make(KILN_f32, count);
    if (count)
        memcpy(x.data, values, count * sizeof *values);
    return x;
}

static void expect_maximum(size_t count, const float *values, float maximum, int64_t place)
{
    kiln_array x = floats(count, values);
    int64_t at = -2;
    uint32_t bits = reduce(MAX, &x, NULL);
    CHECK(isnan(maximum) ? (bits & 0x7fffffff) > 0x7f800000 : bits == bits_of(maximum));
    bits = reduce(ARGMAX, &x, &at);
    CHECK(isnan(maximum) ? (bits & 0x7fffffff) > 0x7f800000 : bits == bits_of(maximum));
    CHECK(at == place);
    kiln__array_free(NULL, &x);
}

static void test_maxima(void)
{
    expect_maximum(4, (float[]){1, 3, -5, 3}, 3, 1); /* the first of equal maxima counts */
    expect_maximum(3, (float[]){-0.0f, 0.0f, 0.0f}, 0.0f, 1);
    expect_maximum(2, (float[]){-0.0f, -0.0f}, -0.0f, 0);
    expect_maximum(4, (float[]){INFINITY, NAN, 5, NAN}, NAN, 1);
    expect_maximum(2, (float[]){-INFINITY, -INFINITY}, -INFINITY, 0);
    expect_maximum(2, (float[]){-1e-45f, 1e-45f}, 1e-45f, 1);
    expect_maximum(0, NULL, -INFINITY, -1);
    kiln_array x = make(KILN_i32, 200001); /* four stretches; equal maxima in the second and the last */
    int64_t at = 0;
    ((int32_t *)x.data)[100000] = ((int32_t *)x.data)[200000] = INT32_MAX;
    ((int32_t *)x.data)[5] = INT32_MIN;
    CHECK(reduce(ARGMAX, &x, &at) == INT32_MAX && at == 100000);
    CHECK(reduce(MAX, &x, NULL) == INT32_MAX);
    kiln__array_free(NULL, &x);
    x = make(KILN_i32, 0);
    CHECK(reduce(ARGMAX, &x, &at) == (uint32_t)INT32_MIN && at == -1);
    CHECK(reduce(SUM, &x, NULL) == 0);
    kiln__array_free(NULL, &x);
}

static void test_sums(void)
{
    /* 2^24 + 1 is not a float, so only sums in double give the right result. */
    kiln_array x = floats(4, (float[]){16777216, 1, 1, 1});
    CHECK(reduce(SUM, &x, NULL) == bits_of(16777220)); /* 16777219, a tie between ..18 and ..20, to even */
    kiln__array_free(NULL, &x);
    x = floats(3, (float[]){INFINITY, 1, -INFINITY});
    CHECK((reduce(SUM, &x, NULL) & 0x7fffffff) > 0x7f800000);
    kiln__array_free(NULL, &x);
    x = floats(2, (float[]){1e-45f, 1e-45f});
    CHECK(reduce(SUM, &x, NULL) == 2);
    kiln__array_free(NULL, &x);
    x = make(KILN_i32, 140000); /* 140000 (2^31 - 1) = 70000 2^32 - 140000 */
    for (int i = 0; i < 140000; i++)
        ((int32_t *)x.data)[i] = INT32_MAX;
    CHECK(reduce(SUM, &x, NULL) == (uint32_t)-140000);
    kiln__array_free(NULL, &x);
}

static void test_scans(void)
{
    const float values[] = {16777216, 1, 1, 1, -INFINITY, 5, INFINITY, 1};
    const float inclusive[] = {16777216, 16777216, 16777218, 16777220, -INFINITY, -INFINITY, NAN, NAN};
    kiln_error *error = NULL;
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        kiln_array x = floats(8, values), y = make(KILN_f32, 8);
        CHECK_OK(call("scan_f64", "EXCLUSIVE", exclusive, &x, &y, NULL, NULL, &error), error);
        const float *got = y.data;
        CHECK(!exclusive || bits_of(got[0]) == 0);
        for (int i = exclusive; i < 8; i++) {
            float want = inclusive[i - exclusive];
            CHECK(isnan(want) ? isnan(got[i]) : got[i] == want);
        }
        kiln__array_free(NULL, &x);
        kiln__array_free(NULL, &y);
        /* x[i] = 2^31 - i over three stretches: i + 1 of them add up to (i + 1) 2^31 - i (i + 1) / 2. */
        x = make(KILN_i32, 150000);
        y = make(KILN_i32, 150000);
        size_t wrong = 0;
        for (uint32_t i = 0; i < 150000; i++)
            ((uint32_t *)x.data)[i] = 0x80000000u - i;
        CHECK_OK(call("scan_f64", "EXCLUSIVE", exclusive, &x, &y, NULL, NULL, &error), error);
        for (uint64_t i = 0; i < 150000; i++) {
            uint64_t n = exclusive ? i : i + 1;
            wrong += ((uint32_t *)y.data)[i] != (uint32_t)((n << 31) - n * (n - (n > 0)) / 2);
        }
        CHECK(wrong == 0);
        kiln__array_free(NULL, &x);
        kiln__array_free(NULL, &y);
    }
    kiln_array x = make(KILN_f32, 0), y = make(KILN_f32, 0);
    CHECK_OK(call("scan_f64", "EXCLUSIVE", 0, &x, &y, NULL, NULL, &error), error);
    kiln__array_free(NULL, &x);
    kiln__array_free(NULL, &y);
}

static void expect_failure(const char *function, const char *size, int64_t value, kiln_array x, kiln_array y,
                           kiln_array at, const char *message)
{
    kiln_error *error = NULL;
    bool reduction = strcmp(function, "reduction_f64") == 0;
    CHECK(call(function, size, value, &x, &y, reduction ? &at : NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
    kiln__array_free(NULL, &x);
    kiln__array_free(NULL, &y);
    kiln__array_free(NULL, &at);
}

static void test_errors(void)
{
    const char *of_reduction = "host function 'reduction_f64': x must be one-dimensional, of f32 or i32, and y one "
                               "element of the same type";
    const char *of_scan = "host function 'scan_f64': x and y must be one-dimensional, of f32 or i32, and of the same "
                          "type and length";
    expect_failure("reduction_f64", "OP", 3, make(KILN_f32, 5), make(KILN_f32, 1), make(KILN_i64, 1),
                   "host function 'reduction_f64': OP must be 0 (sum), 1 (max) or 2 (argmax), not 3");
    expect_failure("reduction_f64", "OP", SUM, make(KILN_f64, 5), make(KILN_f64, 1), make(KILN_i64, 0), of_reduction);
    expect_failure("reduction_f64", "OP", SUM, make(KILN_f32, 5), make(KILN_f32, 0), make(KILN_i64, 0), of_reduction);
    expect_failure("reduction_f64", "OP", ARGMAX, make(KILN_f32, 5), make(KILN_f32, 1), make(KILN_i64, 0),
                   "host function 'reduction_f64': at must be one i64");
    expect_failure("reduction_f64", "SUM", SUM, make(KILN_f32, 5), make(KILN_f32, 1), make(KILN_i64, 0),
                   "host function 'reduction_f64': argument 'OP' is missing");
    expect_failure("scan_f64", "EXCLUSIVE", 0, make(KILN_f32, 5), make(KILN_f32, 4), make(KILN_i64, 0), of_scan);
    expect_failure("scan_f64", "EXCLUSIVE", 0, make(KILN_f32, 5), make(KILN_i32, 5), make(KILN_i64, 0), of_scan);
}

static void test_memory(void)
{
    kiln_array x = make(KILN_f32, 5), y = make(KILN_f32, 5), one = make(KILN_f32, 1), at = make(KILN_i64, 0);
    for (int i = 0; i < 2; i++) {
        check_oom oom = {.countdown = 0};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        CHECK(call(i ? "scan_f64" : "reduction_f64", i ? "EXCLUSIVE" : "OP", 0, &x, i ? &y : &one, i ? NULL : &at, &mem,
                   &error) != KILN_OK);
        CHECK(oom.failed);
        kiln_error_free(error);
        CHECK(oom.live == 0);
    }
    kiln__array_free(NULL, &x);
    kiln__array_free(NULL, &y);
    kiln__array_free(NULL, &one);
    kiln__array_free(NULL, &at);
}

static const check_case cases[] = {
    {"maxima", test_maxima}, {"sums", test_sums},     {"scans", test_scans},
    {"errors", test_errors}, {"memory", test_memory},
};
KILN_SUITE("sums", cases)
