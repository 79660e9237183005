/* vm_collective.h - collective operations: the lanes of a warp execute them together (collective.c). */
#ifndef KILN_SIM_VM_COLLECTIVE_H
#define KILN_SIM_VM_COLLECTIVE_H

#include "vm_machine.h"

/* The lanes that execute one collective operation together. These lanes come from the running path and from waiting
 * paths, which may be at other instructions and in other calls. A vm_share has the lanes that are at the same
 * instruction in the same frame. */
typedef struct vm_share {
    const vm_code *code;
    vm_frame *frame;
    uint32_t lanes;
} vm_share;
typedef struct vm_meeting {
    uint32_t lanes;      /* the mask of all lanes that take part */
    uint32_t count;      /* number of shares */
    const vm_u32 *masks; /* the member mask of each lane; NULL if the whole warp takes part */
    vm_share shares[VM_LANES];
    vm_u32 room[VM_LANES];
} vm_meeting;
void vm_op_shfl(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_vote(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_match(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_redux(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_activemask(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_elect(vm_warp *w, const vm_code *i, uint32_t m);
void vm_op_warp_sync(vm_warp *w, const vm_code *i, uint32_t m);
/* Waits until all 128 threads of the warpgroup are at the instruction. Returns true for the lanes that arrive last, and
 * false for all others. The caller then executes the instruction for all four warps, whose base[] points to their
 * frames, and calls vm_warpgroup_open(). */
bool vm_warpgroup_meet(vm_warp *w, const vm_code *i, uint32_t m);
void vm_warpgroup_open(vm_warp *w);

#endif
