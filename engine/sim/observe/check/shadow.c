/* shadow.c - shadow memory of an allocation: a bit for each byte that was written, and cells in pages that are
 * allocated at the first access. RACES.md has the layout. */
#include <string.h>

#include "shadow_internal.h"
#include "vm_checks_internal.h"
#include "vm_memory.h"

static size_t page_count(uint64_t bytes) { return (size_t)((bytes + VM_SHADOW_PAGE - 1) / VM_SHADOW_PAGE); }

enum { LINE = 64 };

/* Aligns the groups to cache lines. The pointer that check_cells_free() must free is stored just before the first
 * group. */
vm_cells *check_cells_new(const kiln_allocator *mem, size_t groups)
{
    unsigned char *raw = kiln__calloc(mem, 1, groups * sizeof(vm_cells) + LINE);
    if (!raw)
        return NULL;
    /* the raw block is aligned for a pointer, so a pointer fits before `at` */
    unsigned char *at = raw + LINE - (uintptr_t)raw % LINE;
    memcpy(at - sizeof raw, &raw, sizeof raw);
    return (vm_cells *)(void *)at;
}

void check_cells_free(const kiln_allocator *mem, vm_cells *cells)
{
    void *raw;
    if (!cells)
        return;
    memcpy(&raw, (unsigned char *)cells - sizeof raw, sizeof raw);
    kiln__free(mem, raw);
}

/* Makes the bits only if bytes may be unwritten. */
vm_shadow *check_shadow_new(vm_check *check, uint64_t bytes, bool written)
{
    vm_shadow *made = kiln__calloc(check->mem, 1, sizeof *made);
    if (!made)
        return NULL;
    made->shift = 2;
    made->unwritten = written ? 0 : bytes;
    made->pages = kiln__calloc(check->mem, page_count(bytes), sizeof *made->pages);
    if (!written)
        made->written = kiln__calloc(check->mem, (size_t)(bytes / 64) + 1, sizeof *made->written);
    if (!made->pages || (!written && !made->written)) {
        check_shadow_free(check, made, bytes);
        return NULL;
    }
    return made;
}

void check_shadow_renew(vm_check *check, vm_shadow *shadow, uint64_t bytes)
{
    if (shadow->used)
        memset(shadow->used, 0, 2 * page_count(bytes) * sizeof *shadow->used);
    shadow->flagged = 0;
    for (size_t k = 0; shadow->pages && k < page_count(bytes); k++) {
        check->cell_bytes -= shadow->pages[k] ? (VM_SHADOW_PAGE >> shadow->shift) * sizeof(vm_cell) : 0;
        check_cells_free(check->mem, shadow->pages[k]);
        shadow->pages[k] = NULL;
    }
}

void check_shadow_free(vm_check *check, vm_shadow *shadow, uint64_t bytes)
{
    check_shadow_renew(check, shadow, bytes);
    kiln__free(check->mem, shadow->pages);
    kiln__free(check->mem, shadow->used);
    kiln__free(check->mem, shadow->written);
    kiln__free(check->mem, shadow);
}

void check_shadow_write(vm_shadow *shadow, uint64_t offset, uint64_t bytes)
{
    uint64_t end = offset + bytes;
    while (shadow->unwritten && offset < end) {
        uint64_t shift = offset % 64, count = 64 - shift < end - offset ? 64 - shift : end - offset;
        uint64_t mask = (count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1) << shift;
        uint64_t *word = &shadow->written[offset / 64], fresh = mask & ~*word;
        *word |= mask;
        shadow->unwritten -= (unsigned)__builtin_popcountll(fresh);
        offset += count;
    }
}

/* Marks bytes as unwritten. The bits must exist. */
static void mark_unwritten(vm_shadow *shadow, uint64_t offset, uint64_t bytes)
{
    for (uint64_t at = offset; at < offset + bytes; at++) {
        uint64_t bit = (uint64_t)1 << at % 64;
        shadow->unwritten += (shadow->written[at / 64] & bit) != 0;
        shadow->written[at / 64] &= ~bit;
    }
}

/* Creates the bits of an allocation whose bytes all counted as written. Returns false if memory runs out. */
static bool open_bits(vm_check *check, vm_shadow *shadow, uint64_t bytes)
{
    shadow->written = kiln__alloc(check->mem, (size_t)(bytes / 64 + 1) * sizeof *shadow->written);
    if (shadow->written)
        memset(shadow->written, 0xff, (size_t)(bytes / 64 + 1) * sizeof *shadow->written);
    return shadow->written != NULL;
}

/* Returns the shadow of the allocation at an address, its offset, and `bytes` cut to the allocation's end. Returns NULL
 * if there is no allocation, or if another device owns it. */
static vm_shadow *find_shadow(vm_device *device, uint64_t address, uint64_t *offset, uint64_t *bytes)
{
    const vm_allocation *a = device->check ? vm_allocation_of(device, address) : NULL;
    if (!a || !a->shadow || a->home != device)
        return NULL;
    *offset = address - a->base;
    *bytes = *bytes < a->bytes - *offset ? *bytes : a->bytes - *offset;
    return a->shadow;
}

void check_forget_bytes(vm_device *device, uint64_t address, uint64_t bytes)
{
    uint64_t offset;
    vm_shadow *shadow = find_shadow(device, address, &offset, &bytes);
    if (shadow && !shadow->written && !open_bits(device->check, shadow, vm_allocation_of(device, address)->bytes))
        return;
    if (shadow)
        mark_unwritten(shadow, offset, bytes);
}

void check_track(vm_device *device, uint64_t address)
{
    uint64_t offset, bytes = 1;
    vm_shadow *shadow = device->check ? find_shadow(device, address, &offset, &bytes) : NULL;
    if (shadow && !shadow->used) /* if memory runs out, the allocation is not tracked */
        shadow->used = kiln__calloc(device->check->mem, 2 * page_count(vm_allocation_of(device, address)->bytes),
                                    sizeof *shadow->used);
}

void check_rows(vm_device *device, uint64_t address, uint64_t row, uint64_t pitch)
{
    uint64_t offset, bytes = pitch;
    vm_shadow *shadow = device->check ? find_shadow(device, address, &offset, &bytes) : NULL;
    if (shadow && row < pitch)
        shadow->row = row, shadow->pitch = pitch;
}

void check_copied(vm_device *device, uint64_t to, uint64_t from, uint64_t bytes)
{
    uint64_t at = 0, source_at = 0, most = bytes;
    vm_shadow *target = find_shadow(device, to, &at, &bytes), *source = find_shadow(device, from, &source_at, &most);
    if (!target || !source || !target->written || source->unwritten == 0)
        return; /* nothing to do, because the copy has marked the target as written */
    bytes = bytes < most ? bytes : most;
    for (uint64_t k = 0; k < bytes; k++)
        if (!(source->written[(source_at + k) / 64] >> (source_at + k) % 64 & 1))
            mark_unwritten(target, at + k, 1);
}

void check_parts_drop(vm_check *check, vm_pattern *p)
{
    for (unsigned k = 0; k < VM_CELLS; k++) {
        kiln__free(check->mem, p->parts[k]);
        p->parts[k] = NULL;
    }
}
