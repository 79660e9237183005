/* ties.c - decides the order of launches whose estimated times are nearly equal. Many launches have equal estimates,
 * because the estimate is the time that memory needs for their bytes. Their measured times differ by up to 25 %.
 * ESTIMATE.md has the reasons for the rules, and the recorded sweeps on which they were checked. */
#include <math.h>

#include "vm_time.h"

/* The weight of each rule: each rule adds at most this share to an estimate. The weight is far below the error of the
 * model, so a rule changes only the order of nearly equal estimates. */
#define TIE_SHARE 0.01

/* Returns a factor from 1 to 1.04. The launch with the smaller product of estimate and factor counts as faster. The
 * factor is smaller for a launch with these properties:
 *   - It issues fewer instructions. `issue` is the share of the issue slots in use, so the product of `issue` and
 *     clocks is proportional to the number of instructions.
 *   - Its blocks run in more waves. The device gives new blocks to the SMs that are free first, but it cannot move
 *     blocks that have started. The term is 1 / n for n waves. If blocks read data that other blocks write during the
 *     launch, later blocks wait for earlier blocks. Then more waves do not help, and the term is 1.
 *   - It does not send data to other blocks of a cluster. The model does not know how long these blocks wait.
 *   - It does not spill registers. The model charges only the least time of a spill. */
double model_time_tie_factor(const vm_time_launch *launch, const vm_time_result *result)
{
    const vm_spills *spills = &launch->spills;
    const double at_once = launch->model->sm_count * launch->resident,
                 waves = fmax((double)launch->block_count / (at_once > 0 ? at_once : 1), 1),
                 fixed = launch->cost->polls ? 1 : 1 / waves;
    return 1 + TIE_SHARE * (fmin(result->issue, 1) + fixed + (launch->cost->sends ? 1 : 0) +
                            (spills->stores + spills->loads > 0 ? 1 : 0));
}
