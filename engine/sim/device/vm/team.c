/* team.c - multimem instructions, and the memory of multicast objects. An address of multicast memory names a location
 * on each device of a team. The driver never lets kernels of two devices run at the same time, so no kernel sees an
 * access to all devices half done. */
#include <inttypes.h>
#include <stdio.h>

#include "vm_fault.h"
#include "vm_memory.h"

const vm_allocation *vm_team_at(vm_device *device, uint64_t address, uint64_t bytes)
{
    pthread_rwlock_rdlock(&device->lock);
    const size_t at = vm_search(device, address);
    const vm_allocation *found = at ? device->live[at - 1] : NULL;
    if (found &&
        (!found->team || address - found->base >= found->bytes || bytes > found->bytes - (address - found->base)))
        found = NULL;
    pthread_rwlock_unlock(&device->lock);
    return found;
}

const vm_replica *vm_replica_of(const vm_team *team, uint32_t member, uint64_t offset, uint64_t bytes)
{
    for (size_t k = 0; k < team->replica_count; k++) {
        const vm_replica *one = &team->replicas[k];
        if (one->member == member && offset - one->offset < one->bytes && bytes <= one->bytes - (offset - one->offset))
            return one;
    }
    return NULL;
}

/* Raises the fault of an invalid access by a multimem instruction. */
static void raise_team_fault(vm_warp *w, const vm_code *i, uint32_t lane, vm_fault_kind kind, uint64_t address,
                             uint32_t bytes, bool write, const char *why)
{
    vm_fault_raise(w, i, lane, kind, address, bytes,
                   "%smultimem %s of %" PRIu32 " bytes at global address 0x%" PRIx64 "%s%s",
                   kind == VM_FAULT_MISALIGNED ? "misaligned " : "invalid ", write ? "write" : "read", bytes, address,
                   *why ? ", " : "", why);
}

uint32_t vm_reach_team(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint32_t bytes, bool write,
                       unsigned char *hosts[VM_TEAM_MOST])
{
    vm_device *device = w->runner->run->device;
    const vm_allocation *part = vm_team_at(device, address, bytes);
    char why[256] = "", where[200];
    if (!part) {
        vm_describe(device, address, where, sizeof where);
        snprintf(why, sizeof why, "which is not in the memory of a multicast object: %s", where);
        raise_team_fault(w, i, lane, VM_FAULT_ADDRESS, address, bytes, write, why);
        return 0;
    }
    if (address % bytes != 0) {
        raise_team_fault(w, i, lane, VM_FAULT_MISALIGNED, address, bytes, write, "");
        return 0;
    }
    if (write && part->read_only) {
        raise_team_fault(w, i, lane, VM_FAULT_ADDRESS, address, bytes, write,
                         "in read-only memory, which kernels cannot write");
        return 0;
    }
    const uint64_t offset = part->team_offset + (address - part->base);
    for (uint32_t k = 0; k < part->team->count; k++) {
        const vm_replica *one = vm_replica_of(part->team, k, offset, bytes);
        if (!one) {
            snprintf(why, sizeof why,
                     "where device %" PRIu32 " of the team has bound no memory, at offset %" PRIu64
                     " of the multicast object",
                     part->team->number[k], offset);
            raise_team_fault(w, i, lane, VM_FAULT_ADDRESS, address, bytes, write, why);
            return 0;
        }
        hosts[k] = one->host + (offset - one->offset);
    }
    return part->team->count;
}
