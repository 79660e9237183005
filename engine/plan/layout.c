/* layout.c - the buffers of a plan: shape, memory, initial content. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calls_internal.h"
#include "layout_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"
#include "texture_internal.h"

/* ---- files ---- */

kiln_status kiln__plan_file(kiln_plan *plan, const char *file, const char *named, const kiln__template *path,
                            kiln__plan_entry **entry, kiln_error **error)
{
    kiln__arena arena = {.mem = plan->mem};
    kiln__text name = {.mem = plan->mem};
    kiln_array array;
    kiln_status status = KILN_OK;
    bool found = !file; /* the path that the caller gives may be a symbolic link */
    if (found)
        status = kiln__config_path(plan->mem, kiln__config_scope(plan->config), named, path, &name, error);
    if (found && status == KILN_OK)
        status = kiln__engine_find_file(plan->engine, plan->spec->folder, kiln__text_get(&name), &arena, &file, error);
    kiln__text_free(&name);
    const char *key = status == KILN_OK ? kiln__arena_printf(&arena, "file %s", file) : NULL;
    if (status == KILN_OK && !key)
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        *entry = kiln__shared_find(plan->shared, key);
    if (status == KILN_OK && !*entry) {
        uint64_t limit = plan->engine->memory_limit ? plan->engine->memory_limit : kiln__host_memory();
        status = found ? kiln__npy_read_resolved(plan->mem, file, limit, &array, error)
                       : kiln__npy_read(plan->mem, file, limit, &array, error);
        if (status == KILN_OK) {
            kiln__export *value = kiln__export_of(plan->mem, "file", &array);
            if (!value)
                kiln__array_free(plan->mem, &array);
            status = value ? kiln__shared_add(plan->shared, key, value, entry, error) : kiln__fail_memory(error);
        }
    }
    kiln__arena_free(&arena);
    return status;
}

/* ---- shapes ---- */

/* Finds the array that the buffer's `from: A.csr.values` names. Sets *array to this array and *input to the input `A`.
 * Makes the input if it has not been made. */
static kiln_status exported_array(kiln_plan *plan, const kiln__buffer *buffer, const kiln_array **array,
                                  kiln__plan_input **input, kiln_error **error)
{
    const char *rest = "";
    kiln__diag diag = {.mem = plan->mem};
    *input = kiln__plan_input_of(plan, buffer->fill.text, &rest);
    if (*input) {
        kiln_status status = kiln__plan_input_make(plan, *input, error);
        if (status != KILN_OK)
            return status;
        const kiln__export *found = kiln__export_find((*input)->entry->values, rest);
        if (found && found->is_array) {
            *array = &found->array;
            return KILN_OK;
        }
    }
    kiln__diag_add(&diag, buffer->fill.pos, "no input exports the array '%s'", buffer->fill.text);
    return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
}

/* Takes from data the type and the shape that the spec does not give. If the spec gives a shape, the data must have
 * this shape. If the spec gives a type, kiln__type_reads() must accept the data's type for it. */
static kiln_status adopt(kiln_plan *plan, kiln__plan_buffer *b, const kiln_array *array, const char *from,
                         kiln_error **error)
{
    if (!b->buffer->type_known && !kiln__type_told(array->type))
        return kiln__fail(
            plan->mem, error, KILN_ERROR_ARGUMENT,
            "%s holds elements of %zu byte without a type, as ml_dtypes writes floats of 8 bits or fewer: give "
            "buffer %s a 'type'",
            from, kiln__type_bytes(array->type), b->buffer->name);
    bool same = !b->buffer->type_known || kiln__type_reads(b->type, array->type);
    same = same && (b->buffer->dims < 0 || b->dims == array->dims);
    for (int d = 0; same && b->buffer->dims >= 0 && d < b->dims; d++)
        same = b->shape[d] == array->shape[d];
    if (!same) {
        kiln__text text = {.mem = plan->mem};
        kiln__text_printf(&text, "%s holds ", from);
        kiln__plan_shape_text(&text, array->type, array->dims, array->shape);
        kiln__text_printf(&text, ", but buffer %s is ", b->buffer->name);
        kiln__plan_shape_text(&text, b->buffer->type_known ? b->type : array->type,
                              b->buffer->dims < 0 ? array->dims : b->dims,
                              b->buffer->dims < 0 ? array->shape : b->shape);
        kiln_status status = kiln__fail(plan->mem, error, KILN_ERROR_ARGUMENT, "%s", kiln__text_get(&text));
        kiln__text_free(&text);
        return status;
    }
    if (!b->buffer->type_known)
        b->type = array->type;
    b->dims = array->dims;
    memcpy(b->shape, array->shape, sizeof b->shape);
    return KILN_OK;
}

/* Sets the type and the shape that the spec itself gives. */
static kiln_status written_shape(kiln_plan *plan, kiln__plan_buffer *b, kiln_error **error)
{
    const kiln__buffer *buffer = b->buffer;
    kiln__diag diag = {.mem = plan->mem};
    kiln_value value;
    b->type = buffer->type;
    if (buffer->type_expr && kiln__expr_eval(buffer->type_expr, &plan->scope, &value, &diag) &&
        (value.kind != KILN_TEXT || !kiln__type_named(value.as.text, &b->type)))
        kiln__diag_add(&diag, kiln__expr_pos(buffer->type_expr), "the type of buffer '%s' must be one of kiln's types",
                       buffer->name);
    b->dims = buffer->dims < 0 ? 0 : buffer->dims;
    memset(b->shape, 0, sizeof b->shape);
    for (int d = 0; d < b->dims; d++) {
        int64_t extent;
        if (!kiln__expr_eval_int(buffer->shape[d], &plan->scope, "an extent", &extent, &diag))
            continue;
        if (extent < 0)
            kiln__diag_add(&diag, kiln__expr_pos(buffer->shape[d]),
                           "an extent of buffer '%s' must not be negative: %" PRId64, buffer->name, extent);
        else
            b->shape[d] = (uint64_t)extent;
    }
    return kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error);
}

static kiln_status shape_buffer(kiln_plan *plan, kiln__plan_buffer *b, kiln_error **error)
{
    const kiln__buffer *buffer = b->buffer;
    const kiln_array *array = NULL;
    kiln__plan_input *input;
    kiln__plan_entry *entry;
    uint64_t bytes;
    kiln_status status = written_shape(plan, b, error);
    if (status == KILN_OK && (b->file || buffer->fill.kind == KILN__FILL_FILE)) {
        status = kiln__plan_file(plan, b->file, buffer->fill.text, buffer->fill.path, &entry, error);
        if (status == KILN_OK)
            status = adopt(plan, b, &entry->values->array, b->file ? b->file : buffer->fill.text, error);
    } else if (status == KILN_OK && buffer->fill.kind == KILN__FILL_FROM) {
        status = exported_array(plan, buffer, &array, &input, error);
        /* an array is always set if the status is KILN_OK, but a static analyzer does not see this */
        if (status == KILN_OK && array)
            status = adopt(plan, b, array, buffer->fill.text, error);
    }
    if (status != KILN_OK)
        return status;
    if (!kiln__array_bytes(b->type, b->dims, b->shape, &bytes))
        return kiln__fail(plan->mem, error, KILN_ERROR_REFUSED, "buffer %s %s would have more than 2^63 bytes",
                          buffer->name, buffer->shape_text ? buffer->shape_text : "");
    if (b->owner != KILN__OWNER_NONE && b->bytes != bytes)
        kiln__plan_release(plan, b);
    b->bytes = bytes;
    b->elements = bytes / kiln__type_bytes(b->type);
    return KILN_OK;
}

/* ---- initial contents ---- */

kiln_status kiln__fill_values_of(kiln_plan *plan, const kiln__fill *fill, kiln__fill_values *values, kiln_error **error)
{
    kiln__diag diag = {.mem = plan->mem};
    kiln_value a = {.kind = KILN_INT}, b = {.kind = KILN_INT};
    int64_t seed = 0;
    if (fill->a && kiln__expr_eval(fill->a, &plan->scope, &a, &diag) && a.kind == KILN_TEXT)
        kiln__diag_add(&diag, kiln__expr_pos(fill->a), "expected a number, not a text");
    if (fill->b && kiln__expr_eval(fill->b, &plan->scope, &b, &diag) && b.kind == KILN_TEXT)
        kiln__diag_add(&diag, kiln__expr_pos(fill->b), "expected a number, not a text");
    if (fill->seed)
        kiln__expr_eval_int(fill->seed, &plan->scope, "a seed", &seed, &diag);
    *values = (kiln__fill_values){.kind = fill->kind, .seed = (uint64_t)seed};
    values->integers = a.kind != KILN_FLOAT && b.kind != KILN_FLOAT;
    values->ia = a.kind == KILN_FLOAT ? 0 : a.as.i;
    values->ib = b.kind == KILN_FLOAT ? 0 : b.as.i;
    values->a = a.kind == KILN_FLOAT ? a.as.f : (double)values->ia;
    values->b = b.kind == KILN_FLOAT ? b.as.f : (double)values->ib;
    return kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error);
}

/* Writes everything that determines a buffer's initial content into b->key. */
static kiln_status content_key(kiln_plan *plan, kiln__plan_buffer *b, kiln_error **error)
{
    const kiln__fill *fill = &b->buffer->fill;
    kiln__text key = {.mem = plan->mem};
    kiln_status status = KILN_OK;
    const kiln_array *array;
    kiln__plan_input *input;
    kiln__plan_entry *entry;
    if (b->key)
        return KILN_OK;
    if (b->file || fill->kind == KILN__FILL_FILE) {
        status = kiln__plan_file(plan, b->file, fill->text, fill->path, &entry, error);
        if (status == KILN_OK)
            kiln__text_puts(&key, entry->key);
    } else if (fill->kind == KILN__FILL_FROM) {
        status = exported_array(plan, b->buffer, &array, &input, error);
        if (status == KILN_OK)
            kiln__text_printf(&key, "%s.%s", input->entry->key, fill->text);
    } else {
        kiln__fill_values v;
        status = kiln__fill_values_of(plan, fill, &v, error);
        kiln__text_puts(&key, "fill ");
        kiln__plan_shape_text(&key, b->type, b->dims, b->shape);
        if (status == KILN_OK && v.integers)
            kiln__text_printf(&key, " %d %" PRId64 " %" PRId64 " %" PRIu64, (int)v.kind, v.ia, v.ib, v.seed);
        else if (status == KILN_OK)
            kiln__text_printf(&key, " %d %a %a %" PRIu64, (int)v.kind, v.a, v.b, v.seed);
    }
    if (status == KILN_OK && !key.failed)
        b->key = kiln__strdup(plan->mem, kiln__text_get(&key));
    if (status == KILN_OK && !b->key)
        status = kiln__fail_memory(error);
    kiln__text_free(&key);
    return status;
}

/* Makes the shared entry for the content of a buffer with a numeric fill. */
static kiln_status make_content(kiln_plan *plan, kiln__plan_buffer *b, kiln__plan_entry **entry, kiln_error **error)
{
    kiln__fill_values values;
    kiln_array array;
    kiln_status status = kiln__engine_check_memory(plan->engine, b->bytes, true, b->buffer->name, error);
    if (status == KILN_OK)
        status = kiln__fill_values_of(plan, &b->buffer->fill, &values, error);
    if (status == KILN_OK)
        status = kiln__array_make(plan->mem, b->type, b->dims, b->shape, &array, error);
    if (status != KILN_OK)
        return status;
    kiln_error *why = NULL;
    kiln_status filled = kiln__array_fill(&array, &values, plan->mem, &why);
    if (filled != KILN_OK) { /* the message already has the position of the fill in the spec */
        kiln__diag diag = {.mem = plan->mem};
        kiln__diag_add(&diag, b->buffer->fill.pos, "buffer '%s': %s", b->buffer->name, kiln_error_message(why));
        kiln_error_free(why);
        kiln__array_free(plan->mem, &array);
        return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    }
    kiln__export *value = kiln__export_of(plan->mem, b->buffer->name, &array);
    if (!value) {
        kiln__array_free(plan->mem, &array);
        return kiln__fail_memory(error);
    }
    return kiln__shared_add(plan->shared, b->key, value, entry, error);
}

kiln_status kiln__plan_content(kiln_plan *plan, kiln__plan_buffer *b, kiln_array *array, bool *temporary,
                               kiln_error **error)
{
    const kiln__fill *fill = &b->buffer->fill;
    kiln_status status;
    *temporary = false;
    if (b->custom) {
        *temporary = true;
        return kiln__plan_download(plan, b, array, error);
    }
    if (fill->kind == KILN__FILL_NONE && !b->file) {
        *temporary = true;
        status = kiln__engine_check_memory(plan->engine, b->bytes, true, b->buffer->name, error);
        return status == KILN_OK ? kiln__array_make(plan->mem, b->type, b->dims, b->shape, array, error) : status;
    }
    status = content_key(plan, b, error); /* the key of a reference contains the key of this content */
    if (status != KILN_OK)
        return status;
    if (fill->kind == KILN__FILL_FROM && !b->file) {
        const kiln_array *found;
        kiln__plan_input *input;
        status = exported_array(plan, b->buffer, &found, &input, error);
        if (status == KILN_OK)
            *array = *found; /* it was found: NOLINT(clang-analyzer-core.NullDereference) */
        return status;
    }
    kiln__plan_entry *entry = kiln__shared_find(plan->shared, b->key);
    if (!entry && (b->file || fill->kind == KILN__FILL_FILE))
        status = kiln__plan_file(plan, b->file, fill->text, fill->path, &entry, error);
    else if (!entry)
        status = make_content(plan, b, &entry, error);
    if (status == KILN_OK)
        *array = entry->values->array; /* it was made: NOLINT(clang-analyzer-core.NullDereference) */
    array->type = b->type;             /* the type is set again, because a file cannot represent all types */
    return status;
}

/* ---- memory ---- */

/* Tells the simulated device the name of a buffer. The messages of the device then use this name for the memory. After
 * a swap the memory keeps its earlier name. */
void kiln__plan_name_memory(const kiln_plan *plan, const kiln__plan_buffer *b, bool on)
{
    const kiln__simulator *simulator = plan->engine->driver.simulator;
    if (simulator && b->pointer)
        simulator->memory_name(b->pointer, b->bytes, on ? b->buffer->name : NULL, kiln__buffer_role(b->buffer));
}

void kiln__plan_release(kiln_plan *plan, kiln__plan_buffer *b)
{
    if (b->owner != KILN__OWNER_NONE)
        kiln__plan_name_memory(plan, b, false);
    if (b->owner == KILN__OWNER_PLAN)
        kiln__shared_release(plan->shared, b->pointer, b->bytes);
    b->owner = KILN__OWNER_NONE;
    b->pointer = 0;
    b->filled = b->custom = false;
    plan->ready = false;
    plan->steps.ready = plan->before.ready = false;
}

void kiln__plan_forget(kiln_plan *plan)
{
    plan->laid_out = plan->ready = false;
    plan->steps.ready = plan->before.ready = false;
    for (size_t i = 0; i < plan->variant->input_count; i++)
        plan->inputs[i].entry = NULL; /* the next layout finds the entry again by its key, if the key is the same */
    for (size_t i = 0; i < plan->variant->buffer_count; i++) {
        plan->slots[i] = (unsigned)i;
        if (!plan->buffers[i].custom)
            plan->buffers[i].filled = false;
        kiln__free(plan->mem, plan->buffers[i].key);
        plan->buffers[i].key = NULL;
    }
}

kiln_status kiln__plan_layout(kiln_plan *plan, kiln_error **error)
{
    if (plan->laid_out)
        return KILN_OK;
    kiln__plan_set_scope(plan);
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < plan->variant->input_count && status == KILN_OK; i++)
        status = kiln__plan_input_make(plan, &plan->inputs[i], error);
    for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++)
        status = shape_buffer(plan, &plan->buffers[i], error);
    plan->laid_out = status == KILN_OK;
    return status;
}

kiln_status kiln__plan_allocate(kiln_plan *plan, kiln_error **error)
{
    uint64_t need = 0;
    kiln_status status = kiln__plan_layout(plan, error);
    for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++) {
        const kiln__plan_buffer *b = &plan->buffers[i];
        if (b->owner == KILN__OWNER_NONE && __builtin_add_overflow(need, b->bytes, &need))
            return kiln__fail(plan->mem, error, KILN_ERROR_REFUSED, "the buffers of %s would have more than 2^64 bytes",
                              plan->spec->name);
    }
    if (status != KILN_OK || need == 0) {
        for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++)
            if (plan->buffers[i].owner == KILN__OWNER_NONE)
                plan->buffers[i].owner = KILN__OWNER_PLAN; /* the buffer has no bytes */
        return status;
    }
    /* Counts the spare memory of earlier plans as free memory, because an allocation frees it if needed. */
    char what[160];
    uint64_t spare = 0;
    for (size_t i = 0; i < plan->shared->spare_count; i++)
        spare += plan->shared->spare[i].bytes;
    snprintf(what, sizeof what, "the buffers of %s", plan->spec->name);
    if (need > spare)
        status = kiln__engine_check_memory(plan->engine, need - spare, false, what, error);
    for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++) {
        kiln__plan_buffer *b = &plan->buffers[i];
        if (b->owner != KILN__OWNER_NONE)
            continue;
        snprintf(what, sizeof what, "buffer %s %s", b->buffer->name,
                 b->buffer->shape_text ? b->buffer->shape_text : "");
        if (b->bytes)
            status = kiln__shared_alloc(plan->shared, b->bytes, what, &b->pointer, error);
        if (status != KILN_OK)
            break;
        b->owner = KILN__OWNER_PLAN;
        kiln__plan_name_memory(plan, b, true);
    }
    plan->steps.ready = plan->before.ready = false;
    return status;
}

kiln_status kiln__plan_download(kiln_plan *plan, const kiln__plan_buffer *b, kiln_array *array, kiln_error **error)
{
    kiln_status status = kiln__engine_check_memory(plan->engine, b->bytes, true, b->buffer->name, error);
    if (status == KILN_OK)
        status = kiln__array_make(plan->mem, b->type, b->dims, b->shape, array, error);
    if (status != KILN_OK || b->bytes == 0)
        return status;
    CUresult result = plan->engine->driver.cuMemcpyDtoH_(array->data, b->pointer, (size_t)b->bytes);
    if (result == CUDA_SUCCESS)
        return KILN_OK;
    kiln__array_free(plan->mem, array);
    return kiln__driver_fail(&plan->engine->driver, plan->mem, result, error, "copying buffer %s from the device",
                             b->buffer->name);
}

static kiln_status upload(kiln_plan *plan, kiln__plan_buffer *b, CUdeviceptr to, kiln_error **error)
{
    kiln_array array;
    bool temporary;
    kiln_status status = kiln__plan_content(plan, b, &array, &temporary, error);
    if (status != KILN_OK)
        return status;
    uint64_t start = kiln__now_ns();
    CUresult result = plan->engine->driver.cuMemcpyHtoD_(to, array.data, (size_t)b->bytes);
    b->copied = kiln__seconds_since(start);
    if (temporary)
        kiln__array_free(plan->mem, &array);
    if (result == CUDA_SUCCESS)
        return KILN_OK;
    return kiln__driver_fail(&plan->engine->driver, plan->mem, result, error, "copying buffer %s to the device",
                             b->buffer->name);
}

/* Returns the copy of a buffer's content that a sweep keeps on the device, and makes the copy if needed. Returns 0 if
 * the device has no memory for the copy. */
static kiln_status kept_copy(kiln_plan *plan, kiln__plan_buffer *b, CUdeviceptr *copy, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    kiln__text key = {.mem = plan->mem};
    *copy = 0;
    kiln_status status = content_key(plan, b, error);
    if (status != KILN_OK)
        return status;
    kiln__text_printf(&key, "device %s", b->key);
    kiln__plan_entry *entry = key.failed ? NULL : kiln__shared_find(plan->shared, kiln__text_get(&key));
    if (entry) {
        *copy = entry->device;
        b->copied = entry->seconds;
    } else if (!key.failed && driver->cuMemAlloc_(copy, (size_t)b->bytes) == CUDA_SUCCESS) {
        status = upload(plan, b, *copy, error);
        if (status == KILN_OK)
            status = kiln__shared_add(plan->shared, kiln__text_get(&key), NULL, &entry, error);
        if (status == KILN_OK) {
            entry->device = *copy;
            entry->device_bytes = b->bytes;
            entry->seconds = b->copied;
        } else {
            driver->cuMemFree_(*copy);
            *copy = 0;
        }
    } else {
        *copy = 0;
    }
    kiln__text_free(&key);
    return status;
}

/* ---- large buffers of which an estimate uses only a few pages ---- */

/* If only a few blocks run, the content of a large buffer repeats after this many bytes. Every element size and the
 * page size divide this number of bytes. It is far larger than the part that the blocks of an estimate read. */
#define REPEATED_BYTES ((uint64_t)32 << 20)

#define WHOLE_IOTA ((uint64_t)1 << 30)

/* Tells whether the content of a buffer may repeat. An estimate that runs a few blocks needs only values of the same
 * distribution, not every single value. The content of a file and the data of an input are not repeated, because the
 * position of each value matters. An `iota` below WHOLE_IOTA bytes is not repeated either, because it may be a list of
 * indices. */
static bool may_repeat(const kiln_plan *plan, const kiln__plan_buffer *b)
{
    const kiln__fill_kind kind = b->buffer->fill.kind;
    return plan->sparse && !b->file && b->bytes >= 2 * REPEATED_BYTES &&
           (kind == KILN__FILL_VALUE || kind == KILN__FILL_UNIFORM || kind == KILN__FILL_NORMAL ||
            kind == KILN__FILL_ZIPF || (kind == KILN__FILL_IOTA && b->bytes >= WHOLE_IOTA));
}

/* Returns the first REPEATED_BYTES of a buffer's content. A sweep makes them only once. */
static kiln_status make_repeated(kiln_plan *plan, const kiln__plan_buffer *b, kiln__plan_entry **entry,
                                 kiln_error **error)
{
    kiln__plan_buffer part = *b; /* a buffer with the same fill and fewer elements */
    part.dims = 1;
    part.shape[0] = REPEATED_BYTES / kiln__type_bytes(b->type);
    part.bytes = REPEATED_BYTES;
    part.elements = part.shape[0];
    part.key = NULL;
    kiln_status status = content_key(plan, &part, error);
    if (status != KILN_OK)
        return status;
    *entry = kiln__shared_find(plan->shared, part.key);
    if (!*entry)
        status = make_content(plan, &part, entry, error);
    kiln__free(plan->mem, part.key);
    return status;
}

/* Sets *done to false if the device cannot do it. */
static kiln_status fill_repeatedly(kiln_plan *plan, const kiln__plan_buffer *b, bool *done, kiln_error **error)
{
    kiln__plan_entry *entry = NULL;
    *done = false;
    KILN__TRY(make_repeated(plan, b, &entry, error));
    *done = plan->engine->driver.simulator->repeat(b->pointer, b->bytes, entry->values->array.data, REPEATED_BYTES);
    return KILN_OK;
}

static kiln_status fill_buffer(kiln_plan *plan, kiln__plan_buffer *b, kiln_error **error)
{
    CUdeviceptr copy = 0;
    kiln_status status = KILN_OK;
    if (b->bytes == 0 || (b->buffer->fill.kind == KILN__FILL_NONE && !b->file))
        return KILN_OK;
    if (may_repeat(plan, b)) {
        bool done = false;
        status = fill_repeatedly(plan, b, &done, error);
        if (status != KILN_OK || done)
            return status;
    }
    if (plan->shared->sweep)
        status = kept_copy(plan, b, &copy, error);
    if (status != KILN_OK)
        return status;
    if (!copy)
        return upload(plan, b, b->pointer, error);
    CUresult result = plan->engine->driver.cuMemcpyDtoD_(b->pointer, copy, (size_t)b->bytes);
    if (result == CUDA_SUCCESS)
        return KILN_OK;
    return kiln__driver_fail(&plan->engine->driver, plan->mem, result, error, "filling buffer %s", b->buffer->name);
}

kiln_status kiln__plan_fill(kiln_plan *plan, bool again, kiln_error **error)
{
    if (plan->ready && !again)
        return KILN_OK;
    kiln_status status = kiln__plan_allocate(plan, error);
    kiln__textures_stale(plan);
    for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++) {
        kiln__plan_buffer *b = &plan->buffers[i];
        if (b->custom || (b->filled && !again))
            continue;
        status = fill_buffer(plan, b, error);
        b->filled = status == KILN_OK;
    }
    plan->ready = status == KILN_OK;
    return status;
}

kiln_status kiln__plan_refill(kiln_plan *plan, kiln_error **error)
{
    kiln_status status = KILN_OK;
    kiln__textures_stale(plan);
    for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++) {
        kiln__plan_buffer *b = &plan->buffers[i];
        if (!b->custom && !kiln__variant_keeps(plan->variant, b->buffer))
            status = fill_buffer(plan, b, error);
    }
    return status;
}

kiln_status kiln__plan_poison(kiln_plan *plan, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    for (size_t i = 0; i < plan->variant->buffer_count; i++) {
        const kiln__plan_buffer *b = &plan->buffers[i];
        bool ours = b->owner == KILN__OWNER_PLAN ? !b->custom : b->buffer->out;
        if (!ours || b->bytes == 0 || b->buffer->fill.kind != KILN__FILL_NONE || b->file)
            continue;
        size_t width;
        uint32_t pattern = kiln__poison_pattern(b->type, &width);
        size_t count = (size_t)b->bytes / width;
        CUresult result = width == 4   ? driver->cuMemsetD32Async_(b->pointer, pattern, count, NULL)
                          : width == 2 ? driver->cuMemsetD16Async_(b->pointer, (unsigned short)pattern, count, NULL)
                                       : driver->cuMemsetD8Async_(b->pointer, (unsigned char)pattern, count, NULL);
        if (result != CUDA_SUCCESS)
            return kiln__driver_fail(driver, plan->mem, result, error, "poisoning buffer %s", b->buffer->name);
    }
    return KILN_OK;
}
