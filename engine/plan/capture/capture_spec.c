/* capture_spec.c - the spec of a captured launch. The spec is the original text, in which captured contents, sizes and
 * defaults replace the expressions that gave them. The sources are copied to the folder of the spec. */
#include <math.h>
#include <string.h>

#include "calls_internal.h"
#include "capture.h"
#include "capture_internal.h"
#include "edit.h"
#include "layout_internal.h"
#include "plan_internal.h"

enum { SOURCE_LIMIT = 64 << 20, INPUT_ARGS = 255 }; /* an input of a spec may have INPUT_ARGS arguments */

typedef struct source_folder {
    const char *folder, *prefix;
    struct source_folder *next;
} source_folder;

typedef struct writer {
    kiln__capture *c;
    kiln__edit *edit;
    source_folder *folders;
    unsigned folder_count;
} writer;

static void note(kiln__capture *c, const char *format, ...) KILN__PRINTF(2, 3);
static void note(kiln__capture *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kiln__text_vprintf(&c->notes, format, arguments);
    va_end(arguments);
    kiln__text_puts(&c->notes, "\n");
}

/* ---- sources and headers ---- */

/* Returns an absolute path without "." and "..". Uses only the text of the path. Does not follow symbolic links below a
 * source's folder.
 */
static const char *plain_path(kiln__arena *arena, const char *path)
{
    char *made = kiln__arena_alloc(arena, strlen(path) + 2);
    size_t used = 0;
    while (made && *path) {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (used > 0 && made[--used] != '/')
                ;
        } else if (length > 0 && !(length == 1 && *path == '.')) {
            made[used++] = '/';
            memcpy(made + used, path, length);
            used += length;
        }
        path += length + (path[length] == '/');
    }
    if (made)
        made[used] = '\0';
    return made;
}

/* Returns the folder for the files of a source. The first source is beside the spec, and each further source has
 * another folder. */
static const char *prefix_of(writer *w, const char *folder)
{
    for (source_folder *at = w->folders; at; at = at->next)
        if (strcmp(at->folder, folder) == 0)
            return at->prefix;
    source_folder *made = kiln__arena_alloc(&w->c->arena, sizeof *made);
    if (!made)
        return NULL;
    made->folder = folder;
    made->prefix = w->folder_count++ == 0 ? "" : kiln__arena_printf(&w->c->arena, "source-%u/", w->folder_count);
    made->next = w->folders;
    w->folders = made;
    return made->prefix;
}

static kiln_status write_file(kiln__capture *c, const char *name, const char *text, size_t length, kiln_error **error)
{
    const kiln_allocator *mem = c->plan->mem;
    const char *path = name ? kiln__capture_path(c, name) : NULL;
    const char *folder = path ? kiln__arena_folder(&c->arena, path) : NULL;
    if (!folder)
        return kiln__fail_memory(error);
    if (kiln__file_exists(path)) /* two sources include this header */
        return KILN_OK;
    kiln_status status = kiln__make_folders(mem, folder, 0777, error);
    return status == KILN_OK ? kiln__file_write(mem, path, text, length, error) : status;
}

/* Returns the path of a header relative to the source's folder. Returns "" if Kiln itself provides the header. Returns
 * NULL if the header is in another folder, or if memory runs out. */
static const char *below(kiln__arena *arena, const kiln__include *header, const char *folder)
{
    const char *path = header->path ? plain_path(arena, header->path) : NULL;
    if (!header->path)
        return "";
    size_t length = strlen(folder);
    return path && strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

/* Copies a source and the headers that it includes. Headers below the source's folder keep their relative paths. If a
 * header is in another folder, all headers are written under the names by which the source includes them, with the
 * texts that the compiler gets. */
static kiln_status copy_texts(writer *w, const kiln__includes *includes, const char *source, const char *text,
                              const char *folder, const char *prefix, kiln_error **error)
{
    kiln__arena *arena = &w->c->arena;
    bool in_place = true;
    for (size_t i = 0; i < includes->count; i++)
        in_place = in_place && below(arena, &includes->items[i], folder);
    if (!in_place)
        text = includes->source;
    kiln_status status = write_file(w->c, source, text, strlen(text), error);
    for (size_t i = 0; i < includes->count && status == KILN_OK; i++) {
        const kiln__include *header = &includes->items[i];
        const char *name = in_place ? below(arena, header, folder) : header->path ? header->name : "";
        if (!name || !*name)
            continue;
        status = write_file(w->c, kiln__arena_printf(arena, "%s%s", prefix, name), header->text, strlen(header->text),
                            error);
    }
    return arena->failed ? kiln__fail_memory(error) : status;
}

/* Returns a text that tells apart the folders of two sources. The text has the include folders too, because with other
 * include folders a source may include other headers. */
static const char *folder_key(kiln__arena *arena, const char *folder, const kiln__variant *variant)
{
    for (size_t i = 0; folder && i < variant->include_count; i++)
        folder = kiln__arena_printf(arena, "%s\n%s", folder, variant->include[i]);
    return folder;
}

static kiln_status copy_source(writer *w, const char *name, const kiln__variant *variant, const char **to,
                               kiln_error **error)
{
    kiln_plan *plan = w->c->plan;
    kiln__arena *arena = &w->c->arena;
    kiln__include_paths where;
    kiln__includes includes;
    const char *path;
    char *text = NULL;
    size_t length = 0;
    kiln_status status = kiln__engine_find_source(plan->engine, plan->spec->folder, name, arena, &path, error);
    if (status == KILN_OK)
        status = kiln__engine_include_paths(plan->engine, plan->spec->folder, path, variant->include,
                                            variant->include_count, arena, &where, error);
    if (status == KILN_OK)
        status = kiln__file_read_resolved(plan->mem, path, SOURCE_LIMIT, &text, &length, error);
    if (status == KILN_OK)
        status = kiln__includes_collect(plan->mem, arena, path, text, &where, &includes, error);
    if (status == KILN_OK) {
        const char *folder = kiln__arena_folder(arena, path), *key = folder_key(arena, folder, variant);
        const char *prefix = key ? prefix_of(w, key) : NULL;
        *to = prefix ? kiln__arena_printf(arena, "%s%s", prefix, path + strlen(folder) + (strcmp(folder, "/") != 0))
                     : NULL;
        status = *to ? copy_texts(w, &includes, *to, text, folder, prefix, error) : kiln__fail_memory(error);
    }
    kiln__free(plan->mem, text);
    return status;
}

/* ---- variants ---- */

/* Returns the name of the first host function in the steps that only the application has. Returns NULL if the steps
 * need no such function. */
static const char *foreign_step(kiln_engine *engine, const kiln__step *steps, size_t count)
{
    const char *found = NULL;
    for (size_t i = 0; i < count && !found; i++) {
        const kiln__step *step = &steps[i];
        if (step->kind == KILN__STEP_HOST && !kiln__engine_host_is_shipped(engine, step->as.host.function))
            found = step->as.host.function;
        else if (step->kind == KILN__STEP_REPEAT)
            found = foreign_step(engine, step->as.repeat.steps, step->as.repeat.step_count);
        else if (step->kind == KILN__STEP_WHILE)
            found = foreign_step(engine, step->as.loop.steps, step->as.loop.step_count);
    }
    return found;
}

static const char *foreign_function(kiln_engine *engine, const kiln_spec *spec, const kiln__variant *variant)
{
    for (size_t i = spec->input_count; i < variant->input_count; i++)
        if (!kiln__engine_host_is_shipped(engine, variant->inputs[i].function))
            return variant->inputs[i].function;
    const char *found = foreign_step(engine, variant->steps, variant->step_count);
    return found ? found : foreign_step(engine, variant->before, variant->before_count);
}

/* Copies a file that the spec names in a variant. *to is the new name of the file, or NULL if `text` names no file. */
static kiln_status copy_named(writer *w, const char *text, const char *variant, const char *owner, const char **to,
                              kiln_error **error)
{
    kiln_plan *plan = w->c->plan;
    const char *path = NULL;
    char *data = NULL;
    size_t length = 0;
    *to = NULL;
    if (kiln__engine_find_file(plan->engine, plan->spec->folder, text, &w->c->arena, &path, NULL) != KILN_OK)
        return w->c->arena.failed ? kiln__fail_memory(error) : KILN_OK;
    uint64_t room = w->c->order.limit - w->c->bytes + 1;
    kiln_status status = kiln__file_read_resolved(plan->mem, path, room < SIZE_MAX ? (size_t)room : SIZE_MAX, &data,
                                                  &length, error);
    if (status != KILN_OK)
        return status;
    const char *dot = strrchr(path, '.'), *end = dot && !strchr(dot, '/') ? dot : "";
    *to = kiln__arena_printf(&w->c->arena, "%s.%s%s", variant, owner, end);
    w->c->bytes += length;
    status = write_file(w->c, *to, data, length, error);
    kiln__free(plan->mem, data);
    return status;
}

/* Copies the other files that a variant names besides its source, for its inputs and buffers. */
static kiln_status copy_files(writer *w, const kiln__variant *variant, kiln_error **error)
{
    const kiln_plan *plan = w->c->plan;
    bool captured = variant == plan->variant;
    kiln_status status = KILN_OK;
    const char *to;
    for (size_t i = plan->spec->input_count; i < variant->input_count && status == KILN_OK; i++) {
        const kiln__input *input = &variant->inputs[i];
        for (size_t k = 0; k < input->arg_count && status == KILN_OK && !(captured && w->c->replaced[i]); k++) {
            if (input->args[k].expr)
                continue;
            const char *owner = kiln__arena_printf(&w->c->arena, "%s-%zu", input->name, k);
            status = owner ? copy_named(w, input->args[k].text, variant->name, owner, &to, error)
                           : kiln__fail_memory(error);
            if (status == KILN_OK && to)
                kiln__edit_input_text(w->edit, variant->name, input->name, input->args[k].name, to);
        }
    }
    for (size_t i = plan->spec->buffer_count; i < variant->buffer_count && status == KILN_OK; i++) {
        const kiln__buffer *buffer = &variant->buffers[i];
        if (buffer->fill.kind != KILN__FILL_FILE || (captured && w->c->buffers[i].file))
            continue;
        kiln__text name = {.mem = plan->mem};
        status = kiln__config_path(plan->mem, kiln__config_scope(plan->config), buffer->fill.text, buffer->fill.path,
                                   &name, error);
        if (status == KILN_OK)
            status = copy_named(w, kiln__text_get(&name), variant->name, buffer->name, &to, error);
        kiln__text_free(&name);
        if (status == KILN_OK && to)
            kiln__edit_buffer_file(w->edit, variant->name, buffer->name, to);
    }
    return status;
}

static kiln_status keep_variant(writer *w, const kiln__variant *variant, kiln_error **error)
{
    const char *to;
    kiln_status status = copy_files(w, variant, error);
    const char *source = variant->source ? variant->source : w->c->plan->spec->source;
    if (status == KILN_OK && source)
        status = copy_source(w, source, variant, &to, error);
    if (status == KILN_OK && source)
        kiln__edit_source(w->edit, variant->source || variant->include_count ? variant->name : NULL, to);
    return status;
}

/* Writes the variants of the spec. The captured variant must be complete. Another variant is left out if its files are
 * missing or if `kiln tune` could not run it. */
static kiln_status write_variants(writer *w, kiln_error **error)
{
    kiln__capture *c = w->c;
    const kiln_spec *spec = c->plan->spec;
    const kiln__log *log = &c->plan->engine->log;
    const char *foreign = foreign_function(c->plan->engine, spec, c->plan->variant);
    kiln_status status = keep_variant(w, c->plan->variant, error);
    if (status == KILN_OK && foreign)
        note(c, "Only a program that registers the host function '%s' can run this.", foreign);
    for (size_t i = 0; i < spec->variant_count && status == KILN_OK; i++) {
        const kiln__variant *variant = &spec->variants[i];
        kiln_error *why = NULL;
        if (variant == c->plan->variant)
            continue;
        foreign = foreign_function(c->plan->engine, spec, variant);
        kiln_status kept = foreign ? KILN_OK : keep_variant(w, variant, &why);
        if (kept == KILN_ERROR_MEMORY)
            status = kiln__fail_memory(error);
        if (foreign || kept != KILN_OK) {
            kiln__edit_variant_remove(w->edit, variant->name);
            const char *reason = foreign ? "calls a host function of the application" : kiln_error_message(why);
            note(c, "Variant %s is omitted: %s", variant->name, reason);
            kiln__logf(log, KILN_LOG_INFO, "captured without variant %s: %s", variant->name, reason);
        }
        kiln_error_free(why);
    }
    kiln__edit_variant_first(w->edit, c->plan->variant->name);
    kiln__edit_no_include(w->edit); /* removes the include folders, because the headers are now beside their sources */
    return status;
}

/* ---- inputs and `verify` ---- */

/* Writes an input as the list of its captured exports. */
static kiln_status write_input(writer *w, size_t index, kiln_error **error)
{
    kiln__capture *c = w->c;
    kiln_plan *plan = c->plan;
    const char *name = plan->variant->inputs[index].name;
    kiln_setting *args = kiln__arena_alloc(&c->arena, (INPUT_ARGS + 1) * sizeof *args);
    size_t count = 0;
    kiln_status status = args ? KILN_OK : kiln__fail_memory(error);
    const kiln__export *at = plan->inputs[index].entry ? plan->inputs[index].entry->values : NULL;
    for (; at && status == KILN_OK; at = at->next) {
        if (count == INPUT_ARGS || strcmp(at->name, "host") == 0 ||
            (!at->is_array && at->value.kind == KILN_FLOAT && !isfinite(at->value.as.f)))
            return kiln__fail(plan->mem, error, KILN_ERROR_UNSUPPORTED,
                              "the exports of the input '%s' cannot be written into a spec ('%s')", name, at->name);
        args[count] = (kiln_setting){at->name, at->value};
        if (at->is_array) {
            const char *file = kiln__capture_export_file(c, index, at);
            args[count].value = (kiln_value){.kind = KILN_TEXT, .as.text = file};
            if (!file)
                status = kiln__fail_memory(error);
            else if (!kiln__capture_taken(c, at))
                status = kiln__capture_array(c, file, &at->array, error);
        }
        count++;
    }
    if (status == KILN_OK)
        kiln__edit_input(w->edit, index < plan->spec->input_count ? NULL : plan->variant->name, name, "captured",
                         (kiln__settings){count, args});
    return status;
}

/* Returns an expression for twice the spec's tolerance. The tolerance is doubled because the expected values are
 * results of a kernel. These expected values may have the same error as the results that are compared with them. */
static const char *twice(kiln__arena *arena, const kiln__expr *expr)
{
    kiln_value value;
    double number;
    char room[40];
    if (!kiln__expr_is_constant(expr, &value) || value.kind == KILN_TEXT)
        return kiln__arena_printf(arena, "2 * (%s)", kiln__expr_text(expr));
    number = 2 * (value.kind == KILN_FLOAT ? value.as.f : (double)value.as.i);
    kiln__print_double(room, sizeof room, number);
    return kiln__arena_strdup(arena, room);
}

static bool is_zero(const kiln__expr *expr)
{
    kiln_value value;
    return kiln__expr_is_constant(expr, &value) && value.kind != KILN_TEXT &&
           (value.kind == KILN_FLOAT ? value.as.f == 0 : value.as.i == 0);
}

/* Writes the tolerances of the variants for an output, doubled. Returns true if a variant has such a tolerance. */
static bool write_tolerances(writer *w, const char *buffer)
{
    const kiln_spec *spec = w->c->plan->spec;
    bool found = false;
    for (size_t v = 0; v < spec->variant_count; v++)
        for (size_t i = 0; i < spec->variants[v].tolerance_count; i++) {
            const kiln__tolerance *own = &spec->variants[v].tolerances[i];
            if (strcmp(own->buffer, buffer) != 0)
                continue;
            found = true;
            kiln__edit_tolerance(w->edit, spec->variants[v].name, buffer, twice(&w->c->arena, own->rtol),
                                 twice(&w->c->arena, own->atol));
        }
    return found;
}

/* Writes a `verify` entry for each captured output, with the file of its content and a tolerance. */
static void write_verify(writer *w, size_t index)
{
    kiln__arena *arena = &w->c->arena;
    const kiln_spec *spec = w->c->plan->spec;
    const kiln__plan_buffer *b = &w->c->plan->buffers[index];
    const kiln__verify *given = NULL;
    const char *rtol = NULL, *atol = NULL;
    for (size_t i = 0; i < spec->verify_count; i++)
        if (strcmp(spec->verify[i].buffer, b->buffer->name) == 0)
            given = &spec->verify[i];
    const double relative = kiln__types[b->type].rtol, absolute = kiln__types[b->type].atol;
    bool silent = !given || (!given->exact && is_zero(given->rtol) && is_zero(given->atol));
    bool exact = given && given->exact;
    if (silent && relative == 0) {
        exact = true;
    } else if (silent) {
        char room[40];
        kiln__print_double(room, sizeof room, 2 * relative);
        rtol = kiln__arena_strdup(arena, room);
        kiln__print_double(room, sizeof room, 2 * absolute);
        atol = kiln__arena_strdup(arena, room);
    } else if (!exact) {
        rtol = is_zero(given->rtol) ? NULL : twice(arena, given->rtol);
        atol = is_zero(given->atol) ? NULL : twice(arena, given->atol);
    }
    if (given && write_tolerances(w, b->buffer->name))
        exact = false; /* the type is compared exactly if the spec gives no tolerance, but a variant may give one */
    kiln__edit_verify(w->edit, b->buffer->name, w->c->buffers[index].want, exact, rtol, atol);
}

/* ---- the whole spec ---- */

static void write_head(writer *w)
{
    kiln__capture *c = w->c;
    const kiln_plan *plan = c->plan;
    kiln__text label = {.mem = plan->mem};
    kiln__config_print(plan->config, &label);
    c->notes.failed |= label.failed;
    note(c, "A launch of %s, captured by Kiln %s on %s: %s", plan->spec->name, KILN_VERSION, plan->engine->info.name,
         kiln__text_get(&label));
    kiln__text_free(&label);
    note(c, "Each buffer has the content that it had before the launch. Answers are compared with the results of the "
            "launch (*.want.npy). Nobody verified these results.");
    for (size_t i = 0; i < plan->variant->param_count; i++)
        if (c->fixed.params[i] && plan->variant->params[i].count > 1)
            note(c, "%s must keep its value, because shapes or inputs that depend on it were captured for this value.",
                 plan->variant->params[i].name);
}

static kiln_status edit_all(writer *w, kiln_error **error)
{
    kiln__capture *c = w->c;
    const kiln_plan *plan = c->plan;
    const kiln_spec *spec = plan->spec;
    const kiln__variant *variant = plan->variant;
    kiln_status status = KILN_OK;
    kiln__edit_sizes(w->edit, "captured", plan->config->sizes);
    for (size_t i = 0; i < variant->param_count; i++)
        kiln__edit_param(w->edit, variant->name, variant->params[i].name, plan->config->params.items[i].value,
                         c->fixed.params[i]);
    for (size_t i = 0; i < variant->buffer_count; i++) {
        if (c->buffers[i].file)
            kiln__edit_buffer_file(w->edit, i < spec->buffer_count ? NULL : variant->name, variant->buffers[i].name,
                                   c->buffers[i].file);
        if (variant->buffers[i].out)
            write_verify(w, i);
    }
    for (size_t i = 0; i < variant->input_count && status == KILN_OK; i++)
        if (c->replaced[i])
            status = write_input(w, i, error);
    return status == KILN_OK ? write_variants(w, error) : status;
}

/* Copies the sources, edits the original text in memory, and writes it. Then reads the new spec again, because a spec
 * that cannot be read is an error. */
kiln_status kiln__capture_spec(kiln__capture *c, kiln_error **error)
{
    kiln_engine *engine = c->plan->engine;
    writer w = {.c = c};
    kiln__text text = {.mem = c->plan->mem};
    kiln_spec *again = NULL;
    const char *file = kiln__arena_printf(&c->arena, "%s.yaml", c->name);
    const char *path = file ? kiln__capture_path(c, file) : NULL;
    if (!path)
        return kiln__fail_memory(error);
    kiln_status status = kiln__edit_open(c->plan->mem, c->plan->spec, &w.edit, error);
    if (status != KILN_OK)
        return status;
    write_head(&w);
    status = edit_all(&w, error);
    if (status == KILN_OK && (c->notes.failed || c->arena.failed))
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        status = kiln__edit_write(w.edit, kiln__text_get(&c->notes), &text, error);
    if (status == KILN_OK) /* reads the new spec again; a capture must not return a spec that cannot be read */
        status = kiln_spec_parse(engine, text.data, text.length, path, &again, error);
    if (status == KILN_OK)
        status = kiln__file_write(c->plan->mem, path, text.data, text.length, error);
    kiln_spec_free(again);
    kiln__text_free(&text);
    kiln__edit_free(w.edit);
    return status;
}
