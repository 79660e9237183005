/* count.c - counting (sim.h). While a context counts, its launches are observed, and the counts are summed by
 * kernel. */
#include <string.h>

#include "cu_objects.h"
#include "vm_count.h"
#include "vm_fault.h"

struct sim_count {
    struct sim_count *next; /* the next kernel, in the order of first launches */
    const sim_module *module;
    int kernel;
    vm_profile *profile;
    vm_resources resources;
    uint64_t launches, blocks, warps, dynamic_shared;
    uint32_t grid[3], block[3]; /* grid and block of the kernel's first launch */
};

struct sim_counting {
    struct sim_count *kernels;
    kiln__sim_access_fn see;
    void *user;
    uint64_t block;
};

/* ---- observing a launch ---- */

/* Passes the accesses of one block on to the caller of kiln__sim_count_begin(). */
static void pass_accesses(void *user, const vm_warp *w, const vm_code *i, const vm_access *list, unsigned count)
{
    const struct sim_counting *counting = user;
    static const char *const spaces[] = {[PTX_SPACE_GLOBAL] = "global",
                                         [PTX_SPACE_SHARED] = "shared",
                                         [PTX_SPACE_LOCAL] = "local",
                                         [PTX_SPACE_CONST] = "constant"};
    if (w->block->number != counting->block)
        return;
    vm_fault place = {0};
    vm_fault_at(w, w->frame, i, &place);
    kiln__sim_access access = {.kernel = place.kernel,
                               .file = place.file,
                               .line = place.file_line,
                               .ptx_line = place.ptx_line,
                               .warp = w->index,
                               .threads = w->tid};
    memcpy(access.block, w->block->id, sizeof access.block);
    for (unsigned k = 0; k < count; k++) {
        access.space = list[k].space < KILN__COUNT(spaces) && spaces[list[k].space] ? spaces[list[k].space] : "other";
        access.reads = list[k].kind & VM_READS;
        access.writes = list[k].kind & VM_WRITE;
        access.lanes = list[k].lanes;
        access.bytes = list[k].bytes;
        access.address = list[k].address;
        counting->see(counting->user, &access);
    }
}

static struct sim_count *count_of(sim_context *context, const sim_function *function)
{
    struct sim_count **at = &context->counting->kernels;
    for (; *at; at = &(*at)->next)
        if ((*at)->module == function->module && (*at)->kernel == function->kernel)
            return *at;
    struct sim_count *made = kiln__calloc(sim_memory(), 1, sizeof *made);
    vm_profile *profile = made ? count_profile_new(sim_memory(), function->module->vm) : NULL;
    if (!profile) {
        kiln__free(sim_memory(), made);
        return NULL;
    }
    made->module = function->module;
    made->kernel = function->kernel;
    made->profile = profile;
    made->resources = function->resources;
    return *at = made;
}

bool sim_count_launch(sim_context *context, const sim_function *function, const vm_launch *launch,
                      struct vm_watch *watch)
{
    if (!context->counting)
        return true;
    struct sim_count *count = count_of(context, function);
    if (!count)
        return false;
    if (count->launches++ == 0) {
        memcpy(count->grid, launch->grid, sizeof count->grid);
        memcpy(count->block, launch->block, sizeof count->block);
        count->dynamic_shared = launch->dynamic_shared;
    }
    watch->profile = count->profile;
    if (context->counting->see) {
        watch->see = pass_accesses;
        watch->user = context->counting;
    }
    return true;
}

void sim_count_ran(sim_context *context, const sim_function *function, const vm_counters *counters)
{
    struct sim_count *count = context->counting ? count_of(context, function) : NULL;
    if (!count)
        return;
    count->blocks += counters->blocks;
    count->warps += counters->warps;
}

static void free_count(struct sim_count *count)
{
    count_profile_free(count->profile);
    kiln__free(sim_memory(), count);
}

void sim_count_forget(sim_context *context, const sim_module *module)
{
    struct sim_count **at = context->counting ? &context->counting->kernels : NULL;
    while (at && *at) {
        struct sim_count *count = *at;
        if (count->module != module) {
            at = &count->next;
            continue;
        }
        *at = count->next;
        free_count(count);
    }
}

void sim_count_stop(sim_context *context)
{
    while (context->counting && context->counting->kernels) {
        struct sim_count *count = context->counting->kernels;
        context->counting->kernels = count->next;
        free_count(count);
    }
    kiln__free(sim_memory(), context->counting);
    context->counting = NULL;
}

/* ---- results ---- */

static bool is_cached(const ptx_insn *in)
{
    static const ptx_mod past[] = {PTX_MOD_CG,      PTX_MOD_CV,      PTX_MOD_LU,   PTX_MOD_VOLATILE,
                                   PTX_MOD_RELAXED, PTX_MOD_ACQUIRE, PTX_MOD_MMIO, PTX_MOD_L1_NO_ALLOCATE};
    for (size_t k = 0; k < KILN__COUNT(past); k++)
        if (ptx_has(in, past[k]))
            return false;
    const ptx_effect effect = ptx_effect_of(in);
    return effect != PTX_EFFECT_ATOMIC && effect != PTX_EFFECT_REDUCTION && effect != PTX_EFFECT_TEAM_LOAD &&
           effect != PTX_EFFECT_TEAM_STORE && effect != PTX_EFFECT_TEAM_REDUCTION;
}

static void describe_insn(const ptx_module *ptx, const ptx_insn *in, kiln__arena *arena, kiln__sim_insn *out)
{
    out->what = count_class_of(in);
    out->flops = count_flops_of(in);
    out->ptx_line = in->line;
    out->l1 = is_cached(in);
    out->file = "";
    if (in->loc == 0 || in->loc >= ptx->loc_count)
        return;
    const ptx_loc *loc = &ptx->locs[in->loc];
    const char *file = loc->file < ptx->file_count ? ptx->files[loc->file] : NULL;
    out->line = loc->line;
    out->file = file ? kiln__arena_strdup(arena, file) : "";
}

/* Copies the counts of a kernel into the form that the caller gets, instruction by instruction. Returns false if memory
 * runs out. */
static bool describe_kernel(const struct sim_count *count, kiln__arena *arena, kiln__sim_kernel *out)
{
    const ptx_module *ptx = vm_module_ptx(count->module->vm);
    const vm_profile *profile = count->profile;
    *out = (kiln__sim_kernel){.symbol = kiln__arena_strdup(arena, ptx->functions[count->kernel].name),
                              .launches = count->launches,
                              .blocks = count->blocks,
                              .warps = count->warps,
                              .dynamic_shared = count->dynamic_shared,
                              .static_shared = count->resources.static_shared,
                              .local_bytes = count->resources.local_bytes,
                              .register_estimate = count->resources.register_estimate,
                              .max_threads = count->resources.max_threads,
                              .tensor_columns = count->resources.tensor_columns};
    memcpy(out->grid, count->grid, sizeof out->grid);
    memcpy(out->block, count->block, sizeof out->block);
    size_t used = 0;
    for (size_t n = 0; n < profile->insn_count; n++)
        used += profile->tally[n].executed != 0;
    kiln__sim_insn *insns = kiln__arena_alloc(arena, (used + 1) * sizeof *insns);
    if (!insns || !out->symbol)
        return false;
    for (uint32_t f = 0; f < ptx->function_count; f++) {
        const ptx_function *function = &ptx->functions[f];
        for (uint32_t n = 0; function->defined && n <= function->insn_count; n++) {
            kiln_counters counters = {0};
            count_profile_at(profile, f, n, &counters);
            if (counters.executed == 0)
                continue;
            kiln__sim_insn *insn = &insns[out->insn_count++];
            if (n < function->insn_count)
                describe_insn(ptx, &function->insns[n], arena, insn);
            else
                insn->what = KILN_CLASS_control, insn->file = "";
            insn->counters = counters;
        }
    }
    out->insns = insns;
    return !arena->failed;
}

bool kiln__sim_count_begin(kiln__sim_access_fn see, void *user, uint64_t block)
{
    sim_context *context;
    if (sim_begin_work(&context) != CUDA_SUCCESS)
        return false;
    struct sim_counting *counting = context->counting ? NULL : kiln__calloc(sim_memory(), 1, sizeof *counting);
    if (counting) {
        counting->see = see;
        counting->user = user;
        counting->block = block;
        context->counting = counting;
    }
    sim_end_work(context, CUDA_SUCCESS);
    return counting != NULL;
}

bool kiln__sim_count_end(kiln__arena *arena, kiln__sim_kernel **kernels, size_t *count)
{
    sim_context *context;
    size_t found = 0;
    *kernels = NULL;
    *count = 0;
    if (sim_begin_any(&context) != CUDA_SUCCESS)
        return false;
    for (const struct sim_count *at = context->counting ? context->counting->kernels : NULL; at; at = at->next)
        found++;
    kiln__sim_kernel *made = kiln__arena_alloc(arena, (found + 1) * sizeof *made);
    bool whole = made != NULL;
    for (const struct sim_count *at = context->counting ? context->counting->kernels : NULL; whole && at; at = at->next)
        whole = describe_kernel(at, arena, &made[(*count)++]);
    sim_count_stop(context);
    sim_end_work(context, CUDA_SUCCESS);
    *kernels = made;
    return whole;
}
