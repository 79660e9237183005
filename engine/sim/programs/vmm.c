/* vmm.c - virtual memory management: ranges of addresses, physical memory, and mappings between them. A range reserves
 * the same number of host addresses. Physical memory is a file without a name, so that it can be mapped at several
 * places; mappings that are contiguous on the device are contiguous on the host too, and are copied together. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cu_graph.h"
#include "vm_guard.h"

enum { GRANULARITY = 2 << 20 };
#define FILE_NAME "kiln-device-memory-" /* followed by the number of its device */
#define RANGE_MOST ((uint64_t)1 << 44)

typedef struct sim_physical {
    sim_object object;
    int file;
    uint64_t bytes;
    CUmemAllocationProp prop;
    unsigned handles, maps; /* numbers of references by handles and by mappings; no handles: the handle is invalid */
    bool counted;           /* counted as memory of this process; false if another process made it */
} sim_physical;

typedef struct mapping {
    uint64_t base, bytes;
    sim_physical *physical;
    CUmemAccess_flags access[SIM_DEVICES_MOST]; /* access of each device */
} mapping;

typedef struct sim_range {
    sim_object object;
    uint64_t base, bytes;
    unsigned char *host;
    mapping *maps; /* sorted by address */
    size_t count, capacity;
} sim_range;

/* ---- physical memory ---- */

static CUresult check_prop(const CUmemAllocationProp *prop)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (prop->allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_device_ordinal(prop->location.id) >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* Physical memory and ranges belong to the process, not to a context. They outlive the context in which they were made,
 * and most functions about them need no context. Only access belongs to a context.
 *
 * This function returns the context that is used for the device: `context` if it is on the device, or NULL if the
 * device has no context. */
static sim_context *context_for(sim_context *context, CUdevice device)
{
    const unsigned ordinal = (unsigned)sim_device_ordinal(device);
    return context->ordinal == ordinal ? context : sim_context_on(ordinal);
}

CUresult sim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                           CUmemAllocationGranularity_flags option)
{
    SIM_TRY(sim_begin_bare());
    CUresult result = check_prop(prop);
    if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *granularity = GRANULARITY;
    return sim_end(result);
}

static void physical_drop(sim_object *object) { close(((sim_physical *)object)->file); }

/* Memory that has lost its context does not count as used. */
static void physical_leave(sim_object *object)
{
    sim_physical *physical = (sim_physical *)object;
    if (physical->counted)
        vm_give(object->context->device, physical->bytes);
    physical->counted = false;
}

static void physical_release(sim_physical *physical)
{
    sim_context *context = physical->object.context;
    if (physical->handles > 0 || physical->maps > 0)
        return;
    if (physical->counted)
        vm_give(context->device, physical->bytes);
    sim_object_free(context, physical);
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
                         unsigned long long flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    CUresult result = check_prop(prop);
    if (result != CUDA_SUCCESS || !handle || bytes == 0 || bytes % GRANULARITY != 0 || flags != 0)
        return sim_end_work(context, result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE);
    sim_context *home = context_for(context, prop->location.id);
    const bool counted = home != NULL;
    if (counted && !vm_take(home->device, bytes))
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    home = counted ? home : sim_homeless();
    char name[64];
    snprintf(name, sizeof name, FILE_NAME "%u", sim_device_place(prop->location.id));
    int file = vm_file_new(name, bytes);
    sim_physical *made = file >= 0 ? sim_object_new(home, SIM_PHYSICAL, sizeof *made) : NULL;
    if (!made) {
        if (file >= 0)
            close(file);
        if (counted)
            vm_give(home->device, bytes);
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->object.drop = physical_drop;
    made->object.leave = physical_leave;
    made->file = file;
    made->bytes = bytes;
    made->prop = *prop;
    int compressed = 0; /* without support this is no error: the caller reads whether the memory is compressed */
    sim_profile_attribute(sim_device_profile(prop->location.id), CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED,
                          &compressed);
    if (!compressed)
        made->prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
    made->handles = 1;
    made->counted = counted;
    *handle = made->object.handle;
    return sim_end_work(context, CUDA_SUCCESS);
}

static sim_physical *find_physical(sim_context *context, CUmemGenericAllocationHandle handle)
{
    const void *number = (const void *)(uintptr_t)handle;
    sim_physical *physical = sim_object_find(sim_owner(context, number, SIM_PHYSICAL), number, SIM_PHYSICAL);
    return physical && physical->handles > 0 ? physical : NULL;
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    sim_physical *physical = find_physical(context, handle);
    if (!physical)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    physical->handles--;
    physical_release(physical);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    const sim_physical *physical = find_physical(context, handle);
    if (!physical || !prop)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    *prop = physical->prop;
    return sim_end_work(context, CUDA_SUCCESS);
}

/* ---- sharing with other processes: by a file descriptor, that the program passes on ---- */

CUresult sim_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    const sim_physical *physical = find_physical(context, handle);
    if (!out || !physical || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(physical->prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    const int file = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
    if (file >= 0)
        memcpy(out, &file, sizeof file);
    return sim_end_work(context, file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Returns the place of the device whose memory the file is, or -1. */
static int get_memory_place(int file)
{
    char path[64], name[128];
    unsigned number;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(path, name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return sscanf(name, "/memfd:" FILE_NAME "%u", &number) == 1 && number < SIM_DEVICES_MOST ? (int)number : -1;
}

/* The caller keeps its descriptor. */
CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from,
                                            CUmemAllocationHandleType type)
{
    sim_context *context;
    struct stat info;
    SIM_TRY(sim_begin_process(&context));
    const int given = (int)(intptr_t)from, number = get_memory_place(given);
    if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || number < 0 || fstat(given, &info) != 0 ||
        fcntl(given, F_GET_SEALS) != VM_FILE_SEALS || info.st_size <= 0 || info.st_size % GRANULARITY != 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    sim_context *home = context;
    unsigned ordinal = context == sim_homeless() ? 0 : context->ordinal;
    for (unsigned i = 0; i < sim_device_count(); i++) /* the device may be hidden: then it is the current one's */
        if (sim_device_place(sim_device_at(i)) == (unsigned)number) {
            home = sim_context_on(i) ? context_for(context, sim_device_at(i)) : home;
            ordinal = i;
        }
    const int file = fcntl(given, F_DUPFD_CLOEXEC, 0);
    sim_physical *made = file >= 0 ? sim_object_new(home, SIM_PHYSICAL, sizeof *made) : NULL;
    if (!made) {
        if (file >= 0)
            close(file);
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->object.drop = physical_drop;
    made->object.leave = physical_leave;
    made->file = file;
    made->bytes = (uint64_t)info.st_size;
    made->prop = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = sim_device_at(ordinal)}};
    made->handles = 1;
    *handle = made->object.handle;
    return sim_end_work(context, CUDA_SUCCESS);
}

/* ---- addresses ---- */

/* Returns true if the context can use the mapped memory. */
static bool has_access(const sim_context *context, const mapping *map)
{
    vm_info info;
    return vm_about(context->device, map->base, &info) && info.base == map->base && info.owner == SIM_OWNER_RANGE;
}

/* Removes the access of all contexts of one device to the mapped memory. The context that is used for the device may have
 * changed since the access was given. */
static void take_access(unsigned ordinal, mapping *map)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->ordinal == ordinal && has_access(any, map))
            vm_free(any->device, map->base);
    map->access[ordinal] = CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

static void take_all_access(mapping *map)
{
    for (unsigned i = 0; i < sim_device_count(); i++)
        take_access(i, map);
}

/* Called when the context ends. Other devices must not use the range until they get access again, and no context may
 * allocate within it. */
static void range_leave(sim_object *object)
{
    sim_range *range = (sim_range *)object;
    for (size_t i = 0; i < range->count; i++)
        take_all_access(&range->maps[i]);
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

/* Returns the range that holds [pointer, pointer + bytes), or NULL. */
static sim_range *find_range(const sim_context *context, CUdeviceptr pointer, uint64_t bytes)
{
    for (sim_object *object = context->objects; object; object = object->next) {
        sim_range *range = (sim_range *)object;
        if (object->kind == SIM_RANGE && pointer - range->base < range->bytes &&
            bytes <= range->bytes - (pointer - range->base))
            return range;
    }
    return NULL;
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

/* Reserves addresses that do not overlap a range that has outlived its context. Returns 0 if no such addresses are free. */
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
    (void)wanted; /* only a hint */
    sim_context *home = context == sim_homeless() ? sim_context_after(NULL) : context;
    if (!home) /* addresses are a device's */
        return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
    if (!pointer || bytes == 0 || bytes % GRANULARITY != 0 || (align & (align - 1)) != 0 || flags != 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    uint64_t base = bytes <= RANGE_MOST && align <= RANGE_MOST
                        ? reserve_addresses(home, bytes, align > GRANULARITY ? align : GRANULARITY)
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

/* Returns what find_range() returns, also for ranges in contexts of other devices and for ranges without a context. */
static sim_range *find_range_anywhere(const sim_context *context, CUdeviceptr pointer, uint64_t bytes)
{
    sim_range *range = find_range(context, pointer, bytes);
    for (unsigned i = 0; !range && i < sim_device_count(); i++) {
        const sim_context *other = i != context->ordinal ? sim_context_on(i) : NULL;
        range = other ? find_range(other, pointer, bytes) : NULL;
    }
    return range ? range : find_range(sim_homeless(), pointer, bytes);
}

CUresult sim_cuMemAddressFree(CUdeviceptr pointer, size_t bytes)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    sim_range *range = find_range_anywhere(context, pointer, bytes);
    if (!range || range->base != pointer || range->bytes != bytes || range->count > 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    sim_object_free(range->object.context, range);
    return sim_end_work(context, CUDA_SUCCESS);
}

/* ---- mapping ---- */

/* The first mapping that ends after the address. */
static size_t find_mapping(const sim_range *range, uint64_t address)
{
    size_t low = 0, high = range->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (range->maps[middle].base + range->maps[middle].bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

CUresult sim_cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    sim_range *range = find_range_anywhere(context, pointer, bytes);
    sim_physical *physical = find_physical(context, handle);
    if (!range || !physical || bytes == 0 || bytes % GRANULARITY != 0 || pointer % GRANULARITY != 0 ||
        bytes > physical->bytes || flags != 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (offset != 0)
        return sim_end_work(context, CUDA_ERROR_NOT_SUPPORTED);
    size_t at = find_mapping(range, pointer);
    if (at < range->count && range->maps[at].base < pointer + bytes)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (!kiln__grow(sim_memory(), &range->maps, &range->capacity, range->count + 1, sizeof *range->maps) ||
        mmap(range->host + (pointer - range->base), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             physical->file, 0) == MAP_FAILED)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    memmove(range->maps + at + 1, range->maps + at, (range->count - at) * sizeof *range->maps);
    range->maps[at] = (mapping){pointer, bytes, physical, {CU_MEM_ACCESS_FLAGS_PROT_NONE}};
    range->count++;
    physical->maps++;
    return sim_end_work(context, CUDA_SUCCESS);
}

/* Finds the mappings that cover [pointer, pointer + bytes) exactly: the first mapping, and the number of mappings.
 * Returns false if no mappings do. */
static bool find_whole(const sim_range *range, uint64_t pointer, uint64_t bytes, size_t *first, size_t *count)
{
    uint64_t reached = pointer;
    if (!range || bytes == 0)
        return false;
    *first = find_mapping(range, pointer);
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
    if (!range || bytes == 0 || bytes % GRANULARITY != 0 || pointer % GRANULARITY != 0)
        return false;
    size_t at = find_mapping(range, pointer);
    return at == range->count || range->maps[at].base >= pointer + bytes;
}

CUresult sim_cuMemUnmap(CUdeviceptr pointer, size_t bytes)
{
    sim_context *context;
    size_t first = 0, count = 0;
    SIM_TRY(sim_begin_process(&context));
    sim_range *range = find_range_anywhere(context, pointer, bytes);
    if (is_unmapped(range, pointer, bytes)) /* no error, as on a GPU */
        return sim_end_work(context, CUDA_SUCCESS);
    if (!find_whole(range, pointer, bytes, &first, &count))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (mmap(range->host + (pointer - range->base), bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = first; i < first + count; i++) {
        mapping *map = &range->maps[i];
        take_all_access(map);
        map->physical->maps--;
        physical_release(map->physical);
    }
    memmove(range->maps + first, range->maps + first + count, (range->count - first - count) * sizeof *range->maps);
    range->count -= count;
    return sim_end_work(context, CUDA_SUCCESS);
}

static CUresult give_access(sim_context *context, const sim_range *range, mapping *map, CUmemAccess_flags access)
{
    if (map->access[context->ordinal] == access &&
        (access == CU_MEM_ACCESS_FLAGS_PROT_NONE || has_access(context, map)))
        return CUDA_SUCCESS;
    take_access(context->ordinal, map);
    if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return CUDA_SUCCESS;
    if (!vm_adopt(context->device, map->base, range->host + (map->base - range->base), map->bytes,
                  access == CU_MEM_ACCESS_FLAGS_PROT_READ))
        return CUDA_ERROR_OUT_OF_MEMORY;
    vm_set_owner(context->device, map->base, SIM_OWNER_RANGE);
    if (map->physical->prop.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
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
    sim_range *range = find_range_anywhere(context, pointer, bytes);
    if (!descriptions || count == 0 || !find_whole(range, pointer, bytes, &first, &maps))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        const CUmemAccessDesc *wanted = &descriptions[i];
        if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE || sim_device_ordinal(wanted->location.id) < 0)
            return sim_end_work(context, CUDA_ERROR_INVALID_DEVICE);
        if (!context_for(range->object.context, wanted->location.id))
            return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
        if (wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    }
    for (size_t i = 0; i < count; i++) {
        sim_context *to = context_for(range->object.context, descriptions[i].location.id);
        for (size_t k = first; k < first + maps && result == CUDA_SUCCESS; k++)
            result = give_access(to, range, &range->maps[k], descriptions[i].flags);
    }
    return sim_end_work(context, result);
}

/* The mapping that holds the address, or NULL. */
static const mapping *find_mapping_at(const sim_context *context, CUdeviceptr pointer)
{
    const sim_range *range = find_range_anywhere(context, pointer, 1);
    size_t at = range ? find_mapping(range, pointer) : 0;
    return range && at < range->count && range->maps[at].base <= pointer ? &range->maps[at] : NULL;
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr pointer)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    const mapping *map = find_mapping_at(context, pointer);
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
    const mapping *map = find_mapping_at(context, (uintptr_t)address);
    if (!handle || !map)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    map->physical->handles++;
    *handle = map->physical->object.handle;
    return sim_end_work(context, CUDA_SUCCESS);
}
