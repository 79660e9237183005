/* Lets the first, second, ... allocation fail in calls that make conditional nodes, or objects that processes share.
 * Each call must return an error without a leak or a crash. */
#include <sys/wait.h>
#include <unistd.h>

#include "cu_check.h"

static const char nothing[] = HEAD ".visible .entry nothing() { ret; }\n";

/* Calls `make` until no allocation fails. `make` returns true if an allocation failed. */
static void with_failures(bool (*make)(void))
{
    open_device(); /* the driver is initialised */
    close_device();
    setenv("KILN_SIM_THREADS", "1", 1);
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        sim_set_memory(&mem);
        bool failed = call_cuDevicePrimaryCtxRetain(&primary, device) != CUDA_SUCCESS;
        if (!failed) {
            OK(call_cuCtxSetCurrent(primary));
            failed = make();
            close_device();
        }
        CHECK(oom.failed || !failed);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    sim_set_memory(NULL);
    unsetenv("KILN_SIM_THREADS");
}

/* ---- conditional nodes ---- */

static bool add_kernel(CUgraph graph, CUfunction function)
{
    CUgraphNode node;
    const CUDA_KERNEL_NODE_PARAMS what = {
        .func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
    return call_cuGraphAddKernelNode(&node, graph, NULL, 0, &what) != CUDA_SUCCESS;
}

static bool make_condition(void)
{
    CUmodule module;
    CUfunction function;
    CUgraph graph, clone;
    CUgraphExec exec;
    CUgraphNode node;
    CUgraphConditionalHandle handle;
    if (call_cuModuleLoadData(&module, nothing) != CUDA_SUCCESS ||
        call_cuModuleGetFunction(&function, module, "nothing") != CUDA_SUCCESS ||
        call_cuGraphCreate(&graph, 0) != CUDA_SUCCESS ||
        call_cuGraphConditionalHandleCreate(&handle, graph, NULL, 1, CU_GRAPH_COND_ASSIGN_DEFAULT) != CUDA_SUCCESS)
        return true;
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    what.conditional.handle = handle;
    what.conditional.type = CU_GRAPH_COND_TYPE_SWITCH;
    what.conditional.size = 3;
    if (call_cuGraphAddNode(&node, graph, NULL, NULL, 0, &what) != CUDA_SUCCESS)
        return true;
    CUgraph *bodies = what.conditional.phGraph_out;
    bool failed = add_kernel(bodies[0], function) || add_kernel(bodies[1], function);
    failed |= call_cuGraphClone(&clone, graph) != CUDA_SUCCESS;
    if (call_cuGraphInstantiateWithFlags(&exec, graph, 0) != CUDA_SUCCESS)
        return true;
    return failed || call_cuGraphLaunch(exec, NULL) != CUDA_SUCCESS || call_cuCtxSynchronize() != CUDA_SUCCESS;
}

static void test_conditions(void) { with_failures(make_condition); }

/* ---- other processes ---- */

static CUipcMemHandle theirs;
static CUipcEventHandle their_event;

static bool share(CUipcMemHandle *memory, CUipcEventHandle *mark)
{
    CUdeviceptr pointer;
    CUevent event;
    return call_cuMemAlloc(&pointer, 4096) != CUDA_SUCCESS || call_cuIpcGetMemHandle(memory, pointer) != CUDA_SUCCESS ||
           call_cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS) != CUDA_SUCCESS ||
           call_cuIpcGetEventHandle(mark, event) != CUDA_SUCCESS;
}

static bool make_shared(void)
{
    CUipcMemHandle memory;
    CUipcEventHandle mark;
    CUevent event;
    CUdeviceptr opened;
    bool failed = share(&memory, &mark);
    failed |= call_cuIpcOpenEventHandle(&event, their_event) != CUDA_SUCCESS;
    if (call_cuIpcOpenMemHandle(&opened, theirs, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS)
        return true;
    unsigned char byte = 0;
    OK(call_cuMemcpyDtoH(&byte, opened, 1));
    CHECK(byte == 5);
    return failed;
}

static bool make_physical(void)
{
    enum { UNIT = 2 << 20 };
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemGenericAllocationHandle made, again;
    int file = -1;
    if (call_cuMemCreate(&made, UNIT, &prop, 0) != CUDA_SUCCESS ||
        call_cuMemExportToShareableHandle(&file, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS)
        return true;
    const bool failed = call_cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file,
                                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS;
    close(file);
    return failed;
}

static bool make_pools(void)
{
    const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .handleTypes = type,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemoryPool made, again;
    CUdeviceptr memory, same;
    CUmemPoolPtrExportData data;
    int file = -1;
    if (call_cuMemPoolCreate(&made, &props) != CUDA_SUCCESS ||
        call_cuMemAllocFromPoolAsync(&memory, 100, made, NULL) != CUDA_SUCCESS ||
        call_cuMemPoolExportToShareableHandle(&file, made, type, 0) != CUDA_SUCCESS)
        return true;
    const bool failed = call_cuMemPoolImportFromShareableHandle(&again, (void *)(intptr_t)file, type, 0) !=
                            CUDA_SUCCESS ||
                        call_cuMemPoolExportPointer(&data, memory) != CUDA_SUCCESS ||
                        call_cuMemPoolImportPointer(&same, again, &data) != CUDA_SUCCESS ||
                        call_cuMemFree(same) != CUDA_SUCCESS || call_cuMemFree(memory) != CUDA_SUCCESS;
    close(file);
    return failed;
}

/* Shares memory with the parent process until the parent has closed the pipe. */
static void be_other(int to, int until)
{
    struct {
        CUipcMemHandle memory;
        CUipcEventHandle event;
    } both;
    char end;
    OK(call_cuDevicePrimaryCtxRetain(&primary, device));
    OK(call_cuCtxSetCurrent(primary));
    CUdeviceptr pointer;
    CUevent event;
    OK(call_cuMemAlloc(&pointer, 4096));
    OK(call_cuMemsetD8(pointer, 5, 4096));
    OK(call_cuIpcGetMemHandle(&both.memory, pointer));
    OK(call_cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    OK(call_cuIpcGetEventHandle(&both.event, event));
    const bool told = write(to, &both, sizeof both) == (ssize_t)sizeof both;
    const bool waited = read(until, &end, 1) == 0;
    _exit(told && waited ? 0 : 1);
}

static void test_processes(void)
{
    int from[2], until[2], status = -1;
    open_device(); /* opens the device for both processes */
    close_device();
    CU_ASSERT_FATAL(pipe(from) == 0 && pipe(until) == 0);
    fflush(NULL);
    const pid_t other = fork();
    CU_ASSERT_FATAL(other >= 0);
    if (other == 0) {
        close(until[1]);
        be_other(from[1], until[0]);
    }
    close(from[1]);
    close(until[0]);
    CHECK(read(from[0], &theirs, sizeof theirs) == (ssize_t)sizeof theirs);
    CHECK(read(from[0], &their_event, sizeof their_event) == (ssize_t)sizeof their_event);
    with_failures(make_shared);
    with_failures(make_physical);
    with_failures(make_pools);
    close(from[0]);
    close(until[1]);
    CHECK(waitpid(other, &status, 0) == other && status == 0);
}

static const check_case cases[] = {{"conditions", test_conditions}, {"processes", test_processes}};
CU_SUITE("sim memory fails", cases)
