/* fit.c - checks whether a device has the resources for the launches of a configuration. Before the compile, the check
 * uses the grid, the block and the shared memory that the spec gives. After the compile, the check also uses the
 * registers and the static shared memory of the machine code. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

/* The state of one check of a configuration. */
typedef struct fit {
    const kiln_engine *engine;
    const kiln__scope *scope;
    const kiln__code *code; /* the compiled code; NULL before the compile */
    const kiln__cubin_kernel *kernels;
    size_t kernel_count;
    kiln_error **error;
} fit;

/* ---- checking one launch ---- */

static kiln_status fail_launch(const kiln_allocator *mem, kiln__pos pos, kiln_error **error, const char *format, ...)
    KILN__PRINTF(4, 5);
static kiln_status fail_launch(const kiln_allocator *mem, kiln__pos pos, kiln_error **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const kiln_status failed = kiln__diag_fail(mem, error, KILN_ERROR_LAUNCH, pos, format, arguments);
    va_end(arguments);
    return failed;
}

kiln_status kiln__extent_fits(const kiln_allocator *mem, kiln__extent_kind kind, int axis, const kiln__expr *expr,
                              int64_t value, kiln_error **error)
{
    static const char *const names[] = {"grid", "block", "cluster"};
    static const int64_t most[][3] = {{INT32_MAX, 65535, 65535}, {1024, 1024, 64}, {16, 16, 16}};
    if (value >= 0 && value <= most[kind][axis])
        return KILN_OK;
    return fail_launch(mem, kiln__expr_pos(expr), error, "%s %c = %" PRId64 " is outside 0 .. %" PRId64, names[kind],
                       "xyz"[axis], value, most[kind][axis]);
}

kiln_status kiln__block_fits(const kiln_allocator *mem, const kiln_device_info *info, const kiln__step *step,
                             const kiln__block *block, kiln_error **error)
{
    const uint64_t threads = (uint64_t)block->extents[0] * block->extents[1] * block->extents[2];
    const uint64_t shared = block->static_shared + block->dynamic_shared;
    kiln__pos pos = kiln__expr_pos(step->as.launch.block[0]);
    if (threads == 0)
        return fail_launch(mem, pos, error, "a block of %u x %u x %u has no threads", block->extents[0],
                           block->extents[1], block->extents[2]);
    if (threads > (uint64_t)info->max_threads_per_block)
        return fail_launch(mem, pos, error, "a block of %" PRIu64 " threads; the device allows %d", threads,
                           info->max_threads_per_block);
    if (block->max_threads > 0 && threads > (uint64_t)block->max_threads)
        return fail_launch(mem, pos, error,
                           "a block of %" PRIu64 " threads; %s allows %d, by its registers or its launch bounds",
                           threads, block->kernel, block->max_threads);
    if (shared > info->shared_per_block_optin && shared > info->shared_per_block)
        return fail_launch(mem, step->as.launch.shared ? kiln__expr_pos(step->as.launch.shared) : step->pos, error,
                           "%" PRIu64 " bytes of shared memory (%" PRIu64 " static, %" PRIu64
                           " dynamic); the device allows %" PRIu64 " a block",
                           shared, block->static_shared, block->dynamic_shared, info->shared_per_block_optin);
    return KILN_OK;
}

/* ---- checking all launches of a configuration ---- */

/* Finds the registers and the shared memory of the kernel of a launch in the machine code. Returns NULL if they are
 * unknown. */
static const kiln__cubin_kernel *find_kernel(const fit *f, const kiln__step *step)
{
    kiln__text filled = {.mem = f->engine->mem};
    const char *name = f->code ? kiln__launch_kernel(step, f->scope, &filled, NULL) : NULL;
    const char *symbol = name ? kiln__code_symbol(f->code, name) : NULL;
    const kiln__cubin_kernel *found = NULL;
    for (size_t i = 0; symbol && i < f->kernel_count && !found; i++)
        if (strcmp(f->kernels[i].symbol, symbol) == 0)
            found = &f->kernels[i];
    kiln__text_free(&filled);
    return found;
}

/* Fails if one block needs more registers than the device has. */
static kiln_status check_registers(const fit *f, const kiln__step *step, const kiln__cubin_kernel *kernel,
                                   unsigned threads)
{
    const kiln_device_info *info = &f->engine->info;
    const kiln__cubin_kernel alone = {.registers = kernel->registers};
    kiln__occupancy occupancy;
    if (kiln__occupancy_of(f->engine->mem, info->cc_major * 10 + info->cc_minor, &alone, threads, 0, &occupancy,
                           NULL) != KILN_OK ||
        occupancy.blocks_per_sm > 0)
        return KILN_OK;
    return fail_launch(f->engine->mem, kiln__expr_pos(step->as.launch.block[0]), f->error,
                       "a block of %u threads of %d registers each; the device has %d for a block", threads,
                       kernel->registers, info->registers_per_block);
}

/* Evaluates three extents. Returns false if an extent depends on a value that is not known yet, such as the data of an
 * input. */
static bool eval_extents(const fit *f, kiln__expr *const exprs[3], int64_t values[3])
{
    for (int i = 0; i < 3; i++)
        if (!kiln__expr_eval_int(exprs[i], f->scope, "launch", &values[i], NULL))
            return false;
    return true;
}

static kiln_status check_launch(const fit *f, const kiln__step *step)
{
    const kiln_allocator *mem = f->engine->mem;
    int64_t grid[3], extents[3], shared = 0;
    kiln__block block = {0};
    if (!eval_extents(f, step->as.launch.grid, grid) || !eval_extents(f, step->as.launch.block, extents) ||
        (step->as.launch.shared && !kiln__expr_eval_int(step->as.launch.shared, f->scope, "shared", &shared, NULL)) ||
        shared < 0)
        return KILN_OK;
    for (int i = 0; i < 3; i++)
        KILN__TRY(kiln__extent_fits(mem, KILN__EXTENT_GRID, i, step->as.launch.grid[i], grid[i], f->error));
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
        return KILN_OK; /* an empty grid launches no kernel */
    for (int i = 0; i < 3; i++) {
        KILN__TRY(kiln__extent_fits(mem, KILN__EXTENT_BLOCK, i, step->as.launch.block[i], extents[i], f->error));
        block.extents[i] = (unsigned)extents[i];
    }
    const kiln__cubin_kernel *kernel = find_kernel(f, step);
    block.static_shared = kernel ? kernel->static_shared : 0;
    block.dynamic_shared = (uint64_t)shared;
    KILN__TRY(kiln__block_fits(mem, &f->engine->info, step, &block, f->error));
    return kernel ? check_registers(f, step, kernel, block.extents[0] * block.extents[1] * block.extents[2]) : KILN_OK;
}

/* Checks the launches in the steps that certainly run. Leaves out the body of each `while`, and the body of a `repeat`
 * whose count is 0 or unknown. */
static kiln_status check_steps(const fit *f, const kiln__step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t times = 0;
        if (steps[i].kind == KILN__STEP_LAUNCH)
            KILN__TRY(check_launch(f, &steps[i]));
        else if (steps[i].kind == KILN__STEP_REPEAT &&
                 kiln__expr_eval_int(steps[i].as.repeat.times, f->scope, "times", &times, NULL) && times > 0)
            KILN__TRY(check_steps(f, steps[i].as.repeat.steps, steps[i].as.repeat.step_count));
    }
    return KILN_OK;
}

kiln_status kiln__config_fits(const kiln_engine *engine, const kiln__config *config, const kiln__code *code,
                              kiln_error **error)
{
    const kiln__variant *variant = config->variant;
    kiln__cubin_kernel *kernels = NULL;
    fit f = {.engine = engine, .scope = kiln__config_scope(config), .code = code, .error = error};
    /* The number of registers of relocatable code is not final before linking. If the machine code cannot be parsed,
     * the driver reports the error later. */
    if (code && code->unit.cubin && !kiln__is_relocatable(code->unit.cubin, code->unit.cubin_length) &&
        kiln__cubin_kernels(engine->mem, code->unit.cubin, code->unit.cubin_length, &kernels, &f.kernel_count, NULL) ==
            KILN_ERROR_MEMORY)
        return kiln__fail_memory(error);
    f.kernels = kernels;
    kiln_status status = check_steps(&f, variant->before, variant->before_count);
    if (status == KILN_OK)
        status = check_steps(&f, variant->steps, variant->step_count);
    kiln__free(engine->mem, kernels);
    return status;
}
