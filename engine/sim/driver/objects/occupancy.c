/* occupancy.c - computes how many blocks of a kernel fit on a multiprocessor at once. */
#include <string.h>

#include <cuda_occupancy.h>

#include "cu_objects.h"

/* ---- occupancy, computed by the toolkit's cuda_occupancy.h ---- */

typedef struct fit {
    cudaOccDeviceProp device;
    cudaOccFuncAttributes function;
    cudaOccDeviceState state;
} fit;

/* Fills the structures that the toolkit's cuda_occupancy.h needs for a kernel on a device. */
static fit fit_of(const sim_profile *profile, const vm_resources *kernel, int dynamic_limit)
{
    fit made = {.state = {.cacheConfig = CACHE_PREFER_NONE, .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT}};
    made.device = (cudaOccDeviceProp){
        .computeMajor = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        .computeMinor = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        .maxThreadsPerBlock = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsPerMultiprocessor = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        .regsPerBlock = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .regsPerMultiprocessor = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        .warpSize = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .sharedMemPerBlock = (size_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .sharedMemPerMultiprocessor = (size_t)sim_profile_int(profile,
                                                              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .numSms = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .sharedMemPerBlockOptin = (size_t)sim_profile_int(profile,
                                                          CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        .reservedSharedMemPerBlock = (size_t)sim_profile_int(profile,
                                                             CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
    };
    made.function = (cudaOccFuncAttributes){
        .maxThreadsPerBlock = (int)kernel->max_threads,
        .numRegs = (int)kernel->register_estimate,
        .sharedSizeBytes = (size_t)kernel->static_shared,
        .partitionedGCConfig = PARTITIONED_GC_OFF,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = (size_t)dynamic_limit,
        .numBlockBarriers = 1,
    };
    return made;
}

static int blocks_that_fit(const fit *made, uint64_t threads, uint64_t dynamic_shared)
{
    cudaOccResult found;
    memset(&found, 0, sizeof found);
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&found, &made->device, &made->function, &made->state, (int)threads,
                                                (size_t)dynamic_shared) != CUDA_OCC_SUCCESS)
        return 0;
    return found.activeBlocksPerMultiprocessor > 0 ? found.activeBlocksPerMultiprocessor : 0;
}

int sim_blocks_per_sm(const sim_function *function, uint64_t threads, uint64_t dynamic_shared)
{
    const fit made = fit_of(sim_current_profile(), &function->resources, function->dynamic_limit);
    return blocks_that_fit(&made, threads, dynamic_shared);
}

uint64_t sim_limit_by_columns(const sim_function *function, uint64_t blocks)
{
    const int columns = function->resources.tensor_columns;
    const uint64_t most = columns > 0 ? (uint64_t)(PTX_TENSOR_COLUMNS / columns) : blocks;
    return blocks < most ? blocks : most;
}

int kiln__sim_tensor_columns(const char *text, size_t length, const char *kernel)
{
    ptx_module *ptx = NULL;
    kiln__text log = {0};
    int columns = -1;
    const ptx_result result = ptx_parse(NULL, text, length, &ptx, &log);
    for (uint32_t k = 0; result == PTX_OK && k < ptx->function_count; k++)
        if (ptx->functions[k].entry && strcmp(ptx->functions[k].name, kernel) == 0)
            columns = ptx_tensor_columns(ptx, k);
    ptx_free(NULL, ptx);
    kiln__text_free(&log);
    return columns;
}

bool sim_kernel_occupancy(const void *profile, const vm_resources *kernel, int threads, uint64_t shared, int *blocks)
{
    uint64_t most = (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    most -= kernel->static_shared < most ? kernel->static_shared : most;
    const fit made = fit_of(profile, kernel, (int)most);
    *blocks = shared <= most ? blocks_that_fit(&made, (uint64_t)threads, shared) : 0;
    return true;
}

bool sim_kernel_attribute(const void *profile, int attribute, int *value)
{
    return sim_profile_attribute(profile, (CUdevice_attribute)attribute, value);
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads, size_t shared)
{
    sim_context *context;
    CUresult result;
    const sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    if (!blocks || threads <= 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    bool fits = (unsigned)threads <= function->resources.max_threads && shared <= (size_t)function->dynamic_limit;
    *blocks = fits ? sim_blocks_per_sm(function, (uint64_t)threads, shared) : 0;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int threads,
                                                                  size_t shared, unsigned flags)
{
    if (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, threads, shared);
}

/* The function `shared_of` belongs to the program and may call the driver, so it is called without locks. */
CUresult sim_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle, CUoccupancyB2DSize shared_of,
                                              size_t shared, int limit)
{
    sim_context *context;
    CUresult result;
    const sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    if (!grid || !block || limit < 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    fit made = fit_of(sim_current_profile(), &function->resources, function->dynamic_limit);
    sim_end(CUDA_SUCCESS);
    if (limit > 0 && limit < made.function.maxThreadsPerBlock)
        made.function.maxThreadsPerBlock = limit;
    int best_grid = 0, best_block = 0;
    if (cudaOccMaxPotentialOccupancyBlockSize(&best_grid, &best_block, &made.device, &made.function, &made.state,
                                              shared_of, shared) != CUDA_OCC_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    *grid = best_grid;
    *block = best_block;
    return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
                                                       CUoccupancyB2DSize shared_of, size_t shared, int limit,
                                                       unsigned flags)
{
    if (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_cuOccupancyMaxPotentialBlockSize(grid, block, handle, shared_of, shared, limit);
}

/* Computes how much dynamic shared memory a block may have so that `blocks` blocks still fit on a multiprocessor. */
CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks, int threads)
{
    sim_context *context;
    CUresult result;
    const sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    if (!bytes || blocks <= 0 || threads <= 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const fit made = fit_of(sim_current_profile(), &function->resources, function->dynamic_limit);
    size_t found = 0;
    if (cudaOccAvailableDynamicSMemPerBlock(&found, &made.device, &made.function, &made.state, blocks, threads) !=
        CUDA_OCC_SUCCESS)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *bytes = found;
    return sim_end(CUDA_SUCCESS);
}
