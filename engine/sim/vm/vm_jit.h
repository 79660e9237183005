/* vm_jit.h - what the interpreter and a compiler of hot code (sim/jit) know of each other. The compiler turns stretches
 * of a function into host code, *regions*. A region starts at one instruction, its head, and runs for a whole warp until
 * it comes to an instruction that it does not hold, or to an operand that it was not made for. It leaves registers,
 * memory, pc and counts as the interpreter would have them at that place. So the interpreter can continue anywhere. */
#ifndef KILN_SIM_VM_JIT_H
#define KILN_SIM_VM_JIT_H

#include "vm_machine.h"

#define VM_REGION_MISSED (1ull << 63)

/* Runs at most `left` instructions, with steps, and returns how many; VM_REGION_MISSED is added if it ended at an
 * operand that it was not made for. *lanes and *steps grow by what it counted. All of them are addresses. */
typedef uint64_t (*vm_native_run)(vm_warp *w, unsigned char *regs, uint64_t left, uint64_t *lanes, uint64_t *steps);

typedef struct vm_native {
    vm_native_run run;
    vm_handler own;              /* the head's handler */
    uint32_t need;               /* instructions that it may execute before it looks at `left` */
    atomic_uint entered, missed; /* the first are counted, later ones sampled, with their weight */
} vm_native;

/* What a function has of compiled code. */
typedef struct vm_compiled {
    _Atomic(_Atomic(vm_native *) *) at; /* by instruction; NULL: nothing yet */
} vm_compiled;

/* A device's compiler. Its functions may be called by several host threads at once. */
struct vm_jit {
    uint32_t threshold; /* how often a warp comes to the end of a loop, or of a kernel, before it is compiled */
    /* What begins with `first` and ends with `last`, where the warp is, is warm: its registers show how it runs. Then, at
     * the threshold, it is hot. */
    void (*hot)(struct vm_jit *jit, vm_warp *w, const vm_code *first, const vm_code *last, bool enough);
    /* A region has missed too often; w->pc is where it ended. */
    void (*missed)(struct vm_jit *jit, vm_warp *w, const vm_code *head);
    void (*drop)(struct vm_jit *jit, vm_module *module); /* the module is unloaded */
    void (*free)(struct vm_jit *jit);
};

/* The handler of a region's head: the interpreter executes that instruction alone. */
void vm_op_region(vm_warp *w, const vm_code *i, uint32_t m);

#endif
