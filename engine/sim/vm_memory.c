/* vm_memory.c - global memory: allocations with their own host memory, found by address. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/vm_checks_internal.h"

#define HOST_ALIGN 64u      /* at least what the widest access of a kernel needs */
#define RED_ZONE 512u
#define CHECKED_ZONE (1u << 26) /* of addresses alone: an index that is far off still finds no neighbour */
#define ADDRESS_ALIGN 512u
#define LARGE_BYTES (2u << 20)

vm_device *vm_device_new(const kiln_allocator *mem, const vm_limits *limits)
{
    vm_device *device = kiln__calloc(mem, 1, sizeof *device);
    if (!device)
        return NULL;
    if (mem) {
        device->mem_copy = *mem;
        device->mem = &device->mem_copy;
    }
    device->limits = *limits;
    device->next_address = VM_GLOBAL_BASE;
    atomic_init(&device->generation, 1);
    if (pthread_rwlock_init(&device->lock, NULL) != 0) {
        kiln__free(mem, device);
        return NULL;
    }
    return device;
}

static void release(vm_device *device, vm_allocation *allocation)
{
    if (allocation->shadow)
        vm_shadow_free(device->check, allocation->shadow, allocation->bytes);
    kiln__free(device->mem, allocation->raw);
    kiln__free(device->mem, allocation);
}

/* Gives back what was freed and no runner can still have in its caches. Under the lock. */
static void bury(vm_device *device)
{
    uint64_t oldest = UINT64_MAX;
    for (vm_runner *runner = device->runners; runner; runner = runner->next) {
        uint64_t seen = atomic_load(&runner->generation);
        oldest = seen < oldest ? seen : oldest;
    }
    for (vm_allocation **at = &device->graveyard; *at;) {
        vm_allocation *gone = *at;
        if (gone->freed > oldest) {
            at = &gone->next;
            continue;
        }
        *at = gone->next;
        device->used -= gone->bytes;
        release(device, gone);
    }
}

void vm_device_free(vm_device *device)
{
    if (!device)
        return;
    bury(device);
    for (size_t k = 0; k < device->live_count; k++)
        release(device, device->live[k]);
    kiln__free(device->mem, device->live);
    for (size_t k = 0; k < device->object_count; k++)
        kiln__free(device->mem, device->objects[k]);
    kiln__free(device->mem, device->objects);
    pthread_rwlock_destroy(&device->lock);
    kiln_allocator mem = device->mem_copy;
    kiln__free(device->mem ? &mem : NULL, device);
}

/* The allocation that holds `address`, or the one before it: index + 1, 0 if all lie behind. Under the lock. */
static size_t search(const vm_device *device, uint64_t address)
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

static vm_allocation *lookup(const vm_device *device, uint64_t address, uint64_t bytes)
{
    size_t at = search(device, address);
    if (at == 0)
        return NULL;
    vm_allocation *found = device->live[at - 1];
    uint64_t offset = address - found->base;
    return offset <= found->bytes && bytes <= found->bytes - offset && offset + bytes > 0 ? found : NULL;
}

vm_allocation *vm_allocate(vm_device *device, uint64_t bytes, const char *name)
{
    if (bytes == 0 || bytes > device->limits.memory || bytes > SIZE_MAX / 2)
        return NULL;
    vm_allocation *made = kiln__calloc(device->mem, 1, sizeof *made);
    if (!made)
        return NULL;
    pthread_rwlock_wrlock(&device->lock);
    uint64_t align = bytes >= LARGE_BYTES ? LARGE_BYTES : ADDRESS_ALIGN;
    uint64_t base = (device->next_address + align - 1) & ~(align - 1);
    uint64_t zone = device->check ? CHECKED_ZONE : RED_ZONE;
    bool room = bytes <= device->limits.memory - device->used && base < VM_GLOBAL_END &&
                bytes + zone <= VM_GLOBAL_END - base &&
                kiln__grow(device->mem, &device->live, &device->live_capacity, device->live_count + 1,
                           sizeof *device->live);
    if (room && device->check) {
        made->shadow = vm_shadow_new(device->check, bytes, name != NULL);
        room = made->shadow != NULL;
    }
    if (room)
        made->raw = kiln__alloc(device->mem, (size_t)bytes + HOST_ALIGN);
    if (!made->raw) {
        pthread_rwlock_unlock(&device->lock);
        if (made->shadow)
            vm_shadow_free(device->check, made->shadow, bytes);
        kiln__free(device->mem, made);
        return NULL;
    }
    made->host = (unsigned char *)(((uintptr_t)made->raw + HOST_ALIGN - 1) & ~(uintptr_t)(HOST_ALIGN - 1));
    made->base = base;
    made->bytes = bytes;
    made->name = name;
    device->live[device->live_count++] = made; /* addresses only grow, so the index stays sorted */
    device->next_address = base + bytes + zone;
    device->used += bytes;
    pthread_rwlock_unlock(&device->lock);
    memset(made->host, VM_POISON, (size_t)bytes);
    return made;
}

uint64_t vm_alloc(vm_device *device, uint64_t bytes)
{
    vm_allocation *made = vm_allocate(device, bytes, NULL);
    return made ? made->base : 0;
}

bool vm_free(vm_device *device, uint64_t address)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *found = lookup(device, address, 1);
    bool right = found && found->base == address;
    if (right) {
        size_t at = search(device, address);
        memmove(device->live + at - 1, device->live + at, (device->live_count - at) * sizeof *device->live);
        device->live_count--;
        device->freed[device->freed_next % KILN__COUNT(device->freed)].base = found->base;
        device->freed[device->freed_next++ % KILN__COUNT(device->freed)].bytes = found->bytes;
        found->freed = atomic_fetch_add(&device->generation, 1) + 1;
        found->next = device->graveyard; /* a running kernel may still look at it until it sees the generation */
        device->graveyard = found;
        bury(device);
    }
    pthread_rwlock_unlock(&device->lock);
    return right;
}

void vm_runner_enter(vm_device *device, vm_runner *runner)
{
    pthread_rwlock_wrlock(&device->lock);
    runner->next = device->runners;
    device->runners = runner;
    pthread_rwlock_unlock(&device->lock);
}

void vm_runner_leave(vm_device *device, vm_runner *runner)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_runner **at = &device->runners;
    while (*at && *at != runner)
        at = &(*at)->next;
    if (*at)
        *at = runner->next;
    bury(device);
    pthread_rwlock_unlock(&device->lock);
}

void vm_runner_update(vm_runner *runner, uint64_t generation)
{
    vm_device *device = runner->run->device;
    atomic_store(&runner->generation, generation);
    pthread_rwlock_wrlock(&device->lock);
    bury(device);
    pthread_rwlock_unlock(&device->lock);
}

const void *vm_pointer_read(vm_device *device, uint64_t address, uint64_t bytes)
{
    pthread_rwlock_rdlock(&device->lock);
    vm_allocation *found = lookup(device, address, bytes);
    const void *pointer = found ? found->host + (address - found->base) : NULL;
    pthread_rwlock_unlock(&device->lock);
    return pointer;
}

void *vm_pointer(vm_device *device, uint64_t address, uint64_t bytes)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *found = lookup(device, address, bytes);
    void *pointer = found ? found->host + (address - found->base) : NULL;
    if (found && found->shadow)
        vm_shadow_write(found->shadow, address - found->base, bytes);
    pthread_rwlock_unlock(&device->lock);
    return pointer;
}

const vm_allocation *vm_allocation_of(vm_device *device, uint64_t address)
{
    pthread_rwlock_rdlock(&device->lock);
    const vm_allocation *found = lookup(device, address, 1);
    found = found && address - found->base < found->bytes ? found : NULL;
    pthread_rwlock_unlock(&device->lock);
    return found;
}

bool vm_was_freed(vm_device *device, uint64_t address)
{
    bool was = false;
    pthread_rwlock_rdlock(&device->lock);
    for (unsigned k = 0; k < KILN__COUNT(device->freed); k++)
        was |= device->freed[k].bytes && address - device->freed[k].base < device->freed[k].bytes;
    pthread_rwlock_unlock(&device->lock);
    return was;
}

void vm_check_attach(vm_device *device, vm_check *check)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_check *before = device->check;
    bury(device); /* nothing runs: what is dead keeps no shadow */
    for (size_t k = 0; k < device->live_count; k++) {
        vm_allocation *a = device->live[k];
        if (a->shadow && before != check) {
            vm_shadow_free(before, a->shadow, a->bytes);
            a->shadow = NULL;
        }
        if (a->shadow)
            vm_shadow_renew(check, a->shadow, a->bytes);
    }
    device->check = check;
    if (check)
        check->device = device;
    pthread_rwlock_unlock(&device->lock);
}

bool vm_range(vm_device *device, uint64_t address, uint64_t *base, uint64_t *bytes)
{
    pthread_rwlock_rdlock(&device->lock);
    vm_allocation *found = lookup(device, address, 1);
    if (found) {
        *base = found->base;
        *bytes = found->bytes;
    }
    pthread_rwlock_unlock(&device->lock);
    return found != NULL;
}

uint64_t vm_memory_used(const vm_device *device)
{
    vm_device *locked = (vm_device *)(uintptr_t)device; /* the lock is not part of the value */
    pthread_rwlock_rdlock(&locked->lock);
    uint64_t used = device->used;
    pthread_rwlock_unlock(&locked->lock);
    return used;
}

void *vm_storage_new(vm_device *device, uint64_t bytes)
{
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return NULL;
    pthread_rwlock_wrlock(&device->lock);
    bool room = bytes <= device->limits.memory && device->used <= device->limits.memory - bytes;
    void *made = room ? kiln__alloc(device->mem, (size_t)bytes) : NULL;
    if (made)
        device->used += bytes;
    pthread_rwlock_unlock(&device->lock);
    if (made)
        memset(made, VM_POISON, (size_t)bytes);
    return made;
}

void vm_storage_free(vm_device *device, void *storage, uint64_t bytes)
{
    pthread_rwlock_wrlock(&device->lock);
    device->used -= bytes;
    pthread_rwlock_unlock(&device->lock);
    kiln__free(device->mem, storage);
}

bool vm_find(vm_device *device, uint64_t address, vm_span *span, bool *constant)
{
    pthread_rwlock_rdlock(&device->lock);
    vm_allocation *found = lookup(device, address, 1);
    if (found) {
        *span = (vm_span){found->base, found->base + found->bytes, found->host};
        *constant = found->constant;
    }
    pthread_rwlock_unlock(&device->lock);
    return found != NULL;
}

bool vm_refill(vm_warp *w, const vm_code *i, uint64_t low, uint64_t high)
{
    vm_runner *runner = w->runner;
    for (unsigned k = 0; k < KILN__COUNT(runner->recent); k++)
        if (low >= runner->recent[k].base && high <= runner->recent[k].end && high > low) {
            runner->cache[i->e] = runner->recent[k];
            return true;
        }
    vm_span span;
    bool constant;
    if (!vm_find(runner->run->device, low, &span, &constant) || high > span.end || high < low ||
        (constant && i->flags & VM_WRITES))
        return false;
    runner->cache[i->e] = span;
    if (!constant) /* what is remembered here serves stores too */
        runner->recent[runner->recent_next++ % KILN__COUNT(runner->recent)] = span;
    return true;
}

void vm_describe(vm_device *device, uint64_t address, char *text, size_t size)
{
    pthread_rwlock_rdlock(&device->lock);
    size_t at = search(device, address);
    const vm_allocation *before = at ? device->live[at - 1] : NULL;
    const vm_allocation *after = at < device->live_count ? device->live[at] : NULL;
    for (unsigned k = 0; k < KILN__COUNT(device->freed); k++)
        if (device->freed[k].bytes && address - device->freed[k].base < device->freed[k].bytes) {
            snprintf(text, size, "in an allocation of %" PRIu64 " bytes that was freed", device->freed[k].bytes);
            pthread_rwlock_unlock(&device->lock);
            return;
        }
    if (before && address - before->base < before->bytes)
        snprintf(text, size, "at offset %" PRIu64 " of %s%s%s (%" PRIu64 " bytes at 0x%" PRIx64 ")",
                 address - before->base, before->name ? "'" : "an allocation", before->name ? before->name : "",
                 before->name ? "'" : "", before->bytes, before->base);
    else if (before && address - before->base < before->bytes + (1u << 20))
        snprintf(text, size, "%" PRIu64 " bytes past the end of %s%s%s of %" PRIu64 " bytes at 0x%" PRIx64,
                 address - before->base - before->bytes, before->name ? "'" : "the allocation",
                 before->name ? before->name : "", before->name ? "'" : "", before->bytes, before->base);
    else if (after && after->base - address < (1u << 20))
        snprintf(text, size, "%" PRIu64 " bytes before %s%s%s of %" PRIu64 " bytes at 0x%" PRIx64,
                 after->base - address, after->name ? "'" : "the allocation", after->name ? after->name : "",
                 after->name ? "'" : "", after->bytes, after->base);
    else
        snprintf(text, size, "in no allocation");
    pthread_rwlock_unlock(&device->lock);
}
