/* async.c - checks asynchronous copies, the groups of such copies, proxy fences, and the barrier of the cluster. The
 * accesses of a copy are checked when the copy is issued. The copy then stays in flight (flight.c) until a thread has
 * waited for it. */
#include <string.h>

#include "access_internal.h"
#include "async_internal.h"
#include "flight_internal.h"
#include "mbarrier_internal.h"
#include "order_internal.h"
#include "product_internal.h"
#include "tensor_memory_internal.h"
#include "view_internal.h"
#include "vm_access.h"
#include "vm_async.h"
#include "vm_tensor.h"

/* Begins a copy of one lane. `bar` is the address of the mbarrier on which the copy completes. `bar` is NULL if the
 * copy completes in a bulk group. `layout` and `generic` are stored in the operation (vm_flight). Returns the number of
 * the operation, or 0 if the checks do not follow the copy. */
static uint32_t begin_copy(vm_warp *w, const vm_code *i, uint32_t lane, const uint64_t *bar, unsigned layout,
                           bool generic)
{
    const bool load = bar != NULL;
    vm_block *home = load ? check_find_home(w, *bar) : w->block;
    vm_flight *f = home ? check_flight_new(w, i, load ? VM_FLIGHT_LOAD : VM_FLIGHT_STORE, 1u << lane, home) : NULL;
    if (!f)
        return 0;
    f->layout = (uint8_t)layout;
    f->generic = generic;
    f->group = w->block->check->warps[w->index].bulk_groups[lane];
    if (!load)
        check_flight_pend(w, f);
    return f->id;
}

/* Records the last copy from this block's shared memory that completes on an mbarrier of another block. If the block
 * ends before that copy is complete, check_block_end() reports it. */
static void record_push(const vm_warp *w, uint64_t bar, uint32_t flight)
{
    const vm_block *home = check_find_home(w, bar);
    if (home && home != w->block)
        w->block->check->pushed[home->rank] = flight;
}

/* Returns true if a lane's bulk store has the same operands as the bulk store of the first lane. Such stores write the
 * same values to the same place, so they do not race: CUTLASS lets all lanes of a warp store the same tile. The checks
 * take only the first lane as the writer. */
static bool is_same_store(const vm_warp *w, const vm_bulk *b, const vm_code *i, uint32_t lane, uint32_t first)
{
    return !b->bar.space && !b->op && vm_side_address(w, &b->to, lane) == vm_side_address(w, &b->to, first) &&
           vm_side_address(w, &b->from, lane) == vm_side_address(w, &b->from, first) &&
           vm_r32(w, i->a)[lane] == vm_r32(w, i->a)[first];
}

/* Returns true if a lane's store by a tensor map has the same box as the store of the first lane. is_same_store() tells
 * why such stores do not race. */
static bool is_same_box(const vm_tensor *x, const vm_box *a, const vm_box *b)
{
    /* the padding after `pixels` has no meaning */
    enum { MAP = offsetof(vm_tensor_map, pixels) + sizeof a->map.pixels };
    return !x->bar.space && !x->op && a->shared == b->shared && memcmp(&a->map, &b->map, MAP) == 0 &&
           memcmp(a->first, b->first, sizeof a->first) == 0;
}

/* Checks bulk copies, st.async and red.async, and the responses of clusterlaunchcontrol.try_cancel. (st.async and
 * red.async send values to the block of an mbarrier.) A multicast writes to each block of its mask, but it reads its
 * source only once. */
static uint32_t check_bulk(vm_warp *w, const vm_code *i, uint32_t m, ptx_effect effect)
{
    const vm_bulk *b = i->extra;
    const bool cancel = effect == PTX_EFFECT_CANCEL, remote = effect == PTX_EFFECT_REMOTE || cancel;
    /* bar.space is 0 for a bulk store, because a bulk store has no mbarrier. The operations st.async, red.async and
     * try_cancel have an mbarrier. bar.space may be 0 for them too, because the address of the mbarrier may be generic
     * (space 0). */
    const bool completes = remote || b->bar.space;
    if (b->once)
        m &= 0 - m;
    uint32_t good = m;
    VM_EACH(lane, m) {
        uint64_t bytes = remote ? (uint64_t)ptx_type_bytes((ptx_type)b->type) * b->count : vm_r32(w, i->a)[lane];
        unsigned kind = b->op ? VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED : VM_WRITE;
        uint32_t ranks;
        if (!ops_bulk_ranks(w, i, lane, &ranks))
            return 0;
        const uint64_t to = vm_side_address(w, &b->to, lane), bar = completes ? vm_side_address(w, &b->bar, lane) : 0;
        bool fine = true, reads = !remote;
        const bool same = !remote && (m & ((1u << lane) - 1)) &&
                          is_same_store(w, b, i, lane, (uint32_t)__builtin_ctz(m));
        do {
            const uint64_t at = vm_target(bar, ranks);
            const uint32_t flight = begin_copy(w, i, lane, completes ? &at : NULL, 0, remote && !cancel);
            if (reads)
                fine = check_stretch(w, i, lane, b->from.space, vm_side_address(w, &b->from, lane), bytes, VM_READS,
                                     flight);
            reads = false;
            if (!remote && b->bar.space && b->from.space == PTX_SPACE_SHARED)
                record_push(w, at, flight);
            if (!same)
                fine = fine && check_stretch(w, i, lane, b->to.space, vm_target(to, ranks), bytes, kind, flight);
            fine = fine && (!completes || check_complete_tx(w, i, lane, at, bytes, flight));
            ranks &= ranks - 1;
        } while (ranks);
        good &= fine ? VM_ALL : ~(1u << lane);
    }
    return good;
}

/* Checks st.bulk, which is complete when it is issued. */
static uint32_t check_bulk_store(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    uint32_t good = m;
    VM_EACH(lane, m)
        if (!check_stretch(w, i, lane, b->to.space, vm_side_address(w, &b->to, lane), vm_r64(w, i->a)[lane], VM_WRITE,
                           0))
            good &= ~(1u << lane);
    return good;
}

/* Checks a part of a row in global memory. The part may begin at any element. */
static bool check_row(vm_warp *w, const vm_code *i, uint32_t lane, const vm_box *box, unsigned kind, uint32_t flight)
{
    enum { PIECE = 16 };
    const uint64_t end = box->address + (uint64_t)box->count * box->bytes;
    bool good = true;
    for (uint64_t at = box->address, bytes; good && at < end; at += bytes) {
        bytes = at % PIECE == 0 && end - at >= PIECE ? PIECE : box->bytes;
        good = check_stretch(w, i, lane, PTX_SPACE_GLOBAL, at, bytes, kind, flight);
    }
    return good;
}

/* Checks a copy of a box between global and shared memory. Reads of global memory by a tensor load are compared only
 * with writes of earlier launches. If `same` is true, the first lane stores the same box, so the function does not
 * check the writes of this lane. */
static bool check_box(vm_warp *w, const vm_code *i, uint32_t lane, vm_box box, uint32_t flight, bool same)
{
    const vm_tensor *x = i->extra;
    const bool load = x->bar.space != 0;
    const unsigned kind = x->op ? VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED : VM_WRITE;
    bool fine = true;
    do {
        for (uint32_t k = 0; fine && k < vm_box_pieces(&box); k++)
            fine = check_stretch(w, i, lane, PTX_SPACE_SHARED, vm_box_piece(&box, k), VM_BOX_PIECE,
                                 load ? VM_WRITE : VM_READS, flight);
        if (fine && load)
            check_earlier_writes(w, i, lane, box.address, (uint64_t)box.count * box.bytes);
        fine = fine && (load || same || check_row(w, i, lane, &box, kind, flight));
    } while (fine && ops_box_next(&box));
    return fine;
}

/* Checks copies by tensor maps, one lane after the other. A multicast counts as one copy for each block. An invalid
 * tensor map is a fault. ops_box_open() raises it. */
static uint32_t check_tensor(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_tensor *x = i->extra;
    uint32_t good = m;
    vm_box one = {0}; /* the box of the first lane */
    VM_EACH(lane, m) {
        vm_box box;
        uint32_t ranks;
        if (!ops_box_open(w, i, lane, &box) || !ops_multicast(w, i, lane, x->multicast, &ranks))
            return 0;
        const bool same = lane != (uint32_t)__builtin_ctz(m) && is_same_box(x, &box, &one);
        if (lane == (uint32_t)__builtin_ctz(m))
            one = box;
        const uint64_t shared = box.shared, bar = x->bar.space ? vm_side_address(w, &x->bar, lane) : 0;
        bool fine = true;
        do {
            box.shared = vm_target(shared, ranks);
            const uint64_t at = x->bar.space ? ops_tensor_bar(x, bar, ranks, box.shared) : 0;
            const uint32_t flight = begin_copy(w, i, lane, x->bar.space ? &at : NULL, box.map.swizzle + 1u, false);
            fine = fine && check_box(w, i, lane, box, flight, same) &&
                   (!x->bar.space || check_complete_tx(w, i, lane, at, vm_box_bytes(&box), flight));
            ranks &= ranks - 1;
        } while (ranks);
        good &= fine ? VM_ALL : ~(1u << lane);
    }
    return good;
}

/* Performs commits and waits for groups of bulk copies and of wgmma, and performs wgmma.fence. */
static void update_groups(vm_warp *w, const ptx_insn *in, uint32_t m)
{
    vm_clock *c = &w->block->check->warps[w->index];
    if (ptx_has(in, PTX_MOD_ALIGNED)) /* an instruction with .aligned synchronises the lanes of the warp */
        check_join_lanes(w, m);
    switch (in->op) {
    case PTX_OP_CP_BULK_COMMIT:
        VM_EACH(lane, m)
            c->bulk_groups[lane]++;
        break;
    case PTX_OP_CP_BULK_WAIT:
        check_flight_wait(w, VM_FLIGHT_STORE, m, (uint32_t)in->operands[0].imm, ptx_has(in, PTX_MOD_READ));
        break;
    case PTX_OP_WGMMA_COMMIT: c->products++; break;
    case PTX_OP_WGMMA_WAIT: check_flight_wait(w, VM_FLIGHT_WGMMA, m, (uint32_t)in->operands[0].imm, false); break;
    default: check_product_fence(w); break;
    }
}

/* Performs fence.mbarrier_init and fence.proxy.async. Other proxy fences have no effect on the checks. */
static void perform_proxy_fence(vm_warp *w, const ptx_insn *in, uint32_t m)
{
    if (in->op == PTX_OP_FENCE_MBARRIER_INIT)
        check_announce(w, m);
    else if (ptx_has(in, PTX_MOD_ASYNC))
        check_view_fence(w, m);
}

uint32_t check_async(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    vm_clock *c = &w->block->check->warps[w->index];
    if (m == 0 || !c->more)
        return m;
    const ptx_effect effect = ptx_effect_of(in);
    if (effect != PTX_EFFECT_MBARRIER)
        c->spins = 0;
    switch (effect) {
    case PTX_EFFECT_COMMIT:
        VM_EACH(lane, m)
            c->groups[lane]++;
        return m;
    case PTX_EFFECT_WAIT:
        check_flight_wait(w, VM_FLIGHT_COPY, m,
                          in->op == PTX_OP_CP_ASYNC_WAIT_ALL ? UINT32_MAX : (uint32_t)in->operands[0].imm, false);
        return m;
    case PTX_EFFECT_BULK_GROUP: update_groups(w, in, m); return m;
    case PTX_EFFECT_WARPGROUP: return check_product_reads(w, i, in, m);
    case PTX_EFFECT_PROXY_FENCE: perform_proxy_fence(w, in, m); return m;
    /* the earlier copies of the lane complete on the mbarrier of this instruction */
    case PTX_EFFECT_COPY_ARRIVE: return check_mbarrier(w, i, m, true);
    case PTX_EFFECT_CLUSTER_ARRIVE: check_cluster_arrive(w, ptx_has(in, PTX_MOD_RELAXED)); return m;
    case PTX_EFFECT_CLUSTER_WAIT:
        if (!(w->cluster_arrived & m)) /* true if the cluster's barrier has already opened */
            check_cluster_wait(w, m);
        return m;
    case PTX_EFFECT_BULK:
    case PTX_EFFECT_CANCEL:
    case PTX_EFFECT_REMOTE: return check_bulk(w, i, m, effect);
    case PTX_EFFECT_BULK_STORE: return check_bulk_store(w, i, m);
    case PTX_EFFECT_TENSOR: return check_tensor(w, i, m);
    case PTX_EFFECT_TENSOR_LOAD:
    case PTX_EFFECT_TENSOR_PRODUCT:
    case PTX_EFFECT_TENSOR_MEMORY: return check_tensor_memory(w, i, in, m);
    default: /* the effect MBARRIER: classify() of code.c lets no other effect reach this line */
        return i->masked == ops_mbarrier ? check_mbarrier(w, i, m, false) : m;
    }
}
