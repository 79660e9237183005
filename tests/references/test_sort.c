/* Tests the inputs of sorts and their reference. */
#include <inttypes.h>

#include "check.h"
#include "hosts.h"

static kiln__call_arg text(const char *name, const char *value)
{
    return (kiln__call_arg){.name = name, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_TEXT, .as.text = value}};
}

static kiln__call_arg number(const char *name, int64_t value)
{
    return (kiln__call_arg){.name = name, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = value}};
}

static kiln_status make(const char *keys, const char *type, int64_t n, kiln_array *made, const kiln_allocator *mem,
                        kiln_error **error)
{
    kiln__call_arg args[] = {text("keys", keys), text("type", type), number("n", n), number("seed", 3)};
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = kiln__call(&call, builtin("sort_keys"), (kiln__pos){0}, error);
    if (status == KILN_OK && made) {
        const kiln__export *export = kiln__export_find(call.exports, "keys");
        CU_ASSERT_PTR_NOT_NULL_FATAL(export);
        kiln_array copy = {0};
        CHECK_OK(kiln__array_make(NULL, export->array.type, 1, export->array.shape, &copy, error), *error);
        memcpy(copy.data, export->array.data, (size_t)copy.shape[0] * 4);
        *made = copy;
    }
    kiln__call_free(&call);
    return status;
}

static kiln_status sort(kiln_array *keys, kiln_array *values, kiln_array *sorted_keys, kiln_array *sorted_values,
                        const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "keys", .kind = KILN__CALL_ARRAY, .array = keys},
        {.name = "values", .kind = KILN__CALL_ARRAY, .array = values},
        {.name = "sorted_keys", .kind = KILN__CALL_ARRAY, .array = sorted_keys, .writable = true},
        {.name = "sorted_values", .kind = KILN__CALL_ARRAY, .array = sorted_values, .writable = true},
    };
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = kiln__call(&call, builtin("sort_exact"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static kiln_array line(kiln_type type, uint64_t n)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, type, 1, &n, &array, &error), error);
    return array;
}

/* Returns true if key a comes before key b by their values: floats by <, -0 before 0, NaN by their signs and bits. */
static bool is_before(kiln_type type, uint32_t a, uint32_t b)
{
    if (type == KILN_u32)
        return a < b;
    if (type == KILN_i32)
        return (int32_t)a < (int32_t)b;
    float x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (x < y || x > y)
        return x < y;
    bool x_less = a >> 31, y_less = b >> 31; /* one of the keys is NaN, both are zeros, or they are equal */
    if (x_less != y_less)
        return x_less;
    return x_less ? a > b : a < b;
}

/* Sorts the keys that sort_keys makes. Checks the order, the stability, and that each value still belongs to its
 * key. */
static void check_sorted(const char *keys_name, const char *type, uint64_t n, bool pairs)
{
    kiln_array keys;
    kiln_error *error = NULL;
    CHECK_OK(make(keys_name, type, (int64_t)n, &keys, NULL, &error), error);
    uint64_t count = pairs ? n : 0, wrong = 0;
    kiln_array values = line(KILN_u32, count), sorted_keys = line(keys.type, n), sorted_values = line(KILN_u32, count);
    uint32_t *value = values.data, *key = keys.data, *out = sorted_keys.data, *moved = sorted_values.data;
    for (uint64_t i = 0; i < count; i++)
        value[i] = (uint32_t)i;
    CHECK_OK(sort(&keys, &values, &sorted_keys, &sorted_values, NULL, &error), error);
    uint64_t before = 0, after = 0;
    for (uint64_t i = 0; i < n; i++) {
        before += key[i] * UINT64_C(0x9E3779B97F4A7C15) >> 7;
        after += out[i] * UINT64_C(0x9E3779B97F4A7C15) >> 7;
        wrong += i > 0 && is_before(keys.type, out[i], out[i - 1]);
        wrong += pairs && (moved[i] >= n || key[moved[i]] != out[i]);
        wrong += pairs && i > 0 && out[i] == out[i - 1] && moved[i] <= moved[i - 1];
    }
    CHECK(wrong == 0);
    CHECK(before == after);
    kiln_array *all[] = {&keys, &values, &sorted_keys, &sorted_values};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
}

static void test_reference(void)
{
    static const char *const names[] = {"random", "sorted", "reversed", "few", "equal", "nearly", "special"};
    static const char *const types[] = {"u32", "i32", "f32"};
    for (size_t k = 0; k < KILN__COUNT(names); k++)
        for (size_t t = 0; t < KILN__COUNT(types); t++)
            for (uint64_t n = 0; n <= 200000; n = n * 400 + 1)
                check_sorted(names[k], types[t], n, (k + t) % 2 == 0);
    check_sorted("special", "f32", 300001, true);
}

/* Each kind of keys has the property of its name. */
static void test_inputs(void)
{
    enum { N = 100000 };
    kiln_array keys;
    kiln_error *error = NULL;
    CHECK_OK(make("sorted", "f32", N, &keys, NULL, &error), error);
    const float *f = keys.data;
    uint64_t falls = 0;
    for (uint64_t i = 1; i < N; i++)
        falls += f[i] < f[i - 1];
    CHECK(falls == 0);
    CHECK(f[0] == -1 && f[N - 1] < 1 && f[N - 1] > 0.999F);
    kiln__array_free(NULL, &keys);
    CHECK_OK(make("reversed", "i32", N, &keys, NULL, &error), error);
    const int32_t *i32 = keys.data;
    CHECK(i32[0] > 2000000000 && i32[N - 1] == INT32_MIN);
    kiln__array_free(NULL, &keys);
    CHECK_OK(make("few", "u32", N, &keys, NULL, &error), error);
    const uint32_t *u = keys.data;
    uint64_t others = 0;
    for (uint64_t i = 0; i < N; i++)
        others += u[i] % UINT32_C(0x0FEDCBA9) != 0;
    CHECK(others == 0);
    kiln__array_free(NULL, &keys);
    CHECK_OK(make("special", "f32", N, &keys, NULL, &error), error);
    const uint32_t *bits = keys.data;
    uint64_t minus_zero = 0, nan = 0;
    for (uint64_t i = 0; i < N; i++) {
        minus_zero += bits[i] == UINT32_C(0x80000000);
        nan += (bits[i] & 0x7FFFFFFF) > 0x7F800000;
    }
    CHECK(minus_zero > N / 64 && nan > N / 16);
    kiln__array_free(NULL, &keys);
}

static void check_message(kiln_error *error, const char *part)
{
    CHECK(error && strstr(kiln_error_message(error), part));
    kiln_error_free(error);
}

static void test_refusals(void)
{
    kiln_error *error = NULL;
    CHECK(make("shuffled", "u32", 5, NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    check_message(error, "not 'shuffled'");
    error = NULL;
    CHECK(make("random", "f64", 5, NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    check_message(error, "not 'f64'");
    error = NULL;
    CHECK(make("random", "u32", -1, NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    check_message(error, "2^32 - 1");
    error = NULL;
    kiln_array keys = line(KILN_u32, 5), values = line(KILN_u32, 4), none = line(KILN_u32, 0);
    CHECK(sort(&keys, &values, &keys, &values, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    check_message(error, "this length or none");
    error = NULL;
    CHECK(sort(&keys, &none, &values, &none, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    check_message(error, "this length or none");
    error = NULL;
    kiln__array_free(NULL, &keys);
    kiln__array_free(NULL, &values);
    kiln__array_free(NULL, &none);
}

/* Lets the first, second, ... allocation fail, until no allocation fails. */
static void test_memory(void)
{
    kiln_array keys = line(KILN_u32, 1000), values = line(KILN_u32, 1000);
    kiln_array sorted_keys = line(KILN_u32, 1000), sorted_values = line(KILN_u32, 1000);
    for (int i = 0; i < 2; i++) {
        bool failed = true;
        for (long n = 0; failed; n++) {
            check_oom oom = {.countdown = n};
            kiln_allocator mem = {check_oom_resize, &oom};
            kiln_error *error = NULL;
            kiln_status status = i ? make("random", "u32", 1000, NULL, &mem, &error)
                                   : sort(&keys, &values, &sorted_keys, &sorted_values, &mem, &error);
            failed = oom.failed;
            CHECK((status != KILN_OK) == failed);
            kiln_error_free(error);
            CHECK(oom.live == 0);
        }
    }
    kiln_array *all[] = {&keys, &values, &sorted_keys, &sorted_values};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
}

static const check_case cases[] = {
    {"reference", test_reference},
    {"inputs", test_inputs},
    {"refusals", test_refusals},
    {"memory", test_memory},
};
KILN_SUITE("sort", cases)
