/* async.c - mbarriers, copies that complete on mbarriers, and clusterlaunchcontrol. In the simulator, an operation that
 * is asynchronous on a GPU is complete when its instruction has executed. So a wait for a copy that has been issued
 * never blocks. A correct program cannot see that the copy is not asynchronous. */
#include <inttypes.h>
#include <string.h>

#include "vm_access.h"
#include "vm_async.h"
#include "vm_fault.h"
#include "vm_poll.h"

/* ---- mbarriers ---- */

/* PTX does not define the 64 bits of an mbarrier. In the simulator, the lowest 20 bits count pending arrivals. The next
 * 20 bits hold the number of arrivals that a phase expects. The next 21 bits count the pending bytes of transactions,
 * with a sign. Bit 61 is the parity of the current phase. The two highest bits are a mark that distinguishes an
 * mbarrier from other data. The warps of a cluster run in one host thread, so plain accesses to an mbarrier are
 * enough. */
#define COUNT_MOST 0xfffffu
#define TX_MOST 0xfffff
/* the mark of an mbarrier, which differs from the upper bits of unwritten memory (VM_POISON) */
#define MARK ((uint64_t)1 << 62)

static uint32_t pending_of(uint64_t bar) { return bar & COUNT_MOST; }
static uint32_t expected_of(uint64_t bar) { return bar >> 20 & COUNT_MOST; }
static int32_t tx_of(uint64_t bar) { return (int32_t)((int64_t)(bar << 3) >> 43); }
uint32_t ops_mbarrier_parity_of(uint64_t bar) { return bar >> 61 & 1; }

static uint64_t make(uint32_t pending, uint32_t expected, int32_t tx, uint32_t parity)
{
    if (pending == 0 && tx == 0) { /* the phase is complete, and the next phase starts */
        pending = expected;
        parity ^= 1;
    }
    return MARK | (uint64_t)parity << 61 | (uint64_t)((uint32_t)tx & 0x1fffff) << 40 | (uint64_t)expected << 20 |
           pending;
}

static bool raise_fault(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, const char *what)
{
    vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, address, 8, "%s at shared address 0x%" PRIx64, what, address);
    return false;
}

/* Returns the host pointer of the 8 bytes of an mbarrier. An mbarrier outside of shared memory has undefined behaviour
 * on a GPU. In the simulator it is a fault. */
static unsigned char *reach_bar(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address)
{
    if (space == PTX_SPACE_GENERIC && address - VM_SHARED_BASE >= VM_CLUSTER_WINDOW) {
        vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, address, 8,
                       "mbarrier at 0x%" PRIx64 ", which is not an address of shared memory", address);
        return NULL;
    }
    return vm_reach(w, i, lane, space, address, 8, true);
}

static unsigned char *bar_at(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address,
                             uint64_t *bar)
{
    unsigned char *p = reach_bar(w, i, lane, space, address);
    if (!p)
        return NULL;
    memcpy(bar, p, 8);
    if (*bar >> 62 != MARK >> 62) {
        raise_fault(w, i, lane, address, "no initialised mbarrier");
        return NULL;
    }
    return p;
}

/* No other function changes the counts of an mbarrier. vm_async.h describes the parameters. */
bool ops_mbarrier_count(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address, uint32_t arrive,
                        uint32_t drop, int64_t tx, uint64_t *before)
{
    uint64_t bar;
    unsigned char *p = bar_at(w, i, lane, space, address, &bar);
    if (!p)
        return false;
    *before = bar;
    int64_t due = tx_of(bar) + tx;
    if (arrive > pending_of(bar) || drop > expected_of(bar))
        return raise_fault(w, i, lane, address, "more arrivals than are pending at the mbarrier");
    if (due > TX_MOST || due < -TX_MOST)
        return raise_fault(w, i, lane, address, "more bytes than an mbarrier can count");
    bar = make(pending_of(bar) - arrive, expected_of(bar) - drop, (int32_t)due, ops_mbarrier_parity_of(bar));
    memcpy(p, &bar, 8);
    /* On a GPU a copy or product completes some time after its issue. So the warps that wait for this phase see its end
     * before the issuing thread can end the next phase. In the simulator, ending the turn has the same effect: the
     * waiting warps see the end of the phase too. */
    if (i->masked != ops_mbarrier && ops_mbarrier_parity_of(bar) != ops_mbarrier_parity_of(*before))
        w->event |= VM_EVENT_PHASE;
    return true;
}

static uint32_t read_operand(const vm_warp *w, uint32_t slot, uint32_t lane, uint32_t otherwise)
{
    return slot ? vm_r32(w, slot)[lane] : otherwise;
}

/* Returns true if the mbarrier is in another block although the operation (init, inval or a test) may access only
 * mbarriers of its own block. Arrivals and transactions can reach mbarriers of other blocks. */
static bool is_elsewhere(const vm_warp *w, const vm_code *i, uint64_t address)
{
    const uint64_t offset = i->space == PTX_SPACE_GENERIC ? address - VM_SHARED_BASE : (uint32_t)address;
    const uint64_t rank = offset / VM_SHARED_WINDOW;
    const bool local = i->size == VM_BAR_INIT || i->size == VM_BAR_INVAL || i->size == VM_BAR_TEST;
    return local && rank < w->block->cluster->size && rank != w->block->rank;
}

/* Executes an operation on an mbarrier: `size` names the operation (VM_BAR_...). The address of the mbarrier comes from
 * `a`, `imm` and `space`. The slot `b` has a count, a number of bytes, a state or a parity. `d` is the slot of the
 * resulting state or predicate. If it is 0, the result is not used. */
void ops_mbarrier(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t done = 0;
    uint64_t seen = 0;
    VM_EACH(lane, m) {
        uint64_t address = vm_lane_address(w, i, i->a, lane), bar = 0;
        uint32_t n = i->size == VM_BAR_TEST ? 0 : read_operand(w, i->b, lane, 1);
        bool good = true;
        if (is_elsewhere(w, i, address)) {
            raise_fault(w, i, lane, address, "mbarrier of another block");
            return;
        }
        switch (i->size) {
        case VM_BAR_INIT: {
            unsigned char *p = reach_bar(w, i, lane, i->space, address);
            if (!p)
                return;
            if (n == 0 || n > COUNT_MOST) {
                raise_fault(w, i, lane, address, "mbarrier with an invalid number of arrivals");
                return;
            }
            bar = MARK | (uint64_t)n << 20 | n;
            memcpy(p, &bar, 8);
            break;
        }
        case VM_BAR_INVAL: {
            unsigned char *p = bar_at(w, i, lane, i->space, address, &bar);
            if (!p)
                return;
            memset(p, 0, 8);
            break;
        }
        case VM_BAR_EXPECT: good = ops_mbarrier_count(w, i, lane, i->space, address, 0, 0, n, &bar); break;
        case VM_BAR_COMPLETE: good = ops_mbarrier_count(w, i, lane, i->space, address, 0, 0, -(int64_t)n, &bar); break;
        case VM_BAR_ARRIVE: good = ops_mbarrier_count(w, i, lane, i->space, address, n, 0, 0, &bar); break;
        case VM_BAR_DROP: good = ops_mbarrier_count(w, i, lane, i->space, address, n, n, 0, &bar); break;
        case VM_BAR_ARRIVE_EXPECT: good = ops_mbarrier_count(w, i, lane, i->space, address, 1, 0, n, &bar); break;
        case VM_BAR_DROP_EXPECT: good = ops_mbarrier_count(w, i, lane, i->space, address, 1, 1, n, &bar); break;
        default:
            if (!bar_at(w, i, lane, i->space, address, &bar))
                return;
            uint32_t waited = i->flags & VM_REG64 ? ops_mbarrier_parity_of(vm_r64(w, i->b)[lane])
                                                  : vm_r32(w, i->b)[lane] & 1;
            done |= (uint32_t)(ops_mbarrier_parity_of(bar) != waited) << lane;
            seen = vm_poll_mix(vm_poll_mix(seen, address), bar);
            continue;
        }
        if (!good)
            return;
        if (i->d)
            vm_r64(w, i->d)[lane] = bar;
    }
    if (i->size != VM_BAR_TEST)
        return;
    vm_set_pred(w, i->d, done, m);
    vm_poll(w, i, m, seen, done == m);
    if (done != m && (i->count || (++w->spins & 15) == 0)) /* lets the warps run for which this warp waits */
        w->event |= VM_EVENT_YIELD;
}

int ops_mbarrier_parity(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address)
{
    uint64_t bar;
    return bar_at(w, i, lane, space, address, &bar) ? (int)ops_mbarrier_parity_of(bar) : -1;
}

bool ops_mbarrier_passes(vm_warp *w, const vm_code *i, uint32_t m)
{
    if (i->masked != ops_mbarrier || i->size != VM_BAR_TEST)
        return false;
    VM_EACH(lane, m) {
        uint32_t waited = i->flags & VM_REG64 ? ops_mbarrier_parity_of(vm_r64(w, i->b)[lane])
                                              : vm_r32(w, i->b)[lane] & 1;
        int parity = ops_mbarrier_parity(w, i, lane, i->space, vm_lane_address(w, i, i->a, lane));
        if (parity < 0 || (uint32_t)parity == waited)
            return false;
    }
    return m != 0;
}

void ops_pending_count(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m)
        vm_r32(w, i->d)[lane] = pending_of(vm_r64(w, i->a)[lane]);
}

/* ---- bulk copies ---- */

static void reduce(const vm_bulk *b, unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    unsigned size = ptx_type_bytes((ptx_type)b->type);
    vm_code one = {.size = (uint8_t)size,
                   .flags = (b->type == PTX_F32 || b->type == PTX_F64) && b->to.space != PTX_SPACE_SHARED ? VM_SIGNED
                                                                                                          : 0};
    for (uint64_t at = 0; at < bytes; at += size) {
        uint64_t value = 0;
        memcpy(&value, from + at, size);
        ops_atomic_update(&one, to + at, b->type, b->op, value, 0);
    }
}

bool ops_multicast(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t slot, uint32_t *ranks)
{
    const uint32_t size = w->block->cluster->size;
    *ranks = slot ? vm_r32(w, slot)[lane] & 0xffff : 0;
    if (!slot || (*ranks && *ranks >> size == 0))
        return true;
    vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                   "multicast with the block mask 0x%x in a cluster of %u block%s", *ranks, size, size == 1 ? "" : "s");
    return false;
}

bool ops_bulk_ranks(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t *ranks)
{
    const vm_bulk *b = i->extra;
    *ranks = (1u << w->block->cluster->size) - 1;
    return b->everywhere || ops_multicast(w, i, lane, b->multicast, ranks);
}

static bool copy(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t to, uint64_t from, uint64_t bytes)
{
    const vm_bulk *b = i->extra;
    enum { ALIGNED = 16 };
    unsigned char *d = vm_reach_span(w, i, lane, b->to.space, to, bytes, ALIGNED,
                                     b->op ? VM_REACH_BOTH : VM_REACH_WRITE);
    const unsigned char *s = d ? vm_reach_span(w, i, lane, b->from.space, from, bytes, ALIGNED, VM_REACH_READ) : NULL;
    if (!s)
        return false;
    uint32_t mask = i->b ? vm_r32(w, i->b)[lane] : 0xffff;
    if (b->op)
        reduce(b, d, s, bytes);
    else if (mask == 0xffff)
        memmove(d, s, bytes);
    for (uint64_t at = 0; !b->op && mask != 0xffff && at < bytes; at++)
        if (mask >> at % 16 & 1)
            d[at] = s[at];
    return true;
}

/* cp.async.bulk and cp.reduce.async.bulk. `extra` describes the copy. The slot a has the size in bytes. The slot b has
 * a mask that selects which of each 16 bytes are copied. If b is 0, all bytes are copied. */
void ops_bulk(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    if (b->once)
        m &= 0 - m;
    VM_EACH(lane, m) {
        uint64_t to = vm_side_address(w, &b->to, lane), bytes = vm_r32(w, i->a)[lane], before;
        uint32_t ranks;
        if (bytes % 16) {
            vm_fault_raise(w, i, lane, VM_FAULT_MISALIGNED, to, (uint32_t)bytes,
                           "bulk copy of %" PRIu64 " bytes, not a multiple of 16", bytes);
            return;
        }
        uint64_t from = vm_side_address(w, &b->from, lane), bar = b->bar.space ? vm_side_address(w, &b->bar, lane) : 0;
        if (!ops_multicast(w, i, lane, b->multicast, &ranks))
            return;
        do {
            if (bytes && !copy(w, i, lane, vm_target(to, ranks), from, bytes))
                return;
            if (b->bar.space &&
                !ops_mbarrier_count(w, i, lane, b->bar.space, vm_target(bar, ranks), 0, 0, -(int64_t)bytes, &before))
                return;
            vm_charge(w, bytes / 256);
            ranks &= ranks - 1;
        } while (ranks);
    }
}

/* st.async and red.async. `extra` is a vm_bulk, whose `slots` are the slots of the values. */
void ops_remote(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    unsigned size = ptx_type_bytes((ptx_type)b->type);
    vm_code one = {.size = (uint8_t)size};
    VM_EACH(lane, m) {
        uint64_t to = vm_side_address(w, &b->to, lane), before;
        unsigned char *p = vm_reach(w, i, lane, b->to.space, to, size * b->count, true);
        if (!p)
            return;
        for (unsigned k = 0; k < b->count; k++) {
            uint64_t value = size == 8 ? vm_r64(w, b->slots[k])[lane] : vm_r32(w, b->slots[k])[lane];
            if (b->op)
                ops_atomic_update(&one, p, b->type, b->op, value, 0);
            else
                memcpy(p + k * size, &value, size);
        }
        if (!ops_mbarrier_count(w, i, lane, b->bar.space, vm_side_address(w, &b->bar, lane), 0, 0,
                                -(int64_t)(size * b->count), &before))
            return;
    }
}

/* Executes st.bulk, which fills shared memory with zeros. `extra` has the address of the shared memory. The slot a has
 * the number of bytes, a value of 64 bits. */
void ops_st_bulk(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    VM_EACH(lane, m) {
        uint64_t to = vm_side_address(w, &b->to, lane), bytes = vm_r64(w, i->a)[lane];
        if (bytes % 8) {
            vm_fault_raise(w, i, lane, VM_FAULT_MISALIGNED, to, 8, "st.bulk of %" PRIu64 " bytes, not a multiple of 8",
                           bytes);
            return;
        }
        if (bytes == 0)
            continue;
        if (b->to.space == PTX_SPACE_GENERIC && to - VM_SHARED_BASE >= VM_CLUSTER_WINDOW) {
            vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, to, 8,
                           "st.bulk at 0x%" PRIx64 ", which is not an address of shared memory", to);
            return;
        }
        unsigned char *first = vm_reach_span(w, i, lane, b->to.space, to, bytes, 8, VM_REACH_WRITE);
        if (!first)
            return;
        memset(first, 0, (size_t)bytes);
        vm_charge(w, bytes / 256);
    }
}

/* ---- clusterlaunchcontrol ---- */

/* PTX does not define the 16 bytes of a response. In the simulator the first three words are the index of the first
 * block of the cancelled cluster. The last word is a mark that distinguishes a response from other data. The lowest bit
 * of the mark is 1 if the request has succeeded. */
#define RESPONSE_MARK 0x434c4300u
enum { RESPONSE_WORDS = 4 };

/* Returns true if the address is in the shared memory of the warp's own block. */
static bool is_own_shared(const vm_warp *w, const vm_side *side, uint64_t address)
{
    const uint64_t offset = side->space == PTX_SPACE_GENERIC ? address - VM_SHARED_BASE : (uint32_t)address;
    return offset / VM_SHARED_WINDOW == w->block->rank;
}

/* Writes the response to the shared memory of one block, and subtracts its bytes from the pending bytes of the mbarrier
 * in that block. */
static bool respond(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t to, uint64_t bar, const uint32_t *response)
{
    const vm_bulk *b = i->extra;
    uint64_t before;
    unsigned char *p = vm_reach_span(w, i, lane, b->to.space, to, VM_CANCEL_BYTES, VM_CANCEL_BYTES, VM_REACH_WRITE);
    if (!p)
        return false;
    memcpy(p, response, VM_CANCEL_BYTES);
    return ops_mbarrier_count(w, i, lane, b->bar.space, bar, 0, 0, -(int64_t)VM_CANCEL_BYTES, &before);
}

/* clusterlaunchcontrol.try_cancel. `extra` has the addresses of the response and of the mbarrier. The request is
 * complete when it is issued. */
void ops_try_cancel(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    VM_EACH(lane, m) {
        const uint64_t to = vm_side_address(w, &b->to, lane), bar = vm_side_address(w, &b->bar, lane);
        uint32_t response[RESPONSE_WORDS] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, RESPONSE_MARK}, ranks = 0;
        const bool own = is_own_shared(w, &b->to, to);
        if (!own || !is_own_shared(w, &b->bar, bar)) {
            vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, own ? bar : to, own ? 8 : VM_CANCEL_BYTES,
                           "the %s of clusterlaunchcontrol.try_cancel at 0x%" PRIx64
                           " is not in the block's own shared memory",
                           own ? "mbarrier" : "response", own ? bar : to);
            return;
        }
        if (w->block->refused) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                           "clusterlaunchcontrol.try_cancel after the block has seen that a request failed");
            return;
        }
        if (vm_cluster_cancel(w, response))
            response[RESPONSE_WORDS - 1] |= 1;
        if (b->everywhere)
            ops_bulk_ranks(w, i, lane, &ranks);
        do {
            if (!respond(w, i, lane, vm_target(to, ranks), vm_target(bar, ranks), response))
                return;
            ranks &= ranks - 1;
        } while (ranks);
    }
}

/* clusterlaunchcontrol.query_cancel. `size` is the kind of query (VM_QUERY_...). `a` is the slot of the response. `d`
 * is the slot of the predicate of is_canceled. `extra` has the slots of the coordinates of get_first_ctaid. A
 * coordinate whose slot is 0 is not used. */
void ops_query_cancel(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    uint32_t canceled = 0;
    VM_EACH(lane, m) {
        const uint64_t low = vm_r64(w, i->a)[lane], high = vm_r64(w, i->a)[lane + VM_LANES];
        const uint32_t words[] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high}, mark = (uint32_t)(high >> 32);
        if ((mark & ~1u) != RESPONSE_MARK) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                           "clusterlaunchcontrol.query_cancel of bytes that are not a response of try_cancel");
            return;
        }
        canceled |= (mark & 1) << lane;
        if (i->size == VM_QUERY_CANCELED) {
            w->block->refused |= !(mark & 1);
            continue;
        }
        if (!(mark & 1)) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                           "clusterlaunchcontrol.query_cancel.get_first_ctaid of a request that failed");
            return;
        }
        for (uint32_t k = 0; k < KILN__COUNT(words); k++)
            if (slots[k])
                vm_r32(w, slots[k])[lane] = words[k];
    }
    if (i->size == VM_QUERY_CANCELED)
        vm_set_pred(w, i->d, canceled, m);
}
