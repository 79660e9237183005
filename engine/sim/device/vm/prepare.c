/* prepare.c - checks a launch before it runs: its kernel, grid, block and clusters, and the memory of a block. */
#include <stdarg.h>

#include "vm_child.h"
#include "vm_hooks.h"
#include "vm_limit.h"
#include "vm_runtime.h"

/* The size of the shared memory that a kernel can access is a multiple of this many bytes. */
#define SHARED_GRANULE 128u

vm_fault_kind vm_launch_refuse(vm_fault *fault, vm_fault_kind kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fault->kind = kind;
    kiln__vformat(fault->message, sizeof fault->message, format, arguments);
    va_end(arguments);
    return kind;
}

/* Sets the size of the clusters of the launch. If the launch gives no size, the kernel's directives give it. Refuses
 * sizes that do not divide the grid. */
static vm_fault_kind prepare_clusters(vm_run_state *run, vm_fault *fault)
{
    const vm_launch *launch = run->launch;
    const ptx_function *f = run->kernel->ptx;
    const uint32_t *cluster = launch->cluster[0] ? launch->cluster : f->req_cluster, *grid = launch->grid;
    run->clustered = cluster[0] != 0;
    run->cluster_size = 1;
    for (unsigned axis = 0; axis < 3; axis++) {
        uint32_t blocks = run->cluster[axis] = cluster[axis] ? cluster[axis] : 1;
        run->cluster_size = blocks > VM_CLUSTER_MOST ? VM_CLUSTER_MOST + 1 : run->cluster_size * blocks;
        if (run->cluster_size > VM_CLUSTER_MOST || grid[axis] % blocks)
            return vm_launch_refuse(
                fault, VM_FAULT_INSTRUCTION,
                "kernel '%.80s' cannot run with a grid of %ux%ux%u blocks in clusters of %ux%ux%u: a cluster "
                "has at most %u blocks, and the grid must be a multiple of the cluster",
                f->name, grid[0], grid[1], grid[2], cluster[0], cluster[1], cluster[2], VM_CLUSTER_MOST);
    }
    return VM_OK;
}

/* Checks the kernel, the grid, the block, the clusters, and the shared and local memory of a launch. Lays out the
 * block's shared memory: first static memory, then dynamic memory, then the system's part. Calls hooks->grid(). Returns
 * VM_OK, or sets `fault` and returns its kind. */
vm_fault_kind vm_launch_prepare(vm_run_state *run, vm_fault *fault)
{
    const vm_launch *launch = run->launch;
    const vm_module *module = launch->module;
    if (launch->kernel < 0 || (uint32_t)launch->kernel >= module->ptx->function_count ||
        !module->ptx->functions[launch->kernel].entry || !module->functions[launch->kernel].code)
        return vm_launch_refuse(fault, VM_FAULT_INSTRUCTION, "the module has no kernel number %d", launch->kernel);
    run->kernel = &module->functions[launch->kernel];
    const char *name = run->kernel->ptx->name;
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1];
    threads = threads > 1024 ? threads : threads * launch->block[2];
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1];
    if (threads == 0 || threads > 1024 || blocks == 0 || launch->grid[2] == 0 ||
        blocks > UINT64_MAX / 2 / launch->grid[2])
        return vm_launch_refuse(
            fault, VM_FAULT_INSTRUCTION, "kernel '%.80s' cannot run with a grid of %ux%ux%u blocks of %ux%ux%u", name,
            launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2]);
    run->block_threads = (uint32_t)threads;
    run->warps_per_block = (uint32_t)((threads + VM_LANES - 1) / VM_LANES);
    run->block_count = blocks * launch->grid[2];
    if (prepare_clusters(run, fault) != VM_OK)
        return fault->kind;
    run->shared_low = vm_shared_low(run->device);
    run->shared_gap = run->shared_low + run->kernel->static_shared;
    run->shared_dynamic = run->kernel->uses_dynamic ? module->dynamic_base : run->shared_gap;
    run->shared_end = run->shared_dynamic + launch->dynamic_shared;
    run->shared_reach = run->shared_end > run->shared_gap ? run->shared_end : run->shared_gap;
    run->shared_reach = (run->shared_reach + SHARED_GRANULE - 1) / SHARED_GRANULE * SHARED_GRANULE;
    run->shared_system = 0;
    /* the address of the system's part is never 0, because 0 means that the block has no such part */
    if (module->uses_system_shared) {
        run->shared_system = run->shared_reach ? run->shared_reach : SHARED_GRANULE;
        run->shared_reach = run->shared_system + VM_SYSTEM_SHARED;
    }
    if (launch->dynamic_shared > VM_SHARED_WINDOW || run->shared_end > VM_SHARED_WINDOW ||
        run->kernel->static_shared + launch->dynamic_shared > run->device->limits.shared_per_block)
        return vm_launch_refuse(fault, VM_FAULT_INSTRUCTION,
                                "kernel '%.80s' needs %llu bytes of shared memory; %llu are available", name,
                                (unsigned long long)run->kernel->static_shared + launch->dynamic_shared,
                                (unsigned long long)run->device->limits.shared_per_block);
    if (run->kernel->closure_local > vm_local_most(run->device))
        return vm_launch_refuse(fault, VM_FAULT_STACK,
                                "kernel '%.80s' needs %llu bytes of local memory per thread; %u are available", name,
                                (unsigned long long)run->kernel->closure_local, vm_local_most(run->device));
    if (!vm_frame_fits(run->device, run->kernel))
        return vm_launch_refuse(
            fault, VM_FAULT_STACK,
            "kernel '%.80s' needs %llu bytes of stack per thread for parameters of calls; %u are available", name,
            (unsigned long long)run->kernel->ptx->frame_bytes, vm_local_most(run->device));
    run->local_bytes = ((uint32_t)run->kernel->closure_local + 15) & ~15u;
    run->cooperative = launch->cooperative;
    run->hooks = launch->hooks;
    if (run->hooks)
        run->hooks->grid(run);
    run->cluster_count = run->chosen ? run->block_count : run->block_count / run->cluster_size;
    return VM_OK;
}
