/* look_internal.h - an access while it is checked. */
#ifndef KILN_SIM_CHECK_LOOK_INTERNAL_H
#define KILN_SIM_CHECK_LOOK_INTERNAL_H

#include "vm_checks_internal.h"

/* One access of an instruction, by all lanes that take part, while it is checked. This struct lives on the stack. */
typedef struct vm_look {
    vm_check *check;
    vm_warp *w;
    const vm_code *code;
    const ptx_insn *in;
    vm_clock *clock;
    const vm_access *a;
    const vm_pattern *p;
    const vm_block *home; /* the block that owns the shared memory */
    /* the rank in the address of another block's shared memory; the cluster may have no block of this rank */
    uint32_t rank;
    /* A mark whose stamp is at most `limit` needs no further test: it happened before the access, whichever thread made
     * the mark. */
    uint32_t insn, limit, now, block, bad;
    /* Lanes whose load begins inside a piece of memory and ends outside of it. Such a lane gets the bytes that
     * exist. */
    uint32_t begin_inside;
    bool shared, write, strong, constant, told;
    uint32_t sides; /* the flags VM_STRONG_SIDE, VM_VOLATILE_SIDE and VM_BLOCK_SIDE that describe this access */
    bool flagged;   /* true if a write after a fence has published the cell as a flag since the block began */
    /* True if the access neither acquires nor publishes a flag. Mbarriers and copies order accesses by other rules. */
    bool quiet;
    /* the number of the asynchronous operation that makes the access; 0 if a thread makes it */
    uint32_t flight;
    unsigned see;
} vm_look;

#endif
