/* async.c - mbarriers, bulk copies and clusters under the checks. An mbarrier orders accesses as a flag that is written
 * with a release and read with an acquire. A bulk copy counts as done when it is issued, and its mbarrier publishes
 * it. */
#include <string.h>

#include "vm_async.h"
#include "vm_tensor.h"
#include "vm_checks_internal.h"

/* What one lane does to `bytes` of memory, in pieces of at most 16. False: an access that must not be made. */
static bool stretch(vm_warp *w, const vm_code *i, uint32_t lane, unsigned space, uint64_t address, uint64_t bytes,
                    unsigned kind)
{
    enum { PIECE = 16, MOST = 1 << 20 };
    bool good = bytes <= MOST; /* too large: the instruction will report that */
    if (space == PTX_SPACE_GENERIC) {
        space = address - VM_SHARED_BASE < VM_CLUSTER_WINDOW ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL;
        address -= space == PTX_SPACE_SHARED ? VM_SHARED_BASE : 0;
    }
    for (uint64_t at = 0; good && at < bytes; at += PIECE) {
        vm_access a = {.space = (uint8_t)space,
                       .kind = (uint8_t)kind,
                       .lanes = 1u << lane,
                       .bytes = (uint32_t)(bytes - at < PIECE ? bytes - at : PIECE)};
        a.address[lane] = address + at;
        good = vm_check_one(w, i, &a);
    }
    return good;
}

static uint64_t address_of(const vm_warp *w, const vm_side *side, uint32_t lane)
{
    uint64_t address = side->addr32 ? vm_r32(w, side->slot)[lane] : vm_r64(w, side->slot)[lane];
    address += (uint64_t)side->offset;
    return side->addr32 ? (uint32_t)address : address;
}

static bool barrier(vm_warp *w, const vm_code *i, uint32_t lane, unsigned space, uint64_t address)
{
    vm_check_release(w, true);
    return stretch(w, i, lane, space, address, 8, VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED);
}

static uint32_t see_mbarrier(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t good = m;
    VM_EACH(lane, m) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        bool fine;
        if (i->size == VM_BAR_INIT || i->size == VM_BAR_INVAL)
            fine = stretch(w, i, lane, i->space, address, 8, VM_WRITE | VM_ORDERED);
        else if (i->size == VM_BAR_TEST)
            fine = stretch(w, i, lane, i->space, address, 8, VM_READS | VM_ORDERED);
        else
            fine = barrier(w, i, lane, i->space, address);
        good &= fine ? VM_ALL : ~(1u << lane);
    }
    return good;
}

/* A bulk copy, a store to many bytes, or one lane's values sent to an mbarrier's block. */
static uint32_t see_bulk(vm_warp *w, const vm_code *i, uint32_t m, ptx_effect effect)
{
    const vm_bulk *b = i->extra;
    uint32_t good = m;
    VM_EACH(lane, m) {
        uint64_t bytes = effect == PTX_EFFECT_BULK_STORE ? vm_r64(w, i->a)[lane]
                         : effect == PTX_EFFECT_REMOTE   ? (uint64_t)ptx_type_bytes((ptx_type)b->type) * b->count
                                                         : vm_r32(w, i->a)[lane];
        unsigned kind = b->op ? VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED : VM_WRITE;
        uint32_t ranks;
        if (!vm_multicast(w, i, lane, b->multicast, &ranks))
            return 0;
        bool fine = effect != PTX_EFFECT_BULK ||
                    stretch(w, i, lane, b->from.space, address_of(w, &b->from, lane), bytes, VM_READS);
        do {
            fine = fine &&
                   stretch(w, i, lane, b->to.space, vm_target(address_of(w, &b->to, lane), ranks), bytes, kind) &&
                   (effect == PTX_EFFECT_BULK_STORE || !b->bar.space ||
                    barrier(w, i, lane, b->bar.space, vm_target(address_of(w, &b->bar, lane), ranks)));
            ranks &= ranks - 1;
        } while (ranks);
        good &= fine ? VM_ALL : ~(1u << lane);
    }
    return good;
}

/* The part of a row in global memory, which begins at any element. */
static bool see_row(vm_warp *w, const vm_code *i, uint32_t lane, const vm_box *box, unsigned kind)
{
    enum { PIECE = 16 };
    const uint64_t end = box->address + (uint64_t)box->count * box->bytes;
    bool good = true;
    for (uint64_t at = box->address, bytes; good && at < end; at += bytes) {
        bytes = at % PIECE == 0 && end - at >= PIECE ? PIECE : box->bytes;
        good = stretch(w, i, lane, PTX_SPACE_GLOBAL, at, bytes, kind);
    }
    return good;
}

/* A box between global and shared memory, whose tensor map is a fault where it is not one. What a load reads is not
 * looked at. */
static bool see_box(vm_warp *w, const vm_code *i, uint32_t lane, vm_box box)
{
    const vm_tensor *x = i->extra;
    const bool load = x->bar.space != 0;
    const unsigned kind = x->op ? VM_READS | VM_WRITE | VM_ATOMIC | VM_ORDERED : VM_WRITE;
    bool fine = true;
    do {
        for (uint32_t k = 0; fine && k < vm_box_pieces(&box); k++)
            fine = stretch(w, i, lane, PTX_SPACE_SHARED, vm_box_piece(&box, k), VM_BOX_PIECE,
                           load ? VM_WRITE : VM_READS);
        fine = fine && (load || see_row(w, i, lane, &box, kind));
    } while (fine && vm_box_next(&box));
    return fine;
}

static uint32_t see_tensor(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_tensor *x = i->extra;
    uint32_t good = m;
    VM_EACH(lane, m) {
        vm_box box;
        uint32_t ranks;
        if (!vm_box_open(w, i, lane, &box) || !vm_multicast(w, i, lane, x->multicast, &ranks))
            return 0;
        const uint64_t shared = box.shared, bar = x->bar.space ? address_of(w, &x->bar, lane) : 0;
        bool fine = true;
        do {
            box.shared = vm_target(shared, ranks);
            fine = fine && see_box(w, i, lane, box) &&
                   (!x->bar.space || barrier(w, i, lane, x->bar.space, vm_target(bar, ranks)));
            ranks &= ranks - 1;
        } while (ranks);
        good &= fine ? VM_ALL : ~(1u << lane);
    }
    return good;
}

uint32_t vm_check_async(vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    switch (ptx_effect_of(in)) {
    case PTX_EFFECT_COPY_ARRIVE: /* the lane's copies so far complete on it */
        vm_check_complete(w, m);
        return see_mbarrier(w, i, m);
    case PTX_EFFECT_CLUSTER_ARRIVE: vm_check_cluster_arrive(w, ptx_has(in, PTX_MOD_RELAXED)); return m;
    case PTX_EFFECT_CLUSTER_WAIT:
        if (!(w->cluster_arrived & m)) /* it has opened already */
            vm_check_cluster_wait(w, m);
        return m;
    case PTX_EFFECT_BULK:
    case PTX_EFFECT_BULK_STORE:
    case PTX_EFFECT_REMOTE: return see_bulk(w, i, m, ptx_effect_of(in));
    case PTX_EFFECT_TENSOR: return see_tensor(w, i, m);
    default: /* MBARRIER: see_of() says what comes here */
        return i->masked == vm_op_mbarrier ? see_mbarrier(w, i, m) : m;
    }
}
