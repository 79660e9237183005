/* answer_internal.h - the answers of several runs of a plan (answer.c). The context must be current. */
#ifndef KILN_PLAN_ANSWER_INTERNAL_H
#define KILN_PLAN_ANSWER_INTERNAL_H

#include "driver.h"
#include "plan.h"

typedef struct kiln__answers {
    CUdeviceptr *copies; /* for each buffer: the first answer; 0 means that the buffer is not compared */
    bool on_device;      /* false: the device cannot compare, so every later answer counts as different */
} kiln__answers;
/* Copies the outputs of the run that has just been compared with the reference. If `on_device` is false, no kernel
 * compares answers. This is for runs with checks, which would check that kernel too. Call kiln__answers_drop() also
 * after a failure. */
kiln_status kiln__answers_keep(kiln_plan *plan, bool on_device, kiln__answers *answers, kiln_error **error);
/* Sets *same if the outputs of the last run have the bytes of the copies. Waits for the device. */
kiln_status kiln__answers_same(kiln_plan *plan, const kiln__answers *answers, bool *same, kiln_error **error);
void kiln__answers_drop(kiln_plan *plan, kiln__answers *answers);

/* Compares two ranges of device memory byte by byte. *same is also false if the device cannot load the kernel that
 * compares. */
kiln_status kiln__memory_same(kiln_plan *plan, const CUdeviceptr at[2], uint64_t bytes, bool *same, kiln_error **error);

#endif
