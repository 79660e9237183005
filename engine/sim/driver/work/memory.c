/* memory.c - device memory: allocation, fills, and the memory of a copy's source and target. The functions check every
 * range of addresses against the allocations. */
#include <string.h>

#include "cu_work.h"
#include "vm_checks.h"

CUresult sim_cuMemGetInfo(size_t *free, size_t *total)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
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
    SIM_TRY(sim_begin_work(&context));
    if (!pointer || bytes == 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    CUresult result = sim_programs()->forbid(context);
    uint64_t address = result == CUDA_SUCCESS ? vm_alloc(context->device, bytes) : 0;
    if (result == CUDA_SUCCESS && address == 0)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *pointer = address;
    return sim_end_work(context, result);
}

sim_host *sim_host_at(const sim_context *context, uint64_t address)
{
    vm_info info;
    return vm_about(context->device, address, &info)
               ? sim_object_find(context, (const void *)(uintptr_t)info.owner, SIM_HOST)
               : NULL;
}

bool sim_memory_free(sim_context *context, CUdeviceptr pointer)
{
    vm_info info;
    if (!vm_about(context->device, pointer, &info) || info.base != pointer || info.variable ||
        info.owner == SIM_OWNER_RANGE || sim_object_find(context, (const void *)(uintptr_t)info.owner, SIM_IMPORT) ||
        sim_object_find(context, (const void *)(uintptr_t)info.owner, SIM_CONDITION))
        return false;
    sim_host *host = sim_object_find(context, (const void *)(uintptr_t)info.owner, SIM_HOST);
    if (host && host->sharing != SIM_MANAGED)
        return false;
    sim_order_shared_gone(context, pointer);
    vm_free(context->device, pointer);
    if (host)
        sim_object_free(context, host);
    if (info.owner == SIM_OWNER_GRAPH)
        context->graph_used -= info.bytes;
    else if (info.owner)
        sim_programs()->pool_freed(context, info.owner, info.base, info.bytes);
    return true;
}

CUresult sim_cuMemFree(CUdeviceptr pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    /* freeing NULL does nothing, but a capture forbids the call even for NULL */
    CUresult result = sim_programs()->forbid(context);
    if (result == CUDA_SUCCESS && pointer != 0 && !sim_memory_free(sim_home(context, pointer), pointer)) {
        check_host_free(context->device, pointer);
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS)
        sim_order_waited_all(context);
    return sim_end_work(context, result);
}

void kiln__sim_memory_name(uint64_t address, uint64_t bytes, const char *name, const char *role)
{
    sim_context *context;
    if (sim_begin_any(&context) != CUDA_SUCCESS)
        return;
    vm_set_label(sim_home(context, address)->device, address, bytes, name, role);
    sim_end_work(context, CUDA_SUCCESS);
}

void kiln__sim_use_all_memory(void)
{
    sim_context *context;
    uint64_t wanted;
    if (sim_begin_any(&context) != CUDA_SUCCESS)
        return;
    if (sim_environment("KILN_SIM_MEMORY", &wanted) && !wanted) {
        const uint64_t all = sim_device_profile(sim_device_at(context->ordinal))->memory;
        vm_enlarge(context->device, all);
        context->memory = all > context->memory ? all : context->memory;
    }
    sim_end_work(context, CUDA_SUCCESS);
}

bool kiln__sim_repeat(uint64_t address, uint64_t bytes, const void *pattern, uint64_t period)
{
    sim_context *context;
    if (sim_begin_any(&context) != CUDA_SUCCESS)
        return false;
    const bool done = vm_repeat(sim_home(context, address)->device, address, bytes, pattern, period);
    sim_end_work(context, CUDA_SUCCESS);
    return done;
}

CUresult sim_cuMemAllocPitch(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned element)
{
    enum { ALIGN = 512 };
    size_t bytes;
    if (!pointer || !pitch || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16) ||
        width > SIZE_MAX - ALIGN)
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = (width + ALIGN - 1) / ALIGN * ALIGN;
    SIM_TRY(sim_cuMemAlloc(pointer, __builtin_mul_overflow(row, height, &bytes) ? SIZE_MAX : bytes));
    *pitch = row;
    sim_context *context;
    if (sim_begin(&context) == CUDA_SUCCESS) {
        check_rows(context->device, *pointer, width, row);
        sim_end(CUDA_SUCCESS);
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    uint64_t start = 0, size = 0;
    if (!vm_range(sim_home(context, pointer)->device, pointer, &start, &size))
        return sim_end(CUDA_ERROR_NOT_FOUND);
    if (base)
        *base = start;
    if (bytes)
        *bytes = (size_t)size;
    return sim_end(CUDA_SUCCESS);
}

/* ---- the sides of copies (transfer.c) ---- */

static bool is_host_missing(const sim_side *where)
{
    return where->address >= VM_GLOBAL_BASE && where->address < SIM_DEVICE_ONLY_END;
}

/* Returns true if the source or target of a copy is device memory. With unified addressing, a device address counts as
 * device memory even if the call declares it as an address of the host. */
static bool side_is_device(const sim_side *where)
{
    uint64_t base, size;
    return where->type == CU_MEMORYTYPE_DEVICE || is_host_missing(where) ||
           (where->type == CU_MEMORYTYPE_UNIFIED && vm_range(where->context->device, where->address, &base, &size));
}

void sim_side_copied(const sim_side *to, const sim_side *from, size_t bytes)
{
    if (!from->context->check || from->type == CU_MEMORYTYPE_ARRAY || !side_is_device(from))
        return;
    if (to->type != CU_MEMORYTYPE_ARRAY && !side_is_device(to))
        check_host_reads(from->context->device, from->address, bytes);
    else if (to->type != CU_MEMORYTYPE_ARRAY && to->context == from->context)
        check_copied(from->context->device, to->address, from->address, bytes);
}

void *sim_side_resolve(const sim_side *where, size_t bytes)
{
    vm_device *device = where->context->device;
    if (!where->address || !side_is_device(where))
        return (void *)(uintptr_t)where->address;
    return where->write ? vm_pointer(device, where->address, bytes)
                        : (void *)(uintptr_t)vm_pointer_read(device, where->address, bytes);
}

/* ---- fills ---- */

/* Sets *bytes to the distance from the first byte that the fill writes to the end of the last byte that it writes.
 * Returns false if the element size, the alignment or the pitch is invalid, or if the distance overflows. */
static bool fill_extent(const CUDA_MEMSET_NODE_PARAMS_v2 *to, size_t *bytes)
{
    size_t row;
    return (to->elementSize == 1 || to->elementSize == 2 || to->elementSize == 4) && to->dst % to->elementSize == 0 &&
           !__builtin_mul_overflow(to->width, to->elementSize, &row) &&
           (to->height <= 1 || (to->pitch >= row && to->pitch % to->elementSize == 0)) &&
           !__builtin_mul_overflow(to->height > 1 ? to->pitch : 0, to->height - 1, bytes) &&
           !__builtin_add_overflow(*bytes, row, bytes);
}

CUresult sim_fill_check(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *to)
{
    size_t bytes;
    if (to->width == 0 || to->height == 0)
        return CUDA_SUCCESS;
    return fill_extent(to, &bytes) && (vm_pointer_read(sim_home(context, to->dst)->device, to->dst, bytes) ||
                                       sim_programs()->graph_memory(context, to->dst, bytes, false))
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_fill_run(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *to)
{
    size_t bytes, size = to->elementSize, row = to->width * size;
    if (to->width == 0 || to->height == 0)
        return CUDA_SUCCESS;
    if (!fill_extent(to, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    vm_device *device = sim_home(context, to->dst)->device;
    unsigned char *target = vm_pointer(device, to->dst, bytes);
    if (!target) {
        check_host_bounds(context->device, "the host's fill", to->dst, bytes, true);
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint32_t value = to->value;
    for (size_t y = 0; y < to->height; y++) {
        unsigned char *line = target + y * (to->height > 1 ? to->pitch : 0);
        sim_order_touch(context, "the host's fill", to->dst + (uint64_t)(line - target), row, true);
        if (size == 1)
            memset(line, (int)(value & 0xff), row);
        else
            for (size_t i = 0; i < row; i += size)
                /* copies the low bytes of the value; the host must be little-endian */
                memcpy(line + i, &value, size);
    }
    sim_estimate_bytes(context, SIM_LANE_ON_DEVICE, "fill", (uint64_t)row * to->height);
    return CUDA_SUCCESS;
}

static CUresult submit_fill(CUdeviceptr to, size_t pitch, unsigned value, unsigned size, size_t width, size_t height,
                            CUstream stream)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    context = sim_follow(context, stream, SIM_STREAM);
    if (!sim_stream_known(context, stream))
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    sim_op op = {.what = {.type = CU_GRAPH_NODE_TYPE_MEMSET}};
    op.what.memset =
        (CUDA_MEMSET_NODE_PARAMS_v2){to, pitch, value, size, width, height, SIM_HANDLE(CUcontext, context)};
    return sim_end_work(context, sim_submit(&context, stream, &op));
}

#define FILLS(bits, type)                                                                                              \
    CUresult sim_cuMemsetD##bits(CUdeviceptr to, type value, size_t count)                                             \
    {                                                                                                                  \
        return submit_fill(to, 0, value, sizeof value, count, 1, SIM_WAITS);                                           \
    }                                                                                                                  \
    CUresult sim_cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream)                     \
    {                                                                                                                  \
        return submit_fill(to, 0, value, sizeof value, count, 1, stream);                                              \
    }                                                                                                                  \
    CUresult sim_cuMemsetD2D##bits(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height)              \
    {                                                                                                                  \
        return submit_fill(to, pitch, value, sizeof value, width, height, SIM_WAITS);                                  \
    }                                                                                                                  \
    CUresult sim_cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height,       \
                                          CUstream stream)                                                             \
    {                                                                                                                  \
        return submit_fill(to, pitch, value, sizeof value, width, height, stream);                                     \
    }
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
