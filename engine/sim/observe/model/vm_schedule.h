/* vm_schedule.h - the order that a compiler gives to the instructions of a function. */
#ifndef KILN_SIM_VM_SCHEDULE_H
#define KILN_SIM_VM_SCHEDULE_H

#include "vm_cost.h"

/* Finds the regions of a function, loads that become one load, and an order for each region. The function's
 * instructions begin at `first` in cost->insns, and their costs are set. Returns false if memory runs out. */
bool model_schedule_function(vm_cost *cost, const ptx_function *f, uint32_t first, const sim_model *model);
#endif
