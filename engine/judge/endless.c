/* endless.c - runs trials, and decides whether a kernel does not end. A kernel that reaches its step limit may still
 * end later, because a correct kernel may need many steps. So the judge counts how many steps the spec's own kernel
 * needs in the same trial. If the candidate needs many times this number of steps, the judge decides that it does not
 * end. A step is one instruction of a warp. */
#include <inttypes.h>

#include "judge_internal.h"

enum {
    FACTOR = 128, /* a candidate may take this many times the steps of the spec's own kernel */
    /* a candidate may take this many further steps, because the step counts of short kernels differ more */
    SPARE = 1 << 21
};

kiln_status kiln__judge_run_trial(kiln__judge *judge, const kiln__judge_trial *trial, bool original,
                                  kiln__judge_fault *fault, bool *fits, kiln_error **error)
{
    judge->steps = judge->trusted_steps = 0;
    if (trial->phase == KILN__JUDGE_PHASE_LARGE)
        return kiln__judge_large(judge, trial, original, fault, fits, error);
    if (trial->phase == KILN__JUDGE_PHASE_CALLS && !original)
        return kiln__judge_calls(judge, trial, fault, fits, error);
    if (trial->phase == KILN__JUDGE_PHASE_STREAMS && !original)
        return kiln__judge_streams(judge, trial, fault, fits, error);
    return kiln__judge_try(judge, trial, original, fault, fits, error);
}

/* Runs the trial again with the step limit `most`. The time limit is then longer than in the first run. */
static kiln_status run_again(kiln__judge *judge, const kiln__judge_trial *trial, bool original, uint64_t most,
                             kiln__judge_fault *fault, bool *fits, kiln_error **error)
{
    judge->steps_given = most;
    judge->steps = 0;
    kiln_status status = kiln__judge_run_trial(judge, trial, original, fault, fits, error);
    judge->steps_given = 0;
    return status;
}

void kiln__judge_tell_steps(kiln__judge *judge, uint64_t taken, uint64_t needs, kiln__judge_fault *fault)
{
    fault->message = kiln__judge_print(judge,
                                       "it does not end: it ran for %" PRIu64 " steps (instructions of a warp), and "
                                       "the variant's own source ends after %" PRIu64 ": %s",
                                       taken, needs, fault->message);
}

kiln_status kiln__judge_give_more_steps(kiln__judge *judge, const kiln__judge_trial *trial, size_t findings,
                                        kiln__judge_fault *fault, bool *fits, bool *fails, uint64_t *most,
                                        kiln_error **error)
{
    const uint64_t taken = judge->steps;
    kiln__judge_fault own;
    bool own_fits;
    *fails = false;
    *most = 0;
    if (fault->kind != KILN_JUDGED_TIMEOUT || fault->of_code || !judge->simulated || judge->broken)
        return KILN_OK;
    KILN__TRY(run_again(judge, trial, true, UINT64_MAX, &own, &own_fits, error));
    *fails = own.kind != KILN_JUDGED_PASS;
    if (*fails || judge->broken)
        return KILN_OK;
    const uint64_t needs = judge->steps, limit = needs < UINT64_MAX / FACTOR / 2 ? FACTOR * needs + SPARE : UINT64_MAX;
    judge->steps = taken;
    if (taken < limit) {
        /* Removes the findings of the first run. The second run finds them again, except the finding that the first
         * limit was reached. */
        judge->finding_count = findings;
        KILN__TRY(run_again(judge, trial, false, limit, fault, fits, error));
    }
    if (fault->kind == KILN_JUDGED_TIMEOUT && judge->steps >= limit) {
        kiln__judge_tell_steps(judge, judge->steps, needs, fault);
        *most = limit;
    }
    return KILN_OK;
}
