/* span.c - finds the memory of the device that holds an address or a range, and keeps it in the caches of
 * instructions. */
#include "vm_machine.h"
#include "vm_memory.h"

bool vm_find(vm_device *device, uint64_t address, vm_span *span, bool *constant, bool *read_only)
{
    pthread_rwlock_rdlock(&device->lock);
    const size_t at = vm_search(device, address);
    const vm_allocation *found = at && !device->live[at - 1]->team &&
                                         address - device->live[at - 1]->base < device->live[at - 1]->reach
                                     ? device->live[at - 1]
                                     : NULL;
    if (found) {
        *constant = found->constant;
        *read_only = found->constant || found->read_only;
        *span = (vm_span){found->base, found->base + found->reach, found->host, *read_only};
    }
    pthread_rwlock_unlock(&device->lock);
    if (found || !device->limits.group)
        return found != NULL;
    found = vm_elsewhere(device, address);
    if (found) {
        *constant = false;
        *read_only = found->constant || found->read_only;
        *span = (vm_span){found->base, found->base + found->reach, found->host, *read_only};
    }
    return found != NULL;
}

/* Extends the span that vm_find() gave until it reaches `high`. Memory that was mapped in parts counts as one range if
 * its parts are adjacent on the device and on the host. The span is read-only if a part of it is read-only. */
static void extend_span(vm_device *device, vm_span *span, uint64_t high)
{
    pthread_rwlock_rdlock(&device->lock);
    for (size_t at = vm_search(device, span->end - 1); at < device->live_count && high > span->end; at++) {
        const vm_allocation *next = device->live[at];
        if (next->filler || next->base != span->end || next->host != span->host + (span->end - span->base))
            break;
        span->end += next->reach;
        span->read_only = span->read_only || next->constant || next->read_only;
    }
    pthread_rwlock_unlock(&device->lock);
}

bool vm_refill(vm_warp *w, const vm_code *i, uint64_t low, uint64_t high, bool write)
{
    vm_runner *runner = w->runner;
    write = write || i->flags & VM_WRITES;
    for (unsigned k = 0; k < KILN__COUNT(runner->recent); k++)
        if (low >= runner->recent[k].base && high <= runner->recent[k].end && high > low) {
            runner->cache[i->e] = runner->recent[k];
            return true;
        }
    vm_span span;
    bool constant, read_only;
    vm_device *device = runner->run->device;
    bool found = vm_find(device, low, &span, &constant, &read_only) ||
                 (vm_fill(device, low) && vm_find(device, low, &span, &constant, &read_only));
    if (found && high > span.end)
        extend_span(device, &span, high);
    if (!found || high > span.end || high < low || (write && span.read_only))
        return false;
    runner->cache[i->e] = span;
    if (!span.read_only) /* `recent` holds only writable memory, because stores use it too */
        runner->recent[runner->recent_next++ % KILN__COUNT(runner->recent)] = span;
    return true;
}
