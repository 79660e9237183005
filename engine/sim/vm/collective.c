/* collective.c - operations between lanes of a warp. All use the lanes in the member mask, wait until the live ones of
 * them have arrived (vm_gather), and then run once for all. */
#include <string.h>

#include "vm_math.h"

/* The member mask is an operand of each lane. Lanes with different masks form groups; the operation runs when each
 * group is complete. A limit: groups of one path wait for each other, so where lanes went different ways, one group can
 * wait for lanes that wait for another; a GPU lets each group go on alone. Returns the lanes that take part now, with
 * `members` filled for them. */
static uint32_t take_part(vm_warp *w, const vm_code *i, uint32_t m, uint32_t slot, const vm_u32 **members)
{
    const vm_u32 *mask = vm_r32(w, slot);
    uint32_t need = 0;
    VM_EACH(lane, m)
        need |= mask[lane];
    *members = mask;
    return vm_gather(w, i, m, need);
}

void vm_op_warp_sync(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_u32 *members;
    take_part(w, i, m, i->a, &members);
}

/* d|e = a; b: lane or distance, c: clamp and segment, extra: slot of the member mask; size: 0 up 1 down 2 bfly 3 idx. */
void vm_op_shfl(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_u32 *members;
    uint32_t have = take_part(w, i, m, (uint32_t)i->imm, &members);
    if (!have)
        return;
    vm_u32 *d = vm_r32(w, i->d);
    uint32_t values[VM_LANES], inside = 0;
    memcpy(values, vm_r32(w, i->a), sizeof values);
    const vm_u32 *b = vm_r32(w, i->b), *c = vm_r32(w, i->c);
    uint32_t out[VM_LANES] = {0};
    for (uint32_t lane = 0; lane < VM_LANES; lane++) {
        uint32_t bval = b[lane] & 31, cval = c[lane] & 31, seg = c[lane] >> 8 & 31;
        uint32_t most = (lane & seg) | (cval & ~seg & 31), least = lane & seg, j = 0;
        bool in = false;
        switch (i->size) {
        case 0: j = lane - bval, in = (int32_t)j >= (int32_t)most; break;
        case 1: j = lane + bval, in = j <= most; break;
        case 2: j = lane ^ bval, in = j <= most; break;
        default: j = least | (bval & ~seg & 31), in = j <= most; break;
        }
        if (!in)
            j = lane;
        out[lane] = values[j & 31];
        inside |= (uint32_t)in << lane;
    }
    VM_EACH(lane, have)
        d[lane] = out[lane];
    if (i->e)
        vm_set_pred(w, i->e, inside, have);
}

/* size: 0 all, 1 any, 2 uni, 3 ballot; a: predicate, flags 1: negated; b: member mask. */
void vm_op_vote(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_u32 *members;
    uint32_t have = take_part(w, i, m, i->b, &members);
    if (!have)
        return;
    uint32_t p = (*vm_pred(w, i->a) ^ (i->flags & 1 ? VM_ALL : 0)) & have, result = 0;
    vm_u32 *d = vm_r32(w, i->d);
    VM_EACH(lane, have) {
        uint32_t group = members[lane] & have, yes = p & group;
        if (i->size == 3)
            d[lane] = yes;
        else
            result |= (uint32_t)(i->size == 0   ? yes == group
                                 : i->size == 1 ? yes != 0
                                                : yes == group || yes == 0)
                      << lane;
    }
    if (i->size != 3)
        vm_set_pred(w, i->d, result, have);
}

/* size: 4 or 8; flags 1: all; a: value, b: member mask; d: mask, e: predicate of match.all. */
void vm_op_match(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_u32 *members;
    uint32_t have = take_part(w, i, m, i->b, &members);
    if (!have)
        return;
    uint64_t value[VM_LANES];
    uint32_t out[VM_LANES], agree = 0;
    for (uint32_t lane = 0; lane < VM_LANES; lane++)
        value[lane] = i->size == 8 ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane];
    VM_EACH(lane, have) {
        uint32_t group = members[lane] & have, same = 0;
        VM_EACH(other, group)
            same |= (uint32_t)(value[other] == value[lane]) << other;
        out[lane] = i->flags & 1 ? (same == group ? group : 0) : same;
        agree |= (uint32_t)(same == group) << lane;
    }
    VM_EACH(lane, have)
        vm_r32(w, i->d)[lane] = out[lane];
    if (i->e)
        vm_set_pred(w, i->e, agree, have);
}

static uint32_t combine(const vm_code *i, uint32_t x, uint32_t y)
{
    switch (i->size) {
    case PTX_MOD_ADD: return x + y;
    case PTX_MOD_AND: return x & y;
    case PTX_MOD_OR: return x | y;
    case PTX_MOD_XOR: return x ^ y;
    default: break;
    }
    bool max = i->size == PTX_MOD_MAX;
    if (i->space == PTX_F32) {
        float a = vm_float(x), b = vm_float(y);
        if (i->count)
            a = fabsf(a), b = fabsf(b);
        return vm_bits32(vm_pick32(a, b, i->flags, max));
    }
    if (i->space == PTX_S32)
        return ((int32_t)x < (int32_t)y) != max ? x : y;
    return (x < y) != max ? x : y;
}

/* size: the operation, a modifier; space: the type; count: .abs; a: value, b: member mask. */
void vm_op_redux(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_u32 *members;
    uint32_t have = take_part(w, i, m, i->b, &members);
    if (!have)
        return;
    uint32_t value[VM_LANES], out[VM_LANES];
    memcpy(value, vm_r32(w, i->a), sizeof value);
    VM_EACH(lane, have) {
        uint32_t group = members[lane] & have;
        uint32_t first = (uint32_t)__builtin_ctz(group | 1u << lane), all = value[first];
        if (i->space == PTX_F32)
            all = combine(i, all, all);
        VM_EACH(other, group & ~(1u << first))
            all = combine(i, all, value[other]);
        out[lane] = all;
    }
    VM_EACH(lane, have)
        vm_r32(w, i->d)[lane] = out[lane];
}

void vm_op_activemask(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m)
        vm_r32(w, i->d)[lane] = m;
}

void vm_op_elect(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_u32 *members;
    uint32_t have = take_part(w, i, m, i->a, &members);
    if (!have)
        return;
    uint32_t chosen = 0, leader[VM_LANES];
    VM_EACH(lane, have) {
        uint32_t group = (members[lane] & have) | 1u << lane;
        leader[lane] = (uint32_t)__builtin_ctz(group);
        chosen |= (uint32_t)(leader[lane] == lane) << lane;
    }
    VM_EACH(lane, have)
        vm_r32(w, i->d)[lane] = leader[lane];
    if (i->e)
        vm_set_pred(w, i->e, chosen, have);
}

/* ---- warpgroups ---- */

static vm_barrier *group_barrier(const vm_warp *w, uint32_t *id)
{
    *id = VM_BARRIERS + 1 + w->index / 4;
    return &w->block->barriers[*id];
}

/* The frames of the warps that wait; false: some of their threads wait elsewhere. */
static bool group_frames(vm_warp *w, const vm_code *i, uint32_t id)
{
    for (uint32_t k = 0; k < 4; k++) {
        vm_warp *one = &w->block->warps[(w->index & ~3u) + k];
        const vm_frame *frame = one == w ? w->frame : NULL;
        for (uint32_t p = 0; p < one->path_count; p++) {
            const vm_path *path = &one->paths[p];
            if (path->state != VM_PATH_BARRIER || path->barrier != id)
                continue;
            if (path->pc != i || (frame && path->frame != frame))
                return false;
            frame = path->frame;
        }
        if (!frame)
            return false;
        one->base[0] = frame->regs;
        one->base[1] = frame->function->constants;
    }
    return true;
}

bool vm_warpgroup_meet(vm_warp *w, const vm_code *i, uint32_t m)
{
    enum { THREADS = 4 * VM_LANES };
    uint32_t id, threads = w->runner->run->block_threads;
    vm_barrier *barrier = group_barrier(w, &id);
    if ((w->index / 4 + 1) * THREADS > threads) {
        vm_fault_raise(w, i, (uint32_t)__builtin_ctz(m), VM_FAULT_INSTRUCTION, 0, 0,
                       "wgmma needs four whole warps; the block has %u threads", threads);
        return false;
    }
    barrier->need = THREADS;
    barrier->arrived += (uint32_t)__builtin_popcount(m);
    if (barrier->arrived < THREADS) {
        vm_path *path = &w->paths[w->current];
        vm_warp_save(w);
        path->pc = i;
        path->arrived = m;
        path->state = VM_PATH_BARRIER;
        path->barrier = (uint8_t)id;
        w->event |= VM_EVENT_SWITCH;
        return false;
    }
    if (group_frames(w, i, id))
        return true;
    vm_fault_raise(w, i, (uint32_t)__builtin_ctz(m), VM_FAULT_INSTRUCTION, 0, 0,
                   "the threads of a warpgroup execute different wgmma instructions");
    return false;
}

void vm_warpgroup_open(vm_warp *w)
{
    uint32_t id;
    vm_barrier *barrier = group_barrier(w, &id);
    for (uint32_t k = 0; k < 4; k++) {
        vm_warp *one = &w->block->warps[(w->index & ~3u) + k];
        for (uint32_t p = 0; p < one->path_count; p++) {
            vm_path *path = &one->paths[p];
            if (path->state != VM_PATH_BARRIER || path->barrier != id)
                continue;
            path->pc++;
            path->state = VM_PATH_READY;
        }
    }
    *barrier = (vm_barrier){0};
}
