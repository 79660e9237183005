/* host.c - memory that host and device access through one pointer, and queries of pointers. This file allocates pinned
 * and managed memory. Registered memory belongs to the program. As with unified addressing, kernels access pinned,
 * managed and registered memory by the host's pointer. Only managed memory counts as device memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cu_graph.h"
#include "vm_checks.h"

/* Adds memory that is shared with the host to the context's list. The interpreter already knows this memory. */
static CUresult add_host(sim_context *context, void *pointer, size_t bytes, sim_sharing sharing, unsigned flags)
{
    sim_host *made = sim_object_new(context, SIM_HOST, sizeof *made);
    if (!made) {
        vm_free(context->device, (uintptr_t)pointer);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->sharing = sharing;
    made->pointer = pointer;
    made->bytes = bytes;
    made->flags = flags;
    vm_set_owner(context->device, (uintptr_t)pointer, made->object.handle);
    return CUDA_SUCCESS;
}

/* Allocates pinned or managed memory. */
static CUresult make_shared(sim_context *context, void **pointer, size_t bytes, sim_sharing sharing, unsigned flags)
{
    SIM_TRY(sim_forbid(context));
    void *made = bytes <= kiln__host_memory() ? vm_alloc_host(context->device, bytes, sharing == SIM_MANAGED) : NULL;
    CUresult result = made ? add_host(context, made, bytes, sharing, flags) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        check_track(context->device, (uintptr_t)made);
        *pointer = made;
    }
    return result;
}

CUresult sim_cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    if (!pointer || bytes == 0 || (flags & ~known))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    return sim_end_work(context, make_shared(context, pointer, bytes, SIM_PINNED, flags));
}

CUresult sim_cuMemAllocHost(void **pointer, size_t bytes) { return sim_cuMemHostAlloc(pointer, bytes, 0); }

CUresult sim_cuMemAllocManaged(CUdeviceptr *pointer, size_t bytes, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    if (!pointer || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    void *made = NULL;
    CUresult result = make_shared(context, &made, bytes, SIM_MANAGED, flags);
    if (result == CUDA_SUCCESS)
        *pointer = (uintptr_t)made;
    return sim_end_work(context, result);
}

/* Begins a call about memory that is shared with the host, begins at `pointer` and has the kind `sharing`. On success
 * holds both locks and returns CUDA_SUCCESS. `unknown` is the error for memory that is not shared. */
static CUresult begin_shared(const void *pointer, sim_sharing sharing, CUresult unknown, sim_context **context,
                             sim_host **host)
{
    SIM_TRY(sim_begin_work(context));
    sim_context *home = sim_home(*context, (uintptr_t)pointer);
    *host = sim_host_at(home, (uintptr_t)pointer);
    if (!*host || (*host)->pointer != pointer || (*host)->sharing != sharing)
        return sim_end_work(*context, *host ? CUDA_ERROR_INVALID_VALUE : unknown);
    CUresult result = sim_forbid(*context);
    if (result == CUDA_SUCCESS)
        sim_order_waited_all(*context);
    return result == CUDA_SUCCESS ? CUDA_SUCCESS : sim_end_work(*context, result);
}

static CUresult end_shared(sim_context *context, sim_host *host)
{
    sim_context *home = host->object.context;
    sim_order_shared_gone(home, (uintptr_t)host->pointer);
    vm_free(home->device, (uintptr_t)host->pointer);
    sim_object_free(home, host);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemFreeHost(void *pointer)
{
    sim_context *context = NULL;
    sim_host *host = NULL;
    CUresult result = begin_shared(pointer, SIM_PINNED, CUDA_ERROR_INVALID_VALUE, &context, &host);
    return result == CUDA_SUCCESS ? end_shared(context, host) : result;
}

CUresult sim_cuMemHostUnregister(void *pointer)
{
    sim_context *context = NULL;
    sim_host *host = NULL;
    CUresult result = begin_shared(pointer, SIM_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, &context, &host);
    return result == CUDA_SUCCESS ? end_shared(context, host) : result;
}

/* Returns true if the process can read all of [start, start + bytes). If `write` is true, the process must also be able
 * to write the range. */
static bool is_mapped(uintptr_t start, size_t bytes, bool write)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t reached = start, low, high;
    char line[512], may[5];
    while (maps && reached < start + bytes && fgets(line, (int)sizeof line, maps))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &low, &high, may) == 3 && low <= reached && reached < high) {
            if (may[0] != 'r' || (write && may[1] != 'w'))
                break;
            reached = high;
        }
    if (maps)
        fclose(maps);
    return reached >= start + bytes;
}

CUresult sim_cuMemHostRegister(void *pointer, size_t bytes, unsigned flags)
{
    const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |
                           CU_MEMHOSTREGISTER_READ_ONLY;
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    uintptr_t start = (uintptr_t)pointer;
    if (!pointer || bytes == 0 || (flags & ~known) || bytes > UINTPTR_MAX - start)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return sim_end_work(context, CUDA_ERROR_NOT_SUPPORTED);
    CUresult result = sim_forbid(context);
    if (result != CUDA_SUCCESS)
        return sim_end_work(context, result);
    bool read_only = flags & CU_MEMHOSTREGISTER_READ_ONLY;
    if (!is_mapped(start, bytes, !read_only))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    context = sim_home(context, start);
    const sim_host *host = sim_host_at(context, start);
    /* the range overlaps memory that is already registered, or memory of the driver */
    if (vm_overlaps(context->device, start, bytes))
        return sim_end_work(context, host && host->sharing != SIM_REGISTERED
                                         ? CUDA_ERROR_INVALID_VALUE
                                         : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    if (!vm_adopt(context->device, start, pointer, bytes, read_only))
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    return sim_end_work(context, add_host(context, pointer, bytes, SIM_REGISTERED, flags));
}

CUresult sim_cuMemHostGetDevicePointer(CUdeviceptr *address, void *pointer, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    const sim_host *host = sim_host_at(sim_home(context, (uintptr_t)pointer), (uintptr_t)pointer);
    if (!address || flags != 0 || !host || host->sharing == SIM_MANAGED)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *address = (uintptr_t)pointer;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuMemHostGetFlags(unsigned *flags, void *pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    const sim_host *host = sim_host_at(sim_home(context, (uintptr_t)pointer), (uintptr_t)pointer);
    if (!flags || !host || host->sharing == SIM_MANAGED)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *flags = host->flags | CU_MEMHOSTALLOC_DEVICEMAP; /* with unified addressing every such memory has this flag */
    return sim_end(CUDA_SUCCESS);
}

/* ---- managed memory: its location has no effect in the simulator ---- */

/* Returns true if the range is managed memory: an allocation, or a managed variable of a module. */
static bool is_managed(sim_context *context, CUdeviceptr pointer, uint64_t bytes)
{
    vm_info info;
    context = sim_home(context, pointer);
    if (bytes == 0 || !vm_about(context->device, pointer, &info) || !info.shared || pointer - info.base > info.bytes ||
        bytes > info.bytes - (pointer - info.base))
        return false;
    const sim_host *host = sim_host_at(context, pointer);
    return info.variable || (host && host->sharing == SIM_MANAGED);
}

static CUresult check_location(CUmemLocation location)
{
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return sim_device_ordinal(location.id) >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUmemLocation location, unsigned flags,
                                CUstream stream)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_stream *capturing = NULL;
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    CUresult result = flags == 0 && is_managed(context, pointer, bytes) ? check_location(location)
                                                                        : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sim_capture_enter(context, stream, &capturing);
    /* graphs have no nodes for prefetches and advice, so a capture cannot record the call */
    if (result == CUDA_SUCCESS && capturing)
        result = sim_capture_wait(context, stream);
    return sim_end_work(context, result);
}

/* Converts a location of the API before CUDA 13: the number of a device, or CU_DEVICE_CPU. */
static CUmemLocation get_location(CUdevice device)
{
    return (CUmemLocation){.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                           .id = device == CU_DEVICE_CPU ? 0 : device};
}

CUresult sim_cuMemPrefetchAsync_v1(CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream)
{
    return sim_cuMemPrefetchAsync(pointer, bytes, get_location(device), 0, stream);
}

CUresult sim_cuMemAdvise(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!is_managed(context, pointer, bytes) || advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
        advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    bool placed = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                  advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY; /* the other kinds of advice do not use the location */
    return sim_end(placed ? check_location(location) : CUDA_SUCCESS);
}

CUresult sim_cuMemAdvise_v1(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return sim_cuMemAdvise(pointer, bytes, advice, get_location(device));
}

CUresult sim_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr pointer, size_t bytes, unsigned flags)
{
    sim_context *context;
    sim_stream *capturing = NULL;
    SIM_TRY(sim_begin_work(&context));
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    vm_info info = {0};
    bool there = vm_about(sim_home(context, pointer)->device, pointer, &info) && is_managed(context, pointer, 1);
    bool single = flags == CU_MEM_ATTACH_SINGLE;
    if (!there || info.base != pointer || (bytes != 0 && bytes != info.bytes) || (single && sim_is_legacy(stream)) ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && !single))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    CUresult result = sim_capture_enter(context, stream, &capturing);
    if (result == CUDA_SUCCESS && capturing)
        result = sim_capture_wait(context, stream);
    return sim_end_work(context, result);
}

/* ---- queries of pointers ---- */

typedef struct place {
    bool known, managed, vmm, ipc;     /* `ipc`: cuIpcGetMemHandle() accepts the memory */
    uint64_t base, bytes, pool, types; /* `types` has the handle types of the memory's pool */
    CUdeviceptr device;
    void *host;
    CUmemorytype type;
} place;

/* Finds the memory at a pointer. Sets *in to the context to which the memory belongs. */
static place find_place(sim_context **in, CUdeviceptr pointer)
{
    sim_context *context = *in = sim_home(*in, pointer);
    vm_info info;
    if (!vm_about(context->device, pointer, &info))
        return (place){0};
    const sim_host *host = sim_host_at(context, pointer);
    place at = {.known = true,
                .managed = is_managed(context, pointer, 1),
                .base = info.base,
                .bytes = info.bytes,
                .device = pointer,
                .type = CU_MEMORYTYPE_DEVICE};
    at.vmm = info.owner == SIM_OWNER_RANGE;
    at.ipc = info.owner == 0 && !info.variable && !info.shared;
    const void *owner = (const void *)(uintptr_t)info.owner;
    at.pool = !host && info.owner > SIM_OWNER_RANGE && !sim_object_find(context, owner, SIM_IMPORT) ? info.owner : 0;
    const sim_pool *pool = at.pool ? sim_pool_at(context, (CUmemoryPool)(uintptr_t)at.pool) : NULL;
    at.types = pool && pool->shared && !pool->imported ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
    if (info.shared)
        at.host = (void *)(uintptr_t)pointer;
    if (host && host->sharing != SIM_MANAGED)
        at.type = CU_MEMORYTYPE_HOST;
    return at;
}

/* Writes the value of one attribute of a pointer. */
static CUresult answer_query(const sim_context *context, const place *at, CUpointer_attribute attribute, void *data)
{
    /* The attributes have results of different types: `wide` is for results of the size of a pointer, `narrow` for
     * unsigned results, and `is` for boolean results. */
    uint64_t wide = 0;
    unsigned narrow = 0;
    bool is = false;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: wide = at->known ? context->object.handle : 0; break;
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
    /* the base address is unique, because the device never uses an address again */
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: wide = at->base; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: wide = at->bytes; break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: wide = at->types; break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: wide = at->pool; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        narrow = at->known ? (unsigned)at->type : 0;
        memcpy(data, &narrow, sizeof narrow);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        narrow = at->known ? context->ordinal : (unsigned)CU_DEVICE_INVALID;
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
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        is = at->managed;
        memcpy(data, &is, sizeof is);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        is = at->ipc;
        memcpy(data, &is, sizeof is);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: memcpy(data, &is, sizeof is); return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(data, &wide, sizeof wide);
    return CUDA_SUCCESS;
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    place at = find_place(&context, pointer);
    return sim_end(data && at.known ? answer_query(context, &at, attribute, data) : CUDA_ERROR_INVALID_VALUE);
}

/* Unlike cuPointerGetAttribute(), this function returns zeros for unknown pointers. */
CUresult sim_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr pointer)
{
    sim_context *context;
    CUresult result = sim_begin(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (count == 0 || !attributes || !data)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    place at = find_place(&context, pointer);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
        uint64_t none = 0;
        result = data[i] ? answer_query(context, &at, attributes[i], data[i]) : CUDA_ERROR_INVALID_VALUE;
        if (data[i] && result == CUDA_ERROR_INVALID_VALUE &&
            (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
             attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER)) {
            memcpy(data[i], &none, sizeof none);
            result = CUDA_SUCCESS;
        }
    }
    return sim_end(result);
}

CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    /* SYNC_MEMOPS asks for synchronous copies, and copies in the simulator are always synchronous. No other attribute
     * can be set. */
    bool right = value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && find_place(&context, pointer).known;
    return sim_end(right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
