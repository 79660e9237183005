/* Tests host arrays: types, fills, comparison, and calls of host functions. */
#include <inttypes.h>
#include <math.h>

#include "arrays.h"
#include "call.h"
#include "random.h"

/* ---- arrays ---- */

static void test_arrays(void)
{
    uint64_t bytes = 7;
    kiln_type type;
    CHECK(kiln__type_bytes(KILN_f16) == 2 && kiln__type_bytes(KILN_u64) == 8);
    CHECK(kiln__type_find("f32", &type) && type == KILN_f32);
    CHECK(!kiln__type_find("float", &type));
    CHECK_TEXT(kiln__type_name(KILN_i16), "i16");
    CHECK(kiln__array_bytes(KILN_f32, 2, (uint64_t[]){3, 5}, &bytes) && bytes == 60);
    CHECK(kiln__array_bytes(KILN_f64, 0, NULL, &bytes) && bytes == 8);
    CHECK(kiln__array_bytes(KILN_f64, 3, (uint64_t[]){UINT64_MAX, UINT64_MAX, 0}, &bytes) && bytes == 0);
    CHECK(!kiln__array_bytes(KILN_f64, 1, (uint64_t[]){UINT64_MAX / 4}, &bytes));
    CHECK(!kiln__array_bytes(KILN_i8, 2, (uint64_t[]){1ULL << 32, 1ULL << 31}, &bytes));
    kiln_error *error = NULL;
    kiln_array array;
    CHECK(kiln__array_make(NULL, KILN_i8, 9, (uint64_t[9]){0}, &array, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    check_oom oom = {.countdown = 0};
    kiln_allocator mem = {check_oom_resize, &oom};
    error = NULL;
    CHECK(kiln__array_make(&mem, KILN_i8, 1, (uint64_t[]){100}, &array, &error) == KILN_ERROR_MEMORY);
    CHECK_TEXT(kiln_error_message(error), "out of host memory for an array of 100 bytes");
    kiln_error_free(error);
    CHECK(oom.live == 0);
}

/* Tests the rounding of doubles to halves: limits, ties, denormals and overflow. */
static void test_half(void)
{
    static const struct {
        double value;
        uint16_t half;
    } cases[] = {
        {0.0, 0},
        {-0.0, 0x8000},
        {1.0, 0x3C00},
        {-2.0, 0xC000},
        {65504.0, 0x7BFF},
        {65519.999, 0x7BFF},
        {65520.0, 0x7C00},
        {1e300, 0x7C00},
        {-INFINITY, 0xFC00},
        {0x1p-24, 1},
        {0x1p-25, 0},
        {0x1.8p-25, 1},
        {0x1.8p-24, 2},
        {0x1p-14, 0x0400},
        {0x1.ff8p-15, 0x03FF},
        {0x1.ffcp-15, 0x0400},
        {0x1.ffep-15, 0x0400},
        {1 + 0x1p-11, 0x3C00},
        {1 + 0x1.8p-11 * 1.5, 0x3C01},
        {1 + 0x3p-11, 0x3C02},
        {5e-324, 0},
        {0.1, 0x2E66},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_EQUAL(kiln__double_to_narrow(KILN_f16, cases[i].value), cases[i].half);
}

static void test_conversions(void)
{
    const double in[] = {-1e30, -129, -1.5, -0.5, 0.5, 1.5, 127.4, 128, 255.5, 1e30, NAN};
    enum { N = sizeof in / sizeof *in };
    int8_t i8[N];
    uint8_t u8[N];
    int64_t i64[N];
    uint64_t u64[N];
    kiln__from_doubles(KILN_i8, i8, 0, N, in);
    kiln__from_doubles(KILN_u8, u8, 0, N, in);
    kiln__from_doubles(KILN_i64, i64, 0, N, in);
    kiln__from_doubles(KILN_u64, u64, 0, N, in);
    static const int want8[] = {-128, -128, -2, 0, 0, 2, 127, 127, 127, 127, 0};
    static const int wantu[] = {0, 0, 0, 0, 0, 2, 127, 128, 255, 255, 0};
    for (size_t i = 0; i < N; i++) {
        CU_ASSERT_EQUAL(i8[i], want8[i]);
        CU_ASSERT_EQUAL(u8[i], wantu[i]);
    }
    CHECK(i64[0] == INT64_MIN && i64[9] == INT64_MAX && u64[9] == UINT64_MAX && i64[1] == -129);
    uint64_t big = UINT64_MAX;
    double back;
    kiln__to_doubles(KILN_u64, &big, 0, 1, &back);
    CHECK(back == 0x1p64);
}

/* ---- fills ---- */

static void test_philox(void)
{
    /* The known answers that come with Random123 (kat_vectors, philox4x32 10). */
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        kiln__philox(known[i].counter, known[i].key, out);
        CHECK(memcmp(out, known[i].out, sizeof out) == 0);
    }
}

/* Checks the hash of a fill, which must be the same on every machine. */
static void check_hash(const char *name, kiln_type type, kiln__fill_values values, const char *want)
{
    kiln_array array = make(type, 1, 10007, 0);
    fill(&array, values);
    uint64_t bytes;
    kiln__array_bytes(type, 1, array.shape, &bytes);
    kiln__hash128 hash = kiln__hash(array.data, (size_t)bytes);
    char text[40];
    snprintf(text, sizeof text, "%016" PRIx64, hash.low);
    if (strcmp(text, want) != 0)
        fprintf(stderr, "%s of %s: %s\n", name, kiln__type_name(type), text);
    CHECK(strcmp(text, want) == 0);
    kiln__array_free(NULL, &array);
}

static void test_same_everywhere(void)
{
    kiln__fill_values uniform = {.kind = KILN__FILL_UNIFORM, .a = -1, .b = 1, .seed = 1};
    kiln__fill_values dice = {.kind = KILN__FILL_UNIFORM, .integers = true, .ia = 1, .ib = 6, .seed = 2};
    kiln__fill_values normal = {.kind = KILN__FILL_NORMAL, .a = 3, .b = 2, .seed = 3};
    kiln__fill_values zipf = {.kind = KILN__FILL_ZIPF, .a = 1000, .b = 1.1, .seed = 4};
    check_hash("uniform", KILN_f32, uniform, "434fd102a635173b");
    check_hash("uniform", KILN_f64, uniform, "051e3741a8e6d43f");
    check_hash("uniform", KILN_f16, uniform, "2a471167b2a567cb");
    check_hash("uniform", KILN_i32, dice, "dd2af3efe860bd07");
    check_hash("normal", KILN_f32, normal, "febd149289c0fad9");
    check_hash("normal", KILN_f64, normal, "3ec50d54e447ff3d");
    check_hash("zipf", KILN_u16, zipf, "4ef2938942b0ac3a");
}

static void test_uniform(void)
{
    enum { N = 200000 };
    kiln_array array = make(KILN_f32, 1, N, 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 1000, .b = 1001, .seed = 7});
    const float *x = array.data;
    double sum = 0;
    float least = x[0], most = x[0];
    for (size_t i = 0; i < N; i++) {
        sum += x[i];
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    CHECK(least >= 1000 && most < 1001); /* rounding could give 1001, which is outside */
    CHECK(fabs(sum / N - 1000.5) < 0.005);
    kiln__array_free(NULL, &array);

    array = make(KILN_i8, 1, N, 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .integers = true, .ia = -128, .ib = 127, .seed = 7});
    unsigned seen[256] = {0};
    for (size_t i = 0; i < N; i++)
        seen[((const uint8_t *)array.data)[i]]++;
    double chi = 0;
    for (int i = 0; i < 256; i++)
        chi += (seen[i] - N / 256.0) * (seen[i] - N / 256.0) / (N / 256.0);
    CHECK(chi < 340); /* 255 degrees of freedom: a right generator exceeds 340 with p < 1e-3 */
    kiln__array_free(NULL, &array);
    array = make(KILN_i64, 1, 1000, 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .integers = true, .ia = INT64_MIN, .ib = INT64_MAX});
    CHECK(((int64_t *)array.data)[0] != ((int64_t *)array.data)[1]);
    kiln__array_free(NULL, &array);
}

static void test_normal(void)
{
    enum { N = 200000 };
    kiln_array array = make(KILN_f64, 1, N, 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_NORMAL, .a = 3, .b = 2, .seed = 11});
    const double *x = array.data;
    double sum = 0, squares = 0, cubes = 0, fourth = 0, pairs = 0;
    for (size_t i = 0; i < N; i++) {
        double z = (x[i] - 3) / 2;
        sum += z;
        squares += z * z;
        cubes += z * z * z;
        fourth += z * z * z * z;
        if (i % 2)
            pairs += z * (x[i - 1] - 3) / 2;
    }
    CHECK(fabs(sum / N) < 0.01);
    CHECK(fabs(squares / N - 1) < 0.02);
    CHECK(fabs(cubes / N) < 0.05);
    CHECK(fabs(fourth / N - 3) < 0.15);
    CHECK(fabs(pairs / N) < 0.01);
    kiln__array_free(NULL, &array);
}

/* Compares our own logarithm, sine and cosine behind Box-Muller with libm, which is right to about an ulp. */
static void test_normal_formula(void)
{
    enum { N = 2000 };
    kiln_array array = make(KILN_f64, 1, N, 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_NORMAL, .a = 0, .b = 1, .seed = 5});
    double worst = 0;
    for (uint32_t i = 0; i < N / 2; i++) {
        uint32_t words[4];
        kiln__philox((uint32_t[]){i, 0, 0, 0}, (uint32_t[]){5, 0}, words);
        double u = (double)((words[0] | (uint64_t)words[1] << 32) >> 11) * 0x1p-53;
        double v = (double)((words[2] | (uint64_t)words[3] << 32) >> 11) * 0x1p-53, r = sqrt(-2 * log1p(-u));
        worst = fmax(worst, fabs(((double *)array.data)[2 * i] - r * cos(2 * M_PI * v)));
        worst = fmax(worst, fabs(((double *)array.data)[2 * i + 1] - r * sin(2 * M_PI * v)));
    }
    CHECK(worst < 1e-14);
    kiln__array_free(NULL, &array);
}

static void check_zipf(double n, double s)
{
    enum { N = 100000 };
    kiln_array array = make(KILN_u32, 1, N, 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_ZIPF, .a = n, .b = s, .seed = 13});
    unsigned seen[100] = {0}, outside = 0;
    for (size_t i = 0; i < N; i++) {
        uint32_t k = ((const uint32_t *)array.data)[i];
        if (k >= n)
            outside++;
        else
            seen[k]++;
    }
    double whole = 0, chi = 0;
    for (double k = 1; k <= n; k++)
        whole += pow(k, -s);
    for (int k = 0; k < (int)n; k++) {
        double want = N * pow(k + 1, -s) / whole;
        if (want > 5)
            chi += (seen[k] - want) * (seen[k] - want) / want;
    }
    CHECK(outside == 0);
    CHECK(chi < n + 5 * sqrt(2 * n));
    kiln__array_free(NULL, &array);
}

static void test_zipf(void)
{
    check_zipf(100, 1.1);
    check_zipf(100, 1);
    check_zipf(100, 0);
    check_zipf(50, 0.5);
    check_zipf(10, 3);
    check_zipf(1, 1);
    check_zipf(100, 20);
}

static void test_constant_and_iota(void)
{
    kiln_array array = make(KILN_i16, 1, 5, 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_IOTA, .integers = true, .ia = -2, .ib = 3});
    CHECK(memcmp(array.data, (int16_t[]){-2, 1, 4, 7, 10}, 10) == 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_VALUE, .integers = true, .ia = -9});
    CHECK(memcmp(array.data, (int16_t[]){-9, -9, -9, -9, -9}, 10) == 0);
    kiln__array_free(NULL, &array);
    array = make(KILN_f32, 1, 3, 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_IOTA, .a = 0.5, .b = 0.25});
    CHECK(memcmp(array.data, (float[]){0.5f, 0.75f, 1.0f}, 12) == 0);
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_VALUE, .integers = true, .ia = 3});
    CHECK(memcmp(array.data, (float[]){3, 3, 3}, 12) == 0);
    kiln__array_free(NULL, &array);
    array = make(KILN_f32, 1, 0, 0); /* the array has no elements */
    fill(&array, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 0, .b = 1});
    kiln__array_free(NULL, &array);
}

static void test_bad_fills(void)
{
    fill_fails(KILN_i8, (kiln__fill_values){.kind = KILN__FILL_VALUE, .integers = true, .ia = 200},
               "200 is outside the range of i8");
    fill_fails(KILN_u8, (kiln__fill_values){.kind = KILN__FILL_IOTA, .integers = true, .ia = 250, .ib = 1},
               "259 is outside the range of u8");
    fill_fails(KILN_i64, (kiln__fill_values){.kind = KILN__FILL_IOTA, .integers = true, .ia = 1, .ib = INT64_MAX},
               "iota from 1 by 9223372036854775807 exceeds 64 bits");
    fill_fails(KILN_i32, (kiln__fill_values){.kind = KILN__FILL_VALUE, .a = 0.5},
               "a buffer of i32 must be filled with integers, not with 0.5");
    fill_fails(KILN_i32, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .integers = true, .ia = 2, .ib = 1},
               "uniform: [2, 1] has no values");
    fill_fails(KILN_f32, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 1, .b = 1},
               "uniform: [1, 1) has no values");
    fill_fails(KILN_f32, (kiln__fill_values){.kind = KILN__FILL_NORMAL, .a = 1, .b = -1},
               "normal: the deviation must be finite and 0 or more, not -1");
    fill_fails(KILN_u8, (kiln__fill_values){.kind = KILN__FILL_ZIPF, .a = 1000, .b = 1},
               "zipf: 1000 values do not fit into u8");
    fill_fails(KILN_u8, (kiln__fill_values){.kind = KILN__FILL_ZIPF, .a = 2.5, .b = 1},
               "zipf: the number of values must be an integer of 1 or more, not 2.5");
    fill_fails(KILN_u8, (kiln__fill_values){.kind = KILN__FILL_ZIPF, .a = 10, .b = NAN},
               "zipf: the exponent must be 0 to 20, not nan");
}

/* ---- comparison ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Compares quantiles of errors with the sorted errors. The errors span 40 powers of two, and every `exact`-th element
 * has no error. */
static void check_quantiles(uint64_t count, uint64_t exact)
{
    kiln_array got = make(KILN_f64, 1, count, 0), want = make(KILN_f64, 1, count, 0);
    double *g = got.data, *w = want.data, *errors = calloc(count, sizeof *errors);
    kiln__random random = {.state = count + exact};
    kiln__difference d;
    for (uint64_t i = 0; i < count; i++) {
        w[i] = 0;
        g[i] = i % exact == 0 ? 0 : ldexp(1 + kiln__random_unit(&random), -(int)(i * 7919 % 40));
        errors[i] = g[i] / 2;
    }
    kiln__array_compare("P", &got, &want, false, 0, 2, &d);
    qsort(errors, count, sizeof *errors, by_size);
    double median = errors[(count - 1) / 2], p999 = errors[count - count / 1000 - 1];
    CHECK(fabs(d.median_error - median) <= 0.02 * median && fabs(d.p999_error - p999) <= 0.02 * p999);
    CHECK(d.worst_error == errors[count - 1] && d.median_error <= d.p999_error && d.p999_error <= d.worst_error);
    free(errors);
    kiln__array_free(NULL, &got);
    kiln__array_free(NULL, &want);
}

static void test_quantiles(void)
{
    const uint64_t counts[] = {2, 3, 999, 1000, 1001, 70001, (1 << 19) + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (uint64_t exact = 2; exact <= 4; exact++)
            check_quantiles(counts[i], exact);
}

static void test_compare(void)
{
    kiln_array got = make(KILN_f32, 2, 20, 32), want = make(KILN_f32, 2, 20, 32);
    kiln__difference d;
    float *g = got.data, *w = want.data;
    for (int i = 0; i < 640; i++)
        g[i] = w[i] = (float)i;
    kiln__array_compare("P", &got, &want, false, 1e-5, 0, &d);
    CHECK(d.wrong == 0 && d.worst_error == 0);
    g[100] += 0.0005f;
    kiln__array_compare("P", &got, &want, false, 1e-5, 0, &d);
    CHECK(d.wrong == 0 && d.worst_error > 0.4 && d.worst_error < 0.6 && d.worst_index == 100);
    g[113] = 1.25f;
    w[113] = 1.5f;
    g[114] = 115;
    kiln__array_compare("P", &got, &want, false, 1e-2, 5e-3, &d);
    CHECK(d.wrong == 1 && d.worst_index == 113);
    CHECK_TEXT(d.text, "P[3, 17]: got 1.25, want 1.5 (error 12.5 times the tolerance); 1 of 640 wrong");
    kiln__array_compare("P", &got, &want, true, 0, 0, &d);
    CHECK(d.wrong == 3 && d.worst_index == 114 && isinf(d.worst_error));
    CHECK_TEXT(d.text, "P[3, 18]: got 115, want 114 (off by 1); 3 of 640 wrong");
    for (int i = 0; i < 640; i++)
        g[i] = w[i] = 1;
    g[0] = w[0] = INFINITY;
    g[1] = w[1] = NAN;
    kiln__array_compare("P", &got, &want, true, 0, 0, &d);
    CHECK(d.wrong == 0);
    w[0] = -INFINITY;
    w[1] = 1;
    g[2] = -0.0f;
    w[2] = 0.0f;
    kiln__array_compare("P", &got, &want, false, 1, 1, &d);
    CHECK(d.wrong == 2 && isinf(d.worst_error));
    kiln__array_compare("P", &got, &want, true, 0, 0, &d);
    CHECK(d.wrong == 3);
    kiln__array_poison(&want); /* the reference has computed two elements, of which one is wrong */
    w[3] = g[3] = 1;
    w[4] = 7;
    g[4] = 1;
    kiln__array_compare_sample("P", &got, &want, true, 0, 0, &d);
    CHECK_TEXT(d.text, "P[0, 4]: got 1, want 7 (off by 6); 1 of 640 wrong");
    memcpy(&g[5], &w[5], sizeof g[5]);
    kiln__array_compare_sample("P", &got, &want, false, 100, 0, &d);
    CHECK_TEXT(d.text, "P[0, 5]: got nothing (never written), want a number; 1 of 640 wrong, 1 never written");
    g[5] = NAN; /* a NaN that is not the poison is an answer */
    kiln__array_compare_sample("P", &got, &want, false, 100, 0, &d);
    CHECK(d.wrong == 0);
    kiln__array_poison(&want); /* the reference has computed no element, so it checks nothing */
    kiln__array_compare_sample("P", &got, &want, false, 100, 0, &d);
    CHECK(d.wrong == 640);
    CHECK_TEXT(d.text, "P: the reference computed none of the 640 elements");
    for (int i = 0; i < 640; i++)
        w[i] = 1;
    w[0] = -INFINITY;
    kiln__array_poison(&got);
    CHECK(isnan(g[5]));
    kiln__array_compare("P", &got, &want, false, 1, 1, &d);
    CHECK(d.unwritten == 640 && d.wrong == 640);
    CHECK_TEXT(d.text, "P[0, 0]: got nothing (never written), want -inf; 640 of 640 wrong, 640 never written");
    kiln__array_free(NULL, &got);
    kiln__array_free(NULL, &want);
}

/* A reference may have a wider type than the output: NumPy has no bf16, and makes f64 by default. */
static void test_compare_wider(void)
{
    static const struct {
        kiln_type got, want;
        bool fits;
    } pairs[] = {{KILN_f32, KILN_f64, true},
                 {KILN_f64, KILN_f32, false},
                 {KILN_bf16, KILN_f32, true},
                 {KILN_f16, KILN_bf16, false},
                 {KILN_f8e4m3, KILN_f16, true},
                 {KILN_f4e2m1, KILN_f64, true},
                 {KILN_f4e2m1, KILN_f6e3m2, true},
                 {KILN_f6e3m2, KILN_f8e4m3, true},
                 {KILN_f16, KILN_f6e2m3, false},
                 {KILN_ue8m0, KILN_f32, true},
                 {KILN_ue8m0, KILN_f16, false},
                 {KILN_i32, KILN_i64, true},
                 {KILN_u8, KILN_i64, true},
                 {KILN_i64, KILN_i32, false},
                 {KILN_u64, KILN_i64, false},
                 {KILN_f32, KILN_i64, false},
                 {KILN_i32, KILN_f64, false},
                 {KILN_u8, KILN_bool, true},
                 {KILN_complex64, KILN_complex128, true},
                 {KILN_complex64, KILN_f64, false},
                 {KILN_f32, KILN_complex64, false}};
    kiln_type type;
    for (size_t i = 0; i < KILN__COUNT(pairs); i++) {
        kiln_array got = {.type = pairs[i].got, .dims = 1, .shape = {6}}, want = got;
        want.type = pairs[i].want;
        CHECK(kiln__array_comparable(&got, &want, &type) == pairs[i].fits);
    }
    kiln_array flat = {.type = KILN_f32, .dims = 1, .shape = {6}}, two = {.type = KILN_f32, .dims = 2, .shape = {2, 3}};
    kiln_array turned = {.type = KILN_f32, .dims = 2, .shape = {3, 2}};
    CHECK(kiln__array_comparable(&flat, &two, &type) && kiln__array_comparable(&two, &flat, &type));
    CHECK(!kiln__array_comparable(&two, &turned, &type));
    flat.shape[0] = 5;
    CHECK(!kiln__array_comparable(&flat, &two, &type));
    kiln_array got = make(KILN_f32, 1, 3, 1), want = make(KILN_f64, 1, 3, 1);
    kiln__difference d;
    for (int i = 0; i < 3; i++)
        ((float *)got.data)[i] = (float)(((double *)want.data)[i] = (i + 1) / 3.0);
    kiln__array_compare("x", &got, &want, false, 1e-7, 0, &d);
    CHECK(d.wrong == 0 && d.worst_error > 0);
    ((double *)want.data)[1] = 2;
    kiln__array_compare("x", &got, &want, false, 1e-7, 0, &d);
    CHECK(d.wrong == 1 && d.worst_index == 1);
    CHECK_TEXT(d.text, "x[1]: got 0.6666666865, want 2 (error 6.67e+06 times the tolerance); 1 of 3 wrong");
    kiln__array_free(NULL, &got);
    kiln__array_free(NULL, &want);
}

static void test_compare_types(void)
{
    kiln__difference d;
    for (unsigned t = 0; t < KILN_TYPE_COUNT; t++) {
        if (t == KILN_bool || t >= KILN_f4e2m1) /* these types cannot represent 7; tests/data/test_types.c tests them */
            continue;
        bool complex = t == KILN_complex64 || t == KILN_complex128;
        kiln_array got = make((kiln_type)t, 1, 4, 0), want = make((kiln_type)t, 1, 4, 0);
        fill(&got, (kiln__fill_values){.kind = KILN__FILL_IOTA, .integers = true, .ia = 1, .ib = 1});
        fill(&want, (kiln__fill_values){.kind = KILN__FILL_IOTA, .integers = true, .ia = 1, .ib = 2});
        kiln__array_compare("x", &got, &want, true, 0, 0, &d);
        CHECK_TEXT(d.text, complex ? "x[3]: got 4+0j, want 7+0j (off by 3); 3 of 4 wrong"
                                   : "x[3]: got 4, want 7 (off by 3); 3 of 4 wrong");
        kiln__array_compare("x", &got, &want, false, 0.5, 0, &d);
        CHECK(d.wrong == 0);
        kiln__array_poison(&got);
        kiln__array_poison(&want);
        kiln__array_compare("x", &got, &want, false, 0, 0, &d);
        CHECK(d.wrong == 0);
        kiln__array_free(NULL, &got);
        kiln__array_free(NULL, &want);
    }
    int64_t a = INT64_MAX, b = INT64_MAX - 1; /* both are the same number as doubles */
    kiln_array got = {.type = KILN_i64, .data = &a}, want = {.type = KILN_i64, .data = &b};
    kiln__array_compare("n", &got, &want, true, 0, 0, &d);
    CHECK_TEXT(d.text, "n: got 9223372036854775807, want 9223372036854775806 (off by 1); 1 of 1 wrong");
}

/* ---- host functions ---- */

/* Acts as a host function that uses every function of its call. Ends with the error that `user` chooses. */
static kiln_status greedy(void *user, kiln_call *call)
{
    int64_t n = 0, seven = 7;
    double f = 0;
    const char *text = NULL;
    const kiln_array *in;
    kiln_array *out;
    CHECK(kiln_call_int(call, "n", NULL, &n) == KILN_OK && n == 3);
    CHECK(kiln_call_int(call, "nowhere", &seven, &n) == KILN_OK && n == 7);
    CHECK(kiln_call_float(call, "n", NULL, &f) == KILN_OK && f == 3);
    CHECK(kiln_call_text(call, "t", NULL, &text) == KILN_OK && strcmp(text, "hello") == 0);
    CHECK(kiln_call_array(call, "a", &in) == KILN_OK && in->dims == 1);
    CHECK(kiln_call_output(call, "o", &out) == KILN_OK);
    CHECK(kiln_call_export_int(call, "rows", 5) == KILN_OK);
    CHECK(kiln_call_export_array(call, "csr.values", KILN_f32, 1, (uint64_t[]){5}, &out) == KILN_OK);
    CHECK(((float *)out->data)[4] == 0);
    switch (*(int *)user) {
    case 1: return kiln_call_int(call, "absnet", NULL, &n);
    case 2: return kiln_call_int(call, "t", NULL, &n);
    case 3: return kiln_call_output(call, "a", &out);
    case 4: return kiln_call_export_int(call, "rows", 6);
    case 5: return KILN_ERROR_IO;
    case 6: return kiln_call_file(call, "x.mtx", &text);
    case 7: return kiln_call_fail(call, "row %d is not sorted", 12);
    case 8: return kiln_call_float(call, "a", NULL, &f);
    case 9: return kiln_call_fail_as(call, KILN_ERROR_UNSUPPORTED, "row %d is too long", 12);
    case 10: kiln_call_fail(call, "first"); return kiln_call_fail_as(call, KILN_ERROR_MEMORY, "second");
    case 11: return kiln_call_fail_as(call, KILN_OK, "nothing");
    case 12: return kiln_call_fail_as(call, (kiln_status)99, "nothing");
    default: return KILN_OK;
    }
}

static kiln_status try_call(int what, const kiln_allocator *mem, kiln_call *call, kiln_error **error)
{
    static const char line[] = "host: {call: greedy}";
    static const kiln__source source = {"s.yaml", line, sizeof line - 1};
    static float data[2];
    static kiln_array array = {.type = KILN_f32, .dims = 1, .shape = {2}, .data = data};
    static kiln__call_arg args[] = {
        {.name = "n", .kind = KILN__CALL_VALUE, .value = {KILN_INT, {.i = 3}}},
        {.name = "t", .kind = KILN__CALL_VALUE, .value = {KILN_TEXT, {.text = "hello"}}},
        {.name = "absent", .kind = KILN__CALL_VALUE, .value = {KILN_INT, {.i = 7}}},
        {.name = "a", .kind = KILN__CALL_ARRAY, .array = &array},
        {.name = "o", .kind = KILN__CALL_ARRAY, .array = &array, .writable = true},
    };
    *call = (kiln_call){.mem = mem, .arg_count = 5, .args = args};
    kiln__host host = {.name = "greedy", .function = greedy, .user = &what};
    return kiln__call(call, &host, (kiln__pos){&source, 1, 14}, error);
}

/* Tests the functions of a kiln_call: arguments by kind, missing arguments, outputs and exports, and the message of
 * each error. */
static void test_calls(void)
{
    static const char *const why[] = {
        "",
        "argument 'absnet' is missing; 'absent' is given",
        "argument 't' is a text, not an integer",
        "argument 'a' is an input: it cannot be written",
        "exports 'rows' twice",
        "",
        "cannot read 'x.mtx': no file may be read here",
        "row 12 is not sorted",
        "argument 'a' is an array, not a float",
        "row 12 is too long",
        "first",
        "kiln_call_fail_as: 0 is not the status of a failure",
        "kiln_call_fail_as: 99 is not the status of a failure",
    };
    for (int what = 0; what < 13; what++) {
        kiln_call call;
        kiln_error *error = NULL;
        char want[300];
        kiln_status status = try_call(what, NULL, &call, &error);
        CHECK(status == (what == 0 ? KILN_OK : what == 9 ? KILN_ERROR_UNSUPPORTED : KILN_ERROR_HOST_FUNCTION));
        if (what == 0) {
            CHECK(kiln__export_find(call.exports, "rows")->value.as.i == 5);
            CHECK(kiln__export_find(call.exports, "csr.values")->is_array);
            CHECK(!kiln__export_find(call.exports, "csr"));
        } else {
            if (what == 5)
                snprintf(want, sizeof want,
                         "s.yaml:1:14: host function 'greedy' failed without saying why "
                         "(a file could not be read or written)\n  host: {call: greedy}\n  %14s",
                         "^");
            else
                snprintf(want, sizeof want, "s.yaml:1:14: host function 'greedy': %s\n  host: {call: greedy}\n  %14s",
                         why[what], "^");
            CHECK_TEXT(kiln_error_message(error), want);
        }
        kiln_error_free(error);
        kiln__call_free(&call);
    }
}

/* Tests that a host function that works for long gets the engine's allocator, and the flag that ends the function. */
static void test_long_calls(void)
{
    const int stop = 1;
    const kiln_allocator mem = {check_oom_resize, NULL};
    const kiln_call call = {.mem = &mem, .stop = &stop}, plain = {0};
    CHECK(kiln_call_allocator(&call) == &mem && *kiln_call_stop(&call) == 1);
    CHECK(kiln_call_allocator(&plain) == NULL && kiln_call_stop(&plain) == NULL);
}

/* Tests `captured`, the host function that every engine has. The command lists its registration. */
static void test_builtin(void)
{
    CHECK(kiln__builtin_host_count == 1);
    CHECK_TEXT(kiln__builtin_hosts[0].name, "captured");
    CHECK_TEXT(kiln_host(0)->name, "captured");
    CHECK((kiln__builtin_hosts[0].uses & ~KILN_HOST_SHIPPED) == kiln_host(0)->uses);
    CHECK(kiln_host(1) == NULL);
}

static const check_case cases[] = {
    {"arrays", test_arrays},
    {"half", test_half},
    {"conversions", test_conversions},
    {"philox", test_philox},
    {"same bytes everywhere", test_same_everywhere},
    {"uniform", test_uniform},
    {"normal", test_normal},
    {"normal by libm", test_normal_formula},
    {"zipf", test_zipf},
    {"constant and iota", test_constant_and_iota},
    {"bad fills", test_bad_fills},
    {"compare", test_compare},
    {"quantiles of errors", test_quantiles},
    {"compare types", test_compare_types},
    {"compare with a wider type", test_compare_wider},
    {"calls", test_calls},
    {"long calls", test_long_calls},
    {"builtin host functions", test_builtin},
};
KILN_SUITE("data", cases)
