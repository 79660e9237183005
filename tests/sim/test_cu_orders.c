/* Makes calls of the driver API in an order that no program uses. Objects are destroyed while others use them, streams
 * capture into graphs that change, and handles are stale or of another kind. Each call must return. The address
 * sanitizer finds other errors.
 *
 *     ORDERS_SEED=1 ORDERS_SEEDS=500 ORDERS_CALLS=2000 sim_test_cu_orders     more of them */
#include <limits.h>

#include "cu_check.h"

#define SLOTS 4
/* clang-format off */
#define KINDS(X) \
    X(STREAM, CUstream) \
    X(EVENT, CUevent) \
    X(GRAPH, CUgraph) \
    X(NODE, CUgraphNode) \
    X(EXEC, CUgraphExec) \
    X(CONDITION, CUgraphConditionalHandle) \
    X(USER, CUuserObject) \
    X(MODULE, CUmodule) \
    X(LIBRARY, CUlibrary) \
    X(FUNCTION, CUfunction) \
    X(KERNEL, CUkernel) \
    X(POOL, CUmemoryPool) \
    X(MEMORY, CUdeviceptr) \
    X(RESERVED, CUdeviceptr) \
    X(PHYSICAL, CUmemGenericAllocationHandle) \
    X(ARRAY, CUarray) \
    X(MIPMAP, CUmipmappedArray) \
    X(TEXTURE, CUtexObject) \
    X(CONTEXT, CUcontext) \
    X(LINK, CUlinkState) \
    X(HOST, CUdeviceptr)
/* clang-format on */
enum {
#define X(name, type) name,
    KINDS(X)
#undef X
        KIND_COUNT
};
static uint64_t slots[KIND_COUNT][SLOTS], state;
static unsigned filled[KIND_COUNT]; /* the number of slots that have had a handle */

static uint64_t draw(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}
static unsigned pick(unsigned count) { return (unsigned)((draw() >> 33) % count); }

/* Returns a handle of the kind. Most handles are alive. Some are stale, of another kind, or NULL. */
static uint64_t any(int kind)
{
    switch (pick(40)) {
    case 0: return 0;
    case 1: return slots[pick(KIND_COUNT)][pick(SLOTS)];
    case 2: return slots[kind][pick(SLOTS)] ^ 1ull << pick(64);
    default: return slots[kind][pick(filled[kind] ? filled[kind] : 1)];
    }
}
static void keep(int kind, uint64_t handle)
{
    if (handle)
        slots[kind][filled[kind] < SLOTS ? filled[kind]++ : pick(SLOTS)] = handle;
}
#define X(name, type)                                                                                                  \
    static type get_##name(void) { return (type)any(name); }
KINDS(X)
#undef X

static unsigned odd(void)
{
    static const unsigned values[] = {0,  1,   2,   3,    4,    7,     8,        16,       31,     32,
                                      64, 255, 256, 1024, 4096, 65536, 1u << 31, UINT_MAX, INT_MAX};
    return pick(3) ? pick(5) : values[pick(KILN__COUNT(values))];
}
static uint64_t wide(void) { return pick(3) ? odd() : pick(2) ? 0 - (uint64_t)odd() : 1ull << pick(64); }
static size_t length(void) { return pick(6) ? 1 + pick(4096) : (size_t)wide(); }

static char host[1 << 16] __attribute__((aligned(4096)));
static CUdeviceptr place(void)
{
    switch (pick(8)) {
    case 0: return get_RESERVED() + pick(1 << 16);
    case 1: return (CUdeviceptr)(uintptr_t)host + pick(4096);
    case 2: return get_HOST();
    default: return get_MEMORY() + (pick(2) ? 0 : pick(4096));
    }
}

static void CUDA_CB called(void *data) { (void)data; }
static void CUDA_CB called_back(CUstream stream, CUresult result, void *data)
{
    (void)stream, (void)result, (void)data;
}

static const char module_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 8 .u64 answer = 42;\n.visible .global .attribute(.managed) .align 8 .u64 both = 7;\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry sum(.param .u64 a, .param .u32 b) { .reg .b64 %a; .reg .b32 %b;\n"
    " ld.param.u32 %b, [b]; mov.u64 %a, answer;\n"
    " red.global.add.u32 [%a], %b; mov.u64 %a, both; red.global.add.u32 [%a], %b; ret; }\n"
    ".visible .entry choose(.param .u64 h, .param .u32 v) { .reg .b64 %h; .reg .b32 %v; .param .b64 x; .param .b32 y;\n"
    " ld.param.u64 %h, [h]; ld.param.u32 %v, [v]; st.param.b64 [x], %h; st.param.b32 [y], %v;\n"
    " call cudaGraphSetConditional, (x, y); ret; }\n";
static const char *const names[] = {"nothing", "sum", "choose", "answer", "both", "none", ""};

/* ---- structures ---- */

static uint64_t first_argument;
static unsigned second_argument;
static void *kernel_arguments[3] = {&first_argument, &second_argument, NULL};
static void set_arguments(void) { first_argument = pick(2) ? any(CONDITION) : any(MEMORY), second_argument = pick(3); }

static CUDA_KERNEL_NODE_PARAMS kernel_params(void)
{
    set_arguments();
    return (CUDA_KERNEL_NODE_PARAMS){.func = pick(3) ? get_FUNCTION() : (CUfunction)any(KERNEL),
                                     .gridDimX = 1 + pick(2),
                                     .gridDimY = pick(9) ? 1 : odd(),
                                     .gridDimZ = 1,
                                     .blockDimX = pick(9) ? 1 + pick(40) : odd(),
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .sharedMemBytes = pick(9) ? 0 : odd(),
                                     .kernelParams = pick(20) ? kernel_arguments : NULL};
}
static CUDA_MEMCPY3D copy_params(void)
{
    CUDA_MEMCPY3D c = {.WidthInBytes = length(),
                       .Height = pick(5) ? 1 : length(),
                       .Depth = pick(5) ? 1 : length(),
                       .srcPitch = pick(2) ? 0 : length(),
                       .dstPitch = pick(2) ? 0 : length(),
                       .srcMemoryType = 1 + pick(4),
                       .dstMemoryType = 1 + pick(4)};
    c.srcHost = host, c.dstHost = host;
    c.srcDevice = c.srcMemoryType == CU_MEMORYTYPE_UNIFIED ? (uintptr_t)host : place(),
    c.dstDevice = c.dstMemoryType == CU_MEMORYTYPE_UNIFIED ? (uintptr_t)host : place(), c.srcArray = get_ARRAY(),
    c.dstArray = get_ARRAY();
    if (c.srcMemoryType == CU_MEMORYTYPE_HOST || c.dstMemoryType == CU_MEMORYTYPE_HOST ||
        c.srcMemoryType == CU_MEMORYTYPE_UNIFIED ||
        c.dstMemoryType == CU_MEMORYTYPE_UNIFIED) /* the address belongs to the program's own memory */
        c.WidthInBytes = pick(64), c.Height = 1 + pick(3), c.Depth = 1, c.srcPitch = c.dstPitch = 64;
    return c;
}
static CUDA_MEMSET_NODE_PARAMS fill_params(void)
{
    return (CUDA_MEMSET_NODE_PARAMS){.dst = place(),
                                     .pitch = length(),
                                     .value = odd(),
                                     .elementSize = 1u << pick(4),
                                     .width = length(),
                                     .height = pick(4) ? 1 : length()};
}
static CUmemLocation any_place(void)
{
    return (CUmemLocation){.type = (CUmemLocationType)(pick(20) ? CU_MEM_LOCATION_TYPE_DEVICE : odd()),
                           .id = (int)(pick(9) ? 0 : odd())};
}
static CUmemAllocationProp prop(void)
{
    return (CUmemAllocationProp){.type = pick(20) ? CU_MEM_ALLOCATION_TYPE_PINNED : odd(),
                                 .location = any_place(),
                                 .requestedHandleTypes = pick(2) ? CU_MEM_HANDLE_TYPE_NONE
                                                                 : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
}
static CUmemPoolProps pool_prop(void)
{
    return (CUmemPoolProps){
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = any_place(), .maxSize = pick(2) ? 0 : length()};
}

#define MANY 4
typedef struct lists {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t count;
} lists;
/* Returns nodes of only one graph, so that most lists of nodes are valid. */
static size_t nodes_of(CUgraph graph, CUgraphNode nodes[16])
{
    size_t count = 16;
    return call_cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS ? count < 16 ? count : 16 : 0;
}
static CUgraph chosen; /* the graph that the current call uses */
static void choose(void)
{
    size_t count = 0;
    chosen = get_GRAPH();
    for (int k = 0; k < 6 && call_cuGraphGetNodes(chosen, NULL, &count) != CUDA_SUCCESS; k++)
        chosen = get_GRAPH();
}
static CUgraphNode node(void)
{
    CUgraphNode nodes[16];
    size_t count = pick(8) ? nodes_of(chosen, nodes) : 0;
    return count ? nodes[pick((unsigned)count)] : get_NODE();
}

/* Allocates lists of nodes. Each block ends with the last node, so that a sanitizer finds a read beyond the list. */
static lists new_lists(void)
{
    choose();
    lists l = {.count = pick(3) ? pick(2) : pick(MANY + 1)};
    l.from = malloc(l.count * sizeof *l.from + !l.count), l.to = malloc(l.count * sizeof *l.to + !l.count),
    l.data = calloc(l.count + !l.count, sizeof *l.data);
    for (size_t k = 0; k < l.count; k++) {
        l.from[k] = node(), l.to[k] = node();
        if (pick(30) == 0)
            l.data[k].type = (unsigned char)pick(4), l.data[k].from_port = (unsigned char)pick(4);
    }
    return l;
}
static void free_lists(lists *l) { free(l->from), free(l->to), free(l->data); }

static CUgraphNodeParams node_params(void)
{
    CUgraphNodeParams p = {.type = (CUgraphNodeType)(pick(20) ? pick(14) : odd())};
    if (pick(5) == 0)
        p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        CUDA_KERNEL_NODE_PARAMS k = kernel_params();
        memcpy(&p.kernel, &k, sizeof k < sizeof p.kernel ? sizeof k : sizeof p.kernel);
        break;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        p.memcpy.copyCtx = pick(3) ? NULL : get_CONTEXT(), p.memcpy.copyParams = copy_params();
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        CUDA_MEMSET_NODE_PARAMS k = fill_params();
        memcpy(&p.memset, &k, sizeof k);
        break;
    }
    case CU_GRAPH_NODE_TYPE_HOST: p.host.fn = pick(20) ? called : NULL; break;
    case CU_GRAPH_NODE_TYPE_GRAPH: p.graph.graph = get_GRAPH(), p.graph.ownership = pick(9) ? 0 : odd(); break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: p.eventRecord.event = get_EVENT(); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        p.alloc.poolProps = pool_prop(), p.alloc.poolProps.maxSize = 0, p.alloc.bytesize = length();
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: p.free.dptr = get_MEMORY(); break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        p.conditional.handle = get_CONDITION();
        if (pick(4))
            call_cuGraphConditionalHandleCreate(&p.conditional.handle, chosen, NULL, pick(3), pick(2));
        /* no WHILE, because the loop could be endless */
        p.conditional.type = pick(3) ? CU_GRAPH_COND_TYPE_IF : CU_GRAPH_COND_TYPE_SWITCH;
        p.conditional.size = pick(9) ? 1 + pick(2) : odd();
        p.conditional.ctx = pick(3) ? NULL : get_CONTEXT();
        break;
    default: break;
    }
    return p;
}
static void keep_bodies(const CUgraphNodeParams *p)
{
    for (unsigned k = 0;
         p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && p->conditional.phGraph_out && k < p->conditional.size && k < 2;
         k++)
        keep(GRAPH, (uint64_t)p->conditional.phGraph_out[k]);
    if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        keep(MEMORY, p->alloc.dptr);
}

/* ---- calls ---- */

#define MAKE(kind, type, call)                                                                                         \
    do {                                                                                                               \
        type made_ = 0, *made = &made_;                                                                                \
        if ((call) == CUDA_SUCCESS)                                                                                    \
            keep(kind, (uint64_t)made_);                                                                               \
    } while (0)

/* Calls a random function for streams with random handles. */
static void call_streams(void)
{
    switch (pick(9)) {
    case 0: {
        MAKE(STREAM, CUstream, call_cuStreamCreate(made, pick(2)));
        break;
    }
    case 1: {
        MAKE(STREAM, CUstream, call_cuStreamCreateWithPriority(made, odd(), (int)odd()));
        break;
    }
    case 2: {
        call_cuStreamDestroy(get_STREAM());
        break;
    }
    case 3: {
        call_cuStreamSynchronize(get_STREAM());
        break;
    }
    case 4: {
        call_cuStreamQuery(get_STREAM());
        break;
    }
    case 5: {
        call_cuStreamWaitEvent(get_STREAM(), get_EVENT(), pick(9) ? 0 : odd());
        break;
    }
    case 6: {
        call_cuLaunchHostFunc(get_STREAM(), called, NULL);
        break;
    }
    case 7: {
        call_cuStreamAddCallback(get_STREAM(), called_back, NULL, 0);
        break;
    }
    default: {
        call_cuStreamCopyAttributes(get_STREAM(), get_STREAM());
        break;
    }
    }
}

/* Calls a random function for captures with random handles. */
static void call_captures(void)
{
    switch (pick(6)) {
    case 0: {
        call_cuStreamBeginCapture(get_STREAM(), CU_STREAM_CAPTURE_MODE_RELAXED);
        break;
    }
    case 1: {
        lists l = new_lists();
        call_cuStreamBeginCaptureToGraph(get_STREAM(), chosen, l.from, l.data, l.count, CU_STREAM_CAPTURE_MODE_RELAXED);
        free_lists(&l);
        break;
    }
    case 2: {
        MAKE(GRAPH, CUgraph, call_cuStreamEndCapture(get_STREAM(), made));
        break;
    }
    case 3: {
        CUstreamCaptureStatus s;
        cuuint64_t id;
        CUgraph g = NULL;
        const CUgraphNode *d;
        const CUgraphEdgeData *e;
        size_t n = 0;
        if (call_cuStreamGetCaptureInfo(get_STREAM(), &s, &id, &g, &d, &e, &n) == CUDA_SUCCESS && g) {
            keep(GRAPH, (uint64_t)g);
            for (size_t k = 0; k < n; k++)
                keep(NODE, (uint64_t)d[k]);
        };
        break;
    }
    case 4: {
        lists l = new_lists();
        call_cuStreamUpdateCaptureDependencies(get_STREAM(), l.from, l.data, l.count, pick(2));
        free_lists(&l);
        break;
    }
    default: {
        CUstreamCaptureMode m = (CUstreamCaptureMode)pick(3);
        call_cuThreadExchangeStreamCaptureMode(&m);
        break;
    }
    }
}

/* Calls a random function for events with random handles. */
static void call_events(void)
{
    switch (pick(7)) {
    case 0: {
        MAKE(EVENT, CUevent, call_cuEventCreate(made, pick(9) ? 0 : odd()));
        break;
    }
    case 1: {
        call_cuEventDestroy(get_EVENT());
        break;
    }
    case 2: {
        call_cuEventRecord(get_EVENT(), get_STREAM());
        break;
    }
    case 3: {
        call_cuEventRecordWithFlags(get_EVENT(), get_STREAM(), pick(2));
        break;
    }
    case 4: {
        call_cuEventQuery(get_EVENT());
        break;
    }
    case 5: {
        call_cuEventSynchronize(get_EVENT());
        break;
    }
    default: {
        float ms;
        call_cuEventElapsedTime(&ms, get_EVENT(), get_EVENT());
        break;
    }
    }
}

/* Calls a random function for virtual memory with random handles. */
static void call_virtual(void)
{
    switch (pick(9)) {
    case 0: {
        MAKE(RESERVED, CUdeviceptr,
             call_cuMemAddressReserve(made, (size_t)(1 + pick(3)) << 21, 0,
                                      pick(3) ? 0 : get_RESERVED() + ((uint64_t)pick(4) << 21), 0));
        break;
    }
    case 1: {
        call_cuMemAddressFree(get_RESERVED(), (size_t)(1 + pick(3)) << 21);
        break;
    }
    case 2: {
        CUmemAllocationProp p = prop();
        MAKE(PHYSICAL, CUmemGenericAllocationHandle, call_cuMemCreate(made, (size_t)(1 + pick(2)) << 21, &p, 0));
        break;
    }
    case 3: {
        call_cuMemRelease(get_PHYSICAL());
        break;
    }
    case 4: {
        call_cuMemMap(get_RESERVED() + ((uint64_t)pick(3) << 21), pick(9) ? (size_t)(1 + pick(2)) << 21 : length(), 0,
                      get_PHYSICAL(), 0);
        break;
    }
    case 5: {
        call_cuMemUnmap(get_RESERVED() + ((uint64_t)pick(3) << 21), (size_t)(1 + pick(3)) << 21);
        break;
    }
    case 6: {
        CUmemAccessDesc d = {{.type = CU_MEM_LOCATION_TYPE_DEVICE}, (CUmemAccess_flags)pick(4)};
        call_cuMemSetAccess(get_RESERVED() + ((uint64_t)pick(3) << 21), (size_t)(1 + pick(3)) << 21, &d, 1);
        break;
    }
    case 7: {
        MAKE(PHYSICAL, CUmemGenericAllocationHandle,
             call_cuMemRetainAllocationHandle(made, (void *)(get_RESERVED() + pick(1 << 22))));
        break;
    }
    default: {
        int fd = -1;
        if (call_cuMemExportToShareableHandle(&fd, get_PHYSICAL(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
            CUDA_SUCCESS) {
            MAKE(PHYSICAL, CUmemGenericAllocationHandle,
                 call_cuMemImportFromShareableHandle(made, (void *)(intptr_t)fd,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
            close(fd);
        };
        break;
    }
    }
}

/* Calls a random function for memory pools with random handles. */
static void call_pools(void)
{
    switch (pick(9)) {
    case 0: {
        MAKE(MEMORY, CUdeviceptr, call_cuMemAllocAsync(made, length() & 0xffffff, get_STREAM()));
        break;
    }
    case 1: {
        MAKE(MEMORY, CUdeviceptr, call_cuMemAllocFromPoolAsync(made, length() & 0xffffff, get_POOL(), get_STREAM()));
        break;
    }
    case 2: {
        call_cuMemFreeAsync(get_MEMORY(), get_STREAM());
        break;
    }
    case 3: {
        CUmemPoolProps p = pool_prop();
        MAKE(POOL, CUmemoryPool, call_cuMemPoolCreate(made, &p));
        break;
    }
    case 4: {
        call_cuMemPoolDestroy(get_POOL());
        break;
    }
    case 5: {
        call_cuMemPoolTrimTo(get_POOL(), length());
        break;
    }
    case 6: {
        call_cuDeviceSetMemPool(0, get_POOL());
        break;
    }
    case 7: {
        cuuint64_t value = wide();
        call_cuMemPoolSetAttribute(get_POOL(), (CUmemPool_attribute)pick(10), &value);
        break;
    }
    default: {
        cuuint64_t value;
        call_cuMemPoolGetAttribute(get_POOL(), (CUmemPool_attribute)pick(10), &value);
        break;
    }
    }
}

/* Calls a random function for arrays with random handles. */
static void call_arrays(void)
{
    switch (pick(8)) {
    case 0: {
        CUDA_ARRAY3D_DESCRIPTOR d = {1 + pick(20),       pick(20),      pick(3),
                                     CU_AD_FORMAT_FLOAT, 1u << pick(3), pick(9) ? 0 : pick(64)};
        MAKE(ARRAY, CUarray, call_cuArray3DCreate(made, &d));
        break;
    }
    case 1: {
        call_cuArrayDestroy(get_ARRAY());
        break;
    }
    case 2: {
        CUDA_ARRAY3D_DESCRIPTOR d = {1 + pick(20),       pick(20),      pick(3),
                                     CU_AD_FORMAT_FLOAT, 1u << pick(3), pick(9) ? 0 : pick(64)};
        MAKE(MIPMAP, CUmipmappedArray, call_cuMipmappedArrayCreate(made, &d, pick(6)));
        break;
    }
    case 3: {
        MAKE(ARRAY, CUarray, call_cuMipmappedArrayGetLevel(made, get_MIPMAP(), pick(5)));
        break;
    }
    case 4: {
        call_cuMipmappedArrayDestroy(get_MIPMAP());
        break;
    }
    case 5: {
        CUDA_RESOURCE_DESC r = {.resType = (CUresourcetype)pick(2)};
        CUDA_TEXTURE_DESC d = {.flags = 2};
        if (r.resType)
            r.res.mipmap.hMipmappedArray = get_MIPMAP();
        else
            r.res.array.hArray = get_ARRAY();
        MAKE(TEXTURE, CUtexObject, call_cuTexObjectCreate(made, &r, &d, NULL));
        break;
    }
    case 6: {
        call_cuTexObjectDestroy(get_TEXTURE());
        break;
    }
    default: {
        CUDA_RESOURCE_DESC r;
        call_cuTexObjectGetResourceDesc(&r, get_TEXTURE());
        break;
    }
    }
}

/* Calls a random function for memory with random handles and lengths. */
static void call_memory(void)
{
    switch (pick(16)) {
    case 0: {
        MAKE(MEMORY, CUdeviceptr, call_cuMemAlloc(made, length() & 0xffffff));
        break;
    }
    case 1: {
        call_cuMemFree(get_MEMORY());
        break;
    }
    case 2: {
        MAKE(MEMORY, CUdeviceptr, call_cuMemAllocManaged(made, length() & 0xffffff, CU_MEM_ATTACH_GLOBAL));
        break;
    }
    case 3: {
        void *p = NULL;
        if (call_cuMemHostAlloc(&p, length() & 0xffff, pick(8)) == CUDA_SUCCESS)
            keep(HOST, (uintptr_t)p);
        break;
    }
    case 4: {
        call_cuMemFreeHost((void *)get_HOST());
        break;
    }
    case 5: {
        call_cuMemHostRegister(host + 4096 * pick(4), 4096 * (1 + pick(3)), pick(16));
        break;
    }
    case 6: {
        call_cuMemHostUnregister(pick(2) ? host + 4096 * pick(4) : (void *)get_HOST());
        break;
    }
    case 7: {
        call_cuStreamAttachMemAsync(get_STREAM(), get_MEMORY(), 0, 1u << pick(3));
        break;
    }
    case 8: {
        const CUmemLocation at = {.type = (CUmemLocationType)pick(5)};
        call_cuMemPrefetchAsync(get_MEMORY(), length(), at, 0, get_STREAM());
        break;
    }
    case 9: {
        const CUmemLocation at = {.type = (CUmemLocationType)pick(5)};
        call_cuMemAdvise(get_MEMORY(), length(), (CUmem_advise)odd(), at);
        break;
    }
    case 10: {
        CUDA_MEMCPY3D c = copy_params();
        call_cuMemcpy3DAsync(&c, get_STREAM());
        break;
    }
    case 11: {
        CUDA_MEMCPY3D c = copy_params();
        call_cuMemcpy3D(&c);
        break;
    }
    case 12: {
        call_cuMemsetD8Async(place(), 1, length(), get_STREAM());
        break;
    }
    case 13: {
        call_cuMemsetD2D32Async(place(), length(), 1, length(), pick(9), get_STREAM());
        break;
    }
    case 14: {
        call_cuStreamWriteValue32(get_STREAM(), place(), odd(), pick(2));
        break;
    }
    default: {
        CUmemorytype t;
        CUdeviceptr b;
        size_t n;
        call_cuMemGetAddressRange(&b, &n, place());
        call_cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, place());
        break;
    }
    }
}

/* Calls a random function for libraries with random handles. */
static void call_libraries(void)
{
    switch (pick(7)) {
    case 0: {
        MAKE(LIBRARY, CUlibrary, call_cuLibraryLoadData(made, module_text, NULL, NULL, 0, NULL, NULL, 0));
        break;
    }
    case 1: {
        call_cuLibraryUnload(get_LIBRARY());
        break;
    }
    case 2: {
        MAKE(KERNEL, CUkernel, call_cuLibraryGetKernel(made, get_LIBRARY(), names[pick(7)]));
        break;
    }
    case 3: {
        MAKE(FUNCTION, CUfunction, call_cuKernelGetFunction(made, get_KERNEL()));
        break;
    }
    case 4: {
        MAKE(MODULE, CUmodule, call_cuLibraryGetModule(made, get_LIBRARY()));
        break;
    }
    case 5: {
        size_t n;
        MAKE(MEMORY, CUdeviceptr, call_cuLibraryGetManaged(made, &n, get_LIBRARY(), names[pick(7)]));
        break;
    }
    default: {
        unsigned n = pick(5);
        CUkernel *k = malloc(n * sizeof *k + !n);
        if (call_cuLibraryEnumerateKernels(k, n, get_LIBRARY()) == CUDA_SUCCESS && n)
            keep(KERNEL, (uint64_t)k[0]);
        free(k);
        break;
    }
    }
}

static void call_links(void)
{
    switch (pick(4)) {
    case 0: {
        MAKE(LINK, CUlinkState, call_cuLinkCreate(0, NULL, NULL, made));
        break;
    }
    case 1: {
        call_cuLinkAddData(get_LINK(), CU_JIT_INPUT_PTX, (void *)(uintptr_t)module_text, sizeof module_text, "x", 0,
                           NULL, NULL);
        break;
    }
    case 2: {
        void *image = NULL;
        if (call_cuLinkComplete(get_LINK(), &image, NULL) == CUDA_SUCCESS)
            MAKE(MODULE, CUmodule, call_cuModuleLoadData(made, image));
        break;
    }
    default: {
        call_cuLinkDestroy(get_LINK());
        break;
    }
    }
}

/* Calls a random function for modules with random handles. */
static void call_modules(void)
{
    switch (pick(7)) {
    case 0: {
        MAKE(MODULE, CUmodule, call_cuModuleLoadData(made, module_text));
        break;
    }
    case 1: {
        call_cuModuleUnload(get_MODULE());
        break;
    }
    case 2: {
        MAKE(FUNCTION, CUfunction, call_cuModuleGetFunction(made, get_MODULE(), names[pick(7)]));
        break;
    }
    case 3: {
        size_t n;
        MAKE(MEMORY, CUdeviceptr, call_cuModuleGetGlobal(made, &n, get_MODULE(), names[pick(7)]));
        break;
    }
    case 4: {
        call_cuFuncSetAttribute(get_FUNCTION(), (CUfunction_attribute)pick(16), (int)odd());
        break;
    }
    case 5: {
        const char *name;
        call_cuFuncGetName(&name, get_FUNCTION());
        break;
    }
    default: {
        CUDA_KERNEL_NODE_PARAMS k = kernel_params();
        call_cuLaunchKernel(k.func, k.gridDimX, k.gridDimY & 15, 1, k.blockDimX, 1, 1, k.sharedMemBytes, get_STREAM(),
                            kernel_arguments, NULL);
        break;
    }
    }
}

static void call_users(void)
{
    switch (pick(5)) {
    case 0: {
        MAKE(USER, CUuserObject, call_cuUserObjectCreate(made, NULL, called, pick(9) ? 1 + pick(3) : odd(), 1));
        break;
    }
    case 1: {
        call_cuUserObjectRetain(get_USER(), odd());
        break;
    }
    case 2: {
        call_cuUserObjectRelease(get_USER(), odd());
        break;
    }
    case 3: {
        call_cuGraphRetainUserObject(get_GRAPH(), get_USER(), odd(), pick(2));
        break;
    }
    default: {
        call_cuGraphReleaseUserObject(get_GRAPH(), get_USER(), odd());
        break;
    }
    }
}

/* Calls a random function for executable graphs with random handles. */
static void call_execs(void)
{
    switch (pick(9)) {
    case 0: {
        MAKE(EXEC, CUgraphExec, call_cuGraphInstantiateWithFlags(made, get_GRAPH(), pick(9) ? pick(2) : odd()));
        break;
    }
    case 1: {
        call_cuGraphExecDestroy(get_EXEC());
        break;
    }
    case 2: {
        call_cuGraphLaunch(get_EXEC(), get_STREAM());
        break;
    }
    case 3: {
        call_cuGraphUpload(get_EXEC(), get_STREAM());
        break;
    }
    case 4: {
        CUgraphExecUpdateResultInfo info;
        call_cuGraphExecUpdate(get_EXEC(), get_GRAPH(), &info);
        break;
    }
    case 5: {
        CUgraphNodeParams p = node_params();
        call_cuGraphExecNodeSetParams(get_EXEC(), node(), &p);
        break;
    }
    case 6: {
        call_cuGraphExecChildGraphNodeSetParams(get_EXEC(), node(), get_GRAPH());
        break;
    }
    case 7: {
        call_cuGraphNodeSetEnabled(get_EXEC(), node(), pick(2));
        break;
    }
    default: {
        unsigned on;
        call_cuGraphNodeGetEnabled(get_EXEC(), node(), &on);
        break;
    }
    }
}

/* Calls a random function for nodes with random handles. */
static void call_nodes(void)
{
    switch (pick(15)) {
    case 0: {
        MAKE(NODE, CUgraphNode, call_cuGraphNodeFindInClone(made, node(), get_GRAPH()));
        break;
    }
    case 1: {
        lists l = new_lists();
        CUgraphNodeParams p = node_params();
        MAKE(NODE, CUgraphNode, call_cuGraphAddNode(made, chosen, l.from, l.data, l.count, &p));
        keep_bodies(&p);
        free_lists(&l);
        break;
    }
    case 2: {
        lists l = new_lists();
        CUDA_KERNEL_NODE_PARAMS p = kernel_params();
        MAKE(NODE, CUgraphNode, call_cuGraphAddKernelNode(made, chosen, l.from, l.count, &p));
        free_lists(&l);
        break;
    }
    case 3: {
        lists l = new_lists();
        MAKE(NODE, CUgraphNode, call_cuGraphAddChildGraphNode(made, chosen, l.from, l.count, get_GRAPH()));
        free_lists(&l);
        break;
    }
    case 4: {
        lists l = new_lists();
        MAKE(NODE, CUgraphNode, call_cuGraphAddMemFreeNode(made, chosen, l.from, l.count, get_MEMORY()));
        free_lists(&l);
        break;
    }
    case 5: {
        MAKE(CONDITION, CUgraphConditionalHandle,
             call_cuGraphConditionalHandleCreate(made, get_GRAPH(), pick(3) ? NULL : get_CONTEXT(), pick(3),
                                                 pick(9) ? pick(2) : odd()));
        break;
    }
    case 6: {
        choose();
        call_cuGraphDestroyNode(node());
        break;
    }
    case 7: {
        lists l = new_lists();
        size_t n = l.count;
        if (call_cuGraphGetNodes(get_GRAPH(), l.from, &n) == CUDA_SUCCESS && n && l.count)
            keep(NODE, (uint64_t)l.from[pick((unsigned)(n < l.count ? n : l.count))]);
        free_lists(&l);
        break;
    }
    case 8: {
        lists l = new_lists();
        size_t n = l.count;
        call_cuGraphNodeGetDependencies(node(), l.from, pick(2) ? l.data : NULL, &n);
        free_lists(&l);
        break;
    }
    case 9: {
        MAKE(GRAPH, CUgraph, call_cuGraphChildGraphNodeGetGraph(node(), made));
        break;
    }
    case 10: {
        CUgraphNodeParams p = node_params();
        choose();
        call_cuGraphNodeSetParams(node(), &p);
        break;
    }
    case 11: {
        call_cuGraphKernelNodeCopyAttributes(node(), node());
        break;
    }
    case 12: {
        CUDA_KERNEL_NODE_PARAMS p;
        if (call_cuGraphKernelNodeGetParams(node(), &p) == CUDA_SUCCESS)
            call_cuGraphKernelNodeSetParams(node(), &p);
        break;
    }
    case 13: {
        CUDA_MEMCPY3D p;
        if (call_cuGraphMemcpyNodeGetParams(node(), &p) == CUDA_SUCCESS)
            call_cuGraphMemcpyNodeSetParams(node(), &p);
        break;
    }
    default: {
        call_cuGraphDebugDotPrint(get_GRAPH(), "/dev/null", pick(1 << 16));
        break;
    }
    }
}

/* Calls a random function for graphs with random handles. */
static void call_graphs(void)
{
    switch (pick(6)) {
    case 0: {
        MAKE(GRAPH, CUgraph, call_cuGraphCreate(made, 0));
        break;
    }
    case 1: {
        call_cuGraphDestroy(get_GRAPH());
        break;
    }
    case 2: {
        MAKE(GRAPH, CUgraph, call_cuGraphClone(made, get_GRAPH()));
        break;
    }
    case 3: {
        lists l = new_lists();
        call_cuGraphAddDependencies(chosen, l.from, l.to, l.data, l.count);
        free_lists(&l);
        break;
    }
    case 4: {
        lists l = new_lists();
        call_cuGraphRemoveDependencies(chosen, l.from, l.to, l.data, l.count);
        free_lists(&l);
        break;
    }
    default: {
        lists l = new_lists();
        size_t n = l.count;
        call_cuGraphGetEdges(get_GRAPH(), l.from, l.to, pick(2) ? l.data : NULL, &n);
        free_lists(&l);
        break;
    }
    }
}

/* Calls a random function for contexts with random handles. */
static void call_contexts(void)
{
    switch (pick(7)) {
    case 0: {
        CUcontext before;
        call_cuCtxGetCurrent(&before);
        MAKE(CONTEXT, CUcontext, call_cuCtxCreate(made, NULL, 0, 0));
        if (pick(6))
            call_cuCtxSetCurrent(before);
        break;
    }
    case 1: {
        CUcontext c = get_CONTEXT();
        if (c != primary || pick(20) == 0)
            call_cuCtxDestroy(c);
        break;
    }
    case 2: {
        call_cuCtxSetCurrent(pick(8) ? primary : get_CONTEXT());
        break;
    }
    case 3: {
        call_cuCtxPushCurrent(pick(8) ? primary : get_CONTEXT());
        break;
    }
    case 4: {
        CUcontext c;
        call_cuCtxPopCurrent(&c);
        break;
    }
    case 5: {
        if (pick(8) == 0)
            call_cuCtxSynchronize();
        break;
    }
    default: {
        if (pick(40) == 0)
            call_cuDevicePrimaryCtxReset(device);
        break;
    }
    }
}

static const struct {
    void (*call)(void);
    unsigned weight;
} groups[] = {{call_streams, 16}, {call_captures, 50}, {call_events, 15},    {call_virtual, 17}, {call_pools, 15},
              {call_arrays, 11},  {call_memory, 24},   {call_libraries, 11}, {call_links, 4},    {call_modules, 14},
              {call_users, 8},    {call_execs, 24},    {call_nodes, 60},     {call_graphs, 15},  {call_contexts, 2}};

static void call_one(void)
{
    unsigned total = 0;
    for (size_t k = 0; k < KILN__COUNT(groups); k++)
        total += groups[k].weight;
    unsigned at = pick(total);
    size_t k = 0;
    while (at >= groups[k].weight)
        at -= groups[k++].weight;
    groups[k].call();
}

/* Makes the device usable after a fault. Usually also makes the program's first context current again. */
static void recover(void)
{
    CUcontext now = NULL;
    size_t free_bytes, all_bytes;
    const CUresult result = call_cuMemGetInfo(&free_bytes, &all_bytes);
    if (result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_FAILED ||
        result == CUDA_ERROR_MISALIGNED_ADDRESS)
        call_cuDevicePrimaryCtxReset(device);
    if (call_cuCtxGetCurrent(&now) != CUDA_SUCCESS || (now != primary && pick(3)))
        call_cuCtxSetCurrent(primary);
}

static void run_seed(unsigned long seed, unsigned long calls)
{
    state = (seed + 1) * 0x9e3779b97f4a7c15ull;
    memset(slots, 0, sizeof slots);
    memset(filled, 0, sizeof filled);
    chosen = NULL;
    open_device();
    keep(CONTEXT, (uint64_t)primary);
    for (unsigned long k = 0; k < calls; k++) {
        call_one();
        if (k % 8 == 0)
            recover();
    }
    for (int k = 0; k < SLOTS; k++)
        if (slots[CONTEXT][k] && (CUcontext)slots[CONTEXT][k] != primary)
            call_cuCtxDestroy((CUcontext)slots[CONTEXT][k]);
    call_cuCtxSetCurrent(NULL);
    call_cuDevicePrimaryCtxReset(device);
    while (call_cuDevicePrimaryCtxRelease(device) == CUDA_SUCCESS)
        ;
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

static void all_orders(void)
{
    const unsigned long first = setting("ORDERS_SEED", 1), count = setting("ORDERS_SEEDS", 10);
    for (unsigned long seed = first; seed < first + count; seed++) {
        if (getenv("ORDERS_SEED"))
            fprintf(stderr, "seed %lu\n", seed); /* the last printed seed is the seed of a crash */
        run_seed(seed, setting("ORDERS_CALLS", 1000));
    }
}

static const check_case cases[] = {{"all orders", all_orders}};
CU_SUITE("sim cu_orders", cases)
