/* steps_internal.h - runs the steps of a plan (steps.c). */
#ifndef KILN_PLAN_STEPS_INTERNAL_H
#define KILN_PLAN_STEPS_INTERNAL_H

#include "driver.h"
#include "plan.h"

/* Runs the steps once on `stream`. If `before` is true, runs before_each instead. The memory and the contents of the
 * buffers must exist, and the context must be current. */
kiln_status kiln__steps_enqueue(kiln_plan *plan, bool before, CUstream stream, kiln_error **error);
bool kiln__steps_dynamic(const kiln__step *steps, size_t count);
/* returns the largest number of argument words of a launch */
size_t kiln__steps_most_words(const kiln__step *steps, size_t count);
/* Evaluates the geometry of each kernel's first launch, if it is known without running the steps. */
void kiln__steps_geometry(kiln_plan *plan);

#endif
