/* source.c - gives the configurations of a sweep. Walks through the spaces of the chosen variants one after the other,
 * or searches all spaces as one. */
#include <math.h>
#include <string.h>

#include "budget_internal.h"
#include "config.h"
#include "known_internal.h"
#include "lead_internal.h"
#include "objective_internal.h"
#include "record_internal.h"
#include "search.h"
#include "source_internal.h"
#include "space.h"
#include "trial_internal.h"

typedef struct range {
    kiln__config *config; /* for constraints, scopes[1] of this configuration has the device and the sizes */
    kiln__settings fixed; /* the fixed params, in the form of values of the variant's params */
} range;

struct kiln__tune_source {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_tune_options *options;
    kiln__arena arena;
    size_t count; /* the number of variants; the sweep goes through them in this order */
    const kiln__variant **variants;
    kiln_left_out *left; /* the variants that resolve() and drop_slow() left out, with the reasons */
    size_t left_count;
    range *ranges; /* for each variant its configuration and its fixed params; set by resolve() */
    size_t resolved;
    uint64_t total; /* UINT64_MAX: not counted */
    kiln__asker watch;
    uint64_t start, deadline; /* times at which the sweep begins and must end; a deadline of 0 means no deadline */
    uint64_t given;           /* the number of configurations that the source has given so far */
    bool gave_up;
    /* the next members are for a walk in order */
    size_t at; /* the variant through whose space the source walks now */
    kiln__space *space;
    kiln__walk *walk;
    kiln__effort effort; /* the effort that the walk to the next configuration may take */
    kiln__tally tally;   /* at the end of a walk, the counts of the variant for which most values were tried */
    size_t tallied;
    /* the next members are for a search by a strategy */
    const kiln__strategy *strategy;
    kiln__space **spaces; /* one space for each variant */
    kiln__union *whole;
    kiln__search *search;   /* NULL means that the source walks through the space, or that there is nothing to search */
    kiln_setting *settings; /* the settings of the configuration that was returned last */
    uint32_t *points;       /* for each ticket, the point that has no answer yet */
    size_t *free_tickets;
    size_t ticket_count, free_count, point_capacity, free_capacity;
    kiln__known *known; /* the samples from the store, the best first */
    size_t known_count, known_at;
    uint32_t *seen; /* the points of the stored samples that kiln__tune_source_known() has returned */
    size_t seen_count;
    kiln__lead lead; /* the configurations with which the search begins */
    size_t lead_at;
};

/* ---- choosing the variants ---- */

static kiln_status unknown_variant(kiln__tune_source *s, const char *name, kiln_error **error)
{
    const char **names = kiln__arena_alloc(&s->arena, (s->spec->variant_count + 1) * sizeof *names);
    if (!names)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < s->spec->variant_count; i++)
        names[i] = s->spec->variants[i].name;
    const char *near = kiln__nearest(name, names, s->spec->variant_count);
    return kiln__fail(s->engine->mem, error, KILN_ERROR_NOT_FOUND, "%s has no variant '%s'%s%s%s", s->spec->name, name,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static kiln_status choose_variants(kiln__tune_source *s, kiln_error **error)
{
    const kiln_tune_options *options = s->options;
    size_t room = options->variant_count > s->spec->variant_count ? options->variant_count : s->spec->variant_count;
    s->variants = kiln__arena_alloc(&s->arena, (room + 1) * sizeof *s->variants);
    if (!s->variants)
        return kiln__fail_memory(error);
    if (!options->variants) {
        for (size_t i = 0; i < s->spec->variant_count; i++)
            s->variants[s->count++] = &s->spec->variants[i];
        return KILN_OK;
    }
    for (size_t i = 0; i < options->variant_count; i++) {
        const kiln__variant *variant = kiln__spec_variant(s->spec, options->variants[i]);
        if (!variant)
            return unknown_variant(s, options->variants[i], error);
        bool twice = false;
        for (size_t k = 0; k < s->count; k++)
            twice |= s->variants[k] == variant;
        if (!twice)
            s->variants[s->count++] = variant;
    }
    return KILN_OK;
}

/* Fails if no variant of the sweep has one of the fixed params. The user has made a mistake, which nobody would notice
 * otherwise. */
static kiln_status check_fixed(kiln__tune_source *s, kiln_error **error)
{
    const kiln_tune_options *options = s->options;
    for (size_t i = 0; i < options->param_count; i++) {
        const char *name = options->params[i].name;
        bool known = false;
        size_t count = 0, total = 0;
        for (size_t v = 0; v < s->count; v++) {
            known |= kiln__variant_param(s->variants[v], name) != NULL;
            total += s->variants[v]->param_count;
        }
        if (known)
            continue;
        const char **names = kiln__arena_alloc(&s->arena, (total + 1) * sizeof *names);
        if (!names)
            return kiln__fail_memory(error);
        for (size_t v = 0; v < s->count; v++)
            for (size_t p = 0; p < s->variants[v]->param_count; p++)
                names[count++] = s->variants[v]->params[p].name;
        const char *near = kiln__nearest(name, names, count);
        return kiln__fail(s->engine->mem, error, KILN_ERROR_NOT_FOUND, "no variant of the sweep has a param '%s'%s%s%s",
                          name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return KILN_OK;
}

/* Checks whether the device can run the variant, and whether the sweep tries it. If one of the two does not hold, adds
 * the variant and the reason to `left`, and fails with KILN_ERROR_UNSUPPORTED. */
static kiln_status leave_out(kiln__tune_source *s, const kiln__variant *variant, kiln_error **error)
{
    kiln__target target;
    kiln_error *why = NULL;
    kiln_status status = kiln__variant_target(s->engine, variant, &target, &why);
    if (status == KILN_OK && kiln__lead_leaves_host(s->spec, s->options) && kiln__lead_is_host(variant))
        status = kiln__fail(s->engine->mem, &why, KILN_ERROR_UNSUPPORTED,
                            "variant '%s' is left out, because it has steps on the host and the sweep has a limit; "
                            "--variants %s tries it",
                            variant->name, variant->name);
    if (status == KILN_ERROR_UNSUPPORTED) {
        kiln_left_out *left = &s->left[s->left_count++];
        left->variant = variant->name;
        left->why = kiln__arena_strdup(&s->arena, why ? kiln_error_message(why) : "");
        if (!left->why)
            status = KILN_ERROR_MEMORY;
        kiln__logf(&s->engine->log, KILN_LOG_INFO, "left out: %s", kiln_error_message(why));
    }
    if (error && !*error)
        *error = why;
    else
        kiln_error_free(why);
    return status;
}

static kiln_status resolve_one(kiln__tune_source *s, const kiln__variant *variant, kiln_setting *fixed, range *r,
                               kiln_error **error)
{
    const kiln_tune_options *options = s->options;
    size_t count = 0;
    for (size_t i = 0; i < options->param_count; i++)
        if (kiln__variant_param(variant, options->params[i].name))
            fixed[count++] = options->params[i];
    kiln_choice choice = {variant->name, fixed, count, options->size_set, options->sizes, options->size_count};
    kiln_status status = kiln__config_open(s->engine, s->spec, &choice, &r->config, error);
    if (status != KILN_OK)
        return status;
    kiln_setting *kept = kiln__arena_alloc(&s->arena, (count + 1) * sizeof *kept);
    if (!kept) {
        kiln__config_free(r->config);
        return kiln__fail_memory(error);
    }
    r->fixed.items = kept;
    for (size_t p = 0; p < variant->param_count; p++)
        if (kiln__settings_find((kiln__settings){count, fixed}, variant->params[p].name))
            kept[r->fixed.count++] = r->config->params.items[p];
    return KILN_OK;
}

/* Resolves sizes and fixed params as plan/ does: checks names, and converts values to the kind of the param. Drops a
 * variant if the device cannot run it, or if one of its params does not have the fixed value. If no variant remains,
 * returns the first error. */
static kiln_status resolve(kiln__tune_source *s, kiln_error **error)
{
    kiln_setting *fixed = kiln__arena_alloc(&s->arena, (s->options->param_count + 1) * sizeof *fixed);
    s->ranges = kiln__arena_alloc(&s->arena, (s->count + 1) * sizeof *s->ranges);
    s->left = kiln__arena_alloc(&s->arena, (s->count + 1) * sizeof *s->left);
    if (!s->ranges || !fixed || !s->left)
        return kiln__fail_memory(error);
    size_t kept = 0;
    kiln_status dropped = KILN_ERROR_CONSTRAINT;
    kiln_error *none = NULL; /* the first error, which is returned if no variant remains */
    kiln_status status = KILN_OK;
    for (size_t v = 0; v < s->count && status == KILN_OK; v++) {
        kiln_error *why = NULL;
        status = leave_out(s, s->variants[v], &why);
        if (status == KILN_OK)
            status = resolve_one(s, s->variants[v], fixed, &s->ranges[kept], &why);
        if (status == KILN_OK) {
            s->variants[kept++] = s->variants[v];
        } else if (status == KILN_ERROR_CONSTRAINT || status == KILN_ERROR_UNSUPPORTED) {
            if (!none) {
                dropped = status;
                none = why;
                why = NULL;
            }
            status = KILN_OK;
        } else if (error && !*error) {
            *error = why;
            why = NULL;
        }
        kiln_error_free(why);
    }
    if (status == KILN_OK && kept == 0) {
        status = dropped;
        if (error && !*error) {
            *error = none;
            none = NULL;
        }
    }
    kiln_error_free(none);
    s->count = s->resolved = kept;
    return status;
}

/* Removes the variants that are known or estimated to be slow. At least one contender remains. */
static void drop_slow(kiln__tune_source *s)
{
    for (size_t i = 0; i < s->lead.slow_count; i++) {
        size_t contenders = 0, at = s->count;
        for (size_t v = 0; v < s->count; v++) {
            const bool same = strcmp(s->variants[v]->name, s->lead.slow[i].variant) == 0;
            contenders += s->variants[v]->contender && !same;
            at = same ? v : at;
        }
        if (at == s->count || contenders == 0)
            continue;
        s->left[s->left_count++] = s->lead.slow[i];
        kiln__logf(&s->engine->log, KILN_LOG_INFO, "left out: variant '%s': %s", s->lead.slow[i].variant,
                   s->lead.slow[i].why);
        kiln__config_free(s->ranges[at].config);
        memmove(&s->variants[at], &s->variants[at + 1], (s->count - at - 1) * sizeof *s->variants);
        memmove(&s->ranges[at], &s->ranges[at + 1], (s->count - at - 1) * sizeof *s->ranges);
        s->resolved = --s->count;
    }
}

/* Finds the configurations with which the search begins. Does this only if the strategy learns, time is the objective,
 * and the sweep runs no checks. Other searches, such as `random`, begin with the proposals of their strategy. */
static kiln_status find_lead(kiln__tune_source *s, kiln_error **error)
{
    if (!kiln__strategy_learns(s->strategy) || !kiln__goals_by_time(s->options) || s->count == 0 ||
        kiln__tune_run(s->options)->flags & KILN_RUN_CHECK)
        return KILN_OK;
    const kiln__lead_question question = {.spec = s->spec,
                                          .options = s->options,
                                          .variants = s->variants,
                                          .count = s->count,
                                          .sizes = s->ranges[0].config->sizes,
                                          .leaves_slow = !s->options->variants && s->options->max_seconds > 0};
    KILN__TRY(kiln__lead_find(s->engine, &question, &s->arena, &s->lead, error));
    drop_slow(s);
    if (s->lead.count)
        kiln__logf(&s->engine->log, KILN_LOG_INFO, "%s: to be tried first: %s", s->spec->name, s->lead.whence);
    return KILN_OK;
}

/* ---- walking through the spaces ---- */

static kiln_status open_space(kiln__tune_source *s, size_t variant, kiln__space **space, kiln_error **error)
{
    const range *r = &s->ranges[variant];
    return kiln__space_open(s->engine->mem, s->variants[variant], &r->config->scopes[1], r->fixed, space, error);
}

/* The effort that counting may take, about a quarter of a second on a usual machine. The effort is in units of work, so
 * that every machine counts the same spaces, and the same seed draws the same configurations. On machines that are much
 * slower, COUNT_SECONDS ends the count earlier. */
#define COUNT_UNITS ((uint64_t)1 << 26)
#define COUNT_SECONDS 5.0
#define COUNT_SHARE 0.25 /* the share of a sweep's time limit that counting may take */
#define RECALL_SHARE 0.1 /* the share of the sweep's time that samples from the store may take */
/* The time limit for one step of a walk that finds no configuration. */
#define STEP_SECONDS 60.0

static uint64_t count_deadline(const kiln__tune_source *s)
{
    double limit = s->options->max_seconds * COUNT_SHARE;
    return kiln__deadline_in(limit > 0 && limit < COUNT_SECONDS ? limit : COUNT_SECONDS);
}

static kiln_status interrupted(const kiln__tune_source *s, kiln_error **error)
{
    return kiln__fail(s->engine->mem, error, KILN_ERROR_INTERRUPTED, "stopped while walking the search space");
}

static kiln_status count_all(kiln__tune_source *s, kiln_error **error)
{
    kiln__effort effort = {
        .deadline = count_deadline(s), .most = COUNT_UNITS, .stop = s->watch.stop, .user = s->watch.user};
    for (size_t v = 0; v < s->count && s->total < UINT64_MAX; v++) {
        kiln__space *space = NULL;
        uint64_t valid = 0;
        bool counted = true;
        kiln_status status = open_space(s, v, &space, error);
        if (status == KILN_OK)
            status = kiln__space_count_within(space, &effort, &counted, &valid, error);
        kiln__space_free(space);
        if (status == KILN_OK && effort.stopped)
            return interrupted(s, error);
        if (status != KILN_OK)
            return status;
        if (!counted || __builtin_add_overflow(s->total, valid, &s->total))
            s->total = UINT64_MAX;
    }
    if (effort.over)
        kiln__logf(&s->engine->log, KILN_LOG_INFO,
                   "%s has too many configurations to count in a short time: the sweep tries them in order",
                   s->spec->name);
    return KILN_OK;
}

/* ---- the search ---- */

/* Chooses the strategy that the options name. If they name none, a sweep with a budget gets the default strategy, and a
 * sweep without a budget tries the configurations in order. A sweep with checks must find the same faults first every
 * time. So if the options name no strategy, it tries the configurations in order, even with a budget. */
static kiln_status choose_strategy(kiln__tune_source *s, kiln_error **error)
{
    const kiln_tune_options *options = s->options;
    const char *name = options->strategy;
    if (!name || !*name)
        name = kiln__budget_any(options) && !(kiln__tune_run(options)->flags & KILN_RUN_CHECK) ? NULL : "exhaustive";
    return kiln__strategy_named(s->engine->mem, name, &s->strategy, error);
}

/* Opens the union of the variants' spaces, and a search by the strategy on it. If the configurations cannot be counted
 * in a short time, the strategy draws configurations at random, and a message tells the user. If the union is empty,
 * `search` stays NULL, and the caller reports this. */
static kiln_status open_search(kiln__tune_source *s, kiln_error **error)
{
    size_t most = 0;
    s->spaces = kiln__arena_alloc(&s->arena, (s->count + 1) * sizeof *s->spaces);
    if (!s->spaces)
        return kiln__fail_memory(error);
    for (size_t v = 0; v < s->count; v++) {
        kiln_status status = open_space(s, v, &s->spaces[v], error);
        if (status != KILN_OK)
            return status;
        most = s->variants[v]->param_count > most ? s->variants[v]->param_count : most;
    }
    s->settings = kiln__arena_alloc(&s->arena, (most + 1) * sizeof *s->settings);
    if (!s->settings)
        return kiln__fail_memory(error);
    kiln__bounds bounds = {.index_units = COUNT_UNITS,
                           .index_deadline = count_deadline(s),
                           .deadline = s->deadline,
                           .stop = s->watch.stop,
                           .user = s->watch.user};
    kiln_status status = kiln__union_open(s->engine->mem, (const kiln__space *const *)s->spaces, s->variants, s->count,
                                          &bounds, &s->whole, error);
    if (status != KILN_OK)
        return status;
    const kiln__points *points = kiln__union_points(s->whole);
    s->total = points->count;
    if (points->draw)
        kiln__logf(&s->engine->log, KILN_LOG_INFO,
                   "%s: configurations are %s: the sweep draws them at random, but not with equal probability",
                   s->spec->name,
                   s->total == UINT64_MAX ? "too many to count in a short time" : "slow to find by their numbers");
    status = s->total ? kiln__search_open(points, s->strategy, s->options->seed, &s->search, error) : KILN_OK;
    if (s->search)
        kiln__search_budget(s->search, s->options->max_configurations);
    return status;
}

static void close_search(kiln__tune_source *s)
{
    kiln__search_free(s->search);
    kiln__union_free(s->whole);
    for (size_t v = 0; s->spaces && v < s->count; v++)
        kiln__space_free(s->spaces[v]);
    kiln__free(s->engine->mem, s->points);
    kiln__free(s->engine->mem, s->free_tickets);
    kiln__free(s->engine->mem, s->known);
    kiln__free(s->engine->mem, s->seen);
}

/* Reserves a ticket, with memory for its point. */
static bool take_ticket(kiln__tune_source *s, size_t width, size_t *ticket)
{
    const kiln_allocator *mem = s->engine->mem;
    if (s->free_count) {
        *ticket = s->free_tickets[--s->free_count];
        return true;
    }
    if (!kiln__grow(mem, &s->points, &s->point_capacity, s->ticket_count + 1, width * sizeof *s->points) ||
        !kiln__grow(mem, &s->free_tickets, &s->free_capacity, s->ticket_count + 1, sizeof *s->free_tickets))
        return false;
    *ticket = s->ticket_count++;
    return true;
}

static void give(kiln__tune_source *s, const uint32_t *point, kiln_choice *choice)
{
    s->given++;
    kiln__union_settings(s->whole, point, s->settings);
    choice->variant = s->variants[point[0]]->name;
    choice->params = s->settings;
    choice->param_count = s->variants[point[0]]->param_count;
}

static kiln_choice first_choice(const kiln__tune_source *s) /* a choice of sizes without a variant */
{
    return (kiln_choice){
        .size_set = s->options->size_set, .sizes = s->options->sizes, .size_count = s->options->size_count};
}

/* Finds the position of a value in the list of values of a param. */
static bool find_value(const kiln__space *space, size_t param, const kiln_setting *setting, uint32_t *position)
{
    const kiln_value *values;
    const size_t count = kiln__space_values(space, param, &values);
    for (size_t i = 0; setting && i < count; i++)
        if (kiln__value_equal(values[i], setting->value)) {
            *position = (uint32_t)i;
            return true;
        }
    return false;
}

/* Finds the point of a known configuration. Returns false if the space no longer has it. */
static bool find_point(const kiln__tune_source *s, const kiln__known *known, uint32_t *point)
{
    const kiln__points *points = kiln__union_points(s->whole);
    memset(point, 0, points->width * sizeof *point);
    for (size_t v = 0; v < s->count; v++) {
        if (strcmp(s->variants[v]->name, known->variant) != 0)
            continue;
        bool found = s->variants[v]->param_count == known->params.count;
        point[0] = (uint32_t)v;
        for (size_t p = 0; p < s->variants[v]->param_count && found; p++)
            found = find_value(s->spaces[v], p, kiln__settings_find(known->params, s->variants[v]->params[p].name),
                               &point[1 + p]);
        return found;
    }
    return false;
}

/* Takes the next of the configurations with which the search begins. *found is false if no such configuration is
 * left. */
static kiln_status next_lead(kiln__tune_source *s, uint32_t *point, bool *found, kiln_error **error)
{
    const kiln__points *points = kiln__union_points(s->whole);
    kiln_status status = KILN_OK;
    *found = false;
    while (status == KILN_OK && !*found && s->lead_at < s->lead.count) {
        *found = find_point(s, &s->lead.items[s->lead_at++], point);
        if (*found)
            status = points->holds(points->user, point, found, error);
        if (status == KILN_OK && *found)
            status = kiln__search_claim(s->search, point, found, error);
    }
    return status;
}

static kiln_status next_searched(kiln__tune_source *s, kiln_choice *choice, size_t *ticket, kiln_error **error)
{
    size_t width = kiln__union_points(s->whole)->width;
    bool found = false;
    if (!take_ticket(s, width, ticket))
        return kiln__fail_memory(error);
    uint32_t *point = s->points + *ticket * width;
    kiln_status status = next_lead(s, point, &found, error);
    if (status == KILN_OK && !found)
        status = kiln__search_ask(s->search, point, &found, error);
    if (status == KILN_OK && !found && kiln__union_points(s->whole)->draw && !kiln__union_empty(s->whole)) {
        s->gave_up = true;
        if (s->given == 0)
            status = kiln__union_none_found(s->whole, kiln__seconds_since(s->start), error);
    }
    if (status != KILN_OK || !found) {
        s->free_tickets[s->free_count++] = *ticket;
        return status;
    }
    give(s, point, choice);
    return KILN_OK;
}

/* ---- samples from the store ---- */

kiln_status kiln__tune_source_recall(kiln__tune_source *s, kiln__recorder *recorder, kiln_error **error)
{
    if (!s->search)
        return KILN_OK;
    kiln_status status = kiln__recorder_recall(recorder, s->ranges[0].config->sizes, &s->arena, &s->known,
                                               &s->known_count, error);
    const size_t width = kiln__union_points(s->whole)->width;
    s->seen = status == KILN_OK ? kiln__calloc(s->engine->mem, (s->known_count + 1) * width, sizeof *s->seen) : NULL;
    return status == KILN_OK && !s->seen ? kiln__fail_memory(error) : status;
}

kiln_status kiln__tune_source_hint(kiln__tune_source *s, const kiln__known *known, size_t *count, kiln_error **error)
{
    if (!s->search)
        return KILN_OK;
    uint32_t *point = kiln__arena_alloc(&s->arena, kiln__union_points(s->whole)->width * sizeof *point);
    if (!point)
        return kiln__fail_memory(error);
    if (!find_point(s, known, point))
        return KILN_OK;
    kiln_status status = kiln__search_hint(s->search, point, known->seconds, error);
    *count += status == KILN_OK;
    return status;
}

/* Inserts one configuration into a sorted list of `count` configurations. Keeps only the `most` fastest configurations.
 * Returns the new number of configurations in the list. */
static size_t keep_fastest(kiln__known *list, size_t count, size_t most, const kiln__known *one)
{
    size_t at = count;
    while (at > 0 && list[at - 1].seconds > one->seconds)
        at--;
    if (at >= most)
        return count;
    const size_t kept = count < most ? count : most - 1;
    memmove(&list[at + 1], &list[at], (kept - at) * sizeof *list);
    list[at] = *one;
    return kept + 1;
}

kiln_status kiln__tune_source_expect(kiln__tune_source *s, kiln__recorder *recorder, kiln_error **error)
{
    kiln__known *list = NULL;
    const char *device = "";
    size_t count = 0, used = 0;
    if (!s->search || !kiln__goals_by_time(s->options))
        return KILN_OK;
    const size_t width = kiln__union_points(s->whole)->width;
    kiln_status status = kiln__recorder_expect(recorder, s->ranges[0].config->sizes, &s->arena, &list, &count, &device,
                                               error);
    uint32_t *point = kiln__arena_alloc(&s->arena, width * sizeof *point);
    if (status == KILN_OK && !point)
        status = kiln__fail_memory(error);
    /* the number of samples of another device or of other sizes that are tried instead of defaults, the best first */
    enum { FIRST = 2 };
    size_t found = 0;
    for (size_t i = 0; i < count && status == KILN_OK; i++)
        if (find_point(s, &list[i], point)) {
            status = kiln__search_hint(s->search, point, list[i].seconds, error);
            if (!s->lead.shipped && list[i].seconds < HUGE_VAL && s->lead.items)
                found = keep_fastest(s->lead.items, found, FIRST, &list[i]);
            used++;
        }
    if (found)
        s->lead.count = found;
    if (used)
        kiln__logf(&s->engine->log, KILN_LOG_INFO, "%s: hints for the search: %zu samples of %s%s", s->spec->name, used,
                   device, found ? "; the best of them are tried first, in place of the defaults" : "");
    kiln__free(s->engine->mem, list);
    return status;
}

kiln_status kiln__tune_source_known(kiln__tune_source *s, kiln_choice *choice, size_t *ticket, kiln_error **error)
{
    const double limit = s->options->max_seconds * RECALL_SHARE;
    *choice = first_choice(s);
    while (s->known_at < s->known_count && (limit <= 0 || kiln__seconds_since(s->start) < limit)) {
        const kiln__points *points = kiln__union_points(s->whole);
        const size_t bytes = points->width * sizeof *s->seen;
        uint32_t *point = s->seen + s->seen_count * points->width;
        bool valid = find_point(s, &s->known[s->known_at++], point);
        for (size_t i = 0; i < s->seen_count && valid; i++)
            valid = memcmp(s->seen + i * points->width, point, bytes) != 0;
        kiln_status status = valid ? points->holds(points->user, point, &valid, error) : KILN_OK;
        if (status != KILN_OK)
            return status;
        if (!valid)
            continue;
        s->seen_count++;
        if (!take_ticket(s, points->width, ticket))
            return kiln__fail_memory(error);
        memcpy(s->points + *ticket * points->width, point, bytes);
        give(s, point, choice);
        return KILN_OK;
    }
    return KILN_OK;
}

void kiln__tune_source_drop(kiln__tune_source *s, size_t ticket)
{
    s->given--;
    s->free_tickets[s->free_count++] = ticket;
}

const kiln_left_out *kiln__tune_source_left_out(const kiln__tune_source *s, size_t *count)
{
    *count = s->left_count;
    return s->left;
}

bool kiln__tune_source_learns(const kiln__tune_source *s) { return kiln__strategy_learns(s->strategy); }

bool kiln__tune_source_contends(const kiln__tune_source *s, const char *variant)
{
    bool any = false;
    for (size_t v = 0; v < s->count; v++)
        any |= s->variants[v]->contender;
    return !any || kiln__spec_variant(s->spec, variant)->contender;
}

kiln_status kiln__tune_source_config(const kiln__tune_source *s, const char *variant, const kiln_setting *params,
                                     kiln__config **config, kiln_error **error)
{
    size_t v = 0;
    while (strcmp(s->variants[v]->name, variant) != 0)
        v++;
    return kiln__config_at(s->ranges[v].config, params, config, error);
}

kiln_status kiln__tune_source_tell(kiln__tune_source *s, size_t ticket, double value, double cost, kiln_error **error)
{
    if (!s->search)
        return KILN_OK;
    s->free_tickets[s->free_count++] = ticket;
    return kiln__search_tell(s->search, s->points + ticket * kiln__union_points(s->whole)->width, value, cost, error);
}

/* Makes the error for a sweep that has no valid configuration. The error tells how many configurations each constraint
 * leaves.
 */
static kiln_status none_valid(kiln__tune_source *s, kiln_error **error)
{
    kiln__text text = {.mem = s->engine->mem};
    kiln_status status = KILN_OK;
    for (size_t v = 0; v < s->count && status == KILN_OK; v++)
        status = kiln__space_explain(s->engine->mem, s->variants[v], &s->ranges[v].config->scopes[1],
                                     s->ranges[v].fixed, &text, error);
    if (status == KILN_OK)
        status = text.failed
                     ? kiln__fail_memory(error)
                     : kiln__fail(s->engine->mem, error, KILN_ERROR_CONSTRAINT,
                                  "%s: no configuration satisfies the constraints. The number of configurations that "
                                  "each constraint leaves:%s",
                                  s->spec->name, text.data);
    kiln__text_free(&text);
    return status;
}

/* ---- functions for the sweep ---- */

/* Opens the device first, because the choice of variants and the constraints depend on the device. A strategy that goes
 * in order only needs the number of configurations. Any other strategy opens a search. */
kiln_status kiln__tune_source_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                   const kiln__asker *watch, kiln__tune_source **source, kiln_error **error)
{
    kiln_status status = kiln__engine_device(engine, error);
    if (status != KILN_OK)
        return status;
    kiln__tune_source *s = kiln__calloc(engine->mem, 1, sizeof *s);
    if (!s)
        return kiln__fail_memory(error);
    s->engine = engine;
    s->spec = spec;
    s->options = options;
    if (watch)
        s->watch = *watch;
    s->start = kiln__now_ns();
    s->deadline = kiln__deadline_in(options->max_seconds);
    s->arena.mem = engine->mem;
    status = choose_strategy(s, error);
    if (status == KILN_OK)
        status = choose_variants(s, error);
    if (status == KILN_OK)
        status = check_fixed(s, error);
    if (status == KILN_OK)
        status = resolve(s, error);
    if (status == KILN_OK)
        status = find_lead(s, error);
    if (status == KILN_OK)
        status = kiln__strategy_in_order(s->strategy) ? count_all(s, error) : open_search(s, error);
    if (status == KILN_OK && s->total == 0 && s->count > 0)
        status = none_valid(s, error);
    if (status != KILN_OK) {
        kiln__tune_source_free(s);
        return status;
    }
    *source = s;
    return KILN_OK;
}

static void close_walk(kiln__tune_source *s)
{
    const kiln__tally *tally = s->walk ? kiln__walk_tally(s->walk) : NULL;
    /* if the source finds no configuration, its message needs these numbers */
    if (tally && tally->tried > s->tally.tried && s->given == 0) {
        size_t count = s->variants[s->at]->where_count;
        uint64_t *kept = kiln__arena_alloc(&s->arena, (count + 1) * sizeof *kept);
        if (kept)
            s->tally = (kiln__tally){tally->tried, memcpy(kept, tally->rejected, count * sizeof *kept)};
        s->tallied = s->at;
    }
    kiln__walk_free(s->walk);
    kiln__space_free(s->space);
    s->walk = NULL;
    s->space = NULL;
}

void kiln__tune_source_free(kiln__tune_source *s)
{
    if (!s)
        return;
    close_walk(s);
    close_search(s);
    for (size_t v = 0; v < s->resolved; v++)
        kiln__config_free(s->ranges[v].config);
    kiln__arena_free(&s->arena);
    kiln__free(s->engine->mem, s);
}

uint64_t kiln__tune_source_total(const kiln__tune_source *s) { return s->total; }

bool kiln__tune_source_begins_known(const kiln__tune_source *s) { return s->lead.shipped && s->lead.count > 0; }

bool kiln__tune_source_sampled(const kiln__tune_source *s) { return s->whole && kiln__union_points(s->whole)->draw; }

bool kiln__tune_source_gave_up(const kiln__tune_source *s) { return s->gave_up; }

/* Finds the next configuration of the current variant. *settings stays NULL if the variant has no further
 * configuration, or if looking for one took too long. */
static kiln_status step_walk(kiln__tune_source *s, const kiln_setting **settings, kiln_error **error)
{
    kiln_status status = KILN_OK;
    if (!s->walk)
        status = open_space(s, s->at, &s->space, error);
    if (status == KILN_OK && !s->walk)
        status = kiln__walk_open(s->space, &s->walk, error);
    if (status != KILN_OK)
        return status;
    uint64_t step = kiln__deadline_in(STEP_SECONDS);
    s->effort = (kiln__effort){.deadline = s->deadline && s->deadline < step ? s->deadline : step,
                               .stop = s->watch.stop,
                               .user = s->watch.user};
    kiln__walk_limit(s->walk, &s->effort);
    return kiln__walk_next(s->walk, settings, error);
}

static kiln_status none_in_order(kiln__tune_source *s, kiln_error **error)
{
    kiln__space *space = NULL;
    if (!s->tally.rejected) /* the time was over before the first try */
        return kiln__fail(s->engine->mem, error, KILN_ERROR_CONSTRAINT,
                          "no valid configuration was found in the given time");
    kiln_status status = open_space(s, s->tallied, &space, error);
    if (status == KILN_OK)
        status = kiln__space_none_found(space, &s->tally, kiln__seconds_since(s->start), error);
    kiln__space_free(space);
    return status;
}

kiln_status kiln__tune_source_next(kiln__tune_source *s, kiln_choice *choice, size_t *ticket, kiln_error **error)
{
    *ticket = 0;
    *choice = first_choice(s);
    if (!kiln__strategy_in_order(s->strategy))
        return s->search ? next_searched(s, choice, ticket, error) : KILN_OK;
    while (s->at < s->count) {
        const kiln_setting *settings = NULL;
        kiln_status status = step_walk(s, &settings, error);
        if (status == KILN_OK && s->effort.stopped)
            status = interrupted(s, error);
        if (status != KILN_OK)
            return status;
        if (settings) {
            s->given++;
            choice->variant = s->variants[s->at]->name;
            choice->params = settings;
            choice->param_count = s->variants[s->at]->param_count;
            return KILN_OK;
        }
        s->gave_up |= s->effort.over;
        close_walk(s);
        s->at++;
    }
    return s->gave_up && s->given == 0 ? none_in_order(s, error) : KILN_OK;
}
