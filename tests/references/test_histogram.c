/* The reference of histograms. */
#include "check.h"
#include "hosts.h"

static kiln_array make(kiln_type type, uint64_t n)
{
    kiln_array array = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, type, 1, &n, &array, &error), error);
    return array;
}

static kiln_status call(kiln_array *keys, kiln_array *counts, const kiln_allocator *mem, kiln_error **error)
{
    kiln__call_arg args[] = {
        {.name = "keys", .kind = KILN__CALL_ARRAY, .array = keys},
        {.name = "counts", .kind = KILN__CALL_ARRAY, .array = counts, .writable = true},
    };
    kiln_call made = {.mem = mem, .arg_count = 2, .args = args};
    const kiln__host *host = builtin("histogram_exact");
    kiln_status status = kiln__call(&made, host, (kiln__pos){0}, error);
    kiln__call_free(&made);
    return status;
}

static void expect(kiln_array keys, uint64_t bins, const uint32_t *want)
{
    kiln_array counts = make(KILN_u32, bins);
    kiln_error *error = NULL;
    if (bins)
        memset(counts.data, 0xa5, bins * sizeof *want);
    CHECK_OK(call(&keys, &counts, NULL, &error), error);
    CHECK(bins == 0 || memcmp(counts.data, want, bins * sizeof *want) == 0);
    kiln__array_free(NULL, &counts);
    kiln__array_free(NULL, &keys);
}

static void test_bytes(void)
{
    kiln_array keys = make(KILN_u8, 7);
    memcpy(keys.data, (uint8_t[]){2, 0, 255, 2, 3, 4, 2}, 7);
    expect(keys, 4, (uint32_t[]){1, 0, 3, 1}); /* 4 and 255 have no bin */
    expect(make(KILN_u8, 0), 3, (uint32_t[]){0, 0, 0});
    expect(make(KILN_u8, 5), 0, NULL);
}

static void test_words(void)
{
    kiln_array keys = make(KILN_u32, 6);
    memcpy(keys.data, (uint32_t[]){256, 1, UINT32_MAX, 1, 2, 0x80000001}, 6 * sizeof(uint32_t));
    expect(keys, 2, (uint32_t[]){0, 2});
}

/* Several stretches of keys. i^2 modulo 256 takes each value equally often in every 256 consecutive keys. */
static void test_stretches(void)
{
    enum { N = 5 * 1000 * 1000 };
    uint32_t want[256] = {0};
    kiln_array keys = make(KILN_u8, N);
    uint8_t *bytes = keys.data;
    for (uint32_t i = 0; i < N; i++)
        bytes[i] = (uint8_t)(i * i);
    for (uint32_t i = 0; i < 256; i++)
        want[i * i % 256] += N / 256 + (i < N % 256 ? 1u : 0u);
    expect(keys, 256, want);
}

static void expect_failure(kiln_array keys, kiln_array counts)
{
    kiln_error *error = NULL;
    CHECK(call(&keys, &counts, NULL, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK_TEXT(
        kiln_error_message(error),
        "host function 'histogram_exact': keys must be one-dimensional, of u8 or u32, and counts one-dimensional, of u32");
    kiln_error_free(error);
    kiln__array_free(NULL, &keys);
    kiln__array_free(NULL, &counts);
}

static void test_errors(void)
{
    expect_failure(make(KILN_i8, 3), make(KILN_u32, 3));
    expect_failure(make(KILN_u8, 3), make(KILN_i32, 3));
}

static void test_memory(void)
{
    kiln_array keys = make(KILN_u8, 5), counts = make(KILN_u32, 3);
    check_oom oom = {.countdown = 0};
    kiln_allocator mem = {check_oom_resize, &oom};
    kiln_error *error = NULL;
    CHECK(call(&keys, &counts, &mem, &error) != KILN_OK);
    CHECK(oom.failed);
    kiln_error_free(error);
    CHECK(oom.live == 0);
    kiln__array_free(NULL, &keys);
    kiln__array_free(NULL, &counts);
}

static const check_case cases[] = {
    {"bytes", test_bytes},   {"words", test_words},   {"stretches", test_stretches},
    {"errors", test_errors}, {"memory", test_memory},
};
KILN_SUITE("histogram", cases)
