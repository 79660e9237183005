/* group.c - the devices of one process (vm_group), and how a kernel finds memory of another device. The driver never
 * lets kernels of two devices run at the same time, so memory of another device stays valid while a kernel uses it. */
#include <inttypes.h>
#include <stdio.h>

#include "vm_machine.h"
#include "vm_memory.h"

void vm_group_join(vm_device *device)
{
    vm_group *group = device->limits.group;
    uint64_t taken = 0;
    if (!group)
        return;
    pthread_rwlock_wrlock(&group->lock);
    for (const vm_device *other = group->first; other; other = other->next)
        taken |= other->place;
    device->place = ~taken & (taken + 1); /* the lowest free bit, or 0 */
    device->next = group->first;
    group->first = device;
    pthread_rwlock_unlock(&group->lock);
}

void vm_group_leave(vm_device *device)
{
    vm_group *group = device->limits.group;
    if (!group)
        return;
    pthread_rwlock_wrlock(&group->lock);
    for (vm_device **at = &group->first; *at;)
        if (*at == device) {
            *at = device->next;
        } else {
            (*at)->peers &= ~device->place;
            atomic_fetch_add(&(*at)->generation, 1);
            at = &(*at)->next;
        }
    pthread_rwlock_unlock(&group->lock);
}

void vm_allow(vm_device *device, const vm_device *other, bool may)
{
    vm_group *group = device->limits.group;
    if (!group)
        return;
    pthread_rwlock_wrlock(&group->lock);
    device->peers = may ? device->peers | other->place : device->peers & ~other->place;
    atomic_fetch_add(&device->generation, 1); /* lets runners refill their caches */
    pthread_rwlock_unlock(&group->lock);
}

bool vm_allowed(const vm_device *device, const vm_device *other) { return (device->peers & other->place) != 0; }

const vm_allocation *vm_elsewhere(vm_device *device, uint64_t address)
{
    vm_group *group = device->limits.group;
    const vm_allocation *found = NULL;
    if (!group)
        return NULL;
    pthread_rwlock_rdlock(&group->lock);
    for (vm_device *other = group->first; other && !found; other = other->next) {
        if (other->limits.number == device->limits.number)
            continue;
        found = vm_reached(other, address);
        if (found && !found->shared && !vm_allowed(device, other) && !(found->open >> device->limits.number & 1))
            found = NULL;
    }
    pthread_rwlock_unlock(&group->lock);
    return found;
}

void vm_group_freed(vm_device *device)
{
    vm_group *group = device->limits.group;
    if (!group)
        return;
    pthread_rwlock_rdlock(&group->lock);
    for (vm_device *other = group->first; other; other = other->next)
        if (other != device)
            atomic_fetch_add(&other->generation, 1);
    pthread_rwlock_unlock(&group->lock);
}

bool vm_describe_elsewhere(vm_device *device, uint64_t address, char *text, size_t size)
{
    vm_group *group = device->limits.group;
    bool found = false;
    if (!group)
        return false;
    pthread_rwlock_rdlock(&group->lock);
    for (vm_device *other = group->first; other && !found; other = other->next) {
        const vm_allocation *a = other->limits.number != device->limits.number ? vm_reached(other, address) : NULL;
        if (!a)
            continue;
        found = true;
        const bool may = a->shared || vm_allowed(device, other) || a->open >> device->limits.number & 1;
        snprintf(text, size,
                 "at offset %" PRIu64 " of an allocation of %" PRIu64 " bytes at 0x%" PRIx64 " of device %u%s",
                 address - a->base, a->bytes, a->base, other->limits.number,
                 may ? "" : ", to whose memory this device was given no access");
    }
    pthread_rwlock_unlock(&group->lock);
    return found;
}
