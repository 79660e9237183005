/* Tests graphs: nodes of every kind, dependencies, copies, launches, updates, nodes that allocate memory, user objects,
 * and misuse. */
#include <fcntl.h>
#include <unistd.h>

#include "cu_check.h"

/* `add` computes *p += v, and `times` computes *p *= v: the result shows the order of two nodes. */
static const char steps[] = HEAD
    ".visible .entry add(.param .u64 p, .param .u32 v)\n"
    "{ .reg .b64 %a; .reg .b32 %x, %y; ld.param.u64 %a, [p]; ld.param.u32 %y, [v]; cvta.to.global.u64 %a, %a;\n"
    " ld.global.u32 %x, [%a]; add.u32 %x, %x, %y; st.global.u32 [%a], %x; ret; }\n"
    ".visible .entry times(.param .u64 p, .param .u32 v)\n"
    "{ .reg .b64 %a; .reg .b32 %x, %y; ld.param.u64 %a, [p]; ld.param.u32 %y, [v]; cvta.to.global.u64 %a, %a;\n"
    " ld.global.u32 %x, [%a]; mul.lo.u32 %x, %x, %y; st.global.u32 [%a], %x; ret; }\n";

static CUmodule module;
static CUfunction add_kernel, times_kernel;
static CUdeviceptr cell;

static void begin(void)
{
    open_device();
    module = load(steps);
    add_kernel = kernel(module, "add");
    times_kernel = kernel(module, "times");
    OK(call_cuMemAlloc(&cell, 64));
    OK(call_cuMemsetD32(cell, 0, 16));
}

static unsigned value(void)
{
    unsigned got = 0;
    OK(call_cuMemcpyDtoH(&got, cell, 4));
    return got;
}

static void set_value(unsigned to) { OK(call_cuMemcpyHtoD(cell, &to, 4)); }

/* Adds a node that runs `function` in one thread, with the cell and `operand`. */
static CUgraphNode step(CUgraph graph, CUfunction function, unsigned operand, const CUgraphNode *before, size_t count)
{
    CUgraphNode node = NULL;
    void *arguments[] = {&cell, &operand};
    CUDA_KERNEL_NODE_PARAMS what = {.func = function,
                                    .gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .kernelParams = arguments};
    OK(call_cuGraphAddKernelNode(&node, graph, before, count, &what));
    return node;
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec = NULL;
    OK(call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void CUDA_CB count_call(void *calls) { ++*(int *)calls; }

/* ---- structure ---- */

static void test_structure(void)
{
    begin();
    CUgraph graph = NULL;
    CUgraphNode nodes[8], from[8], to[8], empty = NULL;
    size_t count = 0;
    CUgraphNodeType type;
    FAILS(INVALID_VALUE, call_cuGraphCreate(NULL, 0));
    FAILS(INVALID_VALUE, call_cuGraphCreate(&graph, 1));
    OK(call_cuGraphCreate(&graph, 0));
    CUgraphNode a = step(graph, add_kernel, 1, NULL, 0), b = step(graph, add_kernel, 2, &a, 1),
                c = step(graph, add_kernel, 3, &a, 1);
    CUgraphNode both[] = {b, c}, twice[] = {b, b};
    OK(call_cuGraphAddEmptyNode(&empty, graph, both, 2));
    FAILS(INVALID_VALUE, call_cuGraphAddEmptyNode(&empty, graph, twice, 2));
    FAILS(INVALID_VALUE, call_cuGraphAddEmptyNode(&empty, graph, NULL, 2));
    OK(call_cuGraphGetNodes(graph, NULL, &count));
    CHECK(count == 4);
    count = 8;
    OK(call_cuGraphGetNodes(graph, nodes, &count));
    CHECK(count == 4 && nodes[0] == a && nodes[3] == empty && nodes[4] == NULL && nodes[7] == NULL);
    count = 2;
    OK(call_cuGraphGetNodes(graph, nodes, &count));
    CHECK(count == 2 && nodes[1] == b);
    count = 8;
    OK(call_cuGraphGetRootNodes(graph, nodes, &count));
    CHECK(count == 1 && nodes[0] == a);
    OK(call_cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    CHECK(count == 4);
    count = 8;
    OK(call_cuGraphGetEdges(graph, from, to, NULL, &count));
    CHECK(count == 4 && from[0] == a && to[0] == b && from[1] == a && to[1] == c && from[2] == b && to[2] == empty);
    FAILS(INVALID_VALUE, call_cuGraphGetEdges(graph, from, NULL, NULL, &count));
    count = 8;
    OK(call_cuGraphNodeGetDependencies(empty, nodes, NULL, &count));
    CHECK(count == 2 && nodes[0] == b && nodes[1] == c);
    count = 8;
    OK(call_cuGraphNodeGetDependentNodes(a, nodes, NULL, &count));
    CHECK(count == 2);
    OK(call_cuGraphNodeGetType(empty, &type));
    CHECK(type == CU_GRAPH_NODE_TYPE_EMPTY);

    FAILS(INVALID_VALUE, call_cuGraphAddDependencies(graph, &a, &b, NULL, 1)); /* is there */
    FAILS(INVALID_VALUE, call_cuGraphAddDependencies(graph, &a, &a, NULL, 1));
    FAILS(INVALID_VALUE, call_cuGraphRemoveDependencies(graph, &b, &c, NULL, 1)); /* is not */
    CUgraphNode sources[] = {b, a}, targets[] = {c, b};
    /* the call adds all dependencies or none */
    FAILS(INVALID_VALUE, call_cuGraphAddDependencies(graph, sources, targets, NULL, 2));
    OK(call_cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    CHECK(count == 4);
    OK(call_cuGraphRemoveDependencies(graph, &a, &b, NULL, 1));
    OK(call_cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    CHECK(count == 3);
    /* A node may depend on the trigger of a kernel, but the older query cannot return such a dependency. */
    CUgraphEdgeData part = {.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
                            .from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC},
                    data[8], wrong = {.reserved = {1}};
    FAILS(INVALID_VALUE, call_cuGraphAddDependencies(graph, &a, &b, &wrong, 1));
    FAILS(INVALID_VALUE, call_cuGraphAddDependencies(graph, &empty, &b, &part, 1));
    FAILS(INVALID_VALUE, call_cuGraphAddDependencies(graph, &a, &empty, &part, 1)); /* it is no kernel */
    OK(call_cuGraphAddDependencies(graph, &a, &b, &part, 1));
    count = 8;
    FAILS(LOSSY_QUERY, call_cuGraphGetEdges(graph, from, to, NULL, &count));
    OK(call_cuGraphGetEdges(graph, from, to, data, &count));
    CHECK(count == 4 && data[1].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && data[0].type == 0);

    CUgraph other = NULL;
    OK(call_cuGraphCreate(&other, 0));
    FAILS(INVALID_VALUE, call_cuGraphAddEmptyNode(&empty, other, &a, 1)); /* another graph's */
    OK(call_cuGraphDestroyNode(a));
    FAILS(INVALID_VALUE, call_cuGraphDestroyNode(a));
    FAILS(INVALID_VALUE, call_cuGraphNodeGetType(a, &type));
    OK(call_cuGraphGetNodes(graph, NULL, &count));
    CHECK(count == 3);
    count = 8;
    OK(call_cuGraphGetRootNodes(graph, nodes, &count));
    CHECK(count == 2);
    OK(call_cuGraphDestroy(other));
    FAILS(INVALID_VALUE, call_cuGraphDestroy(other));
    FAILS(INVALID_VALUE, call_cuGraphDestroy((CUgraph)(void *)module)); /* the handle has another kind */
    OK(call_cuGraphDestroy(graph));
    FAILS(INVALID_VALUE, call_cuGraphNodeGetType(b, &type));
    close_device();
}

static void test_order(void)
{
    begin();
    CUgraph graph = NULL;
    CUgraphExec exec;
    OK(call_cuGraphCreate(&graph, 0));
    CUgraphNode times = step(graph, times_kernel, 10, NULL, 0), add = step(graph, add_kernel, 3, NULL, 0);
    /* the node that was made first depends on the second one */
    OK(call_cuGraphAddDependencies(graph, &add, &times, NULL, 1));
    exec = instantiate(graph);
    set_value(1);
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(value() == 40);
    OK(call_cuGraphLaunch(exec, CU_STREAM_PER_THREAD));
    CHECK(value() == 430);
    /* The executable graph is a copy, so the graph may be destroyed. */
    OK(call_cuGraphDestroy(graph));
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(value() == 4330);
    FAILS(INVALID_HANDLE, call_cuGraphLaunch(exec, (CUstream)(uintptr_t)0x8));
    OK(call_cuGraphUpload(exec, NULL));
    OK(call_cuGraphExecDestroy(exec));
    FAILS(INVALID_VALUE, call_cuGraphLaunch(exec, NULL));
    FAILS(INVALID_VALUE, call_cuGraphExecDestroy(exec));

    OK(call_cuGraphCreate(&graph, 0)); /* a graph whose dependencies form a circle */
    times = step(graph, times_kernel, 10, NULL, 0);
    add = step(graph, add_kernel, 3, &times, 1);
    CUgraphNode third = step(graph, add_kernel, 3, &add, 1), wrong = NULL;
    OK(call_cuGraphAddDependencies(graph, &third, &add, NULL, 1));
    FAILS(INVALID_VALUE, call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    FAILS(INVALID_VALUE, call_cuGraphInstantiateWithParams(&exec, graph, &params));
    CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE &&
          (params.hErrNode_out == add || params.hErrNode_out == third));
    char log[64] = "";
    FAILS(INVALID_VALUE, sim_cuGraphInstantiate_v1(&exec, graph, &wrong, log, sizeof log));
    CHECK(strstr(log, "cycle") && wrong == params.hErrNode_out);
    FAILS(INVALID_VALUE, call_cuGraphInstantiateWithFlags(&exec, graph, 64));
    FAILS(NOT_SUPPORTED, call_cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
    OK(call_cuGraphDestroy(graph));
    OK(call_cuGraphCreate(&graph, 0)); /* of nothing */
    exec = instantiate(graph);
    OK(call_cuGraphLaunch(exec, NULL));
    close_device();
}

/* ---- kinds of nodes ---- */

static void test_kinds(void)
{
    begin();
    CUgraph graph = NULL, child = NULL, inner = NULL;
    CUgraphNode copy = NULL, fill = NULL, host = NULL, sub = NULL, record = NULL, wait = NULL, back = NULL, node = NULL;
    CUevent event = NULL, other = NULL, got_event = NULL;
    static unsigned in[4] = {5, 6, 7, 8}, out[4];
    int calls = 0;
    OK(call_cuEventCreate(&event, 0));
    OK(call_cuEventCreate(&other, 0));
    OK(call_cuGraphCreate(&graph, 0));
    OK(call_cuGraphCreate(&child, 0));
    CUDA_MEMCPY3D to = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = in,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = cell,
                        .WidthInBytes = 16,
                        .Height = 1,
                        .Depth = 1},
                  params3;
    OK(call_cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &to, primary));
    CUDA_MEMSET_NODE_PARAMS set = {.dst = cell + 4, .value = 9, .elementSize = 4, .width = 2, .height = 1}, got_set;
    OK(call_cuGraphAddMemsetNode(&fill, graph, &copy, 1, &set, primary));
    CUgraphNode inside = step(child, times_kernel, 3, NULL, 0);
    OK(call_cuGraphAddChildGraphNode(&sub, graph, &fill, 1, child));
    CUDA_HOST_NODE_PARAMS call = {.fn = count_call, .userData = &calls}, got_call;
    OK(call_cuGraphAddHostNode(&host, graph, &sub, 1, &call));
    OK(call_cuGraphAddEventRecordNode(&record, graph, &host, 1, event));
    OK(call_cuGraphAddEventWaitNode(&wait, graph, &record, 1, other));
    CUDA_MEMCPY3D from = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = cell,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .WidthInBytes = 16,
                          .Height = 1,
                          .Depth = 1};
    OK(call_cuGraphAddMemcpyNode(&back, graph, &wait, 1, &from, primary));
    CUgraphExec exec = instantiate(graph);
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(out[0] == 15 && out[1] == 9 && out[2] == 9 && out[3] == 8 && calls == 1);
    in[0] = 100; /* the node reads this memory when it is launched */
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(out[0] == 300 && calls == 2);
    float milliseconds = -1;
    OK(call_cuEventRecord(other, NULL));
    OK(call_cuEventElapsedTime(&milliseconds, event, other));
    CHECK(milliseconds >= 0);

    /* Queries return the parameters that were set. */
    OK(call_cuGraphMemcpyNodeGetParams(copy, &params3));
    CHECK(params3.srcHost == in && params3.WidthInBytes == 16);
    OK(call_cuGraphMemsetNodeGetParams(fill, &got_set));
    CHECK(got_set.dst == cell + 4 && got_set.value == 9 && got_set.width == 2);
    OK(call_cuGraphHostNodeGetParams(host, &got_call));
    CHECK(got_call.fn == count_call && got_call.userData == &calls);
    OK(call_cuGraphEventRecordNodeGetEvent(record, &got_event));
    CHECK(got_event == event);
    OK(call_cuGraphEventWaitNodeGetEvent(wait, &got_event));
    CHECK(got_event == other);
    OK(call_cuGraphChildGraphNodeGetGraph(sub, &inner));
    CHECK(inner != child && inner != NULL);
    OK(call_cuGraphNodeFindInClone(&node, inside, inner));
    CUDA_KERNEL_NODE_PARAMS got_kernel;
    OK(call_cuGraphKernelNodeGetParams(node, &got_kernel));
    CHECK(got_kernel.func == times_kernel && *(unsigned *)got_kernel.kernelParams[1] == 3);
    /* the inner graph is destroyed with its node */
    FAILS(INVALID_VALUE, call_cuGraphDestroy(inner));
    FAILS(INVALID_VALUE, call_cuGraphMemsetNodeGetParams(copy, &got_set)); /* another kind */
    FAILS(INVALID_VALUE, call_cuGraphHostNodeGetParams(host, NULL));

    /* A change by the handle of a child graph's node affects only the executable graph. */
    unsigned seven = 7;
    void *arguments[] = {&cell, &seven};
    got_kernel.kernelParams = arguments;
    OK(call_cuGraphExecKernelNodeSetParams(exec, node, &got_kernel));
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(out[0] == 700);
    /* `inside` is a node of the graph before this one */
    FAILS(INVALID_VALUE, call_cuGraphExecKernelNodeSetParams(exec, inside, &got_kernel));
    OK(call_cuGraphNodeSetEnabled(exec, node, 0));
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(out[0] == 100);
    unsigned enabled = 7;
    OK(call_cuGraphNodeGetEnabled(exec, node, &enabled));
    CHECK(enabled == 0);
    FAILS(INVALID_VALUE, call_cuGraphNodeSetEnabled(exec, host, 0));

    /* Parameters of nodes that are refused. */
    FAILS(INVALID_HANDLE, call_cuGraphAddEventRecordNode(&node, graph, NULL, 0, NULL));
    FAILS(INVALID_VALUE, call_cuGraphAddHostNode(&node, graph, NULL, 0, &(CUDA_HOST_NODE_PARAMS){0}));
    FAILS(INVALID_VALUE, call_cuGraphAddChildGraphNode(&node, graph, NULL, 0, NULL));
    to.dstDevice = cell + 60;
    FAILS(INVALID_VALUE, call_cuGraphAddMemcpyNode(&node, graph, NULL, 0, &to, primary));
    set.elementSize = 3;
    FAILS(INVALID_VALUE, call_cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, primary));
    got_kernel.gridDimX = 0;
    FAILS(INVALID_VALUE, call_cuGraphAddKernelNode(&node, graph, NULL, 0, &got_kernel));
    got_kernel.func = NULL;
    FAILS(INVALID_HANDLE, call_cuGraphAddKernelNode(&node, graph, NULL, 0, &got_kernel));
    /* the parameters have no conditional handle */
    CUgraphNodeParams conditional = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    FAILS(INVALID_VALUE, call_cuGraphAddNode(&node, graph, NULL, NULL, 0, &conditional));
    conditional.type = (CUgraphNodeType)77;
    FAILS(INVALID_VALUE, call_cuGraphAddNode(&node, graph, NULL, NULL, 0, &conditional));
    close_device();
}

/* ---- copies and changes ---- */

static void test_clone(void)
{
    begin();
    CUgraph graph = NULL, clone = NULL;
    CUgraphNode node = NULL;
    OK(call_cuGraphCreate(&graph, 0));
    CUgraphNode a = step(graph, add_kernel, 1, NULL, 0), b = step(graph, times_kernel, 5, &a, 1);
    OK(call_cuGraphClone(&clone, graph));
    OK(call_cuGraphDestroyNode(a));
    CUgraphExec first = instantiate(graph), second = instantiate(clone);
    set_value(1);
    OK(call_cuGraphLaunch(first, NULL));
    CHECK(value() == 5);
    OK(call_cuGraphLaunch(second, NULL));
    CHECK(value() == 30);
    OK(call_cuGraphNodeFindInClone(&node, b, clone));
    FAILS(INVALID_VALUE, call_cuGraphNodeFindInClone(&node, node, clone));
    FAILS(INVALID_VALUE, call_cuGraphNodeFindInClone(&node, b, graph));
    FAILS(INVALID_VALUE, call_cuGraphClone(NULL, graph));
    char path[] = "/tmp/kiln-test-graph-XXXXXX", text[512] = "";
    int file = mkstemp(path);
    CHECK(file >= 0);
    OK(call_cuGraphDebugDotPrint(clone, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    close(file); /* the program has replaced the file that it opened */
    file = open(path, O_RDONLY);
    CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
    CHECK(strstr(text, "digraph") && strstr(text, "\"0\" -> \"1\"") && strstr(text, "times"));
    close(file);
    unlink(path);
    FAILS(OPERATING_SYSTEM, call_cuGraphDebugDotPrint(clone, "/nowhere/at/all", 0));
    close_device();
}

static void test_change(void)
{
    begin();
    CUgraph graph = NULL, next = NULL;
    unsigned operand = 50;
    void *arguments[] = {&cell, &operand};
    OK(call_cuGraphCreate(&graph, 0));
    CUgraphNode a = step(graph, add_kernel, 1, NULL, 0), b = step(graph, times_kernel, 5, &a, 1);
    CUgraphExec exec = instantiate(graph);
    CUDA_KERNEL_NODE_PARAMS what;
    OK(call_cuGraphKernelNodeGetParams(a, &what));
    what.kernelParams = arguments;
    OK(call_cuGraphKernelNodeSetParams(a, &what)); /* changes the graph, not the executable graph that was made of it */
    operand = 0;
    set_value(1);
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(value() == 10);
    CUgraphExecUpdateResultInfo info;
    OK(call_cuGraphExecUpdate(exec, graph, &info));
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(value() == 300);

    OK(call_cuGraphCreate(&next, 0)); /* a graph of the same shape, but with other kernels */
    CUgraphNode c = step(next, times_kernel, 2, NULL, 0), d = step(next, add_kernel, 4, &c, 1);
    OK(call_cuGraphExecUpdate(exec, next, &info));
    set_value(1);
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(value() == 6);
    OK(call_cuGraphRemoveDependencies(next, &c, &d, NULL, 1));
    FAILS(GRAPH_EXEC_UPDATE_FAILURE, call_cuGraphExecUpdate(exec, next, &info));
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(call_cuGraphDestroyNode(d));
    CUgraphNode empty = NULL;
    OK(call_cuGraphAddEmptyNode(&empty, next, &c, 1));
    FAILS(GRAPH_EXEC_UPDATE_FAILURE, call_cuGraphExecUpdate(exec, next, &info));
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && info.errorNode == empty);
    set_value(1);
    OK(call_cuGraphLaunch(exec, NULL)); /* the executable graph is unchanged */
    CHECK(value() == 6);
    CUgraphNodeParams general = {.type = CU_GRAPH_NODE_TYPE_HOST};
    FAILS(INVALID_VALUE, call_cuGraphNodeSetParams(b, &general)); /* a kernel node stays a kernel node */

    /* attributes */
    CUkernelNodeAttrValue attribute = {.priority = -2}, got;
    OK(call_cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &attribute));
    OK(call_cuGraphKernelNodeCopyAttributes(b, a));
    OK(call_cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
    CHECK(got.priority == -2);
    FAILS(INVALID_VALUE, call_cuGraphKernelNodeGetAttribute(b, (CUkernelNodeAttrID)99, &got));
    close_device();
}

/* ---- memory that nodes of a graph allocate ---- */

static CUDA_MEM_ALLOC_NODE_PARAMS memory_of(size_t bytes)
{
    return (CUDA_MEM_ALLOC_NODE_PARAMS){.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}},
                                        .bytesize = bytes};
}

static void test_memory(void)
{
    begin();
    CUgraph graph = NULL, clone = NULL;
    CUgraphNode alloc = NULL, fill = NULL, back = NULL, gone = NULL;
    CUgraphExec exec = NULL, second = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = memory_of(0);
    unsigned out[4] = {0};
    cuuint64_t used = 1, most = 0;
    OK(call_cuGraphCreate(&graph, 0));
    FAILS(INVALID_VALUE, call_cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    memory = memory_of(16);
    OK(call_cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    CHECK(memory.dptr != 0);
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(out, memory.dptr, 16)); /* the address exists, but has no memory yet */
    CUDA_MEMSET_NODE_PARAMS set = {.dst = memory.dptr, .value = 3, .elementSize = 4, .width = 4, .height = 1};
    OK(call_cuGraphAddMemsetNode(&fill, graph, &alloc, 1, &set, primary));
    CUDA_MEMCPY3D from = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = memory.dptr,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .WidthInBytes = 16,
                          .Height = 1,
                          .Depth = 1};
    OK(call_cuGraphAddMemcpyNode(&back, graph, &fill, 1, &from, primary));
    exec = instantiate(graph);
    /* a graph with memory has one executable graph at a time */
    FAILS(NOT_SUPPORTED, call_cuGraphInstantiateWithFlags(&second, graph, 0));
    FAILS(NOT_SUPPORTED, call_cuGraphClone(&clone, graph));
    FAILS(NOT_SUPPORTED, call_cuGraphDestroyNode(fill));
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(out[0] == 3 && out[3] == 3);
    OK(call_cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 16);
    OK(call_cuMemcpyDtoH(out, memory.dptr, 16));          /* the memory outlives the launch */
    FAILS(INVALID_VALUE, call_cuGraphLaunch(exec, NULL)); /* the next launch fails, because the memory was not freed */
    OK(call_cuMemFreeAsync(memory.dptr, NULL));
    OK(call_cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    OK(call_cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &most));
    CHECK(used == 0 && most == 16);
    FAILS(INVALID_VALUE, call_cuDeviceSetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    OK(call_cuDeviceSetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &used));
    OK(call_cuDeviceGraphMemTrim(device));
    OK(call_cuGraphLaunch(exec, NULL));
    OK(call_cuMemFree(memory.dptr));
    OK(call_cuGraphExecDestroy(exec));

    OK(call_cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    cuuint64_t flags = 0;
    OK(call_cuGraphExecGetFlags(exec, &flags));
    CHECK(flags == CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    OK(call_cuGraphLaunch(exec, NULL));
    OK(call_cuGraphLaunch(exec, NULL));
    OK(call_cuGraphExecDestroy(exec));
    OK(call_cuMemFree(memory.dptr));

    OK(call_cuGraphAddMemFreeNode(&gone, graph, &back, 1, memory.dptr)); /* the same graph frees the memory */
    FAILS(INVALID_VALUE, call_cuGraphAddMemFreeNode(&gone, graph, &back, 1, cell));
    exec = instantiate(graph);
    OK(call_cuGraphLaunch(exec, NULL));
    OK(call_cuGraphLaunch(exec, NULL));
    FAILS(INVALID_VALUE, call_cuMemcpyDtoH(out, memory.dptr, 16));
    close_device();
}

/* ---- user objects ---- */

static void test_users(void)
{
    begin();
    CUgraph graph = NULL, clone = NULL;
    CUuserObject object = NULL;
    int gone = 0;
    FAILS(INVALID_VALUE, call_cuUserObjectCreate(&object, &gone, count_call, 1, 0));
    FAILS(INVALID_VALUE, call_cuUserObjectCreate(&object, &gone, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(call_cuUserObjectCreate(&object, &gone, count_call, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(call_cuUserObjectRetain(object, 2));
    OK(call_cuUserObjectRelease(object, 2));
    FAILS(INVALID_VALUE, call_cuUserObjectRelease(object, 2));
    OK(call_cuGraphCreate(&graph, 0));
    FAILS(INVALID_VALUE, call_cuGraphRetainUserObject(graph, object, 0, 0));
    OK(call_cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    FAILS(INVALID_VALUE, call_cuGraphReleaseUserObject(graph, object, 2));
    OK(call_cuGraphClone(&clone, graph));
    CUgraphExec exec = instantiate(graph);
    OK(call_cuGraphDestroy(graph));
    OK(call_cuGraphExecDestroy(exec));
    CHECK(gone == 0);
    OK(call_cuGraphReleaseUserObject(clone, object, 1));
    CHECK(gone == 1);
    FAILS(INVALID_VALUE, call_cuUserObjectRetain(object, 1));
    OK(call_cuUserObjectCreate(&object, &gone, count_call, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(call_cuGraphRetainUserObject(clone, object, 1, 0));
    OK(call_cuUserObjectRelease(object, 1));
    CHECK(gone == 1);
    close_device(); /* destroys all objects that are left */
    CHECK(gone == 2);
}

/* ---- faults, host functions, and depth of child graphs ---- */

static void test_faults(void)
{
    begin();
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    int calls = 0;
    CUdeviceptr good = cell, bad = cell + (1 << 20);
    OK(call_cuGraphCreate(&graph, 0));
    cell = bad;
    node = step(graph, add_kernel, 1, NULL, 0);
    cell = good;
    CUDA_HOST_NODE_PARAMS call = {.fn = count_call, .userData = &calls};
    OK(call_cuGraphAddHostNode(&node, graph, &node, 1, &call));
    CUgraphExec exec = instantiate(graph);
    OK(call_cuGraphLaunch(exec, NULL)); /* the next call returns the error */
    CHECK(calls == 0);
    FAILS(ILLEGAL_ADDRESS, call_cuCtxSynchronize());
    FAILS(ILLEGAL_ADDRESS, call_cuGraphLaunch(exec, NULL));
    CHECK(strstr(kiln__sim_last_fault(), "add") != NULL);
    close_device();

    begin(); /* the memory is freed after the graph was made */
    OK(call_cuGraphCreate(&graph, 0));
    CUDA_MEMSET_NODE_PARAMS set = {.dst = cell, .value = 9, .elementSize = 4, .width = 2, .height = 1};
    OK(call_cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, primary));
    exec = instantiate(graph);
    OK(call_cuMemFree(cell));
    OK(call_cuGraphLaunch(exec, NULL));
    FAILS(ILLEGAL_ADDRESS, call_cuCtxSynchronize());
    CHECK(strstr(kiln__sim_last_fault(), "memset") != NULL);
    close_device();

    begin(); /* the module is unloaded after the graph was made */
    OK(call_cuGraphCreate(&graph, 0));
    node = step(graph, add_kernel, 1, NULL, 0);
    exec = instantiate(graph);
    OK(call_cuModuleUnload(module));
    FAILS(INVALID_HANDLE, call_cuGraphLaunch(exec, NULL));
    OK(call_cuCtxSynchronize());
    close_device();
}

static CUresult inside[3];

static void CUDA_CB call_driver(void *user)
{
    inside[0] = call_cuMemsetD32(cell, 1, 1);
    inside[1] = call_cuCtxSynchronize();
    inside[2] = call_cuGraphLaunch(*(CUgraphExec *)user, NULL);
}

static void CUDA_CB destroy_context(void *user)
{
    (void)user;
    call_cuDevicePrimaryCtxReset(device);
}

static void test_host(void)
{
    begin();
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUgraphExec exec = NULL;
    CUDA_HOST_NODE_PARAMS call = {.fn = call_driver, .userData = &exec};
    OK(call_cuGraphCreate(&graph, 0));
    OK(call_cuGraphAddHostNode(&node, graph, NULL, 0, &call));
    exec = instantiate(graph);
    OK(call_cuGraphLaunch(exec, NULL));
    for (int i = 0; i < 3; i++)
        CHECK(inside[i] == CUDA_ERROR_NOT_PERMITTED);
    call.fn = destroy_context; /* the context ends during the launch */
    OK(call_cuGraphExecHostNodeSetParams(exec, node, &call));
    call_cuGraphLaunch(exec, NULL);
    FAILS(CONTEXT_IS_DESTROYED, call_cuCtxSynchronize());
    OK(call_cuDevicePrimaryCtxRetain(&primary, device));
    close_device();
}

static void test_depth(void)
{
    begin();
    CUgraph graph = NULL, outer = NULL;
    CUgraphNode node = NULL;
    CUresult result = CUDA_SUCCESS;
    int levels = 0;
    OK(call_cuGraphCreate(&graph, 0));
    step(graph, add_kernel, 1, NULL, 0);
    while (result == CUDA_SUCCESS && levels < 100) {
        OK(call_cuGraphCreate(&outer, 0));
        result = call_cuGraphAddChildGraphNode(&node, outer, NULL, 0, graph);
        if (result == CUDA_SUCCESS) {
            levels++;
            OK(call_cuGraphDestroy(graph));
            graph = outer;
        }
    }
    CHECK(result == CUDA_ERROR_NOT_SUPPORTED && levels == 32);
    CUgraphExec exec = instantiate(graph);
    OK(call_cuGraphLaunch(exec, NULL));
    CHECK(value() == 1);
    CUgraph inner = graph; /* the innermost graph cannot get another level either */
    for (int i = 0; i < 32; i++) {
        size_t one = 1;
        OK(call_cuGraphGetNodes(inner, &node, &one));
        OK(call_cuGraphChildGraphNodeGetGraph(node, &inner));
    }
    FAILS(NOT_SUPPORTED, call_cuGraphAddChildGraphNode(&node, inner, NULL, 0, outer));
    close_device();
}

/* Sets new parameters of nodes in the graph and in its executable graph. Each must take effect. A node that does not
 * exist must be refused. */
static void test_parameters(void)
{
    begin();
    CUgraph graph = NULL;
    CUgraphNode copy = NULL, fill = NULL, host = NULL, add = NULL;
    unsigned in[2] = {5, 50}, calls[2] = {0, 0};
    CUDA_MEMCPY3D put = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = &in[0],
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = cell,
                         .WidthInBytes = 4,
                         .Height = 1,
                         .Depth = 1};
    CUDA_MEMSET_NODE_PARAMS set = {.dst = cell + 4, .value = 1, .elementSize = 4, .width = 1, .height = 1};
    CUDA_HOST_NODE_PARAMS call = {.fn = count_call, .userData = &calls[0]};
    OK(call_cuGraphCreate(&graph, 0));
    OK(call_cuGraphAddMemcpyNode(&copy, graph, NULL, 0, &put, primary));
    OK(call_cuGraphAddMemsetNode(&fill, graph, NULL, 0, &set, primary));
    OK(call_cuGraphAddHostNode(&host, graph, NULL, 0, &call));
    add = step(graph, add_kernel, 1, &copy, 1);
    CUgraphExec before = instantiate(graph);
    put.srcHost = &in[1];
    set.value = 2;
    call.userData = &calls[1];
    OK(call_cuGraphMemcpyNodeSetParams(copy, &put));
    OK(call_cuGraphMemsetNodeSetParams(fill, &set));
    OK(call_cuGraphHostNodeSetParams(host, &call));
    CUgraphExec after = instantiate(graph);
    static const struct {
        unsigned number, filled;
        /* 0 is instantiated before the change, 1 from the changed graph, and 2 before the change and then updated */
    } wanted[] = {{6, 1}, {51, 2}, {51, 2}};
    for (int round = 0; round < 3; round++) {
        unsigned got[2];
        if (round == 2) {
            OK(call_cuGraphExecMemcpyNodeSetParams(before, copy, &put, primary));
            OK(call_cuGraphExecMemsetNodeSetParams(before, fill, &set, primary));
            OK(call_cuGraphExecHostNodeSetParams(before, host, &call));
        }
        OK(call_cuGraphLaunch(round == 1 ? after : before, NULL));
        OK(call_cuMemcpyDtoH(got, cell, sizeof got));
        CHECK(got[0] == wanted[round].number && got[1] == wanted[round].filled);
        CHECK(calls[0] == 1 && calls[1] == (unsigned)round);
    }
    FAILS(INVALID_VALUE, call_cuGraphMemcpyNodeSetParams(copy, NULL));
    FAILS(INVALID_VALUE, call_cuGraphMemsetNodeSetParams(fill, NULL));
    FAILS(INVALID_VALUE, call_cuGraphHostNodeSetParams(host, NULL));
    FAILS(INVALID_VALUE, call_cuGraphKernelNodeSetParams(add, NULL));
    FAILS(INVALID_VALUE, call_cuGraphBatchMemOpNodeSetParams(add, NULL));
    FAILS(INVALID_VALUE, call_cuGraphNodeSetParams(add, NULL));
    FAILS(INVALID_VALUE, call_cuGraphExecMemcpyNodeSetParams(after, copy, NULL, primary));
    FAILS(INVALID_VALUE, call_cuGraphExecMemsetNodeSetParams(after, fill, NULL, primary));
    FAILS(INVALID_VALUE, call_cuGraphExecHostNodeSetParams(after, host, NULL));
    FAILS(INVALID_VALUE, call_cuGraphExecKernelNodeSetParams(after, add, NULL));
    FAILS(INVALID_VALUE, call_cuGraphExecNodeSetParams(after, add, NULL));
    FAILS(INVALID_VALUE, call_cuGraphMemcpyNodeSetParams(fill, &put)); /* another kind */
    FAILS(INVALID_VALUE, call_cuGraphExecMemsetNodeSetParams(after, copy, &set, primary));
    FAILS(INVALID_VALUE, call_cuGraphHostNodeSetParams(NULL, &call));

    CUkernelNodeAttrValue attribute = {.cooperative = 1}, got = {.cooperative = 0};
    OK(call_cuGraphKernelNodeSetAttribute(add, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &attribute));
    OK(call_cuGraphKernelNodeGetAttribute(add, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
    CHECK(got.cooperative == 1);
    attribute = (CUkernelNodeAttrValue){.accessPolicyWindow = {.num_bytes = 4096, .hitRatio = 0.5f}};
    OK(call_cuGraphKernelNodeSetAttribute(add, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &attribute));
    OK(call_cuGraphKernelNodeGetAttribute(add, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &got));
    CHECK(got.accessPolicyWindow.num_bytes == 4096 && got.accessPolicyWindow.hitRatio > 0.4f);
    for (unsigned axis = 0; axis < 4; axis++) { /* the axes of a grid of one block */
        attribute = (CUkernelNodeAttrValue){.clusterDim = {1 + (axis == 0), 1 + (axis == 1), 1 + (axis == 2)}};
        CUresult result = call_cuGraphKernelNodeSetAttribute(add, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &attribute);
        CHECK(result == (axis < 3 ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS));
    }
    FAILS(INVALID_VALUE, call_cuGraphKernelNodeSetAttribute(add, (CUkernelNodeAttrID)99, &attribute));
    FAILS(INVALID_VALUE, call_cuGraphKernelNodeSetAttribute(copy, CU_LAUNCH_ATTRIBUTE_PRIORITY, &attribute));
    FAILS(INVALID_VALUE, call_cuGraphKernelNodeCopyAttributes(add, copy));
    FAILS(INVALID_VALUE, call_cuGraphKernelNodeCopyAttributes(copy, add));
    FAILS(INVALID_VALUE, call_cuGraphKernelNodeCopyAttributes(add, NULL));
    close_device();
}

static const check_case cases[] = {
    {"structure", test_structure}, {"order", test_order},          {"kinds of nodes", test_kinds},
    {"clone", test_clone},         {"change", test_change},        {"memory", test_memory},
    {"user objects", test_users},  {"faults", test_faults},        {"functions of the host", test_host},
    {"depth", test_depth},         {"parameters", test_parameters}};
CU_SUITE("sim graph", cases)
