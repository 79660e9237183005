/* run.c - runs a launch. Several host threads (runners) start the clusters of a grid one after the other, in the order
 * that the launch asks for. Several clusters are resident on each runner, and the resident clusters take turns. */
#include <fenv.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "vm_block.h"
#include "vm_child.h"
#include "vm_hooks.h"
#include "vm_limit.h"
#include "vm_memory.h"
#include "vm_path.h"
#include "vm_poll.h"
#include "vm_runtime.h"

#define QUANTUM (1u << 20) /* warp instructions of a cluster before the turn of the next resident cluster */
#define RESIDENT 8u        /* the largest number of blocks that usually take turns on one host thread */
#define CLUSTERS_LEAST 2u  /* the least number of clusters that take turns, if a cluster has many blocks */
/* If no cluster ends in this number of turns, the clusters may be waiting for a cluster that has not started. */
#define PATIENCE 16u

/* Initialises a runner, a host thread's state for one grid. Returns false if memory runs out. */
static bool start_runner(vm_runner *runner, vm_run_state *run)
{
    memset(runner, 0, sizeof *runner);
    runner->run = run;
    atomic_init(&runner->generation, UINT64_MAX);
    vm_limit_begin(runner);
    uint32_t count = run->launch->module->cache_count;
    runner->cache = kiln__alloc(run->device->mem, (count ? count : 1) * sizeof *runner->cache);
    if (!runner->cache)
        return false;
    runner->show = run->hooks ? run->hooks->insn : NULL;
    if (run->hooks && !run->hooks->runner_begin(runner)) {
        kiln__free(run->device->mem, runner->cache);
        return false;
    }
    runner->jit = !run->hooks || runner->access ? run->device->jit : NULL;
    vm_runner_enter(run->device, runner); /* the first turn of a warp empties the runner's caches */
    return true;
}

static void end_runner(vm_runner *runner)
{
    const kiln_allocator *mem = runner->run->device->mem;
    vm_runner_leave(runner->run->device, runner);
    for (size_t k = 0; k < runner->cluster_count; k++)
        vm_cluster_free(runner->clusters[k]);
    vm_cluster_free(runner->spare);
    kiln__free(mem, runner->clusters);
    kiln__free(mem, runner->cache);
    if (runner->run->hooks)
        runner->run->hooks->runner_free(runner);
    vm_pool_clear(runner);
}

/* Records that there is no memory for a single block, and stops the launch. */
static void raise_out_of_memory(vm_run_state *run)
{
    vm_fault *fault = run->family->fault;
    unsigned long long local = (unsigned long long)run->local_bytes * run->warps_per_block * VM_LANES;
    pthread_mutex_lock(&run->family->lock);
    if (fault->kind == VM_OK) {
        fault->kind = VM_FAULT_MEMORY;
        snprintf(fault->kernel, sizeof fault->kernel, "%s", run->kernel->ptx->name);
        snprintf(
            fault->message, sizeof fault->message,
            "out of memory for the blocks of kernel '%.80s', each of which has %llu bytes of local memory; blocks of a "
            "launch may use %llu bytes, frames of calls included",
            run->kernel->ptx->name, local, (unsigned long long)run->family->hold_most);
    }
    pthread_mutex_unlock(&run->family->lock);
    atomic_store(&run->family->stop, 1);
}

/* Allocates a cluster, or reuses the runner's spare cluster. Returns NULL if memory runs out. If memory runs out, the
 * runner continues with the clusters that it has. The launch fails only if no runner has a cluster, or if all blocks
 * must be resident. */
static vm_cluster *take_cluster(vm_runner *runner)
{
    vm_run_state *run = runner->run;
    vm_cluster *cluster = runner->spare;
    runner->spare = NULL;
    if (!runner->holds)
        atomic_fetch_add(&run->holders, 1);
    if (!cluster)
        cluster = vm_cluster_new(runner);
    if (cluster && !kiln__grow(run->device->mem, &runner->clusters, &runner->cluster_capacity,
                               runner->cluster_count + 1, sizeof *runner->clusters)) {
        vm_cluster_free(cluster);
        cluster = NULL;
    }
    if (cluster)
        runner->holds = true;
    else if ((!runner->holds && atomic_fetch_sub(&run->holders, 1) == 1) || run->cooperative)
        raise_out_of_memory(run);
    return cluster;
}

/* Keeps a cluster as the runner's spare cluster, or frees it. */
static void keep_or_free(vm_runner *runner, vm_cluster *cluster)
{
    if (runner->spare)
        vm_cluster_free(cluster);
    else
        runner->spare = cluster;
}

/* Returns the number of the cluster that contains the chosen block with this index. A cluster always runs as a whole,
 * so the other blocks of the cluster run too. */
static uint64_t get_chosen_cluster(const vm_run_state *run, uint64_t index)
{
    const uint32_t *grid = run->launch->grid, *blocks = run->cluster;
    const uint64_t block = run->hooks->chosen(run, index), row = block / grid[0];
    const uint64_t x = block % grid[0] / blocks[0], y = row % grid[1] / blocks[1], z = row / grid[1] / blocks[2];
    return (z * (grid[1] / blocks[1]) + y) * (grid[0] / blocks[0]) + x;
}

/* Returns true if an earlier chosen block is in the same cluster as the chosen block with this index. The function
 * compares with all earlier blocks, because only few blocks are chosen. */
static bool was_chosen(const vm_run_state *run, uint64_t index)
{
    for (uint64_t k = 0; run->cluster_size > 1 && k < index; k++)
        if (get_chosen_cluster(run, k) == get_chosen_cluster(run, index))
            return true;
    return false;
}

__extension__ typedef unsigned __int128 wide;

static uint64_t get_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns the cluster that starts at position `number` of the launch's order. A shuffled order maps the position to
 * (start + step * position) modulo the count. `step` and the count have no common divisor, so each cluster occurs
 * once. */
static uint64_t get_ordered(const vm_run_state *run, uint64_t number)
{
    const uint64_t count = run->cluster_count, order = run->launch->order;
    if (order < 2 || count < 3)
        return order ? count - 1 - number : number;
    uint64_t step = 1 + order * 0x9e3779b97f4a7c15u % (count - 1);
    while (get_common_divisor(step, count) != 1)
        step = step % (count - 1) + 1;
    return (uint64_t)(((wide)step * number + order % count) % count);
}

/* Starts the next cluster on this runner. Returns false if no cluster is left or the launch has failed. */
static bool start_next_cluster(vm_runner *runner)
{
    vm_run_state *run = runner->run;
    if (atomic_load(&run->next_cluster) >= run->cluster_count)
        return false;
    vm_cluster *cluster = take_cluster(runner);
    uint64_t number;
    do
        number = cluster ? atomic_fetch_add(&run->next_cluster, 1) : run->cluster_count;
    while (number < run->cluster_count && run->chosen && was_chosen(run, number));
    if (number >= run->cluster_count) {
        keep_or_free(runner, cluster);
        return false;
    }
    if (run->chosen)
        number = get_chosen_cluster(run, number);
    else
        number = get_ordered(run, number);
    runner->clusters[runner->cluster_count++] = cluster;
    if (!vm_cluster_start(cluster, number)) {
        raise_out_of_memory(run);
        return false;
    }
    return true;
}

/* Takes the number of the next block. This works only in a launch without clusters whose blocks all run. Returns false
 * if no block is left. */
static bool take_next_block(vm_runner *runner, uint64_t *number)
{
    vm_run_state *run = runner->run;
    if (atomic_load_explicit(&run->next_cluster, memory_order_relaxed) >= run->cluster_count)
        return false;
    *number = atomic_fetch_add(&run->next_cluster, 1);
    if (*number >= run->cluster_count)
        return false;
    *number = get_ordered(run, *number);
    return true;
}

/* Cancels the cluster that would start next. The counter of started clusters makes sure that each cluster either starts
 * or is cancelled, exactly once.
 *
 * A request fails if no cluster is left. A request also fails in three other cases. In a cooperative launch all blocks
 * start at once, so no block can be cancelled. If observers run only some blocks, the other blocks are not simulated,
 * so nobody can take their work. In a shuffled order one request in eight fails although clusters are left, because a
 * GPU may refuse a request at any time. */
bool vm_cluster_cancel(vm_warp *w, uint32_t first[3])
{
    enum { SHUFFLED = 2 };
    vm_run_state *run = w->runner->run;
    const uint64_t next = atomic_load(&run->next_cluster), order = run->launch->order;
    if (run->cooperative || run->chosen || next >= run->cluster_count)
        return false;
    if (order >= SHUFFLED && ((order + next + w->block->number) * 0x9e3779b97f4a7c15u) >> 61 == 0)
        return false;
    const uint64_t number = atomic_fetch_add(&run->next_cluster, 1);
    if (number >= run->cluster_count)
        return false;
    vm_cluster_first(run, get_ordered(run, number), first);
    return true;
}

/* Releases lanes at reconvergence points in all warps of the runner. Returns false if no lanes wait there. */
static bool release_all_waiting(vm_runner *runner)
{
    bool any = false;
    for (size_t c = 0; c < runner->cluster_count; c++)
        for (uint32_t b = 0; b < runner->clusters[c]->size; b++) {
            vm_block *block = runner->clusters[c]->blocks[b];
            for (uint32_t k = 0; !block->ended && k < block->warp_count; k++)
                any |= vm_warp_release_waiting(&block->warps[k]);
        }
    return any;
}

/* Returns how many clusters the device could hold at once, divided by the number of runners that have not ended. */
static size_t get_room(const vm_run_state *run)
{
    enum { BLOCKS_A_MULTIPROCESSOR = 32 };
    const vm_limits *limits = &run->device->limits;
    const size_t multiprocessors = (size_t)(limits->sm_count > 0 ? limits->sm_count : 1);
    size_t blocks = BLOCKS_A_MULTIPROCESSOR * multiprocessors;
    vm_resources needs;
    int fit;
    vm_kernel_resources(run->launch->module, run->launch->kernel, &needs);
    if (limits->occupancy &&
        limits->occupancy(limits->user, &needs, (int)run->block_threads, run->launch->dynamic_shared, &fit))
        blocks = (size_t)(fit > 0 ? fit : 1) * multiprocessors;
    const size_t share = run->cluster_size * (size_t)atomic_load(&run->working);
    return (blocks + share - 1) / share;
}

/* The main loop calls this function when all clusters of the runner have waited in vain for a whole round. The clusters
 * wait for an action of another thread. The function tries four explanations, in this order:
 *  1. Another runner will take the action.
 *  2. A block that has not started will take it.
 *  3. Lanes at a reconvergence point will take it.
 *  4. No thread will ever take it. */
static void wait_round(vm_runner *runner, size_t *most)
{
    enum { PROVE = 64, PROVE_CHECKED = 4096, BUSY = 16, PAUSE_NS = 20000 };
    vm_run_state *run = runner->run;
    if (!runner->rounds++)
        /* The checks can describe a wait for an mbarrier in more detail, so with checks the runner waits for more
         * rounds. */
        runner->prove_at = run->hooks ? PROVE_CHECKED : PROVE;
    if (atomic_load(&run->working) > 1 && runner->rounds < BUSY)
        sched_yield();
    else if (atomic_load(&run->working) > 1)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    if (!vm_poll_all_wait(runner))
        return;
    if (atomic_load(&run->next_cluster) < run->cluster_count) {
        const size_t room = get_room(run);
        if (*most < room) {
            *most = 2 * *most < room ? 2 * *most : room;
            return;
        }
    }
    /* In the first rounds the runner does not release the lanes. A loop that ends by its own limit also reads the same
     * value a few times, and released lanes would not reconverge at the point where they waited. */
    if ((runner->rounds >= PROVE || (!run->hooks && vm_poll_repeats(runner))) && release_all_waiting(runner)) {
        vm_poll_moved(runner);
        return;
    }
    if (runner->rounds >= runner->prove_at && !vm_poll_endless(runner))
        runner->prove_at *= 2;
}

static bool is_late(const vm_run_state *run) { return run->launch->order & VM_LATE; }

/* Returns the length of a cluster's turn. In a late order (VM_LATE) the length is 1 to 2^16 operations for each block
 * of the cluster. The length stays the same for eight turns, so that a late cluster stays behind. */
static uint64_t get_quantum(const vm_run_state *run, uint64_t block, uint64_t turn)
{
    enum { LENGTHS = 17, SAME = 8 };
    if (!is_late(run))
        return QUANTUM;
    const uint64_t mixed = (run->launch->order + block + (turn / SAME << 40)) * 0x9e3779b97f4a7c15u;
    return ((uint64_t)1 << ((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 32) % LENGTHS) * run->cluster_size;
}

/* The main loop of a runner, on one host thread: starts clusters, runs them in turn, and removes clusters that have
 * ended. */
static void *run_clusters(void *argument)
{
    vm_runner *runner = argument;
    vm_run_state *run = runner->run;
    size_t most = run->resident, target = run->cooperative || is_late(run) ? most : 1, at = 0, still = 0, turns = 0;
    uint64_t turn = 0;
    bool more = true;
    while (!atomic_load(&run->family->stop)) {
        while (more && runner->cluster_count < target)
            more = start_next_cluster(runner);
        more = more || (runner->cluster_count > 0 && atomic_load(&run->next_cluster) < run->cluster_count);
        if (runner->cluster_count == 0 || atomic_load(&run->family->stop))
            break;
        at %= runner->cluster_count;
        vm_cluster *cluster = runner->clusters[at];
        bool moved = true,
             ended = runner->cluster_count == 1 && vm_series_run(runner, cluster, QUANTUM, take_next_block);
        if (!ended && atomic_load(&run->family->stop))
            break;
        if (!ended)
            ended = vm_cluster_run(cluster, get_quantum(run, cluster->blocks[0]->number, turn / runner->cluster_count),
                                   &moved);
        turn++;
        still = moved ? 0 : still + 1;
        if (moved)
            vm_poll_moved(runner);
        if (!ended) {
            at++;
            /* The runner starts no more clusters than needed, so that other host threads which have finished their
             * clusters can run the remaining clusters. */
            if (target < most && target == runner->cluster_count && (!moved || ++turns % PATIENCE == 0)) {
                target++;
            } else if (still >= runner->cluster_count) {
                wait_round(runner, &most);
                still = 0;
            }
            continue;
        }
        turns = 0; /* the other clusters may have waited for the cluster that ended */
        memmove(runner->clusters + at, runner->clusters + at + 1,
                (--runner->cluster_count - at) * sizeof *runner->clusters);
        keep_or_free(runner, cluster);
    }
    atomic_fetch_sub(&run->working, 1);
    vm_poll_moved(runner);
    atomic_store(&runner->generation, UINT64_MAX);
    return NULL;
}

/* Runs the main loop on a helper thread. When the main loop ends, another grid of the launch may start a host thread
 * instead of this thread. */
static void *run_helper(void *argument)
{
    vm_family *family = ((vm_runner *)argument)->run->family;
    run_clusters(argument);
    atomic_fetch_add(&family->spare, 1);
    return NULL;
}

/* Takes up to `most` of the host threads that the launch may still start, and returns their number. */
static unsigned borrow_threads(vm_family *family, uint64_t most)
{
    int spare = atomic_load(&family->spare), take;
    do {
        take = spare <= 0 ? 0 : (uint64_t)spare > most ? (int)most : spare;
    } while (take && !atomic_compare_exchange_weak(&family->spare, &spare, spare - take));
    return (unsigned)take;
}

/* Adds a runner's counts to the launch's counts. */
static void add_counts(vm_runner *runner)
{
    vm_family *family = runner->run->family;
    atomic_fetch_add(&family->steps, runner->kept);
    runner->kept = 0;
    pthread_mutex_lock(&family->lock);
    family->counters.warp_instructions += runner->counters.warp_instructions;
    family->counters.lane_instructions += runner->counters.lane_instructions;
    family->counters.blocks += runner->counters.blocks;
    family->counters.warps += runner->counters.warps;
    if (runner->run->hooks)
        runner->run->hooks->runner_end(runner);
    pthread_mutex_unlock(&family->lock);
}

/* Allocates the device memory for the grid's barrier of a cooperative launch. The first word of this memory is its
 * size, and the barrier's counter follows. Returns false if memory runs out. */
static bool open_workspace(vm_run_state *run)
{
    enum { WORKSPACE = 64 };
    if (!run->cooperative)
        return true;
    run->workspace = vm_alloc(run->device, WORKSPACE);
    uint32_t *room = run->workspace ? vm_pointer(run->device, run->workspace, WORKSPACE) : NULL;
    if (!room)
        return false;
    memset(room, 0, WORKSPACE);
    room[0] = WORKSPACE;
    return true;
}

/* Copies the kernel's parameters to memory between guard pages. If the caller gives no parameters, the kernel's
 * parameters are zero. */
static bool copy_params(vm_run_state *run)
{
    const size_t bytes = (size_t)run->kernel->ptx->param_bytes;
    if (bytes == 0)
        return true;
    run->params = vm_guard_take(&run->device->guards, bytes, VM_GUARD_OWN, !run->launch->params);
    if (run->params && run->launch->params)
        memcpy(run->params, run->launch->params, bytes);
    return run->params != NULL;
}

/* Runs all blocks of a grid, and the work that they launch. Starts helper threads, takes part itself, and joins
 * them. */
static void run_blocks(vm_run_state *run)
{
    const kiln_allocator *mem = run->device->mem;
    unsigned helping = borrow_threads(run->family, run->cluster_count - 1), threads = 1 + helping;
    run->resident = RESIDENT / run->cluster_size;
    run->resident = run->resident < CLUSTERS_LEAST ? CLUSTERS_LEAST : run->resident;
    if (run->cooperative)
        run->resident = (size_t)((run->cluster_count + threads - 1) / threads);
    run->waiting = run->repeating = (vm_ballot){.moves = UINT64_MAX};
    atomic_init(&run->moves, 0);
    atomic_init(&run->next_cluster, 0);
    atomic_init(&run->holders, 0);
    run->grid_id = atomic_fetch_add(&run->family->grids, 1) + 1;
    vm_runner *runners = kiln__calloc(mem, threads, sizeof *runners);
    pthread_t *helpers = kiln__calloc(mem, threads, sizeof *helpers);
    unsigned ready = 0, started = 0;
    bool room = copy_params(run) && open_workspace(run);
    while (room && runners && helpers && ready < threads && start_runner(&runners[ready], run))
        ready++;
    if (ready == 0) {
        raise_out_of_memory(run);
    } else {
        atomic_init(&run->working, ready);
        while (started + 1 < ready && kiln__thread_start(&helpers[started], run_helper, &runners[started + 1]) == 0)
            started++;
        atomic_fetch_add(&run->family->spare, (int)(helping - started));
        atomic_fetch_sub(&run->working, ready - 1 - started);
        run_clusters(&runners[0]);
        for (unsigned k = 0; k < started; k++)
            pthread_join(helpers[k], NULL);
    }
    if (ready == 0)
        atomic_fetch_add(&run->family->spare, (int)helping);
    for (unsigned k = 0; k < ready; k++)
        for (size_t c = 0; c < runners[k].cluster_count; c++)
            for (uint32_t b = 0; b < run->cluster_size; b++)
                if (!runners[k].clusters[c]->blocks[b]->ended)
                    vm_limit_count(runners[k].clusters[c]->blocks[b]);
    vm_limit_explain(run);
    for (unsigned k = 0; k < ready; k++) {
        add_counts(&runners[k]);
        end_runner(&runners[k]);
    }
    if (run->workspace)
        vm_free(run->device, run->workspace);
    vm_guard_give(&run->device->guards, run->params, (size_t)run->kernel->ptx->param_bytes, VM_GUARD_OWN);
    run->params = NULL;
    kiln__free(mem, runners);
    kiln__free(mem, helpers);
}

/* Runs a grid, then its tail launches one after the other. */
void vm_grid_run(vm_run_state *run)
{
    run_blocks(run);
    while (run->tails) { /* a chain of tail launches may be endless, so this is a loop and not a recursion */
        vm_task *task = run->tails;
        run->tails = task->next;
        vm_run_state next = {.device = run->device,
                             .family = run->family,
                             .launch = &task->launch,
                             .depth = run->depth,
                             .launcher = run->kernel->ptx->name};
        vm_fault fault;
        if (!atomic_load(&run->family->stop) && !task->is_launch)
            vm_task_move(run, task);
        else if (!atomic_load(&run->family->stop) && vm_launch_prepare(&next, &fault) == VM_OK)
            run_blocks(&next);
        vm_task_free(run->device->mem, task);
        if (!next.tails)
            continue;
        vm_task **last = &next.tails; /* the tail launches of this grid run before the older tail launches */
        while (*last)
            last = &(*last)->next;
        *last = run->tails;
        run->tails = next.tails;
    }
}

/* Sets up the state of a launch by the host, runs it, and returns its fault. */
static vm_fault_kind run_launch(vm_device *device, const vm_launch *launch, vm_counters *counters, vm_fault *fault)
{
    vm_fault own;
    vm_family family = {.fault = fault ? fault : &own};
    vm_run_state run = {.device = device, .family = &family, .launch = launch};
    memset(family.fault, 0, sizeof *family.fault);
    vm_limit_init(&family, device, launch);
    if (counters)
        memset(counters, 0, sizeof *counters);
    if (vm_launch_prepare(&run, family.fault) != VM_OK)
        return family.fault->kind;
    unsigned threads = device->limits.threads ? device->limits.threads : kiln__cpu_count();
    enum { THREADS_MOST = 256 };
    atomic_init(&family.spare, (int)(threads > THREADS_MOST ? THREADS_MOST : threads) - 1);
    if ((run.hooks && !run.hooks->begin(&run)) || pthread_mutex_init(&family.lock, NULL) != 0)
        return vm_launch_refuse(family.fault, VM_FAULT_MEMORY, "out of host memory");
    if (run.serial)
        atomic_store(&family.spare, 0);
    vm_grid_run(&run);
    pthread_mutex_destroy(&family.lock);
    if (run.hooks)
        run.hooks->end(&run);
    if (counters)
        *counters = family.counters;
    if (launch->steps_left) {
        const uint64_t taken = atomic_load(&family.steps);
        *launch->steps_left = family.fault->kind == VM_FAULT_STEPS || taken > *launch->steps_left
                                  ? 0
                                  : *launch->steps_left - taken;
    }
    return family.fault->kind;
}

/* Runs the launch in the default floating-point environment, because the program may have set its own rounding, traps
 * or treatment of subnormals. */
vm_fault_kind vm_run(vm_device *device, const vm_launch *launch, vm_counters *counters, vm_fault *fault)
{
    fenv_t before;
    const bool changed = fegetenv(&before) == 0 && fesetenv(FE_DFL_ENV) == 0;
    const vm_fault_kind kind = run_launch(device, launch, counters, fault);
    if (changed)
        fesetenv(&before);
    return kind;
}
