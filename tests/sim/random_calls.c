/* random_calls.c - the calls of random_program.c that query, copy and change objects. No call passes on a pointer into
 * an object, such as the parameters of a node, because another thread may destroy the object meanwhile. Such a use
 * would be an error of the program. */
#include "random_program.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* the program also calls deprecated functions */

enum { BYTES = 8192 };
/* host memory for copies; it outlives the threads, because graphs may use it later */
static unsigned char bytes[BYTES];
static _Thread_local int number;
static _Thread_local size_t size;

static unsigned few(void) { return 1 + pick(pick(8) ? 600 : BYTES); }
/* offset() and part() return a random offset in a row of an array, and a random number of its bytes. */
static unsigned offset(void) { return 4 * pick(8); }
static unsigned part(void) { return 4 + 4 * pick(8); }
static CUfunction any_function(void) { return GET(CUfunction, FUNCTION); }
static CUkernel any_kernel(void) { return GET(CUkernel, FUNCTION); }
static CUgraphNode any_node(void) { return GET(CUgraphNode, NODE); }
static CUgraph any_graph(void) { return GET(CUgraph, GRAPH); }
static CUcontext any_context(void)
{
    CUcontext current = NULL;
    if (pick(4))
        cuCtxGetCurrent(&current);
    return current ? current : GET(CUcontext, CONTEXT);
}

/* ---- contexts and devices ---- */

static void query_context(void)
{
    CUcontext context = GET(CUcontext, CONTEXT);
    unsigned flags;
    unsigned long long id;
    CUdevice device;
    int other;
    switch (pick(16)) {
    case 0: cuCtxGetId(context, &id); break;
    case 1: cuCtxGetApiVersion(context, &flags); break;
    case 2: cuCtxGetLimit(&size, (CUlimit)pick(CU_LIMIT_MAX + 1)); break;
    case 3: cuCtxSetLimit((CUlimit)pick(CU_LIMIT_MAX + 1), (size_t)pick(20) << pick(30)); break;
    case 4:
        if (cuCtxPushCurrent(context) == CUDA_SUCCESS)
            cuCtxPopCurrent(&context);
        break;
    case 5:
        if (cuCtxAttach(&context, 0) == CUDA_SUCCESS)
            cuCtxDetach(context);
        break;
    case 6: cuCtxDisablePeerAccess(context); break;
    case 7: cuCtxGetDevice(&device); break;
    case 8: cuCtxGetFlags(&flags); break;
    case 9: cuCtxSetFlags(pick(2) ? CU_CTX_SCHED_YIELD : 0); break;
    case 10: cuDevicePrimaryCtxGetState(any_device(), &flags, &number); break;
    case 11: cuDevicePrimaryCtxSetFlags(any_device(), pick(2) ? CU_CTX_SCHED_SPIN : 0); break;
    case 12:
        if (pick(20) == 0)
            cuDevicePrimaryCtxRelease(any_device());
        break;
    case 13: cuCtxGetStreamPriorityRange(&number, &other); break;
    case 14: cuDeviceCanAccessPeer(&number, any_device(), any_device()); break;
    default: cuMemGetInfo(&size, &(size_t){0});
    }
}

static void query_device(void)
{
    char text[64];
    CUuuid uuid;
    CUdevice device;
    CUmemoryPool pool;
    cuuint64_t value = pick(100000);
    switch (pick(12)) {
    case 0: cuDeviceGetName(text, (int)pick(sizeof text), any_device()); break;
    case 1: cuDeviceGetUuid(&uuid, any_device()); break;
    case 2: cuDeviceGetAttribute(&number, (CUdevice_attribute)pick(CU_DEVICE_ATTRIBUTE_MAX + 2), any_device()); break;
    case 3:
        if (cuDeviceGetPCIBusId(text, sizeof text, any_device()) == CUDA_SUCCESS)
            cuDeviceGetByPCIBusId(&device, text);
        break;
    case 4: cuDeviceTotalMem(&size, any_device()); break;
    case 5: KEEP(POOL, cuDeviceGetDefaultMemPool(&pool, any_device()), pool); break;
    case 6: KEEP(POOL, cuDeviceGetMemPool(&pool, any_device()), pool); break;
    case 7: cuDeviceSetMemPool(any_device(), GET(CUmemoryPool, POOL)); break;
    case 8: cuDeviceGraphMemTrim(any_device()); break;
    case 9: cuDeviceGetGraphMemAttribute(any_device(), (CUgraphMem_attribute)pick(4), &value); break;
    case 10: cuDeviceSetGraphMemAttribute(any_device(), (CUgraphMem_attribute)pick(4), &value); break;
    default: cuDeviceGetP2PAttribute(&number, (CUdevice_P2PAttribute)(1 + pick(4)), any_device(), any_device());
    }
}

/* ---- streams and events ---- */

static void CUDA_CB end_stream(CUstream stream, CUresult result, void *none)
{
    (void)stream, (void)result;
    destroy_any(none);
}

static void query_stream(void)
{
    const CUstream stream = any_stream();
    CUstreamAttrValue value = {.priority = -(int)pick(7)};
    CUstreamCaptureStatus status;
    CUstreamCaptureMode mode = (CUstreamCaptureMode)pick(3);
    CUgraphNode node = any_node();
    CUcontext context;
    CUstream made;
    CUgraph graph;
    cuuint64_t id;
    unsigned flags;
    float time;
    switch (pick(16)) {
    case 0: cuStreamGetAttribute(stream, (CUstreamAttrID)pick(12), &value); break;
    case 1: cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value); break;
    case 2: cuStreamCopyAttributes(stream, any_stream()); break;
    case 3: cuStreamGetFlags(stream, &flags); break;
    case 4: KEEP(CONTEXT, cuStreamGetCtx(stream, &context), context); break;
    case 5: cuStreamIsCapturing(stream, &status); break;
    case 6:
        if (cuStreamGetCaptureInfo(stream, &status, &id, &graph, NULL, NULL, &size) == CUDA_SUCCESS &&
            status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
            keep(GRAPH, (uintptr_t)graph);
        break;
    case 7: cuStreamUpdateCaptureDependencies(stream, &node, NULL, pick(2), pick(2)); break;
    case 8:
        mode = pick(8) ? CU_STREAM_CAPTURE_MODE_RELAXED : mode;
        cuThreadExchangeStreamCaptureMode(&mode);
        break;
    case 9: cuStreamAddCallback(stream, end_stream, NULL, 0); break;
    case 10: KEEP(STREAM, cuStreamCreateWithPriority(&made, pick(2), -(int)pick(9)), made); break;
    case 11: cuStreamAttachMemAsync(stream, get(SHARED), 0, CU_MEM_ATTACH_SINGLE); break;
    case 12: cuEventRecordWithFlags(GET(CUevent, EVENT), stream, pick(2)); break;
    case 13: cuStreamWaitEvent(stream, GET(CUevent, EVENT), pick(2)); break;
    case 14: cuEventSynchronize(GET(CUevent, EVENT)); break;
    default: cuEventElapsedTime(&time, GET(CUevent, EVENT), GET(CUevent, EVENT));
    }
}

/* Lets a stream write a value, or wait for a value. */
static void change_value(void)
{
    const CUdeviceptr at = any_address() & ~(CUdeviceptr)7;
    CUstreamBatchMemOpParams list[3] = {{0}};
    const unsigned count = 1 + pick(3);
    for (unsigned i = 0; i < count; i++) {
        list[i].waitValue.operation = pick(4) ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64;
        list[i].waitValue.address = at + 8 * (CUdeviceptr)pick(4);
    }
    CUDA_BATCH_MEM_OP_NODE_PARAMS node = {GET(CUcontext, CONTEXT), count, list, 0};
    CUgraphNode made = NULL, of;
    CUgraphExec exec;
    switch (pick(6)) {
    case 0: cuStreamWriteValue64(any_stream(), at, pick(2), 0); break;
    case 1: cuStreamWaitValue32(any_stream(), at, pick(2), CU_STREAM_WAIT_VALUE_GEQ); break;
    case 2: cuStreamBatchMemOp(any_stream(), count, list, 0); break;
    case 3: KEEP(VALUE_NODE, cuGraphAddBatchMemOpNode(&made, any_graph(), NULL, 0, &node), made); break;
    case 4: cuGraphBatchMemOpNodeSetParams(GET(CUgraphNode, VALUE_NODE), &node); break;
    default: exec = get_exec(VALUE_NODE, &of), cuGraphExecBatchMemOpNodeSetParams(exec, of, &node);
    }
}

/* ---- memory ---- */

static void copy_memory(void)
{
    const CUdeviceptr at = any_address();
    const CUstream stream = any_stream();
    CUarray array = GET(CUarray, ARRAY);
    switch (pick(19)) {
    case 0: cuMemcpyHtoD(at, bytes, few()); break;
    case 1: cuMemcpyDtoH(bytes, at, few()); break;
    case 2: cuMemcpyHtoDAsync(at, bytes, few(), stream); break;
    case 3: cuMemcpyDtoHAsync(bytes, at, few(), stream); break;
    case 4: cuMemcpyDtoD(at, any_address(), few()); break;
    case 5: cuMemcpyPeer(at, any_context(), any_address(), any_context(), few()); break;
    case 6: cuMemcpyHtoA(array, offset(), bytes, part()); break;
    case 7: cuMemcpyAtoH(bytes, array, offset(), part()); break;
    case 8: cuMemcpyDtoA(array, offset(), at, part()); break;
    case 9: cuMemcpyAtoD(at, array, offset(), part()); break;
    case 10: cuMemcpyAtoA(array, offset(), GET(CUarray, ARRAY), offset(), part()); break;
    case 11: cuMemsetD8(at, 1, few()); break;
    case 12: cuMemsetD16Async(at & ~(CUdeviceptr)1, 2, few(), stream); break;
    case 13: cuMemsetD32(at & ~(CUdeviceptr)3, 3, few()); break;
    case 14: cuMemsetD2D8Async(at, pick(2000), 4, pick(900), pick(9), stream); break;
    case 15: cuMemsetD2D32(at & ~(CUdeviceptr)3, (size_t)pick(500) * 4, 5, pick(200), pick(9)); break;
    case 16: cuMemcpyAtoHAsync(bytes, array, offset(), part(), stream); break;
    case 17: cuMemcpyHtoAAsync(array, offset(), bytes, part(), stream); break;
    default: /* not with host memory: a copy from freed host memory would end the program, as on a GPU */
        cuMemcpyAsync(get(MEMORY), get(pick(2) ? MEMORY : RANGE), few(), stream);
    }
}

/* Sets one side of a copy with up to three dimensions. */
static CUDA_MEMCPY3D any_copy(void)
{
    CUDA_MEMCPY3D copy = {.WidthInBytes = part(), .Height = 1 + pick(8), .Depth = 1 + pick(20) / 19};
    const bool out = pick(2);
    copy.srcMemoryType = out ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
    copy.srcArray = GET(CUarray, ARRAY);
    copy.srcDevice = any_address();
    copy.srcPitch = 64 + 16 * pick(4);
    copy.srcHeight = 16 + pick(4);
    copy.srcXInBytes = offset();
    copy.srcY = pick(9);
    copy.dstMemoryType = pick(4) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
    copy.dstDevice = copy.dstMemoryType == CU_MEMORYTYPE_DEVICE ? any_address() : get(MEMORY);
    copy.dstPitch = 64 + 16 * pick(4);
    copy.dstXInBytes = pick(40);
    copy.dstHeight = 16;
    return copy;
}

static void copy_blocks(void)
{
    const CUDA_MEMCPY3D copy = any_copy();
    CUDA_MEMCPY3D_PEER peer = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcContext = any_context(),
                               .dstContext = any_context(),
                               .srcDevice = any_address(),
                               .dstDevice = any_address(),
                               .srcPitch = 64,
                               .dstPitch = 80,
                               .WidthInBytes = 1 + pick(64),
                               .Height = 1 + pick(20),
                               .Depth = 1};
    CUgraphNode node = NULL, of;
    CUgraphExec exec;
    switch (pick(8)) {
    case 0: cuMemcpy3D(&copy); break;
    case 1: cuMemcpy3DAsync(&copy, any_stream()); break;
    case 2: cuMemcpy3DPeer(&peer); break;
    case 3: cuMemcpy3DPeerAsync(&peer, any_stream()); break;
    case 4: KEEP(COPY_NODE, cuGraphAddMemcpyNode(&node, any_graph(), NULL, 0, &copy, any_context()), node); break;
    case 5: cuGraphMemcpyNodeSetParams(GET(CUgraphNode, COPY_NODE), &copy); break;
    case 6: exec = get_exec(COPY_NODE, &of), cuGraphExecMemcpyNodeSetParams(exec, of, &copy, any_context()); break;
    default: cuGraphMemcpyNodeGetParams(GET(CUgraphNode, COPY_NODE), &(CUDA_MEMCPY3D){0});
    }
}

static void query_memory(void)
{
    const CUdeviceptr at = any_address();
    CUmemLocation where = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = any_device()};
    CUdeviceptr base = 0;
    CUmemAllocationProp prop;
    CUmemGenericAllocationHandle physical;
    CUmemoryPool pool;
    CUmemAccess_flags access;
    CUipcMemHandle handle;
    CUipcEventHandle event;
    CUevent opened;
    unsigned long long flags;
    unsigned all;
    void *pinned;
    int file;
    cuuint64_t value = pick(2);
    uint64_t answer[8];
    switch (pick(20)) {
    case 0: cuMemGetAddressRange(&base, &size, at); break;
    case 1: KEEP(MEMORY, cuMemAllocPitch(&base, &size, 1 + pick(900), 1 + pick(9), 8), base); break;
    case 2: cuMemGetAccess(&flags, &where, get(RANGE)); break;
    case 3: KEEP(PHYSICAL, cuMemRetainAllocationHandle(&physical, GET(void *, RANGE)), physical); break;
    case 4: cuMemGetAllocationPropertiesFromHandle(&prop, get(PHYSICAL)); break;
    case 5:
        if (cuMemExportToShareableHandle(&file, get(PHYSICAL), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) !=
            CUDA_SUCCESS)
            break;
        KEEP(
            PHYSICAL,
            cuMemImportFromShareableHandle(&physical, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            physical);
        close(file);
        break;
    case 6: cuMemAdvise(get(SHARED), 1 + pick(4096), (CUmem_advise)(1 + pick(6)), where); break;
    case 7: cuMemPrefetchAsync(get(SHARED), 1 + pick(4096), where, 0, any_stream()); break;
    case 8: cuMemPoolGetAccess(&access, GET(CUmemoryPool, POOL), &where); break;
    case 9: cuMemPoolGetAttribute(GET(CUmemoryPool, POOL), (CUmemPool_attribute)(1 + pick(8)), &value); break;
    case 10: cuMemPoolSetAttribute(GET(CUmemoryPool, POOL), (CUmemPool_attribute)(1 + pick(8)), &value); break;
    case 11: cuMemPoolTrimTo(GET(CUmemoryPool, POOL), pick(9000)); break;
    case 12: KEEP(POOL, cuMemGetMemPool(&pool, &where, CU_MEM_ALLOCATION_TYPE_PINNED), pool); break;
    case 13: cuMemSetMemPool(&where, CU_MEM_ALLOCATION_TYPE_PINNED, GET(CUmemoryPool, POOL)); break;
    case 14: cuIpcGetMemHandle(&handle, get(MEMORY)); break;
    case 15:
        if (cuIpcGetEventHandle(&event, GET(CUevent, EVENT)) == CUDA_SUCCESS)
            KEEP(EVENT, cuIpcOpenEventHandle(&opened, event), opened);
        break;
    case 16: cuMemHostGetFlags(&all, GET(void *, SHARED)); break;
    case 17: cuMemHostGetDevicePointer(&base, GET(void *, OWN), 0); break;
    case 18: KEEP(SHARED, cuMemAllocHost(&pinned, few()), pinned); break;
    default: cuPointerGetAttribute(answer, (CUpointer_attribute)(1 + pick(21)), at);
    }
}

/* ---- arrays, textures, surfaces ---- */

static void query_array(void)
{
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = GET(CUarray, ARRAY)};
    CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR};
    const CUDA_TEXTURE_DESC sampling = {.maxAnisotropy = 0};
    const CUDA_ARRAY_DESCRIPTOR flat = {
        .Width = 16 + pick(40), .Height = pick(2) ? 0 : pick(9), .Format = CU_AD_FORMAT_HALF, .NumChannels = 2};
    CUDA_ARRAY_DESCRIPTOR flat_out;
    CUDA_ARRAY3D_DESCRIPTOR out;
    CUDA_RESOURCE_DESC resource_out;
    CUDA_TEXTURE_DESC texture_out;
    CUDA_RESOURCE_VIEW_DESC view;
    CUarray array;
    CUsurfObject surface;
    CUtexObject texture;
    linear.res.linear.devPtr = any_address();
    linear.res.linear.format = CU_AD_FORMAT_FLOAT;
    linear.res.linear.numChannels = 1;
    linear.res.linear.sizeInBytes = 4 * few();
    switch (pick(10)) {
    case 0: KEEP(ARRAY, cuArrayCreate(&array, &flat), array); break;
    case 1: cuArrayGetDescriptor(&flat_out, GET(CUarray, ARRAY)); break;
    case 2: cuArray3DGetDescriptor(&out, GET(CUarray, ARRAY)); break;
    case 3: KEEP(SURFACE, cuSurfObjectCreate(&surface, &resource), surface); break;
    case 4: cuSurfObjectDestroy(take(SURFACE)); break;
    case 5: cuSurfObjectGetResourceDesc(&resource_out, get(SURFACE)); break;
    case 6: cuTexObjectGetResourceDesc(&resource_out, get(TEXTURE)); break;
    case 7: cuTexObjectGetTextureDesc(&texture_out, get(TEXTURE)); break;
    case 8: cuTexObjectGetResourceViewDesc(&view, get(TEXTURE)); break;
    default: KEEP(TEXTURE, cuTexObjectCreate(&texture, &linear, &sampling, NULL), texture);
    }
}

/* ---- modules, kernels, launches ---- */

static void query_module(void)
{
    CUmodule module = GET(CUmodule, MODULE);
    CUlibrary library = GET(CUlibrary, LIBRARY);
    CUfunction functions[2] = {NULL, NULL};
    CUkernel kernels[2] = {NULL, NULL};
    CUdeviceptr at = 0;
    CUjit_option option = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    void *value = NULL;
    const char *name;
    unsigned count;
    switch (pick(16)) {
    case 0: KEEP(SHARED, cuModuleGetGlobal(&at, &size, module, "variable"), at); break;
    case 1: cuModuleGetFunctionCount(&count, module); break;
    case 2: KEEP(FUNCTION, cuModuleEnumerateFunctions(functions, 2, module), functions[0]); break;
    case 3: KEEP(MODULE, cuModuleLoadDataEx(&module, random_text, 1, &option, &value), module); break;
    case 4: KEEP(MODULE, cuFuncGetModule(&module, any_function()), module); break;
    case 5: cuFuncGetName(&name, any_function()); break;
    case 6: cuFuncLoad(any_function()); break;
    case 7: cuFuncGetAttribute(&number, (CUfunction_attribute)pick(CU_FUNC_ATTRIBUTE_MAX), any_function()); break;
    case 8: cuFuncGetParamInfo(any_function(), pick(3), &size, &(size_t){0}); break;
    case 9: KEEP(MODULE, cuLibraryGetModule(&module, library), module); break;
    case 10: KEEP(FUNCTION, cuLibraryEnumerateKernels(kernels, 2, library), kernels[0]); break;
    case 11: KEEP(FUNCTION, cuKernelGetFunction(functions, any_kernel()), functions[0]); break;
    case 12: KEEP(LIBRARY, cuKernelGetLibrary(&library, any_kernel()), library); break;
    case 13:
        cuKernelGetAttribute(&number, (CUfunction_attribute)pick(CU_FUNC_ATTRIBUTE_MAX), any_kernel(), any_device());
        break;
    case 14:
        cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)pick(99999), any_kernel(),
                             any_device());
        break;
    default: KEEP(CHOICE, cuModuleGetFunction(functions, module, "choose"), functions[0]);
    }
}

static void change_link(void)
{
    CUlinkState state = GET(CUlinkState, LINK);
    CUmodule module;
    void *image;
    switch (pick(6)) {
    case 0: KEEP(LINK, cuLinkCreate(0, NULL, NULL, &state), state); break;
    case 1:
        cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)random_text, strlen(random_text) + 1, NULL, 0, NULL,
                      NULL);
        break;
    case 2: cuLinkComplete(state, &image, &size); break;
    case 3: cuLinkDestroy(TAKE(CUlinkState, LINK)); break;
    default: /* the image lives as long as its link, so no other thread gets the link */
        if (cuLinkCreate(0, NULL, NULL, &state) != CUDA_SUCCESS)
            break;
        if (cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)random_text, strlen(random_text) + 1, "a", 0,
                          NULL, NULL) == CUDA_SUCCESS &&
            cuLinkComplete(state, &image, &size) == CUDA_SUCCESS && pick(8))
            cuLinkDestroy(state);
        else
            keep(LINK, (uintptr_t)state);
        KEEP(MODULE, cuModuleLoadData(&module, random_text), module);
    }
}

static void launch_other(void)
{
    CUdeviceptr to = kernel_address();
    uint64_t condition = get(CONDITION), texture = get(TEXTURE);
    const CUfunction function = any_function();
    CUlaunchAttribute attributes[] = {
        {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION},
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
         .value.programmaticStreamSerializationAllowed = 1},
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
         .value.programmaticEvent = {.event = GET(CUevent, EVENT), .triggerAtBlockStart = (int)pick(2)}},
        {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
         .value.launchCompletionEvent = {.event = GET(CUevent, EVENT)}}};
    attributes[0].value.clusterDim.x = 1 + pick(3);
    attributes[0].value.clusterDim.y = attributes[0].value.clusterDim.z = 1;
    CUlaunchConfig config = {.gridDimX = 1 + pick(4),
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = any_stream(),
                             .attrs = attributes,
                             .numAttrs = pick(5)};
    int least;
    switch (pick(13)) {
    case 0: cuLaunchKernelEx(&config, function, (void *[]){&to, &to}, NULL); break;
    case 1: cuLaunchCooperativeKernel(function, 2, 1, 1, 32, 1, 1, 0, any_stream(), (void *[]){&to, &to}); break;
    case 2:
        if (condition && texture)
            cuLaunchKernel(GET(CUfunction, CHOICE), 1 + pick(2), 1, 1, 1, 1, 1, 0, any_stream(),
                           (void *[]){&condition, &texture}, NULL);
        break;
    case 3: cuFuncSetBlockShape(function, 1 + (int)pick(64), 1, 1); break;
    case 4: cuParamSetSize(function, pick(4) ? 8 : pick(20)); break;
    case 5: cuParamSetv(function, pick(4) ? 0 : (int)pick(20), &to, 8); break;
    case 6: cuLaunchGrid(function, 1, 1); break;
    case 7: cuLaunchGridAsync(function, 1, 1, any_stream()); break;
    case 8: cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)pick(99999)); break;
    case 9: cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, function, (int)pick(1100), pick(99999)); break;
    case 10: cuOccupancyMaxPotentialBlockSize(&number, &least, function, NULL, pick(9999), (int)pick(1100)); break;
    case 11: cuOccupancyMaxActiveClusters(&number, function, &config); break;
    default: cuOccupancyMaxPotentialClusterSize(&number, function, &config);
    }
}

/* ---- graphs ---- */

static void add_other(void)
{
    CUgraphNode node = NULL, before[2] = {NULL, NULL};
    const CUgraph graph = any_graph();
    size_t count = 2;
    if (cuGraphGetNodes(graph, before, &count) != CUDA_SUCCESS || pick(8) == 0)
        count = pick(3);
    CUgraphNodeParams choice = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    choice.conditional.handle = get(CONDITION);
    choice.conditional.type = (CUgraphConditionalNodeType)pick(3);
    choice.conditional.size = 1 + pick(2);
    switch (pick(6)) {
    case 0: KEEP(NODE, cuGraphAddEmptyNode(&node, graph, before, count), node); break;
    case 1: KEEP(RECORD_NODE, cuGraphAddEventRecordNode(&node, graph, before, count, GET(CUevent, EVENT)), node); break;
    case 2: KEEP(WAIT_NODE, cuGraphAddEventWaitNode(&node, graph, before, count, GET(CUevent, EVENT)), node); break;
    case 3: KEEP(FREE_NODE, cuGraphAddMemFreeNode(&node, graph, before, count, get(MEMORY)), node); break;
    case 4: KEEP(CHILD_NODE, cuGraphAddChildGraphNode(&node, graph, before, count, any_graph()), node); break;
    default: KEEP(NODE, cuGraphAddNode(&node, graph, before, NULL, count, &choice), node);
    }
}

static void query_graph(void)
{
    CUgraph graph = any_graph();
    CUgraphNode nodes[4] = {NULL}, others[4] = {NULL}, node = any_node(), of;
    CUgraphNodeType type;
    cuuint64_t flags;
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {.flags = pick(2), .hUploadStream = any_stream()};
    CUgraphExec exec = GET(CUgraphExec, EXEC);
    unsigned enabled;
    size = 4;
    CUgraphEdgeData edges[3] = {{0}};
    for (unsigned i = 0; i < 3; i++) {
        edges[i].type = (unsigned char)pick(2);
        edges[i].from_port = (unsigned char)pick(3);
    }
    switch (pick(18)) {
    case 0: KEEP(GRAPH, cuGraphClone(&graph, graph), graph); break;
    case 1: KEEP(NODE, cuGraphGetNodes(graph, nodes, &size), nodes[pick(4)]); break;
    case 2: KEEP(NODE, cuGraphGetRootNodes(graph, nodes, &size), nodes[pick(4)]); break;
    case 3: cuGraphGetEdges(graph, nodes, others, NULL, &size); break;
    case 4: KEEP(NODE, cuGraphNodeGetDependencies(node, nodes, NULL, &size), nodes[pick(4)]); break;
    case 5: KEEP(NODE, cuGraphNodeGetDependentNodes(node, nodes, NULL, &size), nodes[pick(4)]); break;
    case 6: cuGraphNodeGetType(node, &type); break;
    case 7:
        if (cuGraphGetNodes(graph, nodes, &size) == CUDA_SUCCESS)
            cuGraphAddDependencies(graph, nodes, nodes + 1, pick(2) ? edges : NULL, 1 + pick(3));
        break;
    case 8:
        if (cuGraphGetEdges(graph, nodes, others, NULL, &size) == CUDA_SUCCESS)
            cuGraphRemoveDependencies(graph, nodes, others, NULL, 1);
        break;
    case 9: KEEP(NODE, cuGraphNodeFindInClone(&node, node, graph), node); break;
    case 10: KEEP(GRAPH, cuGraphChildGraphNodeGetGraph(GET(CUgraphNode, CHILD_NODE), &graph), graph); break;
    case 11: KEEP(EXEC, cuGraphInstantiateWithParams(&exec, graph, &how), exec); break;
    case 12: cuGraphExecGetFlags(exec, &flags); break;
    case 13: exec = get_exec(KERNEL_NODE, &of), cuGraphNodeSetEnabled(exec, of, pick(2)); break;
    case 14: exec = get_exec(FILL_NODE, &of), cuGraphNodeGetEnabled(exec, of, &enabled); break;
    case 15: cuGraphUpload(exec, any_stream()); break;
    case 16: cuGraphReleaseUserObject(graph, GET(CUuserObject, USER), 1); break;
    default: cuUserObjectRetain(GET(CUuserObject, USER), 1);
    }
}

static void change_node(void)
{
    CUgraphExec exec;
    CUgraphNode of;
    CUdeviceptr to = kernel_address();
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = any_function(),
                                      .gridDimX = 1 + pick(2),
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 32,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = (void *[]){&to, &to}};
    const CUDA_HOST_NODE_PARAMS host = {.fn = destroy_any};
    const CUDA_MEMSET_NODE_PARAMS fill = {.dst = to, .elementSize = 1, .width = few(), .height = 1};
    CUkernelNodeAttrValue value = {.priority = -1};
    CUDA_KERNEL_NODE_PARAMS kernel_out;
    CUDA_MEMSET_NODE_PARAMS fill_out;
    CUDA_HOST_NODE_PARAMS host_out;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUdeviceptr at;
    CUevent event;
    switch (pick(20)) {
    case 0: cuGraphKernelNodeSetParams(GET(CUgraphNode, KERNEL_NODE), &kernel); break;
    case 1: exec = get_exec(KERNEL_NODE, &of), cuGraphExecKernelNodeSetParams(exec, of, &kernel); break;
    case 2: cuGraphHostNodeSetParams(GET(CUgraphNode, HOST_NODE), &host); break;
    case 3: exec = get_exec(HOST_NODE, &of), cuGraphExecHostNodeSetParams(exec, of, &host); break;
    case 4: cuGraphMemsetNodeSetParams(GET(CUgraphNode, FILL_NODE), &fill); break;
    case 5: exec = get_exec(FILL_NODE, &of), cuGraphExecMemsetNodeSetParams(exec, of, &fill, any_context()); break;
    case 6: exec = get_exec(CHILD_NODE, &of), cuGraphExecChildGraphNodeSetParams(exec, of, any_graph()); break;
    case 7: cuGraphEventRecordNodeSetEvent(GET(CUgraphNode, RECORD_NODE), GET(CUevent, EVENT)); break;
    case 8: cuGraphEventWaitNodeSetEvent(GET(CUgraphNode, WAIT_NODE), GET(CUevent, EVENT)); break;
    case 9: exec = get_exec(RECORD_NODE, &of), cuGraphExecEventRecordNodeSetEvent(exec, of, GET(CUevent, EVENT)); break;
    case 10: exec = get_exec(WAIT_NODE, &of), cuGraphExecEventWaitNodeSetEvent(exec, of, GET(CUevent, EVENT)); break;
    case 11: cuGraphKernelNodeGetParams(GET(CUgraphNode, KERNEL_NODE), &kernel_out); break;
    case 12: cuGraphMemsetNodeGetParams(GET(CUgraphNode, FILL_NODE), &fill_out); break;
    case 13: cuGraphHostNodeGetParams(GET(CUgraphNode, HOST_NODE), &host_out); break;
    case 14: cuGraphMemAllocNodeGetParams(GET(CUgraphNode, ALLOC_NODE), &alloc); break;
    case 15: cuGraphMemFreeNodeGetParams(GET(CUgraphNode, FREE_NODE), &at); break;
    case 16: cuGraphKernelNodeSetAttribute(GET(CUgraphNode, KERNEL_NODE), CU_LAUNCH_ATTRIBUTE_PRIORITY, &value); break;
    case 17: cuGraphKernelNodeCopyAttributes(GET(CUgraphNode, KERNEL_NODE), GET(CUgraphNode, KERNEL_NODE)); break;
    case 18:
        cuGraphKernelNodeGetAttribute(GET(CUgraphNode, KERNEL_NODE), CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
        break;
    default: cuGraphEventRecordNodeGetEvent(GET(CUgraphNode, RECORD_NODE), &event);
    }
}

void call_any(void)
{
    static void (*const all[])(void) = {query_context, query_device, query_stream, change_value, copy_memory,
                                        copy_blocks,   query_memory, query_array,  query_module, change_link,
                                        launch_other,  add_other,    query_graph,  change_node};
    all[pick(sizeof all / sizeof all[0])]();
}
