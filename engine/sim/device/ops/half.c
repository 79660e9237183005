/* half.c - arithmetic on f16 and bf16, on single halves and on pairs, lane by lane. The functions compute a result in
 * double and round it once. */
#include <math.h>

#include "vm_math.h"
#include "vm_ops.h"

uint32_t ops_pack_float(double value, unsigned mantissa, unsigned exponent, unsigned rounding)
{
    uint32_t sign = (uint32_t)(vm_bits64(value) >> 63), infinite = ((1u << exponent) - 1) << mantissa, code;
    uint32_t at_sign = sign << (mantissa + exponent);
    int bias = (1 << (exponent - 1)) - 1, power;
    if (value != value)
        return (1u << (mantissa + exponent)) - 1;
    if (isinf(value))
        return at_sign | infinite;
    if (value == 0)
        return at_sign;
    uint64_t bits = (uint64_t)ldexp(frexp(fabs(value), &power), 53); /* value = bits * 2^(power - 53) */
    int top = power - 1 > 1 - bias ? power - 1 : 1 - bias, drop = top - (int)mantissa - (power - 53);
    uint64_t kept = drop > 63 ? 0 : bits >> drop;
    bool rest = drop > 63 || (bits & (((uint64_t)1 << drop) - 1)) != 0, up = false;
    bool half = drop <= 63 && bits >> (drop - 1) & 1;
    bool beyond = drop > 63 ? false : (bits & (((uint64_t)1 << (drop - 1)) - 1)) != 0;
    switch (rounding) {
    case PTX_MOD_RZ: break;
    case PTX_MOD_RM: up = rest && sign; break;
    case PTX_MOD_RP: up = rest && !sign; break;
    case PTX_MOD_RNA: up = half; break;
    default: up = half && (beyond || kept & 1); break;
    }
    kept += up;
    code = power - 1 >= 1 - bias
               ? ((uint32_t)(power - 1 + bias) << mantissa) + (uint32_t)(kept - ((uint64_t)1 << mantissa))
               : (uint32_t)kept;
    if (power - 1 > bias || code >= infinite) {
        bool largest = rounding == PTX_MOD_RZ || (rounding == PTX_MOD_RM && !sign) || (rounding == PTX_MOD_RP && sign);
        code = largest ? infinite - 1 : infinite;
    }
    return at_sign | code;
}

double ops_half_get(unsigned type, uint32_t bits)
{
    if (type == PTX_BF16)
        return (double)vm_float(bits << 16);
    uint32_t e = bits >> 10 & 31, f = bits & 1023;
    double x = e == 31 ? (f ? NAN : INFINITY) : e ? ldexp(1024.0 + f, (int)e - 25) : ldexp(f, -24);
    return bits >> 15 & 1 ? -x : x;
}

uint32_t ops_half_put(unsigned type, double value, unsigned rounding)
{
    return type == PTX_BF16 ? ops_pack_float(value, 7, 8, rounding) : ops_pack_float(value, 10, 5, rounding);
}

/* Computes a * b + c for halves. The product is exact in double precision. The sum is rounded to odd, so that a second
 * rounding to a half gives the same result as a single rounding (Boldo and Melquiond). */
double ops_half_fma(double a, double b, double c)
{
    double p = a * b, s = p + c;
    if (!isfinite(s))
        return s;
    double back = s - p, error = (p - (s - back)) + (c - back);
    if (error != 0 && !(vm_bits64(s) & 1))
        s = vm_double(vm_bits64(s) + ((error > 0) == (s > 0) ? 1 : UINT64_MAX));
    return s;
}

static uint32_t flush(unsigned type, uint32_t bits, unsigned flags)
{
    uint32_t exponent = type == PTX_BF16 ? 0x7f80 : 0x7c00;
    return flags & VM_FTZ && (bits & exponent) == 0 ? bits & 0x8000 : bits;
}

static uint32_t compute_half(const vm_code *i, unsigned type, uint32_t x, uint32_t y, uint32_t z)
{
    unsigned flags = i->flags;
    x = flush(type, x, flags), y = flush(type, y, flags), z = flush(type, z, flags);
    double a = ops_half_get(type, x), b = ops_half_get(type, y), c = ops_half_get(type, z), r = 0;
    switch (i->size) {
    case VM_NEG: return x ^ 0x8000;
    case VM_ABS: return x & 0x7fff;
    case VM_ADD: r = ops_half_fma(a, 1, b); break;
    case VM_SUB: r = ops_half_fma(a, 1, -b); break;
    case VM_MUL: r = a * b; break;
    case VM_FMA: r = ops_half_fma(a, b, c); break;
    case VM_EX2: r = exp2(a); break;
    case VM_TANH: r = tanh(a); break;
    default: {
        bool max = i->size == VM_MAX, none = isnan(a) || isnan(b);
        if (flags & VM_XORSIGN) {
            r = max ? vm_max64(fabs(a), fabs(b)) : vm_min64(fabs(a), fabs(b));
            if ((x ^ y) & 0x8000)
                r = -r;
        } else {
            r = max ? vm_max64(a, b) : vm_min64(a, b);
        }
        if (none && flags & VM_NANS)
            r = NAN;
        break;
    }
    }
    /* .ftz tests a result before it is rounded to a subnormal number. A value below this limit is still less than
     * 2^-14, the smallest normal number, after rounding to 11 bits. */
    bool tiny = flags & VM_FTZ && type == PTX_F16 && (i->size == VM_MUL || i->size == VM_FMA) && fabs(r) < 0x1.ffep-15;
    if (flags & VM_SAT)
        r = vm_out64(r, VM_SAT);
    if (flags & VM_RELU && r <= 0) /* this also turns -0 into 0 */
        r = 0;
    if (tiny)
        r = copysign(0, r);
    return flush(type, ops_half_put(type, r, PTX_MOD_RN), flags);
}

static bool is_pair(unsigned type) { return type == PTX_F16X2 || type == PTX_BF16X2; }
static unsigned single(unsigned type) { return type == PTX_F16 || type == PTX_F16X2 ? PTX_F16 : PTX_BF16; }

/* Computes on halves. `size` is the operation (VM_ADD ...), and `space` is the type of the halves. */
void ops_half(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned type = single(i->space);
    const vm_u32 *a = vm_r32(w, i->a), *b = vm_r32(w, i->b), *c = vm_r32(w, i->c);
    vm_u32 *d = vm_r32(w, i->d);
    VM_EACH(lane, m) {
        uint32_t r = compute_half(i, type, a[lane] & 0xffff, b[lane] & 0xffff, c[lane] & 0xffff);
        if (is_pair(i->space))
            r |= compute_half(i, type, a[lane] >> 16, b[lane] >> 16, c[lane] >> 16) << 16;
        d[lane] = r;
    }
}

/* Compares two numbers. The ordered comparisons (eq, ne, lt, le, gt, ge) are false for a NaN. The unordered comparisons
 * (equ, neu, ltu, leu, gtu, geu) are true for a NaN. .nan and .num test for a NaN. */
static bool compare(unsigned mod, double a, double b)
{
    switch (mod) {
    case PTX_MOD_EQ: return a == b;
    case PTX_MOD_NE: return a < b || a > b;
    case PTX_MOD_LT: return a < b;
    case PTX_MOD_LE: return a <= b;
    case PTX_MOD_GT: return a > b;
    case PTX_MOD_GE: return a >= b;
    case PTX_MOD_EQU: return !(a < b || a > b);
    case PTX_MOD_NEU: return !(a == b);
    case PTX_MOD_LTU: return !(a >= b);
    case PTX_MOD_LEU: return !(a > b);
    case PTX_MOD_GTU: return !(a <= b);
    case PTX_MOD_GEU: return !(a < b);
    case PTX_MOD_NUM: return a == a && b == b;
    default: return a != a || b != b;
    }
}

/* Compares the low halves and writes predicate `d`. If `e` is not 0, compares the high halves and writes predicate `e`.
 * `count` is the kind of the comparison. The flags may hold VM_FTZ. */
void ops_half_compare(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned type = single(i->space);
    const vm_u32 *a = vm_r32(w, i->a), *b = vm_r32(w, i->b);
    uint32_t low = 0, high = 0;
    VM_EACH(lane, m) {
        uint32_t x = flush(type, a[lane] & 0xffff, i->flags), y = flush(type, b[lane] & 0xffff, i->flags);
        low |= (uint32_t)compare(i->count, ops_half_get(type, x), ops_half_get(type, y)) << lane;
        x = flush(type, a[lane] >> 16, i->flags), y = flush(type, b[lane] >> 16, i->flags);
        high |= (uint32_t)compare(i->count, ops_half_get(type, x), ops_half_get(type, y)) << lane;
    }
    vm_set_pred(w, i->d, low, m);
    if (i->e)
        vm_set_pred(w, i->e, high, m);
}

/* Writes two predicates (slots a and b) as the halves of a register. A half whose predicate is true becomes imm, and
 * any other half becomes 0. */
void ops_half_set2(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t low = *vm_pred(w, i->a), high = *vm_pred(w, i->b), one_half = (uint32_t)i->imm;
    VM_EACH(lane, m)
        vm_r32(w, i->d)[lane] = (low >> lane & 1 ? one_half : 0) | (high >> lane & 1 ? one_half : 0) << 16;
}
