/* Tests dependent launches under KILN_SIM_CHECK, in cases with a bug and without it. dependent_program NAME runs a
 * case. Without a name it prints all cases. Each line has the name, a bar, and a part of the expected finding, or
 * nothing if none is expected. order_program.sh runs the cases and compares the findings.
 *
 * Each kernel has two parameters: it reads `from` and writes `to`, 256 words each. The name of a kernel tells the order
 * of its steps: W is griddepcontrol.wait, T is griddepcontrol.launch_dependents, r is a read of `from`, and w is a
 * write of `to`. */
#include <pthread.h>
#include <string.h>

#include "program.h"

enum { N = 256, BYTES = N * 4 };

#define HEAD(name)                                                                                                     \
    ".visible .entry " name "(.param .u64 from, .param .u64 to)\n{\n"                                                  \
    " .reg .b32 %i, %x, %s; .reg .b64 %a, %b, %o, %t; .reg .pred %p, %q;\n"                                            \
    " ld.param.u64 %a, [from]; cvta.to.global.u64 %a, %a; ld.param.u64 %b, [to]; cvta.to.global.u64 %b, %b;\n"         \
    " mov.u32 %i, %tid.x; mov.u32 %x, 7; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; add.u64 %b, %b, %o;\n"
#define KERNEL(name, steps) HEAD(name) steps " ret;\n}\n"
#define W " griddepcontrol.wait;\n"
#define T " griddepcontrol.launch_dependents;\n"
#define r " ld.global.u32 %x, [%a];\n"
#define w " st.global.u32 [%b], %x;\n"
#define FIRST_THREAD " setp.eq.u32 %p, %i, 0;\n @%p"
#define BARRIER " bar.sync 0;\n"
/* the first thread sets a flag, which says that the block has written */
#define TELL BARRIER " membar.gl; setp.eq.u32 %p, %i, 0; @%p atom.global.exch.b32 %s, [%b+2048], 1;\n"
/* the first thread waits for the flag that TELL sets */
#define HEAR                                                                                                           \
    " setp.ne.u32 %p, %i, 0; @%p bra H;\nL: ld.volatile.global.u32 %s, [%a+2048]; setp.eq.u32 %q, %s, 0; @%q bra L;\n" \
    "H: bar.sync 0;\n"
/* the first thread writes four words by a bulk copy from shared memory */
#define BULK                                                                                                           \
    " mov.u32 %s, tile; setp.eq.u32 %p, %i, 0; @!%p bra E;\n st.shared.v4.u32 [tile], {%x, %x, %x, %x};\n"             \
    " fence.proxy.async.shared::cta; cp.async.bulk.global.shared::cta.bulk_group [%b], [%s], 16;\n"                    \
    " cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nE:\n"

/* the first lane of each warp waits */
#define FIRST_LANE " mov.u32 %s, %laneid; setp.eq.u32 %p, %s, 0;\n @%p" W
#define WARP_BARRIER " bar.warp.sync 0xffffffff;\n"
/* All threads wait for an mbarrier. Before that, the first thread executes the steps, one of which is its arrival. */
#define ARRIVE " mbarrier.arrive.shared::cta.b64 %t, [%s];\n"
#define MEET(steps)                                                                                                       \
    " mov.u32 %s, met; setp.ne.u32 %q, %i, 0; @!%q mbarrier.init.shared::cta.b64 [%s], 1; bar.sync 0; @%q bra D;\n" steps \
    "D: mbarrier.try_wait.parity.shared::cta.b64 %p, [%s], 0; @!%p bra D;\n"
/* the first thread executes griddepcontrol.wait, and then sets a flag at `to` for the other threads */
#define FLAG                                                                                                           \
    " sub.u64 %t, %b, %o; setp.ne.u32 %q, %i, 0; @%q bra D;\n" W                                                       \
    " membar.gl; atom.global.exch.b32 %s, [%t+2048], 1;\n"                                                             \
    "D: ld.volatile.global.u32 %s, [%t+2048]; setp.eq.u32 %p, %s, 0; @%p bra D;\n"

/* the first thread loads all words by a tensor map */
#define TENSOR(name, steps)                                                                                                    \
    ".visible .entry " name "(.param .align 64 .b8 map[128], .param .u64 to)\n{\n"                                             \
    " .reg .b32 %i, %x, %s, %r; .reg .b64 %m, %b, %o, %t; .reg .pred %p;\n"                                                    \
    " mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %b, [to]; cvta.to.global.u64 %b, %b; mov.u32 %i, %tid.x;\n"         \
    " mul.wide.u32 %o, %i, 4; add.u64 %b, %b, %o; mov.u32 %s, bar; mov.u32 %r, rows;\n"                                        \
    " setp.ne.u32 %p, %i, 0; @%p bra D;\n mbarrier.init.shared::cta.b64 [%s], 1; fence.mbarrier_init.release.cluster;\n" steps \
    " mbarrier.arrive.expect_tx.shared::cta.b64 %t, [%s], 1024;\n"                                                             \
    " cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r], [%m, {%i}], [%s];\n"              \
    "D: bar.sync 0;\nL: mbarrier.try_wait.parity.shared::cta.b64 %p, [%s], 0; @!%p bra L;\n"                                   \
    " cvt.u32.u64 %x, %o; add.u32 %r, %r, %x; ld.shared.u32 %x, [%r];\n st.global.u32 [%b], %x;\n ret;\n}\n"

/* The module is in pieces, because compilers need not accept long literals. */
static const char *const pieces[] = {
    ".version 8.0\n.target sm_90\n.address_size 64\n",
    KERNEL("w", w) KERNEL("Tw", T w) KERNEL("wT", w T) KERNEL("rT", r T) KERNEL("rw", r w),
    KERNEL("Wrw", W r w) KERNEL("rWw", r W w) KERNEL("WTrw", W T r w) KERNEL("Ww", W w),
    KERNEL("T", T) KERNEL("WT", W T) KERNEL("TW", T W) KERNEL("W", W) KERNEL("none", ""),
    KERNEL("firstWrw", FIRST_THREAD W r w) KERNEL("firstWbarrierRw", FIRST_THREAD W BARRIER r w),
    KERNEL("laneWrw", FIRST_LANE r w) KERNEL("laneWbarrierRw", FIRST_LANE WARP_BARRIER r w) KERNEL("flagRw", FLAG r w),
    ".shared .align 8 .b8 met[8];\n" KERNEL("meetRw", MEET(ARRIVE) r w) KERNEL("meetWrw", MEET(W ARRIVE) r w),
    KERNEL("meetLateWrw", MEET(ARRIVE W) r w),
    KERNEL("TwTell", T w TELL) KERNEL("hearRw", HEAR r w),
    ".shared .align 16 .b8 tile[16];\n" HEAD("bulk") BULK " ret;\n}\n",
    ".shared .align 128 .b8 rows[1024];\n.shared .align 8 .b8 bar[8];\n" TENSOR("tensor", "") TENSOR("Wtensor", W),
};
static char text[1 << 15];
#undef r
#undef w

static struct {
    CUmodule module;
    CUstream a, b;
    CUevent event;
    CUdeviceptr x, y, z, u;
} g;

/* Launches a kernel with an attribute. */
static void launch_with(CUstream stream, CUlaunchAttribute attribute, const char *name, CUdeviceptr from,
                        CUdeviceptr to)
{
    CUfunction kernel;
    TRY(cuModuleGetFunction(&kernel, g.module, name));
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = N,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = stream,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    TRY(cuLaunchKernelEx(&config, kernel, (void *[]){&from, &to}, NULL));
}
/* If `dependent` is set, the launch may begin before the previous launch in the stream has ended. */
static void launch_in(CUstream stream, int dependent, const char *name, CUdeviceptr from, CUdeviceptr to)
{
    const CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                         .value.programmaticStreamSerializationAllowed = dependent};
    launch_with(stream, attribute, name, from, to);
}
static void first(const char *name, CUdeviceptr from, CUdeviceptr to) { launch_in(g.a, 0, name, from, to); }
static void then(const char *name, CUdeviceptr from, CUdeviceptr to) { launch_in(g.a, 1, name, from, to); }

/* ---- one primary launch, and one secondary launch, which depends on it ---- */

static void waits(void) { first("w", g.x, g.x), then("Wrw", g.x, g.y); }
static void waits_after_trigger(void) { first("Tw", g.x, g.x), then("Wrw", g.x, g.y); }
static void never_waits(void) { first("wT", g.x, g.x), then("rw", g.x, g.y); }
static void waits_late(void) { first("wT", g.x, g.x), then("rWw", g.x, g.y); }
static void trigger_before_write(void) { first("Tw", g.x, g.x), then("rw", g.x, g.y); }
static void no_trigger(void) { first("w", g.x, g.x), then("rw", g.x, g.y); } /* a block that ends counts as triggered */
static void no_attribute(void) { first("Tw", g.x, g.x), first("rw", g.x, g.y); }
static void overwrites_early(void) { first("rT", g.x, g.y), then("w", g.z, g.x); }
static void overwrites_after_wait(void) { first("rT", g.x, g.y), then("Ww", g.z, g.x); }
static void other_memory(void) { first("Tw", g.x, g.x), then("rw", g.y, g.z); }
static void both_read(void) { first("rT", g.x, g.y), then("rw", g.x, g.z); }
static void first_thread_waits(void) { first("w", g.x, g.x), then("firstWrw", g.x, g.y); }
static void first_thread_and_barrier(void) { first("w", g.x, g.x), then("firstWbarrierRw", g.x, g.y); }
static void lane_waits(void) { first("w", g.x, g.x), then("laneWrw", g.x, g.y); }
static void lane_and_barrier(void) { first("w", g.x, g.x), then("laneWbarrierRw", g.x, g.y); }
static void own_flag(void) { first("w", g.x, g.x), then("flagRw", g.x, g.y); }
static void mbarrier_never_waits(void) { first("w", g.x, g.x), then("meetRw", g.x, g.y); }
static void mbarrier_waits(void) { first("w", g.x, g.x), then("meetWrw", g.x, g.y); }
static void mbarrier_waits_late(void) { first("w", g.x, g.x), then("meetLateWrw", g.x, g.y); }
static void by_flag(void) { first("TwTell", g.x, g.x), then("hearRw", g.x, g.y); }
static void bulk_waits(void) { first("bulk", g.x, g.x), then("Wrw", g.x, g.y); }
static void bulk_never_waits(void) { first("bulk", g.x, g.x), then("rw", g.x, g.y); }

/* Launches a secondary that reads `from` by a tensor map. */
static void tensor(const char *name, CUdeviceptr from, CUdeviceptr to)
{
    CUtensorMap map;
    CUfunction kernel;
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmaticStreamSerializationAllowed = 1};
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = N,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = g.a,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    TRY(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 1, (void *)from, (cuuint64_t[]){N}, NULL,
                               (cuuint32_t[]){N}, (cuuint32_t[]){1}, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    TRY(cuModuleGetFunction(&kernel, g.module, name));
    TRY(cuLaunchKernelEx(&config, kernel, (void *[]){&map, &to}, NULL));
}
static void tensor_waits(void) { first("w", g.x, g.x), tensor("Wtensor", g.x, g.y); }
static void tensor_never_waits(void) { first("w", g.x, g.x), tensor("tensor", g.x, g.y); }

/* ---- other work between the primary and the secondary ---- */

static void copy_between(void)
{
    first("w", g.x, g.x);
    TRY(cuMemcpyDtoDAsync(g.z, g.y, BYTES, g.a));
    then("rw", g.x, g.y);
}
static void event_between(void) /* the secondary still depends on the primary alone */
{
    first("w", g.x, g.x);
    TRY(cuEventRecord(g.event, g.a));
    then("rw", g.x, g.y);
}
static void waited_event_between(void)
{
    first("w", g.x, g.x);
    TRY(cuEventRecord(g.event, g.a));
    TRY(cuStreamWaitEvent(g.a, g.event, 0));
    then("rw", g.x, g.y);
}
static void host_between(void)
{
    first("w", g.x, g.x);
    TRY(cuStreamSynchronize(g.a));
    then("rw", g.x, g.y);
}
static void other_stream_between(void)
{
    first("w", g.x, g.x);
    TRY(cuEventRecord(g.event, g.a));
    TRY(cuStreamWaitEvent(g.b, g.event, 0));
    launch_in(g.b, 0, "none", g.x, g.x);
    TRY(cuEventRecord(g.event, g.b));
    TRY(cuStreamWaitEvent(g.a, g.event, 0));
    then("rw", g.x, g.y);
}
static void full_after(void) /* the third launch is ordered after both */
{
    first("Tw", g.x, g.x), then("rw", g.y, g.z), first("rw", g.x, g.u);
}
static void event_after(void)
{
    first("Tw", g.x, g.x), then("rw", g.y, g.z);
    TRY(cuEventRecord(g.event, g.a));
    TRY(cuStreamWaitEvent(g.b, g.event, 0));
    launch_in(g.b, 0, "rw", g.x, g.u);
}
static void streams_apart(void) /* a wait does not order a stream that nothing orders */
{
    launch_in(g.b, 0, "w", g.x, g.x);
    first("w", g.y, g.y), then("Wrw", g.x, g.z);
}
static void other_module(void)
{
    first("w", g.x, g.x);
    TRY(cuModuleLoadData(&g.module, text));
    then("rw", g.x, g.y);
}

/* ---- three launches, each of which depends on the launch before ---- */

static void chain_waits(void) { first("w", g.x, g.x), then("Wrw", g.y, g.z), then("Wrw", g.x, g.u); }
static void chain_middle_never_waits(void) { first("Tw", g.x, g.x), then("T", g.y, g.y), then("Wrw", g.x, g.u); }
static void chain_middle_waits_late(void) { first("Tw", g.x, g.x), then("TW", g.y, g.y), then("Wrw", g.x, g.u); }
static void chain_early_read(void) { first("Tw", g.x, g.x), then("TW", g.y, g.y), then("rw", g.x, g.u); }
/* Like a merge sort: kernels sort blocks, compute where the blocks are divided, and merge them. */
static void merge_sort(const char *merge)
{
    first("w", g.x, g.x), then("WTrw", g.x, g.y), then("Wrw", g.y, g.z), then(merge, g.z, g.x);
}
static void merge_waits(void) { merge_sort("Wrw"); }
static void merge_reads_early(void) { merge_sort("rWw"); }
static void chain_waits_first(void) { first("Tw", g.x, g.x), then("WT", g.y, g.y), then("rw", g.x, g.u); }
static void chain_waits_no_trigger(void) { first("w", g.x, g.x), then("Wrw", g.y, g.z), then("rw", g.x, g.u); }
static void chain_overwrites(void) /* the third launch overwrites what the first one may still read */
{
    first("rT", g.x, g.y), then("T", g.y, g.y), then("w", g.z, g.x);
}
static void chain_overwrites_after_wait(void) { first("rT", g.x, g.y), then("TW", g.y, g.y), then("Ww", g.z, g.x); }
static void chain_full_between(void) { first("Tw", g.x, g.x), first("T", g.y, g.y), then("rw", g.x, g.u); }
static void long_chain(void) /* more launches than the checks keep in their sets of ordered launches */
{
    first("Tw", g.x, g.x);
    for (int i = 0; i < 100; i++)
        then("WTrw", g.y, g.z);
    then("Wrw", g.x, g.u);
}

/* ---- events that mark the trigger of a launch ---- */

/* Launches in stream a. Stream b then waits until each block has triggered, or, if `at_start` is set, until the trigger
 * of the launch's start. */
static void trigger(int at_start, const char *name, CUdeviceptr from, CUdeviceptr to)
{
    const CUlaunchAttribute attribute = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
        .value.programmaticEvent = {.event = g.event, .triggerAtBlockStart = at_start}};
    launch_with(g.a, attribute, name, from, to);
    TRY(cuStreamWaitEvent(g.b, g.event, 0));
}
static void beside(const char *name, CUdeviceptr from, CUdeviceptr to) { launch_in(g.b, 0, name, from, to); }

static void event_waits(void) { trigger(0, "Tw", g.x, g.x), beside("Wrw", g.x, g.y); }
static void event_never_waits(void) { trigger(0, "Tw", g.x, g.x), beside("rw", g.x, g.y); }
static void event_start_waits(void) { trigger(1, "w", g.x, g.x), beside("Wrw", g.x, g.y); }
static void event_start_never_waits(void) { trigger(1, "w", g.x, g.x), beside("rw", g.x, g.y); }
static void event_waited_before(void) { trigger(0, "Tw", g.x, g.x), beside("Ww", g.y, g.z), beside("rw", g.x, g.y); }
static void event_not_waited_before(void)
{
    trigger(0, "Tw", g.x, g.x), beside("w", g.y, g.z), beside("Wrw", g.x, g.y);
}
static void event_older_work(void) { first("w", g.x, g.x), trigger(0, "T", g.y, g.y), beside("rw", g.x, g.y); }
static void event_copy(void)
{
    trigger(0, "Tw", g.x, g.x);
    TRY(cuMemcpyDtoDAsync(g.y, g.x, BYTES, g.b));
}
static void event_fill(int at_start, CUdeviceptr filled)
{
    trigger(at_start, at_start ? "w" : "Tw", g.x, g.x);
    TRY(cuMemsetD32Async(filled, 0, N, g.b));
}
static void fill_after_trigger(void) { event_fill(0, g.x); }
static void fill_after_start(void) { event_fill(1, g.x); }
static void fill_elsewhere(void) { event_fill(0, g.y); }
static void after_fill(void) /* griddepcontrol.wait does not order the launch for which only the fill has waited */
{
    event_fill(0, g.y), launch_in(g.b, 1, "Wrw", g.x, g.z);
}
static void event_host(void)
{
    trigger(0, "Tw", g.x, g.x);
    TRY(cuEventSynchronize(g.event));
    launch_in(NULL, 0, "rw", g.x, g.y);
}
static void begun_event(void) /* griddepcontrol.wait does not order an event of the start of a launch */
{
    const CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                         .value.launchCompletionEvent = {.event = g.event}};
    launch_with(g.a, attribute, "w", g.x, g.x);
    TRY(cuStreamWaitEvent(g.b, g.event, 0));
    beside("Wrw", g.x, g.y);
}

/* ---- graphs ---- */

static void begin(void) { TRY(cuStreamBeginCapture(g.a, CU_STREAM_CAPTURE_MODE_RELAXED)); }
static void run(CUgraph graph)
{
    CUgraphExec exec;
    TRY(cuGraphInstantiate(&exec, graph, 0));
    TRY(cuGraphLaunch(exec, g.a));
    TRY(cuGraphExecDestroy(exec));
}
static void end(void)
{
    CUgraph graph;
    TRY(cuStreamEndCapture(g.a, &graph));
    run(graph);
}
static void join(void)
{
    TRY(cuEventRecord(g.event, g.b));
    TRY(cuStreamWaitEvent(g.a, g.event, 0));
}
static void graph_waits(void) { begin(), waits_after_trigger(), end(); }
static void graph_never_waits(void) { begin(), trigger_before_write(), end(); }
static void graph_no_attribute(void) { begin(), no_attribute(), end(); }
static void graph_copy_between(void) { begin(), copy_between(), end(); }
static void graph_event_between(void) { begin(), event_between(), end(); }
static void graph_waited_event_between(void) { begin(), waited_event_between(), end(); }
static void graph_chain_waits_first(void) { begin(), chain_waits_first(), end(); }
static void graph_chain_early_read(void) { begin(), chain_early_read(), end(); }
static void graph_chain_never_waits(void) { begin(), chain_middle_never_waits(), end(); }
static void graph_event_waits(void) { begin(), event_waits(), join(), end(); }
static void graph_event_never_waits(void) { begin(), event_never_waits(), join(), end(); }
static void graph_event_copy(void) { begin(), event_copy(), join(), end(); }
static void graph_fill_after_trigger(void) { begin(), fill_after_trigger(), join(), end(); }
static void graph_fill_after_start(void) { begin(), fill_after_start(), join(), end(); }
static void graph_fill_elsewhere(void) { begin(), fill_elsewhere(), join(), end(); }
static void graph_after_fill(void) { begin(), after_fill(), join(), end(); }
static void graph_other_stream_between(void) { begin(), other_stream_between(), end(); }
static void graph_other_stream(const char *name) /* the secondary depends on another stream's kernel, which writes x */
{
    begin(), first("none", g.y, g.y);
    TRY(cuEventRecord(g.event, g.a));
    TRY(cuStreamWaitEvent(g.b, g.event, 0));
    beside("Tw", g.x, g.x), join(), then(name, g.x, g.y), end();
}
static void graph_other_stream_waits(void) { graph_other_stream("Wrw"); }
static void graph_other_stream_never_waits(void) { graph_other_stream("rw"); }
static void graph_begun_event(void) { begin(), begun_event(), join(), end(); }
static void graph_twice(void) /* two launches of a graph are ordered */
{
    begin(), first("Wrw", g.x, g.y), then("Ww", g.x, g.x), end();
    begin(), first("Wrw", g.x, g.y), then("Ww", g.x, g.x), end();
}

/* A node that launches a kernel. */
static CUgraphNode add(CUgraph graph, const char *name, CUdeviceptr from, CUdeviceptr to)
{
    CUDA_KERNEL_NODE_PARAMS what = {.gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = N,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = (void *[]){&from, &to}};
    CUgraphNode node;
    TRY(cuModuleGetFunction(&what.func, g.module, name));
    TRY(cuGraphAddKernelNode(&node, graph, NULL, 0, &what));
    return node;
}
static void link(CUgraph graph, CUgraphNode from, CUgraphNode to, unsigned char type, unsigned char port)
{
    const CUgraphEdgeData data = {.type = type, .from_port = port};
    TRY(cuGraphAddDependencies_v2(graph, &from, &to, &data, 1));
}
/* Makes a graph of three kernels. The first kernel writes x, and the last one reads x. `direct` is the edge from the
 * first to the last kernel. `in` and `out` are the edges to and from the kernel in the middle. 0 is a full edge, -1 is
 * no edge, and any other value is the port of a programmatic edge. */
static void triangle(const char *middle, const char *last, int direct, int in, int out)
{
    CUgraph graph;
    TRY(cuGraphCreate(&graph, 0));
    const CUgraphNode nodes[] = {add(graph, "Tw", g.x, g.x), add(graph, middle, g.y, g.y), add(graph, last, g.x, g.z)};
    const int ports[] = {direct, in, out};
    for (int i = 0; i < 3; i++)
        if (ports[i] >= 0)
            link(graph, nodes[i == 2], nodes[i == 1 ? 1 : 2], ports[i] ? CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC : 0,
                 (unsigned char)ports[i]);
    run(graph);
}
enum { NO = -1, FULL = 0, PROGRAMMATIC = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC };
static void nodes_never_wait(void) { triangle("none", "rw", PROGRAMMATIC, NO, NO); }
static void nodes_wait(void) { triangle("none", "Wrw", PROGRAMMATIC, NO, NO); }
static void nodes_begun(void) { triangle("none", "rw", CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, NO, NO); }
static void nodes_full_way(void) { triangle("none", "rw", PROGRAMMATIC, FULL, FULL); }
static void nodes_half_way(void) { triangle("none", "rw", PROGRAMMATIC, PROGRAMMATIC, FULL); }
static void nodes_half_way_waited(void) { triangle("W", "rw", PROGRAMMATIC, PROGRAMMATIC, FULL); }
static void nodes_chain(void) { triangle("T", "Wrw", NO, PROGRAMMATIC, PROGRAMMATIC); }
static void nodes_chain_waited(void) { triangle("WT", "rw", NO, PROGRAMMATIC, PROGRAMMATIC); }
/* No kernel waits, so each kernel is unordered with all kernels before it. Sets of the unordered nodes would have 2 *
 * 10^8 entries in all. */
static void nodes_long_chain(void)
{
    CUgraph graph;
    TRY(cuGraphCreate(&graph, 0));
    CUgraphNode last = add(graph, "none", g.y, g.y);
    for (int i = 0; i < 20000; i++) {
        const CUgraphNode next = add(graph, "none", g.y, g.y);
        link(graph, last, next, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, PROGRAMMATIC);
        last = next;
    }
    run(graph);
}
static void nodes_disabled(void) /* a disabled kernel does nothing, so it orders nothing */
{
    CUgraph graph;
    CUgraphExec exec;
    TRY(cuGraphCreate(&graph, 0));
    const CUgraphNode from = add(graph, "Tw", g.x, g.x), to = add(graph, "rw", g.x, g.z);
    link(graph, from, to, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, PROGRAMMATIC);
    TRY(cuGraphInstantiate(&exec, graph, 0));
    TRY(cuGraphNodeSetEnabled(exec, from, 0));
    TRY(cuGraphLaunch(exec, g.a));
}

/* ---- threads ---- */

/* A thread makes dependent launches, events of launches and a graph, in its own stream and with its own memory. */
static void *work_in_thread(void *context)
{
    CUstream own, other;
    CUevent event;
    CUdeviceptr at[3];
    CUgraph graph;
    CUgraphExec exec;
    TRY(cuCtxSetCurrent(context));
    TRY(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    TRY(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    TRY(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 3; i++)
        TRY(cuMemAlloc(&at[i], 4 * BYTES));
    TRY(cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    launch_in(own, 0, "Tw", at[0], at[0]);
    launch_in(own, 1, "Wrw", at[0], at[1]);
    TRY(cuStreamEndCapture(own, &graph));
    TRY(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 20; i++) {
        const CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                                             .value.programmaticEvent = {.event = event}};
        launch_with(own, attribute, "Ww", at[0], at[0]);
        TRY(cuStreamWaitEvent(other, event, 0));
        launch_in(other, 0, "Wrw", at[0], at[2]);
        TRY(cuEventRecord(event, other));
        TRY(cuStreamWaitEvent(own, event, 0));
        TRY(cuGraphLaunch(exec, own));
        launch_in(own, 1, "Wrw", at[1], at[2]);
    }
    TRY(cuStreamSynchronize(own));
    return NULL;
}
static void threads_launch(void)
{
    pthread_t threads[4];
    CUcontext context;
    TRY(cuCtxGetCurrent(&context));
    for (int k = 0; k < 4; k++)
        if (pthread_create(&threads[k], NULL, work_in_thread, context) != 0)
            exit(1);
    for (int k = 0; k < 4; k++)
        pthread_join(threads[k], NULL);
}

#define EARLY "and a write by an earlier launch of "
#define UNWAITED " are not ordered: this dependent launch may begin before that launch has ended"
#define BEYOND " are not ordered: griddepcontrol.wait waits for the launch before this one"
static const struct {
    const char *name;
    void (*run)(void);
    const char *finding; /* "": none */
} cases[] = {
#define X(name, finding)                                                                                               \
    {                                                                                                                  \
#name, name, finding                                                                                           \
    }
    X(waits, ""),
    X(waits_after_trigger, ""),
    X(never_waits, EARLY "wT" UNWAITED),
    X(waits_late, EARLY "wT" UNWAITED),
    X(trigger_before_write, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(no_trigger, EARLY "w" UNWAITED),
    X(no_attribute, ""),
    X(overwrites_early, "and a read by an earlier launch of rT" UNWAITED),
    X(overwrites_after_wait, ""),
    X(other_memory, ""),
    X(both_read, ""),
    X(first_thread_waits, EARLY "w" UNWAITED),
    X(first_thread_and_barrier, ""),
    X(lane_waits, EARLY "w" UNWAITED),
    X(lane_and_barrier, ""),
    X(own_flag, ""),
    X(mbarrier_never_waits, EARLY "w" UNWAITED),
    X(mbarrier_waits, ""),
    X(mbarrier_waits_late, EARLY "w" UNWAITED),
    X(by_flag, ""),
    X(bulk_waits, ""),
    X(bulk_never_waits, EARLY "bulk" UNWAITED),
    X(tensor_waits, ""),
    X(tensor_never_waits, EARLY "w" UNWAITED),
    X(copy_between, ""),
    X(event_between, EARLY "w" UNWAITED),
    X(waited_event_between, ""),
    X(host_between, ""),
    X(other_stream_between, ""),
    X(full_after, ""),
    X(event_after, ""),
    X(streams_apart, EARLY "w, in streams that do not wait"),
    X(other_module, "write by an earlier launch at PTX line 9"),
    X(chain_waits, ""),
    X(chain_middle_never_waits, EARLY "Tw" BEYOND),
    X(chain_middle_waits_late, ""),
    X(chain_early_read, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(merge_waits, ""),
    X(merge_reads_early, EARLY "Wrw" UNWAITED),
    X(chain_waits_first, ""),
    X(chain_waits_no_trigger, ""),
    X(chain_overwrites, "and a read by an earlier launch of rT" BEYOND),
    X(chain_overwrites_after_wait, ""),
    X(chain_full_between, ""),
    X(long_chain, ""),
    X(event_waits, ""),
    X(event_never_waits, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(event_start_waits, ""),
    X(event_start_never_waits, EARLY "w" UNWAITED),
    X(event_waited_before, ""),
    X(event_not_waited_before, EARLY "Tw, in streams that do not wait"),
    X(event_older_work, ""),
    X(event_copy, "read by the host's copy at"),
    X(fill_after_trigger, "write by the host's fill at"),
    X(fill_after_start, "write by the host's fill at"),
    X(fill_elsewhere, ""),
    X(after_fill, EARLY "Tw, in streams that do not wait"),
    X(event_host, EARLY "Tw, in streams that do not wait"),
    X(begun_event, EARLY "w, in streams that do not wait"),
    X(graph_waits, ""),
    X(graph_never_waits, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(graph_no_attribute, ""),
    X(graph_copy_between, ""),
    X(graph_event_between, EARLY "w" UNWAITED),
    X(graph_waited_event_between, EARLY "w" UNWAITED),
    X(graph_other_stream_between, ""),
    X(graph_other_stream_waits, ""),
    X(graph_other_stream_never_waits, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(graph_chain_waits_first, ""),
    X(graph_chain_early_read, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(graph_chain_never_waits, EARLY "Tw" BEYOND),
    X(graph_event_waits, ""),
    X(graph_event_never_waits, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(graph_event_copy, "read by the host's copy at"),
    X(graph_fill_after_trigger, "write by the host's fill at"),
    X(graph_fill_after_start, "write by the host's fill at"),
    X(graph_fill_elsewhere, ""),
    X(graph_after_fill, EARLY "Tw" BEYOND),
    X(graph_begun_event, EARLY "w" BEYOND),
    X(graph_twice, ""),
    X(nodes_never_wait, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(nodes_wait, ""),
    X(nodes_begun, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(nodes_full_way, ""),
    X(nodes_half_way, EARLY "Tw after griddepcontrol.launch_dependents" UNWAITED),
    X(nodes_half_way_waited, ""),
    X(nodes_chain, EARLY "Tw" BEYOND),
    X(nodes_chain_waited, ""),
    X(nodes_long_chain, ""),
    X(nodes_disabled, ""),
    X(threads_launch, ""),
};

static void set_up(void)
{
    CUdevice device;
    CUcontext context;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxPushCurrent(context));
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        strcat(text, pieces[i]);
    TRY(cuModuleLoadData(&g.module, text));
    TRY(cuStreamCreate(&g.a, CU_STREAM_NON_BLOCKING));
    TRY(cuStreamCreate(&g.b, CU_STREAM_NON_BLOCKING));
    TRY(cuEventCreate(&g.event, CU_EVENT_DISABLE_TIMING));
    for (CUdeviceptr *memory = &g.x; memory <= &g.u; memory++) {
        TRY(cuMemAlloc(memory, 4 * BYTES));
        TRY(cuMemsetD8(*memory, 0, 4 * BYTES));
    }
    TRY(cuCtxSynchronize());
}

int main(int count, char **arguments)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (count == 1)
            printf("%s|%s\n", cases[i].name, cases[i].finding);
        else if (strcmp(cases[i].name, arguments[1]) == 0) {
            set_up();
            cases[i].run();
            return 0;
        }
    }
    return count != 1;
}
