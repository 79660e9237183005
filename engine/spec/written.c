/* written.c - finds the buffers that the kernels of a variant must not change. */
#include <string.h>

#include "spec.h"

static bool is_named(const kiln__arg *args, size_t count, const char *buffer)
{
    for (size_t i = 0; i < count; i++)
        if (args[i].expr && strcmp(kiln__expr_text(args[i].expr), buffer) == 0)
            return true;
    return false;
}

/* Returns true if a step other than a launch may change the buffer. */
static bool is_written(const kiln__step *steps, size_t count, const char *buffer)
{
    bool written = false;
    for (size_t i = 0; i < count && !written; i++) {
        const kiln__step *step = &steps[i];
        switch (step->kind) {
        case KILN__STEP_LAUNCH:
        case KILN__STEP_SYMBOL: break;
        case KILN__STEP_FILL: written = strcmp(step->as.fill.buffer, buffer) == 0; break;
        case KILN__STEP_COPY: written = strcmp(step->as.copy.to, buffer) == 0; break;
        case KILN__STEP_SWAP:
            written = strcmp(step->as.swap.a, buffer) == 0 || strcmp(step->as.swap.b, buffer) == 0;
            break;
        case KILN__STEP_HOST: written = is_named(step->as.host.args, step->as.host.arg_count, buffer); break;
        case KILN__STEP_REPEAT: written = is_written(step->as.repeat.steps, step->as.repeat.step_count, buffer); break;
        case KILN__STEP_WHILE: written = is_written(step->as.loop.steps, step->as.loop.step_count, buffer); break;
        }
    }
    return written;
}

bool kiln__variant_writes(const kiln__variant *variant, const kiln__buffer *buffer)
{
    return is_written(variant->before, variant->before_count, buffer->name) ||
           is_written(variant->steps, variant->step_count, buffer->name);
}

/* If a buffer is filled with a single number, it may be a work area, such as counters or flags. Kernels may change such
 * a buffer. */
bool kiln__variant_keeps(const kiln__variant *variant, const kiln__buffer *buffer)
{
    return !buffer->out && buffer->fill.kind != KILN__FILL_NONE && buffer->fill.kind != KILN__FILL_VALUE &&
           !kiln__variant_writes(variant, buffer);
}
