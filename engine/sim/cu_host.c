/* Host memory that the device knows of, and what a pointer points to. "Pinned" memory is an allocation of the device,
 * whose memory is the host's anyway: the host has a pointer to it and the device an address, which are two numbers, so
 * a kernel gets the one from cuMemHostGetDevicePointer. It counts as device memory. Memory that the program registers
 * stays its own: copies from and to it work as ever, but no kernel can reach it. */
#include <string.h>

#include "sim/cu_internal.h"

static sim_host *host_at(const sim_context *context, const void *pointer)
{
    for (sim_object *object = context->objects; object; object = object->next) {
        sim_host *host = (sim_host *)object;
        if (object->kind == SIM_HOST && (uintptr_t)pointer - (uintptr_t)host->pointer < host->bytes)
            return host;
    }
    return NULL;
}

static sim_host *host_of(const sim_context *context, CUdeviceptr address)
{
    for (sim_object *object = context->objects; object; object = object->next) {
        sim_host *host = (sim_host *)object;
        if (object->kind == SIM_HOST && host->device && address - host->device < host->bytes)
            return host;
    }
    return NULL;
}

bool sim_is_host(const sim_context *context, CUdeviceptr pointer)
{
    return host_of(context, pointer) != NULL;
}

CUresult sim_cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pointer || bytes == 0 || (flags & ~known))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    uint64_t address = vm_alloc(context->device, bytes);
    sim_host *made = address ? sim_object_new(context, SIM_HOST, sizeof *made) : NULL;
    if (!made) {
        vm_free(context->device, address);
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->pointer = vm_pointer(context->device, address, bytes);
    made->bytes = bytes;
    made->device = address;
    made->flags = flags;
    *pointer = made->pointer;
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemAllocHost(void **pointer, size_t bytes)
{
    return sim_cuMemHostAlloc(pointer, bytes, 0);
}

CUresult sim_cuMemFreeHost(void *pointer)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_host *host = host_at(context, pointer);
    if (!host || host->pointer != pointer || !host->device)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    vm_free(context->device, host->device);
    sim_object_free(context, host);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemHostGetDevicePointer(CUdeviceptr *address, void *pointer, unsigned flags)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const sim_host *host = host_at(context, pointer);
    if (!address || flags != 0 || !host || !host->device)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *address = host->device + ((uintptr_t)pointer - (uintptr_t)host->pointer);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemHostGetFlags(unsigned *flags, void *pointer)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const sim_host *host = host_at(context, pointer);
    if (!flags || !host || !host->device)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *flags = host->flags;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemHostRegister(void *pointer, size_t bytes, unsigned flags)
{
    const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |
                           CU_MEMHOSTREGISTER_READ_ONLY;
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pointer || bytes == 0 || (flags & ~known) || bytes > UINTPTR_MAX - (uintptr_t)pointer)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (flags & (CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY))
        return sim_end(CUDA_ERROR_NOT_SUPPORTED);
    for (const sim_object *object = context->objects; object; object = object->next) {
        const sim_host *host = (const sim_host *)object;
        if (object->kind == SIM_HOST && (uintptr_t)host->pointer < (uintptr_t)pointer + bytes &&
            (uintptr_t)pointer < (uintptr_t)host->pointer + host->bytes)
            return sim_end(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    sim_host *made = sim_object_new(context, SIM_HOST, sizeof *made);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    made->pointer = pointer;
    made->bytes = bytes;
    made->flags = flags;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemHostUnregister(void *pointer)
{
    sim_context *context;
    CUresult result = sim_begin_work(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_host *host = host_at(context, pointer);
    if (!host || host->pointer != pointer || host->device)
        return sim_end_work(context, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    sim_object_free(context, host);
    return sim_end_work(context, CUDA_SUCCESS);
}

/* ---- what is there? ---- */

typedef struct place { bool known; uint64_t base, bytes; CUdeviceptr device; void *host; CUmemorytype type; } place;

static place look(sim_context *context, CUdeviceptr pointer)
{
    place at = {0};
    const sim_host *host = host_of(context, pointer);
    if (!host)
        host = host_at(context, (const void *)(uintptr_t)pointer);
    if (host) {
        bool by_device = host->device && pointer - host->device < host->bytes;
        uint64_t offset = by_device ? pointer - host->device : pointer - (uintptr_t)host->pointer;
        at = (place){true, by_device ? host->device : (uintptr_t)host->pointer, host->bytes,
                     host->device ? host->device + offset : 0, (char *)host->pointer + offset, CU_MEMORYTYPE_HOST};
    } else if (vm_range(context->device, pointer, &at.base, &at.bytes)) {
        at.known = true;
        at.device = pointer;
        at.type = CU_MEMORYTYPE_DEVICE;
    }
    return at;
}

static CUresult answer(const sim_context *context, const place *at, CUpointer_attribute attribute, void *data)
{
    /* The types of the answers differ; `wide` are those of a pointer's size, the others are of an unsigned's, or of a
     * bool's. */
    uint64_t wide = 0;
    unsigned narrow = 0;
    bool is = false;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        wide = at->known ? context->object.handle : 0;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        if (at->known && !at->device)
            return CUDA_ERROR_INVALID_VALUE;
        wide = at->device;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (at->known && !at->host)
            return CUDA_ERROR_INVALID_VALUE;
        wide = (uintptr_t)at->host;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: /* addresses are not used twice */
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        wide = at->base;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        wide = at->bytes;
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        narrow = at->known ? (unsigned)at->type : 0;
        memcpy(data, &narrow, sizeof narrow);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        narrow = at->known ? 0 : (unsigned)CU_DEVICE_INVALID;
        memcpy(data, &narrow, sizeof narrow);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        narrow = at->known && at->device ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                         : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
        memcpy(data, &narrow, sizeof narrow);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        is = at->known && at->device;
        memcpy(data, &is, sizeof is);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        memcpy(data, &is, sizeof is);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(data, &wide, sizeof wide);
    return CUDA_SUCCESS;
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    place at = look(context, pointer);
    return sim_end(data && at.known ? answer(context, &at, attribute, data) : CUDA_ERROR_INVALID_VALUE);
}

/* Unlike the one above it answers for pointers that it knows nothing of: with zeros. */
CUresult sim_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr pointer)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (count == 0 || !attributes || !data)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    place at = look(context, pointer);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
        uint64_t none = 0;
        result = data[i] ? answer(context, &at, attributes[i], data[i]) : CUDA_ERROR_INVALID_VALUE;
        if (data[i] && result == CUDA_ERROR_INVALID_VALUE && (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
                                                              attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER)) {
            memcpy(data[i], &none, sizeof none);
            result = CUDA_SUCCESS;
        }
    }
    return sim_end(result);
}
