/* best_open.c - opens a plan with the best known configuration. The function may tune first, within a time limit. */
#include <string.h>

#include "best.h"

enum { TRIES = 4 }; /* the most known configurations that are tried before the defaults */

/* Returns whether the configuration caused a failure, so that another configuration is worth a try. */
static bool is_of_configuration(kiln_status status)
{
    return status == KILN_ERROR_COMPILE || status == KILN_ERROR_LAUNCH || status == KILN_ERROR_CONSTRAINT ||
           status == KILN_ERROR_TIMEOUT || status == KILN_ERROR_SPEC || status == KILN_ERROR_UNSUPPORTED ||
           status == KILN_ERROR_DEVICE;
}

/* ---- tuning ---- */

/* Runs a sweep of one variant for the remaining time. If `variant` is NULL, the sweep has all variants. If the best
 * sample of the sweep is faster than *best, it replaces *best. */
static kiln_status run_sweep(kiln__best_search *s, const kiln_best_options *how, uint64_t start, const char *variant,
                             const kiln_setting *params, size_t count, kiln_best **best, kiln_error **error)
{
    double left = how->tune_seconds - kiln__seconds_since(start);
    if (!(left > 0))
        return KILN_OK;
    kiln_tune_options options = {
        .size = sizeof options,
        .variants = variant ? &variant : NULL,
        .variant_count = variant ? 1 : 0,
        .params = params,
        .param_count = count,
        .size_set = s->choice->size_set,
        .sizes = s->choice->sizes,
        .size_count = s->choice->size_count,
        .run = how->run,
        .max_seconds = left,
        .callback = how->callback,
        .user = how->user,
        .isolation = how->isolation,
        .verify_size_set = how->verify_size_set,
        .store = how->store,
    };
    kiln_tuning *made = NULL;
    kiln_status status = kiln_tune(s->engine, s->spec, &options, &made, error);
    const kiln_sample *first = made && kiln_tuning_count(made) ? kiln_tuning_sample(made, 0) : NULL;
    if (first && first->status == KILN_OK && (!*best || kiln__result_seconds(first->result) < (*best)->seconds)) {
        kiln_best *better = NULL;
        kiln_status kept = kiln__best_of_sample(s, first, &better, NULL);
        if (kept == KILN_OK && better) {
            kiln_best_free(*best);
            *best = better;
        }
    }
    if (status != KILN_OK && made &&
        kiln_tuning_sum(made)->end != KILN_END_EARLY) { /* the sweep ended, and no configuration was successful */
        kiln_error_free(*error);
        *error = NULL;
        status = KILN_OK;
    }
    kiln_tuning_free(made);
    return status;
}

/* Measures the suggestion first, so that a short sweep never gives a worse result than no sweep. Then measures other
 * configurations until the time is over. If no configuration was successful, *best stays NULL. */
static void tune_from(kiln__best_search *s, const kiln_best_options *options, const kiln_best *suggestion,
                      kiln_best **best)
{
    uint64_t start = kiln__now_ns();
    kiln_error *why = NULL;
    kiln_status status = run_sweep(s, options, start, suggestion->variant, suggestion->params, suggestion->param_count,
                                   best, &why);
    if (status == KILN_OK)
        status = run_sweep(s, options, start, s->choice->variant, s->choice->params, s->choice->param_count, best,
                           &why);
    if (status != KILN_OK && status != KILN_ERROR_INTERRUPTED)
        kiln__logf(&s->engine->log, KILN_LOG_WARNING, "%s: not tuned%s: %s", s->spec->name, *best ? " to the end" : "",
                   kiln_error_message(why));
    kiln_error_free(why);
}

/* ---- opening ---- */

static kiln_status open_plan(const kiln__best_search *s, const kiln_best *best, kiln_plan **plan, kiln_error **error)
{
    kiln_choice choice = *s->choice;
    choice.variant = best->variant;
    choice.params = best->params;
    choice.param_count = best->param_count;
    return kiln_plan_open(s->engine, s->spec, &choice, plan, error);
}

/* Opens the first plan that works. The function first tries `first`, which is the result of tuning or NULL, then the
 * known configurations, and then the defaults. */
static kiln_status open_first(kiln__best_search *s, kiln_best *first, kiln_plan **plan, kiln_best **best,
                              kiln_error **error)
{
    kiln_best *at = first;
    for (unsigned tries = 0;; tries++) {
        kiln_status status = KILN_OK;
        kiln_error *why = NULL;
        if (!at) {
            if (tries >= TRIES)
                s->at = s->count;
            status = kiln__best_next(s, &at, error);
            if (status != KILN_OK)
                return status;
        }
        status = open_plan(s, at, plan, &why);
        if (status == KILN_OK) {
            *best = at;
            return KILN_OK;
        }
        bool last = at->from == KILN_BEST_DEFAULT;
        if (!last && is_of_configuration(status)) {
            kiln__logf(&s->engine->log, KILN_LOG_INFO, "%s: variant %s, best known, is skipped: %s", s->spec->name,
                       at->variant, kiln_error_message(why));
            kiln_error_free(why);
            kiln_best_free(at);
            at = NULL;
            continue;
        }
        kiln_best_free(at);
        if (error && !*error)
            *error = why;
        else
            kiln_error_free(why);
        return status;
    }
}

/* Finds the best known configuration, and opens a plan with it. If the options give time for tuning, and this
 * configuration was not measured at exactly these sizes on this kind of device, the function tunes first. */
kiln_status kiln_plan_open_best(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                const kiln_best_options *given, kiln_plan **plan, kiln_best **best, kiln_error **error)
{
    kiln_best_options options;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS_CHOICE(engine->mem, error, choice);
    KILN__TRY(kiln__best_take(engine, __func__, given, &options, error));
    KILN__NEEDS(engine->mem, error, plan);
    kiln__best_search search;
    kiln_best *first = NULL, *opened = NULL;
    kiln_status status = kiln__best_open(engine, spec, choice, &options, &search, error);
    if (status != KILN_OK)
        return status;
    status = kiln__best_next(&search, &first, error);
    if (status == KILN_OK && options.tune_seconds > 0 && first->from != KILN_BEST_EXACT) {
        kiln_best *tuned = NULL;
        tune_from(&search, &options, first, &tuned);
        if (tuned) {
            kiln_best_free(first);
            first = tuned;
            /* begins with the best known configuration again if the plan of the sweep's result cannot be opened */
            search.at = 0;
            search.ended = false;
        }
    }
    if (status == KILN_OK)
        status = open_first(&search, first, plan, &opened, error);
    kiln__best_close(&search);
    if (status != KILN_OK)
        return status;
    if (best)
        *best = opened;
    else
        kiln_best_free(opened);
    return KILN_OK;
}
