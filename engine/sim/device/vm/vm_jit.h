/* vm_jit.h - the interface between the interpreter and a compiler of hot code (sim/device/jit).
 *
 * The compiler translates parts of a function, *regions*, into host code. A region starts at one instruction, its
 * head. It runs for a whole warp, or for one path of a divergent warp. It ends at an instruction that is not in the
 * region, or at an operand for which it was not compiled. It leaves registers, memory, pc and counts as the
 * interpreter would leave them at that place, so the interpreter can continue where a region ends. */
#ifndef KILN_SIM_VM_JIT_H
#define KILN_SIM_VM_JIT_H

#include "vm_machine.h"

#define VM_REGION_MISSED (1ull << 63)

/* Runs at most `left` operations and returns how many ran: instructions, and the extra operations that the decoder
 * adds to them. Adds VM_REGION_MISSED to the result if it ended at an operand for which it was not compiled. *lanes
 * grows by the lanes of the instructions, *added by the number of extra operations. */
typedef uint64_t (*vm_native_run)(vm_warp *w, unsigned char *regs, uint64_t left, uint64_t *lanes, uint64_t *added);

/* A compiled region. Only the counters change after other threads can see it. */
typedef struct vm_native {
    vm_native_run run; /* runs a whole warp; NULL: there is no such function */
    /* The function for paths, or NULL. It runs the selected path until its lanes diverge or the path reaches a
     * reconvergence point. It begins at the head; w->pc is the instruction after the head. */
    vm_native_run partial;
    uint32_t partial_need; /* for `partial`, the same as `need` for `run` */
    /* `partial` runs only while no lane of the warp has exited. A shuffle of the function may read registers of such
     * a lane, in which the interpreter's handlers leave other values. */
    bool alive;
    vm_handler own; /* the interpreter's own handler of the head */
    /* the most operations that it may execute before it tests `left`; call it only if `left` is at least this */
    uint32_t need;
    /* the first entries are all counted; later entries are sampled, and a sample counts with its weight */
    atomic_uint entered, missed;
} vm_native;

/* Registers that are set to zero when a block starts: an offset in the frame's registers, and a number of bytes. */
enum { VM_CLEAR_MOST = 8 };
typedef struct vm_clear {
    uint32_t slot, bytes;
} vm_clear;

/* The compiled regions of a function. */
typedef struct vm_compiled {
    _Atomic(_Atomic(vm_native *) *) at; /* one entry per instruction; NULL: no table was made yet */
    /* paths read no other registers than clear[] before they write them, so only these registers of a new frame need
     * an initial value; clear[] does not change once `blank` is true */
    atomic_bool blank;
    uint32_t clear_count;
    vm_clear clear[VM_CLEAR_MOST];
} vm_compiled;

/* A device's compiler. Its functions may be called by several host threads at once. */
struct vm_jit {
    /* a loop or kernel of usual length is compiled after about this number of executions by warps; see
     * vm_add_heat() */
    uint32_t threshold;
    /* Called some times for the loop or kernel from `first` to `last`, when it has run at least half as often as
     * `threshold` demands. The warp has just executed this code, so its registers show how the code runs. `enough`:
     * the threshold is reached, so that the code should be compiled. */
    void (*hot)(struct vm_jit *jit, vm_warp *w, const vm_code *first, const vm_code *last, bool enough);
    /* Called when a region has missed too often. w->pc is the place at which it ended. */
    void (*missed)(struct vm_jit *jit, vm_warp *w, const vm_code *head);
    /* Called when lanes have diverged so often at the branch `i` that compiling their paths is worthwhile. */
    void (*split)(struct vm_jit *jit, vm_warp *w, const vm_code *i);
    void (*drop)(struct vm_jit *jit, vm_module *module); /* called when the module is unloaded */
    void (*free)(struct vm_jit *jit);
};

/* The handler of a region's head. It executes only the head instruction. */
void vm_op_region(vm_warp *w, const vm_code *i, uint32_t m);

#endif
