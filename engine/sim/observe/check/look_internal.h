/* look_internal.h - one access while it is checked. */
#ifndef KILN_SIM_CHECK_LOOK_INTERNAL_H
#define KILN_SIM_CHECK_LOOK_INTERNAL_H

#include "vm_checks_internal.h"

/* One access of one instruction, by all its lanes, while it is checked. It lives on the stack. */
typedef struct vm_look {
    vm_check *check;
    vm_warp *w;
    const vm_code *code;
    const ptx_insn *in;
    vm_clock *clock;
    const vm_access *a;
    const vm_pattern *p;
    const vm_block *home; /* the block that owns the shared memory */
    uint32_t rank;        /* the rank in a shared address of another block; the cluster may not have this rank */
    /* A mark with a stamp of at most `limit` needs no further test: it happened before the access, whichever thread
     * made it. */
    uint32_t insn, limit, now, block, bad;
    /* lanes whose load begins inside memory and ends outside of it; they get the bytes that exist */
    uint32_t begin_inside;
    bool shared, write, strong, constant, told;
    uint32_t sides; /* the flags VM_STRONG_SIDE, VM_VOLATILE_SIDE and VM_BLOCK_SIDE of this access */
    bool flagged;   /* a fence before a write has published the cell since the block began */
    /* the access neither acquires nor publishes a flag, because mbarriers and copies have their own order */
    bool quiet;
    /* the number of the asynchronous operation that makes the access; 0 if the thread itself makes it */
    uint32_t flight;
    unsigned see;
} vm_look;

#endif
