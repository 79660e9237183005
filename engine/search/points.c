/* points.c - the points of several variants as one set, the neighbours of a point, and a permutation that is
 * computed. */
#include <math.h>
#include <string.h>

#include "points.h"
#include "index.h"

/* The spaces of several variants as one set of points. */
struct kiln__union {
    kiln__points points;
    const kiln_allocator *mem;
    kiln__arena arena;
    const kiln__space *const *spaces;
    kiln__index **indices;    /* one index for each part; NULL means that the points of this part are drawn */
    kiln__sampler **samplers; /* one sampler for each part without an index */
    bool *dry;                /* for each part, true if drawing from it found nothing */
    size_t open;              /* the number of parts from which points can still be drawn */
    kiln__bounds bounds;
    const kiln__variant *const *variants;
};

/* ---- the spaces of several variants ---- */

static kiln_status union_find_point(void *user, uint64_t number, uint32_t *point, kiln_error **error)
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
    return kiln__fail(u->mem, error, KILN_ERROR_ARGUMENT, "the space has no configuration with that number");
}

static kiln_status union_check_point(void *user, const uint32_t *point, bool *holds, kiln_error **error)
{
    kiln__union *u = user;
    if (!u->indices[point[0]])
        return kiln__space_holds_at(u->spaces[point[0]], point + 1, holds, error);
    return kiln__index_holds(u->indices[point[0]], point + 1, holds, error);
}

/* ---- drawing points, if not all can be counted ---- */

/* The bounds are in units of kiln__effort, and not in seconds, because a seed must give the same points on every
 * machine. One unit takes some nanoseconds. DRAW_UNITS limits the work of drawing one point. If finding a point by its
 * number takes more than QUICK_UNITS, points are drawn instead. If it takes more than SLOW_UNITS, the flag `slow` of
 * the points is set. */
#define DRAW_UNITS ((uint64_t)1 << 28)
#define QUICK_UNITS ((uint64_t)1 << 21)
#define SLOW_UNITS ((uint64_t)1 << 13)
#define DRAW_LIMIT_NS 10000000000u /* a second bound, in nanoseconds, for machines on which a unit takes far longer */

static uint64_t draw_number(void *user, uint64_t bound) { return kiln__random_below(user, bound); }

static uint64_t pick_earlier_deadline(uint64_t one, uint64_t other)
{
    return one && (!other || one < other) ? one : other;
}

static kiln_status fail_interrupted(const kiln__union *u, kiln_error **error)
{
    return kiln__fail(u->mem, error, KILN_ERROR_INTERRUPTED, "stopped while walking the search space");
}

static kiln_status draw_from_part(kiln__union *u, size_t p, kiln__random *random, uint32_t *positions, bool *found,
                                  kiln_error **error)
{
    const kiln__bounds *b = &u->bounds;
    kiln__effort effort = {.deadline = pick_earlier_deadline(kiln__now_ns() + DRAW_LIMIT_NS, b->deadline),
                           .most = b->draw_units ? b->draw_units : DRAW_UNITS,
                           .stop = b->stop,
                           .user = b->user};
    if (u->indices[p]) {
        uint64_t count = kiln__index_count(u->indices[p]);
        *found = count > 0;
        return *found ? kiln__index_positions(u->indices[p], kiln__random_below(random, count), positions, error)
                      : KILN_OK;
    }
    kiln_status status = kiln__sampler_draw(u->samplers[p], draw_number, random, &effort, positions, found, error);
    return status == KILN_OK && effort.stopped ? fail_interrupted(u, error) : status;
}

/* Draws a point from a random part. All parts are equally likely, because the number of points in each part is unknown.
 * If drawing from a part finds nothing, the part is marked as dry and is not tried again. */
static kiln_status union_draw_point(void *user, kiln__random *random, uint32_t *point, bool *found, kiln_error **error)
{
    kiln__union *u = user;
    kiln_status status = KILN_OK;
    *found = false;
    while (u->open && !*found && status == KILN_OK) {
        if (u->bounds.deadline && kiln__now_ns() >= u->bounds.deadline)
            return KILN_OK;
        uint64_t n = kiln__random_below(random, u->open);
        size_t p = 0;
        while (u->dry[p] || n-- > 0)
            p++;
        memset(point, 0, u->points.width * sizeof *point);
        point[0] = (uint32_t)p;
        status = draw_from_part(u, p, random, point + 1, found, error);
        if (status == KILN_OK && !*found) {
            u->dry[p] = true;
            u->open--;
        }
    }
    return status;
}

bool kiln__union_empty(const kiln__union *u)
{
    for (size_t p = 0; p < u->points.part_count; p++)
        if (u->indices[p] ? kiln__index_count(u->indices[p]) > 0
                          : !u->samplers[p] || !kiln__sampler_none(u->samplers[p]))
            return false;
    return true;
}

kiln_status kiln__union_none_found(const kiln__union *u, double seconds, kiln_error **error)
{
    size_t most = u->points.part_count;
    for (size_t p = 0; p < u->points.part_count; p++)
        if (u->samplers[p] && (most == u->points.part_count || kiln__sampler_tally(u->samplers[p])->tried >
                                                                   kiln__sampler_tally(u->samplers[most])->tried))
            most = p;
    if (most == u->points.part_count)
        return kiln__fail(u->mem, error, KILN_ERROR_CONSTRAINT, "no valid configuration was found in %.3g s", seconds);
    return kiln__space_none_found(u->spaces[most], kiln__sampler_tally(u->samplers[most]), seconds, error);
}

/* Counts the points of part p and builds its index. If counting the points or finding a point by its number takes too
 * long, opens a sampler instead of the index. */
static kiln_status open_index(kiln__union *u, size_t p, kiln_error **error)
{
    const kiln__bounds *b = &u->bounds;
    kiln__effort effort = {.deadline = pick_earlier_deadline(b->index_deadline, b->deadline),
                           .most = b->index_units,
                           .stop = b->stop,
                           .user = b->user};
    uint64_t found = 0;
    bool bounded = effort.deadline || effort.most, quick = true;
    kiln_status status = kiln__index_open_within(u->spaces[p], &effort, &u->indices[p], &found, error);
    if (status == KILN_OK && effort.stopped)
        return fail_interrupted(u, error);
    if (status == KILN_OK && u->indices[p])
        found = kiln__index_count(u->indices[p]);
    if (status == KILN_OK && u->indices[p] && bounded)
        status = kiln__index_quick(u->indices[p], b->quick_units ? b->quick_units : QUICK_UNITS, &quick, error);
    if (status == KILN_OK && u->indices[p] && quick) {
        bool swift = true;
        status = kiln__index_quick(u->indices[p], SLOW_UNITS, &swift, error);
        u->points.slow |= !swift;
    }
    if (status != KILN_OK)
        return status;
    if (!u->indices[p])
        found = UINT64_MAX;
    if (!quick) {
        kiln__index_free(u->indices[p]);
        u->indices[p] = NULL;
    }
    if (__builtin_add_overflow(u->points.count, found, &u->points.count))
        u->points.count = UINT64_MAX;
    if (u->points.count == UINT64_MAX) /* all points together are too many for numbers of 64 bits */
        u->points.draw = union_draw_point;
    if (u->indices[p])
        return KILN_OK;
    u->points.draw = union_draw_point;
    return kiln__sampler_open(u->spaces[p], &u->samplers[p], error);
}

/* Returns a value as a size. Returns 0 if the value is not a positive whole number. A whole number of the type float
 * (4.0) is also a size. */
static int64_t read_size(kiln_value value)
{
    if (value.kind == KILN_FLOAT && value.as.f > 0 && value.as.f < 0x1p62 && value.as.f == floor(value.as.f))
        return (int64_t)value.as.f;
    return value.kind == KILN_INT && value.as.i > 0 ? value.as.i : 0;
}

const bool *kiln__find_powers(kiln__arena *arena, const kiln_value *values, size_t count)
{
    enum { MOST = 4096 }; /* a longer list is a range of numbers, in which powers of two are too rare */
    bool *powers = count > 2 && count <= MOST ? kiln__arena_alloc(arena, count) : NULL;
    size_t found = 0;
    for (size_t i = 0; powers && i < count; i++) {
        int64_t size = read_size(values[i]);
        if (size == 0) /* the list has the values of a switch, or numbers of methods */
            return NULL;
        found += powers[i] = (size & (size - 1)) == 0;
    }
    return found > 1 && found < count ? powers : NULL;
}

static kiln_status add_part(kiln__union *u, const kiln__variant *variant, size_t p, kiln__part *part,
                            kiln_error **error)
{
    kiln_status status = open_index(u, p, error);
    if (status != KILN_OK)
        return status;
    kiln__part_axis *axes = kiln__arena_alloc(&u->arena, (variant->param_count + 1) * sizeof *axes);
    if (!axes)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < variant->param_count; i++) {
        const kiln_value *values;
        axes[i].values = (uint32_t)kiln__space_values(u->spaces[p], i, &values);
        axes[i].ordered = axes[i].values > 0 && values[0].kind != KILN_TEXT;
        axes[i].powers = kiln__find_powers(&u->arena, values, axes[i].values);
    }
    if (u->arena.failed)
        return kiln__fail_memory(error);
    *part = (kiln__part){variant->param_count, axes};
    if (u->points.width < variant->param_count + 1)
        u->points.width = variant->param_count + 1;
    return KILN_OK;
}

/* Makes a union. Copies the pointers to spaces and variants, and for each part makes an index or opens its sampler. If
 * this fails, frees everything. */
kiln_status kiln__union_open(const kiln_allocator *mem, const kiln__space *const *spaces,
                             const kiln__variant *const *variants, size_t count, const kiln__bounds *bounds,
                             kiln__union **made, kiln_error **error)
{
    kiln__union *u = kiln__calloc(mem, 1, sizeof *u);
    if (!u)
        return kiln__fail_memory(error);
    u->mem = mem;
    u->arena.mem = mem;
    if (bounds)
        u->bounds = *bounds;
    u->open = count;
    u->indices = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *u->indices);
    u->samplers = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *u->samplers);
    u->dry = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *u->dry);
    const kiln__space **kept_spaces = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *kept_spaces);
    kiln__part *parts = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *parts);
    const kiln__variant **kept = kiln__arena_alloc(&u->arena, (count + 1) * sizeof *kept);
    kiln_status status = u->arena.failed ? kiln__fail_memory(error) : KILN_OK;
    u->points = (kiln__points){.mem = mem,
                               .part_count = count,
                               .width = 1,
                               .parts = parts,
                               .at = union_find_point,
                               .holds = union_check_point,
                               .user = u};
    u->variants = kept;
    u->spaces = kept_spaces;
    for (size_t p = 0; p < count && status == KILN_OK; p++) {
        kept[p] = variants[p];
        kept_spaces[p] = spaces[p];
        status = add_part(u, variants[p], p, &parts[p], error);
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
    for (size_t p = 0; u->samplers && p < u->points.part_count; p++)
        kiln__sampler_free(u->samplers[p]);
    kiln__arena_free(&u->arena);
    kiln__free(u->mem, u);
}

const kiln__points *kiln__union_points(const kiln__union *u) { return &u->points; }

void kiln__union_settings(const kiln__union *u, const uint32_t *point, kiln_setting *settings)
{
    const kiln__variant *variant = u->variants[point[0]];
    for (size_t i = 0; i < variant->param_count; i++) {
        const kiln_value *values;
        kiln__space_values(u->spaces[point[0]], i, &values);
        settings[i] = (kiln_setting){variant->params[i].name, values[point[1 + i]]};
    }
}

/* ---- neighbours ---- */

/* Tries every position near `point` on each axis, and keeps the valid points. The list is in the order of axes and
 * values.
 */
kiln_status kiln__points_neighbours(const kiln__points *points, kiln__neighbourhood kind, const uint32_t *point,
                                    uint32_t **list, size_t *capacity, size_t *count, kiln_error **error)
{
    const kiln__part *part = &points->parts[point[0]];
    /* if an axis has more than MANY values, only about LOOK of its values are tried */
    enum { MANY = 1 << 16, LOOK = 1 << 12 };
    size_t width = points->width;
    for (size_t i = 0; i < part->axis_count; i++) {
        uint32_t by = part->axes[i].values > MANY ? part->axes[i].values / LOOK : 1;
        bool near = kind == KILN__ADJACENT && part->axes[i].ordered;
        uint32_t here = point[1 + i], first = near && here > 0 ? here - 1 : near ? here : 0;
        uint32_t end = near && here + 2 < part->axes[i].values ? here + 2 : part->axes[i].values;
        for (uint32_t v = first; v < end; v += near ? 1 : by) {
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

/* ---- a permutation: a Feistel network over an even number of bits. Values outside the range go through it again
 * ("cycle walking", Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002) ---- */

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
            uint64_t next =
                left ^ (kiln__random_mix(right + kiln__random_mix(s->seed + 0x9e3779b97f4a7c15u * (round + 1))) & mask);
            left = right;
            right = next;
        }
        at = left << s->half | right;
    } while (at >= s->count);
    return at;
}
