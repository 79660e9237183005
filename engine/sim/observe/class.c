/* class.c - what kind of instruction an opcode is, for the counters. */
#include "vm_count.h"

/* By the decode column of ops.def, which groups the opcodes as the interpreter does: one entry for each of its names, so
 * that "GROUP_x undeclared" here means: say in one word what kind of instruction `x` decodes.
 * A kind in capitals depends on the instruction's type or space: see vm_class_of(). */
enum { BY_TYPE = KILN_CLASS_COUNT, BY_LOAD, BY_STORE, SPECIAL_OR_INT, MIN_MAX };
enum {
    GROUP_add = BY_TYPE, GROUP_mul = BY_TYPE, GROUP_mad = BY_TYPE, GROUP_sad = KILN_CLASS_int, GROUP_div = SPECIAL_OR_INT,
    GROUP_unary = BY_TYPE, GROUP_minmax = MIN_MAX, GROUP_dp = KILN_CLASS_int, GROUP_bits = KILN_CLASS_logic,
    GROUP_bitfield = KILN_CLASS_logic, GROUP_logic = KILN_CLASS_logic, GROUP_lop3 = KILN_CLASS_logic,
    GROUP_shift = KILN_CLASS_logic, GROUP_shf = KILN_CLASS_logic, GROUP_prmt = KILN_CLASS_logic,
    GROUP_set = KILN_CLASS_compare, GROUP_setp = KILN_CLASS_compare, GROUP_selp = KILN_CLASS_compare,
    GROUP_slct = KILN_CLASS_compare, GROUP_mov = KILN_CLASS_move, GROUP_cvt = KILN_CLASS_convert,
    GROUP_cvt_pack = KILN_CLASS_convert, GROUP_cvta = KILN_CLASS_move, GROUP_isspacep = KILN_CLASS_compare,
    GROUP_approx = KILN_CLASS_special, GROUP_rcp = KILN_CLASS_special, GROUP_sqrt = KILN_CLASS_special,
    GROUP_testp = KILN_CLASS_compare, GROUP_copysign = KILN_CLASS_logic, GROUP_ld = BY_LOAD, GROUP_st = BY_STORE,
    GROUP_atom = KILN_CLASS_atomic, GROUP_cp_async = KILN_CLASS_copy_async, GROUP_cp_async_group = KILN_CLASS_copy_async,
    GROUP_hint = KILN_CLASS_other, GROUP_policy = KILN_CLASS_other, GROUP_fence = KILN_CLASS_barrier,
    GROUP_bar = KILN_CLASS_barrier, GROUP_warp_sync = KILN_CLASS_warp, GROUP_shfl = KILN_CLASS_warp,
    GROUP_vote = KILN_CLASS_warp, GROUP_match = KILN_CLASS_warp, GROUP_redux = KILN_CLASS_warp,
    GROUP_activemask = KILN_CLASS_warp, GROUP_elect = KILN_CLASS_warp, GROUP_bra = KILN_CLASS_control,
    GROUP_brx = KILN_CLASS_control, GROUP_call = KILN_CLASS_control, GROUP_ret = KILN_CLASS_control,
    GROUP_exit = KILN_CLASS_control, GROUP_trap = KILN_CLASS_control, GROUP_nanosleep = KILN_CLASS_other,
    GROUP_nop = KILN_CLASS_other, GROUP_stack = KILN_CLASS_other, GROUP_mma = KILN_CLASS_tensor,
    GROUP_wmma_load = BY_LOAD, GROUP_wmma_store = BY_STORE, GROUP_ldmatrix = BY_LOAD, GROUP_stmatrix = BY_STORE,
    GROUP_movmatrix = KILN_CLASS_warp, GROUP_video = KILN_CLASS_int,
    GROUP_mbarrier = KILN_CLASS_barrier, GROUP_mbarrier_arrive = KILN_CLASS_barrier,
    GROUP_mbarrier_wait = KILN_CLASS_barrier, GROUP_pending_count = KILN_CLASS_barrier,
    GROUP_cp_async_arrive = KILN_CLASS_copy_async, GROUP_bulk = KILN_CLASS_copy_async,
    GROUP_remote = KILN_CLASS_store_shared, GROUP_st_bulk = KILN_CLASS_store_shared, GROUP_mapa = KILN_CLASS_move,
    GROUP_getctarank = KILN_CLASS_move, GROUP_cluster_barrier = KILN_CLASS_barrier, GROUP_tex = KILN_CLASS_texture, GROUP_surface = KILN_CLASS_texture,
    GROUP_query = KILN_CLASS_texture, GROUP_istypep = KILN_CLASS_compare,
};
static const uint8_t groups[PTX_OP_COUNT] = {
#define OP(name, text, decode, ...) GROUP_##decode,
#include "ops.def"
#undef OP
};

static bool is_half(unsigned type)
{
    return type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2;
}

static bool is_float(unsigned type)
{
    return is_half(type) || type == PTX_F32 || type == PTX_F64 || type == PTX_F32X2;
}

static kiln_class by_type(const ptx_insn *in)
{
    unsigned type = in->types[0];
    if (is_half(type))
        return KILN_CLASS_fp16;
    if (!is_float(type))
        return KILN_CLASS_int;
    bool wide = type == PTX_F64;
    if (in->op == PTX_OP_FMA || in->op == PTX_OP_MAD)
        return wide ? KILN_CLASS_fp64_fma : KILN_CLASS_fp32_fma;
    if (in->op == PTX_OP_MUL)
        return wide ? KILN_CLASS_fp64_mul : KILN_CLASS_fp32_mul;
    return wide ? KILN_CLASS_fp64_add : KILN_CLASS_fp32_add;
}

static kiln_class by_space(const ptx_insn *in, bool load)
{
    switch (in->space) {
    case PTX_SPACE_GLOBAL: return load ? KILN_CLASS_load_global : KILN_CLASS_store_global;
    case PTX_SPACE_SHARED: return load ? KILN_CLASS_load_shared : KILN_CLASS_store_shared;
    case PTX_SPACE_LOCAL: return load ? KILN_CLASS_load_local : KILN_CLASS_store_local;
    case PTX_SPACE_CONST: return KILN_CLASS_load_const;
    case PTX_SPACE_PARAM: return KILN_CLASS_load_param;
    default: return in->op == PTX_OP_LDU ? KILN_CLASS_load_global : load ? KILN_CLASS_load_generic : KILN_CLASS_store_generic;
    }
}

kiln_class vm_class_of(const ptx_insn *in)
{
    unsigned group = groups[in->op];
    switch (group) {
    case BY_TYPE: return by_type(in);
    case BY_LOAD: return by_space(in, in->op != PTX_OP_WMMA_STORE_D && in->op != PTX_OP_STMATRIX);
    case BY_STORE: return by_space(in, false);
    case SPECIAL_OR_INT: return is_float(in->types[0]) ? KILN_CLASS_special : KILN_CLASS_int;
    case MIN_MAX: return in->types[0] == PTX_F32 ? KILN_CLASS_compare : by_type(in);
    default: return (kiln_class)group;
    }
}

unsigned vm_flops_of(const ptx_insn *in)
{
    unsigned type = in->types[0], each = 0;
    switch (in->op) {
    case PTX_OP_FMA: case PTX_OP_MAD: each = 2; break;
    case PTX_OP_ADD: case PTX_OP_SUB: case PTX_OP_MUL: each = 1; break;
    default: break;
    }
    return is_float(type) ? each * (type == PTX_F16X2 || type == PTX_BF16X2 ? 2 : 1) : 0;
}
