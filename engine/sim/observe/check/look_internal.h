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
    uint32_t rank;        /* the rank that a shared address of another block has; the cluster may have fewer blocks */
    /* Marks with a stamp of at most `limit` need no further test: they happened before, for any thread that made them. */
    uint32_t insn, limit, now, block, bad;
    uint32_t begin_inside; /* lanes whose load begins inside and ends outside: these get the bytes that exist */
    bool shared, write, strong, constant, told;
    uint32_t sides; /* VM_STRONG_SIDE, VM_VOLATILE_SIDE, VM_BLOCK_SIDE of this access */
    bool flagged;   /* a fence before a write has published the cell since the block began */
    /* the access neither acquires nor publishes a flag, because mbarriers and copies have their own order */
    bool quiet;
    uint32_t flight; /* the asynchronous operation that makes the access; 0: the thread itself */
    unsigned see;
} vm_look;

#endif
