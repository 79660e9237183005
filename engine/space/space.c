/* space.c - walks through the configurations of a variant. When a space is opened, each name gets a slot in a list of
 * values. Names are tuning parameters, named expressions (key `let` of the spec), and outer names (sizes and device
 * names). Each named expression and each constraint belongs to the last tuning parameter on which it depends. So the
 * walk evaluates it as soon as that tuning parameter has a value. If a constraint does not hold, the walk skips all
 * values of the later tuning parameters. */
#include <string.h>

#include "index.h"
#include "space_internal.h"

struct kiln__walk {
    const kiln__space *space;
    kiln_value *slots;
    size_t *index;
    kiln_setting *settings;
    size_t depth;         /* the depth at which the walk continues after it has reached a limit */
    kiln__effort *effort; /* the limit of the work; NULL means no limit */
    kiln__tally tally;
    bool started, halted, done;
};

/* ---- opening ---- */

static kiln__check *add_check(kiln__space *space, const kiln__expr *expr, uint32_t target, size_t number,
                              kiln__diag *diag);

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

/* Returns the slot of a name in an expression. *level gets the number of tuning parameters after which the name has a
 * value. */
static uint32_t find_slot(kiln__space *space, const kiln__expr *expr, size_t name, size_t *level, kiln__diag *diag)
{
    const kiln__variant *variant = space->variant;
    const char *text = kiln__expr_name(expr, name);
    const kiln__param *param = kiln__variant_param(variant, text);
    const kiln__named_expr *let = kiln__variant_let(variant, text);
    if (param) {
        size_t i = (size_t)(param - variant->params);
        *level = space->axes[i].pinned ? 0 : i + 1;
        return (uint32_t)i;
    }
    if (let) {
        size_t i = (size_t)(let - variant->lets);
        uint32_t slot = (uint32_t)(variant->param_count + i);
        if (!space->let_checks[i]) /* the recursion ends, because a named expression uses only earlier ones */
            space->let_checks[i] = add_check(space, let->expr, slot, 0, diag);
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

static kiln__check *add_check(kiln__space *space, const kiln__expr *expr, uint32_t target, size_t number,
                              kiln__diag *diag)
{
    size_t count = kiln__expr_name_count(expr);
    kiln__check *made = kiln__arena_alloc(&space->arena, sizeof *made);
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
    made->number = (uint32_t)number;
    kiln__check **end = &space->levels[made->level];
    while (*end)
        end = &(*end)->next;
    *end = made; /* appends the step after the named expressions that it needs, and after all earlier constraints */
    if (made->level > space->deepest)
        space->deepest = made->level;
    return made;
}

static bool pin_param(kiln__space *space, size_t i, kiln_value value)
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

static bool build(kiln__space *space, kiln__settings fixed, kiln__diag *diag)
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
        for (size_t k = 0; k < fixed.count; k++)
            if (strcmp(fixed.items[k].name, variant->params[i].name) == 0 && !pin_param(space, i, fixed.items[k].value))
                return false;
    }
    for (size_t i = 0; i < variant->where_count && !space->arena.failed; i++)
        add_check(space, variant->where[i], KILN__CONSTRAINT, i, diag);
    return !space->arena.failed;
}

kiln_status kiln__space_open(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                             kiln__settings fixed, kiln__space **out, kiln_error **error)
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
    if (build(space, fixed, &diag)) {
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

static uint64_t count_combinations(const kiln__space *space, size_t from)
{
    uint64_t count = 1;
    for (size_t i = from; i < space->variant->param_count; i++)
        if (__builtin_mul_overflow(count, (uint64_t)space->axes[i].count, &count))
            return UINT64_MAX;
    return count;
}

uint64_t kiln__space_raw(const kiln__space *space) { return count_combinations(space, 0); }

bool kiln__effort_ask(kiln__effort *effort)
{
    effort->asked = effort->done;
    if (!effort->stopped && effort->stop && effort->stop(effort->user))
        effort->stopped = true;
    if (effort->stopped || (effort->most && effort->done >= effort->most) ||
        (effort->deadline && kiln__now_ns() >= effort->deadline))
        effort->over = true;
    return !effort->over;
}

kiln__outcome kiln__space_run(const kiln__check *c, kiln_value *slots, kiln__tally *tally, kiln__diag *diag)
{
    for (; c; c = c->next) {
        kiln_value value;
        if (!kiln__expr_eval_slots(c->expr, slots, c->slots, &value, diag))
            return KILN__FAILED;
        if (c->target != KILN__CONSTRAINT) {
            slots[c->target] = value;
            continue;
        }
        if (value.kind == KILN_TEXT) {
            kiln__diag_add(diag, kiln__expr_pos(c->expr), "a constraint must be a condition, but this is the text '%s'",
                           value.as.text);
            return KILN__FAILED;
        }
        if (!kiln__value_truth(value)) {
            if (tally)
                tally->rejected[c->number]++;
            return KILN__EXCLUDED;
        }
    }
    return KILN__HOLDS;
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
    walk->tally.rejected = kiln__calloc(space->mem, space->variant->where_count + 1, sizeof *walk->tally.rejected);
    if (!walk->slots || !walk->index || !walk->settings || !walk->tally.rejected) {
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
    kiln__free(mem, walk->tally.rejected);
    kiln__free(mem, walk);
}

void kiln__walk_limit(kiln__walk *walk, kiln__effort *effort) { walk->effort = effort; }
const kiln__tally *kiln__walk_tally(const kiln__walk *walk) { return &walk->tally; }

/* Goes to the next values of the first `depth` tuning parameters that no constraint excludes. Returns EXCLUDED if no
 * values are left, or if the limit of the work is reached and the walk is halted. */
static kiln__outcome advance(kiln__walk *walk, size_t depth, kiln__diag *diag)
{
    const kiln__space *space = walk->space;
    size_t d = 0;
    if (!walk->started) {
        walk->started = true;
        kiln__outcome constant = kiln__space_run(space->levels[0], walk->slots, &walk->tally, diag);
        if (constant != KILN__HOLDS || depth == 0)
            return constant;
        walk->index[0] = 0;
    } else if (depth == 0) {
        return KILN__EXCLUDED;
    } else if (walk->halted) {
        d = walk->depth;
        walk->halted = false;
    } else {
        d = depth - 1;
        walk->index[d]++;
    }
    for (;;) {
        const kiln__axis *a = &space->axes[d];
        if (walk->index[d] == a->count) {
            if (d == 0)
                return KILN__EXCLUDED;
            walk->index[--d]++;
            continue;
        }
        if (!kiln__effort_step(walk->effort, space->levels[d + 1] ? KILN__CHECK_UNITS : 1)) {
            walk->halted = true;
            walk->depth = d;
            return KILN__EXCLUDED;
        }
        walk->tally.tried++;
        walk->slots[d] = a->values[walk->index[d]];
        kiln__outcome here = kiln__space_run(space->levels[d + 1], walk->slots, &walk->tally, diag);
        if (here == KILN__FAILED)
            return KILN__FAILED;
        if (here == KILN__EXCLUDED)
            walk->index[d]++;
        else if (d + 1 == depth)
            return KILN__HOLDS;
        else
            walk->index[++d] = 0;
    }
}

kiln_status kiln__walk_next(kiln__walk *walk, const kiln_setting **settings, kiln_error **error)
{
    kiln__diag diag = {.mem = walk->space->mem};
    size_t params = walk->space->variant->param_count;
    kiln__outcome next = walk->done ? KILN__EXCLUDED : advance(walk, params, &diag);
    if (next == KILN__FAILED) {
        walk->done = true;
        return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    }
    walk->done = next == KILN__EXCLUDED && !walk->halted;
    for (size_t i = 0; i < params; i++)
        walk->settings[i].value = walk->slots[i];
    *settings = next == KILN__EXCLUDED ? NULL : walk->settings;
    return KILN_OK;
}

/* Walks only through the tuning parameters up to the last constraint. No constraint uses the later ones, so each valid
 * assignment counts once for each combination of their values. */
kiln_status kiln__space_walk_count(const kiln__space *space, kiln__effort *effort, uint64_t *valid, kiln_error **error)
{
    kiln__walk *walk = NULL;
    kiln_status status = kiln__walk_open(space, &walk, error);
    if (status != KILN_OK)
        return status;
    kiln__walk_limit(walk, effort);
    kiln__diag diag = {.mem = space->mem};
    uint64_t count = 0, each = count_combinations(space, space->deepest);
    kiln__outcome next;
    while ((next = advance(walk, space->deepest, &diag)) == KILN__HOLDS)
        if (__builtin_add_overflow(count, each, &count))
            count = UINT64_MAX;
    kiln__walk_free(walk);
    if (next == KILN__FAILED)
        return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    *valid = count;
    return KILN_OK;
}

size_t kiln__space_values(const kiln__space *space, size_t param, const kiln_value **values)
{
    *values = space->axes[param].values;
    return space->axes[param].count;
}

kiln_status kiln__space_check(const kiln__space *space, const kiln_setting *settings, kiln_error **error)
{
    kiln__scope scope = {.outer = space->outer, .settings = {space->variant->param_count, settings}};
    return kiln__space_check_scope(space->mem, space->variant, &scope, error);
}
