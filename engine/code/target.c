/* target.c - tests whether a variant can run on the engine's device, and chooses the compile target of the variant. */
#include <string.h>

#include "config.h"

/* Prints the values that the device has for the names in an expression, such as "device.cc = 75, device.tma =
 * false". */
static void print_names(const kiln__expr *expr, const kiln__scope *device, kiln__text *out)
{
    for (size_t i = 0; i < kiln__expr_name_count(expr); i++) {
        kiln_value value;
        if (!kiln__scope_find(device, kiln__expr_name(expr, i), &value))
            continue;
        kiln__text_printf(out, "%s%s = ", i ? ", " : "", kiln__expr_name(expr, i));
        kiln__value_print(out, value);
    }
}

static kiln_status check_need(kiln_engine *engine, const kiln__variant *variant, const kiln__expr *need,
                              kiln_error **error)
{
    const kiln__scope device = {.settings = {engine->device_setting_count, engine->device_settings}};
    const kiln__pos pos = kiln__expr_pos(need);
    kiln__diag diag = {.mem = engine->mem};
    bool holds = false;
    kiln__expr_eval_bool(need, &device, "a condition", &holds, &diag);
    kiln_status status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    if (status != KILN_OK || holds)
        return status;
    kiln__text names = {.mem = engine->mem};
    print_names(need, &device, &names);
    status = kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED, "%s:%u: variant '%s' needs %s; of %s, %s",
                        pos.source ? pos.source->name : "", pos.line, variant->name, kiln__expr_text(need),
                        engine->info.name, kiln__text_get(&names));
    kiln__text_free(&names);
    return status;
}

static kiln_status fail_target(kiln_engine *engine, const kiln__variant *variant, kiln_error **error)
{
    const kiln__for_device *its = &variant->device;
    kiln__text list = {.mem = engine->mem};
    char text[KILN__TARGET_TEXT];
    for (size_t i = 0; i < its->target_count; i++)
        kiln__text_printf(&list, "%s%s", i ? ", " : "", kiln__target_print(its->targets[i], "sm", text));
    kiln_status status = kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                                    "variant '%s' is compiled for %s, which does not load on %s of compute "
                                    "capability %d.%d",
                                    variant->name, kiln__text_get(&list), engine->info.name, engine->info.cc_major,
                                    engine->info.cc_minor);
    kiln__text_free(&list);
    return status;
}

kiln_status kiln__variant_target(kiln_engine *engine, const kiln__variant *variant, kiln__target *target,
                                 kiln_error **error)
{
    const kiln__for_device *its = &variant->device;
    kiln_status status = kiln__engine_device(engine, error);
    for (size_t i = 0; i < its->need_count && status == KILN_OK; i++)
        status = check_need(engine, variant, its->needs[i], error);
    if (status != KILN_OK)
        return status;
    /* If a target without a letter is enough, the variant is compiled for the device's own architecture, which has all
     * features of that target. */
    kiln__target found = {engine->arch, '\0'};
    bool runs = its->target_count == 0;
    for (size_t i = 0; i < its->target_count && !runs; i++) {
        runs = kiln__target_runs(its->targets[i], 10 * engine->info.cc_major + engine->info.cc_minor);
        if (runs && its->targets[i].kind)
            found = its->targets[i];
    }
    if (!runs)
        return fail_target(engine, variant, error);
    *target = found;
    return KILN_OK;
}

kiln_status kiln_variant_supported(kiln_engine *engine, const kiln_spec *spec, size_t variant, kiln_error **error)
{
    kiln__target target;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    if (variant >= spec->variant_count)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "kiln_variant_supported: variant is %zu of %zu",
                          variant, spec->variant_count);
    return kiln__variant_target(engine, &spec->variants[variant], &target, error);
}
