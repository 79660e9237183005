/* arith.c - writes the arithmetic of a region. For each row of vm_ops.def that this file handles, the region computes
 * the same bits as the row's expression does. For all other rows the region calls the interpreter's handler. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "vm_collective.h"

typedef struct arith {
    jit_emitter *e;
    const vm_code *i;
    unsigned a, b, c; /* the operands, already converted to the types of the row */
} arith;

static const char *get_vector(unsigned type)
{
    return type == JIT_f32 ? F32V : type == JIT_f64 ? F64V : type == JIT_u64 || type == JIT_s64 ? I64V : I32V;
}

static unsigned emit_binary(jit_emitter *e, const char *op, const char *type, unsigned a, unsigned b)
{
    return jit_value(e, "%s %s %%v%u, %%v%u", op, type, a, b);
}

static unsigned emit_cast(jit_emitter *e, const char *op, const char *from, unsigned a, const char *to)
{
    return jit_value(e, "%s %s %%v%u to %s", op, from, a, to);
}

static unsigned emit_choose(jit_emitter *e, const char *type, unsigned c, unsigned a, unsigned b)
{
    return jit_value(e, "select " B1V " %%v%u, %s %%v%u, %s %%v%u", c, type, a, type, b);
}

static unsigned emit_bits(jit_emitter *e, unsigned x) { return emit_cast(e, "bitcast", F32V, x, I32V); }
static unsigned emit_float(jit_emitter *e, unsigned x) { return emit_cast(e, "bitcast", I32V, x, F32V); }
static unsigned emit_constant(jit_emitter *e, uint32_t bits) { return emit_float(e, jit_splat32(e, bits)); }

/* Loads an operand in the same way as VM_GET_... does. */
static unsigned load_operand(jit_emitter *e, unsigned type, uint32_t slot)
{
    const bool wide = type == JIT_u64 || type == JIT_s64 || type == JIT_f64;
    const unsigned x = jit_get(e, slot, wide ? JIT_64 : JIT_32);
    switch (type) {
    case JIT_u16: return emit_binary(e, "and", I32V, x, jit_splat32(e, 0xffff));
    case JIT_s16:
        return emit_binary(e, "ashr", I32V, emit_binary(e, "shl", I32V, x, jit_splat32(e, 16)), jit_splat32(e, 16));
    case JIT_f32: return emit_float(e, x);
    case JIT_f64: return emit_cast(e, "bitcast", I64V, x, F64V);
    default: return x;
    }
}

/* Stores a result in the same way as VM_PUT_... does. */
static void store_result(jit_emitter *e, unsigned type, uint32_t slot, unsigned x, unsigned mask)
{
    const bool wide = type == JIT_u64 || type == JIT_s64 || type == JIT_f64;
    if (type == JIT_u16 || type == JIT_s16)
        x = emit_binary(e, "and", I32V, x, jit_splat32(e, 0xffff));
    else if (type == JIT_f32)
        x = emit_bits(e, x);
    else if (type == JIT_f64)
        x = emit_cast(e, "bitcast", F64V, x, I64V);
    jit_put(e, slot, wide ? JIT_64 : JIT_32, x, mask);
}

/* ---- single precision; vm_math.h has the same functions in C ---- */

/* Replaces every NaN by the canonical NaN 0x7fffffff. */
static unsigned emit_canonical_nan(jit_emitter *e, unsigned x)
{
    const unsigned nan = emit_binary(e, "fcmp uno", F32V, x, x);
    return emit_float(e, emit_choose(e, I32V, nan, jit_splat32(e, 0x7fffffff), emit_bits(e, x)));
}

/* If .ftz is set, replaces subnormal numbers by zeros of the same sign. */
static unsigned emit_flush(jit_emitter *e, unsigned x, unsigned flags)
{
    if (!(flags & VM_FTZ))
        return x;
    const unsigned b = emit_bits(e, x), exponent = emit_binary(e, "and", I32V, b, jit_splat32(e, 0x7f800000));
    const unsigned small = emit_binary(e, "icmp eq", I32V, exponent, jit_splat32(e, 0));
    return emit_float(e, emit_choose(e, I32V, small, emit_binary(e, "and", I32V, b, jit_splat32(e, 0x80000000)), b));
}

/* Writes the last steps of an operation: canonical NaNs, then .ftz, then .sat. */
static unsigned emit_finish(jit_emitter *e, unsigned x, unsigned flags)
{
    const unsigned r = emit_flush(e, emit_canonical_nan(e, x), flags);
    if (!(flags & VM_SAT))
        return r;
    const unsigned zero = emit_constant(e, 0), one = emit_constant(e, 0x3f800000);
    const unsigned capped = emit_choose(e, F32V, emit_binary(e, "fcmp olt", F32V, r, one), r, one);
    return emit_choose(e, F32V, emit_binary(e, "fcmp ogt", F32V, r, zero), capped, zero);
}

static unsigned emit_abs(jit_emitter *e, unsigned x)
{
    return emit_float(e, emit_binary(e, "and", I32V, emit_bits(e, x), jit_splat32(e, 0x7fffffff)));
}

/* If .ftz is set, replaces x by a zero if x was subnormal before it was rounded. The value `scaled`, which is x times a
 * power of two, shows whether x was subnormal. */
static unsigned emit_flush_scaled(jit_emitter *e, unsigned x, unsigned scaled, unsigned flags)
{
    if (!(flags & VM_FTZ))
        return x;
    const unsigned small = emit_binary(e, "fcmp olt", F32V, emit_abs(e, scaled),
                                       emit_constant(e, 0x0c800000)); /* 2^-102 */
    const unsigned keep = emit_choose(e, I32V, small, jit_splat32(e, 0x80000000), jit_splat32(e, VM_ALL));
    return emit_float(e, emit_binary(e, "and", I32V, emit_bits(e, x), keep));
}

static unsigned emit_fma(jit_emitter *e, unsigned a, unsigned b, unsigned c)
{
    return jit_value(e, "call " F32V " @llvm.fma.v32f32(" F32V " %%v%u, " F32V " %%v%u, " F32V " %%v%u)", a, b, c);
}

/* Writes a minimum of floats, or a maximum if `most` is true. If one operand is NaN, the result is the other operand.
 * -0 is less than +0. */
static unsigned emit_min_max(jit_emitter *e, unsigned a, unsigned b, bool most)
{
    const unsigned first = emit_binary(e, most ? "fcmp ogt" : "fcmp olt", F32V, a, b),
                   alone = emit_binary(e, "fcmp uno", F32V, b, b);
    unsigned r = emit_bits(e, emit_choose(e, F32V, emit_binary(e, "or", B1V, first, alone), a, b));
    const unsigned same = emit_binary(e, "fcmp oeq", F32V, a, b);
    r = emit_choose(e, I32V, same, emit_binary(e, most ? "and" : "or", I32V, emit_bits(e, a), emit_bits(e, b)), r);
    return emit_canonical_nan(e, emit_float(e, r));
}

/* Multiplies x by 2^24, so that small numbers become normal. */
static unsigned emit_scale_up(jit_emitter *e, unsigned x)
{
    return emit_binary(e, "fmul", F32V, x, emit_constant(e, 0x4b800000)); /* 2^24 */
}

/* Writes the code of the single-precision instruction `id`. Returns false if this function does not handle the
 * instruction. */
static bool emit_single(const arith *o, unsigned id, unsigned *r)
{
    jit_emitter *e = o->e;
    const unsigned flags = o->i->flags;
    unsigned a = o->a, b = o->b, c = o->c;
    switch (id) {
    case VM_H_add_f32: *r = emit_canonical_nan(e, emit_binary(e, "fadd", F32V, a, b)); return true;
    case VM_H_sub_f32: *r = emit_canonical_nan(e, emit_binary(e, "fsub", F32V, a, b)); return true;
    case VM_H_mul_f32: *r = emit_canonical_nan(e, emit_binary(e, "fmul", F32V, a, b)); return true;
    case VM_H_fma_f32: *r = emit_canonical_nan(e, emit_fma(e, a, b, c)); return true;
    case VM_H_addx_f32:
    case VM_H_subx_f32:
        a = emit_flush(e, a, flags), b = emit_flush(e, b, flags);
        *r = emit_finish(e, emit_binary(e, id == VM_H_addx_f32 ? "fadd" : "fsub", F32V, a, b), flags);
        return true;
    case VM_H_mulx_f32:
        a = emit_flush(e, a, flags), b = emit_flush(e, b, flags);
        *r = emit_flush_scaled(e, emit_binary(e, "fmul", F32V, a, b),
                               emit_binary(e, "fmul", F32V, emit_scale_up(e, a), b), flags);
        *r = emit_finish(e, *r, flags);
        return true;
    case VM_H_fmax_f32:
        a = emit_flush(e, a, flags), b = emit_flush(e, b, flags), c = emit_flush(e, c, flags);
        *r = emit_flush_scaled(e, emit_fma(e, a, b, c), emit_fma(e, emit_scale_up(e, a), b, emit_scale_up(e, c)),
                               flags);
        *r = emit_finish(e, *r, flags);
        return true;
    case VM_H_div_f32:
        *r = emit_finish(e, emit_binary(e, "fdiv", F32V, emit_flush(e, a, flags), emit_flush(e, b, flags)), flags);
        return true;
    case VM_H_rcp_f32:
        *r = emit_finish(e, emit_binary(e, "fdiv", F32V, emit_constant(e, 0x3f800000), emit_flush(e, a, flags)), flags);
        return true;
    case VM_H_sqrt_f32:
        *r = jit_value(e, "call " F32V " @llvm.sqrt.v32f32(" F32V " %%v%u)", emit_flush(e, a, flags));
        *r = emit_finish(e, *r, flags);
        return true;
    case VM_H_neg_f32:
        a = emit_float(e, emit_binary(e, "xor", I32V, emit_bits(e, a), jit_splat32(e, 0x80000000)));
        *r = emit_flush(e, a, flags);
        return true;
    case VM_H_abs_f32: *r = emit_flush(e, emit_abs(e, a), flags); return true;
    case VM_H_flush_f32: *r = emit_flush(e, a, flags); return true;
    case VM_H_min_f32:
    case VM_H_max_f32: *r = emit_min_max(e, a, b, id == VM_H_max_f32); return true;
    case VM_H_cvt_f32_s32: *r = emit_cast(e, "sitofp", I32V, a, F32V); return true;
    case VM_H_cvt_f32_u32: *r = emit_cast(e, "uitofp", I32V, a, F32V); return true;
    case VM_H_cvt_s32_f32: {
        const unsigned high = emit_binary(e, "fcmp oge", F32V, a, emit_constant(e, 0x4f000000)); /* 2^31 */
        const unsigned low = emit_binary(e, "fcmp olt", F32V, a, emit_constant(e, 0xcf000000));
        const unsigned none = emit_binary(e, "fcmp uno", F32V, a, a),
                       odd = emit_binary(e, "or", B1V, emit_binary(e, "or", B1V, high, low), none);
        const unsigned x = emit_cast(e, "fptosi", F32V, emit_choose(e, F32V, odd, emit_constant(e, 0), a), I32V);
        *r = emit_choose(e, I32V, high, jit_splat32(e, INT32_MAX), x);
        *r = emit_choose(e, I32V, low, jit_splat32(e, 0x80000000), *r);
        return true;
    }
    case VM_H_cvt_u32_f32: {
        const unsigned high = emit_binary(e, "fcmp oge", F32V, a, emit_constant(e, 0x4f800000)); /* 2^32 */
        const unsigned some = emit_binary(e, "fcmp ogt", F32V, a, emit_constant(e, 0));
        unsigned x = emit_choose(e, F32V, some, emit_choose(e, F32V, high, emit_constant(e, 0), a),
                                 emit_constant(e, 0));
        x = emit_cast(e, "fptoui", F32V, x, I32V);
        *r = emit_choose(e, I32V, high, jit_splat32(e, VM_ALL), x);
        return true;
    }
    case VM_H_cvt_f64_f32: *r = emit_cast(e, "fpext", F32V, a, F64V); return true;
    case VM_H_cvt_f32_f64: *r = emit_canonical_nan(e, emit_cast(e, "fptrunc", F64V, a, F32V)); return true;
    case VM_H_cvt_f64_s32: *r = emit_cast(e, "sitofp", I32V, a, F64V); return true;
    case VM_H_cvt_f64_u32: *r = emit_cast(e, "uitofp", I32V, a, F64V); return true;
    case VM_H_neg_f64: *r = emit_binary(e, "xor", I64V, a, jit_splat64(e, 1ull << 63)); return true;
    case VM_H_abs_f64: *r = emit_binary(e, "and", I64V, a, jit_splat64(e, INT64_MAX)); return true;
    default: return false;
    }
}

/* ---- integers ---- */

static unsigned emit_extended(jit_emitter *e, unsigned x, bool sign)
{
    return emit_cast(e, sign ? "sext" : "zext", I32V, x, I64V);
}

static unsigned emit_product(jit_emitter *e, unsigned a, unsigned b, bool sign)
{
    return emit_binary(e, "mul", I64V, emit_extended(e, a, sign), emit_extended(e, b, sign));
}

static unsigned emit_upper(jit_emitter *e, unsigned x)
{
    return emit_cast(e, "trunc", I64V, emit_binary(e, "lshr", I64V, x, jit_splat64(e, 32)), I32V);
}

/* Writes a shift. Amounts of at least the width give 0. In arithmetic shifts they give copies of the sign. */
static unsigned emit_shift(jit_emitter *e, const char *op, bool is64, unsigned a, unsigned amount)
{
    const char *type = is64 ? I64V : I32V;
    const unsigned most = is64 ? 63 : 31, far = emit_binary(e, "icmp ugt", I32V, amount, jit_splat32(e, most));
    if (op[0] == 'a') {
        unsigned by = emit_choose(e, I32V, far, jit_splat32(e, most), amount);
        return emit_binary(e, op, type, a, is64 ? emit_extended(e, by, false) : by);
    }
    unsigned by = emit_binary(e, "and", I32V, amount, jit_splat32(e, most));
    const unsigned x = emit_binary(e, op, type, a, is64 ? emit_extended(e, by, false) : by);
    return emit_choose(e, type, far, is64 ? jit_splat64(e, 0) : jit_splat32(e, 0), x);
}

/* Writes a funnel shift by 0 to 31. */
static unsigned emit_funnel_shift(jit_emitter *e, unsigned a, unsigned b, unsigned n, bool left)
{
    const unsigned rest = emit_binary(e, "sub", I32V, jit_splat32(e, 31), n), one = jit_splat32(e, 1);
    const unsigned x = left ? emit_binary(e, "shl", I32V, b, n) : emit_binary(e, "lshr", I32V, a, n);
    const unsigned y = left ? emit_binary(e, "lshr", I32V, emit_binary(e, "lshr", I32V, a, one), rest)
                            : emit_binary(e, "shl", I32V, emit_binary(e, "shl", I32V, b, one), rest);
    return emit_binary(e, "or", I32V, x, y);
}

/* Selects bit by bit: where a bit of `select` is set, the result has the bit of `one`, otherwise the bit of `zero`. */
static unsigned emit_select_bits(jit_emitter *e, unsigned select, unsigned one, unsigned zero)
{
    return emit_binary(e, "xor", I32V, zero,
                       emit_binary(e, "and", I32V, select, emit_binary(e, "xor", I32V, one, zero)));
}

/* Writes lop3 with a constant table, as a tree of bitwise selections. */
static unsigned emit_lop3(const arith *o, uint32_t table)
{
    jit_emitter *e = o->e;
    unsigned by_c[4];
    for (unsigned k = 0; k < 4; k++)
        by_c[k] = emit_select_bits(e, o->c, jit_splat32(e, 0 - (table >> (2 * k + 1) & 1)),
                                   jit_splat32(e, 0 - (table >> 2 * k & 1)));
    return emit_select_bits(e, o->a, emit_select_bits(e, o->b, by_c[3], by_c[2]),
                            emit_select_bits(e, o->b, by_c[1], by_c[0]));
}

/* Writes a bfe whose position and length are constants, which is the frequent form. Returns false for all other
 * forms. */
static bool emit_field(const arith *o, unsigned *r)
{
    jit_emitter *e = o->e;
    const vm_code *i = o->i;
    if (!(i->b & 1 && i->c & 1))
        return false;
    const unsigned char *constants = e->u->function->constants;
    uint32_t at, length;
    memcpy(&at, constants + (i->b & ~1u), 4);
    memcpy(&length, constants + (i->c & ~1u), 4);
    at &= 0xff, length &= 0xff;
    if (length == 0 || at + length > 32)
        return false;
    *r = emit_binary(e, "lshr", I32V, o->a, jit_splat32(e, at));
    *r = emit_binary(e, "and", I32V, *r, jit_splat32(e, length == 32 ? VM_ALL : (1u << length) - 1));
    return true;
}

static unsigned emit_integer_min_max(jit_emitter *e, const char *compare, const char *type, unsigned a, unsigned b)
{
    return emit_choose(e, type, jit_value(e, "icmp %s %s %%v%u, %%v%u", compare, type, a, b), a, b);
}

/* Writes a division of 32-bit integers, or the remainder of such a division. Dividing doubles gives the exact quotient,
 * because the distance of a quotient to the next integer is at least 2^21 units in the last place of a double. The
 * division uses doubles because the host has no vector division of integers. A division by zero gives VM_ALL, as in
 * vm_math.h. */
static unsigned emit_division(jit_emitter *e, unsigned a, unsigned b, bool sign, bool remainder)
{
    const unsigned zero = jit_splat32(e, 0), negative = sign ? emit_binary(e, "icmp slt", I32V, a, zero) : 0;
    const unsigned none = emit_binary(e, "icmp eq", I32V, b, zero);
    const unsigned changed = sign && !remainder
                                 ? emit_binary(e, "icmp slt", I32V, emit_binary(e, "xor", I32V, a, b), zero)
                                 : negative;
    unsigned divisor = emit_choose(e, I32V, none, jit_splat32(e, 1), b);
    if (sign) {
        const unsigned below = emit_binary(e, "icmp slt", I32V, divisor, zero);
        a = emit_choose(e, I32V, negative, emit_binary(e, "sub", I32V, zero, a), a);
        divisor = emit_choose(e, I32V, below, emit_binary(e, "sub", I32V, zero, divisor), divisor);
    }
    unsigned r = emit_binary(e, "fdiv", F64V, emit_cast(e, "uitofp", I32V, a, F64V),
                             emit_cast(e, "uitofp", I32V, divisor, F64V));
    r = emit_cast(e, "fptoui", F64V, r, I32V);
    if (remainder)
        r = emit_binary(e, "sub", I32V, a, emit_binary(e, "mul", I32V, r, divisor));
    if (sign)
        r = emit_choose(e, I32V, changed, emit_binary(e, "sub", I32V, zero, r), r);
    return emit_choose(e, I32V, none, jit_splat32(e, VM_ALL), r);
}

/* Writes the code of the integer instruction `id`. Returns false if this function does not handle the instruction. */
static bool emit_integer(const arith *o, unsigned id, unsigned *r)
{
    jit_emitter *e = o->e;
    const unsigned a = o->a, b = o->b, c = o->c;
    switch (id) {
    case VM_H_add_u16:
    case VM_H_add_u32: *r = emit_binary(e, "add", I32V, a, b); return true;
    case VM_H_add_u64: *r = emit_binary(e, "add", I64V, a, b); return true;
    case VM_H_sub_u16:
    case VM_H_sub_u32: *r = emit_binary(e, "sub", I32V, a, b); return true;
    case VM_H_sub_u64: *r = emit_binary(e, "sub", I64V, a, b); return true;
    case VM_H_mul_u16:
    case VM_H_mul_u32: *r = emit_binary(e, "mul", I32V, a, b); return true;
    case VM_H_mul_u64: *r = emit_binary(e, "mul", I64V, a, b); return true;
    case VM_H_mulhi_u32: *r = emit_upper(e, emit_product(e, a, b, false)); return true;
    case VM_H_mulhi_s32: *r = emit_upper(e, emit_product(e, a, b, true)); return true;
    case VM_H_div_u32: *r = emit_division(e, a, b, false, false); return true;
    case VM_H_div_s32: *r = emit_division(e, a, b, true, false); return true;
    case VM_H_rem_u32: *r = emit_division(e, a, b, false, true); return true;
    case VM_H_rem_s32: *r = emit_division(e, a, b, true, true); return true;
    case VM_H_mulwide_u16:
    case VM_H_mulwide_s16: *r = emit_binary(e, "mul", I32V, a, b); return true;
    case VM_H_mulwide_u32: *r = emit_product(e, a, b, false); return true;
    case VM_H_mulwide_s32: *r = emit_product(e, a, b, true); return true;
    case VM_H_mad_u16:
    case VM_H_mad_u32: *r = emit_binary(e, "add", I32V, emit_binary(e, "mul", I32V, a, b), c); return true;
    case VM_H_mad_u64: *r = emit_binary(e, "add", I64V, emit_binary(e, "mul", I64V, a, b), c); return true;
    case VM_H_madwide_u32: *r = emit_binary(e, "add", I64V, emit_product(e, a, b, false), c); return true;
    case VM_H_madwide_s32: *r = emit_binary(e, "add", I64V, emit_product(e, a, b, true), c); return true;
    case VM_H_neg_s16:
    case VM_H_neg_s32: *r = emit_binary(e, "sub", I32V, jit_splat32(e, 0), a); return true;
    case VM_H_neg_s64: *r = emit_binary(e, "sub", I64V, jit_splat64(e, 0), a); return true;
    case VM_H_abs_s32:
        *r = emit_choose(e, I32V, emit_binary(e, "icmp slt", I32V, a, jit_splat32(e, 0)),
                         emit_binary(e, "sub", I32V, jit_splat32(e, 0), a), a);
        return true;
    case VM_H_min_u16:
    case VM_H_min_u32: *r = emit_integer_min_max(e, "ult", I32V, a, b); return true;
    case VM_H_min_s16:
    case VM_H_min_s32: *r = emit_integer_min_max(e, "slt", I32V, a, b); return true;
    case VM_H_max_u16:
    case VM_H_max_u32: *r = emit_integer_min_max(e, "ugt", I32V, a, b); return true;
    case VM_H_max_s16:
    case VM_H_max_s32: *r = emit_integer_min_max(e, "sgt", I32V, a, b); return true;
    case VM_H_min_u64: *r = emit_integer_min_max(e, "ult", I64V, a, b); return true;
    case VM_H_min_s64: *r = emit_integer_min_max(e, "slt", I64V, a, b); return true;
    case VM_H_max_u64: *r = emit_integer_min_max(e, "ugt", I64V, a, b); return true;
    case VM_H_max_s64: *r = emit_integer_min_max(e, "sgt", I64V, a, b); return true;
    default: return false;
    }
}

/* Writes the code of the logic or shift instruction `id`. Returns false if this function does not handle the
 * instruction. */
static bool emit_logic(const arith *o, unsigned id, unsigned *r)
{
    jit_emitter *e = o->e;
    const unsigned a = o->a, b = o->b, c = o->c;
    switch (id) {
    case VM_H_popc_b32: *r = jit_value(e, "call " I32V " @llvm.ctpop.v32i32(" I32V " %%v%u)", a); return true;
    case VM_H_and_b32: *r = emit_binary(e, "and", I32V, a, b); return true;
    case VM_H_and_b64: *r = emit_binary(e, "and", I64V, a, b); return true;
    case VM_H_or_b32: *r = emit_binary(e, "or", I32V, a, b); return true;
    case VM_H_or_b64: *r = emit_binary(e, "or", I64V, a, b); return true;
    case VM_H_xor_b32: *r = emit_binary(e, "xor", I32V, a, b); return true;
    case VM_H_xor_b64: *r = emit_binary(e, "xor", I64V, a, b); return true;
    case VM_H_not_b16:
    case VM_H_not_b32: *r = emit_binary(e, "xor", I32V, a, jit_splat32(e, VM_ALL)); return true;
    case VM_H_not_b64: *r = emit_binary(e, "xor", I64V, a, jit_splat64(e, UINT64_MAX)); return true;
    case VM_H_shl_b16:
    case VM_H_shl_b32: *r = emit_shift(e, "shl", false, a, b); return true;
    case VM_H_shl_b64: *r = emit_shift(e, "shl", true, a, b); return true;
    case VM_H_shr_u16:
    case VM_H_shr_u32: *r = emit_shift(e, "lshr", false, a, b); return true;
    case VM_H_shr_s16:
    case VM_H_shr_s32: *r = emit_shift(e, "ashr", false, a, b); return true;
    case VM_H_shr_u64: *r = emit_shift(e, "lshr", true, a, b); return true;
    case VM_H_shr_s64: *r = emit_shift(e, "ashr", true, a, b); return true;
    case VM_H_shf_l_wrap:
    case VM_H_shf_r_wrap:
        *r = emit_funnel_shift(e, a, b, emit_binary(e, "and", I32V, c, jit_splat32(e, 31)), id == VM_H_shf_l_wrap);
        return true;
    case VM_H_bfe_u32: return emit_field(o, r);
    case VM_H_lop3: *r = emit_lop3(o, (uint32_t)o->i->imm); return true;
    case VM_H_mov_b32:
    case VM_H_mov_b64: *r = a; return true;
    case VM_H_low_b32: *r = emit_cast(e, "trunc", I64V, a, I32V); return true;
    case VM_H_ext32_u8: *r = emit_binary(e, "and", I32V, a, jit_splat32(e, 0xff)); return true;
    case VM_H_ext32_u16: *r = emit_binary(e, "and", I32V, a, jit_splat32(e, 0xffff)); return true;
    case VM_H_ext32_s8:
        *r = emit_binary(e, "ashr", I32V, emit_binary(e, "shl", I32V, a, jit_splat32(e, 24)), jit_splat32(e, 24));
        return true;
    case VM_H_ext32_s16:
        *r = emit_binary(e, "ashr", I32V, emit_binary(e, "shl", I32V, a, jit_splat32(e, 16)), jit_splat32(e, 16));
        return true;
    case VM_H_ext64_u32: *r = emit_extended(e, a, false); return true;
    case VM_H_ext64_s32: *r = emit_extended(e, a, true); return true;
    default: return false;
    }
}

/* ---- comparisons, masks ---- */

static const char *get_relation(unsigned id)
{
    switch (id) {
    case VM_H_eq_u16:
    case VM_H_eq_u32:
    case VM_H_eq_u64: return "icmp eq";
    case VM_H_lt_u16:
    case VM_H_lt_u32:
    case VM_H_lt_u64: return "icmp ult";
    case VM_H_lt_s16:
    case VM_H_lt_s32:
    case VM_H_lt_s64: return "icmp slt";
    case VM_H_eq_f32:
    case VM_H_eq_f64: return "fcmp oeq";
    case VM_H_lt_f32:
    case VM_H_lt_f64: return "fcmp olt";
    case VM_H_le_f32:
    case VM_H_le_f64: return "fcmp ole";
    case VM_H_lg_f32:
    case VM_H_lg_f64: return "fcmp one";
    case VM_H_num_f32:
    case VM_H_num_f64: return "fcmp ord";
    default: return NULL;
    }
}

static unsigned emit_combine(jit_emitter *e, unsigned flags, unsigned r, unsigned c)
{
    const char *op = flags & VM_BOOL_AND ? "and" : flags & VM_BOOL_OR ? "or" : "xor";
    return emit_binary(e, op, "i32", r, c);
}

static bool emit_compare(jit_emitter *e, const vm_code *i, const jit_shape *shape, unsigned id, unsigned mask)
{
    const char *op = get_relation(id);
    if (!op)
        return false;
    const unsigned a = load_operand(e, shape->a, i->a), b = load_operand(e, shape->b, i->b);
    unsigned r = emit_cast(e, "bitcast", B1V, emit_binary(e, op, get_vector(shape->a), a, b), "i32");
    if (i->flags & VM_INVERT)
        r = jit_value(e, "xor i32 %%v%u, -1", r);
    unsigned q = jit_value(e, "xor i32 %%v%u, -1", r);
    if (i->flags & (VM_BOOL_AND | VM_BOOL_OR | VM_BOOL_XOR)) {
        unsigned c = jit_get(e, i->c, JIT_MASK);
        if (i->flags & VM_COMBINE_NOT)
            c = jit_value(e, "xor i32 %%v%u, -1", c);
        r = emit_combine(e, i->flags, r, c);
        q = emit_combine(e, i->flags, q, c);
    }
    jit_put(e, i->d, JIT_MASK, r, mask);
    if (i->e)
        jit_put(e, i->e, JIT_MASK, q, mask);
    return true;
}

static bool emit_predicates(jit_emitter *e, const vm_code *i, unsigned mask)
{
    unsigned a = jit_get(e, i->a, JIT_MASK), b = jit_get(e, i->b, JIT_MASK), r;
    if (i->flags & 1)
        a = jit_value(e, "xor i32 %%v%u, -1", a);
    if (i->flags & 2)
        b = jit_value(e, "xor i32 %%v%u, -1", b);
    r = i->size == PTX_MOD_AND   ? emit_binary(e, "and", "i32", a, b)
        : i->size == PTX_MOD_OR  ? emit_binary(e, "or", "i32", a, b)
        : i->size == PTX_MOD_XOR ? emit_binary(e, "xor", "i32", a, b)
                                 : a;
    jit_put(e, i->d, JIT_MASK, r, mask);
    return true;
}

/* Writes a move between a 64-bit register and its halves. */
static bool emit_pair(jit_emitter *e, const vm_code *i, unsigned mask)
{
    const uint32_t *slots = i->extra;
    if (i->masked == ops_join) {
        unsigned x = emit_extended(e, jit_get(e, slots[0], JIT_32), false),
                 y = emit_extended(e, jit_get(e, slots[1], JIT_32), false);
        y = emit_binary(e, "shl", I64V, y, jit_splat64(e, 32));
        jit_put(e, i->d, JIT_64, emit_binary(e, "or", I64V, x, y), mask);
        return true;
    }
    const unsigned whole = jit_get(e, i->a, JIT_64);
    if (slots[0])
        jit_put(e, slots[0], JIT_32, emit_cast(e, "trunc", I64V, whole, I32V), mask);
    if (slots[1])
        jit_put(e, slots[1], JIT_32, emit_upper(e, whole), mask);
    return true;
}

static bool emit_own(jit_emitter *e, const vm_code *i, unsigned id, unsigned mask)
{
    const unsigned width = id == VM_H_selp_b64 || id == VM_H_param_b64 ? JIT_64 : JIT_32;
    const char *type = width == JIT_64 ? I64V : I32V;
    if (id == VM_H_selp_b32 || id == VM_H_selp_b64) {
        const unsigned p = emit_cast(e, "bitcast", "i32", jit_get(e, i->c, JIT_MASK), B1V);
        jit_put(e, i->d, width, emit_choose(e, type, p, jit_get(e, i->a, width), jit_get(e, i->b, width)), mask);
        return true;
    }
    if (id != VM_H_param_b32 && id != VM_H_param_b64)
        return false;
    const char *scalar = width == JIT_64 ? "i64" : "i32";
    unsigned x = jit_load_host(e, e->params, i->imm, scalar, true);
    x = jit_value(e, "insertelement %s poison, %s %%v%u, i32 0", type, scalar, x);
    x = jit_value(e, "shufflevector %s %%v%u, %s poison, " I32V " zeroinitializer", type, x, type);
    jit_put(e, i->d, width, x, mask);
    return true;
}

/* Reads a special register in the same way as ops_special() does. is_steady() of operands.c lists the registers that
 * this function can read. They do not change while a thread runs. */
static unsigned special_value(jit_emitter *e, unsigned which)
{
    const unsigned axis = which % 3 * (unsigned)sizeof(uint32_t);
    char lanes[VM_LANES * 8];
    size_t length = 0;
    _Static_assert(PTX_SREG_TID_X % 3 == 0 && PTX_SREG_NTID_X == 3 && PTX_SREG_CTAID_X == 6 && PTX_SREG_NCTAID_X == 9,
                   "the numbers of special registers");
    if (which <= PTX_SREG_TID_Z)
        return jit_load_host(e, e->w, offsetof(vm_warp, tid) + which * VM_LANES * sizeof(uint32_t), I32V, true);
    for (unsigned lane = 0; which == PTX_SREG_LANEID && lane < VM_LANES; lane++)
        length += (size_t)snprintf(lanes + length, sizeof lanes - length, "%si32 %u", lane ? ", " : "", lane);
    if (which == PTX_SREG_LANEID)
        return jit_value(e, "add " I32V " <%s>, zeroinitializer", lanes);
    const unsigned x = which >= PTX_SREG_NCTAID_X
                           ? jit_load_host(e, e->launch, offsetof(vm_launch, grid) + axis, "i32", true)
                       : which >= PTX_SREG_CTAID_X
                           ? jit_load_host(e, e->block, offsetof(vm_block, id) + axis, "i32", true)
                           : jit_load_host(e, e->launch, offsetof(vm_launch, block) + axis, "i32", true);
    return jit_splat32_of(e, x);
}

/* Writes a test that all lanes of a register hold the value `value`. If a lane holds another value, the region ends
 * before this instruction. */
static void emit_expect(jit_emitter *e, uint32_t slot, uint32_t value)
{
    if (slot & 1)
        return;
    const unsigned other = emit_binary(e, "icmp ne", I32V, jit_get(e, slot, JIT_32), jit_splat32(e, value));
    const unsigned bits = emit_cast(e, "bitcast", B1V, other, "i32");
    jit_test(e, jit_value(e, "icmp eq i32 %%v%u, 0", bits));
}

/* Writes a shuffle whose distance and segment size are constants. The source lane of each lane is then known when the
 * region is written. The function computes it as vm_op_shfl() does. */
static bool emit_shuffle(jit_emitter *e, const vm_code *i)
{
    uint32_t b, c, inside = 0;
    char order[VM_LANES * 8];
    size_t length = 0;
    if (!jit_known(e->u->moves, e->u->function, i->b, &b) || !jit_known(e->u->moves, e->u->function, i->c, &c))
        return false;
    emit_expect(e, i->b, b);
    emit_expect(e, i->c, c);
    jit_emit_meeting(e, i);
    const uint32_t by = b & 31, seg = c >> 8 & 31;
    for (uint32_t lane = 0; lane < VM_LANES; lane++) {
        const uint32_t least = lane & seg, most = least | (c & 31 & ~seg);
        const uint32_t j = i->size == 0   ? lane - by
                           : i->size == 1 ? lane + by
                           : i->size == 2 ? lane ^ by
                                          : least | (by & ~seg);
        const bool in = i->size == 0 ? (int32_t)j >= (int32_t)most : j <= most;
        length += (size_t)snprintf(order + length, sizeof order - length, "%si32 %u", lane ? ", " : "",
                                   in ? j & 31 : lane);
        inside |= (uint32_t)in << lane;
    }
    const unsigned a = jit_get(e, i->a, JIT_32);
    jit_put(e, i->d, JIT_32, jit_value(e, "shufflevector " I32V " %%v%u, " I32V " poison, " I32V " <%s>", a, order), 0);
    if (i->e)
        jit_put(e, i->e, JIT_MASK, jit_value(e, "add i32 0, %d", (int32_t)inside), 0);
    return true;
}

/* Writes a vote of a whole warp. */
static bool emit_vote(jit_emitter *e, const vm_code *i)
{
    unsigned p = jit_get(e, i->a, JIT_MASK);
    if (i->flags & 1)
        p = jit_value(e, "xor i32 %%v%u, -1", p);
    if (i->size == 3) {
        p = jit_value(e, "insertelement " I32V " poison, i32 %%v%u, i32 0", p);
        p = jit_value(e, "shufflevector " I32V " %%v%u, " I32V " poison, " I32V " zeroinitializer", p);
        jit_put(e, i->d, JIT_32, p, 0);
        return true;
    }
    const unsigned all = jit_value(e, "icmp eq i32 %%v%u, -1", p), none = jit_value(e, "icmp eq i32 %%v%u, 0", p);
    unsigned r = i->size == 0   ? all
                 : i->size == 1 ? jit_value(e, "xor i1 %%v%u, true", none)
                                : jit_value(e, "or i1 %%v%u, %%v%u", all, none);
    jit_put(e, i->d, JIT_MASK, jit_value(e, "sext i1 %%v%u to i32", r), 0);
    return true;
}

/* Writes the LLVM IR of an instruction. Returns false if no function of this file can write the instruction. In this
 * case the region must call the handler of the instruction. */
bool jit_emit_plain(jit_emitter *e, const vm_code *i, const jit_insn *insn, unsigned mask)
{
    if (i->masked == ops_pred_logic)
        return emit_predicates(e, i, mask);
    if (i->masked == ops_split || i->masked == ops_join)
        return emit_pair(e, i, mask);
    if (i->masked == vm_op_shfl || i->masked == vm_op_vote || i->masked == vm_op_warp_sync)
        emit_expect(e, jit_members(i), VM_ALL);
    if (i->masked == vm_op_shfl)
        return emit_shuffle(e, i);
    if (i->masked == vm_op_vote || i->masked == vm_op_warp_sync)
        jit_emit_meeting(e, i);
    if (i->masked == vm_op_vote)
        return emit_vote(e, i);
    if (i->masked == vm_op_warp_sync)
        return true;
    if (i->masked == ops_special) {
        jit_put(e, i->d, JIT_32, special_value(e, i->b), mask);
        return true;
    }
    const jit_shape *shape = &jit_shapes[insn->id];
    if (shape->form == JIT_OWN)
        return emit_own(e, i, insn->id, mask);
    if (shape->form == JIT_CMP)
        return emit_compare(e, i, shape, insn->id, mask);
    arith o = {.e = e, .i = i, .a = load_operand(e, shape->a, i->a)};
    if (shape->form != JIT_UN)
        o.b = load_operand(e, shape->b, i->b);
    if (shape->form == JIT_TER)
        o.c = load_operand(e, shape->c, i->c);
    unsigned r;
    if (!emit_integer(&o, insn->id, &r) && !emit_logic(&o, insn->id, &r) && !emit_single(&o, insn->id, &r))
        return false;
    store_result(e, shape->d, i->d, r, mask);
    return true;
}
