/* Tests clusters: blocks that run at the same time, their barrier, and accesses to the shared memory of other
 * blocks. */
#include "vm_check.h"

enum { COUNT = 1024 };

#define HEAD                                                                                                           \
    ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k (.param .u64 a) {\n"                            \
    ".reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<32>; .reg .b64 %d<24>;\n.shared .align 128 .b8 sh[1024];\n"       \
    "ld.param.u64 %d0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, sh; mov.u32 %r2, %cluster_ctarank;\n"                    \
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.x; mad.lo.u32 %r6, %r4, %r5, %r3;\n"           \
    "mad.wide.u32 %d1, %r6, 64, %d0; setp.eq.u32 %p0, %r0, 0;\n"
#define KERNEL(...) HEAD __VA_ARGS__ "\nret;\n}\n"
#define SYNC "barrier.cluster.arrive; barrier.cluster.wait;\n"

typedef struct shape {
    uint32_t grid[3], cluster[3], threads;
} shape;
static const shape pair = {{2, 1, 1}, {2, 1, 1}, 1}, sixteen = {{16, 1, 1}, {16, 1, 1}, 32};

static uint32_t rows[64][16];
static char message[512];

static vm_fault_kind try(const char *text, shape how)
{
    const vm_limits limits = {.threads = 1, .step_budget = 1 << 20};
    vm_bench b = vm_bench_text(text, strlen(text), limits);
    void *host;
    uint64_t a = vm_bench_zeros(&b, sizeof rows, &host);
    vm_launch launch = {.module = b.module, .kernel = 0, .block = {how.threads, 1, 1}, .params = &a};
    memcpy(launch.grid, how.grid, sizeof launch.grid);
    memcpy(launch.cluster, how.cluster, sizeof launch.cluster);
    vm_fault_kind kind = vm_run(b.device, &launch, &b.counters, &b.fault);
    snprintf(message, sizeof message, "%s", b.fault.message);
    memcpy(rows, host, sizeof rows);
    vm_bench_end(&b);
    return kind;
}

/* Compares the results of the kernels in check/cluster.cu for the numbers 0 to 1023. */
static void answers(void)
{
    const vm_limits limits = {.step_budget = 1 << 24};
    char path[1024], *text;
    size_t length;
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/check/cluster.ptx", KILN_TEST_PTX);
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    vm_bench b = vm_bench_text(text, length, limits);
    kiln__free(NULL, text);
    int32_t *in, *out, *raw, bins[128] = {0};
    struct {
        uint64_t in, out, raw;
        int32_t n;
    } p = {vm_bench_zeros(&b, COUNT * 4, &in), vm_bench_zeros(&b, COUNT * 4, &out), vm_bench_zeros(&b, COUNT * 4, &raw),
           COUNT};
    for (int k = 0; k < COUNT; k++) {
        in[k] = k;
        bins[k * 7 % 128]++;
    }
#define RUN(name, blocks, threads)                                                                                     \
    memset(out, 0, COUNT * 4);                                                                                         \
    vm_bench_run(&b, "ok_" name, blocks, threads, &p)
    RUN("reduce", 8, 32);
    CU_ASSERT_EQUAL(out[0], 127 * 64);
    CU_ASSERT_EQUAL(out[1], (128 + 255) * 64);
    RUN("histogram", 16, 64);
    CU_ASSERT_EQUAL(memcmp(out, bins, sizeof bins), 0);
    RUN("multicast", 4, 64);
    for (int k = 0; k < 3; k++)
        for (int rank = 0; rank < 4; rank++)
            CU_ASSERT_EQUAL(out[4 * k + rank], (2 * 256 * k + 255) * 128);
    RUN("ring", 8, 32);
    for (int k = 0; k < 256; k++)
        CU_ASSERT_EQUAL(out[k], (k + 224) % 256);
    RUN("push", 2, 32);
    for (int k = 0; k < 64; k++)
        CU_ASSERT_EQUAL(out[k], 63 - k);
    RUN("global", 8, 32);
    CU_ASSERT_EQUAL(out[0], 31 + 3);
    CU_ASSERT_EQUAL(out[7 * 32 + 31], 4);
    vm_bench_end(&b);
}

/* Tests the place of a block in its cluster and in the grid: 4 x 6 blocks in clusters of 2 x 3. */
static void places(void)
{
    CU_ASSERT_EQUAL(
        try(KERNEL("mov.u32 %r7, %cluster_ctaid.x; mov.u32 %r8, %cluster_ctaid.y; mov.u32 %r9, %clusterid.x;\n"
                   "mov.u32 %r10, %clusterid.y; mov.u32 %r11, %cluster_nctaid.y; mov.u32 %r12, %cluster_nctarank;\n"
                   "mov.u32 %r13, %nclusterid.x; mov.u32 %r14, %nclusterid.y; mov.pred %p1, %is_explicit_cluster;\n"
                   "selp.b32 %r15, 1, 0, %p1; st.global.v4.b32 [%d1], {%r2, %r7, %r8, %r9};\n"
                   "st.global.v4.b32 [%d1+16], {%r10, %r11, %r12, %r13}; st.global.v2.b32 [%d1+32], {%r14, %r15};"),
            (shape){{4, 6, 1}, {2, 3, 1}, 1}),
        VM_OK);
    for (uint32_t y = 0; y < 6; y++)
        for (uint32_t x = 0; x < 4; x++) {
            const uint32_t want[] = {y % 3 * 2 + x % 2, x % 2, y % 3, x / 2, y / 3, 3, 6, 2, 2, 1};
            CU_ASSERT_EQUAL(memcmp(rows[4 * y + x], want, sizeof want), 0);
        }
    CU_ASSERT_EQUAL(
        try(KERNEL("mov.pred %p1, %is_explicit_cluster; selp.b32 %r15, 1, 2, %p1; st.global.b32 [%d1], %r15;"),
            (shape){{1, 1, 1}, {0}, 1}),
        VM_OK);
    CU_ASSERT_EQUAL(rows[0][0], 2);
}

/* Tests addresses: both forms of mapa, the rank of an address, the windows that contain addresses, and atomics on
 * another block's memory. */
static void addresses(void)
{
    CU_ASSERT_EQUAL(
        try(KERNEL(
                "cvta.shared.u64 %d2, %d3; cvt.u64.u32 %d3, %r1; cvta.shared.u64 %d2, %d3;\n"
                "st.shared.b32 [%r1], %r2;\n" SYNC "add.u32 %r7, %r2, 1; rem.u32 %r7, %r7, 16;\n"
                "mapa.u64 %d4, %d2, %r7; getctarank.u64 %r8, %d4; getctarank.u64 %r9, %d2;\n"
                "mapa.shared::cluster.u32 %r10, %r1, %r7; getctarank.shared::cluster.u32 %r11, %r10;\n"
                "getctarank.shared::cluster.u32 %r12, %r1;\n"
                "mapa.shared::cluster.u64 %d8, %d3, %r7; cvta.shared::cluster.u64 %d8, %d8; ld.b32 %r21, [%d8];\n"
                "isspacep.shared %p1, %d4; isspacep.shared::cluster %p2, %d4; isspacep.global %p3, %d4;\n"
                "isspacep.shared::cta %p4, %d2; isspacep.shared::cluster %p5, %d2; isspacep.shared::cluster %p6, %d0;\n"
                "mov.u32 %r13, 0; @%p1 or.b32 %r13, %r13, 1; @%p2 or.b32 %r13, %r13, 2; @%p3 or.b32 %r13, %r13, 4;\n"
                "@%p4 or.b32 %r13, %r13, 8; @%p5 or.b32 %r13, %r13, 16; @%p6 or.b32 %r13, %r13, 32;\n"
                "ld.b32 %r14, [%d4]; ld.shared::cluster.b32 %r15, [%r10];\n"
                "atom.shared::cluster.add.u32 %r16, [%r10+64], 0; red.add.u32 [%d4+128], 1;\n" SYNC
                "ld.shared.b32 %r17, [%r1+128];\n"
                "@%p0 st.global.v4.b32 [%d1], {%r8, %r9, %r11, %r12};\n"
                "@%p0 st.global.v4.b32 [%d1+16], {%r13, %r14, %r15, %r21}; @%p0 st.global.b32 [%d1+32], %r17;"),
            sixteen),
        VM_OK);
    for (uint32_t k = 0; k < 16; k++) {
        /* unwritten shared memory has the pattern 0xa5a5a5a5 */
        const uint32_t next = (k + 1) % 16, want[] = {next, k, next, k, 2 | 8 | 16, next, next, next, 0xa5a5a5a5u + 32};
        CU_ASSERT_EQUAL(memcmp(rows[k], want, sizeof want), 0);
    }
}

/* The address of a variable has the rank of its block in its upper 8 bits, as on a GPU. CUTLASS clears the lowest of these
 * bits to name the mbarrier of the even block of a pair. The loop makes the compiler of hot code do the same. */
static void ranks_in_addresses(void)
{
    CU_ASSERT_EQUAL(
        try(KERNEL(
                "mov.u64 %d4, sh; add.u32 %r8, %r2, 0; @!%p0 bra W;\n"
                "mbarrier.init.shared.b64 [sh+8], 2; fence.mbarrier_init.release.cluster;\n" SYNC
                "and.b32 %r7, %r1, 0xFEFFFFFF; mbarrier.arrive.shared::cluster.b64 _, [%r7+8];\n"
                "getctarank.shared::cluster.u32 %r9, %r7; and.b32 %r10, %r2, 1; setp.eq.u32 %p1, %r10, 1; @%p1 bra E;\n"
                "P: mbarrier.try_wait.parity.shared::cta.b64 %p2, [sh+8], 0; @!%p2 bra P;\n"
                "E: " SYNC "cvt.u32.u64 %r11, %d4;\n"
                "st.shared.b32 [sh+16], 0; mov.u32 %r12, 0;\n"
                "L: atom.shared.add.u32 %r13, [sh+16], %r12; ld.shared.u32 %r14, [sh+16]; st.shared.u32 [sh+20], %r14;\n"
                "mov.u32 %r15, sh; ld.shared.u32 %r16, [%r15+20];\n"
                "add.u32 %r12, %r12, 1; setp.lt.u32 %p3, %r12, 5000; @%p3 bra L;\n"
                "st.global.v4.b32 [%d1], {%r1, %r9, %r11, %r16}; ret;\n"
                "W: " SYNC SYNC),
            sixteen),
        VM_OK);
    for (uint32_t k = 0; k < 16; k++) {
        const uint32_t want[] = {k << 24 | 0x400, k & ~1u, k << 24 | 0x400, 4999 * 5000 / 2};
        CU_ASSERT_EQUAL(memcmp(rows[k], want, sizeof want), 0);
    }
}

static void is_fault(const char *text, shape how, vm_fault_kind kind, const char *says)
{
    CU_ASSERT_EQUAL(try(text, how), kind);
    if (!strstr(message, says))
        fprintf(stderr, "'%s' does not say '%s'\n", message, says);
    CU_ASSERT_PTR_NOT_NULL(strstr(message, says));
}

static void faults(void)
{
    is_fault(KERNEL("mapa.shared::cluster.u32 %r7, %r1, 2;"), pair, VM_FAULT_INSTRUCTION,
             "mapa to block 2 of a cluster of 2 blocks");
    is_fault(KERNEL("mapa.u64 %d2, %d0, 1;"), pair, VM_FAULT_INSTRUCTION, "not in shared memory");
    is_fault(KERNEL("mapa.shared::cluster.u32 %r7, %r1, 1; ld.shared::cluster.b32 %r8, [%r7+1024];"), pair,
             VM_FAULT_ADDRESS, "the block has 1024 bytes of shared memory");
    is_fault(
        KERNEL("mapa.shared::cluster.u32 %r7, %r1, 1; add.u32 %r7, %r7, 0x1000000; st.shared::cluster.b32 [%r7], %r0;"),
        pair, VM_FAULT_ADDRESS, "the cluster has 2 blocks");
    is_fault(KERNEL("setp.ne.u32 %p1, %r2, 0; @%p1 ret; mapa.shared::cluster.u32 %r7, %r1, 1;\n" SYNC
                    "ld.shared::cluster.b32 %r8, [%r7];"),
             pair, VM_FAULT_ADDRESS, "block (1,0,0) of the cluster has exited, at PTX line");
    is_fault(
        KERNEL("mbarrier.init.shared.b64 [%r1], 1;\n" SYNC "mapa.shared::cluster.u32 %r7, %r1, 1; mov.b16 %h0, 4;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1+128], [%d0], "
               "64, [%r1], %h0;"),
        pair, VM_FAULT_INSTRUCTION, "multicast with the block mask 0x4 in a cluster of 2 blocks");
    is_fault(
        KERNEL("mbarrier.init.shared.b64 [%r1], 1;\n" SYNC "setp.eq.u32 %p1, %r2, 1; @%p1 bra E;\n"
               "mapa.shared::cluster.u32 %r7, %r1, 1; mbarrier.test_wait.parity.shared.b64 %p2, [%r7], 0; E:\n" SYNC),
        pair, VM_FAULT_INSTRUCTION, "mbarrier of another block");
    /* the upper half of a shared address does not matter */
    is_fault(KERNEL("mapa.shared::cluster.u32 %r7, %r1, 1; cvt.u64.u32 %d2, %r7; add.u64 %d2, %d2, 0x100000000;\n"
                    "mbarrier.init.shared.b64 [%d2], 1;\n" SYNC),
             pair, VM_FAULT_INSTRUCTION, "mbarrier of another block");
    is_fault(KERNEL("setp.eq.u32 %p1, %r2, 1; @%p1 bar.sync 1, 64;\n" SYNC), pair, VM_FAULT_DEADLOCK,
             "block 1 of the cluster warp 0 mask 0x00000001 at a barrier");
    is_fault(KERNEL("ret;"), (shape){{3, 1, 1}, {2, 1, 1}, 1}, VM_FAULT_INSTRUCTION, "in clusters of 2x1x1");
    is_fault(KERNEL("ret;"), (shape){{32, 1, 1}, {32, 1, 1}, 1}, VM_FAULT_INSTRUCTION, "at most 16 blocks");
}

/* Threads that have exited count as arrived at the barrier. If a block waits for another block in a loop, the other
 * block must run. */
static void progress(void)
{
    CU_ASSERT_EQUAL(try(KERNEL("setp.ge.u32 %p1, %r0, 8; @%p1 ret; setp.eq.u32 %p2, %r2, 3; @%p2 ret;\n" SYNC
                               "@%p0 st.global.b32 [%d1], 7;"),
                        sixteen),
                    VM_OK);
    CU_ASSERT_EQUAL(rows[0][0] + rows[15][0], 14);
    CU_ASSERT_EQUAL(rows[3][0], 0);
    CU_ASSERT_EQUAL(
        try(KERNEL("st.shared.b32 [%r1], 0;\n" SYNC "xor.b32 %r7, %r2, 1; mapa.shared::cluster.u32 %r8, %r1, %r7;\n"
                   "mov.u32 %r9, 0;\nL: setp.eq.u32 %p1, %r2, 0; @%p1 bra W;\n"
                   "R: ld.acquire.cluster.shared::cluster.b32 %r10, [%r8]; setp.le.u32 %p2, %r10, %r9; @%p2 bra R;\n"
                   "W: add.u32 %r9, %r9, 1; st.release.cluster.shared::cluster.b32 [%r1], %r9; @!%p1 bra N;\n"
                   "Q: ld.acquire.cluster.shared::cluster.b32 %r10, [%r8]; setp.lt.u32 %p2, %r10, %r9; @%p2 bra Q;\n"
                   "N: setp.lt.u32 %p3, %r9, 20; @%p3 bra L;\n" SYNC "st.global.b32 [%d1], %r9;"),
            pair),
        VM_OK);
    CU_ASSERT_EQUAL(rows[0][0] + rows[1][0], 40);
}

int main(int count, char **arguments)
{
    static const check_case cases[] = {{"answers", answers},     {"places", places},
                                       {"addresses", addresses}, {"ranks in addresses", ranks_in_addresses},
                                       {"faults", faults},       {"progress", progress}};
    return check_main(count, arguments, "clusters", cases, KILN__COUNT(cases));
}
