/* capture_internal.h - writes a launch with its data into a folder (capture/). */
#ifndef KILN_PLAN_CAPTURE_INTERNAL_H
#define KILN_PLAN_CAPTURE_INTERNAL_H

#include "plan_internal.h"

typedef struct kiln__capture kiln__capture;
static inline bool kiln__capture_possible(const kiln_plan *plan)
{
    return plan->capture_folder || atomic_load_explicit(&plan->engine->capture_left, memory_order_relaxed);
}
/* Launches the steps, and captures the launch if the caller or KILN_CAPTURE asked for a capture. If capturing fails,
 * the reason is in the log. If kiln_plan_capture() asked for the capture, the launch fails too. */
kiln_status kiln__capture_launch(kiln_plan *plan, CUstream stream, kiln_error **error);
/* Begins and ends a capture. Call kiln__capture_begin() before the steps of a run, and kiln__capture_end() after them.
 * The contents of the buffers must exist, and the context must be current. kiln__capture_end() waits for the stream and
 * frees the capture. */
kiln_status kiln__capture_begin(kiln_plan *plan, const kiln__capture_order *order, CUstream stream,
                                kiln__capture **capture, kiln_error **error);
kiln_status kiln__capture_end(kiln__capture *capture, CUstream stream, kiln_error **error);
void kiln__capture_drop(kiln__capture *capture); /* removes the files of the capture; `capture` may be NULL */
/* Returns the capture that was requested for the plan, and clears the request. *asked gets false if nobody requested a
 * capture. */
kiln_status kiln__capture_asked(kiln_plan *plan, kiln__arena *arena, kiln__capture_order *order, bool *asked,
                                kiln_error **error);

#endif
