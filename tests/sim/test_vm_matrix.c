/* Tests instructions on matrices. The test builds and reads fragments by the formulas of the PTX manual, which exist
 * for each shape. Products use small integers, so that they are exact in any order. Tests of the known rounding
 * follow. */
#include <math.h>

#include "vm_check.h"

#define HEAD ".version 9.0\n.target sm_100a\n.address_size 64\n"
#define KERNEL(...)                                                                                                      \
    HEAD                                                                                                                 \
        ".visible .entry k (.param .u64 a) {\n.reg .b32 %r<40>; .reg .f32 %f<16>; .reg .b64 %d<40>; .reg .f64 %e<32>;\n" \
        ".shared .align 128 .b8 sh[4096];\n"                                                                             \
        "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 128, %d0;\n" __VA_ARGS__ "\nret;\n}\n"
#define LOAD_A2 "ld.global.v2.b32 {%r1, %r2}, [%d1];\n"
#define LOAD_A4 "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1];\n"
#define LOAD_B2 "ld.global.v2.b32 {%r5, %r6}, [%d1+16];\n"
#define LOAD_C4 "ld.global.v4.b32 {%r9, %r10, %r11, %r12}, [%d1+32];\n"
#define LOAD_C8 LOAD_C4 "ld.global.v4.b32 {%r13, %r14, %r15, %r16}, [%d1+48];\n"
#define STORE_4 "st.global.v4.b32 [%d1+64], {%r20, %r21, %r22, %r23};\n"
#define STORE_8 STORE_4 "st.global.v4.b32 [%d1+80], {%r24, %r25, %r26, %r27};\n"

/* The 128 bytes of a lane: a begins at byte 0, b at 16, c at 32, and d at 64. Products of .f64 have other places. */
typedef union lane_data {
    uint32_t w[32];
    float f[32];
    double d[16];
} lane_data;
static lane_data rows[32];

static void run_on(const char *text, int cc)
{
    vm_limits limits = {.threads = 1, .cc = cc};
    vm_bench b = vm_bench_text(text, strlen(text), limits);
    void *host;
    uint64_t a = vm_bench_zeros(&b, sizeof rows, &host);
    memcpy(host, rows, sizeof rows);
    vm_bench_run(&b, "k", 1, 32, &a);
    memcpy(rows, host, sizeof rows);
    vm_bench_end(&b);
}
static void run(const char *text) { run_on(text, 90); }

static uint32_t seed = 1;
static int small(void)
{
    seed = seed * 1664525 + 1013904223;
    return (int)(seed >> 16 & 15) - 8;
}

static uint32_t half_of(int x) /* returns a whole number below 2^11 as f16 */
{
    if (x == 0)
        return 0;
    uint32_t sign = x < 0 ? 0x8000 : 0, m = (uint32_t)(x < 0 ? -x : x), e = 0;
    while (m >> (e + 1))
        e++;
    return sign | (e + 15) << 10 | (m << (10 - e) & 1023);
}
static uint32_t single_of(double x)
{
    float f = (float)x;
    uint32_t r;
    memcpy(&r, &f, 4);
    return r;
}

static int A[32][128], B[128][32], C[32][32], D[32][32];
static void fill(int m, int n, int k)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < k; j++)
            A[i][j] = small();
    for (int i = 0; i < k; i++)
        for (int j = 0; j < n; j++)
            B[i][j] = small();
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] = D[i][j] = small() * 5;
            for (int l = 0; l < k; l++)
                D[i][j] += A[i][l] * B[l][j];
        }
    memset(rows, 0, sizeof rows);
}

static void halves_m16n8k16(void)
{
    fill(16, 8, 16);
    for (int lane = 0; lane < 32; lane++) {
        int group = lane >> 2, thread = lane % 4;
        for (int i = 0; i < 8; i++) { /* "row = groupID for 0 <= i < 2 || 4 <= i < 6, groupID + 8 otherwise; col =
                                        * (threadID_in_group * 2) + (i & 1) for i < 4, + 8 for i >= 4" */
            int row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8, col = thread * 2 + (i & 1) + (i >= 4 ? 8 : 0);
            rows[lane].w[i / 2] |= half_of(A[row][col]) << 16 * (i & 1);
        }
        /* B: "row = (threadID_in_group * 2) + (i & 1) for i < 2, + 8 for i >= 2; col = groupID" */
        for (int i = 0; i < 4; i++)
            rows[lane].w[4 + i / 2] |= half_of(B[thread * 2 + (i & 1) + (i >= 2 ? 8 : 0)][group]) << 16 * (i & 1);
        /* C: "row = groupID for i < 2, groupID + 8 for i >= 2; col = thread * 2 + (i & 1)" */
        for (int i = 0; i < 4; i++)
            rows[lane].w[8 + i] = single_of(C[group + (i >= 2 ? 8 : 0)][thread * 2 + (i & 1)]);
    }
    run(KERNEL(LOAD_A4 LOAD_B2 LOAD_C4 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, "
                                       "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10, %r11, %r12};" STORE_4));
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++)
            CHECK(rows[lane].f[16 + i] == (float)D[(lane >> 2) + (i >= 2 ? 8 : 0)][lane % 4 * 2 + (i & 1)]);
    /* a register of half accumulators has two neighbouring elements */
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 2; r++)
            rows[lane].w[8 + r] = half_of(C[(lane >> 2) + 8 * r][lane % 4 * 2]) |
                                  half_of(C[(lane >> 2) + 8 * r][lane % 4 * 2 + 1]) << 16;
    run(KERNEL(LOAD_A4 LOAD_B2 LOAD_C4 "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r20, %r21}, "
                                       "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10};" STORE_4));
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 2; r++)
            CHECK(rows[lane].w[16 + r] == (half_of(D[(lane >> 2) + 8 * r][lane % 4 * 2]) |
                                           half_of(D[(lane >> 2) + 8 * r][lane % 4 * 2 + 1]) << 16));
}

static void tf32_m16n8k8(void)
{
    fill(16, 8, 8);
    for (int lane = 0; lane < 32; lane++) {
        int group = lane >> 2, thread = lane % 4;
        /* "row = groupID for a0 and a2, + 8 for a1 and a3; col = thread for a0, a1, + 4 else" */
        for (int i = 0; i < 4; i++)
            /* the tensor core ignores these bits */
            rows[lane].w[i] = single_of(A[group + (i & 1) * 8][thread + (i >= 2 ? 4 : 0)]) | 0x1fff;
        for (int i = 0; i < 2; i++)
            rows[lane].w[4 + i] = single_of(B[thread + 4 * i][group]);
        for (int i = 0; i < 4; i++)
            rows[lane].w[8 + i] = single_of(C[group + (i >= 2 ? 8 : 0)][thread * 2 + (i & 1)]);
    }
    run(KERNEL(LOAD_A4 LOAD_B2 LOAD_C4 "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r20, %r21, %r22, %r23}, "
                                       "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10, %r11, %r12};" STORE_4));
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++)
            CHECK(rows[lane].f[16 + i] == (float)D[(lane >> 2) + (i >= 2 ? 8 : 0)][lane % 4 * 2 + (i & 1)]);
}

static void bytes_m16n8k32(void)
{
    fill(16, 8, 32);
    for (int lane = 0; lane < 32; lane++) {
        int group = lane >> 2, thread = lane % 4;
        for (int i = 0; i < 16; i++) { /* "row = groupID for 0 <= i < 4 || 8 <= i < 12; col = thread * 4 + (i & 3), + 16
                                         * for i >= 8" */
            int row = (i < 4 || (i >= 8 && i < 12)) ? group : group + 8, col = thread * 4 + (i & 3) + (i >= 8 ? 16 : 0);
            rows[lane].w[i / 4] |= (uint32_t)(uint8_t)A[row][col] << 8 * (i & 3);
        }
        for (int i = 0; i < 8; i++)
            rows[lane].w[4 + i / 4] |= (uint32_t)(uint8_t)B[thread * 4 + (i & 3) + (i >= 4 ? 16 : 0)][group]
                                       << 8 * (i & 3);
        for (int i = 0; i < 4; i++)
            rows[lane].w[8 + i] = (uint32_t)C[group + (i >= 2 ? 8 : 0)][thread * 2 + (i & 1)];
    }
    lane_data before[32];
    memcpy(before, rows, sizeof rows);
    run(KERNEL(LOAD_A4 LOAD_B2 LOAD_C4 "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r20, %r21, %r22, %r23}, "
                                       "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10, %r11, %r12};" STORE_4));
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++)
            CHECK(rows[lane].w[16 + i] == (uint32_t)D[(lane >> 2) + (i >= 2 ? 8 : 0)][lane % 4 * 2 + (i & 1)]);
    /* multiplies u8 by s8, with sums at the end of the range; with .satfinite the sums stay there, and without it they
     * wrap */
    memcpy(rows, before, sizeof rows);
    for (int lane = 0; lane < 32; lane++)
        rows[lane].w[8] = 0x7fffffff;
    run(KERNEL(LOAD_A4 LOAD_B2 LOAD_C4
               "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%r20, %r21, %r22, %r23}, "
               "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10, %r11, %r12};"
               "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 {%r24, %r25, %r26, %r27}, "
               "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10, %r11, %r12};" STORE_8));
    for (int lane = 0; lane < 32; lane++) {
        int64_t sum = 0x7fffffff;
        for (int k = 0; k < 32; k++)
            sum += (int64_t)(uint8_t)A[lane >> 2][k] * B[k][lane % 4 * 2];
        CHECK(rows[lane].w[16] == (uint32_t)(uint64_t)sum);
        CHECK(rows[lane].w[20] == (sum > INT32_MAX ? 0x7fffffffu : (uint32_t)(uint64_t)sum));
    }
}

static void bits_and_nibbles(void)
{
    /* The bits of the lanes 4g to 4g + 3 are row g of A and column g of B. xor counts the bits that differ, and `and`
     * counts the bits that are set in both. */
    memset(rows, 0, sizeof rows);
    for (int lane = 0; lane < 32; lane++) {
        rows[lane].w[0] = (uint32_t)(lane / 4) * 0x01010101u;
        rows[lane].w[4] = 0x0f0f0f0fu << lane / 16;
        rows[lane].w[8] = 1000, rows[lane].w[9] = 2000;
    }
    run(KERNEL(
        LOAD_A4 LOAD_B2 LOAD_C4
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r20, %r21}, {%r1}, {%r5}, {%r9, %r10};"
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%r22, %r23}, %r1, %r5, {%r9, %r10};" STORE_4));
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 2; i++) {
            uint32_t a = (uint32_t)(lane / 4) * 0x01010101u, b = 0x0f0f0f0fu << (lane % 4 * 2 + i) / 4;
            uint32_t c = i ? 2000 : 1000;
            CHECK(rows[lane].w[16 + i] == c + 4 * (uint32_t)__builtin_popcount(a ^ b));
            CHECK(rows[lane].w[18 + i] == c + 4 * (uint32_t)__builtin_popcount(a & b));
        }
    fill(8, 8, 32);
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 8; i++) { /* "row = groupID; col = thread * 8 + (i & 7)" */
            rows[lane].w[0] |= ((uint32_t)A[lane >> 2][lane % 4 * 8 + i] & 15) << 4 * i;
            rows[lane].w[4] |= ((uint32_t)B[lane % 4 * 8 + i][lane >> 2] & 15) << 4 * i;
        }
        rows[lane].w[8] = (uint32_t)C[lane >> 2][lane % 4 * 2],
        rows[lane].w[9] = (uint32_t)C[lane >> 2][lane % 4 * 2 + 1];
    }
    run(KERNEL(LOAD_A4 LOAD_B2 LOAD_C4
               "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%r20, %r21}, {%r1}, {%r5}, {%r9, %r10};" STORE_4));
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 2; i++)
            CHECK(rows[lane].w[16 + i] == (uint32_t)D[lane >> 2][lane % 4 * 2 + i]);
}

static void doubles_m8n8k4(void)
{
    fill(8, 8, 4);
    for (int lane = 0; lane < 32; lane++) {
        rows[lane].d[0] = A[lane >> 2][lane % 4];
        rows[lane].d[1] = B[lane % 4][lane >> 2];
        for (int i = 0; i < 2; i++)
            rows[lane].d[2 + i] = C[lane >> 2][lane % 4 * 2 + i];
    }
    run(KERNEL("ld.global.v2.f64 {%e1, %e2}, [%d1]; ld.global.v2.f64 {%e3, %e4}, [%d1+16];"
               "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e5, %e6}, {%e1}, {%e2}, {%e3, %e4};"
               "st.global.v2.f64 [%d1+64], {%e5, %e6};"));
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 2; i++)
            CHECK(rows[lane].d[8 + i] == D[lane >> 2][lane % 4 * 2 + i]);
}

/* Computes four products of 8x8x4 at once, in all layouts. The lanes of product q are those with (lane % 16) / 4 =
 * q. */
static void quads_m8n8k4(void)
{
    static const char *const texts[2][2] = {
#define QUADS(layouts)                                                                                                 \
    KERNEL(LOAD_A4 LOAD_B2 LOAD_C8                                                                                     \
           "mma.sync.aligned.m8n8k4." layouts ".f32.f16.f16.f32 {%r20, %r21, %r22, %r23, %r24, "                       \
           "%r25, %r26, %r27}, {%r1, %r2}, {%r5, %r6}, {%r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16};" STORE_8)
        {QUADS("row.row"), QUADS("row.col")}, {QUADS("col.row"), QUADS("col.col")}};
    static int a[4][8][4], b[4][4][8], c[4][8][8];
    for (int layouts = 0; layouts < 4; layouts++) {
        bool a_col = layouts / 2, b_col = layouts % 2;
        memset(rows, 0, sizeof rows);
        for (int q = 0; q < 4; q++)
            for (int i = 0; i < 8; i++) {
                for (int j = 0; j < 4; j++)
                    a[q][i][j] = small(), b[q][j][i] = small();
                for (int j = 0; j < 8; j++)
                    c[q][i][j] = small();
            }
        for (int lane = 0; lane < 32; lane++) {
            int q = lane % 16 / 4, high = lane < 16 ? 0 : 4;
            for (int i = 0; i < 4; i++) {
                int row = a_col ? i % 4 + high : lane % 4 + high, col = a_col ? lane % 4 : i;
                rows[lane].w[i / 2] |= half_of(a[q][row][col]) << 16 * (i & 1);
                row = b_col ? i : lane % 4, col = b_col ? lane % 4 + high : i + high;
                rows[lane].w[4 + i / 2] |= half_of(b[q][row][col]) << 16 * (i & 1);
            }
            for (int i = 0; i < 8; i++) /* "row = X for lane < 16, X + 4 else, X = (lane & 1) + (i & 2); col = (i & 4) +
                                          * (lane & 2) + (i & 1)" */
                rows[lane].w[8 + i] = single_of(c[q][(lane & 1) + (i & 2) + high][(i & 4) + (lane & 2) + (i & 1)]);
        }
        run(texts[a_col][b_col]);
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < 8; i++) {
                int q = lane % 16 / 4, high = lane < 16 ? 0 : 4;
                int row = (lane & 1) + (i & 2) + high, col = (i & 4) + (lane & 2) + (i & 1), want = c[q][row][col];
                for (int k = 0; k < 4; k++)
                    want += a[q][row][k] * b[q][k][col];
                CHECK(rows[lane].f[16 + i] == (float)want);
            }
    }
}

/* Returns the sum of sixteen products of one row of A and one column of B, which are in the lanes 0 to 3. */
static float sum_of(const uint32_t *a, const uint32_t *b, float c, int cc)
{
    memset(rows, 0, sizeof rows);
    /* the lanes 0 to 3 have row 0: in a0 and a1 for k < 8, and in a4 and a5 for the other k; likewise for column 0 */
    for (int k = 0; k < 16; k++) {
        int lane = k % 8 / 2;
        rows[lane].w[k / 8 * 2] |= a[k] << 16 * (k & 1);
        rows[lane].w[4 + k / 8] |= b[k] << 16 * (k & 1);
    }
    rows[0].f[8] = c;
    run_on(KERNEL(LOAD_A4 LOAD_B2 LOAD_C4 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, "
                                          "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10, %r11, %r12};" STORE_4),
           cc);
    return rows[0].f[16];
}

static void rounding(void)
{
    enum { ONE = 0x3c00, TINY = 0x0c00 /* 2^-12 */, SMALLER = 0x0800 /* 2^-13 */, MINUS_ONE = 0xbc00 };
    uint32_t a[16] = {ONE}, b[16] = {ONE};
    /* 1 + 2^-24 is cut, and not rounded; 1 + 3 * 2^-24 is 1 + 2^-23, because the sum is cut, and not each term */
    a[1] = TINY, b[1] = TINY;
    CHECK(sum_of(a, b, 0, 90) == 1.0f);
    a[2] = b[2] = a[3] = b[3] = TINY;
    CHECK(sum_of(a, b, 0, 90) == 1.0f + 0x1p-23f);
    /* but bits of a term below 2^-25 of the greatest term are lost before the sum, so 1 - 1 + 4 * 2^-26 is not 2^-24 */
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    a[0] = b[0] = ONE;
    for (int k = 1; k < 5; k++)
        a[k] = SMALLER, b[k] = SMALLER;
    CHECK(sum_of(a, b, -1, 90) == 0);
    for (int k = 1; k < 5; k++)
        /* each term is 2^-25; compute capability 9.0 keeps this bit as the last one, but 8.0 does not */
        a[k] = TINY, b[k] = SMALLER;
    CHECK(sum_of(a, b, -1, 90) == 0x1p-23f);
    CHECK(sum_of(a, b, -1, 80) == 0);
    /* The exponent of the greatest term is taken before normalisation: 1.5 * 1.5 = 2.25 has the exponent 0 here. */
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    a[0] = b[0] = 0x3e00;
    a[1] = TINY, b[1] = SMALLER;
    CHECK(sum_of(a, b, -2.25f, 90) == 0); /* the power of c is 2^1, so 2^-25 is below the last bit that is kept */
    a[1] = TINY, b[1] = TINY;
    CHECK(sum_of(a, b, -2.25f, 90) == 0x1p-24f);
    /* infinities and NaN */
    a[0] = 0x7c00, b[0] = ONE;
    CHECK(sum_of(a, b, 1, 90) == INFINITY);
    CHECK(isnan(sum_of(a, b, -INFINITY, 90)) && rows[0].w[16] == 0x7fffffff);
    /* An infinity times zero gives NaN in its row, and changes no other row. */
    CHECK(isnan(rows[0].f[17]) && rows[5].f[16] == 0);
    b[0] = 0;
    CHECK(isnan(sum_of(a, b, 1, 90)));
    /* negative sums are cut towards zero as well */
    a[0] = MINUS_ONE, b[0] = ONE, a[1] = TINY, b[1] = TINY | 0x8000;
    CHECK(sum_of(a, b, 0, 90) == -1.0f);
}

/* If a sum of several steps overflows in the first step, it stays infinite. Compute capability 8.0 adds eight products
 * of halves in a step. */
static void overflow_between_steps(void)
{
    enum { LARGE = 0x5c00 /* 256 */, INFINITE = 0x7c00 };
    memset(rows, 0, sizeof rows);
    for (int lane = 0; lane < 32; lane++) {
        const uint32_t sign = lane / 4 % 2 ? 0x80008000u : 0; /* the sign of every second row of A */
        for (int k = 0; k < 4; k++)
            rows[lane].w[k] = (LARGE << 16 | LARGE) ^ sign;
        rows[lane].w[4] = lane / 4 == 7 ? 0
                                        /* column 7 of B is zero, and so are all rows of B from 8 on */
                                        : LARGE << 16 | LARGE;
    }
    run_on(KERNEL(LOAD_A4 LOAD_B2 LOAD_C4 "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r20, %r21}, "
                                          "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r9, %r10};" STORE_4),
           80);
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 2; r++)
            for (int e = 0; e < 2; e++) {
                const uint32_t sum = rows[lane].w[16 + r] >> 16 * e & 0xffff, sign = lane / 4 % 2 ? 0x8000 : 0;
                CHECK(sum == (lane % 4 * 2 + e == 7 ? 0 : INFINITE | sign));
            }
}

static void sparse(void)
{
    /* In m16n8k16, the metadata selects two of four neighbouring elements. Lane 4g + selector has the metadata of rows
     * g and g + 8. */
    static const uint32_t pairs[6] = {4, 8, 12, 9, 13, 14}; /* 0 1, 0 2, 0 3, 1 2, 1 3, 2 3 */
    fill(16, 8, 16);
    uint32_t meta[16] = {0};
    for (int i = 0; i < 16; i++)
        for (int g = 0; g < 4; g++) {
            uint32_t pair = pairs[(unsigned)(i + g) % 6];
            meta[i] |= pair << 4 * g;
            for (int j = 0; j < 4; j++)
                if (j != (int)(pair & 3) && j != (int)(pair >> 2))
                    A[i][4 * g + j] = 0;
        }
    for (int lane = 0; lane < 32; lane++) {
        int group = lane >> 2, thread = lane % 4;
        /* A as stored, 16 by 8: "row = groupID for i < 2, + 8 else; col = thread * 2 + (i & 1)" */
        for (int i = 0; i < 4; i++) {
            int row = group + (i >= 2 ? 8 : 0), at = thread * 2 + (i & 1);
            int col = at / 2 * 4 + (int)(meta[row] >> (at / 2 * 4 + at % 2 * 2) & 3);
            rows[lane].w[i / 2] |= half_of(A[row][col]) << 16 * (i & 1);
        }
        for (int i = 0; i < 4; i++)
            rows[lane].w[4 + i / 2] |= half_of(B[thread * 2 + (i & 1) + (i >= 2 ? 8 : 0)][group]) << 16 * (i & 1);
        for (int i = 0; i < 4; i++)
            rows[lane].w[8 + i] = single_of(C[group + (i >= 2 ? 8 : 0)][thread * 2 + (i & 1)]);
        rows[lane].w[12] = thread == 2 ? meta[group] | meta[group + 8] << 16 : 0xeeeeeeee;
    }
    run(KERNEL(LOAD_A2 LOAD_B2 LOAD_C4 "ld.global.b32 %r30, [%d1+48];"
                                       "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, "
                                       "{%r1, %r2}, {%r5, %r6}, {%r9, %r10, %r11, %r12}, %r30, 2;" STORE_4));
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row = (lane >> 2) + (i >= 2 ? 8 : 0), col = lane % 4 * 2 + (i & 1), want = C[row][col];
            for (int k = 0; k < 16; k++)
                want += A[row][k] * B[k][col];
            CHECK(rows[lane].f[16 + i] == (float)want);
        }
}

/* ldmatrix distributes rows over lanes, stmatrix is its inverse, and movmatrix transposes the values in the lanes'
 * registers. */
static void moves(void)
{
    memset(rows, 0, sizeof rows);
    for (int lane = 0; lane < 32; lane++) /* lane l writes row l of 32 rows of 16 bytes: halves 8l .. 8l + 7 */
        for (int k = 0; k < 4; k++)
            rows[lane].w[k] = (uint32_t)(8 * lane + 2 * k) | (uint32_t)(8 * lane + 2 * k + 1) << 16;
    run(KERNEL(
        LOAD_A4
        "shl.b32 %r5, %r0, 4; mov.u32 %r6, sh; add.u32 %r6, %r6, %r5; st.shared.v4.b32 [%r6], {%r1, %r2, %r3, %r4};"
        "bar.warp.sync -1;"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r6];"
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%r24, %r25}, [%r6];"
        "movmatrix.sync.aligned.m8n8.trans.b16 %r26, %r20;"
        "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r6+1024], {%r24};"
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6+2048], {%r21};"
        "bar.warp.sync -1; and.b32 %r7, %r0, 7; shl.b32 %r7, %r7, 4; mov.u32 %r8, sh; add.u32 %r7, %r7, %r8;"
        "ld.shared.b32 %r27, [%r7+1024]; ld.shared.b32 %r28, [%r7+2052];" STORE_8 "st.global.b32 [%d1+96], %r28;"));
    for (int lane = 0; lane < 32; lane++) {
        for (int j = 0; j < 4; j++) {
            uint32_t first = (uint32_t)(64 * j + 8 * (lane / 4) + 2 * (lane % 4));
            CHECK(rows[lane].w[16 + j] == (first | (first + 1) << 16));
        }
        for (int j = 0; j < 2; j++) { /* rows 2t and 2t + 1 of column g of the matrix */
            uint32_t first = (uint32_t)(64 * j + 8 * (2 * (lane % 4)) + lane / 4);
            CHECK(rows[lane].w[20 + j] == (first | (first + 8) << 16));
        }
        CHECK(rows[lane].w[22] == rows[lane].w[20]);
        uint32_t row = (uint32_t)(lane & 7) * 8;
        CHECK(rows[lane].w[23] == (row | (row + 1) << 16));
        CHECK(rows[lane].w[24] == (64 + row + 2) + ((64 + row + 3) << 16));
    }
}

/* The byte in row m and column n of a matrix. */
static unsigned byte_at(unsigned matrix, unsigned m, unsigned n) { return (matrix * 31 + m * 8 + n) & 255; }

#define ROW "shl.b32 %r5, %r0, 4; mov.u32 %r6, sh; add.u32 %r6, %r6, %r5;\n"
#define STORED(form, registers)                                                                                        \
    KERNEL(LOAD_A4 ROW "stmatrix.sync.aligned.m16n8." form ".trans.shared.b8 [%r6], {" registers "};\n"                \
                       "bar.warp.sync -1; ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r6];\n" STORE_4)
#define LOADED(form, registers)                                                                                        \
    KERNEL(LOAD_A4 ROW "st.shared.v4.b32 [%r6], {%r1, %r2, %r3, %r4}; mov.b32 %r22, 0; mov.b32 %r23, 0;\n"             \
                       "bar.warp.sync -1; ldmatrix.sync.aligned.m16n16." form ".trans.shared.b8 {" registers           \
                       "}, [%r6];\n" STORE_4)

/* stmatrix of bytes stores matrices of 16 rows and 8 columns. The layout of a fragment is the layout of C in a product.
 * Lane 8 k + n has the address of column n of matrix k. */
static void check_bytes_stored(const char *text, unsigned count)
{
    memset(rows, 0, sizeof rows);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned e = 0; e < 16; e++)
            rows[lane].w[e / 4] |= byte_at(e / 4, lane / 4 + e % 4 / 2 * 8, lane % 4 * 2 + e % 2) << e % 4 * 8;
    run_on(text, 100);
    for (unsigned lane = 0; lane < 8 * count; lane++)
        for (unsigned m = 0; m < 16; m++)
            CHECK((rows[lane].w[16 + m / 4] >> m % 4 * 8 & 255) == byte_at(lane / 8, m, lane % 8));
}

/* ldmatrix of 16 x 16 bytes gives a lane four consecutive rows of two columns, which are eight apart. */
static void check_bytes_loaded(const char *text, unsigned count)
{
    memset(rows, 0, sizeof rows);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned e = 0; e < 16; e++)
            rows[lane].w[e / 4] |= ((lane * 16 + e) & 255) << e % 4 * 8;
    run_on(text, 100);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned e = 0; e < 8 * count; e++) {
            const unsigned row = e / 8 * 16 + lane % 4 * 4 + e % 4, column = lane / 4 + e % 8 / 4 * 8;
            CHECK((rows[lane].w[16 + e / 4] >> e % 4 * 8 & 255) == ((row * 16 + column) & 255));
        }
}

static void byte_moves(void)
{
    check_bytes_stored(STORED("x1", "%r1"), 1);
    check_bytes_stored(STORED("x2", "%r1, %r2"), 2);
    check_bytes_stored(STORED("x4", "%r1, %r2, %r3, %r4"), 4);
    check_bytes_loaded(LOADED("x1", "%r20, %r21"), 1);
    check_bytes_loaded(LOADED("x2", "%r20, %r21, %r22, %r23"), 2);
}

/* Uses a generic address in place of a shared-memory address. A GPU uses its low 32 bits. */
static void generic_address(void)
{
    memset(rows, 0, sizeof rows);
    for (int lane = 0; lane < 32; lane++)
        for (int k = 0; k < 4; k++)
            rows[lane].w[k] = (uint32_t)(4 * lane + k);
    run(KERNEL(
        LOAD_A4
        "shl.b32 %r5, %r0, 4; mov.u32 %r6, sh; add.u32 %r6, %r6, %r5; st.shared.v4.b32 [%r6], {%r1, %r2, %r3, %r4};"
        "bar.warp.sync -1; cvt.u64.u32 %d2, %r6; cvta.shared.u64 %d3, %d2;"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%d3];"
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%d3+1024], {%r20, %r21, %r22, %r23}; bar.warp.sync -1;"
        "ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r6+1024];" STORE_4));
    for (int lane = 0; lane < 32; lane++)
        for (int k = 0; k < 4; k++)
            CHECK(rows[lane].w[16 + k] == (uint32_t)(4 * lane + k));
}

/* Tests wmma. Matrices are loaded, multiplied and stored by rows or by columns. The stored matrix must be the product,
 * for every type and shape. */
static void wmma(void)
{
    static const char *const shapes[] = {"m16n16k16", "m8n32k16", "m32n8k16"};
    static const int sizes[3][2] = {{16, 16}, {8, 32}, {32, 8}};
    for (int shape = 0; shape < 3; shape++)
        for (int layouts = 0; layouts < 4; layouts++) {
            int m = sizes[shape][0], n = sizes[shape][1];
            char text[4096];
            const char *a_layout = layouts & 1 ? "col" : "row", *b_layout = layouts & 2 ? "col" : "row";
            snprintf(
                text, sizeof text,
                HEAD
                ".visible .entry k (.param .u64 a) {\n.reg .b32 %%r<40>; .reg .f32 %%f<20>; .reg .b64 %%d<4>;\n"
                "ld.param.u64 %%d0, [a];\n"
                "wmma.load.a.sync.aligned.%s.%s.global.f16 {%%r0, %%r1, %%r2, %%r3, %%r4, %%r5, %%r6, %%r7}, [%%d0], %d;\n"
                "wmma.load.b.sync.aligned.%s.%s.global.f16 {%%r8, %%r9, %%r10, %%r11, %%r12, %%r13, %%r14, %%r15}, [%%d0+2048];\n"
                "wmma.load.c.sync.aligned.row.%s.global.f32 {%%f0, %%f1, %%f2, %%f3, %%f4, %%f5, %%f6, %%f7}, [%%d0+4096], %d;\n"
                "wmma.mma.sync.aligned.%s.%s.%s.f32.f32 {%%f8, %%f9, %%f10, %%f11, %%f12, %%f13, %%f14, %%f15}, "
                "{%%r0, %%r1, %%r2, %%r3, %%r4, %%r5, %%r6, %%r7}, {%%r8, %%r9, %%r10, %%r11, %%r12, %%r13, %%r14, %%r15}, "
                "{%%f0, %%f1, %%f2, %%f3, %%f4, %%f5, %%f6, %%f7};\n"
                "wmma.store.d.sync.aligned.col.%s.f32 [%%d0+8192], {%%f8, %%f9, %%f10, %%f11, %%f12, %%f13, %%f14, %%f15};\n"
                "ret;\n}\n",
                a_layout, shapes[shape], layouts & 1 ? m + 8 : 24, b_layout, shapes[shape], shapes[shape], n, a_layout,
                b_layout, shapes[shape], shapes[shape]);
            vm_bench bench = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
            unsigned char *host;
            uint64_t at = vm_bench_zeros(&bench, 16384, &host);
            fill(m, n, 16);
            for (int i = 0; i < m; i++)
                for (int k = 0; k < 16; k++) {
                    uint16_t x = (uint16_t)half_of(A[i][k]);
                    memcpy(host + 2 * (layouts & 1 ? k * (m + 8) + i : i * 24 + k), &x, 2);
                }
            for (int k = 0; k < 16; k++)
                for (int j = 0; j < n; j++) {
                    uint16_t x = (uint16_t)half_of(B[k][j]);
                    memcpy(host + 2048 + 2 * (layouts & 2 ? j * 16 + k : k * n + j), &x, 2);
                }
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) {
                    float x = (float)C[i][j];
                    memcpy(host + 4096 + 4 * (i * n + j), &x, 4);
                }
            vm_bench_run(&bench, "k", 1, 32, &at);
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) {
                    float x;
                    memcpy(&x, host + 8192 + 4 * (j * m + i), 4);
                    CHECK(x == (float)D[i][j]);
                }
            vm_bench_end(&bench);
        }
}

/* If a fragment is only partly inside an allocation, the fault names the first element outside. An unaligned fragment
 * is also a fault. */
static void wmma_faults(void)
{
#define C_LIST "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}"
    static const struct {
        const char *text;
        vm_fault_kind kind;
        uint32_t lane;
        uint64_t offset;
    } cases[] = {
        /* rows of 96 bytes in 1024 bytes: row 10 ends before the end, and row 11 begins after it */
        {KERNEL("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " C_LIST ", [%d0], 24;\n"), VM_FAULT_ADDRESS, 12,
         1056},
        {KERNEL("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%d0], " C_LIST ", 24;\n"), VM_FAULT_ADDRESS, 12, 1056},
        {KERNEL("wmma.load.c.sync.aligned.col.m16n16k16.global.f32 " C_LIST ", [%d0+2], 16;\n"), VM_FAULT_MISALIGNED, 0,
         2},
        {KERNEL("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " C_LIST ", [%d0], 0x7fffffff;\n"), VM_FAULT_ADDRESS,
         4, 0x1fffffffcull},
        /* 4096 bytes of shared memory after the system's part, with rows of 512 bytes */
        {KERNEL("mov.u64 %d2, sh; cvta.shared.u64 %d2, %d2; sub.u64 %d3, %d2, %d0;\n"
                "wmma.load.c.sync.aligned.row.m16n16k16.f32 " C_LIST ", [%d2], 128;\n"),
         VM_FAULT_ADDRESS, 0, 0},
    };
    for (size_t k = 0; k < KILN__COUNT(cases); k++) {
        vm_bench b = vm_bench_text(cases[k].text, strlen(cases[k].text), (vm_limits){.threads = 1});
        void *host;
        uint64_t a = vm_bench_zeros(&b, 1000, &host);
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 32, &a, 0), cases[k].kind);
        CU_ASSERT_EQUAL(b.fault.thread[0], cases[k].lane);
        if (cases[k].offset) {
            CU_ASSERT_EQUAL(b.fault.address - a, cases[k].offset);
        } else {
            CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, "the block has 4096 bytes of shared memory"));
        }
        vm_bench_end(&b);
    }
    /* A fragment that is completely in shared memory can be loaded and stored by any kind of address. */
    static const char moved[] = KERNEL(
        "mov.u64 %d2, sh; cvta.shared.u64 %d3, %d2;\n"
        "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " C_LIST ", [%d0], 20;\n"
        "wmma.store.d.sync.aligned.col.m16n16k16.shared.f32 [%d2+64], " C_LIST ", 28;\n"
        "wmma.load.c.sync.aligned.col.m16n16k16.f32 {%f8, %f9, %f10, %f11, %f12, %f13, %f14, %f15}, [%d3+64], 28;\n"
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d0+2048], {%f8, %f9, %f10, %f11, %f12, %f13, %f14, %f15};\n"
        "wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r1, %r2}, [%d0+2048], 64;\n"
        "mad.wide.u32 %d4, %r0, 8, %d0; st.global.v2.b32 [%d4+3584], {%r1, %r2};\n");
    vm_bench b = vm_bench_text(moved, sizeof moved - 1, (vm_limits){.threads = 1});
    float *host;
    uint64_t a = vm_bench_zeros(&b, 4096, &host);
    for (int k = 0; k < 512; k++)
        host[k] = (float)(k * k);
    vm_bench_run(&b, "k", 1, 32, &a);
    for (int k = 0; k < 256; k++)
        CU_ASSERT_EQUAL(host[512 + k], host[k / 16 * 20 + k % 16]);
    for (int lane = 0; lane < 32; lane++) /* the first 16 bytes of a row of 64 bytes, four at a time */
        for (int r = 0; r < 2; r++)
            CU_ASSERT_EQUAL(memcmp((char *)host + 3584 + lane * 8 + r * 4,
                                   (char *)host + 2048 + (lane / 4 + 8 * r) * 64 + lane % 4 * 4, 4),
                            0);
    vm_bench_end(&b);
#undef C_LIST
}

static const check_case cases[] = {
    {"wmma faults", wmma_faults},
    {"halves m16n8k16", halves_m16n8k16},
    {"tf32 m16n8k8", tf32_m16n8k8},
    {"bytes m16n8k32", bytes_m16n8k32},
    {"bits, nibbles", bits_and_nibbles},
    {"doubles m8n8k4", doubles_m8n8k4},
    {"quads m8n8k4", quads_m8n8k4},
    {"rounding", rounding},
    {"overflow between steps", overflow_between_steps},
    {"sparse", sparse},
    {"moves", moves},
    {"moves of bytes", byte_moves},
    {"a generic address", generic_address},
    {"wmma", wmma},
};
KILN_SUITE("vm matrix", cases)
