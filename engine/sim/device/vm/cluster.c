/* cluster.c - the blocks of a cluster, their barrier, and the message of a deadlock. The blocks run in turn on one host
 * thread (turn.c). window.c handles addresses in the shared memory of other blocks of the cluster. In a launch without
 * clusters, each cluster has one block. */
#include <stdio.h>

#include "vm_block.h"
#include "vm_fault.h"
#include "vm_hooks.h"
#include "vm_path.h"

vm_cluster *vm_cluster_new(vm_runner *runner)
{
    vm_run_state *run = runner->run;
    vm_cluster *cluster = kiln__calloc(run->device->mem, 1, sizeof *cluster);
    if (!cluster)
        return NULL;
    cluster->runner = runner;
    while (cluster->size < run->cluster_size) {
        vm_block *block = vm_block_new(cluster, cluster->size);
        if (!block) {
            vm_cluster_free(cluster);
            return NULL;
        }
        cluster->blocks[cluster->size++] = block;
    }
    return cluster;
}

void vm_cluster_free(vm_cluster *cluster)
{
    if (!cluster)
        return;
    for (uint32_t k = 0; k < cluster->size; k++)
        vm_block_free(cluster->blocks[k]);
    kiln__free(cluster->runner->run->device->mem, cluster);
}

void vm_cluster_first(const vm_run_state *run, uint64_t number, uint32_t first[3])
{
    const uint32_t *grid = run->launch->grid, *blocks = run->cluster;
    const uint64_t wide = grid[0] / blocks[0], high = grid[1] / blocks[1];
    first[0] = (uint32_t)(number % wide * blocks[0]);
    first[1] = (uint32_t)(number / wide % high * blocks[1]);
    first[2] = (uint32_t)(number / wide / high * blocks[2]);
}

/* Starts all blocks of the cluster `number`, in the order of their ranks. */
bool vm_cluster_start(vm_cluster *cluster, uint64_t number)
{
    const vm_run_state *run = cluster->runner->run;
    const uint32_t *grid = run->launch->grid, *blocks = run->cluster;
    uint32_t first[3];
    vm_cluster_first(run, number, first);
    cluster->live = run->block_threads * cluster->size;
    cluster->arrived = 0;
    if (cluster->size == 1)
        return vm_block_start(cluster->blocks[0], number);
    for (uint32_t k = 0; k < cluster->size; k++) {
        const uint64_t row = first[1] + k / blocks[0] % blocks[1], plane = first[2] + k / blocks[0] / blocks[1];
        if (!vm_block_start(cluster->blocks[k], (plane * grid[1] + row) * grid[0] + first[0] + k % blocks[0]))
            return false;
    }
    return true;
}

bool vm_cluster_ready(const vm_cluster *cluster)
{
    for (uint32_t k = 0; cluster->size > 1 && k < cluster->size; k++)
        if (!cluster->blocks[k]->ended && vm_block_ready(cluster->blocks[k]))
            return true;
    return false;
}

bool vm_cluster_release_waiting(vm_cluster *cluster)
{
    bool any = false;
    for (uint32_t k = 0; k < cluster->size; k++)
        any |= !cluster->blocks[k]->ended && vm_block_release_waiting(cluster->blocks[k]);
    return any;
}

void vm_cluster_check(vm_cluster *cluster)
{
    if (!cluster->arrived || cluster->arrived < cluster->live)
        return;
    cluster->arrived = 0;
    for (uint32_t k = 0; k < cluster->size; k++)
        if (!cluster->blocks[k]->ended)
            vm_barrier_open(cluster->blocks[k], VM_BARRIERS);
}

/* ---- deadlocks ---- */

/* The message of a deadlock while the function writes it: the first waiting warp, and the text that lists all waiting
 * warps. */
typedef struct waiting_list {
    vm_warp *warp; /* the first waiting warp; NULL until one is found */
    const vm_path *path;
    char text[300];
    size_t used;
} waiting_list;

/* Adds the place at which a path waits to the message. Leaves the path out if the text has no room for it. */
static void add_waiting(waiting_list *s, vm_warp *w, const vm_path *path)
{
    vm_fault place = {0};
    vm_fault_at(w, path->frame, path->pc, &place);
    if (!s->warp)
        s->warp = w, s->path = path;
    char block[32] = "";
    if (w->block->cluster->size > 1)
        snprintf(block, sizeof block, "block %u of the cluster ", w->block->rank);
    int wrote = snprintf(s->text + s->used, sizeof s->text - s->used, "%s%swarp %u mask 0x%08x %s line %u",
                         s->used ? ", " : "", block, w->index, path->mask,
                         path->state != VM_PATH_BARRIER ? "at a warp operation,"
                         : path->barrier > VM_BARRIERS  ? "at a wgmma,"
                                                        : "at a barrier,",
                         place.file_line ? place.file_line : place.ptx_line);
    s->used += wrote > 0 && (size_t)wrote < sizeof s->text - s->used ? (size_t)wrote : 0;
}

/* Calls the observers, lists every waiting path of the cluster, and raises the fault at the first waiting path. */
void vm_cluster_deadlock(vm_cluster *cluster)
{
    const vm_run_state *run = cluster->runner->run;
    waiting_list s = {0};
    vm_path root = {.pc = run->kernel->code, .mask = 1};
    for (uint32_t b = 0; b < cluster->size; b++) {
        vm_block *block = cluster->blocks[b];
        if (run->hooks && !block->ended)
            run->hooks->deadlock(block);
        for (uint32_t k = 0; k < block->warp_count; k++)
            for (uint32_t p = 0; p < block->warps[k].path_count; p++)
                add_waiting(&s, &block->warps[k], &block->warps[k].paths[p]);
    }
    /* Some path always waits here, unless the interpreter has an error. Even then the launch must end. If no path
     * waits, the message names any live warp. */
    for (uint32_t b = 0; b < cluster->size; b++)
        for (uint32_t k = 0; !s.warp && k < cluster->blocks[b]->warp_count; k++)
            if (cluster->blocks[b]->warps[k].root && cluster->blocks[b]->warps[k].dead != VM_ALL)
                s.warp = &cluster->blocks[b]->warps[k], s.path = &root, root.frame = s.warp->root;
    if (!s.warp)
        return;
    s.warp->frame = s.path->frame;
    vm_fault_raise(s.warp, s.path->pc, (uint32_t)__builtin_ctz(s.path->mask), VM_FAULT_DEADLOCK, 0, 0,
                   "deadlock, %u of %u threads live: %s", cluster->live, run->block_threads * cluster->size, s.text);
}

/* ---- instructions ---- */

/* Executes barrier.cluster.wait if flag 1 is set, otherwise barrier.cluster.arrive. */
void vm_op_cluster_barrier(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_cluster *cluster = w->block->cluster;
    if (!(i->flags & 1)) {
        if (w->cluster_arrived & m) {
            vm_fault_raise(w, i, (uint32_t)__builtin_ctz(w->cluster_arrived & m), VM_FAULT_INSTRUCTION, 0, 0,
                           "barrier.cluster.arrive twice without a wait");
            return;
        }
        w->cluster_arrived |= m;
        cluster->arrived += (uint32_t)__builtin_popcount(m);
        vm_cluster_check(cluster);
        return;
    }
    if (!(w->cluster_arrived & m))
        return; /* all threads have arrived already */
    vm_path *path = &w->paths[w->current];
    vm_warp_save(w);
    path->pc = i;
    path->arrived = m;
    path->state = VM_PATH_BARRIER;
    path->barrier = VM_BARRIERS;
    w->event |= VM_EVENT_SWITCH;
}
