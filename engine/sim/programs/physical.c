/* physical.c - physical memory. It is a file without a name, so that it can be mapped at several addresses. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vmm_internal.h"

#define FILE_NAME "kiln-device-memory-" /* beginning of the file name, before the number of the device */

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

/* Physical memory and ranges belong to the process, not to a context. They exist longer than the context in which they
 * were made, and most functions about them need no context. Only access rights belong to a context.
 *
 * The function returns the context that represents the device: `context` if it is on the device, or NULL if the device
 * has no context. */
sim_context *sim_context_for(sim_context *context, CUdevice device)
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
        *granularity = SIM_GRANULARITY;
    return sim_end(result);
}

static void physical_drop(sim_object *object) { close(((sim_physical *)object)->file); }

/* This function runs when the context ends. After it the memory does not count as used. */
static void physical_leave(sim_object *object)
{
    sim_physical *physical = (sim_physical *)object;
    if (physical->counted)
        vm_give(object->context->device, physical->bytes);
    physical->counted = false;
}

void sim_physical_release(sim_physical *physical)
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
    if (result != CUDA_SUCCESS || !handle || bytes == 0 || bytes % SIM_GRANULARITY != 0 || flags != 0)
        return sim_end_work(context, result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE);
    sim_context *home = sim_context_for(context, prop->location.id);
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
    /* it is not an error if compression is not supported, because the caller can query whether the memory is
     * compressed */
    int compressed = 0;
    sim_profile_attribute(sim_device_profile(prop->location.id), CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED,
                          &compressed);
    if (!compressed)
        made->prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
    made->handles = 1;
    made->counted = counted;
    *handle = made->object.handle;
    return sim_end_work(context, CUDA_SUCCESS);
}

sim_physical *sim_physical_at(sim_context *context, CUmemGenericAllocationHandle handle)
{
    const void *number = (const void *)(uintptr_t)handle;
    sim_physical *physical = sim_object_find(sim_owner(context, number, SIM_PHYSICAL), number, SIM_PHYSICAL);
    return physical && physical->handles > 0 ? physical : NULL;
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    const sim_physical *physical = sim_physical_at(context, handle);
    if (!physical || !prop)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    *prop = physical->prop;
    return sim_end_work(context, CUDA_SUCCESS);
}

/* ---- sharing with other processes: by a file descriptor, which the program passes to another process ---- */

CUresult sim_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_process(&context));
    const sim_physical *physical = sim_physical_at(context, handle);
    if (!out || !physical || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(physical->prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    const int file = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
    if (file >= 0)
        memcpy(out, &file, sizeof file);
    return sim_end_work(context, file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Returns the place (number on the machine) of the device to which the memory in the file belongs, or -1. */
static int get_memory_place(int file)
{
    char path[64], name[128];
    unsigned number;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(path, name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return sscanf(name, "/memfd:" FILE_NAME "%u", &number) == 1 && number < SIM_DEVICES_MOST ? (int)number : -1;
}

/* The function duplicates the file descriptor, so the caller still owns its descriptor. */
CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from,
                                            CUmemAllocationHandleType type)
{
    sim_context *context;
    struct stat info;
    SIM_TRY(sim_begin_process(&context));
    const int given = (int)(intptr_t)from, number = get_memory_place(given);
    if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || number < 0 || fstat(given, &info) != 0 ||
        fcntl(given, F_GET_SEALS) != VM_FILE_SEALS || info.st_size <= 0 || info.st_size % SIM_GRANULARITY != 0)
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    sim_context *home = context;
    unsigned ordinal = context == sim_homeless() ? 0 : context->ordinal;
    /* if the device is hidden from this process, the memory belongs to the current device */
    for (unsigned i = 0; i < sim_device_count(); i++)
        if (sim_device_place(sim_device_at(i)) == (unsigned)number) {
            home = sim_context_on(i) ? sim_context_for(context, sim_device_at(i)) : home;
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
