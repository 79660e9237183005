/* memory.c - global memory: allocations, each with its own host memory. The simulator finds an allocation by its
 * address. Most allocations have an address in the device's address space. Memory that host and device share has the
 * address that it has on the host (vm_alloc_host, vm_adopt).
 *
 * The file is long because all its functions share the sorted list of live allocations and its lock. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "vm_hooks.h"
#include "vm_jit.h"
#include "vm_memory.h"

/* distance in bytes between two allocations of a device without checks */
#define RED_ZONE 512u
/* distance in bytes between the allocations of a checked device; the gap consists of addresses without memory */
#define CHECKED_ZONE (1u << 26)
#define ADDRESS_ALIGN 512u
/* allocations consist of units of this size; kernels can access the whole last unit, as on a GPU */
#define GRANULE 512u
#define PAGE 4096u /* alignment of memory shared with the host: a page of the operating system */
/* An allocation of at least this size begins at a multiple of this size. */
#define LARGE_BYTES (2u << 20)
/* alignment of a filler: at least the alignment of the widest access, and at most the alignment of vm_guard_take() */
#define FILLER_ALIGN 64u
/* size of a filler, the memory that is added when a kernel accesses the unused part of a page */
#define FILLER 65536u

vm_device *vm_device_new(const kiln_allocator *mem, const vm_limits *limits)
{
    vm_device *device = kiln__calloc(mem, 1, sizeof *device);
    if (!device)
        return NULL;
    if (mem) {
        device->mem_copy = *mem;
        device->mem = &device->mem_copy;
    }
    if (!vm_guards_open(&device->guards, device->mem)) {
        kiln__free(mem, device);
        return NULL;
    }
    device->limits = *limits;
    if (!limits->end_address) {
        device->limits.first_address = VM_GLOBAL_BASE;
        device->limits.end_address = VM_GLOBAL_END;
    }
    /* the first allocation does not begin at the start of a page */
    device->next_address = device->limits.first_address + (limits->page ? ADDRESS_ALIGN : 0);
    atomic_init(&device->generation, 1);
    if (pthread_rwlock_init(&device->lock, NULL) != 0) {
        vm_guards_close(&device->guards);
        kiln__free(mem, device);
        return NULL;
    }
    vm_group_join(device);
    return device;
}

/* Returns the kind of an allocation's host memory. Memory that host and device share gets a separate region, because
 * vm_hand_over() may give the region to another device. */
static vm_guard_kind get_kind(const vm_allocation *allocation)
{
    return allocation->shared ? VM_GUARD_OWN : VM_GUARD_ANY;
}

/* Frees the memory of an allocation, and the allocation itself. */
static void free_allocation(vm_device *device, vm_allocation *allocation)
{
    if (allocation->reserved)
        vm_pages_free(allocation->host, allocation->reserved);
    if (allocation->shadow)
        device->hooks->shadow_free(device, allocation->shadow, allocation->bytes);
    kiln__free(device->mem, allocation->label);
    vm_guard_give(&device->guards, allocation->raw, (size_t)allocation->taken, get_kind(allocation));
    if (allocation->mapped) {
        vm_guard_unmap(allocation->host, (size_t)allocation->mapped);
        close(allocation->file);
    }
    kiln__free(device->mem, allocation);
}

void vm_bury(vm_device *device)
{
    uint64_t oldest = UINT64_MAX;
    for (vm_runner *runner = device->runners; runner; runner = runner->next) {
        uint64_t seen = atomic_load(&runner->generation);
        oldest = seen < oldest ? seen : oldest;
    }
    while (device->graveyard && device->graveyard->freed <= oldest) {
        vm_allocation *gone = device->graveyard;
        device->graveyard = gone->next;
        device->used -= gone->counted;
        free_allocation(device, gone);
    }
}

void vm_device_free(vm_device *device)
{
    if (!device)
        return;
    vm_group_leave(device);
    if (device->jit)
        device->jit->free(device->jit);
    vm_bury(device);
    for (size_t k = 0; k < device->live_count; k++)
        free_allocation(device, device->live[k]);
    kiln__free(device->mem, device->live);
    for (size_t k = 0; k < device->object_count; k++)
        kiln__free(device->mem, device->objects[k]);
    kiln__free(device->mem, device->objects);
    if (device->poison)
        close(device->poison - 1);
    pthread_rwlock_destroy(&device->lock);
    vm_guards_close(&device->guards);
    kiln_allocator mem = device->mem_copy;
    kiln__free(device->mem ? &mem : NULL, device);
}

static vm_allocation *find_live(const vm_device *device, uint64_t address, uint64_t bytes)
{
    size_t at = vm_search(device, address);
    if (at == 0)
        return NULL;
    vm_allocation *found = device->live[at - 1];
    uint64_t offset = address - found->base;
    return !found->filler && offset <= found->bytes && bytes <= found->bytes - offset && offset + bytes > 0 ? found
                                                                                                            : NULL;
}

/* Returns addresses that were never used before, or 0 if none are left. Skips addresses at which the host has memory.
 * The caller holds the lock. */
static uint64_t claim_addresses(vm_device *device, uint64_t bytes, uint64_t align)
{
    uint64_t base = device->next_address, zone = device->hooks ? CHECKED_ZONE : RED_ZONE, past;
    const uint64_t end = device->limits.end_address;
    if (bytes > end - device->limits.first_address)
        return 0;
    do {
        base = (base + align - 1) & ~(align - 1);
        if (base >= end || bytes + zone > end - base)
            return 0;
        size_t at = vm_search(device, base + bytes + zone - 1);
        const vm_allocation *last = at ? device->live[at - 1] : NULL;
        past = last && last->base + last->bytes > base ? last->base + last->bytes + zone : base;
    } while (past != base && (base = past, true));
    device->next_address = base + bytes + zone;
    return base;
}

/* Returns true if [base, base + bytes) is free and not in a window of another address space. The caller holds the lock.
 */
static bool is_free(const vm_device *device, uint64_t base, uint64_t bytes)
{
    uint64_t end;
    if (bytes == 0 || __builtin_add_overflow(base, bytes, &end) || (base < VM_GLOBAL_BASE && end > VM_SHARED_BASE))
        return false;
    size_t at = vm_search(device, end - 1);
    return at == 0 || device->live[at - 1]->base + device->live[at - 1]->bytes <= base;
}

/* Adds `made` to the sorted list. The caller has set base and bytes of `made`, and no live allocation overlaps `made`.
 * If memory runs out, returns false and changes nothing. The caller holds the lock. */
static bool insert_live(vm_device *device, vm_allocation *made)
{
    if (!kiln__grow(device->mem, &device->live, &device->live_capacity, device->live_count + 1, sizeof *device->live))
        return false;
    size_t at = vm_search(device, made->base);
    memmove(device->live + at + 1, device->live + at, (device->live_count - at) * sizeof *device->live);
    device->live[at] = made;
    device->live_count++;
    device->used += made->counted;
    /* the new allocation may be at an address that was freed, because the host's allocator reuses addresses */
    for (size_t k = 0; k < KILN__COUNT(device->freed); k++)
        if (device->freed[k].base < made->base + made->bytes &&
            made->base < device->freed[k].base + device->freed[k].bytes)
            device->freed[k].bytes = 0;
    return true;
}

/* Moves live[at] to the graveyard, the list of freed memory that is not released yet. Running kernels may use the
 * memory until they see the new generation of the device. The caller holds the lock. */
static void remove_live(vm_device *device, size_t at)
{
    vm_allocation *gone = device->live[at];
    memmove(device->live + at, device->live + at + 1, (device->live_count - at - 1) * sizeof *device->live);
    device->live_count--;
    gone->freed = atomic_fetch_add(&device->generation, 1) + 1;
    gone->next = NULL;
    if (device->graveyard)
        device->last_buried->next = gone;
    else
        device->graveyard = gone;
    device->last_buried = gone;
}

/* Removes the fillers in [base, base + bytes) and the fillers next to that range, so that the range is free. The caller
 * holds the lock. */
static void drop_fillers(vm_device *device, uint64_t base, uint64_t bytes)
{
    size_t at = vm_search(device, base + bytes);
    while (at > 0 && (device->live[at - 1]->filler || device->live[at - 1]->base >= base))
        if (device->live[--at]->filler)
            remove_live(device, at);
    while (at < device->live_count && device->live[at]->filler)
        remove_live(device, at);
}

/* Returns true if the address is in one of the most recently freed allocations. The caller holds the lock. */
static bool is_freed(const vm_device *device, uint64_t address)
{
    bool was = false;
    for (unsigned k = 0; k < KILN__COUNT(device->freed); k++)
        was |= device->freed[k].bytes && address - device->freed[k].base < device->freed[k].bytes;
    return was;
}

/* The filler ends where an allocation or freed memory begins, so that an access to freed memory is still a fault. */
bool vm_fill(vm_device *device, uint64_t address)
{
    const uint64_t page = device->limits.page, first = page ? address & ~(page - 1) : 0;
    if (page == 0 || device->hooks || address < VM_GLOBAL_BASE || address >= VM_GLOBAL_END)
        return false;
    pthread_rwlock_wrlock(&device->lock);
    size_t at = vm_search(device, address), before = at, after = at;
    while (before > 0 && device->live[before - 1]->filler)
        before--;
    while (after < device->live_count && device->live[after]->filler)
        after++;
    bool there = (before > 0 && device->live[before - 1]->base + device->live[before - 1]->bytes > first) ||
                 (after < device->live_count && device->live[after]->base < first + page);
    uint64_t low = address & ~(uint64_t)(FILLER - 1), high = low + FILLER;
    uint64_t past = at > 0 ? device->live[at - 1]->base + device->live[at - 1]->reach : 0;
    there = there && !is_freed(device, address);
    vm_allocation *made = there && past <= address ? kiln__calloc(device->mem, 1, sizeof *made) : NULL;
    bool done = there && past > address; /* true if another thread has already added the filler */
    if (made) {
        low = past > low ? past : low;
        high = at < device->live_count && device->live[at]->base < high ? device->live[at]->base : high;
        for (size_t k = 0; k < KILN__COUNT(device->freed); k++) { /* an access to freed memory is still a fault */
            const uint64_t base = device->freed[k].base, end = base + device->freed[k].bytes;
            low = end <= address && end > low ? end : low;
            high = base > address && base < high ? base : high;
        }
        *made =
            (vm_allocation){.base = low, .bytes = high - low, .reach = high - low, .internal = true, .filler = true};
        /* The filler may begin at any address. The filler's host address gets the same remainder mod FILLER_ALIGN, so
         * an access that is aligned on the device is aligned on the host. */
        const uint64_t skipped = low % FILLER_ALIGN;
        made->taken = skipped + high - low;
        made->raw = vm_guard_take(&device->guards, (size_t)made->taken, VM_GUARD_ANY, true);
        made->host = made->raw ? (unsigned char *)made->raw + skipped : NULL;
        done = made->raw && insert_live(device, made);
        if (!done)
            free_allocation(device, made);
    }
    pthread_rwlock_unlock(&device->lock);
    return done;
}

/* The source of an allocation's address: a new address, the given address, or the host pointer. */
typedef enum placing { PLACE_NEW, PLACE_AT, PLACE_HOST } placing;

/* Allocates memory of any kind in these steps: host memory, a device address, the shadow of the observers, the entry in
 * the list. If a step fails, the function undoes the earlier steps. The function fills the memory without holding the
 * lock. */
static vm_allocation *allocate_placed(vm_device *device, placing how, uint64_t address, uint64_t bytes, bool counts,
                                      const char *name)
{
    if (bytes == 0 || (counts && bytes > device->limits.memory) || bytes > SIZE_MAX / 2)
        return NULL;
    vm_allocation *made = kiln__calloc(device->mem, 1, sizeof *made);
    if (!made)
        return NULL;
    const uint64_t unit = how == PLACE_NEW ? GRANULE : how == PLACE_HOST && device->limits.page ? PAGE : 1;
    const uint64_t reach = (bytes + unit - 1) / unit * unit;
    /* memory that host and device share takes whole pages, so that its pages hold no other memory */
    const uint64_t room = how == PLACE_HOST ? (bytes + PAGE - 1) / PAGE * PAGE : reach;
    const bool zeroed = how == PLACE_HOST || device->limits.zeroed;
    pthread_rwlock_wrlock(&device->lock);
    if (how == PLACE_AT)
        drop_fillers(device, address, bytes);
    made->shared = how == PLACE_HOST;
    made->taken = room;
    const bool fits = !counts || bytes <= device->limits.memory - device->used;
    if (fits && how == PLACE_NEW && !zeroed && !device->hooks && bytes >= VM_RESERVED) {
        const uint64_t pages = (room + PAGE - 1) / PAGE * PAGE;
        made->host = vm_pages_reserve(&device->poison, pages);
        made->reserved = made->host ? pages : 0;
    }
    if (fits && !made->reserved)
        made->host = made->raw = vm_guard_take(&device->guards, (size_t)room, get_kind(made), zeroed);
    bool placed = made->host != NULL;
    if (placed) {
        made->home = device;
        made->base = how == PLACE_NEW
                         ? claim_addresses(device, bytes, bytes >= LARGE_BYTES ? LARGE_BYTES : ADDRESS_ALIGN)
                     : how == PLACE_AT ? address
                                       : (uintptr_t)made->host;
        made->bytes = bytes;
        made->reach = reach;
        made->counted = counts ? bytes : 0;
        made->name = name;
        if (device->hooks)
            /* memory that the host may write counts as written */
            made->shadow = device->hooks->shadow_new(device, bytes, name || how == PLACE_HOST);
        placed = made->base != 0 && (made->shadow || !device->hooks) && is_free(device, made->base, bytes) &&
                 insert_live(device, made);
    }
    pthread_rwlock_unlock(&device->lock);
    if (!placed) {
        free_allocation(device, made);
        return NULL;
    }
    if (!zeroed && made->raw)
        memset(made->host, VM_POISON, (size_t)reach);
    return made;
}

bool vm_repeat(vm_device *device, uint64_t address, uint64_t bytes, const void *pattern, uint64_t period)
{
    bool done = false;
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *a = find_live(device, address, 1);
    if (a && a->base == address && a->reserved && bytes <= a->reserved && period && period % PAGE == 0) {
        const uint64_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
        done = vm_pages_repeat(a->host, whole, pattern, period);
    }
    pthread_rwlock_unlock(&device->lock);
    return done;
}

vm_allocation *vm_allocate(vm_device *device, uint64_t bytes, const char *name)
{
    return allocate_placed(device, PLACE_NEW, 0, bytes, true, name);
}

/* Counts the bytes, rounded up to 16, against the heap. The overhead that a GPU's malloc() has is not counted, because
 * no program can depend on the exact limit. */
vm_allocation *vm_allocate_heap(vm_device *device, uint64_t bytes, uint64_t limit)
{
    enum { GRAIN = 16 };
    uint64_t size = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    pthread_rwlock_wrlock(&device->lock);
    bool room = size >= bytes && size <= limit && device->heap <= limit - size;
    device->heap += room ? size : 0;
    device->heap_used = true;
    pthread_rwlock_unlock(&device->lock);
    vm_allocation *made = room ? vm_allocate(device, bytes, NULL) : NULL;
    if (!room)
        return NULL;
    pthread_rwlock_wrlock(&device->lock);
    if (made)
        made->heap = size, made->from_kernel = true;
    else
        device->heap -= size;
    pthread_rwlock_unlock(&device->lock);
    return made;
}

vm_allocation *vm_allocate_from_kernel(vm_device *device, uint64_t bytes)
{
    vm_allocation *made = vm_allocate(device, bytes, NULL);
    if (made) /* no lock is needed, because no other thread knows the address yet */
        made->from_kernel = true;
    return made;
}

bool vm_heap_used(vm_device *device)
{
    pthread_rwlock_rdlock(&device->lock);
    bool used = device->heap_used;
    pthread_rwlock_unlock(&device->lock);
    return used;
}

vm_allocation *vm_allocate_shared(vm_device *device, uint64_t bytes, const char *name)
{
    return allocate_placed(device, PLACE_HOST, 0, bytes, true, name);
}

uint64_t vm_alloc(vm_device *device, uint64_t bytes)
{
    vm_allocation *made = vm_allocate(device, bytes, NULL);
    return made ? made->base : 0;
}

void *vm_alloc_host(vm_device *device, uint64_t bytes, bool counts)
{
    vm_allocation *made = allocate_placed(device, PLACE_HOST, 0, bytes, counts, NULL);
    return made ? made->host : NULL;
}

uint64_t vm_reserve(vm_device *device, uint64_t bytes, uint64_t align)
{
    pthread_rwlock_wrlock(&device->lock);
    uint64_t base = claim_addresses(device, bytes, align);
    pthread_rwlock_unlock(&device->lock);
    return base;
}

void vm_pass(vm_device *device, uint64_t address)
{
    pthread_rwlock_wrlock(&device->lock);
    if (address <= device->limits.end_address && address > device->next_address)
        device->next_address = address;
    pthread_rwlock_unlock(&device->lock);
}

bool vm_alloc_at(vm_device *device, uint64_t address, uint64_t bytes)
{
    return allocate_placed(device, PLACE_AT, address, bytes, true, NULL) != NULL;
}

/* Adds an allocation whose memory the device does not own. The caller sets the address, the size and the host pointer
 * in `like`. */
static bool adopt(vm_device *device, const vm_allocation *like)
{
    const uint64_t address = like->base;
    vm_allocation *made = kiln__calloc(device->mem, 1, sizeof *made);
    if (!made)
        return false;
    *made = *like;
    made->home = device;
    made->reach = made->bytes;
    pthread_rwlock_wrlock(&device->lock);
    if (device->hooks) /* for the checks, the adopted memory counts as written */
        made->shadow = device->hooks->shadow_new(device, made->bytes, true);
    /* An address in the device's own range must lie in a reserved range. A host pointer must lie outside the part of
     * the device's range that is in use. */
    bool clear = !made->shared || address >= device->next_address || address < device->limits.first_address;
    if (clear && !made->shared)
        drop_fillers(device, address, made->bytes);
    bool done = clear && (made->shadow || !device->hooks) && is_free(device, address, made->bytes) &&
                insert_live(device, made);
    pthread_rwlock_unlock(&device->lock);
    if (!done)
        free_allocation(device, made);
    return done;
}

bool vm_adopt(vm_device *device, uint64_t address, void *host, uint64_t bytes, bool read_only)
{
    return adopt(device, &(vm_allocation){.base = address,
                                          .bytes = bytes,
                                          .host = host,
                                          .read_only = read_only,
                                          .shared = address == (uintptr_t)host});
}

bool vm_adopt_team(vm_device *device, uint64_t address, const vm_team *team, uint64_t offset, uint64_t bytes,
                   bool read_only)
{
    return adopt(
        device,
        &(vm_allocation){.base = address, .bytes = bytes, .read_only = read_only, .team = team, .team_offset = offset});
}

bool vm_hand_over(vm_allocation *allocation, vm_device *to)
{
    vm_device *from = allocation->home;
    struct vm_shadow *shadow = NULL;
    pthread_rwlock_wrlock(&to->lock);
    if (to->hooks)
        shadow = to->hooks->shadow_new(to, allocation->bytes, true);
    const bool done = (shadow || !to->hooks) && insert_live(to, allocation);
    pthread_rwlock_unlock(&to->lock);
    if (!done)
        return false;
    pthread_rwlock_wrlock(&from->lock);
    const size_t at = vm_search(from, allocation->base);
    memmove(from->live + at - 1, from->live + at, (from->live_count - at) * sizeof *from->live);
    from->live_count--;
    from->used -= allocation->counted;
    if (allocation->shadow)
        from->hooks->shadow_free(from, allocation->shadow, allocation->bytes);
    pthread_rwlock_unlock(&from->lock);
    allocation->shadow = shadow;
    allocation->home = to;
    vm_group_freed(to);
    return true;
}

int vm_file_new(const char *name, uint64_t bytes)
{
    const int file = bytes <= vm_file_most() ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    if (file < 0 || (ftruncate(file, (off_t)bytes) == 0 && fcntl(file, F_ADD_SEALS, VM_FILE_SEALS) == 0))
        return file;
    close(file);
    return -1;
}

int vm_share_memory(vm_device *device, uint64_t address)
{
    int file = -1;
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *a = find_live(device, address, 1);
    if (a && a->mapped) {
        file = a->file;
    } else if (a && (a->raw || a->reserved) && !a->shared && !a->heap) {
        const uint64_t bytes = (a->reach + PAGE - 1) / PAGE * PAGE;
        file = vm_file_new("kiln-device-memory", bytes);
        void *host = file >= 0 ? vm_guard_map((size_t)bytes, file, 0) : NULL;
        if (host) {
            memcpy(host, a->host, (size_t)a->reach);
            vm_guard_give(&device->guards, a->raw, (size_t)a->taken, get_kind(a));
            if (a->reserved)
                vm_pages_free(a->host, a->reserved);
            a->raw = NULL;
            a->reserved = 0;
            a->host = host;
            a->file = file;
            a->mapped = bytes;
            a->outside = true;
            if (a->shadow)
                device->hooks->shadow_write(a->shadow, 0, a->bytes);
            atomic_fetch_add(&device->generation, 1); /* invalidates the spans in caches */
        } else if (file >= 0) {
            close(file);
            file = -1;
        }
    }
    pthread_rwlock_unlock(&device->lock);
    vm_group_freed(device);
    return file;
}

void vm_set_outside(vm_device *device, uint64_t address)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *found = find_live(device, address, 1);
    if (found)
        found->outside = true;
    pthread_rwlock_unlock(&device->lock);
}

void vm_enlarge(vm_device *device, uint64_t bytes)
{
    pthread_rwlock_wrlock(&device->lock);
    if (bytes > device->limits.memory)
        device->limits.memory = bytes;
    pthread_rwlock_unlock(&device->lock);
}

bool vm_take(vm_device *device, uint64_t bytes)
{
    pthread_rwlock_wrlock(&device->lock);
    bool room = bytes <= device->limits.memory - device->used;
    device->used += room ? bytes : 0;
    pthread_rwlock_unlock(&device->lock);
    return room;
}

void vm_give(vm_device *device, uint64_t bytes)
{
    pthread_rwlock_wrlock(&device->lock);
    device->used -= bytes;
    pthread_rwlock_unlock(&device->lock);
}

/* Removes the allocation that begins at the address from the list. If `kernel` is set, removes only an allocation that
 * a kernel has made. Sets *moved to the number of later entries in the list. Each later entry moves by one place. */
static bool free_at(vm_device *device, uint64_t address, bool kernel, size_t *moved)
{
    *moved = 0;
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *found = find_live(device, address, 1);
    bool right = found && found->base == address && (!kernel || found->from_kernel);
    if (right) {
        device->heap -= found->heap;
        device->freed[device->freed_next % KILN__COUNT(device->freed)].base = found->base;
        device->freed[device->freed_next++ % KILN__COUNT(device->freed)].bytes = found->bytes;
        const size_t at = vm_search(device, address) - 1;
        *moved = device->live_count - at;
        remove_live(device, at);
        drop_fillers(device, found->base, found->bytes);
        vm_bury(device);
    }
    pthread_rwlock_unlock(&device->lock);
    if (right)
        vm_group_freed(device);
    return right;
}

bool vm_free(vm_device *device, uint64_t address)
{
    size_t moved;
    return free_at(device, address, false, &moved);
}

bool vm_free_from_kernel(vm_warp *w, uint64_t address)
{
    size_t moved;
    const bool right = free_at(w->runner->run->device, address, true, &moved);
    vm_charge(w, 1 + (moved >> 4)); /* moving 16 pointers counts as one step */
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
    vm_bury(device);
    pthread_rwlock_unlock(&device->lock);
}

void vm_runner_update(vm_runner *runner, uint64_t generation)
{
    vm_device *device = runner->run->device;
    atomic_store(&runner->generation, generation);
    pthread_rwlock_wrlock(&device->lock);
    vm_bury(device);
    pthread_rwlock_unlock(&device->lock);
}

/* Returns true if the program has registered the memory as read-only. The host may be unable to write such memory. */
static bool is_read_only_host(const vm_allocation *a) { return a->shared && a->read_only; }

/* Returns true if [address, address + bytes) lies in `first` and the allocations after it, with no gap on the device or
 * on the host. Memory that was mapped in adjacent parts can then be copied at once. If `write` is set, also tests that
 * the host can write all of the memory. */
static bool covers(const vm_device *device, const vm_allocation *first, uint64_t address, uint64_t bytes, bool write)
{
    size_t at = vm_search(device, first->base);
    uint64_t end = first->base + first->bytes;
    bool may = !write || !is_read_only_host(first);
    while (bytes > end - address && at < device->live_count && device->live[at]->base == end &&
           !device->live[at]->filler && device->live[at]->host == first->host + (end - first->base)) {
        may = may && !(write && is_read_only_host(device->live[at]));
        end += device->live[at++]->bytes;
    }
    return may && bytes <= end - address;
}

const void *vm_pointer_read(vm_device *device, uint64_t address, uint64_t bytes)
{
    pthread_rwlock_rdlock(&device->lock);
    const vm_allocation *found = find_live(device, address, bytes ? 1 : 0);
    const void *pointer = found && !found->team && covers(device, found, address, bytes, false)
                              ? found->host + (address - found->base)
                              : NULL;
    pthread_rwlock_unlock(&device->lock);
    return pointer;
}

void *vm_pointer(vm_device *device, uint64_t address, uint64_t bytes)
{
    pthread_rwlock_wrlock(&device->lock);
    const vm_allocation *found = find_live(device, address, bytes ? 1 : 0);
    void *pointer = found && !found->team && covers(device, found, address, bytes, true)
                        ? found->host + (address - found->base)
                        : NULL;
    for (size_t at = pointer ? vm_search(device, address) - 1 : 0; pointer && bytes > 0; at++) {
        const vm_allocation *a = device->live[at];
        uint64_t here = a->bytes - (address - a->base) < bytes ? a->bytes - (address - a->base) : bytes;
        if (a->shadow)
            device->hooks->shadow_write(a->shadow, address - a->base, here);
        address += here;
        bytes -= here;
    }
    pthread_rwlock_unlock(&device->lock);
    return pointer;
}

const vm_allocation *vm_allocation_of(vm_device *device, uint64_t address)
{
    pthread_rwlock_rdlock(&device->lock);
    const vm_allocation *found = find_live(device, address, 1);
    found = found && !found->team && address - found->base < found->bytes ? found : NULL;
    pthread_rwlock_unlock(&device->lock);
    if (!found && device->limits.group) {
        found = vm_elsewhere(device, address);
        found = found && address - found->base < found->bytes ? found : NULL;
    }
    return found;
}

void vm_set_internal(vm_device *device, uint64_t address)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *found = find_live(device, address, 1);
    if (found)
        found->internal = true;
    pthread_rwlock_unlock(&device->lock);
}

bool vm_was_freed(vm_device *device, uint64_t address)
{
    pthread_rwlock_rdlock(&device->lock);
    bool was = is_freed(device, address);
    pthread_rwlock_unlock(&device->lock);
    return was;
}

bool vm_range(vm_device *device, uint64_t address, uint64_t *base, uint64_t *bytes)
{
    pthread_rwlock_rdlock(&device->lock);
    vm_allocation *found = find_live(device, address, 1);
    if (found) {
        *base = found->base;
        *bytes = found->bytes;
    }
    pthread_rwlock_unlock(&device->lock);
    return found != NULL;
}

bool vm_about(vm_device *device, uint64_t address, vm_info *info)
{
    pthread_rwlock_rdlock(&device->lock);
    const vm_allocation *found = find_live(device, address, 1);
    if (found)
        *info = (vm_info){found->base, found->bytes, found->owner, found->name != NULL, found->shared};
    pthread_rwlock_unlock(&device->lock);
    return found != NULL;
}

bool vm_managed_variable(vm_device *device, uint64_t address, vm_info *info)
{
    bool found = false;
    pthread_rwlock_rdlock(&device->lock);
    for (size_t at = vm_search(device, address), k = at > 0 && device->live[at - 1]->base == address ? at - 1 : at;
         !found && k < device->live_count; k++) {
        const vm_allocation *a = device->live[k];
        found = a->shared && a->name;
        if (found)
            *info = (vm_info){.base = a->base, .bytes = a->bytes, .owner = a->owner, .variable = true, .shared = true};
    }
    pthread_rwlock_unlock(&device->lock);
    return found;
}

bool vm_overlaps(vm_device *device, uint64_t address, uint64_t bytes)
{
    pthread_rwlock_rdlock(&device->lock);
    size_t at = vm_search(device, address + bytes - 1);
    bool found = at > 0 && device->live[at - 1]->base + device->live[at - 1]->bytes > address;
    pthread_rwlock_unlock(&device->lock);
    return found;
}

void vm_set_owner(vm_device *device, uint64_t address, uint64_t owner)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *found = find_live(device, address, 1);
    if (found)
        found->owner = owner;
    pthread_rwlock_unlock(&device->lock);
}

void vm_open(vm_device *device, uint64_t address, uint32_t numbers)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *found = find_live(device, address, 1);
    if (found)
        found->open = numbers;
    pthread_rwlock_unlock(&device->lock);
}

void vm_open_owned(vm_device *device, uint64_t owner, uint32_t numbers)
{
    pthread_rwlock_wrlock(&device->lock);
    for (size_t k = 0; k < device->live_count; k++)
        if (device->live[k]->owner == owner)
            device->live[k]->open = numbers;
    pthread_rwlock_unlock(&device->lock);
    vm_group_freed(device);
}

uint64_t vm_memory_used(const vm_device *device)
{
    /* only the lock changes, which is not part of the device's value */
    vm_device *locked = (vm_device *)(uintptr_t)device;
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
    const bool zeroed = device->limits.zeroed;
    void *made = room ? vm_guard_take(&device->guards, (size_t)bytes, VM_GUARD_ANY, zeroed) : NULL;
    if (made)
        device->used += bytes;
    pthread_rwlock_unlock(&device->lock);
    if (made && !zeroed)
        memset(made, VM_POISON, (size_t)bytes);
    return made;
}

void vm_storage_free(vm_device *device, void *storage, uint64_t bytes)
{
    pthread_rwlock_wrlock(&device->lock);
    device->used -= bytes;
    pthread_rwlock_unlock(&device->lock);
    vm_guard_give(&device->guards, storage, (size_t)bytes, VM_GUARD_ANY);
}

bool vm_set_label(vm_device *device, uint64_t address, uint64_t bytes, const char *name, const char *role)
{
    size_t length = name ? strlen(name) + 1 : 0, role_length = role ? strlen(role) + 1 : 1;
    char *label = name ? kiln__alloc(device->mem, length + role_length) : NULL;
    if (name && !label)
        return false;
    if (label) {
        memcpy(label, name, length);
        memcpy(label + length, role ? role : "", role_length);
    }
    pthread_rwlock_wrlock(&device->lock);
    vm_allocation *found = find_live(device, address, 1);
    bool right = found && found->base == address && found->bytes == bytes && !found->name;
    char *unused = right ? found->label : label;
    if (right) {
        found->label = label;
        found->role = label ? label + length : NULL;
    }
    pthread_rwlock_unlock(&device->lock);
    kiln__free(device->mem, unused);
    return right;
}
