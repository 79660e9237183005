/* vmm.c - virtual memory management: ranges of addresses, and mappings of physical memory and of multicast objects. The
 * reservation of a range also reserves the same number of host addresses. So neighbouring mappings on the device are
 * neighbours on the host too, and one copy can cover them. */
#include <string.h>
#include <sys/mman.h>

#include "vm_guard.h"
#include "vmm_internal.h"

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    sim_physical *physical = sim_physical_at(context, handle);
    sim_multicast *multicast = physical ? NULL : sim_multicast_at(context, handle);
    if (!physical && !multicast)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (physical) {
        physical->handles--;
        sim_physical_release(physical);
    } else {
        multicast->handles--;
        sim_multicast_release(multicast);
    }
    return sim_end_work(context, CUDA_SUCCESS);
}

/* ---- addresses ---- */

/* This function runs when the context of a range ends. It takes the access to the range away from all devices, until a
 * program gives access again. It also prevents other contexts from allocating addresses within the range. */
static void range_leave(sim_object *object)
{
    sim_range *range = (sim_range *)object;
    for (size_t i = 0; i < range->count; i++)
        sim_range_take_all(&range->maps[i]);
    for (sim_context *each = sim_context_after(NULL); each; each = sim_context_after(each))
        if (each->ordinal == object->context->ordinal)
            vm_pass(each->device, range->base + range->bytes);
}

static void range_meet(sim_object *object, const sim_context *made)
{
    const sim_range *range = (const sim_range *)object;
    vm_pass(made->device, range->base + range->bytes);
}

static void range_drop(sim_object *object)
{
    sim_range *range = (sim_range *)object;
    range_leave(object);
    vm_guard_unmap(range->host, (size_t)range->bytes);
    kiln__free(sim_memory(), range->maps);
}

static bool overlaps(const sim_context *context, uint64_t base, uint64_t bytes)
{
    for (const sim_object *object = context->objects; object; object = object->next) {
        const sim_range *range = (const sim_range *)object;
        if (object->kind == SIM_RANGE && base < range->base + range->bytes && range->base < base + bytes)
            return true;
    }
    return false;
}

/* Reserves addresses that do not overlap any range that has outlived its context. Returns 0 if no such addresses are
 * free. */
static uint64_t reserve_addresses(const sim_context *context, uint64_t bytes, uint64_t align)
{
    uint64_t base;
    do
        base = vm_reserve(context->device, bytes, align);
    while (base && overlaps(sim_homeless(), base, bytes));
    return base;
}

CUresult sim_cuMemAddressReserve(CUdeviceptr *pointer, size_t bytes, size_t align, CUdeviceptr wanted,
                                 unsigned long long flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    (void)wanted; /* the address that the caller wants is only a hint */
    sim_context *home = context == sim_homeless() ? sim_context_after(NULL) : context;
    if (!home) /* there must be a device, because addresses belong to a device */
        return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
    if (!pointer || bytes == 0 || bytes % SIM_GRANULARITY != 0 || (align & (align - 1)) != 0 || flags != 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    uint64_t base = bytes <= SIM_RANGE_MOST && align <= SIM_RANGE_MOST
                        ? reserve_addresses(home, bytes, align > SIM_GRANULARITY ? align : SIM_GRANULARITY)
                        : 0;
    void *host = base ? vm_guard_map(bytes, -1, 0) : NULL;
    sim_range *made = host ? sim_object_new(home, SIM_RANGE, sizeof *made) : NULL;
    if (!made) {
        if (host)
            vm_guard_unmap(host, bytes);
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->object.drop = range_drop;
    made->object.leave = range_leave;
    made->object.meet = range_meet;
    made->base = base;
    made->bytes = bytes;
    made->host = host;
    *pointer = base;
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemAddressFree(CUdeviceptr pointer, size_t bytes)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    sim_range *range = sim_range_at(context, pointer, bytes);
    if (!range || range->base != pointer || range->bytes != bytes || range->count > 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    sim_object_free(range->object.context, range);
    return sim_end_work(context, CUDA_SUCCESS);
}

/* ---- mapping ---- */

/* Adds a mapping to a range. The addresses of the mapping must be free. The caller has already added a reference for
 * the mapping. */
static CUresult add_mapping(sim_range *range, const sim_mapping *made)
{
    const size_t at = sim_mapping_after(range, made->base);
    if (at < range->count && range->maps[at].base < made->base + made->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!kiln__grow(sim_memory(), &range->maps, &range->capacity, range->count + 1, sizeof *range->maps))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (made->physical && mmap(range->host + (made->base - range->base), made->bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_FIXED, made->physical->file, 0) == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memmove(range->maps + at + 1, range->maps + at, (range->count - at) * sizeof *range->maps);
    range->maps[at] = *made;
    range->count++;
    return CUDA_SUCCESS;
}

/* Waits until all devices of the team have joined, and maps a part of a multicast object. */
static CUresult map_multicast(sim_context *context, CUdeviceptr pointer, size_t bytes, size_t offset,
                              CUmemGenericAllocationHandle handle)
{
    CUresult result;
    sim_multicast *multicast = sim_multicast_await(&context, handle, &result);
    if (!multicast)
        return context ? sim_end_work(context, result) : result;
    sim_range *range = sim_range_at(context, pointer, bytes);
    if (!range || offset % SIM_GRANULARITY != 0 || offset >= multicast->prop.size ||
        bytes > multicast->prop.size - offset)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    result = add_mapping(range,
                         &(sim_mapping){.base = pointer, .bytes = bytes, .multicast = multicast, .offset = offset});
    multicast->maps += result == CUDA_SUCCESS;
    return sim_end_work(context, result);
}

CUresult sim_cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    sim_range *range = sim_range_at(context, pointer, bytes);
    if (!range || bytes == 0 || bytes % SIM_GRANULARITY != 0 || pointer % SIM_GRANULARITY != 0 || flags != 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    sim_physical *physical = sim_physical_at(context, handle);
    if (!physical)
        return map_multicast(context, pointer, bytes, offset, handle);
    if (bytes > physical->bytes)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (offset != 0)
        return sim_end_work(context, CUDA_ERROR_NOT_SUPPORTED);
    const CUresult result = add_mapping(range, &(sim_mapping){.base = pointer, .bytes = bytes, .physical = physical});
    physical->maps += result == CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        sim_multicast_refresh();
    return sim_end_work(context, result);
}

/* Finds the mappings that cover [pointer, pointer + bytes) exactly: the first mapping, and the number of mappings.
 * Returns false if there are no such mappings. */
static bool find_whole(const sim_range *range, uint64_t pointer, uint64_t bytes, size_t *first, size_t *count)
{
    uint64_t reached = pointer;
    if (!range || bytes == 0)
        return false;
    *first = sim_mapping_after(range, pointer);
    for (*count = 0; reached < pointer + bytes; ++*count) {
        size_t at = *first + *count;
        if (at >= range->count || range->maps[at].base != reached)
            return false;
        reached += range->maps[at].bytes;
    }
    return reached == pointer + bytes;
}

/* Returns true if nothing is mapped in [pointer, pointer + bytes), rounded to units of the range. */
static bool is_unmapped(const sim_range *range, uint64_t pointer, uint64_t bytes)
{
    if (!range || bytes == 0 || bytes % SIM_GRANULARITY != 0 || pointer % SIM_GRANULARITY != 0)
        return false;
    size_t at = sim_mapping_after(range, pointer);
    return at == range->count || range->maps[at].base >= pointer + bytes;
}

CUresult sim_cuMemUnmap(CUdeviceptr pointer, size_t bytes)
{
    sim_context *context;
    size_t first = 0, count = 0;
    SIM_TRY(sim_begin_process(&context));
    sim_range *range = sim_range_at(context, pointer, bytes);
    if (is_unmapped(range, pointer, bytes)) /* it is not an error to unmap memory that is not mapped, as on a GPU */
        return sim_end_work(context, CUDA_SUCCESS);
    if (!find_whole(range, pointer, bytes, &first, &count))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (mmap(range->host + (pointer - range->base), bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = first; i < first + count; i++) {
        sim_mapping *map = &range->maps[i];
        sim_range_take_all(map);
        if (map->physical) {
            map->physical->maps--;
            sim_physical_release(map->physical);
        } else if (map->multicast) {
            map->multicast->maps--;
            sim_multicast_release(map->multicast);
        }
    }
    memmove(range->maps + first, range->maps + first + count, (range->count - first - count) * sizeof *range->maps);
    range->count -= count;
    sim_multicast_refresh();
    return sim_end_work(context, CUDA_SUCCESS);
}

static CUresult give_access(sim_context *context, const sim_range *range, sim_mapping *map, CUmemAccess_flags access)
{
    if (map->access[context->ordinal] == access &&
        (access == CU_MEM_ACCESS_FLAGS_PROT_NONE || sim_range_usable(context, map)))
        return CUDA_SUCCESS;
    sim_range_take(context->ordinal, map);
    if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return CUDA_SUCCESS;
    if (!map->physical && !map->multicast)
        return CUDA_ERROR_INVALID_VALUE;
    const bool read_only = access == CU_MEM_ACCESS_FLAGS_PROT_READ;
    if (!(map->physical
              ? vm_adopt(context->device, map->base, range->host + (map->base - range->base), map->bytes, read_only)
              : vm_adopt_team(context->device, map->base, &map->multicast->team, map->offset, map->bytes, read_only)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    vm_set_owner(context->device, map->base, SIM_OWNER_RANGE);
    if (map->physical && map->physical->prop.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
        vm_set_outside(context->device, map->base);
    map->access[context->ordinal] = access;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *descriptions, size_t count)
{
    sim_context *context;
    size_t first = 0, maps = 0;
    CUresult result = sim_begin_process(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_range *range = sim_range_at(context, pointer, bytes);
    if (!descriptions || count == 0 || !find_whole(range, pointer, bytes, &first, &maps))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        const CUmemAccessDesc *wanted = &descriptions[i];
        if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE || sim_device_ordinal(wanted->location.id) < 0)
            return sim_end_work(context, CUDA_ERROR_INVALID_DEVICE);
        if (!sim_context_for(range->object.context, wanted->location.id))
            return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
        if (wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    }
    for (size_t i = 0; i < count; i++) {
        sim_context *to = sim_context_for(range->object.context, descriptions[i].location.id);
        for (size_t k = first; k < first + maps && result == CUDA_SUCCESS; k++)
            result = give_access(to, range, &range->maps[k], descriptions[i].flags);
    }
    return sim_end_work(context, result);
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    const sim_mapping *map = sim_mapping_at(context, pointer);
    if (!flags || !location || !map || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (sim_device_ordinal(location->id) < 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_DEVICE);
    *flags = map->access[sim_device_ordinal(location->id)];
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    const sim_mapping *map = sim_mapping_at(context, (uintptr_t)address);
    if (!handle || !map || (!map->physical && !map->multicast))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (map->physical) {
        map->physical->handles++;
        *handle = map->physical->object.handle;
    } else {
        map->multicast->handles++;
        *handle = map->multicast->object.handle;
    }
    return sim_end_work(context, CUDA_SUCCESS);
}
