/* calls.c - calls of host functions: collects the arguments, and calls the function. */
#include <stdio.h>
#include <string.h>

#include "plan_internal.h"

bool kiln__call_add(kiln__call_args *args, kiln__call_arg arg)
{
    if (!kiln__grow(args->plan->mem, &args->args, &args->capacity, args->count + 1, sizeof *args->args))
        return false;
    args->args[args->count++] = arg;
    return true;
}

/* Adds the exports named `prefix` or `prefix.REST`, as AS or AS.REST. With an empty prefix it adds all exports. */
bool kiln__call_add_exports(kiln__call_args *args, const char *as, const kiln__export *exports, const char *prefix)
{
    size_t length = strlen(prefix);
    for (; exports; exports = exports->next) {
        const char *rest = exports->name;
        if (length) {
            if (strncmp(rest, prefix, length) != 0 || (rest[length] != '\0' && rest[length] != '.'))
                continue;
            rest += length + (rest[length] == '.');
        }
        const char *name = *rest ? kiln__arena_printf(&args->arena, "%s.%s", as, rest)
                                 : kiln__arena_strdup(&args->arena, as);
        kiln__call_arg arg = {.name = name,
                              .kind = exports->is_array ? KILN__CALL_ARRAY : KILN__CALL_VALUE,
                              .value = exports->value,
                              .array = (kiln_array *)(uintptr_t)&exports->array};
        if (!name || !kiln__call_add(args, arg))
            return false;
    }
    return true;
}

/* Returns the name if the expression is only a name, otherwise NULL. */
static const char *lone_name(const kiln__expr *expr)
{
    if (kiln__expr_name_count(expr) != 1 || strcmp(kiln__expr_text(expr), kiln__expr_name(expr, 0)) != 0)
        return NULL;
    return kiln__expr_name(expr, 0);
}

/* A text stays a text, a name of an input becomes its exports (the input is made now), and any other expression is
 * evaluated. */
kiln_status kiln__call_add_written(kiln__call_args *args, const kiln__arg *arg, const kiln__scope *scope,
                                   kiln_error **error)
{
    kiln_plan *plan = args->plan;
    args->arena.mem = plan->mem;
    kiln__call_arg made = {.name = arg->name, .kind = KILN__CALL_VALUE};
    if (!arg->expr) {
        made.value = (kiln_value){.kind = KILN_TEXT, .as.text = arg->text};
        return kiln__call_add(args, made) ? KILN_OK : kiln__fail_memory(error);
    }
    const char *name = lone_name(arg->expr);
    size_t root = name ? strcspn(name, ".") : 0;
    for (size_t i = 0; name && i < plan->variant->input_count; i++) {
        kiln__plan_input *input = &plan->inputs[i];
        if (strlen(input->input->name) != root || memcmp(input->input->name, name, root) != 0)
            continue;
        kiln_status status = kiln__plan_input_make(plan, input, error);
        if (status != KILN_OK)
            return status;
        size_t before = args->count;
        const char *prefix = name[root] ? name + root + 1 : "";
        if (!kiln__call_add_exports(args, arg->name, input->entry->values, prefix))
            return kiln__fail_memory(error);
        if (args->count > before)
            return KILN_OK;
        kiln__diag diag = {.mem = plan->mem};
        kiln__diag_add(&diag, arg->pos, "the input '%.*s' does not export '%s'", (int)root, name, prefix);
        return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    }
    kiln__diag diag = {.mem = plan->mem};
    kiln__expr_eval(arg->expr, scope, &made.value, &diag);
    kiln_status status = kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error);
    if (status != KILN_OK)
        return status;
    return kiln__call_add(args, made) ? KILN_OK : kiln__fail_memory(error);
}

void kiln__call_args_free(kiln__call_args *args)
{
    kiln__free(args->plan->mem, args->args);
    kiln__arena_free(&args->arena);
}

static kiln_status find_file(void *user, kiln__arena *arena, const char *name, const char **path, kiln_error **error)
{
    kiln_plan *plan = user;
    return kiln__engine_find_file(plan->engine, plan->spec->folder, name, arena, path, error);
}

kiln_status kiln__plan_call(kiln_plan *plan, const char *function, unsigned use, kiln__call_args *args, kiln__pos pos,
                            kiln__export **exports, kiln_error **error)
{
    const kiln__host *host = kiln__engine_host(plan->engine, function, use);
    if (!host) {
        kiln__diag diag = {.mem = plan->mem};
        kiln__diag_add(&diag, pos, "no host function '%s' is registered for this use", function);
        return kiln__diag_finish(&diag, KILN_ERROR_NOT_FOUND, error);
    }
    kiln_call call = {.mem = plan->mem,
                      .arg_count = args->count,
                      .args = args->args,
                      .hint = args->hint,
                      .file = find_file,
                      .file_user = plan,
                      .log = &plan->engine->log,
                      .stop = plan->limit.stop};
    kiln_status status = kiln__call(&call, host, pos, error);
    args->missed = call.missed;
    args->opened = call.opened;
    if (status == KILN_OK && exports) {
        *exports = call.exports;
        call.exports = NULL;
    }
    kiln__call_free(&call);
    return status;
}
