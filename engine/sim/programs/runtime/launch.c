/* launch.c - launches, attributes of kernels, occupancy, and libraries that the program itself loads. */
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* ---- the configuration between <<< and >>> ---- */

enum { NESTED_MOST = 16 };
typedef struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configuration;
static _Thread_local configuration pushed[NESTED_MOST];
static _Thread_local unsigned pushed_count;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);

/* Stores the configuration of a launch. Returns 0 if the launch may continue. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
    if (pushed_count == NESTED_MOST)
        return 1;
    pushed[pushed_count++] = (configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (pushed_count == 0)
        return kiln__rt_record(cudaErrorMissingConfiguration);
    const configuration *top = &pushed[--pushed_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    memcpy(stream, &top->stream, sizeof top->stream);
    return cudaSuccess;
}

/* ---- launches ---- */

/* The driver returns CUDA_ERROR_INVALID_VALUE for every invalid argument. The runtime has a separate error for an
 * invalid grid or block. */
static cudaError_t launched(CUresult result, dim3 grid, dim3 block)
{
    if (result != CUDA_ERROR_INVALID_VALUE)
        return kiln__rt_result(result);
    CUdevice device;
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    bool bad = threads == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0;
    if (!bad && CU(cuCtxGetDevice)(&device) == CUDA_SUCCESS)
        bad = threads > (uint64_t)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
              block.x > (unsigned)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) ||
              block.y > (unsigned)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) ||
              block.z > (unsigned)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) ||
              grid.x > (unsigned)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) ||
              grid.y > (unsigned)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) ||
              grid.z > (unsigned)kiln__rt_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    return kiln__rt_record(bad ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue);
}

cudaError_t cudaLaunchKernel(const void *symbol, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream)
{
    CUfunction function;
    cudaError_t error = kiln__rt_function(symbol, &function);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    RT_NEED(shared <= UINT32_MAX);
    return launched(CU(cuLaunchKernel)(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                                       stream, arguments, NULL),
                    grid, block);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void *symbol, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream)
{
    CUfunction function;
    cudaError_t error = kiln__rt_function(symbol, &function);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    RT_NEED(shared <= UINT32_MAX);
    return launched(CU(cuLaunchCooperativeKernel)(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                  (unsigned)shared, stream, arguments),
                    grid, block);
}

/* Launch attributes have the same numbers and layout as in the driver. */
_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "launch attributes are the driver's");

static CUlaunchConfig config_of(const cudaLaunchConfig_t *from)
{
    return (CUlaunchConfig){.gridDimX = from->gridDim.x,
                            .gridDimY = from->gridDim.y,
                            .gridDimZ = from->gridDim.z,
                            .blockDimX = from->blockDim.x,
                            .blockDimY = from->blockDim.y,
                            .blockDimZ = from->blockDim.z,
                            .sharedMemBytes = (unsigned)from->dynamicSmemBytes,
                            .hStream = from->stream,
                            .attrs = (CUlaunchAttribute *)from->attrs,
                            .numAttrs = from->numAttrs};
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *from, const void *symbol, void **arguments)
{
    CUfunction function;
    RT_NEED(from && from->dynamicSmemBytes <= UINT32_MAX);
    cudaError_t error = kiln__rt_function(symbol, &function);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    CUlaunchConfig config = config_of(from);
    return launched(CU(cuLaunchKernelEx)(&config, function, arguments, NULL), from->gridDim, from->blockDim);
}

/* ---- attributes ---- */

static int attribute_of(CUfunction function, CUfunction_attribute attribute)
{
    int value = 0;
    return CU(cuFuncGetAttribute)(&value, attribute, function) == CUDA_SUCCESS ? value : 0;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *to, const void *symbol)
{
    CUfunction f;
    RT_NEED(to);
    cudaError_t error = kiln__rt_function(symbol, &f);
    if (error != cudaSuccess)
        return kiln__rt_record(error);
    *to = (struct cudaFuncAttributes){
        .sharedSizeBytes = (size_t)attribute_of(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
        .constSizeBytes = (size_t)attribute_of(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
        .localSizeBytes = (size_t)attribute_of(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        .maxThreadsPerBlock = attribute_of(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .numRegs = attribute_of(f, CU_FUNC_ATTRIBUTE_NUM_REGS),
        .ptxVersion = attribute_of(f, CU_FUNC_ATTRIBUTE_PTX_VERSION),
        .binaryVersion = attribute_of(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
        .cacheModeCA = attribute_of(f, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA),
        .maxDynamicSharedSizeBytes = attribute_of(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        .preferredShmemCarveout = attribute_of(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
        .clusterDimMustBeSet = attribute_of(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET),
        .requiredClusterWidth = attribute_of(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
        .requiredClusterHeight = attribute_of(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
        .requiredClusterDepth = attribute_of(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH),
        .clusterSchedulingPolicyPreference = attribute_of(f, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
        .nonPortableClusterSizeAllowed = attribute_of(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
    };
    return cudaSuccess;
}

/* Defines a function of the runtime that concerns one kernel. The function calls the driver's function with the handle
 * of the kernel. */
#define OF_KERNEL(name, declared, function, ...)                                                                       \
    cudaError_t name declared                                                                                          \
    {                                                                                                                  \
        CUfunction of;                                                                                                 \
        cudaError_t error = kiln__rt_function(symbol, &of);                                                            \
        return error != cudaSuccess ? kiln__rt_record(error) : kiln__rt_result(CU(function)(__VA_ARGS__));             \
    }
OF_KERNEL(cudaFuncSetAttribute, (const void *symbol, enum cudaFuncAttribute attribute, int value), cuFuncSetAttribute,
          of, (CUfunction_attribute)attribute, value)
OF_KERNEL(cudaFuncSetCacheConfig, (const void *symbol, enum cudaFuncCache config), cuFuncSetCacheConfig, of,
          (CUfunc_cache)config)
OF_KERNEL(cudaFuncSetSharedMemConfig, (const void *symbol, enum cudaSharedMemConfig config), cuFuncSetSharedMemConfig,
          of, (CUsharedconfig)config)
OF_KERNEL(cudaFuncGetName, (const char **name, const void *symbol), cuFuncGetName, name, of)
OF_KERNEL(cudaFuncGetParamInfo, (const void *symbol, size_t index, size_t *offset, size_t *size), cuFuncGetParamInfo,
          of, index, offset, size)
OF_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, const void *symbol, int threads, size_t shared),
          cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks, of, threads, shared)
OF_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
          (int *blocks, const void *symbol, int threads, size_t shared, unsigned int flags),
          cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, of, threads, shared, flags)
OF_KERNEL(cudaOccupancyAvailableDynamicSMemPerBlock, (size_t * shared, const void *symbol, int blocks, int threads),
          cuOccupancyAvailableDynamicSMemPerBlock, shared, of, blocks, threads)

#define OF_CLUSTERS(name, call, answer)                                                                                \
    cudaError_t name(int *answer, const void *symbol, const cudaLaunchConfig_t *from)                                  \
    {                                                                                                                  \
        CUfunction function;                                                                                           \
        RT_NEED(from);                                                                                                 \
        cudaError_t error = kiln__rt_function(symbol, &function);                                                      \
        if (error != cudaSuccess)                                                                                      \
            return kiln__rt_record(error);                                                                             \
        CUlaunchConfig config = config_of(from);                                                                       \
        return kiln__rt_result(CU(call)(answer, function, &config));                                                   \
    }
OF_CLUSTERS(cudaOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, count)
OF_CLUSTERS(cudaOccupancyMaxPotentialClusterSize, cuOccupancyMaxPotentialClusterSize, size)

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
    RT_NEED(function);
    return kiln__rt_record(kiln__rt_function(symbol, (CUfunction *)function));
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *symbol)
{
    CUkernel found;
    RT_NEED(kernel);
    cudaError_t error = kiln__rt_kernel(symbol, &found);
    if (error == cudaSuccess)
        error = kiln__rt_known(found);
    if (error == cudaSuccess)
        *kernel = (cudaKernel_t)found;
    return kiln__rt_record(error);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
                                            int device)
{
    (void)device; /* in the runtime a kernel belongs to a context, so the device has no effect */
    return cudaFuncSetAttribute(kernel, attribute, value);
}

/* ---- libraries ---- */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *options, void **values,
                                unsigned int count, enum cudaLibraryOption *library_options, void **library_values,
                                unsigned int library_count)
{
    RT_ENTER();
    return kiln__rt_result(CU(cuLibraryLoadData)((CUlibrary *)library, code, (CUjit_option *)options, values, count,
                                                 (CUlibraryOption *)library_options, library_values, library_count));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path, enum cudaJitOption *options,
                                    void **values, unsigned int count, enum cudaLibraryOption *library_options,
                                    void **library_values, unsigned int library_count)
{
    RT_ENTER();
    return kiln__rt_result(CU(cuLibraryLoadFromFile)((CUlibrary *)library, path, (CUjit_option *)options, values, count,
                                                     (CUlibraryOption *)library_options, library_values,
                                                     library_count));
}

/* The function first forgets the handles of the library's kernels. The runtime keeps data about each handle, and the
 * driver may use the same handle again. */
cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    unsigned count = 0;
    RT_ENTER();
    CUkernel *kernels = NULL;
    if (CU(cuLibraryGetKernelCount)(&count, (CUlibrary)library) == CUDA_SUCCESS && count > 0)
        kernels = calloc(count, sizeof *kernels);
    if (kernels && CU(cuLibraryEnumerateKernels)(kernels, count, (CUlibrary)library) == CUDA_SUCCESS)
        for (unsigned i = 0; i < count; i++)
            kiln__rt_forget_kernel(kernels[i]);
    free(kernels);
    return kiln__rt_result(CU(cuLibraryUnload)((CUlibrary)library));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    RT_NEED(kernel);
    RT_ENTER();
    CUresult result = CU(cuLibraryGetKernel)((CUkernel *)kernel, (CUlibrary)library, name);
    return kiln__rt_record(result == CUDA_SUCCESS ? kiln__rt_known((CUkernel)*kernel) : (cudaError_t)result);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int count, cudaLibrary_t library)
{
    unsigned there = 0;
    RT_ENTER();
    CUresult result = CU(cuLibraryEnumerateKernels)((CUkernel *)kernels, count, (CUlibrary)library);
    if (result == CUDA_SUCCESS)
        result = CU(cuLibraryGetKernelCount)(&there, (CUlibrary)library);
    /* the function does not write the elements after the last kernel */
    for (unsigned i = 0; result == CUDA_SUCCESS && i < count && i < there; i++)
        kiln__rt_known((CUkernel)kernels[i]);
    return kiln__rt_result(result);
}
