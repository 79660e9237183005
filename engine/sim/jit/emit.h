/* emit.h - the writer of a region: values, registers, ways out. */
#ifndef KILN_SIM_JIT_EMIT_H
#define KILN_SIM_JIT_EMIT_H

#include "region.h"

/* Types of values. */
#define B1V "<32 x i1>"
#define I32V "<32 x i32>"
#define I64V "<32 x i64>"
#define F32V "<32 x float>"
#define F64V "<32 x double>"

typedef struct jit_var {
    uint32_t slot;
    uint8_t width;
} jit_var;

/* Addresses that are known to be good in the rest of the block. */
typedef struct jit_group {
    uint32_t slot, span;
    uint8_t kind, pattern;
    int64_t low, high; /* offsets, that is bytes behind the first lane's register, of accesses */
    unsigned first;    /* value: i64, the first lane's register */
    unsigned second;   /* the same of the upper half of the warp */
    unsigned host;     /* value: i64, host address less address */
} jit_group;
enum { JIT_GROUPS = 16 };

typedef struct jit_emitter {
    const jit_unit *u;
    kiln__text entry, body, exits;
    char pointers[4][48];
    unsigned next_pointer, values, labels;
    unsigned w, cache, params, shared, shared_low, shared_end; /* values, all i64 */
    uint32_t first, last, head, need, calls;
    uint32_t at;    /* the instruction that is written */
    uint8_t *state; /* of each in [first, last]: REACHED, LEADER */
    bool *stops;
    jit_var *vars;
    size_t var_count, var_capacity;
    uint32_t *var_of; /* hash table: index + 1 */
    size_t var_slots;
    uint8_t *dirty;    /* by variable: may differ from the frame's row here */
    uint8_t *block_in; /* the same at the beginning of each block: by block_of[] and variable */
    uint32_t *block_of;
    unsigned count, steps, lanes; /* not yet added to the variables: since the block's beginning */
    jit_group groups[JIT_GROUPS];
    unsigned group_count;
    bool fixed; /* no variable is added any more */
    bool failed;
} jit_emitter;

/* Writes an instruction that makes a value, and returns its number. */
unsigned jit_value(jit_emitter *e, const char *format, ...) KILN__PRINTF(2, 3);
void jit_line(jit_emitter *e, const char *format, ...) KILN__PRINTF(2, 3);
void jit_label(jit_emitter *e, unsigned label);
/* The type of a pointer to `type`; valid until the fourth next call. */
const char *jit_pointer(jit_emitter *e, const char *type);
unsigned jit_load_host(jit_emitter *e, unsigned base, uint64_t offset, const char *type, bool constant);
unsigned jit_splat32(jit_emitter *e, uint32_t value);
unsigned jit_splat64(jit_emitter *e, uint64_t value);
unsigned jit_splat_of(jit_emitter *e, unsigned value); /* of an i64 */
unsigned jit_splat32_of(jit_emitter *e, unsigned value);
bool jit_in_block(const jit_emitter *e, uint32_t at); /* it follows the one before it in the same block */
unsigned jit_get(jit_emitter *e, uint32_t slot, unsigned width);
void jit_put(jit_emitter *e, uint32_t slot, unsigned width, unsigned value, unsigned mask); /* mask 0: all lanes */
/* A label at which the region ends, before the instruction `at`. */
unsigned jit_exit(jit_emitter *e, uint32_t at, bool missed);
/* The region ends before its instruction unless the i1 is true. */
void jit_test(jit_emitter *e, unsigned good);
void jit_call(jit_emitter *e, const vm_code *i, const jit_insn *insn, vm_handler handler, bool event);

void jit_emit_memory(jit_emitter *e, const vm_code *i, const jit_insn *insn); /* memory.c */
void jit_emit_update(jit_emitter *e, const vm_code *i);
bool jit_emit_plain(jit_emitter *e, const vm_code *i, const jit_insn *insn,
                    unsigned mask); /* arith.c; false: unknown */
#endif
