/* Compares CUDA's mathematical functions on the simulator with the host's functions in long double. The errors must be
 * within the bounds of the CUDA C++ Programming Guide ("Mathematical Functions": largest error in ulp). */
#include "run.h"

typedef long double real;

/* Functions that the C library lacks, or lacks in long double. */
static real r_rsqrt(real x) { return 1 / sqrtl(x); }
static real r_rcbrt(real x) { return 1 / cbrtl(x); }
static real r_sinpi(real x)
{
    real r = remainderl(x, 2);
    return fabsl(r) <= 0.25L   ? sinl(M_PIl * r)
           : fabsl(r) >= 0.75L ? sinl(M_PIl * (r > 0 ? 1 - r : -1 - r))
                               : copysignl(cosl(M_PIl * (fabsl(r) - 0.5L)), r);
}
static real r_cospi(real x) { return fabsl(remainderl(x, 1)) == 0.5L ? 0 : r_sinpi(0.5L - fabsl(remainderl(x, 2))); }
static real r_erfcx(real x) { return expl(x * x) * erfcl(x); }
static real r_normcdf(real x) { return 0.5L * erfcl(-x / M_SQRT2l); }
/* Returns the y in [low, high] with f(y) = x, by bisection. f is monotonic. */
static real inverse(real (*f)(real), real x, real low, real high)
{
    for (int i = 0; i < 120; i++) {
        real middle = (low + high) / 2;
        if ((f(middle) < x) == (f(low) < f(high)))
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
static real r_erfinv(real x) { return fabsl(x) == 1 ? x / 0.0L : inverse(erfl, x, -7, 7); }
static real r_erfcinv(real x) { return inverse(erfcl, x, -7, 30); }
static real r_normcdfinv(real x) { return inverse(r_normcdf, x, -39, 9); }
static real bessel(real x, int order)
{
    real term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 300; k++)
        sum += term *= x / 2 * (x / 2) / k / (k + order);
    return sum;
}
static real r_bessel_i0(real x) { return bessel(x, 0); }
static real r_bessel_i1(real x) { return bessel(x, 1); }

/* X(name, reference, from, to, ulp of float, ulp of double). The name with an f is the float function. -1 means that
 * the guide states no bound in ulp over this range. In each range the reference is exact enough and the bound of the
 * guide holds. */
#define UNARY(X)                                                                                                       \
    X(sqrt, sqrtl, 0, 1e30, 0, 0)                                                                                      \
    X(rsqrt, r_rsqrt, 1e-30, 1e30, 2, 1)                                                                               \
    X(cbrt, cbrtl, -1e30, 1e30, 1, 1)                                                                                  \
    X(rcbrt, r_rcbrt, 1e-20, 1e20, 1, 1)                                                                               \
    X(exp, expl, -80, 80, 2, 1)                                                                                        \
    X(exp2, exp2l, -120, 120, 2, 1)                                                                                    \
    X(exp10, exp10l, -35, 35, 2, 1)                                                                                    \
    X(expm1, expm1l, -20, 80, 1, 1)                                                                                    \
    X(log, logl, 1e-30, 1e30, 1, 1)                                                                                    \
    X(log2, log2l, 1e-30, 1e30, 1, 1)                                                                                  \
    X(log10, log10l, 1e-30, 1e30, 2, 1)                                                                                \
    X(log1p, log1pl, -0.9, 1e20, 1, 1)                                                                                 \
    X(sin, sinl, -1e5, 1e5, 2, 2)                                                                                      \
    X(cos, cosl, -1e5, 1e5, 2, 2)                                                                                      \
    X(tan, tanl, -1e4, 1e4, 4, 2)                                                                                      \
    X(sinpi, r_sinpi, -1e4, 1e4, 1, 2)                                                                                 \
    X(cospi, r_cospi, -1e4, 1e4, 1, 2)                                                                                 \
    X(asin, asinl, -1, 1, 2, 2)                                                                                        \
    X(acos, acosl, -1, 1, 2, 2)                                                                                        \
    X(atan, atanl, -1e5, 1e5, 2, 2)                                                                                    \
    X(sinh, sinhl, -80, 80, 3, 2)                                                                                      \
    X(cosh, coshl, -80, 80, 2, 1)                                                                                      \
    X(tanh, tanhl, -20, 20, 2, 1)                                                                                      \
    X(asinh, asinhl, -1e10, 1e10, 3, 3)                                                                                \
    X(acosh, acoshl, 1, 1e10, 4, 3)                                                                                    \
    X(atanh, atanhl, -0.999, 0.999, 3, 2)                                                                              \
    X(erf, erfl, -6, 6, 2, 2)                                                                                          \
    X(erfc, erfcl, -6, 9, 4, 5)                                                                                        \
    X(erfcx, r_erfcx, -3, 9, 4, 4)                                                                                     \
    X(erfinv, r_erfinv, -0.999, 0.999, 2, 5)                                                                           \
    X(erfcinv, r_erfcinv, 1e-10, 1.9, 4, 6)                                                                            \
    X(normcdf, r_normcdf, -9, 9, 5, 5)                                                                                 \
    X(normcdfinv, r_normcdfinv, 1e-10, 0.999, 5, 8)                                                                    \
    X(lgamma, lgammal, 3, 1e10, 6, 4)                                                                                  \
    X(tgamma, tgammal, 0.1, 30, 5, 10)                                                                                 \
    X(j0, j0l, 0.1, 2, 9, 7)                                                                                           \
    X(j1, j1l, 0.1, 3, 9, 7)                                                                                           \
    X(y0, y0l, 1, 3, 9, 7)                                                                                             \
    X(y1, y1l, 0.1, 2, 9, 7)                                                                                           \
    X(cyl_bessel_i0, r_bessel_i0, -20, 20, 6, 6)                                                                       \
    X(cyl_bessel_i1, r_bessel_i1, -20, 20, 6, 6)                                                                       \
    X(fabs, fabsl, -1e30, 1e30, 0, 0)                                                                                  \
    X(ceil, ceill, -1e6, 1e6, 0, 0)                                                                                    \
    X(floor, floorl, -1e6, 1e6, 0, 0)                                                                                  \
    X(trunc, truncl, -1e6, 1e6, 0, 0)                                                                                  \
    X(round, roundl, -1e6, 1e6, 0, 0)                                                                                  \
    X(rint, rintl, -1e6, 1e6, 0, 0)                                                                                    \
    X(nearbyint, nearbyintl, -1e6, 1e6, 0, 0)                                                                          \
    X(logb, logbl, 1e-30, 1e30, 0, 0)

/* X(name, reference, from, to of each operand, ulp of float, of double) */
#define BINARY(X)                                                                                                      \
    X(pow, powl, 0.01, 9, -9, 9, 4, 2)                                                                                 \
    X(atan2, atan2l, -1e4, 1e4, -1e4, 1e4, 3, 2)                                                                       \
    X(hypot, hypotl, -1e10, 1e10, -1e10, 1e10, 3, 2)                                                                   \
    X(fmod, fmodl, -1e4, 1e4, 0.01, 9, 0, 0)                                                                           \
    X(remainder, remainderl, -1e4, 1e4, 0.01, 9, 0, 0)                                                                 \
    X(fdim, fdiml, -9, 9, -9, 9, 0, 0)                                                                                 \
    X(fmax, fmaxl, -9, 9, -9, 9, 0, 0)                                                                                 \
    X(fmin, fminl, -9, 9, -9, 9, 0, 0)                                                                                 \
    X(copysign, copysignl, -9, 9, -9, 9, 0, 0)

typedef struct function {
    const char *name;
    real (*one)(real);
    real (*two)(real, real);
    double low[2], high[2];
    double ulp[2]; /* of float, of double */
} function;
static const function functions[] = {
#define X(name, reference, from, to, f, d) {#name, reference, NULL, {from, 0}, {to, 0}, {f, d}},
    UNARY(X)
#undef X
#define X(name, reference, from, to, from2, to2, f, d) {#name, NULL, reference, {from, from2}, {to, to2}, {f, d}},
        BINARY(X)
#undef X
};
enum { COUNT = sizeof functions / sizeof *functions, VALUES = 2048 };

/* Writes a kernel for each function in float and in double. */
static void write_source(kiln__text *text)
{
    for (size_t i = 0; i < COUNT; i++)
        for (int wide = 0; wide < 2; wide++)
            kiln__text_printf(text,
                              "extern \"C\" __global__ void %s_%d(const %s *a, const %s *b, %s *out)\n"
                              "{ int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = %s%s(a[i]%s); }\n",
                              functions[i].name, wide, wide ? "double" : "float", wide ? "double" : "float",
                              wide ? "double" : "float", functions[i].name, wide ? "" : "f",
                              functions[i].two ? ", b[i]" : "");
}

/* Returns a value of the range. Half of the values are uniform over the range, and half are uniform over its
 * magnitudes. */
static double pick(uint64_t *seed, double low, double high)
{
    double at = (double)(run_random(seed) >> 11) * 0x1p-53;
    if (run_random(seed) & 1 || low == high)
        return low + (high - low) * at;
    double most = fmax(fabs(low), fabs(high)), least = low > 0 ? low : most * 1e-6;
    double value = least * pow(most / least, at);
    if (low < 0 && run_random(seed) & 1)
        value = -value;
    return fmin(fmax(value, low), high);
}

/* Returns the ulps between `got` and the exact value, in the format of `digits` binary digits with the least exponent
 * `least`. */
static double distance(real got, real want, int digits, int least)
{
    int exponent;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (got == want)
        return 0;
    if (isinf(want) || isinf(got) || want == 0)
        return want == 0 && fabsl(got) < ldexpl(1, least) ? 1 : INFINITY;
    frexpl(want, &exponent);
    exponent = exponent < least ? least : exponent;
    return (double)(fabsl(got - want) / ldexpl(1, exponent - digits));
}

typedef struct room {
    void *a, *b, *out;
    struct {
        uint64_t a, b, out;
    } p;
} room;

static void run_function(vm_bench *b, room *r, const function *f, int wide)
{
    char kernel[64];
    uint64_t seed = 17;
    double worst = 0, at = 0;
    for (int i = 0; i < VALUES; i++) {
        double x = pick(&seed, f->low[0], f->high[0]), y = pick(&seed, f->low[1], f->high[1]);
        if (wide) {
            ((double *)r->a)[i] = x;
            ((double *)r->b)[i] = y;
        } else {
            ((float *)r->a)[i] = (float)x;
            ((float *)r->b)[i] = (float)y;
        }
    }
    snprintf(kernel, sizeof kernel, "%s_%d", f->name, wide);
    vm_bench_run(b, kernel, VALUES / 256, 256, &r->p);
    for (int i = 0; i < VALUES; i++) {
        real x = wide ? (real)((double *)r->a)[i] : (real)((float *)r->a)[i];
        real y = wide ? (real)((double *)r->b)[i] : (real)((float *)r->b)[i];
        real got = wide ? (real)((double *)r->out)[i] : (real)((float *)r->out)[i];
        double off = distance(got, f->one ? f->one(x) : f->two(x, y), wide ? 53 : 24, wide ? -1021 : -125);
        if (off > worst) {
            worst = off;
            at = (double)x;
        }
    }
    double bound = f->ulp[wide] + 0.5; /* the guide compares with the rounded exact value, which adds half an ulp to
                                          the exact one */
    if (!(worst <= bound))
        fprintf(stderr, "%s%s(%.17g): %.2f ulp, stated are %g\n", f->name, wide ? "" : "f", at, worst, f->ulp[wide]);
    CU_ASSERT_TRUE(worst <= bound);
}

static void test_functions(void)
{
    kiln__text source = {0};
    room r;
    write_source(&source);
    vm_bench b = run_source("math.cu", kiln__text_get(&source));
    r.p.a = vm_bench_zeros(&b, VALUES * 8, &r.a);
    r.p.b = vm_bench_zeros(&b, VALUES * 8, &r.b);
    r.p.out = vm_bench_zeros(&b, VALUES * 8, &r.out);
    for (size_t i = 0; i < COUNT; i++)
        for (int wide = 0; wide < 2; wide++)
            run_function(&b, &r, &functions[i], wide);
    vm_bench_end(&b);
    kiln__text_free(&source);
}

/* Tests the values that C11 annex F prescribes: NaN, infinities, and exact results. */
static void test_special_values(void)
{
    static const char source[] =
        "extern \"C\" __global__ void k(double *d, float *f)\n"
        "{\n"
        "    double inf = 1.0 / d[0], nan = inf - inf, zero = d[0];\n"
        "    float finf = 1.0f / f[0], fzero = f[0];\n"
        "    d[1] = exp(-inf); d[2] = log(zero); d[3] = sqrt(-0.0); d[4] = sin(inf); d[5] = pow(nan, 0.0);\n"
        "    d[6] = atan2(zero, -1.0); d[7] = tgamma(5.0); d[8] = fmax(nan, 3.0); d[9] = cbrt(-27.0);\n"
        "    d[10] = hypot(inf, nan);\n"
        "    f[1] = expf(-finf); f[2] = logf(fzero); f[3] = powf(-2.0f + fzero, 3.0f); f[4] = cosf(finf);\n"
        "    f[5] = rsqrtf(fzero); f[6] = asinf(2.0f + fzero); f[7] = fminf(finf - finf, 4.0f);\n"
        "    f[8] = exp2f(10.0f + fzero);\n"
        "}\n";
    vm_bench b = run_source("special.cu", source);
    struct {
        uint64_t d, f;
    } p;
    double *d;
    float *f;
    p.d = vm_bench_zeros(&b, 16 * 8, &d);
    p.f = vm_bench_zeros(&b, 16 * 4, &f);
    vm_bench_run(&b, "k", 1, 1, &p);
    CHECK(d[1] == 0 && d[2] == -INFINITY && d[3] == 0 && signbit(d[3]) && isnan(d[4]) && d[5] == 1);
    CHECK(d[6] == M_PI && d[7] == 24 && d[8] == 3 && d[9] == -3 && d[10] == INFINITY);
    CHECK(f[1] == 0 && f[2] == -INFINITY && f[3] == -8 && isnan(f[4]) && f[5] == INFINITY && isnan(f[6]));
    CHECK(f[7] == 4 && f[8] == 1024);
    vm_bench_end(&b);
}

static const check_case cases[] = {{"functions", test_functions}, {"special values", test_special_values}};
RUN_SUITE("corpus.math", cases)
