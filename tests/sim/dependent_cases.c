/* Captures dependent launches and events of launches, and prints the edges of the captured graphs and the refused
 * calls. The output must be the same with the simulated device's libcuda.so.1 and with a GPU's.
 * dependent_cases.h200.txt is the output of an H200, and driver_cases.sh compares with it. Exit code 77: there is no
 * device. driver_cases.c tells how to build and run such a program. */
#include <cuda.h>
#include <stdio.h>

static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry k() { griddepcontrol.wait; griddepcontrol.launch_dependents; ret; }\n";
static CUfunction kernel;
static CUstream a, b;
static CUdeviceptr memory;
static CUevent event, joined, timed;

static const char *say(CUresult result)
{
    const char *name = NULL;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS && name ? name : "?";
}

static CUresult put_with(CUstream stream, const CUlaunchAttribute *attribute)
{
    CUlaunchAttribute attributes[1] = {{.id = CU_LAUNCH_ATTRIBUTE_IGNORE}};
    if (attribute)
        attributes[0] = *attribute;
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = stream,
                                   .attrs = attributes,
                                   .numAttrs = attribute ? 1 : 0};
    return cuLaunchKernelEx(&config, kernel, NULL, NULL);
}
static CUresult put(CUstream stream) { return put_with(stream, NULL); }
static CUresult put_dependent(CUstream stream)
{
    return put_with(stream, &(CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                                 .value.programmaticStreamSerializationAllowed = 1});
}
static CUresult put_marked(CUevent mark, int at_start, int flags)
{
    return put_with(a, &(CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
                                            .value.programmaticEvent = {mark, flags, at_start}});
}
static CUresult put_begun(CUevent mark, int flags)
{
    return put_with(a, &(CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                            .value.launchCompletionEvent = {mark, flags}});
}
static void fill(CUstream stream) { cuMemsetD32Async(memory, 0, 1, stream); }

static void begin(void) { cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED); }

/* Ends the capture, prints the edges of the graph, and runs the graph. */
static void end(const char *name)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode from[16], to[16];
    CUgraphEdgeData data[16];
    size_t count = 16;
    CUresult result = cuStreamEndCapture(a, &graph);
    printf("%s: end %s", name, say(result));
    if (result == CUDA_SUCCESS) {
        if (cuGraphGetEdges(graph, from, to, data, &count) != CUDA_SUCCESS)
            count = 0;
        for (size_t i = 0; i < count; i++) {
            CUgraphNodeType first = CU_GRAPH_NODE_TYPE_EMPTY, second = CU_GRAPH_NODE_TYPE_EMPTY;
            cuGraphNodeGetType(from[i], &first);
            cuGraphNodeGetType(to[i], &second);
            printf("; node type %d to %d: edge type %d port %d to port %d", (int)first, (int)second, data[i].type,
                   data[i].from_port, data[i].to_port);
        }
        result = cuGraphInstantiate(&exec, graph, 0);
        printf("; instantiate %s", say(result));
        if (result == CUDA_SUCCESS) {
            printf("; launch %s", say(cuGraphLaunch(exec, a)));
            printf(" %s", say(cuStreamSynchronize(a)));
            cuGraphExecDestroy(exec);
        }
        cuGraphDestroy(graph);
    }
    printf("\n");
}
/* `later` waits for all work of `earlier`. */
static void follow(CUstream later, CUstream earlier, CUevent by)
{
    cuEventRecord(by, earlier);
    cuStreamWaitEvent(later, by, 0);
}

static void capture_dependent(void)
{
    begin(), put(a), put_dependent(a), end("dependent");
    begin(), put_dependent(a), end("dependent first");
    begin(), put(a), cuEventRecord(event, a), put_dependent(a), end("event between");
    begin(), put(a), follow(a, a, event), put_dependent(a), end("waited event between");
    begin(), put(a), fill(a), put_dependent(a), end("fill between");
    begin(), put(a), follow(b, a, event), put(b), follow(a, b, joined), put_dependent(a);
    end("own kernel and another stream's");
    begin(), put(a), follow(b, a, event), put_dependent(b), follow(a, b, joined), end("dependent in another stream");
}

/* A kernel or a fill of another stream waits for an event of a launch. */
static void capture_events(void)
{
    static const char *const events[] = {"programmatic event", "event at start", "completion event"};
    for (int k = 0; k < 3; k++)
        for (int filled = 0; filled < 2; filled++) {
            char name[64];
            snprintf(name, sizeof name, "%s, %s waits", events[k], filled ? "a fill" : "a kernel");
            begin();
            printf("%s ", say(k < 2 ? put_marked(event, k, 0) : put_begun(event, 0)));
            printf("%s ", say(cuStreamWaitEvent(b, event, 0)));
            printf("%s ", say(filled ? cuMemsetD32Async(memory, 0, 1, b) : put(b)));
            follow(a, b, joined), end(name);
        }
    begin(), put_marked(event, 0, 0), put(a), cuStreamWaitEvent(a, event, 0), put(a), end("own event");
}

static void refuse_events(void)
{
    printf("timed %s", say(put_marked(timed, 0, 0)));
    printf(" %s\n", say(put_begun(timed, 0)));
    printf("flags %s", say(put_marked(event, 0, 1)));
    printf(" %s\n", say(put_begun(event, 1)));
    printf("no event %s", say(put_marked(NULL, 0, 0)));
    printf(" %s\n", say(put_begun(NULL, 0)));
    printf("good %s", say(put_marked(event, 0, 0)));
    printf(" %s", say(put_begun(event, 0)));
    printf(" sync %s\n", say(cuStreamSynchronize(a)));
}

/* Makes a graph of a kernel node and a second node, which is a kernel node or an empty node. Then adds an edge of this
 * type and port between the nodes. */
static void add_edge(int type, int port, int empty)
{
    const CUDA_KERNEL_NODE_PARAMS what = {
        .func = kernel, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
    const CUgraphEdgeData data = {.type = (unsigned char)type, .from_port = (unsigned char)port};
    CUgraph graph = NULL;
    CUgraphNode from = NULL, to = NULL;
    CUgraphExec exec = NULL;
    cuGraphCreate(&graph, 0);
    cuGraphAddKernelNode(&from, graph, NULL, 0, &what);
    if (empty)
        cuGraphAddEmptyNode(&to, graph, NULL, 0);
    else
        cuGraphAddKernelNode(&to, graph, NULL, 0, &what);
    CUresult result = cuGraphAddDependencies(graph, &from, &to, &data, 1);
    printf("edge type %d port %d to %s: add %s", type, port, empty ? "empty" : "kernel", say(result));
    if (result == CUDA_SUCCESS)
        result = cuGraphInstantiate(&exec, graph, 0);
    printf(", instantiate %s\n", say(result));
    if (exec)
        cuGraphExecDestroy(exec);
    cuGraphDestroy(graph);
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS)
        return 77;
    if (cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS ||
        cuModuleLoadData(&module, text) != CUDA_SUCCESS || cuModuleGetFunction(&kernel, module, "k") != CUDA_SUCCESS ||
        cuStreamCreate(&a, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
        cuStreamCreate(&b, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS || cuMemAlloc(&memory, 64) != CUDA_SUCCESS ||
        cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
        cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS || cuEventCreate(&timed, 0) != CUDA_SUCCESS)
        return 1;
    capture_dependent();
    capture_events();
    refuse_events();
    for (int type = 0; type < 2; type++)
        for (int port = 0; port < 4; port++)
            for (int empty = 0; empty < 2; empty++)
                add_edge(type, port, empty);
    return cuDevicePrimaryCtxRelease(device) == CUDA_SUCCESS ? 0 : 1;
}
