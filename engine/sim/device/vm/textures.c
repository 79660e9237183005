/* textures.c - the table of textures and surfaces, to which kernels refer by number. */
#include <string.h>

#include "vm_machine.h"
#include "vm_memory.h"

static size_t get_place(uint64_t handle) { return (size_t)(handle >> 8 & 0xffffff); }

bool vm_texture_add(vm_device *device, uint64_t handle, const vm_texture *what)
{
    size_t at = get_place(handle), had = device->object_count;
    vm_object *made = kiln__alloc(device->mem, sizeof *made);
    if (!made ||
        !kiln__grow(device->mem, &device->objects, &device->object_capacity, at + 1, sizeof *device->objects)) {
        kiln__free(device->mem, made);
        return false;
    }
    if (at >= had) {
        memset(device->objects + had, 0, (at + 1 - had) * sizeof(vm_object *));
        device->object_count = at + 1;
    }
    *made = (vm_object){.handle = handle, .texture = *what};
    kiln__free(device->mem, device->objects[at]);
    device->objects[at] = made;
    return true;
}

static vm_object *find_object(const vm_device *device, uint64_t handle)
{
    size_t at = get_place(handle);
    return at < device->object_count && device->objects[at] && device->objects[at]->handle == handle
               ? device->objects[at]
               : NULL;
}

void vm_texture_remove(vm_device *device, uint64_t handle)
{
    vm_object *found = find_object(device, handle);
    if (!found)
        return;
    device->objects[get_place(handle)] = NULL;
    kiln__free(device->mem, found);
}

void vm_texture_lose(vm_device *device, uint64_t handle)
{
    vm_object *found = find_object(device, handle);
    if (found)
        found->texture.stale = true;
}

const vm_texture *vm_texture_find(const vm_device *device, uint64_t handle)
{
    const vm_object *found = find_object(device, handle);
    return found ? &found->texture : NULL;
}

unsigned vm_format_bytes(vm_format format)
{
    static const uint8_t bytes[VM_FORMATS] = {
        [VM_U8] = 1, [VM_U16] = 2, [VM_U32] = 4, [VM_S8] = 1, [VM_S16] = 2, [VM_S32] = 4, [VM_F16] = 2, [VM_F32] = 4};
    return bytes[format];
}

/* A texture may be set to read integers of 8 and 16 bits as fractions. A texture always reads integers of 32 bits as
 * integers. */
bool vm_format_is_float(const vm_texture *texture)
{
    vm_format f = texture->image.format;
    return f == VM_F16 || f == VM_F32 || (!texture->integer && f != VM_U32 && f != VM_S32);
}
