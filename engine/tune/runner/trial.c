/* trial.c - decides how long a sample is measured, and computes the features of its input. A sample that is clearly
 * slower than the best so far is stopped early. */
#include <math.h>

#include "objective_internal.h"
#include "plan.h"
#include "trial_internal.h"

/* A sample is stopped early if it takes this factor times the best time. The factor is large enough that the noise of a
 * few repetitions does not matter. It is small enough that most configurations of a space are above it. */
#define STOP_EARLY_FACTOR 1.5

/* A first run is not repeated if it takes this factor times the best time. The host measures this run, and its time
 * includes the first launch of the kernels. A time below CUT_FLOOR seconds is therefore inexact, and repeating such a
 * run takes little time. */
#define CUT_FACTOR 30
#define CUT_FLOOR 0.02
/* The share of a sweep's time limit that one sample may take, from its first launch to the end of its measurement. */
#define LIMIT_SHARE 0.1

/* The most runs whose answers are compared when the best configuration is checked at the end. */
#define VERIFY_RUNS_MOST 100000

const kiln_run_options *kiln__tune_run(const kiln_tune_options *options)
{
    static const kiln_run_options defaults = {.size = sizeof defaults};
    return options->run ? options->run : &defaults;
}

bool kiln__trial_stops_early(const kiln_tune_options *options)
{
    const kiln_run_options *run = kiln__tune_run(options);
    bool exactly = run->min_repetitions > 0 && run->min_repetitions == run->max_repetitions;
    return !(options->flags & KILN_TUNE_NO_STOP_EARLY) && !(run->flags & KILN_RUN_ENERGY) && !exactly &&
           kiln__goals_by_time(options);
}

double kiln__trial_bound(const kiln_tune_options *options, const kiln_sample *best)
{
    /* an estimate cannot be compared with times that the host measured */
    if (!best || best->result->estimated || !kiln__trial_stops_early(options))
        return 0;
    return STOP_EARLY_FACTOR * kiln__result_seconds(best->result);
}

kiln__trial kiln__trial_plan(const kiln_tune_options *options, const kiln_sample *best)
{
    const double bound = kiln__trial_bound(options, best), share = LIMIT_SHARE * options->max_seconds;
    kiln__trial trial = {.stop_early_above = bound};
    if (!kiln__trial_stops_early(options))
        return trial;
    trial.most_seconds = share;
    trial.cut_above = bound > 0 ? fmax(CUT_FACTOR / STOP_EARLY_FACTOR * bound, CUT_FLOOR) : share;
    return trial;
}

kiln_run_options kiln__trial_run(const kiln_run_options *sweep, const kiln__trial *trial)
{
    kiln_run_options run = *sweep;
    run.stop_early_above = trial->stop_early_above;
    run.cut_above = trial->cut_above;
    run.most_seconds = trial->most_seconds;
    if (trial->timeout != 0)
        run.sample_timeout = trial->timeout;
    if (trial->again) {
        run.flags = (run.flags | KILN_RUN_NO_VERIFY) & ~(KILN_RUN_NO_MEASURE | KILN_RUN_ENERGY);
        run.min_repetitions = run.max_repetitions = trial->again;
    }
    if (trial->verify_seconds > 0 || trial->answer != KILN__ANSWER_NONE)
        run.flags = (run.flags | KILN_RUN_NO_MEASURE) & ~KILN_RUN_ENERGY;
    if (trial->verify_seconds > 0) {
        run.verify_runs = VERIFY_RUNS_MOST;
        run.verify_seconds = trial->verify_seconds;
    }
    return run;
}

kiln_status kiln__trial_features(kiln_plan *plan, kiln__text *out, kiln_error **error)
{
    kiln__arena arena = {.mem = out->mem};
    kiln__settings features;
    kiln_status status = kiln__plan_features(plan, &arena, &features, error);
    if (status == KILN_OK)
        kiln__settings_print(out, features);
    kiln__arena_free(&arena);
    return status == KILN_OK && out->failed ? kiln__fail_memory(error) : status;
}
