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

static CUresult allocate(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (!pointer || bytes == 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    uint64_t address = vm_alloc(context->device, bytes);
    if (address == 0)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    *pointer = address;
    uint64_t used = vm_memory_used(context->device);
    context->used_most = used > context->used_most ? used : context->used_most;
    return sim_end_work(context, CUDA_SUCCESS);
}

static CUresult release(CUdeviceptr pointer, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    bool freed = pointer == 0 || /* nothing to free, as with free(NULL) */
                 (!sim_is_variable(context, pointer) && !sim_is_host(context, pointer) &&
                  vm_free(context->device, pointer));
    return sim_end_work(context, freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    return allocate(pointer, bytes, NULL);
}

CUresult sim_cuMemFree(CUdeviceptr pointer)
{
    return release(pointer, NULL);
}

CUresult sim_cuMemAllocPitch(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned element)
{
    enum { ALIGN = 512 };
    size_t bytes;
    if (!pointer || !pitch || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16) ||
        width > SIZE_MAX - ALIGN)
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = (width + ALIGN - 1) / ALIGN * ALIGN;
    CUresult result = allocate(pointer, __builtin_mul_overflow(row, height, &bytes) ? SIZE_MAX : bytes, NULL);
    if (result == CUDA_SUCCESS)
        *pitch = row;
    return result;
}

/* Memory that host and device see at one address is what the simulator has not. */
CUresult sim_cuMemAllocManaged(CUdeviceptr *pointer, size_t bytes, unsigned flags)
{
    if (!pointer || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- stream-ordered allocation: one pool, the default one, which keeps nothing back ---- */

#define POOL_HANDLE ((uint64_t)0x52u << 56 | 0x10)

static CUresult give_pool(CUmemoryPool *pool, CUdevice device)
{
    CUresult result = sim_begin_device(device, pool);
    if (result != CUDA_SUCCESS)
        return result;
    *pool = (CUmemoryPool)(uintptr_t)POOL_HANDLE;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    return give_pool(pool, device);
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    return give_pool(pool, device);
}

CUresult sim_cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    CUresult result = sim_begin_device(device, pool);
    return result == CUDA_SUCCESS
               ? sim_end((uintptr_t)pool == POOL_HANDLE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) : result;
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
    return allocate(pointer, bytes, stream);
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    return (uintptr_t)pool == POOL_HANDLE ? allocate(pointer, bytes, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
    return release(pointer, stream);
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    (void)keep;
    return (uintptr_t)pool == POOL_HANDLE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((uintptr_t)pool != POOL_HANDLE || !value)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    cuuint64_t number = 0;
    int yes = 1;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(value, &yes, sizeof yes);
        return sim_end(CUDA_SUCCESS);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        number = context->pool_threshold;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        number = vm_memory_used(context->device);
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        number = context->used_most;
        break;
    default:
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
    memcpy(value, &number, sizeof number);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((uintptr_t)pool != POOL_HANDLE || !value)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    cuuint64_t number = 0;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: /* permissions that nothing here makes use of */
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return sim_end(CUDA_SUCCESS);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        memcpy(&context->pool_threshold, value, sizeof context->pool_threshold);
        return sim_end(CUDA_SUCCESS);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: /* may be set to zero: start over */
        memcpy(&number, value, sizeof number);
        if (number != 0)
            return sim_end(CUDA_ERROR_INVALID_VALUE);
        context->used_most = vm_memory_used(context->device);
        return sim_end(CUDA_SUCCESS);
    default:
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
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

/* ---- copies in one piece (cu_transfer.c has those with a pitch) ---- */

/* Addresses that Linux gives to no process: what lies here and in no allocation is a device address gone wrong. */
#define DEVICE_ONLY_END 0x400000000000ull

static void *resolve(const sim_side *where, uint64_t address, size_t bytes)
{
    vm_device *device = where->context->device;
    uint64_t base, size;
    if (where->type == CU_MEMORYTYPE_DEVICE || (where->type == CU_MEMORYTYPE_UNIFIED &&
        ((address >= VM_GLOBAL_BASE && address < DEVICE_ONLY_END) || vm_range(device, address, &base, &size))))
        return vm_pointer(device, address, bytes);
    return (void *)(uintptr_t)address;
}

void *sim_side_resolve(const sim_side *where, size_t bytes)
{
    return where->address ? resolve(where, where->address, bytes) : NULL;
}

static CUresult copy(sim_side to, sim_side from, size_t bytes, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (bytes == 0)
        return sim_end_work(context, CUDA_SUCCESS);
    to.context = from.context = context;
    void *target = sim_side_resolve(&to, bytes), *source = sim_side_resolve(&from, bytes);
    if (!target || !source)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    memmove(target, source, bytes);
    return sim_end_work(context, CUDA_SUCCESS);
}

static sim_side on_host(const void *pointer)
{
    return (sim_side){.type = CU_MEMORYTYPE_HOST, .address = (uintptr_t)pointer};
}

static sim_side on_device(CUdeviceptr address)
{
    return (sim_side){.type = CU_MEMORYTYPE_DEVICE, .address = address};
}

static sim_side on_either(CUdeviceptr address)
{
    return (sim_side){.type = CU_MEMORYTYPE_UNIFIED, .address = address};
}

CUresult sim_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy(on_either(to), on_either(from), bytes, NULL);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy(on_either(to), on_either(from), bytes, stream);
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

typedef struct area { CUdeviceptr start; size_t pitch, width, height; } area; /* in elements, the pitch in bytes */

static CUresult fill(area to, const void *value, size_t size, CUstream stream)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (to.width == 0 || to.height == 0)
        return sim_end_work(context, CUDA_SUCCESS);
    size_t row, bytes;
    bool wrong = to.start % size != 0 || __builtin_mul_overflow(to.width, size, &row) ||
                 (to.height > 1 && (to.pitch < row || to.pitch % size != 0)) ||
                 __builtin_mul_overflow(to.pitch, to.height - 1, &bytes) || __builtin_add_overflow(bytes, row, &bytes);
    unsigned char *target = wrong ? NULL : vm_pointer(context->device, to.start, bytes);
    if (!target)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    for (size_t y = 0; y < to.height; y++) {
        unsigned char *line = target + y * to.pitch;
        if (size == 1)
            memset(line, *(const unsigned char *)value, row);
        else
            for (size_t i = 0; i < row; i += size)
                memcpy(line + i, value, size);
    }
    return sim_end_work(context, CUDA_SUCCESS);
}

#define FILLS(bits, type)                                                                                              \
    CUresult sim_cuMemsetD##bits(CUdeviceptr to, type value, size_t count)                                             \
    {                                                                                                                  \
        return fill((area){to, 0, count, 1}, &value, sizeof value, NULL);                                              \
    }                                                                                                                  \
    CUresult sim_cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream)                     \
    {                                                                                                                  \
        return fill((area){to, 0, count, 1}, &value, sizeof value, stream);                                            \
    }                                                                                                                  \
    CUresult sim_cuMemsetD2D##bits(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height)              \
    {                                                                                                                  \
        return fill((area){to, pitch, width, height}, &value, sizeof value, NULL);                                     \
    }                                                                                                                  \
    CUresult sim_cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height,       \
                                          CUstream stream)                                                             \
    {                                                                                                                  \
        return fill((area){to, pitch, width, height}, &value, sizeof value, stream);                                   \
    }
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
