/* ties.c - orders launches whose estimates are nearly equal: they differ by less than the error of the model. Many
 * launches get the same estimate, the time that memory needs for their bytes, although their measured times differ by
 * up to 25 %. ESTIMATE.md has the reasons for the rules, and the recorded sweeps on which they were checked. */
#include <math.h>

#include "vm_time.h"

/* The weight of each rule. The weight is far below the error of the model, so a rule decides only between near ties. */
#define TIE_SHARE 0.01

/* Returns a factor that is smaller, which means better, for a launch
 *   - that issues fewer instructions: `issue` is the share of the issue slots that are used, so its product with the
 *     clocks is the number of instructions;
 *   - whose blocks run in more waves: the device gives new blocks to the SMs that are free first, but it cannot move
 *     blocks that have started. The term is 1 / n for n waves. If blocks read data that other blocks write during the
 *     launch, later blocks wait for earlier blocks. Then the number of waves does not help, and the term is 1;
 *   - that does not send data to other blocks of a cluster: the model does not know how long these blocks wait;
 *   - that does not spill registers: the model charges only the least time of a spill. */
double model_time_tie_factor(const vm_time_launch *launch, const vm_time_result *result)
{
    const vm_spills *spills = &launch->spills;
    const double at_once = launch->model->sm_count * launch->resident,
                 waves = fmax((double)launch->block_count / (at_once > 0 ? at_once : 1), 1),
                 fixed = launch->cost->polls ? 1 : 1 / waves;
    return 1 + TIE_SHARE * (fmin(result->issue, 1) + fixed + (launch->cost->sends ? 1 : 0) +
                            (spills->stores + spills->loads > 0 ? 1 : 0));
}
