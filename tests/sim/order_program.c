/* Tests errors of the host under KILN_SIM_CHECK, mainly with streams that do not wait for each other, in cases with the
 * error and without it. order_program NAME runs a case. Without a name it prints all cases. Each line has the name, a
 * bar, and a part of the expected finding, or nothing if none is expected. order_program.sh runs the cases and compares
 * the findings. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "order_program.h"

const char order_text[] =
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
    "}\n"
    ".visible .entry tell(.param .u64 to)\n" /* writes a value, and then a flag which tells that the value is written */
    "{\n"
    " .reg .b32 %x; .reg .b64 %a;\n"
    " ld.param.u64 %a, [to]; cvta.to.global.u64 %a, %a; st.global.u32 [%a], 7; membar.sys;\n"
    " atom.sys.global.exch.b32 %x, [%a+4], 1; ret;\n"
    "}\n"
    ".visible .entry hear(.param .u64 from)\n"
    "{\n"
    " .reg .b32 %x; .reg .b64 %a; .reg .pred %p;\n"
    " ld.param.u64 %a, [from]; cvta.to.global.u64 %a, %a;\n"
    "L: ld.volatile.global.u32 %x, [%a+4]; setp.eq.u32 %p, %x, 0; @%p bra L;\n"
    " ld.global.u32 %x, [%a]; st.global.u32 [%a+8], %x; ret;\n"
    "}\n"
    ".visible .entry meet(.param .u64 at)\n" /* sets a flag, waits for the answer of the host, and then reads */
    "{\n"
    " .reg .b32 %x; .reg .b64 %a; .reg .pred %p;\n"
    " ld.param.u64 %a, [at]; cvta.to.global.u64 %a, %a; mov.u32 %x, 1; st.volatile.global.u32 [%a+8], %x;\n"
    "L: ld.volatile.global.u32 %x, [%a+4]; setp.eq.u32 %p, %x, 0; @%p bra L;\n"
    " ld.global.u32 %x, [%a]; st.global.u32 [%a+12], %x; ret;\n"
    "}\n"
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
    ".extern .func free (.param .b64 p);\n"
    ".visible .entry keep(.param .u64 to)\n" /* one thread allocates 16 bytes of the heap */
    "{\n"
    " .reg .b64 %a, %p; .param .b64 n; .param .b64 r; st.param.b64 [n], 16; call.uni (r), malloc, (n);\n"
    " ld.param.b64 %p, [r]; ld.param.u64 %a, [to]; cvta.to.global.u64 %a, %a; st.global.u64 [%a], %p; ret;\n"
    "}\n"
    ".visible .entry give_back(.param .u64 from)\n"
    "{\n"
    " .reg .b64 %a, %p; .param .b64 p; ld.param.u64 %a, [from]; cvta.to.global.u64 %a, %a; ld.global.u64 %p, [%a];\n"
    " st.param.b64 [p], %p; call.uni free, (p); ret;\n"
    "}\n"
    ".visible .global .attribute(.managed) .align 8 .b8 first[4096];\n"
    ".visible .global .attribute(.managed) .align 8 .b8 second[4096];\n";

order_world w;
volatile int seen;

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
static void *meet(void *context)
{
    CUfunction function;
    CUdeviceptr at = (uintptr_t)w.pinned;
    TRY(cuCtxSetCurrent(context));
    TRY(cuModuleGetFunction(&function, w.module, "meet"));
    TRY(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, w.b, (void *[]){&at}, NULL));
    return NULL;
}
/* More streams than the checks follow, made while a kernel runs: from then on all work counts as ordered. */
static void streams_meanwhile(void)
{
    pthread_t thread;
    CUcontext context;
    CUstream more;
    CUdeviceptr at = (uintptr_t)w.pinned;
    volatile int *words = w.pinned;
    TRY(cuCtxGetCurrent(&context));
    TRY(cuLaunchKernel(w.count, 1, 1, 1, 1, 1, 1, 0, w.a, (void *[]){&at}, NULL));
    if (pthread_create(&thread, NULL, meet, context) != 0)
        exit(1);
    while (words[2] == 0)
        sched_yield();
    for (int i = 0; i < 300; i++) {
        TRY(cuStreamCreate(&more, CU_STREAM_NON_BLOCKING));
        if (cuStreamQuery(more) != CUDA_SUCCESS)
            exit(1);
    }
    words[1] = 1;
    pthread_join(thread, NULL);
    put(w.a, w.x);
    get(w.b, w.x, w.y);
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
static void pageable(void) /* a copy from pageable memory returns when the memory has been read */
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

static CUdeviceptr allocate_for_both(void) /* allocates in stream a, and orders stream b after the allocation */
{
    CUdeviceptr made;
    TRY(cuMemAllocAsync(&made, BYTES, w.a));
    TRY(cuEventRecord(w.event, w.a));
    TRY(cuStreamWaitEvent(w.b, w.event, 0));
    put(w.b, made);
    return made;
}
static void free_apart(void)
{
    TRY(cuMemFreeAsync(allocate_for_both(), w.a));
    TRY(cuCtxSynchronize());
}
static void free_ordered(void)
{
    const CUdeviceptr made = allocate_for_both();
    TRY(cuEventRecord(w.event, w.b));
    TRY(cuStreamWaitEvent(w.a, w.event, 0));
    TRY(cuMemFreeAsync(made, w.a));
    TRY(cuCtxSynchronize());
}
static void free_twice(void)
{
    CUdeviceptr made;
    TRY(cuMemAllocAsync(&made, BYTES, w.a));
    TRY(cuMemFreeAsync(made, w.a));
    if (cuMemFreeAsync(made, w.a) != CUDA_ERROR_INVALID_VALUE)
        exit(3);
    TRY(cuCtxSynchronize());
}
static void free_before_copy(void)
{
    CUdeviceptr made;
    TRY(cuMemAllocAsync(&made, BYTES, w.a));
    TRY(cuMemFreeAsync(made, w.a));
    if (cuMemcpyHtoDAsync(made, w.plain, BYTES, w.a) == CUDA_SUCCESS)
        exit(3);
    TRY(cuCtxSynchronize());
}

static void use_heap(const char *name)
{
    CUfunction function;
    TRY(cuModuleGetFunction(&function, w.module, name));
    TRY(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, w.a, (void *[]){&w.x}, NULL));
}
static void heap_kept(void) /* until the process ends */
{
    use_heap("keep");
    TRY(cuCtxSynchronize());
}
static void heap_freed(void)
{
    use_heap("keep");
    use_heap("give_back");
    TRY(cuCtxSynchronize());
}

/* ---- the host ---- */

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
/* Makes two copies that meet in the second of three pages, and reads the first copy when only it is complete. */
static void host_next_page(void)
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

/* ---- unusual programs, which are legal if no finding is expected ---- */

static void destroyed_streams(void) /* the checks follow 63 streams at a time */
{
    for (int i = 0; i < 100; i++) {
        CUstream stream;
        TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        put(stream, w.z);
        TRY(cuStreamSynchronize(stream));
        TRY(cuStreamDestroy(stream));
    }
    apart();
}
static void reads_after_allocation(void)
{
    CUdeviceptr more;
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    TRY(cuMemAllocAsync(&more, BYTES, w.b));
    seen = w.pinned[0];
}
static void CUDA_CB call_back(CUstream stream, CUresult result, void *user)
{
    (void)stream, (void)result, (void)user;
    seen = w.pinned[0];
}
static void callback_reads(void)
{
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    TRY(cuStreamAddCallback(w.a, call_back, NULL, 0));
}
/* ---- host functions that run while another thread continues ---- */

static struct {
    CUcontext context;
    atomic_bool begun, done;
} beside;
static void CUDA_CB read_at_last(void *user)
{
    atomic_store(&beside.begun, true);
    while (!atomic_load(&beside.done))
        sched_yield();
    if (user)
        seen = *(volatile int *)user;
}
static void *launch_beside(void *user)
{
    TRY(cuCtxSetCurrent(beside.context));
    while (!atomic_load(&beside.begun))
        sched_yield();
    put(w.b, w.y);
    get(w.b, w.y, w.z);
    atomic_store(&beside.done, true);
    return user;
}
static void with_function(void (*enqueue)(void *read), void *read)
{
    pthread_t thread;
    TRY(cuCtxGetCurrent(&beside.context));
    if (pthread_create(&thread, NULL, launch_beside, NULL) != 0)
        exit(1);
    enqueue(read);
    pthread_join(thread, NULL);
}
static void enqueue_function(void *read)
{
    if (read)
        TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    TRY(cuLaunchHostFunc(w.a, read_at_last, read));
}
static void function_beside(void) { with_function(enqueue_function, NULL); }
static void function_beside_reads(void) { with_function(enqueue_function, w.pinned); }

static CUgraphExec instance(CUgraph graph)
{
    CUgraphExec exec;
    TRY(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}
static void graph_waits_event(void)
{
    CUgraph graph;
    TRY(cuStreamBeginCapture(w.b, CU_STREAM_CAPTURE_MODE_RELAXED));
    TRY(cuStreamWaitEvent(w.b, w.event, CU_EVENT_WAIT_EXTERNAL));
    get(w.b, w.x, w.y);
    TRY(cuStreamEndCapture(w.b, &graph));
    put(w.a, w.x);
    TRY(cuEventRecord(w.event, w.a));
    TRY(cuGraphLaunch(instance(graph), w.b));
}
static void CUDA_CB tell(void *user) { *(volatile int *)user = 1; }
static void enqueue_graph(void *read)
{
    CUgraph graph;
    TRY(cuStreamBeginCapture(w.a, CU_STREAM_CAPTURE_MODE_RELAXED));
    enqueue_function(read);
    TRY(cuStreamEndCapture(w.a, &graph));
    TRY(cuGraphLaunch(instance(graph), w.a));
}
static void graph_function_beside(void) { with_function(enqueue_graph, NULL); }
static void graph_function_beside_reads(void) { with_function(enqueue_graph, w.pinned); }
static void graph_tells(void)
{
    static volatile int told;
    CUgraph graph;
    TRY(cuStreamBeginCapture(w.b, CU_STREAM_CAPTURE_MODE_RELAXED));
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.b));
    TRY(cuLaunchHostFunc(w.b, tell, (void *)(size_t)&told));
    TRY(cuStreamEndCapture(w.b, &graph));
    TRY(cuGraphLaunch(instance(graph), w.b));
    while (!told)
        ;
    seen = w.pinned[0];
}
static void value_tells(void)
{
    volatile int *flag;
    TRY(cuMemHostAlloc((void **)(size_t)&flag, PAGE, CU_MEMHOSTALLOC_DEVICEMAP));
    *flag = 0;
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    TRY(cuStreamWriteValue32(w.a, (CUdeviceptr)(size_t)flag, 1, 0));
    while (!*flag)
        ;
    seen = w.pinned[0];
}
static char *own_page;
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if ((char *)info->si_addr < own_page || (char *)info->si_addr >= own_page + PAGE)
        _Exit(3);
    mprotect(own_page, PAGE, PROT_READ | PROT_WRITE);
}
static void use_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    own_page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &action, NULL);
}
static void handler_before(void) /* the program installs its handler of faults before the checks do */
{
    use_handler();
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    *(volatile char *)own_page = 1;
    seen = w.pinned[0];
}
static void handler_after(void)
{
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    TRY(cuStreamSynchronize(w.a));
    use_handler();
    TRY(cuMemcpyDtoHAsync(w.pinned, w.x, BYTES, w.a));
    *(volatile char *)own_page = 1;
    seen = w.pinned[0]; /* which is not seen */
}
static void two_buffers(void)
{
    CUevent done[2];
    for (int k = 0; k < 2; k++)
        TRY(cuEventCreate(&done[k], CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 8; i++) {
        const CUstream stream = i % 2 ? w.a : w.b;
        int *half = w.pinned + i % 2 * (PAGE / (int)sizeof(int));
        const CUdeviceptr memory = i % 2 ? w.x : w.y;
        TRY(cuEventSynchronize(done[i % 2]));
        half[0] += i;
        TRY(cuMemcpyHtoDAsync(memory, half, PAGE, stream));
        put(stream, memory);
        TRY(cuMemcpyDtoHAsync(half, memory, PAGE, stream));
        TRY(cuEventRecord(done[i % 2], stream));
    }
    TRY(cuEventSynchronize(done[0]));
    TRY(cuEventSynchronize(done[1]));
    seen = w.pinned[0];
}
static void forked_capture(void)
{
    CUgraph graph;
    TRY(cuStreamBeginCapture(w.a, CU_STREAM_CAPTURE_MODE_RELAXED));
    put(w.a, w.x);
    wait(w.b, w.a);
    get(w.a, w.x, w.y), get(w.b, w.x, w.z);
    wait(w.a, w.b);
    TRY(cuStreamEndCapture(w.a, &graph));
    const CUgraphExec exec = instance(graph);
    TRY(cuGraphLaunch(exec, w.a));
    TRY(cuGraphLaunch(exec, w.a));
    wait(w.c, w.a);
    get(w.c, w.y, w.x);
}
static void *copy_in_thread(void *context)
{
    int here[N];
    TRY(cuCtxSetCurrent(context));
    for (int i = 0; i < 50; i++)
        TRY(cuMemcpyDtoH(here, w.x, BYTES));
    return NULL;
}
static void threads_copy(void)
{
    pthread_t threads[3];
    CUcontext context;
    TRY(cuCtxGetCurrent(&context));
    put(NULL, w.x);
    for (int k = 0; k < 3; k++)
        if (pthread_create(&threads[k], NULL, copy_in_thread, context) != 0)
            exit(1);
    for (int k = 0; k < 3; k++)
        pthread_join(threads[k], NULL);
}
static void pool_by_event(void)
{
    for (int i = 0; i < 4; i++) {
        CUdeviceptr memory;
        TRY(cuMemAllocAsync(&memory, BYTES, w.a));
        put(w.a, memory);
        wait(w.b, w.a);
        get(w.b, memory, w.y);
        wait(w.c, w.b);
        TRY(cuMemFreeAsync(memory, w.c));
    }
}
static void legacy_handle(void)
{
    CUstream high;
    TRY(cuStreamCreateWithPriority(&high, CU_STREAM_DEFAULT, -1));
    put(high, w.x);
    get(CU_STREAM_LEGACY, w.x, w.y);
    get(CU_STREAM_PER_THREAD, w.y, w.z);
    get(NULL, w.z, w.x);
    get(high, w.x, w.y);
}
/* ---- managed memory that the host touches while a kernel may run ---- */

static int *managed(void)
{
    CUdeviceptr memory;
    TRY(cuMemAllocManaged(&memory, 2 * BYTES, CU_MEM_ATTACH_GLOBAL));
    memset((void *)memory, 0, 2 * BYTES);
    return (int *)memory;
}
static void managed_read(void)
{
    int *memory = managed();
    put(w.a, (CUdeviceptr)memory);
    seen = memory[5];
    TRY(cuStreamSynchronize(w.a));
}
static void managed_changed(void)
{
    int *memory = managed();
    get(w.a, (CUdeviceptr)memory, w.y);
    seen = memory[5]; /* both read */
    memory[7] = 1;
    TRY(cuStreamSynchronize(w.a));
}
static void managed_waited(void)
{
    int *memory = managed();
    memory[0] = 1;
    put(w.a, (CUdeviceptr)memory);
    TRY(cuStreamSynchronize(w.a));
    memory[1] = memory[5];
    get(w.a, (CUdeviceptr)memory, w.y);
    seen = memory[3];
    TRY(cuCtxSynchronize());
    memory[2] = 5;
}
static void managed_other_part(void) /* the host touches another part of the same page and allocation */
{
    int *memory = managed();
    put(w.a, (CUdeviceptr)memory + BYTES / 2);
    memory[0] = 1;
    TRY(cuStreamSynchronize(w.a));
    put(w.a, (CUdeviceptr)memory);
    memory[N] = 1;
}
static void managed_flag(void) /* the kernel's atomics may tell the host that the kernel is done */
{
    int *memory = managed();
    CUdeviceptr at = (CUdeviceptr)memory;
    TRY(cuLaunchKernel(w.count, 1, 1, 1, N, 1, 1, 0, w.a, (void *[]){&at}, NULL));
    while (*(volatile int *)memory < N)
        ;
    seen = memory[0];
}
static void managed_copied(void)
{
    int *memory = managed();
    put(w.a, (CUdeviceptr)memory);
    TRY(cuMemcpyDtoHAsync(w.plain, (CUdeviceptr)memory, BYTES, w.a));
    TRY(cuStreamSynchronize(w.a));
    seen = w.plain[1] + memory[1];
}
static void managed_prefetch(void)
{
    CUdeviceptr memory;
    TRY(cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL));
    memset((void *)memory, 0, BYTES);
    const CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    TRY(cuMemPrefetchAsync(memory, BYTES, here, 0, w.a));
    put(w.a, memory);
    wait(w.b, w.a);
    TRY(cuMemPrefetchAsync(memory, BYTES, (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST}, 0, w.b));
    TRY(cuStreamSynchronize(w.b));
    seen = *(int *)memory;
}

/* ---- managed variables that the host touches while a kernel may run ---- */

static int *variable(const char *name)
{
    CUdeviceptr at;
    size_t bytes;
    TRY(cuModuleGetGlobal(&at, &bytes, w.module, name));
    return (int *)at;
}
static void variable_read(void)
{
    int *first = variable("first");
    put(w.a, (CUdeviceptr)first);
    variable("second")[5] = 1; /* the kernel does not use this variable */
    seen = first[5];
    TRY(cuStreamSynchronize(w.a));
}
static void variable_changed(void)
{
    int *first = variable("first");
    get(w.a, (CUdeviceptr)first, w.y);
    seen = first[5]; /* both read */
    first[7] = 1;
    TRY(cuStreamSynchronize(w.a));
}
static void variable_waited(void)
{
    int *first = variable("first");
    first[0] = 1;
    put(w.a, (CUdeviceptr)first);
    TRY(cuStreamSynchronize(w.a));
    first[1] = first[5];
}
static void variable_flag(void) /* the kernel's atomics may tell the host that the kernel is done */
{
    int *first = variable("first");
    CUdeviceptr at = (CUdeviceptr)first;
    put(w.a, (CUdeviceptr)variable("second"));
    TRY(cuStreamSynchronize(w.a));
    TRY(cuLaunchKernel(w.count, 1, 1, 1, N, 1, 1, 0, w.a, (void *[]){&at}, NULL));
    while (*(volatile int *)first < N)
        ;
    seen = first[0];
}
/* The module of the variable is unloaded while a kernel that uses the variable may run. */
static void variable_unloaded(void)
{
    put(w.a, (CUdeviceptr)variable("first"));
    TRY(cuModuleUnload(w.module));
    void *again[64];
    for (int i = 0; i < 64; i++) { /* malloc() may return the memory of the variables */
        again[i] = malloc(3 * PAGE);
        memset(again[i], i, 3 * PAGE);
        seen += *(char *)again[i];
    }
    for (int i = 0; i < 64; i++)
        free(again[i]);
}
static void variable_neighbour(void) /* an access beyond a variable does not reach the next variable */
{
    const CUdeviceptr one = (CUdeviceptr)variable("first"), other = (CUdeviceptr)variable("second");
    put(w.a, (one < other ? one : other) + 2 * BYTES);
    TRY(cuStreamSynchronize(w.a));
}

/* ---- calls that the driver refuses: the checks report them even if the program ignores the result ---- */

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
static void fill_read_only(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRY(cuMemHostRegister(page, PAGE, CU_MEMHOSTREGISTER_READ_ONLY));
    cuMemsetD8((CUdeviceptr)page, 1, 4);
}
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
#define X(name, finding)                                                                                               \
    {                                                                                                                  \
#name, name, finding                                                                                           \
    }
#define LISTED(name, finding) X(name, finding),
    ORDER_DEVICE_CASES(LISTED) X(apart, " and a write" LATER),
    X(read_then_written, "and a read by an earlier launch of get, in streams that do not wait"),
    X(same_stream, ""),
    X(by_event, ""),
    X(early_event, "write by an earlier launch at PTX line 8"),
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
    X(atomic_and_plain, " and a write by an earlier launch of count, in streams"),
    X(both_read, ""),
    X(by_function, ""),
    X(graph_apart, LATER),
    X(graph_waited, ""),
    X(many_streams, ""),
    X(streams_meanwhile, "and a write by an earlier launch of count, in streams that do not wait"),
    X(many_launches, ""),
    X(copy_to_apart, "write by the host's copy at"),
    X(copy_to_waited, ""),
    X(copy_from_apart, "read by the host's copy at"),
    X(copy_from_legacy, "read by the host's copy at"),
    X(copy_overwrites, " and a read by a launch of get, in streams"),
    X(both_copy_from, ""),
    X(both_copy_to, "the host's copy and the host's copy, in streams that do not wait"),
    X(half_each, ""),
    X(fill_apart, "write by the host's fill at"),
    X(rows_apart, "write by the host's copy at"),
    X(pageable, ""),
    X(allocation_apart, "write by the allocation (cuMemAllocAsync) at"),
    X(heap_kept, "leak: 16 bytes"),
    X(heap_freed, ""),
    X(free_apart, "by the free (cuMemFreeAsync)"),
    X(free_ordered, ""),
    X(free_twice, "invalid free"),
    X(free_before_copy, "use after free"),
    X(host_reads, "to pinned memory of an asynchronous copy to it (4096 bytes"),
    X(host_reads_at_end, "to pinned memory of an asynchronous copy to it (4096 bytes"),
    X(host_writes, "to pinned memory of an asynchronous copy from it (4096 bytes"),
    X(host_reads_source, ""),
    X(host_waits, ""),
    X(host_next_page, ""),
    X(device_uses_pinned, ""),
    X(destroyed_streams, LATER),
    X(reads_after_allocation, "to pinned memory of an asynchronous copy to it (4096 bytes"),
    X(callback_reads, ""),
    X(function_beside, ""),
    X(function_beside_reads, ""),
    X(graph_function_beside, ""),
    X(graph_function_beside_reads, ""),
    X(graph_waits_event, ""),
    X(graph_tells, ""),
    X(value_tells, ""),
    X(handler_before, "to pinned memory of an asynchronous copy to it (4096 bytes"),
    X(handler_after, ""),
    X(two_buffers, ""),
    X(forked_capture, ""),
    X(threads_copy, ""),
    X(pool_by_event, ""),
    X(legacy_handle, ""),
    X(managed_read, "to managed memory at 0x"),
    X(managed_changed, "that a launch of get reads, for which the host has not waited"),
    X(managed_waited, ""),
    X(managed_other_part, ""),
    X(managed_flag, ""),
    X(managed_copied, ""),
    X(managed_prefetch, ""),
    X(variable_read, "that a launch of put writes, for which the host has not waited, at offset 20 of 'first'"),
    X(variable_changed, "that a launch of get reads, for which the host has not waited, at offset 28 of 'first'"),
    X(variable_waited, ""),
    X(variable_flag, ""),
    X(variable_unloaded, ""),
    X(variable_neighbour, "out of bounds"),
    X(copy_past_end, "out of bounds: read by the host's copy of 4100 bytes"),
    X(rows_past_end, "out of bounds: write by the host's copy of 4160 bytes"),
    X(copy_to_freed, "use after free: write by the host's copy of 4096 bytes"),
    X(fill_past_end, "out of bounds: write by the host's fill of 4100 bytes"),
    X(fill_read_only, "which the program has registered as read-only"),
    X(large_block, "fault: the launch was refused: CUDA_ERROR_INVALID_VALUE, grid (1,1,1), block (2048,1,1)"),
    X(stream_gone, "fault: the launch was refused: CUDA_ERROR_INVALID_HANDLE"),
};

static void set_up(void)
{
    CUdevice device;
    CUcontext context;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxPushCurrent(context));
    TRY(cuModuleLoadData(&w.module, order_text));
    TRY(cuModuleGetFunction(&w.put, w.module, "put"));
    TRY(cuModuleGetFunction(&w.get, w.module, "get"));
    TRY(cuModuleGetFunction(&w.count, w.module, "count"));
    TRY(cuModuleGetFunction(&w.hear, w.module, "hear"));
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
