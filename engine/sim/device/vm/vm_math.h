/* vm_math.h - the arithmetic of one lane, in a form that compilers vectorise. */
#ifndef KILN_SIM_VM_MATH_H
#define KILN_SIM_VM_MATH_H

#include <math.h>
#include <string.h>

#include "vm_machine.h"

#define VM_INLINE static inline __attribute__((always_inline, unused))

VM_INLINE uint32_t vm_bits32(float x)
{
    uint32_t r;
    memcpy(&r, &x, 4);
    return r;
}
VM_INLINE uint64_t vm_bits64(double x)
{
    uint64_t r;
    memcpy(&r, &x, 8);
    return r;
}
VM_INLINE float vm_float(uint32_t x)
{
    float r;
    memcpy(&r, &x, 4);
    return r;
}
VM_INLINE double vm_double(uint64_t x)
{
    double r;
    memcpy(&r, &x, 8);
    return r;
}

/* Makes every NaN the same NaN: on a GPU all single-precision NaN results have the same bits, whatever the inputs
 * are. */
VM_INLINE float vm_canon(float x) { return vm_float(x != x ? 0x7fffffffu : vm_bits32(x)); }

/* Flushes an input if the instruction has .ftz: a subnormal number becomes a zero of the same sign. */
VM_INLINE float vm_in(float x, unsigned flags)
{
    uint32_t b = vm_bits32(x), keep = flags & VM_FTZ ? 0x80000000u : VM_ALL;
    return vm_float((b & 0x7f800000u) == 0 ? b & keep : b);
}
VM_INLINE float vm_out(float x, unsigned flags)
{
    float r = vm_in(vm_canon(x), flags);
    float s = r > 0 ? (r < 1 ? r : 1.0f) : 0.0f;
    return flags & VM_SAT ? s : r;
}
/* Flushes a result if the instruction has .ftz. The hardware tests the result before it rounds it to a subnormal
 * number. So the caller passes `scaled`: the same result, computed from operands that are 2^24 times as large. The
 * scaled result has all 24 bits of precision. The scaling is exact near the limit of subnormal numbers. */
#define VM_SCALE 0x1p24f
VM_INLINE float vm_tiny(float x, float scaled, unsigned flags)
{
    uint32_t keep = flags & VM_FTZ && fabsf(scaled) < 0x1p-102f ? 0x80000000u : VM_ALL;
    return vm_float(vm_bits32(x) & keep);
}
VM_INLINE float vm_mulx(float a, float b, unsigned flags)
{
    a = vm_in(a, flags), b = vm_in(b, flags);
    return vm_out(vm_tiny(a * b, a * VM_SCALE * b, flags), flags);
}
VM_INLINE float vm_fmax(float a, float b, float c, unsigned flags)
{
    a = vm_in(a, flags), b = vm_in(b, flags), c = vm_in(c, flags);
    return vm_out(vm_tiny(__builtin_fmaf(a, b, c), __builtin_fmaf(a * VM_SCALE, b, c * VM_SCALE), flags), flags);
}
/* Computes div.approx.ftz. A divisor above 2^126 gives zero, or NaN if the dividend is infinite. */
VM_INLINE float vm_divx(float a, float b, unsigned flags)
{
    a = vm_in(a, flags), b = vm_in(b, flags);
    float r = fabsf(b) > 0x1p126f && fabsf(b) <= 0x1.fffffep127f ? a * copysignf(0.0f, b) : a / b;
    return vm_out(r, flags);
}
VM_INLINE double vm_out64(double x, unsigned flags)
{
    double s = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
    return flags & VM_SAT ? s : x;
}

/* These functions compute with doubles whose result may be NaN. An H200 returns one of the NaN operands with the quiet
 * bit set. If no operand is NaN, an H200 returns 0xfff8000000000000. x86 returns the same numbers in both cases. But if
 * several operands are NaN, x86 chooses one of them by the form of the instruction. So these functions replace the
 * other NaN operands by the NaN that an H200 chooses. An H200 chooses the first NaN in the order b, a. The order is a,
 * b for a division, and b, c, a for fma. */
VM_INLINE double vm_add64(double a, double b) { return (b != b ? b : a) + b; }
VM_INLINE double vm_sub64(double a, double b) { return (b != b ? b : a) - b; }
VM_INLINE double vm_mul64(double a, double b) { return (b != b ? b : a) * b; }
VM_INLINE double vm_div64(double a, double b) { return a / (a != a ? a : b); }
VM_INLINE double vm_fma64(double a, double b, double c)
{
    c = b != b ? b : c;
    a = c != c ? c : a;
    return __builtin_fma(a, b, c);
}

/* These functions compute min and max. If one operand is NaN, the result is the other operand. If both doubles are NaN,
 * the result is b with the quiet bit set. -0 is smaller than +0. */
VM_INLINE float vm_min32(float a, float b)
{
    float r = a < b || b != b ? a : b;
    r = vm_float(a == b ? vm_bits32(a) | vm_bits32(b) : vm_bits32(r));
    return vm_canon(r);
}
VM_INLINE float vm_max32(float a, float b)
{
    float r = a > b || b != b ? a : b;
    r = vm_float(a == b ? vm_bits32(a) & vm_bits32(b) : vm_bits32(r));
    return vm_canon(r);
}
VM_INLINE double vm_quiet64(double x) { return vm_double(x != x ? vm_bits64(x) | 1ull << 51 : vm_bits64(x)); }
VM_INLINE double vm_min64(double a, double b)
{
    double r = b < a || a != a ? b : a;
    return vm_quiet64(a == b ? vm_double(vm_bits64(a) | vm_bits64(b)) : r);
}
VM_INLINE double vm_max64(double a, double b)
{
    double r = b > a || a != a ? b : a;
    return vm_quiet64(a == b ? vm_double(vm_bits64(a) & vm_bits64(b)) : r);
}
VM_INLINE float vm_pick32(float a, float b, unsigned flags, bool max)
{
    uint32_t sign = (vm_bits32(a) ^ vm_bits32(b)) & 0x80000000u;
    a = vm_in(a, flags), b = vm_in(b, flags);
    bool none = a != a || b != b;
    if (flags & (VM_XORSIGN | VM_ABSOLUTE))
        a = fabsf(a), b = fabsf(b);
    float r = max ? vm_max32(a, b) : vm_min32(a, b);
    if (flags & VM_XORSIGN && r == r)
        r = vm_float(vm_bits32(r) | sign);
    return flags & VM_NANS && none ? vm_float(0x7fffffffu) : r;
}

/* The ISA does not define integer division by zero. On a GPU all bits of the quotient and of the remainder are one
 * after a division by zero. */
#ifdef __AVX512F__
/* Vector instructions can divide only floating-point numbers, so these functions divide integers as doubles. The
 * division is exact: a quotient that is not an integer is below the next integer by at least 2^-33 of its value, so it
 * is never rounded up to that integer. */
VM_INLINE uint32_t vm_udiv32(uint32_t a, uint32_t b)
{
    uint32_t q = (uint32_t)((double)a / (double)(b ? b : 1));
    return b ? q : VM_ALL;
}
VM_INLINE uint32_t vm_urem32(uint32_t a, uint32_t b) { return b ? a - vm_udiv32(a, b) * b : VM_ALL; }
#else
VM_INLINE uint32_t vm_udiv32(uint32_t a, uint32_t b) { return b ? a / b : VM_ALL; }
VM_INLINE uint32_t vm_urem32(uint32_t a, uint32_t b) { return b ? a % b : VM_ALL; }
#endif
VM_INLINE uint64_t vm_udiv64(uint64_t a, uint64_t b) { return b ? a / b : UINT64_MAX; }
VM_INLINE uint64_t vm_urem64(uint64_t a, uint64_t b) { return b ? a % b : UINT64_MAX; }
VM_INLINE int64_t vm_sdiv64(int64_t a, int64_t b)
{
    if (b == 0)
        return -1;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
VM_INLINE int64_t vm_srem64(int64_t a, int64_t b) { return b == 0 ? -1 : b == -1 ? 0 : a % b; }
#ifdef __AVX512F__
/* Signed division divides the magnitudes of its operands. -2^31 / -1 gives the magnitude 2^31, which is -2^31 as an
 * integer. */
VM_INLINE uint32_t vm_size32(int32_t x) { return x < 0 ? 0 - (uint32_t)x : (uint32_t)x; }
VM_INLINE int32_t vm_sdiv32(int32_t a, int32_t b)
{
    uint32_t q = vm_udiv32(vm_size32(a), vm_size32(b));
    return (int32_t)(b == 0 ? VM_ALL : (a ^ b) < 0 ? 0 - q : q);
}
VM_INLINE int32_t vm_srem32(int32_t a, int32_t b)
{
    uint32_t r = vm_urem32(vm_size32(a), vm_size32(b));
    return (int32_t)(b == 0 ? VM_ALL : a < 0 ? 0 - r : r);
}
#else
VM_INLINE int32_t vm_sdiv32(int32_t a, int32_t b) { return (int32_t)(uint32_t)(uint64_t)vm_sdiv64(a, b); }
VM_INLINE int32_t vm_srem32(int32_t a, int32_t b) { return (int32_t)vm_srem64(a, b); }
#endif

VM_INLINE uint64_t vm_umulhi64(uint64_t a, uint64_t b)
{
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t m = ah * bl + (al * bl >> 32), n = al * bh + (uint32_t)m;
    return ah * bh + (m >> 32) + (n >> 32);
}
VM_INLINE uint64_t vm_smulhi64(uint64_t a, uint64_t b)
{
    return vm_umulhi64(a, b) - (a >> 63 ? b : 0) - (b >> 63 ? a : 0);
}
VM_INLINE int32_t vm_clamp_s32(int64_t x)
{
    return (int32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}

VM_INLINE uint32_t vm_clz64(uint64_t x) { return x ? (uint32_t)__builtin_clzll(x) : 64; }
VM_INLINE uint32_t vm_clz32(uint32_t x) { return x ? (uint32_t)__builtin_clz(x) : 32; }
VM_INLINE uint32_t vm_bfind64(uint64_t x, bool shift)
{
    return x == 0 ? VM_ALL : shift ? vm_clz64(x) : 63 - vm_clz64(x);
}
VM_INLINE uint32_t vm_bfind32(uint32_t x, bool shift)
{
    return x == 0 ? VM_ALL : shift ? vm_clz32(x) : 31 - vm_clz32(x);
}
VM_INLINE uint32_t vm_brev32(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
VM_INLINE uint64_t vm_brev64(uint64_t x)
{
    return (uint64_t)vm_brev32((uint32_t)x) << 32 | vm_brev32((uint32_t)(x >> 32));
}
/* A shift amount above the register's width gives the same result as the width. */
VM_INLINE uint32_t vm_shl32(uint32_t a, uint32_t b) { return b > 31 ? 0 : a << (b & 31); }
VM_INLINE uint32_t vm_shr32(uint32_t a, uint32_t b) { return b > 31 ? 0 : a >> (b & 31); }
VM_INLINE int32_t vm_sar32(int32_t a, uint32_t b) { return a >> (b > 31 ? 31 : b); }
VM_INLINE uint64_t vm_shl64(uint64_t a, uint32_t b) { return b > 63 ? 0 : a << (b & 63); }
VM_INLINE uint64_t vm_shr64(uint64_t a, uint32_t b) { return b > 63 ? 0 : a >> (b & 63); }
VM_INLINE int64_t vm_sar64(int64_t a, uint32_t b) { return a >> (b > 63 ? 63 : b); }

VM_INLINE uint64_t vm_bfe(uint64_t a, uint32_t pos, uint32_t len, unsigned width, bool is_signed)
{
    pos &= 0xff, len &= 0xff;
    unsigned msb = width - 1, top = pos + len > width ? msb : pos + len - 1; /* the position of the sign bit */
    uint64_t sign = is_signed && len && a >> (top > msb ? msb : top) & 1 ? UINT64_MAX : 0;
    if (len == 0)
        return 0;
    uint64_t field = pos > msb ? 0 : a >> pos;
    unsigned have = pos > msb ? 0 : len < width - pos ? len : width - pos;
    uint64_t keep = have >= 64 ? UINT64_MAX : ((uint64_t)1 << have) - 1;
    return (field & keep) | (sign & ~keep);
}
VM_INLINE uint64_t vm_bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, unsigned width)
{
    pos &= 0xff, len &= 0xff;
    if (pos >= width || len == 0)
        return b;
    uint64_t keep = (len >= 64 ? UINT64_MAX : ((uint64_t)1 << len) - 1) << pos;
    return (b & ~keep) | (a << pos & keep);
}
VM_INLINE uint32_t vm_bmsk(uint32_t a, uint32_t b, bool clamp)
{
    if (clamp) {
        if (a > 31 || b == 0)
            return 0;
        return (b > 31 ? VM_ALL : (1u << b) - 1) << a;
    }
    a &= 31, b &= 31;
    return ((1u << b) - 1) << a;
}
VM_INLINE uint32_t vm_szext(uint32_t a, uint32_t b, bool clamp, bool is_signed)
{
    if (clamp && b > 31)
        return a;
    b &= 31;
    if (b == 0)
        return 0;
    uint32_t keep = (1u << b) - 1, low = a & keep;
    return is_signed && low >> (b - 1) & 1 ? low | ~keep : low;
}
VM_INLINE uint32_t vm_fns(uint32_t mask, uint32_t base, int32_t offset)
{
    if (base > 31)
        return VM_ALL;
    if (offset == 0)
        return mask >> base & 1 ? base : VM_ALL;
    int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : offset == INT32_MIN ? INT32_MAX : -offset;
    for (int at = (int)base; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return (uint32_t)at;
    return VM_ALL;
}
/* Computes lop3: at each bit position, the bits of a, b and c are an index into the table of 8 bits. The function
 * selects by c first, then by b, then by a. */
VM_INLINE uint32_t vm_choose(uint32_t select, uint32_t one, uint32_t zero) { return zero ^ (select & (one ^ zero)); }
VM_INLINE uint32_t vm_lop3_bit(uint32_t table, uint32_t k) { return 0 - (table >> k & 1); }
VM_INLINE uint32_t vm_lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t by_c[4];
    for (uint32_t k = 0; k < 4; k++)
        by_c[k] = vm_choose(c, vm_lop3_bit(table, 2 * k + 1), vm_lop3_bit(table, 2 * k));
    return vm_choose(a, vm_choose(b, by_c[3], by_c[2]), vm_choose(b, by_c[1], by_c[0]));
}
/* Funnel shifts by n, which is 0 to 31. The funnel shifts compute in 32 bits and not in 64, because a vector then has
 * twice as many lanes. */
VM_INLINE uint32_t vm_shf_l(uint32_t a, uint32_t b, uint32_t n) { return b << n | a >> 1 >> (31 - n); }
VM_INLINE uint32_t vm_shf_r(uint32_t a, uint32_t b, uint32_t n) { return a >> n | b << 1 << (31 - n); }
VM_INLINE uint32_t vm_prmt(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t r = 0;
    for (unsigned k = 0; k < 4; k++) {
        uint32_t select = c >> 4 * k, byte = (select & 4 ? b : a) >> 8 * (select & 3) & 0xff;
        r |= (select & 8 ? (0 - (byte >> 7)) & 0xff : byte) << 8 * k;
    }
    return r;
}
/* Returns the selector of prmt that is equivalent to a named mode. */
VM_INLINE uint32_t vm_prmt_selector(unsigned mode, uint32_t c)
{
    static const uint16_t table[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                         {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                         {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
    return table[mode][c & 3];
}
VM_INLINE uint32_t vm_dp4(uint32_t a, uint32_t b, uint32_t c, unsigned flags)
{
    for (unsigned k = 0; k < 32; k += 8) {
        int32_t x = (int32_t)(a >> k & 0xff), y = (int32_t)(b >> k & 0xff);
        if (flags & 1)
            x = (int8_t)(uint8_t)x; /* extends the sign: NOLINT(bugprone-signed-char-misuse,cert-str34-c) */
        if (flags & 2)
            y = (int8_t)(uint8_t)y; /* the same conversion for y: NOLINT(bugprone-signed-char-misuse,cert-str34-c) */
        c += (uint32_t)(x * y);
    }
    return c;
}
VM_INLINE uint32_t vm_dp2(uint32_t a, uint32_t b, uint32_t c, unsigned flags)
{
    for (unsigned k = 0; k < 2; k++) {
        uint32_t x = a >> 16 * k & 0xffff, y = b >> 8 * (k + (flags & 4 ? 2 : 0)) & 0xff;
        if (flags & 1)
            x = (uint32_t)(int16_t)(uint16_t)x;
        if (flags & 2)
            y = (uint32_t)(int8_t)(uint8_t)y;
        c += x * y;
    }
    return c;
}
VM_INLINE int32_t vm_24s(uint32_t x) { return (int32_t)(x << 8) >> 8; }

/* Converts to an integer towards zero, with saturation to the range of the integer. NaN becomes 0; ops_cvt has the
 * other forms. */
VM_INLINE int32_t vm_trunc_s32(float x)
{
    int32_t r = x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : (int32_t)(x == x ? x : 0);
    return r;
}
VM_INLINE uint32_t vm_trunc_u32(float x) { return x >= 4294967296.0f ? VM_ALL : x > 0 ? (uint32_t)(int64_t)x : 0; }

/* Approximate functions are computed in double and rounded once, so their error is far below the bound that the ISA
 * allows. */
VM_INLINE float vm_sin(float x) { return (float)sin((double)x); }
VM_INLINE float vm_cos(float x) { return (float)cos((double)x); }
VM_INLINE float vm_lg2(float x) { return (float)log2((double)x); }
VM_INLINE float vm_ex2(float x) { return (float)exp2((double)x); }
VM_INLINE float vm_tanh(float x) { return (float)tanh((double)x); }
/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 use only the upper word of a double. This function makes a subnormal
 * operand zero, and clears the lower word of the operand. */
VM_INLINE double vm_upper(double x)
{
    uint64_t b = vm_bits64(x) & 0xffffffff00000000ull;
    return vm_double((b & 0x7ff0000000000000ull) == 0 ? b & 0x8000000000000000ull : b);
}
VM_INLINE float vm_rsqrt(float x) { return (float)(1.0 / sqrt((double)x)); }
#ifdef __FMA__
/* Computes rsqrt in single precision by Newton's iteration, for normal numbers above zero. The first estimate y comes
 * from the exponent. Three steps of the iteration make y accurate to about the last bit. Then two terms of the series
 * of the residual 1 - xyy correct y. The function computes the residual in two parts. A test compared all 2^31 - 2^24
 * inputs: each result has the same bits as the result from double, even if y is wrong by one unit before the
 * correction. */
VM_INLINE float vm_rsqrt_normal(float x)
{
    const float h = -0.5f * x;
    float y = vm_float(0x5f375a86u - (vm_bits32(x) >> 1));
    y = y * __builtin_fmaf(h * y, y, 1.5f);
    y = y * __builtin_fmaf(h * y, y, 1.5f);
    y = y * __builtin_fmaf(h * y, y, 1.5f);
    const float p = x * y, q = __builtin_fmaf(x, y, -p);
    const float r = __builtin_fmaf(-q, y, __builtin_fmaf(-p, y, 1.0f));
    return __builtin_fmaf(y * r, __builtin_fmaf(0.375f, r, 0.5f), y);
}
#endif

#endif
