/* calls.c - collects the arguments of a host function, and calls the function. This file also makes the inputs of a
 * plan, because each input is made by a call, and an argument of a call may name another input. Expressions see the
 * exports of the inputs through the plan's scope. */
#include <stdio.h>
#include <string.h>

#include "calls_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"

bool kiln__call_add(kiln__call_args *args, kiln__call_arg arg)
{
    if (!kiln__grow(args->plan->mem, &args->args, &args->capacity, args->count + 1, sizeof *args->args))
        return false;
    args->args[args->count++] = arg;
    return true;
}

/* Adds the exports named `prefix` to `args` under the name AS, and the exports named `prefix.REST` under the name
 * AS.REST. If `prefix` is empty, adds all exports. */
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

/* Returns the name if the expression consists of one name only. Otherwise returns NULL. */
static const char *lone_name(const kiln__expr *expr)
{
    if (kiln__expr_name_count(expr) != 1 || strcmp(kiln__expr_text(expr), kiln__expr_name(expr, 0)) != 0)
        return NULL;
    return kiln__expr_name(expr, 0);
}

/* Adds one argument of a host function. A text stays a text. The name of an input makes this input, and adds its
 * exports. Any other expression is evaluated. */
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

/* ---- inputs: the exports of calls ---- */

/* Writes the key of an input, which has everything that determines the input's exports. The other inputs that this
 * input uses must exist. */
static bool input_key(kiln_plan *plan, const kiln__input *input, const kiln__call_args *args, kiln__text *key)
{
    kiln__text_printf(key, "input %s(", input->function);
    for (size_t i = 0; i < input->arg_count; i++) {
        const kiln__arg *arg = &input->args[i];
        const char *name = arg->expr && kiln__expr_name_count(arg->expr) == 1 ? kiln__expr_name(arg->expr, 0) : "";
        size_t root = strcspn(name, ".");
        kiln__text_printf(key, "%s%s=", i ? "," : "", arg->name);
        for (size_t k = 0; k < plan->variant->input_count; k++)
            if (plan->inputs[k].entry && strlen(plan->inputs[k].input->name) == root && root &&
                memcmp(plan->inputs[k].input->name, name, root) == 0)
                kiln__text_printf(key, "%s %s ", plan->inputs[k].entry->key, name + root);
        for (size_t k = 0; k < args->count; k++)
            if (args->args[k].kind == KILN__CALL_VALUE && strcmp(args->args[k].name, arg->name) == 0) {
                kiln__value_print(key, args->args[k].value);
                kiln__text_printf(key, " %d", (int)args->args[k].value.kind);
            }
    }
    kiln__text_puts(key, ")");
    return !key->failed;
}

static kiln_status make_input(kiln_plan *plan, kiln__plan_input *input, kiln_error **error)
{
    const kiln__input *written = input->input;
    kiln__call_args args = {.plan = plan, .arena.mem = plan->mem};
    kiln__text key = {.mem = plan->mem};
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < written->arg_count && status == KILN_OK; i++)
        status = kiln__call_add_written(&args, &written->args[i], &plan->scope, error);
    if (status == KILN_OK && !input_key(plan, written, &args, &key))
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        input->entry = kiln__shared_find(plan->shared, kiln__text_get(&key));
    if (status == KILN_OK && !input->entry) {
        kiln__export *exports = NULL;
        uint64_t start = kiln__now_ns();
        status = kiln__plan_call(plan, written->function, KILN_HOST_INPUT, &args, written->pos, &exports, error);
        double seconds = kiln__seconds_since(start);
        if (status == KILN_OK)
            status = kiln__shared_add(plan->shared, kiln__text_get(&key), exports, &input->entry, error);
        if (status == KILN_OK)
            input->entry->seconds = seconds;
    }
    kiln__text_free(&key);
    kiln__call_args_free(&args);
    return status;
}

kiln_status kiln__plan_input_make(kiln_plan *plan, kiln__plan_input *input, kiln_error **error)
{
    if (input->entry)
        return KILN_OK;
    if (input->making)
        return kiln__fail(plan->mem, error, KILN_ERROR_SPEC, "the input '%s' depends on itself", input->input->name);
    input->making = true;
    kiln_status status = make_input(plan, input, error);
    input->making = false;
    return status;
}

/* Returns the input whose name is the first part of the dotted name, or NULL. *rest gets the part of the name after the
 * dot. */
kiln__plan_input *kiln__plan_input_of(kiln_plan *plan, const char *name, const char **rest)
{
    size_t root = strcspn(name, ".");
    for (size_t i = 0; name[root] && i < plan->variant->input_count; i++)
        if (strlen(plan->inputs[i].input->name) == root && memcmp(plan->inputs[i].input->name, name, root) == 0) {
            *rest = name + root + 1;
            return &plan->inputs[i];
        }
    return NULL;
}

/* Looks a name up in the plan's scope. Finds the exports of inputs, and the names under `let` whose expressions use
 * exports. */
static bool find_name(void *user, const char *name, kiln_value *value)
{
    kiln_plan *plan = user;
    const char *rest;
    kiln__plan_input *input = kiln__plan_input_of(plan, name, &rest);
    if (input) {
        if (kiln__plan_input_make(plan, input, &plan->pending) != KILN_OK)
            return false;
        const kiln__export *found = kiln__export_find(input->entry->values, rest);
        if (!found || found->is_array)
            return false;
        *value = found->value;
        return true;
    }
    const kiln__named_expr *let = kiln__variant_let(plan->variant, name);
    kiln_value known;
    if (!let || kiln__scope_find(kiln__config_scope(plan->config), name, &known) || plan->lookups > 64)
        return false; /* this name is in the configuration's scope */
    kiln__diag diag = {.mem = plan->mem};
    plan->lookups++;
    bool found = kiln__expr_eval(let->expr, &plan->scope, value, &diag);
    plan->lookups--;
    kiln_error *why = NULL;
    if (kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, &why) != KILN_OK)
        plan->pending = why;
    return found;
}

void kiln__plan_set_scope(kiln_plan *plan)
{
    plan->scope = (kiln__scope){.outer = kiln__config_scope(plan->config), .find = find_name, .user = plan};
}
