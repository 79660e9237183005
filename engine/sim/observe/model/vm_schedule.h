/* vm_schedule.h - the order in which a compiler would place the instructions of a function. */
#ifndef KILN_SIM_VM_SCHEDULE_H
#define KILN_SIM_VM_SCHEDULE_H

#include "vm_cost.h"

/* Divides a function into regions, finds the loads that become one load, and orders the instructions of each region.
 * The instructions of the function begin at `first` in cost->insns, and their costs must be set before. Returns false
 * if memory runs out. */
bool model_schedule_function(vm_cost *cost, const ptx_function *f, uint32_t first, const sim_model *model);
#endif
