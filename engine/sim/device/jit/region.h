/* region.h - the data from which emit.c writes a region: the operands of instructions, the live registers, and the
 * range of code. */
#ifndef KILN_SIM_JIT_REGION_H
#define KILN_SIM_JIT_REGION_H

#include "vm_collective.h"
#include "vm_jit.h"
#include "vm_ops.h"

/* ---- operands.c ---- */

typedef enum jit_form { JIT_NONE, JIT_UN, JIT_BIN, JIT_TER, JIT_CMP, JIT_LOAD, JIT_STORE, JIT_OWN } jit_form;
typedef enum jit_type {
    JIT_u8,
    JIT_s8,
    JIT_u16,
    JIT_s16,
    JIT_u32,
    JIT_s32,
    JIT_u64,
    JIT_s64,
    JIT_f32,
    JIT_f64,
} jit_type;
/* A row of vm_ops.def. For arithmetic, d, a, b and c are the types of the operands. For a load or store, `a` is the
 * type in memory, and `d` is the type in a register. */
typedef struct jit_shape {
    const char *name;
    uint8_t form, d, a, b, c;
    bool shared;
} jit_shape;
extern const jit_shape jit_shapes[VM_H_COUNT];

/* A use of a register: the slot of the register, and its width. A predicate is a mask, which has one bit for each
 * lane. */
typedef enum jit_width { JIT_MASK, JIT_32, JIT_64 } jit_width;
typedef struct jit_use {
    uint32_t slot;
    uint8_t width;
    bool write;
} jit_use;
enum { JIT_USES = 24 };
/* The limits of accesses in regions: JIT_ELEMENTS elements of a lane, and an offset of JIT_OFFSET_MOST bytes
 * from the address, forward or back. The limit of the offset ensures that sums of offsets fit 64 bits. */
enum { JIT_ELEMENTS = 8 };
#define JIT_OFFSET_MOST ((int64_t)1 << 40)

/* The way in which a region handles an instruction. STOP: the region ends before the instruction. PLAIN: the region
 * computes the instruction itself. CALL: the region calls the interpreter's handler. BRANCH: a branch. MEET: the
 * instruction is a reconvergence point. UPDATE: the instruction is an atomic operation on words of the block's shared
 * memory, which belongs to one host thread. */
typedef enum jit_kind { JIT_STOP, JIT_PLAIN, JIT_CALL, JIT_BRANCH, JIT_MEET, JIT_UPDATE } jit_kind;
typedef struct jit_insn {
    uint16_t id; /* the handler's number, VM_H_..., or VM_H_COUNT if the handler is not in vm_ops.def */
    uint8_t kind, use_count;
    jit_use uses[JIT_USES]; /* the sources, then the destinations; the guard is not among them */
} jit_insn;
static inline bool jit_is_access(const jit_insn *insn)
{
    return insn->kind == JIT_PLAIN && insn->id < VM_H_COUNT &&
           (jit_shapes[insn->id].form == JIT_LOAD || jit_shapes[insn->id].form == JIT_STORE);
}
/* Returns the register from which an access gets its address. An instruction may access shared memory through a
 * register of 64 bits. In this case the operation before has moved the lower half to a temporary register, and the
 * function returns the wide register. */
static inline uint32_t jit_address(const vm_function *function, const jit_insn *insns, uint32_t at)
{
    const vm_code *i = &function->code[at];
    const bool half = at > 0 && insns[at - 1].id == VM_H_low_b32 && i[-1].insn == i->insn && i[-1].d == i->a;
    return half && !(i[-1].a & 1) ? i[-1].a : i->a;
}
/* A hash table from the address of a handler to its number. */
typedef struct jit_table {
    const vm_handlers *of; /* the handlers for which the table was made, or NULL if it is empty */
    uint16_t slots[1024];  /* the number of a handler + 1, or 0 for a free slot */
} jit_table;
_Static_assert(VM_H_COUNT <= 512, "half of a table's slots are free");
void jit_table_fill(jit_table *table, const vm_handlers *of);
/* The constants that the code of a function moves to registers. jit_moves_new() returns NULL if memory runs out.
 * kiln__free() frees the result. */
typedef struct jit_moves jit_moves;
jit_moves *jit_moves_new(const kiln_allocator *mem, const vm_function *function);
/* Sets *value to the value of an operand. The operand is a constant, or a register to which the function moves only one
 * constant. Other instructions may write the register too, so the region must test its value. Returns false for other
 * operands. */
bool jit_known(const jit_moves *moves, const vm_function *function, uint32_t slot, uint32_t *value);
/* Returns LLVM's name of an atomic operation on words that regions perform themselves. Returns NULL if regions do not
 * perform the operation. */
const char *jit_update(const vm_code *i);
/* Returns the slot of the member mask of a shuffle, a vote or a bar.warp.sync. */
static inline uint32_t jit_members(const vm_code *i)
{
    return i->masked == vm_op_shfl ? (uint32_t)i->imm : i->masked == vm_op_warp_sync ? i->a : i->b;
}
/* Fills *out with the kind and the registers of instruction `at`. */
void jit_look(const jit_table *table, const jit_moves *moves, const vm_function *function, uint32_t at, jit_insn *out);

/* ---- watch.c ---- */

/* Changes how regions of a watched launch handle an instruction, because an observer must see some instructions.
 * `watched` is jit_unit.watched. */
void jit_watch(const vm_function *function, uint32_t at, const uint8_t *watched, jit_insn *insn);
/* The handler of a watched atomic. It shows the atomic to the observer, and executes it. */
void jit_run_watched(vm_warp *w, const vm_code *i, uint32_t m);

/* ---- live.c ---- */

typedef struct jit_live jit_live;
/* Analyses which registers are live. `insns` has one entry for each instruction of the function. Returns NULL if memory
 * runs out. */
jit_live *jit_live_new(const kiln_allocator *mem, const vm_function *function, const jit_insn *insns);
void jit_live_free(const kiln_allocator *mem, jit_live *live);
/* Returns true if the register may be read at the instruction `at` or later. */
bool jit_live_at(const jit_live *live, uint32_t at, uint32_t slot, unsigned width);
/* Fills out->clear with the registers that a path may read before it writes them, except the block's window. Returns
 * false if too many registers must be cleared. */
bool jit_live_clear(const jit_live *live, const vm_function *function, vm_compiled *out);

/* ---- emit.c ---- */

/* The layout of the lanes' addresses in an access. ONE: all lanes have the same address. ROW: the addresses of the
 * lanes are consecutive. ONES and ROWS: each half of the warp has the layout ONE or ROW, as in blocks that are 16
 * threads wide. ANY: the addresses have any other layout. */
typedef enum jit_pattern { JIT_ANY, JIT_ONE, JIT_ROW, JIT_ONES, JIT_ROWS } jit_pattern;
/* The directions that a branch has taken, as bits. MIXED: lanes of one warp have taken both directions at once. */
enum { JIT_TAKEN = 1, JIT_PASSED = 2, JIT_MIXED = 4 };
#define JIT_UNSEEN 0xffu /* stands for a pattern or for directions if the instruction was not observed */

/* All data from which emit.c writes a region. */
typedef struct jit_unit {
    const kiln_allocator *mem;
    const vm_function *function;
    const jit_insn *insns; /* one entry for each instruction of the function */
    /* Indexed by instruction: the jit_pattern of an access, or the directions that a branch has taken. The region ends
     * where a branch takes another direction. */
    const uint8_t *seen;
    const jit_moves *moves;
    const jit_live *live;
    bool typed, wide;
    bool shuffles; /* the function has a shuffle */
    /* If these are not NULL, the launch has an observer. `watched`, indexed by vm_code.insn, selects the instructions
     * that the observer sees. The region calls `access` before a selected access. */
    const uint8_t *watched;
    uint32_t (*access)(vm_warp *w, const vm_code *i);
    vm_handler atom; /* the handler of atomics for a launch with an observer: jit_run_watched() */
} jit_unit;
/* Writes the function `name`, which executes the code within [first, last] from `head` on. Returns the greatest number
 * of instructions that the function executes without testing `left`. Returns 0 if the region is not worth its cost, or
 * if memory runs out. stops[] has one entry for each instruction. The function sets the entries of the instructions at
 * which another region might continue after this region, and leaves the other entries unchanged. Sets *series to true
 * if the function is a series (vm_native.series). */
uint32_t jit_emit(const jit_unit *unit, kiln__text *text, const char *name, uint32_t head, uint32_t first,
                  uint32_t last, bool *stops, bool *series);
/* Writes the function `name` for the paths of a diverged warp within [first, last]. The function `name` may begin at
 * each instruction that heads[] marks. Returns the same number as jit_emit(). */
uint32_t jit_emit_partial(const jit_unit *unit, kiln__text *text, const char *name, uint32_t first, uint32_t last,
                          bool *heads);
/* Writes the declarations that all functions of a module need. */
void jit_emit_begin(const jit_unit *unit, kiln__text *text);

#endif
