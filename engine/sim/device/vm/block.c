/* block.c - the memory of a block, the start of a block, and the barriers between its warps. turn.c runs the block. */
#include <string.h>

#include "vm_block.h"
#include "vm_child.h"
#include "vm_fault.h"
#include "vm_hooks.h"
#include "vm_limit.h"
#include "vm_path.h"
#include "vm_tensor_memory.h"

/* Allocates a block that can be started again and again: warps, shared and local memory, data of the observers. Counts
 * the block's local memory against the launch's limit. Returns NULL if memory runs out, or if the limit is reached. */
vm_block *vm_block_new(vm_cluster *cluster, uint32_t rank)
{
    vm_runner *runner = cluster->runner;
    vm_run_state *run = runner->run;
    const kiln_allocator *mem = run->device->mem;
    uint64_t local = (uint64_t)run->local_bytes * run->warps_per_block * VM_LANES;
    if (!vm_hold(run->family, local))
        return NULL;
    vm_block *block = kiln__calloc(mem, 1, sizeof *block);
    if (!block) {
        vm_let_go(run->family, local);
        return NULL;
    }
    block->runner = runner;
    block->cluster = cluster;
    block->rank = rank;
    block->held = local;
    block->warp_count = run->warps_per_block;
    block->warps = kiln__calloc(mem, block->warp_count, sizeof *block->warps);
    block->local_taken = (size_t)local;
    block->shared = vm_guard_take(&run->device->guards, (size_t)run->shared_reach, VM_GUARD_OWN, false);
    block->window = rank * VM_SHARED_WINDOW;
    block->shared_low = block->window + run->shared_low;
    block->shared_reach = block->window + run->shared_reach;
    block->shared_at = (uintptr_t)block->shared - (uintptr_t)block->window;
    if (local)
        block->local = vm_guard_take(&run->device->guards, block->local_taken, VM_GUARD_OWN, false);
    if (!block->warps || !block->shared || (local && !block->local) || (run->hooks && !run->hooks->block_new(block))) {
        vm_block_free(block);
        return NULL;
    }
    const uint32_t *size = run->launch->block;
    for (uint32_t n = 0; n < block->warp_count * VM_LANES; n++) {
        vm_warp *w = &block->warps[n / VM_LANES];
        w->tid[0][n % VM_LANES] = n % size[0];
        w->tid[1][n % VM_LANES] = n / size[0] % size[1];
        w->tid[2][n % VM_LANES] = n / size[0] / size[1];
    }
    return block;
}

void vm_block_drop_paths(vm_block *block)
{
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_warp *w = &block->warps[k];
        /* Frees the frames of calls. After a fault, paths may still be inside calls. The frames of a warp form a tree,
         * whose leaves are the frames of the paths. */
        for (uint32_t p = 0; p < w->path_count; p++) {
            vm_frame *frame = w->paths[p].frame;
            while (frame && frame->caller) {
                vm_frame *caller = frame->caller;
                for (uint32_t q = p + 1; q < w->path_count; q++)
                    for (vm_frame *f = w->paths[q].frame; f; f = f->caller)
                        if (f == frame)
                            goto shared; /* another path is inside this frame too; the last such path frees it */
                vm_frame_free(w, frame);
                frame = caller;
                continue;
            shared:
                break;
            }
        }
        w->path_count = 0;
    }
}

void vm_block_free(vm_block *block)
{
    if (!block)
        return;
    const kiln_allocator *mem = block->runner->run->device->mem;
    vm_let_go(block->runner->run->family, block->held);
    vm_children_free(block);
    vm_tensor_memory_free(block);
    if (block->warps)
        vm_block_drop_paths(block);
    for (uint32_t k = 0; block->warps && k < block->warp_count; k++)
        if (block->warps[k].root)
            vm_frame_free(&block->warps[k], block->warps[k].root);
    if (block->runner->run->hooks)
        block->runner->run->hooks->block_free(block);
    kiln__free(mem, block->warps);
    vm_guards *guards = &block->runner->run->device->guards;
    vm_guard_give(guards, block->shared, (size_t)block->runner->run->shared_reach, VM_GUARD_OWN);
    vm_guard_give(guards, block->local, block->local_taken, VM_GUARD_OWN);
    kiln__free(mem, block);
}

void vm_block_number(vm_block *block, uint64_t number)
{
    const uint32_t *grid = block->runner->run->launch->grid;
    block->number = number;
    block->id[0] = (uint32_t)(number % grid[0]);
    block->id[1] = (uint32_t)(number / grid[0] % grid[1]);
    block->id[2] = (uint32_t)(number / grid[0] / grid[1]);
}

uint64_t vm_block_fill(vm_block *block)
{
    const vm_run_state *run = block->runner->run;
    if (run->shared_reach > run->shared_low) /* a memset() that begins at a guard page is slow, even for 0 bytes */
        memset(block->shared + run->shared_low, VM_POISON, (size_t)(run->shared_reach - run->shared_low));
    if (run->shared_system)
        memset(block->shared + run->shared_system, 0, VM_SYSTEM_SHARED);
    if (block->local)
        memset(block->local, VM_POISON, block->local_taken);
    return 1 + ((run->shared_end + block->local_taken) >> 16);
}

/* Resets a block for the block `number` of the grid. Fills the block's memory with poison, except the
 * system's part of shared memory, which gets zeros. Adds a path for each warp. Returns false if there is no memory for a frame. */
bool vm_block_start(vm_block *block, uint64_t number)
{
    vm_run_state *run = block->runner->run;
    vm_block_number(block, number);
    block->live = run->block_threads;
    block->ended = false;
    block->next_warp = 0;
    block->fresh = true;
    block->begun = block->ahead = 0;
    vm_children_reset(block);
    vm_tensor_memory_reset(block);
    if (block->barred)
        memset(block->barriers, 0, sizeof block->barriers);
    block->barred = false;
    block->refused = false;
    const uint64_t cost = vm_block_fill(block);
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_warp *w = &block->warps[k];
        uint32_t left = run->block_threads - k * VM_LANES;
        uint32_t mask = left >= VM_LANES ? VM_ALL : (1u << left) - 1;
        w->block = block;
        w->runner = block->runner;
        w->index = k;
        w->dead = ~mask;
        w->event = 0;
        w->cc = w->cluster_arrived = w->path_count = w->sync_used = w->spins = w->yields = w->vain_yields = 0;
        w->waits = w->moved = w->gave_way = w->in_vain = false;
        if (w->polled)
            memset(w->polls, 0, sizeof w->polls);
        w->polled = false;
        w->current = VM_PATHS;
        w->issued = w->lanes = w->idle = w->charge = 0;
        if (!vm_frame_renew(w, run->kernel))
            return false;
        vm_path_add(w, run->kernel->code, mask, NULL, w->root);
    }
    if (run->hooks)
        run->hooks->block_start(block);
    vm_charge_steps(block, &block->warps[0], cost);
    return true;
}

/* ---- barriers ---- */

/* Opens a barrier: all paths that wait at the barrier continue, with the result of bar.red. Then resets the barrier for
 * its next use. */
void vm_barrier_open(vm_block *block, uint32_t id)
{
    vm_barrier *barrier = &block->barriers[id];
    const struct vm_hooks *hooks = block->runner->run->hooks;
    if (hooks)
        hooks->barrier(block, id);
    for (uint32_t k = 0; k < block->warp_count; k++) {
        vm_warp *w = &block->warps[k];
        if (id == VM_BARRIERS)
            w->cluster_arrived = 0;
        for (uint32_t p = 0; p < w->path_count; p++) {
            vm_path *path = &w->paths[p];
            if (path->state != VM_PATH_BARRIER || path->barrier != id)
                continue;
            const vm_code *i = path->pc++;
            path->state = VM_PATH_READY;
            if (i->size == 0) /* no result */
                continue;
            unsigned char *d = path->frame->regs + i->d;
            if (i->size == 1) {
                VM_EACH(lane, path->arrived)
                    ((vm_u32 *)(void *)d)[lane] = barrier->count;
            } else {
                uint32_t value = (i->size == 2 ? barrier->all : barrier->any) ? VM_ALL : 0;
                uint32_t *p32 = (uint32_t *)(void *)d;
                *p32 = (*p32 & ~path->arrived) | (value & path->arrived);
            }
        }
    }
    *barrier = (vm_barrier){0};
}

/* Opens each barrier at which all live threads have arrived, or as many threads as the barrier names. The caller calls this function after threads have
 * exited. */
void vm_barriers_check(vm_block *block)
{
    for (uint32_t id = 0; block->barred && id < VM_BARRIERS; id++) {
        const vm_barrier *barrier = &block->barriers[id];
        if (barrier->arrived && (barrier->need ? barrier->arrived >= barrier->need : barrier->arrived >= block->live))
            vm_barrier_open(block, id);
    }
}

/* Executes bar.sync, bar.red and bar.arrive. The slot a has the number of the barrier. The slot b has the count of
 * threads, or b is 0 if the instruction names no count. `size` is the kind of result: 0 means no result, 1 means popc,
 * 2 means and, 3 means or. The slot c has the predicate, which flag 1 negates. If flag 2 is set, the lanes arrive
 * without waiting. */
void vm_op_bar(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_block *block = w->block;
    uint32_t lane = (uint32_t)__builtin_ctz(m), id = vm_r32(w, i->a)[lane];
    uint32_t need = i->b ? vm_r32(w, i->b)[lane] : 0;
    if (id >= VM_BARRIERS) {
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "barrier %u: there are barriers 0 to 15", id);
        return;
    }
    if (i->b && (need == 0 || need % VM_LANES != 0)) {
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "barrier %u for %u threads: not a multiple of 32", id,
                       need);
        return;
    }
    vm_barrier *barrier = &block->barriers[id];
    block->barred = true;
    if (barrier->arrived == 0) {
        barrier->all = true;
        barrier->need = need;
    } else if (barrier->need != need) {
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                       "barrier %u for %u threads while others wait there for %u", id, need, barrier->need);
        return;
    }
    if (i->size) {
        uint32_t p = (*vm_pred(w, i->c) ^ (i->flags & 1 ? VM_ALL : 0)) & m;
        barrier->count += vm_lanes_of(p);
        barrier->all = barrier->all && p == m;
        barrier->any = barrier->any || p != 0;
    }
    /* If the instruction names a count of threads, a warp whose live threads arrive together counts as 32
     * threads. */
    barrier->arrived += need && (m | w->dead) == VM_ALL ? VM_LANES : vm_lanes_of(m);
    if (!(i->flags & 2)) {
        vm_path *path = &w->paths[w->current];
        vm_warp_save(w);
        path->pc = i;
        path->arrived = m;
        path->state = VM_PATH_BARRIER;
        path->barrier = (uint8_t)id;
        w->event |= VM_EVENT_SWITCH;
    }
    if (barrier->need ? barrier->arrived >= barrier->need : barrier->arrived >= block->live)
        vm_barrier_open(block, id);
}

bool vm_block_ready(const vm_block *block)
{
    for (uint32_t k = 0; k < block->warp_count; k++)
        if (vm_warp_ready(&block->warps[k]))
            return true;
    return false;
}

/* The caller calls this function when no warp can continue. Some lanes may wait at a barrier while other lanes wait for
 * them at a reconvergence point. Such a barrier completes only if the lanes at the reconvergence point continue. */
bool vm_block_release_waiting(vm_block *block)
{
    bool any = false;
    if (block->runner->run->hooks)
        block->runner->run->hooks->stuck(block);
    for (uint32_t k = 0; k < block->warp_count; k++)
        any |= vm_warp_release_waiting(&block->warps[k]);
    return any;
}

/* Only a warp that has not ended can raise a fault. If the warp has ended, a later call raises the fault, at the latest
 * at the start of the next block. */
void vm_charge_steps(vm_block *block, vm_warp *w, uint64_t steps)
{
    vm_runner *runner = block->runner;
    atomic_ullong *all = &runner->run->family->steps;
    const uint64_t budget = runner->run->family->budget;
    uint64_t spent = atomic_load_explicit(all, memory_order_relaxed) + (runner->kept += steps);
    if (runner->kept >= VM_KEEP || spent + (uint64_t)VM_KEEP * VM_RUNNERS_MOST > budget) {
        spent = atomic_fetch_add_explicit(all, runner->kept, memory_order_relaxed) + runner->kept;
        runner->kept = 0;
    }
    vm_fault_kind kind = spent > budget ? VM_FAULT_STEPS : vm_limit_look(runner, steps);
    if (VM_LIKELY(kind == VM_OK))
        return;
    if (w->path_count > 0)
        vm_limit_raise(w, kind);
    else
        vm_limit_begin(runner);
}
