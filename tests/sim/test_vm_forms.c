/* Tests forms of instructions that compilers seldom use, with edge values. Each row has an instruction and a function
 * that computes its result according to the PTX ISA, bit by bit or in wider arithmetic. The kernel of a row reads three
 * 64-bit words a, b and c, runs the instruction, and writes d.
 *
 * The file is long, because it has a computation for each row of the table of instructions. */
#include <fenv.h>
#include <math.h>

#include "vm_check.h"

typedef uint64_t u64;
typedef struct row {
    const char *text;  /* $d, $a, $b and $c stand for registers of the sizes in `sizes` */
    const char *sizes; /* the sizes of d, a, b and c in bytes: 2, 4 or 8 */
    const u64 *values;
    size_t value_count;
    u64 (*want)(u64 a, u64 b, u64 c);
} row;

// clang-format off: one number a line otherwise
static const u64 ints[] = {0,
                           1,
                           UINT64_MAX,
                           0x7fffffff,
                           0x80000000,
                           0xffffffff,
                           0x7fffffffffffffff,
                           0x8000000000000000,
                           0x12345678deadbeef,
                           31,
                           32,
                           33,
                           63,
                           64,
                           65,
                           0x7fff,
                           0x8000,
                           0xff,
                           0x80,
                           0xffff0001};
// clang-format on
static const u64 singles[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x3f800000,
                              0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00001,
                              0xff800001, 0x3f000001, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001,
                              0x4effffff, 0x4f000000, 0xcf000001, 0x7f7f8000, 0x3f808000, 0x3f818000,
                              0x3f801000, 0x3f803000, 0xc0200000, 0x3fc00000, 0x4f800000, 0xbe800000};
// clang-format off: one number a line otherwise
static const u64 doubles[] = {0,
                              0x8000000000000000,
                              1,
                              0x800fffffffffffff,
                              0x0010000000000000,
                              0x3ff0000000000000,
                              0xbff8000000000000,
                              0x7fefffffffffffff,
                              0x7ff0000000000000,
                              0xfff0000000000000,
                              0x7ff8000000000001,
                              0xfff0000000000001,
                              0x41dfffffffe00000,
                              0xc1e0000000200000,
                              0x43e0000000000000,
                              0x43f0000000000000,
                              0x4004000000000000,
                              0x3fe0000000000000};
// clang-format on
static const u64 halves[] = {0,      0x8000, 1,      0x83ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0xfbff,
                             0x7c00, 0xfc00, 0x7e01, 0x3555, 0x0401, 0x8401, 0x3bff, 0x1400, 0x7b80};
/* Pairs of halves, each with one of the halves above and another one. */
static u64 pairs[KILN__COUNT(halves)];

/* ---- integers and bits ---- */

static u64 bfe(u64 a, u64 b, u64 c, int msb, bool sign)
{
    /* "pos = b & 0xff; len = c & 0xff; sbit = len == 0 or unsigned ? 0 : a[min(pos+len-1, msb)];
     *  d[i] = i < len && pos+i <= msb ? a[pos+i] : sbit" */
    int pos = (int)(b & 0xff), len = (int)(c & 0xff), last = pos + len - 1 < msb ? pos + len - 1 : msb;
    u64 sbit = sign && len ? a >> last & 1 : 0, d = 0;
    for (int i = 0; i <= msb; i++)
        d |= (i < len && pos + i <= msb ? a >> (pos + i) & 1 : sbit) << i;
    return d;
}
static u64 bfe_u32(u64 a, u64 b, u64 c) { return bfe((uint32_t)a, b, c, 31, false); }
static u64 bfe_s32(u64 a, u64 b, u64 c) { return bfe((uint32_t)a, b, c, 31, true); }
static u64 bfe_u64(u64 a, u64 b, u64 c) { return bfe(a, b, c, 63, false); }
static u64 bfe_s64(u64 a, u64 b, u64 c) { return bfe(a, b, c, 63, true); }
static u64 bfi(u64 a, u64 b, unsigned pos, unsigned len, int msb)
{
    /* "d = b; for (i = 0; i < len && pos+i <= msb; i++) d[pos+i] = a[i]" */
    for (int i = 0; i < (int)len && (int)pos + i <= msb; i++)
        b = (b & ~((u64)1 << (pos + (unsigned)i))) | (a >> i & 1) << (pos + (unsigned)i);
    return b;
}
static u64 bfi_b32(u64 a, u64 b, u64 c) { return bfi((uint32_t)a, (uint32_t)b, c & 0xff, c >> 8 & 0xff, 31); }
static u64 bfi_b64(u64 a, u64 b, u64 c) { return bfi(a, b, c & 0xff, c >> 8 & 0xff, 63); }
static u64 bmsk(u64 a, u64 b, bool clamp)
{
    /* sets b bits from bit a on; .wrap takes both operands modulo 32, and .clamp limits them to 32 */
    u64 d = 0, from = clamp ? (uint32_t)a : a & 31, count = clamp ? (uint32_t)b : b & 31;
    for (u64 i = 0; i < 32; i++)
        d |= (u64)(i >= from && i - from < count) << i;
    return d;
}
static u64 bmsk_clamp(u64 a, u64 b, u64 c)
{
    (void)c;
    return bmsk(a, b, true);
}
static u64 bmsk_wrap(u64 a, u64 b, u64 c)
{
    (void)c;
    return bmsk(a, b, false);
}
static u64 szext(u64 a, u64 b, bool clamp, bool sign)
{
    /* The result is the low b bits of a, extended to 32 bits. With .clamp, the result is a if b is above 31. Without
     * it, b is taken modulo 32. */
    uint32_t n = (uint32_t)b, d = 0;
    if (clamp && n > 31)
        return (uint32_t)a;
    n &= 31;
    for (uint32_t i = 0; i < 32; i++)
        d |= (uint32_t)(i < n ? a >> i & 1 : sign && n ? a >> (n - 1) & 1 : 0) << i;
    return d;
}
static u64 szext_cu(u64 a, u64 b, u64 c)
{
    (void)c;
    return szext(a, b, true, false);
}
static u64 szext_cs(u64 a, u64 b, u64 c)
{
    (void)c;
    return szext(a, b, true, true);
}
static u64 szext_wu(u64 a, u64 b, u64 c)
{
    (void)c;
    return szext(a, b, false, false);
}
static u64 szext_ws(u64 a, u64 b, u64 c)
{
    (void)c;
    return szext(a, b, false, true);
}
static u64 fns(u64 a, u64 b, u64 c)
{
    /* If the offset is 0, the result is `base` if its bit is set. If it is not 0, the result is the |offset|-th set bit
     * above or below `base`. The bit of `base` counts as one. */
    int base = (int)(b & 31), offset = (int32_t)(uint32_t)c;
    if (offset == 0)
        return a >> base & 1 ? (u64)base : UINT32_MAX;
    int64_t count = offset < 0 ? -(int64_t)offset : offset;
    for (int at = base; at >= 0 && 32 > at; at += offset > 0 ? 1 : -1)
        if (a >> at & 1 && --count == 0)
            return (u64)at;
    return UINT32_MAX;
}
static u64 sad_s32(u64 a, u64 b, u64 c)
{
    int64_t x = (int32_t)(uint32_t)a, y = (int32_t)(uint32_t)b;
    return (uint32_t)(c + (u64)(x > y ? x - y : y - x));
}
static u64 sad_u16(u64 a, u64 b, u64 c)
{
    int x = (uint16_t)a, y = (uint16_t)b;
    return (uint16_t)(c + (u64)(x > y ? x - y : y - x));
}
static u64 vector_register(u64 a, u64 b, u64 c) { return (uint32_t)((a + b) ^ (a - c)); }
static u64 sad_u64(u64 a, u64 b, u64 c) { return c + (a > b ? a - b : b - a); }
static int64_t low24(u64 a) { return (int64_t)(a << 40) >> 40; }
/* the factors have 24 bits; lo is the low 32 bits of the 48-bit product, and hi the high 32 bits */
static u64 mul24_lo_s(u64 a, u64 b, u64 c)
{
    (void)c;
    return (uint32_t)(u64)(low24(a) * low24(b));
}
static u64 mul24_hi_s(u64 a, u64 b, u64 c)
{
    (void)c;
    return (uint32_t)(u64)(low24(a) * low24(b) >> 16);
}
static u64 mul24_hi_u(u64 a, u64 b, u64 c)
{
    (void)c;
    return (uint32_t)((a & 0xffffff) * (b & 0xffffff) >> 16);
}
static u64 mad24_lo_u(u64 a, u64 b, u64 c) { return (uint32_t)((a & 0xffffff) * (b & 0xffffff) + c); }
static u64 clamp_s32(int64_t x) { return (uint32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x); }
static u64 mad24_sat(u64 a, u64 b, u64 c) { return clamp_s32((low24(a) * low24(b) >> 16) + (int32_t)(uint32_t)c); }
static u64 mad_hi_sat(u64 a, u64 b, u64 c)
{
    return clamp_s32(((int64_t)(int32_t)(uint32_t)a * (int32_t)(uint32_t)b >> 32) + (int32_t)(uint32_t)c);
}
static u64 dp4a(u64 a, u64 b, u64 c, bool sa, bool sb)
{
    int64_t sum = 0;
    for (int k = 0; k < 32; k += 8)
        sum += (sa ? (int8_t)(uint8_t)(a >> k) : (uint8_t)(a >> k)) *
               (sb ? (int8_t)(uint8_t)(b >> k) : (uint8_t)(b >> k));
    return (uint32_t)(c + (u64)sum);
}
static u64 dp4a_ss(u64 a, u64 b, u64 c) { return dp4a(a, b, c, true, true); }
static u64 dp4a_us(u64 a, u64 b, u64 c) { return dp4a(a, b, c, false, true); }
static u64 dp2a(u64 a, u64 b, u64 c, bool sa, bool sb, bool high)
{
    int64_t sum = 0; /* multiplies the halves of a by the low or the high two bytes of b */
    for (int k = 0; k < 2; k++) {
        uint8_t y = (uint8_t)(b >> 8 * (k + (high ? 2 : 0)));
        sum += (int64_t)(sa ? (int16_t)(uint16_t)(a >> 16 * k) : (uint16_t)(a >> 16 * k)) * (sb ? (int8_t)y : y);
    }
    return (uint32_t)(c + (u64)sum);
}
static u64 dp2a_lo_su(u64 a, u64 b, u64 c) { return dp2a(a, b, c, true, false, false); }
static u64 dp2a_hi_us(u64 a, u64 b, u64 c) { return dp2a(a, b, c, false, true, true); }
static u64 byte_of(u64 a, u64 b, unsigned n)
{
    return (n < 4 ? (uint32_t)a >> 8 * n : (uint32_t)b >> 8 * (n - 4)) & 0xff;
}
static u64 prmt(u64 a, u64 b, u64 c)
{
    /* each nibble of c selects a byte of {b, a}; if its top bit is set, the sign of that byte is replicated */
    u64 d = 0;
    for (unsigned k = 0; k < 4; k++) {
        u64 byte = byte_of(a, b, c >> 4 * k & 7);
        d |= (c >> 4 * k & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * k;
    }
    return d;
}
#define PRMT(name, k0, k1, k2, k3) /* byte k of the result, which the selector s chooses */                            \
    static u64 name(u64 a, u64 b, u64 c)                                                                               \
    {                                                                                                                  \
        unsigned s = c & 3;                                                                                            \
        (void)s;                                                                                                       \
        return byte_of(a, b, k0) | byte_of(a, b, k1) << 8 | byte_of(a, b, k2) << 16 | byte_of(a, b, k3) << 24;         \
    }
PRMT(prmt_f4e, s, s + 1, s + 2, s + 3)
PRMT(prmt_b4e, s, (s + 7) & 7, (s + 6) & 7, (s + 5) & 7)
PRMT(prmt_rc8, s, s, s, s)
PRMT(prmt_ecl, s, s > 1 ? s : 1, s > 2 ? s : 2, 3)
PRMT(prmt_ecr, 0, s < 1 ? s : 1, s < 2 ? s : 2, s)
PRMT(prmt_rc16, s & 1 ? 2 : 0, s & 1 ? 3 : 1, s & 1 ? 2 : 0, s & 1 ? 3 : 1)
static u64 shf(u64 a, u64 b, unsigned n, bool left)
{
    /* a left shift returns the high word of the shifted {b, a}, and a right shift the low word */
    for (; n; n--) {
        if (left)
            b = (uint32_t)(b << 1 | (uint32_t)a >> 31), a = (uint32_t)(a << 1);
        else
            a = (uint32_t)a >> 1 | (uint32_t)(b << 31), b = (uint32_t)b >> 1;
    }
    return (uint32_t)(left ? b : a);
}
static u64 shf_lw(u64 a, u64 b, u64 c) { return shf(a, b, c & 31, true); }
static u64 shf_rw(u64 a, u64 b, u64 c) { return shf(a, b, c & 31, false); }
static u64 shf_lc(u64 a, u64 b, u64 c) { return shf(a, b, (uint32_t)c > 32 ? 32 : (unsigned)c, true); }
static u64 shf_rc(u64 a, u64 b, u64 c) { return shf(a, b, (uint32_t)c > 32 ? 32 : (unsigned)c, false); }
/* after a shift by the width or more, the result is 0, or has only copies of the sign */
static u64 shl_b16(u64 a, u64 b, u64 c)
{
    (void)c;
    return (uint32_t)b > 15 ? 0u : (uint16_t)(a << (b & 15));
}
static u64 shr_s16(u64 a, u64 b, u64 c)
{
    (void)c;
    return (uint16_t)((int16_t)(uint16_t)a >> ((uint32_t)b > 15 ? 15 : (uint32_t)b));
}
static u64 shl_b64(u64 a, u64 b, u64 c)
{
    (void)c;
    return (uint32_t)b > 63 ? 0 : a << (b & 63);
}
static u64 shr_s64(u64 a, u64 b, u64 c)
{
    (void)c;
    return (u64)((int64_t)a >> ((uint32_t)b > 63 ? 63 : (uint32_t)b));
}
static u64 lop3(u64 a, u64 b, u64 c)
{
    u64 d = 0; /* each bit of the result is bit a * 4 + b * 2 + c of the table */
    for (int i = 0; i < 32; i++)
        d |= (u64)(0x2d >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
    return d;
}
static u64 lop3_or(u64 a, u64 b, u64 c) { return lop3(a, b, c) != 0 || (uint32_t)a == (uint32_t)b; }
static u64 lop3_all(u64 a, u64 b, u64 c) { return (uint32_t)lop3(a, b, c) != 0 ? 3 : 1; }
static u64 set_gt(u64 a, u64 b, u64 c)
{
    (void)c;
    return (int32_t)(uint32_t)a > (int32_t)(uint32_t)b ? 0xffffffff : 0;
}
static u64 not_gt(u64 a, u64 b, u64 c) { return ~set_gt(a, b, c) & 0xffffffff; }
static u64 either(u64 a, u64 b, u64 c)
{
    const u64 bits = set_gt(a, b, c) ? 1 : 2;
    return bits | ((uint32_t)c == 0 ? 8 : 4);
}
static u64 block_votes(u64 a, u64 b, u64 c)
{
    (void)a, (void)b, (void)c;
    return 1 | 4;
}
static u64 cnot_b16(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    return (uint16_t)a == 0;
}
static u64 slct_s32(u64 a, u64 b, u64 c) { return (int32_t)(uint32_t)c >= 0 ? a : b; }
static u64 div_s32(u64 a, u64 b, u64 c)
{
    /* a division by zero is unspecified, and gives all ones as on the device; INT_MIN / -1 is cut to 32 bits */
    (void)c;
    int64_t x = (int32_t)(uint32_t)a, y = (int32_t)(uint32_t)b;
    return y ? (uint32_t)(u64)(x / y) : UINT32_MAX;
}
static u64 rem_s64(u64 a, u64 b, u64 c)
{
    (void)c;
    return b == 0 ? UINT64_MAX : b == UINT64_MAX ? 0 : (u64)((int64_t)a % (int64_t)b);
}
__extension__ typedef unsigned __int128 u128;
/* an addition and a second addition with the carry, which are 128 bits in all; likewise for sub and mad */
static u64 add_chain(u64 a, u64 b, u64 c) { return (u64)((((u128)c << 64 | a) + ((u128)a << 64 | b)) >> 64); }
static u64 sub_chain(u64 a, u64 b, u64 c) { return (u64)((((u128)c << 64 | a) - ((u128)a << 64 | b)) >> 64); }
static u64 mad_chain(u64 a, u64 b, u64 c)
{
    u64 p = (u64)(uint32_t)a * (uint32_t)b, low = (uint32_t)p + (u64)(uint32_t)c;
    return (uint32_t)((p >> 32) + (uint32_t)b + (low >> 32));
}
static u64 add_u16x2(u64 a, u64 b, u64 c)
{
    (void)c;
    return (uint16_t)(a + b) | (u64)(uint16_t)((a >> 16) + (b >> 16)) << 16;
}
static u64 max_s16x2_relu(u64 a, u64 b, u64 c)
{
    u64 d = 0;
    (void)c;
    for (int k = 0; k < 32; k += 16) {
        int16_t x = (int16_t)(uint16_t)(a >> k), y = (int16_t)(uint16_t)(b >> k), r = x > y ? x : y;
        d |= (u64)(uint16_t)(r > 0 ? r : 0) << k;
    }
    return d;
}
static u64 bfind_shift(u64 a, u64 b, u64 c)
{
    (void)b, (void)c; /* the highest bit that differs from the sign; .shiftamt gives its distance from the top */
    for (int i = 31; i >= 0; i--)
        if ((a >> i & 1) != (a >> 31 & 1))
            return (u64)(31 - i);
    return UINT32_MAX;
}

/* ---- integer conversion ---- */

static u64 sat(int64_t x, int64_t low, int64_t high) { return (u64)(x < low ? low : x > high ? high : x); }
static u64 cvt_sat_s8_s32(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    return (uint32_t)sat((int32_t)(uint32_t)a, -128, 127);
}
static u64 cvt_sat_u8_s64(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    return sat((int64_t)a, 0, 255);
}
static u64 cvt_sat_s32_u64(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    return a > INT32_MAX ? INT32_MAX : a;
}
static u64 cvt_s16_s8(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    return (u64)(int8_t)(uint8_t)a & 0xffff;
}
static u64 cvt_s64_s8(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    return (u64)(int8_t)(uint8_t)a;
}
static u64 cvt_u64_s16(u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    return (u64)(int16_t)(uint16_t)a;
}
static u64 pack_s16(u64 a, u64 b, u64 c)
{
    (void)c; /* `a` goes into the upper half */
    return (uint16_t)sat((int32_t)(uint32_t)b, -32768, 32767) | (u64)(uint16_t)sat((int32_t)(uint32_t)a, -32768, 32767)
                                                                    << 16;
}
static u64 pack_u8(u64 a, u64 b, u64 c)
{
    /* a and b go into the low half of the result, and the low half of c goes into the high half */
    return sat((int32_t)(uint32_t)b, 0, 255) | sat((int32_t)(uint32_t)a, 0, 255) << 8 | (c & 0xffff) << 16;
}

/* ---- floating point ---- */

static float f32(u64 a)
{
    float f;
    uint32_t b = (uint32_t)a;
    memcpy(&f, &b, 4);
    return f;
}
static double f64(u64 a)
{
    double f;
    memcpy(&f, &a, 8);
    return f;
}
static u64 bits32(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

/* A narrow format of numbers. `bits` is the size of the significand with the leading one, and `least` is the least
 * exponent. */
typedef struct format {
    int bits, least, exponent_bits;
} format;
static const format F16 = {11, -14, 5}, BF16 = {8, -126, 8}, TF32 = {11, -126, 8};
static long double wide(u64 v, format f)
{
    int fraction = f.bits - 1, e = (int)(v >> fraction & ((1u << f.exponent_bits) - 1)),
        top = (1 << f.exponent_bits) - 1;
    long double m = (long double)(v & ((1u << fraction) - 1)), sign = v >> (fraction + f.exponent_bits) & 1 ? -1 : 1;
    if (e == top)
        return sign * (m != 0 ? NAN : INFINITY);
    return sign * (e ? ldexpl(m + ldexpl(1, fraction), e - 1 + f.least - fraction) : ldexpl(m, f.least - fraction));
}
/* Rounds v to the format in one step, by `mode`, where -1 rounds halves away from zero. rintl() rounds the number of
 * units of the last place. */
static u64 narrow(long double v, format f, int mode)
{
    int fraction = f.bits - 1, power = 0, top = (1 << f.exponent_bits) - 1;
    u64 sign = (u64)(signbit(v) != 0) << (fraction + f.exponent_bits);
    if (v != v)
        return ((u64)1 << (fraction + f.exponent_bits)) - 1; /* NaN has only this form */
    if (isinf(v))
        return sign | (u64)top << fraction;
    frexpl(v, &power);
    power = v == 0 || power - 1 < f.least ? f.least : power - 1;
    fesetround(mode < 0 ? FE_TONEAREST : mode);
    volatile long double units = v / ldexpl(1, power - fraction);
    units = mode < 0 ? copysignl(floorl(fabsl(units) + 0.5L), units) : rintl(units);
    fesetround(FE_TONEAREST);
    u64 n = (u64)fabsl(units), one = (u64)1 << fraction;
    u64 code = n < one ? n : (u64)(power - f.least) * one + n; /* a carry goes into the exponent automatically */
    if (code >= (u64)top << fraction) {
        bool away = mode == FE_TONEAREST || mode < 0 || (mode == FE_UPWARD && !sign) || (mode == FE_DOWNWARD && sign);
        code = away ? (u64)top << fraction : ((u64)top << fraction) - 1;
    }
    return sign | code;
}
/* Returns a * b + c with 64 bits. If the result is not exact, the last bit is made odd, so that a second rounding has
 * the effect of a single rounding. */
static long double fused(long double a, long double b, long double c)
{
    volatile long double x = a, y = b, z = c, s;
    fesetround(FE_TOWARDZERO);
    feclearexcept(FE_ALL_EXCEPT);
    s = x * y + z; /* the product of two narrow numbers is exact */
    bool lost = fetestexcept(FE_INEXACT);
    fesetround(FE_TONEAREST);
    if (s == 0 && !lost) /* an exact zero has the sign that rounding to nearest gives */
        s = x * y + z;
    int power;
    if (lost && isfinite(s)) {
        long double m = frexpl(s, &power);
        u64 n = (u64)ldexpl(fabsl(m), 64) | 1;
        s = copysignl(ldexpl((long double)n, power - 64), s);
    }
    return s;
}
static u64 flush(u64 v, format f) /* a subnormal number becomes a zero of its sign */
{
    u64 sign = (u64)1 << (f.bits - 1 + f.exponent_bits), e = (((u64)1 << f.exponent_bits) - 1) << (f.bits - 1);
    return v & e ? v : v & sign;
}
/* Rounds a result with .ftz. It becomes zero if it is below the least normal number after it was rounded with all
 * bits. */
static u64 narrow_ftz(long double v, format f)
{
    /* here the result is 2^8 times as large, so that it is not subnormal */
    u64 sign = (u64)1 << (f.bits - 1 + f.exponent_bits), least = (u64)9 << (f.bits - 1);
    u64 larger = narrow(ldexpl(v, 8), f, FE_TONEAREST);
    return (larger & (sign - 1)) < least ? larger & sign : narrow(v, f, FE_TONEAREST);
}
typedef u64 half_op(u64 a, u64 b, u64 c);
static u64 by_halves(u64 a, u64 b, u64 c, half_op *op)
{
    return op(a & 0xffff, b & 0xffff, c & 0xffff) | op(a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff) << 16;
}
#define HALF(name, ...)                                                                                                \
    static u64 name##_1(u64 a, u64 b, u64 c)                                                                           \
    {                                                                                                                  \
        (void)b, (void)c;                                                                                              \
        __VA_ARGS__                                                                                                    \
    }                                                                                                                  \
    static u64 name(u64 a, u64 b, u64 c) { return name##_1(a & 0xffff, b & 0xffff, c & 0xffff); }                      \
    static u64 name##_x2(u64 a, u64 b, u64 c) { return by_halves(a, b, c, name##_1); }
#define FLUSHED(v) wide(flush(v, F16), F16)
static long double least(long double a, long double b, bool max)
{
    /* if one operand is NaN, the result is the other one; +0 is above -0 */
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return (signbit(a) != 0) == max ? b : a;
    return (a < b) == max ? b : a;
}
HALF(add_ftz, return flush(narrow(fused(FLUSHED(a), 1, FLUSHED(b)), F16, FE_TONEAREST), F16);)
HALF(sub_f16, return narrow(fused(wide(a, F16), 1, -wide(b, F16)), F16, FE_TONEAREST);)
HALF(mul_ftz_sat, long double r = FLUSHED(a) * FLUSHED(b);
     /* with .sat, the result is limited to [0.0, 1.0], and NaN becomes +0.0 */
     return narrow_ftz(r > 0 ? r < 1 ? r : 1 : 0, F16);)
HALF(fma_ftz, return narrow_ftz(fused(FLUSHED(a), FLUSHED(b), FLUSHED(c)), F16);)
HALF(fma_relu, long double r = fused(wide(a, F16), wide(b, F16), wide(c, F16));
     return narrow(r <= 0 ? 0 : r, F16, FE_TONEAREST);) /* with .relu, negative results and -0 become +0 */
HALF(fma_bf16, return narrow(fused(wide(a, BF16), wide(b, BF16), wide(c, BF16)), BF16, FE_TONEAREST);)
HALF(mul_bf16, return narrow(wide(a, BF16) * wide(b, BF16), BF16, FE_TONEAREST);)
HALF(neg_ftz, return flush(a, F16) ^ 0x8000;)
HALF(abs_ftz, return flush(a, F16) & 0x7fff;)
HALF(min_ftz, return narrow(least(FLUSHED(a), FLUSHED(b), false), F16, FE_TONEAREST);)
HALF(max_nan, long double x = wide(a, BF16), y = wide(b, BF16);
     return narrow(x != x || y != y ? NAN : least(x, y, true), BF16, FE_TONEAREST);) /* .NaN: no number wins */
HALF(min_xorsign, long double x = wide(a, F16), y = wide(b, F16), r = least(fabsl(x), fabsl(y), false);
     /* Compares the magnitudes. The result has the exclusive-or of the signs. */
     return r != r ? 0x7fff : narrow((a ^ b) & 0x8000 ? -r : r, F16, FE_TONEAREST);)
static u64 set_lt_f16x2(u64 a, u64 b, u64 c)
{
    (void)c; /* 1.0 in each half for which a < b, and 0 otherwise, also for NaN */
    u64 d = 0;
    for (int k = 0; k < 32; k += 16)
        d |= (u64)(wide(a >> k & 0xffff, F16) < wide(b >> k & 0xffff, F16) ? 0x3c00 : 0) << k;
    return d;
}
#define CVT(name, ...)                                                                                                 \
    static u64 name(u64 a, u64 b, u64 c)                                                                               \
    {                                                                                                                  \
        (void)b, (void)c;                                                                                              \
        __VA_ARGS__                                                                                                    \
    }
CVT(rz_f16, return narrow(f32(a), F16, FE_TOWARDZERO);)
CVT(rm_f16, return narrow(f32(a), F16, FE_DOWNWARD);)
CVT(rp_bf16, return narrow(f32(a), BF16, FE_UPWARD);)
CVT(rn_f16_f64, return narrow(f64(a), F16, FE_TONEAREST);)
/* A GPU rounds the payload of a NaN like a fraction. If only dropped bits of the payload are set, the result is
 * infinity. */
static u64 rna_bits(u64 a) { return isnan(f32(a)) && !(a & 0x7fe000) ? (a + 0x1000) >> 13 : narrow(f32(a), TF32, -1); }
CVT(tf32_rna, return rna_bits(a) << 13;)
/* With .relu, negative numbers and -0 become +0. With .satfinite, a result that would be infinite becomes the
 * largest finite number of that sign. */
static u64 satfinite(u64 v, u64 infinite, u64 sign) { return (v & (sign - 1)) == infinite ? v - 1 : v; }
CVT(tf32_sat, return satfinite(rna_bits(a), 0x3fc00, 0x40000) << 13;)
static u64 f16x2_relu(u64 a, u64 b, u64 c)
{
    float x = f32(a), y = f32(b);
    (void)c; /* `a` goes into the upper half */
    return satfinite(narrow(y <= 0 ? 0 : y, F16, FE_TONEAREST), 0x7c00, 0x8000) |
           satfinite(narrow(x <= 0 ? 0 : x, F16, FE_TONEAREST), 0x7c00, 0x8000) << 16;
}
CVT(f32_rm_f64, volatile double x = f64(a); fesetround(FE_DOWNWARD); volatile float r = (float)x;
    fesetround(FE_TONEAREST); return x != x ? 0x7fffffff : bits32(r);)
CVT(f32_rni_sat, float x = rintf(f32(a)); return bits32(x > 0 ? x < 1 ? x : 1 : 0);)
/* converts to integers: rounds, and clamps to the range; NaN gives 0, or the top bit for f64 */
static u64 to_int(double x, double low, double high, u64 none)
{
    return x != x      ? none
           : x <= low  ? (u64)(int64_t)low
           : x >= high ? (u64)(int64_t)high
           : x < 0     ? (u64)(int64_t)x
                       : (u64)x;
}
CVT(s8_f32, return (uint32_t)to_int(nearbyint((double)f32(a)), -128, 127, 0);)
CVT(u16_f32, return to_int(floor((double)f32(a)), 0, 65535, 0);)
CVT(u32_f64, return to_int(ceil(f64(a)), 0, 0xffffffffp0, 0x80000000);)
CVT(s32_f32_ftz, return (uint32_t)to_int(ceil((double)(fabsf(f32(a)) < 0x1p-126f ? copysignf(0, f32(a)) : f32(a))),
                                         -0x1p31, 0x1p31 - 1, 0);)
CVT(u64_f32, float x = truncf(f32(a)); return x != x ? (u64)1 << 63 : x <= 0 ? 0 : x >= 0x1p64f ? UINT64_MAX : (u64)x;)
CVT(f32_rp_u64, volatile u64 x = a; fesetround(FE_UPWARD); volatile float r = (float)x; fesetround(FE_TONEAREST);
    return bits32(r);)
CVT(f32_rz_s64, volatile int64_t x = (int64_t)a; fesetround(FE_TOWARDZERO); volatile float r = (float)x;
    fesetround(FE_TONEAREST); return bits32(r);)
CVT(f16_rn_s32, return narrow((int32_t)(uint32_t)a, F16, FE_TONEAREST);)
CVT(finite32, return isfinite(f32(a)) ? 1u : 0u;)
CVT(subnormal, return fpclassify(f32(a)) == FP_SUBNORMAL ? 1u : 0u;)
CVT(normal64, return fpclassify(f64(a)) == FP_NORMAL || f64(a) == 0 ? 1u : 0u;) /* zero counts as normal, as on a GPU */
CVT(notanumber64, return isnan(f64(a)) ? 1u : 0u;)
CVT(number, return isnan(f32(a)) ? 0u : 1u;) /* infinities count as numbers, but NaN does not */
CVT(infinite64, return isinf(f64(a)) ? 1u : 0u;)
/* If an operand is NaN, ordered comparisons are false, and unordered comparisons (..u) are true. */
#define CMP(name, get, ...)                                                                                            \
    static u64 name(u64 a, u64 b, u64 c)                                                                               \
    {                                                                                                                  \
        long double x = get(a), y = get(b);                                                                            \
        bool none = x != x || y != y;                                                                                  \
        (void)c, (void)none;                                                                                           \
        return __VA_ARGS__ ? 1u : 0u;                                                                                  \
    }
static long double f16(u64 a) { return wide(a, F16); }
static long double bf16(u64 a) { return wide(a, BF16); }
CMP(ltu_f16, f16, (none || x < y))
CMP(ne_f16, f16, (!none && x != y))
CMP(equ_bf16, bf16, (none || x == y))
CMP(gtu_f32, f32, (none || x > y))
CMP(le_f32, f32, (!none && x <= y))
CMP(neu_f64, f64, (none || x != y))
CMP(geu_f64, f64, (none || x >= y))
CMP(num_f64, f64, !none)
CMP(nan_f32, f32, none)
CMP(eq_ftz, f32, (!none && (x == y || (fabsl(x) < 0x1p-126L && fabsl(y) < 0x1p-126L))))
/* the sign of a */
static u64 copysign_f32(u64 a, u64 b, u64 c)
{
    (void)c;
    return (b & 0x7fffffff) | (a & 0x80000000);
}
static u64 slct_f32(u64 a, u64 b, u64 c)
{
    float x = f32(c); /* with .ftz, a subnormal number counts as zero, and -0 >= 0 */
    return (uint32_t)(fabsf(x) < 0x1p-126f || x >= 0 ? a : b);
}
static u64 max3_abs(u64 a, u64 b, u64 c)
{
    long double r = least(least(fabsf(f32(a)), fabsf(f32(b)), true), fabsf(f32(c)), true);
    return r != r ? 0x7fffffff : bits32((float)r);
}
static u64 add_rp_ftz(u64 a, u64 b, u64 c)
{
    volatile float x = f32(a), y = f32(b), r;
    (void)c;
    x = fabsf(x) < 0x1p-126f ? copysignf(0, x) : x, y = fabsf(y) < 0x1p-126f ? copysignf(0, y) : y;
    fesetround(FE_UPWARD);
    r = x + y;
    fesetround(FE_TONEAREST);
    return r != r ? 0x7fffffff : bits32(fabsf(r) < 0x1p-126f ? copysignf(0, r) : r);
}

#define V(set) set, KILN__COUNT(set)
static const row rows[] = {
    {"bfe.u32 $d, $a, $b, $c;", "4444", V(ints), bfe_u32},
    {"bfe.s32 $d, $a, $b, $c;", "4444", V(ints), bfe_s32},
    {"bfe.u64 $d, $a, $b, $c;", "8844", V(ints), bfe_u64},
    {"bfe.s64 $d, $a, $b, $c;", "8844", V(ints), bfe_s64},
    {"shr.u32 %r9, $c, 8; bfi.b32 $d, $a, $b, $c, %r9;", "4444", V(ints), bfi_b32},
    {"shr.u32 %r9, $c, 8; bfi.b64 $d, $a, $b, $c, %r9;", "8884", V(ints), bfi_b64},
    {"bmsk.clamp.b32 $d, $a, $b;", "4444", V(ints), bmsk_clamp},
    {"bmsk.wrap.b32 $d, $a, $b;", "4444", V(ints), bmsk_wrap},
    {"szext.clamp.u32 $d, $a, $b;", "4444", V(ints), szext_cu},
    {"szext.clamp.s32 $d, $a, $b;", "4444", V(ints), szext_cs},
    {"szext.wrap.u32 $d, $a, $b;", "4444", V(ints), szext_wu},
    {"szext.wrap.s32 $d, $a, $b;", "4444", V(ints), szext_ws},
    {"and.b32 %r9, $b, 31; fns.b32 $d, $a, %r9, $c;", "4444", V(ints), fns},
    {"{ .reg .v4 .b32 v; .reg .v2 .b32 %u, x; mov.b32 v.x, $a; add.u32 v.w, v.x, $b; sub.u32 %u.y, v.x, $c;\n"
     " mov.b32 x.x, %u.y; xor.b32 $d, v.w, x.x; }",
     "4444", V(ints), vector_register},
    {"sad.s32 $d, $a, $b, $c;", "4444", V(ints), sad_s32},
    {"sad.u16 $d, $a, $b, $c;", "2222", V(ints), sad_u16},
    {"sad.u64 $d, $a, $b, $c;", "8888", V(ints), sad_u64},
    {"mul24.lo.s32 $d, $a, $b;", "4444", V(ints), mul24_lo_s},
    {"mul24.hi.s32 $d, $a, $b;", "4444", V(ints), mul24_hi_s},
    {"mul24.hi.u32 $d, $a, $b;", "4444", V(ints), mul24_hi_u},
    {"mad24.lo.u32 $d, $a, $b, $c;", "4444", V(ints), mad24_lo_u},
    {"mad24.hi.sat.s32 $d, $a, $b, $c;", "4444", V(ints), mad24_sat},
    {"mad.hi.sat.s32 $d, $a, $b, $c;", "4444", V(ints), mad_hi_sat},
    {"dp4a.s32.s32 $d, $a, $b, $c;", "4444", V(ints), dp4a_ss},
    {"dp4a.u32.s32 $d, $a, $b, $c;", "4444", V(ints), dp4a_us},
    {"dp2a.lo.s32.u32 $d, $a, $b, $c;", "4444", V(ints), dp2a_lo_su},
    {"dp2a.hi.u32.s32 $d, $a, $b, $c;", "4444", V(ints), dp2a_hi_us},
    {"prmt.b32 $d, $a, $b, $c;", "4444", V(ints), prmt},
    {"prmt.b32.f4e $d, $a, $b, $c;", "4444", V(ints), prmt_f4e},
    {"prmt.b32.b4e $d, $a, $b, $c;", "4444", V(ints), prmt_b4e},
    {"prmt.b32.rc8 $d, $a, $b, $c;", "4444", V(ints), prmt_rc8},
    {"prmt.b32.ecl $d, $a, $b, $c;", "4444", V(ints), prmt_ecl},
    {"prmt.b32.ecr $d, $a, $b, $c;", "4444", V(ints), prmt_ecr},
    {"prmt.b32.rc16 $d, $a, $b, $c;", "4444", V(ints), prmt_rc16},
    {"shf.l.wrap.b32 $d, $a, $b, $c;", "4444", V(ints), shf_lw},
    {"shf.r.wrap.b32 $d, $a, $b, $c;", "4444", V(ints), shf_rw},
    {"shf.l.clamp.b32 $d, $a, $b, $c;", "4444", V(ints), shf_lc},
    {"shf.r.clamp.b32 $d, $a, $b, $c;", "4444", V(ints), shf_rc},
    {"shl.b16 $d, $a, $b;", "2244", V(ints), shl_b16},
    {"shr.s16 $d, $a, $b;", "2244", V(ints), shr_s16},
    {"shl.b64 $d, $a, $b;", "8844", V(ints), shl_b64},
    {"shr.s64 $d, $a, $b;", "8844", V(ints), shr_s64},
    {"lop3.b32 $d, $a, $b, $c, 0x2d;", "4444", V(ints), lop3},
    {"setp.eq.u32 %p1, $a, $b; lop3.or.b32 _|%p0, $a, $b, $c, 0x2d, %p1; selp.b32 $d, 1, 0, %p0;", "4444", V(ints),
     lop3_or},
    {"setp.eq.u32 %p1, $a, $b; lop3.or.b32 $d|_, $a, $b, $c, 0x2d, %p1;", "4444", V(ints), lop3},
    /* a constant as a predicate is false if it is 0, as in C */
    {"set.gt.and.u32.s32 $d, $a, $b, 1;", "4444", V(ints), set_gt},
    {"set.gt.and.u32.s32 $d, $a, $b, 4294967296;", "4444", V(ints), set_gt},
    {"set.gt.and.u32.s32 $d, $a, $b, !0;", "4444", V(ints), set_gt},
    {"set.gt.or.u32.s32 $d, $a, $b, 0;", "4444", V(ints), set_gt},
    {"set.gt.xor.u32.s32 $d, $a, $b, 2;", "4444", V(ints), not_gt},
    {"setp.gt.and.s32 %p0|%p1, $a, $b, 1; selp.b32 %r8, 1, 0, %p0; selp.b32 %r9, 2, 0, %p1; or.b32 $d, %r8, %r9;\n"
     "and.pred %p0, %p0, 0; setp.ne.or.b32 %p0, $c, 0, 0; selp.b32 %r8, 4, 8, %p0; or.b32 $d, $d, %r8;",
     "4444", V(ints), either},
    {"setp.gt.s32 %p0, $a, $b; and.pred %p1, !%p0, 1; not.pred %p1, !%p1; mov.pred %p1, !%p1; xor.pred %p1, !0, !%p1;\n"
     "not.pred %p1, %p1; xor.pred %p1, %p1, !0; selp.b32 $d, 0, 0xffffffff, !%p1;",
     "4444", V(ints), set_gt},
    {"lop3.or.b32 _|%p0, $a, $b, $c, 0x2d, 1; selp.b32 %r8, 1, 0, %p0;\n"
     "lop3.and.b32 _|%p0, $a, $b, $c, 0x2d, 1; selp.b32 %r9, 2, 0, %p0; or.b32 $d, %r8, %r9;",
     "4444", V(ints), lop3_all},
    {"bar.red.popc.u32 %r8, 0, 5; min.u32 $d, %r8, 1; bar.red.popc.u32 %r8, 0, 0; min.u32 %r8, %r8, 1;\n"
     "mad.lo.u32 $d, %r8, 2, $d; bar.red.and.pred %p0, 0, 1; selp.b32 %r8, 4, 0, %p0; or.b32 $d, $d, %r8;\n"
     "bar.red.or.pred %p0, 0, 0; selp.b32 %r8, 8, 0, %p0; or.b32 $d, $d, %r8;",
     "4444", V(ints), block_votes},
    {"cnot.b16 $d, $a;", "2222", V(ints), cnot_b16},
    {"slct.b64.s32 $d, $a, $b, $c;", "8884", V(ints), slct_s32},
    {"div.s32 $d, $a, $b;", "4444", V(ints), div_s32},
    {"rem.s64 $d, $a, $b;", "8888", V(ints), rem_s64},
    {"add.cc.u64 %d9, $a, $b; addc.u64 $d, $c, $a;", "8888", V(ints), add_chain},
    {"sub.cc.u64 %d9, $a, $b; subc.cc.u64 $d, $c, $a;", "8888", V(ints), sub_chain},
    {"mad.lo.cc.u32 %r9, $a, $b, $c; madc.hi.u32 $d, $a, $b, $b;", "4444", V(ints), mad_chain},
    {"add.u16x2 $d, $a, $b;", "4444", V(ints), add_u16x2},
    {"max.relu.s16x2 $d, $a, $b;", "4444", V(ints), max_s16x2_relu},
    {"bfind.shiftamt.s32 $d, $a;", "4444", V(ints), bfind_shift},
    {"cvt.sat.s8.s32 $d, $a;", "4444", V(ints), cvt_sat_s8_s32},
    {"cvt.sat.u8.s64 $d, $a;", "4888", V(ints), cvt_sat_u8_s64},
    {"cvt.sat.s32.u64 $d, $a;", "4888", V(ints), cvt_sat_s32_u64},
    {"cvt.s16.s8 $d, $a;", "2444", V(ints), cvt_s16_s8},
    {"cvt.s64.s8 $d, $a;", "8444", V(ints), cvt_s64_s8},
    {"cvt.u64.s16 $d, $a;", "8244", V(ints), cvt_u64_s16},
    {"cvt.pack.sat.s16.s32 $d, $a, $b;", "4444", V(ints), pack_s16},
    {"cvt.pack.sat.u8.s32.b32 $d, $a, $b, $c;", "4444", V(ints), pack_u8},
    {"add.ftz.f16 $d, $a, $b;", "2222", V(halves), add_ftz},
    {"add.ftz.f16x2 $d, $a, $b;", "4444", V(pairs), add_ftz_x2},
    {"sub.f16 $d, $a, $b;", "2222", V(halves), sub_f16},
    {"sub.f16x2 $d, $a, $b;", "4444", V(pairs), sub_f16_x2},
    {"mul.ftz.sat.f16 $d, $a, $b;", "2222", V(halves), mul_ftz_sat},
    {"mul.ftz.sat.f16x2 $d, $a, $b;", "4444", V(pairs), mul_ftz_sat_x2},
    {"fma.rn.ftz.f16 $d, $a, $b, $c;", "2222", V(halves), fma_ftz},
    {"fma.rn.ftz.f16x2 $d, $a, $b, $c;", "4444", V(pairs), fma_ftz_x2},
    {"fma.rn.relu.f16 $d, $a, $b, $c;", "2222", V(halves), fma_relu},
    {"fma.rn.relu.f16x2 $d, $a, $b, $c;", "4444", V(pairs), fma_relu_x2},
    {"fma.rn.bf16 $d, $a, $b, $c;", "2222", V(halves), fma_bf16},
    {"fma.rn.bf16x2 $d, $a, $b, $c;", "4444", V(pairs), fma_bf16_x2},
    {"mul.bf16 $d, $a, $b;", "2222", V(halves), mul_bf16},
    {"mul.bf16x2 $d, $a, $b;", "4444", V(pairs), mul_bf16_x2},
    {"neg.ftz.f16 $d, $a;", "2222", V(halves), neg_ftz},
    {"neg.ftz.f16x2 $d, $a;", "4444", V(pairs), neg_ftz_x2},
    {"abs.ftz.f16 $d, $a;", "2222", V(halves), abs_ftz},
    {"abs.ftz.f16x2 $d, $a;", "4444", V(pairs), abs_ftz_x2},
    {"min.ftz.f16 $d, $a, $b;", "2222", V(halves), min_ftz},
    {"min.ftz.f16x2 $d, $a, $b;", "4444", V(pairs), min_ftz_x2},
    {"max.NaN.bf16 $d, $a, $b;", "2222", V(halves), max_nan},
    {"max.NaN.bf16x2 $d, $a, $b;", "4444", V(pairs), max_nan_x2},
    {"min.xorsign.abs.f16 $d, $a, $b;", "2222", V(halves), min_xorsign},
    {"min.xorsign.abs.f16x2 $d, $a, $b;", "4444", V(pairs), min_xorsign_x2},
    {"set.lt.f16x2.f16x2 $d, $a, $b;", "4444", V(pairs), set_lt_f16x2},
    {"cvt.rz.f16.f32 $d, $a;", "2444", V(singles), rz_f16},
    {"cvt.rm.f16.f32 $d, $a;", "2444", V(singles), rm_f16},
    {"cvt.rp.bf16.f32 $d, $a;", "2444", V(singles), rp_bf16},
    {"cvt.rn.f16.f64 $d, $a;", "2888", V(doubles), rn_f16_f64},
    {"cvt.rna.tf32.f32 $d, $a;", "4444", V(singles), tf32_rna},
    {"cvt.rna.satfinite.tf32.f32 $d, $a;", "4444", V(singles), tf32_sat},
    {"cvt.rn.relu.satfinite.f16x2.f32 $d, $a, $b;", "4444", V(singles), f16x2_relu},
    {"cvt.rm.f32.f64 $d, $a;", "4888", V(doubles), f32_rm_f64},
    {"cvt.rni.sat.f32.f32 $d, $a;", "4444", V(singles), f32_rni_sat},
    {"cvt.rni.s8.f32 $d, $a;", "4444", V(singles), s8_f32},
    {"cvt.rmi.u16.f32 $d, $a;", "2444", V(singles), u16_f32},
    {"cvt.rpi.u32.f64 $d, $a;", "4888", V(doubles), u32_f64},
    {"cvt.rpi.ftz.s32.f32 $d, $a;", "4444", V(singles), s32_f32_ftz},
    {"cvt.rzi.u64.f32 $d, $a;", "8444", V(singles), u64_f32},
    {"cvt.rp.f32.u64 $d, $a;", "4888", V(ints), f32_rp_u64},
    {"cvt.rz.f32.s64 $d, $a;", "4888", V(ints), f32_rz_s64},
    {"cvt.rn.f16.s32 $d, $a;", "2444", V(ints), f16_rn_s32},
    {"testp.finite.f32 %p0, $a; selp.b32 $d, 1, 0, %p0;", "4444", V(singles), finite32},
    {"testp.subnormal.f32 %p0, $a; selp.b32 $d, 1, 0, %p0;", "4444", V(singles), subnormal},
    {"testp.number.f32 %p0, $a; selp.b32 $d, 1, 0, %p0;", "4444", V(singles), number},
    {"testp.normal.f64 %p0, $a; selp.b32 $d, 1, 0, %p0;", "4888", V(doubles), normal64},
    {"testp.notanumber.f64 %p0, $a; selp.b32 $d, 1, 0, %p0;", "4888", V(doubles), notanumber64},
    {"testp.infinite.f64 %p0, $a; selp.b32 $d, 1, 0, %p0;", "4888", V(doubles), infinite64},
    {"setp.ltu.f16 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4222", V(halves), ltu_f16},
    {"setp.ne.f16 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4222", V(halves), ne_f16},
    {"setp.equ.bf16 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4222", V(halves), equ_bf16},
    {"setp.gtu.f32 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4444", V(singles), gtu_f32},
    {"setp.le.f32 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4444", V(singles), le_f32},
    {"setp.neu.f64 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4888", V(doubles), neu_f64},
    {"setp.geu.f64 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4888", V(doubles), geu_f64},
    {"setp.num.f64 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4888", V(doubles), num_f64},
    {"setp.nan.f32 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4444", V(singles), nan_f32},
    {"setp.eq.ftz.f32 %p0, $a, $b; selp.b32 $d, 1, 0, %p0;", "4444", V(singles), eq_ftz},
    {"copysign.f32 $d, $a, $b;", "4444", V(singles), copysign_f32},
    {"slct.ftz.b32.f32 $d, $a, $b, $c;", "4444", V(singles), slct_f32},
    {"max.abs.f32 $d, $a, $b, $c;", "4444", V(singles), max3_abs},
    {"add.rp.ftz.f32 $d, $a, $b;", "4444", V(singles), add_rp_ftz},
};

static char register_of(char size) { return size == '2' ? 'h' : size == '4' ? 'r' : 'd'; }

static void write_kernel(kiln__text *out, size_t n)
{
    const row *r = &rows[n];
    kiln__text_printf(
        out,
        ".visible .entry k%zu (.param .u64 in, .param .u64 out) {\n"
        ".reg .pred %%p<4>; .reg .b16 %%h<10>; .reg .b32 %%r<12>; .reg .b64 %%d<12>;\n"
        "ld.param.u64 %%d4, [in]; ld.param.u64 %%d5, [out]; mov.u32 %%r4, %%tid.x; mov.u32 %%r5, %%ctaid.x;\n"
        "mad.lo.u32 %%r4, %%r5, 256, %%r4; mad.wide.u32 %%d4, %%r4, 24, %%d4; mad.wide.u32 %%d5, %%r4, 8, %%d5;\n"
        "ld.global.u64 %%d1, [%%d4]; ld.global.u64 %%d2, [%%d4+8]; ld.global.u64 %%d3, [%%d4+16];\n",
        n);
    for (int k = 1; k < 4; k++)
        if (r->sizes[k] != '8')
            kiln__text_printf(out, "cvt.u%d.u64 %%%c%d, %%d%d;\n", r->sizes[k] == '2' ? 16 : 32,
                              register_of(r->sizes[k]), k, k);
    for (const char *p = r->text; *p; p++) {
        if (*p == '$' && p++) {
            int k = *p == 'd' ? 0 : *p - 'a' + 1;
            kiln__text_printf(out, "%%%c%d", register_of(r->sizes[k]), k);
        } else {
            kiln__text_add(out, p, 1);
        }
    }
    if (r->sizes[0] != '8')
        kiln__text_printf(out, "\ncvt.u64.u%d %%d0, %%%c0;", r->sizes[0] == '2' ? 16 : 32, register_of(r->sizes[0]));
    kiln__text_puts(out, "\nst.global.u64 [%d5], %d0;\nret;\n}\n");
}

/* Runs each row with all combinations of the edge values and compares the results with the row's own computation. */
static void all_rows(void)
{
    enum { MOST = 32 * 32 * 32, BLOCK = 256 };
    static u64 in[MOST][3];
    kiln__text text = {0};
    int wrong = 0;
    for (size_t k = 0; k < KILN__COUNT(pairs); k++)
        pairs[k] = halves[k] | halves[(k * 7 + 5) % KILN__COUNT(halves)] << 16;
    kiln__text_puts(&text, ".version 9.0\n.target sm_100\n.address_size 64\n");
    for (size_t n = 0; n < KILN__COUNT(rows); n++)
        write_kernel(&text, n);
    vm_bench b = vm_bench_text(text.data, text.length, (vm_limits){.threads = 1});
    kiln__text_free(&text);
    u64 *to, *out;
    struct {
        u64 in, out;
    } p;
    p.in = vm_bench_zeros(&b, sizeof in, &to);
    p.out = vm_bench_zeros(&b, MOST * 8, &out);
    for (size_t n = 0; n < KILN__COUNT(rows); n++) {
        const row *r = &rows[n];
        size_t v = r->value_count, operands = strstr(r->text, "$c") ? 3 : strstr(r->text, "$b") ? 2 : 1, count = v;
        char name[16];
        for (size_t k = 1; k < operands; k++)
            count *= v;
        for (size_t k = 0; k < MOST; k++)
            for (size_t o = 0, rest = k % count; o < 3; rest /= v, o++)
                in[k][o] = r->values[rest % v];
        memcpy(to, in, sizeof in);
        snprintf(name, sizeof name, "k%zu", n);
        vm_bench_run(&b, name, (uint32_t)((count + BLOCK - 1) / BLOCK), BLOCK, &p);
        int shown = 0;
        for (size_t k = 0; k < count; k++) {
            u64 want = r->want(in[k][0], in[k][1], in[k][2]);
            if (out[k] == want)
                continue;
            wrong++;
            if (shown++ < 4)
                fprintf(stderr, "%s a=%llx b=%llx c=%llx: got %llx, want %llx\n", r->text, (unsigned long long)in[k][0],
                        (unsigned long long)in[k][1], (unsigned long long)in[k][2], (unsigned long long)out[k],
                        (unsigned long long)want);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    vm_bench_end(&b);
}

/* Tests cvt between integers: all pairs of types, with and without .sat, in all registers that are wide enough. The low
 * bits of the source are read in its type, and clamped or cut to the destination's type. Then they are extended by its
 * sign to the register. */
static void integer_conversions(void)
{
    static const char *const types[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
    enum { LANES = 20, MOST = 8 * 8 * 2 * 9 };
    kiln__text text = {0};
    kiln__text_puts(
        &text, ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k (.param .u64 in, .param .u64 out) {\n"
               ".reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<8>;\nld.param.u64 %d4, [in]; ld.param.u64 %d5, [out];\n"
               "mov.u32 %r4, %tid.x; mad.wide.u32 %d4, %r4, 8, %d4; mad.wide.u32 %d5, %r4, 8, %d5;\n"
               "ld.global.u64 %d1, [%d4]; ld.global.u32 %r1, [%d4]; ld.global.u16 %h1, [%d4];\n");
    static struct {
        int to, from, sat, reg;
    } forms[MOST];
    size_t count = 0;
    for (int to = 0; to < 8; to++)
        for (int from = 0; from < 8; from++)
            for (int more = 0; more < 18; more++) {
                /* 1, 2 and 3 stand for 16, 32 and 64 bits */
                int reg = more % 3 + 1, source = more / 3 % 3 + 1, saturate = more / 9;
                if (reg < to / 2 || source < from / 2)
                    continue;
                kiln__text_printf(&text, "cvt%s.%s.%s %%%c0, %%%c1; st.global.u%d [%%d5+%zu], %%%c0;\n",
                                  saturate ? ".sat" : "", types[to], types[from], "?hrd"[reg], "?hrd"[source], 8 << reg,
                                  count * LANES * 8, "?hrd"[reg]);
                forms[count].to = to, forms[count].from = from, forms[count].sat = saturate, forms[count++].reg = reg;
            }
    kiln__text_puts(&text, "ret;\n}\n");
    vm_bench b = vm_bench_text(text.data, text.length, (vm_limits){.threads = 1});
    kiln__text_free(&text);
    u64 *in, *out;
    struct {
        u64 in, out;
    } p;
    p.in = vm_bench_zeros(&b, LANES * 8, &in);
    p.out = vm_bench_zeros(&b, count * LANES * 8, &out);
    memcpy(in, ints, LANES * 8);
    vm_bench_run(&b, "k", 1, LANES, &p);
    int wrong = 0;
    __extension__ typedef __int128 s128;
    for (size_t n = 0; n < count; n++)
        for (size_t lane = 0; lane < LANES; lane++) {
            int bits = 8 << forms[n].from / 2, to_bits = 8 << forms[n].to / 2;
            u64 keep = to_bits == 64 ? UINT64_MAX : ((u64)1 << to_bits) - 1;
            u64 raw = ints[lane] << (64 - bits);
            s128 x = forms[n].from & 1 ? (s128)((int64_t)raw >> (64 - bits)) : (s128)(raw >> (64 - bits));
            s128 high = forms[n].to & 1 ? (s128)(keep >> 1) : (s128)keep, low = forms[n].to & 1 ? -high - 1 : 0;
            if (forms[n].sat)
                x = x < low ? low : x > high ? high : x;
            u64 want = (u64)x & keep;
            if (forms[n].to & 1 && want >> (to_bits - 1) & 1)
                want |= ~keep;
            if (forms[n].reg < 3)
                want &= ((u64)1 << (8 << forms[n].reg)) - 1;
            if (out[n * LANES + lane] != want && wrong++ < 10)
                fprintf(stderr, "cvt%s.%s.%s to %d bits, %llx: got %llx, want %llx\n", forms[n].sat ? ".sat" : "",
                        types[forms[n].to], types[forms[n].from], 8 << forms[n].reg, (unsigned long long)ints[lane],
                        (unsigned long long)out[n * LANES + lane], (unsigned long long)want);
        }
    CU_ASSERT_EQUAL(wrong, 0);
    vm_bench_end(&b);
}

/* Before PTX 2.0 the indices and sizes of threads and blocks had 16 bits: the lower bits of today's values. */
static void short_indices(void)
{
    static const char text[] =
        ".version 1.4\n.target sm_10, map_f64_to_f32\n.entry k (.param .u64 a) {\n"
        ".reg .u16 %h<8>; .reg .u32 %r<16>; .reg .u64 %d<4>; .reg .pred %p<2>;\n"
        "mov.u32 %r1, %ctaid.x; setp.lt.u32 %p1, %r1, 65536; @%p1 exit; sub.u32 %r1, %r1, 65536;\n"
        "mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 2, %r2; ld.param.u64 %d1, [a];\n"
        "mul.wide.u32 %d2, %r1, 32; add.u64 %d1, %d1, %d2;\n"
        "mov.u16 %h1, %ctaid.x; mov.u16 %h2, %ntid.x; mul.wide.u16 %r3, %h1, %h2; cvt.u32.u16 %r4, %tid.x;\n"
        "add.u32 %r5, %r3, %r4; mov.b16 %h3, %nctaid.x; cvt.u32.u16 %r6, %h3; cvt.s32.s16 %r7, %nctaid.x;\n"
        "mov.s16 %h4, %tid.z; cvt.s32.s16 %r8, %h4; mov.u16 %h5, %gridid; cvt.u32.u16 %r9, %h5; mov.u32 %r10, %gridid;\n"
        "sub.u32 %r9, %r9, %r10; cvt.u64.u16 %d3, %ctaid.x; cvt.u32.u64 %r11, %d3;\n"
        "st.global.v4.u32 [%d1], {%r5, %r6, %r7, %r8}; st.global.v2.u32 [%d1+16], {%r9, %r11}; exit;\n}\n";
    enum { BLOCKS = 65540 };
    vm_bench b = vm_bench_text(text, sizeof text - 1, (vm_limits){.threads = 1});
    uint32_t(*out)[8];
    uint64_t p = vm_bench_zeros(&b, 8 * sizeof *out, &out);
    vm_bench_run(&b, "k", BLOCKS, 2, &p);
    for (uint32_t k = 0; k < 8; k++) {
        const uint32_t want[] = {k, 4, 4, 0, 0, k / 2};
        CU_ASSERT_EQUAL(memcmp(out[k], want, sizeof want), 0);
    }
    vm_bench_end(&b);
}

static const check_case cases[] = {{"instructions over edge values", all_rows},
                                   {"integer conversions", integer_conversions},
                                   {"indices of 16 bits", short_indices}};
KILN_SUITE("vm forms", cases)
