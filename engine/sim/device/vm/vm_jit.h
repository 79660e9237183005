/* vm_jit.h - the interface between the interpreter and a compiler of hot code (sim/device/jit).
 *
 * The compiler translates parts of a function into host code. Such a part is called a *region*. A region starts at one
 * instruction, its head. A region runs for a whole warp, or for one path of a divergent warp. The region ends at an
 * instruction that does not belong to it, or at an operand for which the region was not compiled. At the end of a
 * region, registers, memory, pc and counts have the values that the interpreter would have left. So the interpreter can
 * continue there. */
#ifndef KILN_SIM_VM_JIT_H
#define KILN_SIM_VM_JIT_H

#include "vm_machine.h"

#define VM_REGION_MISSED (1ull << 63)
/* Values of vm_runner.series_place. Other values are indices of barriers. END: the kernel's end. NOWHERE: no warp has
 * ended its turn. */
#define VM_SERIES_END 0xffffffffull
#define VM_SERIES_NOWHERE 0xffffffffffffffffull

/* Runs at most `left` operations of a region and returns how many ran. An operation is an instruction, or an extra
 * operation that the decoder adds to an instruction. Adds VM_REGION_MISSED to the result if the region ended at an
 * operand for which the region was not compiled. Adds the number of lanes of all instructions to *lanes, and the number
 * of extra operations to *added. `regs` is the address of the registers. For a series, `regs` is the number of
 * warps, or 0. */
typedef uint64_t (*vm_native_run)(vm_warp *w, uintptr_t regs, uint64_t left, uint64_t *lanes, uint64_t *added);

/* A compiled region. Only its counters change after other threads can see the region. */
typedef struct vm_native {
    vm_native_run run; /* the function that runs the region for a whole warp, or NULL */
    /* The function that runs the region for one path, or NULL. The function runs the selected path until the lanes of
     * the path diverge, or until the path reaches a reconvergence point. The function begins at the region's head. At
     * the call w->pc is the instruction after the head. */
    vm_native_run partial;
    uint32_t partial_need; /* the same for `partial` as `need` is for `run` */
    /* If true, `partial` runs only while no lane of the warp has exited. A shuffle of the function may read registers
     * of an exited lane, and the interpreter's handlers leave other values in these registers. */
    bool alive;
    bool watched; /* The region calls vm_runner.access, and runs only in launches that have this function. */
    /* If true, `run` is a series. A series runs the turns of a block's warps, one after the other. The turns begin at
     * the kernel's first instruction, or behind a barrier. A turn ends at a barrier or at the kernel's end, at the same
     * place for all warps. The series ends after the last warp's turn. Then vm_runner.series_last is the end of the
     * array of warps, and the result is 0. The series also ends within a turn: where a region would end, and if the
     * series has issued `left` instructions.
     * In the second case vm_runner.series_last is the warp at which the series has ended. The return value and *added
     * count the operations of this warp alone. In both cases *lanes counts the lanes of all warps. All earlier warps
     * have ended their turns at vm_runner.series_place, with vm_runner.series_issued instructions together. A series
     * changes only registers, w->pc and the counters of idle operations and yields of its warps. If the series ends
     * within an arm, it also changes the paths of the warp at which it ends. If the argument `regs` is 0, the series runs no more than
     * one warp, and ends before the end of the turn. */
    bool series;
    vm_handler own; /* the interpreter's own handler of the head */
    /* The largest number of operations that `run` may execute before it tests `left`. Call `run` only if `left` is at
     * least this number. */
    uint32_t need;
    /* Counters of entries into the region, and of misses: ends at an operand for which the region was not compiled. The
     * first entries are all counted exactly. Later only a sample of the entries is counted, with a weight. */
    atomic_uint entered, missed;
} vm_native;

/* Registers that are set to zero when a block starts: an offset among the frame's registers, and a number of bytes. */
enum { VM_CLEAR_MOST = 8 };
typedef struct vm_clear {
    uint32_t slot, bytes;
} vm_clear;

/* The compiled regions of a function. */
typedef struct vm_compiled {
    _Atomic(_Atomic(vm_native *) *) at; /* a table with one entry for each instruction; NULL until the table is made */
    /* True if no path reads a register before the path has written it, except the registers in clear[]. Only the
     * registers in clear[] need an initial value in a new frame. clear[] does not change once `blank` is true. */
    atomic_bool blank;
    uint32_t clear_count;
    vm_clear clear[VM_CLEAR_MOST];
} vm_compiled;

/* A device's compiler of hot code. Several host threads may call its functions at once. */
struct vm_jit {
    /* After about this number of executions by warps, a loop or kernel of medium length is compiled: see
     * vm_add_heat(). */
    uint32_t threshold;
    /* Called several times for the loop or kernel from `first` to `last`, beginning when half of the threshold is
     * reached. The warp has just executed this code, so its registers show which operands occur. `enough` is true when
     * the threshold is reached and the code should be compiled. */
    void (*hot)(struct vm_jit *jit, vm_warp *w, const vm_code *first, const vm_code *last, bool enough);
    /* Called when a region has ended too often at an operand for which the region was not compiled. w->pc is the
     * instruction at which the region ended. */
    void (*missed)(struct vm_jit *jit, vm_warp *w, const vm_code *head);
    /* Called when lanes have diverged at the branch `i` so often that compiled code for their paths is worthwhile. */
    void (*split)(struct vm_jit *jit, vm_warp *w, const vm_code *i);
    /* called when a module is unloaded, to drop its compiled code */
    void (*drop)(struct vm_jit *jit, vm_module *module);
    void (*free)(struct vm_jit *jit);
};

/* The handler of the instruction at a region's head. The handler executes only the head instruction, by the
 * interpreter's own handler. */
void vm_op_region(vm_warp *w, const vm_code *i, uint32_t m);

#endif
