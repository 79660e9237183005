/* occupancy.c - computes the occupancy of a kernel on any architecture, without the device. NVIDIA's cuda_occupancy.h
 * does the computation. The table below has the limits of the devices. */
#include <limits.h>

#include <cuda_occupancy.h>

#include "compile.h"

/* The numbers are from the CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability".
 * X(architecture, threads per SM, KiB of shared memory per SM, KiB of shared memory that a block may opt in to, KiB
 * that the system reserves per block) */
#define ARCHITECTURES(X)                                                                                               \
    X(70, 2048, 96, 96, 0)                                                                                             \
    X(72, 2048, 96, 96, 0)                                                                                             \
    X(75, 1024, 64, 64, 0)                                                                                             \
    X(80, 2048, 164, 163, 1)                                                                                           \
    X(86, 1536, 100, 99, 1)                                                                                            \
    X(87, 1536, 164, 163, 1)                                                                                           \
    X(89, 1536, 100, 99, 1)                                                                                            \
    X(90, 2048, 228, 227, 1)                                                                                           \
    X(100, 2048, 228, 227, 1)                                                                                          \
    X(101, 1536, 228, 227, 1)                                                                                          \
    X(103, 2048, 228, 227, 1)                                                                                          \
    X(110, 1536, 228, 227, 1)                                                                                          \
    X(120, 1536, 100, 99, 1)                                                                                           \
    X(121, 1536, 100, 99, 1)

typedef struct limits { /* sizes in bytes; `threads` and `shared` are per SM, the other limits are per block */
    int arch, threads;
    size_t shared, shared_block, reserved;
} limits;
static const limits table[] = {
#define KILN_X(arch, threads, shared, block, reserved) {arch, threads, 1024 * shared, 1024 * block, 1024 * reserved},
    ARCHITECTURES(KILN_X)
#undef KILN_X
};
/* Limits that all of these architectures share. MOST_REGISTERS is a limit per thread. */
enum { TENSOR_COLUMNS = 512 }; /* columns of tensor memory per SM, PTX ISA 9.0, "Tensor Memory" */
enum { WARP = 32, MOST_THREADS = 1024, REGISTERS = 65536, MOST_REGISTERS = 255, SHARED_WITHOUT_OPT_IN = 48 * 1024 };

static const limits *find_limits(int arch)
{
    for (size_t i = 0; i < KILN__COUNT(table); i++)
        if (table[i].arch == arch)
            return &table[i];
    return NULL;
}

static const char *name_limit(unsigned factors)
{
    if (factors & OCC_LIMIT_REGISTERS)
        return "registers";
    if (factors & OCC_LIMIT_SHARED_MEMORY)
        return "shared memory";
    if (factors & OCC_LIMIT_WARPS)
        return "threads";
    if (factors & OCC_LIMIT_BLOCKS)
        return "blocks";
    return factors & OCC_LIMIT_BARRIERS ? "barriers" : "nothing";
}

/* Fills in the properties of the device and the attributes of the kernel, and lets NVIDIA's header compute the result.
 * Sizes from a cubin are untrusted. So the function first handles values at which the header would overflow. */
kiln_status kiln__occupancy_of(const kiln_allocator *mem, int arch, const kiln__cubin_kernel *kernel, unsigned threads,
                               uint64_t dynamic_shared, kiln__occupancy *occupancy, kiln_error **error)
{
    const limits *device = find_limits(arch);
    if (!device)
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED, "no occupancy: the limits of sm_%d are not known", arch);
    if (threads == 0 || threads > MOST_THREADS)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "no occupancy: a block cannot have %u threads", threads);
    /* a cubin may contain any number of registers, and the header multiplies this number */
    if (kernel->registers > MOST_REGISTERS) {
        *occupancy = (kiln__occupancy){.limited_by = "registers"};
        return KILN_OK;
    }
    if (dynamic_shared > INT_MAX / 2 || kernel->static_shared > INT_MAX / 2 || kernel->registers < 0) {
        /* the kernel needs more shared memory than any device has */
        *occupancy = (kiln__occupancy){.limited_by = "shared memory"};
        return KILN_OK;
    }
    cudaOccDeviceProp properties = {0};
    properties.computeMajor = arch / 10;
    properties.computeMinor = arch % 10;
    properties.maxThreadsPerBlock = MOST_THREADS;
    properties.maxThreadsPerMultiprocessor = device->threads;
    properties.regsPerBlock = properties.regsPerMultiprocessor = REGISTERS;
    properties.warpSize = WARP;
    properties.sharedMemPerBlock = SHARED_WITHOUT_OPT_IN;
    properties.sharedMemPerMultiprocessor = device->shared;
    properties.sharedMemPerBlockOptin = device->shared_block;
    properties.reservedSharedMemPerBlock = device->reserved;
    properties.numSms = 1;
    cudaOccFuncAttributes attributes = {0};
    attributes.maxThreadsPerBlock = kernel->max_threads > 0 ? kernel->max_threads : INT_MAX;
    attributes.numRegs = kernel->registers;
    attributes.sharedSizeBytes = (size_t)kernel->static_shared;
    attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = (size_t)dynamic_shared;
    attributes.numBlockBarriers = kernel->barriers;
    cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_NONE, .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
    cudaOccResult result;
    cudaOccError failed = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                                  (int)threads, (size_t)dynamic_shared);
    if (failed != CUDA_OCC_SUCCESS)
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED, "no occupancy for sm_%d (error %d of cuda_occupancy.h)",
                          arch, (int)failed);
    /* NVIDIA's header does not know tensor memory, of which each block allocates columns */
    int blocks = result.activeBlocksPerMultiprocessor;
    const int most = kernel->tensor_columns > 0 ? TENSOR_COLUMNS / kernel->tensor_columns : blocks;
    const char *limit = most < blocks ? "tensor memory" : name_limit(result.limitingFactors);
    blocks = most < blocks ? most : blocks;
    int warps = ((int)threads + WARP - 1) / WARP * blocks;
    *occupancy = (kiln__occupancy){
        .blocks_per_sm = blocks, .occupancy = (double)warps * WARP / device->threads, .limited_by = limit};
    return KILN_OK;
}
