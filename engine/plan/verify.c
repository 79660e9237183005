/* verify.c - computes the expected outputs, and compares the outputs of a run with them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "calls_internal.h"
#include "count_internal.h"
#include "layout_internal.h"
#include "limit_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "preflight_internal.h"
#include "reference_internal.h"
#include "shared_internal.h"
#include "steps_internal.h"
#include "verify_internal.h"
#include "weak_internal.h"

/* ---- references ----
 *
 * A reference is a list of arrays under the names of the outputs. The shared object stores a reference under a key that
 * has everything on which the reference depends: sizes, inputs, initial contents. Contents from the caller have no key.
 * So a reference that depends on them is used for one run only. A variant's own inputs may depend on its params. The
 * key has the variant's own inputs only if the host function reads them. */

#define ONCE "once " /* the prefix for keys of references that are used for one run only */
#define OWN "own "   /* the prefix for keys of references that depend on the variant's own inputs */

static const char *const kinds[] = {"host function", "variant", "file", "command"};

static bool reference_key(kiln_plan *plan, const kiln__verify *verify, bool own, kiln__text *key)
{
    bool once = false;
    kiln__text rest = {.mem = plan->mem};
    for (size_t i = 0; i < plan->config->sizes.count; i++) {
        kiln__text_printf(&rest, " %s=", plan->config->sizes.items[i].name);
        kiln__value_print(&rest, plan->config->sizes.items[i].value);
    }
    for (size_t i = 0; i < (own ? plan->variant->input_count : plan->spec->input_count); i++)
        kiln__text_printf(&rest, "\n%s", plan->inputs[i].entry->key);
    for (size_t i = 0; i < plan->spec->buffer_count; i++) {
        kiln_array array;
        bool temporary = false;
        kiln__plan_buffer *b = &plan->buffers[i];
        once = once || (b->custom && !b->buffer->out);
        /* The key of a content is made with the content. If a buffer has no content, its key is its type and shape. */
        kiln__text_printf(&rest, "\n%s %s", b->buffer->name, kiln__type_name(b->type));
        for (int d = 0; d < b->dims; d++)
            kiln__text_printf(&rest, " %" PRIu64, b->shape[d]);
        if (b->custom || (b->buffer->fill.kind == KILN__FILL_NONE && !b->file))
            continue;
        if (kiln__plan_content(plan, b, &array, &temporary, NULL) != KILN_OK)
            rest.failed = true;
        kiln__text_printf(&rest, " %s", b->key ? b->key : "");
    }
    kiln__text_printf(key, "%s%s%s %s%s", once ? ONCE : "", own ? OWN : "", kinds[verify->against],
                      plan->answer_use == KILN__ANSWER_WHOLE ? "whole " : "", verify->name);
    for (size_t i = 0; i < verify->arg_count; i++) /* the arguments of the function, as the spec writes them */
        kiln__text_printf(key, " %s: %s,", verify->args[i].name,
                          verify->args[i].expr ? kiln__expr_text(verify->args[i].expr) : verify->args[i].text);
    for (size_t i = 0; i < verify->param_count; i++) {
        kiln_value value = {0};
        kiln__expr_eval(verify->params[i].expr, kiln__config_scope(plan->config), &value, NULL);
        kiln__text_printf(key, " %s=", verify->params[i].name);
        kiln__value_print(key, value);
    }
    kiln__text_puts(key, kiln__text_get(&rest));
    bool made = !rest.failed && !key->failed;
    kiln__text_free(&rest);
    return made;
}

/* Adds an array to a list. The list then owns the array. On failure frees the array. */
static kiln_status add_array(kiln_plan *plan, kiln__export **list, const char *name, kiln_array *array,
                             kiln_error **error)
{
    kiln__export *made = kiln__export_of(plan->mem, name, array);
    if (!made) {
        kiln__array_free(plan->mem, array);
        return kiln__fail_memory(error);
    }
    made->next = *list;
    *list = made;
    return KILN_OK;
}

/* ---- references by a host function ---- */

static bool is_sampled(const kiln_plan *plan, const kiln__buffer *buffer)
{
    for (size_t i = 0; i < plan->spec->verify_count; i++)
        if (plan->spec->verify[i].sampled && strcmp(plan->spec->verify[i].buffer, buffer->name) == 0)
            return true;
    return false;
}

/* Returns whether the host function may leave elements of its outputs out. It may if each `verify` entry that compares
 * with its outputs has `sampled`, and the caller does not need the whole answer. */
static bool may_leave_elements(const kiln_plan *plan, const char *host)
{
    if (plan->answer_use == KILN__ANSWER_WHOLE)
        return false;
    for (size_t i = 0; i < plan->spec->verify_count; i++) {
        const kiln__verify *verify = &plan->spec->verify[i];
        if (verify->against == KILN__AGAINST_HOST && strcmp(verify->name, host) == 0 && !verify->sampled)
            return false;
    }
    return true;
}

/* Tells whether a host function may export sums with random weights instead of most elements of its output
 * (kiln__array_compare_projected). It may export sums if exactly one `verify` entry compares with its outputs, by
 * tolerances and without `sampled`. It may not export sums if the caller needs the whole answer. */
static bool may_project(const kiln_plan *plan, const char *host)
{
    size_t count = 0;
    bool exact = false;
    for (size_t i = 0; i < plan->spec->verify_count; i++) {
        const kiln__verify *verify = &plan->spec->verify[i];
        const bool here = verify->against == KILN__AGAINST_HOST && strcmp(verify->name, host) == 0;
        count += here;
        exact |= here && (verify->exact || verify->sampled);
    }
    return count == 1 && !exact && plan->answer_use != KILN__ANSWER_WHOLE;
}

/* Adds every buffer of the spec under its name. The function writes its outputs into copies, which are returned in
 * *outputs. *borrowed gets the other arrays that were made for the call. */
static kiln_status add_buffers(kiln_plan *plan, kiln__call_args *args, kiln__export **outputs, kiln__export **borrowed,
                               kiln_error **error)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < plan->spec->buffer_count && status == KILN_OK; i++) {
        kiln__plan_buffer *b = &plan->buffers[i];
        kiln_array array;
        bool temporary;
        status = kiln__plan_content(plan, b, &array, &temporary, error);
        if (status != KILN_OK)
            return status;
        if (b->buffer->out && !temporary) { /* the content is shared, so the function gets a copy */
            kiln_array copy;
            status = kiln__array_make(plan->mem, array.type, array.dims, array.shape, &copy, error);
            if (status != KILN_OK)
                return status;
            if (b->bytes)
                memcpy(copy.data, array.data, (size_t)b->bytes);
            array = copy;
            temporary = true;
        }
        if (b->buffer->fill.kind == KILN__FILL_NONE && !b->file && is_sampled(plan, b->buffer))
            kiln__array_poison(&array); /* elements that the function does not compute keep the poison */
        kiln__call_arg arg = {.name = b->buffer->name, .kind = KILN__CALL_ARRAY, .writable = b->buffer->out};
        kiln__export **list = b->buffer->out ? outputs : borrowed;
        if (temporary) {
            status = add_array(plan, list, b->buffer->name, &array, error);
            arg.array = status == KILN_OK ? &(*list)->array : NULL;
        } else {
            kiln_array *kept = kiln__arena_alloc(&args->arena, sizeof *kept);
            if (!kept)
                return kiln__fail_memory(error);
            *kept = array;
            arg.array = kept;
        }
        if (status == KILN_OK && !kiln__call_add(args, arg))
            status = kiln__fail_memory(error);
    }
    return status;
}

/* Adds the values to which the function gives other names than the spec. These values come first, because a look-up
 * finds the first value with a name. */
static kiln_status add_renamed(kiln_plan *plan, const kiln__verify *verify, kiln__call_args *args, kiln_error **error)
{
    size_t before = args->count;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < verify->arg_count && status == KILN_OK; i++) {
        const kiln__arg *arg = &verify->args[i];
        const kiln__call_arg *buffer = NULL;
        for (size_t k = 0; arg->expr && k < plan->spec->buffer_count; k++)
            if (strcmp(plan->buffers[k].buffer->name, kiln__expr_text(arg->expr)) == 0)
                buffer = &args->args[k]; /* the buffers are the first arguments of the list */
        kiln__call_arg renamed = buffer ? *buffer : (kiln__call_arg){0};
        renamed.name = arg->name;
        if (!buffer)
            status = kiln__call_add_written(args, arg, &plan->scope, error);
        else if (!kiln__call_add(args, renamed))
            status = kiln__fail_memory(error);
    }
    size_t added = args->count - before;
    kiln__call_arg *moved = added && status == KILN_OK ? kiln__alloc(plan->mem, added * sizeof *moved) : NULL;
    if (!moved)
        return added && status == KILN_OK ? kiln__fail_memory(error) : status;
    memcpy(moved, args->args + before, added * sizeof *moved);
    memmove(args->args + added, args->args, before * sizeof *moved);
    memcpy(args->args, moved, added * sizeof *moved);
    kiln__free(plan->mem, moved);
    return KILN_OK;
}

/* Warns of arguments that the spec names and the function does not read. Such an argument is usually a mistake, because
 * the function then computes another result than the author expects. The arguments that the spec names come first in
 * `args`, in the order of the spec. The names of an input's exports have several parts, so they never equal a name of
 * the spec. */
static void warn_unread(kiln_plan *plan, const kiln__verify *verify, const kiln__call_args *args)
{
    kiln__text names = {.mem = plan->mem};
    for (size_t i = 0; i < verify->arg_count; i++)
        for (size_t k = 0; k < args->count && k < verify->arg_count; k++)
            if (strcmp(args->args[k].name, verify->args[i].name) == 0 && !args->args[k].read)
                kiln__text_printf(&names, "%s'%s'", names.length ? ", " : "", verify->args[i].name);
    if (names.length && !names.failed)
        kiln__logf(&plan->engine->log, KILN_LOG_WARNING, "%s: the reference of '%s', %s, does not use %s",
                   plan->spec->name, verify->buffer, verify->name, names.data);
    kiln__text_free(&names);
}

static bool has_shape(const kiln__export *export, kiln_type type, int dims, const uint64_t *shape)
{
    return export->is_array && export->array.type == type && export->array.dims == dims &&
           memcmp(export->array.shape, shape, (size_t)dims * sizeof *shape) == 0;
}

/* Finds the random sums that a host function exported instead of most elements of an output, whose array is *want.
 * Leaves *projection without sums if the function exported no sums. Returns false if the types or shapes of the sums do
 * not fit the output, because the comparison reads as many weights and sums as the output needs. */
static bool find_projection(const kiln__export *exports, const kiln_array *want, kiln__projection *projection)
{
    const kiln__export *weights = kiln__export_find(exports, "verify.weights"),
                       *sums = kiln__export_find(exports, "verify.sums"),
                       *slack = kiln__export_find(exports, "verify.slack");
    if (!weights || !sums || !slack)
        return true;
    const uint64_t columns = want->shape[1], blocks = columns / KILN__PROJECTED + (columns % KILN__PROJECTED != 0);
    if (want->dims != 2 || !has_shape(weights, KILN_f64, 1, &columns) ||
        !has_shape(sums, KILN_f64, 2, (const uint64_t[]){want->shape[0], blocks}) || slack->is_array ||
        slack->value.kind != KILN_FLOAT)
        return false;
    *projection = (kiln__projection){&weights->array, &sums->array, slack->value.as.f};
    return true;
}

/* Tells whether a reference from disk has the output that is verified, and sums that fit the output. */
static bool is_usable(const kiln__export *kept, const char *output)
{
    kiln__projection projection;
    const kiln__export *found = kiln__export_find(kept, output);
    return found && found->is_array && find_projection(kept, &found->array, &projection);
}

/* If the reference is on disk, returns it in *outputs, in place of the arrays that were made for the function to
 * write. */
static bool take_kept(kiln_plan *plan, const kiln__verify *verify, const kiln__text *key, kiln__export **outputs,
                      kiln__unit *unit)
{
    kiln__export *kept;
    if (!kiln__reference_find(plan, key, unit, &kept))
        return false;
    if (!is_usable(kept, verify->buffer)) { /* a file with this content was not written by Kiln */
        kiln__exports_free(plan->mem, kept);
        kiln__unit_free(unit);
        return false;
    }
    kiln__exports_free(plan->mem, *outputs);
    *outputs = kept;
    return true;
}

/* Calls the host function, and appends its exports to the outputs. */
static kiln_status call_host(kiln_plan *plan, const kiln__verify *verify, kiln__call_args *args, kiln__export **outputs,
                             kiln_error **error)
{
    kiln__export *exported = NULL;
    kiln_status status = kiln__plan_call(plan, verify->name, KILN_HOST_REFERENCE, args, verify->pos, &exported, error);
    while (*outputs)
        outputs = &(*outputs)->next;
    *outputs = exported;
    if (status == KILN_OK)
        warn_unread(plan, verify, args);
    return status;
}

/* Reads the answer of a host function from disk. If it is not there, calls the function and keeps its answer. The
 * arguments from `shared` on are the variant's own inputs. A function that does not read them has the same answer for
 * all variants, so its key does not contain them. Only the first call shows which of the two keys a function has. So
 * both keys are tried. */
static kiln_status find_or_call(kiln_plan *plan, const kiln__verify *verify, kiln__call_args *args, size_t shared,
                                bool *own, kiln__export **outputs, kiln__unit *unit, kiln_error **error)
{
    kiln__text keys[2] = {{.mem = plan->mem}, {.mem = plan->mem}};
    const bool kept = kiln__reference_host_key(plan, verify, args, shared, &keys[0]);
    kiln_status status = KILN_OK;
    bool found = kept && take_kept(plan, verify, &keys[0], outputs, unit);
    if (kept && !found) {
        kiln__text_add(&keys[1], keys[0].data, keys[0].length);
        *own = kiln__reference_extend_key(plan, args, shared, &keys[1]) &&
               take_kept(plan, verify, &keys[1], outputs, unit);
        found = *own;
    }
    if (!found) {
        const uint64_t start = kiln__now_ns();
        status = call_host(plan, verify, args, outputs, error);
        *own = args->missed;
        for (size_t i = shared; i < args->count; i++)
            *own = *own || args->args[i].read;
        if (kept && status == KILN_OK && !args->opened)
            kiln__reference_keep(plan, verify, &keys[*own], *outputs, kiln__seconds_since(start));
    }
    kiln__text_free(&keys[0]);
    kiln__text_free(&keys[1]);
    return status;
}

/* Sets *own if the function read the variant's own inputs, or asked for an argument that does not exist. */
static kiln_status by_host(kiln_plan *plan, const kiln__verify *verify, bool *own, kiln__export **outputs,
                           kiln__unit *unit, kiln_error **error)
{
    kiln__call_args args = {.plan = plan, .arena.mem = plan->mem};
    kiln__export *borrowed = NULL;
    kiln_status status = add_buffers(plan, &args, outputs, &borrowed, error);
    for (size_t i = 0; i < plan->config->sizes.count && status == KILN_OK; i++) {
        kiln__call_arg arg = {.name = plan->config->sizes.items[i].name, .value = plan->config->sizes.items[i].value};
        status = kiln__call_add(&args, arg) ? KILN_OK : kiln__fail_memory(error);
    }
    kiln__call_arg sampled = {.name = "verify.sampled",
                              .value = {.kind = KILN_INT, .as.i = may_leave_elements(plan, verify->name)}};
    kiln__call_arg projected = {.name = "verify.projected",
                                .value = {.kind = KILN_INT, .as.i = may_project(plan, verify->name)}};
    if (status == KILN_OK && (!kiln__call_add(&args, sampled) || !kiln__call_add(&args, projected)))
        status = kiln__fail_memory(error);
    args.hint = "; {host: NAME, X: y} gives it 'y' as 'X' (kiln help hosts)";
    if (status == KILN_OK)
        status = add_renamed(plan, verify, &args, error);
    /* the number of arguments that all variants share; the variant's own inputs come after them */
    size_t shared = args.count;
    for (size_t i = 0; i < plan->variant->input_count && status == KILN_OK; i++) {
        if (!kiln__call_add_exports(&args, plan->inputs[i].input->name, plan->inputs[i].entry->values, ""))
            status = kiln__fail_memory(error);
        if (i < plan->spec->input_count)
            shared = args.count;
    }
    if (status == KILN_OK)
        status = find_or_call(plan, verify, &args, shared, own, outputs, unit, error);
    kiln__exports_free(plan->mem, borrowed);
    kiln__call_args_free(&args);
    return status;
}

/* ---- references by a command ---- */

/* Reads the answer of a command from disk. If it is not there, runs the command and keeps its answer. */
static kiln_status by_command(kiln_plan *plan, const kiln__verify *verify, kiln__export **outputs, kiln__unit *unit,
                              kiln_error **error)
{
    kiln__call_args args = {.plan = plan, .arena.mem = plan->mem};
    kiln__export *borrowed = NULL;
    kiln__text key = {.mem = plan->mem};
    kiln_status status = add_buffers(plan, &args, outputs, &borrowed, error);
    const bool kept = status == KILN_OK && kiln__reference_command_key(plan, verify, &args, &key);
    if (status == KILN_OK && !(kept && take_kept(plan, verify, &key, outputs, unit))) {
        const uint64_t start = kiln__now_ns();
        status = kiln__command_reference(plan, verify, &args, outputs, error);
        if (kept && status == KILN_OK)
            kiln__reference_keep(plan, verify, &key, *outputs, kiln__seconds_since(start));
    }
    kiln__text_free(&key);
    kiln__exports_free(plan->mem, borrowed);
    kiln__call_args_free(&args);
    return status;
}

/* ---- references by another variant ---- */

/* Copies the contents that the caller gave to the other plan. */
static kiln_status hand_over(kiln_plan *plan, kiln_plan *other, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < plan->spec->buffer_count; i++)
        other->buffers[i].file = plan->buffers[i].file;
    status = kiln__plan_fill(other, false, error);
    for (size_t i = 0; i < plan->spec->buffer_count && status == KILN_OK; i++) {
        const kiln__plan_buffer *from = &plan->buffers[i], *to = &other->buffers[i];
        if (!from->custom || from->buffer->out || from->bytes == 0)
            continue;
        if (from->bytes != to->bytes)
            return kiln__fail(plan->mem, error, KILN_ERROR_ARGUMENT, "buffer %s has another size in variant %s",
                              from->buffer->name, other->variant->name);
        CUresult result = driver->cuMemcpyDtoD_(to->pointer, from->pointer, (size_t)from->bytes);
        if (result != CUDA_SUCCESS)
            status = kiln__driver_fail(driver, plan->mem, result, error, "copying buffer %s", from->buffer->name);
    }
    return status;
}

static kiln_status run_other(kiln_plan *plan, kiln_plan *other, kiln__export **outputs, kiln_error **error)
{
    kiln_status status = hand_over(plan, other, error);
    other->limit = (kiln__limit){.usual = plan->limit.usual, .seconds = plan->limit.seconds, .stop = plan->limit.stop};
    kiln__limit_start(other); /* the time limit of the run also applies to the reference */
    other->limit.first = true;
    if (status == KILN_OK)
        status = kiln__steps_enqueue(other, true, NULL, error);
    if (status == KILN_OK)
        status = kiln__steps_enqueue(other, false, NULL, error);
    CUresult result = status == KILN_OK ? kiln__limit_wait_all(other) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        status = kiln__limit_fail(other, result, error, "running variant %s as the reference", other->variant->name);
    kiln__limit_end(other);
    if (status != KILN_OK)
        return status;
    for (size_t i = 0; i < plan->spec->buffer_count && status == KILN_OK; i++) {
        kiln_array array;
        const char *name = other->buffers[i].buffer->name;
        if (!other->buffers[i].buffer->out)
            continue;
        status = kiln__plan_download(other, kiln__plan_buffer_named(other, name), &array, error);
        if (status == KILN_OK)
            status = add_array(plan, outputs, name, &array, error);
    }
    return status;
}

static kiln_status open_other(kiln_plan *plan, const kiln__verify *verify, kiln_plan **other, kiln_error **error)
{
    kiln_setting *params = kiln__calloc(plan->mem, verify->param_count + 1, sizeof *params);
    kiln_choice choice = {.variant = verify->name,
                          .params = params,
                          .param_count = verify->param_count,
                          .size_set = plan->config->size_set,
                          .sizes = plan->config->sizes.items,
                          .size_count = plan->config->sizes.count};
    kiln__diag diag = {.mem = plan->mem};
    if (!params)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < verify->param_count; i++) {
        params[i].name = verify->params[i].name;
        kiln__expr_eval(verify->params[i].expr, kiln__config_scope(plan->config), &params[i].value, &diag);
    }
    kiln_status status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    if (status == KILN_OK)
        status = kiln_plan_open(plan->engine, plan->spec, &choice, other, error);
    kiln__free(plan->mem, params);
    return status;
}

static kiln_status by_variant(kiln_plan *plan, const kiln__verify *verify, kiln__export **outputs, kiln_error **error)
{
    kiln_plan **kept = plan->others ? &plan->others[verify - plan->spec->verify] : NULL, *other = kept ? *kept : NULL;
    if (kept)
        *kept = NULL;
    kiln_status status = other ? KILN_OK : open_other(plan, verify, &other, error);
    if (status != KILN_OK)
        return status;
    kiln__plan_share(other, plan->shared);
    status = run_other(plan, other, outputs, error);
    kiln_plan_close(other);
    return status;
}

/* ---- references of all kinds ---- */

/* Finds the expected answer of a `verify` entry. If it does not exist yet, makes it and keeps it for the sweep. The
 * projection gets the sums for the elements that *want lacks. It has no sums if *want has all elements. The key of the
 * shared entry is stored in *own_key, which may be NULL. */
static kiln_status find_reference(kiln_plan *plan, const kiln__verify *verify, const kiln_array **want,
                                  kiln__projection *projection, const char **own_key, kiln_error **error)
{
    kiln__export *outputs = NULL;
    kiln__unit unit = {0};
    kiln__plan_entry *entry = NULL;
    if (verify->against == KILN__AGAINST_FILE) {
        kiln_status status = kiln__plan_need_file(plan->engine, plan->config, verify, error);
        if (status == KILN_OK)
            status = kiln__plan_file(plan, NULL, verify->name, verify->path, &entry, error);
        if (status == KILN_OK)
            *want = &entry->values->array;
        if (status == KILN_OK && own_key)
            *own_key = entry->key;
        return status;
    }
    /* the first key is without the variant's own inputs, the second has them */
    kiln__text keys[2] = {{.mem = plan->mem}, {.mem = plan->mem}};
    kiln_status status = KILN_OK;
    bool own = false;
    for (int i = 0; i < 2 && status == KILN_OK && !entry; i++) {
        status = reference_key(plan, verify, i == 1, &keys[i]) ? KILN_OK : kiln__fail_memory(error);
        if (status == KILN_OK)
            entry = kiln__shared_find(plan->shared, kiln__text_get(&keys[i]));
    }
    if (status == KILN_OK && !entry) {
        status = verify->against == KILN__AGAINST_HOST      ? by_host(plan, verify, &own, &outputs, &unit, error)
                 : verify->against == KILN__AGAINST_COMMAND ? by_command(plan, verify, &outputs, &unit, error)
                                                            : by_variant(plan, verify, &outputs, error);
        if (status == KILN_OK)
            status = kiln__shared_add(plan->shared, kiln__text_get(&keys[own]), outputs, &entry, error);
        else
            kiln__exports_free(plan->mem, outputs);
        if (status == KILN_OK)
            entry->unit = unit;
        else
            kiln__unit_free(&unit);
    }
    kiln__text_free(&keys[0]);
    kiln__text_free(&keys[1]);
    if (status != KILN_OK)
        return status;
    const kiln__export *found = kiln__export_find(entry->values, verify->buffer);
    if (!found && verify->against == KILN__AGAINST_COMMAND)
        return kiln__plan_fail_at(plan, error, KILN_ERROR_HOST_FUNCTION, verify->pos,
                                  "the command '%s' wrote no file out/%s.npy in the folder that it was given",
                                  verify->name, verify->buffer);
    if (!found || !found->is_array)
        return kiln__fail(plan->mem, error, KILN_ERROR_INTERNAL, "the reference has no buffer %s", verify->buffer);
    *want = &found->array;
    if (own_key)
        *own_key = entry->key;
    kiln__projection sums = {0};
    if (!find_projection(entry->values, *want, &sums))
        return kiln__plan_fail_at(plan, error, KILN_ERROR_HOST_FUNCTION, verify->pos,
                                  "the random sums of '%s' do not fit the shape of '%s'", verify->name, verify->buffer);
    if (projection)
        *projection = sums;
    return KILN_OK;
}

/* Returns true if the plan is the reference variant at the params of the reference. It would then be compared with
 * itself. */
static bool is_its_own_reference(const kiln_plan *plan, const kiln__verify *verify)
{
    const kiln__variant *variant = plan->variant;
    if (verify->against != KILN__AGAINST_VARIANT || strcmp(verify->name, variant->name) != 0)
        return false;
    for (size_t i = 0; i < variant->param_count; i++) {
        kiln_value value = variant->params[i].values[variant->params[i].initial];
        for (size_t p = 0; p < verify->param_count; p++)
            if (strcmp(verify->params[p].name, variant->params[i].name) == 0)
                kiln__expr_eval(verify->params[p].expr, kiln__config_scope(plan->config), &value, NULL);
        if (!kiln__value_equal(plan->config->params.items[i].value, value))
            return false;
    }
    return true;
}

kiln_status kiln__plan_references(kiln_plan *plan, kiln_error **error)
{
    kiln_status status = KILN_OK;
    const kiln_array *want;
    for (size_t i = 0; i < plan->spec->verify_count && status == KILN_OK; i++)
        if (!is_its_own_reference(plan, &plan->spec->verify[i]))
            status = find_reference(plan, &plan->spec->verify[i], &want, NULL, NULL, error);
    return status;
}

kiln_status kiln__plan_open_references(kiln_plan *plan, kiln_error **error)
{
    kiln_status status = KILN_OK;
    if (!plan->others)
        plan->others = kiln__calloc(plan->mem, plan->spec->verify_count + 1, sizeof *plan->others);
    if (!plan->others)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < plan->spec->verify_count && status == KILN_OK; i++) {
        const kiln__verify *verify = &plan->spec->verify[i];
        if (verify->against == KILN__AGAINST_VARIANT && !is_its_own_reference(plan, verify) && !plan->others[i])
            status = open_other(plan, verify, &plan->others[i], error);
    }
    return status;
}

kiln_status kiln__plan_host_references(kiln_plan *plan, kiln_error **error)
{
    kiln_status status = KILN_OK;
    const kiln_array *want;
    for (size_t i = 0; i < plan->spec->verify_count && status == KILN_OK; i++)
        if (plan->spec->verify[i].against == KILN__AGAINST_HOST)
            status = find_reference(plan, &plan->spec->verify[i], &want, NULL, NULL, error);
    return status;
}

/* ---- comparison ---- */

static kiln_status fail_shape(kiln_plan *plan, const kiln__verify *verify, const kiln_array *got,
                              const kiln_array *want, kiln_error **error)
{
    kiln__text text = {.mem = plan->mem};
    kiln__text_printf(&text, "the reference for '%s'%s%s is ", verify->buffer, verify->name ? ", " : "",
                      verify->name ? verify->name : "");
    kiln__plan_shape_text(&text, want->type, want->dims, want->shape);
    kiln__text_puts(&text, ", but the buffer is ");
    kiln__plan_shape_text(&text, got->type, got->dims, got->shape);
    kiln_status status = text.failed
                             ? kiln__fail_memory(error)
                             : kiln__plan_fail_at(plan, error, KILN_ERROR_ARGUMENT, verify->pos, "%s", text.data);
    kiln__text_free(&text);
    return status;
}

/* ---- the answer of another variant ----
 *
 * If a reference has only a part of the elements, it cannot show that the other elements of an answer are right. But if
 * two variants with different code agree in all elements, and agree with the reference where it has elements, a mistake
 * would have to be in both variants. */

#define ANSWER "answer " /* the prefix for keys of kept answers, which end with the output's name */

/* Keeps an answer as an entry with two exports: the array of the answer, and an array of the variant's two
 * tolerances. */
static kiln_status keep_answer(kiln_plan *plan, const char *name, const kiln_array *got, double rtol, double atol,
                               kiln_error **error)
{
    const uint64_t two = 2;
    kiln_array tolerances;
    kiln__text key = {.mem = plan->mem};
    kiln__export *list = NULL;
    kiln__plan_entry *entry;
    kiln_array copy;
    kiln__text_printf(&key, ANSWER "%s", name);
    kiln_status status = key.failed ? kiln__fail_memory(error)
                                    : kiln__array_make(plan->mem, got->type, got->dims, got->shape, &copy, error);
    if (status == KILN_OK) {
        status = kiln__array_make(plan->mem, KILN_f64, 1, &two, &tolerances, error);
        if (status != KILN_OK)
            kiln__array_free(plan->mem, &copy);
    }
    if (status == KILN_OK) {
        ((double *)tolerances.data)[0] = rtol;
        ((double *)tolerances.data)[1] = atol;
        status = add_array(plan, &list, "tolerances", &tolerances, error);
        if (status != KILN_OK)
            kiln__array_free(plan->mem, &copy);
    }
    if (status == KILN_OK) {
        uint64_t bytes = 0;
        kiln__array_bytes(got->type, got->dims, got->shape, &bytes);
        if (bytes)
            memcpy(copy.data, got->data, (size_t)bytes);
        status = add_array(plan, &list, name, &copy, error);
    }
    if (status == KILN_OK) {
        kiln__shared_drop(plan->shared, key.data);
        status = kiln__shared_add(plan->shared, key.data, list, &entry, error);
        list = NULL; /* the entry has taken ownership of the list, or has freed it */
    }
    kiln__exports_free(plan->mem, list);
    kiln__text_free(&key);
    return status;
}

/* Compares an answer with the kept answer, if there is a kept answer of the same type and shape. Each of the two
 * answers may be wrong by the tolerance of its own variant, so the two tolerances are added. */
static void compare_with_kept(kiln_plan *plan, const kiln__verify *verify, const kiln_array *got, double rtol,
                              double atol, kiln__difference *difference)
{
    kiln__text key = {.mem = plan->mem};
    kiln__text_printf(&key, ANSWER "%s", verify->buffer);
    const kiln__plan_entry *entry = key.failed ? NULL : kiln__shared_find(plan->shared, key.data);
    kiln__text_free(&key);
    if (!entry || entry->values->array.type != got->type || entry->values->array.dims != got->dims ||
        memcmp(entry->values->array.shape, got->shape, (size_t)got->dims * sizeof *got->shape) != 0)
        return;
    const double *kept = entry->values->next->array.data;
    kiln__array_compare(verify->buffer, got, &entry->values->array, verify->exact, rtol + kept[0], atol + kept[1],
                        difference);
}

/* The reference of an output, and the way in which the output is compared with it. */
typedef struct judgement {
    const char *key; /* the key of the reference */
    kiln_array want; /* an array with the elements of the reference */
    kiln__projection projection;
    double rtol, atol;
} judgement;

/* Finds the reference of an entry of `verify`, and evaluates the tolerances. `got` needs no data. */
static kiln_status find_judgement(kiln_plan *plan, const kiln__verify *verify, const kiln_array *got, judgement *by,
                                  kiln_error **error)
{
    const kiln_array *want;
    const kiln__expr *relative, *absolute;
    kiln__diag diag = {.mem = plan->mem};
    *by = (judgement){0};
    kiln_status status = find_reference(plan, verify, &want, &by->projection, &by->key, error);
    if (status != KILN_OK)
        return status;
    kiln__tolerance_of(verify, plan->variant, &relative, &absolute);
    kiln__expr_eval_float(relative, &plan->scope, "rtol", &by->rtol, &diag);
    kiln__expr_eval_float(absolute, &plan->scope, "atol", &by->atol, &diag);
    status = kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error);
    if (status != KILN_OK)
        return status;
    by->want = *want;
    if (!kiln__array_comparable(got, want, &by->want.type))
        return fail_shape(plan, verify, got, want, error);
    if (!verify->exact && by->rtol == 0 && by->atol == 0) {
        by->rtol = kiln__types[got->type].rtol;
        by->atol = kiln__types[got->type].atol;
    }
    return KILN_OK;
}

kiln_status kiln__once_expect(kiln_plan *plan, size_t number, kiln__once_expected *expected, kiln_error **error)
{
    const kiln__verify *verify = &plan->spec->verify[number];
    const kiln__plan_buffer *b = kiln__plan_buffer_named(plan, verify->buffer);
    kiln_array got = {.type = b->type, .dims = b->dims};
    judgement by;
    *expected = (kiln__once_expected){.exact = verify->exact};
    memcpy(got.shape, b->shape, sizeof got.shape);
    plan->answer_use = KILN__ANSWER_WHOLE;
    /* Drops the references, because the key of a reference does not contain content that the caller wrote to an output.
     * Such a reference must not be found again. */
    kiln__shared_drop(plan->shared, ONCE);
    kiln__shared_drop(plan->shared, kinds[verify->against]);
    kiln__shared_drop(plan->shared, OWN);
    KILN__TRY(find_judgement(plan, verify, &got, &by, error));
    KILN__TRY(kiln__array_make(plan->mem, by.want.type, by.want.dims, by.want.shape, &expected->want, error));
    uint64_t bytes = 0;
    kiln__array_bytes(by.want.type, by.want.dims, by.want.shape, &bytes);
    if (bytes)
        memcpy(expected->want.data, by.want.data, (size_t)bytes);
    expected->rtol = by.rtol;
    expected->atol = by.atol;
    return KILN_OK;
}

kiln_status kiln__once_tolerance(kiln_plan *plan, size_t number, kiln__once_expected *expected, kiln_error **error)
{
    const kiln__verify *verify = &plan->spec->verify[number];
    const kiln__expr *relative, *absolute;
    kiln__diag diag = {.mem = plan->mem};
    *expected = (kiln__once_expected){.exact = verify->exact};
    kiln__tolerance_of(verify, plan->variant, &relative, &absolute);
    kiln__expr_eval_float(relative, &plan->scope, "rtol", &expected->rtol, &diag);
    kiln__expr_eval_float(absolute, &plan->scope, "atol", &expected->atol, &diag);
    if (!verify->exact && expected->rtol == 0 && expected->atol == 0) {
        const kiln_type type = kiln__plan_buffer_named(plan, verify->buffer)->type;
        expected->rtol = kiln__types[type].rtol;
        expected->atol = kiln__types[type].atol;
    }
    return kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error);
}

static bool is_partly(const kiln_plan *plan, const kiln__verify *verify, const judgement *by)
{
    return (by->projection.sums || verify->sampled) && plan->answer_use != KILN__ANSWER_WHOLE;
}

/* Compares an output on the device. *right is true only if the device can compare the output and every element is
 * right. The key of a reference does not identify data of the caller. So a reference that depends on such data has no
 * copy on the device. */
static kiln_status judge_on_device(kiln_plan *plan, const kiln__plan_buffer *b, const kiln__verify *verify,
                                   const judgement *by, kiln__difference *difference, bool *right, kiln_error **error)
{
    kiln__counted counted;
    bool done = false;
    *right = false;
    if (by->projection.sums || !kiln__counts_on_device(plan, b->bytes) || strncmp(by->key, ONCE, strlen(ONCE)) == 0)
        return KILN_OK;
    const kiln__counting of = {.buffer = verify->buffer,
                               .key = by->key,
                               .want = &by->want,
                               .exact = verify->exact,
                               .sampled = verify->sampled,
                               .rtol = by->rtol,
                               .atol = by->atol};
    kiln_status status = kiln__count_on_device(plan, b, &of, &counted, &done, error);
    if (status != KILN_OK || !done || counted.wrong || counted.left == b->elements)
        return status;
    kiln__array_counted(verify->buffer, b->elements, &counted, difference);
    *right = true;
    return KILN_OK;
}

/* Compares an output that has been copied to the host. If the reference has only some of the elements and they are
 * right, keeps the answer for other variants, or compares it with a kept answer. If the output is compared with a kept
 * answer, *against is the name of this answer. */
static kiln_status judge_on_host(kiln_plan *plan, const kiln__verify *verify, const judgement *by,
                                 const kiln_array *got, kiln__difference *difference, const char **against,
                                 kiln_error **error)
{
    if (by->projection.sums)
        kiln__array_compare_projected(verify->buffer, got, &by->want, &by->projection, by->rtol, by->atol, difference);
    else if (verify->sampled)
        kiln__array_compare_sample(verify->buffer, got, &by->want, verify->exact, by->rtol, by->atol, difference);
    else
        kiln__array_compare(verify->buffer, got, &by->want, verify->exact, by->rtol, by->atol, difference);
    if (!is_partly(plan, verify, by) || difference->wrong)
        return KILN_OK;
    if (plan->answer_use == KILN__ANSWER_KEEP)
        return keep_answer(plan, verify->buffer, got, by->rtol, by->atol, error);
    if (plan->answer_use == KILN__ANSWER_COMPARE) {
        compare_with_kept(plan, verify, got, by->rtol, by->atol, difference);
        *against = "the answer of another variant";
    }
    return KILN_OK;
}

/* Checks that the kernel wrote an output without a reference. */
static void look_at_unverified(kiln_plan *plan, const kiln__plan_buffer *b, const char *name, const kiln_array *got,
                               kiln__text *wrong)
{
    if (b->buffer->fill.kind != KILN__FILL_NONE || b->file || b->bytes < 16)
        /* nothing to check: the buffer was not poisoned, or it is too short to distinguish the poison from a result */
        return;
    size_t width, size = kiln__type_bytes(b->type);
    uint32_t pattern = kiln__poison_pattern(b->type, &width);
    uint64_t unwritten = 0;
    const unsigned char *data = got->data;
    for (uint64_t i = 0; i < b->elements; i++) {
        bool same = true;
        for (size_t k = 0; k < size; k++)
            same = same && data[i * size + k] == (unsigned char)(pattern >> 8 * (k % width));
        unwritten += same;
    }
    if (unwritten == b->elements)
        kiln__text_printf(wrong, "\n  %s: never written", name);
    else if (unwritten && size > 1)
        kiln__logf(&plan->engine->log, KILN_LOG_INFO, "%s: %" PRIu64 " of %" PRIu64 " elements of %s were not written",
                   plan->spec->name, unwritten, b->elements, name);
}

/* Copies an output into the host memory that the plans of a sweep share. */
static kiln_status fetch_output(kiln_plan *plan, const kiln__plan_buffer *b, const char *name, kiln_array *got,
                                kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    KILN__TRY(kiln__engine_check_memory(plan->engine, b->bytes, true, name, error));
    got->data = kiln__shared_staging(plan->shared, b->bytes);
    if (!got->data)
        return kiln__fail(plan->mem, error, KILN_ERROR_MEMORY, "out of host memory for the %" PRIu64 " bytes of %s",
                          b->bytes, name);
    CUresult copied = b->bytes ? driver->cuMemcpyDtoH_(got->data, b->pointer, (size_t)b->bytes) : CUDA_SUCCESS;
    if (copied != CUDA_SUCCESS)
        return kiln__driver_fail(driver, plan->mem, copied, error, "copying buffer %s from the device", name);
    return KILN_OK;
}

/* Compares an output with the reference of every `verify` entry that names it, on the device or on the host. Copies the
 * output to the host at most once. If there is no such entry, or if this variant is itself the reference, only checks
 * the output for unwritten elements. `wrong` gets a line for each difference. A status other than KILN_OK means that
 * the output could not be compared. */
static kiln_status verify_output(kiln_plan *plan, const char *name, kiln__text *wrong, kiln_result *result,
                                 kiln_error **error)
{
    const kiln__plan_buffer *b = kiln__plan_buffer_named(plan, name);
    kiln_array got = {.type = b->type, .dims = b->dims};
    bool compared = false;
    memcpy(got.shape, b->shape, sizeof got.shape);
    for (size_t i = 0; i < plan->spec->verify_count; i++) {
        const kiln__verify *verify = &plan->spec->verify[i];
        kiln__difference difference;
        judgement by;
        bool right;
        if (strcmp(verify->buffer, name) != 0 || is_its_own_reference(plan, verify))
            continue;
        compared = true;
        const char *against = NULL;
        KILN__TRY(find_judgement(plan, verify, &got, &by, error));
        KILN__TRY(judge_on_device(plan, b, verify, &by, &difference, &right, error));
        if (!right && !got.data)
            KILN__TRY(fetch_output(plan, b, name, &got, error));
        if (!right)
            KILN__TRY(judge_on_host(plan, verify, &by, &got, &difference, &against, error));
        result->partly |= is_partly(plan, verify, &by);
        result->weak |= !by.projection.sums && !verify->sampled && kiln__weak_answer(&by.want) ? KILN_WEAK_ANSWER : 0;
        result->worst_error = fmax(result->worst_error, difference.worst_error);
        result->median_error = fmax(result->median_error, difference.median_error);
        result->p999_error = fmax(result->p999_error, difference.p999_error);
        if (difference.wrong && against)
            kiln__text_printf(wrong, "\n  %s; against %s", difference.text, against);
        else if (difference.wrong)
            kiln__text_printf(wrong, "\n  %s; against %s %s", difference.text, kinds[verify->against], verify->name);
        result->verified = 1;
    }
    if (compared)
        return KILN_OK;
    KILN__TRY(fetch_output(plan, b, name, &got, error));
    look_at_unverified(plan, b, name, &got, wrong);
    return KILN_OK;
}

kiln_status kiln__plan_verify(kiln_plan *plan, kiln_result *result, kiln_error **error)
{
    kiln__text wrong = {.mem = plan->mem};
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < plan->spec->buffer_count && status == KILN_OK; i++)
        if (plan->buffers[i].buffer->out)
            status = verify_output(plan, plan->buffers[i].buffer->name, &wrong, result, error);
    bool zero = false;
    if (status == KILN_OK && result->verified)
        status = kiln__weak_inputs(plan, &zero, error);
    result->weak |= zero ? KILN_WEAK_INPUTS : 0;
    if (status == KILN_OK)
        status = kiln__plan_inputs_same(plan, &wrong, error);
    if (status == KILN_OK && (wrong.length || wrong.failed)) {
        kiln__text label = {.mem = plan->mem};
        kiln__config_print(plan->config, &label);
        /* Frees the sweep's copies on the device, because the kernel may have overwritten them. */
        kiln__shared_drop(plan->shared, "device ");
        result->verified = 0;
        if (plan->answer_run)
            kiln__text_printf(&label, ", run %u times on the same inputs,", plan->answer_run);
        status = wrong.failed || label.failed
                     ? kiln__fail_memory(error)
                     : kiln__fail(plan->mem, error, KILN_ERROR_WRONG_ANSWER, "%s %s gives a wrong answer%s:%s",
                                  plan->spec->name, kiln__text_get(&label), plan->answer_run ? " the last time" : "",
                                  kiln__text_get(&wrong));
        kiln__text_free(&label);
    }
    kiln__text_free(&wrong);
    kiln__shared_drop(plan->shared, ONCE);
    return status;
}
