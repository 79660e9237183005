/* profile.c - runs a plan on the simulated device, and counts what every kernel, source line and instruction executes.
 * The file also has kiln_trace(), which records single accesses. */
#include <stdlib.h>
#include <string.h>

#include "calls_internal.h"
#include "layout_internal.h"
#include "limit_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "steps_internal.h"
#include "text_internal.h"
#include "verify_internal.h"

struct kiln_profiling {
    const kiln_allocator *mem;
    kiln__arena arena;
    bool verified;
    kiln_profiled_kernel *kernels;
    size_t kernel_count;
    /* for each kernel: the numbers of executed instructions by class, then the numbers of lanes */
    uint64_t *classes;
    /* the counters to which the member `counters` of kernels and lines points */
    kiln_counters *kernel_counters, *line_counters;
    kiln_profiled_line *lines;
    size_t line_count;
    kiln_profiled_insn *insns;
    size_t insn_count;
};

static const struct {
    const char *name, *text;
} classes[] = {
#define KILN_X(name, text) {#name, text},
    KILN_CLASS_MAP(KILN_X)
#undef KILN_X
};

const char *kiln_class_name(kiln_class what) { return (size_t)what < KILN_CLASS_COUNT ? classes[what].name : ""; }
const char *kiln_class_text(kiln_class what) { return (size_t)what < KILN_CLASS_COUNT ? classes[what].text : ""; }

static void add_counters(kiln_counters *sum, const kiln_counters *more)
{
#define ADD_SUM(to, from) ((to) += (from))
#define ADD_MOST(to, from) ((to) = (from) > (to) ? (from) : (to))
#define KILN_X(name, adds, text) ADD_##adds(sum->name, more->name);
    KILN_COUNTER_MAP(KILN_X)
#undef KILN_X
}

/* ---- the run that counts ---- */

typedef struct watcher { /* the state of a call of kiln_trace() */
    kiln_plan *plan;
    kiln_trace_fn show;
    void *user;
    bool over;
    uint64_t *steps;  /* the number of steps of each warp of the block */
    char kernel[256]; /* the kernel whose steps are counted now */
} watcher;
enum { MOST_WARPS = 32 };

static void see(void *user, const kiln__sim_access *access);

/* Runs the plan once. Counting is switched on only during the steps. */
static kiln_status counted_run(kiln_plan *plan, unsigned flags, watcher *watch, uint64_t block, kiln__arena *arena,
                               kiln__sim_kernel **kernels, size_t *count, kiln_result *result, kiln_error **error)
{
    const kiln__simulator *simulator = plan->engine->driver.simulator;
    bool check = !(flags & KILN_RUN_NO_VERIFY);
    kiln_status status = kiln__plan_fill(plan, true, error);
    if (status == KILN_OK && check)
        status = kiln__plan_references(plan, error);
    if (status == KILN_OK && check)
        status = kiln__plan_poison(plan, error);
    kiln__limit_start(plan);
    if (status == KILN_OK)
        status = kiln__limit_check(plan, error);
    if (status == KILN_OK)
        status = kiln__steps_enqueue(plan, true, NULL, error);
    if (status != KILN_OK)
        return status;
    if (!simulator->count_begin(watch ? see : NULL, watch, block))
        return kiln__fail(plan->mem, error, KILN_ERROR_MEMORY,
                          "out of memory for the counters, or another run uses them");
    status = kiln__steps_enqueue(plan, false, NULL, error);
    CUresult done = status == KILN_OK ? kiln__limit_wait_all(plan) : CUDA_SUCCESS;
    bool whole = simulator->count_end(arena, kernels, count);
    if (done != CUDA_SUCCESS) {
        kiln__text label = {.mem = plan->mem};
        kiln__config_print(plan->config, &label);
        status = kiln__limit_fail(plan, done, error, "running %s %s", plan->spec->name, kiln__text_get(&label));
        kiln__text_free(&label);
    }
    if (status == KILN_OK && !whole)
        status = kiln__fail_memory(error);
    if (status == KILN_OK && check)
        status = kiln__plan_verify(plan, result, error);
    return status;
}

static kiln_status simulated_only(kiln_engine *engine, kiln_error **error)
{
    kiln_status status = kiln__engine_device(engine, error);
    if (status == KILN_OK && !engine->driver.simulator)
        return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                          "only the simulated device counts instructions: use sim, not %s", engine->info.id);
    return status;
}

/* Opens the plan, and compiles machine code and PTX in one compile. The machine code tells the number of registers, on
 * which the occupancy depends. If machine code is impossible, compiles PTX alone. Machine code is impossible if NVRTC
 * is too old, or if ptxas refuses code that the simulated device runs. */
static kiln_status open_plan(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, kiln_plan **plan,
                             kiln_error **error)
{
    kiln__config *config;
    kiln__code_job *job = NULL;
    kiln__code code = {0};
    kiln_status status = kiln__config_make(engine, spec, choice, &config, error);
    if (status != KILN_OK)
        return status;
    status = kiln__code_start(engine, config, NULL, true, &job, NULL);
    if (status == KILN_OK)
        status = kiln__code_take(job, &code, NULL);
    if (status != KILN_OK) {
        status = kiln__code_start(engine, config, NULL, engine->want_cubin, &job, error);
        if (status == KILN_OK)
            status = kiln__code_take(job, &code, error);
    }
    if (status != KILN_OK) {
        kiln__config_free(config);
        return status;
    }
    return kiln__plan_make(engine, config, &code, plan, error);
}

static kiln_status run_plan(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                            const kiln_run_options *options, watcher *watch, uint64_t block, kiln__arena *arena,
                            kiln_plan **opened, kiln__sim_kernel **kernels, size_t *count, kiln_result *result,
                            kiln_error **error)
{
    CUcontext previous;
    kiln_plan *plan = NULL;
    kiln_status status = simulated_only(engine, error);
    bool plain = watch || options->flags & KILN_RUN_NO_MACHINE_CODE;
    if (status == KILN_OK)
        status = plain ? kiln_plan_open(engine, spec, choice, &plan, error)
                       : open_plan(engine, spec, choice, &plan, error);
    if (status != KILN_OK)
        return status;
    *opened = plan;
    for (size_t i = 0; i < options->input_count; i++) {
        kiln__plan_buffer *b = kiln__plan_buffer_find(plan, options->inputs[i].buffer);
        if (!b)
            return kiln__plan_no_buffer(plan, options->inputs[i].buffer, error);
        b->file = options->inputs[i].path;
    }
    status = kiln__limit_set(plan, options, error);
    if (status == KILN_OK)
        status = kiln__plan_sandbox(plan, options, error);
    if (status == KILN_OK)
        status = kiln__engine_enter(engine, &previous, error);
    if (status != KILN_OK)
        return status;
    if (watch)
        watch->plan = plan;
    pthread_mutex_lock(&engine->measuring); /* in one context only one run at a time can count */
    status = counted_run(plan, options->flags, watch, block, arena, kernels, count, result, error);
    kiln__limit_end(plan);
    pthread_mutex_unlock(&engine->measuring);
    kiln__engine_leave(engine, previous);
    return status;
}

/* ---- the results ---- */

static int by_place(const void *a, const void *b)
{
    const kiln_profiled_line *x = a, *y = b;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    int files = strcmp(x->file, y->file);
    return files ? files : x->line < y->line ? -1 : x->line > y->line;
}

static kiln_counters *counters_of(kiln_profiling *made, const kiln_profiled_line *line)
{
    return &made->line_counters[line->counters - made->line_counters];
}

/* Sorts the lines of the instructions, and adds up the counters of equal lines. */
static void merge_lines(kiln_profiling *made)
{
    size_t count = 0;
    qsort(made->lines, made->line_count, sizeof *made->lines, by_place);
    for (size_t i = 0; i < made->line_count; i++) {
        if (count > 0 && by_place(&made->lines[count - 1], &made->lines[i]) == 0)
            add_counters(counters_of(made, &made->lines[count - 1]), made->lines[i].counters);
        else
            made->lines[count++] = made->lines[i];
    }
    made->line_count = count;
}

/* Returns the machine code for the device's architecture, in which ptxas has assigned registers. Returns NULL if the
 * compiler made no machine code. */
static kiln__cubin_kernel *machine_code(const kiln_plan *plan, size_t *count)
{
    const kiln__unit *unit = &plan->code.unit;
    kiln__cubin_kernel *found = NULL;
    *count = 0;
    if (!unit->cubin || !unit->cubin_length ||
        kiln__cubin_kernels(plan->mem, unit->cubin, unit->cubin_length, &found, count, NULL) != KILN_OK) {
        found = NULL;
        *count = 0;
    }
    return found;
}

static void set_occupancy(kiln_plan *plan, const kiln__sim_kernel *from, const kiln__cubin_kernel *cubin, size_t cubins,
                          kiln_profiled_kernel *to)
{
    kiln__cubin_kernel kernel = {.registers = (int)from->register_estimate,
                                 .static_shared = from->static_shared,
                                 .max_threads = from->max_threads < 1024 ? (int)from->max_threads : 0,
                                 .barriers = 1};
    to->limited_by = "";
    /* `cubin` is NULL if `cubins` is 0 */
    for (size_t i = 0; cubin && i < cubins; i++)
        if (strcmp(cubin[i].symbol, from->symbol) == 0) {
            kernel = cubin[i];
            to->registers_exact = 1;
        }
    to->registers = kernel.registers;
    kernel.tensor_columns = from->tensor_columns;
    kiln__occupancy found = {0};
    if (kiln__occupancy_of(plan->mem, plan->engine->arch, &kernel, from->block[0] * from->block[1] * from->block[2],
                           from->dynamic_shared, &found, NULL) != KILN_OK)
        return;
    to->blocks_per_sm = found.blocks_per_sm;
    to->occupancy = found.occupancy;
    to->limited_by = found.limited_by;
}

static const char *name_of(const kiln_plan *plan, const char *symbol, kiln__arena *arena)
{
    for (size_t i = 0; i < plan->kernel_count; i++) {
        const char *known = kiln__code_symbol(&plan->code, plan->kernels[i].name);
        if (known && strcmp(known, symbol) == 0)
            return kiln__arena_strdup(arena, plan->kernels[i].name);
    }
    return symbol;
}

/* Adds one instruction with its text, its source line and its counters. */
static void add_insn(kiln_profiling *made, const kiln__sources *text, const kiln__source_text *ptx, size_t kernel,
                     const kiln__sim_insn *from)
{
    kiln_profiled_kernel *sum = &made->kernels[kernel];
    const char *statement = kiln__source_line(ptx, from->ptx_line, &made->arena);
    add_counters(&made->kernel_counters[kernel], &from->counters);
    uint64_t *sums = made->classes + kernel * 2 * KILN_CLASS_COUNT;
    sums[from->what] += from->counters.executed;
    sums[KILN_CLASS_COUNT + from->what] += from->counters.lanes;
    sum->flops += (double)from->flops * (double)from->counters.lanes;
    made->insns[made->insn_count++] = (kiln_profiled_insn){.kernel = kernel,
                                                           .file = from->file,
                                                           .line = from->line,
                                                           .ptx_line = from->ptx_line,
                                                           .what = from->what,
                                                           .l1 = from->l1,
                                                           .ptx = statement + strspn(statement, " \t"),
                                                           /* the counters of the instruction are in the arena */
                                                           .counters = &from->counters};
    kiln_counters *counters = &made->line_counters[made->line_count];
    *counters = from->counters;
    made->lines[made->line_count++] =
        (kiln_profiled_line){.kernel = kernel,
                             .file = from->file,
                             .line = from->line,
                             .counters = counters,
                             .text = kiln__sources_line(text, from->file, from->line, &made->arena)};
}

/* Copies the counters of kernels, lines and instructions into the result, which outlives the plan. */
static kiln_status collect(kiln_profiling *made, kiln_plan *plan, const kiln__sim_kernel *kernels, size_t count,
                           kiln_error **error)
{
    size_t total = 0, cubins = 0;
    for (size_t k = 0; k < count; k++)
        total += kernels[k].insn_count;
    made->kernels = kiln__arena_alloc(&made->arena, (count + 1) * sizeof *made->kernels);
    made->lines = kiln__arena_alloc(&made->arena, (total + 1) * sizeof *made->lines);
    made->insns = kiln__arena_alloc(&made->arena, (total + 1) * sizeof *made->insns);
    made->classes = kiln__arena_alloc(&made->arena, (count + 1) * 2 * KILN_CLASS_COUNT * sizeof *made->classes);
    made->kernel_counters = kiln__arena_alloc(&made->arena, (count + 1) * sizeof *made->kernel_counters);
    made->line_counters = kiln__arena_alloc(&made->arena, (total + 1) * sizeof *made->line_counters);
    if (made->arena.failed)
        return kiln__fail_memory(error);
    kiln__sources text = kiln__sources_read(plan, &made->arena);
    kiln__source_text ptx = {.text = plan->code.unit.ptx};
    kiln__source_split(&ptx, &made->arena);
    kiln__cubin_kernel *cubin = machine_code(plan, &cubins);
    for (size_t k = 0; k < count; k++) {
        const kiln__sim_kernel *from = &kernels[k];
        kiln_profiled_kernel *to = &made->kernels[made->kernel_count++];
        *to = (kiln_profiled_kernel){.name = name_of(plan, from->symbol, &made->arena),
                                     .symbol = from->symbol,
                                     .launches = from->launches,
                                     .blocks = from->blocks,
                                     .warps = from->warps,
                                     .static_shared = from->static_shared,
                                     .dynamic_shared = from->dynamic_shared,
                                     .local_bytes = from->local_bytes,
                                     .class_count = KILN_CLASS_COUNT,
                                     .class_executed = made->classes + k * 2 * KILN_CLASS_COUNT};
        to->counters = &made->kernel_counters[k];
        memset(made->classes + k * 2 * KILN_CLASS_COUNT, 0, 2 * KILN_CLASS_COUNT * sizeof *made->classes);
        to->class_lanes = to->class_executed + KILN_CLASS_COUNT;
        memcpy(to->grid, from->grid, sizeof to->grid);
        memcpy(to->block, from->block, sizeof to->block);
        set_occupancy(plan, from, cubin, cubins, to);
        for (size_t n = 0; n < from->insn_count; n++)
            add_insn(made, &text, &ptx, k, &from->insns[n]);
    }
    kiln__free(plan->mem, cubin);
    merge_lines(made);
    return made->arena.failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Opens the plan, makes one run that counts, and collects its counters. */
kiln_status kiln_profile(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                         const kiln_run_options *given, kiln_profiling **profiling, kiln_error **error)
{
    kiln_run_options options;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS(engine->mem, error, profiling);
    KILN__NEEDS_CHOICE(engine->mem, error, choice);
    KILN__TRY(kiln__take_run(engine->mem, error, __func__, "options", given, &options));
    kiln_profiling *made = kiln__calloc(engine->mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    made->mem = made->arena.mem = engine->mem;
    kiln_plan *plan = NULL;
    kiln__sim_kernel *kernels = NULL;
    size_t count = 0;
    kiln_result result = {0};
    kiln_status status = run_plan(engine, spec, choice, &options, NULL, 0, &made->arena, &plan, &kernels, &count,
                                  &result, error);
    if (status == KILN_OK)
        status = collect(made, plan, kernels, count, error);
    made->verified = result.verified;
    kiln_plan_close(plan);
    if (status == KILN_OK)
        *profiling = made;
    else
        kiln_profiling_free(made);
    return status;
}

void kiln_profiling_free(kiln_profiling *profiling)
{
    if (!profiling)
        return;
    kiln__arena_free(&profiling->arena);
    kiln__free(profiling->mem, profiling);
}

int kiln_profiling_verified(const kiln_profiling *profiling) { return profiling && profiling->verified; }
size_t kiln_profiling_kernel_count(const kiln_profiling *profiling) { return profiling ? profiling->kernel_count : 0; }
size_t kiln_profiling_line_count(const kiln_profiling *profiling) { return profiling ? profiling->line_count : 0; }
size_t kiln_profiling_insn_count(const kiln_profiling *profiling) { return profiling ? profiling->insn_count : 0; }

const kiln_profiled_kernel *kiln_profiling_kernel(const kiln_profiling *profiling, size_t kernel)
{
    return kernel < kiln_profiling_kernel_count(profiling) ? &profiling->kernels[kernel] : NULL;
}

const kiln_profiled_line *kiln_profiling_line(const kiln_profiling *profiling, size_t line)
{
    return line < kiln_profiling_line_count(profiling) ? &profiling->lines[line] : NULL;
}

const kiln_profiled_insn *kiln_profiling_insn(const kiln_profiling *profiling, size_t insn)
{
    return insn < kiln_profiling_insn_count(profiling) ? &profiling->insns[insn] : NULL;
}

/* ---- tracing single accesses ---- */

/* Finds the buffer that contains the traced address, and the index of the element. */
static void find_element(const kiln_plan *plan, kiln_traced_access *access)
{
    for (size_t i = 0; i < plan->variant->buffer_count; i++) {
        const kiln__plan_buffer *b = &plan->buffers[i];
        if (!b->pointer || access->address < b->pointer || access->address - b->pointer >= b->bytes)
            continue;
        access->buffer = b->buffer->name;
        access->type = b->type;
        access->dims = b->dims;
        access->address -= b->pointer;
        access->element = access->address / kiln__type_bytes(b->type);
        uint64_t rest = access->element;
        for (int d = b->dims; d-- > 0;) {
            access->index[d] = b->shape[d] ? rest % b->shape[d] : 0;
            rest = b->shape[d] ? rest / b->shape[d] : 0;
        }
        return;
    }
}

/* Passes one traced access to the caller, with its step, buffer and element. */
static void see(void *user, const kiln__sim_access *from)
{
    watcher *watch = user;
    if (watch->over || from->warp >= MOST_WARPS)
        return;
    /* another kernel has begun, so the steps of the warps are counted from 0 again */
    if (strcmp(watch->kernel, from->kernel) != 0) {
        memset(watch->steps, 0, MOST_WARPS * sizeof *watch->steps);
        strncpy(watch->kernel, from->kernel, sizeof watch->kernel - 1);
    }
    kiln_traced_access access = {.kernel = from->kernel,
                                 .file = from->file,
                                 .line = from->line,
                                 .space = from->space,
                                 .reads = from->reads,
                                 .writes = from->writes,
                                 .bytes = from->bytes,
                                 .step = watch->steps[from->warp]++};
    for (size_t i = 0; i < watch->plan->kernel_count; i++) {
        const char *symbol = kiln__code_symbol(&watch->plan->code, watch->plan->kernels[i].name);
        if (symbol && strcmp(symbol, from->kernel) == 0)
            access.kernel = watch->plan->kernels[i].name;
    }
    memcpy(access.block, from->block, sizeof access.block);
    for (unsigned lane = 0; lane < 32 && !watch->over; lane++) {
        if (!(from->lanes >> lane & 1))
            continue;
        kiln_traced_access one = access;
        for (int axis = 0; axis < 3; axis++)
            one.thread[axis] = from->threads[axis][lane];
        one.address = from->address[lane];
        if (strcmp(from->space, "global") == 0)
            find_element(watch->plan, &one);
        watch->over = watch->show(watch->user, &one) != 0;
    }
}

kiln_status kiln_trace(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                       const kiln_run_options *given, uint64_t block, kiln_trace_fn show, void *user,
                       kiln_error **error)
{
    kiln_run_options options;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS(engine->mem, error, show);
    KILN__NEEDS_CHOICE(engine->mem, error, choice);
    KILN__TRY(kiln__take_run(engine->mem, error, __func__, "options", given, &options));
    uint64_t steps[MOST_WARPS] = {0};
    kiln__arena arena = {.mem = engine->mem};
    watcher watch = {.show = show, .user = user, .steps = steps};
    kiln_plan *plan = NULL;
    kiln__sim_kernel *kernels = NULL;
    size_t count = 0;
    kiln_result result = {0};
    kiln_status status = run_plan(engine, spec, choice, &options, &watch, block, &arena, &plan, &kernels, &count,
                                  &result, error);
    kiln_plan_close(plan);
    kiln__arena_free(&arena);
    return status;
}
