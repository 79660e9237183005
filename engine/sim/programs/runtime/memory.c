/* memory.c - allocations and the attributes of pointers. */
#include <string.h>

#include "runtime.h"

cudaError_t cudaMalloc(void **to, size_t bytes)
{
    CUdeviceptr address = 0;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = bytes ? CU(cuMemAlloc)(&address, bytes) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        *to = (void *)address;
    return kiln__rt_result(result);
}

cudaError_t cudaFree(void *p)
{
    RT_ENTER();
    CUresult result = p ? CU(cuMemFree)(rt_address(p)) : CUDA_SUCCESS;
    return kiln__rt_result(result);
}

cudaError_t cudaMallocManaged(void **to, size_t bytes, unsigned int flags)
{
    CUdeviceptr address = 0;
    RT_NEED(to && bytes > 0);
    RT_ENTER();
    CUresult result = CU(cuMemAllocManaged)(&address, bytes, flags);
    if (result == CUDA_SUCCESS)
        *to = (void *)address;
    return kiln__rt_result(result);
}

cudaError_t cudaMallocPitch(void **to, size_t *pitch, size_t width, size_t height)
{
    CUdeviceptr address = 0;
    RT_NEED(to && pitch);
    RT_ENTER();
    CUresult result = width && height ? CU(cuMemAllocPitch)(&address, pitch, width, height, 4) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        *to = (void *)address;
    return kiln__rt_result(result);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *to, struct cudaExtent extent)
{
    size_t rows;
    RT_NEED(to);
    *to = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return kiln__rt_record(cudaErrorMemoryAllocation);
    return cudaMallocPitch(&to->ptr, &to->pitch, extent.width, rows);
}

cudaError_t cudaHostAlloc(void **to, size_t bytes, unsigned int flags)
{
    RT_NEED(to);
    RT_ENTER();
    *to = NULL;
    return kiln__rt_result(bytes ? CU(cuMemHostAlloc)(to, bytes, flags) : CUDA_SUCCESS);
}

cudaError_t cudaMallocHost(void **to, size_t bytes) { return cudaHostAlloc(to, bytes, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void *p)
{
    RT_ENTER();
    return kiln__rt_result(p ? CU(cuMemFreeHost)(p) : CUDA_SUCCESS);
}

cudaError_t cudaHostGetDevicePointer(void **to, void *host, unsigned int flags)
{
    CUdeviceptr address = 0;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = CU(cuMemHostGetDevicePointer)(&address, host, flags);
    if (result == CUDA_SUCCESS)
        *to = (void *)address;
    return kiln__rt_result(result);
}

cudaError_t cudaMallocAsync(void **to, size_t bytes, cudaStream_t stream)
{
    CUdeviceptr address = 0;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = bytes ? CU(cuMemAllocAsync)(&address, bytes, stream) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        *to = (void *)address;
    return kiln__rt_result(result);
}

/* A pool belongs to the primary context of its device, which need not be the current context. */
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    CUcontext context;
    RT_NEED(pool && props);
    RT_ENTER();
    cudaError_t error = props->location.type == cudaMemLocationTypeDevice
                            ? kiln__rt_primary(props->location.id, &context)
                            : cudaSuccess;
    return error != cudaSuccess ? kiln__rt_record(error)
                                : kiln__rt_result(CU(cuMemPoolCreate)(pool, (const CUmemPoolProps *)props));
}

cudaError_t cudaMallocFromPoolAsync(void **to, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    CUdeviceptr address = 0;
    RT_NEED(to);
    RT_ENTER();
    CUresult result = bytes ? CU(cuMemAllocFromPoolAsync)(&address, bytes, pool, stream) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        *to = (void *)address;
    return kiln__rt_result(result);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    RT_ENTER();
    return kiln__rt_result(p ? CU(cuMemFreeAsync)(rt_address(p), stream) : CUDA_SUCCESS);
}

/* The function does not write members that the struct of version 12 lacks. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *to, const void *p)
{
    CUmemorytype type = (CUmemorytype)0;
    unsigned managed = 0;
    CUdeviceptr device = 0;
    void *host = NULL;
    int ordinal = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &managed, &device, &host, &ordinal};
    RT_NEED(to);
    RT_ENTER();
    CUresult result = CU(cuPointerGetAttributes)(5, attributes, values, rt_address(p));
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE)
        return kiln__rt_result(result);
    if (result == CUDA_ERROR_INVALID_VALUE || type == 0) {
        to->type = cudaMemoryTypeUnregistered;
        to->device = cudaInvalidDeviceId;
        to->devicePointer = NULL;
        to->hostPointer = (void *)(uintptr_t)p;
        return cudaSuccess;
    }
    int current;
    to->type = managed ? cudaMemoryTypeManaged : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    to->device = ordinal;
    to->devicePointer = (void *)device;
    to->hostPointer = host;
    if (ordinal < 0 && kiln__rt_ordinal(&current) == cudaSuccess)
        to->device = current;
    return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void **to, const void *symbol)
{
    CUdeviceptr address = 0;
    size_t size;
    RT_NEED(to);
    cudaError_t error = kiln__rt_variable(symbol, &address, &size);
    if (error == cudaSuccess)
        *to = (void *)address;
    return kiln__rt_record(error);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr address;
    RT_NEED(size);
    return kiln__rt_record(kiln__rt_variable(symbol, &address, size));
}

static CUmemLocation location_of(struct cudaMemLocation from)
{
    return (CUmemLocation){.type = (CUmemLocationType)from.type, .id = from.id};
}

cudaError_t cudaMemAdvise(const void *p, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation where)
{
    RT_ENTER();
    return kiln__rt_result(CU(cuMemAdvise)(rt_address(p), bytes, (CUmem_advise)advice, location_of(where)));
}

cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes, struct cudaMemLocation where, unsigned int flags,
                                 cudaStream_t stream)
{
    RT_ENTER();
    return kiln__rt_result(CU(cuMemPrefetchAsync)(rt_address(p), bytes, location_of(where), flags, stream));
}
