/* range.c - finds reserved ranges of addresses and their mappings, and takes access to mappings away from devices. */
#include "vmm_internal.h"

bool sim_range_usable(const sim_context *context, const sim_mapping *map)
{
    vm_info info;
    return vm_about(context->device, map->base, &info) && info.base == map->base && info.owner == SIM_OWNER_RANGE;
}

/* Removes the access of all contexts of one device to the mapped memory. The function visits all contexts, because
 * another context may have represented the device when the access was given. */
void sim_range_take(unsigned ordinal, sim_mapping *map)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->ordinal == ordinal && sim_range_usable(any, map))
            vm_free(any->device, map->base);
    map->access[ordinal] = CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

void sim_range_take_all(sim_mapping *map)
{
    for (unsigned i = 0; i < sim_device_count(); i++)
        sim_range_take(i, map);
}

/* Returns the range that contains [pointer, pointer + bytes), or NULL. */
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

/* Returns the range that contains [pointer, pointer + bytes), or NULL. The function searches the context, contexts of
 * other devices, and ranges whose context has ended. */
sim_range *sim_range_at(const sim_context *context, CUdeviceptr pointer, uint64_t bytes)
{
    sim_range *range = find_range(context, pointer, bytes);
    for (unsigned i = 0; !range && i < sim_device_count(); i++) {
        const sim_context *other = i != context->ordinal ? sim_context_on(i) : NULL;
        range = other ? find_range(other, pointer, bytes) : NULL;
    }
    return range ? range : find_range(sim_homeless(), pointer, bytes);
}

size_t sim_mapping_after(const sim_range *range, uint64_t address)
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

const sim_mapping *sim_mapping_at(const sim_context *context, CUdeviceptr pointer)
{
    const sim_range *range = sim_range_at(context, pointer, 1);
    size_t at = range ? sim_mapping_after(range, pointer) : 0;
    return range && at < range->count && range->maps[at].base <= pointer ? &range->maps[at] : NULL;
}

static uint64_t find_address(const sim_context *context, const sim_physical *physical, uint64_t offset, uint64_t bytes)
{
    for (const sim_object *object = context->objects; object; object = object->next) {
        const sim_range *range = (const sim_range *)object;
        for (size_t k = 0; object->kind == SIM_RANGE && k < range->count; k++)
            if (range->maps[k].physical == physical && offset < range->maps[k].bytes &&
                bytes <= range->maps[k].bytes - offset)
                return range->maps[k].base + offset;
    }
    return 0;
}

uint64_t sim_physical_address(const sim_physical *physical, uint64_t offset, uint64_t bytes)
{
    uint64_t found = find_address(sim_homeless(), physical, offset, bytes);
    for (const sim_context *each = sim_context_after(NULL); each && !found; each = sim_context_after(each))
        found = find_address(each, physical, offset, bytes);
    return found;
}

static void lose_multicast(const sim_context *context, const sim_multicast *multicast)
{
    for (sim_object *object = context->objects; object; object = object->next) {
        sim_range *range = (sim_range *)object;
        for (size_t k = 0; object->kind == SIM_RANGE && k < range->count; k++)
            if (range->maps[k].multicast == multicast) {
                sim_range_take_all(&range->maps[k]);
                range->maps[k].multicast = NULL;
            }
    }
}

void sim_multicast_lost(const sim_multicast *multicast)
{
    for (const sim_context *each = sim_context_after(NULL); each; each = sim_context_after(each))
        lose_multicast(each, multicast);
    lose_multicast(sim_homeless(), multicast);
}
