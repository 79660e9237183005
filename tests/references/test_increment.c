/* Tests increment_exact, the reference of the memory family. */
#include "check.h"
#include "hosts.h"

static kiln_status increment(kiln_array *x, kiln_array *y, kiln_error **error)
{
    const kiln__host *host = builtin("increment_exact");
    kiln__call_arg args[] = {
        {.name = "x", .kind = KILN__CALL_ARRAY, .array = x},
        {.name = "y", .kind = KILN__CALL_ARRAY, .array = y, .writable = true},
    };
    kiln_call call = {.arg_count = 2, .args = args};
    kiln_status status = kiln__call(&call, host, (kiln__pos){0}, error);
    kiln__call_free(&call);
    return status;
}

/* Four elements of a type, by their bytes. */
static void check_four(kiln_type type, const void *from, const void *want)
{
    unsigned char room[32];
    size_t bytes = 4 * kiln__type_bytes(type);
    kiln_array x = {.type = type, .dims = 1, .shape = {4}, .data = (void *)(uintptr_t)from};
    kiln_array y = {.type = type, .dims = 1, .shape = {4}, .data = room};
    kiln_error *error = NULL;
    CHECK_OK(increment(&x, &y, &error), error);
    CHECK(memcmp(room, want, bytes) == 0);
}

static void test_wraps_around(void)
{
    check_four(KILN_u8, (uint8_t[]){0, 127, 254, 255}, (uint8_t[]){1, 128, 255, 0});
    check_four(KILN_i16, (int16_t[]){-2, -1, 32766, 32767}, (int16_t[]){-1, 0, 32767, -32768});
    check_four(KILN_u32, (uint32_t[]){0, 0x7fffffff, 0xfffffffe, 0xffffffff},
               (uint32_t[]){1, 0x80000000, 0xffffffff, 0});
    check_four(KILN_i64, (int64_t[]){-1, 0, INT64_MAX - 1, INT64_MAX}, (int64_t[]){0, 1, INT64_MAX, INT64_MIN});
}

/* Uses more elements than one thread processes, so that the last thread has fewer. */
static void test_many(void)
{
    const uint64_t count = 2500001;
    kiln_array x, y;
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_u32, 1, &count, &x, &error), error);
    CHECK_OK(kiln__array_make(NULL, KILN_u32, 1, &count, &y, &error), error);
    for (uint32_t i = 0; i < count; i++)
        ((uint32_t *)x.data)[i] = i * 2654435761u;
    CHECK_OK(increment(&x, &y, &error), error);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        wrong += ((uint32_t *)y.data)[i] != i * 2654435761u + 1;
    CHECK(wrong == 0);
    kiln__array_free(NULL, &x);
    kiln__array_free(NULL, &y);
}

static void test_refused(void)
{
    kiln_array x = {.type = KILN_u32, .dims = 1, .shape = {4}}, y = {.type = KILN_u32, .dims = 1, .shape = {5}};
    kiln_error *error = NULL;
    CHECK(increment(&x, &y, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error), "host function 'increment_exact': x and y must have the same shape");
    kiln_error_free(error);
    error = NULL;
    x.type = y.type = KILN_f32;
    CHECK(increment(&x, &y, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(kiln_error_message(error),
               "host function 'increment_exact': x and y must be of the same integer type, not f32 and f32");
    kiln_error_free(error);
}

static const check_case cases[] = {
    {"wraps around", test_wraps_around},
    {"many", test_many},
    {"refused", test_refused},
};
KILN_SUITE("increment_exact", cases)
