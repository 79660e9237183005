/* points.c - several variants as one set of points, neighbours, and random numbers. */
#include <string.h>

#include "points.h"
#include "index.h"

struct kiln__union {
    kiln__points points;
    const kiln_allocator *mem;
    kiln__arena arena;
    kiln__index **indices;
    const kiln__variant *const *variants;
};

/* ---- the spaces of several variants ---- */

static kiln_status union_at(void *user, uint64_t number, uint32_t *point, kiln_error **error)
{
    kiln__union *u = user;
    memset(point, 0, u->points.width * sizeof *point);
    for (size_t p = 0; p < u->points.part_count; p++) {
        uint64_t here = kiln__index_count(u->indices[p]);
        if (number < here) {
            point[0] = (uint32_t)p;
            return kiln__index_positions(u->indices[p], number, point + 1, error);
        }
        number -= here;
    }
    return kiln__fail(u->mem, error, KILN_ERROR_ARGUMENT, "the space has no configuration of that number");
}

static kiln_status union_holds(void *user, const uint32_t *point, bool *holds, kiln_error **error)
{
    kiln__union *u = user;
    return kiln__index_holds(u->indices[point[0]], point + 1, holds, error);
}

static kiln_status add_part(kiln__union *u, const kiln__space *space, const kiln__variant *variant, size_t p,
                            kiln__part *part, kiln_error **error)
{
    kiln_status status = kiln__index_open(space, &u->indices[p], error);
    if (status != KILN_OK)
        return status;
    kiln__part_axis *axes = kiln__arena_alloc(&u->arena, (variant->param_count + 1) * sizeof *axes);
    if (!axes)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < variant->param_count; i++) {
        const kiln_value *values;
        axes[i].values = (uint32_t)kiln__index_values(u->indices[p], i, &values);
        axes[i].ordered = axes[i].values > 0 && values[0].kind != KILN_TEXT;
    }
    *part = (kiln__part){variant->param_count, axes};
    if (__builtin_add_overflow(u->points.count, kiln__index_count(u->indices[p]), &u->points.count))
        u->points.count = UINT64_MAX;
    if (u->points.width < variant->param_count + 1)
        u->points.width = variant->param_count + 1;
    return KILN_OK;
}

kiln_status kiln__union_open(const kiln_allocator *mem, const kiln__space *const *spaces,
                             const kiln__variant *const *variants, size_t count, kiln__union **made,
                             kiln_error **error)
{
    kiln__union *u = kiln__calloc(mem, 1, sizeof *u);
    if (!u)
        return kiln__fail_memory(error);
    u->mem = mem;
    u->arena.mem = mem;
    u->indices = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *u->indices);
    kiln__part *parts = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *parts);
    const kiln__variant **kept = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *kept);
    kiln_status status = u->arena.failed ? kiln__fail_memory(error) : KILN_OK;
    u->points = (kiln__points){.mem = mem, .part_count = count, .width = 1, .parts = parts,
                               .at = union_at, .holds = union_holds, .user = u};
    u->variants = kept;
    for (size_t p = 0; p < count && status == KILN_OK; p++) {
        kept[p] = variants[p];
        status = add_part(u, spaces[p], variants[p], p, &parts[p], error);
    }
    if (status != KILN_OK) {
        kiln__union_free(u);
        return status;
    }
    *made = u;
    return KILN_OK;
}

void kiln__union_free(kiln__union *u)
{
    if (!u)
        return;
    for (size_t p = 0; u->indices && p < u->points.part_count; p++)
        kiln__index_free(u->indices[p]);
    kiln__arena_free(&u->arena);
    kiln__free(u->mem, u);
}

const kiln__points *kiln__union_points(const kiln__union *u) { return &u->points; }

void kiln__union_settings(const kiln__union *u, const uint32_t *point, kiln_setting *settings)
{
    const kiln__variant *variant = u->variants[point[0]];
    for (size_t i = 0; i < variant->param_count; i++) {
        const kiln_value *values;
        kiln__index_values(u->indices[point[0]], i, &values);
        settings[i] = (kiln_setting){variant->params[i].name, values[point[1 + i]]};
    }
}

/* ---- neighbours ---- */

kiln_status kiln__points_neighbours(const kiln__points *points, kiln__neighbourhood kind, const uint32_t *point,
                                    uint32_t **list, size_t *capacity, size_t *count, kiln_error **error)
{
    const kiln__part *part = &points->parts[point[0]];
    size_t width = points->width;
    for (size_t i = 0; i < part->axis_count; i++) {
        bool near = kind == KILN__ADJACENT && part->axes[i].ordered;
        uint32_t here = point[1 + i], first = near && here > 0 ? here - 1 : near ? here : 0;
        uint32_t end = near && here + 2 < part->axes[i].values ? here + 2 : part->axes[i].values;
        for (uint32_t v = first; v < end; v++) {
            if (v == here)
                continue;
            if (!kiln__grow(points->mem, list, capacity, *count + 1, width * sizeof **list))
                return kiln__fail_memory(error);
            uint32_t *next = *list + *count * width;
            memcpy(next, point, width * sizeof *next);
            next[1 + i] = v;
            bool holds = false;
            kiln_status status = points->holds(points->user, next, &holds, error);
            if (status != KILN_OK)
                return status;
            *count += holds;
        }
    }
    return KILN_OK;
}

/* ---- random numbers ---- */

static uint64_t mixed(uint64_t x) /* splitmix64: Steele, Lea and Flood, OOPSLA 2014 */
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t kiln__random_next(kiln__random *random)
{
    return mixed(random->state += 0x9e3779b97f4a7c15u);
}

__extension__ typedef unsigned __int128 wide;

uint64_t kiln__random_below(kiln__random *random, uint64_t bound) /* Lemire, TOMACS 2019: divides hardly ever */
{
    wide product = (wide)kiln__random_next(random) * bound;
    if ((uint64_t)product < bound) {
        uint64_t least = -bound % bound; /* 2^64 mod bound: below it some numbers would come up once more often */
        while ((uint64_t)product < least)
            product = (wide)kiln__random_next(random) * bound;
    }
    return (uint64_t)(product >> 64);
}

double kiln__random_unit(kiln__random *random)
{
    return (double)(kiln__random_next(random) >> 11) * 0x1p-53;
}

/* ---- a permutation: a Feistel network over the next even number of bits, gone round until it falls inside ---- */

kiln__shuffle kiln__shuffle_start(uint64_t count, uint64_t seed)
{
    unsigned half = 1;
    while (half < 32 && count > (uint64_t)1 << 2 * half)
        half++;
    return (kiln__shuffle){count, seed, half};
}

uint64_t kiln__shuffled(const kiln__shuffle *s, uint64_t index)
{
    enum { ROUNDS = 6 };
    uint64_t mask = ((uint64_t)1 << s->half) - 1, at = index;
    do {
        uint64_t left = at >> s->half, right = at & mask;
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t next = left ^ (mixed(right + mixed(s->seed + 0x9e3779b97f4a7c15u * (round + 1))) & mask);
            left = right;
            right = next;
        }
        at = left << s->half | right;
    } while (at >= s->count);
    return at;
}
