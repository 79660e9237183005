/* What the host does wrong, above all streams that do not wait for each other, and the same done right, under KILN_SIM_CHECK: order_program NAME runs a case, and without a name all
 * are printed, with a part of the finding that is expected after a bar, or nothing. order_program.sh compares. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry put(.param .u64 to)\n"
    "{\n"
    " .reg .b32 %i; .reg .b64 %a, %o;\n"
    " ld.param.u64 %a, [to]; cvta.to.global.u64 %a, %a; mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4;\n"
    " add.u64 %a, %a, %o; st.global.u32 [%a], %i; ret;\n"
    "}\n"
    ".visible .entry get(.param .u64 from, .param .u64 to)\n"
    "{\n"
    " .reg .b32 %i, %x; .reg .b64 %a, %b, %o;\n"
    " ld.param.u64 %a, [from]; cvta.to.global.u64 %a, %a; ld.param.u64 %b, [to]; cvta.to.global.u64 %b, %b;\n"
    " mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; add.u64 %b, %b, %o;\n"
    " ld.global.u32 %x, [%a]; st.global.u32 [%b], %x; ret;\n"
    "}\n"
    ".visible .entry count(.param .u64 to)\n"
    "{\n"
    " .reg .b32 %x; .reg .b64 %a;\n"
    " ld.param.u64 %a, [to]; cvta.to.global.u64 %a, %a; atom.global.add.u32 %x, [%a], 1; ret;\n"
    "}\n";

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        CUresult result_ = (call);                                                                                     \
        if (result_ != CUDA_SUCCESS) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)result_);                               \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { N = 1024, BYTES = N * 4, PAGE = 4096 }; /* pinned memory is guarded by whole pages */

static struct {
    CUfunction put, get, count;
    CUstream a, b, c, one, two; /* a, b, c: non-blocking; one, two: blocking */
    CUevent event, other;
    CUdeviceptr x, y, z;
    int *pinned; /* of three pages */
    int plain[N];
} w;

static void put(CUstream stream, CUdeviceptr to)
{
    TRY(cuLaunchKernel(w.put, 1, 1, 1, N, 1, 1, 0, stream, (void *[]){&to}, NULL));
}
static void get(CUstream stream, CUdeviceptr from, CUdeviceptr to)
{
    TRY(cuLaunchKernel(w.get, 1, 1, 1, N, 1, 1, 0, stream, (void *[]){&from, &to}, NULL));
}
static void count(CUstream stream)
{
    TRY(cuLaunchKernel(w.count, 1, 1, 1, N, 1, 1, 0, stream, (void *[]){&w.x}, NULL));
}
static void wait(CUstream stream, CUstream other)
{
    TRY(cuEventRecord(w.event, other));
    TRY(cuStreamWaitEvent(stream, w.event, 0));
}

/* ---- launches ---- */

static void apart(void) { put(w.a, w.x), get(w.b, w.x, w.y); }
static void read_then_written(void) { get(w.a, w.x, w.y), put(w.b, w.x); }
static void same_stream(void) { put(w.a, w.x), get(w.a, w.x, w.y); }
static void by_event(void) { put(w.a, w.x), wait(w.b, w.a), get(w.b, w.x, w.y); }
static void early_event(void)
{
    TRY(cuEventRecord(w.event, w.a));
    put(w.a, w.x);
    TRY(cuStreamWaitEvent(w.b, w.event, 0));
    get(w.b, w.x, w.y);
}
static void by_third(void) { put(w.a, w.x), wait(w.c, w.a), wait(w.b, w.c), get(w.b, w.x, w.y); }
static void by_host(void)
{
    put(w.a, w.x);
    TRY(cuStreamSynchronize(w.a));
    get(w.b, w.x, w.y);
}
static void wrong_host(void)
{
    put(w.a, w.x);
    TRY(cuStreamSynchronize(w.c));
    get(w.b, w.x, w.y);
}
static void by_query(void)
{
    put(w.a, w.x);
    TRY(cuStreamQuery(w.a));
    get(w.b, w.x, w.y);
}
static void by_context(void)
{
    put(w.a, w.x);
    TRY(cuCtxSynchronize());
    get(w.b, w.x, w.y);
}
static void by_host_event(void)
{
    put(w.a, w.x);
    TRY(cuEventRecord(w.event, w.a));
    TRY(cuEventSynchronize(w.event));
    get(w.b, w.x, w.y);
}
static void by_free(void)
{
    put(w.a, w.x);
    TRY(cuMemFree(w.z));
    TRY(cuMemAlloc(&w.z, BYTES));
    get(w.b, w.x, w.y);
}
static void legacy_first(void) { put(NULL, w.x), get(w.one, w.x, w.y); }
static void legacy_last(void) { put(w.one, w.x), get(NULL, w.x, w.y); }
static void legacy_between(void) { put(w.one, w.x), put(NULL, w.z), get(w.two, w.x, w.y); }
static void blocking_apart(void) { put(w.one, w.x), get(w.two, w.x, w.y); }
static void legacy_apart(void) { put(NULL, w.x), get(w.a, w.x, w.y); }
static void atomics(void) { count(w.a), count(w.b); }
static void atomic_and_plain(void) { count(w.a), put(w.b, w.x); }
static void both_read(void) { get(w.a, w.x, w.y), get(w.b, w.x, w.z); }
static void CUDA_CB nothing(void *user) { (void)user; }
static void by_function(void)
{
    put(w.a, w.x);
    TRY(cuLaunchHostFunc(w.a, nothing, NULL));
    get(w.b, w.x, w.y);
}
static CUgraphExec captured(void)
{
    CUgraph graph;
    CUgraphExec exec;
    TRY(cuStreamBeginCapture(w.c, CU_STREAM_CAPTURE_MODE_RELAXED));
    put(w.c, w.x);
    TRY(cuStreamEndCapture(w.c, &graph));
    TRY(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}
static void graph_apart(void)
{
    TRY(cuGraphLaunch(captured(), w.a));
    get(w.b, w.x, w.y);
}
static void graph_waited(void)
{
    TRY(cuGraphLaunch(captured(), w.a));
    wait(w.b, w.a);
    get(w.b, w.x, w.y);
}
static void many_streams(void)
{
    for (int i = 0; i < 80; i++) {
        CUstream stream;
        TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        wait(stream, w.a);
        put(stream, w.x);
        wait(w.a, stream);
        TRY(cuStreamDestroy(stream));
    }
}
static void many_launches(void)
{
    for (int i = 0; i < 9000; i++)
        count(w.a);
    wait(w.b, w.a);
    get(w.b, w.x, w.y);
}

/* ---- copies ---- */

static void copy_to_apart(void)
{
    TRY(cuMemcpyHtoDAsync(w.x, w.pinned, BYTES, w.a));
    get(w.b, w.x, w.y);
}
static void copy_to_waited(void)
{
    TRY(cuMemcpyHtoDAsync(w.x, w.pinned, BYTES, w.a));
    wait(w.b, w.a);
    get(w.b, w.x, w.y);
}
static void copy_from_apart(void)
{
    put(w.a, w.x);
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.b));
}
static void copy_from_legacy(void)
{
    put(w.a, w.x);
    TRY(cuMemcpyDtoH(w.plain, w.x, BYTES));
}
static void copy_overwrites(void)
{
    get(w.a, w.x, w.y);
    TRY(cuMemcpyHtoDAsync(w.x, w.pinned, BYTES, w.b));
}
static void both_copy_from(void)
{
    TRY(cuMemcpyDtoDAsync(w.y, w.x, BYTES, w.a));
    TRY(cuMemcpyDtoDAsync(w.z, w.x, BYTES, w.b));
}
static void both_copy_to(void)
{
    TRY(cuMemcpyDtoDAsync(w.z, w.x, BYTES, w.a));
    TRY(cuMemcpyDtoDAsync(w.z, w.y, BYTES, w.b));
}
static void half_each(void)
{
    TRY(cuMemcpyDtoDAsync(w.z, w.x, BYTES / 2, w.a));
    TRY(cuMemcpyDtoDAsync(w.z + BYTES / 2, w.y, BYTES / 2, w.b));
}
static void fill_apart(void)
{
    TRY(cuMemsetD32Async(w.x, 0, N, w.a));
    get(w.b, w.x, w.y);
}
static void rows_apart(void)
{
    const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = w.x,
                                .srcPitch = BYTES / 4,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = w.z,
                                .dstPitch = BYTES / 4,
                                .WidthInBytes = 16,
                                .Height = 4};
    TRY(cuMemcpy2DAsync(&rows, w.a));
    put(w.b, w.z);
}
static void pageable(void) /* the host waits until it is read */
{
    TRY(cuMemcpyHtoDAsync(w.x, w.plain, BYTES, w.a));
    get(w.b, w.x, w.y);
}
static void allocation_apart(void)
{
    CUdeviceptr made;
    TRY(cuMemAllocAsync(&made, BYTES, w.a));
    put(w.b, made);
    TRY(cuCtxSynchronize());
    TRY(cuMemFree(made));
}

/* ---- the host ---- */

static volatile int seen;
static void host_reads(void)
{
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    seen = w.pinned[3];
    TRY(cuCtxSynchronize());
}
static void host_reads_at_end(void) /* the process ends without any wait */
{
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    seen = w.pinned[3];
}
static void host_writes(void)
{
    TRY(cuMemcpyHtoDAsync(w.x, w.pinned, BYTES, w.a));
    w.pinned[5] = 1;
    TRY(cuStreamSynchronize(w.a));
}
static void host_reads_source(void)
{
    TRY(cuMemcpyHtoDAsync(w.x, w.pinned, BYTES, w.a));
    seen = w.pinned[5];
}
static void host_waits(void)
{
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    TRY(cuStreamSynchronize(w.a));
    w.pinned[5] = w.pinned[3];
}
static void host_next_page(void) /* three pages: a half, then what is left, is waited for */
{
    CUdeviceptr from;
    TRY(cuMemAlloc(&from, 3 * PAGE));
    TRY(cuMemsetD8(from, 1, 3 * PAGE));
    TRY(cuCtxSynchronize());
    TRY(cuMemcpyDtoHAsync(w.pinned, from, 3 * PAGE / 2, w.a));
    TRY(cuEventRecord(w.event, w.a));
    TRY(cuMemcpyDtoHAsync(w.pinned + 3 * PAGE / 8, from + 3 * PAGE / 2, 3 * PAGE / 2, w.a));
    TRY(cuEventSynchronize(w.event));
    FILE *null = fopen("/dev/null", "w");
    if (!null || fwrite(w.pinned, 1, 3 * PAGE / 2, null) != 3 * PAGE / 2 || fclose(null) != 0)
        exit(1);
    TRY(cuStreamSynchronize(w.a));
    TRY(cuMemFree(from));
}
static void device_uses_pinned(void) /* not the host */
{
    CUdeviceptr pinned;
    TRY(cuMemHostGetDevicePointer(&pinned, w.pinned, 0));
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    get(w.a, pinned, w.y);
    TRY(cuStreamSynchronize(w.a));
}

/* ---- what the driver refuses: the program need not look at the result ---- */

static void copy_past_end(void) { cuMemcpyDtoH(w.plain, w.x, BYTES + 4); }
static void rows_past_end(void)
{
    const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = w.plain,
                                .srcPitch = 64,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = w.z,
                                .dstPitch = BYTES / 2,
                                .WidthInBytes = 64,
                                .Height = 3};
    cuMemcpy2D(&rows);
}
static void copy_to_freed(void)
{
    TRY(cuMemFree(w.z));
    cuMemcpyHtoD(w.z, w.plain, BYTES);
}
static void fill_past_end(void) { cuMemsetD32(w.x, 0, N + 1); }
static void large_block(void) { cuLaunchKernel(w.put, 1, 1, 1, 2048, 1, 1, 0, NULL, (void *[]){&w.x}, NULL); }
static void stream_gone(void)
{
    TRY(cuStreamDestroy(w.c));
    cuLaunchKernel(w.put, 1, 1, 1, N, 1, 1, 0, w.c, (void *[]){&w.x}, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
    const char *finding; /* "": none */
} cases[] = {
#define LATER " by an earlier launch, in streams that do not wait"
#define X(name, finding)                                                                                               \
    {                                                                                                                  \
#name, name, finding                                                                                           \
    }
    X(apart, " and a write" LATER),
    X(read_then_written, "and a read" LATER),
    X(same_stream, ""),
    X(by_event, ""),
    X(early_event, LATER),
    X(by_third, ""),
    X(by_host, ""),
    X(wrong_host, LATER),
    X(by_query, ""),
    X(by_context, ""),
    X(by_host_event, ""),
    X(by_free, ""),
    X(legacy_first, ""),
    X(legacy_last, ""),
    X(legacy_between, ""),
    X(blocking_apart, LATER),
    X(legacy_apart, LATER),
    X(atomics, ""),
    X(atomic_and_plain, LATER),
    X(both_read, ""),
    X(by_function, ""),
    X(graph_apart, LATER),
    X(graph_waited, ""),
    X(many_streams, ""),
    X(many_launches, ""),
    X(copy_to_apart, "write by the host's copy at"),
    X(copy_to_waited, ""),
    X(copy_from_apart, "read by the host's copy at"),
    X(copy_from_legacy, "read by the host's copy at"),
    X(copy_overwrites, " and a read by a launch"),
    X(both_copy_from, ""),
    X(both_copy_to, "the host's copy and the host's copy, in streams that do not wait"),
    X(half_each, ""),
    X(fill_apart, "write by the host's fill at"),
    X(rows_apart, "write by the host's copy at"),
    X(pageable, ""),
    X(allocation_apart, "write by the allocation (cuMemAllocAsync) at"),
    X(host_reads, "to pinned memory of an asynchronous copy to it (4096 bytes"),
    X(host_reads_at_end, "to pinned memory of an asynchronous copy to it (4096 bytes"),
    X(host_writes, "to pinned memory of an asynchronous copy from it (4096 bytes"),
    X(host_reads_source, ""),
    X(host_waits, ""),
    X(host_next_page, ""),
    X(device_uses_pinned, ""),
    X(copy_past_end, "out of bounds: read by the host's copy of 4100 bytes"),
    X(rows_past_end, "out of bounds: write by the host's copy of 4160 bytes"),
    X(copy_to_freed, "use after free: write by the host's copy of 4096 bytes"),
    X(fill_past_end, "out of bounds: write by the host's fill of 4100 bytes"),
    X(large_block, "fault: the launch was refused: CUDA_ERROR_INVALID_VALUE, grid (1,1,1), block (2048,1,1)"),
    X(stream_gone, "fault: the launch was refused: CUDA_ERROR_INVALID_HANDLE"),
};

static void set_up(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxPushCurrent(context));
    TRY(cuModuleLoadData(&module, text));
    TRY(cuModuleGetFunction(&w.put, module, "put"));
    TRY(cuModuleGetFunction(&w.get, module, "get"));
    TRY(cuModuleGetFunction(&w.count, module, "count"));
    for (CUstream *stream = &w.a; stream <= &w.two; stream++)
        TRY(cuStreamCreate(stream, stream <= &w.c ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    TRY(cuEventCreate(&w.event, CU_EVENT_DISABLE_TIMING));
    for (CUdeviceptr *memory = &w.x; memory <= &w.z; memory++) {
        TRY(cuMemAlloc(memory, BYTES));
        TRY(cuMemsetD8(*memory, 0, BYTES));
    }
    TRY(cuMemHostAlloc((void **)&w.pinned, 3 * PAGE, CU_MEMHOSTALLOC_DEVICEMAP));
    TRY(cuCtxSynchronize());
}

int main(int count_of, char **arguments)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (count_of == 1)
            printf("%s|%s\n", cases[i].name, cases[i].finding);
        else if (strcmp(cases[i].name, arguments[1]) == 0) {
            set_up();
            cases[i].run();
            return 0;
        }
    }
    return count_of != 1;
}
