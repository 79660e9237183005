/* once.c - single runs whose contents and memory the caller chooses. The judge uses single runs. It needs contents that
 * no spec names, memory with guard zones, and answers that are compared element by element. */
#include <string.h>

#include "layout_internal.h"
#include "limit_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"
#include "steps_internal.h"
#include "texture_internal.h"

kiln_status kiln__once_buffers(kiln_plan *plan, kiln__once_buffer *list, kiln_error **error)
{
    KILN__TRY(kiln__plan_layout(plan, error));
    for (size_t i = 0; i < plan->variant->buffer_count; i++) {
        const kiln__plan_buffer *b = &plan->buffers[i];
        list[i] = (kiln__once_buffer){.buffer = b->buffer,
                                      .of_spec = i < plan->spec->buffer_count,
                                      .keeps = kiln__variant_keeps(plan->variant, b->buffer),
                                      .type = b->type,
                                      .dims = b->dims,
                                      .bytes = b->bytes,
                                      .elements = b->elements};
        memcpy(list[i].shape, b->shape, sizeof list[i].shape);
    }
    return KILN_OK;
}

kiln_status kiln__once_content(kiln_plan *plan, size_t buffer, kiln_array *content, kiln_error **error)
{
    /* a copy of the plan's buffer without its binding, because the content of a bound buffer comes from the caller */
    kiln__plan_buffer b = plan->buffers[buffer];
    kiln_array found, copy;
    bool temporary;
    b.custom = false;
    b.key = NULL;
    kiln_status status = kiln__plan_content(plan, &b, &found, &temporary, error);
    kiln__free(plan->mem, b.key);
    if (status != KILN_OK || temporary) {
        *content = found;
        return status;
    }
    KILN__TRY(kiln__array_make(plan->mem, b.type, b.dims, b.shape, &copy, error));
    if (b.bytes)
        memcpy(copy.data, found.data, (size_t)b.bytes);
    *content = copy;
    kiln__shared_drop(plan->shared, "fill ");
    return KILN_OK;
}

kiln_status kiln__once_fill(kiln_plan *plan, size_t buffer, kiln__fill_values *values, kiln_error **error)
{
    return kiln__fill_values_of(plan, &plan->buffers[buffer].buffer->fill, values, error);
}

size_t kiln__once_holder(const kiln_plan *plan, size_t buffer, CUdeviceptr *at)
{
    *at = plan->buffers[plan->slots[buffer]].pointer;
    return plan->slots[buffer];
}

void kiln__once_device(kiln_plan *plan, const kiln__settings *device) { plan->device = device; }

void kiln__once_release(kiln_plan *plan)
{
    for (size_t i = 0; i < plan->variant->buffer_count; i++)
        kiln__plan_release(plan, &plan->buffers[i]);
    kiln__shared_drop_device(plan->shared);
}

static kiln_status enqueue(kiln_plan *plan, CUstream stream, kiln_error **error)
{
    KILN__TRY(kiln__plan_fill(plan, false, error)); /* fills only the buffers that the caller has not bound */
    kiln__textures_stale(plan);
    KILN__TRY(kiln__steps_enqueue(plan, true, stream, error));
    return kiln__steps_enqueue(plan, false, stream, error);
}

/* Waits for the device, unless enqueueing the run has failed. Then ends the time limit. */
static kiln_status finish(kiln_plan *plan, kiln_status status, kiln_error **error)
{
    CUresult result = status == KILN_OK ? kiln__limit_wait_all(plan) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        status = kiln__limit_fail(plan, result, error, "running %s %s", plan->spec->name, plan->variant->name);
    plan->limit.first = false;
    kiln__limit_end(plan);
    return status;
}

kiln_status kiln__once_enqueue(kiln_plan *plan, CUstream stream, double seconds, kiln_error **error)
{
    const kiln_run_options options = {.size = sizeof options, .sample_timeout = seconds};
    if (!plan->limit.on) {
        KILN__TRY(kiln__limit_set(plan, &options, error));
        kiln__limit_start(plan);
    }
    kiln_status status = enqueue(plan, stream, error);
    return status == KILN_OK ? KILN_OK : finish(plan, status, error);
}

kiln_status kiln__once_wait(kiln_plan *plan, kiln_error **error) { return finish(plan, KILN_OK, error); }

kiln_status kiln__once_run(kiln_plan *plan, double seconds, kiln_error **error)
{
    const kiln_run_options options = {.size = sizeof options, .sample_timeout = seconds};
    KILN__TRY(kiln__limit_set(plan, &options, error));
    kiln__limit_start(plan);
    plan->limit.first = true;
    return finish(plan, enqueue(plan, NULL, error), error);
}

double kiln__once_flops(kiln_plan *plan)
{
    kiln_result result = {0};
    kiln__diag diag = {.mem = plan->mem};
    const kiln__metered of = {plan->mem, plan->variant, &plan->scope, NULL, 0};
    const bool counted = kiln__metrics_count(&of, &result, &diag);
    kiln__diag_finish(&diag, KILN_ERROR_SPEC, NULL);
    return counted ? result.flops : 0;
}

const char *kiln__plan_ptx(const kiln_plan *plan, size_t *length)
{
    *length = plan->code.unit.ptx ? plan->code.unit.ptx_length : 0;
    return plan->code.unit.ptx ? plan->code.unit.ptx : "";
}

CUmodule kiln__plan_module(const kiln_plan *plan) { return plan->module; }
