/* lead.c - decides which configurations a search tries first, and which variants are known to be slow.
 *
 * This file serves only a search whose strategy learns, whose objective is time, and which runs no checks. find_lead()
 * in source.c decides this. Such a search begins with the configurations that are shipped with the spec for the nearest
 * device and sizes. Then it tries the defaults of the variants that have no shipped configuration at near sizes. On a
 * GPU, if the sweep may leave slow variants out, the defaults are in the order of their estimated times.
 *
 * The function kiln__tune_source_expect() may later replace the defaults by the best two samples that the store has of
 * another device or other sizes. It does not replace them in a repeatable sweep, nor after the sweep has made estimates
 * (`--estimates`).
 *
 * A variant is slow if its best known time at the nearest known sizes is at least SLOW times the best known time of the
 * sweep's variants at these sizes. If no configurations are shipped, a variant is slow if its estimated time is at
 * least SLOW times the best estimate of a contender. In source.c, drop_slow() never leaves out the last contender. A
 * sweep with a time limit that names no variants leaves slow variants out (`leaves_slow`). One measurement of a slow
 * variant may take as long as many measurements of the other variants. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "budget_internal.h"
#include "config.h"
#include "known_internal.h"
#include "lead_internal.h"
#include "model_internal.h"
#include "plan.h"

#define SLOW 10 /* times the best */
/* known sizes do not count if their kiln__size_distance() is greater than this: a factor of 16 in one size */
#define NEAR 4
/* at the nearest sizes, another variant is tried first if it takes at most ALIKE times the best time */
#define ALIKE 1.25
/* the search first tries the best configurations for this number of nearest pairs of device and sizes */
#define PROBLEMS 3
#define MOST 6 /* the most known configurations that the search tries first */
/* the most defaults that the search tries first; with max_configurations at most half of that number, + 1 */
#define DEFAULTS_MOST 8
#define SHARE 0.1         /* the share of the sweep's time that the estimates of defaults may take */
#define LEAST 1e-3        /* the seconds for an estimate after the time is over, because a limit of 0 means no limit */
#define ESTIMATE_MOST 2.0 /* the seconds that one estimate may take in a repeatable sweep */

/* Returns true if one of the steps, or of the steps within them, runs on the host. */
static bool has_host_step(const kiln__step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (steps[i].kind == KILN__STEP_HOST ||
            (steps[i].kind == KILN__STEP_REPEAT &&
             has_host_step(steps[i].as.repeat.steps, steps[i].as.repeat.step_count)) ||
            (steps[i].kind == KILN__STEP_WHILE && has_host_step(steps[i].as.loop.steps, steps[i].as.loop.step_count)))
            return true;
    return false;
}

bool kiln__lead_is_host(const kiln__variant *variant) { return has_host_step(variant->steps, variant->step_count); }

bool kiln__lead_leaves_host(const kiln_spec *spec, const kiln_tune_options *options)
{
    bool any = false;
    if (options->variants || !kiln__budget_any(options))
        return false;
    for (size_t v = 0; v < spec->variant_count; v++)
        any |= spec->variants[v].contender && !kiln__lead_is_host(&spec->variants[v]);
    return any;
}

static const kiln__variant *find_variant(const kiln__lead_question *q, const char *name)
{
    for (size_t v = 0; v < q->count; v++)
        if (strcmp(q->variants[v]->name, name) == 0)
            return q->variants[v];
    return NULL;
}

static void add(kiln__lead *lead, const char *variant, kiln__settings params, double seconds)
{
    lead->items[lead->count++] = (kiln__known){.variant = variant, .params = params, .seconds = seconds};
}

static void leave_out(const kiln__lead_question *q, kiln__lead *lead, const char *variant, const char *why)
{
    if (q->leaves_slow)
        lead->slow[lead->slow_count++] = (kiln_left_out){variant, why};
}

/* ---- shipped configurations ---- */

/* Leaves out each variant whose best time at the nearest known sizes is at least SLOW times the best time there. `list`
 * is sorted: the nearest sizes come first. */
static void leave_known_slow(const kiln__lead_question *q, const kiln__shipped *list, size_t count, double best,
                             kiln__arena *arena, kiln__lead *lead)
{
    for (size_t i = 0; i < count && list[i].problem == list[0].problem && list[0].distance <= NEAR; i++)
        if (list[i].seconds >= SLOW * best)
            leave_out(
                q, lead, list[i].variant,
                kiln__arena_printf(
                    arena,
                    "the best configuration of this variant takes %.0f times as long as the best configuration of all "
                    "variants on %s at %s; --variants %s tries it",
                    list[i].seconds / best, list[i].device, list[i].sizes, list[i].variant));
}

/* Removes the configurations of variants that the sweep leaves out. Returns the number of configurations that
 * remain. */
static size_t keep_variants(const kiln__lead_question *q, kiln__shipped *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (find_variant(q, list[i].variant))
            list[kept++] = list[i];
    return kept;
}

/* Lists the shipped configurations that are tried first, and leaves slow variants out. The configurations in `list`
 * belong to variants of the sweep. The nearest pair of device and sizes comes first. The function takes the best
 * configuration for each of the PROBLEMS nearest pairs. For the nearest pair it also takes the best configuration of
 * each other variant whose time is at most ALIKE times `best`. `best` is the best known time for this pair. */
static void lead_by_shipped(const kiln__lead_question *q, const kiln__shipped *list, size_t count, kiln__arena *arena,
                            kiln__lead *lead)
{
    double best = HUGE_VAL;
    int problems = 0, last = -1;
    for (size_t i = 0; i < count && list[i].problem == list[0].problem; i++)
        best = fmin(best, list[i].seconds);
    for (size_t i = 0; i < count && lead->count < MOST; i++) {
        const bool first = list[i].problem != last;
        const bool alike = problems == 1 && list[i].seconds <= ALIKE * best;
        problems += first;
        last = list[i].problem;
        if (problems > PROBLEMS)
            break;
        if (first || alike)
            add(lead, list[i].variant, list[i].params, list[i].seconds);
    }
    lead->shipped = lead->count > 0;
    if (lead->count)
        lead->whence = kiln__arena_printf(arena, "the known configurations for %s at %s", list[0].device,
                                          list[0].sizes);
    leave_known_slow(q, list, count, best, arena, lead);
}

/* ---- estimating the defaults ---- */

typedef struct guess { /* the estimate of a variant's default */
    kiln__config *config;
    kiln__code_job *code;
    double seconds; /* HUGE_VAL means that there is no estimate */
} guess;

static void begin_guess(kiln_engine *model, const kiln__lead_question *q, const kiln__variant *variant, guess *g)
{
    const kiln_choice choice = {.variant = variant->name,
                                .size_set = q->options->size_set,
                                .sizes = q->options->sizes,
                                .size_count = q->options->size_count};
    *g = (guess){.seconds = HUGE_VAL};
    if (variant->input_count || kiln__steps_depend(variant) || kiln__lead_is_host(variant) ||
        kiln__config_make(model, q->spec, &choice, &g->config, NULL) != KILN_OK)
        return;
    if (kiln__code_prepare(model, g->config, NULL, model->want_cubin, &g->code, NULL) == KILN_OK &&
        kiln__code_begin(g->code, NULL) != KILN_OK)
        g->code = NULL; /* the code no longer exists */
}

/* Estimates a default whose compile has begun. Waiting for the compile and running the estimate together take at most
 * `seconds`. If the variant cannot be estimated, leaves it without an estimate. This is not a failure. */
static void end_guess(kiln_engine *model, guess *g, double seconds)
{
    const uint64_t start = kiln__now_ns();
    kiln__code code = {0};
    kiln_plan *plan = NULL;
    const kiln_result *result = NULL;
    kiln_run_options run = {.size = sizeof run, .flags = KILN_RUN_NO_VERIFY};
    kiln_status status = KILN_ERROR_COMPILE;
    if (g->code && kiln__code_wait(g->code, seconds))
        status = kiln__code_take(g->code, &code, NULL);
    else
        kiln__code_cancel(g->code);
    g->code = NULL;
    if (status == KILN_OK)
        /* kiln__plan_make() owns the configuration and the code, also on failure */
        status = kiln__plan_make(model, g->config, &code, &plan, NULL);
    else
        kiln__config_free(g->config);
    g->config = NULL;
    run.sample_timeout = fmax(seconds - kiln__seconds_since(start), LEAST);
    if (status == KILN_OK && kiln_plan_run(plan, &run, &result, NULL) == KILN_OK && result->estimated)
        g->seconds = result->seconds;
    kiln_plan_close(plan);
}

/* Estimates the defaults of all variants. Begins all compiles, and then simulates one default after another. In a
 * repeatable sweep each estimate takes at most ESTIMATE_MOST. In any other sweep all estimates together take at most
 * SHARE of the time limit. */
static kiln_status guess_all(kiln_engine *engine, const kiln__lead_question *q, guess *guesses, kiln_error **error)
{
    kiln__arena arena = {.mem = engine->mem};
    kiln_engine *model = NULL;
    kiln_error *why = NULL;
    const bool limited = q->options->max_seconds > 0 && !(q->options->flags & KILN_TUNE_REPEATABLE);
    const uint64_t start = kiln__now_ns();
    const double most = SHARE * q->options->max_seconds;
    kiln_status status = kiln__estimates_open(engine, "sim", &arena, &model, &why);
    if (status != KILN_OK)
        kiln__logf(&engine->log, KILN_LOG_INFO, "%s: the defaults of the variants are not estimated: %s", q->spec->name,
                   kiln_error_message(why));
    for (size_t v = 0; status == KILN_OK && v < q->count; v++)
        begin_guess(model, q, q->variants[v], &guesses[v]);
    for (size_t v = 0; status == KILN_OK && v < q->count; v++) {
        const double left = limited ? most - kiln__seconds_since(start) : ESTIMATE_MOST;
        end_guess(model, &guesses[v], fmax(left, LEAST));
    }
    kiln_engine_close(model);
    kiln__arena_free(&arena);
    kiln_error_free(why);
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

/* ---- defaults ---- */

static kiln__settings default_params(const kiln__variant *variant, kiln__arena *arena)
{
    kiln_setting *items = kiln__arena_alloc(arena, (variant->param_count + 1) * sizeof *items);
    for (size_t p = 0; items && p < variant->param_count; p++)
        items[p] = (kiln_setting){variant->params[p].name, variant->params[p].values[variant->params[p].initial]};
    return (kiln__settings){items ? variant->param_count : 0, items};
}

/* Appends the defaults of the variants to the list, in the order of their estimates. Leaves slow variants out. Defaults
 * without an estimate come last in the list, in the order of the spec. Variants with `contender: false` are not in the
 * list. Their estimates do not count for `best`. If `wanted` is given, the function handles only the variants whose
 * element of `wanted` is true. It still compares the estimates of these variants with the best estimate of all
 * contenders. */
static void lead_by_defaults(const kiln__lead_question *q, guess *guesses, const bool *wanted, kiln__arena *arena,
                             kiln__lead *lead)
{
    double best = HUGE_VAL;
    uint64_t most = q->options->max_configurations ? q->options->max_configurations / 2 + 1 : MOST + DEFAULTS_MOST;
    const size_t begin = lead->count;
    size_t estimated = 0;
    for (size_t v = 0; v < q->count; v++) {
        best = q->variants[v]->contender ? fmin(best, guesses[v].seconds) : best;
        estimated += guesses[v].seconds < HUGE_VAL;
    }
    for (size_t v = 0; v < q->count; v++) {
        if (guesses[v].seconds < HUGE_VAL && guesses[v].seconds >= SLOW * best && (!wanted || wanted[v]))
            leave_out(
                q, lead, q->variants[v]->name,
                kiln__arena_printf(
                    arena,
                    "its default configuration has an estimated time that is %.0f times the best estimate of another "
                    "variant; --variants %s tries it",
                    guesses[v].seconds / best, q->variants[v]->name));
        if (wanted && !wanted[v])
            guesses[v].seconds = NAN;
    }
    while (lead->count < most && lead->count < begin + DEFAULTS_MOST) {
        size_t at = q->count;
        for (size_t v = 0; v < q->count; v++)
            if (q->variants[v]->contender && !isnan(guesses[v].seconds) &&
                (at == q->count || guesses[v].seconds < guesses[at].seconds))
                at = v;
        if (at == q->count)
            break;
        const double seconds = guesses[at].seconds;
        guesses[at].seconds = NAN; /* taken */
        if (!(seconds < HUGE_VAL && seconds >= SLOW * best))
            add(lead, q->variants[at]->name, default_params(q->variants[at], arena), seconds);
    }
    if (begin > 0 && lead->count > begin)
        lead->whence = kiln__arena_printf(
            arena, "%s, and the defaults of the variants that are not known at near sizes", lead->whence);
    else if (begin == 0)
        lead->whence = estimated ? "the defaults of the variants, by their estimated times"
                                 : "the defaults of the variants";
}

/* Marks the contenders that have no shipped configuration at sizes within NEAR. The shipped configurations then say
 * nothing about these variants. A search that begins with the known variants may never try them. Returns the number of
 * marked variants. */
static size_t mark_unknown(const kiln__lead_question *q, const kiln__shipped *list, size_t count, bool *unknown)
{
    size_t marked = 0;
    for (size_t v = 0; v < q->count; v++) {
        unknown[v] = q->variants[v]->contender;
        for (size_t i = 0; i < count; i++)
            if (list[i].distance <= NEAR && strcmp(list[i].variant, q->variants[v]->name) == 0)
                unknown[v] = false;
        marked += unknown[v];
    }
    return marked;
}

kiln_status kiln__lead_find(kiln_engine *engine, const kiln__lead_question *q, kiln__arena *arena, kiln__lead *lead,
                            kiln_error **error)
{
    kiln__shipped *list = NULL;
    size_t count = 0;
    *lead = (kiln__lead){.whence = ""};
    lead->items = kiln__arena_alloc(arena, (MOST + DEFAULTS_MOST) * sizeof *lead->items);
    lead->slow = kiln__arena_alloc(arena, (q->count + 1) * sizeof *lead->slow);
    guess *guesses = kiln__arena_alloc(arena, (q->count + 1) * sizeof *guesses);
    bool *unknown = kiln__arena_alloc(arena, (q->count + 1) * sizeof *unknown);
    if (!lead->items || !lead->slow || !guesses || !unknown)
        return kiln__fail_memory(error);
    KILN__TRY(kiln__shipped_find(engine, q->spec, q->sizes, arena, &list, &count, error));
    count = keep_variants(q, list, count);
    lead_by_shipped(q, list, count, arena, lead);
    const bool known = lead->count > 0 || lead->slow_count > 0;
    if (mark_unknown(q, list, count, unknown) > 0 || !known) {
        for (size_t v = 0; v < q->count; v++)
            guesses[v] = (guess){.seconds = HUGE_VAL};
        if (!engine->driver.simulator && q->count > 1 && q->leaves_slow)
            KILN__TRY(guess_all(engine, q, guesses, error));
        lead_by_defaults(q, guesses, known ? unknown : NULL, arena, lead);
    }
    return arena->failed ? kiln__fail_memory(error) : KILN_OK;
}
