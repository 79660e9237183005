/* rounding.c - arithmetic with directed rounding (.rz, .rm, .rp), and all forms of cvt between usual types, lane by
 * lane. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "vm_math.h"
#include "vm_ops.h"

int ops_host_rounding(unsigned rounding)
{
    switch (rounding) {
    case PTX_MOD_RZ: return FE_TOWARDZERO;
    case PTX_MOD_RM: return FE_DOWNWARD;
    case PTX_MOD_RP: return FE_UPWARD;
    default: return FE_TONEAREST;
    }
}

/* Computes one result under the host's current rounding mode. The operands are volatile so that the compiler does not
 * move the operation across the change of the rounding mode. */
float ops_round_to_f32(unsigned op, float a, float b, float c, unsigned flags)
{
    volatile float x = vm_in(a, flags), y = vm_in(b, flags), z = vm_in(c, flags), r;
    switch (op) {
    case VM_ADD: r = x + y; break;
    case VM_SUB: r = x - y; break;
    case VM_MUL: r = x * y; break;
    case VM_FMA: r = fmaf(x, y, z); break;
    case VM_DIV: r = x / y; break;
    case VM_RCP: r = 1.0f / x; break;
    default: r = sqrtf(x); break;
    }
    if (flags & VM_FTZ && fabsf(r) <= 0x1p-126f && (op == VM_MUL || op == VM_FMA || op == VM_DIV)) {
        volatile float large = x * VM_SCALE, scaled;
        scaled = op == VM_MUL ? large * y : op == VM_DIV ? large / y : fmaf(large, y, z * VM_SCALE);
        r = vm_tiny(r, scaled, flags);
    }
    return vm_out(r, flags);
}

/* Computes on singles with a directed rounding. `size` is the operation (VM_ADD ...), and `count` is the rounding. */
void ops_round_f32(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_f32 *a = (const vm_f32 *)(const void *)vm_at(w, i->a), *b = (const vm_f32 *)(const void *)vm_at(w, i->b);
    const vm_f32 *c = (const vm_f32 *)(const void *)vm_at(w, i->c);
    vm_f32 *d = (vm_f32 *)(void *)vm_at(w, i->d);
    int before = fegetround();
    fesetround(ops_host_rounding(i->count));
    VM_EACH(lane, m)
        d[lane] = ops_round_to_f32(i->size, a[lane], b[lane], c[lane], i->flags);
    fesetround(before);
}

void ops_round_f64(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_f64 *a = (const vm_f64 *)(const void *)vm_at(w, i->a), *b = (const vm_f64 *)(const void *)vm_at(w, i->b);
    const vm_f64 *c = (const vm_f64 *)(const void *)vm_at(w, i->c);
    vm_f64 *d = (vm_f64 *)(void *)vm_at(w, i->d);
    int before = fegetround();
    fesetround(ops_host_rounding(i->count));
    VM_EACH(lane, m) {
        volatile double x = a[lane], y = b[lane], z = c[lane], r;
        switch (i->size) {
        case VM_ADD: r = vm_add64(x, y); break;
        case VM_SUB: r = vm_sub64(x, y); break;
        case VM_MUL: r = vm_mul64(x, y); break;
        case VM_FMA: r = vm_fma64(x, y, z); break;
        case VM_DIV: r = vm_div64(x, y); break;
        case VM_RCP: r = 1.0 / x; break;
        default: r = sqrt(x); break;
        }
        d[lane] = r;
    }
    fesetround(before);
}

/* ---- cvt ---- */

static bool is_float(unsigned type)
{
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64;
}
static bool is_signed(unsigned type) { return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64; }

static double read_float(unsigned type, uint64_t bits, unsigned flags)
{
    switch (type) {
    case PTX_F32: return (double)vm_in(vm_float((uint32_t)bits), flags);
    case PTX_F64: return vm_double(bits);
    default: return ops_half_get(type, (uint32_t)bits & 0xffff);
    }
}

static uint64_t write_float(unsigned type, double x, unsigned rounding, unsigned flags)
{
    if (flags & VM_SAT)
        x = vm_out64(x, VM_SAT);
    if (flags & VM_RELU && x <= 0) /* -0 too */
        x = 0;
    switch (type) {
    case PTX_F64: return vm_bits64(x);
    case PTX_F32: {
        float r = vm_float(ops_pack_float(x, 23, 8, rounding));
        if (flags & VM_FTZ)
            r = vm_tiny(r, vm_float(ops_pack_float(x * (double)VM_SCALE, 23, 8, rounding)), flags);
        return vm_bits32(vm_in(r, flags));
    }
    default: {
        uint32_t r = ops_half_put(type, x, rounding), infinite = type == PTX_BF16 ? 0x7f80 : 0x7c00;
        if (flags & VM_XORSIGN && (r & 0x7fff) == infinite) /* .satfinite */
            r--;
        return r;
    }
    }
}

static double to_integral(double x, unsigned rounding)
{
    switch (rounding) {
    case PTX_MOD_RZI: return trunc(x);
    case PTX_MOD_RMI: return floor(x);
    case PTX_MOD_RPI: return ceil(x);
    case PTX_MOD_RNI: return nearbyint(x);
    default: return x;
    }
}

static uint64_t float_to_int(unsigned to, unsigned from, double x, unsigned rounding)
{
    unsigned width = 8 * ptx_type_bytes((ptx_type)to);
    bool sign = is_signed(to);
    if (x != x)
        return from != PTX_F64 && width < 64 ? 0 : (uint64_t)1 << (width - 1);
    x = to_integral(x, rounding);
    double high = ldexp(1, (int)width - sign), low = sign ? -high : 0;
    if (x >= high)
        return sign ? ((uint64_t)1 << (width - 1)) - 1 : width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    if (x <= low)
        return sign ? (uint64_t)(INT64_MIN >> (64 - width)) : 0;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* Converts an integer to a double that still rounds correctly to any narrower type. If the integer has too many bits,
 * the last bit of the double tells whether any discarded bit was set (a sticky bit). */
static double sticky(uint64_t magnitude, bool negative)
{
    double x = magnitude >> 53 ? ldexp((double)(magnitude >> 11 | ((magnitude & 2047) != 0)), 11) : (double)magnitude;
    return negative ? -x : x;
}

static uint64_t int_to_float(unsigned to, unsigned from, uint64_t bits, unsigned rounding, unsigned flags)
{
    bool negative = is_signed(from) && bits >> 63;
    uint64_t magnitude = negative ? 0 - bits : bits;
    if (to != PTX_F64)
        return write_float(to, sticky(magnitude, negative), rounding, flags);
    if (bits == 0) /* clang converts uint64_t by a subtraction, which gives -0 for 0 if the mode rounds down */
        return write_float(to, 0, rounding, flags);
    int before = fegetround();
    fesetround(ops_host_rounding(rounding));
    volatile uint64_t in = magnitude, sign_in = bits;
    volatile double x = negative ? (double)(int64_t)sign_in : (double)in;
    fesetround(before);
    return write_float(to, x, rounding, flags);
}

static uint64_t int_to_int(unsigned to, unsigned from, uint64_t bits, bool sat)
{
    unsigned width = 8 * ptx_type_bytes((ptx_type)to);
    if (!sat)
        return bits;
    bool negative = is_signed(from) && bits >> 63;
    if (is_signed(to)) {
        int64_t least = INT64_MIN >> (64 - width), most = ~least;
        if (negative)
            return (int64_t)bits < least ? (uint64_t)least : bits;
        return bits > (uint64_t)most ? (uint64_t)most : bits;
    }
    uint64_t most = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    return negative ? 0 : bits > most ? most : bits;
}

static uint64_t narrow(unsigned type, uint64_t bits)
{
    unsigned shift = 64 - 8 * ptx_type_bytes((ptx_type)type);
    return is_signed(type) ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits << shift >> shift;
}

/* cvt: `space` is the type of the result, `count` is the type of the source, and `size` is the rounding. `c` is a set
 * of bits: 1 if the source register has 64 bits, 2 if the destination register has 64 bits, 4 if the destination
 * register has 16 bits. */
void ops_cvt(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned to = i->space, from = i->count, rounding = i->size;
    VM_EACH(lane, m) {
        uint64_t bits = i->c & 1 ? vm_r64(w, i->a)[lane] : vm_r32(w, i->a)[lane], r;
        if (is_float(from)) {
            /* .ftz has no effect on a conversion to f16 */
            double x = read_float(from, bits, to == PTX_F16 ? 0 : i->flags);
            if (!is_float(to)) {
                r = narrow(to, float_to_int(to, from, x, rounding));
            } else if (to == PTX_F32 && from == PTX_F64 && x != x) {
                r = i->flags & VM_SAT ? 0 : 0x7fffffff;
            } else {
                r = write_float(to, to_integral(x, rounding), rounding, i->flags);
            }
        } else {
            bits = narrow(from, bits);
            r = is_float(to) ? int_to_float(to, from, bits, rounding, i->flags)
                             : narrow(to, int_to_int(to, from, bits, i->flags & VM_SAT));
        }
        if (i->c & 2)
            vm_r64(w, i->d)[lane] = r;
        else
            vm_r32(w, i->d)[lane] = i->c & 4 ? (uint16_t)r : (uint32_t)r;
    }
}

/* Executes cvt.f16x2.f32 and cvt.bf16x2.f32 d, a, b, whose upper half is a, and cvt.tf32.f32. `space` is the type of
 * the result, and `size` is the rounding. */
void ops_cvt_pack_half(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned type = i->space == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    VM_EACH(lane, m) {
        double a = (double)vm_float(vm_r32(w, i->a)[lane]);
        if (i->space == PTX_TF32) {
            if (i->flags & VM_RELU && a <= 0)
                a = 0;
            uint32_t bits = vm_r32(w, i->a)[lane], r = ops_pack_float(a, 10, 8, i->size);
            if (i->size == PTX_MOD_RNA && a != a && (bits & 0x7fe000) == 0) /* rounding loses the payload of this NaN */
                r = (bits + 0x1000) >> 13;
            if (i->flags & VM_XORSIGN && (r & 0x3ffff) == 0x3fc00) /* .satfinite */
                r--;
            vm_r32(w, i->d)[lane] = r << 13;
            continue;
        }
        double b = (double)vm_float(vm_r32(w, i->b)[lane]);
        vm_r32(w, i->d)[lane] = (uint32_t)write_float(type, a, i->size, i->flags) << 16 |
                                (uint32_t)write_float(type, b, i->size, i->flags);
    }
}

/* Executes cvt.pack, which saturates a and b to the narrow integer type `space` and packs them. The slot c has the
 * upper part of the result. If c is 0, the upper part is zero. */
void ops_cvt_pack_int(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned width = 8 * ptx_type_bytes((ptx_type)i->space);
    uint32_t keep = (1u << width) - 1;
    VM_EACH(lane, m) {
        uint64_t a = (uint64_t)(int32_t)vm_r32(w, i->a)[lane], b = (uint64_t)(int32_t)vm_r32(w, i->b)[lane];
        uint32_t x = (uint32_t)int_to_int(i->space, PTX_S32, a, true) & keep;
        uint32_t y = (uint32_t)int_to_int(i->space, PTX_S32, b, true) & keep;
        uint32_t above = i->c ? vm_r32(w, i->c)[lane] << 2 * width : 0;
        vm_r32(w, i->d)[lane] = above | x << width | y;
    }
}
