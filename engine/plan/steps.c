/* steps.c - evaluates the steps of a variant into operations of the driver. The arguments of launches are evaluated in
 * arguments.c.
 *
 * An object `walk` is one evaluation of the steps. If no step depends on data on the device, the walk runs once and
 * stores its operations as a program. A launch of the plan is then a loop over that array. If the variant has `while`
 * or `host` steps, every launch evaluates the steps again and runs each operation at once.
 *
 * The file is long because evaluating steps and making operations share one state. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arguments_internal.h"
#include "calls_internal.h"
#include "launch_internal.h"
#include "layout_internal.h"
#include "limit_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "steps_internal.h"
#include "texture_internal.h"

/* the largest number of operations that a program can store; if there are more, each launch evaluates the steps */
enum { PROGRAM_MOST = 1 << 16 };

typedef struct walk { /* one evaluation of the steps */
    kiln_plan *plan;
    CUstream stream;
    kiln__program *program; /* the program that stores the operations; NULL means that each operation runs at once */
    bool too_long;
    unsigned done;         /* the number of operations so far; the time limit is tested after every few operations */
    kiln__host_work *work; /* NULL means that the work of the host is not counted */
    kiln_error **error;
} walk;

/* ---- properties of the steps that do not depend on values ---- */

bool kiln__steps_dynamic(const kiln__step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind == KILN__STEP_WHILE || steps[i].kind == KILN__STEP_HOST)
            return true;
        if (steps[i].kind == KILN__STEP_REPEAT &&
            kiln__steps_dynamic(steps[i].as.repeat.steps, steps[i].as.repeat.step_count))
            return true;
    }
    return false;
}

bool kiln__steps_depend(const kiln__variant *variant)
{
    return kiln__steps_dynamic(variant->before, variant->before_count) ||
           kiln__steps_dynamic(variant->steps, variant->step_count);
}

size_t kiln__steps_most_words(const kiln__step *steps, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t here = 0;
        if (steps[i].kind == KILN__STEP_LAUNCH)
            here = kiln__arguments_words(&steps[i]);
        else if (steps[i].kind == KILN__STEP_REPEAT)
            here = kiln__steps_most_words(steps[i].as.repeat.steps, steps[i].as.repeat.step_count);
        else if (steps[i].kind == KILN__STEP_WHILE)
            here = kiln__steps_most_words(steps[i].as.loop.steps, steps[i].as.loop.step_count);
        most = here > most ? here : most;
    }
    return most;
}

/* ---- failures ---- */

#define fail_at(w, ...) kiln__plan_fail_at((w)->plan, (w)->error, __VA_ARGS__)

static kiln_status driver_failed(walk *w, CUresult result, const kiln__step *step, const char *what)
{
    kiln_error *why = NULL;
    kiln_status status = kiln__limit_fail(w->plan, result, &why, "%s", what);
    kiln__text name = {.mem = w->plan->mem};
    kiln__config_print(w->plan->config, &name);
    if (step->pos.source)
        kiln__fail_cuda(w->plan->mem, w->error, status, (int)result, "%s:%u:%u: %s: %s", step->pos.source->name,
                        step->pos.line, step->pos.column, kiln__text_get(&name), kiln_error_message(why));
    else
        kiln__fail_cuda(w->plan->mem, w->error, status, (int)result, "%s: %s", kiln__text_get(&name),
                        kiln_error_message(why));
    kiln__text_free(&name);
    kiln_error_free(why);
    return status;
}

/* ---- one operation ---- */

static inline CUresult run_op(const kiln_plan *plan, const kiln__plan_op *op, CUstream stream)
{
    const kiln__driver *driver = &plan->engine->driver;
    void **args = op->kind == KILN__OP_LAUNCH ? kiln__arguments_pad(plan, op->step, op->as.launch.args) : NULL;
    switch (op->kind) {
    case KILN__OP_LAUNCH:
        if (op->as.launch.attributes.any)
            return kiln__attributes_launch(driver, op, stream, args);
        if (op->as.launch.attributes.cooperative)
            return driver->cuLaunchCooperativeKernel_(op->as.launch.function, op->as.launch.grid[0],
                                                      op->as.launch.grid[1], op->as.launch.grid[2],
                                                      op->as.launch.block[0], op->as.launch.block[1],
                                                      op->as.launch.block[2], op->as.launch.shared, stream, args);
        return driver->cuLaunchKernel_(op->as.launch.function, op->as.launch.grid[0], op->as.launch.grid[1],
                                       op->as.launch.grid[2], op->as.launch.block[0], op->as.launch.block[1],
                                       op->as.launch.block[2], op->as.launch.shared, stream, args, NULL);
    case KILN__OP_SET:
        if (op->as.set.width == 4)
            return driver->cuMemsetD32Async_(op->as.set.to, op->as.set.pattern, (size_t)op->as.set.count, stream);
        if (op->as.set.width == 2)
            return driver->cuMemsetD16Async_(op->as.set.to, (unsigned short)op->as.set.pattern,
                                             (size_t)op->as.set.count, stream);
        return driver->cuMemsetD8Async_(op->as.set.to, (unsigned char)op->as.set.pattern, (size_t)op->as.set.count,
                                        stream);
    case KILN__OP_COPY: break;
    }
    return driver->cuMemcpyDtoDAsync_(op->as.copy.to, op->as.copy.from, (size_t)op->as.copy.bytes, stream);
}

static kiln_status op_failed(walk *w, CUresult result, const kiln__plan_op *op)
{
    const unsigned *grid = op->as.launch.grid, *block = op->as.launch.block;
    if (op->kind != KILN__OP_LAUNCH)
        return driver_failed(w, result, op->step,
                             op->kind == KILN__OP_SET ? "filling a buffer" : "copying between buffers");
    kiln__text what = {.mem = w->plan->mem};
    kiln__text_printf(&what,
                      "launching %.100s with grid %u x %u x %u, block %u x %u x %u, %u bytes of dynamic shared memory",
                      op->kernel->name, grid[0], grid[1], grid[2], block[0], block[1], block[2], op->as.launch.shared);
    kiln__launch_explain(w->plan, op, result, &what);
    kiln_status status = driver_failed(w, result, op->step, kiln__text_get(&what));
    kiln__text_free(&what);
    return status;
}

/* Checks the time limit while a run with many steps enqueues them. After about a thousand launches the driver of a GPU
 * blocks, and this wait has no time limit. In the first run any launch may hang, so in the first run the host waits
 * after fewer launches. */
static kiln_status look_at_time(walk *w)
{
    enum { LOOK_OPS = 256 };
    kiln_plan *plan = w->plan;
    if (!plan->limit.on || ++w->done % LOOK_OPS != 0)
        return KILN_OK;
    CUresult result = plan->limit.first && !plan->engine->driver.simulator ? kiln__limit_wait_stream(plan, w->stream)
                                                                           : CUDA_SUCCESS;
    return result == CUDA_SUCCESS
               ? kiln__limit_check(plan, w->error)
               : kiln__limit_fail(plan, result, w->error, "running %s %s", plan->spec->name, plan->variant->name);
}

/* Runs the operation, or stores it in the program. */
static kiln_status emit(walk *w, const kiln__plan_op *op)
{
    kiln__program *program = w->program;
    if (!program) {
        kiln_status late = look_at_time(w);
        if (late == KILN_OK)
            late = kiln__textures_fill(w->plan, w->stream, w->error);
        if (late != KILN_OK)
            return late;
        CUresult result = run_op(w->plan, op, w->stream);
        return result == CUDA_SUCCESS ? KILN_OK : op_failed(w, result, op);
    }
    if (program->count >= PROGRAM_MOST) {
        w->too_long = true;
        return KILN_ERROR_UNSUPPORTED; /* the caller then evaluates the steps again at each launch */
    }
    if (!kiln__grow(w->plan->mem, &program->ops, &program->capacity, program->count + 1, sizeof *program->ops))
        return kiln__fail_memory(w->error);
    program->ops[program->count++] = *op;
    return KILN_OK;
}

/* ---- launch ---- */

static kiln__plan_kernel *find_kernel(walk *w, const kiln__step *step, const kiln__scope *scope, kiln_status *status)
{
    kiln_plan *plan = w->plan;
    kiln__text filled = {.mem = plan->mem};
    kiln__diag diag = {.mem = plan->mem};
    const char *text = kiln__launch_kernel(step, scope, &filled, &diag);
    *status = kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, w->error);
    if (*status == KILN_OK && !text)
        *status = kiln__fail_memory(w->error);
    kiln__plan_kernel *found = NULL;
    for (size_t i = 0; i < plan->kernel_count && *status == KILN_OK && !found; i++)
        if (strcmp(plan->kernels[i].name, text) == 0)
            found = &plan->kernels[i];
    if (*status == KILN_OK && !found)
        *status = fail_at(w, KILN_ERROR_NOT_FOUND, step->pos, "kernel '%s' was not compiled with this configuration",
                          text);
    kiln__text_free(&filled);
    return found;
}

/* Returns the buffer whose name is the argument, or NULL if the argument is another expression. */
static const kiln__plan_buffer *named_buffer(const kiln_plan *plan, const kiln__expr *expr)
{
    if (kiln__expr_name_count(expr) != 1 || strcmp(kiln__expr_text(expr), kiln__expr_name(expr, 0)) != 0)
        return NULL;
    return kiln__plan_buffer_named(plan, kiln__expr_name(expr, 0));
}

static kiln_status set_args(walk *w, const kiln__step *step, const kiln__plan_kernel *kernel, const kiln__scope *scope,
                            kiln__plan_op *op)
{
    uint64_t *values = w->plan->values;
    void **pointers = w->plan->pointers;
    if (w->program) {
        values = kiln__arena_alloc(&w->program->arena, (kiln__arguments_words(step) + 1) * sizeof *values);
        pointers = kiln__arena_alloc(&w->program->arena, (step->as.launch.arg_count + 1) * sizeof *pointers);
        if (!values || !pointers)
            return kiln__fail_memory(w->error);
    }
    op->as.launch.args = pointers;
    return kiln__arguments_set(w->plan, step, kernel, scope, values, pointers, w->error);
}

static kiln_status set_dims(walk *w, kiln__expr *const exprs[3], const kiln__scope *scope, kiln__extent_kind kind,
                            unsigned dims[3])
{
    static const char *const names[][3] = {
        {"grid x", "grid y", "grid z"}, {"block x", "block y", "block z"}, {"cluster x", "cluster y", "cluster z"}};
    kiln__diag diag = {.mem = w->plan->mem};
    for (int d = 0; d < 3; d++) {
        int64_t value;
        if (!kiln__expr_eval_int(exprs[d], scope, names[kind][d], &value, &diag))
            break;
        kiln_status status = kiln__extent_fits(w->plan->mem, kind, d, exprs[d], value, w->error);
        if (status != KILN_OK) {
            kiln__text_free(&diag.text);
            return status;
        }
        dims[d] = (unsigned)value;
    }
    return kiln__plan_diag(w->plan, &diag, KILN_ERROR_SPEC, w->error);
}

/* Checks that the block and its shared memory do not exceed the limits of the device and of the kernel. If the launch
 * needs more dynamic shared memory than the kernel allows, raises the kernel's limit. */
static kiln_status check_block(walk *w, const kiln__step *step, kiln__plan_kernel *kernel, const kiln__plan_op *op)
{
    const kiln_device_info *info = &w->plan->engine->info;
    const unsigned *extents = op->as.launch.block;
    const uint64_t shared = kernel->static_shared + op->as.launch.shared;
    const kiln__block block = {.extents = {extents[0], extents[1], extents[2]},
                               .static_shared = kernel->static_shared,
                               .dynamic_shared = op->as.launch.shared,
                               .kernel = kernel->name,
                               .max_threads = kernel->max_threads};
    KILN__TRY(kiln__block_fits(w->plan->mem, info, step, &block, w->error));
    if (shared <= info->shared_per_block || op->as.launch.shared <= kernel->dynamic_limit)
        return KILN_OK;
    CUresult result = w->plan->engine->driver.cuFuncSetAttribute_(
        kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)op->as.launch.shared);
    if (result != CUDA_SUCCESS)
        return driver_failed(w, result, step, "raising the limit of dynamic shared memory");
    kernel->dynamic_limit = op->as.launch.shared;
    return KILN_OK;
}

/* Evaluates grid, block, shared memory, attributes and arguments of a launch. Checks them, and emits the operation. If
 * a grid extent is 0, emits nothing. */
static kiln_status launch(walk *w, const kiln__step *step, const kiln__scope *scope)
{
    kiln__plan_op op = {.kind = KILN__OP_LAUNCH, .step = step};
    kiln_status status;
    int64_t shared = 0;
    kiln__plan_kernel *kernel = find_kernel(w, step, scope, &status);
    if (!kernel)
        return status;
    status = set_dims(w, step->as.launch.grid, scope, KILN__EXTENT_GRID, op.as.launch.grid);
    if (status != KILN_OK)
        return status;
    if (op.as.launch.grid[0] == 0 || op.as.launch.grid[1] == 0 || op.as.launch.grid[2] == 0)
        return KILN_OK; /* a grid extent of 0 means that the problem is empty */
    status = set_dims(w, step->as.launch.block, scope, KILN__EXTENT_BLOCK, op.as.launch.block);
    if (status == KILN_OK && step->as.launch.cluster[0]) {
        op.as.launch.attributes.clustered = true;
        status = set_dims(w, step->as.launch.cluster, scope, KILN__EXTENT_CLUSTER, op.as.launch.attributes.cluster);
    }
    if (status == KILN_OK && step->as.launch.shared) {
        kiln__diag diag = {.mem = w->plan->mem};
        kiln__expr_eval_int(step->as.launch.shared, scope, "shared", &shared, &diag);
        status = kiln__plan_diag(w->plan, &diag, KILN_ERROR_SPEC, w->error);
        if (status == KILN_OK && (shared < 0 || shared > INT32_MAX))
            status = fail_at(w, KILN_ERROR_LAUNCH, kiln__expr_pos(step->as.launch.shared),
                             "shared = %" PRId64 " bytes is not possible", shared);
    }
    if (status != KILN_OK)
        return status;
    op.kernel = kernel;
    op.as.launch.function = kernel->function;
    op.as.launch.shared = (unsigned)shared;
    status = check_block(w, step, kernel, &op);
    if (status == KILN_OK)
        status = kiln__attributes_set(w->plan, step, kernel, scope, op.as.launch.grid, &op.as.launch.attributes,
                                      w->error);
    if (status == KILN_OK)
        status = set_args(w, step, kernel, scope, &op);
    if (status != KILN_OK)
        return status;
    if (!kernel->known) {
        kernel->known = true;
        memcpy(kernel->grid, op.as.launch.grid, sizeof kernel->grid);
        memcpy(kernel->block, op.as.launch.block, sizeof kernel->block);
        kernel->dynamic_shared = op.as.launch.shared;
        kernel->attributes = op.as.launch.attributes;
    }
    return emit(w, &op);
}

/* ---- fill, copy, symbol ---- */

/* Fills a buffer with one value. The value is checked by the same rules as the fill of a whole buffer. A memset of the
 * driver sets at most 4 bytes at once. So an element of 8 or 16 bytes is set word by word, and then copied in doubling
 * lengths. */
static kiln_status fill(walk *w, const kiln__step *step, const kiln__scope *scope)
{
    const kiln__plan_buffer *b = kiln__plan_buffer_named(w->plan, step->as.fill.buffer);
    kiln__diag diag = {.mem = w->plan->mem};
    kiln_value value = {0};
    kiln__expr_eval(step->as.fill.value, scope, &value, &diag);
    kiln_status status = kiln__plan_diag(w->plan, &diag, KILN_ERROR_SPEC, w->error);
    if (status != KILN_OK || b->bytes == 0)
        return status;
    kiln__pos pos = kiln__expr_pos(step->as.fill.value);
    if (value.kind == KILN_TEXT)
        return fail_at(w, KILN_ERROR_SPEC, pos, "a buffer must be filled with a number, not with a text");
    /* the bits of one element, converted by the rules for fills of a buffer */
    uint32_t words[4] = {0}; /* the widest element */
    kiln_array one = {.type = b->type, .dims = 1, .shape = {1}, .data = words};
    kiln__fill_values values = {.kind = KILN__FILL_VALUE, .integers = value.kind != KILN_FLOAT};
    if (values.integers)
        values.ia = value.as.i;
    else
        values.a = value.as.f;
    kiln_error *why = NULL;
    if (kiln__array_fill(&one, &values, w->plan->mem, &why) != KILN_OK) {
        status = fail_at(w, KILN_ERROR_SPEC, pos, "buffer '%s': %s", step->as.fill.buffer, kiln_error_message(why));
        kiln_error_free(why);
        return status;
    }
    size_t width = kiln__type_bytes(b->type);
    kiln__plan_op op = {
        .kind = KILN__OP_SET, .step = step, .as.set = {b->pointer, words[0], (unsigned)width, b->elements}};
    size_t count = width / sizeof *words, same = 1;
    if (width < 8)
        return emit(w, &op);
    op.as.set.width = 4;
    while (same < count && words[same] == words[0])
        same++;
    if (same == count) {
        op.as.set.count *= count;
        return emit(w, &op);
    }
    /* sets the first element word by word; each copy below doubles the filled part */
    for (size_t i = 0; i < count && status == KILN_OK; i++) {
        op.as.set.to = b->pointer + sizeof *words * i;
        op.as.set.pattern = words[i];
        op.as.set.count = 1;
        status = emit(w, &op);
    }
    for (uint64_t done = width; done < b->bytes && status == KILN_OK; done *= 2) {
        kiln__plan_op copy = {
            .kind = KILN__OP_COPY,
            .step = step,
            .as.copy = {b->pointer + done, b->pointer, done < b->bytes - done ? done : b->bytes - done}};
        status = emit(w, &copy);
    }
    return status;
}

/* Evaluates an optional number of elements, which must not be negative. If the spec gives no number, the result is
 * `missing`. */
static kiln_status elements(walk *w, const kiln__expr *expr, const kiln__scope *scope, const char *what,
                            uint64_t missing, uint64_t *value)
{
    int64_t got = 0;
    *value = missing;
    if (!expr)
        return KILN_OK;
    kiln__diag diag = {.mem = w->plan->mem};
    kiln__expr_eval_int(expr, scope, what, &got, &diag);
    kiln_status status = kiln__plan_diag(w->plan, &diag, KILN_ERROR_SPEC, w->error);
    if (status == KILN_OK && got < 0)
        return fail_at(w, KILN_ERROR_LAUNCH, kiln__expr_pos(expr), "%s = %" PRId64 " is negative", what, got);
    *value = (uint64_t)got;
    return status;
}

/* Fails if any of the `count` elements from `offset` on is outside the buffer. */
static kiln_status check_range(walk *w, const kiln__step *step, const char *name, const kiln__plan_buffer *b,
                               uint64_t offset, uint64_t count)
{
    if (offset <= b->elements && count <= b->elements - offset)
        return KILN_OK;
    return fail_at(w, KILN_ERROR_LAUNCH, step->pos,
                   "%" PRIu64 " elements from %" PRIu64 " on go past the end of '%s', which has %" PRIu64, count,
                   offset, name, b->elements);
}

static kiln_status copy(walk *w, const kiln__step *step, const kiln__scope *scope)
{
    const kiln__plan_buffer *from = kiln__plan_buffer_named(w->plan, step->as.copy.from);
    const kiln__plan_buffer *to = kiln__plan_buffer_named(w->plan, step->as.copy.to);
    uint64_t size = kiln__type_bytes(from->type), from_offset, to_offset, count;
    if (size != kiln__type_bytes(to->type))
        return fail_at(w, KILN_ERROR_LAUNCH, step->pos, "the elements of '%s' are %s, but the elements of '%s' are %s",
                       step->as.copy.from, kiln__type_name(from->type), step->as.copy.to, kiln__type_name(to->type));
    kiln_status status = elements(w, step->as.copy.from_offset, scope, "from_offset", 0, &from_offset);
    if (status == KILN_OK)
        status = elements(w, step->as.copy.to_offset, scope, "to_offset", 0, &to_offset);
    if (status == KILN_OK)
        status = elements(w, step->as.copy.count, scope, "count",
                          from->elements > from_offset ? from->elements - from_offset : 0, &count);
    if (status == KILN_OK)
        status = check_range(w, step, step->as.copy.from, from, from_offset, count);
    if (status == KILN_OK)
        status = check_range(w, step, step->as.copy.to, to, to_offset, count);
    if (status != KILN_OK || count == 0)
        return status;
    kiln__plan_op op = {.kind = KILN__OP_COPY,
                        .step = step,
                        .as.copy = {to->pointer + to_offset * size, from->pointer + from_offset * size, count * size}};
    return emit(w, &op);
}

/* Copies elements of a buffer to a __constant__ or __device__ variable. */
static kiln_status symbol(walk *w, const kiln__step *step, const kiln__scope *scope)
{
    const kiln__plan_buffer *from = kiln__plan_buffer_named(w->plan, step->as.symbol.from);
    uint64_t size = kiln__type_bytes(from->type), offset, count;
    CUdeviceptr to;
    size_t room;
    kiln_status status = elements(w, step->as.symbol.offset, scope, "offset", 0, &offset);
    if (status == KILN_OK)
        status = elements(w, step->as.symbol.count, scope, "count",
                          from->elements > offset ? from->elements - offset : 0, &count);
    if (status == KILN_OK)
        status = check_range(w, step, step->as.symbol.from, from, offset, count);
    if (status != KILN_OK)
        return status;
    CUresult result = w->plan->engine->driver.cuModuleGetGlobal_(&to, &room, w->plan->module, step->as.symbol.symbol);
    if (result == CUDA_ERROR_NOT_FOUND)
        return fail_at(w, KILN_ERROR_NOT_FOUND, step->pos,
                       "the source has no __constant__ or __device__ variable '%s' (is it unused, or in C++ without "
                       "extern \"C\"?)",
                       step->as.symbol.symbol);
    if (result != CUDA_SUCCESS)
        return driver_failed(w, result, step, "finding a symbol");
    if (count * size > room)
        return fail_at(w, KILN_ERROR_LAUNCH, step->pos,
                       "%" PRIu64 " elements of '%s' are %" PRIu64 " bytes, but the symbol '%s' has %zu", count,
                       step->as.symbol.from, count * size, step->as.symbol.symbol, room);
    kiln__plan_op op = {
        .kind = KILN__OP_COPY, .step = step, .as.copy = {to, from->pointer + offset * size, count * size}};
    return count ? emit(w, &op) : KILN_OK;
}

/* ---- host ---- */

static kiln_status add_host_arg(walk *w, kiln__call_args *args, kiln_array *arrays, const kiln__arg *arg,
                                kiln_array **array, const kiln__scope *scope)
{
    const kiln__plan_buffer *b = arg->expr ? named_buffer(w->plan, arg->expr) : NULL;
    *array = NULL;
    if (!b)
        return kiln__call_add_written(args, arg, scope, w->error);
    kiln_status status = kiln__plan_download(w->plan, b, arrays, w->error);
    if (status != KILN_OK)
        return status;
    *array = arrays;
    kiln__call_arg made = {.name = arg->name, .kind = KILN__CALL_ARRAY, .array = arrays, .writable = true};
    return kiln__call_add(args, made) ? KILN_OK : kiln__fail_memory(w->error);
}

/* Calls a host function. Copies buffers to the host for the call. Afterwards copies the buffers back that the function
 * requested as outputs. */
static kiln_status host(walk *w, const kiln__step *step, const kiln__scope *scope)
{
    kiln_plan *plan = w->plan;
    const kiln__driver *driver = &plan->engine->driver;
    size_t count = step->as.host.arg_count, made = 0;
    kiln__call_args args = {.plan = plan, .arena.mem = plan->mem};
    kiln_array *arrays = kiln__calloc(plan->mem, count + 1, sizeof *arrays);
    kiln_array **given = kiln__calloc(plan->mem, count + 1, sizeof *given);
    CUresult result = kiln__limit_wait_stream(w->plan, w->stream);
    uint64_t start = kiln__now_ns();
    kiln_status status = !arrays || !given        ? kiln__fail_memory(w->error)
                         : result == CUDA_SUCCESS ? KILN_OK
                                                  : driver_failed(w, result, step, "waiting for the steps before");
    for (; made < count && status == KILN_OK; made++)
        status = add_host_arg(w, &args, &arrays[made], &step->as.host.args[made], &given[made], scope);
    if (status == KILN_OK)
        status = kiln__plan_call(plan, step->as.host.function, KILN_HOST_STEP, &args, step->pos, NULL, w->error);
    for (size_t i = 0; i < args.count && status == KILN_OK; i++) {
        if (!args.args[i].written)
            continue;
        for (size_t k = 0; k < count; k++) {
            if (given[k] != args.args[i].array)
                continue;
            const kiln__plan_buffer *b = named_buffer(plan, step->as.host.args[k].expr);
            result = b->bytes ? driver->cuMemcpyHtoD_(b->pointer, arrays[k].data, (size_t)b->bytes) : CUDA_SUCCESS;
            if (result != CUDA_SUCCESS)
                status = driver_failed(w, result, step, "copying a buffer back to the device");
        }
    }
    for (size_t i = 0; given && i < made; i++)
        if (given[i])
            kiln__array_free(plan->mem, given[i]);
    kiln__call_args_free(&args);
    kiln__free(plan->mem, given);
    kiln__free(plan->mem, arrays);
    if (w->work)
        w->work->seconds += kiln__seconds_since(start);
    return status;
}

/* ---- repeat, while ---- */

static kiln_status walk_steps(walk *w, const kiln__step *steps, size_t count, const kiln__scope *scope);

/* Checks the time limit between two rounds of a loop. */
static kiln_status still_in_time(walk *w, const kiln__step *step, int64_t round)
{
    kiln__late late = kiln__limit_late(w->plan);
    if (late == KILN__IN_TIME)
        return KILN_OK;
    const kiln__driver *driver = &w->plan->engine->driver;
    CUresult result = driver->simulator ? driver->cuCtxSynchronize_() : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) /* a kernel failed, and the driver's result tells which error it was */
        return driver_failed(w, result, step, "running the steps of a loop");
    kiln__text name = {.mem = w->plan->mem};
    kiln__config_print(w->plan->config, &name);
    kiln_status status = late == KILN__STOPPED
                             ? fail_at(w, KILN_ERROR_INTERRUPTED, step->pos,
                                       "%s was stopped, in round %" PRId64 " of the loop", kiln__text_get(&name), round)
                             : fail_at(w, KILN_ERROR_TIMEOUT, step->pos,
                                       "%s took longer than the limit of %g s (sample_timeout), until round "
                                       "%" PRId64 " of the loop",
                                       kiln__text_get(&name), w->plan->limit.seconds, round);
    kiln__text_free(&name);
    return status;
}

static kiln_status repeat(walk *w, const kiln__step *step, const kiln__scope *scope)
{
    int64_t times = 0;
    kiln__diag diag = {.mem = w->plan->mem};
    kiln__expr_eval_int(step->as.repeat.times, scope, "times", &times, &diag);
    kiln_status status = kiln__plan_diag(w->plan, &diag, KILN_ERROR_SPEC, w->error);
    if (status == KILN_OK && times < 0)
        return fail_at(w, KILN_ERROR_SPEC, kiln__expr_pos(step->as.repeat.times), "times = %" PRId64 " is negative",
                       times);
    for (int64_t i = 0; i < times && status == KILN_OK; i++) {
        kiln_setting index = {step->as.repeat.index, {.kind = KILN_INT, .as.i = i}};
        kiln__scope inner = {.outer = scope, .settings = {step->as.repeat.index ? 1 : 0, &index}};
        status = still_in_time(w, step, i);
        if (status == KILN_OK)
            status = walk_steps(w, step->as.repeat.steps, step->as.repeat.step_count, &inner);
    }
    return status;
}

/* Reads one element on which the condition of a loop depends, and converts it to a value of expressions. */
static kiln_status read_element(walk *w, const kiln__step *step, const kiln__read *read, const kiln__scope *scope,
                                kiln_setting *setting)
{
    const kiln__plan_buffer *b = kiln__plan_buffer_named(w->plan, read->buffer);
    uint64_t index, raw = 0;
    double value;
    kiln_status status = elements(w, read->element, scope, "the element", 0, &index);
    if (status != KILN_OK)
        return status;
    if (index >= b->elements)
        return fail_at(w, KILN_ERROR_LAUNCH, read->pos, "'%s' has %" PRIu64 " elements; there is no element %" PRIu64,
                       read->buffer, b->elements, index);
    if (kiln__type_part(b->type) != b->type)
        return fail_at(w, KILN_ERROR_LAUNCH, read->pos, "'%s' has complex elements, which an expression cannot use",
                       read->buffer);
    size_t size = kiln__type_bytes(b->type);
    CUresult result = w->plan->engine->driver.cuMemcpyDtoH_(&raw, b->pointer + index * size, size);
    if (result != CUDA_SUCCESS)
        return driver_failed(w, result, step, "reading the elements that the condition of a loop uses");
    setting->name = read->name;
    if (kiln__type_is_float(b->type)) {
        kiln__to_doubles(b->type, &raw, 0, 1, &value);
        setting->value = (kiln_value){.kind = KILN_FLOAT, .as.f = value};
        return KILN_OK;
    }
    if (b->type == KILN_u64 && raw > INT64_MAX)
        return fail_at(w, KILN_ERROR_LAUNCH, read->pos, "'%s' contains %" PRIu64 ", which is too large for expressions",
                       read->buffer, raw);
    bool is_signed = b->type == KILN_i8 || b->type == KILN_i16 || b->type == KILN_i32;
    unsigned unused = (unsigned)(64 - 8 * size);
    setting->value = (kiln_value){.kind = KILN_INT,
                                  .as.i = is_signed ? (int64_t)(raw << unused) >> unused : (int64_t)raw};
    return KILN_OK;
}

/* Waits for the stream, and reads the elements that the condition of a loop uses. */
static kiln_status read_all(walk *w, const kiln__step *step, const kiln__scope *scope, kiln_setting *settings)
{
    CUresult result = kiln__limit_wait_stream(w->plan, w->stream);
    if (result != CUDA_SUCCESS)
        return driver_failed(w, result, step, "waiting for the steps of a loop");
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < step->as.loop.read_count && status == KILN_OK; i++)
        status = read_element(w, step, &step->as.loop.reads[i], scope, &settings[i]);
    return status;
}

/* Runs a `while` step. In each round it reads the elements, evaluates the condition and walks the body. The step fails
 * if its condition still holds after `at_most` rounds. */
static kiln_status loop(walk *w, const kiln__step *step, const kiln__scope *scope)
{
    kiln_setting *settings = kiln__calloc(w->plan->mem, step->as.loop.read_count + 1, sizeof *settings);
    kiln__scope inner = {.outer = scope, .settings = {step->as.loop.read_count, settings}};
    int64_t most = 0;
    if (!settings)
        return kiln__fail_memory(w->error);
    kiln__diag diag = {.mem = w->plan->mem};
    kiln__expr_eval_int(step->as.loop.at_most, scope, "at_most", &most, &diag);
    kiln_status status = kiln__plan_diag(w->plan, &diag, KILN_ERROR_SPEC, w->error);
    for (int64_t times = 0; status == KILN_OK; times++) {
        bool go = false;
        status = still_in_time(w, step, times);
        if (status == KILN_OK)
            status = read_all(w, step, scope, settings);
        if (status != KILN_OK)
            break;
        kiln__expr_eval_bool(step->as.loop.cond, &inner, "cond", &go, &diag);
        status = kiln__plan_diag(w->plan, &diag, KILN_ERROR_SPEC, w->error);
        if (status != KILN_OK || !go)
            break;
        if (w->work)
            w->work->rounds++;
        if (times >= most)
            status = fail_at(w, KILN_ERROR_TIMEOUT, step->pos,
                             "the loop has not ended after at_most = %" PRId64 " rounds", most);
        else
            status = walk_steps(w, step->as.loop.steps, step->as.loop.step_count, &inner);
    }
    kiln__free(w->plan->mem, settings);
    return status;
}

/* ---- all steps ---- */

static kiln_status swap(walk *w, const kiln__step *step)
{
    unsigned *a = &w->plan->slots[kiln__plan_buffer_find(w->plan, step->as.swap.a) - w->plan->buffers];
    unsigned *b = &w->plan->slots[kiln__plan_buffer_find(w->plan, step->as.swap.b) - w->plan->buffers];
    const kiln__plan_buffer *x = &w->plan->buffers[*a], *y = &w->plan->buffers[*b];
    if (x->bytes != y->bytes || x->type != y->type)
        return fail_at(w, KILN_ERROR_LAUNCH, step->pos, "'%s' and '%s' differ in type or size and cannot be swapped",
                       step->as.swap.a, step->as.swap.b);
    unsigned kept = *a;
    *a = *b;
    *b = kept;
    if (w->program)
        w->program->swaps = true;
    return KILN_OK;
}

static kiln_status walk_steps(walk *w, const kiln__step *steps, size_t count, const kiln__scope *scope)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count && status == KILN_OK; i++) {
        const kiln__step *step = &steps[i];
        switch (step->kind) {
        case KILN__STEP_LAUNCH: status = launch(w, step, scope); break;
        case KILN__STEP_FILL: status = fill(w, step, scope); break;
        case KILN__STEP_COPY: status = copy(w, step, scope); break;
        case KILN__STEP_SYMBOL: status = symbol(w, step, scope); break;
        case KILN__STEP_SWAP: status = swap(w, step); break;
        case KILN__STEP_HOST: status = host(w, step, scope); break;
        case KILN__STEP_REPEAT: status = repeat(w, step, scope); break;
        case KILN__STEP_WHILE: status = loop(w, step, scope); break;
        }
    }
    return status;
}

static void reset_slots(kiln_plan *plan)
{
    for (size_t i = 0; i < plan->variant->buffer_count; i++)
        plan->slots[i] = (unsigned)i;
}

/* Builds a program, which is an array of driver calls, by a walk over the steps. Sets *dynamic to true if there are too
 * many calls to store. */
static kiln_status build(kiln_plan *plan, kiln__program *program, const kiln__step *steps, size_t count, bool *dynamic,
                         kiln_error **error)
{
    walk w = {.plan = plan, .program = program, .error = error};
    kiln__arena_free(&program->arena);
    program->count = 0;
    program->swaps = false;
    reset_slots(plan);
    kiln__textures_begin(plan, program == &plan->before ? KILN__TEXTURE_BEFORE : KILN__TEXTURE_STEPS);
    kiln_status status = walk_steps(&w, steps, count, &plan->scope);
    if (status == KILN_OK)
        status = kiln__textures_end(plan, error);
    if (w.too_long) {
        *dynamic = true;
        return KILN_OK;
    }
    if (status == KILN_OK)
        memcpy(program->final, plan->slots, plan->variant->buffer_count * sizeof *plan->slots);
    program->ready = status == KILN_OK;
    return status;
}

/* Evaluates the steps, and runs each operation at once. */
static kiln_status walk_now(walk *w, const kiln__step *steps, size_t count)
{
    kiln_plan *plan = w->plan;
    reset_slots(plan);
    kiln__textures_begin(plan, steps == plan->variant->before ? KILN__TEXTURE_BEFORE : KILN__TEXTURE_STEPS);
    kiln_status status = walk_steps(w, steps, count, &plan->scope);
    return status == KILN_OK ? kiln__textures_end(plan, w->error) : status;
}

/* Copies buffers into the CUDA arrays of textures. This copy is not part of the measured time. So the steps must be
 * evaluated before the time begins. */
static kiln_status fill_arrays(kiln_plan *plan, bool before, CUstream stream, kiln_error **error)
{
    const kiln__variant *variant = plan->variant;
    kiln_status status = KILN_OK;
    if (before && plan->spec->has_arrays && !plan->dynamic && !plan->steps.ready)
        status = build(plan, &plan->steps, variant->steps, variant->step_count, &plan->dynamic, error);
    return status == KILN_OK ? kiln__textures_fill(plan, stream, error) : status;
}

/* If the program is out of date, builds it. Then runs the program. Dynamic steps are evaluated instead. */
kiln_status kiln__steps_enqueue(kiln_plan *plan, bool before, CUstream stream, kiln_error **error)
{
    kiln__program *program = before ? &plan->before : &plan->steps;
    bool *dynamic = before ? &plan->before_dynamic : &plan->dynamic;
    const kiln__step *steps = before ? plan->variant->before : plan->variant->steps;
    size_t count = before ? plan->variant->before_count : plan->variant->step_count;
    walk w = {.plan = plan, .stream = stream, .error = error, .work = before ? NULL : &plan->work};
    plan->work.runs += !before;
    if (!*dynamic && !program->ready) {
        kiln_status status = build(plan, program, steps, count, dynamic, error);
        if (status != KILN_OK)
            return status;
    }
    if (*dynamic)
        return walk_now(&w, steps, count);
    kiln_status filled = fill_arrays(plan, before, stream, error);
    if (filled != KILN_OK)
        return filled;
    for (size_t i = 0; i < program->count; i++) {
        kiln_status late = plan->limit.on ? look_at_time(&w) : KILN_OK;
        if (late != KILN_OK)
            return late;
        CUresult result = run_op(plan, &program->ops[i], stream);
        if (result != CUDA_SUCCESS)
            return op_failed(&w, result, &program->ops[i]);
    }
    memcpy(plan->slots, program->final, plan->variant->buffer_count * sizeof *plan->slots);
    return KILN_OK;
}

/* ---- the geometry for kiln_plan_kernel() ---- */

/* Evaluates the geometry of each kernel's first launch without running anything. Skips expressions that need data from
 * the device. */
static void geometry(kiln_plan *plan, const kiln__step *steps, size_t count, const kiln__scope *scope)
{
    for (size_t i = 0; i < count; i++) {
        const kiln__step *step = &steps[i];
        if (step->kind == KILN__STEP_REPEAT) {
            kiln_setting index = {step->as.repeat.index, {.kind = KILN_INT}};
            kiln__scope inner = {.outer = scope, .settings = {step->as.repeat.index ? 1 : 0, &index}};
            geometry(plan, step->as.repeat.steps, step->as.repeat.step_count, &inner);
        } else if (step->kind == KILN__STEP_WHILE) {
            geometry(plan, step->as.loop.steps, step->as.loop.step_count, scope);
        }
        if (step->kind != KILN__STEP_LAUNCH)
            continue;
        kiln__text filled = {.mem = plan->mem};
        int64_t dims[7] = {0};
        const char *name = kiln__launch_kernel(step, scope, &filled, NULL);
        bool ok = name != NULL;
        for (int d = 0; d < 3 && ok; d++)
            ok = kiln__expr_eval_int(step->as.launch.grid[d], scope, "grid", &dims[d], NULL) &&
                 kiln__expr_eval_int(step->as.launch.block[d], scope, "block", &dims[3 + d], NULL);
        if (ok && step->as.launch.shared)
            ok = kiln__expr_eval_int(step->as.launch.shared, scope, "shared", &dims[6], NULL);
        for (size_t k = 0; k < plan->kernel_count && ok; k++) {
            kiln__plan_kernel *kernel = &plan->kernels[k];
            if (kernel->known || strcmp(kernel->name, name) != 0)
                continue;
            kernel->known = true;
            for (int d = 0; d < 3; d++) {
                kernel->grid[d] = (unsigned)dims[d];
                kernel->block[d] = (unsigned)dims[3 + d];
            }
            kernel->dynamic_shared = (unsigned)dims[6];
        }
        kiln__text_free(&filled);
    }
}

void kiln__steps_geometry(kiln_plan *plan)
{
    const kiln__scope *scope = plan->laid_out ? &plan->scope : kiln__config_scope(plan->config);
    geometry(plan, plan->variant->steps, plan->variant->step_count, scope);
    kiln_error_free(plan->pending);
    plan->pending = NULL;
}
