/* names.c - finds the buffers of a plan by their names, and makes errors that tell the place in the spec. */
#include <inttypes.h>
#include <string.h>

#include "layout_internal.h"
#include "names_internal.h"
#include "plan_internal.h"

kiln_status kiln__plan_diag(kiln_plan *plan, kiln__diag *diag, kiln_status status, kiln_error **error)
{
    kiln_error *pending = plan->pending;
    plan->pending = NULL;
    if (!pending)
        return kiln__diag_finish(diag, status, error);
    kiln__text_free(&diag->text);
    status = kiln_error_status(pending);
    if (error && !*error)
        *error = pending;
    else
        kiln_error_free(pending);
    return status;
}

kiln_status kiln__plan_fail_at(kiln_plan *plan, kiln_error **error, kiln_status status, kiln__pos pos,
                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const kiln_status failed = kiln__diag_fail(plan->mem, error, status, pos, format, arguments);
    va_end(arguments);
    return failed;
}

kiln__plan_buffer *kiln__plan_buffer_find(const kiln_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->variant->buffer_count; i++)
        if (strcmp(plan->buffers[i].buffer->name, name) == 0)
            return &plan->buffers[i];
    return NULL;
}

kiln__plan_buffer *kiln__plan_buffer_named(const kiln_plan *plan, const char *name)
{
    kiln__plan_buffer *buffer = kiln__plan_buffer_find(plan, name);
    return buffer ? &plan->buffers[plan->slots[buffer - plan->buffers]] : NULL;
}

kiln_status kiln__plan_no_buffer(const kiln_plan *plan, const char *name, kiln_error **error)
{
    return kiln__plan_unknown(plan->mem, plan->variant->name, "buffer", name, plan->variant->buffers,
                              sizeof *plan->variant->buffers, plan->variant->buffer_count, error);
}

void kiln__plan_shape_text(kiln__text *out, kiln_type type, int dims, const uint64_t *shape)
{
    kiln__text_printf(out, "%s[", kiln__type_name(type));
    for (int d = 0; d < dims; d++)
        kiln__text_printf(out, "%s%" PRIu64, d ? ", " : "", shape[d]);
    kiln__text_puts(out, "]");
}
