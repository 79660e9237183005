/* narrow.c - conversions to and from floating point of 8, 6 and 4 bits, conversions with random bits, and arithmetic
 * on pairs of singles. */
#include <fenv.h>
#include <math.h>

#include "vm_math.h"
#include "vm_ops.h"

/* A format of narrow numbers. `bits` is the width of an element in a register, `mantissa` the number of bits of the
 * mantissa. `most` is the code of the greatest number, `nan` the code of NaN. A `nan` of 0 means that the format has
 * no NaN. The sign is not part of a code. */
typedef struct narrow {
    uint8_t bits, mantissa, bias, most, nan;
} narrow;

static narrow narrow_of(unsigned type)
{
    switch (type) {
    case PTX_E4M3X2:
    case PTX_E4M3X4: return (narrow){8, 3, 7, 0x7e, 0x7f};
    case PTX_E5M2X2:
    case PTX_E5M2X4: return (narrow){8, 2, 15, 0x7b, 0x7f};
    case PTX_E2M3X2:
    case PTX_E2M3X4: return (narrow){8, 3, 1, 0x1f, 0};
    case PTX_E3M2X2:
    case PTX_E3M2X4: return (narrow){8, 2, 3, 0x1f, 0};
    default: return (narrow){4, 1, 1, 7, 0}; /* e2m1 */
    }
}

static unsigned sign_shift(unsigned type)
{
    switch (type) {
    case PTX_E2M3X2:
    case PTX_E2M3X4:
    case PTX_E3M2X2:
    case PTX_E3M2X4: return 5;
    case PTX_E2M1X2:
    case PTX_E2M1X4: return 3;
    default: return 7;
    }
}

/* Converts a value to a narrow format. If `count` is 0, rounds to nearest even. Otherwise rounds stochastically:
 * `random` has `count` bits, and the result is rounded away from zero if the sum of these bits and the discarded bits
 * has a carry. Infinities and values that are too large become the greatest finite value (.satfinite). */
static uint32_t to_narrow(unsigned type, double x, bool relu, uint32_t random, unsigned count)
{
    narrow f = narrow_of(type);
    if (x != x)
        return f.nan ? f.nan : f.most;
    if (relu && x <= 0)
        return 0;
    uint32_t sign = (uint32_t)(vm_bits64(x) >> 63) << sign_shift(type);
    double size = fabs(x);
    int power;
    if (size == 0)
        return sign;
    if (isinf(x))
        return sign | f.most;
    frexp(size, &power);
    power = power - 1 > 1 - f.bias ? power - 1 : 1 - f.bias;
    double steps = ldexp(size, f.mantissa - power), whole = floor(steps);
    if (!count)
        whole = nearbyint(steps);
    else if (floor(ldexp(steps - whole, (int)count)) + (double)random >= ldexp(1, (int)count))
        whole += 1;
    double code = (double)((power + f.bias - 1) << f.mantissa) + whole;
    return sign | (code > f.most ? f.most : (uint32_t)code);
}

double ops_narrow_get(unsigned type, uint32_t bits)
{
    narrow f = narrow_of(type);
    uint32_t sign = bits >> sign_shift(type) & 1, code = bits & ((1u << sign_shift(type)) - 1);
    uint32_t fraction = code & ((1u << f.mantissa) - 1);
    int power = (int)(code >> f.mantissa);
    double x = power ? ldexp((double)(fraction + (1u << f.mantissa)), power - f.bias - f.mantissa)
                     : ldexp((double)fraction, 1 - f.bias - f.mantissa);
    if (f.nan && code > f.most)
        x = f.bits == 8 && f.mantissa == 2 && code == 0x7c ? INFINITY : NAN;
    return sign ? -x : x;
}

uint32_t ops_narrow_put(unsigned type, double value) { return to_narrow(type, value, false, 0, 0); }

/* Converts the magnitude of a single to a power of two in the format ue8m0, which has the bias 127, no sign, and the
 * code 255 for NaN. Rounds towards zero, or up if `up` is true (.rp). */
static uint32_t to_power(uint32_t single, bool up, bool finite)
{
    uint32_t size = single & 0x7fffffffu, code = size >> 23;
    if (up && size & 0x7fffff && size > 0x00400000u && size < 0x7f800000u)
        code++;
    return finite && code == 255 && size <= 0x7f800000u ? 254 : code;
}

/* Converts a single to f16 or bf16. Rounds it stochastically with `cut` random bits. */
static uint32_t half_random(unsigned type, float x, bool relu, bool finite, uint32_t random, unsigned cut)
{
    uint32_t low = ops_half_put(type, (double)x, PTX_MOD_RZ), infinite = type == PTX_BF16 ? 0x7f80 : 0x7c00;
    if (x != x)
        return low;
    if (relu && x <= 0)
        return 0;
    if (isfinite(x) && (low & 0x7fff) < infinite) {
        double below = fabs(ops_half_get(type, low)), unit = fabs(ops_half_get(type, low + 1));
        /* the distance from the greatest number to the next value equals the distance from it to the number below */
        if ((low & 0x7fff) + 1 == infinite)
            unit = 2 * below - fabs(ops_half_get(type, low - 1));
        double part = (fabs((double)x) - below) / (unit - below);
        low += floor(ldexp(part, (int)cut)) + (double)random >= ldexp(1, (int)cut);
    }
    return finite && (low & 0x7fff) == infinite ? low - 1 : low;
}

/* Converts a number. `space` is the type of the result, `count` is the type of the source, and `size` is the rounding.
 * The sources are the slots a and b, or four slots in `extra` for the x4 types. The slot c holds random bits. The flags
 * may hold VM_RELU, and VM_XORSIGN for .satfinite. */
void ops_cvt_narrow(vm_warp *w, const vm_code *i, uint32_t m)
{
    unsigned to = i->space, from = i->count;
    bool relu = i->flags & VM_RELU, finite = i->flags & VM_XORSIGN;
    const uint32_t *slots = i->extra;
    VM_EACH(lane, m) {
        uint32_t a = vm_r32(w, i->a)[lane], b = i->b ? vm_r32(w, i->b)[lane] : 0,
                 random = i->c ? vm_r32(w, i->c)[lane] : 0, r = 0;
        double high = (double)vm_float(a), low = (double)vm_float(b);
        if (from == PTX_F16X2)
            high = ops_half_get(PTX_F16, a >> 16), low = ops_half_get(PTX_F16, a & 0xffff);
        switch (to) {
        case PTX_F16X2:
        case PTX_BF16X2: {
            unsigned half = to == PTX_F16X2 ? PTX_F16 : PTX_BF16;
            if (from == PTX_F32) {
                unsigned cut = half == PTX_F16 ? 13 : 16;
                r = half_random(half, vm_float(a), relu, finite, random >> 16 & ((1u << cut) - 1), cut) << 16 |
                    half_random(half, vm_float(b), relu, finite, random & ((1u << cut) - 1), cut);
                break;
            }
            for (unsigned k = 0; k < 2; k++) {
                double x = from == PTX_UE8M0X2
                               ? ((a >> 8 * k & 255) == 255 ? NAN : ldexp(1, (int)(a >> 8 * k & 255) - 127))
                           : from == PTX_E2M1X2 ? ops_narrow_get(from, a >> 4 * k & 15)
                                                : ops_narrow_get(from, a >> 8 * k & 255);
                if (relu && x <= 0)
                    x = 0;
                r |= ops_half_put(half, x, PTX_MOD_RN) << 16 * k;
            }
            break;
        }
        case PTX_UE8M0X2: {
            bool up = i->size == PTX_MOD_RP;
            if (from == PTX_BF16X2)
                b = a << 16, a &= 0xffff0000u;
            r = to_power(a, up, finite) << 8 | to_power(b, up, finite);
            break;
        }
        case PTX_E4M3X4:
        case PTX_E5M2X4:
        case PTX_E2M3X4:
        case PTX_E3M2X4:
        case PTX_E2M1X4: {
            narrow f = narrow_of(to);
            for (unsigned k = 0; k < 4; k++) { /* the first source becomes the highest element */
                uint32_t bits = f.bits == 8 ? random >> (k < 2 ? 16 : 0) & 0xffff
                                            : random >> ((k & 1 ? 0 : 16) + (k < 2 ? 8 : 0)) & 0xff;
                double x = (double)vm_float(vm_r32(w, slots[k])[lane]);
                r |= to_narrow(to, x, relu, bits, f.bits == 8 ? 16 : 8) << (3 - k) * f.bits;
            }
            break;
        }
        default: {
            narrow f = narrow_of(to);
            r = to_narrow(to, high, relu, 0, 0) << f.bits | to_narrow(to, low, relu, 0, 0);
            break;
        }
        }
        vm_r32(w, i->d)[lane] = r;
    }
}

/* Computes two singles that share 64 bits. `size` is VM_ADD, VM_SUB, VM_MUL or VM_FMA, and `count` is the rounding.
 * The flags may hold VM_FTZ. */
void ops_pair32(vm_warp *w, const vm_code *i, uint32_t m)
{
    int before = fegetround();
    fesetround(ops_host_rounding(i->count));
    VM_EACH(lane, m) {
        uint64_t a = vm_r64(w, i->a)[lane], b = vm_r64(w, i->b)[lane], c = i->c ? vm_r64(w, i->c)[lane] : 0, r = 0;
        for (unsigned k = 0; k < 64; k += 32) {
            float x = vm_float((uint32_t)(a >> k)), y = vm_float((uint32_t)(b >> k)), z = vm_float((uint32_t)(c >> k));
            r |= (uint64_t)vm_bits32(ops_round_to_f32(i->size, x, y, z, i->flags)) << k;
        }
        vm_r64(w, i->d)[lane] = r;
    }
    fesetround(before);
}
