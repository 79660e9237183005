/* patience.c - how long a run may take, and the evidence that a kernel does not end.
 *
 * On a simulated device a run has a limit of steps (instructions of a warp), because a limit of time depends on the load of the
 * machine. A limit is no proof: a right kernel may need many steps. So the judge asks how many steps the variant's own source
 * needs. The candidate is late only after many times that number. The simulated device keeps its context after a limit, so
 * that the judge can go on. A GPU has only the limit of time. */
#include <inttypes.h>
#include <math.h>

#include "judge_internal.h"

enum {
    FACTOR = 128,    /* a kernel may need this many times the steps of the variant's own source */
    SPARE = 1 << 21, /* and these steps, because short kernels differ more */
    LEAST = 1 << 21, /* steps of a small trial */
    EACH = 64,       /* further steps for each element */
    TIMES_LIMIT = 8  /* the time limit of a second look, as a multiple of the first one's */
};

static const kiln__simulator *simulator_of(const kiln__judge *judge) { return judge->engine->driver.simulator; }

/* Returns the most steps of a run in the present trial. */
static uint64_t get_most(const kiln__judge *judge)
{
    return judge->steps_given ? judge->steps_given
                              : LEAST + EACH * judge->elements + (uint64_t)fmax(0, fmin(judge->flops, 0x1p40));
}

double kiln__judge_seconds(const kiln__judge *judge)
{
    return judge->options.launch_limit * (judge->steps_given ? TIMES_LIMIT : 1);
}

void kiln__judge_begin_steps(kiln__judge *judge)
{
    if (!simulator_of(judge))
        return;
    judge->steps_most = judge->steps_left = get_most(judge);
    simulator_of(judge)->steps(&judge->steps_left);
    simulator_of(judge)->keep(true);
}

kiln_status kiln__judge_end_steps(kiln__judge *judge, kiln_status status, kiln_error **why)
{
    if (!simulator_of(judge))
        return status;
    simulator_of(judge)->steps(NULL);
    simulator_of(judge)->keep(false);
    const uint64_t taken = judge->steps_most - judge->steps_left;
    judge->steps = taken > judge->steps ? taken : judge->steps;
    if (status == KILN_OK || judge->steps_left)
        return status;
    kiln_error_free(*why);
    *why = NULL;
    return kiln__fail(judge->mem, why, KILN_ERROR_TIMEOUT, "%s", simulator_of(judge)->last_fault());
}

kiln_status kiln__judge_run_trusted(kiln__judge *judge, kiln_plan *plan, kiln_error **error)
{
    const kiln_judge_options *options = &judge->options;
    const double rest = options->budget - kiln__seconds_since(judge->begun);
    const double seconds = rest > options->launch_limit && rest < 1e9 ? rest : options->launch_limit;
    uint64_t left = UINT64_MAX;
    if (simulator_of(judge)) {
        simulator_of(judge)->keep(true);
        simulator_of(judge)->steps(&left);
    }
    kiln_status status = kiln__once_run(plan, seconds, error);
    if (simulator_of(judge)) {
        simulator_of(judge)->keep(false);
        simulator_of(judge)->steps(NULL);
    }
    judge->trusted_steps = UINT64_MAX - left > judge->trusted_steps ? UINT64_MAX - left : judge->trusted_steps;
    return status;
}

/* Runs the trial again with another limit. The limit of time is longer too. */
static kiln_status run_again(kiln__judge *judge, const kiln__judge_trial *trial, bool original, uint64_t most,
                             kiln__judge_fault *fault, bool *fits, kiln_error **error)
{
    judge->steps_given = most;
    judge->steps = 0;
    kiln_status status = kiln__judge_run_trial(judge, trial, original, fault, fits, error);
    judge->steps_given = 0;
    return status;
}

void kiln__judge_tell_late(kiln__judge *judge, uint64_t taken, uint64_t needs, kiln__judge_fault *fault)
{
    fault->message = kiln__judge_print(judge,
                                       "it does not end: it ran for %" PRIu64 " steps (instructions of a warp), and "
                                       "the variant's own source ends after %" PRIu64 ": %s",
                                       taken, needs, fault->message);
}

kiln_status kiln__judge_look_at_late(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault,
                                     bool *fits, bool *fails, uint64_t *most, kiln_error **error)
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
    if (taken < limit)
        KILN__TRY(run_again(judge, trial, false, limit, fault, fits, error));
    if (fault->kind == KILN_JUDGED_TIMEOUT && judge->steps >= limit) {
        kiln__judge_tell_late(judge, judge->steps, needs, fault);
        *most = limit;
    }
    return KILN_OK;
}
