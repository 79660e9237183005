/* budget.c - checks the options of a sweep, and decides whether the sweep has reached one of its limits. */
#include <math.h>

#include "budget_internal.h"

#define IMPROVEMENT 0.01 /* by default, a sample counts as better only if its value is lower by more than this share */

void kiln__budget_note(kiln__budget *b, const kiln_sample *sample, double value)
{
    double least = b->options->improvement > 0 ? b->options->improvement : IMPROVEMENT;
    bool better = value < HUGE_VAL && (!b->any || b->mark - value > least * fabs(b->mark));
    b->stale = better ? 0 : b->stale + 1;
    if (better)
        b->mark = value; /* a small improvement leaves `mark` unchanged, so that several small improvements add up */
    b->any |= better;
    if (sample->status == KILN_OK && sample->contender && sample->result->roofline > b->roofline)
        b->roofline = sample->result->roofline;
}

bool kiln__budget_over(kiln__budget *b)
{
    const kiln_tune_options *o = b->options;
    if (o->max_seconds > 0 && kiln__seconds_since(b->start) >= o->max_seconds)
        b->end = KILN_END_SECONDS;
    else if (o->max_roofline > 0 && b->roofline >= o->max_roofline)
        b->end = KILN_END_ROOFLINE;
    else if (o->stagnation && b->stale >= o->stagnation)
        b->end = KILN_END_STAGNATION;
    else
        return false;
    return true;
}

bool kiln__budget_any(const kiln_tune_options *o)
{
    return o->max_configurations || o->max_seconds > 0 || o->max_roofline > 0 || o->stagnation;
}

kiln_status kiln__tune_take(const kiln_allocator *mem, const char *function, const kiln_tune_options *given,
                            kiln_tune_options *options, kiln_run_options *run, kiln_error **error)
{
    KILN__TRY(kiln__take_struct(mem, error, function, "options", given, options, sizeof *options));
    KILN__TRY(kiln__check_names(mem, error, function, "options.variants", "options.variant_count", options->variants,
                                options->variant_count));
    KILN__TRY(kiln__check_settings(mem, error, function, "options.params", "options.param_count", options->params,
                                   options->param_count));
    KILN__TRY(kiln__check_settings(mem, error, function, "options.sizes", "options.size_count", options->sizes,
                                   options->size_count));
    KILN__TRY(kiln__take_run(mem, error, function, "options.run", options->run, run));
    options->run = run;
    KILN__TRY(kiln__check_names(mem, error, function, "options.devices", "options.device_count", options->devices,
                                options->device_count));
    KILN__TRY(kiln__check_names(mem, error, function, "options.objectives", "options.objective_count",
                                options->objectives, options->objective_count));
    const unsigned flags = KILN_TUNE_FRESH | KILN_TUNE_NO_STOP_EARLY | KILN_TUNE_NO_FINALS | KILN_TUNE_LEAD_ONLY |
                           KILN_TUNE_REPEATABLE;
    if (options->flags & ~flags)
        return kiln__fail_flags(mem, error, function, "options.flags", options->flags & ~flags);
    if ((unsigned)options->isolation > KILN_ISOLATE_ALWAYS)
        return kiln__fail_enum(mem, error, function, "options.isolation", (unsigned)options->isolation,
                               KILN_ISOLATE_ALWAYS + 1);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"options.max_seconds", options->max_seconds},
                   {"options.max_roofline", options->max_roofline},
                   {"options.improvement", options->improvement}};
    for (size_t i = 0; i < KILN__COUNT(numbers); i++)
        if (!(numbers[i].value >= 0)) /* this comparison also rejects NaN */
            return kiln__fail_number(mem, error, function, numbers[i].name, numbers[i].value);
    if (isnan(options->sample_timeout)) /* negative: no limit */
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: options.sample_timeout is nan", function);
    return KILN_OK;
}
