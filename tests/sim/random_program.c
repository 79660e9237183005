/* random_program [SEED [CALLS]]: four threads make random calls of the driver API, with objects that they share. Other threads
 * destroy the objects meanwhile, or end the contexts. No call may touch memory of an object that has ended: the sanitizers find
 * such accesses. The results of the calls do not matter. */
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .attribute(.managed) .align 8 .b8 variable[4096];\n"
    ".visible .entry put(.param .u64 to)\n{\n"
    " .reg .b32 %i; .reg .b64 %a, %o;\n"
    " ld.param.u64 %a, [to]; mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; st.u32 [%a], %i; ret;\n}\n";

enum { SLOTS = 12, THREADS = 4, PAGE = 4096, RANGE_BYTES = 4 << 20, PIECE = 2 << 20, CALLS = 60000 };
enum kind {
    CONTEXT,
    STREAM,
    EVENT,
    MEMORY,
    SHARED, /* pinned or managed memory */
    OWN,    /* pages of the program, registered or not */
    MODULE,
    FUNCTION,
    LIBRARY,
    GRAPH,
    NODE,
    EXEC,
    CONDITION,
    USER,
    POOL,
    RANGE,
    PHYSICAL,
    ARRAY,
    MIPMAPPED,
    TEXTURE,
    KINDS
};
/* handles and addresses that all threads use; 0: none yet */
static _Atomic uint64_t table[KINDS][SLOTS];
static atomic_ulong kept[KINDS]; /* number of objects of each kind that calls have made */
static _Thread_local uint64_t state;
static atomic_ulong calls;
static unsigned long most = CALLS;
static CUdevice devices[2];

static unsigned pick(unsigned limit)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 33) % limit;
}
static uint64_t get(enum kind kind) { return atomic_load(&table[kind][pick(SLOTS)]); }
static void keep(enum kind kind, uint64_t handle)
{
    atomic_store(&table[kind][pick(SLOTS)], handle);
    atomic_fetch_add(&kept[kind], 1);
}
#define GET(type, kind) ((type)(uintptr_t)get(kind))
/* Keeps what a call has made, if it succeeds. */
#define KEEP(kind, call, made)                                                                                         \
    do {                                                                                                               \
        if ((call) == CUDA_SUCCESS)                                                                                    \
            keep(kind, (uint64_t)(uintptr_t)(made));                                                                   \
    } while (0)

static CUstream any_stream(void) { return pick(4) ? GET(CUstream, STREAM) : pick(2) ? NULL : CU_STREAM_PER_THREAD; }
static CUdevice any_device(void) { return devices[pick(2)]; }
static CUdeviceptr any_address(void)
{
    static const enum kind kinds[] = {MEMORY, MEMORY, SHARED, OWN, RANGE};
    return get(kinds[pick(sizeof kinds / sizeof kinds[0])]);
}
static CUmemAccessDesc any_access(void)
{
    return (CUmemAccessDesc){{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = any_device()},
                             pick(4) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ};
}

/* ---- contexts, streams, events ---- */

static void change_context(void)
{
    CUcontext context = GET(CUcontext, CONTEXT);
    switch (pick(40)) {
    case 0: KEEP(CONTEXT, cuCtxCreate(&context, NULL, 0, any_device()), context); break;
    case 1: cuCtxDestroy(context); break;
    case 2: cuDevicePrimaryCtxReset(any_device()); break;
    case 3: cuCtxEnablePeerAccess(context, 0); break;
    case 4: cuCtxSynchronize(); break;
    default:
        if (cuCtxSetCurrent(context) != CUDA_SUCCESS || pick(2))
            if (cuDevicePrimaryCtxRetain(&context, any_device()) == CUDA_SUCCESS)
                cuCtxSetCurrent(context);
    }
}

static void change_stream(void)
{
    CUstream stream = any_stream();
    CUevent event = GET(CUevent, EVENT);
    switch (pick(9)) {
    case 0: KEEP(STREAM, cuStreamCreate(&stream, pick(2)), stream); break;
    case 1: cuStreamDestroy(stream); break;
    case 2: cuStreamSynchronize(stream); break;
    case 3: cuStreamQuery(stream); break;
    case 4: KEEP(EVENT, cuEventCreate(&event, pick(2) ? CU_EVENT_DISABLE_TIMING : 0), event); break;
    case 5: cuEventDestroy(event); break;
    case 6: cuEventQuery(event); break;
    case 7: cuEventRecord(event, stream); break;
    default: cuStreamWaitEvent(stream, event, 0);
    }
}

/* A host function, which destroys objects while its stream or graph is in the middle of its work. */
static void CUDA_CB destroy_any(void *none)
{
    (void)none;
    switch (pick(7)) {
    case 0: cuEventDestroy(GET(CUevent, EVENT)); break;
    case 1: cuGraphDestroy(GET(CUgraph, GRAPH)); break;
    case 2: cuGraphDestroyNode(GET(CUgraphNode, NODE)); break;
    case 3: cuUserObjectRelease(GET(CUuserObject, USER), 1); break;
    case 4: cuMemPoolDestroy(GET(CUmemoryPool, POOL)); break;
    case 5: cuCtxDestroy(GET(CUcontext, CONTEXT)); break;
    default: usleep(pick(300));
    }
}
static void CUDA_CB do_nothing(void *none) { (void)none; }

/* ---- memory ---- */

static void change_memory(void)
{
    CUdeviceptr made = 0;
    const CUstream stream = any_stream();
    switch (pick(9)) {
    case 0:
    case 1: KEEP(MEMORY, cuMemAlloc(&made, 1 + pick(pick(8) ? 20000 : 3000000)), made); break;
    case 2: cuMemFree(any_address()); break;
    case 3: KEEP(MEMORY, cuMemAllocAsync(&made, 1 + pick(9000), stream), made); break;
    case 4: cuMemFreeAsync(get(MEMORY), stream); break;
    case 5: cuMemsetD8Async(any_address(), 1, 1 + pick(5000), stream); break;
    case 6: cuMemcpyDtoDAsync(any_address(), any_address(), 1 + pick(5000), stream); break;
    case 7: cuStreamWriteValue32(stream, any_address(), 1, 0); break;
    default:
        cuMemcpyPeerAsync(any_address(), GET(CUcontext, CONTEXT), any_address(), GET(CUcontext, CONTEXT),
                          1 + pick(5000), stream);
    }
}

static void change_shared(void)
{
    void *pinned;
    CUdeviceptr managed = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
    uint64_t values[2];
    switch (pick(6)) {
    case 0: KEEP(SHARED, cuMemHostAlloc(&pinned, PAGE * (1 + pick(3)), CU_MEMHOSTALLOC_DEVICEMAP), pinned); break;
    case 1: KEEP(SHARED, cuMemAllocManaged(&managed, PAGE * (1 + pick(3)), CU_MEM_ATTACH_GLOBAL), managed); break;
    case 2: cuMemFreeHost(GET(void *, SHARED)); break;
    case 3: cuMemHostRegister(GET(void *, OWN), PAGE, CU_MEMHOSTREGISTER_DEVICEMAP); break;
    case 4: cuMemHostUnregister(GET(void *, OWN)); break;
    default: cuPointerGetAttributes(2, attributes, (void *[]){&values[0], &values[1]}, any_address());
    }
}

static void change_pool(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = pick(2) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = any_device()}};
    CUmemoryPool pool = GET(CUmemoryPool, POOL), imported;
    const CUmemAccessDesc access = any_access();
    CUmemPoolPtrExportData data;
    CUdeviceptr made = 0;
    int file;
    switch (pick(5)) {
    case 0: KEEP(POOL, cuMemPoolCreate(&pool, &props), pool); break;
    case 1: cuMemPoolDestroy(pool); break;
    case 2: cuMemPoolSetAccess(pool, &access, 1); break;
    case 3:
        if (cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS)
            break;
        if (cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)file,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS) {
            keep(POOL, (uintptr_t)imported);
            if (cuMemPoolExportPointer(&data, get(MEMORY)) == CUDA_SUCCESS)
                KEEP(MEMORY, cuMemPoolImportPointer(&made, imported, &data), made);
        }
        close(file);
        break;
    default: KEEP(MEMORY, cuMemAllocFromPoolAsync(&made, 1 + pick(9000), pool, any_stream()), made);
    }
}

static void change_range(void)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = any_device()}};
    const CUmemAccessDesc access = any_access();
    const CUdeviceptr part = get(RANGE) + (pick(2) ? PIECE : 0);
    CUmemGenericAllocationHandle physical = 0;
    CUdeviceptr made = 0;
    switch (pick(8)) {
    case 0: KEEP(RANGE, cuMemAddressReserve(&made, RANGE_BYTES, 0, 0, 0), made); break;
    case 1: KEEP(PHYSICAL, cuMemCreate(&physical, PIECE, &prop, 0), physical); break;
    case 2: cuMemMap(part, PIECE, 0, get(PHYSICAL), 0); break;
    case 3:
    case 4: cuMemSetAccess(part, PIECE, &access, 1); break;
    case 5: cuMemUnmap(part, PIECE); break;
    case 6: cuMemRelease(get(PHYSICAL)); break;
    default: cuMemAddressFree(get(RANGE), RANGE_BYTES);
    }
}

static void change_array(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR what = {
        .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUarray array = GET(CUarray, ARRAY);
    CUmipmappedArray levels = GET(CUmipmappedArray, MIPMAPPED);
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    const CUDA_TEXTURE_DESC sampling = {.maxAnisotropy = 0};
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = array,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = get(MEMORY),
                                .dstPitch = 64,
                                .WidthInBytes = 32,
                                .Height = 4};
    CUtexObject texture = 0;
    switch (pick(8)) {
    case 0: KEEP(ARRAY, cuArray3DCreate(&array, &what), array); break;
    case 1: KEEP(MIPMAPPED, cuMipmappedArrayCreate(&levels, &what, 3), levels); break;
    case 2: KEEP(ARRAY, cuMipmappedArrayGetLevel(&array, levels, pick(3)), array); break;
    case 3: KEEP(TEXTURE, cuTexObjectCreate(&texture, &resource, &sampling, NULL), texture); break;
    case 4: cuArrayDestroy(array); break;
    case 5: cuMipmappedArrayDestroy(levels); break;
    case 6: cuTexObjectDestroy(get(TEXTURE)); break;
    default: cuMemcpy2DAsync(&copy, any_stream());
    }
}

/* ---- modules, launches ---- */

static void change_module(void)
{
    CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
    void *yes = (void *)1;
    CUmodule module = GET(CUmodule, MODULE);
    CUlibrary library = GET(CUlibrary, LIBRARY);
    CUfunction function = NULL;
    CUkernel kernel = NULL;
    CUdeviceptr variable = 0;
    size_t bytes;
    switch (pick(8)) {
    case 0: KEEP(MODULE, cuModuleLoadData(&module, text), module); break;
    case 1: cuModuleUnload(module); break;
    case 2: KEEP(LIBRARY, cuLibraryLoadData(&library, text, NULL, NULL, 0, &option, &yes, 1), library); break;
    case 3: cuLibraryUnload(library); break;
    case 4: KEEP(SHARED, cuLibraryGetManaged(&variable, &bytes, library, "variable"), variable); break;
    case 5: KEEP(FUNCTION, cuLibraryGetKernel(&kernel, library, "put"), kernel); break;
    default: KEEP(FUNCTION, cuModuleGetFunction(&function, module, "put"), function);
    }
}

static void launch(void)
{
    CUdeviceptr to = any_address();
    if (pick(4))
        cuLaunchKernel(GET(CUfunction, FUNCTION), 1 + pick(3), 1, 1, 32, 1, 1, 0, any_stream(), (void *[]){&to}, NULL);
    else
        cuLaunchHostFunc(any_stream(), destroy_any, NULL);
}

/* ---- graphs ---- */

static void add_node(void)
{
    CUdeviceptr to = any_address();
    const CUgraph graph = GET(CUgraph, GRAPH);
    CUgraphNode node = NULL, before = GET(CUgraphNode, NODE);
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = GET(CUfunction, FUNCTION),
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 32,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = (void *[]){&to}};
    const CUDA_HOST_NODE_PARAMS host = {.fn = destroy_any};
    const CUDA_MEMSET_NODE_PARAMS fill = {.dst = to, .elementSize = 1, .width = 1 + pick(4000), .height = 1};
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = any_device()}},
        .bytesize = 1 + pick(9000)};
    CUgraphNodeParams choice = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    choice.conditional.handle = get(CONDITION);
    choice.conditional.type = CU_GRAPH_COND_TYPE_IF;
    choice.conditional.size = 1;
    switch (pick(6)) {
    case 0: KEEP(NODE, cuGraphAddKernelNode(&node, graph, &before, pick(2), &kernel), node); break;
    case 1: KEEP(NODE, cuGraphAddHostNode(&node, graph, NULL, 0, &host), node); break;
    case 2: KEEP(NODE, cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, GET(CUcontext, CONTEXT)), node); break;
    case 3:
        KEEP(NODE, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc), node);
        keep(MEMORY, alloc.dptr);
        break;
    case 4: KEEP(NODE, cuGraphAddChildGraphNode(&node, graph, NULL, 0, GET(CUgraph, GRAPH)), node); break;
    default: /* the array phGraph_out ends with the node, which another thread may destroy at once: it is not read */
        KEEP(NODE, cuGraphAddNode(&node, graph, NULL, NULL, 0, &choice), node);
    }
}

static void change_graph(void)
{
    CUgraph graph = GET(CUgraph, GRAPH);
    CUgraphExec exec = GET(CUgraphExec, EXEC);
    CUuserObject user = GET(CUuserObject, USER);
    CUgraphConditionalHandle condition = 0;
    CUgraphExecUpdateResultInfo info;
    const CUstream stream = any_stream();
    switch (pick(14)) {
    case 0: KEEP(GRAPH, cuGraphCreate(&graph, 0), graph); break;
    case 1: cuGraphDestroy(graph); break;
    case 2: cuGraphDestroyNode(GET(CUgraphNode, NODE)); break;
    case 3: KEEP(EXEC, cuGraphInstantiateWithFlags(&exec, graph, pick(2)), exec); break;
    case 4: cuGraphExecDestroy(exec); break;
    case 5: cuGraphExecUpdate(exec, graph, &info); break;
    case 6:
        KEEP(CONDITION, cuGraphConditionalHandleCreate(&condition, graph, NULL, pick(2), pick(2)), condition);
        break;
    case 7: KEEP(USER, cuUserObjectCreate(&user, NULL, do_nothing, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), user); break;
    case 8: cuGraphRetainUserObject(graph, user, 1, pick(2)); break;
    case 9: cuStreamBeginCapture(stream, (CUstreamCaptureMode)pick(3)); break;
    case 10: cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED); break;
    case 11: KEEP(GRAPH, cuStreamEndCapture(stream, &graph), graph); break;
    default: cuGraphLaunch(exec, stream);
    }
}

static void *run(void *seed)
{
    static void (*const all[])(void) = {change_context, change_stream, change_stream, change_memory, change_memory,
                                        change_shared,  change_pool,   change_range,  change_array,  change_module,
                                        launch,         add_node,      change_graph,  change_graph};
    state = (uintptr_t)seed * 0x9e3779b97f4a7c15u | 1;
    while (atomic_fetch_add(&calls, 1) < most)
        all[pick(sizeof all / sizeof all[0])]();
    return NULL;
}

int main(int count, char **arguments)
{
    const unsigned long seed = count > 1 ? strtoul(arguments[1], NULL, 0) : 1;
    pthread_t threads[THREADS];
    int devices_there = 1;
    most = count > 2 ? strtoul(arguments[2], NULL, 0) : CALLS;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&devices_there) != CUDA_SUCCESS)
        return 1;
    devices[1] = devices_there - 1;
    for (unsigned k = 0; k < SLOTS; k++) {
        void *own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        atomic_store(&table[OWN][k], own == MAP_FAILED ? 0 : (uintptr_t)own);
    }
    for (unsigned k = 0; k < THREADS; k++)
        if (pthread_create(&threads[k], NULL, run, (void *)(uintptr_t)(seed * THREADS + k + 1)) != 0)
            return 1;
    for (unsigned k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    /* Without objects the calls would only fail, and nothing would be tested. */
    for (unsigned kind = 0; kind < KINDS && most >= CALLS; kind++)
        if (kind != OWN && atomic_load(&kept[kind]) == 0) {
            fprintf(stderr, "no call has made an object of kind %u\n", kind);
            _exit(1);
        }
    _exit(0); /* the program does not destroy its objects: the leak checker would list them */
}
