/* plan.c - the states of a plan. A plan goes through these states in order:
 *
 * - loaded: The plan has its code and its kernels.
 * - laid out: The inputs are made, and the shapes of the buffers are known.
 * - allocated: The buffers have memory.
 * - ready: The buffers are filled.
 *
 * Binding, writing and resizing lead back to an earlier state. Each use of the plan moves it forward to the state
 * that the use needs. */
#include <inttypes.h>
#include <string.h>

#include "arguments_internal.h"
#include "calls_internal.h"
#include "capture_internal.h"
#include "launch_internal.h"
#include "layout_internal.h"
#include "measure_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "steps_internal.h"
#include "texture_internal.h"

/* ---- the module ---- */

static CUresult load_image(kiln_plan *plan, const void *image, char *log, size_t room)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)room};
    log[0] = '\0';
    return plan->engine->driver.cuModuleLoadDataEx_(&plan->module, image, 2, options, values);
}

/* Loads machine code if the compiler made machine code and the device accepts it. Otherwise loads the PTX. */
static kiln_status load_module(kiln_plan *plan, kiln_error **error)
{
    char log[4096];
    const kiln__unit *unit = &plan->code.unit;
    kiln_engine *engine = plan->engine;
    /* the simulator takes only the numbers of registers and spills from machine code */
    bool machine_code = engine->want_cubin && !engine->driver.simulator;
    if (machine_code && kiln__is_relocatable(unit->cubin, unit->cubin_length))
        return kiln__load_linked(plan, unit->cubin, unit->cubin_length, error);
    if (machine_code && unit->cubin && unit->cubin_length) {
        CUresult result = load_image(plan, unit->cubin, log, sizeof log);
        if (result == CUDA_SUCCESS)
            return KILN_OK;
        if (!unit->ptx || kiln__driver_is_sticky(result))
            return kiln__driver_fail(&engine->driver, plan->mem, result, error, "loading the machine code");
        kiln__logf(&engine->log, KILN_LOG_WARNING, "%s %s: the device rejects the machine code (%d); using PTX",
                   plan->spec->name, plan->variant->name, (int)result);
    }
    if (!unit->ptx)
        return kiln__fail(plan->mem, error, KILN_ERROR_INTERNAL, "%s: the compiled code has no PTX", plan->spec->name);
    CUresult result = load_image(plan, unit->ptx, log, sizeof log);
    if (result == CUDA_SUCCESS)
        return KILN_OK;
    log[sizeof log - 1] = '\0';
    return kiln__driver_fail(&engine->driver, plan->mem, result, error, "loading the code of %s %s%s%s",
                             plan->spec->name, plan->variant->name, log[0] ? ":\n" : "", log);
}

/* Passes the register count and the spills to the simulated device, if the compiler made machine code. */
static kiln_status tell_registers(const kiln_plan *plan, CUfunction function, const char *symbol, kiln_error **error)
{
    const kiln__unit *unit = &plan->code.unit;
    kiln__cubin_kernel *kernels = NULL;
    size_t count = 0;
    if (!unit->cubin || !unit->cubin_length || kiln__is_relocatable(unit->cubin, unit->cubin_length))
        return KILN_OK; /* the registers are unknown until the code is linked */
    kiln_status status = kiln__cubin_kernels(plan->mem, unit->cubin, unit->cubin_length, &kernels, &count, error);
    for (size_t i = 0; status == KILN_OK && i < count; i++)
        if (strcmp(kernels[i].symbol, symbol) == 0) {
            kiln__sim_spills spills = {.local_bytes = kernels[i].local_bytes};
            if (unit->log) /* without a log of the compiler the spills are unknown, and count as no spills */
                kiln__compile_log_spills(unit->log, symbol, &spills.store_bytes, &spills.load_bytes);
            plan->engine->driver.simulator->kernel_registers(function, kernels[i].registers, &spills);
        }
    kiln__free(plan->mem, kernels);
    return status;
}

/* Compares the parameters in the PTX with the parameters that the driver copies at a launch. If the driver copied more
 * bytes than the plan has for an argument, it would give memory of this process to the kernel. A driver before CUDA 12.4
 * does not tell the parameters. For such a driver the plan pads the arguments of each launch with zeros. */
static kiln_status check_parameters(const kiln_plan *plan, const kiln__plan_kernel *kernel, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    const kiln__signature *signature = &kernel->signature;
    bool equal = true;
    for (size_t i = 0; driver->cuFuncGetParamInfo_ && i <= signature->count && equal; i++) {
        size_t offset = 0, bytes = 0;
        const bool is_there = driver->cuFuncGetParamInfo_(kernel->function, i, &offset, &bytes) == CUDA_SUCCESS;
        equal = !is_there || (i < signature->count && bytes <= signature->params[i].bytes);
    }
    return equal ? KILN_OK
                 : kiln__fail(plan->mem, error, KILN_ERROR_COMPILE,
                              "%s: the compiled code of kernel %s takes other parameters than its PTX tells",
                              plan->spec->name, kernel->name);
}

static kiln_status find_kernel(kiln_plan *plan, kiln__plan_kernel *kernel, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    const char *symbol = kiln__code_symbol(&plan->code, kernel->name);
    int value = 0;
    if (!symbol)
        return kiln__fail(plan->mem, error, KILN_ERROR_NOT_FOUND,
                          "%s: the source has no kernel '%s' (is it declared extern \"C\" __global__?)",
                          plan->spec->name, kernel->name);
    kiln_status status = KILN_OK;
    if (plan->code.unit.ptx)
        status = kiln__signature_read(&plan->arena, plan->code.unit.ptx, plan->code.unit.ptx_length, symbol,
                                      &kernel->signature, error);
    if (status != KILN_OK)
        return status;
    CUresult result = driver->cuModuleGetFunction_(&kernel->function, plan->module, symbol);
    if (result == CUDA_SUCCESS)
        result = driver->cuFuncGetAttribute_(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel->function);
    kernel->static_shared = value > 0 ? (uint64_t)value : 0;
    if (result == CUDA_SUCCESS)
        result = driver->cuFuncGetAttribute_(&kernel->max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                             kernel->function);
    if (result != CUDA_SUCCESS)
        return kiln__driver_fail(driver, plan->mem, result, error, "looking up kernel %s", kernel->name);
    status = check_parameters(plan, kernel, error);
    return status == KILN_OK && driver->simulator ? tell_registers(plan, kernel->function, symbol, error) : status;
}

/* Returns the largest number of argument words of a launch of the variant. */
static size_t find_most_words(const kiln__variant *variant)
{
    const size_t a = kiln__steps_most_words(variant->steps, variant->step_count);
    const size_t b = kiln__steps_most_words(variant->before, variant->before_count);
    return a > b ? a : b;
}

/* Loads the plan's code and finds its kernels. The context must be current. */
static kiln_status load(kiln_plan *plan, kiln_error **error)
{
    const char *const *names;
    kiln_status status = kiln__config_kernels(plan->config, plan->mem, &plan->arena, &names, &plan->kernel_count,
                                              error);
    if (status != KILN_OK) {
        plan->kernel_count = 0;
        return status;
    }
    plan->kernels = kiln__arena_alloc(&plan->arena, (plan->kernel_count + 1) * sizeof *plan->kernels);
    if (!plan->kernels)
        return kiln__fail_memory(error);
    status = load_module(plan, error);
    const kiln__unit *unit = &plan->code.unit;
    plan->unit = plan->variant->unit
                     ? plan->variant->unit
                     : kiln__fastest_unit(&plan->engine->info, unit->ptx, unit->ptx ? unit->ptx_length : 0);
    for (size_t i = 0; i < plan->kernel_count && status == KILN_OK; i++) {
        plan->kernels[i].name = names[i];
        status = find_kernel(plan, &plan->kernels[i], error);
    }
    if (status == KILN_OK && !plan->engine->driver.cuFuncGetParamInfo_ &&
        !kiln__arguments_make_room(plan, find_most_words(plan->variant)))
        return kiln__fail_memory(error);
    return status;
}

/* ---- making and freeing ---- */

bool kiln__plan_make_tables(kiln_plan *plan)
{
    const kiln__variant *variant = plan->variant;
    size_t buffers = variant->buffer_count, args = find_most_words(variant) + 1;
    kiln__arena *arena = &plan->arena;
    plan->inputs = kiln__arena_alloc(arena, (variant->input_count + 1) * sizeof *plan->inputs);
    plan->buffers = kiln__arena_alloc(arena, (buffers + 1) * sizeof *plan->buffers);
    plan->slots = kiln__arena_alloc(arena, (buffers + 1) * sizeof *plan->slots);
    plan->steps.final = kiln__arena_alloc(arena, (buffers + 1) * sizeof *plan->slots);
    plan->before.final = kiln__arena_alloc(arena, (buffers + 1) * sizeof *plan->slots);
    plan->values = kiln__arena_alloc(arena, args * sizeof *plan->values);
    plan->pointers = kiln__arena_alloc(arena, args * sizeof *plan->pointers);
    if (arena->failed)
        return false;
    for (size_t i = 0; i < variant->input_count; i++)
        plan->inputs[i].input = &variant->inputs[i];
    for (size_t i = 0; i < buffers; i++) {
        plan->buffers[i].buffer = &variant->buffers[i];
        plan->slots[i] = (unsigned)i;
    }
    plan->dynamic = kiln__steps_dynamic(variant->steps, variant->step_count);
    plan->before_dynamic = kiln__steps_dynamic(variant->before, variant->before_count);
    return true;
}

/* Makes the plan's tables, and loads the code in the engine's context. If this fails, frees the plan, the configuration
 * and the code. */
kiln_status kiln__plan_make(kiln_engine *engine, kiln__config *config, kiln__code *code, kiln_plan **plan,
                            kiln_error **error)
{
    kiln_plan *made = kiln__calloc(engine->mem, 1, sizeof *made);
    CUcontext previous = NULL;
    if (!made) {
        kiln__config_free(config);
        kiln__code_free(code);
        memset(code, 0, sizeof *code);
        return kiln__fail_memory(error);
    }
    made->engine = engine;
    made->mem = engine->mem;
    made->spec = config->spec;
    made->variant = config->variant;
    made->config = config;
    made->code = *code;
    memset(code, 0, sizeof *code);
    made->arena.mem = made->steps.arena.mem = made->before.arena.mem = engine->mem;
    kiln_status status = kiln__shared_open(engine, made->spec, &made->own, error);
    if (status == KILN_OK) {
        made->own->sweep = false;
        made->shared = made->own;
        status = kiln__plan_make_tables(made) ? kiln__engine_enter(engine, &previous, error) : kiln__fail_memory(error);
    }
    if (status == KILN_OK) {
        status = load(made, error);
        kiln__engine_leave(engine, previous);
    }
    if (status == KILN_OK)
        *plan = made;
    else
        kiln_plan_close(made);
    return status;
}

static kiln_status make_code(kiln_engine *engine, const kiln__config *config, kiln__code *code, kiln_error **error)
{
    kiln__code_job *job;
    memset(code, 0, sizeof *code);
    kiln_status status = kiln__code_start(engine, config, NULL, engine->want_cubin, &job, error);
    return status == KILN_OK ? kiln__code_take(job, code, error) : status;
}

kiln_status kiln_plan_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, kiln_plan **plan,
                           kiln_error **error)
{
    kiln__config *config;
    kiln__code code;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS(engine->mem, error, plan);
    KILN__NEEDS_CHOICE(engine->mem, error, choice);
    kiln_status status = kiln__config_make(engine, spec, choice, &config, error);
    if (status != KILN_OK)
        return status;
    status = make_code(engine, config, &code, error);
    if (status != KILN_OK) {
        kiln__config_free(config);
        return status;
    }
    return kiln__plan_make(engine, config, &code, plan, error);
}

static void close_references(kiln_plan *plan)
{
    for (size_t i = 0; plan->others && i < plan->spec->verify_count; i++)
        kiln_plan_close(plan->others[i]);
    kiln__free(plan->mem, plan->others);
    plan->others = NULL;
}

/* First frees the objects of the device, if the engine's context can be entered. If the engine is stuck, these objects
 * stay until the process ends.
 */
void kiln_plan_close(kiln_plan *plan)
{
    if (!plan)
        return;
    CUcontext previous = NULL;
    const kiln_allocator *mem = plan->mem;
    close_references(plan);
    if (kiln__engine_enter(plan->engine, &previous, NULL) == KILN_OK) {
        for (size_t i = 0; plan->buffers && i < plan->variant->buffer_count; i++)
            if (plan->buffers[i].buffer)
                kiln__plan_release(plan, &plan->buffers[i]);
        kiln__arguments_free(plan);
        kiln__textures_free(plan);
        if (plan->module)
            plan->engine->driver.cuModuleUnload_(plan->module);
        kiln__engine_leave(plan->engine, previous);
    }
    for (size_t i = 0; i < plan->list_count; i++)
        kiln__free(mem, plan->lists[i].items);
    kiln__free(mem, plan->lists);
    kiln__free(mem, plan->textures);
    for (size_t i = 0; plan->buffers && i < plan->variant->buffer_count; i++)
        kiln__free(mem, plan->buffers[i].key);
    kiln__shared_free(plan->own);
    kiln__free(mem, plan->times);
    kiln__free(mem, plan->capture_folder);
    kiln__free(mem, plan->captured);
    kiln__free(mem, plan->steps.ops);
    kiln__free(mem, plan->before.ops);
    kiln__arena_free(&plan->steps.arena);
    kiln__arena_free(&plan->before.arena);
    kiln__arena_free(&plan->arena);
    kiln_error_free(plan->pending);
    kiln__code_free(&plan->code);
    kiln__config_free(plan->config);
    kiln__free(mem, plan);
}

void kiln__plan_whole(kiln_plan *plan) { plan->whole = true; }

void kiln__plan_answer(kiln_plan *plan, kiln__answer_use use) { plan->answer_use = use; }

void kiln__plan_renew(kiln_plan *plan, kiln__renewal renewal) { plan->renewal = renewal; }

void kiln__plan_share(kiln_plan *plan, kiln__shared *shared)
{
    if (shared)
        plan->shared = shared;
}

/* ---- resize ---- */

/* Writes a text that is equal for two configurations of a variant if and only if they have the same code. The text has
 * the values of all macros and options, and the names of the kernels. */
static bool code_values(const kiln__config *config, kiln__text *out)
{
    const kiln__variant *variant = config->variant;
    const kiln__scope *scope = kiln__config_scope(config);
    const char *const *names;
    size_t count;
    kiln_value value;
    for (size_t i = 0; i < variant->bake_count; i++)
        if (kiln__scope_find(scope, variant->bake[i], &value)) {
            kiln__text_puts(out, " ");
            kiln__value_print(out, value);
        }
    for (size_t i = 0; i < variant->define_count; i++)
        if (kiln__expr_eval(variant->defines[i].expr, scope, &value, NULL)) {
            kiln__text_puts(out, " ");
            kiln__value_print(out, value);
        }
    for (size_t i = 0; i < variant->option_count; i++) {
        kiln__text_puts(out, "\n");
        kiln__template_fill(variant->options[i], scope, out, NULL);
    }
    for (size_t p = 0; p < variant->param_count; p++)
        for (size_t i = 0; i < variant->params[p].option_count; i++) {
            kiln__text_puts(out, "\n");
            kiln__template_fill(variant->params[p].options[i], scope, out, NULL);
        }
    kiln__arena arena = {.mem = out->mem};
    if (kiln__config_kernels(config, out->mem, &arena, &names, &count, NULL) != KILN_OK)
        out->failed = true;
    for (size_t i = 0; !out->failed && i < count; i++)
        kiln__text_printf(out, "\n%s", names[i]);
    kiln__arena_free(&arena);
    return !out->failed;
}

/* Replaces the configuration, the code and the module of a plan. On success frees the old objects. On failure frees the
 * new objects. */
static kiln_status replace_code(kiln_plan *plan, kiln__config *config, kiln_error **error)
{
    kiln_plan *fresh;
    kiln__code code;
    kiln_status status = make_code(plan->engine, config, &code, error);
    if (status != KILN_OK) {
        kiln__config_free(config);
        return status;
    }
    status = kiln__plan_make(plan->engine, config, &code, &fresh, error);
    if (status != KILN_OK)
        return status;
    /* The plan keeps its buffers and gets the new code. The other struct gets the old code, and is freed. */
    kiln_plan shell = *fresh;
    for (size_t i = 0; i < plan->variant->buffer_count; i++) {
        shell.buffers[i] = plan->buffers[i];
        plan->buffers[i] = (kiln__plan_buffer){.buffer = plan->buffers[i].buffer};
    }
    shell.shared = plan->shared;
    shell.capture_folder = plan->capture_folder;
    shell.captured = plan->captured;
    plan->capture_folder = plan->captured = NULL;
    kiln__shared *own = shell.own;
    shell.own = plan->own;
    *fresh = *plan;
    fresh->own = own;
    fresh->shared = own;
    *plan = shell;
    kiln_plan_close(fresh);
    return KILN_OK;
}

/* Makes a configuration of the plan with the new sizes. Compiles only if the code with the new sizes differs. Then
 * computes the new shapes of the buffers. */
kiln_status kiln_plan_resize(kiln_plan *plan, const kiln_setting *sizes, size_t count, kiln_error **error)
{
    KILN__NEEDS(NULL, error, plan);
    KILN__NEEDS_SETTINGS(plan->mem, error, sizes, count);
    kiln__text old = {.mem = plan->mem}, now = {.mem = plan->mem};
    kiln__config *config;
    size_t had = plan->config->sizes.count;
    kiln_setting *all = kiln__calloc(plan->mem, had + count + 1, sizeof *all);
    if (!all)
        return kiln__fail_memory(error);
    had = 0; /* reads the extents of files again, because the same name may now lead to another file */
    for (size_t i = 0; i < plan->config->sizes.count; i++)
        if (!plan->config->extents[i])
            all[had++] = plan->config->sizes.items[i];
    if (count)
        memcpy(all + had, sizes, count * sizeof *all);
    kiln_choice choice = {.variant = plan->variant->name,
                          .params = plan->config->params.items,
                          .param_count = plan->config->params.count,
                          .size_set = plan->config->size_set,
                          .sizes = all,
                          .size_count = had + count};
    kiln_status status = kiln__config_make_for(plan->engine, plan->spec, &choice, plan->device, &config, error);
    kiln__free(plan->mem, all);
    if (status != KILN_OK)
        return status;
    bool known = code_values(plan->config, &old) && code_values(config, &now);
    bool same = known && strcmp(kiln__text_get(&old), kiln__text_get(&now)) == 0;
    kiln__text_free(&old);
    kiln__text_free(&now);
    if (same) {
        kiln__config_free(plan->config);
        plan->config = config;
    } else {
        status = replace_code(plan, config, error);
    }
    if (status == KILN_OK) {
        kiln__plan_forget(plan);
        plan->dynamic = kiln__steps_dynamic(plan->variant->steps, plan->variant->step_count);
        plan->before_dynamic = kiln__steps_dynamic(plan->variant->before, plan->variant->before_count);
        for (size_t i = 0; i < plan->kernel_count; i++)
            plan->kernels[i].known = false;
        CUcontext previous;
        status = kiln__engine_enter(plan->engine, &previous, error);
        if (status == KILN_OK) {
            status = kiln__plan_layout(plan, error); /* this call frees the buffers whose size has changed */
            kiln__engine_leave(plan->engine, previous);
        }
    }
    return status;
}

const char *kiln_plan_size_set(const kiln_plan *plan) { return plan ? plan->config->size_set : NULL; }

const kiln_setting *kiln_plan_size(const kiln_plan *plan, size_t number)
{
    return plan && number < plan->config->sizes.count ? &plan->config->sizes.items[number] : NULL;
}

/* ---- buffers ---- */

/* Replaces the memory of a buffer by memory of the caller, after checking that the memory of the caller has enough
 * bytes. */
kiln_status kiln_plan_bind(kiln_plan *plan, const char *buffer, CUdeviceptr pointer, size_t bytes, kiln_error **error)
{
    CUcontext previous;
    KILN__NEEDS(NULL, error, plan);
    KILN__NEEDS_TEXT(plan->mem, error, buffer);
    kiln__plan_buffer *b = kiln__plan_buffer_find(plan, buffer);
    if (!b)
        return kiln__plan_no_buffer(plan, buffer, error);
    kiln_status status = kiln__engine_enter(plan->engine, &previous, error);
    if (status != KILN_OK)
        return status;
    status = kiln__plan_layout(plan, error);
    if (status == KILN_OK && bytes < b->bytes)
        status = kiln__fail(plan->mem, error, KILN_ERROR_ARGUMENT,
                            "buffer %s has %" PRIu64 " bytes with these sizes; the memory given for it has %zu", buffer,
                            b->bytes, bytes);
    if (status == KILN_OK && !pointer && b->bytes)
        status = kiln__fail(plan->mem, error, KILN_ERROR_ARGUMENT, "buffer %s cannot be bound to a null pointer",
                            buffer);
    if (status == KILN_OK) {
        kiln__plan_release(plan, b);
        b->owner = KILN__OWNER_CALLER;
        b->pointer = pointer;
        b->custom = true;
        kiln__plan_name_memory(plan, b, true);
    }
    kiln__engine_leave(plan->engine, previous);
    return status;
}

/* Makes the inputs and computes the shapes of buffers. */
static kiln_status lay_out(kiln_plan *plan, kiln_error **error)
{
    CUcontext previous; /* needs the context, because a buffer whose size has changed is freed */
    if (plan->laid_out)
        return KILN_OK;
    kiln_status status = kiln__engine_enter(plan->engine, &previous, error);
    if (status != KILN_OK)
        return status;
    status = kiln__plan_layout(plan, error);
    kiln__engine_leave(plan->engine, previous);
    return status;
}

kiln_status kiln_plan_buffer_bytes(const kiln_plan *plan, const char *buffer, uint64_t *bytes, kiln_error **error)
{
    KILN__NEEDS(NULL, error, plan);
    KILN__NEEDS_TEXT(plan->mem, error, buffer);
    KILN__NEEDS(plan->mem, error, bytes);
    /* the function changes only cached results, which the caller cannot see */
    kiln_plan *mutable = (kiln_plan *)(uintptr_t)plan;
    const kiln__plan_buffer *b = kiln__plan_buffer_find(plan, buffer);
    if (!b)
        return kiln__plan_no_buffer(plan, buffer, error);
    kiln_status status = lay_out(mutable, error);
    if (status == KILN_OK)
        *bytes = b->bytes;
    return status;
}

kiln_status kiln_plan_buffer(kiln_plan *plan, const char *buffer, CUdeviceptr *pointer, kiln_error **error)
{
    CUcontext previous;
    KILN__NEEDS(NULL, error, plan);
    KILN__NEEDS_TEXT(plan->mem, error, buffer);
    KILN__NEEDS(plan->mem, error, pointer);
    if (!kiln__plan_buffer_find(plan, buffer))
        return kiln__plan_no_buffer(plan, buffer, error);
    kiln_status status = kiln__engine_enter(plan->engine, &previous, error);
    if (status != KILN_OK)
        return status;
    status = kiln__plan_fill(plan, false, error);
    if (status == KILN_OK)
        *pointer = kiln__plan_buffer_named(plan, buffer)->pointer;
    kiln__engine_leave(plan->engine, previous);
    return status;
}

/* Copies a buffer. If `to_device` is true, reads `data` and writes the buffer; otherwise reads the buffer and writes
 * `data`. */
static kiln_status transfer(kiln_plan *plan, const char *buffer, void *data, size_t bytes, bool to_device,
                            kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    CUcontext previous;
    if (!kiln__plan_buffer_find(plan, buffer))
        return kiln__plan_no_buffer(plan, buffer, error);
    kiln_status status = kiln__engine_enter(plan->engine, &previous, error);
    if (status != KILN_OK)
        return status;
    status = to_device ? kiln__plan_allocate(plan, error) : kiln__plan_fill(plan, false, error);
    kiln__plan_buffer *b = kiln__plan_buffer_named(plan, buffer);
    if (status == KILN_OK && bytes != b->bytes)
        status = kiln__fail(plan->mem, error, KILN_ERROR_ARGUMENT, "buffer %s has %" PRIu64 " bytes, not %zu", buffer,
                            b->bytes, bytes);
    /* Waits for the device, because launches may run on a stream for which the stream of the copy does not wait. */
    CUresult result = CUDA_SUCCESS;
    if (status == KILN_OK)
        result = driver->cuCtxSynchronize_();
    if (status == KILN_OK && result == CUDA_SUCCESS && bytes)
        result = to_device ? driver->cuMemcpyHtoD_(b->pointer, data, bytes)
                           : driver->cuMemcpyDtoH_(data, b->pointer, bytes);
    if (status == KILN_OK && result != CUDA_SUCCESS)
        status = kiln__driver_fail(driver, plan->mem, result, error, "copying buffer %s %s the device", buffer,
                                   to_device ? "to" : "from");
    if (status == KILN_OK && to_device)
        b->filled = b->custom = true;
    kiln__engine_leave(plan->engine, previous);
    return status;
}

kiln_status kiln_plan_write(kiln_plan *plan, const char *buffer, const void *data, size_t bytes, kiln_error **error)
{
    KILN__NEEDS(NULL, error, plan);
    KILN__NEEDS_TEXT(plan->mem, error, buffer);
    if (bytes)
        KILN__NEEDS(plan->mem, error, data);
    return transfer(plan, buffer, (void *)(uintptr_t)data, bytes, true, error);
}

kiln_status kiln_plan_read(kiln_plan *plan, const char *buffer, void *data, size_t bytes, kiln_error **error)
{
    KILN__NEEDS(NULL, error, plan);
    KILN__NEEDS_TEXT(plan->mem, error, buffer);
    if (bytes)
        KILN__NEEDS(plan->mem, error, data);
    return transfer(plan, buffer, data, bytes, false, error);
}

/* ---- launches ---- */

static kiln_status enqueue(kiln_plan *plan, bool before, CUstream stream, kiln_error **error)
{
    CUcontext previous;
    kiln_status status = kiln__engine_enter(plan->engine, &previous, error);
    if (status != KILN_OK)
        return status;
    if (!plan->ready)
        status = kiln__plan_fill(plan, false, error);
    kiln__textures_stale(plan); /* the caller may have written into buffers that textures read */
    if (status == KILN_OK && !before && kiln__capture_possible(plan))
        status = kiln__capture_launch(plan, stream, error);
    else if (status == KILN_OK)
        status = kiln__steps_enqueue(plan, before, stream, error);
    kiln__engine_leave(plan->engine, previous);
    return status;
}

kiln_status kiln_plan_launch(kiln_plan *plan, CUstream stream, kiln_error **error)
{
    KILN__NEEDS(NULL, error, plan);
    return enqueue(plan, false, stream, error);
}

kiln_status kiln_plan_reset(kiln_plan *plan, CUstream stream, kiln_error **error)
{
    KILN__NEEDS(NULL, error, plan);
    return enqueue(plan, true, stream, error);
}

size_t kiln_plan_kernel_count(const kiln_plan *plan) { return plan ? plan->kernel_count : 0; }

const kiln_kernel_info *kiln_plan_kernel(kiln_plan *plan, size_t kernel)
{
    if (kernel >= kiln_plan_kernel_count(plan))
        return NULL;
    kiln__plan_kernel *k = &plan->kernels[kernel];
    if (!k->known)
        kiln__steps_geometry(plan);
    k->info = (kiln_kernel_info){
        .name = k->name,
        .function = k->function,
        .dynamic_shared = k->dynamic_shared,
        .from_cache = plan->code.from_cache,
        .cooperative = k->attributes.cooperative,
        .overlap = k->attributes.overlap,
        .priority = k->attributes.priority,
        .carveout = k->known ? k->attributes.carveout : -1,
        .cluster_scheduling = k->attributes.scheduling ? kiln__schedulings[k->attributes.scheduling] : ""};
    memcpy(k->info.cluster, k->attributes.cluster, sizeof k->info.cluster);
    memcpy(k->info.grid, k->grid, sizeof k->info.grid);
    memcpy(k->info.block, k->block, sizeof k->info.block);
    return &k->info;
}

/* ---- metrics ---- */

size_t kiln_plan_metric_count(const kiln_plan *plan) { return plan ? plan->variant->metric_count : 0; }

kiln_status kiln_plan_metric(kiln_plan *plan, size_t metric, const char **name, double *value, kiln_error **error)
{
    KILN__NEEDS(NULL, error, plan);
    KILN__NEEDS(plan->mem, error, name);
    KILN__NEEDS(plan->mem, error, value);
    if (metric >= plan->variant->metric_count)
        return kiln__fail(plan->mem, error, KILN_ERROR_NOT_FOUND, "%s has %zu metrics", plan->variant->name,
                          plan->variant->metric_count);
    KILN__TRY(lay_out(plan, error));
    *name = plan->variant->metrics[metric].name;
    const char *missing;
    kiln__diag diag = {.mem = plan->mem};
    const kiln__metered of = {plan->mem, plan->variant, &plan->scope, &plan->result,
                              kiln__result_seconds(&plan->result)};
    bool ready = kiln__metrics_one(&of, metric, value, &missing, &diag);
    KILN__TRY(kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error));
    if (!ready)
        return kiln__fail_memory(error);
    return !missing ? KILN_OK
                    : kiln__fail(plan->mem, error, KILN_ERROR_UNSUPPORTED,
                                 "the metric '%s' needs '%s', which the last run did not measure", *name, missing);
}
