/* emit.h - functions that write a region: values, registers, and the exits of the region. */
#ifndef KILN_SIM_JIT_EMIT_H
#define KILN_SIM_JIT_EMIT_H

#include "region.h"

/* Types of values. */
#define B1V "<32 x i1>"
#define I32V "<32 x i32>"
#define I64V "<32 x i64>"
#define F32V "<32 x float>"
#define F64V "<32 x double>"

/* A register of the kernel, which the region keeps in a variable. */
typedef struct jit_var {
    uint32_t slot;
    uint8_t width;
} jit_var;

/* A test of addresses that the emitter has written in this basic block. Several accesses through the same register
 * share one test. */
typedef struct jit_group {
    uint32_t slot, span;
    uint8_t kind, pattern;
    int64_t low, high; /* the tested range [low, high) of offsets, in bytes from the value of the register */
    /* The number of an i64 value: the register in the first lane. For JIT_ANY it is a vector of the host addresses that
     * correspond to the registers of all lanes. */
    unsigned first;
    unsigned second; /* the number of an i64 value: the register in the first lane of the upper half of the warp */
    unsigned host;   /* the number of an i64 value: the host address minus the device address */
    /* Up to the instruction `until`, words[] has four words of each lane, from the offset `from` on. load_fours() of
     * memory.c has loaded them together. */
    uint32_t until;
    int64_t from;
    unsigned words[4];
} jit_group;
enum { JIT_GROUPS = 16, JIT_STREAMS = 6 };

/* A second form of some basic blocks of a region, for warps whose lanes have diverged at a branch to the end of these
 * blocks (emit.c, "arms"). `to` is the instruction at which the lanes that took the branch wait. `meet` is the same
 * instruction if the lanes reconverge there. It is JIT_END if these lanes have reached the kernel's end. `state` has the flags REACHED and LEADER of the blocks' instructions,
 * as jit_emitter.state. */
typedef struct jit_arm {
    uint32_t meet, to;
    uint8_t *state;
} jit_arm;
enum { JIT_ARMS = 8 };
#define JIT_END UINT32_MAX

/* The state of one region while the emitter writes it. */
typedef struct jit_emitter {
    const jit_unit *u;
    kiln__text entry, body, exits;
    char pointers[4][48];
    unsigned next_pointer, values, labels;
    /* the numbers of LLVM values, which all have the type i64 */
    unsigned w, runner, block, launch, cache, params, shared, shared_low, shared_end;
    uint32_t first, last, head, need, calls;
    uint32_t at;    /* the instruction that the emitter writes now */
    uint8_t *state; /* the flags of each instruction of [first, last]: REACHED, LEADER, LOOP */
    bool *stops;
    jit_var *vars;
    size_t var_count, var_capacity;
    uint32_t *var_of; /* a hash table, whose entries are indices of `vars` plus 1 */
    size_t var_slots;
    /* indexed by variable: true if, at this point, the variable may differ from the register's row in the frame */
    uint8_t *dirty;
    /* indexed by block_of[] and by variable: the value of dirty[] at the beginning of the basic block */
    uint8_t *block_in;
    uint32_t *block_of;
    /* the counts of this basic block that the region has not yet added to %ncount, %nsteps and %nlanes */
    unsigned count, steps, lanes;
    jit_group groups[JIT_GROUPS];
    unsigned group_count, streams; /* streams: the number of variables %p0, %p1, ... that prefetching uses */
    unsigned parts;                /* number of calls of emit_prefetch_parts() */
    bool series;                   /* the function is a series (vm_native.series) */
    jit_arm arms[JIT_ARMS];
    unsigned arm_count;
    const jit_arm *arm; /* the arm whose blocks the emitter writes, or NULL */
    /* A failed test of addresses is no miss while `quiet` is true, because only some lanes have made the access. */
    bool quiet;
    /* `partial` is true while the emitter writes a function for paths. While such a function runs, `mask` (the lanes of
     * the path, an i32) and `active` (the number of these lanes, an i64) stay the same. In a basic block of an arm they
     * stay the same too. In a function for paths, registers stay in the frame. Within a basic block, known[] has the
     * number of the value of each variable, or 0 if the block has not read the variable yet. dirty[] marks values that
     * are not yet written to the frame. */
    bool partial;
    unsigned mask, active, regs; /* regs: the address of the frame's registers, a value of type i64 */
    unsigned *known;
    bool fixed; /* a new variable is an error in find_var() */
    bool failed;
} jit_emitter;

/* Writes an instruction that makes a value. Returns n if the name of the value is %vn. */
unsigned jit_value(jit_emitter *e, const char *format, ...) KILN__PRINTF(2, 3);
void jit_line(jit_emitter *e, const char *format, ...) KILN__PRINTF(2, 3);
void jit_label(jit_emitter *e, unsigned label);
/* Returns the type of a pointer to `type`. The text is valid until the function is called four more times. */
const char *jit_pointer(jit_emitter *e, const char *type);
unsigned jit_load_host(jit_emitter *e, unsigned base, uint64_t offset, const char *type, bool constant);
unsigned jit_splat32(jit_emitter *e, uint32_t value);
unsigned jit_splat64(jit_emitter *e, uint64_t value);
unsigned jit_splat_of(jit_emitter *e, unsigned value); /* Returns a vector with an i64 value in all lanes. */
unsigned jit_splat32_of(jit_emitter *e, unsigned value);
/* Returns true if the instruction `at` follows the instruction before it in the same basic block. */
bool jit_in_block(const jit_emitter *e, uint32_t at);
unsigned jit_get(jit_emitter *e, uint32_t slot, unsigned width);
/* Sets a variable in the lanes of `mask`, or in all lanes if `mask` is 0. */
void jit_put(jit_emitter *e, uint32_t slot, unsigned width, unsigned value, unsigned mask);
/* Returns the label at which the region ends before the instruction `at`. If `missed` is true, the region returns
 * VM_REGION_MISSED at this label, except in a function for paths. */
unsigned jit_exit(jit_emitter *e, uint32_t at, bool missed);
/* Writes a test. If the i1 value is false, the region ends before the current instruction. */
void jit_test(jit_emitter *e, unsigned good);
void jit_call(jit_emitter *e, const vm_code *i, const jit_insn *insn, vm_handler handler, unsigned mask, bool event);

/* Writes the call of the observer before a memory access (watch.c). The region ends if the observer cannot decide from
 * the addresses. */
void jit_emit_watch(jit_emitter *e, const vm_code *i, const jit_insn *insn);
/* In a launch with an observer, writes the call of the hook `met` for an operation between all lanes of a warp. The call
 * must come after all tests of the instruction. */
void jit_emit_meeting(jit_emitter *e, const vm_code *i);
/* Copies a register to its row in the frame, if the row may hold an old value. */
void jit_spill(jit_emitter *e, uint32_t slot, unsigned width);
void jit_emit_memory(jit_emitter *e, const vm_code *i, const jit_insn *insn); /* memory.c */
/* Writes a load or store for the lanes of a path. `bits` is the number of an i32 value, the lanes that execute the
 * instruction. Returns false if the region must call the handler instead. */
bool jit_emit_partial_memory(jit_emitter *e, const vm_code *i, unsigned bits);
/* Returns true if jit_emit_some() can write the access `at`. */
bool jit_may_be_some(const jit_emitter *e, uint32_t at);
/* Writes the current access for some lanes of a warp whose registers are variables. `bits` is the number of an i32
 * value, the lanes that execute the instruction. `put` is the number of a vector of i1: the lanes in which a load changes its
 * registers. If `put` is 0, the load may change the registers in all lanes. */
void jit_emit_some(jit_emitter *e, unsigned bits, unsigned put);
void jit_emit_update(jit_emitter *e, const vm_code *i);
bool jit_emit_plain(jit_emitter *e, const vm_code *i, const jit_insn *insn,
                    /* Writes an arithmetic instruction (arith.c). Returns false for an instruction that arith.c does
                     * not know. */
                    unsigned mask);
#endif
