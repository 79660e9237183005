/* collective.c - operations between lanes of a warp (shfl, vote, match, redux, elect, bar.warp.sync).
 *
 * The member mask of each lane names the lanes of its group. A lane waits until all live lanes of its group have
 * arrived at the same operation with the same mask. The lanes of a group may be at different instructions and in
 * different calls, because PTX only demands "the same qualifiers and the same membermask". Lanes of one path may belong
 * to several groups. So some lanes of a path may run while other lanes wait. */
#include <stddef.h>
#include <string.h>

#include "vm_collective.h"
#include "vm_fault.h"
#include "vm_hooks.h"
#include "vm_math.h"
#include "vm_path.h"

/* Returns the slot of the operand that is the member mask of a collective operation. */
static uint32_t get_mask_slot(const vm_code *i)
{
    return i->masked == vm_op_shfl                                    ? (uint32_t)i->imm
           : i->masked == vm_op_warp_sync || i->masked == vm_op_elect ? i->a
                                                                      : i->b;
}

/* Returns true if two instructions are the same operation with the same qualifiers. The negation of a vote's predicate
 * is not a qualifier. */
static bool is_same_operation(const vm_code *i, const vm_code *j)
{
    return i == j || (i->masked == j->masked && i->size == j->size && i->space == j->space && i->count == j->count &&
                      (i->masked == vm_op_vote || i->flags == j->flags));
}

/* Returns the lanes whose groups are complete. A group is complete if all live lanes that the mask names have arrived
 * with the same mask. */
static uint32_t find_complete(const vm_u32 *masks, uint32_t arrived, uint32_t dead)
{
    uint32_t ready = 0, left = arrived;
    while (left) {
        const uint32_t mask = masks[__builtin_ctz(left)];
        uint32_t same = 0;
        VM_EACH(lane, left)
            same |= (uint32_t)(masks[lane] == mask) << lane;
        ready |= (mask & ~dead & ~same) == 0 ? same : 0;
        left &= ~same;
    }
    /* Finds waiting lanes that can run although their masks contradict each other. Without this step, such lanes would
     * wait for ever. A set of waiting lanes can run if the masks of its lanes name no live lane outside of the set. To
     * find the set, the loop removes each lane whose mask names a lane outside of the set, until no such lane is
     * left. */
    uint32_t rest = arrived & ~ready, before;
    do {
        before = rest;
        VM_EACH(lane, before)
            rest &= masks[lane] & ~dead & ~before ? ~(1u << lane) : VM_ALL;
    } while (rest != before);
    return ready | rest;
}

/* Adds lanes to the share with this instruction and frame, or makes a new share for them. */
static void add_share(vm_meeting *t, const vm_code *code, vm_frame *frame, uint32_t lanes)
{
    for (uint32_t k = 0; k < t->count; k++)
        if (t->shares[k].code == code && t->shares[k].frame == frame) {
            t->shares[k].lanes |= lanes;
            return;
        }
    t->shares[t->count++] = (vm_share){code, frame, lanes};
}

/* Lets the waiting lanes that take part in the operation `t` continue. Waiting lanes at the same place as the running
 * path join that path. Other waiting lanes become separate paths. */
static void release_waiting(vm_warp *w, const vm_code *i, vm_meeting *t)
{
    const struct vm_hooks *hooks = w->runner->run->hooks;
    for (uint32_t k = 0; k < w->path_count; k++) {
        vm_path *path = &w->paths[k];
        const uint32_t lanes = path->arrived & t->lanes;
        if (k == w->current || path->state != VM_PATH_WARP || !lanes || !is_same_operation(path->pc, i))
            continue;
        const uint32_t known = t->count;
        add_share(t, path->pc, path->frame, lanes);
        w->lanes += (uint32_t)__builtin_popcount(lanes);
        w->issued += t->count - known;
        if (hooks)
            hooks->late(w, &(vm_share){path->pc, path->frame, lanes}, t->count > known);
        const bool joins = path->pc == i && path->frame == w->frame && path->sync == w->sync;
        path->arrived &= ~lanes;
        if (joins) {
            w->mask |= lanes;
            path->mask &= ~lanes;
        } else if (path->arrived) {
            path->mask &= ~lanes;
            vm_path_add(w, path->pc + 1, lanes, path->sync, path->frame);
        } else {
            path->pc++;
            path->state = VM_PATH_READY;
        }
        if (!path->mask) {
            *path = w->paths[--w->path_count];
            w->current = w->current == w->path_count ? k : w->current;
            k--;
        }
    }
}

/* Handles the slow case of gather_lanes(): some lanes that the mask names are in other paths, or the lanes of the
 * running path belong to several groups. Collects the masks of all lanes that have arrived, runs the complete groups,
 * and lets the other lanes of m wait. */
static uint32_t gather_paths(vm_warp *w, const vm_code *i, uint32_t m, vm_meeting *t)
{
    const struct vm_hooks *hooks = w->runner->run->hooks;
    uint32_t arrived = m;
    memcpy(t->room, t->masks, sizeof t->room);
    t->masks = t->room;
    for (uint32_t k = 0; k < w->path_count; k++) {
        const vm_path *path = &w->paths[k];
        if (k == w->current || path->state != VM_PATH_WARP || !is_same_operation(path->pc, i))
            continue;
        const vm_u32 *masks = vm_row_of(path->frame, get_mask_slot(path->pc));
        VM_EACH(lane, path->arrived)
            t->room[lane] = masks[lane];
        arrived |= path->arrived;
    }
    t->lanes = find_complete(t->masks, arrived, w->dead);
    const uint32_t wait = m & ~t->lanes;
    t->lanes = wait == m ? 0 : t->lanes;
    t->count = wait != m;
    t->shares[0].lanes = m & ~wait;
    if (t->lanes & ~m)
        release_waiting(w, i, t);
    if (t->lanes && w->runner->met)
        hooks->met(w, i, m, t);
    if (wait) {
        w->issued -= wait == m; /* the instruction is counted later, when it runs */
        w->lanes -= (uint32_t)__builtin_popcount(wait);
        if (hooks)
            hooks->unseen(w, i, wait, wait == m);
        vm_path_wait(w, i, wait);
    }
    return t->lanes;
}

/* Returns the lanes that execute the operation now, and describes them in `t`. The other lanes of m wait. */
static inline uint32_t gather_lanes(vm_warp *w, const vm_code *i, uint32_t m, uint32_t slot, vm_meeting *t)
{
    const vm_u32 *masks = vm_r32(w, slot);
    const uint32_t mask = masks[__builtin_ctz(m)];
    uint32_t differ = 0;
    if (slot & 1) { /* a constant */
    } else if (VM_LIKELY(m == VM_ALL)) {
        for (uint32_t lane = 0; lane < VM_LANES; lane++)
            differ |= masks[lane] ^ mask;
    } else {
        VM_EACH(lane, m)
            differ |= masks[lane] ^ mask;
    }
    t->lanes = m;
    t->masks = masks;
    t->count = 1;
    t->shares[0] = (vm_share){i, w->frame, m};
    if (VM_UNLIKELY(differ || (mask & ~w->dead & ~m)))
        return gather_paths(w, i, m, t);
    if (VM_UNLIKELY(w->runner->met))
        w->runner->run->hooks->met(w, i, m, t);
    return m;
}

/* ---- operands of all lanes that take part ---- */

/* Returns the values of an operand, by lane. `member` is the offset of the operand's slot in vm_code. If several
 * instructions take part, the function gathers the values in `room`. */
static const vm_u32 *read32(const vm_meeting *t, size_t member, vm_u32 room[VM_LANES])
{
    for (uint32_t k = 0; k < t->count; k++) {
        uint32_t slot;
        memcpy(&slot, (const unsigned char *)t->shares[k].code + member, sizeof slot);
        const vm_u32 *row = vm_row_of(t->shares[k].frame, slot);
        if (t->count == 1)
            return row;
        VM_EACH(lane, t->shares[k].lanes)
            room[lane] = row[lane];
    }
    return room;
}

/* Writes the results of all lanes to the destinations of their instructions. */
static void write32(const vm_meeting *t, const uint32_t out[VM_LANES])
{
    for (uint32_t k = 0; k < t->count; k++) {
        vm_u32 *d = vm_row_of(t->shares[k].frame, t->shares[k].code->d);
        VM_EACH(lane, t->shares[k].lanes)
            d[lane] = out[lane];
    }
}

/* Writes a predicate result to all instructions that take part. `member` is the offset of the predicate's slot in
 * vm_code. A slot of 0 means that the instruction has no such predicate. */
static void write_pred(const vm_meeting *t, size_t member, uint32_t value)
{
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t lanes = t->shares[k].lanes;
        uint32_t slot, *p;
        memcpy(&slot, (const unsigned char *)t->shares[k].code + member, sizeof slot);
        if (!slot)
            continue;
        p = (uint32_t *)(void *)vm_row_of(t->shares[k].frame, slot);
        *p = (*p & ~lanes) | (value & lanes);
    }
}

/* ---- the handlers of the operations ---- */

void vm_op_warp_sync(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_meeting t;
    gather_lanes(w, i, m, i->a, &t);
}

/* Executes shfl: the slot d gets the value of slot a in another lane. The predicate e tells whether that other lane is
 * in range. The slot b is a lane or a distance, c has the clamp value and the segment mask, and imm is the slot of the
 * member mask. `size` is the mode of shfl: 0 is up, 1 is down, 2 is bfly, 3 is idx. */
void vm_op_shfl(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_meeting t;
    vm_u32 room[3][VM_LANES];
    if (!gather_lanes(w, i, m, (uint32_t)i->imm, &t))
        return;
    const vm_u32 *a = read32(&t, offsetof(vm_code, a), room[0]), *b = read32(&t, offsetof(vm_code, b), room[1]),
                 *c = read32(&t, offsetof(vm_code, c), room[2]);
    uint32_t out[VM_LANES], inside = 0;
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
        out[lane] = a[in ? j & 31 : lane];
        inside |= (uint32_t)in << lane;
    }
    write32(&t, out);
    write_pred(&t, offsetof(vm_code, e), inside);
}

/* Executes vote. `size` is the mode: 0 is all, 1 is any, 2 is uni, 3 is ballot. The slot a is the predicate, which flag
 * 1 negates. The slot b is the member mask. */
void vm_op_vote(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_meeting t;
    if (!gather_lanes(w, i, m, i->b, &t))
        return;
    uint32_t p = 0, result = 0, out[VM_LANES];
    for (uint32_t k = 0; k < t.count; k++) {
        const vm_share *s = &t.shares[k];
        const uint32_t *own = (const uint32_t *)(const void *)vm_row_of(s->frame, s->code->a);
        p |= (*own ^ (s->code->flags & 1 ? VM_ALL : 0)) & s->lanes;
    }
    VM_EACH(lane, t.lanes) {
        uint32_t group = t.masks[lane] & t.lanes, yes = p & group;
        if (i->size == 3)
            out[lane] = yes;
        else
            result |= (uint32_t)(i->size == 0   ? yes == group
                                 : i->size == 1 ? yes != 0
                                                : yes == group || yes == 0)
                      << lane;
    }
    if (i->size == 3)
        write32(&t, out);
    else
        write_pred(&t, offsetof(vm_code, d), result);
}

/* Executes match.any, or match.all if flag 1 is set. `size` is the size of the values, 4 or 8 bytes. The slot a is the
 * value, b is the member mask, d is the resulting mask, and e is the predicate of match.all. */
void vm_op_match(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_meeting t;
    if (!gather_lanes(w, i, m, i->b, &t))
        return;
    uint64_t value[VM_LANES] = {0};
    uint32_t out[VM_LANES], agree = 0;
    for (uint32_t k = 0; k < t.count; k++) {
        const unsigned char *row = (const unsigned char *)vm_row_of(t.shares[k].frame, t.shares[k].code->a);
        VM_EACH(lane, t.shares[k].lanes)
            memcpy(&value[lane], row + (size_t)lane * i->size, i->size);
    }
    VM_EACH(lane, t.lanes) {
        uint32_t group = t.masks[lane] & t.lanes, same = 0;
        VM_EACH(other, group)
            same |= (uint32_t)(value[other] == value[lane]) << other;
        out[lane] = i->flags & 1 ? (same == group ? group : 0) : same;
        agree |= (uint32_t)(same == group) << lane;
    }
    write32(&t, out);
    write_pred(&t, offsetof(vm_code, e), agree);
}

/* Combines two values by the operation of redux. */
static uint32_t combine_values(const vm_code *i, uint32_t x, uint32_t y)
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

/* Executes redux. `size` is the operation (PTX_MOD_...), `space` is the type of the values, and `count` is 1 for .abs.
 * The slot a is the value, and b is the member mask. */
void vm_op_redux(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_meeting t;
    vm_u32 room[VM_LANES];
    if (!gather_lanes(w, i, m, i->b, &t))
        return;
    const vm_u32 *value = read32(&t, offsetof(vm_code, a), room);
    uint32_t out[VM_LANES];
    VM_EACH(lane, t.lanes) {
        uint32_t group = t.masks[lane] & t.lanes;
        uint32_t first = (uint32_t)__builtin_ctz(group | 1u << lane), all = value[first];
        if (i->space == PTX_F32)
            all = combine_values(i, all, all);
        VM_EACH(other, group & ~(1u << first))
            all = combine_values(i, all, value[other]);
        out[lane] = all;
    }
    write32(&t, out);
}

void vm_op_activemask(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m)
        vm_r32(w, i->d)[lane] = m;
}

void vm_op_elect(vm_warp *w, const vm_code *i, uint32_t m)
{
    vm_meeting t;
    if (!gather_lanes(w, i, m, i->a, &t))
        return;
    uint32_t chosen = 0, leader[VM_LANES];
    VM_EACH(lane, t.lanes) {
        uint32_t group = (t.masks[lane] & t.lanes) | 1u << lane;
        leader[lane] = (uint32_t)__builtin_ctz(group);
        chosen |= (uint32_t)(leader[lane] == lane) << lane;
    }
    write32(&t, leader);
    write_pred(&t, offsetof(vm_code, e), chosen);
}

/* ---- warpgroups ---- */

static vm_barrier *get_group_barrier(const vm_warp *w, uint32_t *id)
{
    *id = VM_BARRIERS + 1 + w->index / 4;
    w->block->barred = true;
    return &w->block->barriers[*id];
}

/* Points base[] of the four warps to their frames. Returns false if threads of the warpgroup wait at another
 * instruction, or if the threads of a warp are in different calls. */
static bool select_group_frames(vm_warp *w, const vm_code *i, uint32_t id)
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

/* The threads of a warpgroup wait at a barrier of the warpgroup, until the last of them arrive. */
bool vm_warpgroup_meet(vm_warp *w, const vm_code *i, uint32_t m)
{
    enum { THREADS = 4 * VM_LANES };
    uint32_t id, threads = w->runner->run->block_threads;
    vm_barrier *barrier = get_group_barrier(w, &id);
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
    if (select_group_frames(w, i, id))
        return true;
    vm_fault_raise(w, i, (uint32_t)__builtin_ctz(m), VM_FAULT_INSTRUCTION, 0, 0,
                   "the threads of a warpgroup execute different wgmma instructions");
    return false;
}

void vm_warpgroup_open(vm_warp *w)
{
    uint32_t id;
    vm_barrier *barrier = get_group_barrier(w, &id);
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
