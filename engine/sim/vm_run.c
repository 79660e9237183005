/* vm_run.c - a launch: blocks in order of start over host threads, several resident on each. */
#include <stdio.h>
#include <string.h>

#include "sim/vm_count.h"

#define QUANTUM (1u << 20)     /* warp instructions of a block before the next resident one has its turn */
#define RESIDENT 8u            /* blocks that take turns on one host thread; more only where all must be resident */

static bool runner_init(vm_runner *runner, vm_run_state *run)
{
    memset(runner, 0, sizeof *runner);
    runner->run = run;
    atomic_init(&runner->generation, UINT64_MAX);
    uint32_t count = run->launch->module->cache_count;
    runner->cache = kiln__alloc(run->device->mem, (count ? count : 1) * sizeof *runner->cache);
    if (!runner->cache)
        return false;
    if (!vm_count_begin(runner)) {
        kiln__free(run->device->mem, runner->cache);
        return false;
    }
    vm_runner_enter(run->device, runner); /* the first turn of a warp clears the caches */
    return true;
}

static void runner_end(vm_runner *runner)
{
    const kiln_allocator *mem = runner->run->device->mem;
    vm_runner_leave(runner->run->device, runner);
    for (size_t k = 0; k < runner->block_count; k++)
        vm_block_free(runner->blocks[k]);
    vm_block_free(runner->spare);
    kiln__free(mem, runner->blocks);
    kiln__free(mem, runner->cache);
    vm_count_drop(runner);
    vm_pool_clear(runner);
}

static void out_of_memory(vm_run_state *run)
{
    pthread_mutex_lock(&run->lock);
    if (run->fault->kind == VM_OK) {
        run->fault->kind = VM_FAULT_MEMORY;
        snprintf(run->fault->kernel, sizeof run->fault->kernel, "%s", run->kernel->ptx->name);
        snprintf(run->fault->message, sizeof run->fault->message, "out of host memory for the blocks of kernel '%.80s'",
                 run->kernel->ptx->name);
    }
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stop, 1);
}

static bool admit(vm_runner *runner)
{
    vm_run_state *run = runner->run;
    uint64_t number = atomic_fetch_add(&run->next_block, 1);
    if (number >= run->block_count)
        return false;
    vm_block *block = runner->spare ? runner->spare : vm_block_new(runner);
    runner->spare = NULL;
    if (!block || !kiln__grow(run->device->mem, &runner->blocks, &runner->block_capacity, runner->block_count + 1,
                              sizeof *runner->blocks)) {
        vm_block_free(block);
        out_of_memory(run);
        return false;
    }
    runner->blocks[runner->block_count++] = block;
    if (!vm_block_start(block, number)) {
        out_of_memory(run);
        return false;
    }
    return true;
}

static void *work(void *argument)
{
    vm_runner *runner = argument;
    vm_run_state *run = runner->run;
    size_t most = run->resident, target = run->cooperative ? most : 1, at = 0;
    bool more = true;
    while (!atomic_load(&run->stop)) {
        while (more && runner->block_count < target)
            more = admit(runner);
        if (runner->block_count == 0 || atomic_load(&run->stop))
            break;
        at %= runner->block_count;
        vm_block *block = runner->blocks[at];
        if (!vm_block_run(block, QUANTUM)) {
            at++;
            if (target < most && target == runner->block_count)
                target++; /* it may wait for one that has not started */
            continue;
        }
        memmove(runner->blocks + at, runner->blocks + at + 1,
                (--runner->block_count - at) * sizeof *runner->blocks);
        if (runner->spare)
            vm_block_free(block);
        else
            runner->spare = block;
    }
    atomic_store(&runner->generation, UINT64_MAX);
    return NULL;
}

static vm_fault_kind refuse(const vm_run_state *run, vm_fault_kind kind, const char *format, ...) KILN__PRINTF(3, 4);
static vm_fault_kind refuse(const vm_run_state *run, vm_fault_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    run->fault->kind = kind;
    vsnprintf(run->fault->message, sizeof run->fault->message, format, arguments);
    va_end(arguments);
    return kind;
}

/* What the launch asks for, checked. */
static vm_fault_kind prepare(vm_run_state *run)
{
    const vm_launch *launch = run->launch;
    const vm_module *module = launch->module;
    if (launch->kernel < 0 || (uint32_t)launch->kernel >= module->ptx->function_count ||
        !module->ptx->functions[launch->kernel].entry || !module->functions[launch->kernel].code)
        return refuse(run, VM_FAULT_INSTRUCTION, "the module has no kernel %d", launch->kernel);
    run->kernel = &module->functions[launch->kernel];
    const char *name = run->kernel->ptx->name;
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1];
    threads = threads > 1024 ? threads : threads * launch->block[2];
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1];
    if (threads == 0 || threads > 1024 || blocks == 0 || launch->grid[2] == 0 || blocks > UINT64_MAX / 2 / launch->grid[2])
        return refuse(run, VM_FAULT_INSTRUCTION, "kernel '%.80s' cannot run with a grid of %ux%ux%u blocks of %ux%ux%u",
                      name, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
                      launch->block[2]);
    run->block_threads = (uint32_t)threads;
    run->warps_per_block = (uint32_t)((threads + VM_LANES - 1) / VM_LANES);
    run->block_count = blocks * launch->grid[2];
    run->shared_gap = run->kernel->static_shared;
    run->shared_dynamic = run->kernel->uses_dynamic ? module->dynamic_base : run->shared_gap;
    run->shared_end = run->shared_dynamic + launch->dynamic_shared;
    if (launch->dynamic_shared > VM_SHARED_WINDOW || run->shared_end > VM_SHARED_WINDOW ||
        run->shared_gap + launch->dynamic_shared > run->device->limits.shared_per_block)
        return refuse(run, VM_FAULT_INSTRUCTION, "kernel '%.80s' asks for %llu bytes of shared memory, of which there are %llu",
                      name, (unsigned long long)(run->shared_gap + launch->dynamic_shared),
                      (unsigned long long)run->device->limits.shared_per_block);
    if (run->kernel->closure_local > VM_LOCAL_BYTES_MAX)
        return refuse(run, VM_FAULT_STACK, "kernel '%.80s' needs %llu bytes of local memory a thread, of which there are %u",
                      name, (unsigned long long)run->kernel->closure_local, VM_LOCAL_BYTES_MAX);
    run->local_bytes = ((uint32_t)run->kernel->closure_local + 15) & ~15u;
    run->cooperative = launch->cooperative;
    return VM_OK;
}

vm_fault_kind vm_run(vm_device *device, const vm_launch *launch, vm_counters *counters, vm_fault *fault)
{
    vm_fault own;
    vm_run_state run = {.device = device, .launch = launch, .fault = fault ? fault : &own};
    memset(run.fault, 0, sizeof *run.fault);
    if (counters)
        memset(counters, 0, sizeof *counters);
    if (prepare(&run) != VM_OK)
        return run.fault->kind;
    unsigned threads = device->limits.threads ? device->limits.threads : kiln__cpu_count();
    enum { THREADS_MOST = 256 };
    threads = threads > THREADS_MOST ? THREADS_MOST : threads;
    if (threads > run.block_count)
        threads = (unsigned)run.block_count;
    run.resident = RESIDENT;
    if (run.cooperative)
        run.resident = (size_t)((run.block_count + threads - 1) / threads);
    atomic_init(&run.next_block, 0);
    atomic_init(&run.steps, 0);
    atomic_init(&run.stop, 0);
    vm_runner *runners = kiln__calloc(device->mem, threads, sizeof *runners);
    pthread_t *helpers = kiln__calloc(device->mem, threads, sizeof *helpers);
    if (!runners || !helpers || pthread_mutex_init(&run.lock, NULL) != 0) {
        kiln__free(device->mem, runners);
        kiln__free(device->mem, helpers);
        return refuse(&run, VM_FAULT_MEMORY, "out of host memory");
    }
    unsigned ready = 0, started = 0;
    while (ready < threads && runner_init(&runners[ready], &run))
        ready++;
    if (ready == 0) {
        out_of_memory(&run);
    } else {
        while (started + 1 < ready && pthread_create(&helpers[started], NULL, work, &runners[started + 1]) == 0)
            started++;
        work(&runners[0]);
        for (unsigned k = 0; k < started; k++)
            pthread_join(helpers[k], NULL);
    }
    for (unsigned k = 0; k < ready; k++) {
        if (counters) {
            counters->warp_instructions += runners[k].counters.warp_instructions;
            counters->lane_instructions += runners[k].counters.lane_instructions;
            counters->blocks += runners[k].counters.blocks;
            counters->warps += runners[k].counters.warps;
        }
        vm_count_end(&runners[k]);
        runner_end(&runners[k]);
    }
    kiln__free(device->mem, runners);
    kiln__free(device->mem, helpers);
    pthread_mutex_destroy(&run.lock);
    return run.fault->kind;
}
