/* Tests the inputs of radix sorts, and compares their reference with an insertion sort that orders numbers by their
 * values. */
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"

static const char *const TYPES[] = {"u32", "i32", "f32", "u64", "i64", "f64"};
static const char *const KINDS[] = {"random", "sorted", "reversed", "few", "equal", "special"};

static kiln__call_arg text(const char *name, const char *value)
{
    return (kiln__call_arg){.name = name, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_TEXT, .as.text = value}};
}

static kiln__call_arg number(const char *name, int64_t value)
{
    return (kiln__call_arg){.name = name, .kind = KILN__CALL_VALUE, .value = {.kind = KILN_INT, .as.i = value}};
}

static size_t bytes_of(const kiln_array *array)
{
    return array->type == KILN_u64 || array->type == KILN_i64 || array->type == KILN_f64 ? 8 : 4;
}

static kiln_status make_keys(const char *keys, const char *type, int64_t n, kiln_array *made, const kiln_allocator *mem,
                             kiln_error **error)
{
    kiln__call_arg args[] = {text("keys", keys), text("type", type), number("n", n), number("seed", 3)};
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = kiln__call(&call, builtin("radixsort_keys"), (kiln__pos){0}, error);
    if (status == KILN_OK && made) {
        const kiln__export *export = kiln__export_find(call.exports, "keys");
        CU_ASSERT_PTR_NOT_NULL_FATAL(export);
        *made = make(export->array.type, 1, export->array.shape[0], 0);
        memcpy(made->data, export->array.data, (size_t)made->shape[0] * bytes_of(made));
    }
    kiln__call_free(&call);
    return status;
}

typedef struct sorts {
    kiln_array keys, values, sorted_keys, sorted_values;
    int64_t begin, end;
} sorts;

static kiln_status sort(sorts *s, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "keys", .kind = KILN__CALL_ARRAY, .array = &s->keys},
        {.name = "values", .kind = KILN__CALL_ARRAY, .array = &s->values},
        {.name = "sorted_keys", .kind = KILN__CALL_ARRAY, .array = &s->sorted_keys, .writable = true},
        {.name = "sorted_values", .kind = KILN__CALL_ARRAY, .array = &s->sorted_values, .writable = true},
        number("BEGIN", s->begin),
        number("END", s->end),
    };
    kiln_call call = {.mem = mem, .arg_count = KILN__COUNT(args), .args = args};
    kiln_status status = kiln__call(&call, builtin("radixsort_exact"), (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static sorts make_sort(const char *kind, const char *type, uint64_t n, bool pairs)
{
    sorts s = {.end = type[1] == '3' ? 32 : 64};
    kiln_error *error = NULL;
    CHECK_OK(make_keys(kind, type, (int64_t)n, &s.keys, NULL, &error), error);
    s.sorted_keys = make(s.keys.type, 1, n, 0);
    s.values = make(KILN_u32, 1, pairs ? n : 0, 0);
    s.sorted_values = make(KILN_u32, 1, pairs ? n : 0, 0);
    for (uint64_t i = 0; i < n && pairs; i++)
        ((uint32_t *)s.values.data)[i] = (uint32_t)i;
    return s;
}

static void free_sort(sorts *s)
{
    kiln_array *const all[] = {&s->keys, &s->values, &s->sorted_keys, &s->sorted_values};
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        kiln__array_free(NULL, all[i]);
}

static uint64_t bits_at(const kiln_array *array, uint64_t i)
{
    return bytes_of(array) == 8 ? ((const uint64_t *)array->data)[i] : ((const uint32_t *)array->data)[i];
}

/* Compares two numbers in the order of a radix sort: NaNs at both ends, -0 before 0. */
static int compare_floats(double a, double b)
{
    const int of_a = isnan(a) ? (signbit(a) ? -2 : 2) : 0, of_b = isnan(b) ? (signbit(b) ? -2 : 2) : 0;
    if (of_a || of_b)
        return (of_a > of_b) - (of_a < of_b);
    return a == b ? (signbit(a) == 0) - (signbit(b) == 0) : (a > b) - (a < b);
}

/* Compares by value. NaNs of one sign count as equal, because the order of their bits decides. */
static int compare(const kiln_array *array, uint64_t i, uint64_t j)
{
    const void *data = array->data;
    switch (array->type) {
    case KILN_i32:
        return (((const int32_t *)data)[i] > ((const int32_t *)data)[j]) -
               (((const int32_t *)data)[i] < ((const int32_t *)data)[j]);
    case KILN_i64:
        return (((const int64_t *)data)[i] > ((const int64_t *)data)[j]) -
               (((const int64_t *)data)[i] < ((const int64_t *)data)[j]);
    case KILN_f32: return compare_floats((double)((const float *)data)[i], (double)((const float *)data)[j]);
    case KILN_f64: return compare_floats(((const double *)data)[i], ((const double *)data)[j]);
    default: return (bits_at(array, i) > bits_at(array, j)) - (bits_at(array, i) < bits_at(array, j));
    }
}

/* Checks the order, the stability, and that each value still belongs to its key. */
static void check_sorted(const sorts *s)
{
    const uint64_t n = s->keys.shape[0];
    uint8_t *seen = calloc(n + 1, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t from = ((uint32_t *)s->sorted_values.data)[i];
        CHECK(from < n && !seen[from]);
        seen[from] = 1;
        CHECK(bits_at(&s->sorted_keys, i) == bits_at(&s->keys, from));
        if (i == 0)
            continue;
        CHECK(compare(&s->sorted_keys, i - 1, i) <= 0);
        if (bits_at(&s->sorted_keys, i - 1) == bits_at(&s->sorted_keys, i))
            CHECK(((uint32_t *)s->sorted_values.data)[i - 1] < from);
    }
    free(seen);
}

static void test_all_types(void)
{
    for (size_t t = 0; t < KILN__COUNT(TYPES); t++)
        for (size_t k = 0; k < KILN__COUNT(KINDS); k++) {
            sorts s = make_sort(KINDS[k], TYPES[t], 1500, true);
            kiln_error *error = NULL;
            CHECK_OK(sort(&s, NULL, &error), error);
            check_sorted(&s);
            free_sort(&s);
        }
}

static void test_many(void) /* Tests more than one run: two threads, an incomplete run, an odd number of runs. */
{
    sorts s = make_sort("few", "u32", 3 * 65536 + 77, true);
    kiln_error *error = NULL;
    CHECK_OK(sort(&s, NULL, &error), error);
    check_sorted(&s);
    free_sort(&s);
    s = make_sort("random", "u64", 0, false);
    CHECK_OK(sort(&s, NULL, &error), error);
    free_sort(&s);
}

static void test_bits(void) /* Sorts by bits 8 to 11 alone: keys that are equal in these bits keep their order. */
{
    sorts s = make_sort("random", "u32", 4, false);
    kiln_error *error = NULL;
    memcpy(s.keys.data, (uint32_t[]){0x12345300, 0x00000299, 0xFFFFF3FF, 0x00000001}, 16);
    s.begin = 8, s.end = 12;
    CHECK_OK(sort(&s, NULL, &error), error);
    CHECK(memcmp(s.sorted_keys.data, (uint32_t[]){0x00000001, 0x00000299, 0x12345300, 0xFFFFF3FF}, 16) == 0);
    free_sort(&s);
}

static void test_floats(void)
{
    sorts s = make_sort("random", "f32", 7, false);
    kiln_error *error = NULL;
    memcpy(s.keys.data,
           (uint32_t[]){0x7FC00000, 0x00000000, 0xFFC00000, 0x80000000, 0xFF800000, 0x7F800000, 0xBF800000}, 28);
    CHECK_OK(sort(&s, NULL, &error), error);
    const uint32_t want[] = {0xFFC00000, 0xFF800000, 0xBF800000, 0x80000000, 0x00000000, 0x7F800000, 0x7FC00000};
    CHECK(memcmp(s.sorted_keys.data, want, sizeof want) == 0);
    free_sort(&s);
}

static void test_kinds(void)
{
    for (size_t t = 0; t < KILN__COUNT(TYPES); t++) {
        kiln_array keys = {0};
        kiln_error *error = NULL;
        CHECK_OK(make_keys("sorted", TYPES[t], 1000, &keys, NULL, &error), error);
        for (uint64_t i = 1; i < 1000; i++)
            CHECK(bits_at(&keys, i - 1) < bits_at(&keys, i) && compare(&keys, i - 1, i) <= 0);
        kiln__array_free(NULL, &keys);
        CHECK_OK(make_keys("reversed", TYPES[t], 1000, &keys, NULL, &error), error);
        for (uint64_t i = 1; i < 1000; i++)
            CHECK(bits_at(&keys, i - 1) > bits_at(&keys, i));
        kiln__array_free(NULL, &keys);
        CHECK_OK(make_keys("equal", TYPES[t], 100, &keys, NULL, &error), error);
        for (uint64_t i = 1; i < 100; i++)
            CHECK(bits_at(&keys, i - 1) == bits_at(&keys, i));
        kiln__array_free(NULL, &keys);
    }
}

static void check_failure(sorts *s, const char *message)
{
    kiln_error *error = NULL;
    CHECK(sort(s, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
}

/* Wrong arguments of the inputs and the reference have messages that name the argument. */
static void test_errors(void)
{
    const struct {
        const char *keys, *type;
        int64_t n;
        const char *message;
    } wrong[] = {
        {"other", "u32", 1, "keys must be random, sorted, reversed, few, equal or special, not 'other'"},
        {"few", "f16", 1, "the type of keys must be u32, i32, f32, u64, i64 or f64, not 'f16'"},
        {"few", "u32", INT64_C(1) << 32, "n must be 0 to 2^32 - 1"},
    };
    for (size_t i = 0; i < KILN__COUNT(wrong); i++) {
        kiln_error *error = NULL;
        CHECK(make_keys(wrong[i].keys, wrong[i].type, wrong[i].n, NULL, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
        CHECK(strstr(kiln_error_message(error), wrong[i].message) != NULL);
        kiln_error_free(error);
    }
    sorts s = make_sort("random", "u32", 10, true);
    s.end = 33;
    check_failure(
        &s, "host function 'radixsort_exact': BEGIN must be at least 0 and less than END, and END at most the number "
            "of bits of a key");
    s.end = 32, s.sorted_keys.type = KILN_i32;
    check_failure(&s,
                  "host function 'radixsort_exact': keys and sorted_keys must be one-dimensional, of one length, with "
                  "elements of 32 or 64 bits; values and sorted_values must be of u32, and have this length or none");
    free_sort(&s);
}

static void test_memory(void)
{
    sorts s = make_sort("random", "u32", 10, true);
    for (int i = 0; i < 3; i++) { /* the keys, and both arrays of items */
        check_oom oom = {.countdown = i == 2};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        CHECK((i == 0 ? make_keys("few", "u32", 10, NULL, &mem, &error) : sort(&s, &mem, &error)) != KILN_OK);
        CHECK(oom.failed);
        kiln_error_free(error);
        CHECK(oom.live == 0);
    }
    free_sort(&s);
}

static const check_case cases[] = {
    {"all types", test_all_types}, {"many", test_many},     {"bits", test_bits},     {"floats", test_floats},
    {"kinds", test_kinds},         {"errors", test_errors}, {"memory", test_memory},
};
KILN_SUITE("radixsort", cases)
