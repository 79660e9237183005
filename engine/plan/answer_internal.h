/* answer_internal.h - compares the answers of several runs of a plan (answer.c). The engine's context must be current
 * in all of these calls. */
#ifndef KILN_PLAN_ANSWER_INTERNAL_H
#define KILN_PLAN_ANSWER_INTERNAL_H

#include "driver.h"
#include "plan.h"

typedef struct kiln__answers {
    CUdeviceptr *copies; /* the first answer of each buffer; 0 means that the buffer is not compared */
    /* false means that the device cannot compare answers, so every later answer counts as different */
    bool on_device;
} kiln__answers;
/* Copies the outputs of the run that has just been compared with the reference. If `on_device` is false, the host
 * compares the answers, and no kernel does. Runs with checks pass false, because their checks would also check the
 * comparing kernel. Call kiln__answers_drop() also if kiln__answers_keep() failed. */
kiln_status kiln__answers_keep(kiln_plan *plan, bool on_device, kiln__answers *answers, kiln_error **error);
/* Sets *same if the outputs of the last run have the same bytes as the copies in `answers`. Waits for the device. */
kiln_status kiln__answers_same(kiln_plan *plan, const kiln__answers *answers, bool *same, kiln_error **error);
void kiln__answers_drop(kiln_plan *plan, kiln__answers *answers);

/* Compares two ranges of device memory byte by byte. Sets *same to false also if the device cannot load the comparing
 * kernel. */
kiln_status kiln__memory_same(kiln_plan *plan, const CUdeviceptr at[2], uint64_t bytes, bool *same, kiln_error **error);

#endif
