/* verify_internal.h - computes references, and compares the outputs of a run with the references (verify.c,
 * inputs.c). */
#ifndef KILN_PLAN_VERIFY_INTERNAL_H
#define KILN_PLAN_VERIFY_INTERNAL_H

#include "plan.h"

/* Computes the references of the outputs, before the steps overwrite the data on which the references depend. */
kiln_status kiln__plan_references(kiln_plan *plan, kiln_error **error);
/* Opens the plans of references that are variants, before the process gives up its rights. */
kiln_status kiln__plan_open_references(kiln_plan *plan, kiln_error **error);
/* Computes the references by host functions. The plan need not have code. */
kiln_status kiln__plan_host_references(kiln_plan *plan, kiln_error **error);
kiln_status kiln__plan_verify(kiln_plan *plan, kiln_result *result, kiln_error **error);
/* Adds the names of the inputs that the run has changed to `wrong`. */
kiln_status kiln__plan_inputs_same(kiln_plan *plan, kiln__text *wrong, kiln_error **error);

#endif
