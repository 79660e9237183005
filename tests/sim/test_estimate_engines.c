/* Tests the estimate of tensor cores, asynchronous copies and mbarriers. The expected time of each kernel was derived
 * by hand from the figures of a profile. */
#include "profile.h"
#include "vm_time.h"
#include "vm_check.h"

enum { MEMORY = 1 << 20, SMS = 132 };
static sim_model h200;

static void read_profile(void)
{
    char path[1024], *text;
    size_t length;
    kiln_error *error = NULL;
    kiln__text log = {0};
    sim_profile_data data;
    snprintf(path, sizeof path, "%s/specs/devices/h200.profile", KILN_SOURCE_DIR);
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    CHECK(sim_profile_read(text, length, "h200", &data, &log));
    kiln__text_free(&log);
    kiln__free(NULL, text);
    h200 = data.model;
    h200.code_rate = 4096; /* fast loads of code: these kernels have no loops, so they would wait for their code */
    h200.dram_loaded = h200.dram_latency; /* so that the times below do not depend on how busy memory is */
}

#define F32                                                                                                            \
    "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8,%f9,%f10,%f11,%f12,%f13,%f14,%f15,%f16,%f17,%f18,%f19,%f20,%f21,%f22,%f23,"  \
    "%f24,%f25,%f26,%f27,%f28,%f29,%f30,%f31}"
#define WIDE "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " F32 ", %d0, %d0, 1, 1, 1, 0, 0;\n"
#define FROM_REGISTERS                                                                                                 \
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " F32 ", {%r0,%r1,%r2,%r3}, %d0, 1, 1, 1, 0;\n"
#define NARROW "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d0, 1, 1, 1, 0, 0;\n"
#define DRAIN "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"

static void begin_text(kiln__text *text)
{
    kiln__text_puts(text,
                    ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 memory)\n{\n"
                    ".reg .f32 %f<40>; .reg .b32 %r<12>; .reg .b64 %d<4>; .reg .pred %p<4>; .reg .b16 %h<2>;\n"
                    ".shared .align 1024 .b8 s[45056]; .shared .align 8 .b8 bars[256];\n"
                    "ld.param.u64 %d1, [memory]; mov.b64 %d0, 0x40; mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0;\n"
                    "mov.b32 %r3, 0; mov.u32 %r4, %tid.x; mov.u32 %r5, s; mov.u32 %r6, bars; shl.b32 %r7, %r4, 4;\n"
                    "cvt.u64.u32 %d2, %r7; add.u64 %d2, %d1, %d2; add.u32 %r8, %r5, %r7; and.b32 %r9, %r4, 31;\n"
                    "setp.eq.u32 %p1, %r9, 0; setp.ge.u32 %p2, %r4, 128;\n");
}

typedef struct run {
    vm_bench bench;
    vm_cost *cost;
    struct vm_trace *trace;
    vm_time_launch launch;
} run;

/* Traces the first block of a cluster of `cluster` blocks, estimates the time of `blocks` blocks, and frees the
 * text. */
static run trace_blocks(kiln__text *text, uint32_t threads, uint64_t blocks, uint32_t cluster)
{
    run r = {0};
    kiln__text_puts(text, "ret;\n}\n");
    r.bench = vm_bench_text(kiln__text_get(text), text->length, (vm_limits){.threads = 1});
    kiln__text_free(text);
    uint64_t memory = vm_alloc(r.bench.device, blocks > 1 ? 64 * MEMORY : MEMORY);
    r.cost = model_cost_new(NULL, r.bench.module, &h200);
    r.trace = count_trace_new(NULL, 1, (threads + 31) / 32);
    CU_ASSERT_FATAL(r.cost && r.trace);
    struct vm_watch watch = {.trace = r.trace, .trace_alone = true};
    vm_launch launch = {.module = r.bench.module,
                        .grid = {cluster, 1, 1},
                        .cluster = {cluster, 1, 1},
                        .block = {threads, 1, 1},
                        .params = &memory,
                        .hooks = &count_watch_hooks,
                        .watch = &watch};
    r.trace->launch = &launch;
    r.trace->limit = 1 << 20;
    model_cost_trace(r.cost, r.trace);
    vm_fault_kind kind = vm_run(r.bench.device, &launch, &r.bench.counters, &r.bench.fault);
    if (kind != VM_OK)
        fprintf(stderr, "%s\n", r.bench.fault.message);
    CU_ASSERT_EQUAL(kind, VM_OK);
    r.launch = (vm_time_launch){.model = &h200,
                                .trace = r.trace,
                                .cost = r.cost,
                                .device = r.bench.device,
                                .block_count = blocks,
                                .resident = 1};
    return r;
}

static vm_time_result end(run *r)
{
    vm_time_result result;
    CHECK(model_time_estimate(NULL, &r->launch, &result));
    count_trace_free(r->trace);
    model_cost_free(r->cost);
    vm_bench_end(&r->bench);
    return result;
}

static double clocks_of(kiln__text *text, uint32_t threads, uint64_t blocks)
{
    run r = trace_blocks(text, threads, blocks, 1);
    return end(&r).clocks;
}

static bool within(int line, double got, double least, double most)
{
    bool good = got >= least && got <= most;
    if (!good)
        fprintf(stderr, "%s:%d: %g clocks, not %g to %g\n", __FILE__, line, got, least, most);
    return good;
}
#define WITHIN(got, least, most) CHECK(within(__LINE__, got, least, most))
#define ABOUT(got, want) WITHIN(got, (want)*0.97, (want)*1.03)

/* Returns the clocks that one more line takes. It is computed from the difference of two kernels with many lines, which
 * cancels the constant part. */
static double each(const char *line, const char *after, uint32_t threads)
{
    double clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        kiln__text text = {0};
        begin_text(&text);
        for (unsigned n = 0; n < (k ? 60u : 20u); n++)
            kiln__text_puts(&text, line);
        kiln__text_puts(&text, after);
        clocks[k] = clocks_of(&text, threads, 1);
    }
    return (clocks[1] - clocks[0]) / 40;
}

/* ---- tensor cores ---- */

static void products(void)
{
    read_profile();
    const double peak = h200.tensor_fp16 * h200.wgmma_share; /* products per SM and clock */
    ABOUT(each(WIDE, DRAIN, 128), 64 * 64 * 16 / peak);
    ABOUT(each(WIDE, DRAIN, 256), 2 * 64 * 64 * 16 / peak); /* two warpgroups share the unit */
    ABOUT(each(FROM_REGISTERS, DRAIN, 128), 64 * 64 * 16 / peak);
    /* 8 columns keep the tensor cores busy for only 4 clocks, but the operands, 64 rows of 32 bytes and 8 columns, take
     * longer to read */
    ABOUT(each(NARROW, DRAIN, 128), (64 * 32 + 8 * 32) / h200.shared_bytes);
    /* the wait for each product adds its latency */
    WITHIN(each(WIDE DRAIN, "", 128), 64 * 64 * 16 / peak + h200.tensor_latency,
           64 * 64 * 16 / peak + h200.tensor_latency + 20);
}

#define MMA(d) "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {" d "}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {" d "};\n"

static void mma_sync(void)
{
    static const char four[] = MMA("%f0,%f1,%f2,%f3") MMA("%f4,%f5,%f6,%f7") MMA("%f8,%f9,%f10,%f11")
        MMA("%f12,%f13,%f14,%f15") MMA("%f16,%f17,%f18,%f19") MMA("%f20,%f21,%f22,%f23");
    read_profile();
    ABOUT(each(four, "", 128) / 6, 4 * 16 * 8 * 16 / (h200.tensor_fp16 * h200.mma_share));
    ABOUT(each(MMA("%f0,%f1,%f2,%f3"), "", 32), h200.tensor_latency); /* a chain */
    ABOUT(each("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r4,%r5}, "
               "{%r0,%r1,%r2,%r3};\n",
               "", 640),
          20 * 16 * 8 * 32 / (h200.tensor_int8 * h200.mma_share)); /* five warps of each scheduler hide the latency */
}

static void rows(void)
{
    read_profile(); /* four matrices of 128 bytes take four passes for each warp, and there are four warps */
    ABOUT(each("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%r8];\n", "", 128), 16);
}

/* ---- stores, clusters ---- */

/* On each SM, a warp stores four lines, and then executes a chain of additions. Whole lines take the time of their
 * bytes. */
static void stores(void)
{
    enum { STORES = 100, LINKS = 400 };
    kiln__text text = {0};
    read_profile();
    begin_text(&text);
    for (unsigned n = 0; n < STORES; n++)
        kiln__text_puts(&text, "st.global.u32 [%d2], %r4;\n");
    for (unsigned n = 0; n < LINKS; n++)
        kiln__text_puts(&text, "add.f32 %f0, %f0, %f1;\n");
    const double clocks = fmax(4 / h200.l2_writes, 4 * 128 / h200.l2_bytes), chain = LINKS * h200.alu_latency,
                 sent = STORES * clocks * h200.sm_count;
    /* the warp does not wait for stores in flight, and 64 additions of the chain are issued before the last store */
    WITHIN(clocks_of(&text, 32, (uint64_t)h200.sm_count), sent - h200.l2_latency + chain - 64 * h200.alu_latency,
           sent + chain);
}

/* Only 128 blocks in clusters of four fit at a time, so the last four of 132 blocks start after the others. */
static void rounds_of_clusters(void)
{
    double clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        kiln__text text = {0};
        read_profile();
        begin_text(&text);
        for (unsigned n = 0; n < 1000; n++)
            kiln__text_puts(&text, "add.f32 %f0, %f0, %f1;\n");
        run r = trace_blocks(&text, 32, 132, 1);
        r.launch.at_once = k ? 128 : 0;
        clocks[k] = end(&r).clocks;
    }
    ABOUT(clocks[1], 2 * clocks[0]);
}

/* ---- copies ---- */

/* Returns the clocks of a step of cp.async, with `stages` groups in flight. Each thread of a warp copies 16 bytes in a
 * group. */
static double cp_async(unsigned stages)
{
    char line[300];
    snprintf(line, sizeof line,
             "cp.async.cg.shared.global [%%r8], [%%d2], 16; add.u64 %%d2, %%d2, 512; cp.async.commit_group; "
             "cp.async.wait_group %u;\n",
             stages - 1);
    return each(line, "", 32);
}

static void groups(void)
{
    read_profile();
    double one = cp_async(1), four = cp_async(4);
    WITHIN(one, h200.dram_latency, h200.dram_latency + 100);
    WITHIN(four, one / 4, one / 4 + 30);
}

static void put_bars(kiln__text *text, unsigned count, unsigned arrivals, unsigned from)
{
    for (unsigned k = 0; k < count; k++)
        kiln__text_printf(text, "@%%p3 mbarrier.init.shared.b64 [%%r6+%u], %u;\n", 8 * (from + k), arrivals);
}

/* Writes a loop that waits for a phase of an mbarrier. On the simulated device the phase is already complete at the
 * first test. */
static void put_wait(kiln__text *text, unsigned bar, unsigned parity, unsigned label)
{
    kiln__text_printf(text, "W%u: mbarrier.try_wait.parity.shared.b64 %%p0, [%%r6+%u], %u;\n@!%%p0 bra W%u;\n", label,
                      8 * bar, parity, label);
}

static void put_copy(kiln__text *text, unsigned bar, unsigned bytes, unsigned number)
{
    kiln__text_printf(
        text,
        "mbarrier.arrive.expect_tx.shared.b64 _, [%%r6+%u], %u;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%r5+%u], [%%d1+%u], %u, [%%r6+%u];\n",
        8 * bar, bytes, bar * bytes, number * bytes, bytes, 8 * bar);
}

/* Returns the clocks of one bulk copy of 4 KiB. One thread makes the copies, and `stages` copies are in flight. */
static double bulk(unsigned stages, uint64_t blocks)
{
    double clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        kiln__text text = {0};
        begin_text(&text);
        kiln__text_puts(&text, "setp.eq.u32 %p3, %r4, 0;\n");
        put_bars(&text, stages, 1, 0);
        for (unsigned n = 0; n < (k ? 60u : 20u); n++) {
            put_copy(&text, n % stages, 4096, n);
            if (n + 1 >= stages)
                put_wait(&text, (n + 1) % stages, (n + 1 - stages) / stages % 2, n);
        }
        clocks[k] = clocks_of(&text, 1, blocks);
    }
    return (clocks[1] - clocks[0]) / 40;
}

static void bulk_copies(void)
{
    read_profile();
    double alone = h200.dram_latency + h200.bulk_latency + 4096 / h200.l2_bytes_sm;
    WITHIN(bulk(1, 1), alone, alone + 100); /* each copy waits until the copy before has come from memory */
    WITHIN(bulk(2, 1), alone / 2, alone / 2 + 60);
    WITHIN(bulk(11, 1), alone / 11, alone / 11 + 10);
    /* if all SMs copy, the rate of memory is the limit */
    ABOUT(bulk(11, SMS), 4096 * SMS / (h200.dram_rate * 1e9 * h200.dram_share / h200.clock));
}

/* The number of tests before another block completes a phase depends on the order in which the simulator runs the
 * warps. So the trace does not have this number. */
static void spins(void)
{
    kiln__text text = {0};
    read_profile();
    begin_text(&text);
    kiln__text_puts(&text, "setp.eq.u32 %p3, %r4, 0; mov.u32 %r10, %cluster_ctarank; setp.ne.u32 %p2, %r10, 0;\n");
    put_bars(&text, 2, 1, 0);
    kiln__text_puts(&text, "xor.b32 %r10, %r10, 1; mapa.shared::cluster.u32 %r11, %r6, %r10;\n"
                           "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n@%p2 bra WORK;\n"
                           "@%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11+8];\n");
    put_wait(&text, 0, 0, 0);
    kiln__text_puts(&text, "bra DONE;\nWORK:\n");
    put_wait(&text, 1, 0, 1);
    for (unsigned n = 0; n < 3000; n++)
        kiln__text_puts(&text, "add.f32 %f0, %f0, %f1;\n");
    kiln__text_puts(&text, "@%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];\nDONE:\n"
                           "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n");
    run r = trace_blocks(&text, 32, 2, 2);
    const vm_trace_warp *waits = &r.trace->warps[0];
    CHECK(waits->spun >= 10 && waits->traced < 50 && waits->issued < 50);
    WITHIN(end(&r).clocks, 1, 2000);
}

/* Returns the estimated clocks of a block in which one thread copies 4 KiB for each of the warpgroup's four products,
 * through a ring of `stages` stages. */
static double pipeline(unsigned stages)
{
    double clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        const unsigned count = k ? 60u : 20u;
        kiln__text text = {0};
        begin_text(&text);
        kiln__text_puts(&text, "setp.eq.u32 %p3, %r4, 0;\n");
        put_bars(&text, stages, 1, 0);
        put_bars(&text, stages, 4, stages);
        kiln__text_puts(&text, "bar.sync 0;\n@%p2 bra COPIES;\n");
        for (unsigned n = 0; n < count; n++) {
            put_wait(&text, n % stages, n / stages % 2, n);
            kiln__text_puts(&text, FROM_REGISTERS FROM_REGISTERS FROM_REGISTERS FROM_REGISTERS
                            "wgmma.commit_group.sync.aligned;\n");
            if (stages == 1)
                kiln__text_puts(&text, "wgmma.wait_group.sync.aligned 0;\n");
            else
                kiln__text_puts(&text, "wgmma.wait_group.sync.aligned 1;\n");
            if (stages == 1 || n) /* the stage of the product before is now free */
                kiln__text_printf(&text, "@%%p1 mbarrier.arrive.shared.b64 _, [%%r6+%u];\n",
                                  8 * (stages + (stages == 1 ? n : n - 1) % stages));
        }
        kiln__text_puts(&text, DRAIN "bra DONE;\nCOPIES:\n");
        for (unsigned n = 0; n < count; n++) {
            if (n >= stages)
                put_wait(&text, stages + n % stages, (n / stages - 1) % 2, count + n);
            put_copy(&text, n % stages, 4096, n);
        }
        kiln__text_puts(&text, "DONE:\n");
        clocks[k] = clocks_of(&text, 129, 1);
    }
    return (clocks[1] - clocks[0]) / 40;
}

static void stages(void)
{
    read_profile();
    double product = 4 * 64 * 64 * 16 / (h200.tensor_fp16 * h200.wgmma_share);
    double latency = h200.dram_latency + h200.bulk_latency;
    /* the copies and products come one after the other */
    WITHIN(pipeline(1), product + latency, product + latency + 250);
    WITHIN(pipeline(4), product * 1.1, (product + latency) * 0.6); /* the copies overlap, but not enough */
    WITHIN(pipeline(11), product, product * 1.05);                 /* the limit is the rate of wgmma */
}

/* Two blocks need the same 8 KiB. Either each block reads all of it, or each block reads a half and sends it to
 * both. */
static void multicast(void)
{
    static const char *const copies[] = {
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%d1], 8192, [%r6];\n",
        "mov.u32 %r10, %cluster_ctarank; shl.b32 %r10, %r10, 12; cvt.u64.u32 %d3, %r10; add.u64 %d3, %d1, %d3;\n"
        "add.u32 %r10, %r5, %r10; mov.b32 %r11, 3; cvt.u16.u32 %h0, %r11;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r10], [%d3], 4096, [%r6], "
        "%h0;\n"};
    static const char sync[] = "barrier.cluster.arrive; barrier.cluster.wait;\n";
    vm_time_result results[2];
    read_profile();
    for (unsigned k = 0; k < 2; k++) {
        kiln__text text = {0};
        begin_text(&text);
        kiln__text_puts(&text, "mbarrier.init.shared.b64 [%r6], 1;\n");
        kiln__text_puts(&text, sync);
        kiln__text_puts(&text, "mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 8192;\n");
        kiln__text_puts(&text, copies[k]);
        put_wait(&text, 0, 0, 0);
        kiln__text_puts(&text, sync);
        run r = trace_blocks(&text, 1, 2, 2);
        results[k] = end(&r);
    }
    CHECK(results[0].l2_bytes == 8192 && results[1].l2_bytes == 4096);
    /* each SM gets the same number of bytes at the same rate, but memory reads half as many */
    WITHIN(results[1].clocks, h200.l2_latency + h200.bulk_latency + 8192 / h200.l2_bytes_sm, results[0].clocks);
}

/* One lane of a warp copies 8192 bytes to both blocks of a cluster, and another lane copies 32 bytes to one block. The
 * record has one number of blocks for both copies, which is the mean over the bytes. */
static void lanes_differ(void)
{
    kiln__text text = {0};
    read_profile();
    begin_text(&text);
    kiln__text_puts(
        &text,
        "mbarrier.init.shared.b64 [%r6], 1;\nbarrier.cluster.arrive; barrier.cluster.wait;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 0;\n"
        "mov.u32 %r10, %cluster_ctarank; setp.ne.u32 %p0, %r10, 0; @%p0 bra END;\n"
        "setp.eq.u32 %p0, %r4, 0; selp.b32 %r10, 8192, 32, %p0; selp.b32 %r11, 3, 1, %p0;\n"
        "cvt.u16.u32 %h0, %r11; mad.lo.u32 %r11, %r4, 8192, %r5;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r11], [%d1], %r10, "
        "[%r6], %h0;\nEND: barrier.cluster.arrive; barrier.cluster.wait;\n");
    run r = trace_blocks(&text, 2, 2, 2);
    const vm_trace_warp *t = &r.trace->warps[0];
    unsigned copies = 0;
    for (size_t at = 0; at + 3 < t->count; at++)
        if (VM_TRACE_KIND(t->words[at]) == VM_ENGINE_COPY && t->words[at + 2] == 2 * 8192 + 32) {
            CU_ASSERT_EQUAL(t->words[at + 3], 2);
            copies++;
        }
    CU_ASSERT_EQUAL(copies, 1);
    end(&r);
}

/* A wait for bytes of st.async ends when the network between SMs has delivered them. */
static void sends(void)
{
    static const char *const sent[] = {
        "mbarrier.arrive.shared.b64 _, [%r6];\n",
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 4;\n"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r5], %r4, [%r6];\n"};
    double clocks[2];
    read_profile();
    for (unsigned k = 0; k < 2; k++) {
        kiln__text text = {0};
        begin_text(&text);
        kiln__text_puts(&text, "mbarrier.init.shared.b64 [%r6], 1;\n");
        kiln__text_puts(&text, sent[k]);
        put_wait(&text, 0, 0, 0);
        clocks[k] = clocks_of(&text, 1, 1);
    }
    WITHIN(clocks[1] - clocks[0], 170, 200);
}

static const check_case cases[] = {
    {"wgmma", products},
    {"stores", stores},
    {"loops that wait", spins},
    {"rounds of clusters", rounds_of_clusters},
    {"mma.sync", mma_sync},
    {"ldmatrix", rows},
    {"groups of cp.async", groups},
    {"bulk copies", bulk_copies},
    {"stages", stages},
    {"multicast", multicast},
    {"lanes that copy to different numbers of blocks", lanes_differ},
    {"st.async", sends},
};
KILN_SUITE("sim estimate of engines", cases)
