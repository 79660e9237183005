/* inspect.c - describes the machine code of a configuration: registers, spills, occupancy, and findings in the
 * compiler's log. The machine need not have a device of the architecture. */
#include <stdlib.h>
#include <string.h>

#include "config.h"

/* The result of an inspection. All its texts are in its arena or in its code. */
struct kiln_inspection {
    const kiln_allocator *mem;
    kiln__arena arena;
    kiln__code code;
    const char *arch, *source;
    kiln_inspected_kernel *kernels;
    size_t kernel_count;
    /* all findings in the compiler's log, without duplicates; the list is a separate allocation */
    const char **findings;
    size_t finding_count, finding_capacity;
};

/* Parses the name of an architecture, such as "sm_90a", "compute_90" or "90". Fails if NVRTC does not support the
 * architecture. */
static kiln_status parse_target(kiln_engine *engine, const char *text, kiln__target *target, kiln_error **error)
{
    kiln__target found;
    int known[64];
    kiln_status loaded = kiln__nvrtc_load(engine->nvrtc, error);
    if (loaded != KILN_OK)
        return loaded;
    size_t count = kiln__nvrtc_archs(engine->nvrtc, known, KILN__COUNT(known));
    if (kiln__target_parse(text, &found))
        for (size_t i = 0; i < count && i < KILN__COUNT(known); i++)
            if (known[i] == found.arch) {
                *target = found;
                return KILN_OK;
            }
    kiln__text list = {.mem = engine->mem};
    for (size_t i = 0; i < count && i < KILN__COUNT(known); i++)
        kiln__text_printf(&list, "%ssm_%d", i ? ", " : "", known[i]);
    kiln_status status = kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                                    "this NVRTC does not support architecture '%s'; it supports %s", text,
                                    kiln__text_get(&list));
    kiln__text_free(&list);
    return status;
}

/* Finds the first launch of `kernel` among the steps. If no step launches the kernel, *found is NULL. */
static kiln_status find_launch(const kiln__step *steps, size_t count, const kiln__scope *scope,
                               const kiln_allocator *mem, const char *kernel, const kiln__step **found,
                               kiln_error **error)
{
    kiln_status status = KILN_OK;
    *found = NULL;
    for (size_t i = 0; i < count && !*found && status == KILN_OK; i++) {
        const kiln__step *step = &steps[i];
        if (step->kind == KILN__STEP_REPEAT) {
            status = find_launch(step->as.repeat.steps, step->as.repeat.step_count, scope, mem, kernel, found, error);
        } else if (step->kind == KILN__STEP_WHILE) {
            status = find_launch(step->as.loop.steps, step->as.loop.step_count, scope, mem, kernel, found, error);
        } else if (step->kind == KILN__STEP_LAUNCH) {
            kiln__text filled = {.mem = mem};
            const char *name = kiln__launch_kernel(step, scope, &filled, NULL);
            if (filled.failed)
                status = kiln__fail_memory(error);
            else if (name && strcmp(name, kernel) == 0)
                *found = step;
            kiln__text_free(&filled);
        }
    }
    return status;
}

static void describe_launch(const kiln__step *step, const kiln__scope *scope, kiln_inspected_kernel *kernel)
{
    int64_t value;
    kernel->cooperative = step->as.launch.cooperative;
    kernel->overlap = step->as.launch.overlap;
    if (step->as.launch.scheduling)
        kernel->cluster_scheduling = kiln__schedulings[step->as.launch.scheduling];
    for (int i = 0; i < 3; i++)
        if (step->as.launch.cluster[i] &&
            kiln__expr_eval_int(step->as.launch.cluster[i], scope, "cluster", &value, NULL) && value > 0 &&
            value <= UINT16_MAX)
            kernel->cluster[i] = (unsigned)value;
    if (step->as.launch.priority && kiln__expr_eval_int(step->as.launch.priority, scope, "priority", &value, NULL) &&
        value >= INT32_MIN && value <= INT32_MAX)
        kernel->priority = (int)value;
    if (step->as.launch.carveout && kiln__expr_eval_int(step->as.launch.carveout, scope, "carveout", &value, NULL) &&
        value >= 0 && value <= 100)
        kernel->carveout = (int)value;
}

/* Describes one kernel, from its machine code, from the spills in the compiler's log, and from its first launch. If the
 * size of the block is known, also computes the occupancy. */
static kiln_status describe_kernel(kiln_engine *engine, const kiln__config *config, int arch, const char *name,
                                   const kiln__cubin_kernel *found, const char *log, kiln_inspected_kernel *kernel,
                                   kiln_error **error)
{
    const kiln__scope *scope = kiln__config_scope(config);
    const kiln__variant *variant = config->variant;
    kernel->name = name;
    kernel->registers = found->registers;
    kernel->static_shared = found->static_shared;
    kernel->local_bytes = found->local_bytes;
    kernel->constant_bytes = found->constant_bytes;
    kernel->tensor_columns = found->tensor_columns;
    kernel->limited_by = kernel->cluster_scheduling = "";
    kernel->carveout = -1;
    kernel->spill_store_bytes = kernel->spill_load_bytes = -1;
    kiln__compile_log_spills(log, found->symbol, &kernel->spill_store_bytes, &kernel->spill_load_bytes);
    const kiln__step *step = NULL;
    kiln_status status = find_launch(variant->steps, variant->step_count, scope, engine->mem, name, &step, error);
    if (status == KILN_OK && !step)
        status = find_launch(variant->before, variant->before_count, scope, engine->mem, name, &step, error);
    if (status != KILN_OK)
        return status;
    if (step)
        describe_launch(step, scope, kernel);
    int64_t shared = 0, threads = 1;
    /* if the block depends on the data of an input, it is unknown here, and kernel->block stays 0 */
    for (int i = 0; step && i < 3; i++) {
        int64_t extent = 0;
        if (!kiln__expr_eval_int(step->as.launch.block[i], scope, "block", &extent, NULL) || extent < 1 ||
            extent > 1024)
            return KILN_OK;
        kernel->block[i] = (unsigned)extent;
        threads *= extent;
    }
    if (!step ||
        (step->as.launch.shared && !kiln__expr_eval_int(step->as.launch.shared, scope, "shared", &shared, NULL)) ||
        shared < 0)
        return KILN_OK;
    kernel->dynamic_shared = (uint64_t)shared;
    kiln__occupancy occupancy = {0};
    status = kiln__occupancy_of(engine->mem, arch, found, (unsigned)threads, (uint64_t)shared, &occupancy, error);
    if (status != KILN_OK)
        return status;
    kernel->blocks_per_sm = occupancy.blocks_per_sm;
    kernel->occupancy = occupancy.occupancy;
    kernel->limited_by = occupancy.limited_by;
    return KILN_OK;
}

/* Returns the number of columns of tensor memory (tcgen05) that a kernel allocates. Returns 0 if the code uses no
 * tensor memory, and -1 if the PTX does not tell the number. */
static int get_columns(const kiln__code *code, const char *symbol)
{
    const char *ptx = code->unit.ptx;
    if (!ptx || !strstr(ptx, "tcgen05.alloc"))
        return 0;
    return kiln__driver_simulator()->tensor_columns(ptx, strlen(ptx), symbol);
}

/* Describes each kernel that the steps launch and that the machine code contains. */
static kiln_status describe_kernels(kiln_engine *engine, const kiln__config *config, int arch, kiln_inspection *made,
                                    kiln_error **error)
{
    const char *const *names = NULL;
    size_t name_count = 0, found_count = 0;
    kiln__cubin_kernel *found = NULL;
    kiln_status status = kiln__config_kernels(config, engine->mem, &made->arena, &names, &name_count, error);
    if (status == KILN_OK)
        status = kiln__cubin_kernels(engine->mem, made->code.unit.cubin, made->code.unit.cubin_length, &found,
                                     &found_count, error);
    if (status == KILN_OK) {
        made->kernels = kiln__arena_alloc(&made->arena, (name_count + 1) * sizeof *made->kernels);
        if (!made->kernels)
            status = kiln__fail_memory(error);
    }
    for (size_t i = 0; i < name_count && status == KILN_OK; i++) {
        const char *symbol = kiln__code_symbol(&made->code, names[i]);
        for (size_t k = 0; symbol && k < found_count && status == KILN_OK; k++) {
            if (strcmp(found[k].symbol, symbol) != 0)
                continue;
            kiln_inspected_kernel *kernel = &made->kernels[made->kernel_count++];
            found[k].tensor_columns = get_columns(&made->code, symbol);
            status = describe_kernel(engine, config, arch, names[i], &found[k], made->code.unit.log, kernel, error);
            kernel->symbol = symbol;
            break;
        }
    }
    kiln__free(engine->mem, found);
    return status;
}

static kiln_status collect_findings(kiln_inspection *made, kiln_error **error)
{
    const char *at = made->code.unit.log ? made->code.unit.log : "", *text;
    while ((text = kiln__compile_log_finding(&made->arena, &at)) != NULL) {
        size_t i = 0;
        while (i < made->finding_count && strcmp(made->findings[i], text) != 0)
            i++;
        if (i < made->finding_count)
            continue;
        if (!kiln__grow(made->mem, &made->findings, &made->finding_capacity, made->finding_count + 1,
                        sizeof *made->findings))
            return kiln__fail_memory(error);
        made->findings[made->finding_count++] = text;
    }
    return made->arena.failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Makes the configuration, gets its code for the target from the cache or the compiler, and describes its kernels. */
kiln_status kiln_inspect(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, const char *arch,
                         kiln_inspection **inspection, kiln_error **error)
{
    kiln__config *config = NULL;
    kiln__code_job *job = NULL;
    kiln__target target = {0};
    char text[KILN__TARGET_TEXT];
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS_CHOICE(engine->mem, error, choice);
    KILN__NEEDS(engine->mem, error, inspection);
    kiln_status status = kiln__engine_nvrtc(engine, error);
    if (status == KILN_OK)
        status = arch ? parse_target(engine, arch, &target, error) : kiln__engine_device(engine, error);
    if (status != KILN_OK)
        return status;
    kiln_inspection *made = kiln__calloc(engine->mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    made->mem = made->arena.mem = engine->mem;
    status = kiln__config_make(engine, spec, choice, &config, error);
    if (status == KILN_OK)
        status = arch ? KILN_OK : kiln__variant_target(engine, config->variant, &target, error);
    if (status == KILN_OK)
        status = kiln__code_start(engine, config, &target, true, &job, error);
    if (status == KILN_OK) {
        made->arch = kiln__arena_strdup(&made->arena, kiln__target_print(target, "sm", text));
        made->source = kiln__arena_strdup(&made->arena, kiln__code_source(job));
        status = kiln__code_take(job, &made->code, error);
    }
    if (status == KILN_OK)
        status = collect_findings(made, error);
    if (status == KILN_OK)
        status = describe_kernels(engine, config, target.arch, made, error);
    kiln__config_free(config);
    if (status != KILN_OK) {
        kiln_inspection_free(made);
        return status;
    }
    *inspection = made;
    return KILN_OK;
}

kiln_status kiln_occupancy(kiln_engine *engine, const char *arch, unsigned threads, int registers, uint64_t shared,
                           kiln_occupancy_info *info, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, arch);
    KILN__NEEDS_NUMBER(engine->mem, error, registers);
    KILN__NEEDS_SIZED(engine->mem, error, info);
    return kiln_occupancy_tensor(engine, arch, threads, registers, shared, 0, info, error);
}

kiln_status kiln_occupancy_tensor(kiln_engine *engine, const char *arch, unsigned threads, int registers,
                                  uint64_t shared, int columns, kiln_occupancy_info *info, kiln_error **error)
{
    kiln__target target = {0};
    kiln__occupancy found = {0};
    kiln__cubin_kernel kernel = {.registers = registers, .barriers = 1, .tensor_columns = columns};
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, arch);
    KILN__NEEDS_NUMBER(engine->mem, error, registers);
    KILN__NEEDS_NUMBER(engine->mem, error, columns);
    KILN__NEEDS_SIZED(engine->mem, error, info);
    kiln_status status = kiln__engine_nvrtc(engine, error);
    if (status == KILN_OK)
        status = parse_target(engine, arch, &target, error);
    if (status == KILN_OK)
        status = kiln__occupancy_of(engine->mem, target.arch, &kernel, threads, shared, &found, error);
    kiln_occupancy_info made = {
        .blocks_per_sm = found.blocks_per_sm, .occupancy = found.occupancy, .limited_by = found.limited_by};
    if (status == KILN_OK)
        KILN__GIVE(info, &made);
    return status;
}

void kiln_inspection_free(kiln_inspection *inspection)
{
    if (!inspection)
        return;
    kiln__code_free(&inspection->code);
    kiln__free(inspection->mem, inspection->findings);
    kiln__arena_free(&inspection->arena);
    kiln__free(inspection->mem, inspection);
}

const char *kiln_inspection_arch(const kiln_inspection *inspection) { return inspection ? inspection->arch : NULL; }

const char *kiln_inspection_source(const kiln_inspection *inspection) { return inspection ? inspection->source : NULL; }

const char *kiln_inspection_ptx(const kiln_inspection *inspection)
{
    return inspection && inspection->code.unit.ptx ? inspection->code.unit.ptx : "";
}

const void *kiln_inspection_cubin(const kiln_inspection *inspection, size_t *bytes)
{
    if (bytes)
        *bytes = inspection ? inspection->code.unit.cubin_length : 0;
    return inspection ? inspection->code.unit.cubin : NULL;
}

const char *kiln_inspection_log(const kiln_inspection *inspection)
{
    return inspection && inspection->code.unit.log ? inspection->code.unit.log : "";
}

const char *kiln_inspection_finding(const kiln_inspection *inspection, size_t finding)
{
    return inspection && finding < inspection->finding_count ? inspection->findings[finding] : NULL;
}

size_t kiln_inspection_kernel_count(const kiln_inspection *inspection)
{
    return inspection ? inspection->kernel_count : 0;
}

const kiln_inspected_kernel *kiln_inspection_kernel(const kiln_inspection *inspection, size_t kernel)
{
    return kernel < kiln_inspection_kernel_count(inspection) ? &inspection->kernels[kernel] : NULL;
}
