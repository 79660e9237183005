/* vm_async.h - the decoder's data about mbarriers and copies that complete on them. */
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

/* An address operand of an instruction that has several. */
typedef struct vm_side {
    uint32_t slot;
    uint8_t space;
    bool addr32;
    int64_t offset;
} vm_side;

typedef struct vm_bulk {
    vm_side to, from, bar; /* if bar.space is 0, the copy completes on no mbarrier */
    uint8_t op, type;      /* ptx_mod, ptx_type: a reduction; op 0: a copy */
    uint8_t count;         /* st.async: elements */
    uint32_t slots[4];
    uint32_t multicast; /* slot of the mask of blocks; 0: no multicast */
    bool once;          /* one lane does it for all */
} vm_bulk;

/* The blocks of a multicast, by rank; `slot` 0: none. False: a fault is raised. The copy to each is at the address that
 * vm_target() gives; without a multicast, that is the one it has. */
bool vm_multicast(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t slot, uint32_t *ranks);
static inline uint64_t vm_target(uint64_t address, uint32_t ranks)
{
    return ranks ? vm_rank_address(address, (uint32_t)__builtin_ctz(ranks)) : address;
}

/* Counts arrivals, drops of arrivals and bytes; *before: the state that it had. False: a fault is raised. */
bool vm_mbarrier_count(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address, uint32_t arrive,
                       uint32_t drop, int64_t tx, uint64_t *before);
/* Returns the parity of the mbarrier's current phase. If there is no mbarrier, raises a fault and returns -1. */
int vm_mbarrier_parity(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address);
/* Whether the instruction is a test of mbarriers that finds the phase complete for all lanes. Raises the faults that
 * the instruction would raise. */
bool vm_mbarrier_passes(vm_warp *w, const vm_code *i, uint32_t m);
uint32_t vm_mbarrier_parity_of(uint64_t bar); /* bar: an mbarrier, or a state that an arrival returned */
void vm_op_mbarrier(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_pending_count(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_bulk(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_remote(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_st_bulk(vm_warp *w, const vm_code *i, uint32_t m);

#endif
