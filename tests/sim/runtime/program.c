/* Tests the CUDA runtime as nvcc's code would use it, without nvcc. The program registers a fat binary with the PTX
 * below, and calls the runtime's functions as generated code and programs do. It prints each error. It ends with 0 if
 * no error occurred. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".const .align 4 .u32 offset = 5;\n"
    ".global .align 4 .u32 counter = 0;\n"
    ".global .align 4 .u32 managed_value = 7;\n"
    /* computes p[i] = p[i] * factor + offset, and counts its threads */
    ".visible .entry scale(.param .u64 p, .param .u32 n, .param .u32 factor)\n{\n"
    " .reg .pred %q; .reg .b32 %r<9>; .reg .b64 %d<5>;\n"
    " ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [factor];\n"
    " mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.s32 %r3, %r3, %r4, %r5;\n"
    " setp.ge.u32 %q, %r3, %r1; @%q ret;\n"
    " cvta.to.global.u64 %d1, %d1; mad.wide.u32 %d2, %r3, 4, %d1;\n"
    " ld.global.u32 %r6, [%d2]; ld.const.u32 %r7, [offset]; mad.lo.s32 %r6, %r6, %r2, %r7;\n"
    " st.global.u32 [%d2], %r6; atom.global.add.u32 %r8, [counter], 1; ret;\n}\n"
    /* p[i] = texture(i, row) */
    ".visible .entry fetch(.param .u64 p, .param .u64 texture, .param .f32 row)\n{\n"
    " .reg .b32 %r<3>; .reg .f32 %f<7>; .reg .b64 %d<4>;\n"
    " ld.param.u64 %d1, [p]; ld.param.u64 %d2, [texture]; ld.param.f32 %f1, [row];\n"
    " mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f2, %r1; add.f32 %f2, %f2, 0f3F000000;\n"
    " tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d2, {%f2, %f1}];\n"
    " cvta.to.global.u64 %d1, %d1; mad.wide.u32 %d3, %r1, 4, %d1; st.global.f32 [%d3], %f3; ret;\n}\n"
    ".visible .entry fail()\n{\n trap;\n}\n";

/* The layout of nvcc's code, according to crt/host_runtime.h: host variables, and a host function whose address
 * identifies a kernel. */
typedef struct wrapper {
    int magic, version;
    const void *data;
    void *parts;
} wrapper;
static const wrapper image = {0x466243b1, 1, ptx, NULL};
static const char scale, fetch, fail, stranger;
static unsigned offset, counter, *managed_value;

void **__cudaRegisterFatBinary(const void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **, const void *, const char *, const char *, int, void *, void *, void *, void *,
                            int *);
void __cudaRegisterVar(void **, void *, const char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, const char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *symbol);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void **, size_t, cudaStream_t);

static int wrong;
static void check(int line, int right, const char *what)
{
    if (!right) {
        printf("line %d: %s (last error: %s)\n", line, what, cudaGetErrorName(cudaPeekAtLastError()));
        wrong++;
    }
}
#define CHECK(condition) check(__LINE__, (condition), #condition)
#define OK(call) CHECK((call) == cudaSuccess)
#define IS(call, error) CHECK((call) == (error))

enum { N = 100 };
static unsigned host[N];
static unsigned *device;

static void **set_up(void)
{
    void **handle = __cudaRegisterFatBinary(&image);
    __cudaRegisterFunction(handle, &scale, "scale", "scale", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &fetch, "fetch", "fetch", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &fail, "fail", "fail", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &offset, "offset", "offset", 0, 4, 1, 0);
    __cudaRegisterVar(handle, &counter, "counter", "counter", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

/* Launches like <<<grid, block, 0, stream>>>. The configuration is pushed here, and the stub pops it. */
static cudaError_t launch(unsigned factor, cudaStream_t stream)
{
    dim3 grid, block;
    size_t shared = 1;
    cudaStream_t popped;
    cudaKernel_t kernel;
    unsigned n = N;
    void *arguments[] = {&device, &n, &factor};
    CHECK(__cudaPushCallConfiguration((dim3){4, 1, 1}, (dim3){32, 1, 1}, 0, stream) == 0);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &popped));
    CHECK(grid.x == 4 && block.x == 32 && shared == 0 && popped == stream);
    OK(__cudaGetKernel(&kernel, &scale));
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared, popped);
}

static int all(unsigned factor, unsigned plus)
{
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < N; i++)
        if (host[i] != i * factor + plus)
            return 0;
    return 1;
}

static void fill(void)
{
    for (unsigned i = 0; i < N; i++)
        host[i] = i;
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
}

static void kernels_and_symbols(void)
{
    unsigned value = 9, threads = 0;
    void *address;
    size_t size = 0;
    fill();
    OK(launch(3, NULL));
    CHECK(all(3, 5));
    OK(cudaMemcpyFromSymbol(&threads, &counter, 4, 0, cudaMemcpyDeviceToHost));
    CHECK(threads == N);
    OK(cudaMemcpyToSymbol(&offset, &value, 4, 0, cudaMemcpyHostToDevice));
    OK(launch(1, NULL));
    CHECK(all(3, 14));
    OK(cudaGetSymbolAddress(&address, &counter));
    OK(cudaGetSymbolSize(&size, &counter));
    CHECK(size == 4);
    OK(cudaMemset(address, 0, 4));
    IS(cudaMemcpyToSymbol(&offset, &value, 4, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    IS(cudaGetSymbolSize(&size, &value), cudaErrorInvalidSymbol);
    value = 5;
    OK(cudaMemcpyToSymbol(&offset, &value, 4, 0, cudaMemcpyHostToDevice));
    cudaGetLastError();
}

static void errors(void)
{
    unsigned n = N;
    void *arguments[] = {&device, &n, &n};
    void *none = NULL;
    OK(cudaGetLastError());
    IS(cudaMemcpy(host, device, 4, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    OK(cudaDeviceSynchronize()); /* a call that succeeds does not reset the error */
    IS(cudaPeekAtLastError(), cudaErrorInvalidMemcpyDirection);
    IS(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
    OK(cudaGetLastError());
    IS(cudaLaunchKernel(&stranger, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
    IS(cudaLaunchKernel(&scale, (dim3){1, 1, 1}, (dim3){4096, 1, 1}, arguments, 0, NULL),
       cudaErrorInvalidConfiguration);
    IS(cudaLaunchKernel(&scale, (dim3){0, 1, 1}, (dim3){32, 1, 1}, arguments, 0, NULL), cudaErrorInvalidConfiguration);
    IS(cudaSetDevice(99), cudaErrorInvalidDevice);
    IS(cudaMalloc(&none, (size_t)1 << 60), cudaErrorMemoryAllocation);
    IS(cudaImportExternalMemory(NULL, NULL), cudaErrorNotSupported);
    IS(cudaGetLastError(), cudaErrorNotSupported);
    CHECK(strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
    CHECK(strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code") == 0);
    dim3 grid;
    size_t shared;
    IS(__cudaPopCallConfiguration(&grid, &grid, &shared, &none), cudaErrorMissingConfiguration);
    cudaGetLastError();
}

static void memory(void)
{
    struct cudaPointerAttributes of;
    struct cudaPitchedPtr box;
    char rows[6][40], back[6][40], *pinned;
    void *flat, *on_device;
    size_t pitch = 0, left = 0, total = 0;
    OK(cudaPointerGetAttributes(&of, device));
    CHECK(of.type == cudaMemoryTypeDevice && of.device == 0 && of.devicePointer == device);
    OK(cudaPointerGetAttributes(&of, host));
    CHECK(of.type == cudaMemoryTypeUnregistered);
    OK(cudaHostAlloc((void **)&pinned, 64, cudaHostAllocMapped));
    OK(cudaPointerGetAttributes(&of, pinned));
    CHECK(of.type == cudaMemoryTypeHost);
    OK(cudaHostGetDevicePointer(&on_device, pinned, 0));
    OK(cudaMemset(on_device, 3, 64));
    CHECK(pinned[63] == 3);
    OK(cudaMallocManaged(&flat, 64, cudaMemAttachGlobal));
    OK(cudaPointerGetAttributes(&of, flat));
    CHECK(of.type == cudaMemoryTypeManaged);
    OK(cudaMemcpy(flat, pinned, 64, cudaMemcpyDefault));
    CHECK(((char *)flat)[1] == 3);
    OK(cudaFree(flat));
    OK(cudaFreeHost(pinned));
    OK(cudaMalloc(&flat, 0)); /* nothing */
    CHECK(flat == NULL);
    unsigned char fresh[1000]; /* fresh memory is zero, as on a GPU */
    memset(fresh, 1, sizeof fresh);
    OK(cudaMalloc(&flat, sizeof fresh));
    OK(cudaMemcpy(fresh, flat, sizeof fresh, cudaMemcpyDeviceToHost));
    CHECK(fresh[0] == 0 && memcmp(fresh, fresh + 1, sizeof fresh - 1) == 0);
    OK(cudaFree(flat));
    OK(cudaFree(NULL));

    for (int i = 0; i < (int)sizeof rows; i++)
        ((char *)rows)[i] = (char)i;
    memset(back, 0, sizeof back);
    OK(cudaMallocPitch(&flat, &pitch, 40, 6));
    CHECK(pitch >= 40);
    OK(cudaMemcpy2D(flat, pitch, rows, 40, 40, 6, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, 40, flat, pitch, 40, 6, cudaMemcpyDeviceToHost));
    CHECK(memcmp(rows, back, sizeof rows) == 0);
    IS(cudaMemcpy2D(back, 8, flat, pitch, 40, 6, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    OK(cudaMemset2D(flat, pitch, 1, 40, 6));
    OK(cudaFree(flat));

    OK(cudaMalloc3D(&box, (struct cudaExtent){40, 3, 2}));
    struct cudaMemcpy3DParms copy = {.srcPtr = {rows, 40, 40, 3}, .dstPtr = box, .extent = {40, 3, 2}};
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    OK(cudaMemset3D(box, 7, (struct cudaExtent){1, 3, 2}));
    struct cudaMemcpy3DParms home = {.srcPtr = box, .dstPtr = {back, 40, 40, 3}, .extent = {40, 3, 2}};
    home.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&home));
    CHECK(back[0][0] == 7 && back[5][0] == 7 && back[5][1] == rows[5][1] && back[2][39] == rows[2][39]);
    OK(cudaFree(box.ptr));
    OK(cudaMemGetInfo(&left, &total));
    CHECK(left > 0 && left <= total);
    cudaGetLastError();
}

/* Tests streams, events, priorities and memory pools through the runtime. */
static void streams_and_pools(void)
{
    cudaStream_t stream;
    cudaEvent_t from, to;
    float ms = -1;
    void *p;
    int least, greatest;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&from));
    OK(cudaEventCreateWithFlags(&to, cudaEventDefault));
    fill();
    OK(cudaEventRecord(from, stream));
    OK(launch(2, stream));
    OK(cudaEventRecord(to, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamQuery(stream));
    OK(cudaEventElapsedTime(&ms, from, to));
    CHECK(ms >= 0);
    CHECK(all(2, 5));
    OK(cudaMallocAsync(&p, 64, stream));
    OK(cudaMemsetAsync(p, 0, 64, stream));
    OK(cudaFreeAsync(p, stream));
    OK(cudaStreamWaitEvent(stream, to, 0));
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(from));
    OK(cudaEventDestroy(to));
    IS(cudaEventDestroy(NULL), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

/* Exports a pool and imports it again, so the same memory has two addresses. ipc_program.c tests pools of other
 * processes. */
static void shared_pools(void)
{
    const struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                           .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                           .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    struct cudaMemPoolPtrExportData data;
    cudaMemPool_t pool, other;
    unsigned *here, *there, value = 0;
    int file = -1, types = 0;
    OK(cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    CHECK(types & cudaMemHandleTypePosixFileDescriptor);
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMallocFromPoolAsync((void **)&here, 4, pool, NULL));
    OK(cudaMemPoolExportToShareableHandle(&file, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    OK(cudaMemPoolImportFromShareableHandle(&other, (void *)(intptr_t)file, cudaMemHandleTypePosixFileDescriptor, 0));
    CHECK(close(file) == 0);
    IS(cudaMallocFromPoolAsync((void **)&there, 4, other, NULL), cudaErrorInvalidValue);
    OK(cudaMemPoolExportPointer(&data, here));
    OK(cudaMemPoolImportPointer((void **)&there, other, &data));
    OK(cudaMemset(there, 7, 4));
    OK(cudaMemcpy(&value, here, 4, cudaMemcpyDefault));
    CHECK(value == 0x07070707);
    OK(cudaFreeAsync(there, NULL));
    OK(cudaFreeAsync(here, NULL));
    IS(cudaMemPoolImportPointer((void **)&there, other, &data), cudaErrorInvalidValue);
    OK(cudaMemPoolDestroy(other));
    OK(cudaMemPoolDestroy(pool));
    cudaGetLastError();
}

static void count_call(void *count) { ++*(int *)count; }

static void graphs(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t copy, kernel, call, nodes[3];
    size_t count = 3;
    int calls = 0;
    /* captured */
    OK(cudaStreamCreate(&stream));
    fill();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(launch(1, stream));
    OK(launch(1, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(all(1, 10));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    /* node by node */
    unsigned n = N, factor = 4;
    void *arguments[] = {&device, &n, &factor};
    struct cudaKernelNodeParams k = {(void *)(size_t)&scale, {4, 1, 1}, {32, 1, 1}, 0, arguments, NULL}, got;
    struct cudaHostNodeParams h = {count_call, &calls};
    for (unsigned i = 0; i < N; i++)
        host[i] = i;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, device, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaGraphAddKernelNode(&kernel, graph, &copy, 1, &k));
    OK(cudaGraphAddHostNode(&call, graph, &kernel, 1, &h));
    OK(cudaGraphKernelNodeGetParams(kernel, &got));
    CHECK(got.func == k.func && got.gridDim.x == 4);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(count == 3);
    struct cudaMemcpy3DParms params;
    OK(cudaGraphMemcpyNodeGetParams(copy, &params));
    CHECK(params.kind == cudaMemcpyHostToDevice && params.extent.width == sizeof host && params.srcPtr.ptr == host);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(calls == 1 && all(4, 5));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

static void textures(void)
{
    struct cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat), got;
    float texels[2][8], values[8];
    float *out, row = 1.5f;
    cudaArray_t array;
    cudaTextureObject_t texture;
    struct cudaExtent extent;
    for (int i = 0; i < 16; i++)
        texels[i / 8][i % 8] = (float)i;
    OK(cudaMallocArray(&array, &desc, 8, 2, cudaArrayDefault));
    OK(cudaMemcpy2DToArray(array, 0, 0, texels, sizeof texels[0], sizeof texels[0], 2, cudaMemcpyHostToDevice));
    OK(cudaArrayGetInfo(&got, &extent, NULL, array));
    CHECK(got.x == 32 && got.y == 0 && got.f == cudaChannelFormatKindFloat && extent.width == 8 && extent.height == 2);
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray, .res.array.array = array}, resource_got;
    struct cudaTextureDesc how = {.addressMode = {cudaAddressModeClamp, cudaAddressModeClamp},
                                  .filterMode = cudaFilterModePoint,
                                  .readMode = cudaReadModeElementType};
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    OK(cudaGetTextureObjectResourceDesc(&resource_got, texture));
    CHECK(resource_got.resType == cudaResourceTypeArray && resource_got.res.array.array == array);
    OK(cudaMalloc((void **)&out, sizeof values));
    void *arguments[] = {&out, &texture, &row};
    OK(cudaLaunchKernel(&fetch, (dim3){1, 1, 1}, (dim3){8, 1, 1}, arguments, 0, NULL));
    OK(cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        CHECK(values[i] == (float)(8 + i));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(out));
    OK(cudaFreeArray(array));
    desc.f = cudaChannelFormatKindFloat;
    desc.x = 8; /* no such format of floats exists */
    IS(cudaMallocArray(&array, &desc, 8, 2, cudaArrayDefault), cudaErrorInvalidChannelDescriptor);
    cudaGetLastError();
}

/* Compares the runtime's queries of devices, functions and pointers with each other. */
static void devices(void)
{
    struct {
        struct cudaDeviceProp prop;
        char after[16];
    } of;
    struct cudaFuncAttributes attributes;
    int count = 0, device_now = -1, value = 0, blocks = 0, version = 0;
    const char *name;
    memset(&of, 0x5a, sizeof of);
    OK(cudaGetDeviceCount(&count));
    CHECK(count >= 1);
    OK(cudaGetDevice(&device_now));
    CHECK(device_now == 0);
    OK(cudaGetDeviceProperties(&of.prop, 0));
    CHECK(of.prop.warpSize == 32 && of.prop.major >= 8 && of.prop.name[0] && of.prop.totalGlobalMem > 0);
    CHECK(of.prop.maxThreadsPerBlock == 1024 && of.prop.unifiedAddressing == 1);
    CHECK(of.after[0] == 0x5a && of.after[15] == 0x5a);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == of.prop.multiProcessorCount);
    OK(cudaFuncGetAttributes(&attributes, &scale));
    CHECK(attributes.maxThreadsPerBlock > 0);
    OK(cudaFuncSetAttribute(&scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    OK(cudaFuncGetName(&name, &scale));
    CHECK(strcmp(name, "scale") == 0);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &scale, 256, 0));
    CHECK(blocks > 0);
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version == CUDART_VERSION);
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
    OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 13000, cudaEnableDefault, &found));
    CHECK(function && found == cudaDriverEntryPointSuccess);
    OK(cudaGetDriverEntryPointByVersion("cuNoSuch", &function, 13000, cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSymbolNotFound);
}

static void reset(void)
{
    OK(cudaDeviceReset());
    OK(cudaMalloc((void **)&device, sizeof host));
    cudaStream_t stream;
    cudaGraph_t graph;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(launch(1, stream)); /* the module is loaded again while a stream is captured */
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    fill();
    OK(launch(1, NULL)); /* the variables have their first values again */
    CHECK(all(1, 5));
}

/* An error of a kernel stays until the device is reset. */
static void sticky(void)
{
    OK(cudaLaunchKernel(&fail, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL));
    cudaError_t first = cudaDeviceSynchronize();
    CHECK(first != cudaSuccess);
    IS(cudaGetLastError(), first);
    IS(cudaGetLastError(), first);
    IS(cudaMalloc((void **)&device, 4), first);
    reset();
    OK(cudaGetLastError());
}

/* Tests that the device is the one that the environment names. */
static int name_device(void)
{
    struct cudaDeviceProp prop = {0};
    cudaError_t error = cudaGetDeviceProperties(&prop, 0);
    printf("%s, %d.%d, %s\n", prop.name, prop.major, prop.minor, cudaGetErrorName(error));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "device") == 0)
        return name_device();
    void **handle = set_up();
    __cudaRegisterManagedVar(handle, (void **)&managed_value, "managed_value", "managed_value", 0, 4, 0, 0);
    OK(cudaMalloc((void **)&device, sizeof host));
    kernels_and_symbols();
    errors();
    memory();
    streams_and_pools();
    shared_pools();
    graphs();
    textures();
    devices();
    reset();
    sticky();
    OK(cudaFree(device));
    __cudaUnregisterFatBinary(handle);
    cudaKernel_t kernel;
    IS(__cudaGetKernel(&kernel, &scale), cudaErrorInvalidDeviceFunction);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
