/* determine.c - writes everything on which a sample depends, except its code, the values of its params, and its
 * sizes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "determine_internal.h"
#include "trial_internal.h"
#include "wire.h"

/* ---- fields: each is a length and bytes, so that two different lists of fields never give the same text ---- */

static void field(kiln__text *out, const char *text)
{
    if (!text)
        text = "";
    kiln__text_printf(out, "%zu:%s,", strlen(text), text);
}

static void number_field(kiln__text *out, int64_t number) { kiln__text_printf(out, "%lld,", (long long)number); }

static void expr_field(kiln__text *out, const kiln__expr *expr)
{
    kiln_value value;
    /* a constant that stands for a default has no text in the spec */
    if (expr && kiln__expr_is_constant(expr, &value)) {
        kiln__text_printf(out, "=%d ", (int)value.kind);
        kiln__value_print(out, value);
        kiln__text_puts(out, ",");
        return;
    }
    field(out, expr ? kiln__expr_text(expr) : NULL);
}

static void template_field(kiln__text *out, const kiln__template *given)
{
    field(out, given ? kiln__template_text(given) : NULL);
}

typedef struct definition {
    kiln_engine *engine;
    const kiln_spec *spec;
    kiln__text *out;
    const kiln_tune_options *options; /* NULL means that no sizes are needed */
    kiln_status status;               /* a failure that must end the sweep; its error is stored too */
    kiln_error *why;
} definition;

/* Adds the content of a file to the definition. A missing file is no error in this function, because the run reports
 * it. Any other failure to read the file is an error. The run might be able to read the file, and the store would keep
 * the sample under a wrong key.
 */
static void file_field(definition *d, const char *path)
{
    kiln__text *out = d->out;
    static const size_t piece = (size_t)1 << 20;
    int fd = -1;
    kiln_error *unopened = NULL;
    kiln_status opened = kiln__file_open(d->engine->mem, path, true, &fd, &unopened);
    char *room = kiln__alloc(out->mem, piece);
    ssize_t got = 0;
    while (fd >= 0 && room && ((got = read(fd, room, piece)) > 0 || (got < 0 && errno == EINTR))) {
        if (got < 0)
            continue;
        char hash[33];
        kiln__hash_print(kiln__hash(room, (size_t)got), hash);
        field(out, hash);
    }
    if (d->status == KILN_OK && got < 0) {
        d->status = kiln__fail(d->engine->mem, &d->why, KILN_ERROR_IO, "%s: %s", path, kiln__error_text(errno));
    } else if (d->status == KILN_OK && opened != KILN_OK && opened != KILN_ERROR_NOT_FOUND) {
        d->status = opened;
        d->why = unopened;
        unopened = NULL;
    }
    kiln_error_free(unopened);
    out->failed |= !room;
    field(out, fd < 0 || got < 0 ? "unread" : "end");
    kiln__free(out->mem, room);
    if (fd >= 0)
        close(fd);
}

/* Adds a text of the spec. If the text is the name of a file, adds the content of the file too. */
static void named_field(definition *d, const char *text)
{
    kiln__arena arena = {.mem = d->engine->mem};
    const char *path = NULL;
    field(d->out, text);
    if (text && kiln__engine_find_file(d->engine, d->spec->folder, text, &arena, &path, NULL) == KILN_OK)
        file_field(d, path);
    kiln__arena_free(&arena);
}

/* Adds a path that may contain sizes, and the content of the file that it names. */
static void path_field(definition *d, const char *text, const kiln__template *path)
{
    kiln__text name = {.mem = d->engine->mem};
    kiln__config *config = NULL;
    kiln_choice choice = {.size_set = d->options->size_set, .sizes = d->options->sizes};
    choice.size_count = d->options->size_count;
    if (!path) {
        named_field(d, text);
        return;
    }
    field(d->out, text);
    /* If the sizes are wrong, the run reports the mistake. */
    if (kiln__config_open(d->engine, d->spec, &choice, &config, NULL) == KILN_OK &&
        kiln__config_path(d->engine->mem, &config->scopes[1], text, path, &name, NULL) == KILN_OK)
        named_field(d, kiln__text_get(&name));
    kiln__config_free(config);
    kiln__text_free(&name);
}

/* ---- the parts of a variant ---- */

static void args_field(definition *d, const kiln__arg *args, size_t count)
{
    number_field(d->out, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        field(d->out, args[i].name);
        expr_field(d->out, args[i].expr);
        if (!args[i].expr)
            named_field(d, args[i].text);
    }
}

static void named_exprs_field(definition *d, const kiln__named_expr *list, size_t count)
{
    number_field(d->out, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        field(d->out, list[i].name);
        expr_field(d->out, list[i].expr);
    }
}

static void buffer_field(definition *d, const kiln__buffer *b)
{
    field(d->out, b->name);
    number_field(d->out, b->type_known ? (int64_t)b->type : -1);
    expr_field(d->out, b->type_expr);
    number_field(d->out, b->dims);
    for (int i = 0; i < b->dims; i++)
        expr_field(d->out, b->shape[i]);
    number_field(d->out, b->out);
    number_field(d->out, (int64_t)b->fill.kind);
    expr_field(d->out, b->fill.a);
    expr_field(d->out, b->fill.b);
    expr_field(d->out, b->fill.seed);
    if (b->fill.kind == KILN__FILL_FILE)
        path_field(d, b->fill.text, b->fill.path);
    else
        field(d->out, b->fill.text);
}

static void steps_field(definition *d, const kiln__step *steps, size_t count);

static void exprs_field(definition *d, kiln__expr *const *exprs, size_t count)
{
    number_field(d->out, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        expr_field(d->out, exprs[i]);
}

static void tensor_field(definition *d, const kiln__tensor *tensor)
{
    kiln__expr *const ones[] = {tensor->channels, tensor->pixels,     tensor->swizzle,
                                tensor->atom,     tensor->interleave, tensor->promotion};
    field(d->out, tensor->type);
    exprs_field(d, tensor->shape, tensor->shape_count);
    exprs_field(d, tensor->strides, tensor->stride_count);
    exprs_field(d, tensor->box, tensor->box_count);
    exprs_field(d, tensor->steps, tensor->step_count);
    exprs_field(d, tensor->lower, tensor->lower_count);
    exprs_field(d, tensor->upper, tensor->upper_count);
    exprs_field(d, ones, KILN__COUNT(ones));
    number_field(d->out, tensor->flip);
    number_field(d->out, tensor->nan);
}

static void texture_field(definition *d, const kiln__texture *texture)
{
    kiln__expr *const ones[] = {texture->channels, texture->pitch};
    exprs_field(d, texture->shape, texture->shape_count);
    exprs_field(d, ones, KILN__COUNT(ones));
    number_field(d->out, (int64_t)texture->address_count);
    for (size_t i = 0; i < texture->address_count; i++)
        number_field(d->out, (int64_t)texture->address[i]);
    number_field(d->out, texture->array);
    number_field(d->out, texture->layered);
    number_field(d->out, texture->as_float);
    number_field(d->out, texture->linear);
    number_field(d->out, texture->normalised);
}

static void argument_field(definition *d, const kiln__argument *arg)
{
    if (arg->kind == KILN__ARGUMENT_TEXTURE)
        texture_field(d, arg->texture);
    if (arg->kind == KILN__ARGUMENT_TENSOR_MAP)
        tensor_field(d, arg->tensor);
    number_field(d->out, (int64_t)arg->kind);
    expr_field(d->out, arg->expr);
    field(d->out, arg->buffer);
    number_field(d->out, (int64_t)arg->count);
    for (size_t i = 0; i < arg->count && arg->kind == KILN__ARGUMENT_POINTERS; i++)
        argument_field(d, &arg->items[i]);
    for (size_t i = 0; i < arg->count && arg->kind == KILN__ARGUMENT_STRUCT; i++) {
        const kiln__field *part = &arg->fields[i];
        number_field(d->out, (int64_t)part->offset);
        number_field(d->out, part->argument ? -1 : (int64_t)part->type);
        if (part->argument)
            argument_field(d, part->argument);
        for (size_t k = 0; k < part->value_count; k++)
            expr_field(d->out, part->values[k]);
    }
    for (uint64_t i = 0; i < arg->size && arg->kind == KILN__ARGUMENT_BYTES; i++)
        number_field(d->out, ((const unsigned char *)arg->bytes)[i]);
}

static void launch_field(definition *d, const kiln__step *step)
{
    template_field(d->out, step->as.launch.kernel);
    for (int i = 0; i < 3; i++) {
        expr_field(d->out, step->as.launch.grid[i]);
        expr_field(d->out, step->as.launch.block[i]);
        expr_field(d->out, step->as.launch.cluster[i]);
    }
    expr_field(d->out, step->as.launch.shared);
    number_field(d->out, step->as.launch.cooperative);
    number_field(d->out, step->as.launch.overlap);
    number_field(d->out, (int64_t)step->as.launch.scheduling);
    expr_field(d->out, step->as.launch.priority);
    expr_field(d->out, step->as.launch.carveout);
    number_field(d->out, (int64_t)step->as.launch.arg_count);
    for (size_t i = 0; i < step->as.launch.arg_count; i++)
        argument_field(d, &step->as.launch.args[i]);
}

static void loop_field(definition *d, const kiln__step *step)
{
    number_field(d->out, (int64_t)step->as.loop.read_count);
    for (size_t i = 0; i < step->as.loop.read_count; i++) {
        field(d->out, step->as.loop.reads[i].name);
        field(d->out, step->as.loop.reads[i].buffer);
        expr_field(d->out, step->as.loop.reads[i].element);
    }
    expr_field(d->out, step->as.loop.cond);
    expr_field(d->out, step->as.loop.at_most);
    steps_field(d, step->as.loop.steps, step->as.loop.step_count);
}

/* Writes everything that decides what a step does, so that a change of the spec changes the hash. The switch has no
 * default, so that the compiler warns if a new kind of step has no case. */
static void step_field(definition *d, const kiln__step *step)
{
    number_field(d->out, (int64_t)step->kind);
    switch (step->kind) {
    case KILN__STEP_LAUNCH: launch_field(d, step); return;
    case KILN__STEP_FILL:
        field(d->out, step->as.fill.buffer);
        expr_field(d->out, step->as.fill.value);
        return;
    case KILN__STEP_COPY:
        field(d->out, step->as.copy.from);
        field(d->out, step->as.copy.to);
        expr_field(d->out, step->as.copy.count);
        expr_field(d->out, step->as.copy.from_offset);
        expr_field(d->out, step->as.copy.to_offset);
        return;
    case KILN__STEP_SYMBOL:
        field(d->out, step->as.symbol.symbol);
        field(d->out, step->as.symbol.from);
        expr_field(d->out, step->as.symbol.count);
        expr_field(d->out, step->as.symbol.offset);
        return;
    case KILN__STEP_SWAP:
        field(d->out, step->as.swap.a);
        field(d->out, step->as.swap.b);
        return;
    case KILN__STEP_HOST:
        field(d->out, step->as.host.function);
        args_field(d, step->as.host.args, step->as.host.arg_count);
        return;
    case KILN__STEP_REPEAT:
        expr_field(d->out, step->as.repeat.times);
        field(d->out, step->as.repeat.index);
        steps_field(d, step->as.repeat.steps, step->as.repeat.step_count);
        return;
    case KILN__STEP_WHILE: loop_field(d, step); return;
    }
}

static void steps_field(definition *d, const kiln__step *steps, size_t count)
{
    number_field(d->out, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        step_field(d, &steps[i]);
}

static void variant_field(definition *d, const kiln__variant *variant)
{
    named_exprs_field(d, variant->lets, variant->let_count);
    number_field(d->out, (int64_t)variant->input_count);
    for (size_t i = 0; i < variant->input_count; i++) {
        field(d->out, variant->inputs[i].name);
        field(d->out, variant->inputs[i].function);
        args_field(d, variant->inputs[i].args, variant->inputs[i].arg_count);
    }
    number_field(d->out, (int64_t)variant->buffer_count);
    for (size_t i = 0; i < variant->buffer_count; i++)
        buffer_field(d, &variant->buffers[i]);
    steps_field(d, variant->before, variant->before_count);
    steps_field(d, variant->steps, variant->step_count);
    named_exprs_field(d, variant->metrics, variant->metric_count);
    if (variant->unit)
        number_field(d->out, variant->unit);
    for (size_t i = 0; i < variant->tolerance_count; i++) {
        field(d->out, variant->tolerances[i].buffer);
        expr_field(d->out, variant->tolerances[i].rtol);
        expr_field(d->out, variant->tolerances[i].atol);
    }
    if (d->spec->feature_count) /* a sample stores the values of its features */
        named_exprs_field(d, d->spec->features, d->spec->feature_count);
    /* In T1, an expression may use the name of a param for its list of values: max(block_size_x). */
    for (size_t p = 0; d->spec->from_t1 && p < variant->param_count; p++)
        for (size_t i = 0; i < variant->params[p].count; i++) {
            kiln__value_print(d->out, variant->params[p].values[i]);
            kiln__text_puts(d->out, ",");
        }
}

/* ---- verification ---- */

/* Writes a variant that serves as the reference, with the values of its params and its code. If a param is not
 * constant, writes its expression. The values that the expression uses are part of the sample. */
static kiln_status reference_field(definition *d, const kiln__verify *verify, const kiln_tune_options *options,
                                   kiln_error **error)
{
    const char *name = verify->name;
    kiln_setting *params = kiln__calloc(d->engine->mem, verify->param_count + 1, sizeof *params);
    kiln_choice choice = {.variant = name,
                          .params = params,
                          .size_set = options->size_set,
                          .sizes = options->sizes,
                          .size_count = options->size_count};
    if (!params)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < verify->param_count; i++) {
        params[choice.param_count].name = verify->params[i].name;
        choice.param_count += kiln__expr_is_constant(verify->params[i].expr, &params[choice.param_count].value);
    }
    kiln__config *config = NULL;
    kiln__code_job *code = NULL;
    const kiln__variant *variant = kiln__spec_variant(d->spec, name);
    kiln_status status = kiln__config_make(d->engine, d->spec, &choice, &config, error);
    if (status == KILN_OK)
        status = kiln__code_prepare(d->engine, config, NULL, d->engine->want_cubin, &code, error);
    if (status == KILN_OK) {
        char hash[33];
        kiln__hash_print(kiln__code_key(code), hash);
        field(d->out, hash);
        kiln__settings_print(d->out, config->params);
        variant_field(d, variant);
    }
    kiln__code_cancel(code);
    kiln__config_free(config);
    kiln__free(d->engine->mem, params);
    return status;
}

static kiln_status verify_field(definition *d, const kiln_tune_options *options, kiln_error **error)
{
    for (size_t i = 0; i < d->spec->verify_count; i++) {
        const kiln__verify *verify = &d->spec->verify[i];
        field(d->out, verify->buffer);
        number_field(d->out, (int64_t)verify->against);
        number_field(d->out, verify->exact);
        number_field(d->out, verify->sampled);
        expr_field(d->out, verify->rtol);
        expr_field(d->out, verify->atol);
        if (verify->against == KILN__AGAINST_FILE)
            path_field(d, verify->name, verify->path);
        else
            field(d->out, verify->name);
        for (size_t k = 0; k < verify->word_count; k++)
            /* adds the program of the command, if the program is a file beside the spec */
            named_field(d, verify->words[k]);
        if (verify->arg_count)
            args_field(d, verify->args, verify->arg_count);
        if (verify->param_count)
            named_exprs_field(d, verify->params, verify->param_count);
        kiln_error *why = NULL; /* if the reference cannot be computed, the run reports the reason */
        if (verify->against == KILN__AGAINST_VARIANT && reference_field(d, verify, options, &why) != KILN_OK) {
            kiln_status status = kiln_error_status(why);
            if (status == KILN_ERROR_MEMORY || status == KILN_ERROR_IO || status == KILN_ERROR_NOT_FOUND ||
                /* the run may be able to read the file, so samples would have a wrong key */
                status == KILN_ERROR_REFUSED) {
                if (error && !*error)
                    *error = why;
                else
                    kiln_error_free(why);
                return status;
            }
            kiln_error_free(why);
            field(d->out, "no reference");
        }
    }
    return KILN_OK;
}

kiln_status kiln__determine_variant(kiln_engine *engine, const kiln_spec *spec, const kiln__variant *variant,
                                    const kiln_tune_options *options, kiln__hash128 *hash, kiln_error **error)
{
    kiln__text text = {.mem = engine->mem};
    definition d = {.engine = engine, .spec = spec, .out = &text, .options = options};
    const kiln_run_options *run = kiln__tune_run(options);
    kiln_status status = KILN_OK;
    variant_field(&d, variant);
    if (!(run->flags & KILN_RUN_NO_VERIFY))
        status = verify_field(&d, options, error);
    for (size_t i = 0; i < run->input_count; i++) {
        field(&text, run->inputs[i].buffer);
        file_field(&d, run->inputs[i].path);
    }
    if (status == KILN_OK && d.status != KILN_OK && error && !*error) {
        *error = d.why;
        d.why = NULL;
    }
    if (status == KILN_OK)
        status = d.status;
    kiln_error_free(d.why);
    if (status == KILN_OK && text.failed)
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        *hash = kiln__hash(text.data, text.length);
    kiln__text_free(&text);
    return status;
}

kiln_status kiln__determine_sizes(kiln_engine *engine, const kiln_spec *spec, kiln__settings sizes, kiln__text *out,
                                  kiln_error **error)
{
    definition d = {.engine = engine, .spec = spec, .out = out};
    for (size_t i = 0; i < sizes.count; i++)
        if (sizes.items[i].value.kind == KILN_TEXT)
            named_field(&d, sizes.items[i].value.as.text);
    if (d.status != KILN_OK && error && !*error)
        *error = d.why;
    else
        kiln_error_free(d.why);
    return d.status == KILN_OK && out->failed ? kiln__fail_memory(error) : d.status;
}

/* Writes the identity of the device. The identity of a simulated device is its figures and the version of the model. */
void kiln__determine_device(const kiln_device_info *info, kiln__text *out)
{
    field(out, info->name);
    number_field(out, info->cc_major);
    number_field(out, info->cc_minor);
    number_field(out, info->driver_version);
    if (!info->simulated)
        return;
    field(out, info->id);
    const double figures[] = {
        info->sm_count,
        info->warp_size,
        info->max_threads_per_block,
        info->max_threads_per_sm,
        info->registers_per_block,
        info->registers_per_sm,
        (double)info->shared_per_block,
        (double)info->shared_per_block_optin,
        (double)info->shared_per_sm,
        (double)info->l2_bytes,
        (double)info->memory_bytes,
        info->clock_hz,
        info->memory_clock_hz,
        info->memory_bus_bits,
        info->peak_flops,
        info->peak_bandwidth,
    };
    for (size_t i = 0; i < KILN__COUNT(figures); i++)
        kiln__text_printf(out, "%a,", figures[i]);
    kiln__driver_simulator()->model_print(out);
}
