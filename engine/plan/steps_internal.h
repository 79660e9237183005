/* steps_internal.h - runs the steps of a plan (steps.c). */
#ifndef KILN_PLAN_STEPS_INTERNAL_H
#define KILN_PLAN_STEPS_INTERNAL_H

#include "driver.h"
#include "plan.h"

/* Runs the steps, or before_each, once on `stream`. Memory and contents must exist, and the context must be current. */
kiln_status kiln__steps_enqueue(kiln_plan *plan, bool before, CUstream stream, kiln_error **error);
bool kiln__steps_dynamic(const kiln__step *steps, size_t count);
/* the largest number of argument words of a launch */
size_t kiln__steps_most_words(const kiln__step *steps, size_t count);
/* Finds the geometry of each kernel's first launch, as far as it is known without running. */
void kiln__steps_geometry(kiln_plan *plan);

#endif
