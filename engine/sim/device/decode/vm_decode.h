/* vm_decode.h - the declarations that the files of the decoder share. */
#ifndef KILN_SIM_VM_DECODE_H
#define KILN_SIM_VM_DECODE_H

#include "vm_ops.h"

/* returns the handlers for the best instruction set that the host has and that KILN_SIM_ISA allows */
const vm_handlers *decode_table(void);
/* Decodes a function of the module. If the function is invalid, writes a line to `log` and returns false. If memory
 * runs out, returns false without a line. */
bool decode_function(vm_module *module, uint32_t index, kiln__text *log, const vm_handlers *table);

/* Limits of one instruction: the number of temporary registers, the bytes of each of them (32 lanes of 8 bytes), and
 * the number of temporary predicates. */
#define VM_TEMPS 14u
#define VM_TEMP_BYTES 256u
#define VM_TEMP_PREDS 6u

/* A constant of the function: its value, its operand slot without bit 0, and its width, which is 4, 8 or 16 bytes. */
typedef struct vm_constant {
    uint64_t value;
    uint32_t slot;
    uint8_t bytes;
} vm_constant;

typedef struct vm_decoder {
    vm_module *module;
    vm_function *fn;
    const ptx_function *f;
    const ptx_insn *in;
    uint32_t at; /* index in the function of the instruction `in` */
    const vm_handlers *table;
    kiln__text *log;
    vm_code *code;
    size_t count, capacity;
    vm_constant *constants;
    size_t constant_count, constant_capacity;
    /* known: a small hash table; each element is an index into `constants` plus 1, or 0 */
    uint32_t constant_bytes, known[256];
    uint32_t temp_base, temp_used, temp_pred_used, sink;
    bool failed, out_of_memory;
    vm_code scratch; /* decode_emit() and similar functions return this operation if memory for code runs out */
} vm_decoder;

typedef void vm_decode_fn(vm_decoder *d);
#define OP(name, text, decode, class, cost, effect, since, ...) vm_decode_fn decode_##decode;
#include "ops.def"
#undef OP

/* These functions append an executable operation to the function's code and return it. decode_emit() appends the
 * operation that counts as the PTX instruction. decode_step() appends a step: an extra operation, which does not count
 * as an instruction. A step ignores the instruction's guard, so it may write only temporary registers.
 * decode_guarded_step() appends a step that obeys the guard. The functions with `_op` in their names take a handler
 * that exists once, and not for each instruction set of the host. If memory runs out, the functions return `scratch`,
 * and never NULL. */
vm_code *decode_emit(vm_decoder *d, vm_handler_id id);
vm_code *decode_emit_op(vm_decoder *d, vm_handler handler);
vm_code *decode_step(vm_decoder *d, vm_handler_id id);
vm_code *decode_step_op(vm_decoder *d, vm_handler handler);
vm_code *decode_guarded_step(vm_decoder *d, vm_handler_id id);
vm_code *decode_guarded_step_op(vm_decoder *d, vm_handler h);
void decode_set_error(vm_decoder *d, const char *what);
void decode_no_memory(vm_decoder *d);

/* The functions below return the operand slot of one operand. `bytes` is the width of the operand: 4 for all types up
 * to 32 bits, otherwise 8 or 16. For a predicate, the caller of decode_dest() passes 0. decode_source() may emit steps
 * that compute the operand. */
/* returns the flags that ops_special() needs to read a special register into a destination of this width */
uint8_t decode_sreg_flags(const ptx_operand *o, unsigned bytes);
uint32_t decode_source(vm_decoder *d, const ptx_operand *o, unsigned bytes);
uint32_t decode_dest(vm_decoder *d, const ptx_operand *o, unsigned bytes);
uint32_t decode_constant_slot(vm_decoder *d, uint64_t value, unsigned bytes);
uint32_t decode_take_temp(vm_decoder *d);
uint32_t decode_take_temp_pred(vm_decoder *d);
/* returns the slot of a predicate operand; for !p, emits a step that computes the negated predicate */
uint32_t decode_pred_source(vm_decoder *d, const ptx_operand *o);
uint32_t decode_pred_plain(vm_decoder *d, const ptx_operand *o, bool *negated);
/* returns the operand slot of the second predicate of an operand p|q, or 0 if there is no second predicate */
uint32_t decode_second_pred(vm_decoder *d, const ptx_operand *o);
/* returns the width of a register operand in bytes, or 0 if the operand is not a register */
unsigned decode_reg_bytes(const vm_decoder *d, const ptx_operand *o);
/* Returns the width in bytes of a register for a value of the type: at least 4. */
unsigned decode_container(unsigned type);
/* allocates memory that lives as long as the module; if memory runs out, sets `failed` and returns NULL */
void *decode_allocate(vm_decoder *d, size_t bytes);
/* Returns the index of a new element of vm_runner.cache, which has a cache for each memory instruction. */
uint32_t decode_cache_slot(vm_decoder *d);
/* The address of a memory operand: the operand slot of its base, an offset, and a flag that is true if the base has 32
 * bits. `want` is the width in bytes that the address must have, 4 or 8. If `want` is 0, the address keeps the width of
 * its register. */
typedef struct vm_place {
    uint32_t slot;
    int64_t offset;
    bool addr32;
} vm_place;
vm_place decode_address(vm_decoder *d, const ptx_operand *o, unsigned want);

static inline unsigned vm_rounding(const ptx_insn *in)
{
    static const unsigned mods[] = {PTX_MOD_RZ,  PTX_MOD_RM,  PTX_MOD_RP,  PTX_MOD_RNA,
                                    PTX_MOD_RNI, PTX_MOD_RZI, PTX_MOD_RMI, PTX_MOD_RPI};
    for (unsigned k = 0; k < sizeof mods / sizeof *mods; k++)
        if (ptx_has(in, (ptx_mod)mods[k]))
            return mods[k];
    return PTX_MOD_RN;
}
static inline uint8_t vm_flags(const ptx_insn *in)
{
    return (uint8_t)((ptx_has(in, PTX_MOD_FTZ) ? VM_FTZ : 0) | (ptx_has(in, PTX_MOD_SAT) ? VM_SAT : 0) |
                     (ptx_has(in, PTX_MOD_NAN) ? VM_NANS : 0) | (ptx_has(in, PTX_MOD_XORSIGN) ? VM_XORSIGN : 0) |
                     (ptx_has(in, PTX_MOD_RELU) ? VM_RELU : 0));
}
static inline bool vm_is_half(unsigned type)
{
    return type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2;
}
static inline bool vm_is_signed(unsigned type)
{
    return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

#endif
