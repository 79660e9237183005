/* command.c - runs a command that computes a reference. The command reads .npy files in a private folder and writes
 * .npy files there. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "calls_internal.h"
#include "layout_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "preflight_internal.h"
#include "reference_internal.h"
#include "wire.h"

typedef struct command {
    kiln_plan *plan;
    const kiln__verify *verify;
    const char *folder; /* the private folder of the command, which only the user can read */
    kiln__arena arena;
    kiln_error **error;
} command;

#define fail_at(c, status, ...) kiln__plan_fail_at((c)->plan, (c)->error, status, (c)->verify->pos, __VA_ARGS__)

static const char *path_of(command *c, const char *part, const char *name)
{
    return kiln__arena_printf(&c->arena, "%s/%s/%s.npy", c->folder, part, name);
}

static kiln_status make_folders(command *c)
{
    static const char *const parts[] = {"in", "out"};
    c->folder = kiln__folder_private(&c->arena);
    if (!c->folder)
        return c->arena.failed
                   ? kiln__fail_memory(c->error)
                   : fail_at(c, KILN_ERROR_IO, "no temporary folder can be made: %s", kiln__error_text(errno));
    for (size_t i = 0; i < KILN__COUNT(parts); i++) {
        const char *path = kiln__arena_printf(&c->arena, "%s/%s", c->folder, parts[i]);
        if (!path)
            return kiln__fail_memory(c->error);
        if (mkdir(path, 0700) != 0)
            return fail_at(c, KILN_ERROR_IO, "%s: %s", path, kiln__error_text(errno));
    }
    return KILN_OK;
}

/* Writes each buffer of the spec that has a content to the file in/NAME.npy. */
static kiln_status write_inputs(command *c, const kiln__call_args *args)
{
    kiln_plan *plan = c->plan;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < plan->spec->buffer_count && status == KILN_OK; i++) {
        const kiln__plan_buffer *b = &plan->buffers[i];
        if (b->buffer->fill.kind == KILN__FILL_NONE && !b->file && !(b->custom && !b->buffer->out))
            continue;
        const char *path = path_of(c, "in", b->buffer->name);
        status = path ? kiln__npy_write(plan->mem, path, args->args[i].array, c->error) : kiln__fail_memory(c->error);
    }
    return status;
}

/* Returns the arguments of the command: the words of the spec, the folder, and the sizes as NAME=VALUE. */
static const char *const *arguments_of(command *c)
{
    const kiln__settings *sizes = &c->plan->config->sizes;
    const kiln__verify *verify = c->verify;
    const char **list = kiln__arena_alloc(&c->arena, (verify->word_count + sizes->count + 2) * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < verify->word_count; i++)
        list[count++] = verify->words[i];
    if (list)
        list[count++] = c->folder;
    for (size_t i = 0; list && i < sizes->count; i++) {
        kiln__text text = {.mem = c->plan->mem};
        kiln__text_printf(&text, "%s=", sizes->items[i].name);
        kiln__value_print(&text, sizes->items[i].value);
        list[count++] = kiln__arena_strdup(&c->arena, kiln__text_get(&text));
        c->arena.failed |= text.failed;
        kiln__text_free(&text);
    }
    return c->arena.failed ? NULL : list;
}

/* Returns the last part of the text that the command printed before it failed, or "". */
static const char *last_words(command *c, const char *output)
{
    enum { TAIL = 2000 };
    char *text = NULL;
    size_t length = 0;
    if (kiln__file_read(c->plan->mem, output, (size_t)1 << 24, &text, &length, NULL) != KILN_OK)
        return "";
    while (length && (text[length - 1] == '\n' || text[length - 1] == ' '))
        text[--length] = '\0';
    const char *from = length > TAIL ? text + length - TAIL : text;
    const char *kept = length ? kiln__arena_printf(&c->arena, ":\n%s", from) : "";
    kiln__free(c->plan->mem, text);
    return kept ? kept : "";
}

/* Runs the command in the spec's folder, and writes its printed text to a file. Waits until the command ends, its time
 * limit passes or the caller stops it. Returns a different status for each of the three ends: the command ended, its
 * time was over, or the caller stopped it. */
static kiln_status run(command *c)
{
    kiln_plan *plan = c->plan;
    const char *folder = plan->spec->folder;
    kiln__process program = {.arguments = arguments_of(c),
                             .folder = folder && *folder ? folder : ".",
                             .output = kiln__arena_printf(&c->arena, "%s/output", c->folder),
                             .seconds = plan->limit.seconds,
                             .stop = plan->limit.stop};
    int how;
    kiln__ended ended;
    char text[200];
    if (!program.arguments || !program.output)
        return kiln__fail_memory(c->error);
    int failed = kiln__process_run(&program, &how, &ended);
    if (failed)
        return fail_at(c, KILN_ERROR_HOST_FUNCTION, "the command '%s' cannot be started: %s", c->verify->name,
                       kiln__error_text(failed));
    if (ended == KILN__ENDED_STOPPED)
        return fail_at(c, KILN_ERROR_INTERRUPTED, "the command '%s' was stopped", c->verify->name);
    if (ended == KILN__ENDED_LATE)
        return fail_at(c, KILN_ERROR_TIMEOUT, "the command '%s' took longer than the limit of %g s (sample_timeout)%s",
                       c->verify->name, plan->limit.seconds, last_words(c, program.output));
    if (how == 0)
        return KILN_OK;
    kiln__child_describe(how, text, sizeof text);
    return fail_at(c, KILN_ERROR_HOST_FUNCTION, "the command '%s' failed: %s%s", c->verify->name, text,
                   last_words(c, program.output));
}

/* Reads out/NAME.npy into the array of the output. *found is false if the command wrote no such file. */
static kiln_status read_output(command *c, kiln__export *output, bool *found)
{
    kiln_plan *plan = c->plan;
    const char *path = path_of(c, "out", output->name);
    kiln_array got, *want = &output->array;
    uint64_t bytes = 0;
    if (!path)
        return kiln__fail_memory(c->error);
    *found = kiln__file_exists(path);
    if (!*found)
        return KILN_OK;
    /* The file of the command may have a wider type than the output. */
    kiln__array_bytes(KILN_complex128, want->dims, want->shape, &bytes);
    kiln_error *why = NULL;
    kiln_status status = kiln__npy_read_resolved(plan->mem, path, bytes, &got, &why);
    if (status != KILN_OK) {
        status = fail_at(c, status, "the command '%s': %s", c->verify->name, kiln_error_message(why));
        kiln_error_free(why);
        return status;
    }
    kiln_type type;
    if (kiln__array_comparable(want, &got, &type)) {
        kiln__array_free(plan->mem, want);
        *want = got;
        want->type = type;
        return KILN_OK;
    }
    kiln__text wrote = {.mem = plan->mem};
    kiln__plan_shape_text(&wrote, got.type, got.dims, got.shape);
    status = fail_at(c, KILN_ERROR_ARGUMENT, "the command '%s' wrote out/%s.npy as %s, but the buffer is %s %s",
                     c->verify->name, output->name, kiln__text_get(&wrote), kiln__type_name(want->type),
                     kiln__plan_buffer_find(plan, output->name)->buffer->shape_text);
    kiln__text_free(&wrote);
    kiln__array_free(plan->mem, &got);
    return status;
}

/* Keeps the arrays of the outputs that the command wrote, and removes the arrays of all other outputs. */
static kiln_status read_outputs(command *c, kiln__export **outputs)
{
    kiln_status status = KILN_OK;
    for (kiln__export **at = outputs; *at && status == KILN_OK;) {
        kiln__export *output = *at;
        bool found = false;
        status = read_output(c, output, &found);
        if (status != KILN_OK || found) {
            at = &output->next;
            continue;
        }
        *at = output->next;
        output->next = NULL;
        kiln__exports_free(c->plan->mem, output);
    }
    return status;
}

kiln_status kiln__command_reference(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args,
                                    kiln__export **outputs, kiln_error **error)
{
    command c = {.plan = plan, .verify = verify, .arena.mem = plan->mem, .error = error};
    kiln_status status = kiln__command_refuse(plan->engine, verify, error);
    if (status == KILN_OK)
        status = make_folders(&c);
    if (status == KILN_OK)
        status = write_inputs(&c, args);
    if (status == KILN_OK)
        status = run(&c);
    if (status == KILN_OK)
        status = read_outputs(&c, outputs);
    if (c.folder)
        kiln__folder_remove(c.folder);
    kiln__arena_free(&c.arena);
    return status;
}
