/* finals_internal.h - the fastest configurations, measured again (finalists.c, confirm.c). */
#ifndef KILN_TUNE_FINALS_INTERNAL_H
#define KILN_TUNE_FINALS_INTERNAL_H

#include "trial_internal.h"

typedef struct kiln__again { /* functions of the sweep */
    void *user;
    const kiln__log *log;
    /* **ends is set if the sample did not cause the failure, so that the sweep must end. */
    kiln_status (*measure)(void *user, const kiln_sample *sample, const kiln__trial *trial, kiln_result *result,
                           bool *ends, kiln_error **error);
    /* Writes the sample over its row in the store. `times`: the repetitions' times, or NULL to keep the stored ones.
     * `why`: the error with which the sample failed, or NULL. */
    void (*keep)(void *user, const kiln_sample *sample, const double *times, size_t count, const kiln_error *why);
} kiln__again;
/* After the sweep, whose wall time is in the totals: holds finals, or reuses stored ones, and sets the verdict. */
kiln_status kiln__finals_hold(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                              kiln_error **error);

/* After the finals: runs the best configuration again and compares each answer, until all answers of the best
 * configuration are right (confirm.c). */
kiln_status kiln__best_confirm(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                               kiln_error **error);

#endif
