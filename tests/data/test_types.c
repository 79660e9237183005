/* Tests element types beyond integers, float and double: conversion of all patterns, fills, comparison. */
#include <math.h>

#include "arrays.h"

/* ---- narrow floats, against a formula that uses other means than the code ---- */

typedef struct format {
    kiln_type type;
    int exponent, mantissa;
    enum { INFINITE, FINITE, NUMBER } kind;
} format;

static const format formats[] = {{KILN_f16, 5, 10, INFINITE},   {KILN_bf16, 8, 7, INFINITE},
                                 {KILN_f8e5m2, 5, 2, INFINITE}, {KILN_f8e4m3, 4, 3, FINITE},
                                 {KILN_f6e2m3, 2, 3, NUMBER},   {KILN_f6e3m2, 3, 2, NUMBER},
                                 {KILN_f4e2m1, 2, 1, NUMBER}};

/* Returns the value of a pattern by the definition: (-1)^s 2^(max(e, 1) - bias) (m / 2^bits + (e > 0)). */
static double defined(const format *f, unsigned bits)
{
    unsigned m = bits % (1u << f->mantissa), e = bits / (1u << f->mantissa) % (1u << f->exponent), all;
    double sign = bits / (1u << (f->mantissa + f->exponent)) ? -1 : 1;
    all = (1u << f->exponent) - 1;
    if (e == all && f->kind != NUMBER && (f->kind == FINITE ? m == (1u << f->mantissa) - 1 : m > 0))
        return NAN;
    if (e == all && f->kind == INFINITE)
        return sign * INFINITY;
    int bias = (1 << (f->exponent - 1)) - 1, power = (e ? (int)e : 1) - bias;
    return sign * (m / (double)(1u << f->mantissa) + (e > 0)) * pow(2, power);
}

/* Checks that every pattern converts to the double of the definition, and back. The middle between two neighbours must
 * round to the even neighbour, and a number beside the middle to the nearer neighbour. */
static void check_format(const format *f)
{
    unsigned wrong = 0, size = 1u << (1 + f->exponent + f->mantissa), half = size / 2;
    for (unsigned b = 0; b < size; b++) {
        double want = defined(f, b), got = kiln__narrow_to_double(f->type, (uint16_t)b);
        uint16_t back = kiln__double_to_narrow(f->type, got);
        if (isnan(want))
            wrong += !isnan(got) || !isnan(defined(f, back));
        else
            wrong += got != want || signbit(got) != signbit(want) || back != b;
    }
    for (unsigned b = 0; b + 1 < half && !isnan(defined(f, b + 1)) && !isinf(defined(f, b + 1)); b++) {
        double low = defined(f, b), high = defined(f, b + 1), middle = (low + high) / 2;
        for (unsigned sign = 0; sign < 2; sign++) {
            double s = sign ? -1 : 1;
            unsigned top = sign * half;
            wrong += kiln__double_to_narrow(f->type, s * middle) != top + b + b % 2;
            wrong += kiln__double_to_narrow(f->type, s * nextafter(middle, 0)) != top + b;
            wrong += kiln__double_to_narrow(f->type, s * nextafter(middle, INFINITY)) != top + b + 1;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void test_narrow(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        check_format(&formats[i]);
    /* Tests numbers beyond the largest. Half a step more is a tie. It goes to infinity, or to the largest number if
     * that is even. */
    CHECK(kiln__double_to_narrow(KILN_bf16, 0x1.fep127) == 0x7F7F &&
          kiln__double_to_narrow(KILN_bf16, 0x1.ffp127) == 0x7F80);
    CHECK(kiln__double_to_narrow(KILN_bf16, nextafter(0x1.ffp127, 0)) == 0x7F7F);
    CHECK(kiln__double_to_narrow(KILN_f8e5m2, 57344) == 0x7B && kiln__double_to_narrow(KILN_f8e5m2, 61440) == 0x7C);
    CHECK(kiln__double_to_narrow(KILN_f8e5m2, 61439.999) == 0x7B);
    CHECK(kiln__double_to_narrow(KILN_f8e4m3, 448) == 0x7E && kiln__double_to_narrow(KILN_f8e4m3, 464) == 0x7E);
    CHECK(kiln__double_to_narrow(KILN_f8e4m3, 464.001) == 0x7F && kiln__double_to_narrow(KILN_f8e4m3, -500) == 0xFF);
    CHECK(kiln__double_to_narrow(KILN_f8e4m3, INFINITY) == 0x7F && kiln__double_to_narrow(KILN_f8e4m3, 1e300) == 0x7F);
    CHECK(kiln__double_to_narrow(KILN_f8e5m2, -INFINITY) == 0xFC && isnan(kiln__narrow_to_double(KILN_f8e4m3, 0xFF)));
    /* Conversion from and to memory: arrays of bytes and of words. */
    const double in[] = {1, -2.5, 0.1};
    uint8_t bytes[3];
    uint16_t words[3];
    double out[3];
    kiln__from_doubles(KILN_f8e4m3, bytes, 0, 3, in);
    CHECK(bytes[0] == 0x38 && bytes[1] == 0xC2 && bytes[2] == 0x1D);
    kiln__to_doubles(KILN_f8e4m3, bytes, 1, 2, out);
    CHECK(out[0] == -2.5 && out[1] == 0.1015625);
    kiln__from_doubles(KILN_bf16, words, 0, 3, in);
    CHECK(words[0] == 0x3F80 && words[1] == 0xC020 && words[2] == 0x3DCD);
    kiln__to_doubles(KILN_bf16, words, 1, 2, out);
    CHECK(out[0] == -2.5 && out[1] == 0.10009765625);
}

/* Tests numbers beyond the greatest number: each becomes the greatest number, as cvt.rn.satfinite does. NaN becomes the
 * positive greatest number. A byte whose bits above the sign are not 0 is NaN, so that such a byte is never a right
 * answer. */
static void test_saturation(void)
{
    static const struct {
        kiln_type type;
        unsigned bits;
        double greatest;
    } types[] = {{KILN_f4e2m1, 4, 6}, {KILN_f6e2m3, 6, 7.5}, {KILN_f6e3m2, 6, 28}};
    unsigned wrong = 0;
    for (size_t t = 0; t < KILN__COUNT(types); t++) {
        const kiln_type type = types[t].type;
        const unsigned most = (1u << (types[t].bits - 1)) - 1, sign = most + 1;
        const double beyond[] = {types[t].greatest * 1.01, types[t].greatest * 2, 1e300, INFINITY};
        CHECK(kiln__narrow_greatest(type) == types[t].greatest);
        for (size_t i = 0; i < KILN__COUNT(beyond); i++) {
            wrong += kiln__double_to_narrow(type, beyond[i]) != most;
            wrong += kiln__double_to_narrow(type, -beyond[i]) != (sign | most);
        }
        wrong += kiln__double_to_narrow(type, NAN) != most || kiln__double_to_narrow(type, -(double)NAN) != most;
        wrong += kiln__double_to_narrow(type, 1e-300) != 0 || kiln__double_to_narrow(type, -1e-300) != sign;
        for (unsigned byte = 0; byte < 256; byte++) {
            const uint8_t element = (uint8_t)byte;
            double value, alone = kiln__narrow_to_double(type, element);
            uint8_t back;
            kiln__to_doubles(type, &element, 0, 1, &value);
            wrong += isnan(value) != (byte >> types[t].bits > 0) || isnan(alone) != isnan(value);
            if (isnan(value))
                continue;
            kiln__from_doubles(type, &back, 0, 1, &value);
            wrong += back != byte || alone != value;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CHECK(kiln__narrow_greatest(KILN_f16) == 65504 && kiln__narrow_greatest(KILN_bf16) == 0x1.fep127);
    CHECK(kiln__narrow_greatest(KILN_f8e4m3) == 448 && kiln__narrow_greatest(KILN_f8e5m2) == 57344);
}

/* Tests ue8m0: each byte except 0xff is a power of two. A tie rounds to the larger power. */
static void test_powers(void)
{
    unsigned wrong = 0;
    for (int code = 0; code < 255; code++) {
        const double power = ldexp(1, code - 127), middle = 1.5 * power;
        const uint8_t byte = (uint8_t)code;
        const uint16_t next = (uint16_t)(code < 254 ? code + 1 : code);
        double value;
        uint8_t back;
        kiln__to_doubles(KILN_ue8m0, &byte, 0, 1, &value);
        wrong += value != power || kiln__narrow_to_double(KILN_ue8m0, byte) != power;
        kiln__from_doubles(KILN_ue8m0, &back, 0, 1, &value);
        wrong += back != byte || kiln__double_to_narrow(KILN_ue8m0, -power) != byte;
        wrong += kiln__double_to_narrow(KILN_ue8m0, middle) != next;
        wrong += kiln__double_to_narrow(KILN_ue8m0, nextafter(middle, 0)) != code;
        wrong += kiln__double_to_narrow(KILN_ue8m0, nextafter(power, INFINITY)) != code;
        wrong += kiln__double_to_narrow(KILN_ue8m0, nextafter(power * 2, 0)) != next;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CHECK(isnan(kiln__narrow_to_double(KILN_ue8m0, 0xFF)) && kiln__double_to_narrow(KILN_ue8m0, NAN) == 0xFF);
    CHECK(kiln__double_to_narrow(KILN_ue8m0, 0) == 0 && kiln__double_to_narrow(KILN_ue8m0, 1e-300) == 0);
    CHECK(kiln__double_to_narrow(KILN_ue8m0, INFINITY) == 254 && kiln__double_to_narrow(KILN_ue8m0, 1e300) == 254);
    CHECK(kiln__narrow_greatest(KILN_ue8m0) == 0x1p127);
}

static void test_bool_and_complex(void)
{
    const double in[] = {0, -0.0, 0.25, 7, NAN};
    uint8_t truth[5];
    kiln__from_doubles(KILN_bool, truth, 0, 5, in);
    CHECK(!truth[0] && !truth[1] && truth[2] == 1 && truth[3] == 1 && truth[4] == 1);
    float pairs[4] = {9, 9, 9, 9};
    double back[2];
    kiln__from_doubles(KILN_complex64, pairs, 1, 1, in + 3); /* one number becomes the real part of an element */
    CHECK(pairs[0] == 9 && pairs[1] == 9 && pairs[2] == 7 && pairs[3] == 0);
    kiln__to_doubles(KILN_complex64, pairs, 0, 2, back);
    CHECK(back[0] == 9 && back[1] == 7);
    CHECK(kiln__type_part(KILN_complex128) == KILN_f64 && kiln__type_part(KILN_bf16) == KILN_bf16);
    kiln_array values = make(KILN_complex128, 1, 3, 0);
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_IOTA, .integers = true, .ia = 5, .ib = 2});
    const double *parts = values.data;
    CHECK(parts[0] == 5 && parts[1] == 0 && parts[4] == 9 && parts[5] == 0);
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 2, .b = 3, .seed = 4});
    for (int i = 0; i < 6; i++) /* both parts are random */
        CHECK(parts[i] >= 2 && parts[i] < 3);
    CHECK(parts[0] != parts[1] && parts[1] != parts[3]);
    kiln__array_free(NULL, &values);
    values = make(KILN_bool, 1, 1000, 0);
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .integers = true, .ia = 0, .ib = 1, .seed = 1});
    unsigned sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += ((uint8_t *)values.data)[i];
    CHECK(sum > 400 && sum < 600);
    kiln__array_free(NULL, &values);
    fill_fails(KILN_bool, (kiln__fill_values){.kind = KILN__FILL_VALUE, .integers = true, .ia = 2},
               "2 is outside the range of bool");
}

/* Tests that fills stay in the range of a narrow type, and that a fill is refused if it cannot. */
static void test_narrow_fills(void)
{
    kiln_array values = make(KILN_f8e4m3, 1, 5000, 0);
    const uint8_t *bytes = values.data;
    unsigned wrong = 0;
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 0, .b = 1, .seed = 3});
    for (int i = 0; i < 5000; i++)
        wrong += bytes[i] >= 0x38; /* bytes from 0x38 on are numbers from 1 on, which [0, 1) excludes */
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_NORMAL, .a = 0, .b = 400, .seed = 3});
    for (int i = 0; i < 5000; i++)
        wrong += (bytes[i] & 0x7F) == 0x7F;
    CU_ASSERT_EQUAL(wrong, 0);
    kiln__array_free(NULL, &values);
    fill_fails(KILN_f8e4m3, (kiln__fill_values){.kind = KILN__FILL_VALUE, .integers = true, .ia = 500},
               "500 is outside the range of f8e4m3");
    fill_fails(KILN_f8e4m3, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 0, .b = 500},
               "500 is outside the range of f8e4m3");
    fill_fails(KILN_f8e4m3, (kiln__fill_values){.kind = KILN__FILL_ZIPF, .a = 500, .b = 1},
               "zipf: 500 values do not fit into f8e4m3");
    fill_fails(KILN_f16, (kiln__fill_values){.kind = KILN__FILL_IOTA, .a = 65504, .b = 10},
               "65594 is outside the range of f16");
    fill_fails(KILN_complex64, (kiln__fill_values){.kind = KILN__FILL_VALUE, .a = 1e39},
               "1e+39 is outside the range of complex64");
}

/* Fills of types of fewer than 8 bits: each element is a code, and the open end of a range is left out. */
static void test_fills_of_few_bits(void)
{
    static const kiln_type types[] = {KILN_f4e2m1, KILN_f6e2m3, KILN_f6e3m2};
    for (size_t t = 0; t < KILN__COUNT(types); t++) {
        kiln_array values = make(types[t], 1, 5000, 0);
        const kiln__type_row *row = &kiln__types[types[t]];
        const uint8_t *bytes = values.data, sign = (uint8_t)(1u << (row->exponent + row->mantissa));
        const uint8_t one = (uint8_t)kiln__double_to_narrow(types[t], 1);
        unsigned wrong = 0, seen[256] = {0}, distinct = 0;
        fill(&values, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 0, .b = 1, .seed = 3});
        for (int i = 0; i < 5000; i++)
            wrong += bytes[i] >= one;
        fill(&values, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -2, .b = -1, .seed = 3});
        for (int i = 0; i < 5000; i++)
            wrong += bytes[i] <= (sign | one) || bytes[i] >= 2 * sign;
        fill(&values, (kiln__fill_values){.kind = KILN__FILL_NORMAL, .a = 0, .b = 20, .seed = 3});
        for (int i = 0; i < 5000; i++) {
            wrong += bytes[i] >= 2 * sign;
            distinct += !seen[bytes[i]]++;
        }
        CHECK(distinct > sign); /* both signs */
        fill(&values, (kiln__fill_values){.kind = KILN__FILL_VALUE, .integers = true, .ia = 1});
        for (int i = 0; i < 5000; i++)
            wrong += bytes[i] != one;
        CU_ASSERT_EQUAL(wrong, 0);
        kiln__array_free(NULL, &values);
    }
    kiln_array counted = make(KILN_f4e2m1, 1, 8, 0);
    fill(&counted, (kiln__fill_values){.kind = KILN__FILL_IOTA, .a = 0, .b = 0.5});
    // 2.5 and 3.5 are ties, which round to 2 and 4
    CHECK(memcmp(counted.data, (uint8_t[]){0, 1, 2, 3, 4, 4, 5, 6}, 8) == 0);
    kiln__array_free(NULL, &counted);
    fill_fails(KILN_f4e2m1, (kiln__fill_values){.kind = KILN__FILL_VALUE, .integers = true, .ia = 7},
               "7 is outside the range of f4e2m1");
    fill_fails(KILN_f4e2m1, (kiln__fill_values){.kind = KILN__FILL_VALUE, .a = NAN},
               "nan is outside the range of f4e2m1");
    fill_fails(KILN_f6e3m2, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = -1, .b = 29},
               "29 is outside the range of f6e3m2");
    fill_fails(KILN_f6e2m3, (kiln__fill_values){.kind = KILN__FILL_IOTA, .a = 0, .b = 1},
               "9 is outside the range of f6e2m3");
    fill_fails(KILN_f4e2m1, (kiln__fill_values){.kind = KILN__FILL_ZIPF, .a = 8, .b = 1},
               "zipf: 8 values do not fit into f4e2m1");
}

/* Fills of ue8m0 are the powers of two that are nearest to the drawn numbers. */
static void test_fills_of_powers(void)
{
    kiln_array values = make(KILN_ue8m0, 1, 5000, 0);
    const uint8_t *bytes = values.data;
    unsigned wrong = 0, seen[256] = {0};
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 0.25, .b = 4, .seed = 3});
    for (int i = 0; i < 5000; i++)
        seen[bytes[i]]++;
    CHECK(seen[125] + seen[126] + seen[127] + seen[128] == 5000); /* 1/4, 1/2, 1, 2: 4 is excluded */
    CHECK(seen[125] > 50 && seen[128] > 2000);
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_NORMAL, .a = 0, .b = 1, .seed = 3});
    for (int i = 0; i < 5000; i++)
        wrong += bytes[i] == 255 || bytes[i] > 130;
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_IOTA, .integers = true, .ia = 1, .ib = 1});
    CHECK(bytes[0] == 127 && bytes[1] == 128 && bytes[2] == 129 && bytes[4] == 129 && bytes[4095] == 139);
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 0, .b = 0x1p-127, .seed = 3});
    for (int i = 0; i < 5000; i++)
        wrong += bytes[i] != 0; /* every number becomes the least power, because no power is below it */
    fill(&values, (kiln__fill_values){.kind = KILN__FILL_VALUE, .a = NAN});
    wrong += bytes[0] != 255;
    CU_ASSERT_EQUAL(wrong, 0);
    kiln__array_free(NULL, &values);
    fill_fails(KILN_ue8m0, (kiln__fill_values){.kind = KILN__FILL_VALUE, .a = -2}, "-2 is outside the range of ue8m0");
    fill_fails(KILN_ue8m0, (kiln__fill_values){.kind = KILN__FILL_UNIFORM, .a = 1, .b = 1e39},
               "1e+39 is outside the range of ue8m0");
}

static void compare_is(kiln_type type, const void *got, const void *want, bool exact, const char *text)
{
    kiln_array a = {.type = type, .dims = 1, .shape = {2}}, b = a;
    char left[32], right[32];
    memcpy(left, got, 2 * kiln__type_bytes(type));
    memcpy(right, want, 2 * kiln__type_bytes(type));
    a.data = left, b.data = right;
    kiln__difference difference;
    kiln__array_compare("P", &a, &b, exact, exact ? 0 : kiln__types[type].rtol, exact ? 0 : kiln__types[type].atol,
                        &difference);
    CHECK_TEXT(difference.text, text);
}

static void test_tolerances(void)
{
    compare_is(KILN_bf16, (uint16_t[]){0x3F80, 0x4049}, (uint16_t[]){0x3F81, 0x4049}, false, "P: 2 elements are right");
    compare_is(KILN_bf16, (uint16_t[]){0x3F80, 0x4049}, (uint16_t[]){0x3F80, 0x4059}, false,
               "P[1]: got 3.1406, want 3.3906 (error 4.52 times the tolerance); 1 of 2 wrong");
    compare_is(KILN_f8e4m3, (uint8_t[]){0x38, 0x40}, (uint8_t[]){0x39, 0x41}, false, "P: 2 elements are right");
    compare_is(KILN_f8e5m2, (uint8_t[]){0xFF, 0x40}, (uint8_t[]){0x3C, 0x40}, false,
               "P[0]: got nothing (never written), want 1; 1 of 2 wrong, 1 never written");
    /* 4 and 6 are neighbours of f4e2m1, 3 and 6 are not */
    compare_is(KILN_f4e2m1, (uint8_t[]){7, 5}, (uint8_t[]){6, 6}, false, "P: 2 elements are right");
    compare_is(KILN_f4e2m1, (uint8_t[]){5, 0}, (uint8_t[]){7, 1}, false,
               "P[0]: got 3, want 6 (error 1.09 times the tolerance); 1 of 2 wrong");
    compare_is(KILN_f6e2m3, (uint8_t[]){0x08, 0xFF}, (uint8_t[]){0x09, 0x08}, false,
               "P[1]: got nothing (never written), want 1; 1 of 2 wrong, 1 never written");
    compare_is(KILN_f6e3m2, (uint8_t[]){0x2C, 0x4C}, (uint8_t[]){0x2C, 0x0C}, false,
               "P[1]: got nan, want 1; 1 of 2 wrong");
    compare_is(KILN_ue8m0, (uint8_t[]){127, 0xFF}, (uint8_t[]){127, 126}, false,
               "P[1]: got nothing (never written), want 0.5; 1 of 2 wrong, 1 never written");
    compare_is(KILN_ue8m0, (uint8_t[]){127, 125}, (uint8_t[]){127, 126}, false,
               "P[1]: got 0.25, want 0.5 (off by 0.25); 1 of 2 wrong");
    compare_is(KILN_bool, (uint8_t[]){1, 0xA5}, (uint8_t[]){1, 1}, false,
               "P[1]: got nothing (never written), want 1 (off by 164); 1 of 2 wrong, 1 never written");
    compare_is(KILN_bool, (uint8_t[]){1, 0}, (uint8_t[]){1, 1}, false, "P[1]: got 0, want 1 (off by 1); 1 of 2 wrong");
    /* Complex errors are distances in the plane: the distance of a difference (3, 4) is 5. */
    compare_is(KILN_complex64, (float[]){1, 1, 3, 4}, (float[]){1, 1, 0, 0}, true,
               "P[1]: got 3+4j, want 0+0j (off by 5); 1 of 2 wrong");
    compare_is(KILN_complex64, (float[]){1, 1e-7f, 0, 1000}, (float[]){1, 0, 0.005f, 1000}, false,
               "P: 2 elements are right");
    compare_is(KILN_complex128, (double[]){NAN, 1, INFINITY, -2}, (double[]){NAN, 1, INFINITY, -2.5}, false,
               "P[1]: got inf-2j, want inf-2.5j (error 1.99e+11 times the tolerance); 1 of 2 wrong");
    compare_is(KILN_complex128, (double[]){1, 0.0, 1, 2}, (double[]){1, -0.0, 1, 2}, true,
               "P[0]: got 1+0j, want 1-0j; 1 of 2 wrong");
}

static const check_case cases[] = {
    {"narrow floats", test_narrow},
    {"saturation", test_saturation},
    {"powers of two", test_powers},
    {"bool and complex", test_bool_and_complex},
    {"fills of narrow floats", test_narrow_fills},
    {"fills of few bits", test_fills_of_few_bits},
    {"fills of powers of two", test_fills_of_powers},
    {"tolerances", test_tolerances},
};
KILN_SUITE("data.types", cases)
