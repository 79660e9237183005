/* multicast.c - multicast objects: each device of a team binds memory at the offsets of an object. An address in a
 * mapping of the object refers to the memory of all devices at the same offset (device/vm/team.c). */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "vm_guard.h"
#include "vmm_internal.h"

sim_multicast *sim_multicast_at(sim_context *context, CUmemGenericAllocationHandle handle)
{
    const void *number = (const void *)(uintptr_t)handle;
    sim_multicast *multicast = sim_object_find(sim_owner(context, number, SIM_MULTICAST), number, SIM_MULTICAST);
    return multicast && multicast->handles > 0 ? multicast : NULL;
}

/* ---- making and freeing ---- */

static CUresult check_object_prop(const CUmulticastObjectProp *prop)
{
    if (!prop || prop->numDevices == 0 || prop->numDevices > sim_device_count() || prop->numDevices > VM_TEAM_MOST ||
        prop->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return prop->handleTypes == CU_MEM_HANDLE_TYPE_NONE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
                                       CUmulticastGranularity_flags option)
{
    SIM_TRY(sim_begin_bare());
    CUresult result = check_object_prop(prop);
    if (!granularity || (option != CU_MULTICAST_GRANULARITY_MINIMUM && option != CU_MULTICAST_GRANULARITY_RECOMMENDED))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *granularity = SIM_GRANULARITY;
    return sim_end(result);
}

static void multicast_drop(sim_object *object)
{
    sim_multicast *multicast = (sim_multicast *)object;
    sim_multicast_lost(multicast);
    for (size_t k = 0; k < multicast->team.replica_count; k++)
        vm_guard_unmap(multicast->team.replicas[k].host, (size_t)multicast->team.replicas[k].bytes);
    kiln__free(sim_memory(), multicast->team.replicas);
    kiln__free(sim_memory(), multicast->bound);
}

/* Does nothing, because a multicast object outlives its context and needs no data of the context. */
static void multicast_leave(sim_object *object) { (void)object; }

CUresult sim_cuMulticastCreate(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    CUresult result = check_object_prop(prop);
    if (result == CUDA_SUCCESS &&
        (!handle || prop->size == 0 || prop->size % SIM_GRANULARITY != 0 || prop->size > SIM_RANGE_MOST))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return sim_end_work(context, result);
    sim_multicast *made = sim_object_new(context, SIM_MULTICAST, sizeof *made);
    if (!made)
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    made->object.drop = multicast_drop;
    made->object.leave = multicast_leave;
    made->prop = *prop;
    made->handles = 1;
    *handle = made->object.handle;
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    sim_multicast *multicast = sim_multicast_at(context, handle);
    const int ordinal = sim_device_ordinal(device);
    if (!multicast)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (ordinal < 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_DEVICE);
    if (!sim_profile_int(sim_device_profile(device), CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED))
        return sim_end_work(context, CUDA_ERROR_NOT_SUPPORTED);
    vm_team *team = &multicast->team;
    for (uint32_t k = 0; k < team->count; k++)
        if (multicast->ordinal[k] == (unsigned)ordinal)
            return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (team->count == multicast->prop.numDevices)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    multicast->ordinal[team->count] = (unsigned)ordinal;
    team->number[team->count++] = (uint32_t)ordinal;
    return sim_end_work(context, CUDA_SUCCESS);
}

sim_multicast *sim_multicast_await(sim_context **context, CUmemGenericAllocationHandle handle, CUresult *result)
{
    const uint64_t most = 20000000000u, start = kiln__now_ns(), steps = (*context)->steps;
    const uint64_t limit = steps && steps < most / 1000 ? steps * 1000 : most;
    for (;;) {
        sim_multicast *multicast = sim_multicast_at(*context, handle);
        *result = multicast ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        if (!multicast || multicast->team.count == multicast->prop.numDevices)
            return multicast;
        if (kiln__now_ns() - start > limit) {
            *result = CUDA_ERROR_ILLEGAL_STATE;
            return NULL;
        }
        sim_end_work(*context, CUDA_SUCCESS);
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        *result = sim_begin_process(context);
        if (*result != CUDA_SUCCESS) {
            *context = NULL;
            return NULL;
        }
    }
}

/* ---- bound memory ---- */

static bool is_in_units(uint64_t a, uint64_t b, uint64_t c) { return ((a | b | c) & (SIM_GRANULARITY - 1)) == 0; }

/* Returns true if [offset, offset + bytes) lies inside the object. */
static bool is_in_object(const sim_multicast *multicast, uint64_t offset, uint64_t bytes)
{
    return bytes > 0 && offset < multicast->prop.size && bytes <= multicast->prop.size - offset;
}

/* Returns the index of a device in the team, or VM_TEAM_MOST if the device is not in the team. */
static uint32_t get_member(const sim_multicast *multicast, CUdevice device)
{
    const int ordinal = sim_device_ordinal(device);
    for (uint32_t k = 0; k < multicast->team.count; k++)
        if (ordinal >= 0 && multicast->ordinal[k] == (unsigned)ordinal)
            return k;
    return VM_TEAM_MOST;
}

/* Binds a part of a file to a part of the object. The caller has checked that both parts are valid. `physical` is the
 * memory of the file, or NULL if the file belongs to an allocation at `alias`. */
static CUresult bind_file(sim_multicast *multicast, vm_replica made, int file, uint64_t file_offset,
                          sim_physical *physical)
{
    vm_team *team = &multicast->team;
    for (size_t k = 0; k < team->replica_count; k++) {
        const vm_replica *one = &team->replicas[k];
        if (one->member == made.member && one->offset < made.offset + made.bytes &&
            made.offset < one->offset + one->bytes)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (!kiln__grow(sim_memory(), &team->replicas, &multicast->replica_capacity, team->replica_count + 1,
                    sizeof *team->replicas) ||
        !kiln__grow(sim_memory(), &multicast->bound, &multicast->bound_capacity, team->replica_count + 1,
                    sizeof *multicast->bound))
        return CUDA_ERROR_OUT_OF_MEMORY;
    made.host = vm_guard_map((size_t)made.bytes, file, (off_t)file_offset);
    if (!made.host)
        return CUDA_ERROR_OUT_OF_MEMORY;
    multicast->bound[team->replica_count] = physical ? physical->object.handle : 0;
    team->replicas[team->replica_count++] = made;
    if (physical)
        physical->maps++;
    return CUDA_SUCCESS;
}

/* Binds a part of physical memory. */
static CUresult bind_physical(sim_multicast *multicast, uint64_t offset, sim_physical *physical, uint64_t from,
                              uint64_t bytes)
{
    const uint32_t member = get_member(multicast, physical->prop.location.id);
    if (member == VM_TEAM_MOST)
        return CUDA_ERROR_INVALID_DEVICE;
    if (from >= physical->bytes || bytes > physical->bytes - from)
        return CUDA_ERROR_INVALID_VALUE;
    return bind_file(multicast,
                     (vm_replica){.member = member,
                                  .offset = offset,
                                  .bytes = bytes,
                                  .alias = sim_physical_address(physical, from, bytes),
                                  .from = from},
                     physical->file, from, physical);
}

CUresult sim_cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset, CUmemGenericAllocationHandle memory,
                                size_t from, size_t bytes, unsigned long long flags)
{
    sim_context *context;
    CUresult result;
    SIM_TRY(sim_begin_process(&context));
    sim_multicast *multicast = sim_multicast_await(&context, handle, &result);
    if (!multicast)
        return context ? sim_end_work(context, result) : result;
    sim_physical *physical = sim_physical_at(context, memory);
    if (!physical || flags != 0 || !is_in_units(offset, from, bytes) || !is_in_object(multicast, offset, bytes))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    return sim_end_work(context, bind_physical(multicast, offset, physical, from, bytes));
}

/* Binds memory of cuMemAllocAsync() at an address of the context, which becomes memory of a file. */
static CUresult bind_pool(sim_multicast *multicast, uint64_t offset, sim_context *home, uint64_t pointer,
                          uint64_t bytes)
{
    vm_info info;
    if (!vm_about(home->device, pointer, &info) || bytes > info.base + info.bytes - pointer ||
        (info.owner != SIM_POOL_HANDLE(home->ordinal) &&
         !sim_object_find(home, (const void *)(uintptr_t)info.owner, SIM_POOL)))
        return CUDA_ERROR_INVALID_VALUE;
    const uint32_t member = get_member(multicast, sim_device_at(home->ordinal));
    if (member == VM_TEAM_MOST)
        return CUDA_ERROR_INVALID_DEVICE;
    const int file = vm_share_memory(home->device, pointer);
    if (file < 0) /* the memory belongs to a shared pool, or memory has run out */
        return CUDA_ERROR_NOT_SUPPORTED;
    return bind_file(multicast, (vm_replica){.member = member, .offset = offset, .bytes = bytes, .alias = pointer},
                     file, pointer - info.base, NULL);
}

CUresult sim_cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr pointer, size_t bytes,
                                 unsigned long long flags)
{
    sim_context *context;
    CUresult result;
    SIM_TRY(sim_begin_process(&context));
    sim_multicast *multicast = sim_multicast_await(&context, handle, &result);
    if (!multicast)
        return context ? sim_end_work(context, result) : result;
    if (flags != 0 || !is_in_units(offset, pointer, bytes) || !is_in_object(multicast, offset, bytes))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    const sim_mapping *map = sim_mapping_at(context, pointer);
    if (map && (!map->physical || bytes > map->base + map->bytes - pointer))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (map)
        return sim_end_work(context, bind_physical(multicast, offset, map->physical, pointer - map->base, bytes));
    sim_context *home = context == sim_homeless() ? sim_context_after(NULL) : context;
    home = home ? sim_home(home, pointer) : NULL;
    return sim_end_work(context, home ? bind_pool(multicast, offset, home, pointer, bytes) : CUDA_ERROR_INVALID_VALUE);
}

/* Ends the binding of a replica. */
static void unbind(sim_multicast *multicast, size_t at)
{
    vm_team *team = &multicast->team;
    const void *number = (const void *)(uintptr_t)multicast->bound[at];
    sim_physical *physical = multicast->bound[at]
                                 ? sim_object_find(sim_owner(multicast->object.context, number, SIM_PHYSICAL), number,
                                                   SIM_PHYSICAL)
                                 : NULL;
    vm_guard_unmap(team->replicas[at].host, (size_t)team->replicas[at].bytes);
    team->replicas[at] = team->replicas[--team->replica_count];
    multicast->bound[at] = multicast->bound[team->replica_count];
    if (physical) {
        physical->maps--;
        sim_physical_release(physical);
    }
}

CUresult sim_cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice device, size_t offset, size_t bytes)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    sim_multicast *multicast = sim_multicast_at(context, handle);
    if (!multicast)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (sim_device_ordinal(device) < 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_DEVICE);
    const uint32_t member = get_member(multicast, device);
    for (size_t k = 0; k < multicast->team.replica_count; k++) {
        const vm_replica *one = &multicast->team.replicas[k];
        if (one->member == member && one->offset == offset && one->bytes == bytes) {
            unbind(multicast, k);
            return sim_end_work(context, CUDA_SUCCESS);
        }
    }
    return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
}

void sim_multicast_release(sim_multicast *multicast)
{
    if (multicast->handles > 0 || multicast->maps > 0)
        return;
    while (multicast->team.replica_count > 0)
        unbind(multicast, multicast->team.replica_count - 1);
    sim_object_free(multicast->object.context, multicast);
}

static void refresh_objects(const sim_context *context)
{
    for (sim_object *object = context->objects; object; object = object->next) {
        sim_multicast *multicast = (sim_multicast *)object;
        for (size_t k = 0; object->kind == SIM_MULTICAST && k < multicast->team.replica_count; k++) {
            vm_replica *one = &multicast->team.replicas[k];
            const void *number = (const void *)(uintptr_t)multicast->bound[k];
            const sim_physical *physical = multicast->bound[k]
                                               ? sim_object_find(sim_owner(object->context, number, SIM_PHYSICAL),
                                                                 number, SIM_PHYSICAL)
                                               : NULL;
            if (physical)
                one->alias = sim_physical_address(physical, one->from, one->bytes);
        }
    }
}

void sim_multicast_refresh(void)
{
    for (const sim_context *each = sim_context_after(NULL); each; each = sim_context_after(each))
        refresh_objects(each);
    refresh_objects(sim_homeless());
}
