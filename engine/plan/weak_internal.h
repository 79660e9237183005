/* weak_internal.h - finds out whether a right answer proves little about the kernel (weak.c). */
#ifndef KILN_PLAN_WEAK_INTERNAL_H
#define KILN_PLAN_WEAK_INTERNAL_H

#include "plan_internal.h"

/* Tells whether all elements of the expected answer are equal. Returns false for an array with only a few elements. */
bool kiln__weak_answer(const kiln_array *want);
/* Sets *weak if the spec has inputs and all of them are zero. */
kiln_status kiln__weak_inputs(kiln_plan *plan, bool *weak, kiln_error **error);

#endif
