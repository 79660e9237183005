/* vm_jit.h - the contract between the interpreter and a compiler of hot code (sim/device/jit).
 *
 * The compiler turns stretches of a function, *regions*, into host code. A region starts at one instruction, its head,
 * and runs for a whole warp. It ends at an instruction that it does not hold, or at an operand for which it was not
 * compiled. It leaves registers, memory, pc and counts as the interpreter would have them at that place, so the
 * interpreter can continue anywhere. */
#ifndef KILN_SIM_VM_JIT_H
#define KILN_SIM_VM_JIT_H

#include "vm_machine.h"

#define VM_REGION_MISSED (1ull << 63)

/* Runs at most `left` operations and returns how many ran: instructions, and the extra operations that the decoder adds
 * to them. Adds VM_REGION_MISSED to the result if it ended at an operand for which it was not compiled. *lanes grows by
 * the lanes of the instructions, *added by the number of extra operations. */
typedef uint64_t (*vm_native_run)(vm_warp *w, unsigned char *regs, uint64_t left, uint64_t *lanes, uint64_t *added);

/* A compiled region. It is constant once other threads may see it, except the counters. */
typedef struct vm_native {
    vm_native_run run; /* runs a whole warp; NULL: there is no such function */
    /* For some lanes of a warp, or NULL: runs the path that is selected until its lanes diverge or it comes to a
     * reconvergence point. Reads the place at which it begins from w->pc, which is behind the head. */
    vm_native_run partial;
    uint32_t partial_need; /* as `need` */
    /* `partial` runs only while no lane of the warp has exited. A shuffle of the function may read registers of such a
     * lane, in which the interpreter's handlers leave other values. */
    bool alive;
    vm_handler own;              /* the head's handler */
    uint32_t need;               /* instructions that it may execute before it looks at `left` */
    atomic_uint entered, missed; /* the first are counted, later ones sampled, with their weight */
} vm_native;

/* The compiled regions of a function. */
typedef struct vm_compiled {
    _Atomic(_Atomic(vm_native *) *) at; /* one entry per instruction; NULL: nothing yet */
    atomic_bool blank; /* no path reads a register before it writes it, so a new frame may hold anything */
} vm_compiled;

/* A device's compiler. Its functions may be called by several host threads at once. */
struct vm_jit {
    uint32_t threshold; /* executions of a loop or kernel by a warp before it is compiled */
    /* The code from `first` to `last` is warm; the warp has just executed it, so its registers show how it runs.
     * `enough`: the threshold is reached, and the code is hot. */
    void (*hot)(struct vm_jit *jit, vm_warp *w, const vm_code *first, const vm_code *last, bool enough);
    /* The region has missed too often. w->pc is the place at which it ended. */
    void (*missed)(struct vm_jit *jit, vm_warp *w, const vm_code *head);
    /* Lanes have diverged so often at the branch `i` that their paths are worth compiling. */
    void (*split)(struct vm_jit *jit, vm_warp *w, const vm_code *i);
    void (*drop)(struct vm_jit *jit, vm_module *module); /* the module is unloaded */
    void (*free)(struct vm_jit *jit);
};

/* The handler of a region's head: the interpreter executes that instruction alone. */
void vm_op_region(vm_warp *w, const vm_code *i, uint32_t m);

#endif
