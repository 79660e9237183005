/* Tests mbarriers, bulk copies and a cluster of one block: behaviour on which a program may rely, and uses that must
 * fault. */
#include "vm_check.h"

#define KERNEL(...)                                                                                                    \
    ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k (.param .u64 a) {\n"                           \
    ".reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %d<24>;\n.shared .align 128 .b8 sh[4096];\n"                        \
    "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 64, %d0; mov.u32 %r1, sh;\n"                   \
    "setp.eq.u32 %p0, %r0, 0;\n" __VA_ARGS__ "\nret;\n}\n"

static uint32_t rows[128][16];
static vm_fault_kind try(const char *text, uint32_t threads)
{
    vm_limits limits = {.threads = 1, .step_budget = 1 << 20};
    vm_bench b = vm_bench_text(text, strlen(text), limits);
    void *host;
    uint64_t a = vm_bench_zeros(&b, sizeof rows, &host);
    memcpy(host, rows, sizeof rows);
    vm_fault_kind kind = vm_bench_try(&b, "k", 1, threads, &a, 0);
    memcpy(rows, host, sizeof rows);
    vm_bench_end(&b);
    return kind;
}

static void counts(void)
{
    /* The mbarrier expects two arrivals. 2 are pending before the first arrival, 1 before the second, and 2 again in
     * the next phase. The phase of a state is complete when the parity has changed. */
    memset(rows, 0, sizeof rows);
    CU_ASSERT_EQUAL(
        try(KERNEL(
                "mbarrier.init.shared.b64 [%r1], 2; mbarrier.arrive.shared.b64 %d2, [%r1]; mbarrier.test_wait.shared.b64 %p1, [%r1], %d2;\n"
                "mbarrier.arrive.shared::cta.b64 %d3, [%r1]; mbarrier.test_wait.shared.b64 %p2, [%r1], %d2;\n"
                "mbarrier.test_wait.parity.shared.b64 %p3, [%r1], 0; mbarrier.test_wait.parity.shared.b64 %p4, [%r1], 1;\n"
                "mbarrier.arrive_drop.shared.b64 %d4, [%r1]; mbarrier.arrive.shared.b64 %d5, [%r1]; mbarrier.arrive.shared.b64 %d6, [%r1];\n"
                "mbarrier.pending_count.b64 %r2, %d2; mbarrier.pending_count.b64 %r3, %d3; mbarrier.pending_count.b64 %r4, %d4;\n"
                "mbarrier.pending_count.b64 %r5, %d5; mbarrier.pending_count.b64 %r6, %d6;\n"
                "selp.b32 %r7, 1, 0, %p1; selp.b32 %r8, 1, 0, %p2; selp.b32 %r9, 1, 0, %p3; selp.b32 %r10, 1, 0, %p4;\n"
                "st.global.v4.b32 [%d0], {%r2, %r3, %r4, %r5}; st.global.v4.b32 [%d0+16], {%r6, %r7, %r8, %r9}; st.global.b32 [%d0+32], %r10;"),
            1),
        VM_OK);
    const uint32_t want[] = {2, 1, 2, 1, 1, 0, 1, 1, 0}; /* after arrive_drop, the mbarrier expects one arrival */
    CU_ASSERT_EQUAL(memcmp(rows[0], want, sizeof want), 0);
}

static void wait_for_others(void)
{
    /* The second warp waits for bytes that the first warp copies. */
    for (uint32_t k = 0; k < 64; k++)
        rows[k][0] = 1000 + k;
    CU_ASSERT_EQUAL(
        try(KERNEL("@%p0 mbarrier.init.shared.b64 [%r1], 1; bar.sync 0; setp.lt.u32 %p1, %r0, 32; @%p1 bra A;\n"
                   "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra W;\n"
                   "mad.lo.u32 %r2, %r0, 4, %r1; ld.shared.b32 %r3, [%r2+128]; st.global.b32 [%d1+4], %r3; bra E;\n"
                   "A: @!%p0 bra E; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 1024;\n"
                   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%d0], 1024, [%r1];\n"
                   "E: fence.proxy.async; bar.sync 0; barrier.cluster.arrive; barrier.cluster.wait;\n"
                   "@!%p0 bra X; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [%r1+128], 64; "
                   "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; X:"),
            64),
        VM_OK);
    for (uint32_t k = 32; k < 64; k++) /* word k of the copy comes from row k / 16 */
        CU_ASSERT_EQUAL(rows[k][1], k % 16 ? 0 : 1000 + k / 16);
    CU_ASSERT_EQUAL(rows[0][0], 2000);
    CU_ASSERT_EQUAL(rows[1][0], 1001);
}

static void faults(void)
{
    memset(rows, 0, sizeof rows);
    CU_ASSERT_EQUAL(try(KERNEL("mov.b64 %d2, 0; st.shared.b64 [%r1], %d2; mbarrier.arrive.shared.b64 _, [%r1];"), 1),
                    VM_FAULT_INSTRUCTION); /* there is no mbarrier */
    CU_ASSERT_EQUAL(try(KERNEL("mbarrier.init.shared.b64 [%r1], 0;"), 1), VM_FAULT_INSTRUCTION);
    CU_ASSERT_EQUAL(try(KERNEL("mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.shared.b64 _, [%r1], 2;"), 1),
                    VM_FAULT_INSTRUCTION);
    CU_ASSERT_EQUAL(try(KERNEL("mbarrier.init.shared.b64 [%r1+4], 1;"), 1), VM_FAULT_MISALIGNED);
    CU_ASSERT_EQUAL(try(KERNEL("mbarrier.init.shared.b64 [%r1+4096], 1;"), 1), VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(try(KERNEL("mbarrier.init.b64 [%d0], 1;"), 1), VM_FAULT_ADDRESS); /* an address of global memory */
    CU_ASSERT_EQUAL(
        try(KERNEL("mov.b64 %d2, 0x4000010000100001; st.global.b64 [%d0], %d2; mbarrier.arrive.b64 _, [%d0];"), 1),
        VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(try(KERNEL("mapa.u64 %d2, %d0, 1;"), 1), VM_FAULT_INSTRUCTION); /* the cluster has one block */
    CU_ASSERT_EQUAL(try(KERNEL("@%p0 barrier.cluster.arrive; @%p0 barrier.cluster.arrive;"), 2), VM_FAULT_INSTRUCTION);
    CU_ASSERT_EQUAL(try(KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 24;"), 1),
                    VM_FAULT_MISALIGNED);
    CU_ASSERT_EQUAL(try(KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 8208;"), 1),
                    VM_FAULT_ADDRESS);
    CU_ASSERT_EQUAL(try(KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%d0+8], [%r1], 16;"), 1),
                    VM_FAULT_MISALIGNED);
    /* No thread arrives, and all threads that could arrive have ended. */
    CU_ASSERT_EQUAL(
        try(KERNEL(
                "mbarrier.init.shared.b64 [%r1], 1; W: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra W;"),
            1),
        VM_FAULT_DEADLOCK);
    /* One of two threads waits at the cluster's barrier for the other thread, which waits elsewhere. */
    CU_ASSERT_EQUAL(
        try(KERNEL("@%p0 bar.sync 1; @%p0 ret; barrier.cluster.arrive; barrier.cluster.wait; bar.sync 1;"), 2),
        VM_FAULT_DEADLOCK);
}

/* A kernel copies a tensor map to shared memory, changes it, and loads a box by it: x from 2 to 5 and y from 1 to 2,
 * out of 8 x 4 words. */
#define REPLACE(field, type, ...)                                                                                      \
    "@%p0 tensormap.replace.tile." field ".shared::cta.b1024." type " [%r1], " __VA_ARGS__ ";\n"
#define CHANGED(more)                                                                                                         \
    KERNEL(                                                                                                                   \
        "mad.lo.u32 %r2, %r0, 4, %r1; mad.wide.u32 %d2, %r0, 4, %d0; ld.global.b32 %r3, [%d2]; st.shared.b32 [%r2], %r3;\n"   \
        "bar.warp.sync 0xffffffff; add.u64 %d3, %d0, 1024; add.u64 %d4, %d0, 128; mov.u32 %r4, 2; mov.u32 %r5, 1;\n" REPLACE( \
            "global_address", "b64", "%d3") REPLACE("rank", "b32", "1") REPLACE("box_dim", "b32", "0, 4")                     \
            REPLACE("box_dim", "b32", "1, %r4") REPLACE("global_dim", "b32", "0, 8")                                          \
                REPLACE("global_dim", "b32", "1, 4") REPLACE("global_stride", "b64", "0, 32")                                 \
                    REPLACE("element_stride", "b32", "0, 1") REPLACE("element_stride", "b32", "1, 1")                         \
                        REPLACE("elemtype", "b32", "2") REPLACE("interleave_layout", "b32", "0")                              \
                            REPLACE("swizzle_mode", "b32", "0") REPLACE("fill_mode", "b32", "0") more                         \
        "bar.warp.sync 0xffffffff; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "   \
        "[%d4], [%r1], 128;\nfence.proxy.tensormap::generic.acquire.gpu [%d4], 128;\n"                                        \
        "@%p0 mbarrier.init.shared.b64 [%r1+256], 1; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1+256], 32;\n"           \
        "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+512], [%d4, {%r4, %r5}], "     \
        "[%r1+256];\nbar.warp.sync 0xffffffff;\nW: mbarrier.try_wait.parity.shared.b64 %p2, [%r1+256], 0; @!%p2 bra W;\n"     \
        "setp.lt.u32 %p4, %r0, 8; @%p4 ld.shared.b32 %r6, [%r2+512]; @%p4 st.global.b32 [%d2+512], %r6;")

static void changed_maps(void)
{
    const vm_tensor_map map = {.mark = VM_TENSOR_MAP, .rank = 1, .type = 7, .last = {1}, .box = {4}, .step = {1}};
    memset(rows, 0, sizeof rows);
    memcpy(rows, &map, sizeof map);
    for (uint32_t y = 0; y < 4; y++)
        for (uint32_t x = 0; x < 8; x++)
            rows[16 + y / 2][y % 2 * 8 + x] = 100 * y + x;
    CU_ASSERT_EQUAL(try(CHANGED(""), 32), VM_OK);
    const uint32_t want[] = {102, 103, 104, 105, 202, 203, 204, 205};
    CU_ASSERT_EQUAL(memcmp(rows[8], want, sizeof want), 0);
    CU_ASSERT_EQUAL(try(CHANGED(REPLACE("interleave_layout", "b32", "1")), 32), VM_FAULT_INSTRUCTION);
    CU_ASSERT_EQUAL(try(CHANGED(REPLACE("rank", "b32", "5")), 32), VM_FAULT_INSTRUCTION);
    memset(rows, 0, sizeof map);
    CU_ASSERT_EQUAL(try(CHANGED(""), 32), VM_FAULT_INSTRUCTION); /* the memory has no tensor map */
}

static void zeros_and_remote(void)
{
    memset(rows, 0, sizeof rows);
    CU_ASSERT_EQUAL(
        try(KERNEL(
                "mbarrier.init.shared.b64 [%r1], 1; mov.b32 %r2, 0x11111111; st.shared.v4.b32 [%r1+64], {%r2, %r2, %r2, %r2};\n"
                "mov.b64 %d2, 8; st.bulk.weak.shared::cta [%r1+64], %d2, 0; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 12;\n"
                "mapa.shared::cluster.u32 %r3, %r1, 0; mov.b32 %r4, 5; mov.b32 %r5, 6;\n"
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r3+64], {%r4, %r5}, [%r3];\n"
                "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3+68], %r4, [%r3];\n"
                "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; selp.b32 %r6, 1, 0, %p1; ld.shared.v4.b32 {%r7, %r8, %r9, %r10}, [%r1+64];\n"
                "st.global.v4.b32 [%d0], {%r7, %r8, %r9, %r10}; st.global.b32 [%d0+16], %r6;"),
            1),
        VM_OK);
    const uint32_t want[] = {5, 11, 0x11111111, 0x11111111, 1};
    CU_ASSERT_EQUAL(memcmp(rows[0], want, sizeof want), 0);
}

/* Compares each word that a kernel writes with a value that was derived by hand. */
static void words(void)
{
    static const struct {
        const char *text;
        uint32_t a, b, c, want;
    } table[] = {
        /* These are video instructions. 0x80 as a signed byte is -128. With saturation to a byte, 127 + 1 is 127. */
        {"vadd.s32.s32.u32 %r9, %r2.b0, %r3.h1;", 0x12345680, 0x00050000, 0, (uint32_t)-123},
        {"vabsdiff.u32.u32.u32.add %r9, %r2, %r3, %r4;", 3, 10, 100, 107},
        {"vmad.s32.s32.s32.shr7 %r9, %r2, %r3, %r4;", (uint32_t)-3, 100, 44, (uint32_t)-2},
        {"vset.s32.s32.lt.add %r9, %r2, %r3, %r4;", (uint32_t)-1, 0, 7, 8},
        {"vadd2.s32.s32.s32.sat %r9, %r2, %r3, %r4;", 0x7fff8000, 0x0001ffff, 0, 0x7fff8000},
        {"vavrg4.u32.u32.u32 %r9, %r2, %r3, %r4;", 0x00ff0102, 0x00ff0203, 0, 0x00ff0203},
        {"vabsdiff4.u32.u32.u32.add %r9, %r2, %r3, %r4;", 0x01020304, 0x04030201, 10, 18},
        {"vmin2.s32.s32.s32 %r9, %r2.h01, %r3, %r4;", 0x0005fffe, 0x00000000, 0, 0xfffe0000},
        /* In fp8, 448 is the largest number of e4m3. 1.0625 is rounded to 1, because 1 is the even one of 1 and 1.125.
         * -0 stays -0. */
        {"mov.b32 %f1, %r2; mov.b32 %f2, %r3; cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r9, %h1;",
         0x7f7fffff, 0x3f880000, 0, 0x7e38},
        {"mov.b32 %f1, %r2; mov.b32 %f2, %r3; cvt.rn.satfinite.e5m2x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r9, %h1;",
         0x7fc00000, 0x80000000, 0, 0x7f80},
        {"cvt.u16.u32 %h1, %r2; cvt.rn.f16x2.e4m3x2 %r9, %h1;", 0x387f, 0, 0, 0x3c007fff},
        /* the numbers of e2m1 are 0, 0.5, 1, 1.5, 2, 3, 4 and 6; so 2.5 becomes 2, and 7 becomes 6 */
        {"mov.b32 %f1, %r2; mov.b32 %f2, %r3; cvt.rn.satfinite.e2m1x2.f32 %b1, %f1, %f2; mov.b16 %h1, {%b1, 0}; cvt.u32.u16 %r9, %h1;",
         0x40e00000, 0x40200000, 0, 0x74},
        {"cvt.u16.u32 %h1, %r2; mov.b16 {%b1, %b2}, %h1; cvt.rn.f16x2.e2m1x2 %r9, %b1;", 0x9d, 0, 0, 0xb800c200},
        {"mov.b32 %f1, %r2; mov.b32 %f2, %r3; cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r9, %h1;",
         0xc0f80000, 0x3f900000, 0, 0x3f09},
        {"mov.b32 %f1, %r2; mov.b32 %f2, %r3; cvt.rp.satfinite.ue8m0x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r9, %h1;",
         0x3f800001, 0x3f800000, 0, 0x807f},
        {"cvt.u16.u32 %h1, %r2; cvt.rn.bf16x2.ue8m0x2 %r9, %h1;", 0x7fff, 0, 0, 0x3f807fff},
        /* f16 is rounded up only if the sum of the 13 dropped bits and the random bits is at least 2^13 */
        {"mov.b32 %f1, %r2; mov.b32 %f2, %r3; cvt.rs.f16x2.f32 %r9, %f1, %f2, %r4;", 0x3f801000, 0x3f801000, 0x10000fff,
         0x3c013c00},
        /* Mixed precision, and pairs. */
        {"cvt.u16.u32 %h1, %r2; mov.b32 %f2, %r3; add.rn.f32.f16 %f3, %h1, %f2; mov.b32 %r9, %f3;", 0x3c00, 0x3f800000,
         0, 0x40000000},
        {"cvt.u16.u32 %h1, %r2; mov.b32 %f2, %r3; fma.rn.f32.bf16 %f3, %h1, %h1, %f2; mov.b32 %r9, %f3;", 0x4000,
         0x3f800000, 0, 0x40a00000},
        {"mov.b64 %d2, {%r2, %r3}; fma.rz.f32x2 %d3, %d2, %d2, %d2; mov.b64 {_, %r9}, %d3;", 0, 0x40000000, 0,
         0x40c00000},
        {"mov.u32 %r9, %cluster_nctarank; mov.pred %p1, %is_explicit_cluster; @%p1 mov.u32 %r9, 9;", 0, 0, 0, 1},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k++) {
        char text[2048];
        snprintf(
            text, sizeof text,
            ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k (.param .u64 a) {\n"
            ".reg .pred %%p<4>; .reg .b8 %%b<4>; .reg .b16 %%h<4>; .reg .b32 %%r<12>; .reg .f32 %%f<4>; .reg .b64 %%d<4>;\n"
            "ld.param.u64 %%d0, [a]; mov.b32 %%r2, %u; mov.b32 %%r3, %u; mov.b32 %%r4, %u;\n%s\n"
            "st.global.b32 [%%d0], %%r9;\nret;\n}\n",
            table[k].a, table[k].b, table[k].c, table[k].text);
        CU_ASSERT_EQUAL(try(text, 1), VM_OK);
        if (rows[0][0] != table[k].want)
            fprintf(stderr, "%s: %08x\n", table[k].text, rows[0][0]);
        CU_ASSERT_EQUAL(rows[0][0], table[k].want);
    }
}

static const check_case cases[] = {
    {"counts", counts},
    {"waiting", wait_for_others},
    {"faults", faults},
    {"changed tensor maps", changed_maps},
    {"zeros and remote stores", zeros_and_remote},
    {"words", words},
};
KILN_SUITE("vm async", cases)
