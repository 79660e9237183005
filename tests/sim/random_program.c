/* random_program [SEED [CALLS [pair]]] makes random calls of the driver API in four threads, with objects that the threads
 * share, on up to four devices. Other threads destroy the objects meanwhile, or end the contexts. No call may touch memory of
 * an object that has ended: the sanitizers find such accesses. The results of the calls do not matter. With `pair`, two
 * processes make the calls, and share memory, events and pools. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random_program.h"

const char random_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .attribute(.managed) .align 8 .b8 variable[4096];\n"
    ".visible .entry put(.param .u64 to)\n{\n"
    " .reg .b32 %i; .reg .b64 %a, %o;\n"
    " ld.param.u64 %a, [to]; mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; st.u32 [%a], %i; ret;\n}\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n"
    ".visible .entry allocate(.param .u64 bytes, .param .u64 texture)\n{\n"
    " .reg .b32 %i; .reg .b64 %n, %p; .reg .pred %q;\n"
    " ld.param.u64 %n, [bytes]; and.b64 %n, %n, 4095; mov.u32 %i, %tid.x;\n"
    " { .param .b64 a; .param .b64 b; st.param.b64 [a], %n; call.uni (b), malloc, (a); ld.param.b64 %p, [b]; }\n"
    " setp.eq.u64 %q, %p, 0; @%q bra out; setp.lt.u64 %q, %n, 4; @%q bra clear; st.u32 [%p], %i;\n"
    "clear: { .param .b64 a; st.param.b64 [a], %p; call.uni free, (a); }\nout: ret;\n}\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry choose(.param .u64 condition, .param .u64 texture)\n{\n"
    " .reg .b32 %i; .reg .b64 %c, %t; .reg .f32 %f<4>;\n"
    " ld.param.u64 %c, [condition]; ld.param.u64 %t, [texture]; mov.u32 %i, %ctaid.x;\n"
    " { .param .b64 a; .param .b32 b; st.param.b64 [a], %c; st.param.b32 [b], %i;\n"
    "   call.uni cudaGraphSetConditional, (a, b); }\n"
    " tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%i, %i}]; ret;\n}\n";

/* The table has the handles and addresses that all threads use, by the context in which they were made. 0 is a free
 * slot. A thread rarely uses objects of other contexts, because a call with such an object only fails. */
enum { OTHER = DEVICES, PLACES }; /* the primary contexts of the devices, and one more context */
static _Atomic uint64_t table[PLACES][KINDS][SLOTS];
static _Atomic uint64_t
    execs[PLACES][KINDS][SLOTS];     /* by slot of a node: an executable graph of the node's graph, or 0 */
static _Thread_local unsigned place; /* of the thread's current context */
static atomic_ulong kept[KINDS];     /* number of objects of each kind that calls have made */
static _Thread_local uint64_t state;
static atomic_ulong calls;
static unsigned long most = CALLS;
static unsigned there = 1; /* devices of the process, DEVICES at most */

unsigned pick(unsigned limit)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 33) % limit;
}
/* Returns true if objects of this kind belong to no device. */
static bool is_everywhere(enum kind kind)
{
    return kind == CONTEXT || kind == OWN || kind == RANGE || kind == PHYSICAL || kind == TEAM || kind == TEAM_ADDRESS;
}
static unsigned place_of(enum kind kind) { return is_everywhere(kind) ? 0 : pick(16) ? place : pick(PLACES); }
static _Atomic uint64_t *find(enum kind kind)
{
    const unsigned at = place_of(kind);
    _Atomic uint64_t *slot = &table[at][kind][pick(SLOTS)];
    for (unsigned k = 0; k < SLOTS && atomic_load(slot) == 0; k++)
        slot = &table[at][kind][pick(SLOTS)];
    return slot;
}
uint64_t get(enum kind kind) { return atomic_load(find(kind)); }
CUgraphExec get_exec(enum kind kind, CUgraphNode *node)
{
    unsigned slot = pick(SLOTS);
    for (unsigned k = 0; k < SLOTS && atomic_load(&execs[place][kind][slot]) == 0; k++)
        slot = pick(SLOTS);
    *node = (CUgraphNode)(uintptr_t)atomic_load(&table[place][kind][slot]);
    const uint64_t exec = atomic_load(&execs[place][kind][slot]);
    return pick(8) && exec ? (CUgraphExec)(uintptr_t)exec : GET(CUgraphExec, EXEC);
}
/* Returns an object that the caller destroys. The object leaves the table, or stays there as an invalid handle. Other
 * threads may already have the handle, and use it meanwhile. */
uint64_t take(enum kind kind)
{
    _Atomic uint64_t *slot = find(kind);
    return pick(8) ? atomic_exchange(slot, 0) : atomic_load(slot);
}
static void keep_with(enum kind kind, uint64_t handle, uint64_t exec)
{
    const unsigned at = is_everywhere(kind) ? 0 : place, slot = pick(SLOTS);
    if (!handle)
        return;
    atomic_store(&table[at][kind][slot], handle);
    atomic_store(&execs[at][kind][slot], exec);
    atomic_fetch_add(&kept[kind], 1);
    if (kind >= KERNEL_NODE && kind <= CHILD_NODE)
        keep_with(NODE, handle, exec);
}
void keep(enum kind kind, uint64_t handle) { keep_with(kind, handle, 0); }
static _Thread_local CUstream captured; /* the stream that the thread captures, or NULL */
CUstream any_stream(void)
{
    if (captured && pick(8))
        return captured;
    return pick(4) ? GET(CUstream, STREAM) : pick(2) ? NULL : CU_STREAM_PER_THREAD;
}
unsigned device_count(void) { return there; }
CUdevice device_at(unsigned k) { return (CUdevice)k; }
CUdevice any_device(void) { return device_at(pick(8) && place < OTHER ? place : pick(there)); }
CUdeviceptr any_address(void)
{
    static const enum kind kinds[] = {MEMORY, MEMORY, MEMORY, MEMORY, SHARED, SHARED, OWN, RANGE};
    return get(kinds[pick(sizeof kinds / sizeof kinds[0])]);
}
CUdeviceptr kernel_address(void) { return pick(24) ? get(MEMORY) : any_address(); }
static CUmemAccessDesc any_access(void)
{
    return (CUmemAccessDesc){{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = any_device()},
                             pick(4) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ};
}

/* ---- contexts, streams, events ---- */

/* Makes the context of a place current. */
static void enter(unsigned where)
{
    CUcontext context = NULL;
    place = where;
    if (where == OTHER && cuCtxSetCurrent(context = GET(CUcontext, CONTEXT)) == CUDA_SUCCESS && context)
        return;
    place = where % there;
    if (cuDevicePrimaryCtxRetain(&context, device_at(place)) == CUDA_SUCCESS)
        cuCtxSetCurrent(context);
}

/* Ends the contexts of a device. After a fault, a context can do no other work. */
static void reset(unsigned where)
{
    cuDevicePrimaryCtxReset(device_at(where % there));
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned k = 0; !is_everywhere((enum kind)kind) && k < SLOTS; k++)
            atomic_store(&table[where % there][kind][k], 0);
}

static void change_context(void)
{
    CUcontext context = NULL;
    switch (pick(100)) {
    case 0:
    case 1:
        if (cuCtxCreate(&context, NULL, 0, any_device()) == CUDA_SUCCESS) {
            keep(CONTEXT, (uintptr_t)context);
            cuCtxPopCurrent(&context);
        }
        break;
    case 2: cuCtxDestroy((CUcontext)(uintptr_t)take(CONTEXT)); break;
    case 3: reset(pick(there)); break;
    case 4:
    case 5:
        if (cuDevicePrimaryCtxRetain(&context, device_at(pick(there))) == CUDA_SUCCESS)
            cuCtxEnablePeerAccess(context, 0);
        break;
    case 6: cuCtxSynchronize(); break;
    default: enter(pick(20) ? (unsigned)(state >> 40) % there : OTHER);
    }
    const CUresult result = cuStreamQuery(NULL);
    if (result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_TIMEOUT ||
        result == CUDA_ERROR_MISALIGNED_ADDRESS || result == CUDA_ERROR_LAUNCH_FAILED ||
        result == CUDA_ERROR_ILLEGAL_INSTRUCTION) {
        if (place == OTHER)
            cuCtxDestroy((CUcontext)(uintptr_t)take(CONTEXT));
        else
            reset(place);
        enter(place);
    } else if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        enter(place);
}

static void change_stream(void)
{
    CUstream stream = any_stream();
    CUevent event = GET(CUevent, EVENT);
    switch (pick(9)) {
    case 0: KEEP(STREAM, cuStreamCreate(&stream, pick(2)), stream); break;
    case 1: cuStreamDestroy(TAKE(CUstream, STREAM)); break;
    case 2: cuStreamSynchronize(stream); break;
    case 3: cuStreamQuery(stream); break;
    case 4:
        KEEP(EVENT,
             cuEventCreate(&event, (unsigned)(const int[]){0, CU_EVENT_DISABLE_TIMING,
                                                           CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS}[pick(3)]),
             event);
        break;
    case 5: cuEventDestroy(TAKE(CUevent, EVENT)); break;
    case 6: cuEventQuery(event); break;
    case 7: cuEventRecord(event, stream); break;
    default: cuStreamWaitEvent(stream, event, 0);
    }
}

void CUDA_CB destroy_any(void *none)
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

/* ---- memory ---- */

static void change_memory(void)
{
    CUdeviceptr made = 0;
    const CUstream stream = any_stream();
    switch (pick(9)) {
    case 0:
    case 1: KEEP(MEMORY, cuMemAlloc(&made, 1 + pick(pick(8) ? 20000 : 3000000)), made); break;
    case 2: cuMemFree(take(pick(2) ? MEMORY : SHARED)); break;
    case 3: KEEP(MEMORY, cuMemAllocAsync(&made, 1 + pick(9000), stream), made); break;
    case 4: cuMemFreeAsync(take(MEMORY), stream); break;
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
    case 2: cuMemFreeHost(TAKE(void *, SHARED)); break;
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
    case 1: cuMemPoolDestroy(TAKE(CUmemoryPool, POOL)); break;
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
                                      .requestedHandleTypes = pick(2) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                                      : CU_MEM_HANDLE_TYPE_NONE,
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
    case 6: cuMemRelease(take(PHYSICAL)); break;
    default: cuMemAddressFree(take(RANGE), RANGE_BYTES);
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
    case 4: cuArrayDestroy(TAKE(CUarray, ARRAY)); break;
    case 5: cuMipmappedArrayDestroy(TAKE(CUmipmappedArray, MIPMAPPED)); break;
    case 6: cuTexObjectDestroy(take(TEXTURE)); break;
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
    case 0:
        KEEP(MODULE, cuModuleLoadData(&module, random_text), module);
        KEEP(FUNCTION, cuModuleGetFunction(&function, module, pick(3) ? "put" : "allocate"), function);
        break;
    case 1:
        if (pick(4) == 0)
            cuModuleUnload(TAKE(CUmodule, MODULE));
        break;
    case 2: KEEP(LIBRARY, cuLibraryLoadData(&library, random_text, NULL, NULL, 0, &option, &yes, 1), library); break;
    case 3:
        if (pick(4) == 0)
            cuLibraryUnload(TAKE(CUlibrary, LIBRARY));
        break;
    case 4: KEEP(SHARED, cuLibraryGetManaged(&variable, &bytes, library, "variable"), variable); break;
    case 5: KEEP(FUNCTION, cuLibraryGetKernel(&kernel, library, "put"), kernel); break;
    default: KEEP(FUNCTION, cuModuleGetFunction(&function, module, pick(3) ? "put" : "allocate"), function);
    }
}

static void launch(void)
{
    CUdeviceptr to = kernel_address();
    if (to && pick(4))
        cuLaunchKernel(GET(CUfunction, FUNCTION), 1 + pick(3), 1, 1, 32, 1, 1, 0, any_stream(), (void *[]){&to, &to},
                       NULL);
    else
        cuLaunchHostFunc(any_stream(), destroy_any, NULL);
}

/* ---- graphs ---- */

static void add_node(void)
{
    CUdeviceptr to = kernel_address();
    const CUgraph graph = GET(CUgraph, GRAPH);
    CUgraphNode node = NULL, before = GET(CUgraphNode, NODE);
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = GET(CUfunction, FUNCTION),
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 32,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = (void *[]){&to, &to}};
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
    case 0: KEEP(KERNEL_NODE, cuGraphAddKernelNode(&node, graph, &before, pick(2), &kernel), node); break;
    case 1: KEEP(HOST_NODE, cuGraphAddHostNode(&node, graph, NULL, 0, &host), node); break;
    case 2: KEEP(FILL_NODE, cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, GET(CUcontext, CONTEXT)), node); break;
    case 3:
        KEEP(ALLOC_NODE, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc), node);
        keep(MEMORY, alloc.dptr);
        break;
    case 4: KEEP(CHILD_NODE, cuGraphAddChildGraphNode(&node, graph, NULL, 0, GET(CUgraph, GRAPH)), node); break;
    /* phGraph_out is not read, because another thread may destroy the node at once, and the array ends with the node */
    default: KEEP(NODE, cuGraphAddNode(&node, graph, NULL, NULL, 0, &choice), node);
    }
}

static void make_call(void);
static void keep_nodes(CUgraph graph, CUgraphExec exec);

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
    case 1: cuGraphDestroy(TAKE(CUgraph, GRAPH)); break;
    case 2: cuGraphDestroyNode(TAKE(CUgraphNode, NODE)); break;
    case 3:
        KEEP(EXEC, cuGraphInstantiateWithFlags(&exec, graph, pick(2)), exec);
        keep_nodes(graph, exec);
        break;
    case 4: cuGraphExecDestroy(TAKE(CUgraphExec, EXEC)); break;
    case 5: cuGraphExecUpdate(exec, graph, &info); break;
    case 6:
        KEEP(CONDITION, cuGraphConditionalHandleCreate(&condition, graph, NULL, pick(2), pick(2)), condition);
        break;
    case 7: KEEP(USER, cuUserObjectCreate(&user, NULL, destroy_any, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), user); break;
    case 8: cuGraphRetainUserObject(graph, user, 1, pick(2)); break;
    case 9:
        if (pick(8) == 0)
            cuStreamBeginCapture(stream, (CUstreamCaptureMode)pick(3));
        break;
    case 10: cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED); break;
    case 11: KEEP(GRAPH, cuStreamEndCapture(stream, &graph), graph); break;
    default: cuGraphLaunch(exec, stream);
    }
}

/* Puts some nodes of a graph into the table, each by its type. */
static void keep_nodes(CUgraph graph, CUgraphExec exec)
{
    static const enum kind kinds[] = {KERNEL_NODE, COPY_NODE, FILL_NODE, HOST_NODE,  CHILD_NODE, NODE,       WAIT_NODE,
                                      RECORD_NODE, NODE,      NODE,      ALLOC_NODE, FREE_NODE,  VALUE_NODE, NODE};
    CUgraphNode nodes[6];
    CUgraphNodeType type;
    size_t count = sizeof nodes / sizeof nodes[0];
    if (cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS)
        return;
    for (size_t k = 0; k < count; k++)
        if (cuGraphNodeGetType(nodes[k], &type) == CUDA_SUCCESS && (unsigned)type < sizeof kinds / sizeof kinds[0])
            keep_with(kinds[type], (uintptr_t)nodes[k], (uintptr_t)exec);
}

/* Makes a context with a graph whose body other threads may change or capture into. The array of bodies ends with the node, so it
 * is read before another thread knows the context. */
static void make_body(void)
{
    CUcontext context = NULL;
    CUgraph graph = NULL, body = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode node = NULL;
    CUstream stream = NULL;
    CUgraphNodeParams choice = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    /* no WHILE, because a loop might never end */
    choice.conditional.type = pick(2) ? CU_GRAPH_COND_TYPE_IF : CU_GRAPH_COND_TYPE_SWITCH;
    choice.conditional.size = 1;
    if (captured || pick(8) || cuCtxCreate(&context, NULL, 0, any_device()) != CUDA_SUCCESS)
        return;
    if (cuGraphCreate(&graph, 0) == CUDA_SUCCESS && cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
        cuGraphConditionalHandleCreate(&choice.conditional.handle, graph, NULL, pick(2),
                                       CU_GRAPH_COND_ASSIGN_DEFAULT) == CUDA_SUCCESS &&
        cuGraphAddNode(&node, graph, NULL, NULL, 0, &choice) == CUDA_SUCCESS) {
        body = choice.conditional.phGraph_out[0];
        cuGraphAddEmptyNode(&node, body, NULL, 0);
        cuGraphInstantiateWithFlags(&exec, graph, 0);
    }
    cuCtxPopCurrent(&context);
    keep(CONTEXT, (uintptr_t)context);
    place = OTHER;
    cuCtxSetCurrent(context);
    keep(STREAM, (uintptr_t)stream);
    keep(GRAPH, (uintptr_t)graph);
    keep(GRAPH, (uintptr_t)body);
    keep(NODE, (uintptr_t)node);
    keep(EXEC, (uintptr_t)exec);
}

/* Captures some calls of the thread, and puts the graph into the table. */
static void capture(void)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    const CUstream stream = GET(CUstream, STREAM);
    if (captured || !stream ||
        cuStreamBeginCapture(stream, pick(8) ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_GLOBAL) !=
            CUDA_SUCCESS)
        return;
    captured = stream;
    for (unsigned k = 1 + pick(6); k > 0; k--)
        make_call();
    captured = NULL;
    if (cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS)
        return;
    keep(GRAPH, (uintptr_t)graph);
    KEEP(EXEC, cuGraphInstantiateWithFlags(&exec, graph, pick(2)), exec);
    keep_nodes(graph, exec);
}

static void make_call(void)
{
    static void (*const all[])(void) = {change_context, change_stream, change_stream, change_memory, change_memory,
                                        change_shared,  change_pool,   change_range,  change_array,  change_module,
                                        launch,         add_node,      change_graph,  change_graph,  capture,
                                        call_any,       call_any,      call_any,      call_any,      call_any,
                                        make_body,      call_team,     call_team};
    if (atomic_fetch_add(&calls, 1) < most)
        all[pick(sizeof all / sizeof all[0])]();
}

static void *run(void *seed)
{
    CUstreamCaptureMode mode =
        CU_STREAM_CAPTURE_MODE_RELAXED; /* otherwise a capture forbids most calls of all threads */
    state = (uintptr_t)seed * 0x9e3779b97f4a7c15u | 1;
    cuThreadExchangeStreamCaptureMode(&mode);
    enter((unsigned)(uintptr_t)seed % there);
    while (atomic_load(&calls) < most)
        make_call();
    return NULL;
}

/* Forks the second process, before the driver is initialised. Returns its number in the first process, and 0 in the second. */
static pid_t make_pair(void)
{
    const pid_t child = share_team() ? fork() : -1;
    if (child < 0)
        exit(1);
    join_team(child != 0);
    return child;
}

/* Objects are lost from the tables, and many have a file. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int main(int count, char **arguments)
{
    unsigned long seed = count > 1 ? strtoul(arguments[1], NULL, 0) : 1;
    const bool pair = count > 3 && strcmp(arguments[3], "pair") == 0;
    const pid_t other = pair ? make_pair() : 0;
    pthread_t threads[THREADS];
    int devices = 1, status = 0;
    seed += pair && other == 0 ? 1000000 : 0;
    most = count > 2 ? strtoul(arguments[2], NULL, 0) : CALLS;
    allow_files();
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&devices) != CUDA_SUCCESS)
        return 1;
    there = devices < DEVICES ? (unsigned)devices : DEVICES;
    for (unsigned k = 0; k < SLOTS; k++) {
        void *own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        atomic_store(&table[0][OWN][k], own == MAP_FAILED ? 0 : (uintptr_t)own);
    }
    for (unsigned k = 0; k < THREADS; k++)
        if (pthread_create(&threads[k], NULL, run, (void *)(uintptr_t)(seed * THREADS + k + 1)) != 0)
            return 1;
    for (unsigned k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    if (other > 0 && (waitpid(other, &status, 0) != other || status != 0)) {
        fprintf(stderr, "the other process ended with status %d\n", status);
        _exit(1);
    }
    /* Without objects the calls would only fail, and nothing would be tested. */
    for (unsigned kind = 0; kind < KINDS && most >= CALLS; kind++)
        if (kind != OWN && (kind != FOREIGN || pair) && atomic_load(&kept[kind]) == 0) {
            fprintf(stderr, "no call has made an object of kind %u\n", kind);
            _exit(1);
        }
    _exit(0); /* the program does not destroy its objects: the leak checker would list them */
}
