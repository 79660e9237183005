/* patience.c - decides how many steps and how much time a run may take. On a simulated device a run has a limit of
 * steps, because the time of a run depends on the load of the machine. A step is one instruction of a warp. The
 * simulated device keeps its context after a run has reached its limit, so that the judge can continue. A GPU has only
 * a time limit. */
#include <math.h>

#include "judge_internal.h"

enum {
    LEAST = 1 << 21, /* the number of steps that a run may take in each trial */
    EACH = 64,       /* the number of further steps for each element of the buffers */
    TIMES_LIMIT = 8  /* a repeated run and a reference may take this many times the usual time limit */
};

static const kiln__simulator *simulator_of(const kiln__judge *judge) { return judge->engine->driver.simulator; }

/* Returns the largest number of steps that a run may take in the present trial. */
static uint64_t get_most(const kiln__judge *judge)
{
    return judge->steps_given ? judge->steps_given
                              : LEAST + EACH * judge->elements + (uint64_t)fmax(0, fmin(judge->flops, 0x1p40));
}

double kiln__judge_get_time_limit(const kiln__judge *judge)
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
    const double seconds = judge->options.launch_limit * (simulator_of(judge) ? TIMES_LIMIT : 1);
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
