/* capture_internal.h - captures a launch with its data (capture/). */
#ifndef KILN_PLAN_CAPTURE_INTERNAL_H
#define KILN_PLAN_CAPTURE_INTERNAL_H

#include "plan_internal.h"

typedef struct kiln__capture kiln__capture;
static inline bool kiln__capture_possible(const kiln_plan *plan)
{
    return plan->capture_folder || atomic_load_explicit(&plan->engine->capture_left, memory_order_relaxed);
}
/* Launches the steps, and captures them if requested. If capturing fails, the log has the reason. If the plan itself
 * was asked for a capture, the launch fails too. */
kiln_status kiln__capture_launch(kiln_plan *plan, CUstream stream, kiln_error **error);
/* The two halves of a capture, before and after the steps of a run. Contents must exist, and the context must be
 * current. kiln__capture_end() waits for the stream and frees the capture. */
kiln_status kiln__capture_begin(kiln_plan *plan, const kiln__capture_order *order, CUstream stream,
                                kiln__capture **capture, kiln_error **error);
kiln_status kiln__capture_end(kiln__capture *capture, CUstream stream, kiln_error **error);
void kiln__capture_drop(kiln__capture *capture); /* removes the files of the capture; NULL is allowed */
/* Returns and clears the requested capture of the plan. *asked gets false if no capture was requested. */
kiln_status kiln__capture_asked(kiln_plan *plan, kiln__arena *arena, kiln__capture_order *order, bool *asked,
                                kiln_error **error);

#endif
