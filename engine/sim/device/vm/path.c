/* path.c - a warp as a set of paths: divergence and reconvergence.
 *
 * A path is a set of lanes that run together with one pc and one mask. When lanes diverge at a branch, a vm_sync holds
 * the reconvergence point (the branch's immediate post-dominator) and the lanes expected there. The lanes become two
 * paths. A path that reaches the reconvergence point waits there until all expected lanes have arrived or exited. A
 * vm_sync corresponds to an entry of the reconvergence stack of older GPUs. As on GPUs since Volta, paths take turns,
 * so lanes that spin let the other lanes run. Lanes that wait too long at a reconvergence point continue without the
 * lanes that have not arrived.
 *
 * The states of a path, and the functions that change them:
 *    new       -> READY    vm_path_add(): at the start, after a branch, a call, or a reconvergence
 *    READY     -> WARP     vm_path_wait(), vm_gather(): it waits for other lanes of its warp
 *    WARP      -> READY    vm_gather(), release_waiting() of collective.c; vm_op_exit() lets it check again
 *    READY     -> BARRIER  vm_op_bar(), vm_op_cluster_barrier(), vm_warpgroup_meet()
 *    BARRIER   -> READY    vm_barrier_open(), vm_warpgroup_open()
 *    READY     -> gone     vm_op_meet(), vm_op_ret(): its lanes wait at a vm_sync; vm_op_exit(): its lanes have exited;
 *                          vm_op_brx(): each of its targets becomes a new path;
 *                          vm_path_wait(): its lanes join a path that waits at the same place
 *    WARP      -> gone     release_waiting() of collective.c: its lanes join the running path
 *
 * The lanes that wait at a vm_sync become a path again when all expected lanes have arrived: continue_if_complete().
 * They also become a path when the interpreter gives up waiting: vm_warp_release_waiting(). */
#include "vm_collective.h"
#include "vm_fault.h"
#include "vm_hooks.h"
#include "vm_jit.h"
#include "vm_path.h"

/* Makes a path the running path: loads its state into the fields of the warp. */
void vm_warp_select(vm_warp *w, const vm_path *path)
{
    w->current = (uint32_t)(path - w->paths);
    w->pc = path->pc;
    w->mask = path->mask;
    w->sync = path->sync;
    w->frame = path->frame;
    w->base[0] = path->frame->regs;
    w->base[1] = path->frame->function->constants;
}

/* Stores the state of the running path, if a path runs. */
void vm_warp_save(vm_warp *w)
{
    if (w->current == VM_PATHS)
        return;
    vm_path *path = &w->paths[w->current];
    path->pc = w->pc;
    path->mask = w->mask;
    path->sync = w->sync;
    path->frame = w->frame;
}

/* Adds a path that is ready. Returns false if the list is full. The list cannot be full, because it has room for 32
 * paths, and paths have disjoint lanes. */
bool vm_path_add(vm_warp *w, const vm_code *pc, uint32_t mask, vm_sync *sync, vm_frame *frame)
{
    if (w->path_count == VM_PATHS)
        return false;
    w->paths[w->path_count++] = (vm_path){.pc = pc, .mask = mask, .sync = sync, .frame = frame, .state = VM_PATH_READY};
    return true;
}

/* Removes the running path. The last path of the list takes the place of the removed path. */
void vm_path_drop(vm_warp *w)
{
    uint32_t last = --w->path_count;
    if (w->current != last)
        w->paths[w->current] = w->paths[last];
    w->current = VM_PATHS;
    w->mask = 0;
    w->event |= VM_EVENT_SWITCH;
}

/* Returns true if at least one path can run. */
bool vm_warp_ready(const vm_warp *w)
{
    for (uint32_t k = 0; k < w->path_count; k++)
        if (w->paths[k].state == VM_PATH_READY)
            return true;
    return false;
}

/* Returns a free element of w->syncs, or NULL if all are in use. */
static vm_sync *take_sync(vm_warp *w)
{
    if (w->sync_used == VM_ALL)
        return NULL;
    uint32_t at = (uint32_t)__builtin_ctz(~w->sync_used);
    w->sync_used |= 1u << at;
    return &w->syncs[at];
}

static void free_sync(vm_warp *w, vm_sync *sync)
{
    if (sync >= w->syncs && sync < w->syncs + VM_LANES)
        w->sync_used &= ~(1u << (sync - w->syncs));
}

/* Lets the lanes that wait at the return of a call continue without the lanes that are still in the call. */
void vm_frame_return(vm_warp *w, vm_frame *frame)
{
    uint32_t lanes = frame->join.waiting;
    if (!lanes)
        return;
    vm_frame_copy(w, frame->caller, frame, frame->call, lanes, false);
    frame->join.waiting = 0;
    frame->join.expected &= ~lanes;
    vm_path_add(w, frame->back, lanes, frame->join.parent, frame->caller);
}

/* Ends a frame: all lanes of the call have returned or exited. If `resume` is true, the lanes continue as the running
 * path, otherwise as a new path. */
void vm_frame_finish(vm_warp *w, vm_frame *frame, bool resume)
{
    uint32_t lanes = frame->join.waiting;
    if (lanes) {
        vm_frame_copy(w, frame->caller, frame, frame->call, lanes, false);
        if (resume) {
            w->paths[w->current] =
                (vm_path){.pc = frame->back, .mask = lanes, .sync = frame->join.parent, .frame = frame->caller};
            vm_warp_select(w, &w->paths[w->current]);
        } else {
            vm_path_add(w, frame->back, lanes, frame->join.parent, frame->caller);
        }
    }
    vm_frame_free(w, frame);
}

/* If all expected lanes have arrived at the point, they continue as one path. A point without a pc is the return of a
 * call, and the function then ends the frame of the call. For every other point, the function frees the point. If
 * expected lanes are missing, the function does nothing. */
static void continue_if_complete(vm_warp *w, vm_sync *sync)
{
    if (sync->waiting != sync->expected)
        return;
    if (sync->pc == NULL) {
        vm_frame_finish(w, sync->frame, false);
        return;
    }
    w->idle = w->yields = w->vain_yields = 0;
    if (sync->expected)
        vm_path_add(w, sync->pc, sync->waiting, sync->parent, sync->frame);
    free_sync(w, sync);
}

/* Removes lanes from `sync` and from its parents up to `until` (exclusive), because these lanes have exited or returned
 * and will not arrive there. Other lanes that wait at these points may continue now. */
void vm_leave(vm_warp *w, vm_sync *sync, vm_sync *until, uint32_t lanes)
{
    while (sync && sync != until) {
        vm_sync *parent = sync->parent;
        sync->expected &= ~lanes;
        continue_if_complete(w, sync);
        sync = parent;
    }
}

/* Executes the extra operation at a reconvergence point. The path's lanes wait at the point unless they are the last
 * lanes that the point expects. Several points may be at the same instruction, so the handler tests all of them. The
 * operation is no instruction of PTX, so it is not counted as one. */
void vm_op_meet(vm_warp *w, const vm_code *i, uint32_t m)
{
    (void)m;
    for (;;) {
        vm_sync *at = w->sync;
        while (at && at->frame == w->frame && at->pc != i)
            at = at->parent;
        if (!at || at->frame != w->frame || at->pc != i)
            return;
        /* this call has an effect only if the control flow has skipped an inner reconvergence point */
        vm_leave(w, w->sync, at, w->mask);
        at->waiting |= w->mask;
        if (at->waiting != at->expected) {
            vm_path_drop(w);
            return;
        }
        w->idle = w->yields = w->vain_yields = 0;
        w->mask = at->waiting;
        w->sync = at->parent;
        free_sync(w, at);
    }
}

vm_sync *vm_diverge(vm_warp *w, const vm_code *meet)
{
    if (!meet || (w->sync && w->sync->pc == meet && w->sync->frame == w->frame))
        return w->sync; /* lanes leave a loop at the same branch in different iterations, and share one point */
    vm_sync *sync = take_sync(w);
    if (!sync)
        return w->sync; /* no point is free, so the lanes reconverge at an outer point: slower but correct */
    *sync = (vm_sync){.pc = meet, .expected = w->mask, .parent = w->sync, .frame = w->frame};
    return sync;
}

/* Counts how often whole warps have executed the code from `first` to `i`, which is a loop or a whole kernel. The
 * counter is in the last instruction of the code, which is a branch or an exit. Counts may be lost if several host
 * threads count at the same time. When the count reaches a threshold, the compiler compiles the code (vm_jit.h). The
 * threshold is higher for long code, because long code takes longer to compile. It is also higher for very short code,
 * because each execution saves little time. From half of the threshold on, the function also calls the compiler about
 * LOOKS / 2 times, each time after 1 / LOOKS of the threshold, so that the compiler observes how the code runs. */
#define LOOKS 16u
#define LONG 512 /* instructions; longer code would take seconds to compile */
#define SHORT 24 /* compiling the shortest code takes as long as compiling this number of instructions */
void vm_add_heat(vm_warp *w, const vm_code *i, const vm_code *first)
{
    struct vm_jit *jit = w->runner->jit;
    if (VM_LIKELY(!jit) || i - first > LONG)
        return;
    const vm_function *function = w->frame->function;
    uint32_t *heat = &function->code[i - function->code].c, now = __atomic_load_n(heat, __ATOMIC_RELAXED);
    const uint64_t most = jit->threshold + (uint64_t)(i - first) * jit->threshold / (LONG / 2) +
                          (jit->threshold - 1) * (uint64_t)SHORT / (uint64_t)(i - first + 1);
    if (now >= most)
        return;
    __atomic_store_n(heat, ++now, __ATOMIC_RELAXED);
    if (now >= most || (now >= most / 2 && now % (most / LOOKS + 1) == 0))
        jit->hot(jit, w, first, i, now >= most);
}

/* Counts how often lanes diverge at a branch, in a field that a branch does not use otherwise. Counts may be lost if
 * several host threads count at the same time. When the count reaches a quarter of the threshold, calls the compiler
 * once, so that it compiles code for the paths. */
static void count_split(vm_warp *w, const vm_code *i)
{
    enum { SHARE = 4 };
    struct vm_jit *jit = w->runner->jit;
    if (!jit)
        return;
    const vm_function *function = w->frame->function;
    uint32_t *heat = &function->code[i - function->code].d, now = __atomic_load_n(heat, __ATOMIC_RELAXED);
    if (now > jit->threshold / SHARE)
        return;
    __atomic_store_n(heat, ++now, __ATOMIC_RELAXED);
    if (now > jit->threshold / SHARE)
        jit->split(jit, w, i);
}

/* Counts backward branches of a divergent warp. The lanes may be spinning on each other, so the path yields from time
 * to time. */
static void count_spin(vm_warp *w, const vm_code *i, const vm_code *target)
{
    if (target <= i && w->path_count > 1 && (++w->spins & 255) == 0)
        w->event |= VM_EVENT_YIELD;
}

/* Sends lanes of the running path to `target`. If `target` is the reconvergence point `sync`, the lanes wait there.
 * Otherwise they become a path. */
void vm_send_lanes(vm_warp *w, const vm_code *target, uint32_t lanes, vm_sync *sync)
{
    if (sync && sync->pc == target && sync->frame == w->frame)
        sync->waiting |= lanes;
    else
        vm_path_add(w, target, lanes, sync, w->frame);
}

/* Executes bra. If all lanes of the path take the branch, only the pc changes. Otherwise the lanes diverge. */
void vm_op_bra(vm_warp *w, const vm_code *i, uint32_t m)
{
    if (VM_LIKELY(m == w->mask)) {
        w->pc = i->target;
        count_spin(w, i, i->target);
        if (i->target <= i && m == VM_ALL)
            vm_add_heat(w, i, i->target);
        return;
    }
    count_split(w, i);
    const vm_code *meet = i->extra;
    vm_sync *sync = vm_diverge(w, meet);
    uint32_t rest = w->mask & ~m;
    w->sync = sync;
    if (sync && sync->pc == w->pc && sync->frame == w->frame) { /* the lanes that fall through have arrived already */
        sync->waiting |= rest;
        w->mask = m;
        w->pc = i->target;
        count_spin(w, i, i->target);
        return;
    }
    w->mask = rest; /* the mask is set before the other path is created, because a lane may be in only one path */
    vm_send_lanes(w, i->target, m, sync);
}

/* Executes brx.idx: the lanes with the same target become one path. */
void vm_op_brx(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *targets = i->extra; /* b targets, then the reconvergence point or UINT32_MAX */
    const vm_function *function = w->frame->function;
    const vm_u32 *index = vm_r32(w, i->a);
    const vm_code *meet = targets[i->b] == UINT32_MAX ? NULL : function->code + targets[i->b];
    VM_EACH(lane, m) {
        if (index[lane] >= i->b) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "brx.idx index %u is not below %u", index[lane],
                           i->b);
            return;
        }
    }
    uint32_t first = index[__builtin_ctz(m)], same = 0;
    VM_EACH(lane, m)
        same |= (uint32_t)(index[lane] == first) << lane;
    if (same == w->mask) {
        w->pc = function->code + targets[first];
        count_spin(w, i, w->pc);
        return;
    }
    vm_sync *sync = vm_diverge(w, meet);
    uint32_t rest = w->mask & ~m, left = m;
    const vm_code *next = w->pc;
    vm_path_drop(w);
    while (left) {
        uint32_t at = index[__builtin_ctz(left)], lanes = 0;
        VM_EACH(lane, left)
            lanes |= (uint32_t)(index[lane] == at) << lane;
        vm_send_lanes(w, function->code + targets[at], lanes, sync);
        left &= ~lanes;
    }
    if (rest)
        vm_send_lanes(w, next, rest, sync);
    if (sync && sync->frame == w->frame && sync->pc == meet)
        /* the lanes of all targets may have arrived at the reconvergence point already */
        continue_if_complete(w, sync);
}

/* Makes lanes wait at an instruction. If another path waits at the same instruction in the same frame, the lanes join
 * it. Otherwise they become a new path, unless they are the whole running path. */
void vm_path_wait(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t others = w->mask & ~m;
    vm_path *there = NULL; /* another path that waits at the same place */
    for (uint32_t k = 0; k < w->path_count && !there; k++) {
        vm_path *path = &w->paths[k];
        if (k != w->current && path->state == VM_PATH_WARP && path->pc == i && path->frame == w->frame &&
            path->sync == w->sync)
            there = path;
    }
    if (there) {
        there->mask |= m;
        there->arrived |= m;
        w->mask = others;
        if (!others)
            vm_path_drop(w);
        return;
    }
    vm_warp_save(w);
    uint32_t at = w->current;
    if (others) {
        w->mask = others;
        at = w->path_count;
        vm_path_add(w, i, m, w->sync, w->frame);
    } else {
        w->event |= VM_EVENT_SWITCH;
    }
    w->paths[at].pc = i;
    w->paths[at].arrived = m;
    w->paths[at].state = VM_PATH_WARP;
}

/* Waits until all live lanes of the warp are at the instruction. If all live lanes are there, in this path and in
 * waiting paths, makes the waiting paths ready and returns the lanes. Otherwise the whole running path waits, and the
 * function returns 0. */
uint32_t vm_gather(vm_warp *w, const vm_code *i, uint32_t m)
{
    const struct vm_hooks *hooks = w->runner->run->hooks;
    uint32_t have = m;
    for (uint32_t k = 0; VM_UNLIKELY((m | w->dead) != VM_ALL) && k < w->path_count; k++) {
        const vm_path *path = &w->paths[k];
        if (k != w->current && path->state == VM_PATH_WARP && path->pc == i && path->frame == w->frame)
            have |= path->arrived;
    }
    if (VM_UNLIKELY((have | w->dead) != VM_ALL)) {
        /* all its lanes wait, because a lane whose guard is false does not arrive later */
        vm_path *path = &w->paths[w->current];
        vm_warp_save(w);
        path->pc = i;
        path->arrived = m;
        path->state = VM_PATH_WARP;
        if (hooks)
            hooks->unseen(w, i, m, true);
        w->issued--; /* the instruction is counted when it executes */
        w->lanes -= (uint32_t)__builtin_popcount(m);
        w->event |= VM_EVENT_SWITCH;
        return 0;
    }
    for (uint32_t k = 0; have != m && k < w->path_count; k++) {
        vm_path *path = &w->paths[k];
        if (k == w->current || path->state != VM_PATH_WARP || path->pc != i || path->frame != w->frame)
            continue;
        w->lanes += (uint32_t)__builtin_popcount(path->arrived);
        if (hooks)
            hooks->late(w, &(vm_share){i, w->frame, path->arrived}, false);
        path->pc++;
        path->state = VM_PATH_READY;
    }
    if (VM_UNLIKELY(w->runner->met))
        hooks->met(w, i, m, &(vm_meeting){.lanes = have, .count = 1, .shares = {{i, w->frame, have}}});
    return have;
}

/* Lets all lanes that wait at reconvergence points or returns continue. The lanes that these lanes have waited for
 * continue separately later. Returns false if no lanes wait there. */
bool vm_warp_release_waiting(vm_warp *w)
{
    uint32_t before = w->path_count;
    w->idle = w->yields = w->vain_yields = 0;
    for (uint32_t k = 0; k < VM_LANES; k++) {
        vm_sync *sync = &w->syncs[k];
        if (!(w->sync_used >> k & 1) || sync->waiting == 0)
            continue;
        uint32_t waiting = sync->waiting;
        sync->expected &= ~waiting;
        sync->waiting = 0;
        vm_path_add(w, sync->pc, waiting, sync->parent, sync->frame);
    }
    for (uint32_t k = 0, count = w->path_count; k < count; k++)
        for (vm_frame *frame = w->paths[k].frame; frame->caller; frame = frame->caller)
            vm_frame_return(w, frame);
    return w->path_count > before;
}
