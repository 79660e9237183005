/* arguments.c - evaluates the arguments of a launch, and checks them against the signature in the kernel's PTX. */
#include <inttypes.h>
#include <string.h>

#include "arguments_internal.h"
#include "launch_internal.h"
#include "layout_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "texture_internal.h"

static size_t words_of(const kiln__argument *arg)
{
    uint64_t words = (arg->size + 7) / 8;
    return words ? (size_t)words : 1;
}

size_t kiln__arguments_words(const kiln__step *step)
{
    size_t words = 0;
    for (size_t i = 0; i < step->as.launch.arg_count; i++)
        words += words_of(&step->as.launch.args[i]);
    return words;
}

/* One evaluation. `number` is the number of the argument in messages, counted from 1. */
typedef struct filling {
    kiln_plan *plan;
    const kiln__plan_kernel *kernel;
    const kiln__scope *scope;
    size_t number;
    kiln_error **error;
} filling;

#define fail_at(f, ...) kiln__plan_fail_at((f)->plan, (f)->error, KILN_ERROR_LAUNCH, __VA_ARGS__)

/* ---- pointers ---- */

/* Returns the address of a buffer, of one of its elements, or of the byte after its last element. */
static kiln_status address_of(filling *f, const kiln__argument *arg, CUdeviceptr *address)
{
    const kiln__plan_buffer *b = kiln__plan_buffer_named(f->plan, arg->buffer);
    int64_t offset = 0;
    if (arg->expr) {
        kiln__diag diag = {.mem = f->plan->mem};
        kiln__expr_eval_int(arg->expr, f->scope, "the number of elements", &offset, &diag);
        kiln_status status = kiln__plan_diag(f->plan, &diag, KILN_ERROR_SPEC, f->error);
        if (status != KILN_OK)
            return status;
    }
    if (offset < 0 || (uint64_t)offset > b->elements)
        return fail_at(f, arg->pos,
                       "argument %zu of %s: '%s' is %" PRId64
                       " elements after the first element of '%s', which has %" PRIu64,
                       f->number, f->kernel->name, arg->text, offset, arg->buffer, b->elements);
    *address = b->pointer + (uint64_t)offset * kiln__type_bytes(b->type);
    return KILN_OK;
}

/* Finds the list with the given pointers in device memory. If it does not exist yet, makes the list. Nothing overwrites
 * a list later, so a launch that was enqueued earlier still reads its own pointers. */
static kiln_status list_on_device(filling *f, const kiln__argument *arg, CUdeviceptr *items, CUdeviceptr *list)
{
    enum { LISTS_MOST = 1024 };
    kiln_plan *plan = f->plan;
    const kiln__driver *driver = &plan->engine->driver;
    size_t bytes = arg->count * sizeof *items;
    for (size_t i = 0; i < plan->list_count; i++)
        if (plan->lists[i].count == arg->count && memcmp(plan->lists[i].items, items, bytes) == 0) {
            *list = plan->lists[i].device;
            return KILN_OK;
        }
    if (plan->list_count == LISTS_MOST)
        return fail_at(f, arg->pos, "the steps need more than %d different lists of pointers", LISTS_MOST);
    kiln__pointers made = {.count = arg->count, .items = kiln__alloc(plan->mem, bytes)};
    if (!made.items || !kiln__grow(plan->mem, &plan->lists, &plan->list_capacity, plan->list_count + 1, sizeof made)) {
        kiln__free(plan->mem, made.items);
        return kiln__fail_memory(f->error);
    }
    memcpy(made.items, items, bytes);
    CUresult result = driver->cuMemAlloc_(&made.device, bytes);
    if (result == CUDA_SUCCESS && (result = driver->cuMemcpyHtoD_(made.device, items, bytes)) != CUDA_SUCCESS)
        driver->cuMemFree_(made.device);
    if (result != CUDA_SUCCESS) {
        kiln__free(plan->mem, made.items);
        return kiln__driver_fail(driver, plan->mem, result, f->error, "making a list of %zu pointers", arg->count);
    }
    plan->lists[plan->list_count++] = made;
    *list = made.device;
    return KILN_OK;
}

void kiln__arguments_free(kiln_plan *plan)
{
    for (size_t i = 0; i < plan->list_count; i++)
        plan->engine->driver.cuMemFree_(plan->lists[i].device);
}

static kiln_status pointer_of(filling *f, const kiln__argument *arg, CUdeviceptr *address)
{
    *address = 0;
    if (arg->kind == KILN__ARGUMENT_NULL)
        return KILN_OK;
    if (arg->kind == KILN__ARGUMENT_BUFFER)
        return address_of(f, arg, address);
    CUdeviceptr *items = kiln__calloc(f->plan->mem, arg->count, sizeof *items);
    kiln_status status = items ? KILN_OK : kiln__fail_memory(f->error);
    for (size_t i = 0; i < arg->count && status == KILN_OK; i++)
        status = pointer_of(f, &arg->items[i], &items[i]);
    if (status == KILN_OK)
        status = list_on_device(f, arg, items, address);
    kiln__free(f->plan->mem, items);
    return status;
}

/* ---- structures ---- */

/* Stores one number in the type of its field, with the conversions of a buffer's fill. */
static kiln_status store_value(filling *f, const kiln__field *field, const kiln__expr *expr, char *to)
{
    kiln__diag diag = {.mem = f->plan->mem};
    kiln_value value = {0};
    kiln__expr_eval(expr, f->scope, &value, &diag);
    kiln_status status = kiln__plan_diag(f->plan, &diag, KILN_ERROR_SPEC, f->error);
    if (status != KILN_OK)
        return status;
    if (value.kind == KILN_TEXT)
        return fail_at(f, kiln__expr_pos(expr), "argument %zu of %s: field '%s' needs a number, not a text", f->number,
                       f->kernel->name, field->name);
    uint64_t room[2] = {0};
    kiln_array one = {.type = kiln__type_part(field->type), .dims = 1, .shape = {1}, .data = room};
    kiln__fill_values values = {.kind = KILN__FILL_VALUE, .integers = value.kind != KILN_FLOAT};
    if (values.integers)
        values.ia = value.as.i;
    else
        values.a = value.as.f;
    kiln_error *why = NULL;
    if (kiln__array_fill(&one, &values, f->plan->mem, &why) != KILN_OK)
        status = fail_at(f, kiln__expr_pos(expr), "argument %zu of %s: field '%s': %s", f->number, f->kernel->name,
                         field->name, kiln_error_message(why));
    kiln_error_free(why);
    if (status == KILN_OK)
        memcpy(to, room, kiln__type_bytes(one.type));
    return status;
}

static kiln_status store_tensor_map(filling *f, const kiln__argument *arg, void *to)
{
    CUdeviceptr address;
    kiln_status status = address_of(f, arg, &address);
    return status == KILN_OK
               ? kiln__tensor_map_make(f->plan, arg, f->kernel, f->number, f->scope, address, to, f->error)
               : status;
}

static kiln_status texture_of(filling *f, const kiln__argument *arg, uint64_t *object)
{
    CUdeviceptr address = 0;
    kiln_status status = address_of(f, arg, &address);
    return status == KILN_OK
               ? kiln__texture_make(f->plan, arg, f->kernel, f->number, f->scope, address, object, f->error)
               : status;
}

/* Stores the fields of a structure at their offsets. A field is a number, an inner structure, bytes, a tensor map, a
 * texture or a pointer. Gaps are 0. */
static kiln_status store_struct(filling *f, const kiln__argument *arg, char *to)
{
    kiln_status status = KILN_OK;
    memset(to, 0, (size_t)arg->size);
    for (size_t i = 0; i < arg->count && status == KILN_OK; i++) {
        const kiln__field *field = &arg->fields[i];
        const kiln__argument *inner = field->argument;
        size_t width = kiln__type_bytes(kiln__type_part(field->type));
        CUdeviceptr address;
        uint64_t object;
        for (size_t k = 0; k < field->value_count && status == KILN_OK; k++)
            status = store_value(f, field, field->values[k], to + field->offset + k * width);
        if (inner && inner->kind == KILN__ARGUMENT_STRUCT) {
            status = store_struct(f, inner, to + field->offset);
        } else if (inner && inner->kind == KILN__ARGUMENT_BYTES) {
            memcpy(to + field->offset, inner->bytes, (size_t)inner->size);
        } else if (inner && inner->kind == KILN__ARGUMENT_TENSOR_MAP) {
            status = store_tensor_map(f, inner, to + field->offset);
        } else if (inner && inner->kind == KILN__ARGUMENT_TEXTURE) {
            status = texture_of(f, inner, &object);
            if (status == KILN_OK)
                memcpy(to + field->offset, &object, sizeof object);
        } else if (inner) {
            status = pointer_of(f, inner, &address);
            if (status == KILN_OK)
                memcpy(to + field->offset, &address, sizeof address);
        }
    }
    return status;
}

/* Makes the error for a structure argument whose size differs from the size in the kernel's signature. The message
 * lists the offset of each field, for an author who compares the fields with the source. */
static kiln_status wrong_size(filling *f, const kiln__argument *arg, const kiln__param_type *type)
{
    kiln__text text = {.mem = f->plan->mem};
    kiln__text_printf(&text, "argument %zu of %s has %" PRIu64 " bytes, but the kernel needs ", f->number,
                      f->kernel->name, arg->size);
    if (type->array)
        kiln__text_printf(&text, "a structure of %u bytes", type->bytes);
    else
        kiln__text_puts(&text, kiln__param_type_text(type));
    for (size_t i = 0; i < arg->count && arg->kind == KILN__ARGUMENT_STRUCT; i++)
        kiln__text_printf(&text, "%s%s at %" PRIu64, i ? ", " : "; the fields: ", arg->fields[i].name,
                          arg->fields[i].offset);
    kiln_status status = fail_at(f, arg->pos, "%s", kiln__text_get(&text));
    kiln__text_free(&text);
    return status;
}

/* ---- one argument ---- */

static kiln_status set_number(filling *f, const kiln__argument *arg, const kiln__param_type *type, uint64_t *slot)
{
    kiln__diag diag = {.mem = f->plan->mem};
    kiln_value value;
    kiln__expr_eval(arg->expr, f->scope, &value, &diag);
    kiln_status status = kiln__plan_diag(f->plan, &diag, KILN_ERROR_SPEC, f->error);
    if (status != KILN_OK)
        return status;
    const char *why = kiln__param_store(type, value, slot);
    if (!why)
        return KILN_OK;
    kiln__text given = {.mem = f->plan->mem};
    kiln__value_print(&given, value);
    status = fail_at(f, kiln__expr_pos(arg->expr), "argument %zu of %s: '%s' = %s, but the kernel needs %s: %s",
                     f->number, f->kernel->name, kiln__expr_text(arg->expr), kiln__text_get(&given),
                     kiln__param_type_text(type), why);
    kiln__text_free(&given);
    return status;
}

/* Stores one argument, after checking that the type of the kernel's parameter allows an argument of this kind. */
static kiln_status set_one(filling *f, const kiln__argument *arg, uint64_t *slot)
{
    const kiln__param_type *type = &f->kernel->signature.params[f->number - 1];
    CUdeviceptr address;
    if (arg->kind == KILN__ARGUMENT_VALUE)
        return set_number(f, arg, type, slot);
    if (arg->kind == KILN__ARGUMENT_STRUCT || arg->kind == KILN__ARGUMENT_BYTES) {
        /* PTX may mark the parameter of a structure as a pointer too */
        if (arg->size != type->bytes || (type->pointer && !type->array))
            return wrong_size(f, arg, type);
        if (arg->kind == KILN__ARGUMENT_STRUCT)
            return store_struct(f, arg, (char *)slot);
        memcpy(slot, arg->bytes, (size_t)arg->size);
        return KILN_OK;
    }
    if (arg->kind == KILN__ARGUMENT_TENSOR_MAP) {
        if (type->array && type->bytes == arg->size && type->align >= arg->align)
            return store_tensor_map(f, arg, slot);
        return fail_at(f, arg->pos,
                       "argument %zu of %s is a tensor map, but the kernel needs %s of %u bytes: declare it as 'const "
                       "__grid_constant__ CUtensorMap'",
                       f->number, f->kernel->name, kiln__param_type_text(type), type->bytes);
    }
    if (arg->kind == KILN__ARGUMENT_TEXTURE) {
        if (!type->array && !type->pointer && type->bytes == 8 && type->kind != 'f')
            return texture_of(f, arg, slot);
        return fail_at(f, arg->pos,
                       "argument %zu of %s is a texture, but the kernel needs %s: declare it as 'cudaTextureObject_t'",
                       f->number, f->kernel->name, kiln__param_type_text(type));
    }
    if (type->array || type->bytes != 8 || type->kind == 'f')
        return fail_at(f, arg->pos, "argument %zu of %s: '%s' is a %s, but the kernel needs %s", f->number,
                       f->kernel->name, arg->text, arg->kind == KILN__ARGUMENT_BUFFER ? "buffer" : "pointer",
                       kiln__param_type_text(type));
    kiln_status status = pointer_of(f, arg, &address);
    if (status == KILN_OK)
        *slot = address;
    return status;
}

/* Makes the error for a launch with too few or too many arguments. The message lists the types that the kernel takes,
 * if there are at most MOST of them. */
static kiln_status fail_count(filling *f, kiln__pos pos, size_t given)
{
    enum { MOST = 12 };
    const kiln__signature *takes = &f->kernel->signature;
    kiln__text list = {.mem = f->plan->mem};
    for (size_t i = 0; i < takes->count && takes->count <= MOST; i++)
        kiln__text_printf(&list, "%s%s", i ? ", " : ": ", kiln__param_type_text(&takes->params[i]));
    kiln_status status = fail_at(f, pos, "%s needs %zu arguments, but %zu are given%s", f->kernel->name, takes->count,
                                 given, list.failed ? "" : kiln__text_get(&list));
    kiln__text_free(&list);
    return status;
}

kiln_status kiln__arguments_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                const kiln__scope *scope, uint64_t *values, void **pointers, kiln_error **error)
{
    filling f = {.plan = plan, .kernel = kernel, .scope = scope, .error = error};
    size_t count = step->as.launch.arg_count;
    kiln_status status = KILN_OK;
    if (count != kernel->signature.count)
        return fail_count(&f, step->pos, count);
    for (size_t i = 0; i < count && status == KILN_OK; i++) {
        f.number = i + 1;
        pointers[i] = values;
        status = set_one(&f, &step->as.launch.args[i], values);
        values += words_of(&step->as.launch.args[i]);
    }
    return status;
}

/* ---- drivers that do not tell parameters ---- */

enum { PARAMS_MOST = 1 << 15 }; /* the parameters of a kernel have at most 32764 bytes together */

/* A driver before CUDA 12.4 does not tell how many bytes it copies for a parameter, and how many parameters it copies.
 * If the compiled code had more bytes of parameters than its PTX, such a driver would give memory of this process to
 * the kernel. With this memory the kernel gets zeros. */
struct kiln__argument_room {
    uint64_t zeros[PARAMS_MOST / sizeof(uint64_t)];
    void *pointers[PARAMS_MOST];
    size_t words;      /* the largest number of argument words of a launch */
    uint64_t values[]; /* the arguments, then zeros */
};

bool kiln__arguments_make_room(kiln_plan *plan, size_t words)
{
    const size_t zeros = PARAMS_MOST / sizeof(uint64_t);
    plan->room = kiln__arena_alloc(&plan->arena, sizeof *plan->room + (words + zeros) * sizeof *plan->room->values);
    if (!plan->room)
        return false;
    memset(plan->room->zeros, 0, sizeof plan->room->zeros);
    memset(plan->room->values, 0, (words + zeros) * sizeof *plan->room->values);
    for (size_t i = 0; i < PARAMS_MOST; i++)
        plan->room->pointers[i] = plan->room->zeros;
    plan->room->words = words;
    return true;
}

void **kiln__arguments_pad(const kiln_plan *plan, const kiln__step *step, void **pointers)
{
    struct kiln__argument_room *room = plan->room;
    if (!room)
        return pointers;
    const size_t count = step->as.launch.arg_count;
    uint64_t *to = room->values;
    memset(to, 0, room->words * sizeof *to);
    for (size_t i = 0; i < room->words && i < PARAMS_MOST; i++)
        room->pointers[i] = room->zeros; /* an earlier launch may have had more arguments */
    for (size_t i = 0; i < count && i < PARAMS_MOST; i++) {
        const size_t words = words_of(&step->as.launch.args[i]);
        memcpy(to, pointers[i], words * sizeof *to);
        room->pointers[i] = to;
        to += words;
    }
    return room->pointers;
}
