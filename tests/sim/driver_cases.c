/* Runs corner cases of the driver API, and prints each as a line "case: result". They are about graphs, stream capture,
 * shared and virtual memory, and pools. The output must be the same with the simulated device's libcuda.so.1 and with a
 * GPU's. The program prints nothing that differs from machine to machine. driver_cases.h200.txt is the output of an
 * H200 (driver 580, CUDA 13.0), and driver_cases.sh compares with it. Exit codes: 0 if no call failed that must work;
 * 77 if there is no device.
 *
 *     gcc -o driver_cases tests/sim/driver_cases.c -I<cuda>/include -L<build>/lib/kiln -lcuda
 *     LD_LIBRARY_PATH=<build>/lib/kiln ./driver_cases   (simulated)         ./driver_cases   (GPU) */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared_value = 5;\n"
    ".visible .entry add(.param .u64 p, .param .u32 v)\n"
    "{ .reg .b64 %a; .reg .b32 %x, %y; ld.param.u64 %a, [p]; ld.param.u32 %y, [v]; cvta.to.global.u64 %a, %a;\n"
    " ld.global.u32 %x, [%a]; add.u32 %x, %x, %y; st.global.u32 [%a], %x; ret; }\n";

static const char *name_of(CUresult result)
{
    const char *name = NULL;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS && name ? name : "?";
}

static int failures;
static CUdevice device;
static CUcontext context;
static CUmodule module;
static CUfunction add;
static CUdeviceptr cell;
static CUstream stream, other, blocking;

#define SAY(name, call) printf("%s: %s\n", name, name_of(call))
#define NUMBER(name, value) printf("%s: %lld\n", name, (long long)(value))
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        CUresult result_ = (call);                                                                                     \
        if (result_ != CUDA_SUCCESS) {                                                                                 \
            printf("line %d: %s\n", __LINE__, name_of(result_));                                                       \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static void open_all(void)
{
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&add, module, "add"));
    MUST(cuMemAlloc(&cell, 4096));
    MUST(cuMemsetD32(cell, 0, 1024));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    MUST(cuCtxSynchronize());
}

static void close_all(void)
{
    MUST(cuCtxSetCurrent(NULL));
    MUST(cuDevicePrimaryCtxRelease(device));
}

static CUresult launch(CUstream into, CUdeviceptr at, unsigned operand)
{
    void *arguments[] = {&at, &operand};
    return cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, into, arguments, NULL);
}

/* Ends the capture of `on`, whether it succeeded or not. */
static void end(const char *name, CUstream on)
{
    CUgraph graph = NULL;
    CUresult result = cuStreamEndCapture(on, &graph);
    size_t nodes = 0;
    if (graph)
        cuGraphGetNodes(graph, NULL, &nodes);
    printf("%s, end: %s, %d nodes\n", name, name_of(result), (int)nodes);
    if (graph)
        MUST(cuGraphDestroy(graph));
}

static void begin(CUstreamCaptureMode mode, CUstream on) { MUST(cuStreamBeginCapture(on, mode)); }

/* Makes a call during a capture in each mode, and prints the state of the capture after it. */
#define DURING(name, on, call)                                                                                         \
    do {                                                                                                               \
        static const char *const modes[] = {"global", "thread", "relaxed"};                                            \
        for (int mode_ = 0; mode_ < 3; mode_++) {                                                                      \
            char title_[128];                                                                                          \
            snprintf(title_, sizeof title_, "capture %s, %s", modes[mode_], name);                                     \
            begin((CUstreamCaptureMode)mode_, on);                                                                     \
            MUST(launch(on, cell, 1));                                                                                 \
            SAY(title_, call);                                                                                         \
            end(title_, on);                                                                                           \
        }                                                                                                              \
    } while (0)

static void CUDA_CB nothing(void *user) { (void)user; }

static void CUDA_CB nothing_more(CUstream on, CUresult status, void *user)
{
    (void)on;
    (void)status;
    (void)user;
}

static CUdeviceptr scratch;
static void *pinned;
static char own[8192];

/* Makes calls during a capture, and prints for each mode whether the call and the capture succeed. */
static void capture_calls(void)
{
    unsigned value = 0;
    CUevent event;
    CUmodule second;
    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    MUST(cuEventRecord(event, other));
    MUST(cuStreamSynchronize(other));
    SAY("begin on the legacy stream", cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SAY("begin in a mode of nothing", cuStreamBeginCapture(stream, (CUstreamCaptureMode)9));
    DURING("begin again", stream, cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    DURING("synchronize it", stream, cuStreamSynchronize(stream));
    DURING("query it", stream, cuStreamQuery(stream));
    DURING("synchronize another", stream, cuStreamSynchronize(other));
    DURING("query another", stream, cuStreamQuery(other));
    DURING("synchronize the context", stream, cuCtxSynchronize());
    DURING("query an event of before", stream, cuEventQuery(event));
    DURING("synchronize an event of before", stream, cuEventSynchronize(event));
    DURING("allocate", stream, cuMemAlloc(&scratch, 64));
    DURING("free nothing", stream, cuMemFree(0));
    DURING("allocate host memory", stream, cuMemHostAlloc(&pinned, 64, 0));
    DURING("register", stream, cuMemHostRegister(own, sizeof own, 0));
    cuMemHostUnregister(own);
    DURING("copy and wait", stream, cuMemcpyDtoH(&value, cell, 4));
    DURING("copy, blocking stream", blocking, cuMemcpyDtoH(&value, cell, 4));
    DURING("fill", stream, cuMemsetD32(cell, 0, 1));
    DURING("fill, blocking stream", blocking, cuMemsetD32(cell, 0, 1));
    DURING("launch into the legacy stream", stream, launch(CU_STREAM_LEGACY, cell, 1));
    DURING("launch into the legacy stream, blocking", blocking, launch(CU_STREAM_LEGACY, cell, 1));
    DURING("launch elsewhere", stream, launch(other, cell, 1));
    DURING("load a module", stream, cuModuleLoadData(&second, text));
    DURING("add a callback", stream, cuStreamAddCallback(stream, nothing_more, NULL, 0));
    DURING("host function", stream, cuLaunchHostFunc(stream, nothing, NULL));
    DURING("wait for an event of before", stream, cuStreamWaitEvent(stream, event, 0));
    DURING("record as a node", stream, cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    DURING("wait as a node", stream, cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    DURING("create a stream", stream, cuStreamCreate(&(CUstream){0}, 0));
    DURING("create an event", stream, cuEventCreate(&(CUevent){0}, 0));
    DURING("free asynchronously what is no graph's", stream, cuMemFreeAsync(cell, stream));
    DURING("create a graph", stream, cuGraphCreate(&(CUgraph){0}, 0));
    SAY("record as a node, no capture", cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    SAY("wait as a node, no capture", cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    SAY("end, no capture", cuStreamEndCapture(stream, &(CUgraph){0}));
    MUST(cuCtxSynchronize());
}

static void *end_elsewhere(void *on)
{
    CUgraph graph = NULL;
    MUST(cuCtxSetCurrent(context));
    SAY("end in another thread", cuStreamEndCapture(on, &graph));
    return NULL;
}

static void *allocate_elsewhere(void *mode)
{
    CUdeviceptr memory = 0;
    MUST(cuCtxSetCurrent(context));
    printf("allocate in another thread, %s: %s\n", (const char *)mode, name_of(cuMemAlloc(&memory, 64)));
    return NULL;
}

static void capture_streams(void)
{
    CUevent fork, join;
    CUgraph graph = NULL;
    pthread_t thread;
    CUstreamCaptureStatus status;
    MUST(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    MUST(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, stream); /* forks to another stream and joins it again */
    MUST(launch(stream, cell, 1));
    MUST(cuEventRecord(fork, stream));
    SAY("query a captured event", cuEventQuery(fork));
    end("query a captured event", stream);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, stream);
    MUST(launch(stream, cell, 1));
    MUST(cuEventRecord(fork, stream));
    MUST(cuStreamWaitEvent(other, fork, 0));
    MUST(cuStreamIsCapturing(other, &status));
    NUMBER("forked stream", status);
    MUST(launch(other, cell, 2));
    MUST(launch(stream, cell, 2));
    MUST(cuEventRecord(join, other));
    MUST(cuStreamWaitEvent(stream, join, 0));
    end("fork and join", stream);
    MUST(cuStreamIsCapturing(other, &status));
    NUMBER("forked stream after", status);
    SAY("query an event of a capture that ended", cuEventQuery(fork));
    SAY("wait for an event of a capture that ended", cuStreamWaitEvent(other, fork, 0));
    MUST(cuEventRecord(fork, other));
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, stream); /* no join */
    MUST(launch(stream, cell, 1));
    MUST(cuEventRecord(fork, stream));
    MUST(cuStreamWaitEvent(other, fork, 0));
    MUST(launch(other, cell, 2));
    SAY("end on the forked stream", cuStreamEndCapture(other, &graph));
    end("unjoined", stream);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, stream); /* forks, but puts no work into the fork */
    MUST(launch(stream, cell, 1));
    MUST(cuEventRecord(fork, stream));
    MUST(cuStreamWaitEvent(other, fork, 0));
    end("forked, nothing done", stream);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, stream); /* two forked streams wait for each other */
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, other);
    MUST(launch(stream, cell, 1));
    MUST(cuEventRecord(fork, stream));
    SAY("merge", cuStreamWaitEvent(other, fork, 0));
    end("merge, first", stream);
    end("merge, second", other);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, stream);
    MUST(launch(stream, cell, 1));
    MUST(cuEventRecord(fork, stream));
    SAY("captured event, legacy stream", cuStreamWaitEvent(CU_STREAM_LEGACY, fork, 0));
    end("captured event, legacy stream", stream);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, blocking);
    SAY("ask about the legacy stream", cuStreamIsCapturing(CU_STREAM_LEGACY, &status));
    end("ask about the legacy stream", blocking);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_PER_THREAD);
    MUST(launch(CU_STREAM_PER_THREAD, cell, 1));
    end("the thread's own stream", CU_STREAM_PER_THREAD);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, stream);
    pthread_create(&thread, NULL, end_elsewhere, stream);
    pthread_join(thread, NULL);
    end("after another thread", stream);
    begin(CU_STREAM_CAPTURE_MODE_RELAXED, stream);
    pthread_create(&thread, NULL, end_elsewhere, stream);
    pthread_join(thread, NULL);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, stream);
    pthread_create(&thread, NULL, allocate_elsewhere, "global");
    pthread_join(thread, NULL);
    end("allocated in another thread, global", stream);
    begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, stream);
    pthread_create(&thread, NULL, allocate_elsewhere, "thread");
    pthread_join(thread, NULL);
    end("allocated in another thread, thread", stream);
    CUstream gone;
    MUST(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL, gone);
    SAY("destroy a stream that is captured", cuStreamDestroy(gone));
    MUST(cuCtxSynchronize());
}

static CUgraphNode node_of(CUgraph graph, const CUgraphNode *before, size_t count, unsigned operand)
{
    CUgraphNode node = NULL;
    void *arguments[] = {&cell, &operand};
    CUDA_KERNEL_NODE_PARAMS what = {.func = add,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = arguments};
    MUST(cuGraphAddKernelNode(&node, graph, before, count, &what));
    return node;
}

static void graphs(void)
{
    CUgraph graph, clone = NULL, child;
    CUgraphExec exec = NULL, second = NULL;
    CUgraphNode node = NULL;
    MUST(cuGraphCreate(&graph, 0));
    SAY("graph with flags", cuGraphCreate(&child, 1));
    CUgraphNode a = node_of(graph, NULL, 0, 1), b = node_of(graph, &a, 1, 2), c = node_of(graph, &b, 1, 3);
    CUgraphNode twice[] = {a, a};
    SAY("a dependency twice", cuGraphAddEmptyNode(&node, graph, twice, 2));
    SAY("an edge that is there", cuGraphAddDependencies(graph, &a, &b, NULL, 1));
    SAY("an edge to itself", cuGraphAddDependencies(graph, &a, &a, NULL, 1));
    SAY("remove an edge that is not there", cuGraphRemoveDependencies(graph, &a, &c, NULL, 1));
    SAY("a cycle", cuGraphAddDependencies(graph, &c, &a, NULL, 1));
    SAY("instantiate a cycle", cuGraphInstantiate(&exec, graph, 0));
    SAY("remove it", cuGraphRemoveDependencies(graph, &c, &a, NULL, 1));
    SAY("instantiate", cuGraphInstantiate(&exec, graph, 0));
    SAY("instantiate with unknown flags", cuGraphInstantiate(&second, graph, 64));
    MUST(cuGraphCreate(&child, 0));
    SAY("a node after another graph's", cuGraphAddEmptyNode(&node, child, &a, 1));
    SAY("find in what is no clone", cuGraphNodeFindInClone(&node, a, child));
    SAY("empty graph as a child", cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    CUgraphExecUpdateResultInfo info;
    SAY("update with a node more", cuGraphExecUpdate(exec, graph, &info));
    NUMBER("update with a node more, why", info.result);
    MUST(cuGraphDestroyNode(node));
    SAY("update with the same", cuGraphExecUpdate(exec, graph, &info));
    MUST(cuGraphDestroyNode(c));
    MUST(cuGraphAddEmptyNode(&node, graph, &b, 1));
    SAY("update with another type", cuGraphExecUpdate(exec, graph, &info));
    NUMBER("update with another type, why", info.result);
    SAY("host node without a function", cuGraphAddHostNode(&node, graph, NULL, 0, &(CUDA_HOST_NODE_PARAMS){0}));
    SAY("disable a host node", cuGraphNodeSetEnabled(exec, node, 0));
    CUDA_MEMSET_NODE_PARAMS set = {.dst = cell, .elementSize = 3, .width = 1, .height = 1};
    SAY("fill of three bytes", cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    MUST(cuMemsetD32(cell, 0, 1));
    MUST(cuCtxSynchronize()); // waits here, because the stream that comes next does not wait for other streams
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    unsigned value = 0;
    MUST(cuMemcpyDtoH(&value, cell, 4));
    NUMBER("the cell", value);
    SAY("clone", cuGraphClone(&clone, graph));
    SAY("destroy an executable graph", cuGraphExecDestroy(exec));

    CUDA_MEM_ALLOC_NODE_PARAMS memory = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}},
                                         .bytesize = 64};
    MUST(cuGraphCreate(&graph, 0));
    SAY("allocation node", cuGraphAddMemAllocNode(&a, graph, NULL, 0, &memory));
    SAY("instantiate it", cuGraphInstantiate(&exec, graph, 0));
    SAY("instantiate it twice", cuGraphInstantiate(&second, graph, 0));
    SAY("clone it", cuGraphClone(&clone, graph));
    SAY("destroy its node", cuGraphDestroyNode(a));
    SAY("launch it", cuGraphLaunch(exec, stream));
    SAY("launch it again", cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    SAY("free it", cuMemFree(memory.dptr));
    SAY("launch it after that", cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    SAY("free it asynchronously", cuMemFreeAsync(memory.dptr, stream));
    SAY("free node of other memory", cuGraphAddMemFreeNode(&b, graph, &a, 1, cell));
    MUST(cuStreamSynchronize(stream));
}

/* Cases of memory that host and device share: managed, pinned and registered memory, and managed variables. */
static void shared_memory(void)
{
    CUdeviceptr managed = 0, there = 0, variable = 0;
    size_t bytes = 0;
    unsigned flags = 99, type = 99, value = 0;
    int yes = 0;
    MUST(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    *(unsigned *)(uintptr_t)managed = 40;
    MUST(launch(stream, managed, 2));
    MUST(cuStreamSynchronize(stream));
    NUMBER("managed", *(unsigned *)(uintptr_t)managed);
    SAY("managed, bad flags", cuMemAllocManaged(&there, 64, 0));
    MUST(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed));
    NUMBER("managed, memory type", type);
    MUST(cuPointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
    NUMBER("managed, is managed", yes & 1);
    SAY("managed, device pointer of the host's", cuMemHostGetDevicePointer(&there, (void *)(uintptr_t)managed, 0));
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    SAY("prefetch managed", cuMemPrefetchAsync(managed, 64, here, 0, stream));
    SAY("prefetch what is not managed", cuMemPrefetchAsync(cell, 64, here, 0, stream));
    SAY("advise", cuMemAdvise(managed, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
    SAY("advise nothing known", cuMemAdvise(managed, 64, (CUmem_advise)77, here));
    SAY("attach", cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE));
    SAY("attach what is not managed", cuStreamAttachMemAsync(stream, cell, 0, CU_MEM_ATTACH_SINGLE));
    MUST(cuStreamSynchronize(stream));
    SAY("free managed", cuMemFree(managed));
    MUST(cuModuleGetGlobal(&variable, &bytes, module, "shared_value"));
    NUMBER("managed variable", *(unsigned *)(uintptr_t)variable);
    MUST(launch(stream, variable, 3));
    MUST(cuStreamSynchronize(stream));
    NUMBER("managed variable after", *(unsigned *)(uintptr_t)variable);

    MUST(cuMemHostAlloc(&pinned, 64, 0));
    *(unsigned *)pinned = 1;
    MUST(launch(stream, (uintptr_t)pinned, 6));
    MUST(cuStreamSynchronize(stream));
    NUMBER("pinned, by the host's pointer", *(unsigned *)pinned);
    MUST(cuMemHostGetDevicePointer(&there, pinned, 0));
    NUMBER("pinned, same pointer", there == (uintptr_t)pinned);
    MUST(cuMemHostGetFlags(&flags, pinned));
    NUMBER("pinned, flags", flags);
    SAY("pinned, free as device memory", cuMemFree((uintptr_t)pinned));
    SAY("pinned, unregister", cuMemHostUnregister(pinned));
    SAY("pinned, register", cuMemHostRegister(pinned, 64, 0));
    SAY("pinned, free", cuMemFreeHost(pinned));
    SAY("pinned, free again", cuMemFreeHost(pinned));
    void *page = (void *)(((uintptr_t)own + 4095) & ~(uintptr_t)4095);
    *(unsigned *)page = 3;
    SAY("register", cuMemHostRegister(page, 4096, 0));
    SAY("register twice", cuMemHostRegister(page, 4096, 0));
    MUST(launch(stream, (uintptr_t)page, 6));
    MUST(cuStreamSynchronize(stream));
    NUMBER("registered, by the host's pointer", *(unsigned *)page);
    SAY("registered, flags", cuMemHostGetFlags(&flags, page));
    SAY("registered, free", cuMemFreeHost(page));
    SAY("unregister the middle", cuMemHostUnregister((char *)page + 16));
    SAY("unregister", cuMemHostUnregister(page));
    SAY("register what is not there", cuMemHostRegister((void *)(uintptr_t)0x10000, 4096, 0));
    SAY("copy from a device pointer as the host's", cuMemcpyHtoD(cell, (const void *)(uintptr_t)(cell + 64), 4));
    SAY("copy to the host's pointer as the device's", cuMemcpyDtoD((uintptr_t)&value, cell, 4));
    SAY("write a value", cuStreamWriteValue32(stream, cell, 77, 0));
    SAY("wait for it", cuStreamWaitValue32(stream, cell, 70, CU_STREAM_WAIT_VALUE_GEQ));
    SAY("write to an odd address", cuStreamWriteValue32(stream, cell + 2, 77, 0));
    SAY("wait for nothing known", cuStreamWaitValue32(stream, cell, 70, 9));
    MUST(cuStreamSynchronize(stream));
}

static void virtual_memory(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemAccessDesc all = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle first = 0, second = 0, again = 0;
    CUdeviceptr range = 0;
    size_t unit = 0;
    unsigned long long access = 9;
    MUST(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    NUMBER("granularity", unit);
    SAY("reserve a page", cuMemAddressReserve(&range, 4096, 0, 0, 0));
    SAY("reserve", cuMemAddressReserve(&range, 4 * unit, 0, 0, 0));
    SAY("reserve with an odd alignment", cuMemAddressReserve(&(CUdeviceptr){0}, unit, 3, 0, 0));
    SAY("create half", cuMemCreate(&first, unit / 2, &prop, 0));
    SAY("create", cuMemCreate(&first, unit, &prop, 0));
    SAY("create another", cuMemCreate(&second, unit, &prop, 0));
    SAY("map", cuMemMap(range, unit, 0, first, 0));
    SAY("map over it", cuMemMap(range, unit, 0, second, 0));
    SAY("map at an offset", cuMemMap(range + unit, unit, unit, second, 0));
    SAY("map beside it", cuMemMap(range + unit, unit, 0, second, 0));
    SAY("map out of the range", cuMemMap(range + 4 * unit, unit, 0, second, 0));
    MUST(cuMemGetAccess(&access, &all.location, range));
    NUMBER("access", access);
    SAY("access", cuMemSetAccess(range, 2 * unit, &all, 1));
    SAY("access to more than there is", cuMemSetAccess(range, 4 * unit, &all, 1));
    MUST(cuMemGetAccess(&access, &all.location, range));
    NUMBER("access after", access);
    SAY("fill across", cuMemsetD8(range + unit - 8, 7, 16));
    MUST(cuCtxSynchronize()); // waits before the memory is unmapped
    SAY("free it", cuMemFree(range));
    SAY("release", cuMemRelease(first));
    SAY("release again", cuMemRelease(first));
    SAY("retain by address", cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(range + 8)));
    SAY("unmap half", cuMemUnmap(range, unit / 2));
    SAY("free the addresses under it", cuMemAddressFree(range, 4 * unit));
    SAY("unmap both", cuMemUnmap(range, 2 * unit));
    SAY("unmap again", cuMemUnmap(range, 2 * unit));
    SAY("map it again", cuMemMap(range + 2 * unit, unit, 0, again, 0));
    MUST(cuMemSetAccess(range + 2 * unit, unit, &all, 1));
    unsigned char byte = 0;
    MUST(cuMemcpyDtoH(&byte, range + 3 * unit - 1, 1));
    NUMBER("what it holds", byte);
    MUST(cuMemUnmap(range + 2 * unit, unit));
    SAY("free part of the addresses", cuMemAddressFree(range, unit));
    SAY("free the addresses", cuMemAddressFree(range, 4 * unit));
    MUST(cuMemRelease(again));
    MUST(cuMemRelease(second));
    CUmemoryPool pool = NULL, current = NULL;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = prop.location};
    SAY("pool", cuMemPoolCreate(&pool, &props));
    MUST(cuDeviceSetMemPool(device, pool));
    SAY("destroy the current pool", cuMemPoolDestroy(pool));
    MUST(cuDeviceGetMemPool(&current, device));
    MUST(cuDeviceGetDefaultMemPool(&pool, device));
    NUMBER("the default pool again", current == pool);
    SAY("destroy the default pool", cuMemPoolDestroy(pool));
    CUmemAccessDesc no = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};
    SAY("take access from a pool", cuMemPoolSetAccess(pool, &no, 1));
}

int main(void)
{
    CUresult result = cuInit(0);
    if (result != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS) {
        fprintf(stderr, "no device: %s\n", name_of(result));
        return 77;
    }
    open_all();
    capture_calls();
    capture_streams();
    graphs();
    shared_memory();
    virtual_memory();
    close_all();
    return failures ? 1 : 0;
}
