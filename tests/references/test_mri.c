/* Tests samples in k-space, and compares the reference of F^H d and Q with a sum without tables. */
#include <math.h>

#include "data/arrays.h"
#include "hosts.h"

static kiln__call_arg number(const char *name, int64_t value)
{
    return (kiln__call_arg){.name = name, .value = {.kind = KILN_INT, .as.i = value}};
}

enum { COUNT = 150, LINE = 40, NX = 37, NY = 2, NZ = 33 };

typedef struct samples {
    kiln_call call; /* holds the arrays */
    kiln__call_arg args[8];
    const float *k[3], *phi, *d;
    double rms;
} samples;

static const kiln__export *find(const samples *s, const char *name)
{
    const kiln__export *export = kiln__export_find(s->call.exports, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(export);
    return export;
}

static void make_samples(samples *s, const char *trajectory, int q)
{
    kiln_error *error = NULL;
    *s = (samples){.args = {number("samples", COUNT),
                            number("line", LINE),
                            number("q", q),
                            number("seed", 5),
                            number("nx", NX),
                            number("ny", NY),
                            number("nz", NZ),
                            {.name = "trajectory", .value = {.kind = KILN_TEXT, .as.text = trajectory}}}};
    s->call = (kiln_call){.arg_count = KILN__COUNT(s->args), .args = s->args};
    CHECK_OK(kiln__call(&s->call, builtin("mri_samples"), (kiln__pos){0}, &error), error);
    s->k[0] = find(s, "kx")->array.data, s->k[1] = find(s, "ky")->array.data, s->k[2] = find(s, "kz")->array.data;
    s->phi = find(s, "phi")->array.data, s->d = find(s, "d")->array.data;
    s->rms = find(s, "rms")->value.as.f;
}

static void test_samples(void)
{
    const int extents[] = {NX, NY, NZ};
    for (int kind = 0; kind < 3; kind++) {
        const char *names[] = {"random", "lines", "edges"};
        samples s;
        make_samples(&s, names[kind], 0);
        for (int i = 0; i < COUNT; i++)
            for (int c = 0; c < 3; c++) {
                float k = s.k[c][i], half = 0.5F * (float)extents[c];
                CHECK(k >= -half && k <= half);
                CHECK(kind != 2 || fabsf(k) == half);
                /* a point must be as far from the point before as that point is from the one before it */
                if (kind == 1 && i % LINE > 1)
                    CHECK((double)k - (double)s.k[c][i - 1] == (double)s.k[c][i - 1] - (double)s.k[c][i - 2]);
            }
        kiln__call_free(&s.call);
    }
}

static void compute(const samples *s, int q, kiln_array out[2])
{
    static const char *const names[] = {"kx", "ky", "kz", "phi", "d"};
    const uint64_t shape[] = {NZ, NY, NX};
    kiln__call_arg args[8] = {[5] = number("Q", q)};
    kiln_error *error = NULL;
    for (int i = 0; i < 5; i++)
        args[i] = (kiln__call_arg){
            .name = names[i], .kind = KILN__CALL_ARRAY, .array = (kiln_array *)&find(s, names[i])->array};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(kiln__array_make(NULL, KILN_f32, 3, shape, &out[i], &error), error);
        args[6 + i] =
            (kiln__call_arg){.name = i ? "im" : "re", .kind = KILN__CALL_ARRAY, .array = &out[i], .writable = true};
    }
    kiln_call call = {.arg_count = KILN__COUNT(args), .args = args};
    CHECK_OK(kiln__call(&call, builtin("mri_f64"), (kiln__pos){0}, &error), error);
    kiln__call_free(&call);
}

static double coordinate(int i, int n) { return (double)((float)(i - n / 2) / (float)n); }

static void test_reference(void)
{
    for (int q = 0; q < 2; q++) {
        samples s;
        kiln_array out[2] = {0};
        double square = 0;
        make_samples(&s, q ? "lines" : "random", q);
        compute(&s, q, out);
        for (int v = 0; v < NX * NY * NZ; v++) {
            double re = 0, im = 0;
            for (int i = 0; i < COUNT; i++) {
                double angle = 2 * acos(-1) *
                               ((double)s.k[0][i] * coordinate(v % NX, NX) +
                                (double)s.k[1][i] * coordinate(v / NX % NY, NY) +
                                (double)s.k[2][i] * coordinate(v / NX / NY, NZ));
                double a = (double)s.phi[2 * i], b = (double)s.phi[2 * i + 1], c = (double)s.d[2 * i],
                       d = (double)s.d[2 * i + 1], wr = q ? a * a + b * b : a * c + b * d, wi = q ? 0 : a * d - b * c;
                re += wr * cos(angle) - wi * sin(angle);
                im += wr * sin(angle) + wi * cos(angle);
                square += v == 0 ? wr * wr + wi * wi : 0;
            }
            CHECK(fabs((double)((float *)out[0].data)[v] - re) <= 1e-7 * fabs(re) + 1e-11);
            CHECK(fabs((double)((float *)out[1].data)[v] - im) <= 1e-7 * fabs(im) + 1e-11);
        }
        CHECK(fabs(s.rms - sqrt(square)) <= 1e-12 * s.rms);
        /* A weight or a place that is not finite. */
        ((float *)find(&s, "phi")->array.data)[6] = INFINITY;
        ((float *)find(&s, "phi")->array.data)[7] = 0;
        kiln__array_free(NULL, &out[0]);
        kiln__array_free(NULL, &out[1]);
        compute(&s, q, out);
        for (int v = 0; v < NX * NY * NZ; v++)
            CHECK(!isfinite(((float *)out[0].data)[v]));
        ((float *)find(&s, "kx")->array.data)[3] = INFINITY;
        kiln__array_free(NULL, &out[0]);
        kiln__array_free(NULL, &out[1]);
        compute(&s, q, out);
        for (int v = 0; v < NX * NY * NZ; v++)
            CHECK(isnan(((float *)out[0].data)[v]) && isnan(((float *)out[1].data)[v]));
        kiln__array_free(NULL, &out[0]);
        kiln__array_free(NULL, &out[1]);
        kiln__call_free(&s.call);
    }
}

static const check_case tests[] = {
    {"samples", test_samples},
    {"the reference", test_reference},
};
KILN_SUITE("mri", tests)
