/* Tests instructions that exchange values between lanes or access memory, in forms that compilers seldom use. Requests
 * of a kernel that no device could satisfy must be faults. */
#include "vm_check.h"
#include "vm_limit.h"
#include "vm_machine.h"

#define HEAD ".version 9.0\n.target sm_100\n.address_size 64\n"
#define KERNEL(name)                                                                                                   \
    ".visible .entry " name " (.param .u64 a, .param .u64 b) {\n"                                                      \
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<24>; .reg .f32 %f<8>; .reg .b64 %d<12>; .reg .b128 %q<4>;\n"      \
    "ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; mov.u32 %r0, %tid.x; mad.wide.u32 %d2, %r0, 64, %d0;\n"

typedef struct lane_row {
    uint32_t w[16];
} lane_row; /* 64 bytes per lane */
static lane_row *in;
static uint32_t *out;

/* Runs one block of `threads` threads. Its parameter a points to one row for each thread, and b to 4 KiB of zeros. */
static vm_bench run(const char *text, const lane_row *rows, uint32_t threads)
{
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    struct {
        uint64_t a, b;
    } p = {vm_bench_zeros(&b, 1024 * sizeof *in, &in), vm_bench_zeros(&b, 4096, &out)};
    if (rows)
        memcpy(in, rows, threads * sizeof *rows);
    vm_bench_run(&b, "k", 1, threads, &p);
    return b;
}

static void reductions(void)
{
    /* An operation must use only the lanes of its mask. The masks of even and odd lanes differ, and lane 31 takes no
     * part. */
    // clang-format off
    static const char text[] = HEAD KERNEL("k")
        "ld.global.u32 %r1, [%d2]; and.b32 %r2, %r0, 1; setp.ne.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r0, 31;\n"
        "@%p2 bra E;\n selp.b32 %r3, 0x2aaaaaaa, 0x55555555, %p1;\n"
        "redux.sync.add.u32 %r4, %r1, %r3; redux.sync.min.u32 %r5, %r1, %r3; redux.sync.max.u32 %r6, %r1, %r3;\n"
        "redux.sync.add.s32 %r7, %r1, %r3; redux.sync.min.s32 %r8, %r1, %r3; redux.sync.max.s32 %r9, %r1, %r3;\n"
        "redux.sync.and.b32 %r10, %r1, %r3; redux.sync.or.b32 %r11, %r1, %r3; redux.sync.xor.b32 %r12, %r1, %r3;\n"
        "st.global.v4.u32 [%d2], {%r4, %r5, %r6, %r7}; st.global.v4.u32 [%d2+16], {%r8, %r9, %r10, %r11};\n"
        "match.any.sync.b32 %r13, %r2, %r3; match.all.sync.b32 %r14|%p3, %r2, %r3; selp.b32 %r15, 1, 0, %p3;\n"
        "elect.sync %r16|%p4, %r3; selp.b32 %r17, 1, 0, %p4; elect.sync _|%p4, %r3; vote.sync.any.pred %p5, %p4, %r3;\n"
        "selp.b32 %r18, 1, 0, %p5; elect.sync %r19|_, %r3; activemask.b32 %r20;\n"
        "st.global.v4.u32 [%d2+32], {%r12, %r13, %r14, %r15}; st.global.v4.u32 [%d2+48], {%r16, %r17, %r18, %r20};\n"
        "E: ret;\n}\n";
    // clang-format on
    lane_row rows[32] = {0};
    for (uint32_t k = 0; k < 32; k++)
        rows[k].w[0] = k * 0x9e3779b9u ^ (k % 5 ? 0 : 0x80000000u);
    vm_bench b = run(text, rows, 32);
    for (uint32_t k = 0; k < 31; k++) {
        uint32_t sum = 0, low = UINT32_MAX, high = 0, all = UINT32_MAX, any = 0, odd = 0,
                 group = k & 1 ? 0x2aaaaaaa : 0x55555555;
        int32_t slow = INT32_MAX, shigh = INT32_MIN;
        for (uint32_t j = k & 1; j < 31; j += 2) {
            uint32_t x = rows[j].w[0];
            sum += x, low = x < low ? x : low, high = x > high ? x : high, all &= x, any |= x, odd ^= x;
            slow = (int32_t)x < slow ? (int32_t)x : slow, shigh = (int32_t)x > shigh ? (int32_t)x : shigh;
        }
        uint32_t want[] = {sum, low,   high,  sum, (uint32_t)slow, (uint32_t)shigh, all, any,
                           odd, group, group, 1,   k & 1,          k == (k & 1),    1};
        CU_ASSERT_EQUAL(memcmp(in[k].w, want, sizeof want), 0);
        CU_ASSERT_EQUAL(in[k].w[15], 0x7fffffff); /* the mask of all lanes that run this instruction together */
    }
    CU_ASSERT_EQUAL(in[31].w[0], rows[31].w[0]);
    vm_bench_end(&b);
}

static void copies(void)
{
    /* Tests cp.async. Bytes beyond the source size must be zero. After a wait for a group, its bytes must have
     * arrived. */
    // clang-format off
    static const char text[] = HEAD ".shared .align 16 .b8 s[2048];\n" KERNEL("k")
        "mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 64, %r1; and.b32 %r2, %r0, 15; setp.gt.u32 %p1, %r0, 7;\n"
        "cp.async.cg.shared.global [%r1], [%d2], 16; cp.async.ca.shared.global [%r1+16], [%d2], 16, %r2;\n"
        "cp.async.ca.shared.global [%r1+32], [%d2], 8, %p1; cp.async.ca.shared.global [%r1+40], [%d2+4], 4;\n"
        "cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;\n"
        "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1+16]; st.global.v4.u32 [%d2+16], {%r4, %r5, %r6, %r7};\n"
        "ld.shared.v2.u32 {%r4, %r5}, [%r1+32]; ld.shared.u32 %r6, [%r1+40]; ld.shared.u32 %r7, [%r1+12];\n"
        "st.global.v4.u32 [%d2+32], {%r4, %r5, %r6, %r7}; ret;\n}\n";
    // clang-format on
    lane_row rows[16];
    for (uint32_t k = 0; k < 16; k++)
        for (uint32_t n = 0; n < 16; n++)
            rows[k].w[n] = 0x01010101u * (k * 16 + n + 1);
    vm_bench b = run(text, rows, 16);
    for (uint32_t k = 0; k < 16; k++) {
        unsigned char want[16] = {0};
        memcpy(want, rows[k].w, k);
        CU_ASSERT_EQUAL(memcmp(in[k].w + 4, want, 16), 0);
        uint32_t rest[] = {k > 7 ? 0 : rows[k].w[0], k > 7 ? 0 : rows[k].w[1], rows[k].w[1], rows[k].w[3]};
        CU_ASSERT_EQUAL(memcmp(in[k].w + 8, rest, 16), 0);
    }
    vm_bench_end(&b);
}

/* Lanes update one word in turn. Each lane gets the value that the previous lane has written. Lane 11 does not take
 * part. */
static void atomics_in_runs(void)
{
    static const char text[] = HEAD KERNEL(
        "k") "shr.u32 %r1, %r0, 3; mul.wide.u32 %d3, %r1, 8; add.u64 %d3, %d3, %d1; setp.ne.u32 %p1, %r0, 11;\n"
             "@%p1 atom.global.add.u32 %r2, [%d3], %r0; @%p1 st.global.u32 [%d2], %r2;\n"
             "@%p1 atom.global.max.u32 %r2, [%d3+4], %r0; @%p1 st.global.u32 [%d2+4], %r2;\nret;\n}\n";
    lane_row rows[32] = {0};
    vm_bench b = run(text, rows, 32);
    uint32_t sum[4] = {0}, most[4] = {0};
    for (uint32_t k = 0; k < 32; k++) {
        if (k == 11)
            continue;
        CU_ASSERT(in[k].w[0] == sum[k / 8] && in[k].w[1] == most[k / 8]);
        sum[k / 8] += k, most[k / 8] = k;
    }
    for (uint32_t g = 0; g < 4; g++)
        CU_ASSERT(out[2 * g] == sum[g] && out[2 * g + 1] == most[g]);
    vm_bench_end(&b);
}

static void atomics(void)
{
    /* Atomic additions of vectors add each element. An exchange of 128 bits is one operation. A load may overwrite the
     * register of its own address. */
    // clang-format off
    static const char text[] = HEAD KERNEL("k")
        "ld.global.v2.f32 {%f1, %f2}, [%d2]; red.global.add.v2.f32 [%d1], {%f1, %f2};\n"
        "atom.global.add.v2.f32 {_, %f3}, [%d1+8], {%f1, %f2};\n"
        "ld.global.u32 %r1, [%d2+8]; red.global.v2.f16x2.add.noftz [%d1+16], {%r1, %r1};\n"
        "red.global.add.noftz.bf16x2 [%d1+24], %r1; red.global.inc.u32 [%d1+28], 4; red.global.dec.u32 [%d1+32], 2;\n"
        "red.global.min.s32 [%d1+36], %r1; red.global.xor.b32 [%d1+40], %r0; atom.global.cas.b16 %h1, [%d1+44], 0, 7;\n"
        "mov.b128 %q1, {%d0, %d2}; atom.global.exch.b128 %q2, [%d1+48], %q1; mov.b128 {%d3, %d4}, %q2;\n"
        "atom.global.cas.b128 %q3, [%d1+64], %q0, %q1; st.global.b128 [%d2+16], %q3; st.global.v2.u64 [%d2+48], {%d3, %d4};\n"
        "mov.b64 %d5, %d1; ld.global.v2.u64 {%d6, %d5}, [%d5+48]; ld.global.b128 %q2, [%d1+48]; mov.b128 {%d7, %d8}, %q2;\n"
        "setp.eq.u64 %p1, %d7, %d6; setp.eq.and.u64 %p1, %d8, %d5, %p1; selp.b32 %r2, 1, 0, %p1; st.global.u32 [%d2+32], %r2;\n"
        "ret;\n}\n";
    // clang-format on
    lane_row rows[32] = {0};
    for (uint32_t k = 0; k < 32; k++) {
        float x[2] = {(float)k, 0.5f};
        memcpy(rows[k].w, x, 8);
        rows[k].w[2] = 0x3c003c00; /* as f16 both halves are 1.0, and as bf16 they are 2^-7 */
    }
    vm_bench b = run(text, rows, 32);
    float sums[4];
    memcpy(sums, out, sizeof sums);
    CU_ASSERT(sums[0] == 496 && sums[1] == 16 && sums[2] == 496 && sums[3] == 16);
    CU_ASSERT(out[4] == 0x50005000 && out[5] == 0x50005000); /* 32.0 */
    CU_ASSERT_EQUAL(out[6], 0x3e803e80);                     /* 0.25 */
    /* the result of 32 steps in the sequence 0 1 2 3 4 0 ... */
    CU_ASSERT_EQUAL(out[7], 2);
    CU_ASSERT_EQUAL(out[8], 1); /* the result of 32 steps in the sequence 0 2 1 0 2 ... */
    CU_ASSERT(out[9] == 0 && out[10] == 0 && (out[11] & 0xffff) == 7);
    uint64_t words[4], row = 0, first = 0, before[2];
    memcpy(words, out + 12, 32);
    memcpy(&first, in[0].w + 12, 8);
    CU_ASSERT_EQUAL(first, 0);         /* lane 0 finds zeros */
    memcpy(before, in[31].w + 12, 16); /* lane 31 finds the value that lane 30 left */
    memcpy(&row, in[31].w + 4, 8);
    CU_ASSERT(before[1] + 64 == words[1] && before[0] == words[0]);
    CU_ASSERT(words[2] == words[0] && words[3] == words[1] - 31 * 64 && row == words[0]); /* lane 0 swapped first */
    for (uint32_t k = 0; k < 32; k++)
        CU_ASSERT_EQUAL(in[k].w[8], 1);
    vm_bench_end(&b);
}

static void flushing(void)
{
    /* Atomic additions in single precision flush subnormal numbers in global memory. They do not flush them in shared
     * memory, whatever kind of address they use. Additions in half precision never flush them. */
    // clang-format off
    static const char text[] = HEAD ".shared .align 16 .b8 s[64];\n" KERNEL("k")
        "mov.b32 %f1, 0x00000003; mov.u32 %r1, 0; st.shared.u32 [s], %r1; st.shared.u32 [s+4], %r1; mov.b16 %h1, 3;\n"
        "cvta.shared.u64 %d3, s; cvta.global.u64 %d4, %d1; red.global.add.f32 [%d1], %f1; red.add.f32 [%d4+4], %f1;\n"
        "red.shared.add.f32 [s], %f1; red.add.f32 [%d3+4], %f1; red.global.add.noftz.f16 [%d1+8], %h1;\n"
        "red.global.add.noftz.bf16 [%d1+12], %h1; ld.shared.v2.u32 {%r2, %r3}, [s]; st.global.v2.u32 [%d1+16], {%r2, %r3};\n"
        "ret;\n}\n";
    // clang-format on
    vm_bench b = run(text, NULL, 1);
    uint32_t want[] = {0, 0, 3, 3, 3, 3};
    CU_ASSERT_EQUAL(memcmp(out, want, sizeof want), 0);
    vm_bench_end(&b);
}

static void stacks(void)
{
    /* alloca gives each thread separate bytes, aligned, until the stack is restored. The address of a parameter points
     * to a copy on the stack. Accesses by name and by pointer use the same copy. */
    // clang-format off
    static const char text[] = HEAD
        ".func (.param .b32 r) f (.param .b32 x, .param .align 8 .b8 y[16]) {\n .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
        "mov.b64 %d0, y; ld.local.u32 %r1, [%d0+8]; add.u32 %r1, %r1, 100; st.local.u32 [%d0+12], %r1;\n"
        "ld.param.u32 %r2, [y+12]; ld.param.u32 %r3, [x]; cvta.local.u64 %d1, %d0; ld.u32 %r4, [%d1];\n"
        "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; st.param.u32 [r], %r2; ret;\n}\n"
        KERNEL("k")
        "stacksave.u64 %d3; alloca.u64 %d4, 40, 64; alloca.u64 %d5, 8; st.local.u32 [%d4+32], %r0; st.local.u32 [%d5], 9;\n"
        "ld.local.u32 %r1, [%d4+32]; stackrestore.u64 %d3; alloca.u64 %d6, 40, 64; sub.u64 %d7, %d6, %d4; and.b64 %d8, %d4, 63;\n"
        "or.b64 %d7, %d7, %d8; cvt.u32.u64 %r2, %d7; { .param .b32 x; .param .align 8 .b8 y[16]; .param .b32 z;\n"
        "st.param.b32 [x], %r0; st.param.b32 [y], 1000; st.param.b32 [y+8], %r1; call (z), f, (x, y); ld.param.b32 %r3, [z]; }\n"
        "nanosleep.u32 20; st.global.v2.u32 [%d2], {%r1, %r2}; st.global.u32 [%d2+8], %r3; ret;\n}\n";
    // clang-format on
    vm_bench b = run(text, NULL, 64);
    for (uint32_t k = 0; k < 64; k++)
        CU_ASSERT(in[k].w[0] == k && in[k].w[1] == 0 && in[k].w[2] == k + 100 + k + 1000);
    vm_bench_end(&b);
}

/* Each block begins with an empty stack, even if it uses the memory of an earlier block. */
static void stack_of_each_block(void)
{
    enum { BLOCKS = 64 };
    static const char text[] = HEAD KERNEL("k") "mov.u32 %r1, %ctaid.x; mad.wide.u32 %d2, %r1, 4, %d0; "
                                                "alloca.u64 %d3, 8192; cvt.u32.u64 %r2, %d3; "
                                                "st.global.u32 [%d2], %r2; ret; }\n";
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    const uint64_t params[2] = {vm_bench_zeros(&b, BLOCKS * sizeof *out, &out), 0};
    vm_bench_run(&b, "k", BLOCKS, 32, params);
    CU_ASSERT_EQUAL(b.counters.blocks, BLOCKS);
    for (uint32_t k = 1; k < BLOCKS; k++)
        CU_ASSERT_EQUAL(out[k], out[0]);
    vm_bench_end(&b);
}

/* A host thread tests for a stop and for the deadline after a number of instructions. The warp that has reached this
 * number may have ended. The launch must then end in the next block. Here the first warp of each block runs fewer
 * instructions than this number, and both warps together run more. */
static void end_between_blocks(void)
{
    enum { BLOCKS = 200 };
    /* the sixth block asks the launch to stop */
    static const char text[] = HEAD KERNEL("k") "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 7000; "
                                                "@%p1 bra L; mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 5; "
                                                "@%p1 bra E; st.global.u32 [%d1], 1; E: ret; }\n";
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    volatile int *stop;
    const uint64_t params[2] = {0, vm_bench_zeros(&b, 64, &stop)};
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "k"),
                        .grid = {BLOCKS, 1, 1},
                        .block = {64, 1, 1},
                        .params = params,
                        .stop = stop};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, &b.counters, &b.fault), VM_FAULT_STOPPED);
    CU_ASSERT(b.counters.blocks < 16);
    vm_bench_end(&b);
}

static void branches(void)
{
    /* Tests a brx.idx whose targets are all the reconvergence point, and a call under a predicate. Also
     * tests a setp with the results p and q, whose input predicate is q. */
    // clang-format off
    static const char text[] = HEAD ".func f () { ret; }\n" KERNEL("k")
        "T: .branchtargets M, M, M;\n rem.u32 %r1, %r0, 3; setp.lt.u32 %p1, %r0, 9; brx.idx %r1, T;\n M: @%p1 call f;\n"
        "mov.b16 %h1, 0x3c00; setp.eq.f16 %p2|%p3, %h1, %h1; setp.eq.and.f16 %p4|%p3, %h1, %h1, %p2;\n"
        "mov.pred %p5, %p2; setp.ne.and.f16 %p4|%p5, %h1, %h1, %p5; selp.b32 %r2, 1, 0, %p4; selp.b32 %r3, 1, 0, %p5;\n"
        "activemask.b32 %r4; st.global.v2.u32 [%d2], {%r2, %r3}; st.global.u32 [%d2+8], %r4; ret;\n}\n";
    // clang-format on
    vm_bench b = run(text, NULL, 32);
    for (uint32_t k = 0; k < 32; k++)
        CU_ASSERT(in[k].w[0] == 0 && in[k].w[1] == 1 && in[k].w[2] == UINT32_MAX);
    vm_bench_end(&b);
}

static void heap(void)
{
    /* Freed memory can be allocated again while the kernel runs. */
    // clang-format off
    static const char text[] = HEAD ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
        ".extern .func free (.param .b64 p);\n" KERNEL("k")
        "mov.u32 %r1, 0;\nL: { .param .b64 x; .param .b64 y; st.param.b64 [x], 1000000; call (y), malloc, (x);\n"
        "ld.param.b64 %d3, [y]; st.global.u32 [%d3+64], %r1; st.param.b64 [x], %d3; call free, (x); }\n"
        "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 50; @%p1 bra L; st.global.u32 [%d2], %r1; ret;\n}\n";
    // clang-format on
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1, .memory = 8 << 20});
    struct {
        uint64_t a, b;
    } p = {vm_bench_zeros(&b, 2 * sizeof *in, &in), 0};
    vm_bench_run(&b, "k", 1, 2, &p);
    CU_ASSERT_EQUAL(in[1].w[0], 50);
    vm_bench_end(&b);
    /* Runs the kernel with several host threads. Each thread may still have cached memory that another thread frees. */
    b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 3, .memory = 1 << 30});
    p.a = vm_bench_zeros(&b, 2 * sizeof *in, &in);
    uint64_t used = vm_memory_used(b.device);
    vm_bench_run(&b, "k", 4, 2, &p);
    CU_ASSERT_EQUAL(in[1].w[0], 50);
    CU_ASSERT_EQUAL(vm_memory_used(b.device), used);
    vm_bench_end(&b);
}

/* A kernel frees memory of the host. */
static void free_of_the_hosts_memory(void)
{
    // clang-format off
    static const char text[] = HEAD ".extern .func free (.param .b64 p);\n" KERNEL("k")
        "{ .param .b64 x; st.param.b64 [x], %d1; call free, (x); } ret;\n}\n";
    // clang-format on
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    volatile int *memory;
    const uint64_t params[2] = {0, vm_bench_zeros(&b, 64, &memory)};
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "k"),
                        .grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .params = params};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, &b.counters, &b.fault), VM_FAULT_ADDRESS);
    CU_ASSERT_PTR_NOT_NULL(strstr(b.fault.message, ", which no kernel has allocated"));
    vm_bench_end(&b);
}

/* A kernel frees its oldest allocations first, each of which is at the beginning of the device's list. If the launch is
 * asked to stop, it must end after few of these calls. */
static void many_frees(void)
{
    // clang-format off
    static const char text[] = HEAD ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
        ".extern .func free (.param .b64 p);\n" KERNEL("k")
        ".reg .b64 %n, %f, %l; .reg .b32 %c; .param .b64 x; .param .b64 y;\n"
        "mov.u32 %c, 0; mov.u64 %f, 0; mov.u64 %l, %d1;\n"
        "A: st.param.b64 [x], 16; call (y), malloc, (x); ld.param.b64 %n, [y]; mov.u64 %f, 0; st.global.u64 [%n], %f;\n"
        "st.global.u64 [%l], %n; mov.u64 %l, %n; add.u32 %c, %c, 1; setp.lt.u32 %p1, %c, 20000; @%p1 bra A;\n"
        "ld.global.u64 %f, [%d1]; st.global.u32 [%d1+8], 1; mov.u32 %c, 0;\n"
        "F: ld.global.u64 %n, [%f]; st.param.b64 [x], %f; call free, (x); add.u32 %c, %c, 1; st.global.u32 [%d1+12], %c;\n"
        "mov.u64 %f, %n; setp.ne.u64 %p1, %f, 0; @%p1 bra F; ret;\n}\n";
    // clang-format on
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1});
    volatile int *memory;
    const uint64_t params[2] = {0, vm_bench_zeros(&b, 64, &memory)};
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "k"),
                        .grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .params = params,
                        .stop = memory + 2};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, &b.counters, &b.fault), VM_FAULT_STOPPED);
    CU_ASSERT(memory[3] < 1000);
    vm_bench_end(&b);
}

/* malloc() uses only the heap, however much memory the device has. It returns NULL when the heap is full. */
static void heap_is_full(void)
{
    // clang-format off
    static const char text[] = HEAD ".extern .func (.param .b64 r) malloc (.param .b64 n);\n" KERNEL("k")
        "mov.u32 %r1, 0;\nL: { .param .b64 x; .param .b64 y; st.param.b64 [x], 1000000; call (y), malloc, (x);\n"
        "ld.param.b64 %d3, [y]; }\n"
        "setp.eq.u64 %p1, %d3, 0; @%p1 bra E; add.u32 %r1, %r1, 1; bra L;\nE: st.global.u32 [%d2], %r1; ret;\n}\n";
    // clang-format on
    static const size_t larger[VM_LIMITS] = {1024, 1 << 20, 20 << 20, 2, 2048};
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 1, .memory = 1 << 30});
    struct {
        uint64_t a, b;
    } p = {vm_bench_zeros(&b, 2 * sizeof *in, &in), 0};
    CHECK(!vm_heap_used(b.device));
    vm_bench_run(&b, "k", 1, 1, &p);
    CU_ASSERT_EQUAL(in[0].w[0], 8); /* eight allocations of 1 MiB fit into 8 MiB */
    CHECK(vm_heap_used(b.device));
    vm_launch launch = {.module = b.module,
                        .kernel = vm_module_kernel(b.module, "k"),
                        .grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .params = &p,
                        .limits = larger};
    CU_ASSERT_EQUAL(vm_run(b.device, &launch, NULL, &b.fault), VM_OK);
    CU_ASSERT_EQUAL(in[0].w[0], 20 - 8); /* 20 allocations fit, and 8 earlier ones were not freed */
    vm_bench_end(&b);
}

/* Tests limits on the local memory of all threads. If the limit is too small for several blocks, the blocks run one
 * after the other. If it is too small for one block, the launch fails with a message. */
static void local_is_bounded(void)
{
    // clang-format off
    static const char text[] = HEAD KERNEL("k") ".local .align 4 .b8 l[500000];\n"
        "st.local.u32 [l+499996], %r0; atom.global.add.u32 %r1, [%d2], 1; ret;\n}\n";
    // clang-format on
    enum { BLOCKS = 6, WIDE = 96 };
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.threads = 4, .memory = 1 << 30});
    struct {
        uint64_t a, b;
    } p = {vm_bench_zeros(&b, WIDE * sizeof *in, &in), 0};
    vm_family family = {.held = 0};
    vm_limit_init(&family, b.device, &(vm_launch){.grid = {1, 1, 1}});
    CU_ASSERT_EQUAL(family.hold_most, (uint64_t)1 << 30);
    CHECK(vm_hold(&family, (uint64_t)1 << 30) && !vm_hold(&family, 1));
    vm_let_go(&family, (uint64_t)1 << 30);
    CHECK(vm_hold(&family, 1));
    vm_bench_run(&b, "k", BLOCKS, WIDE, &p); /* 48 MB per block */
    for (unsigned k = 0; k < WIDE; k++)
        CU_ASSERT_EQUAL(in[k].w[0], BLOCKS);
    vm_bench_end(&b);
}

static void too_much(void)
{
    static const struct {
        const char *name, *text;
        vm_fault_kind kind;
        uint32_t blocks;
    } limits[] = {
        {"endless grid", HEAD KERNEL("k") "}\n", VM_FAULT_STEPS, UINT32_MAX},
        // clang-format off
        {"frames", HEAD ".func f (.param .b8 x[400000]) { .param .b8 y[400000]; call f, (y); ret; }\n"
         KERNEL("k") "{ .param .b8 y[400000]; call f, (y); } ret; }\n", VM_FAULT_STACK, 1},
        // clang-format on
        {"alloca", HEAD KERNEL("k") "L: alloca.u64 %d3, 4096; bra L; }\n", VM_FAULT_STACK, 1},
        {"garbage call", HEAD KERNEL("k") "P: .callprototype _ (); call %d1, P; ret; }\n", VM_FAULT_INSTRUCTION, 1},
        {"brx", HEAD KERNEL("k") "T: .branchtargets L; add.u32 %r1, %r0, 1; brx.idx %r1, T; L: ret; }\n",
         VM_FAULT_INSTRUCTION, 1},
        {"bar", HEAD KERNEL("k") "add.u32 %r1, %r0, 16; bar.sync %r1; ret; }\n", VM_FAULT_INSTRUCTION, 1},
        {"bar count", HEAD KERNEL("k") "bar.sync 1, 33; ret; }\n", VM_FAULT_INSTRUCTION, 1},
        {"last byte", HEAD KERNEL("k") "mov.b64 %d3, -1; ld.global.u8 %r1, [%d3]; ret; }\n", VM_FAULT_ADDRESS, 1},
    };
    for (size_t k = 0; k < KILN__COUNT(limits); k++) {
        vm_bench b = vm_bench_text(limits[k].text, strlen(limits[k].text),
                                   (vm_limits){.threads = 1, .step_budget = 20000});
        uint64_t params[2] = {0, 0};
        vm_fault_kind kind = vm_bench_try(&b, "k", limits[k].blocks, 32, params, 0);
        if (kind != limits[k].kind)
            fprintf(stderr, "%s: %d %s\n", limits[k].name, kind, b.fault.message);
        CU_ASSERT_EQUAL(kind, limits[k].kind);
        vm_bench_end(&b);
    }
}

/* Host threads reserve some steps in advance. A launch may still use the whole budget. It may exceed the budget by at
 * most the last turn of each thread. */
static void whole_budget(void)
{
    enum { BLOCKS = 350, THREADS = 3, TURN = 32768 };
    /* Under a sanitizer, a tenth of the blocks is enough to run both ways in which threads share a budget. In the first
     * run a thread keeps up to VM_KEEP steps. In the other two runs it takes each step from the budget at once. */
    const unsigned blocks = CHECK_SANITIZER[0] ? BLOCKS / 10 : BLOCKS;
    const char *text = HEAD KERNEL("k") "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 32768; "
                                        "@%p1 bra L; ret; }\n";
    uint64_t params[2] = {0, 0}, steps = 0;
    for (unsigned k = 0; k < 3; k++) {
        vm_bench b =
            vm_bench_text(text, strlen(text),
                          (vm_limits){.threads = THREADS,
                                      .step_budget = k ? steps - (k - 1) * (THREADS + 1) * TURN : (uint64_t)1 << 40});
        CU_ASSERT_EQUAL(vm_bench_try(&b, "k", blocks, 32, params, 0), k < 2 ? VM_OK : VM_FAULT_STEPS);
        if (k == 0)
            steps = b.counters.warp_instructions + blocks; /* the start of a block counts as a step */
        CU_ASSERT(CHECK_SANITIZER[0] || steps > (uint64_t)VM_KEEP * VM_RUNNERS_MOST);
        vm_bench_end(&b);
    }
}

/* Tests a chain of calls as long as the text, which must be analysed without recursion. */
static void long_chain(void)
{
    enum { FUNCTIONS = 20000 };
    kiln__text text = {0};
    kiln__text_puts(&text, HEAD ".func f0 () { ret; }\n");
    for (unsigned k = 1; k < FUNCTIONS; k++)
        kiln__text_printf(&text, ".func f%u () { call f%u; ret; }\n", k, k - 1);
    kiln__text_puts(&text, KERNEL("k"));
    kiln__text_printf(&text, "call f%u; ret; }\n", FUNCTIONS - 1);
    vm_bench b = vm_bench_text(text.data, text.length, (vm_limits){.threads = 1});
    kiln__text_free(&text);
    uint64_t params[2] = {0, 0};
    CU_ASSERT_EQUAL(vm_bench_try(&b, "k", 1, 32, params, 0), VM_FAULT_STACK);
    vm_bench_end(&b);
}

static const check_case cases[] = {
    {"reductions and groups", reductions},
    {"asynchronous copies", copies},
    {"atomics and 128 bits", atomics},
    {"atomics in runs", atomics_in_runs},
    {"flushing", flushing},
    {"stack and parameters", stacks},
    {"stack of each block", stack_of_each_block},
    {"end between blocks", end_between_blocks},
    {"branches", branches},
    {"heap", heap},
    {"many frees", many_frees},
    {"free of memory of the host", free_of_the_hosts_memory},
    {"heap is full", heap_is_full},
    {"local memory is bounded", local_is_bounded},
    {"too much", too_much},
    {"whole budget", whole_budget},
    {"long chain", long_chain},
};
KILN_SUITE("vm warp", cases)
