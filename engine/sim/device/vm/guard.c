/* guard.c - host memory of kernels, between pages that nothing may touch. vm_reach_span() compares every access of a
 * kernel with the bounds of an object. If this comparison has a bug, an access just outside the bounds hits a guard
 * page, and a signal ends the process. Without the guard page, such an access would reach the host's own memory.
 *
 * There are two kinds of memory. A separate region is one mapping that consists of a guard, the memory, and a guard.
 * Memory of at most SLOT_MOST bytes shares an arena, unless the caller asks for a separate region (VM_GUARD_OWN). An
 * arena is one mapping that consists of a guard, slots of one size, and a guard. The number of mappings of a process is
 * limited, so not all small memory can have separate regions. The neighbours of a slot belong to kernels, never to the
 * host. In both kinds the memory ends at the end of its region or slot.
 *
 * Sizes are rounded up to size classes, so that freed memory can serve the next request. Each power of two has four
 * size classes. So launches can take and give back the memory of their blocks without a system call. Freed regions are
 * kept until they have KEPT_MOST bytes together. Further freed regions are unmapped. Arenas stay mapped until
 * vm_guards_close(). */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vm_guard.h"

enum {
    /* memory begins and ends at multiples of this size, which is at least the alignment of the widest access */
    UNIT = 64,
    PAGE_CLASS = 3,    /* the class of 4096 bytes */
    CLASS_PAGE = 4096, /* the sizes of classes above this size are multiples of it */
    BEFORE = 1 << 16,  /* bytes of the guards before and behind a region */
    BEHIND = 1 << 20,
    ARENA = 1 << 20,      /* the least size of an arena in bytes; an arena is larger if eight slots need more */
    KEPT_MOST = 64 << 20, /* bytes of free regions that are kept for later use */
};
/* Under the address sanitizer all memory is in separate regions, because an overrun from one slot into the next would
 * not be detected. */
#if defined(__SANITIZE_ADDRESS__)
#define SLOT_MOST 0u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOT_MOST 0u
#endif
#endif
#ifndef SLOT_MOST
#define SLOT_MOST (1u << 18)
#endif

bool vm_guards_open(vm_guards *g, const kiln_allocator *mem)
{
    g->mem = mem;
    return pthread_mutex_init(&g->lock, NULL) == 0;
}

static size_t get_page_size(void)
{
    const long page = sysconf(_SC_PAGESIZE);
    return page > CLASS_PAGE ? (size_t)page : CLASS_PAGE;
}

static size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/* Returns the size and the number of the class for an allocation of `bytes` bytes. The sizes are 512, 1024, 2048 and
 * 4096, then at most four sizes for each power of two, rounded to pages. A separate region (`own`) has at least 4096
 * bytes, because a mapping consists of whole pages. */
static size_t get_class(size_t bytes, bool own, unsigned *number)
{
    if (bytes <= CLASS_PAGE) {
        unsigned n = own ? PAGE_CLASS : 0;
        while ((size_t)512 << n < bytes)
            n++;
        *number = n;
        return (size_t)512 << n;
    }
    unsigned power = 12;
    while ((bytes - 1) >> (power + 1))
        power++;
    const size_t low = (size_t)1 << power, step = low / 4 < CLASS_PAGE ? CLASS_PAGE : low / 4;
    const size_t size = round_up(bytes, step);
    *number = PAGE_CLASS + 1 + (power - 12) * 4 + (unsigned)((size - low) / step) - 1;
    return size;
}

/* Returns true if the memory is a separate region. Rounds *bytes up to a multiple of UNIT, because the memory ends at
 * the end of its region or slot and so begins *bytes before that end. */
static bool is_own(size_t *bytes, vm_guard_kind kind)
{
    *bytes = round_up(*bytes ? *bytes : 1, UNIT);
    return kind == VM_GUARD_OWN || *bytes > SLOT_MOST;
}

/* Maps `bytes` between two guards. Returns NULL if the system refuses. */
static unsigned char *map_between_guards(size_t bytes)
{
    const size_t page = get_page_size(), size = round_up(bytes, page), all = BEFORE + size + BEHIND;
    unsigned char *base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (mprotect(base + BEFORE, size, PROT_READ | PROT_WRITE) != 0) {
        munmap(base, all);
        return NULL;
    }
    /* the memory ends at the guard, even if the system's page is larger than the memory */
    return base + BEFORE + size - bytes;
}

static void unmap_with_guards(unsigned char *at, size_t bytes)
{
    const size_t size = round_up(bytes, get_page_size());
    munmap(at + bytes - size - BEFORE, BEFORE + size + BEHIND);
}

void *vm_guard_map(size_t bytes, int file, off_t offset)
{
    const size_t size = round_up(bytes, get_page_size()), all = BEFORE + size + BEHIND;
    if (bytes == 0 || bytes > SIZE_MAX / 4)
        return NULL;
    unsigned char *base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (file >= 0 &&
        mmap(base + BEFORE, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, offset) == MAP_FAILED) {
        munmap(base, all);
        return NULL;
    }
    return base + BEFORE;
}

void vm_guard_unmap(void *at, size_t bytes)
{
    munmap((unsigned char *)at - BEFORE, BEFORE + round_up(bytes, get_page_size()) + BEHIND);
}

/* Makes room in a list for `more` regions or slots, so that freeing one of them cannot fail. The caller holds the lock.
 */
static bool make_room(vm_guards *g, vm_guard_list *list, size_t more)
{
    if (!kiln__grow(g->mem, &list->at, &list->capacity, list->made + more, sizeof *list->at))
        return false;
    list->made += more;
    return true;
}

/* Makes an arena and adds its slots to the list. The caller holds the lock. */
static bool add_arena(vm_guards *g, vm_guard_list *slots, size_t size)
{
    enum { LEAST = 8 };
    const size_t count = size * LEAST > ARENA ? LEAST : ARENA / size;
    if (!kiln__grow(g->mem, &g->arenas, &g->arena_capacity, g->arena_count + 1, sizeof *g->arenas) ||
        !make_room(g, slots, count))
        return false;
    unsigned char *at = map_between_guards(count * size);
    if (!at) {
        slots->made -= count;
        return false;
    }
    g->arenas[g->arena_count++] = (vm_guard_arena){at, count * size};
    for (size_t k = 0; k < count; k++)
        slots->at[slots->count++] = at + k * size;
    return true;
}

/* Takes a free region or slot, or makes a new region or slot. Maps a new separate region without holding the lock, and
 * a new arena under the lock. If the caller needs zeros, clears memory that was used before. A new mapping is already
 * zero. */
void *vm_guard_take(vm_guards *g, size_t bytes, vm_guard_kind kind, bool zeroed)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    const bool own = is_own(&bytes, kind);
    unsigned number;
    const size_t size = get_class(bytes, own, &number);
    vm_guard_list *list = own ? &g->regions[number] : &g->slots[number];
    unsigned char *at = NULL;
    bool fresh = false;
    pthread_mutex_lock(&g->lock);
    if (list->count > 0 || (!own && add_arena(g, list, size))) {
        at = list->at[--list->count];
        g->kept -= own ? size : 0;
    } else {
        fresh = own && make_room(g, list, 1);
    }
    pthread_mutex_unlock(&g->lock);
    if (fresh && !(at = map_between_guards(size))) {
        pthread_mutex_lock(&g->lock);
        list->made--;
        pthread_mutex_unlock(&g->lock);
    }
    if (!at)
        return NULL;
    at += size - bytes;
    if (zeroed && !fresh)
        memset(at, 0, bytes);
    return at;
}

void vm_guard_give(vm_guards *g, void *memory, size_t bytes, vm_guard_kind kind)
{
    if (!memory)
        return;
    const bool own = is_own(&bytes, kind);
    unsigned number;
    const size_t size = get_class(bytes, own, &number);
    vm_guard_list *list = own ? &g->regions[number] : &g->slots[number];
    unsigned char *at = (unsigned char *)memory + bytes - size;
    pthread_mutex_lock(&g->lock);
    /* The list may have no room for the region, if another device has made the region (vm_hand_over). */
    const bool kept = !own || (size <= KEPT_MOST - g->kept && list->count < list->capacity);
    if (kept)
        list->at[list->count++] = at;
    else
        list->made -= list->made > 0;
    g->kept += kept && own ? size : 0;
    list->size = size;
    pthread_mutex_unlock(&g->lock);
    if (!kept)
        unmap_with_guards(at, size);
}

void vm_guards_close(vm_guards *g)
{
    for (unsigned number = 0; number < VM_GUARD_CLASSES; number++) {
        vm_guard_list *list = &g->regions[number];
        while (list->count > 0)
            unmap_with_guards(list->at[--list->count], list->size);
        kiln__free(g->mem, list->at);
        kiln__free(g->mem, g->slots[number].at);
    }
    for (size_t k = 0; k < g->arena_count; k++)
        unmap_with_guards(g->arenas[k].at, g->arenas[k].bytes);
    kiln__free(g->mem, g->arenas);
    pthread_mutex_destroy(&g->lock);
}
