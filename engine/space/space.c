/* The walk over a variant's configurations. Params, lets and outer names get numbered slots when the space is opened,
 * and each let and constraint is filed under the last param it depends on, so that the walk evaluates it as soon as
 * that param has a value and skips everything below where it does not hold. */
#include <string.h>

#include "index.h"
#include "space_internal.h"

/* A let to compute or a constraint to test. */
typedef struct check {
    const kiln__expr *expr;
    const uint32_t *slots; /* of the names in expr */
    uint32_t target;       /* where a let's value goes; CONSTRAINT for a constraint */
    size_t level;          /* how many params must have a value */
    struct check *next;    /* of the same level */
} check;
#define CONSTRAINT UINT32_MAX

struct kiln__walk {
    const kiln__space *space;
    kiln_value *slots;
    size_t *index;
    kiln_setting *settings;
    bool started, done;
};

/* ---- opening ---- */

static check *add_check(kiln__space *space, const kiln__expr *expr, uint32_t target, kiln__diag *diag);

static uint32_t outer_slot(kiln__space *space, const char *name, kiln_value value)
{
    size_t inner = space->variant->param_count + space->variant->let_count;
    for (size_t i = inner; i < space->slot_count; i++)
        if (strcmp(space->outer_names[i - inner], name) == 0)
            return (uint32_t)i;
    if (space->slot_count == space->slot_capacity) {
        size_t capacity = space->slot_capacity * 2 + 8;
        kiln_value *slots = kiln__arena_alloc(&space->arena, capacity * sizeof *slots);
        const char **names = kiln__arena_alloc(&space->arena, capacity * sizeof *names);
        if (!slots || !names)
            return 0;
        memcpy(slots, space->slots, space->slot_count * sizeof *slots);
        if (space->slot_count > inner)
            memcpy(names, space->outer_names, (space->slot_count - inner) * sizeof *names);
        space->slots = slots;
        space->outer_names = names;
        space->slot_capacity = capacity;
    }
    space->slots[space->slot_count] = value;
    space->outer_names[space->slot_count - inner] = name;
    return (uint32_t)space->slot_count++;
}

/* The slot of a name, and in *level from when on it has a value. */
static uint32_t find_slot(kiln__space *space, const kiln__expr *expr, size_t name, size_t *level, kiln__diag *diag)
{
    const kiln__variant *variant = space->variant;
    const char *text = kiln__expr_name(expr, name);
    for (size_t i = 0; i < variant->param_count; i++)
        if (strcmp(variant->params[i].name, text) == 0) {
            *level = space->axes[i].pinned ? 0 : i + 1;
            return (uint32_t)i;
        }
    for (size_t i = 0; i < variant->let_count; i++)
        if (strcmp(variant->lets[i].name, text) == 0) {
            uint32_t slot = (uint32_t)(variant->param_count + i);
            if (!space->let_checks[i]) /* a let uses only earlier ones, so this ends */
                space->let_checks[i] = add_check(space, variant->lets[i].expr, slot, diag);
            *level = space->let_checks[i] ? space->let_checks[i]->level : 0;
            return slot;
        }
    kiln_value value;
    *level = 0;
    if (kiln__scope_find(space->outer, text, &value))
        return outer_slot(space, text, value);
    kiln__diag_add(diag, kiln__expr_name_pos(expr, name), "'%s' has no value here", text);
    return 0;
}

static check *add_check(kiln__space *space, const kiln__expr *expr, uint32_t target, kiln__diag *diag)
{
    size_t count = kiln__expr_name_count(expr);
    check *made = kiln__arena_alloc(&space->arena, sizeof *made);
    uint32_t *slots = kiln__arena_alloc(&space->arena, (count + 1) * sizeof *slots);
    if (!made || !slots)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t level = 0;
        slots[i] = find_slot(space, expr, i, &level, diag);
        if (level > made->level)
            made->level = level;
    }
    made->expr = expr;
    made->slots = slots;
    made->target = target;
    check **end = &space->levels[made->level];
    while (*end)
        end = &(*end)->next;
    *end = made; /* behind the lets that it needs and the constraints that stand before it */
    if (made->level > space->deepest)
        space->deepest = made->level;
    return made;
}

static bool pin(kiln__space *space, size_t i, kiln_value value)
{
    kiln_value *copy = kiln__arena_alloc(&space->arena, sizeof *copy);
    if (!copy)
        return false;
    *copy = value;
    if (value.kind == KILN_TEXT && !(copy->as.text = kiln__arena_strdup(&space->arena, value.as.text)))
        return false;
    if (value.kind == KILN_INT && space->variant->params[i].values[0].kind == KILN_FLOAT)
        *copy = (kiln_value){.kind = KILN_FLOAT, .as.f = (double)value.as.i};
    space->axes[i] = (kiln__axis){.values = copy, .count = 1, .pinned = true};
    space->slots[i] = *copy;
    return true;
}

static bool build(kiln__space *space, const kiln_setting *fixed, size_t fixed_count, kiln__diag *diag)
{
    const kiln__variant *variant = space->variant;
    space->slot_count = space->slot_capacity = variant->param_count + variant->let_count;
    space->slots = kiln__arena_alloc(&space->arena, (space->slot_count + 1) * sizeof *space->slots);
    space->axes = kiln__arena_alloc(&space->arena, (variant->param_count + 1) * sizeof *space->axes);
    space->levels = kiln__arena_alloc(&space->arena, (variant->param_count + 1) * sizeof *space->levels);
    space->let_checks = kiln__arena_alloc(&space->arena, (variant->let_count + 1) * sizeof *space->let_checks);
    if (space->arena.failed)
        return false;
    for (size_t i = 0; i < variant->param_count; i++) {
        space->axes[i] = (kiln__axis){.values = variant->params[i].values, .count = variant->params[i].count};
        for (size_t k = 0; k < fixed_count; k++)
            if (strcmp(fixed[k].name, variant->params[i].name) == 0 && !pin(space, i, fixed[k].value))
                return false;
    }
    for (size_t i = 0; i < variant->where_count && !space->arena.failed; i++)
        add_check(space, variant->where[i], CONSTRAINT, diag);
    return !space->arena.failed;
}

kiln_status kiln__space_open(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                             const kiln_setting *fixed, size_t fixed_count, kiln__space **out, kiln_error **error)
{
    kiln__space *space = kiln__calloc(mem, 1, sizeof *space);
    if (!space)
        return kiln__fail_memory(error);
    if (mem) {
        space->mem_copy = *mem;
        space->mem = &space->mem_copy;
    }
    space->arena.mem = space->mem;
    space->variant = variant;
    space->outer = outer;
    kiln__diag diag = {.mem = mem};
    kiln_status status = KILN_OK;
    if (build(space, fixed, fixed_count, &diag)) {
        status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    } else {
        kiln__text_free(&diag.text);
        status = kiln__fail_memory(error);
    }
    if (status != KILN_OK) {
        kiln__space_free(space);
        return status;
    }
    *out = space;
    return KILN_OK;
}

void kiln__space_free(kiln__space *space)
{
    if (!space)
        return;
    kiln_allocator mem = space->mem_copy;
    const kiln_allocator *with = space->mem ? &mem : NULL;
    space->arena.mem = with;
    kiln__arena_free(&space->arena);
    kiln__free(with, space);
}

/* ---- walking ---- */

static uint64_t product(const kiln__space *space, size_t from)
{
    uint64_t count = 1;
    for (size_t i = from; i < space->variant->param_count; i++)
        if (__builtin_mul_overflow(count, (uint64_t)space->axes[i].count, &count))
            return UINT64_MAX;
    return count;
}

uint64_t kiln__space_raw(const kiln__space *space)
{
    return product(space, 0);
}

typedef enum outcome { FAILED, EXCLUDED, HOLDS } outcome;

static outcome run_checks(const check *c, kiln_value *slots, kiln__diag *diag)
{
    for (; c; c = c->next) {
        kiln_value value;
        if (!kiln__expr_eval_slots(c->expr, slots, c->slots, &value, diag))
            return FAILED;
        if (c->target != CONSTRAINT) {
            slots[c->target] = value;
            continue;
        }
        if (value.kind == KILN_TEXT) {
            kiln__diag_add(diag, kiln__expr_pos(c->expr), "a constraint must be a condition, and this is the text '%s'",
                           value.as.text);
            return FAILED;
        }
        if (!kiln__value_truth(value))
            return EXCLUDED;
    }
    return HOLDS;
}

kiln_status kiln__walk_open(const kiln__space *space, kiln__walk **out, kiln_error **error)
{
    size_t params = space->variant->param_count;
    kiln__walk *walk = kiln__calloc(space->mem, 1, sizeof *walk);
    if (!walk)
        return kiln__fail_memory(error);
    walk->space = space;
    walk->slots = kiln__calloc(space->mem, space->slot_count + 1, sizeof *walk->slots);
    walk->index = kiln__calloc(space->mem, params + 1, sizeof *walk->index);
    walk->settings = kiln__calloc(space->mem, params + 1, sizeof *walk->settings);
    if (!walk->slots || !walk->index || !walk->settings) {
        kiln__walk_free(walk);
        return kiln__fail_memory(error);
    }
    memcpy(walk->slots, space->slots, space->slot_count * sizeof *walk->slots);
    for (size_t i = 0; i < params; i++)
        walk->settings[i].name = space->variant->params[i].name;
    *out = walk;
    return KILN_OK;
}

void kiln__walk_free(kiln__walk *walk)
{
    if (!walk)
        return;
    const kiln_allocator *mem = walk->space->mem;
    kiln__free(mem, walk->slots);
    kiln__free(mem, walk->index);
    kiln__free(mem, walk->settings);
    kiln__free(mem, walk);
}

/* Goes to the next assignment of the first `depth` params that no check up to there excludes; EXCLUDED: none is
 * left. */
static outcome advance(kiln__walk *walk, size_t depth, kiln__diag *diag)
{
    const kiln__space *space = walk->space;
    size_t d = 0;
    if (!walk->started) {
        walk->started = true;
        outcome constant = run_checks(space->levels[0], walk->slots, diag);
        if (constant != HOLDS || depth == 0)
            return constant;
        walk->index[0] = 0;
    } else if (depth == 0) {
        return EXCLUDED;
    } else {
        d = depth - 1;
        walk->index[d]++;
    }
    for (;;) {
        const kiln__axis *a = &space->axes[d];
        if (walk->index[d] == a->count) {
            if (d == 0)
                return EXCLUDED;
            walk->index[--d]++;
            continue;
        }
        walk->slots[d] = a->values[walk->index[d]];
        outcome here = run_checks(space->levels[d + 1], walk->slots, diag);
        if (here == FAILED)
            return FAILED;
        if (here == EXCLUDED)
            walk->index[d]++;
        else if (d + 1 == depth)
            return HOLDS;
        else
            walk->index[++d] = 0;
    }
}

kiln_status kiln__walk_next(kiln__walk *walk, const kiln_setting **settings, kiln_error **error)
{
    kiln__diag diag = {.mem = walk->space->mem};
    size_t params = walk->space->variant->param_count;
    outcome next = walk->done ? EXCLUDED : advance(walk, params, &diag);
    if (next == FAILED) {
        walk->done = true;
        return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    }
    walk->done = next == EXCLUDED;
    for (size_t i = 0; i < params; i++)
        walk->settings[i].value = walk->slots[i];
    *settings = walk->done ? NULL : walk->settings;
    return KILN_OK;
}

/* Params behind the last check only multiply. */
kiln_status kiln__space_walk_count(const kiln__space *space, uint64_t *valid, kiln_error **error)
{
    kiln__walk *walk = NULL;
    kiln_status status = kiln__walk_open(space, &walk, error);
    if (status != KILN_OK)
        return status;
    kiln__diag diag = {.mem = space->mem};
    uint64_t count = 0, each = product(space, space->deepest);
    outcome next;
    while ((next = advance(walk, space->deepest, &diag)) == HOLDS)
        if (__builtin_add_overflow(count, each, &count))
            count = UINT64_MAX;
    kiln__walk_free(walk);
    if (next == FAILED)
        return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    *valid = count;
    return KILN_OK;
}

kiln_status kiln__space_count(const kiln__space *space, uint64_t *valid, kiln_error **error)
{
    kiln__index *index = NULL;
    kiln_status status = kiln__index_open(space, &index, error);
    if (status == KILN_OK)
        *valid = kiln__index_count(index);
    kiln__index_free(index);
    return status;
}

kiln_status kiln__space_check(const kiln__space *space, const kiln_setting *settings, kiln_error **error)
{
    kiln__scope scope = {.outer = space->outer, .count = space->variant->param_count, .settings = settings};
    return kiln__space_check_scope(space->mem, space->variant, &scope, error);
}
