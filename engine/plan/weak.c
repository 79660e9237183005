/* weak.c - finds out whether a right answer proves little. It proves little if all inputs are zero, or if all elements
 * of the expected answer are equal. A kernel that computes another function may then give the same answer. */
#include <string.h>

#include "layout_internal.h"
#include "weak_internal.h"

#define FEW 16 /* in a right answer with fewer elements, all elements may well be equal */

static bool is_zero(const kiln_array *array, size_t bytes)
{
    const unsigned char *data = array->data;
    return bytes == 0 || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0);
}

bool kiln__weak_answer(const kiln_array *want)
{
    uint64_t elements = 1;
    for (int i = 0; i < want->dims; i++)
        elements *= want->shape[i];
    const size_t size = kiln__type_bytes(want->type);
    const char *data = want->data;
    return elements >= FEW && data && memcmp(data, data + size, (size_t)(elements - 1) * size) == 0;
}

/* Tells whether the content of an input is zero. A content that the caller gave on the device is not read, and does not
 * count as zero. */
static kiln_status input_is_zero(kiln_plan *plan, kiln__plan_buffer *b, bool *zero, kiln_error **error)
{
    const kiln__fill *fill = &b->buffer->fill;
    kiln_array array = {0};
    kiln_value value;
    bool temporary = false;
    *zero = false;
    if (b->custom)
        return KILN_OK;
    if (!b->file && fill->kind == KILN__FILL_VALUE) {
        if (kiln__expr_eval(fill->a, &plan->scope, &value, NULL))
            *zero = value.kind == KILN_FLOAT ? !(value.as.f < 0) && !(value.as.f > 0)
                                             : value.kind != KILN_TEXT && value.as.i == 0;
        return KILN_OK;
    }
    if (!b->file && fill->kind != KILN__FILL_FROM && fill->kind != KILN__FILL_FILE)
        return KILN_OK;
    KILN__TRY(kiln__plan_content(plan, b, &array, &temporary, error));
    *zero = is_zero(&array, (size_t)b->bytes);
    if (temporary)
        kiln__array_free(plan->mem, &array);
    return KILN_OK;
}

kiln_status kiln__weak_inputs(kiln_plan *plan, bool *weak, kiln_error **error)
{
    size_t inputs = 0;
    *weak = false;
    if (plan->variant->before_count > 0)
        return KILN_OK; /* before_each may write the inputs before the kernel reads them */
    for (size_t i = 0; i < plan->spec->buffer_count; i++) {
        kiln__plan_buffer *b = &plan->buffers[i];
        bool zero;
        if (b->buffer->out || b->bytes == 0 || (b->buffer->fill.kind == KILN__FILL_NONE && !b->file))
            continue;
        KILN__TRY(input_is_zero(plan, b, &zero, error));
        if (!zero)
            return KILN_OK;
        inputs++;
    }
    *weak = inputs > 0;
    return KILN_OK;
}

void kiln__weak_tell(const kiln__log *log, const char *spec, unsigned weak)
{
    if (weak & KILN_WEAK_INPUTS)
        kiln__logf(
            log, KILN_LOG_WARNING,
            "%s: all inputs are zero, so a right answer proves little: give the inputs another content, for example "
            "'fill: {uniform: [-1, 1]}'",
            spec);
    if (weak & KILN_WEAK_ANSWER)
        kiln__logf(
            log, KILN_LOG_WARNING,
            "%s: the expected answer has the same value in every element, so a right answer proves little: give the "
            "inputs values that differ, for example 'fill: {uniform: [-1, 1]}', and check that the kernel reads all "
            "of its inputs",
            spec);
}
