/* cache.c - models the L1 cache of an SM, whose lines have four sectors (replacement: LRU). Also estimates the memory
 * footprint of a whole launch: how many bytes it accesses, and how many SMs access the same bytes. */
#include <string.h>

#include "vm_cache.h"

/* ---- L1 ---- */

enum { WAYS = 16 };
typedef struct way {
    uint32_t line, used, at;
    uint8_t sectors;
} way;
struct vm_cache {
    const kiln_allocator *mem;
    uint32_t sets, clock;
    way *ways;
};

vm_cache *model_cache_new(const kiln_allocator *mem, double bytes)
{
    vm_cache *cache = kiln__calloc(mem, 1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->mem = mem;
    cache->sets = bytes > 0 ? (uint32_t)(bytes / VM_TRACE_LINE_BYTES / WAYS) : 0;
    cache->ways = kiln__calloc(mem, (size_t)cache->sets * WAYS + 1, sizeof *cache->ways);
    if (cache->ways)
        return cache;
    kiln__free(mem, cache);
    return NULL;
}

void model_cache_free(vm_cache *cache)
{
    if (!cache)
        return;
    kiln__free(cache->mem, cache->ways);
    kiln__free(cache->mem, cache);
}

static uint32_t hash_line(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static way *find_way(const vm_cache *cache, uint32_t line)
{
    way *set = cache->ways + (size_t)(hash_line(line) % cache->sets) * WAYS;
    for (unsigned k = 0; k < WAYS; k++)
        if (set[k].sectors && set[k].line == line)
            return &set[k];
    return NULL;
}

uint32_t model_cache_load(vm_cache *cache, uint32_t line, uint32_t sectors, uint32_t *pending)
{
    *pending = 0;
    if (cache->sets == 0)
        return sectors;
    way *at = find_way(cache, line);
    if (!at) {
        way *set = cache->ways + (size_t)(hash_line(line) % cache->sets) * WAYS;
        at = set;
        for (unsigned k = 1; k < WAYS; k++)
            if (!set[k].sectors || (at->sectors && set[k].used < at->used))
                at = &set[k];
        *at = (way){.line = line};
    }
    uint32_t missing = sectors & ~(uint32_t)at->sectors;
    if (missing != sectors)
        *pending = at->at;
    at->sectors |= (uint8_t)sectors;
    at->used = ++cache->clock;
    return missing;
}

void model_cache_fill(vm_cache *cache, uint32_t line, uint32_t at)
{
    way *there = cache->sets ? find_way(cache, line) : NULL;
    if (there && there->at < at)
        there->at = at;
}

/* ---- sets of accessed lines and sectors ---- */

typedef struct touched {
    uint32_t line;
    /* sectors: a bit for each sector that was accessed; written: a bit for each sector that was written */
    uint8_t sectors, written;
} touched;
typedef struct lines {
    touched *items;
    size_t count, room;
    bool failed;
} lines; /* the capacity `room` is a power of two */

static bool grow_lines(const kiln_allocator *mem, lines *set)
{
    size_t room = set->room ? 2 * set->room : 4096;
    touched *items = room <= (size_t)1 << 26 ? kiln__calloc(mem, room, sizeof *items) : NULL;
    if (!items) {
        set->failed = true;
        return false;
    }
    for (size_t k = 0; k < set->room; k++)
        if (set->items[k].sectors) {
            size_t at = hash_line(set->items[k].line) & (room - 1);
            while (items[at].sectors)
                at = (at + 1) & (room - 1);
            items[at] = set->items[k];
        }
    kiln__free(mem, set->items);
    set->items = items;
    set->room = room;
    return true;
}

/* Adds the sectors of an access to a set, which is a hash table with open addressing. Returns the bits of the new
 * sectors. For a read, a sector is new if nothing has accessed it before. For a write, a sector is new if nothing has
 * written it before. */
static uint32_t add_sectors(const kiln_allocator *mem, lines *set, uint32_t line, uint32_t sectors, bool write)
{
    if (2 * (set->count + 1) > set->room && !grow_lines(mem, set))
        return 0;
    size_t at = hash_line(line) & (set->room - 1);
    while (set->items[at].sectors && set->items[at].line != line)
        at = (at + 1) & (set->room - 1);
    touched *found = &set->items[at];
    uint32_t fresh = sectors & ~(uint32_t)(write ? found->written : found->sectors);
    set->count += found->sectors == 0 && sectors != 0;
    found->line = line;
    found->sectors |= (uint8_t)sectors;
    found->written |= (uint8_t)(write ? sectors : 0);
    return fresh;
}

/* ---- the launch ---- */

#define ALLOCATIONS 64
#define BUSY_LINES 4096
#define BUSY_REGION 16u  /* number of consecutive lines (2 KiB) that one slice of the L2 is assumed to serve */
typedef struct part {    /* an allocation of device memory that the launch accesses */
    uint32_t first, end; /* lines */
    /* Numbers of sectors that the traced blocks access. `each` is the sum over the blocks. `together` counts a sector
     * once, even if several blocks access it. */
    double each, together;
    double share;
    bool shared;
} part;
struct vm_footprint {
    const kiln_allocator *mem;
    lines seen;
    part parts[ALLOCATIONS];
    unsigned part_count;
    uint32_t granule; /* number of sectors of one memory transfer */
    /* True if the launch accesses more data than the L2 holds. The L2 then evicts data between a read and a later
     * write. */
    bool spills;
    struct {
        uint32_t line;
        double hits;
        /* hash table of the groups of lines that atomics access; if two groups have the same hash, the table has only
         * the first group */
    } busy[BUSY_LINES];
    double hottest;
};

static void add_hits(vm_footprint *f, uint32_t line, double hits)
{
    line /= BUSY_REGION;
    unsigned at = hash_line(line) % BUSY_LINES;
    if (f->busy[at].hits > 0 && f->busy[at].line != line)
        return;
    f->busy[at].line = line;
    f->busy[at].hits += hits;
    f->hottest = f->busy[at].hits > f->hottest ? f->busy[at].hits : f->hottest;
}

double model_footprint_hottest(const vm_footprint *f) { return f->hottest; }

static part *find_part(vm_footprint *f, vm_device *device, uint32_t line)
{
    for (unsigned k = 0; k < f->part_count; k++)
        if (line >= f->parts[k].first && line < f->parts[k].end)
            return &f->parts[k];
    uint64_t base, bytes;
    if (!device || f->part_count == ALLOCATIONS ||
        !vm_range(device, VM_GLOBAL_BASE + (uint64_t)line * VM_TRACE_LINE_BYTES, &base, &bytes))
        return NULL;
    part *made = &f->parts[f->part_count++];
    uint64_t first = (base - VM_GLOBAL_BASE) / VM_TRACE_LINE_BYTES;
    *made = (part){.first = (uint32_t)first,
                   .share = 1,
                   .end = (uint32_t)(first + (bytes + VM_TRACE_LINE_BYTES - 1) / VM_TRACE_LINE_BYTES)};
    return made;
}

static uint32_t whole_granules(const vm_footprint *f, uint32_t sectors)
{
    if (f->granule >= 4)
        return sectors ? 15 : 0;
    if (f->granule == 2)
        return (sectors & 3 ? 3u : 0) | (sectors & 12 ? 12u : 0);
    return sectors;
}

/* Adds the sectors that a warp's trace accesses to the set of its block (`own`) and to the set of all blocks. If a
 * trace ends before its block ends, `scale` extrapolates the counts. */
static void survey_warp(vm_footprint *f, vm_device *device, const vm_cost *cost, const vm_trace_warp *t, lines *own,
                        double scale)
{
    for (size_t at = 0; at + 2 <= t->count;) {
        uint32_t insn = t->words[at], left = t->words[at + 1];
        at += 2;
        for (; left; left--, insn++) {
            if (!cost->insns[insn].traced.memory || at >= t->count)
                continue;
            uint32_t word = t->words[at], first = 1, count = VM_TRACE_LINES(word), size = VM_TRACE_SIZE(word);
            if (word & VM_TRACE_ENGINE) {
                first = VM_TRACE_COPY_LINES;
                count = size > first ? size - 1 : 0;
            }
            for (uint32_t k = first; k <= count && at + k < t->count; k++) {
                uint32_t line = VM_TRACE_LINE(t->words[at + k]);
                uint32_t sectors = whole_granules(f, VM_TRACE_SECTORS(t->words[at + k]));
                part *p = find_part(f, device, line);
                if (first == 1 && word & VM_TRACE_COUNTED && at + count + k < t->count)
                    add_hits(f, line, t->words[at + count + k] * scale);
                uint32_t fresh = add_sectors(f->mem, own, line, sectors, false),
                         new = add_sectors(f->mem, &f->seen, line, sectors, false);
                if (p) {
                    p->each += __builtin_popcount(fresh) * scale;
                    p->together += __builtin_popcount(new) * scale;
                }
            }
            at += size;
        }
    }
}

/* Makes the footprint of a launch. For each allocation it estimates how many blocks access the same sector, from the
 * size of the allocation and the accesses of the traced blocks. */
vm_footprint *model_footprint_new(const kiln_allocator *mem, vm_device *device, const struct vm_trace *trace,
                                  const vm_cost *cost, const sim_model *model, uint64_t block_count)
{
    vm_footprint *f = kiln__calloc(mem, 1, sizeof *f);
    if (!f)
        return NULL;
    f->mem = mem;
    f->granule = (uint32_t)(model->dram_granule / 32);
    double scale = 1;
    for (uint32_t b = 0; b < trace->block_count; b++) {
        lines own = {0};
        uint64_t issued = 0, traced = 0;
        for (uint32_t k = 0; k < trace->warps_per_block; k++) {
            issued += trace->warps[(size_t)b * trace->warps_per_block + k].issued;
            traced += trace->warps[(size_t)b * trace->warps_per_block + k].traced;
        }
        if (trace->blocks[b].whole && traced)
            /* the first traced block always runs to its end, so later blocks that were cut off can use its scale */
            scale = (double)issued / (double)traced;
        for (uint32_t k = 0; k < trace->warps_per_block; k++)
            survey_warp(f, device, cost, &trace->warps[(size_t)b * trace->warps_per_block + k], &own, scale);
        f->seen.failed |= own.failed;
        kiln__free(mem, own.items);
    }
    double touched_bytes = 0;
    for (unsigned k = 0; k < f->part_count; k++) {
        part *p = &f->parts[k];
        double blocks = trace->block_count, whole = (double)(p->end - p->first) * 4;
        double asked = p->each / blocks * (double)block_count, fetched = asked < whole ? asked : whole;
        double by_sms = p->together / blocks * (double)block_count;
        touched_bytes += 32 * fetched;
        p->shared = asked > 1.5 * fetched;
        p->share = by_sms > fetched ? fetched / by_sms : 1;
    }
    f->spills = touched_bytes > model->l2_size;
    kiln__free(mem, f->seen.items);
    f->seen = (lines){.failed = f->seen.failed};
    return f;
}

void model_footprint_free(vm_footprint *f)
{
    if (!f)
        return;
    kiln__free(f->mem, f->seen.items);
    kiln__free(f->mem, f);
}

bool model_footprint_failed(const vm_footprint *f) { return f->seen.failed; }

double model_footprint_touch(vm_footprint *f, uint32_t line, uint32_t sectors, bool write, bool cold, double *share,
                             bool *missing)
{
    uint32_t fresh = add_sectors(f->mem, &f->seen, line, whole_granules(f, sectors), write && f->spills);
    if (fresh == 0)
        return 0;
    const part *p = find_part(f, NULL, line & 0x0fffffffu);
    *share = p ? p->share : 1;
    /* After the start of the launch, another block has usually fetched a sector that several blocks access. So the
     * access misses only with the probability `share`. */
    *missing = cold || !p || !p->shared || hash_line(line ^ 0x9e3779b9u) < p->share * 4294967295.0;
    return 32.0 * __builtin_popcount(fresh);
}
