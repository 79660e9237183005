/* estimate.c - estimates of launches. This file traces a few blocks of a launch, and replays them on the model of the
 * profile's device. While a thread has estimates switched on (sim.h), the times of its launches are summed. The profile
 * of a program (program.c) asks for the times of single launches. See engine/sim/observe/model/ESTIMATE.md. */
#include <math.h>
#include <string.h>

#include "cu_objects.h"
#include "vm_time.h"

#define INSNS_MOST 400000u /* approximate number of instructions of a launch that the trace records */
#define WARP_LEAST 512u    /* smallest limit of recorded instructions for each warp */

/* This state belongs to a thread, because an estimate belongs to the thread that requested it and not to the device. */
typedef struct asking {
    bool active, sampled;
    double seconds;
    uint64_t launches, failed;
} asking;
static _Thread_local asking mine;

bool kiln__sim_estimate_begin(bool sampled)
{
    if (!kiln__sim_has_model())
        return false;
    mine = (asking){.active = true, .sampled = sampled};
    return true;
}

double kiln__sim_estimate_end(uint64_t *launches)
{
    asking was = mine;
    mine = (asking){0};
    if (launches)
        *launches = was.launches;
    return was.failed || !was.active ? -1 : was.seconds;
}

/* Chooses the blocks to be traced: the blocks that one SM runs at the same time. The model assumes that the SM with
 * number n runs every sm_count-th block, beginning with block n. If the grid has several waves, the blocks come from
 * the middle wave. If all blocks run at once, the chosen blocks are the blocks of SM 0. The reason is that kernels
 * which distribute work dynamically give the most work to the first blocks. */
static void choose_blocks(struct vm_trace *trace, uint64_t blocks, uint64_t sms, uint32_t resident)
{
    /* resident is not 0, because a launch has at least one block. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    uint64_t wave = sms * resident, waves = blocks / wave;
    uint64_t first = waves > 1 ? waves / 2 * wave : 0, sm = blocks > wave ? sms / 2 : 0;
    for (uint32_t k = 0; k < trace->block_count; k++) {
        uint64_t number = first + sm + k * sms;
        trace->blocks[k].number = number < blocks ? number : blocks - trace->block_count + k;
    }
}

void sim_estimate_launch(const sim_function *function, uint32_t resident, uint64_t at_once, const vm_launch *launch,
                         bool wanted, struct vm_watch *watch, sim_estimate *estimate)
{
    const sim_model *model = sim_current_profile()->model;
    *estimate = (sim_estimate){0};
    if ((!mine.active && !wanted) || !model)
        return;
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2], sms = (uint64_t)model->sm_count;
    uint32_t warps = (uint32_t)((threads + VM_LANES - 1) / VM_LANES);
    uint64_t on_sm = (blocks + sms - 1) / sms;
    resident = resident ? resident : 1;
    uint32_t traced = on_sm < resident ? (uint32_t)on_sm : resident;
    estimate->cost = model_cost_new(sim_memory(), launch->module, model);
    estimate->trace = estimate->cost ? count_trace_new(sim_memory(), traced, warps) : NULL;
    /* either the module is too large or memory has run out, so the kernel runs without an estimate */
    if (!estimate->trace) {
        sim_estimate_drop(estimate);
        mine.failed++;
        return;
    }
    choose_blocks(estimate->trace, blocks, sms, traced);
    uint64_t limit = INSNS_MOST / ((uint64_t)traced * warps);
    estimate->trace->limit = limit > WARP_LEAST ? limit : WARP_LEAST;
    estimate->trace->launch = launch;
    model_cost_trace(estimate->cost, estimate->trace);
    estimate->trace->only = mine.active && mine.sampled && !launch->cooperative;
    estimate->resident = resident;
    estimate->blocks = blocks;
    estimate->at_once = at_once;
    estimate->shared = (double)(function->resources.static_shared + launch->dynamic_shared) +
                       sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    const vm_function *code = &launch->module->functions[launch->kernel];
    estimate->spills = (vm_spills){.stores = (double)function->spills.store_bytes,
                                   .loads = (double)function->spills.load_bytes,
                                   .bytes = (double)function->spills.local_bytes,
                                   .first = (uint32_t)code->first_tally,
                                   .end = (uint32_t)code->first_tally + code->ptx->insn_count};
    watch->trace_alone = !watch->profile && !watch->tally && !watch->see && !watch->checks;
    watch->trace = estimate->trace;
}

/* Replays the trace of a launch that has run, and adds the estimated time to the thread's sum. `whole` is false if the
 * launch has failed. A failed launch gets no estimate. */
void sim_estimate_ran(sim_context *context, sim_estimate *estimate, bool whole, sim_timed *timed)
{
    *timed = (sim_timed){0};
    if (!estimate->trace)
        return;
    const sim_model *model = sim_current_profile()->model;
    bool failed = !whole;
    for (size_t k = 0; k < (size_t)estimate->trace->block_count * estimate->trace->warps_per_block; k++)
        failed |= estimate->trace->warps[k].failed;
    vm_time_launch launch = {.model = model,
                             .trace = estimate->trace,
                             .cost = estimate->cost,
                             .device = context->device,
                             .block_count = estimate->blocks,
                             .resident = estimate->resident,
                             .at_once = estimate->at_once,
                             .shared_bytes = estimate->shared,
                             .spills = estimate->spills};
    timed->known = !failed && model_time_estimate(sim_memory(), &launch, &timed->result);
    if (timed->known) {
        timed->overhead = model->launch * 1e-6;
        timed->seconds = timed->overhead +
                         timed->result.clocks * model_time_tie_factor(&launch, &timed->result) / model->clock;
        timed->bound = model_time_bound(&timed->result, timed->overhead * model->clock);
        mine.seconds += timed->seconds;
    } else {
        mine.failed++;
    }
    mine.launches++;
    sim_estimate_drop(estimate);
}

void sim_estimate_drop(sim_estimate *estimate)
{
    count_trace_free(estimate->trace);
    model_cost_free(estimate->cost);
    *estimate = (sim_estimate){0};
}

/* The time of a fill or a copy is the time of an empty launch, plus the bytes divided by the rate of the memory or of
 * the bus. The time is -1 if the profile has no figures for estimates. */
void sim_estimate_bytes(sim_context *context, sim_lane lane, const char *what, uint64_t bytes)
{
    const sim_model *model = sim_current_profile()->model;
    double seconds = -1;
    if (model) {
        const bool host = lane == SIM_LANE_TO_DEVICE || lane == SIM_LANE_FROM_DEVICE;
        const double rate = host ? model->host_rate * model->host_share : model->dram_rate * model->dram_share;
        seconds = model->launch * 1e-6 + (double)bytes / (rate * 1e9);
    }
    if (mine.active && model && lane == SIM_LANE_ON_DEVICE) {
        mine.seconds += seconds;
        mine.launches++;
    }
    sim_programs()->program_moved(context, lane, what, bytes, seconds);
}
