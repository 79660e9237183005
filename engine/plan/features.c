/* features.c - computes the numbers that describe an input (`features:` of a spec), and makes the inputs and buffers
 * that all variants share. Both tasks use plans without code, because only the host has to work. */
#include "calls_internal.h"
#include "layout_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "verify_internal.h"

/* Returns whether a value can be a feature. Booleans count as 0 and 1. */
static bool is_number(const kiln_value *value)
{
    return value->kind == KILN_INT || value->kind == KILN_FLOAT || value->kind == KILN_BOOL;
}

kiln_status kiln__plan_features(kiln_plan *plan, kiln__arena *arena, kiln__settings *features, kiln_error **error)
{
    const kiln_spec *spec = plan->spec;
    kiln__diag diag = {.mem = plan->mem};
    *features = (kiln__settings){0};
    if (!spec->feature_count)
        return KILN_OK;
    kiln_setting *made = kiln__arena_alloc(arena, spec->feature_count * sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    kiln__plan_set_scope(plan);
    for (size_t i = 0; i < spec->feature_count; i++) {
        const kiln__named_expr *feature = &spec->features[i];
        made[i].name = feature->name;
        if (!kiln__expr_eval(feature->expr, &plan->scope, &made[i].value, &diag))
            break;
        if (!is_number(&made[i].value)) {
            kiln__diag_add(&diag, feature->pos, "the feature '%s' is a text, not a number", feature->name);
            break;
        }
    }
    kiln_status status = kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error);
    if (status == KILN_OK)
        *features = kiln__settings_copy(arena, (kiln__settings){spec->feature_count, made});
    return status == KILN_OK && arena->failed ? kiln__fail_memory(error) : status;
}

/* ---- plans without code, for work on the host ---- */

/* Opens a plan for the sizes of a choice. The plan has no code and no module. If `shared` is NULL, the plan makes its
 * own kiln__shared object. Only close_hostly() may close the plan that this function opens. */
static kiln_status open_hostly(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes,
                               kiln__shared *shared, kiln_plan **made, kiln_error **error)
{
    kiln_choice choice = {.size_set = sizes->size_set, .sizes = sizes->sizes, .size_count = sizes->size_count};
    kiln_plan *plan = kiln__calloc(engine->mem, 1, sizeof *plan);
    *made = plan;
    if (!plan)
        return kiln__fail_memory(error);
    plan->engine = engine;
    plan->mem = plan->arena.mem = engine->mem;
    plan->spec = spec;
    kiln_status status = kiln__config_open(engine, spec, &choice, &plan->config, error);
    if (status == KILN_OK)
        plan->variant = plan->config->variant;
    if (status == KILN_OK && !shared)
        status = kiln__shared_open(engine, spec, &plan->own, error);
    plan->shared = shared ? shared : plan->own;
    return status;
}

static void close_hostly(kiln_plan *plan)
{
    if (!plan)
        return;
    const kiln_allocator *mem = plan->mem;
    for (size_t i = 0; plan->buffers && i < plan->variant->buffer_count; i++)
        kiln__free(mem, plan->buffers[i].key);
    kiln__shared_free(plan->own);
    kiln__arena_free(&plan->arena);
    kiln_error_free(plan->pending);
    kiln__config_free(plan->config);
    kiln__free(mem, plan);
}

kiln_status kiln__features_of(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes, kiln__arena *arena,
                              kiln__settings *features, kiln_error **error)
{
    kiln_plan *plan = NULL;
    *features = (kiln__settings){0};
    kiln_status status = open_hostly(engine, spec, sizes, NULL, &plan, error);
    if (status == KILN_OK && !kiln__plan_make_tables(plan))
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        status = kiln__plan_features(plan, arena, features, error);
    close_hostly(plan);
    return status;
}

/* Uses a copy of the variant that has only the inputs and buffers of the spec, because all variants share them. */
kiln_status kiln__plan_prepare(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes,
                               kiln__shared *shared, bool check, kiln_error **error)
{
    kiln_plan *plan = NULL;
    kiln__variant common = {0};
    kiln_status status = open_hostly(engine, spec, sizes, shared, &plan, error);
    /* makes only the inputs of the spec, because the inputs of a variant depend on its params */
    if (status == KILN_OK) {
        common = *plan->variant;
        common.input_count = spec->input_count;
        common.buffer_count = spec->buffer_count;
        plan->variant = &common;
    }
    if (status == KILN_OK && !kiln__plan_make_tables(plan))
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        status = kiln__plan_layout(plan, error);
    for (size_t i = 0; i < common.buffer_count && status == KILN_OK; i++) {
        kiln_array array;
        bool temporary = false;
        /* an estimate that traces a few blocks does not need the whole content */
        if (plan->buffers[i].buffer->fill.kind == KILN__FILL_NONE || (engine->info.simulated && !check))
            continue;
        status = kiln__plan_content(plan, &plan->buffers[i], &array, &temporary, error);
        if (temporary)
            kiln__array_free(plan->mem, &array);
    }
    if (status == KILN_OK && check)
        status = kiln__plan_host_references(plan, error);
    close_hostly(plan);
    return status;
}
