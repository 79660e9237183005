/* finals_internal.h - measures the fastest configurations of a sweep again (finalists.c, confirm.c). */
#ifndef KILN_TUNE_FINALS_INTERNAL_H
#define KILN_TUNE_FINALS_INTERNAL_H

#include "trial_internal.h"

typedef struct kiln__again { /* functions of the sweep that the finals use */
    void *user;
    const kiln__log *log;
    /* Measures a sample again. Sets *ends if the sample did not cause the failure, so that the sweep must end. */
    kiln_status (*measure)(void *user, const kiln_sample *sample, const kiln__trial *trial, kiln_result *result,
                           bool *ends, kiln_error **error);
    /* Writes a sample over its row in the store. `times` has the times of the repetitions; NULL keeps the stored times.
     * `why` is the error with which the sample failed, or NULL. */
    void (*keep)(void *user, const kiln_sample *sample, const double *times, size_t count, const kiln_error *why);
} kiln__again;
/* Call this after the sweep, whose wall time is in the totals. Holds the finals, or reuses stored finals, and sets the
 * verdict. */
kiln_status kiln__finals_hold(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                              kiln_error **error);

/* Call this after the finals. Runs the best configuration again and compares each answer, until all answers of a best
 * configuration are right (confirm.c). */
kiln_status kiln__best_confirm(kiln_tuning *tuning, const kiln_tune_options *options, const kiln__again *again,
                               kiln_error **error);

#endif
