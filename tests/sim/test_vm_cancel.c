/* Tests clusterlaunchcontrol, by which a running block takes over clusters that have not started. Each tile must be
 * computed once, by the block that was launched for it, or by a block that cancelled its cluster. The results were not
 * compared with hardware. */
#include "check_bench.h"

enum { WARP = 32, TILES = 64 };

#define HEAD ".version 9.0\n.target sm_100a\n.address_size 64\n"
#define KERNEL                                                                                                         \
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 raw, .param .u32 n)\n{\n"                          \
    ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %d<12>; .reg .b128 %q<2>;\n"                                        \
    ".shared .align 16 .b8 response[16]; .shared .align 8 .b64 bar;\n"                                                 \
    "ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r2, %ctaid.x;\n"                  \
    "mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ctaid.z; mov.u32 %r5, %nctaid.x; mov.u32 %r6, %nctaid.y; mov.u32 %r7, 0;\n"  \
    "mov.u32 %r20, %cluster_ctarank; mov.u32 %r21, %cluster_nctarank;\n"                                               \
    "@%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;\n"    \
    "bar.sync 0; barrier.cluster.arrive; barrier.cluster.wait;\nloop:\n"
#define EXPECT "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n"
#define TRY "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
#define ALONE "@%p0 " TRY ".b128 [response], [bar];\n"
/* the first block of a cluster makes the request for all blocks of the cluster */
#define TOGETHER "setp.eq.and.u32 %p1, %r20, 0, %p0; @%p1 " TRY ".multicast::cluster::all.b128 [response], [bar];\n"
/* adds 1 to the element of the tile in row %r3 and plane %r4, and counts the tile for this block */
#define WORK                                                                                                           \
    "mad.lo.u32 %r8, %r4, %r6, %r3; mad.lo.u32 %r8, %r8, %r5, %r2; mul.wide.u32 %d1, %r8, 4; add.u64 %d1, %d0, %d1;\n" \
    "@%p0 red.global.add.u32 [%d1], 1;\n"
#define WAIT                                                                                                           \
    "wait: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [bar], %r7; @!%p2 bra wait; xor.b32 %r7, %r7, 1;\n"
#define QUERY "ld.shared.b128 %q0, [response]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0;\n"
#define NEXT                                                                                                           \
    "@!%p3 bra done;\n"                                                                                                \
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, %r4, _}, %q0; add.u32 %r2, %r2, %r20;\n" \
    "fence.proxy.async.shared::cta; barrier.cluster.arrive; barrier.cluster.wait; bra loop;\ndone: ret;\n}\n"

/* like TOGETHER, by generic addresses */
#define TOGETHER_GENERIC                                                                                               \
    "mov.u32 %r9, response; cvt.u64.u32 %d3, %r9; cvta.shared.u64 %d3, %d3;\n"                                         \
    "mov.u32 %r9, bar; cvt.u64.u32 %d4, %r9; cvta.shared.u64 %d4, %d4; setp.eq.and.u32 %p1, %r20, 0, %p0;\n"           \
    "@%p1 clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%d3], [%d4];\n"

static const char alone[] = HEAD KERNEL EXPECT ALONE WORK WAIT QUERY NEXT;
static const char together[] = HEAD KERNEL EXPECT TOGETHER WORK WAIT QUERY NEXT;
static const char together_generic[] = HEAD KERNEL EXPECT TOGETHER_GENERIC WORK WAIT QUERY NEXT;
/* the coordinates are read one by one */
static const char apart[] = HEAD KERNEL EXPECT ALONE WORK WAIT QUERY
    "@!%p3 bra done; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r2, %q0;\n"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r3, %q0;\n"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r4, %q0;\n"
    "fence.proxy.async.shared::cta; bar.sync 0; bra loop;\ndone: ret;\n}\n";

typedef struct shape {
    uint32_t grid[3], cluster[3];
    uint64_t order;
    unsigned threads; /* host threads */
    bool cooperative;
} shape;

typedef struct outcome {
    vm_fault_kind kind;
    vm_fault fault;
    uint64_t blocks; /* blocks that have started */
    uint32_t tiles[TILES];
} outcome;

static outcome run(const char *text, const shape *how)
{
    outcome o;
    void *host;
    vm_bench b = vm_bench_text(text, strlen(text), (vm_limits){.cc = 100, .threads = how->threads});
    const struct {
        uint64_t in, out, raw;
        uint32_t n;
    } params = {0, vm_bench_zeros(&b, sizeof o.tiles, &host), 0, 0};
    vm_launch launch = {.module = b.module,
                        .kernel = 0,
                        .block = {WARP, 1, 1},
                        .params = &params,
                        .order = how->order,
                        .cooperative = how->cooperative};
    memcpy(launch.grid, how->grid, sizeof launch.grid);
    memcpy(launch.cluster, how->cluster, sizeof launch.cluster);
    o.kind = vm_run(b.device, &launch, &b.counters, &o.fault);
    if (o.kind != VM_OK)
        fprintf(stderr, "%s\n", o.fault.message);
    o.blocks = b.counters.blocks;
    memcpy(o.tiles, host, sizeof o.tiles);
    vm_bench_end(&b);
    return o;
}

/* Tests that every tile is computed once. With one host thread the first cluster takes all others, unless the order is
 * shuffled. */
static void test_tiles(void)
{
    static const struct {
        const char *text;
        shape how;
        uint64_t least, most; /* blocks that start */
    } cases[] = {
        {alone, {{TILES, 1, 1}, {0}, 0, 1, false}, 1, 1},
        {alone, {{TILES, 1, 1}, {0}, 1, 1, false}, 1, 1},
        {alone, {{4, 4, 4}, {0}, 0, 1, false}, 1, 1},
        {apart, {{4, 8, 2}, {0}, 0, 1, false}, 1, 1},
        {alone, {{TILES, 1, 1}, {0}, 0, 4, false}, 1, TILES},
        {alone, {{TILES, 1, 1}, {0}, 5, 1, false}, 2, TILES},
        {apart, {{8, 2, 4}, {0}, 7, 4, false}, 1, TILES},
        {together, {{TILES, 1, 1}, {2, 1, 1}, 0, 1, false}, 2, TILES},
        {together, {{TILES, 1, 1}, {4, 1, 1}, 0, 3, false}, 4, TILES},
        {together, {{8, 4, 2}, {2, 1, 1}, 3, 2, false}, 2, TILES},
        {together_generic, {{TILES, 1, 1}, {2, 1, 1}, 0, 1, false}, 2, TILES},
        {together, {{TILES, 1, 1}, {1, 1, 1}, 0, 1, false}, 1, 1},
        {alone, {{TILES, 1, 1}, {0}, 0, 2, true}, TILES, TILES},
    };
    for (unsigned k = 0; k < KILN__COUNT(cases); k++) {
        const outcome o = run(cases[k].text, &cases[k].how);
        unsigned wrong = 0;
        for (unsigned n = 0; n < TILES; n++)
            wrong += o.tiles[n] != 1;
        if (o.kind != VM_OK || wrong || o.blocks < cases[k].least || o.blocks > cases[k].most)
            fprintf(stderr, "case %u: %u tiles, %llu blocks\n", k, wrong, (unsigned long long)o.blocks);
        CU_ASSERT_EQUAL(o.kind, VM_OK);
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT(o.blocks >= cases[k].least && o.blocks <= cases[k].most);
    }
}

/* ---- faults ---- */

#define ASK(operands) HEAD KERNEL EXPECT "@%p0 " TRY ".b128 " operands ";\nret;\n}\n"

static void test_faults(void)
{
    static const struct {
        const char *text, *message;
        vm_fault_kind kind;
    } cases[] = {
        {HEAD KERNEL EXPECT ALONE WORK WAIT QUERY
         "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r2, %q0;\n"
         "@!%p3 bra done; fence.proxy.async.shared::cta; bar.sync 0; bra loop; done: ret;\n}\n",
         "get_first_ctaid of a request that failed", VM_FAULT_INSTRUCTION},
        {HEAD KERNEL EXPECT ALONE WORK WAIT QUERY "bar.sync 0; bra loop;\n}\n",
         "after the block has seen that a request failed", VM_FAULT_INSTRUCTION},
        {HEAD KERNEL QUERY NEXT, "bytes that are not a response of try_cancel", VM_FAULT_INSTRUCTION},
        {ASK("[response+8], [bar]"), "misaligned", VM_FAULT_MISALIGNED},
        {ASK("[response], [response]"), "no initialised mbarrier", VM_FAULT_INSTRUCTION},
        {HEAD KERNEL EXPECT "mapa.shared::cluster.u32 %r9, response, 0; add.u32 %r9, %r9, 0x1000000;\n@%p0 " TRY
                            ".b128 [%r9], [bar];\nret;\n}\n",
         "is not in the block's own shared memory", VM_FAULT_ADDRESS},
        {HEAD KERNEL EXPECT
         "mov.u32 %r9, bar; cvt.u64.u32 %d3, %r9; cvta.shared.u64 %d3, %d3;\n"
         "@%p0 clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%d0], [%d3];\nret;\n}\n",
         "is not in the block's own shared memory", VM_FAULT_ADDRESS},
        {ASK("[0x3fff0]"
             ", [bar]"),
         "invalid", VM_FAULT_ADDRESS},
    };
    for (unsigned k = 0; k < KILN__COUNT(cases); k++) {
        const shape how = {{2, 1, 1}, {0}, 0, 1, false};
        const outcome o = run(cases[k].text, &how);
        if (o.kind != cases[k].kind || !strstr(o.fault.message, cases[k].message))
            fprintf(stderr, "case %u: %d %s\n", k, (int)o.kind, o.fault.message);
        CU_ASSERT_EQUAL(o.kind, cases[k].kind);
        CU_ASSERT_PTR_NOT_NULL(strstr(o.fault.message, cases[k].message));
    }
}

/* A multicast to a block of the cluster that has exited is a fault. */
static void test_exited(void)
{
    static const char text[] = HEAD KERNEL
        "setp.ne.u32 %p4, %r20, 0; @%p4 exit;\nmov.u32 %r9, 0;\nspin: add.u32 %r9, %r9, 1; setp.lt.u32 %p5, %r9, 1000000;\n"
        "@%p5 bra spin;\n" EXPECT TOGETHER "ret;\n}\n";
    const shape how = {{4, 1, 1}, {2, 1, 1}, 0, 1, false};
    const outcome o = run(text, &how);
    CU_ASSERT_EQUAL(o.kind, VM_FAULT_ADDRESS);
    CU_ASSERT_PTR_NOT_NULL(strstr(o.fault.message, "exit"));
}

/* ---- checks ---- */

static void check(const char *text, uint32_t kind, const char *message)
{
    check_bench b = check_bench_new(text, strlen(text));
    const vm_fault_kind fault = check_bench_run(&b, "k", 8, WARP, 0);
    const size_t count = check_count_findings(b.check);
    const bool right = message ? count > 0 && check_get_finding(b.check, 0)->kind == kind &&
                                     strstr(check_get_finding(b.check, 0)->message, message) != NULL
                               : count == 0 && fault == VM_OK;
    if (!right)
        fprintf(stderr, "%zu findings, %s; %s\n", count, count ? check_get_finding(b.check, 0)->message : "",
                b.fault.message);
    CU_ASSERT_TRUE(right);
    check_bench_end(&b);
}

static void test_checks(void)
{
    check(alone, 0, NULL);
    check(together, 0, NULL);
    check(together_generic, 0, NULL);
    check(apart, 0, NULL);
    /* the response is read before the phase is complete */
    check(HEAD KERNEL EXPECT ALONE WORK QUERY WAIT NEXT, KILN_CHECK_RACE, "");
    /* the next request may write the response while a thread of the block still reads it */
    check(HEAD KERNEL EXPECT ALONE WORK WAIT QUERY
          "@!%p3 bra done;\n"
          "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r2, %q0; bra loop; done: ret;\n}\n",
          KILN_CHECK_RACE, "");
    /* no thread has announced the bytes of the response at the mbarrier */
    check(HEAD KERNEL ALONE WORK WAIT QUERY NEXT, KILN_CHECK_BARRIER, "");
}

static const check_case cases[] = {
    {"each tile once", test_tiles},
    {"faults", test_faults},
    {"an exited block", test_exited},
    {"checks", test_checks},
};
KILN_SUITE("sim.vm_cancel", cases)
