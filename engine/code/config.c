/* config.c - makes a configuration from a choice: gives every tuning parameter, size and named expression (key `let` of
 * the spec) its value. A choice names a variant, a size set, and values of some tuning parameters and sizes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

/* ---- the names and values of a choice ---- */

kiln_status kiln__plan_unknown(const kiln_allocator *mem, const char *owner, const char *what, const char *name,
                               const void *names, size_t stride, size_t count, kiln_error **error)
{
    const char **all = kiln__calloc(mem, count + 1, sizeof *all);
    kiln__text list = {.mem = mem};
    for (size_t i = 0; all && i < count; i++) {
        all[i] = *(const char *const *)(const void *)((const char *)names + i * stride);
        kiln__text_printf(&list, "%s%s", i ? ", " : "", all[i]);
    }
    const char *near = all ? kiln__nearest(name, all, count) : NULL;
    kiln_status status = near ? kiln__fail(mem, error, KILN_ERROR_NOT_FOUND, "%s has no %s '%s'; did you mean '%s'?",
                                           owner, what, name, near)
                              : kiln__fail(mem, error, KILN_ERROR_NOT_FOUND, "%s has no %s '%s'; it has: %s", owner,
                                           what, name, count ? kiln__text_get(&list) : "none");
    kiln__text_free(&list);
    kiln__free(mem, all);
    return status;
}

/* Returns the first contender that the device can run. A contender is a variant without `contender: false`, which marks
 * variants that serve only for comparison. If the device can run no contender, returns the first contender of the spec.
 * If the spec has no contender, all variants count as contenders. */
static const kiln__variant *find_first_variant(kiln_engine *engine, const kiln_spec *spec)
{
    const size_t first = kiln_spec_variant_first(spec);
    kiln__target target;
    for (size_t i = first; i < spec->variant_count; i++)
        if (spec->variants[i].contender == spec->variants[first].contender &&
            kiln__variant_target(engine, &spec->variants[i], &target, NULL) == KILN_OK)
            return &spec->variants[i];
    return &spec->variants[first];
}

static kiln_status find_variant(kiln_engine *engine, const kiln_spec *spec, const char *name,
                                const kiln__variant **variant, kiln_error **error)
{
    const kiln_allocator *mem = engine->mem;
    *variant = name ? kiln__spec_variant(spec, name) : find_first_variant(engine, spec);
    if (*variant)
        return KILN_OK;
    return kiln__plan_unknown(mem, spec->name, "variant", name, spec->variants, sizeof *spec->variants,
                              spec->variant_count, error);
}

/* Finds the value in the list of a tuning parameter that means the same as `value`. An integer equals a float of the
 * same value. The numbers 0 and 1 equal booleans. A number equals a text with the digits of the number, and a boolean
 * equals the text "true" or "false". Returns NULL if the list has no such value. */
static const kiln_value *find_value(const kiln_allocator *mem, const kiln__param *param, kiln_value value)
{
    for (size_t i = 0; i < param->count; i++)
        if (kiln__value_equal(param->values[i], value))
            return &param->values[i];
    const kiln_value *found = NULL;
    kiln__text given = {.mem = mem}, listed = {.mem = mem};
    kiln__value_print(&given, value);
    for (size_t i = 0; i < param->count && !found; i++) {
        if (param->values[i].kind == value.kind || (param->values[i].kind != KILN_TEXT && value.kind != KILN_TEXT))
            continue;
        listed.length = 0;
        kiln__value_print(&listed, param->values[i]);
        if (!listed.failed && !given.failed && strcmp(kiln__text_get(&listed), kiln__text_get(&given)) == 0)
            found = &param->values[i];
    }
    kiln__text_free(&given);
    kiln__text_free(&listed);
    return found;
}

static double read_number(kiln_value value) { return value.kind == KILN_FLOAT ? value.as.f : (double)value.as.i; }

/* Makes a KILN_ERROR_CONSTRAINT. Its message lists the values of the tuning parameter, and suggests the nearest value
 * if they are numbers. */
static kiln_status fail_value(const kiln_allocator *mem, const kiln__param *param, kiln_value value, kiln_error **error)
{
    kiln__text text = {.mem = mem};
    size_t nearest = 0;
    bool numbers = value.kind != KILN_TEXT && param->values[0].kind != KILN_TEXT;
    kiln__text_printf(&text, "%s = ", param->name);
    kiln__value_print(&text, value);
    kiln__text_printf(&text, " is not one of its values: ");
    for (size_t i = 0; i < param->count && i < 64; i++) {
        kiln__text_puts(&text, i ? ", " : "");
        kiln__value_print(&text, param->values[i]);
    }
    for (size_t i = 0; numbers && i < param->count; i++) {
        double a = read_number(param->values[i]) - read_number(value),
               b = read_number(param->values[nearest]) - read_number(value);
        if ((a < 0 ? -a : a) < (b < 0 ? -b : b))
            nearest = i;
    }
    if (param->count > 64)
        kiln__text_printf(&text, ", ... (%zu values)", param->count);
    if (numbers && param->count > 1) {
        kiln__text_puts(&text, "; the nearest is ");
        kiln__value_print(&text, param->values[nearest]);
    }
    kiln_status status = text.failed ? kiln__fail_memory(error)
                                     : kiln__fail(mem, error, KILN_ERROR_CONSTRAINT, "%s", kiln__text_get(&text));
    kiln__text_free(&text);
    return status;
}

/* ---- setting tuning parameters and sizes ---- */

static kiln_status set_params(const kiln_allocator *mem, kiln__config *config, const kiln_choice *choice,
                              kiln_error **error)
{
    const kiln__variant *variant = config->variant;
    kiln_setting *params = kiln__arena_alloc(&config->arena, (variant->param_count + 1) * sizeof *params);
    if (!params)
        return kiln__fail_memory(error);
    config->params = (kiln__settings){variant->param_count, params};
    for (size_t i = 0; i < variant->param_count; i++)
        params[i] = (kiln_setting){variant->params[i].name, variant->params[i].values[variant->params[i].initial]};
    for (size_t c = 0; c < choice->param_count; c++) {
        const kiln_setting *given = &choice->params[c];
        const kiln__param *param = kiln__variant_param(variant, given->name);
        if (!param)
            return kiln__plan_unknown(mem, variant->name, "param", given->name, variant->params,
                                      sizeof *variant->params, variant->param_count, error);
        const kiln_value *value = find_value(mem, param, given->value);
        if (!value)
            return fail_value(mem, param, given->value, error);
        params[param - variant->params].value = *value;
    }
    return KILN_OK;
}

static bool is_extent(kiln_value value)
{
    size_t length;
    int dim;
    return value.kind == KILN_TEXT && kiln__is_extent(value.as.text, &length, &dim);
}

/* Returns true if a size set of the spec gives the size `name` the integer `value`. Such an integer may be negative,
 * for example -1 for "no source". */
static bool is_in_a_set(const kiln_spec *spec, const char *name, int64_t value)
{
    for (size_t s = 0; s < spec->size_set_count; s++) {
        const kiln_setting *size = kiln__settings_find(spec->size_sets[s].settings, name);
        if (size && size->value.kind == KILN_INT && size->value.as.i == value)
            return true;
    }
    return false;
}

/* Sets a size to the given value, converted to the type that size->value already has. The value of an integer size may
 * also be a text such as "A.shape[0]", which means an extent of an array. read_extent() later replaces it. Copies texts
 * into the arena. */
static kiln_status convert_size(const kiln_allocator *mem, const kiln_spec *spec, kiln__arena *arena,
                                const kiln_setting *given, kiln_setting *size, kiln_error **error)
{
    kiln_value value = given->value;
    if (size->value.kind == KILN_FLOAT && value.kind == KILN_INT)
        value = (kiln_value){.kind = KILN_FLOAT, .as.f = (double)value.as.i};
    /* cppcheck-suppress incorrectLogicOperator ; it cannot read 0x1p53 */
    if (size->value.kind == KILN_INT && value.kind == KILN_FLOAT && value.as.f >= -0x1p53 && value.as.f <= 0x1p53 &&
        value.as.f == (double)(int64_t)value.as.f)
        value = (kiln_value){.kind = KILN_INT, .as.i = (int64_t)value.as.f};
    if (value.kind != size->value.kind && !(size->value.kind == KILN_INT && is_extent(value))) {
        kiln__text text = {.mem = mem};
        kiln__value_print(&text, given->value);
        kiln_status status = kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "size %s = %s is not %s", size->name,
                                        kiln__text_get(&text),
                                        size->value.kind == KILN_INT    ? "an integer such as 4096"
                                        : size->value.kind == KILN_TEXT ? "a text"
                                                                        : "a number");
        kiln__text_free(&text);
        return status;
    }
    if (value.kind == KILN_INT && value.as.i < 0 && !is_in_a_set(spec, size->name, value.as.i))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "size %s = %" PRId64 " must not be negative", size->name,
                          value.as.i);
    if (value.kind == KILN_TEXT)
        value.as.text = kiln__arena_strdup(arena, value.as.text);
    if (value.kind == KILN_TEXT && !value.as.text)
        return kiln__fail_memory(error);
    size->value = value;
    return KILN_OK;
}

/* Replaces a text such as "A.shape[0]" by the number in the header of the file that fills the buffer A. */
static kiln_status read_extent(kiln_engine *engine, kiln__config *config, kiln_setting *size, kiln_error **error)
{
    const kiln_spec *spec = config->spec;
    const kiln__scope known = {.settings = config->sizes};
    const kiln__buffer *buffer = NULL;
    const char *path;
    size_t length;
    int dim;
    kiln_array array;
    kiln__text name = {.mem = engine->mem};
    kiln__is_extent(size->value.as.text, &length, &dim);
    for (size_t i = 0; i < spec->buffer_count && !buffer; i++) {
        const kiln__buffer *b = &spec->variants[0].buffers[i];
        if (b->fill.kind == KILN__FILL_FILE && strlen(b->name) == length &&
            memcmp(b->name, size->value.as.text, length) == 0)
            buffer = b;
    }
    if (!buffer)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "size %s = %s: the spec has no buffer '%.*s' with a 'file'", size->name, size->value.as.text,
                          (int)length, size->value.as.text);
    kiln_status status = kiln__config_path(engine->mem, &known, buffer->fill.text, buffer->fill.path, &name, error);
    if (status == KILN_OK)
        status = kiln__engine_find_file(engine, spec->folder, kiln__text_get(&name), &config->arena, &path, error);
    if (status == KILN_OK)
        status = kiln__npy_look(engine->mem, path, &array, error);
    if (status == KILN_OK && (dim >= array.dims || array.shape[dim] > INT64_MAX))
        status = kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "size %s = %s: the array in %s has %d dimensions",
                            size->name, size->value.as.text, kiln__text_get(&name), array.dims);
    if (status == KILN_OK)
        size->value = (kiln_value){.kind = KILN_INT, .as.i = (int64_t)array.shape[dim]};
    kiln__text_free(&name);
    return status;
}

kiln_status kiln__config_path(const kiln_allocator *mem, const kiln__scope *sizes, const char *text,
                              const kiln__template *path, kiln__text *out, kiln_error **error)
{
    kiln__diag diag = {.mem = mem};
    if (path)
        kiln__template_fill(path, sizes, out, &diag);
    else
        kiln__text_puts(out, text);
    kiln_status status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    return status == KILN_OK && out->failed ? kiln__fail_memory(error) : status;
}

const char *kiln__launch_kernel(const kiln__step *launch, const kiln__scope *scope, kiln__text *filled,
                                kiln__diag *diag)
{
    const kiln__template *name = launch->as.launch.kernel;
    if (kiln__template_expr_count(name) == 0 && !strpbrk(kiln__template_text(name), "{}"))
        return kiln__template_text(name);
    return kiln__template_fill(name, scope, filled, diag) && !filled->failed ? kiln__text_get(filled) : NULL;
}

const kiln__sizes *kiln__config_size_set(const kiln_engine *engine, const kiln_spec *spec, const char *name)
{
    const char *wanted = name ? name : engine->size_set ? engine->size_set : engine->info.simulated ? "tiny" : "";
    for (size_t i = 0; i < spec->size_set_count; i++)
        if (strcmp(spec->size_sets[i].name, wanted) == 0)
            return &spec->size_sets[i];
    return name ? NULL : &spec->size_sets[0];
}

/* Takes the chosen size set, or the engine's default size set. Then applies the sizes of the choice, and reads extents
 * from the headers of files. */
static kiln_status set_sizes(kiln_engine *engine, kiln__config *config, const kiln_choice *choice, kiln_error **error)
{
    const kiln_spec *spec = config->spec;
    const kiln__sizes *set = kiln__config_size_set(engine, spec, choice->size_set);
    if (!set)
        return kiln__plan_unknown(engine->mem, spec->name, "size set", choice->size_set, spec->size_sets,
                                  sizeof *spec->size_sets, spec->size_set_count, error);
    config->size_set = set->name;
    size_t count = set->settings.count;
    kiln_setting *sizes = kiln__arena_alloc(&config->arena, (count + 1) * sizeof *sizes);
    if (!sizes)
        return kiln__fail_memory(error);
    config->sizes = (kiln__settings){count, sizes};
    if (count)
        memcpy(sizes, set->settings.items, count * sizeof *sizes);
    for (size_t c = 0; c < choice->size_count; c++) {
        const kiln_setting *found = kiln__settings_find(config->sizes, choice->sizes[c].name);
        if (!found)
            return kiln__plan_unknown(engine->mem, spec->name, "size", choice->sizes[c].name, sizes, sizeof *sizes,
                                      count, error);
        kiln_setting *size = &sizes[found - sizes];
        if (is_extent(size->value)) /* a text such as "A.shape[0]" stands for a number, so this size is an integer */
            size->value = (kiln_value){.kind = KILN_INT};
        kiln_status status = convert_size(engine->mem, spec, &config->arena, &choice->sizes[c], size, error);
        if (status != KILN_OK)
            return status;
    }
    config->extents = kiln__arena_alloc(&config->arena, (count + 1) * sizeof *config->extents);
    if (!config->extents)
        return kiln__fail_memory(error);
    /* goes through the sizes in this order, because the name of a file may contain earlier sizes */
    for (size_t i = 0; i < count; i++) {
        config->extents[i] = is_extent(sizes[i].value);
        kiln_status status = config->extents[i] ? read_extent(engine, config, &sizes[i], error) : KILN_OK;
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

/* ---- evaluating named expressions and constraints ---- */

static bool is_input(const kiln__variant *variant, const char *name, size_t length)
{
    for (size_t i = 0; i < variant->input_count; i++)
        if (strlen(variant->inputs[i].name) == length && memcmp(variant->inputs[i].name, name, length) == 0)
            return true;
    return false;
}

/* Returns whether a named expression (`let`) can be evaluated before any input is made. It can if it uses no exports of
 * inputs, directly or through other named expressions. An export is a number or an array that an input offers. */
static bool is_ready(const kiln__config *config, const kiln__expr *expr)
{
    for (size_t i = 0; i < kiln__expr_name_count(expr); i++) {
        const char *name = kiln__expr_name(expr, i), *dot = strchr(name, '.');
        if (dot && is_input(config->variant, name, (size_t)(dot - name)))
            return false;
        kiln_value value;
        if (!dot && kiln__variant_let(config->variant, name) &&
            !kiln__scope_find(kiln__config_scope(config), name, &value))
            return false;
    }
    return true;
}

static kiln_status set_lets(const kiln_allocator *mem, kiln__config *config, kiln_error **error)
{
    const kiln__variant *variant = config->variant;
    kiln__diag diag = {.mem = mem};
    kiln_setting *lets = kiln__arena_alloc(&config->arena, (variant->let_count + 1) * sizeof *lets);
    if (!lets)
        return kiln__fail_memory(error);
    config->scopes[3].settings.items = lets;
    for (size_t i = 0; i < variant->let_count; i++) {
        kiln_value value;
        if (!is_ready(config, variant->lets[i].expr))
            continue;
        if (!kiln__expr_eval(variant->lets[i].expr, kiln__config_scope(config), &value, &diag))
            break;
        lets[config->scopes[3].settings.count++] = (kiln_setting){variant->lets[i].name, value};
    }
    config->lets = config->scopes[3].settings;
    return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
}

/* ---- making complete configurations ---- */

static void link_scopes(kiln__config *config, kiln__scope device)
{
    config->scopes[0] = device;
    config->scopes[1] = (kiln__scope){.outer = &config->scopes[0], .settings = config->sizes};
    config->scopes[2] = (kiln__scope){.outer = &config->scopes[1], .settings = config->params};
    config->scopes[3] = (kiln__scope){.outer = &config->scopes[2]};
}

kiln_status kiln__config_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error)
{
    const kiln__variant *variant;
    kiln_status status = kiln__engine_device(engine, error);
    if (status == KILN_OK)
        status = find_variant(engine, spec, choice->variant, &variant, error);
    if (status != KILN_OK)
        return status;
    kiln__config *made = kiln__calloc(engine->mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    made->spec = spec;
    made->variant = variant;
    made->arena.mem = engine->mem;
    status = set_sizes(engine, made, choice, error);
    if (status == KILN_OK)
        status = set_params(engine->mem, made, choice, error);
    if (status == KILN_OK) {
        link_scopes(made, (kiln__scope){.settings = {engine->device_setting_count, engine->device_settings}});
        *config = made;
    } else {
        kiln__config_free(made);
    }
    return status;
}

kiln_status kiln__config_make(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                              kiln__config **config, kiln_error **error)
{
    return kiln__config_make_for(engine, spec, choice, NULL, config, error);
}

kiln_status kiln__config_make_for(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const kiln__settings *device, kiln__config **config, kiln_error **error)
{
    static const kiln_choice nothing = {0};
    kiln__config *made = NULL;
    kiln_status status = kiln__config_open(engine, spec, choice ? choice : &nothing, &made, error);
    if (status != KILN_OK)
        return status;
    if (device)
        made->scopes[0].settings = *device;
    status = kiln__space_check_scope(engine->mem, made->variant, &made->scopes[2], error);
    if (status == KILN_OK)
        status = set_lets(engine->mem, made, error);
    if (status == KILN_OK)
        *config = made;
    else
        kiln__config_free(made);
    return status;
}

/* Copies the tuning parameters with their texts. The originals belong to a request or to a sample, which may be freed
 * before the configuration. */
static bool copy_params(const kiln_setting *params, kiln__config *config)
{
    const kiln__variant *variant = config->variant;
    kiln_setting *made = kiln__arena_alloc(&config->arena, (variant->param_count + 1) * sizeof *made);
    for (size_t i = 0; made && i < variant->param_count; i++) {
        made[i] = (kiln_setting){variant->params[i].name, params[i].value};
        if (params[i].value.kind == KILN_TEXT)
            made[i].value.as.text = kiln__arena_strdup(&config->arena, params[i].value.as.text);
    }
    config->params = (kiln__settings){variant->param_count, made};
    return !config->arena.failed;
}

kiln_status kiln__config_at(const kiln__config *base, const kiln_setting *params, kiln__config **config,
                            kiln_error **error)
{
    const kiln_allocator *mem = base->arena.mem;
    kiln__config *made = kiln__calloc(mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    *made = (kiln__config){.spec = base->spec, .variant = base->variant, .arena.mem = mem, .size_set = base->size_set};
    made->sizes = kiln__settings_copy(&made->arena, base->sizes);
    made->extents = kiln__arena_alloc(&made->arena, (base->sizes.count + 1) * sizeof *made->extents);
    if (made->extents && base->extents)
        memcpy(made->extents, base->extents, base->sizes.count * sizeof *made->extents);
    kiln_status status = copy_params(params, made) ? KILN_OK : kiln__fail_memory(error);
    if (status == KILN_OK) {
        link_scopes(made, base->scopes[0]);
        status = set_lets(mem, made, error);
    }
    if (status == KILN_OK)
        *config = made;
    else
        kiln__config_free(made);
    return status;
}

void kiln__config_free(kiln__config *config)
{
    if (!config)
        return;
    const kiln_allocator *mem = config->arena.mem;
    kiln__arena_free(&config->arena);
    kiln__free(mem, config);
}

const kiln__scope *kiln__config_scope(const kiln__config *config) { return &config->scopes[3]; }

void kiln__config_print(const kiln__config *config, kiln__text *out)
{
    kiln__text_puts(out, config->variant->name);
    for (size_t i = 0; i < config->params.count; i++) {
        kiln__text_printf(out, " %s=", config->params.items[i].name);
        kiln__value_print(out, config->params.items[i].value);
    }
}

/* ---- counting the configurations of a space ---- */

static kiln_status count_variant(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                 const kiln__variant *variant, kiln__effort *effort, kiln_space_info *one,
                                 kiln_error **error)
{
    bool counted = true;
    /* The walk through the space needs a configuration for its sizes and device names. The choice has no tuning
     * parameters, because the walk sets them. */
    kiln_choice sizes = {.variant = variant->name,
                         .size_set = choice->size_set,
                         .sizes = choice->sizes,
                         .size_count = choice->size_count};
    kiln__config *config;
    kiln__space *space = NULL;
    kiln_status status = kiln__config_open(engine, spec, &sizes, &config, error);
    if (status != KILN_OK)
        return status;
    status = kiln__space_open(engine->mem, variant, &config->scopes[1], KILN__PARAMS(choice), &space, error);
    if (status == KILN_OK) {
        one->raw = kiln__space_raw(space);
        status = kiln__space_count_within(space, effort, &counted, &one->valid, error);
        one->counted = counted;
        kiln__space_free(space);
    }
    kiln__config_free(config);
    return status;
}

/* The caller's function that may stop the counting, and its argument. */
typedef struct asker {
    int (*stop)(void *user);
    void *user;
} asker;

static bool ask_stop(void *user)
{
    const asker *a = user;
    return a->stop(a->user) != 0;
}

static uint64_t add_saturating(uint64_t one, uint64_t other)
{
    return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

#define COUNT_SECONDS 5.0 /* the default limit for counting, in seconds */

/* Adds up the numbers of configurations of all variants, within one time limit for all of them. If the sum does not fit
 * into 64 bits, info->counted is 0. */
kiln_status kiln_space_count(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                             const kiln_space_options *given, kiln_space_info *info, kiln_error **error)
{
    static const kiln_choice nothing = {0};
    kiln_space_info all = {.counted = 1};
    kiln_space_options options;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS_CHOICE(engine->mem, error, choice);
    KILN__NEEDS_SIZED(engine->mem, error, info);
    KILN__TAKE(engine->mem, error, "options", given, &options);
    KILN__NEEDS_NUMBER(engine->mem, error, options.max_seconds);
    asker who = {options.stop, options.user};
    kiln__effort effort = {.deadline = kiln__deadline_in(options.max_seconds > 0 ? options.max_seconds : COUNT_SECONDS),
                           .stop = options.stop ? ask_stop : NULL,
                           .user = &who};
    choice = choice ? choice : &nothing;
    for (size_t i = 0; i < spec->variant_count; i++) {
        kiln_space_info one = {0};
        if (choice->variant && strcmp(choice->variant, spec->variants[i].name) != 0)
            continue;
        kiln_status status = count_variant(engine, spec, choice, &spec->variants[i], &effort, &one, error);
        if (status != KILN_OK)
            return status;
        if (effort.stopped)
            return kiln__fail(engine->mem, error, KILN_ERROR_INTERRUPTED,
                              "interrupted while counting the search space");
        all.raw = add_saturating(all.raw, one.raw);
        all.valid = add_saturating(all.valid, one.valid);
        all.counted &= one.counted && all.valid < UINT64_MAX;
    }
    if (choice->variant && !kiln__spec_variant(spec, choice->variant)) {
        const kiln__variant *variant;
        return find_variant(engine, spec, choice->variant, &variant, error);
    }
    KILN__GIVE(info, &all);
    return KILN_OK;
}

kiln_status kiln_space_size(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, uint64_t *raw,
                            uint64_t *valid, kiln_error **error)
{
    kiln_space_info info = {.size = sizeof info};
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS_CHOICE(engine->mem, error, choice);
    KILN__NEEDS(engine->mem, error, raw);
    KILN__NEEDS(engine->mem, error, valid);
    kiln_status status = kiln_space_count(engine, spec, choice, NULL, &info, error);
    if (status != KILN_OK)
        return status;
    if (!info.counted && info.valid == UINT64_MAX)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                          "%s: the space has at least 2^64 - 1 configurations, more than a 64-bit number can count: "
                          "fix params, or add constraints",
                          spec->name);
    if (!info.counted)
        return kiln__fail(
            engine->mem, error, KILN_ERROR_TIMEOUT,
            "%s: the space has more than %llu configurations, too many to count in %g s: give kiln_space_count() a "
            "longer limit",
            spec->name, (unsigned long long)info.valid, COUNT_SECONDS);
    *raw = info.raw;
    *valid = info.valid;
    return KILN_OK;
}
