/* vm_decode.h - what the files of the decoder share. */
#ifndef KILN_SIM_VM_DECODE_H
#define KILN_SIM_VM_DECODE_H

#include "vm_ops.h"

const vm_handlers *vm_table(void); /* handlers of the best instruction set that the host has and KILN_SIM_ISA allows */
bool vm_decode_function(vm_module *module, uint32_t index, kiln__text *log, const vm_handlers *table);

/* Temporaries of an instruction: registers, their bytes, predicates. */
#define VM_TEMPS 14u
#define VM_TEMP_BYTES 256u
#define VM_TEMP_PREDS 6u

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
    uint32_t at; /* index of `in` */
    const vm_handlers *table;
    kiln__text *log;
    vm_code *code;
    size_t count, capacity;
    vm_constant *constants;
    size_t constant_count, constant_capacity;
    uint32_t constant_bytes, known[256]; /* known: index + 1 by hash */
    uint32_t temp_base, temp_used, temp_pred_used, sink;
    bool failed, out_of_memory;
    vm_code scratch; /* used if there is no memory for code */
} vm_decoder;

typedef void vm_decode_fn(vm_decoder *d);
#define OP(name, text, decode, class, cost, effect, since, ...) vm_decode_fn vm_decode_##decode;
#include "ops.def"
#undef OP

/* Emitters. vm_emit: the instruction itself; vm_step: extra work before or after it that does not count as an
 * instruction. A step writes temporaries and ignores the guard; vm_guarded_step obeys it. Never NULL: on failure they
 * return `scratch`. */
vm_code *vm_emit(vm_decoder *d, vm_handler_id id);
vm_code *vm_emit_op(vm_decoder *d, vm_handler handler);
vm_code *vm_step(vm_decoder *d, vm_handler_id id);
vm_code *vm_step_op(vm_decoder *d, vm_handler handler);
vm_code *vm_guarded_step(vm_decoder *d, vm_handler_id id);
vm_code *vm_guarded_step_op(vm_decoder *d, vm_handler h);
void vm_decode_fail(vm_decoder *d, const char *what);
void vm_decode_no_memory(vm_decoder *d);

/* Slots. `bytes` is 4 for all types up to 32 bits, or 8 or 16. vm_dest() takes 0 for a predicate. */
uint8_t vm_sreg_flags(const ptx_operand *o, unsigned bytes); /* flags of vm_op_special for a container of this width */
uint32_t vm_source(vm_decoder *d, const ptx_operand *o, unsigned bytes);
uint32_t vm_dest(vm_decoder *d, const ptx_operand *o, unsigned bytes);
uint32_t vm_constant_slot(vm_decoder *d, uint64_t value, unsigned bytes);
uint32_t vm_temp(vm_decoder *d);
uint32_t vm_temp_pred(vm_decoder *d);
uint32_t vm_pred_source(vm_decoder *d, const ptx_operand *o); /* includes the negation of the predicate */
uint32_t vm_pred_plain(vm_decoder *d, const ptx_operand *o, bool *negated);
uint32_t vm_second_pred(vm_decoder *d, const ptx_operand *o);     /* the second predicate of p|q; 0 if absent */
unsigned vm_reg_bytes(const vm_decoder *d, const ptx_operand *o); /* container of a register operand */
unsigned vm_container(unsigned type);
void *vm_keep(vm_decoder *d, size_t bytes); /* lives with the module; NULL only after failure */
uint32_t vm_cache_slot(vm_decoder *d);
/* The address of a memory operand: a slot, an offset, and whether the slot holds 32 bits. `want` is the width of the
 * address in bytes, 4 or 8. 0 keeps the register's own width. */
typedef struct vm_place {
    uint32_t slot;
    int64_t offset;
    bool addr32;
} vm_place;
vm_place vm_address(vm_decoder *d, const ptx_operand *o, unsigned want);

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
