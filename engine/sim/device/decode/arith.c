/* arith.c - decodes arithmetic and operations on bits. */
#include "vm_decode.h"
#include "vm_video.h"

#define OPERAND(n) (&d->in->operands[n])
#define TYPE(n) (d->in->types[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

/* The handlers of an operation for each integer type. Untyped integers (.b16, .b32, .b64) count as unsigned. */
typedef struct by_type {
    vm_handler_id u16, s16, u32, s32, u64, s64;
} by_type;
#define BY_TYPE(name)                                                                                                  \
    ((by_type){VM_H_##name##_u16, VM_H_##name##_s16, VM_H_##name##_u32, VM_H_##name##_s32, VM_H_##name##_u64,          \
               VM_H_##name##_s64})
#define BY_SIZE(name)                                                                                                  \
    ((by_type){VM_H_##name##_u16, VM_H_##name##_u16, VM_H_##name##_u32, VM_H_##name##_u32, VM_H_##name##_u64,          \
               VM_H_##name##_u64})

static vm_handler_id pick(unsigned type, by_type table)
{
    switch (type) {
    case PTX_U16:
    case PTX_B16: return table.u16;
    case PTX_S16: return table.s16;
    case PTX_S32: return table.s32;
    case PTX_U64:
    case PTX_B64: return table.u64;
    case PTX_S64: return table.s64;
    default: return table.u32;
    }
}

/* Emits an operation with a destination and up to three sources, which all have the width `bytes`. Uses `handler` if it
 * is not NULL, otherwise the handler `id`. */
static vm_code *plain(vm_decoder *d, vm_handler_id id, vm_handler handler, unsigned sources, unsigned bytes)
{
    uint32_t slot[3] = {0};
    for (unsigned k = 0; k < sources; k++)
        slot[k] = decode_source(d, OPERAND(k + 1), bytes);
    uint32_t to = decode_dest(d, OPERAND(0), bytes);
    vm_code *i = handler ? decode_emit_op(d, handler) : decode_emit(d, id);
    i->d = to;
    i->a = slot[0];
    i->b = slot[1];
    i->c = slot[2];
    return i;
}

static void half(vm_decoder *d, unsigned op, unsigned sources)
{
    vm_code *i = plain(d, VM_H_COUNT, ops_half, sources, 4);
    i->size = (uint8_t)op;
    i->space = TYPE(0);
    i->flags = vm_flags(d->in);
}

/* Emits floating-point arithmetic on f32 or f64. For rounding to nearest, `f32`, `f32x` (for f32 with flags such as
 * .ftz) and `f64` are the handlers. Any other rounding needs a slower handler, which changes the host's rounding
 * mode. */
static void real(vm_decoder *d, unsigned op, unsigned sources, vm_handler_id f32, vm_handler_id f32x, vm_handler_id f64)
{
    unsigned rounding = vm_rounding(d->in);
    bool nearest = rounding == PTX_MOD_RN;
    vm_code *i;
    if (TYPE(0) == PTX_F64)
        i = plain(d, f64, nearest ? NULL : ops_round_f64, sources, 8);
    else
        i = plain(d, vm_flags(d->in) ? f32x : f32, nearest ? NULL : ops_round_f32, sources, 4);
    i->flags = vm_flags(d->in);
    i->size = (uint8_t)op;
    i->count = (uint8_t)rounding;
}

/* Decodes the form .f32x2, and the form .f32 with operands of f16 or bf16. For this .f32 form, emits extra operations
 * that first widen all operands except the last to f32. Returns false for any other form. */
static bool pairs_or_mixed(vm_decoder *d, unsigned op, unsigned sources)
{
    if (TYPE(0) == PTX_F32X2) {
        vm_code *i = plain(d, VM_H_COUNT, ops_pair32, sources, 8);
        i->size = (uint8_t)op;
        i->count = (uint8_t)vm_rounding(d->in);
        i->flags = vm_flags(d->in);
        return true;
    }
    if (TYPE(1) != PTX_F16 && TYPE(1) != PTX_BF16)
        return false;
    uint32_t slot[3] = {0};
    for (unsigned k = 0; k < sources; k++) {
        slot[k] = decode_source(d, OPERAND(k + 1), 4);
        if (k + 1 == sources)
            continue;
        vm_code *widen = decode_step_op(d, ops_cvt);
        widen->a = slot[k];
        widen->d = slot[k] = decode_take_temp(d);
        widen->space = PTX_F32, widen->count = TYPE(1), widen->size = PTX_MOD_RN;
    }
    uint32_t to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, ops_round_f32);
    i->d = to, i->a = slot[0], i->b = slot[1], i->c = slot[2];
    i->size = (uint8_t)op;
    i->count = (uint8_t)vm_rounding(d->in);
    i->flags = vm_flags(d->in);
    return true;
}

static void carry(vm_decoder *d, unsigned flags, unsigned sources)
{
    unsigned bytes = ptx_type_bytes((ptx_type)TYPE(0));
    vm_code *i = plain(d, VM_H_COUNT, ops_carry, sources, bytes);
    i->flags = (uint8_t)(flags | (HAS(CC) ? 2 : 0) | (HAS(HI) ? 16 : 0) | (vm_is_signed(TYPE(0)) ? 32 : 0) |
                         (bytes == 8 ? 64 : 0));
}

/* Decodes add, sub, addc and subc. The function tests special forms first: carry chains, pairs of f32, mixed precision,
 * f16 and bf16, floats, packed 16-bit integers, saturation. Its last line decodes ordinary integers. */
void decode_add(vm_decoder *d)
{
    unsigned type = TYPE(0), op = d->in->op;
    bool sub = op == PTX_OP_SUB || op == PTX_OP_SUBC;
    if (op == PTX_OP_ADDC || op == PTX_OP_SUBC || HAS(CC)) {
        carry(d, (op == PTX_OP_ADDC || op == PTX_OP_SUBC ? 1u : 0) | (sub ? 4u : 0), 2);
        return;
    }
    if (pairs_or_mixed(d, sub ? VM_SUB : VM_ADD, 2))
        return;
    if (vm_is_half(type)) {
        half(d, sub ? VM_SUB : VM_ADD, 2);
        return;
    }
    if (type == PTX_F32 || type == PTX_F64) {
        real(d, sub ? VM_SUB : VM_ADD, 2, sub ? VM_H_sub_f32 : VM_H_add_f32, sub ? VM_H_subx_f32 : VM_H_addx_f32,
             sub ? VM_H_sub_f64 : VM_H_add_f64);
        return;
    }
    if (type == PTX_U16X2 || type == PTX_S16X2) {
        plain(d, VM_H_COUNT, ops_pair16, 2, 4)->size = VM_ADD;
        return;
    }
    if (HAS(SAT)) {
        plain(d, sub ? VM_H_sub_sat_s32 : VM_H_add_sat_s32, NULL, 2, 4);
        return;
    }
    plain(d, pick(type, sub ? BY_SIZE(sub) : BY_SIZE(add)), NULL, 2, decode_container(type));
}

/* Decodes mul and mul24. mul.wide cannot use plain(), because it reads registers of 4 bytes and writes a register of
 * twice the type's width. */
void decode_mul(vm_decoder *d)
{
    unsigned type = TYPE(0);
    if (pairs_or_mixed(d, VM_MUL, 2))
        return;
    if (d->in->op == PTX_OP_MUL24) {
        bool sign = type == PTX_S32;
        plain(d,
              HAS(HI) ? (sign ? VM_H_mul24hi_s32 : VM_H_mul24hi_u32)
              : sign  ? VM_H_mul24lo_s32
                      : VM_H_mul24lo_u32,
              NULL, 2, 4);
    } else if (vm_is_half(type)) {
        half(d, VM_MUL, 2);
    } else if (type == PTX_F32 || type == PTX_F64) {
        real(d, VM_MUL, 2, VM_H_mul_f32, VM_H_mulx_f32, VM_H_mul_f64);
    } else if (HAS(WIDE)) {
        uint32_t a = decode_source(d, OPERAND(1), 4), b = decode_source(d, OPERAND(2), 4);
        bool wide = type == PTX_U32 || type == PTX_S32;
        uint32_t to = decode_dest(d, OPERAND(0), wide ? 8 : 4);
        vm_code *i = decode_emit(d, type == PTX_U16   ? VM_H_mulwide_u16
                                    : type == PTX_S16 ? VM_H_mulwide_s16
                                    : type == PTX_U32 ? VM_H_mulwide_u32
                                                      : VM_H_mulwide_s32);
        i->d = to, i->a = a, i->b = b;
    } else {
        plain(d, pick(type, HAS(HI) ? BY_TYPE(mulhi) : BY_SIZE(mul)), NULL, 2, decode_container(type));
    }
}

/* Decodes mad, madc, mad24 and fma. For floats, mad is the same as fma on every target since sm_20. In the .wide form,
 * the addend has the width of the result. */
void decode_mad(vm_decoder *d)
{
    unsigned type = TYPE(0), op = d->in->op;
    if (pairs_or_mixed(d, VM_FMA, 3))
        return;
    if (op == PTX_OP_MADC || HAS(CC)) {
        carry(d, 8u | (op == PTX_OP_MADC ? 1u : 0), 3);
    } else if (op == PTX_OP_MAD24) {
        bool sign = type == PTX_S32;
        plain(d,
              HAS(SAT)  ? VM_H_mad24hi_sat_s32
              : HAS(HI) ? (sign ? VM_H_mad24hi_s32 : VM_H_mad24hi_u32)
              : sign    ? VM_H_mad24lo_s32
                        : VM_H_mad24lo_u32,
              NULL, 3, 4);
    } else if (vm_is_half(type)) {
        half(d, VM_FMA, 3);
    } else if (type == PTX_F32 || type == PTX_F64) {
        real(d, VM_FMA, 3, VM_H_fma_f32, VM_H_fmax_f32, VM_H_fma_f64);
    } else if (HAS(WIDE)) {
        bool wide = type == PTX_U32 || type == PTX_S32;
        uint32_t a = decode_source(d, OPERAND(1), 4), b = decode_source(d, OPERAND(2), 4);
        uint32_t c = decode_source(d, OPERAND(3), wide ? 8 : 4), to = decode_dest(d, OPERAND(0), wide ? 8 : 4);
        vm_code *i = decode_emit(d, type == PTX_U16   ? VM_H_madwide_u16
                                    : type == PTX_S16 ? VM_H_madwide_s16
                                    : type == PTX_U32 ? VM_H_madwide_u32
                                                      : VM_H_madwide_s32);
        i->d = to, i->a = a, i->b = b, i->c = c;
    } else if (HAS(SAT)) {
        plain(d, VM_H_madhi_sat_s32, NULL, 3, 4);
    } else {
        plain(d, pick(type, HAS(HI) ? BY_TYPE(madhi) : BY_SIZE(mad)), NULL, 3, decode_container(type));
    }
}

void decode_sad(vm_decoder *d) { plain(d, pick(TYPE(0), BY_TYPE(sad)), NULL, 3, decode_container(TYPE(0))); }

void decode_div(vm_decoder *d)
{
    if (TYPE(0) == PTX_F32 || TYPE(0) == PTX_F64)
        real(d, VM_DIV, 2, VM_H_div_f32, HAS(APPROX) && HAS(FTZ) ? VM_H_divx_f32 : VM_H_div_f32, VM_H_div_f64);
    else
        plain(d, pick(TYPE(0), d->in->op == PTX_OP_REM ? BY_TYPE(rem) : BY_TYPE(div)), NULL, 2,
              decode_container(TYPE(0)));
}

void decode_unary(vm_decoder *d)
{
    bool neg = d->in->op == PTX_OP_NEG;
    vm_handler_id id = VM_H_COUNT;
    switch (TYPE(0)) {
    case PTX_S16: id = neg ? VM_H_neg_s16 : VM_H_abs_s16; break;
    case PTX_S32: id = neg ? VM_H_neg_s32 : VM_H_abs_s32; break;
    case PTX_S64: id = neg ? VM_H_neg_s64 : VM_H_abs_s64; break;
    case PTX_F32: id = neg ? VM_H_neg_f32 : VM_H_abs_f32; break;
    case PTX_F64: id = neg ? VM_H_neg_f64 : VM_H_abs_f64; break;
    default: half(d, neg ? VM_NEG : VM_ABS, 1); return;
    }
    plain(d, id, NULL, 1, decode_container(TYPE(0)))->flags = vm_flags(d->in);
}

/* Decodes min and max. The handler for f32 without flags is faster than the handler for f32 with .ftz, .NaN or
 * .xorsign. Only f32 has a form with three sources. Of the integer types, s32 and s16x2 have .relu. */
void decode_minmax(vm_decoder *d)
{
    bool max = d->in->op == PTX_OP_MAX;
    unsigned type = TYPE(0);
    uint8_t flags = vm_flags(d->in);
    if (type == PTX_F32 && d->in->operand_count == 4) {
        plain(d, max ? VM_H_max3_f32 : VM_H_min3_f32, NULL, 3, 4)->flags = (uint8_t)(flags |
                                                                                     (HAS(ABS) ? VM_ABSOLUTE : 0));
    } else if (type == PTX_F32) {
        plain(d,
              flags ? (max ? VM_H_maxx_f32 : VM_H_minx_f32)
              : max ? VM_H_max_f32
                    : VM_H_min_f32,
              NULL, 2, 4)
            ->flags = flags;
    } else if (type == PTX_F64) {
        plain(d, max ? VM_H_max_f64 : VM_H_min_f64, NULL, 2, 8);
    } else if (vm_is_half(type)) {
        half(d, max ? VM_MAX : VM_MIN, 2);
    } else if (type == PTX_U16X2 || type == PTX_S16X2) {
        vm_code *i = plain(d, VM_H_COUNT, ops_pair16, 2, 4);
        i->size = max ? VM_MAX : VM_MIN;
        i->flags = (uint8_t)((type == PTX_S16X2 ? VM_SIGNED : 0) | (flags & VM_RELU));
    } else if (flags & VM_RELU) {
        plain(d, max ? VM_H_max_relu_s32 : VM_H_min_relu_s32, NULL, 2, 4);
    } else {
        plain(d, pick(type, max ? BY_TYPE(max) : BY_TYPE(min)), NULL, 2, decode_container(type));
    }
}

void decode_dp(vm_decoder *d)
{
    vm_code *i = plain(d, d->in->op == PTX_OP_DP4A ? VM_H_dp4a : VM_H_dp2a, NULL, 3, 4);
    i->flags = (uint8_t)((TYPE(0) == PTX_S32 ? 1 : 0) | (TYPE(1) == PTX_S32 ? 2 : 0) | (HAS(HI) ? 4 : 0));
}

/* ---- bits ---- */

void decode_bits(vm_decoder *d)
{
    unsigned type = TYPE(0), bytes = decode_container(type);
    bool wide = bytes == 8;
    if (d->in->op == PTX_OP_BREV) {
        plain(d, wide ? VM_H_brev_b64 : VM_H_brev_b32, NULL, 1, bytes);
        return;
    }
    uint32_t a = decode_source(d, OPERAND(1), bytes), to = decode_dest(d, OPERAND(0), 4);
    vm_handler_id id;
    if (d->in->op == PTX_OP_POPC)
        id = wide ? VM_H_popc_b64 : VM_H_popc_b32;
    else if (d->in->op == PTX_OP_CLZ)
        id = wide ? VM_H_clz_b64 : VM_H_clz_b32;
    else
        id = type == PTX_U32   ? VM_H_bfind_u32
             : type == PTX_S32 ? VM_H_bfind_s32
             : type == PTX_U64 ? VM_H_bfind_u64
                               : VM_H_bfind_s64;
    vm_code *i = decode_emit(d, id);
    i->d = to, i->a = a;
    i->flags = HAS(SHIFTAMT);
}

/* Decodes bfi, bfe, fns, bmsk and szext. The source operands, in the order of the text, get the members a, b, c and e
 * of the vm_code. Only bfi uses e. Positions and lengths have 32 bits, even if the bit field has 64 bits. `flags` is
 * the sum of 1 for .clamp and 2 for the type s32. */
void decode_bitfield(vm_decoder *d)
{
    unsigned bytes = decode_container(TYPE(0));
    uint32_t a, b, c = 0, e = 0;
    vm_handler_id id;
    uint8_t flags = (uint8_t)((HAS(CLAMP) ? 1 : 0) | (TYPE(0) == PTX_S32 ? 2 : 0));
    a = decode_source(d, OPERAND(1), d->in->op == PTX_OP_BMSK ? 4 : bytes);
    switch (d->in->op) {
    case PTX_OP_BFI:
        b = decode_source(d, OPERAND(2), bytes);
        c = decode_source(d, OPERAND(3), 4);
        e = decode_source(d, OPERAND(4), 4);
        id = bytes == 8 ? VM_H_bfi_b64 : VM_H_bfi_b32;
        break;
    case PTX_OP_BFE:
        b = decode_source(d, OPERAND(2), 4);
        c = decode_source(d, OPERAND(3), 4);
        id = TYPE(0) == PTX_U32   ? VM_H_bfe_u32
             : TYPE(0) == PTX_S32 ? VM_H_bfe_s32
             : TYPE(0) == PTX_U64 ? VM_H_bfe_u64
                                  : VM_H_bfe_s64;
        break;
    case PTX_OP_FNS:
        b = decode_source(d, OPERAND(2), 4);
        c = decode_source(d, OPERAND(3), 4);
        id = VM_H_fns;
        break;
    default:
        b = decode_source(d, OPERAND(2), 4);
        id = d->in->op == PTX_OP_BMSK ? VM_H_bmsk : VM_H_szext;
        break;
    }
    uint32_t to = decode_dest(d, OPERAND(0), bytes);
    vm_code *i = decode_emit(d, id);
    i->d = to, i->a = a, i->b = b, i->c = c, i->e = e;
    i->flags = flags;
}

static void pred_logic(vm_decoder *d, unsigned op)
{
    bool na, nb = false;
    uint32_t a = decode_pred_plain(d, OPERAND(1), &na);
    uint32_t b = op == 0 ? a : decode_pred_plain(d, OPERAND(2), &nb), to = decode_dest(d, OPERAND(0), 0);
    if (d->in->op == PTX_OP_NOT)
        na = !na;
    vm_code *i = decode_emit_op(d, ops_pred_logic);
    i->d = to, i->a = a, i->b = b;
    i->size = (uint8_t)op;
    i->flags = (uint8_t)((na ? 1 : 0) | (nb ? 2 : 0));
}

void decode_logic(vm_decoder *d)
{
    unsigned op = d->in->op, bytes = decode_container(TYPE(0));
    bool wide = bytes == 8;
    if (TYPE(0) == PTX_PRED) {
        pred_logic(d, op == PTX_OP_AND   ? PTX_MOD_AND
                      : op == PTX_OP_OR  ? PTX_MOD_OR
                      : op == PTX_OP_XOR ? PTX_MOD_XOR
                                         : 0);
        return;
    }
    switch (op) {
    case PTX_OP_AND: plain(d, wide ? VM_H_and_b64 : VM_H_and_b32, NULL, 2, bytes); break;
    case PTX_OP_OR: plain(d, wide ? VM_H_or_b64 : VM_H_or_b32, NULL, 2, bytes); break;
    case PTX_OP_XOR: plain(d, wide ? VM_H_xor_b64 : VM_H_xor_b32, NULL, 2, bytes); break;
    case PTX_OP_NOT:
        plain(d, wide ? VM_H_not_b64 : TYPE(0) == PTX_B16 ? VM_H_not_b16 : VM_H_not_b32, NULL, 1, bytes);
        break;
    default: plain(d, wide ? VM_H_cnot_b64 : VM_H_cnot_b32, NULL, 1, bytes); break;
    }
}

void decode_lop3(vm_decoder *d)
{
    uint32_t a = decode_source(d, OPERAND(1), 4), b = decode_source(d, OPERAND(2), 4),
             c = decode_source(d, OPERAND(3), 4);
    bool with_pred = HAS(OR) || HAS(AND);
    uint32_t to = decode_dest(d, OPERAND(0), 4);
    if (with_pred && OPERAND(0)->kind == PTX_OPERAND_SINK)
        to = decode_take_temp(d);
    vm_code *i = with_pred ? decode_guarded_step(d, VM_H_lop3) : decode_emit(d, VM_H_lop3);
    i->d = to, i->a = a, i->b = b, i->c = c;
    i->imm = OPERAND(4)->imm;
    if (!with_pred)
        return;
    bool negated;
    uint32_t q = decode_pred_plain(d, OPERAND(5), &negated), zero = decode_constant_slot(d, 0, 4);
    i = decode_emit(d, VM_H_eq_u32); /* p = (d != 0) op q */
    i->d = OPERAND(0)->pred ? decode_second_pred(d, OPERAND(0)) : decode_take_temp_pred(d);
    i->a = to, i->b = zero, i->c = q;
    i->flags = (uint8_t)(VM_INVERT | (HAS(OR) ? VM_BOOL_OR : VM_BOOL_AND) | (negated ? VM_COMBINE_NOT : 0));
}

void decode_shift(vm_decoder *d)
{
    unsigned type = TYPE(0), bytes = decode_container(type);
    uint32_t a = decode_source(d, OPERAND(1), bytes), b = decode_source(d, OPERAND(2), 4),
             to = decode_dest(d, OPERAND(0), bytes);
    vm_handler_id id = d->in->op == PTX_OP_SHR ? pick(type, BY_TYPE(shr))
                       : bytes == 8            ? VM_H_shl_b64
                       : type == PTX_B16       ? VM_H_shl_b16
                                               : VM_H_shl_b32;
    vm_code *i = decode_emit(d, id);
    i->d = to, i->a = a, i->b = b;
}

void decode_shf(vm_decoder *d)
{
    plain(d,
          HAS(L)      ? (HAS(WRAP) ? VM_H_shf_l_wrap : VM_H_shf_l_clamp)
          : HAS(WRAP) ? VM_H_shf_r_wrap
                      : VM_H_shf_r_clamp,
          NULL, 3, 4);
}

void decode_prmt(vm_decoder *d)
{
    static const ptx_mod modes[] = {PTX_MOD_F4E, PTX_MOD_B4E, PTX_MOD_RC8, PTX_MOD_ECL, PTX_MOD_ECR, PTX_MOD_RC16};
    for (unsigned k = 0; k < KILN__COUNT(modes); k++)
        if (ptx_has(d->in, modes[k])) {
            plain(d, VM_H_prmt_mode, NULL, 3, 4)->flags = (uint8_t)k;
            return;
        }
    plain(d, VM_H_prmt, NULL, 3, 4);
}

/* ---- functions ---- */

void decode_approx(vm_decoder *d)
{
    vm_handler_id id = VM_H_COUNT;
    if (vm_is_half(TYPE(0))) {
        half(d, d->in->op == PTX_OP_EX2 ? VM_EX2 : VM_TANH, 1);
        return;
    }
    if (TYPE(0) == PTX_F64) {
        plain(d, HAS(FTZ) ? VM_H_rsqrtx_f64 : VM_H_rsqrt_f64, NULL, 1, 8);
        return;
    }
    switch (d->in->op) {
    case PTX_OP_SIN: id = VM_H_sin_f32; break;
    case PTX_OP_COS: id = VM_H_cos_f32; break;
    case PTX_OP_LG2: id = VM_H_lg2_f32; break;
    case PTX_OP_EX2: id = VM_H_ex2_f32; break;
    case PTX_OP_TANH: id = VM_H_tanh_f32; break;
    default: id = VM_H_rsqrt_f32; break;
    }
    plain(d, id, NULL, 1, 4)->flags = vm_flags(d->in);
}

void decode_rcp(vm_decoder *d)
{
    real(d, VM_RCP, 1, VM_H_rcp_f32, VM_H_rcp_f32, HAS(FTZ) ? VM_H_rcpx_f64 : VM_H_rcp_f64);
}
void decode_sqrt(vm_decoder *d) { real(d, VM_SQRT, 1, VM_H_sqrt_f32, VM_H_sqrt_f32, VM_H_sqrt_f64); }

void decode_copysign(vm_decoder *d)
{
    bool wide = TYPE(0) == PTX_F64;
    plain(d, wide ? VM_H_copysign_f64 : VM_H_copysign_f32, NULL, 2, wide ? 8 : 4);
}

void decode_testp(vm_decoder *d)
{
    bool wide = TYPE(0) == PTX_F64, invert = HAS(NOTANUMBER);
    vm_handler_id id = HAS(FINITE)      ? (wide ? VM_H_testp_finite_f64 : VM_H_testp_finite_f32)
                       : HAS(INFINITE)  ? (wide ? VM_H_testp_infinite_f64 : VM_H_testp_infinite_f32)
                       : HAS(NORMAL)    ? (wide ? VM_H_testp_normal_f64 : VM_H_testp_normal_f32)
                       : HAS(SUBNORMAL) ? (wide ? VM_H_testp_subnormal_f64 : VM_H_testp_subnormal_f32)
                                        : (wide ? VM_H_testp_number_f64 : VM_H_testp_number_f32);
    uint32_t a = decode_source(d, OPERAND(1), wide ? 8 : 4), to = decode_dest(d, OPERAND(0), 0);
    vm_code *i = decode_emit(d, id);
    i->d = to, i->a = i->b = a;
    i->flags = invert ? VM_INVERT : 0;
}

/* ---- video ---- */

/* Checks the bytes or halfwords that a video instruction selects (PTX_SELECT_BITS). Returns true if the opcode allows
 * their width and their number. device/ops/video.c relies on this check. */
static bool parts_fit(uint32_t select, unsigned lanes, bool mask)
{
    if (!select)
        return true;
    unsigned bits = PTX_SELECT_BITS(select), count = PTX_SELECT_COUNT(select), places = 32 / bits;
    if (lanes == 1 || mask) /* the selected bytes or halfwords must be in one register */
        for (unsigned k = 0; k < count; k++)
            if (PTX_SELECT_DIGIT(select, k) >= places)
                return false;
    return lanes == 1 ? count == 1 : bits == 32 / lanes && (mask ? count <= lanes : count == lanes);
}

void decode_video(vm_decoder *d)
{
    static const struct {
        uint8_t op, lanes;
    } table[PTX_OP_COUNT] = {[PTX_OP_VADD] = {VM_VIDEO_ADD, 1},          [PTX_OP_VADD2] = {VM_VIDEO_ADD, 2},
                             [PTX_OP_VADD4] = {VM_VIDEO_ADD, 4},         [PTX_OP_VSUB] = {VM_VIDEO_SUB, 1},
                             [PTX_OP_VSUB2] = {VM_VIDEO_SUB, 2},         [PTX_OP_VSUB4] = {VM_VIDEO_SUB, 4},
                             [PTX_OP_VABSDIFF] = {VM_VIDEO_ABSDIFF, 1},  [PTX_OP_VABSDIFF2] = {VM_VIDEO_ABSDIFF, 2},
                             [PTX_OP_VABSDIFF4] = {VM_VIDEO_ABSDIFF, 4}, [PTX_OP_VMIN] = {VM_VIDEO_MIN, 1},
                             [PTX_OP_VMIN2] = {VM_VIDEO_MIN, 2},         [PTX_OP_VMIN4] = {VM_VIDEO_MIN, 4},
                             [PTX_OP_VMAX] = {VM_VIDEO_MAX, 1},          [PTX_OP_VMAX2] = {VM_VIDEO_MAX, 2},
                             [PTX_OP_VMAX4] = {VM_VIDEO_MAX, 4},         [PTX_OP_VAVRG2] = {VM_VIDEO_AVERAGE, 2},
                             [PTX_OP_VAVRG4] = {VM_VIDEO_AVERAGE, 4},    [PTX_OP_VSET] = {VM_VIDEO_SET, 1},
                             [PTX_OP_VSET2] = {VM_VIDEO_SET, 2},         [PTX_OP_VSET4] = {VM_VIDEO_SET, 4},
                             [PTX_OP_VSHL] = {VM_VIDEO_SHL, 1},          [PTX_OP_VSHR] = {VM_VIDEO_SHR, 1},
                             [PTX_OP_VMAD] = {VM_VIDEO_MAD, 1}};
    static const ptx_mod compares[] = {PTX_MOD_EQ, PTX_MOD_NE, PTX_MOD_LT, PTX_MOD_LE, PTX_MOD_GT, PTX_MOD_GE};
    vm_video *v = decode_allocate(d, sizeof *v);
    if (!v)
        return;
    *v = (vm_video){.op = table[d->in->op].op,
                    .lanes = table[d->in->op].lanes,
                    .sat = HAS(SAT),
                    .wrap = HAS(WRAP),
                    .plus_one = HAS(PO),
                    .scale = HAS(SHR7)    ? 7
                             : HAS(SHR15) ? 15
                                          : 0};
    /* index in insn->types of the type of operand a; the type of operand b follows */
    unsigned first = v->op == VM_VIDEO_SET ? 0 : 1;
    v->d_signed = first && TYPE(0) == PTX_S32;
    v->a_signed = TYPE(first) == PTX_S32;
    v->b_signed = TYPE(first + 1) == PTX_S32;
    v->second = (uint8_t)(HAS(ADD) ? PTX_MOD_ADD : HAS(MIN) ? PTX_MOD_MIN : HAS(MAX) ? PTX_MOD_MAX : 0);
    for (unsigned k = 0; k < KILN__COUNT(compares); k++)
        if (ptx_has(d->in, compares[k]))
            v->compare = (uint8_t)compares[k];
    bool third = d->in->operand_count > 3;
    v->d_select = OPERAND(0)->count;
    v->a_select = OPERAND(1)->count, v->b_select = OPERAND(2)->count;
    v->a_negate = OPERAND(1)->negate, v->b_negate = OPERAND(2)->negate;
    v->c_negate = third && OPERAND(3)->negate;
    if (!parts_fit(v->a_select, v->lanes, false) || !parts_fit(v->b_select, v->lanes, false) ||
        !parts_fit(v->d_select, v->lanes, true) || (third && OPERAND(3)->count))
        decode_set_error(d, "part of a register that the instruction does not have");
    if (v->op != VM_VIDEO_MAD && (v->a_negate || v->b_negate || v->c_negate))
        decode_set_error(d, "negated operand");
    if (v->op == VM_VIDEO_MAD &&
        (v->a_negate + v->b_negate + v->c_negate > 1 || (v->plus_one && (v->a_negate || v->b_negate || v->c_negate))))
        decode_set_error(d, "more than one of a negated factor, a negated addend and .po");
    if (v->lanes == 1 && third && !v->d_select && !v->second && v->op != VM_VIDEO_MAD)
        decode_set_error(d, "third operand without an operation on it");
    uint32_t a = decode_source(d, OPERAND(1), 4), b = decode_source(d, OPERAND(2), 4),
             c = third ? decode_source(d, OPERAND(3), 4) : 0;
    uint32_t to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, ops_video);
    i->d = to, i->a = a, i->b = b, i->c = c;
    i->extra = v;
}
