/* vm_async.h - the data that the decoder prepares about mbarriers, and about copies that complete on an mbarrier. */
#ifndef KILN_SIM_VM_ASYNC_H
#define KILN_SIM_VM_ASYNC_H

#include "vm_block.h"
#include "vm_ops.h"

enum {
    VM_BAR_INIT,
    VM_BAR_INVAL,
    VM_BAR_EXPECT,
    VM_BAR_COMPLETE,
    VM_BAR_ARRIVE,
    VM_BAR_DROP,
    VM_BAR_ARRIVE_EXPECT,
    VM_BAR_DROP_EXPECT,
    VM_BAR_TEST
};

/* One address operand, for instructions with several address operands. */
typedef struct vm_side {
    uint32_t slot;
    uint8_t space;
    bool addr32;
    int64_t offset;
} vm_side;

/* Returns the address that the lane `lane` gives for one side of a copy. */
static inline uint64_t vm_side_address(const vm_warp *w, const vm_side *side, uint32_t lane)
{
    const uint64_t address = side->addr32 ? vm_r32(w, side->slot)[lane] : vm_r64(w, side->slot)[lane];
    const uint64_t sum = address + (uint64_t)side->offset;
    return side->addr32 ? (uint32_t)sum : sum;
}

/* The operands of an instruction that completes on an mbarrier, or that copies in bulk: bulk copies and reductions,
 * st.async, red.async, st.bulk, tcgen05.commit, clusterlaunchcontrol.try_cancel. tensormap.replace uses `to`. */
typedef struct vm_bulk {
    vm_side to, from, bar; /* if bar.space is 0, the copy completes in a bulk group, and has no mbarrier */
    uint8_t op, type;      /* the operation and the type of a reduction (ptx_mod, ptx_type); `op` is 0 for a copy */
    uint8_t count;         /* for st.async and red.async: the number of elements, whose slots are in `slots` */
    uint32_t slots[4];
    uint32_t multicast; /* slot of the mask of blocks, or 0 if the copy is not a multicast */
    bool everywhere;    /* the copy is a multicast to all blocks of the cluster */
    bool once;          /* one lane of the warp executes the copy for all lanes */
} vm_bulk;

/* Sets *ranks to the blocks of a multicast, one bit for each rank. If `slot` is 0, sets *ranks to 0. Returns false
 * after raising a fault. vm_target() returns the target address in the block of the lowest bit. For a copy without a
 * multicast, vm_target() returns the address unchanged. */
bool ops_multicast(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t slot, uint32_t *ranks);
/* Does the same as ops_multicast() for an instruction whose operands are a vm_bulk. */
bool ops_bulk_ranks(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t *ranks);
static inline uint64_t vm_target(uint64_t address, uint32_t ranks)
{
    return ranks ? vm_rank_address(address, (uint32_t)__builtin_ctz(ranks)) : address;
}

/* Subtracts `arrive` from the pending arrivals of an mbarrier, subtracts `drop` from the arrivals expected in each
 * phase, and adds `tx` to its pending bytes. If no arrivals and no bytes are pending any more, completes the phase.
 * Sets *before to the value of the mbarrier before the call. Returns false after raising a fault. */
bool ops_mbarrier_count(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address, uint32_t arrive,
                        uint32_t drop, int64_t tx, uint64_t *before);
/* Returns the parity of the current phase of the mbarrier. If there is no mbarrier at the address, raises a fault and
 * returns -1. */
int ops_mbarrier_parity(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address);
/* Returns true if the instruction tests mbarriers and the tested phases are complete for all lanes of m. Changes
 * nothing. Raises the faults that the instruction would raise. */
bool ops_mbarrier_passes(vm_warp *w, const vm_code *i, uint32_t m);
/* Returns the parity of the phase in `bar`, which is the value of an mbarrier or a state that an arrival returned. */
uint32_t ops_mbarrier_parity_of(uint64_t bar);
void ops_mbarrier(vm_warp *w, const vm_code *i, uint32_t m);
void ops_pending_count(vm_warp *w, const vm_code *i, uint32_t m);
void ops_bulk(vm_warp *w, const vm_code *i, uint32_t m);
void ops_remote(vm_warp *w, const vm_code *i, uint32_t m);
void ops_st_bulk(vm_warp *w, const vm_code *i, uint32_t m);
void ops_try_cancel(vm_warp *w, const vm_code *i, uint32_t m);
void ops_query_cancel(vm_warp *w, const vm_code *i, uint32_t m);
enum { VM_CANCEL_BYTES = 16 }; /* size of a response in bytes */
/* Results of clusterlaunchcontrol.query_cancel. */
enum { VM_QUERY_CANCELED, VM_QUERY_FIRST };

#endif
