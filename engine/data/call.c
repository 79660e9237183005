/* call.c - calls of host functions. This file has the public functions kiln_call_*() for host functions, and the
 * function with which the engine makes a call. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "call.h"

/* ---- functions that host functions call ---- */

/* Makes a wrong argument the reason for the failure of the call, because a call has no kiln_error parameter. */
static kiln_status null_argument(kiln_call *call, const char *function, const char *argument)
{
    kiln_call_fail(call, "%s: %s is NULL", function, argument);
    return KILN_ERROR_ARGUMENT;
}
#define NEEDS(argument)                                                                                                \
    do {                                                                                                               \
        if (!(argument))                                                                                               \
            return null_argument(call, __func__, #argument);                                                           \
    } while (0)

/* Notes why the call fails. If a reason is already noted, keeps that first reason. */
static void note_failure(kiln_call *call, kiln_status status, const char *format, va_list arguments)
{
    if (call->failure)
        return;
    kiln__text text = {.mem = call->mem};
    kiln__text_vprintf(&text, format, arguments);
    if (text.failed)
        kiln__fail_memory(&call->failure);
    else
        kiln__fail(call->mem, &call->failure, status, "%s", kiln__text_get(&text));
    kiln__text_free(&text);
}

kiln_status(kiln_call_fail)(kiln_call *call, const char *format, ...)
{
    if (!call)
        return KILN_ERROR_ARGUMENT;
    NEEDS(format);
    va_list arguments;
    va_start(arguments, format);
    note_failure(call, KILN_ERROR_HOST_FUNCTION, format, arguments);
    va_end(arguments);
    return KILN_ERROR_HOST_FUNCTION;
}

kiln_status(kiln_call_fail_as)(kiln_call *call, kiln_status status, const char *format, ...)
{
    if (!call)
        return KILN_ERROR_ARGUMENT;
    NEEDS(format);
    if (status == KILN_OK || (unsigned)status > KILN_ERROR_INTERNAL) {
        kiln_call_fail(call, "%s: %d is not the status of a failure", __func__, (int)status);
        return KILN_ERROR_ARGUMENT;
    }
    va_list arguments;
    va_start(arguments, format);
    note_failure(call, status, format, arguments);
    va_end(arguments);
    return status;
}

const kiln_allocator *kiln_call_allocator(const kiln_call *call) { return call ? call->mem : NULL; }

const volatile int *kiln_call_stop(const kiln_call *call) { return call ? call->stop : NULL; }

static kiln__call_arg *find(kiln_call *call, const char *name)
{
    for (size_t i = 0; i < call->arg_count; i++)
        if (strcmp(call->args[i].name, name) == 0) {
            call->args[i].read = true;
            return &call->args[i];
        }
    call->missed = true;
    return NULL;
}

static kiln_status fail_missing(kiln_call *call, const char *name)
{
    const char **names = kiln__calloc(call->mem, call->arg_count + 1, sizeof *names);
    for (size_t i = 0; names && i < call->arg_count; i++)
        names[i] = call->args[i].name;
    const char *near = names ? kiln__nearest(name, names, call->arg_count) : NULL;
    kiln__free(call->mem, names);
    const char *hint = call->hint ? call->hint : "";
    return near ? kiln_call_fail(call, "argument '%s' is missing; '%s' is given%s", name, near, hint)
                : kiln_call_fail(call, "argument '%s' is missing%s", name, hint);
}

static const char *kind_of(const kiln__call_arg *arg)
{
    static const char *const kinds[] = {"an integer", "a float", "a boolean", "a text"};
    return arg->kind == KILN__CALL_ARRAY ? "an array" : kinds[arg->value.kind];
}

static kiln_status other_kind(kiln_call *call, const kiln__call_arg *arg, const char *want)
{
    return kiln_call_fail(call, "argument '%s' is %s, not %s", arg->name, kind_of(arg), want);
}

kiln_status kiln_call_int(kiln_call *call, const char *name, const int64_t *fallback, int64_t *value)
{
    NEEDS(call);
    NEEDS(name);
    NEEDS(value);
    const kiln__call_arg *arg = find(call, name);
    if (!arg && !fallback)
        return fail_missing(call, name);
    if (arg && (arg->kind != KILN__CALL_VALUE || (arg->value.kind != KILN_INT && arg->value.kind != KILN_BOOL)))
        return other_kind(call, arg, "an integer");
    *value = arg ? arg->value.as.i : *fallback;
    return KILN_OK;
}

kiln_status kiln_call_float(kiln_call *call, const char *name, const double *fallback, double *value)
{
    NEEDS(call);
    NEEDS(name);
    NEEDS(value);
    const kiln__call_arg *arg = find(call, name);
    if (!arg && !fallback)
        return fail_missing(call, name);
    if (arg && (arg->kind != KILN__CALL_VALUE || (arg->value.kind != KILN_INT && arg->value.kind != KILN_FLOAT)))
        return other_kind(call, arg, "a float");
    *value = !arg ? *fallback : arg->value.kind == KILN_INT ? (double)arg->value.as.i : arg->value.as.f;
    return KILN_OK;
}

kiln_status kiln_call_text(kiln_call *call, const char *name, const char *fallback, const char **value)
{
    NEEDS(call);
    NEEDS(name);
    NEEDS(value);
    const kiln__call_arg *arg = find(call, name);
    if (!arg && !fallback)
        return fail_missing(call, name);
    if (arg && (arg->kind != KILN__CALL_VALUE || arg->value.kind != KILN_TEXT))
        return other_kind(call, arg, "a text");
    *value = arg ? arg->value.as.text : fallback;
    return KILN_OK;
}

kiln_status kiln_call_array(kiln_call *call, const char *name, const kiln_array **array)
{
    NEEDS(call);
    NEEDS(name);
    NEEDS(array);
    const kiln__call_arg *arg = find(call, name);
    if (!arg)
        return fail_missing(call, name);
    if (arg->kind != KILN__CALL_ARRAY)
        return other_kind(call, arg, "an array");
    *array = arg->array;
    return KILN_OK;
}

kiln_status kiln_call_output(kiln_call *call, const char *name, kiln_array **array)
{
    NEEDS(call);
    NEEDS(name);
    NEEDS(array);
    kiln__call_arg *arg = find(call, name);
    if (!arg)
        return fail_missing(call, name);
    if (arg->kind != KILN__CALL_ARRAY)
        return other_kind(call, arg, "an array");
    if (!arg->writable)
        return kiln_call_fail(call, "argument '%s' is an input: it cannot be written", name);
    arg->written = true;
    *array = arg->array;
    return KILN_OK;
}

kiln_status kiln_call_file(kiln_call *call, const char *name, const char **path)
{
    NEEDS(call);
    NEEDS(name);
    NEEDS(path);
    call->opened = true;
    if (!call->file)
        return kiln_call_fail(call, "cannot read '%s': no file may be read here", name);
    return call->file(call->file_user, &call->arena, name, path, &call->failure);
}

/* ---- exports ---- */

const kiln__export *kiln__export_find(const kiln__export *exports, const char *name)
{
    while (exports && strcmp(exports->name, name) != 0)
        exports = exports->next;
    return exports;
}

void kiln__exports_free(const kiln_allocator *mem, kiln__export *exports)
{
    while (exports) {
        kiln__export *next = exports->next;
        if (exports->is_array && !exports->lent)
            kiln__array_free(mem, &exports->array);
        kiln__free(mem, exports);
        exports = next;
    }
}

/* Adds an export at the end of the list. The name of the export is in the same allocation. */
static kiln__export *add_export(kiln_call *call, const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || kiln__export_find(call->exports, name)) {
        kiln_call_fail(call, length ? "exports '%s' twice" : "exports a value without a name%s", name);
        return NULL;
    }
    kiln__export *made = kiln__calloc(call->mem, 1, sizeof *made + length + 1), **end = &call->exports;
    if (!made) {
        kiln__fail_memory(&call->failure);
        return NULL;
    }
    made->name = memcpy(made + 1, name, length + 1);
    while (*end)
        end = &(*end)->next;
    *end = made;
    return made;
}

kiln_status kiln_call_export_int(kiln_call *call, const char *name, int64_t value)
{
    NEEDS(call);
    NEEDS(name);
    kiln__export *made = add_export(call, name);
    if (!made)
        return KILN_ERROR_HOST_FUNCTION;
    made->value = (kiln_value){.kind = KILN_INT, .as.i = value};
    return KILN_OK;
}

kiln_status kiln_call_export_float(kiln_call *call, const char *name, double value)
{
    NEEDS(call);
    NEEDS(name);
    kiln__export *made = add_export(call, name);
    if (!made)
        return KILN_ERROR_HOST_FUNCTION;
    made->value = (kiln_value){.kind = KILN_FLOAT, .as.f = value};
    return KILN_OK;
}

kiln_status kiln_call_export_array(kiln_call *call, const char *name, kiln_type type, int dims, const uint64_t *shape,
                                   kiln_array **array)
{
    NEEDS(call);
    NEEDS(name);
    if (dims > 0)
        NEEDS(shape);
    NEEDS(array);
    if ((unsigned)type >= KILN_TYPE_COUNT)
        return kiln_call_fail(call, "exports '%s' with a type that does not exist", name);
    kiln_array made;
    kiln_status status = kiln__array_make(call->mem, type, dims, shape, &made, &call->failure);
    if (status != KILN_OK)
        return status;
    kiln__export *slot = add_export(call, name);
    if (!slot) {
        kiln__array_free(call->mem, &made);
        return KILN_ERROR_HOST_FUNCTION;
    }
    slot->is_array = true;
    slot->array = made;
    *array = &slot->array;
    return KILN_OK;
}

kiln_status kiln_call_export_data(kiln_call *call, const char *name, kiln_type type, uint64_t length, void **data)
{
    NEEDS(call);
    NEEDS(name);
    NEEDS(data);
    if ((unsigned)type >= KILN_TYPE_COUNT)
        return kiln_call_fail(call, "exports '%s' with a type that does not exist", name);
    kiln__export *slot = add_export(call, name);
    if (!slot)
        return KILN_ERROR_HOST_FUNCTION;
    slot->is_array = true;
    slot->array = (kiln_array){.type = type, .dims = 1, .shape = {length}, .data = *data};
    *data = NULL;
    return KILN_OK;
}

/* ---- the call by the engine ---- */

kiln_status kiln__call(kiln_call *call, const kiln__host *host, kiln__pos pos, kiln_error **error)
{
    call->function = host->name;
    call->arena.mem = call->mem;
    kiln_status status = host->function(host->user, call);
    if (status == KILN_OK)
        return KILN_OK;
    kiln_status why = call->failure ? kiln_error_status(call->failure) : KILN_ERROR_HOST_FUNCTION;
    kiln__diag diag = {.mem = call->mem};
    if (call->failure)
        kiln__diag_add(&diag, pos, "host function '%s': %s", host->name, kiln_error_message(call->failure));
    else
        kiln__diag_add(&diag, pos, "host function '%s' failed without saying why (%s)", host->name,
                       kiln_status_text(status));
    return kiln__diag_finish(&diag, why, error);
}

void kiln__call_free(kiln_call *call)
{
    kiln__exports_free(call->mem, call->exports);
    call->exports = NULL;
    kiln_error_free(call->failure);
    call->failure = NULL;
    kiln__arena_free(&call->arena);
}
