/* trial_internal.h - the settings for the run of one sample, such as the time for which it is measured
 * (runner/trial.c). */
#ifndef KILN_TUNE_TRIAL_INTERNAL_H
#define KILN_TUNE_TRIAL_INTERNAL_H

#include "plan.h"

typedef struct kiln__trial { /* the settings that apply to the run of one sample */
    double stop_early_above; /* stop_early_above of kiln_run_options */
    double cut_above;        /* cut_above of kiln_run_options */
    double most_seconds;     /* most_seconds of kiln_run_options */
    double timeout;          /* the sample_timeout of kiln_run_options; 0 means the limit of the sweep */
    /* the exact number of repetitions of a run that does not check the answer; 0 means the same number as in the
     * sweep */
    unsigned again;
    double verify_seconds; /* the seconds for further runs whose answers are compared; 0 means no further runs */
    /* the way in which the run uses its answer; if it is not NONE, the sample is not measured */
    kiln__answer_use answer;
} kiln__trial;
/* Tells whether the sweep stops configurations early that are clearly slower than the best. Time must be the only
 * objective, and the sweep must not measure energy, because a slow configuration may need little energy. The caller
 * must not have set an exact number of repetitions. */
bool kiln__trial_stops_early(const kiln_tune_options *options);
/* Returns the time in seconds above which a sample is stopped early, or 0 for never. `best` is the best sample so far,
 * or NULL. */
double kiln__trial_bound(const kiln_tune_options *options, const kiln_sample *best);
/* Returns the settings for the next sample. `best` is the best sample so far, or NULL. */
kiln__trial kiln__trial_plan(const kiln_tune_options *options, const kiln_sample *best);
/* Returns the run options of the sweep. These run options are the options of the caller, or the defaults. */
const kiln_run_options *kiln__tune_run(const kiln_tune_options *options);
/* Copies the verdict on the answer from the result of a run at other sizes. */
static inline void kiln__take_answer(kiln_result *to, const kiln_result *from)
{
    to->verified = from->verified;
    to->worst_error = from->worst_error;
    to->median_error = from->median_error;
    to->p999_error = from->p999_error;
    to->weak = from->weak;
}
kiln_run_options kiln__trial_run(const kiln_run_options *sweep, const kiln__trial *trial);
/* Writes the features of the input as a text of settings. The plan must have run. */
kiln_status kiln__trial_features(kiln_plan *plan, kiln__text *out, kiln_error **error);

#endif
