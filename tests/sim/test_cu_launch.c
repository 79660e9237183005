/* Tests launches, occupancy, and calls after a fault. */
#include "cu_check.h"

static void test_old_launch(void)
{
    open_device();
    CUfunction function = kernel(load(faults), "poke");
    CUdeviceptr memory = 0;
    unsigned got = 0;
    OK(call_cuMemAlloc(&memory, 4));
    FAILS(INVALID_VALUE, call_cuLaunch(function)); /* the function has no block size yet */
    FAILS(INVALID_VALUE, call_cuFuncSetBlockShape(function, 0, 1, 1));
    OK(call_cuFuncSetBlockShape(function, 1, 1, 1));
    FAILS(INVALID_VALUE, call_cuLaunch(function)); /* nor parameters */
    FAILS(INVALID_VALUE, call_cuParamSetv(function, 4090, &memory, sizeof memory));
    FAILS(INVALID_VALUE, call_cuParamSetSize(function, 4097));
    OK(call_cuParamSetv(function, 0, &memory, sizeof memory));
    OK(call_cuParamSetSize(function, sizeof memory));
    OK(call_cuLaunch(function));
    OK(call_cuMemcpyDtoH(&got, memory, 4));
    CHECK(got == 1);
    OK(call_cuLaunchGrid(function, 2, 2));
    FAILS(INVALID_VALUE, call_cuLaunchGrid(function, 0, 2));
    OK(call_cuCtxSynchronize());
    close_device();
}

/* Each block adds 1 to a counter, and writes its block number at the place of the old count. If one host thread runs
 * the blocks, the places show the order in which the blocks start. */
static const char turns[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                            ".visible .entry turns(.param .u64 to)\n{\n"
                            " .reg .u64 %a; .reg .u64 %b; .reg .u32 %t; .reg .u32 %c;\n"
                            " ld.param.u64 %a, [to]; atom.global.add.u32 %t, [%a], 1; mov.u32 %c, %ctaid.x;\n"
                            " mul.wide.u32 %b, %t, 4; add.u64 %b, %b, %a; st.global.u32 [%b+4], %c; ret;\n}\n";

static void test_orders(void)
{
    enum { BLOCKS = 12 };
    unsigned got[4][1 + BLOCKS];
    static const uint64_t orders[4] = {0, 1, 77, 78};
    setenv("KILN_SIM_THREADS", "1", 1);
    open_device();
    CUfunction function = kernel(load(turns), "turns");
    CUdeviceptr memory = 0;
    void *arguments[] = {&memory};
    OK(call_cuMemAlloc(&memory, sizeof *got));
    for (int k = 0; k < 4; k++) {
        OK(call_cuMemsetD8(memory, 0, sizeof *got));
        kiln__sim_order(orders[k]);
        OK(call_cuLaunchKernel(function, BLOCKS, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
        kiln__sim_order(0);
        OK(call_cuMemcpyDtoH(got[k], memory, sizeof *got));
        unsigned seen = 0;
        for (int i = 1; i <= BLOCKS; i++)
            seen |= 1u << got[k][i];
        CHECK(got[k][0] == BLOCKS && seen == (1u << BLOCKS) - 1); /* every block ran once */
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        CHECK(got[0][1 + i] == i && got[1][1 + i] == BLOCKS - 1 - i);
    CHECK(memcmp(got[2], got[0], sizeof *got) != 0 && memcmp(got[2], got[3], sizeof *got) != 0);
    close_device();
    unsetenv("KILN_SIM_THREADS");
}

/* Each block adds 1 to a counter, writes the old count, and then reads the counter again. In a late order other blocks
 * have changed the counter meanwhile, although no block waits. */
static const char overtaken[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry overtaken(.param .u64 to)\n{\n"
    " .reg .u64 %a; .reg .u32 %t; .reg .u32 %c; .reg .pred %p;\n"
    " ld.param.u64 %a, [to]; atom.global.add.u32 %t, [%a], 1; ld.volatile.global.u32 %c, [%a];\n"
    " add.u32 %t, %t, 1; setp.ne.u32 %p, %t, %c; @%p red.global.add.u32 [%a+4], 1; ret;\n}\n";

static void test_late_order(void)
{
    enum { BLOCKS = 64 };
    unsigned got[2];
    setenv("KILN_SIM_THREADS", "1", 1);
    open_device();
    CUfunction function = kernel(load(overtaken), "overtaken");
    CUdeviceptr memory = 0;
    void *arguments[] = {&memory};
    OK(call_cuMemAlloc(&memory, sizeof got));
    for (int late = 0; late < 2; late++) {
        OK(call_cuMemsetD8(memory, 0, sizeof got));
        kiln__sim_order(late ? KILN__SIM_LATE | 77 : 77);
        OK(call_cuLaunchKernel(function, BLOCKS, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
        kiln__sim_order(0);
        OK(call_cuMemcpyDtoH(got, memory, sizeof got));
        CHECK(got[0] == BLOCKS && (got[1] > 0) == late);
    }
    close_device();
    unsetenv("KILN_SIM_THREADS");
}

/* Tests the limit of steps of the calling thread. Launches use up these steps, and end if none are left. */
static void test_steps(void)
{
    open_device();
    CUfunction function = kernel(load(turns), "turns");
    CUdeviceptr memory = 0;
    uint64_t left = 1000;
    void *arguments[] = {&memory};
    OK(call_cuMemAlloc(&memory, 64));
    OK(call_cuMemsetD8(memory, 0, 64));
    kiln__sim_steps(&left);
    OK(call_cuLaunchKernel(function, 2, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    const uint64_t taken = 1000 - left;
    CHECK(taken >= 16 && taken <= 32); /* two warps, each with about ten instructions */
    OK(call_cuLaunchKernel(function, 2, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(left == 1000 - 2 * taken);
    left = taken / 2;
    OK(call_cuLaunchKernel(function, 2, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(left == 0 && call_cuCtxSynchronize() == CUDA_ERROR_LAUNCH_TIMEOUT);
    CHECK(strstr(kiln__sim_last_fault(), "used up its budget of ") != NULL);
    kiln__sim_steps(NULL);
    close_device();
    /* tests the kind of limit that does not end the context */
    open_device();
    function = kernel(load(turns), "turns");
    OK(call_cuMemAlloc(&memory, 64));
    OK(call_cuMemsetD8(memory, 0, 64));
    left = taken / 2;
    kiln__sim_steps(&left);
    kiln__sim_keep(true);
    FAILS(TIMEOUT, call_cuLaunchKernel(function, 2, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(left == 0 && strstr(kiln__sim_last_fault(), "used up its budget of ") != NULL);
    kiln__sim_steps(NULL);
    kiln__sim_keep(false);
    OK(call_cuCtxSynchronize());
    OK(call_cuLaunchKernel(function, 2, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    close_device();
}

static size_t CUDA_CB shared_of(int threads) { return (size_t)threads * 1024; }

static void test_potential(void)
{
    open_device();
    CUmodule module = load(saxpy);
    int grid = 0, block = 0;
    size_t bytes = 0;
    OK(call_cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel(module, "saxpy"), NULL, 0, 0));
    CHECK(grid >= 132 && block % 32 == 0 && grid / 132 * block == 2048);
    OK(call_cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, kernel(module, "saxpy"), NULL, 0, 100, 0));
    CHECK(block <= 100);
    OK(call_cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel(module, "saxpy"), shared_of, 0, 0));
    CHECK(block == 32); /* a block may have 48 KiB of shared memory at most, so only one warp fits */
    OK(call_cuOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel(module, "saxpy"), 1, 128));
    CHECK(bytes == 49152);
    FAILS(INVALID_VALUE,
          call_cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, kernel(module, "saxpy"), NULL, 0, 0, 8));
    FAILS(INVALID_HANDLE, call_cuOccupancyMaxPotentialBlockSize(&grid, &block, NULL, NULL, 0, 0));
    close_device();
}

/* ---- launches ---- */

/* Tests launches with parameters as pointers and as a buffer, and launches that are refused. */
static void test_launch(void)
{
    open_device();
    CUmodule module = load(saxpy);
    CUfunction function = kernel(module, "saxpy");
    enum { N = 1000 };
    static float x[N], y[N], got[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 0.5f * (float)i;
    }
    CUdeviceptr dx = 0, dy = 0;
    OK(call_cuMemAlloc(&dx, sizeof x));
    OK(call_cuMemAlloc(&dy, sizeof y));
    OK(call_cuMemcpyHtoD(dx, x, sizeof x));
    OK(call_cuMemcpyHtoD(dy, y, sizeof y));
    float a = 2;
    unsigned n = N;
    void *arguments[] = {&dx, &dy, &a, &n};
    double seconds = 0, seconds_after = 0;
    uint64_t instructions = 0, after = 0;
    kiln__sim_totals(&seconds, &instructions);
    OK(launch(function, 8, 128, 0, arguments));
    OK(call_cuCtxSynchronize());
    kiln__sim_totals(&seconds_after, &after);
    CHECK(after > instructions && seconds_after > seconds);
    OK(call_cuMemcpyDtoH(got, dy, sizeof got));
    bool same = true;
    for (int i = 0; i < N; i++)
        same = same && got[i] == 2 * x[i] + y[i];
    CHECK(same);

    struct {
        CUdeviceptr x, y;
        float a;
        unsigned n;
    } block = {dx, dy, -2, N};
    size_t size = sizeof block, wrong = sizeof block - 4;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    void *short_extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &wrong,
                           CU_LAUNCH_PARAM_END};
    CUlaunchConfig config = {
        .gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128, .blockDimY = 1, .blockDimZ = 1};
    OK(call_cuLaunchKernelEx(&config, function, NULL, extra));
    OK(call_cuMemcpyDtoH(got, dy, sizeof got));
    CHECK(memcmp(got, y, sizeof y) == 0);
    OK(call_cuLaunchCooperativeKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, arguments));
    FAILS(COOPERATIVE_LAUNCH_TOO_LARGE,
          call_cuLaunchCooperativeKernel(function, 1 << 20, 1, 1, 128, 1, 1, 0, NULL, arguments));

    FAILS(INVALID_VALUE, call_cuLaunchKernelEx(&config, function, arguments, extra));
    FAILS(INVALID_VALUE, call_cuLaunchKernelEx(&config, function, NULL, short_extra));
    FAILS(INVALID_VALUE, call_cuLaunchKernelEx(NULL, function, arguments, NULL));
    FAILS(INVALID_VALUE, launch(function, 1, 1, 0, NULL));
    void *hole[] = {&dx, NULL, &a, &n};
    FAILS(INVALID_VALUE, launch(function, 1, 1, 0, hole));
    FAILS(INVALID_VALUE, launch(function, 0, 1, 0, arguments));
    FAILS(INVALID_VALUE, launch(function, 1, 0, 0, arguments));
    FAILS(INVALID_VALUE, launch(function, 1, 1025, 0, arguments));
    FAILS(INVALID_VALUE, call_cuLaunchKernel(function, 1, 65536, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    FAILS(INVALID_VALUE, call_cuLaunchKernel(function, 1, 1, 1, 1, 1, 65, 0, NULL, arguments, NULL));
    FAILS(INVALID_VALUE, call_cuLaunchKernel(function, 1, 1, 1, 32, 32, 2, 0, NULL, arguments, NULL));
    FAILS(INVALID_HANDLE,
          call_cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, (CUstream)(uintptr_t)0x99, arguments, NULL));
    FAILS(INVALID_HANDLE, call_cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(launch(kernel(module, "bounded"), 1, 64, 0, NULL));
    FAILS(INVALID_VALUE, launch(kernel(module, "bounded"), 1, 65, 0, NULL));
    FAILS(INVALID_VALUE, launch(kernel(module, "required"), 1, 64, 0, NULL));
    OK(call_cuLaunchKernel(kernel(module, "required"), 1, 1, 1, 32, 2, 1, 0, NULL, NULL, NULL));
    CHECK_TEXT(kiln__sim_last_fault(), "");
    close_device();
}

/* ---- clusters ---- */

/* Each block writes the size of its cluster, and its rank. */
#define WRITE                                                                                                          \
    "{ .reg .b64 %d<4>; .reg .b32 %r<4>; ld.param.u64 %d0, [a]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %d1, %r0, 8;\n"    \
    "add.u64 %d2, %d0, %d1; mov.u32 %r1, %cluster_nctarank; mov.u32 %r2, %cluster_ctarank;\n"                          \
    "st.global.v2.b32 [%d2], {%r1, %r2}; ret; }\n"
static const char clusters[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry any (.param .u64 a) " WRITE
    ".visible .entry pairs (.param .u64 a) .explicitcluster .reqnctapercluster 2, 1, 1 " WRITE
    ".visible .entry some (.param .u64 a) .explicitcluster .maxclusterrank 4 " WRITE
    ".visible .entry wide (.param .u64 a) .reqntid 1 .blocksareclusters .reqnctapercluster 2, 1, 1 " WRITE;

static CUdeviceptr written;
static CUresult launch_in(CUfunction function, unsigned grid, unsigned x, unsigned y)
{
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {x, y, 1}};
    CUlaunchConfig config = {.gridDimX = grid,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &cluster,
                             .numAttrs = x != 0};
    void *arguments[] = {&written};
    return call_cuLaunchKernelEx(&config, function, arguments, NULL);
}
/* Launches 16 blocks in clusters of 2 blocks along x, with a second attribute. */
static CUresult launch_with(CUfunction function, CUlaunchAttribute other)
{
    CUlaunchAttribute both[] = {other, {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}}};
    CUlaunchConfig config = {.gridDimX = 16,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = both,
                             .numAttrs = 2};
    void *arguments[] = {&written};
    return call_cuLaunchKernelEx(&config, function, arguments, NULL);
}
static CUresult prefer(CUfunction function, unsigned x, unsigned y, unsigned z)
{
    return launch_with(function, (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
                                                     .value.preferredClusterDim = {x, y, z}});
}
static bool wrote(unsigned grid, unsigned size)
{
    unsigned got[64][2];
    OK(call_cuMemcpyDtoH(got, written, sizeof got));
    bool right = true;
    for (unsigned k = 0; k < grid; k++)
        right = right && got[k][0] == size && got[k][1] == k % size;
    return right;
}

static void test_clusters(void)
{
    open_device();
    CUmodule module = load(clusters);
    CUfunction any = kernel(module, "any"), pairs = kernel(module, "pairs"), some = kernel(module, "some");
    int value = 0;
    OK(call_cuMemAlloc(&written, 64 * 8));
    OK(launch_in(any, 16, 4, 1));
    CHECK(wrote(16, 4));
    FAILS(INVALID_CLUSTER_SIZE, launch_in(any, 18, 4, 1));
    FAILS(INVALID_CLUSTER_SIZE, launch_in(any, 16, 4, 2));
    FAILS(INVALID_CLUSTER_SIZE, launch_in(any, 16, 4, 0));
    FAILS(INVALID_CLUSTER_SIZE, launch_in(any, 32, 16, 1)); /* the size exceeds the portable size */
    OK(call_cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(launch_in(any, 32, 16, 1));
    CHECK(wrote(32, 16));
    FAILS(INVALID_CLUSTER_SIZE, launch_in(any, 64, 32, 1));
    OK(launch_in(any, 8, 0, 0));
    CHECK(wrote(8, 1));
    OK(prefer(any, 4, 1, 1)); /* the device may choose clusters of the regular size, and the simulator does */
    CHECK(wrote(16, 2));
    FAILS(INVALID_CLUSTER_SIZE, prefer(any, 3, 1, 1));
    FAILS(INVALID_CLUSTER_SIZE, prefer(any, 6, 1, 1));
    FAILS(INVALID_CLUSTER_SIZE, prefer(any, 4, 2, 1));
    FAILS(INVALID_CLUSTER_SIZE, prefer(any, 4, 1, 0));
    FAILS(INVALID_CLUSTER_SIZE, prefer(any, 0, 1, 1));
    FAILS(NOT_SUPPORTED, launch_with(any, (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE}));

    OK(launch_in(pairs, 8, 0, 0));
    CHECK(wrote(8, 2));
    OK(launch_in(pairs, 8, 2, 1));
    FAILS(INVALID_CLUSTER_SIZE, launch_in(pairs, 8, 4, 1));
    FAILS(INVALID_CLUSTER_SIZE, launch_in(pairs, 7, 0, 0));
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, pairs));
    CHECK(value == 2);
    FAILS(NOT_PERMITTED, call_cuFuncSetAttribute(pairs, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4));
    FAILS(INVALID_CLUSTER_SIZE, launch_in(some, 8, 0, 0)); /* the kernel needs a cluster size from the launch */
    FAILS(INVALID_CLUSTER_SIZE, launch_in(some, 8, 8, 1));
    OK(launch_in(some, 8, 4, 1));
    CHECK(wrote(8, 4));
    FAILS(NOT_SUPPORTED, launch_in(kernel(module, "wide"), 8, 0, 0));
    for (int axis = 0; axis < 3; axis++)
        OK(call_cuFuncSetAttribute(any, (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + axis),
                                   axis ? 1 : 8));
    OK(launch_in(any, 16, 0, 0));
    CHECK(wrote(16, 8));
    CHECK_TEXT(kiln__sim_last_fault(), "");
    close_device();
}

/* An H200 has 132 SMs: two GPCs have 18 of them each, and six GPCs have 16 each. */
static void test_cluster_occupancy(void)
{
    open_device();
    CUfunction any = kernel(load(clusters), "any"), other = kernel(load(faults), "shared");
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {4, 1, 1}};
    CUlaunchConfig config = {.gridDimX = 32,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1024,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &cluster,
                             .numAttrs = 1};
    int value = 0;
    OK(call_cuOccupancyMaxActiveClusters(&value, any, &config));
    CHECK(value == 66); /* two blocks per SM */
    OK(call_cuFuncSetAttribute(other, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
    config.sharedMemBytes = 200000; /* one block per SM */
    config.blockDimX = 32;
    OK(call_cuOccupancyMaxActiveClusters(&value, other, &config));
    CHECK(value == 32);
    OK(call_cuOccupancyMaxPotentialClusterSize(&value, other, &config));
    CHECK(value == 8);
    OK(call_cuFuncSetAttribute(other, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(call_cuOccupancyMaxPotentialClusterSize(&value, other, &config));
    CHECK(value == 16);
    FAILS(INVALID_VALUE, call_cuOccupancyMaxActiveClusters(&value, any, NULL));
    FAILS(INVALID_HANDLE, call_cuOccupancyMaxActiveClusters(&value, NULL, &config));
    config.sharedMemBytes = 0;
    cluster.value.clusterDim.x = 3;
    FAILS(INVALID_CLUSTER_SIZE, call_cuOccupancyMaxActiveClusters(&value, any, &config));
    close_device();
}

static void test_shared(void)
{
    open_device();
    CUmodule module = load(faults);
    CUfunction function = kernel(module, "shared");
    int value = 0, blocks = 0;
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    CHECK(value == 1024);
    OK(call_cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    CHECK(value == 49152 - 1024);
    OK(launch(function, 1, 32, 49152 - 1024, NULL));
    FAILS(INVALID_VALUE, launch(function, 1, 32, 49152 - 1023, NULL));
    FAILS(INVALID_VALUE, call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
    FAILS(INVALID_VALUE, call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
    FAILS(INVALID_VALUE, call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 32));
    OK(call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1024));
    OK(call_cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100));
    OK(launch(function, 1, 32, 232448 - 1024, NULL));
    OK(call_cuCtxSynchronize());
    OK(call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 100000));
    CHECK(blocks == 2); /* two blocks of 100000 + 1024 + 1024 bytes fit into the 228 KiB of an SM */
    OK(call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1024, 0));
    CHECK(blocks == 2);
    OK(call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 0));
    CHECK(blocks == 32);
    OK(call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 2048, 0));
    CHECK(blocks == 0);
    FAILS(INVALID_VALUE, call_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0));
    close_device();
}

/* ---- faults ---- */

/* Runs kernel `name`. Every call must return the fault until the context is destroyed. Later calls must not return
 * it. */
static void faults_with(const char *name, CUdeviceptr argument, CUresult want, const char *words)
{
    open_device();
    CUmodule module = load(faults);
    CUfunction function = kernel(module, name);
    CUdeviceptr memory = 0;
    OK(call_cuMemAlloc(&memory, 64));
    if (argument == 1) /* the address is beyond the end of the allocation */
        argument = memory + 512;
    else if (argument == 2)
        argument = memory + 2;
    void *arguments[] = {&argument};
    OK(launch(function, 1, 1, 0, arguments)); /* the fault is asynchronous: the next call returns it */
    char byte;
    CHECK(call_cuCtxSynchronize() == want);
    CHECK(call_cuMemcpyDtoH(&byte, memory, 1) == want);
    CHECK(call_cuMemAlloc(&memory, 64) == want);
    CHECK(call_cuStreamQuery(NULL) == want);
    CHECK(launch(function, 1, 1, 0, arguments) == want);
    CHECK(call_cuModuleUnload(module) == want);
    const char *fault = kiln__sim_last_fault();
    if (!strstr(fault, words))
        CHECK_TEXT(fault, words);
    CHECK(strstr(fault, name) != NULL);
    CUcontext current = NULL;
    OK(call_cuCtxGetCurrent(&current));
    CHECK(current == primary);
    close_device();
    open_device();
    OK(call_cuCtxSynchronize());
    CHECK_TEXT(kiln__sim_last_fault(), "");
    close_device();
}

static void test_faults(void)
{
    setenv("KILN_SIM_STEPS", "100000", 1);
    faults_with("poke", 1, CUDA_ERROR_ILLEGAL_ADDRESS, "448 bytes past the end");
    faults_with("poke", 0x10, CUDA_ERROR_ILLEGAL_ADDRESS, "0x10");
    faults_with("poke", 2, CUDA_ERROR_MISALIGNED_ADDRESS, "isaligned");
    faults_with("stop", 0, CUDA_ERROR_LAUNCH_FAILED, "trap");
    faults_with("spin", 0, CUDA_ERROR_LAUNCH_TIMEOUT, "");
    unsetenv("KILN_SIM_STEPS");
}

/* Static shared memory comes first. The dynamic memory follows at its own alignment, with its full size. */
static void test_dynamic_alignment(void)
{
    static const char text[] = HEAD
        ".extern .shared .align 1024 .b8 ring[];\n"
        ".visible .entry place(.param .u64 p, .param .u32 bytes)\n"
        "{ .reg .b64 %a; .reg .b32 %x, %n; .shared .align 8 .b8 own[24];\n"
        " ld.param.u64 %a, [p]; ld.param.u32 %n, [bytes]; mov.u32 %x, own; st.u32 [%a], %x;\n"
        " mov.u32 %x, ring; st.u32 [%a+4], %x; add.u32 %x, %x, %n; st.shared.u8 [%x+-1], 1;\n"
        " ret; }\n";
    open_device();
    CUfunction function = kernel(load(text), "place");
    CUdeviceptr memory = 0;
    unsigned got[2] = {0, 0}, bytes = 3000;
    void *arguments[] = {&memory, &bytes};
    OK(call_cuMemAlloc(&memory, sizeof got));
    OK(launch(function, 1, 1, bytes, arguments));
    OK(call_cuMemcpyDtoH(got, memory, sizeof got));
    CHECK(got[0] % 8 == 0 && got[1] % 1024 == 0 && got[1] >= got[0] + 24);
    close_device();
}

static const check_case cases[] = {{"old launches", test_old_launch},
                                   {"potential block size", test_potential},
                                   {"launch", test_launch},
                                   {"orders of blocks", test_orders},
                                   {"late blocks", test_late_order},
                                   {"steps of a thread", test_steps},
                                   {"clusters", test_clusters},
                                   {"occupancy of clusters", test_cluster_occupancy},
                                   {"shared memory and occupancy", test_shared},
                                   {"alignment of dynamic shared memory", test_dynamic_alignment},
                                   {"faults", test_faults}};
CU_SUITE("sim cu launch", cases)
