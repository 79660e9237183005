/* names_internal.h - finds the buffers of a plan by name, and makes errors with a position in the spec (names.c). */
#ifndef KILN_PLAN_NAMES_INTERNAL_H
#define KILN_PLAN_NAMES_INTERNAL_H

#include "layout_internal.h"

/* returns NULL if the plan has no such buffer */
kiln__plan_buffer *kiln__plan_buffer_find(const kiln_plan *plan, const char *name);
/* Returns the buffer to which a name refers after swaps. */
kiln__plan_buffer *kiln__plan_buffer_named(const kiln_plan *plan, const char *name);
kiln_status kiln__plan_no_buffer(const kiln_plan *plan, const char *name, kiln_error **error);
/* Makes the error of an evaluation that `diag` describes. If the look-up of a name failed, returns the error of this
 * look-up instead. */
kiln_status kiln__plan_diag(kiln_plan *plan, kiln__diag *diag, kiln_status status, kiln_error **error);
/* Makes an error with a position in the spec. */
kiln_status kiln__plan_fail_at(kiln_plan *plan, kiln_error **error, kiln_status status, kiln__pos pos,
                               const char *format, ...) KILN__PRINTF(5, 6);
/* prints a text such as "f32[7, 9]" */
void kiln__plan_shape_text(kiln__text *out, kiln_type type, int dims, const uint64_t *shape);

#endif
