/* Compares the arithmetic of the kernels in arith.cu with the host's arithmetic. Each expression has a row, and the
 * operands are all pairs of edge values. */
#include <fenv.h>
#include <math.h>

#include "vm_check.h"

enum { N = 64, FLOATS = 37, DOUBLES = 16, INTS = 45 };
static float f[N], *of;
static double d[N], *od;
static int n[N];
static long long *oi;

static const uint32_t float_edges[] = {
    0,           0x80000000u, 1,           0x80000001u, 0x007fffffu, 0x00800000u, 0x3f800000u, 0xbf800000u, 0x7f7fffffu,
    0xff7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x4f000000u, 0xcf000000u, 0x4f800000u, 0x3f000000u, 0x3fc00000u,
    0x40200000u, 0xc0200000u, 0x477fe000u, 0x477ff000u, 0x33000000u, 0x38800000u, 0x5f000000u};
static const int int_edges[] = {
    0,      1,     -1,    INT32_MAX,  INT32_MIN,        2,  -2, 7,  -7,        255, 256, -128, 127, 32767,
    -32768, 65535, 65536, 0x12345678, (int)0x87654321u, 31, 32, 33, 1000000007};

static void fill(void)
{
    uint32_t x = 12345;
    for (int i = 0; i < N; i++) {
        x = x * 1664525 + 1013904223;
        uint32_t bits = i < (int)KILN__COUNT(float_edges) ? float_edges[i]
                                                          : (x >> 9) | (0x3e000000u + (x & 0x83000000u));
        memcpy(&f[i], &bits, 4);
        d[i] = i % 3 ? (double)f[i] * 1.0000001 : (double)f[i];
        n[i] = i < (int)KILN__COUNT(int_edges) ? int_edges[i] : (int)x;
        if (n[i] == 0 && i)
            n[i] = 3;
    }
}

static int wrong;
static void same_float(int row, int i, float want)
{
    float got = of[row * N + i];
    if (memcmp(&got, &want, 4) != 0 && !(got != got && want != want)) {
        if (wrong++ < 20)
            fprintf(stderr, "float row %d, case %d (%a, %a, %a): got %a, want %a\n", row, i, (double)f[i],
                    (double)f[(i + 7) & 63], (double)f[(i + 13) & 63], (double)got, (double)want);
    }
}
static void same_double(int row, int i, double want, double tolerance)
{
    double got = od[row * N + i];
    if (memcmp(&got, &want, 8) != 0 && !(got != got && want != want) && !(fabs(got - want) <= tolerance * fabs(want))) {
        if (wrong++ < 20)
            fprintf(stderr, "double row %d, case %d (%a, %a): got %a, want %a\n", row, i, d[i], d[(i + 5) & 63], got,
                    want);
    }
}
static void same_int(int row, int i, long long want)
{
    long long got = oi[row * N + i];
    if (got != want && wrong++ < 20)
        fprintf(stderr, "int row %d, case %d (%d, %d): got %lld, want %lld\n", row, i, n[i], n[(i + 3) & 63], got,
                want);
}

#define ROUNDED(mode, type, expression)                                                                                \
    __extension__({                                                                                                    \
        fesetround(mode);                                                                                              \
        volatile type r_ = (expression);                                                                               \
        fesetround(FE_TONEAREST);                                                                                      \
        r_;                                                                                                            \
    })

static float min_(float a, float b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b; }
static float max_(float a, float b) { return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b; }

/* Rounds to a narrower format. It scales the number so that rint() rounds at the right bit. */
static float narrow(double v, int bits, int least, double infinite)
{
    int power;
    if (v != v || v == 0 || fabs(v) >= infinite)
        return (float)(v != v || v == 0 ? v : copysign(INFINITY, v));
    frexp(v, &power);
    double unit = ldexp(1, (power - 1 < least ? least : power - 1) - bits + 1);
    return (float)copysign(rint(v / unit) * unit, v);
}
static float half(double v) { return narrow(v, 11, -14, 65520); }

static void floats(int i)
{
    volatile float a = f[i], b = f[(i + 7) & 63], c = f[(i + 13) & 63];
    int p = n[i], q = n[(i + 3) & 63], k = 0;
    volatile double x = d[i];
    same_float(k++, i, a + b), same_float(k++, i, a - b), same_float(k++, i, a * b), same_float(k++, i, fmaf(a, b, c));
    same_float(k++, i, a / b), same_float(k++, i, sqrtf(a)), same_float(k++, i, 1.0f / a);
    same_float(k++, i, min_(a, b)), same_float(k++, i, max_(a, b));
    same_float(k++, i, ROUNDED(FE_TOWARDZERO, float, a + b)), same_float(k++, i, ROUNDED(FE_DOWNWARD, float, a *b));
    same_float(k++, i, ROUNDED(FE_UPWARD, float, fmaf(a, b, c))),
        same_float(k++, i, ROUNDED(FE_TOWARDZERO, float, a / b));
    same_float(k++, i, ROUNDED(FE_UPWARD, float, sqrtf(a)));
    same_float(k++, i, floorf(a)), same_float(k++, i, ceilf(a)), same_float(k++, i, rintf(a)),
        same_float(k++, i, truncf(a));
    same_float(k++, i, fabsf(a)), same_float(k++, i, -a), same_float(k++, i, (float)p),
        same_float(k++, i, (float)(unsigned)q);
    volatile int vp = p;
    same_float(k++, i, ROUNDED(FE_TOWARDZERO, float, (float)vp)), same_float(k++, i, (float)x);
    same_float(k++, i, ROUNDED(FE_TOWARDZERO, float, (float)x)), same_float(k++, i, (float)((long long)p * q));
    same_float(k++, i, copysignf(a, b)), same_float(k++, i, a > 0 ? (a < 1 ? a : 1) : 0);
    same_float(k++, i, half(a)), same_float(k++, i, narrow(a, 8, -126, 0x1.ffp127));
    same_float(k++, i, half((double)half(a) + (double)half(b)));
    same_float(k++, i, half(fma((double)half(a), (double)half(b), (double)half(c))));
    same_float(k++, i, half((double)half(a) * (double)half(b)));
    same_float(k++, i, a < b), same_float(k++, i, a >= b), same_float(k++, i, !(a < b)), same_float(k++, i, a != a);
    CU_ASSERT_EQUAL_FATAL(k, FLOATS);
}

static void doubles(int i)
{
    volatile double x = d[i], y = d[(i + 5) & 63];
    int p = n[i], q = n[(i + 3) & 63], k = 0;
    same_double(k++, i, x + y, 0), same_double(k++, i, x * y, 0), same_double(k++, i, fma(x, y, 1.5), 0);
    same_double(k++, i, x / y, 0), same_double(k++, i, sqrt(x), 0);
    same_double(k++, i, x != x ? y : y != y ? x : x == y ? (signbit(x) ? x : y) : x < y ? x : y, 0);
    same_double(k++, i, ROUNDED(FE_UPWARD, double, x + y), 0),
        same_double(k++, i, ROUNDED(FE_TOWARDZERO, double, x *y), 0);
    same_double(k++, i, (double)p * q, 0);
    long long clamped = x != x ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (long long)x;
    same_double(k++, i, (double)clamped, 0), same_double(k++, i, (double)f[i], 0), same_double(k++, i, trunc(x), 0);
    same_double(k++, i, exp(x / 100), 1e-14);
    if (fabs(x) < 1e5)
        same_double(k, i, sin(x), 1e-13);
    k++;
    same_double(k++, i, pow(fabs(x), 0.3), 1e-13), same_double(k++, i, log(fabs(x) + 1), 1e-13);
    CU_ASSERT_EQUAL_FATAL(k, DOUBLES);
}

static long long saturate(double x, double low, double high)
{
    return x != x ? 0 : x <= low ? (long long)low : x >= high ? (long long)high : (long long)x;
}

/* Compares the results of integer instructions and conversions for element i with C. */
static void ints(int i)
{
    int p = n[i], q = n[(i + 3) & 63], k = 0;
    unsigned up = (unsigned)p, uq = (unsigned)q, s = (unsigned)i & 31;
    float a = f[i];
    double x = d[i];
    long long P = p, Q = q;
    uint64_t UP = (uint64_t)P, UQ = (uint64_t)Q;
    __extension__ typedef __int128 wide;
    __extension__ typedef unsigned __int128 uwide;
    same_int(k++, i, q ? (int)(P / Q) : -1), same_int(k++, i, q ? (int)(P % Q) : -1);
    same_int(k++, i, uq ? up / uq : UINT32_MAX), same_int(k++, i, uq ? up % uq : UINT32_MAX), same_int(k++, i, P * Q);
    same_int(k++, i, (P * Q) >> 32);
    same_int(k++, i, (long long)((uint64_t)up * uq >> 32));
    same_int(k++, i, q ? P * 1048576 / (Q * 3) : -1);
    same_int(k++, i, UQ + 11 ? (long long)(UP * 977 % (UQ + 11)) : (long long)(UP * 977));
    same_int(k++, i, __builtin_popcount(up)), same_int(k++, i, up ? __builtin_clz(up) : 32),
        same_int(k++, i, __builtin_ffs(p));
    unsigned r = 0;
    for (unsigned bit = 0; bit < 32; bit++)
        r |= (up >> bit & 1) << (31 - bit);
    same_int(k++, i, r);
    uint64_t both = (uint64_t)uq << 32 | up;
    r = 0;
    for (unsigned byte = 0; byte < 4; byte++)
        r |= (unsigned)(both >> 8 * (0x1a4f >> 4 * byte & 7) & 0xff) << 8 * byte;
    same_int(k++, i, r), same_int(k++, i, (uint32_t)(both << s >> 32));
    same_int(k++, i, (uint32_t)(both >> (i + 3 > 32 ? 32 : i + 3)));
    same_int(k++, i, p >> s), same_int(k++, i, up >> s);
    same_int(k++, i, saturate((double)a, -0x1p31, 0x1p31 - 1)), same_int(k++, i, saturate((double)a, 0, 0x1p32 - 1));
    same_int(k++, i, x != x ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (long long)x);
    same_int(k++, i, x != x ? INT64_MIN : x >= 0x1p64 ? -1 : x <= 0 ? 0 : (long long)(uint64_t)x);
    same_int(k++, i, saturate(rint((double)a), -0x1p31, 0x1p31 - 1)),
        same_int(k++, i, saturate(ceil((double)a), -0x1p31, 0x1p31 - 1));
    same_int(k++, i, (int16_t)(uint16_t)up), same_int(k++, i, (uint8_t)uq), same_int(k++, i, (int8_t)(uint8_t)up);
    same_int(k++, i, p < q ? p : q), same_int(k++, i, up > uq ? up : uq), same_int(k++, i, (int)(p < 0 ? 0 - up : up));
    same_int(k++, i, (long long)((wide)(P * Q) * (wide)(long long)(UQ << 33) >> 64));
    same_int(k++, i, (long long)((uwide)(UP * UQ) * (uwide)(UQ << 31) >> 64));
    same_int(k++, i, (p > q ? up - uq : uq - up) + 5);
    int dot = 7;
    for (unsigned byte = 0; byte < 4; byte++)
        dot += (int8_t)(up >> 8 * byte) * (int8_t)(uq >> 8 * byte);
    same_int(k++, i, dot), same_int(k++, i, (int)((unsigned)((int)(up << 8) >> 8) * (unsigned)((int)(uq << 8) >> 8)));
    same_int(k++, i, (p & q) | (~p ^ q));
    same_int(k++, i, saturate(rint((double)half(a)), -0x1p31, 0x1p31 - 1));
    same_int(k++, i,
             x != x               ? INT64_MIN
             : ceil(x) >= 0x1p63  ? INT64_MAX
             : ceil(x) <= -0x1p63 ? INT64_MIN
                                  : (long long)ceil(x));
    same_int(k++, i, p == q);
    same_int(k++, i, ((up & 0xffff0000u) + (uq & 0xffff0000u)) | ((up + uq) & 0xffff));
    int16_t al = (int16_t)up, bl = (int16_t)uq, ah = (int16_t)(up >> 16), bh = (int16_t)(uq >> 16);
    same_int(k++, i, (unsigned)(uint16_t)(ah < bh ? ah : bh) << 16 | (uint16_t)(al < bl ? al : bl));
    same_int(k++, i, p);
}

static void against_the_host(void)
{
    vm_bench b = vm_bench_file("arith.ptx", (vm_limits){.threads = 1});
    void *host;
    struct {
        uint64_t f, d, n, of, od, oi;
    } p;
    fill();
    p.f = vm_bench_zeros(&b, sizeof f, &host), memcpy(host, f, sizeof f);
    p.d = vm_bench_zeros(&b, sizeof d, &host), memcpy(host, d, sizeof d);
    p.n = vm_bench_zeros(&b, sizeof n, &host), memcpy(host, n, sizeof n);
    p.of = vm_bench_zeros(&b, FLOATS * N * 4, &of);
    p.od = vm_bench_zeros(&b, DOUBLES * N * 8, &od);
    p.oi = vm_bench_zeros(&b, INTS * N * 8, &oi);
    vm_bench_run(&b, "arith", 1, N, &p);
    for (int i = 0; i < N; i++) {
        floats(i);
        doubles(i);
        ints(i);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    vm_bench_end(&b);
}

/* Reciprocal square roots must equal the results in double precision, rounded once. The operands are the words whose
 * results lie nearest to the middle between two numbers, and every 4099th word. A warp with only normal numbers runs
 * other code than a warp with special numbers. */
static void reciprocal_roots(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 X, .param .u64 Y)\n{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n"
        ".reg .b64 %rd<9>;\nld.param.u64 %rd1, [X];\nld.param.u64 %rd2, [Y];\n"
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r1, %r2, 128, %r1;\n"
        "mul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;\n"
        "ld.global.f32 %f1, [%rd1];\nrsqrt.approx.f32 %f2, %f1;\nst.global.f32 [%rd2], %f2;\n"
        "ret;\n}\n";
    enum { WORDS = 1 << 20 };
    static const uint32_t hard[] = {0x4009f038, 0x407ffffe, 0x403a18e3, 0x00ba2a39, 0x0109f038, 0x017ffffe};
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    struct {
        uint64_t x, y;
    } p;
    float *x, *y;
    p.x = vm_bench_zeros(&b, WORDS * 4, &x);
    p.y = vm_bench_zeros(&b, WORDS * 4, &y);
    for (uint32_t k = 0; k < WORDS; k++) {
        const uint32_t word = k % 64 < KILN__COUNT(hard) ? hard[k % 64]
                                                         : k * 4099u & (k % 2048 < 1024 ? UINT32_MAX : INT32_MAX);
        memcpy(&x[k], &word, 4);
    }
    vm_bench_run(&b, "k", WORDS / 128, 128, &p);
    unsigned differ = 0;
    for (uint32_t k = 0; k < WORDS; k++) {
        const float r = (float)(1.0 / sqrt((double)x[k]));
        differ += r != r ? y[k] == y[k] : memcmp(&r, &y[k], 4) != 0;
    }
    CU_ASSERT_EQUAL(differ, 0);
    vm_bench_end(&b);
}

/* A program may set a rounding mode, traps, and a treatment of subnormals (which -ffast-math sets). These must not
 * affect kernels, and the program must keep them. */
static void environment(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 X)\n{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<9>;\n"
        ".reg .f64 %d<9>;\nld.param.u64 %rd1, [X];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 16;\n"
        "add.u64 %rd1, %rd1, %rd2;\nadd.u32 %r1, %r1, 1;\ncvt.rn.f32.u32 %f1, %r1;\nmov.f32 %f2, 0f3f800000;\n"
        "div.rn.f32 %f3, %f2, %f1;\nmov.b32 %f4, %r1;\nadd.f32 %f5, %f4, %f4;\nst.global.v2.f32 [%rd1], {%f3, %f5};\n"
        "cvt.f64.f32 %d1, %f3;\nadd.f64 %d2, %d1, 0d3c00000000000001;\nst.global.f64 [%rd1+8], %d2;\nret;\n}\n";
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 2});
    uint32_t *x, plain[32 * 4];
    uint64_t p = vm_bench_zeros(&b, sizeof plain, &x);
    fenv_t before;
    vm_bench_run(&b, "k", 1, 32, &p);
    memcpy(plain, x, sizeof plain);
    fegetenv(&before);
    fesetround(FE_UPWARD);
#if defined(__SSE2__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
    for (unsigned k = 0; k < 3; k++) {
        memset(x, 0, sizeof plain);
        vm_bench_run(&b, "k", 1, 32, &p);
        CU_ASSERT_EQUAL(memcmp(plain, x, sizeof plain), 0);
        CU_ASSERT_EQUAL(fegetround(), FE_UPWARD);
    }
#if defined(__SSE2__)
    CU_ASSERT_EQUAL(__builtin_ia32_stmxcsr() & 0x8040, 0x8040);
#endif
    fesetenv(&before);
    CU_ASSERT_EQUAL(plain[1], 2); /* the sum of a subnormal number and itself */
    vm_bench_end(&b);
}

/* Returns the NaN that an H200 gives for operands of which some are NaN, or 0 if none of those that count is NaN. `order` has the
 * operands in the order in which they are chosen. */
static uint64_t choose_nan(const char *order, const uint64_t *operands)
{
    for (; *order; order++) {
        const uint64_t x = operands[*order - 'a'];
        if (x << 1 > 0xffe0000000000000u)
            return x | 1ull << 51;
    }
    return 0;
}

/* Tests the NaN of an operation on doubles if some operands are NaNs, for a whole warp and for some of its lanes. */
static void nans_of_doubles(void)
{
    static const struct {
        const char *text, *order;
    } operations[] = {{"add.f64 %d4, %d1, %d2", "ba"},          {"sub.f64 %d4, %d1, %d2", "ba"},
                      {"mul.f64 %d4, %d1, %d2", "ba"},          {"add.rz.f64 %d4, %d1, %d2", "ba"},
                      {"sub.rm.f64 %d4, %d1, %d2", "ba"},       {"mul.rp.f64 %d4, %d1, %d2", "ba"},
                      {"div.rn.f64 %d4, %d1, %d2", "ab"},       {"div.rz.f64 %d4, %d1, %d2", "ab"},
                      {"min.f64 %d4, %d1, %d2", "ba"},          {"max.f64 %d4, %d1, %d2", "ba"},
                      {"fma.rn.f64 %d4, %d1, %d2, %d3", "bca"}, {"fma.rm.f64 %d4, %d1, %d2, %d3", "bca"},
                      {"fma.rn.f64 %d4, %d3, %d2, %d1", "bac"}, {"mov.f64 %d4, %d1;\nadd.f64 %d4, %d4, %d2", "ba"}};
    enum { LANES = 32, WORDS = 5 }; /* a, b, c, and two results of each lane */
    for (size_t k = 0; k < KILN__COUNT(operations); k++) {
        kiln__text text = {0};
        uint32_t *words;
        kiln__text_printf(
            &text,
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 X)\n{\n.reg .b32 %%r1;\n"
            ".reg .b64 %%rd<3>;\n.reg .f64 %%d<5>;\n.reg .pred %%p;\nld.param.u64 %%rd1, [X];\n"
            "mov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd2, %%r1, 40;\nadd.u64 %%rd1, %%rd1, %%rd2;\n"
            "ld.global.f64 %%d1, [%%rd1];\nld.global.f64 %%d2, [%%rd1+8];\nld.global.f64 %%d3, [%%rd1+16];\n"
            "%s;\nst.global.f64 [%%rd1+24], %%d4;\nsetp.eq.u32 %%p, %%r1, 31;\n@%%p bra out;\n"
            "%s;\nst.global.f64 [%%rd1+32], %%d4;\nout: ret;\n}\n",
            operations[k].text, operations[k].text);
        vm_bench b = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.threads = 1});
        uint64_t p = vm_bench_zeros(&b, LANES * WORDS * sizeof(uint64_t), &words), *x = (uint64_t *)(void *)words;
        for (uint64_t l = 0; l < LANES; l++)
            for (uint64_t o = 0; o < 3; o++)
                x[l * WORDS + o] = l >> o & 1
                                       ? (l >> 3 & 1) << 63 | 0x7ff0000000000000u | (l >> 4) << 51 | (l * 3 + o + 1)
                                       : 0x4000000000000000u + o;
        vm_bench_run(&b, "k", 1, LANES, &p);
        for (uint64_t l = 0; l < LANES; l++) {
            const uint64_t *in = x + l * WORDS, nan = choose_nan(operations[k].order, in);
            const bool picks = operations[k].text[0] == 'm' && operations[k].text[1] != 'u' &&
                               operations[k].text[2] != 'v';
            if (!nan || (picks && !(in[0] << 1 > 0xffe0000000000000u && in[1] << 1 > 0xffe0000000000000u)))
                continue; /* min and max of a number and a NaN are the number */
            CU_ASSERT_EQUAL(in[3], nan);
            CU_ASSERT_EQUAL(in[4], l == LANES - 1 ? 0 : nan);
        }
        vm_bench_end(&b);
        kiln__text_free(&text);
    }
}

static const check_case cases[] = {{"against the host", against_the_host},
                                   {"NaNs of doubles", nans_of_doubles},
                                   {"reciprocal roots", reciprocal_roots},
                                   {"the program's floating-point environment", environment}};
KILN_SUITE("vm arith", cases)
