/* emit.h - the writer of a region: values, registers, and the exits of the region. */
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

/* A test of addresses that was written in this basic block. Accesses through the same register share one test. */
typedef struct jit_group {
    uint32_t slot, span;
    uint8_t kind, pattern;
    int64_t low, high; /* the tested range of offsets, [low, high), in bytes from the register's value */
    /* An i64 value: the first lane's register. For JIT_ANY it is a vector: the host addresses that correspond to the
     * registers of all lanes. */
    unsigned first;
    unsigned second; /* an i64 value: the register of the first lane of the upper half of the warp */
    unsigned host;   /* an i64 value: host address minus address */
    /* Until the instruction `until`, words[] has the four words of each lane from the offset `from` on, which were
     * loaded together: load_fours() of memory.c. */
    uint32_t until;
    int64_t from;
    unsigned words[4];
} jit_group;
enum { JIT_GROUPS = 16, JIT_STREAMS = 6 };

/* The state of one region while it is written. */
typedef struct jit_emitter {
    const jit_unit *u;
    kiln__text entry, body, exits;
    char pointers[4][48];
    unsigned next_pointer, values, labels;
    /* numbers of values, which all have the type i64 */
    unsigned w, runner, block, launch, cache, params, shared, shared_low, shared_end;
    uint32_t first, last, head, need, calls;
    uint32_t at;    /* the instruction that is being written */
    uint8_t *state; /* flags of each instruction of [first, last]: REACHED, LEADER, LOOP */
    bool *stops;
    jit_var *vars;
    size_t var_count, var_capacity;
    uint32_t *var_of; /* a hash table, whose entries are indices of `vars` plus 1 */
    size_t var_slots;
    /* indexed by variable: true if, at this point, the variable may differ from the register's row in the frame */
    uint8_t *dirty;
    uint8_t *block_in; /* indexed by block_of[] and variable: dirty[] at the beginning of the basic block */
    uint32_t *block_of;
    /* counts of this basic block that are not yet added to %ncount, %nsteps and %nlanes */
    unsigned count, steps, lanes;
    jit_group groups[JIT_GROUPS];
    unsigned group_count, streams; /* streams: how many of the variables %p0, %p1, ... prefetching uses */
    unsigned parts;                /* how often emit_prefetch_parts() was used */
    bool series;                   /* the function is a series (vm_native.series) */
    /* `partial` is true while a function for paths is written. While such a function runs, `mask` (the lanes of the
     * path, an i32) and `active` (the number of these lanes, an i64) stay the same. Registers stay in the frame. Within
     * a basic block, known[] has the number of the value of each variable, or 0 if the block has not read it yet.
     * dirty[] marks values that are not yet written to the frame. */
    bool partial;
    unsigned mask, active, regs; /* regs: the address of the frame's registers, an i64 */
    unsigned *known;
    bool fixed; /* find_var() treats a new variable as an error */
    bool failed;
} jit_emitter;

/* Writes an instruction that makes a value, and returns the number of the value: n for %vn. */
unsigned jit_value(jit_emitter *e, const char *format, ...) KILN__PRINTF(2, 3);
void jit_line(jit_emitter *e, const char *format, ...) KILN__PRINTF(2, 3);
void jit_label(jit_emitter *e, unsigned label);
/* Returns the type of a pointer to `type`. The text is valid until the fourth next call. */
const char *jit_pointer(jit_emitter *e, const char *type);
unsigned jit_load_host(jit_emitter *e, unsigned base, uint64_t offset, const char *type, bool constant);
unsigned jit_splat32(jit_emitter *e, uint32_t value);
unsigned jit_splat64(jit_emitter *e, uint64_t value);
unsigned jit_splat_of(jit_emitter *e, unsigned value); /* Repeats an i64 value in all lanes. */
unsigned jit_splat32_of(jit_emitter *e, unsigned value);
/* Returns true if the instruction follows the one before it in the same basic block. */
bool jit_in_block(const jit_emitter *e, uint32_t at);
unsigned jit_get(jit_emitter *e, uint32_t slot, unsigned width);
/* Sets a variable in the lanes of `mask`, or in all lanes if `mask` is 0. */
void jit_put(jit_emitter *e, uint32_t slot, unsigned width, unsigned value, unsigned mask);
/* Returns a label at which the region ends, before the instruction `at`. If `missed` is true, the region returns
 * VM_REGION_MISSED there, except in a function for paths. */
unsigned jit_exit(jit_emitter *e, uint32_t at, bool missed);
/* Writes a test: if the i1 value is false, the region ends before the current instruction. */
void jit_test(jit_emitter *e, unsigned good);
void jit_call(jit_emitter *e, const vm_code *i, const jit_insn *insn, vm_handler handler, unsigned mask, bool event);

/* Writes the call of the observer before an access (watch.c). The region ends if the observer cannot decide. */
void jit_emit_watch(jit_emitter *e, const vm_code *i, const jit_insn *insn);
/* Copies a register to its row in the frame, if the row may have an old value. */
void jit_spill(jit_emitter *e, uint32_t slot, unsigned width);
void jit_emit_memory(jit_emitter *e, const vm_code *i, const jit_insn *insn); /* memory.c */
/* Writes a load or store for lanes of a path. `bits` is an i32 value: the lanes that execute the instruction. Returns
 * false if the region must call the handler instead. */
bool jit_emit_partial_memory(jit_emitter *e, const vm_code *i, unsigned bits);
void jit_emit_update(jit_emitter *e, const vm_code *i);
bool jit_emit_plain(jit_emitter *e, const vm_code *i, const jit_insn *insn,
                    unsigned mask); /* Writes plain arithmetic (arith.c). Returns false for an unknown instruction. */
#endif
