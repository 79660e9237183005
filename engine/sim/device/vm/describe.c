/* describe.c - describes addresses for messages. A description names the allocation that contains the address or is
 * nearest to it. */
#include <inttypes.h>
#include <stdio.h>

#include "vm_hooks.h"
#include "vm_memory.h"

/* Returns the allocation that holds the address, or the nearest one within 1 MiB. Skips fillers. Returns NULL if there
 * is no allocation within this distance. The caller holds the device's lock. */
static const vm_allocation *find_nearest(const vm_device *device, uint64_t address)
{
    /* Programs overrun the end of an allocation more often than its beginning. So an allocation after the address is
     * chosen only if it is much nearer than the allocation before the address. */
    enum { FAR = 1 << 20, MUCH_NEARER = 4 };
    size_t at = vm_search(device, address), past_fillers = at;
    while (at > 0 && device->live[at - 1]->filler)
        at--;
    while (past_fillers < device->live_count && device->live[past_fillers]->filler)
        past_fillers++;
    const vm_allocation *before = at ? device->live[at - 1] : NULL;
    const vm_allocation *after = past_fillers < device->live_count ? device->live[past_fillers] : NULL;
    if (before && address - before->base < before->bytes)
        return before;
    uint64_t past = before ? address - before->base - before->bytes : FAR;
    uint64_t ahead = after ? after->base - address : FAR;
    return past < FAR && past <= MUCH_NEARER * ahead ? before : ahead < FAR ? after : NULL;
}

bool vm_labelled_at(vm_device *device, uint64_t address, vm_labelled *found)
{
    pthread_rwlock_rdlock(&device->lock);
    const vm_allocation *a = find_nearest(device, address);
    bool labelled = a && a->label;
    if (labelled) {
        snprintf(found->name, sizeof found->name, "%s", a->label);
        snprintf(found->role, sizeof found->role, "%s", a->role);
        found->offset = (int64_t)(address - a->base);
        found->bytes = a->bytes;
    }
    pthread_rwlock_unlock(&device->lock);
    return labelled;
}

/* Describes the address by the first of these descriptions that applies: memory of another device, freed memory, the
 * nearest allocation. */
void vm_describe(vm_device *device, uint64_t address, char *text, size_t size)
{
    if (vm_describe_elsewhere(device, address, text, size))
        return;
    pthread_rwlock_rdlock(&device->lock);
    for (unsigned k = 0; k < KILN__COUNT(device->freed); k++)
        if (device->freed[k].bytes && address - device->freed[k].base < device->freed[k].bytes) {
            snprintf(text, size, "in an allocation of %" PRIu64 " bytes that was freed", device->freed[k].bytes);
            pthread_rwlock_unlock(&device->lock);
            return;
        }
    const vm_allocation *a = find_nearest(device, address);
    bool inside = a && address - a->base < a->bytes;
    char what[160];
    if (a && a->team)
        snprintf(what, sizeof what, "memory of a multicast object, which only multimem can access,");
    else if (a && a->label)
        snprintf(what, sizeof what, "'%.80s', %s", a->label, a->role);
    else if (a && a->name)
        snprintf(what, sizeof what, "'%.120s'", a->name);
    else
        snprintf(what, sizeof what, "%s allocation", inside ? "an" : "the");
    if (!a)
        snprintf(text, size, "in no allocation");
    else if (inside)
        snprintf(text, size, "at offset %" PRIu64 " of %s (%" PRIu64 " bytes at 0x%" PRIx64 ")", address - a->base,
                 what, a->bytes, a->base);
    else
        snprintf(text, size, "%" PRIu64 " bytes %s %s of %" PRIu64 " bytes at 0x%" PRIx64,
                 address < a->base ? a->base - address : address - a->base - a->bytes,
                 address < a->base ? "before" : "past the end of", what, a->bytes, a->base);
    pthread_rwlock_unlock(&device->lock);
}
