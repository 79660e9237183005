/* trial_internal.h - how long a sample is measured (runner/trial.c). */
#ifndef KILN_TUNE_TRIAL_INTERNAL_H
#define KILN_TUNE_TRIAL_INTERNAL_H

#include "plan.h"

typedef struct kiln__trial { /* the special settings for the run of one sample */
    double stop_early_above; /* stop_early_above of kiln_run_options */
    double cut_above;        /* cut_above of kiln_run_options */
    double most_seconds;     /* most_seconds of kiln_run_options */
    double timeout;          /* sample_timeout of kiln_run_options; 0: the sweep's */
    unsigned again;          /* exactly this many repetitions, without a check; 0: as in the sweep */
    double verify_seconds;   /* above 0: run after run is checked for this long */
    kiln__answer_use answer; /* use of the answer; if not NONE, the sample is not measured */
} kiln__trial;
/* Whether the sweep stops clearly slower configurations early. Not with other objectives than time (a slow
 * configuration may need little energy, for example), and not if the number of repetitions is given. */
bool kiln__trial_stops_early(const kiln_tune_options *options);
/* Time above which a sample is stopped early, with `best` (NULL: none) as the best so far; 0: never. */
double kiln__trial_bound(const kiln_tune_options *options, const kiln_sample *best);
/* How a sample of a sweep is measured, with `best` (NULL: none) as the best so far. */
kiln__trial kiln__trial_plan(const kiln_tune_options *options, const kiln_sample *best);
/* The run options of its samples. */
const kiln_run_options *kiln__tune_run(const kiln_tune_options *options);
/* Copies the verdict on the answer, which was found at other sizes. */
static inline void kiln__take_answer(kiln_result *to, const kiln_result *from)
{
    to->verified = from->verified;
    to->worst_error = from->worst_error;
    to->median_error = from->median_error;
    to->p999_error = from->p999_error;
    to->weak = from->weak;
}
kiln_run_options kiln__trial_run(const kiln_run_options *sweep, const kiln__trial *trial);
/* The features of a plan that has run, as a text of settings. */
kiln_status kiln__trial_features(kiln_plan *plan, kiln__text *out, kiln_error **error);

#endif
