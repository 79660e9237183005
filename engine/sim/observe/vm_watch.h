/* vm_watch.h - what looks on while a launch runs: counters (count.c), traces (trace.c) and checks (sim/check).
 *
 * A launch that is watched goes through the same handlers by a second copy of the inner loop (vm/warp.c), which shows
 * the watchers each instruction before it executes. One that is not watched pays nothing. */
#ifndef KILN_SIM_VM_WATCH_H
#define KILN_SIM_VM_WATCH_H

#include "vm_machine.h"

enum { VM_READS = 1, VM_WRITE = 2, VM_ATOMIC = 4, VM_ORDERED = 8, VM_ASYNC = 16, VM_JOINED = 32 };

/* What one instruction of a warp touches in one space. Generic addresses are told apart by their window, so that an
 * instruction may make several of these: one for each space its lanes reach. */
typedef struct vm_access {
    uint8_t space;              /* ptx_space: GLOBAL SHARED LOCAL CONST */
    uint8_t kind;               /* VM_READS ... ; ORDERED: volatile, relaxed, acquire, release; JOINED: count.c */
    uint32_t lanes;             /* that take part */
    uint32_t bytes;             /* of each lane */
    uint64_t address[VM_LANES]; /* in that space: device addresses, or offsets in shared or local memory */
} vm_access;
#define VM_ACCESSES 48u /* of wmma.load, where the elements of a register are apart */

/* The accesses that the instruction is about to make for the lanes of the mask: their number. */
unsigned vm_accesses(const vm_warp *w, const vm_code *i, uint32_t m, vm_access out[VM_ACCESSES]);

/* What was executed of one instruction of the PTX, in one launch. */
typedef struct vm_tally {
    uint64_t executed, lanes; /* times a warp executed it, with how many lanes in all */
} vm_tally;
/* The instructions of all functions of a module, one after the other, each function's with one more for its end. */
size_t vm_tally_count(const vm_module *module);
size_t vm_tally_first(const vm_module *module, uint32_t function);

/* What a launch is watched for (vm_launch.watch), and what was seen. */
struct vm_watch {
    vm_tally *tally;               /* vm_tally_count() of them, added to; NULL: not counted */
    const struct vm_hooks *checks; /* those that look on if the device has them attached, on one host thread; or NULL */
    struct vm_profile *profile;    /* vm_count.h, added to when the launch ends; NULL: not counted */
    /* Shown every instruction that touches memory before it executes, with its accesses; and every block that has ended.
     * Called by several host threads at once, each with blocks of its own (w->block->number). NULL: nobody looks. */
    void (*see)(void *user, const vm_warp *w, const vm_code *i, const vm_access *list, unsigned count);
    void (*block_ends)(void *user, const vm_block *block);
    void *user;
    struct vm_trace *trace; /* vm_trace.h; NULL: not traced */
    bool trace_alone;       /* that is all; warps that are not traced (any more) need not be watched */
};

/* vm_launch.hooks of a launch that has a vm_watch. */
extern const struct vm_hooks vm_watch_hooks;
#endif
