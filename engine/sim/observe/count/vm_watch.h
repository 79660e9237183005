/* vm_watch.h - the observers of a launch: counters in count.c, traces in trace.c, and checks in sim/observe/check.
 *
 * An observed launch uses the same handlers as any other launch, but it runs in a second copy of the inner loop
 * (device/vm/warp.c). This copy calls the observers before each instruction. A launch without observers has no
 * overhead. */
#ifndef KILN_SIM_VM_WATCH_H
#define KILN_SIM_VM_WATCH_H

#include "vm_machine.h"

/* The kinds of an access. Each kind is a bit. ORDERED: the access is volatile, relaxed, acquire or release. ASYNC: an
 * asynchronous copy makes the access. JOINED: the access is an atomic whose lanes with the same address update memory
 * once (count.c). */
enum { VM_READS = 1, VM_WRITE = 2, VM_ATOMIC = 4, VM_ORDERED = 8, VM_ASYNC = 16, VM_JOINED = 32 };

/* The accesses that one instruction of a warp makes to one memory space. The window of a generic address tells its
 * space. So an instruction may have several accesses, one for each space. */
typedef struct vm_access {
    uint8_t space;  /* ptx_space: GLOBAL, SHARED, LOCAL or CONST */
    uint8_t kind;   /* bits such as VM_READS and VM_WRITE */
    uint32_t lanes; /* the lanes that make the access */
    uint32_t bytes; /* number of bytes that each lane accesses */
    /* The addresses by lane: device addresses, offsets in local memory, or vm_window_offset() of shared addresses. An
     * offset below VM_SHARED_WINDOW is in the block's own shared memory. */
    uint64_t address[VM_LANES];
} vm_access;
/* The largest number of accesses of an instruction. wmma.load reaches it if the elements of a register are not
 * contiguous. */
#define VM_ACCESSES 48u

/* Lists the accesses that the instruction is about to make for the lanes m. Returns the number of accesses. */
unsigned count_accesses(const vm_warp *w, const vm_code *i, uint32_t m, vm_access out[VM_ACCESSES]);

/* Sets a->address for all lanes of a plain load or store, also for lanes that do not make the access. */
void count_read_addresses(const vm_warp *w, const vm_code *i, vm_access *a);

/* The executions of one PTX instruction in one launch. */
typedef struct vm_tally {
    /* how often a warp executed the instruction, and the sum of the lanes of these executions */
    uint64_t executed, lanes;
} vm_tally;
/* The tally index numbers the instructions of all functions of a module, function after function. Each function has one
 * more number, which stands for its end. */
size_t count_tallies(const vm_module *module);
size_t count_tally_first(const vm_module *module, uint32_t function);

/* The observers of a launch (vm_launch.watch), and their results. */
struct vm_watch {
    /* count_tallies() elements to which the launch adds its counts. NULL if the launch is not counted. */
    vm_tally *tally;
    /* The hooks of the checks, or NULL. These hooks are called only if the device has a check (vm_device.check). A
     * launch that is checked runs on one host thread. */
    const struct vm_hooks *checks;
    /* The counters to which the launch adds its counts when it ends (vm_count.h), or NULL if the launch is not
     * counted. */
    struct vm_profile *profile;
    /* `see` is called before every instruction that accesses memory, and gets the accesses of the instruction.
     * `block_ends` is called for every block that has ended. Several host threads call these functions at once, each
     * for its own blocks (w->block->number). Both functions may be NULL. */
    void (*see)(void *user, const vm_warp *w, const vm_code *i, const vm_access *list, unsigned count);
    void (*block_ends)(void *user, const vm_block *block);
    void *user;
    struct vm_trace *trace; /* the trace (vm_trace.h), or NULL if the launch is not traced */
    bool trace_alone;       /* the trace is the only observer, so the interpreter observes only traced warps */
};

/* The value of vm_launch.hooks for a launch that has a vm_watch. */
extern const struct vm_hooks count_watch_hooks;
#endif
