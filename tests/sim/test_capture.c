/* Tests stream capture: the calls that become nodes, how streams fork and join, and the effects of calls that are not
 * allowed. driver_cases.c shows line by line which call is forbidden in which mode. */
#include <time.h>

#include "cu_check.h"

static const char increments[] = HEAD
    ".visible .entry add(.param .u64 p, .param .u32 v)\n"
    "{ .reg .b64 %a; .reg .b32 %x, %y; ld.param.u64 %a, [p]; ld.param.u32 %y, [v]; cvta.to.global.u64 %a, %a;\n"
    " ld.global.u32 %x, [%a]; add.u32 %x, %x, %y; st.global.u32 [%a], %x; ret; }\n";

static CUfunction add;
static CUdeviceptr cell;
static CUstream a, b;

static void begin(void)
{
    open_device();
    add = kernel(load(increments), "add");
    OK(call_cuMemAlloc(&cell, 64));
    OK(call_cuMemsetD32(cell, 0, 16));
    OK(call_cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(call_cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
}

static CUresult put(CUstream stream, unsigned operand)
{
    void *arguments[] = {&cell, &operand};
    return call_cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

static unsigned value(void)
{
    unsigned got = 0;
    OK(call_cuMemcpyDtoH(&got, cell, 4));
    return got;
}

static void CUDA_CB count_call(void *calls) { ++*(int *)calls; }

/* Tests that every call that enqueues work is captured, and does not run. */
static void test_all(void)
{
    begin();
    CUgraph graph = NULL, inner = NULL;
    CUgraphExec exec = NULL, once = NULL;
    CUgraphNode nodes[16];
    CUevent event = NULL;
    CUdeviceptr memory = 0;
    static unsigned in[2] = {10, 20}, out[4];
    int calls = 0;
    size_t count = 16;
    OK(call_cuEventCreate(&event, 0));
    OK(call_cuGraphCreate(&inner, 0));
    OK(call_cuGraphInstantiateWithFlags(&once, inner, 0));
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(call_cuMemAllocAsync(&memory, 16, a));
    OK(call_cuMemsetD32Async(memory, 3, 4, a));
    OK(call_cuMemcpyHtoDAsync(cell, in, 8, a));
    OK(put(a, 5));
    OK(call_cuMemcpyDtoDAsync(memory, cell, 4, a));
    OK(call_cuLaunchHostFunc(a, count_call, &calls));
    OK(call_cuStreamWriteValue32(a, cell + 8, 99, 0));
    OK(call_cuEventRecordWithFlags(event, a, CU_EVENT_RECORD_EXTERNAL));
    OK(call_cuStreamWaitEvent(a, event, CU_EVENT_WAIT_EXTERNAL));
    OK(call_cuMemcpyDtoHAsync(out, memory, 16, a));
    OK(call_cuMemFreeAsync(memory, a));
    OK(call_cuMemsetD32(cell + 12, 7, 1)); /* a synchronous call is not captured, but runs at once */
    OK(call_cuMemcpyDtoH(out + 3, cell + 12, 4));
    CHECK(out[3] == 7);
    OK(call_cuStreamEndCapture(a, &graph));
    CHECK(calls == 0 && out[0] == 0);
    CHECK(value() == 0);
    OK(call_cuGraphGetNodes(graph, nodes, &count));
    static const CUgraphNodeType want[] = {
        CU_GRAPH_NODE_TYPE_MEM_ALLOC,    CU_GRAPH_NODE_TYPE_MEMSET,       CU_GRAPH_NODE_TYPE_MEMCPY,
        CU_GRAPH_NODE_TYPE_KERNEL,       CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_HOST,
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
        CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_MEM_FREE};
    CHECK(count == KILN__COUNT(want));
    for (size_t i = 0; i < KILN__COUNT(want) && i < count; i++) {
        CUgraphNodeType type = (CUgraphNodeType)99;
        OK(call_cuGraphNodeGetType(nodes[i], &type));
        CHECK(type == want[i]);
    }
    OK(call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        OK(call_cuGraphLaunch(exec, b));
    CHECK(calls == 2 && out[0] == 15 && out[1] == 3 && value() == 15);
    OK(call_cuMemcpyDtoH(out, cell, 12));
    CHECK(out[1] == 20 && out[2] == 99);

    /* a launch becomes a child graph */
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put(a, 1));
    OK(call_cuGraphLaunch(once, a));
    FAILS(NOT_SUPPORTED, call_cuGraphLaunch(exec, a)); /* a graph that allocates memory cannot become a child graph */
    OK(call_cuStreamEndCapture(a, &graph));
    count = 16;
    CUgraphNodeType type = (CUgraphNodeType)99;
    OK(call_cuGraphGetNodes(graph, nodes, &count));
    OK(call_cuGraphNodeGetType(nodes[1], &type));
    CHECK(count == 2 && type == CU_GRAPH_NODE_TYPE_GRAPH);
    close_device();
}

static void test_streams(void)
{
    begin();
    CUevent fork = NULL, join = NULL;
    CUgraph graph = NULL, seen = NULL;
    CUgraphExec exec = NULL;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0, other = 0;
    const CUgraphNode *tips = NULL;
    size_t count = 0, edges = 0;
    OK(call_cuEventCreate(&fork, 0));
    OK(call_cuEventCreate(&join, 0));
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(put(a, 1));
    OK(call_cuEventRecord(fork, a));
    OK(call_cuStreamWaitEvent(b, fork, 0));
    OK(put(a, 2));
    OK(put(b, 4));
    OK(call_cuStreamGetCaptureInfo(a, &status, &id, &seen, &tips, NULL, &count));
    OK(call_cuStreamGetCaptureInfo(b, &status, &other, NULL, NULL, NULL, NULL));
    CHECK(id == other && status == CU_STREAM_CAPTURE_STATUS_ACTIVE && seen && tips && count == 1);
    FAILS(INVALID_VALUE, call_cuGraphDestroy(seen));
    FAILS(INVALID_VALUE, call_cuGraphDestroyNode(tips[0]));
    FAILS(INVALID_VALUE, call_cuGraphInstantiateWithFlags(&exec, seen, 0));
    OK(call_cuEventRecord(join, b));
    OK(call_cuStreamWaitEvent(a, join, 0));
    OK(put(a, 8));
    OK(call_cuStreamEndCapture(a, &graph));
    CHECK(graph == seen);
    OK(call_cuGraphGetNodes(graph, NULL, &count));
    OK(call_cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    CHECK(count == 4 && edges == 4);
    OK(call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(value() == 15);

    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL)); /* never joined */
    OK(put(a, 1));
    OK(call_cuEventRecord(fork, a));
    OK(call_cuStreamWaitEvent(b, fork, 0));
    OK(put(b, 1));
    FAILS(STREAM_CAPTURE_UNJOINED, call_cuStreamEndCapture(a, &graph));
    CHECK(graph == NULL);
    OK(call_cuStreamIsCapturing(b, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(put(b, 1)); /* the work runs again and is not captured */
    CHECK(value() == 16);

    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL)); /* dropped on purpose */
    OK(put(a, 1));
    OK(call_cuStreamUpdateCaptureDependencies(a, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(put(a, 1));
    OK(call_cuStreamEndCapture(a, &graph));
    OK(call_cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    CHECK(edges == 0);
    FAILS(ILLEGAL_STATE, call_cuStreamUpdateCaptureDependencies(a, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));

    CUgraphNode root = NULL; /* captures into an existing graph */
    count = 1;
    OK(call_cuGraphGetNodes(graph, &root, &count));
    OK(call_cuStreamBeginCaptureToGraph(a, graph, &root, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(INVALID_VALUE, call_cuStreamBeginCaptureToGraph(b, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put(a, 1));
    CUgraph same = NULL;
    OK(call_cuStreamEndCapture(a, &same));
    OK(call_cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    CHECK(same == graph && edges == 1);
    close_device();
}

static void test_gone(void)
{
    begin();
    CUgraph graph = NULL;
    CUevent event = NULL;
    OK(call_cuEventCreate(&event, 0));
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put(a, 1));
    FAILS(STREAM_CAPTURE_UNSUPPORTED, call_cuCtxSynchronize());
    FAILS(STREAM_CAPTURE_INVALIDATED, put(a, 1));
    CUstreamCaptureStatus status;
    OK(call_cuStreamIsCapturing(a, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    FAILS(STREAM_CAPTURE_INVALIDATED, call_cuStreamEndCapture(a, &graph));
    OK(call_cuCtxSynchronize());
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL)); /* the event's nodes go */
    OK(put(a, 1));
    OK(call_cuEventRecord(event, a));
    OK(call_cuStreamDestroy(a));
    FAILS(INVALID_VALUE, call_cuStreamWaitEvent(b, event, 0));
    OK(call_cuEventRecord(event, b));
    OK(call_cuEventQuery(event));
    OK(call_cuStreamBeginCapture(b, CU_STREAM_CAPTURE_MODE_GLOBAL)); /* the context goes */
    OK(put(b, 1));
    close_device();
    open_device();
    OK(call_cuCtxSynchronize());
    close_device();
}

/* Destroys a stream of a capture before the capture ends. If the origin stream waits for its work, nothing is lost. */
static void test_branch_gone(void)
{
    for (int waits = 0; waits < 2; waits++) {
        CUgraph graph = NULL;
        CUevent forked, done;
        begin();
        OK(call_cuEventCreate(&forked, 0));
        OK(call_cuEventCreate(&done, 0));
        OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(put(a, 1));
        OK(call_cuEventRecord(forked, a));
        OK(call_cuStreamWaitEvent(b, forked, 0));
        OK(put(b, 1));
        OK(call_cuEventRecord(done, b));
        if (waits)
            OK(call_cuStreamWaitEvent(a, done, 0));
        OK(call_cuStreamDestroy(b));
        if (waits)
            OK(call_cuStreamEndCapture(a, &graph));
        else
            FAILS(STREAM_CAPTURE_INVALIDATED, call_cuStreamEndCapture(a, &graph));
        close_device();
    }
}

/* ---- streams that wait for values which other threads write ---- */

static _Atomic int called;
static unsigned *flag;

static void CUDA_CB slow(void *user)
{
    (void)user;
    struct timespec time = {.tv_nsec = 20000000};
    nanosleep(&time, NULL);
    called = 1;
}

static void *call_slow(void *stream)
{
    OK(call_cuCtxSetCurrent(primary));
    OK(call_cuLaunchHostFunc(stream, slow, NULL));
    OK(call_cuCtxSetCurrent(NULL));
    return NULL;
}

static void *wait_and_add(void *stream)
{
    OK(call_cuCtxSetCurrent(primary));
    OK(call_cuStreamWaitValue32(stream, (uintptr_t)flag, 3, CU_STREAM_WAIT_VALUE_GEQ));
    OK(put(stream, 1));
    OK(call_cuCtxSetCurrent(NULL));
    return NULL;
}

static void test_threads(void)
{
    begin();
    pthread_t thread;
    void *memory = NULL;
    OK(call_cuMemHostAlloc(&memory, 64, 0));
    flag = memory;
    CHECK(pthread_create(&thread, NULL, wait_and_add, a) == 0);
    OK(put(b, 10)); /* stream b does not wait for stream a */
    OK(call_cuStreamWriteValue32(b, (uintptr_t)flag, 3, 0));
    pthread_join(thread, NULL);
    CHECK(value() == 11);
    CHECK(pthread_create(&thread, NULL, call_slow, a) == 0);
    while (!called) /* waits until the callback runs */
        OK(call_cuCtxSynchronize());
    pthread_join(thread, NULL);
    close_device();

    setenv("KILN_SIM_STEPS", "1000", 1); /* nobody writes */
    begin();
    OK(call_cuStreamWaitValue32(a, cell, 3, CU_STREAM_WAIT_VALUE_EQ));
    FAILS(LAUNCH_TIMEOUT, call_cuCtxSynchronize());
    CHECK(strstr(kiln__sim_last_fault(), "waited for a value") != NULL);
    close_device();
    unsetenv("KILN_SIM_STEPS");
}

enum { ROUNDS = 30 };

/* Each thread captures, changes and launches its own graphs. The threads share only the device. */
static void *work(void *result)
{
    int *wrong = result;
    CUstream mine = NULL;
    CUdeviceptr memory = 0;
    *wrong += call_cuCtxSetCurrent(primary) != CUDA_SUCCESS;
    *wrong += call_cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS;
    *wrong += call_cuMemAlloc(&memory, 4) != CUDA_SUCCESS;
    for (unsigned i = 1; i <= ROUNDS; i++) {
        CUgraph graph = NULL;
        CUgraphExec exec = NULL;
        unsigned got = 0;
        int calls = 0;
        void *arguments[] = {&memory, &i};
        *wrong += call_cuStreamBeginCapture(mine, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS;
        *wrong += call_cuMemsetD32Async(memory, 1, 1, mine) != CUDA_SUCCESS;
        *wrong += call_cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, mine, arguments, NULL) != CUDA_SUCCESS;
        *wrong += call_cuLaunchHostFunc(mine, count_call, &calls) != CUDA_SUCCESS;
        *wrong += call_cuMemcpyDtoHAsync(&got, memory, 4, mine) != CUDA_SUCCESS;
        *wrong += call_cuStreamEndCapture(mine, &graph) != CUDA_SUCCESS;
        *wrong += call_cuGraphInstantiateWithFlags(&exec, graph, 0) != CUDA_SUCCESS;
        *wrong += call_cuGraphLaunch(exec, mine) != CUDA_SUCCESS;
        *wrong += got != i + 1 || calls != 1;
        *wrong += call_cuGraphDestroy(graph) != CUDA_SUCCESS;
        *wrong += call_cuGraphExecDestroy(exec) != CUDA_SUCCESS;
    }
    *wrong += call_cuCtxSetCurrent(NULL) != CUDA_SUCCESS;
    return NULL;
}

static void test_many(void)
{
    begin();
    pthread_t threads[4];
    int wrong[4] = {0};
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(call_cuThreadExchangeStreamCaptureMode(&mode));
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, work, &wrong[i]) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(wrong[i] == 0);
    }
    OK(call_cuThreadExchangeStreamCaptureMode(&mode));
    close_device();
}

/* Lets each allocation fail once. The call must return an error without a leak, and the context must stay usable. */
static void test_oom(void)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        sim_set_memory(&mem);
        setenv("KILN_SIM_THREADS", "1", 1);
        int failed = 0, calls = 0;
        CUresult result = call_cuDevicePrimaryCtxRetain(&primary, device);
        if (result == CUDA_SUCCESS) {
            CUmodule module = NULL;
            CUgraph graph = NULL, clone = NULL, outer = NULL;
            CUgraphExec exec = NULL;
            CUgraphNode node = NULL;
            CUevent event = NULL;
            CUuserObject user = NULL;
            CUdeviceptr managed = 0, range = 0;
            CUmemGenericAllocationHandle handle = 0;
            OK(call_cuCtxSetCurrent(primary));
            failed |= call_cuModuleLoadData(&module, increments) != CUDA_SUCCESS ||
                      call_cuModuleGetFunction(&add, module, "add") != CUDA_SUCCESS;
            failed |= call_cuMemAlloc(&cell, 64) != CUDA_SUCCESS || call_cuEventCreate(&event, 0) != CUDA_SUCCESS;
            failed |= call_cuStreamCreate(&a, 0) != CUDA_SUCCESS || call_cuStreamCreate(&b, 0) != CUDA_SUCCESS;
            if (!failed && call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
                failed |= put(a, 1) != CUDA_SUCCESS;
                failed |= call_cuEventRecord(event, a) != CUDA_SUCCESS ||
                          call_cuStreamWaitEvent(b, event, 0) != CUDA_SUCCESS;
                failed |= call_cuMemsetD32Async(cell + 4, 1, 1, b) != CUDA_SUCCESS;
                failed |= call_cuEventRecord(event, b) != CUDA_SUCCESS ||
                          call_cuStreamWaitEvent(a, event, 0) != CUDA_SUCCESS;
                failed |= call_cuLaunchHostFunc(a, count_call, &calls) != CUDA_SUCCESS;
                failed |= call_cuStreamEndCapture(a, &graph) != CUDA_SUCCESS;
            }
            failed |= call_cuUserObjectCreate(&user, &calls, count_call, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) !=
                      CUDA_SUCCESS;
            if (graph) {
                failed |= user && call_cuGraphRetainUserObject(graph, user, 1, 0) != CUDA_SUCCESS;
                failed |= call_cuGraphClone(&clone, graph) != CUDA_SUCCESS ||
                          call_cuGraphCreate(&outer, 0) != CUDA_SUCCESS;
                failed |= outer && call_cuGraphAddChildGraphNode(&node, outer, NULL, 0, graph) != CUDA_SUCCESS;
                failed |= call_cuGraphInstantiateWithFlags(&exec, outer ? outer : graph, 0) != CUDA_SUCCESS;
                CUgraphExecUpdateResultInfo info;
                failed |= exec && call_cuGraphExecUpdate(exec, outer ? outer : graph, &info) != CUDA_SUCCESS;
                failed |= exec && call_cuGraphLaunch(exec, a) != CUDA_SUCCESS;
            }
            failed |= call_cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS;
            CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
            CUmemAccessDesc all = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
            failed |= call_cuMemAddressReserve(&range, 2 << 20, 0, 0, 0) != CUDA_SUCCESS ||
                      call_cuMemCreate(&handle, 2 << 20, &prop, 0) != CUDA_SUCCESS ||
                      call_cuMemMap(range, 2 << 20, 0, handle, 0) != CUDA_SUCCESS ||
                      call_cuMemSetAccess(range, 2 << 20, &all, 1) != CUDA_SUCCESS;
            close_device();
        }
        CHECK(oom.failed || !failed);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    sim_set_memory(NULL);
    unsetenv("KILN_SIM_THREADS");
}

/* ---- streams of two contexts of a device ---- */

static struct {
    CUcontext context;
    CUfunction add;
    CUdeviceptr cell;
    CUstream stream;
    CUevent forked, joined; /* `forked` belongs to the first context */
} other;

static void begin_two(void)
{
    begin();
    OK(call_cuEventCreate(&other.forked, CU_EVENT_DISABLE_TIMING));
    OK(call_cuCtxCreate(&other.context, NULL, 0, device)); /* the new context is current now */
    other.add = kernel(load(increments), "add");
    OK(call_cuMemAlloc(&other.cell, 64));
    OK(call_cuMemsetD32(other.cell, 0, 16));
    OK(call_cuStreamCreate(&other.stream, CU_STREAM_NON_BLOCKING));
    OK(call_cuEventCreate(&other.joined, CU_EVENT_DISABLE_TIMING));
    OK(call_cuCtxSetCurrent(primary));
}

static void fork_two(CUstreamCaptureMode mode)
{
    OK(call_cuStreamBeginCapture(a, mode));
    OK(put(a, 5));
    OK(call_cuEventRecord(other.forked, a));
    OK(call_cuCtxSetCurrent(other.context));
    OK(call_cuStreamWaitEvent(other.stream, other.forked, 0));
}

static CUresult put_other(unsigned operand)
{
    void *arguments[] = {&other.cell, &operand};
    return call_cuLaunchKernel(other.add, 1, 1, 1, 1, 1, 1, 0, other.stream, arguments, NULL);
}

static void join_two(void)
{
    OK(call_cuEventRecord(other.joined, other.stream));
    OK(call_cuCtxSetCurrent(primary));
    OK(call_cuStreamWaitEvent(a, other.joined, 0));
}

static unsigned value_other(void)
{
    unsigned got = 0;
    OK(call_cuCtxSetCurrent(other.context));
    OK(call_cuMemcpyDtoH(&got, other.cell, 4));
    OK(call_cuCtxSetCurrent(primary));
    return got;
}

static void test_contexts(void)
{
    begin_two();
    CUgraph graph = NULL, alone = NULL;
    CUgraphExec exec = NULL;
    CUgraphExecUpdateResultInfo info;
    CUgraphNode nodes[8];
    CUstreamCaptureStatus status;
    cuuint64_t id = 0, id_other = 1;
    CUDA_KERNEL_NODE_PARAMS what;
    size_t count = 8;
    static unsigned out;
    int calls = 0;
    fork_two(CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(call_cuStreamGetCaptureInfo(other.stream, &status, &id_other, NULL, NULL, NULL, NULL));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(call_cuMemsetD32Async(other.cell, 30, 1, other.stream));
    OK(put_other(4));
    OK(call_cuMemcpyDtoHAsync(&out, other.cell, 4, other.stream));
    OK(call_cuLaunchHostFunc(other.stream, count_call, &calls));
    join_two();
    OK(call_cuStreamGetCaptureInfo(a, &status, &id, NULL, NULL, NULL, NULL));
    CHECK(id == id_other);
    OK(put(a, 1));
    OK(call_cuStreamEndCapture(a, &graph));
    OK(call_cuStreamIsCapturing(a, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE && value() == 0 && value_other() == 0);
    OK(call_cuGraphGetNodes(graph, nodes, &count));
    CHECK(count == 6);
    OK(call_cuGraphKernelNodeGetParams(nodes[2], &what));
    CHECK(what.func == other.add && what.ctx == other.context);
    OK(call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(call_cuGraphLaunch(exec, a));
    CHECK(value() == 6 && value_other() == 34 && out == 34 && calls == 1);
    /* a node keeps its context when its parameters change, and the context cannot change in an executable graph */
    unsigned operand = 9;
    void *arguments[] = {&other.cell, &operand};
    what.kernelParams = arguments;
    OK(call_cuGraphExecKernelNodeSetParams(exec, nodes[2], &what));
    what.func = add;
    FAILS(INVALID_VALUE, call_cuGraphExecKernelNodeSetParams(exec, nodes[2], &what));
    OK(call_cuGraphLaunch(exec, a));
    CHECK(value() == 12 && value_other() == 39);
    OK(call_cuGraphKernelNodeSetParams(nodes[2], &what));
    FAILS(GRAPH_EXEC_UPDATE_FAILURE, call_cuGraphExecUpdate(exec, graph, &info));
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
    /* an added node has the context of its function, or the context in its parameters */
    OK(call_cuGraphCreate(&alone, 0));
    what.func = other.add;
    what.ctx = NULL;
    OK(call_cuGraphAddKernelNode(&nodes[0], alone, NULL, 0, &what));
    const CUDA_MEMSET_NODE_PARAMS fill = {.dst = other.cell + 4, .value = 3, .elementSize = 4, .width = 1, .height = 1};
    OK(call_cuGraphAddMemsetNode(&nodes[1], alone, NULL, 0, &fill, other.context));
    OK(call_cuGraphExecDestroy(exec));
    OK(call_cuGraphInstantiateWithFlags(&exec, alone, 0));
    OK(call_cuGraphLaunch(exec, a));
    CHECK(value_other() == 48);
    OK(call_cuCtxDestroy(other.context));
    FAILS(CONTEXT_IS_DESTROYED, call_cuGraphLaunch(exec, a));
    close_device();
}

static void test_contexts_refused(void)
{
    begin_two();
    CUgraph graph = NULL;
    CUdeviceptr memory;
    CUstreamCaptureStatus status;
    fork_two(CU_STREAM_CAPTURE_MODE_GLOBAL); /* not joined */
    OK(put_other(4));
    OK(call_cuCtxSetCurrent(primary));
    FAILS(STREAM_CAPTURE_UNJOINED, call_cuStreamEndCapture(a, &graph));
    fork_two(CU_STREAM_CAPTURE_MODE_GLOBAL);
    FAILS(STREAM_CAPTURE_UNSUPPORTED, call_cuMemAlloc(&memory, 4)); /* the call is forbidden in the other context too */
    OK(call_cuCtxSetCurrent(primary));
    FAILS(STREAM_CAPTURE_INVALIDATED, call_cuStreamEndCapture(a, &graph));
    fork_two(CU_STREAM_CAPTURE_MODE_RELAXED);
    FAILS(STREAM_CAPTURE_UNSUPPORTED, call_cuCtxSynchronize()); /* a stream of this context takes part in the capture */
    OK(call_cuCtxSetCurrent(primary));
    FAILS(STREAM_CAPTURE_INVALIDATED, call_cuStreamEndCapture(a, &graph));
    fork_two(CU_STREAM_CAPTURE_MODE_RELAXED);
    FAILS(NOT_SUPPORTED, call_cuMemAllocAsync(&memory, 4, other.stream)); /* memory of nodes belongs to the graph's
                                                                             context */
    OK(call_cuCtxSetCurrent(primary));
    FAILS(STREAM_CAPTURE_INVALIDATED, call_cuStreamEndCapture(a, &graph));
    OK(call_cuCtxSetCurrent(other.context));
    OK(call_cuStreamIsCapturing(other.stream, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(call_cuCtxSynchronize());
    /* A capture that was started in the other context ends with that context. */
    OK(call_cuStreamBeginCapture(other.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(put_other(1));
    OK(call_cuEventRecord(other.joined, other.stream));
    OK(call_cuCtxSetCurrent(primary));
    OK(call_cuStreamWaitEvent(a, other.joined, 0));
    OK(call_cuStreamIsCapturing(a, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(call_cuCtxDestroy(other.context));
    OK(call_cuStreamIsCapturing(a, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(put(a, 7));
    CHECK(value() == 7);
    /* A capture in which a destroyed context takes part goes on without that context. */
    OK(call_cuCtxCreate(&other.context, NULL, 0, device));
    OK(call_cuStreamCreate(&other.stream, CU_STREAM_NON_BLOCKING));
    OK(call_cuCtxSetCurrent(primary));
    fork_two(CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(call_cuCtxDestroy(other.context));
    OK(call_cuCtxSetCurrent(primary));
    OK(call_cuStreamEndCapture(a, &graph));
    close_device();
}

/* Launches with an access-policy window. The tests have windows that the driver refuses, and a node that keeps its
 * window. */
static CUresult put_window(CUaccessPolicyWindow window)
{
    unsigned operand = 1;
    void *arguments[] = {&cell, &operand};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                                   .value = {.accessPolicyWindow = window}};
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = a,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    return call_cuLaunchKernelEx(&config, add, arguments, NULL);
}

static void test_window(void)
{
    begin();
    int most = 0;
    size_t count = 2;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode nodes[2];
    CUkernelNodeAttrValue got;
    OK(call_cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, device));
    const CUaccessPolicyWindow right = {.base_ptr = (void *)(uintptr_t)cell,
                                        .num_bytes = (size_t)most,
                                        .hitRatio = 1,
                                        .hitProp = CU_ACCESS_PROPERTY_PERSISTING,
                                        .missProp = CU_ACCESS_PROPERTY_STREAMING};
    CUaccessPolicyWindow wrong[6] = {right, right, right, right, right, right};
    wrong[0].num_bytes++;
    wrong[1].hitRatio = 1.01f;
    wrong[2].hitRatio = -0.01f;
    wrong[3].hitRatio = __builtin_nanf("");
    memset(&wrong[4].hitProp, 3, 1);
    wrong[5].missProp = CU_ACCESS_PROPERTY_PERSISTING;
    OK(put_window(right));
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put_window(right));
    OK(call_cuStreamEndCapture(a, &graph));
    OK(call_cuGraphGetNodes(graph, nodes, &count));
    CHECK(count == 1);
    OK(call_cuGraphKernelNodeGetAttribute(nodes[0], CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &got));
    CHECK(memcmp(&got.accessPolicyWindow, &right, sizeof right) == 0);
    for (int i = 0; i < 6; i++) {
        const CUkernelNodeAttrValue value = {.accessPolicyWindow = wrong[i]};
        FAILS(INVALID_VALUE, put_window(wrong[i]));
        FAILS(INVALID_VALUE,
              call_cuGraphKernelNodeSetAttribute(nodes[0], CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
        FAILS(INVALID_VALUE, call_cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
        wrong[i].num_bytes = 0; /* none */
        OK(put_window(wrong[i]));
    }
    OK(call_cuGraphKernelNodeGetAttribute(nodes[0], CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &got));
    CHECK(memcmp(&got.accessPolicyWindow, &right, sizeof right) == 0);
    OK(call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(call_cuGraphLaunch(exec, a));
    CHECK(value() == 8);
    close_device();
}

/* Launches with one attribute. */
static CUresult put_with(CUstream stream, CUlaunchAttribute attribute)
{
    unsigned operand = 1;
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = stream,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    return call_cuLaunchKernelEx(&config, add, (void *[]){&cell, &operand}, NULL);
}
static CUresult put_dependent(CUstream stream)
{
    return put_with(stream, (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                                .value.programmaticStreamSerializationAllowed = 1});
}
static CUresult put_marked(CUstream stream, CUevent event, int at_start, int flags)
{
    return put_with(stream, (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                                                .value.programmaticEvent = {event, flags, at_start}});
}
static CUresult put_begun(CUstream stream, CUevent event, int flags)
{
    return put_with(stream, (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                                .value.launchCompletionEvent = {event, flags}});
}

/* Ends the capture of stream a, and checks that its last edge has this type and port. */
static void end_with_edge(unsigned char type, unsigned char port)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode from[8], to[8];
    CUgraphEdgeData data[8];
    size_t count = 8;
    OK(call_cuStreamEndCapture(a, &graph));
    OK(call_cuGraphGetEdges(graph, from, to, data, &count));
    CHECK(count >= 1 && data[count - 1].type == type && data[count - 1].from_port == port);
    OK(call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(call_cuGraphLaunch(exec, a));
    OK(call_cuGraphExecDestroy(exec));
    OK(call_cuGraphDestroy(graph));
}

enum { DEFAULT = CU_GRAPH_DEPENDENCY_TYPE_DEFAULT, PROGRAMMATIC = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC };

/* Dependent launches, and the events of launches, become edges that are not full. */
static void test_dependent(void)
{
    begin();
    CUevent event = NULL, timed = NULL, second = NULL;
    CUstreamCaptureStatus status;
    const CUgraphNode *nodes = NULL;
    const CUgraphEdgeData *data = NULL;
    size_t count = 0;
    OK(call_cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(call_cuEventCreate(&second, CU_EVENT_DISABLE_TIMING));
    OK(call_cuEventCreate(&timed, 0));

    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put(a, 1));
    OK(put_dependent(a));
    end_with_edge(PROGRAMMATIC, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
    CHECK(value() == 2);
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put_dependent(a));
    OK(call_cuMemsetD32Async(cell, 0, 1, a));
    OK(put_dependent(a)); /* it follows no kernel */
    end_with_edge(DEFAULT, 0);
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put(a, 1));
    OK(call_cuEventRecord(event, a));
    OK(call_cuStreamWaitEvent(a, event, 0)); /* the stream also waits for the end of its kernel by an event */
    OK(put_dependent(a));
    end_with_edge(PROGRAMMATIC, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put(a, 1));
    OK(call_cuEventRecord(event, a));
    OK(call_cuStreamWaitEvent(b, event, 0));
    OK(put(b, 1));
    OK(call_cuEventRecord(event, b));
    OK(call_cuStreamWaitEvent(a, event, 0));
    OK(put_dependent(a)); /* the launch comes after kernels of two streams */
    end_with_edge(PROGRAMMATIC, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);

    static const unsigned char ports[] = {CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                          CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER,
                                          CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER};
    for (int i = 0; i < 6; i++) { /* three kinds of events; a kernel or a fill waits for each kind */
        const unsigned char type = i % 3 < 2 ? PROGRAMMATIC : DEFAULT;
        OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(i % 3 == 2 ? put_begun(a, event, 0) : put_marked(a, event, i % 3, 0));
        OK(call_cuStreamWaitEvent(b, event, 0));
        OK(call_cuStreamGetCaptureInfo(b, &status, NULL, NULL, &nodes, &data, &count));
        CHECK(count == 1 && data[0].from_port == ports[i % 3]);
        OK(call_cuEventRecord(second, b)); /* the second event has the same kind of edge as the first event */
        OK(call_cuStreamWaitEvent(b, second, 0));
        OK(i < 3 ? put(b, 1) : call_cuMemsetD32Async(cell + 8, 0, 1, b));
        OK(call_cuEventRecord(second, b));
        OK(call_cuStreamUpdateCaptureDependencies(a, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
        OK(call_cuStreamWaitEvent(a, second, 0));
        end_with_edge(type, ports[i % 3]);
    }

    CUgraph filled = NULL; /* a program can remove the programmatic edge of a fill, and cannot add it again */
    CUgraphNode from, to;
    CUgraphEdgeData edge;
    count = 1;
    OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(put_marked(a, event, 0, 0));
    OK(call_cuStreamUpdateCaptureDependencies(a, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(call_cuStreamWaitEvent(a, event, 0));
    OK(call_cuMemsetD32Async(cell + 8, 0, 1, a));
    OK(call_cuStreamEndCapture(a, &filled));
    OK(call_cuGraphGetEdges(filled, &from, &to, &edge, &count));
    CHECK(count == 1 && edge.type == PROGRAMMATIC);
    OK(call_cuGraphRemoveDependencies(filled, &from, &to, &edge, 1));
    FAILS(INVALID_VALUE, call_cuGraphAddDependencies(filled, &from, &to, &edge, 1));
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    FAILS(INVALID_VALUE, call_cuGraphAddNode(&to, filled, &from, &edge, 1, &params));
    OK(call_cuGraphAddNode(&to, filled, &from, NULL, 1, &params));
    OK(call_cuGraphDestroy(filled));

    CUgraph graphs[2] = {NULL}; /* two graphs with the same nodes, but different edges */
    CUgraphExec exec = NULL;
    CUgraphExecUpdateResultInfo why = {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    for (int i = 0; i < 2; i++) {
        OK(call_cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
        OK(put(a, 1));
        OK(i ? put_dependent(a) : put(a, 1));
        OK(call_cuStreamEndCapture(a, &graphs[i]));
    }
    OK(call_cuGraphInstantiateWithFlags(&exec, graphs[0], 0));
    FAILS(GRAPH_EXEC_UPDATE_FAILURE, call_cuGraphExecUpdate(exec, graphs[1], &why));
    CHECK(why.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(call_cuGraphExecUpdate(exec, graphs[0], &why));

    OK(put_marked(a, event, 0, 0)); /* outside a capture */
    OK(put_begun(a, event, 0));
    OK(call_cuEventQuery(event));
    FAILS(NOT_SUPPORTED, put_marked(a, timed, 0, 0));
    FAILS(NOT_SUPPORTED, put_begun(a, timed, 0));
    FAILS(ILLEGAL_STATE, put_marked(a, event, 0, CU_EVENT_RECORD_EXTERNAL));
    FAILS(ILLEGAL_STATE, put_begun(a, event, CU_EVENT_RECORD_EXTERNAL));
    FAILS(INVALID_HANDLE, put_marked(a, NULL, 0, 0));
    FAILS(INVALID_HANDLE, put_begun(a, NULL, 0));
    FAILS(INVALID_HANDLE, put_marked(a, (CUevent)(void *)a, 0, 0));
    close_device();
}

static const check_case cases[] = {{"all that enqueues", test_all},
                                   {"dependent launches", test_dependent},
                                   {"streams", test_streams},
                                   {"gone", test_gone},
                                   {"branch gone", test_branch_gone},
                                   {"threads that wait", test_threads},
                                   {"threads that capture", test_many},
                                   {"out of memory", test_oom},
                                   {"windows", test_window},
                                   {"contexts", test_contexts},
                                   {"contexts, refused", test_contexts_refused}};
CU_SUITE("sim capture", cases)
