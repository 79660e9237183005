/* Tests transpose_exact, the reference of transposes. */
#include "check.h"
#include "hosts.h"

static kiln_array array_of(kiln_type type, int dims, const uint64_t *shape)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, type, dims, shape, &array, &error), error);
    return array;
}

static kiln_status turn(kiln_array *a, kiln_array *t, kiln_error **error)
{
    const kiln__host *host = builtin("transpose_exact");
    kiln__call_arg args[] = {
        {.name = "A", .kind = KILN__CALL_ARRAY, .array = a},
        {.name = "T", .kind = KILN__CALL_ARRAY, .array = t, .writable = true},
    };
    kiln_call call = {.arg_count = 2, .args = args};
    kiln_status status = kiln__call(&call, host, (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

static void test_by_hand(void)
{
    kiln_array a = array_of(KILN_u16, 3, (uint64_t[]){2, 2, 3}), t = array_of(KILN_u16, 3, (uint64_t[]){2, 3, 2});
    const uint16_t from[] = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 65535};
    const uint16_t want[] = {1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 65535};
    kiln_error *error = NULL;
    memcpy(a.data, from, sizeof from);
    CHECK_OK(turn(&a, &t, &error), error);
    CHECK(memcmp(t.data, want, sizeof want) == 0);
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &t);
}

/* The value of each element tells its original place. */
static void check_places(kiln_type type, uint64_t matrices, uint64_t m, uint64_t n)
{
    kiln_array a = array_of(type, 3, (uint64_t[]){matrices, m, n}), t = array_of(type, 3, (uint64_t[]){matrices, n, m});
    const size_t size = kiln__type_bytes(type);
    unsigned char *from = a.data, *to = t.data;
    kiln_error *error = NULL;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < matrices * m * n; i++)
        memcpy(from + i * size, &i, size);
    CHECK_OK(turn(&a, &t, &error), error);
    for (uint64_t b = 0; b < matrices; b++)
        for (uint64_t row = 0; row < n; row++)
            for (uint64_t column = 0; column < m; column++) {
                uint64_t place = (b * m + column) * n + row;
                wrong += memcmp(to + ((b * n + row) * m + column) * size, &place, size) != 0;
            }
    CHECK(wrong == 0);
    kiln__array_free(NULL, &a);
    kiln__array_free(NULL, &t);
}

static void test_places(void)
{
    check_places(KILN_u32, 1, 64, 128);
    check_places(KILN_f32, 3, 65, 127); /* small integers as bit patterns of floats: denormals */
    check_places(KILN_u64, 1, 1, 300);
    check_places(KILN_f16, 1, 300, 1);
    check_places(KILN_u8, 2, 70, 66);
}

/* Without elements nothing happens, whatever the number of empty rows. */
static void test_empty(void)
{
    kiln_array a = {.type = KILN_f32, .dims = 3, .shape = {1ULL << 40, 1ULL << 40, 0}};
    kiln_array t = {.type = KILN_f32, .dims = 3, .shape = {1ULL << 40, 0, 1ULL << 40}};
    kiln_error *error = NULL;
    CHECK_OK(turn(&a, &t, &error), error);
}

static void fails(kiln_array a, kiln_array t, const char *message)
{
    kiln_error *error = NULL;
    CHECK(turn(&a, &t, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
}

static void test_shapes_that_do_not_fit(void)
{
    kiln_array a = {.type = KILN_f32, .dims = 2, .shape = {4, 5}}, t = {.type = KILN_f32, .dims = 2, .shape = {5, 4}};
    kiln_array other = t;
    other.type = KILN_u32;
    fails(a, other, "host function 'transpose_exact': A and T must be of the same type, not f32 and u32");
    fails(a, a, "host function 'transpose_exact': the transpose of 4 x 5 is not 4 x 5");
    other = t;
    other.dims = 1;
    fails(a, other,
          "host function 'transpose_exact': A and T must have the same number of dimensions, 2 or more, "
          "not 2 and 1");
    kiln_array stack = {.type = KILN_f32, .dims = 3, .shape = {2, 4, 5}};
    other = (kiln_array){.type = KILN_f32, .dims = 3, .shape = {3, 5, 4}};
    fails(stack, other,
          "host function 'transpose_exact': A and T must be stacks of equal size: 2 and 3 in dimension 0");
}

static const check_case cases[] = {
    {"by hand", test_by_hand},
    {"places", test_places},
    {"empty", test_empty},
    {"shapes that do not fit", test_shapes_that_do_not_fit},
};
KILN_SUITE("transpose_exact", cases)
