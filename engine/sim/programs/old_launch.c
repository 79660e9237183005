/* old_launch.c - the launch functions of CUDA 2: some functions store the arguments in the kernel, and cuLaunch() has
 * no arguments. */
#include <string.h>

#include "cu_graph.h"

enum { OLD_PARAM_BYTES = 4096 };

static CUresult set_old_param(CUfunction handle, int offset, const void *data, unsigned bytes)
{
    sim_context *context;
    CUresult result;
    sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    if (!data || offset < 0 || offset > OLD_PARAM_BYTES || bytes > OLD_PARAM_BYTES - (unsigned)offset)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (!function->old_params)
        function->old_params = kiln__calloc(sim_memory(), 1, OLD_PARAM_BYTES);
    if (!function->old_params)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(function->old_params + offset, data, bytes);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuParamSetv(CUfunction function, int offset, void *data, unsigned bytes)
{
    return set_old_param(function, offset, data, bytes);
}

CUresult sim_cuParamSeti(CUfunction function, int offset, unsigned value)
{
    return set_old_param(function, offset, &value, sizeof value);
}

CUresult sim_cuParamSetf(CUfunction function, int offset, float value)
{
    return set_old_param(function, offset, &value, sizeof value);
}

CUresult sim_cuParamSetSize(CUfunction handle, unsigned bytes)
{
    sim_context *context;
    CUresult result;
    sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    if (bytes > OLD_PARAM_BYTES)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    function->old_param_bytes = bytes;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
    sim_context *context;
    CUresult result;
    sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    if (x <= 0 || y <= 0 || z <= 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    function->old_block[0] = (unsigned)x;
    function->old_block[1] = (unsigned)y;
    function->old_block[2] = (unsigned)z;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuFuncSetSharedSize(CUfunction handle, unsigned bytes)
{
    sim_context *context;
    CUresult result;
    sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    function->old_shared = bytes;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream)
{
    unsigned char params[OLD_PARAM_BYTES];
    sim_context *context;
    CUresult result;
    const sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    if (width <= 0 || height <= 0 || (function->old_param_bytes > 0 && !function->old_params))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    size_t bytes = function->old_param_bytes;
    if (bytes > 0)
        memcpy(params, function->old_params, bytes);
    const unsigned *block = function->old_block, shared = function->old_shared;
    const unsigned x = block[0], y = block[1], z = block[2];
    sim_end(CUDA_SUCCESS);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    return sim_cuLaunchKernel(handle, (unsigned)width, (unsigned)height, 1, x, y, z, shared, stream, NULL, extra);
}

CUresult sim_cuLaunchGrid(CUfunction function, int width, int height)
{
    return sim_cuLaunchGridAsync(function, width, height, NULL);
}

CUresult sim_cuLaunch(CUfunction function) { return sim_cuLaunchGridAsync(function, 1, 1, NULL); }
