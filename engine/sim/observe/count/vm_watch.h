/* vm_watch.h - the observers of a launch: counters in count.c, traces in trace.c, and checks in sim/observe/check.
 *
 * An observed launch uses the same handlers through a second copy of the inner loop (device/vm/warp.c), which calls
 * the observers before each instruction. A launch without observers has no overhead. */
#ifndef KILN_SIM_VM_WATCH_H
#define KILN_SIM_VM_WATCH_H

#include "vm_machine.h"

/* The kinds of an access, as bits. ORDERED: volatile, relaxed, acquire or release. ASYNC: by an asynchronous copy.
 * JOINED: an atomic that counts lanes at one address together (count.c). */
enum { VM_READS = 1, VM_WRITE = 2, VM_ATOMIC = 4, VM_ORDERED = 8, VM_ASYNC = 16, VM_JOINED = 32 };

/* The accesses of one instruction of a warp to one space. Generic addresses are distinguished by their window, so an
 * instruction may have several of these, one for each space that its lanes access. */
typedef struct vm_access {
    uint8_t space;  /* ptx_space: GLOBAL SHARED LOCAL CONST */
    uint8_t kind;   /* VM_READS, VM_WRITE and so on */
    uint32_t lanes; /* the lanes that take part */
    uint32_t bytes; /* bytes that each lane accesses */
    /* Device addresses, offsets in local memory, or vm_window_offset() of shared addresses: an offset below
     * VM_SHARED_WINDOW is in the block's own shared memory. */
    uint64_t address[VM_LANES];
} vm_access;
/* largest number of accesses of an instruction: wmma.load, if the elements of a register are not contiguous */
#define VM_ACCESSES 48u

/* Lists the accesses that the instruction is about to make for the lanes of the mask. Returns how many there are. */
unsigned count_accesses(const vm_warp *w, const vm_code *i, uint32_t m, vm_access out[VM_ACCESSES]);

/* Reads the addresses of all lanes of a plain load or store, also of lanes that do not take part, as in vm_access. */
void count_read_addresses(const vm_warp *w, const vm_code *i, vm_access *a);

/* The executions of one PTX instruction in one launch. */
typedef struct vm_tally {
    uint64_t executed, lanes; /* times that a warp executed it, and the sum of its lanes */
} vm_tally;
/* The tally index numbers the instructions of all functions of a module one after the other. Each function has one
 * more number for its end. */
size_t count_tallies(const vm_module *module);
size_t count_tally_first(const vm_module *module, uint32_t function);

/* The observers of a launch (vm_launch.watch), and their results. */
struct vm_watch {
    vm_tally *tally; /* count_tallies() elements, to which counts are added; NULL: not counted */
    /* the checks' hooks, or NULL. They are called if the device has a check (vm_device.check); the launch then runs
     * on one host thread */
    const struct vm_hooks *checks;
    struct vm_profile *profile; /* vm_count.h, to which counts are added when the launch ends; NULL: not counted */
    /* `see` is called before every instruction that accesses memory, with its accesses. `block_ends` is called for
     * every block that has ended. Several host threads call them at once, each for its own blocks (w->block->number).
     * Both functions may be NULL. */
    void (*see)(void *user, const vm_warp *w, const vm_code *i, const vm_access *list, unsigned count);
    void (*block_ends)(void *user, const vm_block *block);
    void *user;
    struct vm_trace *trace; /* vm_trace.h; NULL: not traced */
    bool trace_alone;       /* the trace is the only observer, so only traced warps are observed */
};

/* vm_launch.hooks of a launch that has a vm_watch. */
extern const struct vm_hooks count_watch_hooks;
#endif
