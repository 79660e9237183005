/* cluster.c - a cluster: blocks that run in turn on one host thread, their barrier, and their access to each other's
 * shared memory. A launch without clusters has clusters of one block. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vm_hooks.h"

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

/* Starts all blocks of the cluster `number`, in the order of their ranks. */
bool vm_cluster_start(vm_cluster *cluster, uint64_t number)
{
    const vm_run_state *run = cluster->runner->run;
    const uint32_t *grid = run->launch->grid, *blocks = run->cluster;
    const uint64_t wide = grid[0] / blocks[0], high = grid[1] / blocks[1];
    const uint64_t x = number % wide * blocks[0], y = number / wide % high * blocks[1],
                   z = number / wide / high * blocks[2];
    cluster->live = run->block_threads * cluster->size;
    cluster->arrived = 0;
    for (uint32_t k = 0; k < cluster->size; k++) {
        const uint64_t row = y + k / blocks[0] % blocks[1], plane = z + k / blocks[0] / blocks[1];
        if (!vm_block_start(cluster->blocks[k], (plane * grid[1] + row) * grid[0] + x + k % blocks[0]))
            return false;
    }
    return true;
}

/* Runs the blocks in turn until one uses up its quantum, all have ended, or the launch stops. If every block only waits
 * for another one, the turn starts again. */
bool vm_cluster_run(vm_cluster *cluster, uint64_t quantum, bool *moved)
{
    const vm_family *family = cluster->runner->run->family;
    bool waits = true, ended = false;
    *moved = false;
    while (waits && !ended && !atomic_load_explicit(&family->stop, memory_order_relaxed)) {
        ended = true;
        for (uint32_t k = 0; k < cluster->size; k++) {
            vm_block *block = cluster->blocks[k];
            if (block->ended)
                continue;
            vm_turn turn = vm_block_run(block, quantum / cluster->size);
            waits = waits && turn != VM_TURN_OVER;
            *moved = *moved || block->moved;
            if (turn == VM_TURN_ENDED)
                vm_children_run(block);
            else
                ended = false;
            if (atomic_load_explicit(&family->stop, memory_order_relaxed))
                return ended && k + 1 == cluster->size;
        }
    }
    return ended;
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

/* The message of a deadlock while it is written: the first waiting warp, and a list of all. */
typedef struct waiting_list {
    vm_warp *warp; /* the first warp; NULL: none yet */
    const vm_path *path;
    char text[300];
    size_t used;
} waiting_list;

/* Adds the place at which a path waits to the message. A path that does not fit is left out. */
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

/* Tells the observers, lists every path of the cluster, and raises the fault at the first. */
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
    /* should not happen; but a launch must end */
    for (uint32_t b = 0; b < cluster->size; b++)
        for (uint32_t k = 0; !s.warp && k < cluster->blocks[b]->warp_count; k++)
            if (cluster->blocks[b]->warps[k].root)
                s.warp = &cluster->blocks[b]->warps[k], s.path = &root, root.frame = s.warp->root;
    if (!s.warp)
        return;
    s.warp->frame = s.path->frame;
    vm_fault_raise(s.warp, s.path->pc, (uint32_t)__builtin_ctz(s.path->mask), VM_FAULT_DEADLOCK, 0, 0,
                   "deadlock, %u of %u threads live: %s", cluster->live, run->block_threads * cluster->size, s.text);
}

/* ---- the shared memory of other blocks ---- */

/* Says where a block of the cluster has exited. */
static void explain_exit(const vm_block *gone, char *why, size_t size)
{
    vm_fault place = {0};
    if (gone->left)
        vm_fault_in(gone->left_in, gone->left, &place);
    const char *name = strrchr(place.file, '/');
    snprintf(why, size, "block (%u,%u,%u) of the cluster has exited, at %.80s%s%u", gone->id[0], gone->id[1],
             gone->id[2], name ? name + 1 : place.file, place.file[0] ? ":" : "PTX line ",
             place.file[0] ? place.file_line : place.ptx_line);
}

vm_block *vm_block_at(const vm_warp *w, uint64_t *address, char *why, size_t size)
{
    const vm_cluster *cluster = w->block->cluster;
    *address = (uint32_t)*address; /* a GPU keeps it in 32 bits, so a generic address is allowed too, as in DeepGEMM */
    if (*address < VM_SHARED_WINDOW)
        return w->block;
    const uint64_t rank = *address / VM_SHARED_WINDOW - 1;
    if (rank >= cluster->size) {
        snprintf(why, size, "the cluster has %u block%s", cluster->size, cluster->size == 1 ? "" : "s");
        return NULL;
    }
    vm_block *block = cluster->blocks[rank];
    *address %= VM_SHARED_WINDOW;
    if (block->live)
        return block;
    explain_exit(block, why, size);
    return NULL;
}

/* ---- instructions ---- */

/* Splits a lane's address into a window and an offset. The window is 0 for the own block, otherwise a rank + 1. `size`
 * is 1 if the address is generic. Returns false if the address is in no window of the cluster. */
static bool window_of(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t *offset, uint64_t *window)
{
    uint64_t address = i->flags & VM_REG64 ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane];
    *offset = address - (i->size ? VM_SHARED_BASE : 0);
    *window = *offset / VM_SHARED_WINDOW;
    return *window <= w->block->cluster->size;
}

/* mapa: d becomes the address in the block of rank b that corresponds to the address a in the own block. `size` is 1 if
 * the addresses are generic. */
void vm_op_mapa(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t size = w->block->cluster->size;
    VM_EACH(lane, m) {
        uint64_t offset, window;
        uint32_t rank = vm_r32(w, i->b)[lane];
        if (rank >= size) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "mapa to block %u of a cluster of %u block%s", rank,
                           size, size == 1 ? "" : "s");
            return;
        }
        if (!window_of(w, i, lane, &offset, &window)) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "mapa of an address that is not in shared memory");
            return;
        }
        const uint64_t address = vm_rank_address(offset, rank) + (i->size ? VM_SHARED_BASE : 0);
        if (i->flags & VM_REG64)
            vm_r64(w, i->d)[lane] = address;
        else
            vm_r32(w, i->d)[lane] = (uint32_t)address;
    }
}

/* getctarank: d becomes the rank of the block that owns the address a, or all ones if the address is not in shared
 * memory. */
void vm_op_getctarank(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m) {
        uint64_t offset, window;
        const bool shared = window_of(w, i, lane, &offset, &window);
        vm_r32(w, i->d)[lane] = !shared ? UINT32_MAX : window ? (uint32_t)window - 1 : w->block->rank;
    }
}

/* barrier.cluster: flag 1 means wait, otherwise arrive. */
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
