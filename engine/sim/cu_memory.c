/* Device memory: allocation, copies, fills. Every range is checked against the allocations; kernels are done when a
 * call returns, so the Async functions differ from the others in nothing but their stream argument. */
#include <string.h>

#include "sim/cu_internal.h"

CUresult sim_cuMemGetInfo(size_t *free, size_t *total)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!free || !total)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    uint64_t used = vm_memory_used(context->device);
    *total = (size_t)context->memory;
    *free = (size_t)(used < context->memory ? context->memory - used : 0);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pointer || bytes == 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    uint64_t address = vm_alloc(context->device, bytes);
    if (address == 0)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    *pointer = address;
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemFree(CUdeviceptr pointer)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    bool freed = pointer == 0 || /* nothing to free, as with free(NULL) */
                 (!sim_is_variable(context, pointer) && vm_free(context->device, pointer));
    return sim_end_work(context, freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t start = 0, size = 0;
    if (!vm_range(context->device, pointer, &start, &size))
        return sim_end(CUDA_ERROR_NOT_FOUND);
    if (base)
        *base = start;
    if (bytes)
        *bytes = (size_t)size;
    return sim_end(CUDA_SUCCESS);
}

/* ---- copies: a side is a host pointer, or a device address where the pointer is NULL ---- */

typedef struct side { void *host; CUdeviceptr device; bool on_device; } side;

static void *resolve(sim_context *context, side where, size_t bytes)
{
    return where.on_device ? vm_pointer(context->device, where.device, bytes) : where.host;
}

static CUresult copy(side to, side from, size_t bytes, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_stream_known(stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (bytes == 0)
        return sim_end_work(context, CUDA_SUCCESS);
    void *target = resolve(context, to, bytes), *source = resolve(context, from, bytes);
    if (!target || !source)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    memmove(target, source, bytes);
    return sim_end_work(context, CUDA_SUCCESS);
}

static side on_host(const void *pointer)
{
    return (side){.host = (void *)(uintptr_t)pointer}; /* only ever read where it came in as const */
}

static side on_device(CUdeviceptr address)
{
    return (side){.device = address, .on_device = true};
}

CUresult sim_cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy(on_device(to), on_host(from), bytes, NULL);
}

CUresult sim_cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return copy(on_host(to), on_device(from), bytes, NULL);
}

CUresult sim_cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy(on_device(to), on_device(from), bytes, NULL);
}

CUresult sim_cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy(on_device(to), on_host(from), bytes, stream);
}

CUresult sim_cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy(on_host(to), on_device(from), bytes, stream);
}

CUresult sim_cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy(on_device(to), on_device(from), bytes, stream);
}

/* ---- fills ---- */

static CUresult fill(CUdeviceptr to, const void *value, size_t size, size_t count, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_stream_known(stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (count == 0)
        return sim_end_work(context, CUDA_SUCCESS);
    if (to % size != 0 || count > SIZE_MAX / size)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    unsigned char *target = vm_pointer(context->device, to, count * size);
    if (!target)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (size == 1)
        memset(target, *(const unsigned char *)value, count);
    else
        for (size_t i = 0; i < count; i++)
            memcpy(target + i * size, value, size);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count)
{
    return fill(to, &value, sizeof value, count, NULL);
}

CUresult sim_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return fill(to, &value, sizeof value, count, stream);
}

CUresult sim_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    return fill(to, &value, sizeof value, count, stream);
}

CUresult sim_cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    return fill(to, &value, sizeof value, count, stream);
}
