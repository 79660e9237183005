/* Compares the reference of the potential within a radius with a plain sum over all pairs. */
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"

static kiln__call_arg integer(const char *name, int64_t value)
{
    return (kiln__call_arg){.name = name, .value = {.kind = KILN_INT, .as.i = value}};
}

static kiln__call_arg number(const char *name, double value)
{
    return (kiln__call_arg){.name = name, .value = {.kind = KILN_FLOAT, .as.f = value}};
}

static kiln_array made(const char *kind, int64_t count, const int64_t n[3], double spacing, double radius)
{
    kiln__call_arg args[] = {
        integer("count", count),  integer("seed", 3),
        integer("nx", n[0]),      integer("ny", n[1]),
        integer("nz", n[2]),      number("spacing", spacing),
        number("radius", radius), {.name = "atoms", .value = {.kind = KILN_TEXT, .as.text = kind}}};
    kiln_call call = {.arg_count = KILN__COUNT(args), .args = args};
    kiln_error *error = NULL;
    CHECK_OK(kiln__call(&call, builtin("cutoff_atoms"), (kiln__pos){0}, &error), error);
    const kiln__export *export = kiln__export_find(call.exports, "atoms");
    CU_ASSERT_PTR_NOT_NULL_FATAL(export);
    kiln_array copy = make(KILN_f32, 2, export->array.shape[0], 4);
    memcpy(copy.data, export->array.data, (size_t)copy.shape[0] * 16);
    kiln__call_free(&call);
    return copy;
}

static kiln_array computed(kiln_array *atoms, const int64_t n[3], double spacing, double radius, bool sampled)
{
    const uint64_t shape[3] = {(uint64_t)n[2], (uint64_t)n[1], (uint64_t)n[0]};
    kiln_array energy = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__array_make(NULL, KILN_f32, 3, shape, &energy, &error), error);
    kiln__array_poison(&energy);
    kiln__call_arg args[] = {{.name = "atoms", .kind = KILN__CALL_ARRAY, .array = atoms},
                             {.name = "energy", .kind = KILN__CALL_ARRAY, .array = &energy, .writable = true},
                             number("SPACING", spacing),
                             number("RADIUS", radius),
                             integer("verify.sampled", sampled)};
    kiln_call call = {.arg_count = KILN__COUNT(args), .args = args};
    CHECK_OK(kiln__call(&call, builtin("cutoff_f64"), (kiln__pos){0}, &error), error);
    kiln__call_free(&call);
    return energy;
}

static void compare(const char *kind, int64_t count, const int64_t n[3], double spacing, double radius)
{
    kiln_array atoms = made(kind, count, n, spacing, radius);
    float *atom = atoms.data;
    if (count > 20) { /* numbers that are not finite, and charges that are not: these stay within the radius */
        atom[4 * 7] = NAN;
        atom[4 * 8 + 1] = INFINITY;
        atom[4 * 9 + 3] = INFINITY;
        atom[4 * 10 + 3] = -INFINITY;
        atom[4 * 11 + 3] = NAN;
    }
    kiln_array energy = computed(&atoms, n, spacing, radius, false);
    for (int64_t p = 0; p < n[0] * n[1] * n[2]; p++) {
        const int64_t index[3] = {p % n[0], p / n[0] % n[1], p / n[0] / n[1]};
        double sum = 0, sizes = 0;
        for (int64_t a = 0; a < count; a++) {
            double r2 = 0;
            for (int i = 0; i < 3; i++) {
                double d = (double)atom[4 * a + i] - (double)((float)index[i] * (float)spacing);
                r2 += d * d;
            }
            if (!(r2 < radius * radius))
                continue;
            double s = 1 - r2 / (radius * radius), term = (double)atom[4 * a + 3] * s * s / sqrt(r2 < 1e-38 ? 0 : r2);
            sum += term;
            sizes += fabs(term);
        }
        double got = (double)((float *)energy.data)[p];
        CHECK(isfinite(sum) ? fabs(got - sum) <= 1e-7 * fabs(sum) + 1e-9 * sizes
                            : (isnan(sum) ? isnan(got) : got == sum));
    }
    kiln__array_free(NULL, &energy);
    kiln__array_free(NULL, &atoms);
}

static void test_reference(void)
{
    compare("uniform", 300, (const int64_t[]){23, 14, 11}, 0.5, 2.2);
    compare("clustered", 200, (const int64_t[]){31, 9, 12}, 0.3, 4);
    compare("on_grid", 60, (const int64_t[]){9, 8, 7}, 0.3, 1);
    compare("outside", 300, (const int64_t[]){12, 10, 9}, 0.5, 3);
    compare("uniform", 15, (const int64_t[]){13, 1, 5}, 0.25, 1000);
    compare("uniform", 9, (const int64_t[]){3, 4, 5}, 0.5, 0);
}

/* If there are many pairs, the reference computes single rows and touches nothing else. Here no atom reaches any
 * point. */
static void test_sampled(void)
{
    enum { NX = 64, NY = 256, NZ = 16, COUNT = 1 << 18 };
    const int64_t n[3] = {NX, NY, NZ};
    kiln_array atoms = make(KILN_f32, 2, COUNT, 4);
    for (int i = 0; i < 4 * COUNT; i++)
        ((float *)atoms.data)[i] = 1e9F;
    for (int sampled = 0; sampled < 2; sampled++) {
        kiln_array energy = computed(&atoms, n, 0.5, 500, sampled);
        int rows = 0;
        for (int row = 0; row < NY * NZ; row++) {
            const float *values = (float *)energy.data + row * NX;
            rows += values[0] == 0;
            for (int x = 0; x < NX; x++)
                CHECK(values[0] == 0 ? values[x] == 0 : isnan(values[x]));
        }
        CHECK(sampled ? rows > 80 && rows < 165
                      : rows == NY * NZ); /* 2^36 pairs, of which 2^31 are a 33rd: 124 rows of 4,096 */
        kiln__array_free(NULL, &energy);
    }
    kiln__array_free(NULL, &atoms);
}

static const check_case tests[] = {
    {"the reference", test_reference},
    {"single rows", test_sampled},
};
KILN_SUITE("cutoff", tests)
