/* sample.c - draws valid configurations at random, without an index of the space. It gives one tuning parameter after
 * the other a value, in random order of its values, and tests each constraint as early as possible. If no value is
 * left, it goes back to the previous tuning parameter (backtracking). After a while it restarts. */
#include <string.h>

#include "space_internal.h"

enum {
    FIRST_ATTEMPT = 1 << 16
}; /* The units of work for the first attempt. Each later attempt may take twice as many units as the attempt before. */

typedef struct level {
    uint64_t count, start, stride, tried;
} level;

struct kiln__sampler {
    const kiln__space *space;
    kiln_value *slots;
    level *levels;
    kiln__tally tally;
    bool none; /* true if the whole space was searched, and no configuration is valid */
};

kiln_status kiln__sampler_open(const kiln__space *space, kiln__sampler **out, kiln_error **error)
{
    const kiln__variant *variant = space->variant;
    kiln__sampler *s = kiln__calloc(space->mem, 1, sizeof *s);
    if (!s)
        return kiln__fail_memory(error);
    s->space = space;
    s->slots = kiln__calloc(space->mem, space->slot_count + 1, sizeof *s->slots);
    s->levels = kiln__calloc(space->mem, variant->param_count + 1, sizeof *s->levels);
    s->tally.rejected = kiln__calloc(space->mem, variant->where_count + 1, sizeof *s->tally.rejected);
    if (!s->slots || !s->levels || !s->tally.rejected) {
        kiln__sampler_free(s);
        return kiln__fail_memory(error);
    }
    memcpy(s->slots, space->slots, space->slot_count * sizeof *s->slots);
    *out = s;
    return KILN_OK;
}

void kiln__sampler_free(kiln__sampler *s)
{
    if (!s)
        return;
    kiln__free(s->space->mem, s->slots);
    kiln__free(s->space->mem, s->levels);
    kiln__free(s->space->mem, s->tally.rejected);
    kiln__free(s->space->mem, s);
}

bool kiln__sampler_none(const kiln__sampler *s) { return s->none; }
const kiln__tally *kiln__sampler_tally(const kiln__sampler *s) { return &s->tally; }

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Begins to visit every value of a tuning parameter once. The visit begins at a random value. It advances by a random
 * step that has no common divisor with the number of values. */
static void enter(level *l, size_t count, kiln__below_fn below, void *user)
{
    *l = (level){.count = count, .stride = 1};
    if (count < 2)
        return;
    l->start = below(user, count);
    l->stride = 1 + below(user, count - 1);
    while (common_divisor(l->stride, count) != 1)
        l->stride = l->stride % count + 1;
}

typedef enum attempt { FOUND, EXHAUSTED, ENOUGH, BROKEN } attempt;

/* Makes one attempt of the randomised backtracking search, with at most `most` units of work. Returns FOUND with a
 * value for each tuning parameter, EXHAUSTED if the whole space was searched, ENOUGH if a limit was reached, or BROKEN
 * if a constraint cannot be computed. */
static attempt try_once(kiln__sampler *s, kiln__below_fn below, void *user, kiln__effort *effort, uint64_t most,
                        kiln__diag *diag)
{
    const kiln__space *space = s->space;
    size_t params = space->variant->param_count, d = 0;
    uint64_t done = 0;
    if (params == 0)
        return FOUND;
    enter(&s->levels[0], space->axes[0].count, below, user);
    for (;;) {
        level *l = &s->levels[d];
        if (l->tried == l->count) {
            if (d == 0)
                return EXHAUSTED;
            d--;
            continue;
        }
        uint64_t units = space->levels[d + 1] ? KILN__CHECK_UNITS : 1;
        done += units;
        if (!kiln__effort_step(effort, units) || done > most)
            return ENOUGH;
        s->tally.tried++;
        s->slots[d] = space->axes[d].values[(l->start + l->tried++ * l->stride) % l->count];
        kiln__outcome here = kiln__space_run(space->levels[d + 1], s->slots, &s->tally, diag);
        if (here == KILN__FAILED)
            return BROKEN;
        if (here == KILN__EXCLUDED)
            continue;
        if (++d == params)
            return FOUND;
        enter(&s->levels[d], space->axes[d].count, below, user);
    }
}

kiln_status kiln__sampler_draw(kiln__sampler *s, kiln__below_fn below, void *user, kiln__effort *effort,
                               uint32_t *positions, bool *found, kiln_error **error)
{
    const kiln__space *space = s->space;
    kiln__diag diag = {.mem = space->mem};
    *found = false;
    kiln__outcome constant = kiln__space_run(space->levels[0], s->slots, &s->tally, &diag);
    if (constant == KILN__FAILED)
        return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    s->none |= constant == KILN__EXCLUDED;
    for (uint64_t most = FIRST_ATTEMPT; !s->none; most = most > UINT64_MAX / 2 ? most : 2 * most) {
        attempt how = try_once(s, below, user, effort, most, &diag);
        if (how == BROKEN)
            return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
        if (how == ENOUGH && effort && effort->over)
            return KILN_OK;
        s->none = how == EXHAUSTED;
        if (how != FOUND)
            continue;
        for (size_t i = 0; i < space->variant->param_count; i++) {
            const level *l = &s->levels[i];
            positions[i] = (uint32_t)((l->start + (l->tried - 1) * l->stride) % l->count);
        }
        *found = true;
        return KILN_OK;
    }
    return KILN_OK;
}

kiln_status kiln__space_holds_at(const kiln__space *space, const uint32_t *positions, bool *holds, kiln_error **error)
{
    kiln__diag diag = {.mem = space->mem};
    kiln_error *why = NULL;
    kiln_value *slots = kiln__calloc(space->mem, space->slot_count + 1, sizeof *slots);
    if (!slots)
        return kiln__fail_memory(error);
    memcpy(slots, space->slots, space->slot_count * sizeof *slots);
    kiln__outcome here = kiln__space_run(space->levels[0], slots, NULL, &diag);
    for (size_t d = 0; d < space->variant->param_count && here == KILN__HOLDS; d++) {
        slots[d] = space->axes[d].values[positions[d]];
        here = kiln__space_run(space->levels[d + 1], slots, NULL, &diag);
    }
    kiln__free(space->mem, slots);
    *holds = here == KILN__HOLDS;
    if (here != KILN__FAILED)
        return KILN_OK;
    kiln_status status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, &why);
    kiln_error_free(why);
    /* a constraint that cannot be computed counts as not satisfied */
    return status == KILN_ERROR_SPEC ? KILN_OK : kiln__fail_memory(error);
}

kiln_status kiln__space_none_found(const kiln__space *space, const kiln__tally *tally, double seconds,
                                   kiln_error **error)
{
    const kiln__variant *variant = space->variant;
    kiln__diag diag = {.mem = space->mem};
    size_t most = 0;
    for (size_t i = 1; i < variant->where_count; i++)
        if (tally->rejected[i] > tally->rejected[most])
            most = i;
    if (variant->where_count == 0 || tally->rejected[most] == 0)
        return kiln__fail(space->mem, error, KILN_ERROR_CONSTRAINT,
                          "variant %s: no valid configuration was found in %.3g s, in which %llu values of params were "
                          "tried",
                          variant->name, seconds, (unsigned long long)tally->tried);
    kiln__diag_add(&diag, kiln__expr_pos(variant->where[most]),
                   "variant %s: no valid configuration was found in %.3g s, in which %llu values of params were tried; "
                   "this constraint rejected most of them, %llu",
                   variant->name, seconds, (unsigned long long)tally->tried, (unsigned long long)tally->rejected[most]);
    return kiln__diag_finish(&diag, KILN_ERROR_CONSTRAINT, error);
}
