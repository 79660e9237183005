/* class.c - translates the classes of opcodes (ptx_trait.h) to the classes of counters (kiln.h). */
#include "vm_count.h"

/* a switch over the words of ptx_trait.h has no default, so that the compiler demands a case for each word */
#pragma GCC diagnostic error "-Wswitch"

static bool is_half(unsigned type)
{
    return type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2;
}

static bool is_float(unsigned type) { return is_half(type) || type == PTX_F32 || type == PTX_F64 || type == PTX_F32X2; }

static kiln_class choose_by_type(const ptx_insn *in, kiln_class fp32, kiln_class fp64)
{
    unsigned type = in->types[0];
    if (is_half(type))
        return KILN_CLASS_fp16;
    if (!is_float(type))
        return KILN_CLASS_int;
    return type == PTX_F64 ? fp64 : fp32;
}

static kiln_class choose_by_space(const ptx_insn *in, bool load)
{
    switch (in->space) {
    case PTX_SPACE_GLOBAL: return load ? KILN_CLASS_load_global : KILN_CLASS_store_global;
    case PTX_SPACE_SHARED: return load ? KILN_CLASS_load_shared : KILN_CLASS_store_shared;
    case PTX_SPACE_LOCAL: return load ? KILN_CLASS_load_local : KILN_CLASS_store_local;
    case PTX_SPACE_CONST: return KILN_CLASS_load_const;
    case PTX_SPACE_PARAM: return KILN_CLASS_load_param;
    default: return load ? KILN_CLASS_load_generic : KILN_CLASS_store_generic;
    }
}

/* Returns the class in which an instruction is counted. */
kiln_class count_class_of(const ptx_insn *in)
{
    switch (ptx_class_of(in)) {
    case PTX_CLASS_ADD:
    case PTX_CLASS_SIGN: return choose_by_type(in, KILN_CLASS_fp32_add, KILN_CLASS_fp64_add);
    case PTX_CLASS_MUL: return choose_by_type(in, KILN_CLASS_fp32_mul, KILN_CLASS_fp64_mul);
    case PTX_CLASS_FMA: return choose_by_type(in, KILN_CLASS_fp32_fma, KILN_CLASS_fp64_fma);
    case PTX_CLASS_MIN_MAX:
        return in->types[0] == PTX_F32 ? KILN_CLASS_compare
                                       : choose_by_type(in, KILN_CLASS_fp32_add, KILN_CLASS_fp64_add);
    case PTX_CLASS_DIVIDE: return is_float(in->types[0]) ? KILN_CLASS_special : KILN_CLASS_int;
    case PTX_CLASS_LOAD: return choose_by_space(in, true);
    case PTX_CLASS_STORE: return choose_by_space(in, false);
    case PTX_CLASS_INT: return KILN_CLASS_int;
    case PTX_CLASS_LOGIC: return KILN_CLASS_logic;
    case PTX_CLASS_CONVERT: return KILN_CLASS_convert;
    case PTX_CLASS_SPECIAL: return KILN_CLASS_special;
    case PTX_CLASS_COMPARE: return KILN_CLASS_compare;
    case PTX_CLASS_MOVE: return KILN_CLASS_move;
    case PTX_CLASS_CONTROL: return KILN_CLASS_control;
    case PTX_CLASS_LOAD_GLOBAL: return KILN_CLASS_load_global;
    case PTX_CLASS_STORE_SHARED: return KILN_CLASS_store_shared;
    case PTX_CLASS_COPY_ASYNC: return KILN_CLASS_copy_async;
    case PTX_CLASS_ATOMIC: return KILN_CLASS_atomic;
    case PTX_CLASS_BARRIER: return KILN_CLASS_barrier;
    case PTX_CLASS_WARP: return KILN_CLASS_warp;
    case PTX_CLASS_TENSOR: return KILN_CLASS_tensor;
    case PTX_CLASS_TEXTURE: return KILN_CLASS_texture;
    case PTX_CLASS_OTHER: return KILN_CLASS_other;
    }
    return KILN_CLASS_other;
}

/* Returns the number of floating-point operations for one lane and one element. */
static unsigned count_operations(ptx_class class)
{
    switch (class) {
    case PTX_CLASS_FMA: return 2;
    case PTX_CLASS_ADD:
    case PTX_CLASS_MUL: return 1;
    case PTX_CLASS_SIGN:
    case PTX_CLASS_MIN_MAX:
    case PTX_CLASS_DIVIDE:
    case PTX_CLASS_LOAD:
    case PTX_CLASS_STORE:
    case PTX_CLASS_INT:
    case PTX_CLASS_LOGIC:
    case PTX_CLASS_CONVERT:
    case PTX_CLASS_SPECIAL:
    case PTX_CLASS_COMPARE:
    case PTX_CLASS_MOVE:
    case PTX_CLASS_CONTROL:
    case PTX_CLASS_LOAD_GLOBAL:
    case PTX_CLASS_STORE_SHARED:
    case PTX_CLASS_COPY_ASYNC:
    case PTX_CLASS_ATOMIC:
    case PTX_CLASS_BARRIER:
    case PTX_CLASS_WARP:
    case PTX_CLASS_TENSOR:
    case PTX_CLASS_TEXTURE:
    case PTX_CLASS_OTHER: return 0;
    }
    return 0;
}

unsigned count_flops_of(const ptx_insn *in)
{
    unsigned type = in->types[0], elements = type == PTX_F16X2 || type == PTX_BF16X2 ? 2 : 1;
    return is_float(type) ? count_operations(ptx_class_of(in)) * elements : 0;
}
