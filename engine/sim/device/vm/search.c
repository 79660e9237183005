/* search.c - finds the allocation at an address of a device. */
#include "vm_machine.h"
#include "vm_memory.h"

/* Finds the allocation by binary search in the list of live allocations, which is sorted by address. */
size_t vm_search(const vm_device *device, uint64_t address)
{
    size_t low = 0, high = device->live_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (device->live[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const vm_allocation *vm_reached(vm_device *device, uint64_t address)
{
    pthread_rwlock_rdlock(&device->lock);
    const size_t at = vm_search(device, address);
    const vm_allocation *found = at && !device->live[at - 1]->team &&
                                         address - device->live[at - 1]->base < device->live[at - 1]->reach
                                     ? device->live[at - 1]
                                     : NULL;
    pthread_rwlock_unlock(&device->lock);
    return found;
}
