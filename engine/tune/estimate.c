/* estimate.c - estimates some configurations by the simulated device's model, before the search on a GPU begins. The
 * search uses these estimates as hints. A second sweep on a second engine makes the estimates, and measures nothing.
 * The second sweep ends after the share SHARE of the time, after MOST configurations, or after the caller's limit of
 * configurations, whichever comes first. */
#include <stdio.h>
#include <string.h>

#include "estimate_internal.h"
#include "known_internal.h"
#include "model_internal.h"
#include "source_internal.h"
#include "tuning_internal.h"

#define SHARE 0.1 /* the share of the sweep's time that the estimates may take */
#define MOST 256  /* configurations */

static int look(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    const kiln__asker *watch = user;
    (void)progress, (void)sample;
    return watch->stop && watch->stop(watch->user);
}

static kiln_status give_hints(kiln__tune_source *source, const kiln_tuning *estimated, size_t *count,
                              kiln_error **error)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < kiln_tuning_count(estimated) && status == KILN_OK; i++) {
        const kiln_sample *sample = kiln_tuning_sample(estimated, i);
        if (sample->status != KILN_OK || !sample->result->estimated)
            continue;
        const kiln__known known = {.variant = sample->variant,
                                   .params = KILN__PARAMS(sample),
                                   .seconds = kiln__result_seconds(sample->result)};
        status = kiln__tune_source_hint(source, &known, count, error);
    }
    return status;
}

/* Runs the sweep that estimates, and gives its times to the source of configurations. Fails only for errors that the
 * search would have too, such as no memory, a wrong argument, or a file that is not found. Logs any other failure, and
 * the search begins without estimates. */
kiln_status kiln__estimates_make(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                 const kiln__asker *watch, kiln__sweep *sweep, kiln__tune_source *source, size_t *count,
                                 kiln_error **error)
{
    *count = 0;
    if (engine->driver.simulator)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                          "options.estimates needs a GPU: times on %s are already estimates", engine->info.id);
    kiln__arena arena = {.mem = engine->mem};
    kiln_engine *model = NULL;
    kiln_tuning *estimated = NULL;
    kiln_error *why = NULL;
    const kiln_run_options run = {.size = sizeof run, .flags = KILN_RUN_NO_VERIFY};
    kiln_tune_options how = {.size = sizeof how,
                             .variants = options->variants,
                             .variant_count = options->variant_count,
                             .params = options->params,
                             .param_count = options->param_count,
                             .size_set = options->size_set,
                             .sizes = options->sizes,
                             .size_count = options->size_count,
                             .run = &run,
                             .max_configurations = MOST,
                             .max_seconds = SHARE * options->max_seconds,
                             .sample_timeout = SHARE * options->max_seconds,
                             .callback = look,
                             .user = (void *)watch,
                             .isolation = KILN_ISOLATE_NEVER,
                             .strategy = "random",
                             .seed = options->seed};
    if (options->max_configurations && options->max_configurations < MOST)
        how.max_configurations = options->max_configurations;
    kiln_status status = kiln__estimates_open(engine, options->estimates, &arena, &model, &why);
    if (status == KILN_OK)
        status = sweep(model, spec, &how, &estimated, &why);
    const bool ends = status == KILN_ERROR_MEMORY || status == KILN_ERROR_ARGUMENT || status == KILN_ERROR_NOT_FOUND;
    kiln_status hinted = give_hints(source, estimated, count, error);
    if (ends || hinted != KILN_OK)
        *count = 0;
    else if (*count > 0)
        kiln__logf(&engine->log, KILN_LOG_INFO, "%s: the search begins with estimates of %zu configuration%s by %s",
                   spec->name, *count, *count == 1 ? "" : "s", model->info.id);
    else
        kiln__logf(&engine->log, KILN_LOG_WARNING, "%s: the search begins without estimates: %s", spec->name,
                   status != KILN_OK ? kiln_error_message(why)
                                     : "no configuration could be estimated in its share of the time");
    kiln_tuning_free(estimated);
    kiln_engine_close(model);
    kiln__arena_free(&arena);
    if (hinted == KILN_OK && ends && error && !*error)
        *error = why;
    else
        kiln_error_free(why);
    return hinted != KILN_OK ? hinted : ends ? status : KILN_OK;
}
