/* A program that is wrong on purpose. It makes calls in an order, and passes numbers in structures, that no correct
 * program uses. Each of these calls must return an error or do no harm. Most errors here are found by the address
 * sanitizer. */
#include "cu_check.h"

static const char nothing[] = HEAD ".visible .entry nothing() { ret; }\n";

/* Adds a conditional node with one body to a graph, and returns the array of bodies that the driver gives. */
static CUgraph *add_condition(CUgraph graph, CUgraphNode *node)
{
    CUgraphConditionalHandle handle;
    CUgraphNodeParams what = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    OK(call_cuGraphConditionalHandleCreate(&handle, graph, NULL, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    what.conditional.handle = handle;
    what.conditional.type = CU_GRAPH_COND_TYPE_IF;
    what.conditional.size = 1;
    OK(call_cuGraphAddNode(node, graph, NULL, NULL, 0, &what));
    return what.conditional.phGraph_out;
}

/* A call must not destroy a graph into which a stream is captured, even if this graph is inside the destroyed graph. */
static void captured_body(void)
{
    open_device();
    CUmodule module = load(nothing);
    CUgraph graph;
    CUgraphNode outer, inner;
    CUstream stream;
    OK(call_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(call_cuGraphCreate(&graph, 0));
    CUgraph body = add_condition(graph, &outer)[0], deep = add_condition(body, &inner)[0];
    OK(call_cuStreamBeginCaptureToGraph(stream, deep, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(INVALID_VALUE, call_cuGraphDestroyNode(inner));
    FAILS(INVALID_VALUE, call_cuGraphDestroyNode(outer));
    FAILS(INVALID_VALUE, call_cuGraphDestroy(graph));
    OK(call_cuLaunchKernel(kernel(module, "nothing"), 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(call_cuStreamEndCapture(stream, NULL));
    OK(call_cuGraphDestroyNode(outer));
    OK(call_cuGraphDestroy(graph));
    close_device();
}

/* The driver must not read the arrays that it has returned to a program. */
static void overwritten_arrays(void)
{
    open_device();
    CUmodule module = load(nothing);
    CUgraph graph, other, clone;
    CUgraphNode node, kernel_node;
    CUgraphExec exec;
    OK(call_cuGraphCreate(&graph, 0));
    OK(call_cuGraphCreate(&other, 0));
    CUgraph *bodies = add_condition(graph, &node);
    const CUDA_KERNEL_NODE_PARAMS what = {.func = kernel(module, "nothing"),
                                          .gridDimX = 1,
                                          .gridDimY = 1,
                                          .gridDimZ = 1,
                                          .blockDimX = 1,
                                          .blockDimY = 1,
                                          .blockDimZ = 1};
    OK(call_cuGraphAddKernelNode(&kernel_node, bodies[0], NULL, 0, &what));
    bodies[0] = NULL;
    OK(call_cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(call_cuGraphLaunch(exec, NULL));
    bodies[0] = other;
    OK(call_cuGraphClone(&clone, graph));
    OK(call_cuGraphDestroyNode(node));
    OK(call_cuGraphAddKernelNode(&kernel_node, other, NULL, 0, &what)); /* the node is still in the graph */
    OK(call_cuGraphDestroy(clone));

    /* A node that allocates memory has access descriptions. */
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = access.location},
        .accessDescs = &access,
        .accessDescCount = 1,
        .bytesize = 64};
    CUDA_MEM_ALLOC_NODE_PARAMS got;
    CUgraph memory;
    CUgraphNode alloc_node;
    OK(call_cuGraphCreate(&memory, 0));
    OK(call_cuGraphAddMemAllocNode(&alloc_node, memory, NULL, 0, &alloc));
    OK(call_cuGraphMemAllocNodeGetParams(alloc_node, &got));
    ((CUmemAccessDesc *)(uintptr_t)got.accessDescs)[0].location.id = -7;
    OK(call_cuGraphInstantiateWithFlags(&exec, memory, 0));
    OK(call_cuGraphLaunch(exec, NULL));
    close_device();
}

/* Launches a block whose dimensions have the product 2^64 + 32. */
static void huge_block(void)
{
    open_device();
    CUmodule module = load(nothing);
    int clusters = -1;
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value = {.clusterDim = {2, 1, 1}}};
    const CUlaunchConfig config = {.gridDimX = 2,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 96,
                                   .blockDimY = 105305443,
                                   .blockDimZ = 1824726041,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    const CUfunction function = kernel(module, "nothing");
    CHECK((uint64_t)config.blockDimX * config.blockDimY * config.blockDimZ == 32);
    FAILS(INVALID_VALUE, call_cuOccupancyMaxActiveClusters(&clusters, function, &config));
    FAILS(INVALID_VALUE, call_cuOccupancyMaxPotentialClusterSize(&clusters, function, &config));
    CHECK(clusters == -1);
    close_device();
}

/* The program promises that an image does not change, and changes it between the loads on two devices. A managed
 * variable of both devices must exist as long as one of the modules is loaded. */
static void changed_image(void)
{
    enum { DEVICES = 4 };
    static const char with[] = HEAD
        ".visible .global .attribute(.managed) .align 4 .u32 v = 7;\n"
        ".visible .entry k(.param .u64 p) { .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
        " ld.param.u64 %d1, [p]; ld.global.u32 %r1, [v]; st.global.u32 [%d1], %r1; ret; }\n",
                      without[] = HEAD ".visible .global .attribute(.managed) .align 4 .b8 v[65536];\n"
                                       ".visible .entry k(.param .u64 p) { ret; }\n";
    static char image[sizeof with + sizeof without];
    static const unsigned places[DEVICES] = {0, 1, 2, 3};
    CUlibraryOption kept[] = {CU_LIBRARY_BINARY_IS_PRESERVED};
    void *yes[] = {(void *)(uintptr_t)1};
    CUcontext contexts[DEVICES];
    CUlibrary libraries[DEVICES];
    CHECK(sim_set_devices(places, DEVICES, DEVICES));
    OK(call_cuInit(0));
    for (int i = 0; i < DEVICES; i++) {
        OK(call_cuDevicePrimaryCtxRetain(&contexts[i], i));
        OK(call_cuCtxSetCurrent(contexts[i]));
        strcpy(image, i == 1 ? without : with);
        OK(call_cuLibraryLoadData(&libraries[i], image, NULL, NULL, 0, kept, yes, 1));
    }
    for (int i = 0; i < DEVICES; i++) {
        CUdeviceptr v = 0, out;
        size_t bytes = 0;
        CUkernel function;
        unsigned got = 0;
        void *arguments[] = {&out};
        OK(call_cuCtxSetCurrent(contexts[i]));
        OK(call_cuLibraryGetManaged(&v, &bytes, libraries[i], "v"));
        CHECK(bytes == (i == 1 ? 65536 : 4));
        OK(call_cuMemAlloc(&out, 4));
        OK(call_cuLibraryGetKernel(&function, libraries[i], "k"));
        OK(launch((CUfunction)function, 1, 1, 0, arguments));
        OK(call_cuMemcpyDtoH(&got, out, 4));
        CHECK(i == 1 || got == 7);
        OK(call_cuLibraryUnload(libraries[i]));
    }
    for (int i = 0; i < DEVICES; i++)
        OK(call_cuDevicePrimaryCtxRelease(i));
}

/* Two libraries of one device have the same image. A library of another device has this image too, and uses the
 * variables of one of the first two. A variable must exist while any library that uses it is loaded, in whatever order
 * the libraries are unloaded. */
static void image_twice(void)
{
    enum { LIBRARIES = 4, ORDERS = 24 };
    static const char image[] = HEAD ".visible .global .attribute(.managed) .align 4 .u32 v = 7;\n";
    static const unsigned places[] = {0, 1};
    CUlibraryOption kept[] = {CU_LIBRARY_BINARY_IS_PRESERVED};
    void *yes[] = {(void *)(uintptr_t)1};
    CHECK(sim_set_devices(places, 2, 2));
    OK(call_cuInit(0));
    for (int round = 0; round < 2 * ORDERS; round++) {
        CUcontext contexts[2];
        CUlibrary libraries[LIBRARIES];
        int left[LIBRARIES] = {0, 1, 2, 3}, order = round / 2;
        for (int i = 0; i < 2; i++)
            OK(call_cuDevicePrimaryCtxRetain(&contexts[i], i));
        for (int i = 0; i < LIBRARIES; i++) {
            OK(call_cuCtxSetCurrent(contexts[round % 2 ? i / 2 : i % 2]));
            OK(call_cuLibraryLoadData(&libraries[i], image, NULL, NULL, 0, kept, yes, 1));
        }
        for (int count = LIBRARIES; count > 0; count--) {
            for (int k = 0; k < count; k++) {
                CUdeviceptr v = 0;
                size_t bytes = 0;
                OK(call_cuCtxSetCurrent(contexts[round % 2 ? left[k] / 2 : left[k] % 2]));
                OK(call_cuLibraryGetManaged(&v, &bytes, libraries[left[k]], "v"));
                CHECK(*(const unsigned *)(uintptr_t)v == 7);
            }
            const int k = order % count;
            order /= count;
            OK(call_cuCtxSetCurrent(contexts[round % 2 ? left[k] / 2 : left[k] % 2]));
            OK(call_cuLibraryUnload(libraries[left[k]]));
            left[k] = left[count - 1];
        }
        for (int i = 0; i < 2; i++)
            OK(call_cuDevicePrimaryCtxRelease(i));
    }
}

/* A context is made before the primary context, and gets access to a mapping. Then the memory is unmapped and its
 * addresses are freed. This context must not reach the host's memory at these addresses. */
static void mapping_of_two_contexts(void)
{
    enum { BYTES = 2 << 20 };
    static const char text[] = HEAD ".visible .entry k(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p];\n"
                                    " st.global.u32 [%d], 1; ret; }\n";
    CUcontext first = NULL, second = NULL, third = NULL;
    CUmemGenericAllocationHandle memory = 0;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    const CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr range = 0;
    CUmodule module = NULL;
    void *arguments[] = {&range};
    OK(call_cuInit(0));
    OK(sim_cuCtxCreate_v2(&first, 0, 0));
    OK(call_cuMemAddressReserve(&range, BYTES, 0, 0, 0));
    OK(call_cuMemCreate(&memory, BYTES, &prop, 0));
    OK(call_cuMemMap(range, BYTES, 0, memory, 0));
    OK(call_cuCtxDestroy(first)); /* no context owns the range */
    OK(sim_cuCtxCreate_v2(&second, 0, 0));
    OK(call_cuMemSetAccess(range, BYTES, &access, 1));
    OK(call_cuModuleLoadData(&module, text));
    OK(launch(kernel(module, "k"), 1, 1, 0, arguments));
    OK(call_cuCtxSynchronize());
    OK(call_cuDevicePrimaryCtxRetain(&third, 0));
    OK(call_cuMemUnmap(range, BYTES));
    OK(call_cuMemAddressFree(range, BYTES));
    OK(call_cuMemRelease(memory));
    OK(launch(kernel(module, "k"), 1, 1, 0, arguments));
    FAILS(ILLEGAL_ADDRESS, call_cuCtxSynchronize());
    OK(call_cuCtxDestroy(second));
    OK(call_cuDevicePrimaryCtxRelease(0));
}

static const check_case cases[] = {
    {"graphs that are captured into", captured_body}, {"arrays that the program overwrites", overwritten_arrays},
    {"blocks of 2^64 threads", huge_block},           {"an image that changes", changed_image},
    {"two libraries of an image", image_twice},       {"a mapping of two contexts", mapping_of_two_contexts}};
CU_SUITE("sim cu_hostile", cases)
