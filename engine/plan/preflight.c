/* preflight.c - finds mistakes that make every configuration fail, such as a missing file or a command that may not
 * run. A sweep looks for them before it compiles the first configuration. */
#include <string.h>

#include "plan_internal.h"
#include "preflight_internal.h"

kiln_status kiln__command_refuse(const kiln_engine *engine, const kiln__verify *verify, kiln_error **error)
{
    if (engine->flags & KILN_ALLOW_COMMANDS)
        return KILN_OK;
    kiln__diag diag = {.mem = engine->mem};
    kiln__diag_add(&diag, verify->pos,
                   "the spec runs the command '%s' on this machine, with your rights; allow this with --allow-commands "
                   "(KILN_ALLOW_COMMANDS)",
                   verify->name);
    return kiln__diag_finish(&diag, KILN_ERROR_REFUSED, error);
}

/* Looks for a file that the spec names at the position `pos`. Fails if there is no such file. `purpose` tells what the
 * file is for. */
static kiln_status need_file(kiln_engine *engine, const kiln_spec *spec, const char *name, kiln__pos pos,
                             const char *purpose, kiln_error **error)
{
    kiln__arena arena = {.mem = engine->mem};
    kiln_error *why = NULL;
    const char *path;
    kiln_status status = kiln__engine_find_file(engine, spec->folder, name, &arena, &path, &why);
    if (status != KILN_OK && status != KILN_ERROR_MEMORY) {
        kiln__diag diag = {.mem = engine->mem};
        kiln__diag_add(&diag, pos, "the file %s cannot be read: %s", purpose, kiln_error_message(why));
        kiln_error_free(why);
        why = NULL;
        status = kiln__diag_finish(&diag, status, &why);
    }
    kiln__arena_free(&arena);
    if (status != KILN_OK && error)
        *error = why;
    else
        kiln_error_free(why);
    return status;
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

kiln_status kiln__plan_need_file(kiln_engine *engine, const kiln__config *config, const kiln__verify *verify,
                                 kiln_error **error)
{
    kiln__text name = {.mem = engine->mem};
    kiln_status status = kiln__config_path(engine->mem, &config->scopes[1], verify->name, verify->path, &name, error);
    if (status == KILN_OK)
        status = need_file(engine, config->spec, kiln__text_get(&name), verify->pos, "with the expected answer", error);
    kiln__text_free(&name);
    return status;
}

kiln_status kiln__plan_preflight(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *sizes, bool check,
                                 kiln_error **error)
{
    const kiln_choice choice = {.size_set = sizes->size_set, .sizes = sizes->sizes, .size_count = sizes->size_count};
    kiln__config *config = NULL;
    kiln_status status = kiln__config_open(engine, spec, &choice, &config, error);
    for (size_t i = 0; check && i < spec->verify_count && status == KILN_OK; i++) {
        const kiln__verify *verify = &spec->verify[i];
        if (verify->against == KILN__AGAINST_COMMAND)
            status = kiln__command_refuse(engine, verify, error);
        else if (verify->against == KILN__AGAINST_FILE)
            status = kiln__plan_need_file(engine, config, verify, error);
    }
    for (size_t i = 0; i < spec->input_count && status == KILN_OK; i++) {
        /* the inputs of the spec come first in the list of the variant */
        const kiln__input *input = &config->variant->inputs[i];
        for (size_t a = 0; a < input->arg_count && status == KILN_OK; a++)
            if (!input->args[a].expr && ends_in(input->args[a].text, ".npy"))
                status = need_file(engine, spec, input->args[a].text, input->args[a].pos, "of the input", error);
    }
    kiln__config_free(config);
    return status;
}
