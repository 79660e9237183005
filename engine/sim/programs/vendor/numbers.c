/* numbers.c - converts numbers of the types of cudaDataType to doubles and back; complex arithmetic. */
#include <math.h>
#include <string.h>

#include "numbers.h"

size_t vendor_type_size(int type)
{
    switch (type) {
    case R_8I:
    case R_8F_E4M3:
    case R_8F_E5M2: return 1;
    case R_16F:
    case R_16BF: return 2;
    case R_32F:
    case R_32I: return 4;
    case R_64F: return 8;
    default: return 0; /* complex types have functions of their own */
    }
}

bool vendor_type_is_written(int type) { return vendor_type_size(type) && type != R_8F_E4M3 && type != R_8F_E5M2; }

static double half_to_double(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                                       : ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
    return bits & 0x8000 ? -size : size;
}

/* Rounds a number to the nearest half, and a tie to the even half. */
static uint16_t double_to_half(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value))
        return 0x7fff;
    const double size = fabs(value);
    if (size == 0) /* zero has no exponent */
        return sign;
    if (size >= 65520) /* 65520 is halfway between the largest half and the number after it */
        return sign | 0x7c00;
    frexp(size, &exponent);
    const int unit = exponent < -13 ? -24 : exponent - 11; /* the exponent of the last place */
    /* the result is at most 2048, and 2048 carries into the exponent */
    const double scaled = nearbyint(ldexp(size, -unit));
    return (uint16_t)(sign | (unit == -24 ? (uint16_t)scaled : (uint16_t)(((unit + 24) << 10) + (int)scaled)));
}

static float bfloat_to_float(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Rounds to the nearest bfloat16. The conversion to float must not cause a double rounding. So if the float is not
 * exact, the function rounds it to odd: then no number becomes a tie. */
static uint16_t double_to_bfloat(double value)
{
    const float near = (float)value;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if (isnan(value))
        return 0x7fff;
    if ((double)near != value)
        bits = (bits - (fabs((double)near) > fabs(value))) | 1;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* E4M3 has no infinity: only the largest bit pattern is a NaN. */
static double e4m3_to_double(uint8_t bits)
{
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    const double size = (bits & 127) == 127 ? NAN
                                            : ldexp(exponent ? 8 + fraction : fraction, (exponent ? exponent : 1) - 10);
    return bits & 128 ? -size : size;
}

double vendor_read(const void *at, int64_t index, int type)
{
    switch (type) {
    case R_8I: return ((const int8_t *)at)[index];
    case R_8F_E4M3: return e4m3_to_double(((const uint8_t *)at)[index]);
    /* an E5M2 number is the upper half of an f16 */
    case R_8F_E5M2: return half_to_double((uint16_t)(((const uint8_t *)at)[index] << 8));
    case R_16F: return half_to_double(((const uint16_t *)at)[index]);
    case R_16BF: return (double)bfloat_to_float(((const uint16_t *)at)[index]);
    case R_32F: return (double)((const float *)at)[index];
    case R_32I: return ((const int32_t *)at)[index];
    default: return ((const double *)at)[index];
    }
}

/* Integer sums wrap, as on the device. An infinite value or a NaN, which only products of other types give, becomes
 * 0. */
static int32_t wrap(double value)
{
    return isfinite(value) ? (int32_t)(uint32_t)(int64_t)fmod(value, 4294967296.0) : 0;
}

void vendor_write(void *at, int64_t index, int type, double value)
{
    switch (type) {
    case R_16F: ((uint16_t *)at)[index] = double_to_half(value); break;
    case R_16BF: ((uint16_t *)at)[index] = double_to_bfloat(value); break;
    case R_32F: ((float *)at)[index] = (float)value; break;
    case R_32I: ((int32_t *)at)[index] = wrap(value); break;
    case R_8I: ((int8_t *)at)[index] = (int8_t)(value > 127 ? 127 : value >= -128 ? nearbyint(value) : -128); break;
    default: ((double *)at)[index] = value; break;
    }
}

/* ---- complex numbers ---- */

int vendor_part_type(int type)
{
    switch (type) {
    case C_32F: return R_32F;
    case C_64F: return R_64F;
    case C_16F: return R_16F;
    case C_16BF: return R_16BF;
    default: return -1;
    }
}

size_t vendor_number_size(int type)
{
    const int part = vendor_part_type(type);
    return part < 0 ? vendor_type_size(type) : 2 * vendor_type_size(part);
}

vendor_number vendor_read_number(const void *at, int64_t index, int type)
{
    const int part = vendor_part_type(type);
    return part < 0 ? (vendor_number){vendor_read(at, index, type), 0}
                    : (vendor_number){vendor_read(at, 2 * index, part), vendor_read(at, 2 * index + 1, part)};
}

void vendor_write_number(void *at, int64_t index, int type, vendor_number value)
{
    const int part = vendor_part_type(type);
    if (part < 0) {
        vendor_write(at, index, type, value.re);
    } else {
        vendor_write(at, 2 * index, part, value.re);
        vendor_write(at, 2 * index + 1, part, value.im);
    }
}

/* Divides by the larger part of the divisor first (Smith's method), so that no square overflows. */
vendor_number vendor_divide(vendor_number a, vendor_number b)
{
    if (b.im == 0)
        return (vendor_number){a.re / b.re, a.im == 0 ? 0 : a.im / b.re};
    if (fabs(b.re) >= fabs(b.im)) {
        const double ratio = b.im / b.re, size = b.re + b.im * ratio;
        return (vendor_number){(a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size};
    }
    const double ratio = b.re / b.im, size = b.re * ratio + b.im;
    return (vendor_number){(a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size};
}
