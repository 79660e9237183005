/* split.c - makes samples of a simulated device at two sets of sizes. At the small sizes all blocks run, and the answer
 * is verified. At the sizes of the sweep only a few blocks run, and the time is estimated. */
#include <string.h>

#include "config.h"
#include "plan.h"
#include "split_internal.h"
#include "trial_internal.h"

static kiln_status unsupported(const kiln_engine *engine, const kiln_spec *spec, const char *what, const char *why,
                               kiln_error **error)
{
    return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                      "%s cannot be verified at one size and estimated at "
                      "another: %s%s",
                      spec->name, what, why);
}

static const kiln_size_set *find_set(const kiln_spec *spec, const char *name)
{
    for (size_t i = 0; i < kiln_spec_size_set_count(spec); i++)
        if (strcmp(kiln_spec_size_set(spec, i)->name, name) == 0)
            return kiln_spec_size_set(spec, i);
    return NULL;
}

kiln_status kiln__split_check(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              kiln_error **error)
{
    const unsigned flags = KILN_RUN_NO_VERIFY | KILN_RUN_NO_MEASURE | KILN_RUN_CHECK;
    const kiln_run_options *run = kiln__tune_run(options);
    if (!options->verify_size_set)
        return KILN_OK;
    if (!find_set(spec, options->verify_size_set))
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "kiln_tune: options.verify_size_set: %s has no set of "
                          "sizes '%s'",
                          spec->name, options->verify_size_set);
    const kiln_device_info *device = NULL;
    KILN__TRY(kiln_engine_device(engine, &device, error));
    if (!device->simulated || options->device_count || engine->ranks || options->isolation == KILN_ISOLATE_ALWAYS)
        return unsupported(engine, spec, "only a sweep on one simulated device, in this process, can do that", "",
                           error);
    if (run->flags & flags || run->input_count || run->output_count)
        return unsupported(engine, spec, "the options of the run allow only one size", "", error);
    for (size_t i = 0; i < spec->variant_count; i++) {
        const kiln__variant *v = &spec->variants[i];
        if (v->input_count || kiln__steps_depend(v))
            return unsupported(engine, spec, "the amount of its work depends on data, in the variant ", v->name, error);
    }
    return KILN_OK;
}

bool kiln__split_print(const kiln_spec *spec, const kiln_tune_options *options, kiln__text *out)
{
    const kiln_size_set *set = options->verify_size_set ? find_set(spec, options->verify_size_set) : NULL;
    if (!set)
        return false;
    kiln__text_printf(out, " at %s (", set->name);
    kiln__settings_print(out, (kiln__settings){set->count, set->settings});
    kiln__text_puts(out, ")");
    return true;
}

/* Makes the code of a configuration at the small sizes. This code equals the code at the sweep's sizes, unless the
 * source uses sizes as macros. In both cases the cache may have the code. */
static kiln_status make_code(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                             kiln__config **config, kiln__code *code, bool *invalid, kiln_error **error)
{
    kiln__code_job *job = NULL;
    kiln_error *why = NULL;
    kiln_status status = kiln__config_make(engine, spec, choice, config, &why);
    *invalid = status == KILN_ERROR_CONSTRAINT;
    if (*invalid) {
        kiln_error_free(why);
        return KILN_OK;
    }
    if (status == KILN_OK)
        status = kiln__code_prepare(engine, *config, NULL, engine->want_cubin, &job, &why);
    if (status == KILN_OK && (status = kiln__code_begin(job, &why)) == KILN_OK)
        status = kiln__code_take(job, code, &why);
    if (status == KILN_OK)
        return KILN_OK;
    kiln__config_free(*config);
    *config = NULL;
    if (error && !*error)
        *error = why;
    else
        kiln_error_free(why);
    return status;
}

kiln_status kiln__split_plan(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, kiln_plan **plan,
                             bool *invalid, kiln_error **error)
{
    kiln__config *config = NULL;
    kiln__code code = {0};
    KILN__TRY(make_code(engine, spec, choice, &config, &code, invalid, error));
    /* the plan takes ownership of the configuration and the code, also after a failure */
    return *invalid ? KILN_OK : kiln__plan_make(engine, config, &code, plan, error);
}

kiln_status kiln__split_code(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             const kiln_sample *sample, kiln__code *code, bool *invalid, kiln_error **error)
{
    const kiln_choice choice = {.variant = sample->variant,
                                .params = sample->params,
                                .param_count = sample->param_count,
                                .size_set = options->verify_size_set};
    kiln__config *config = NULL;
    kiln_status status = make_code(engine, spec, &choice, &config, code, invalid, error);
    kiln__config_free(config);
    return status;
}

kiln_status kiln__split_verify(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                               kiln__shared *shared, const kiln_sample *sample, kiln_result *result, kiln_error **error)
{
    const kiln_choice choice = {.variant = sample->variant,
                                .params = sample->params,
                                .param_count = sample->param_count,
                                .size_set = options->verify_size_set};
    kiln_plan *plan = NULL;
    const kiln_result *ran = NULL;
    bool invalid = false;
    KILN__TRY(kiln__split_plan(engine, spec, &choice, &plan, &invalid, error));
    if (invalid)
        return KILN_OK;
    kiln_run_options run = *kiln__tune_run(options);
    run.flags |= KILN_RUN_NO_MEASURE;
    kiln__plan_share(plan, shared);
    kiln_status status = kiln_plan_run(plan, &run, &ran, error);
    if (ran)
        kiln__take_answer(result, ran);
    kiln_plan_close(plan);
    return status;
}
