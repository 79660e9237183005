/* bound.c - decides whether two results are equal, and computes the bound on the error of approximate results. The
 * bounds come from the section "Floating Point Instructions" of the PTX ISA manual, if it states one. */
#include <math.h>
#include <string.h>

#include "conformance.h"

float conf_half(uint64_t bits)
{
    const uint64_t sign = bits >> 15 & 1, exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0 ? (double)fraction * 0x1p-24 : ldexp((double)(fraction + 1024), (int)exponent - 25);
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    return (float)(sign ? -value : value);
}

float conf_bfloat(uint64_t bits)
{
    const uint32_t wide = (uint32_t)(bits & 0xffff) << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

static double value_of(const char *type, uint64_t bits)
{
    float f;
    double d;
    if (strncmp(type, "f16", 3) == 0)
        return (double)conf_half(bits);
    if (strncmp(type, "bf16", 4) == 0)
        return (double)conf_bfloat(bits);
    if (strcmp(type, "f32") == 0) {
        memcpy(&f, &bits, 4);
        return (double)f;
    }
    memcpy(&d, &bits, 8);
    return d;
}

static uint64_t one_nan(uint64_t bits, uint64_t infinity, uint64_t sign)
{
    return (bits & (sign - 1)) > infinity ? sign - 1 : bits;
}

uint64_t conf_canonical(conf_kind kind, const conf_operand *o, uint64_t value)
{
    if (o->reg < 64)
        value &= (o->reg == 1 ? 1ull << 32 : 1ull << o->reg) - 1;
    if (kind == CONF_BITS)
        return value;
    if (!o->exponent)
        return value;
    const uint64_t sign = 1ull << (o->exponent + o->mantissa), infinity = sign - (1ull << o->mantissa);
    if (o->bits != o->exponent + o->mantissa + 1) /* the value consists of two halves */
        return one_nan(value & 0xffff, infinity, sign) | one_nan(value >> 16, infinity, sign) << 16;
    return one_nan(value, infinity, sign);
}

/* Returns the true result. *bound gets the absolute error that the manual permits, or infinity if the manual states no
 * bound. */
static double truth(const conf_case *each, double a, double b, double *bound)
{
    double r = 0, ulp2 = 0x1p-22;
    switch (each->kind) {
    case CONF_SIN:
    case CONF_COS:
        r = each->kind == CONF_SIN ? sin(a) : cos(a);
        *bound = fabs(a) <= 6.28318530717958 ? exp2(each->kind == CONF_SIN ? -20.5 : -20.4)
                 : fabs(a) <= 314.159265     ? exp2(-14.7)
                                             : INFINITY;
        return r;
    case CONF_LG2:
        r = log2(a);
        *bound = a > 0.5 && a < 2 ? 0x1p-22 : fabs(r) * 0x1p-22;
        return r;
    case CONF_EX2: r = exp2(a); break;
    case CONF_EX2_F16:
        *bound = (r = exp2(a)) * exp2(-9.9) + 0x1p-24; /* a subnormal result is cut, not rounded */
        return r;
    case CONF_EX2_BF16: *bound = (r = exp2(a)) * 0x1p-7; return r;
    case CONF_TANH: *bound = fabs(r = tanh(a)) * 0x1p-11; return r;
    case CONF_TANH_F16:
        r = tanh(a);
        *bound = exp2(-10.987);
        return r;
    case CONF_TANH_BF16:
        r = tanh(a);
        *bound = 0x1p-8;
        return r;
    case CONF_RSQRT: *bound = fabs(r = 1 / sqrt(a)) * exp2(-22.9); return r;
    case CONF_RSQRT_F64:
    case CONF_RCP_F64: /* the upper word of the result is approximate, the lower word is zero */
        r = each->kind == CONF_RCP_F64 ? 1 / a : 1 / sqrt(a);
        *bound = fabs(r) * 0x1p-19;
        return r;
    case CONF_RCP:
        r = 1 / a;
        ulp2 = 0x1p-23;
        break;
    case CONF_SQRT:
        r = sqrt(a);
        ulp2 = 0x1p-23;
        break;
    case CONF_DIV: r = a / b; break;
    default: break;
    }
    *bound = fabs(r) * ulp2 + 0x1p-148;
    return r;
}

static double flushed(double x) { return fabs(x) < 0x1p-126 ? copysign(0, x) : x; }

static bool near(const conf_case *each, const char *type, uint64_t a_bits, uint64_t b_bits, uint64_t got, uint64_t want)
{
    const double g = value_of(type, got), w = value_of(type, want);
    if (got == want && (g == 0 || !isfinite(g)))
        return true;
    double a = value_of(type, a_bits), b = value_of(type, b_bits), bound = 0;
    if (isnan(g) || isnan(w))
        return false;
    const bool ftz = strstr(each->name, ".ftz") != NULL;
    if (ftz && type[0] == 'f' && type[1] == '3') {
        a = flushed(a);
        b = flushed(b);
    }
    const double r = truth(each, a, b, &bound);
    if (isinf(bound))
        return !isinf(g) && fabs(g) <= 1.01;
    if (ftz)
        bound += 0x1p-126;
    // at the end of the range, one result may overflow and the other may stay finite
    if (isinf(w) || isinf(g) || isinf(r))
        return isinf(r) ? false : fabs(r) * 1.001 > (type[0] == 'f' && type[1] == '1' ? 65504 : 0x1.fffffep127);
    /* the recorded result of the device must be within the bound too; otherwise the bound is wrong */
    return fabs(g - r) <= bound && fabs(w - r) <= bound;
}

/* Returns the bound for filtered texels. A weight has 8 fractional bits, so its error is at most 1/512. It moves the
 * result by at most this share of the difference between two texels. Texels lie between 0 and 1, or between -1 and 1
 * if they are signed. With one or two weights the simulated device rounds and multiplies like the GPU, so only the
 * sums may differ. With three weights (volumes, or between levels) the GPU may round differently, so each weight
 * adds 1/512. sRGB values have about ten bits on the GPU. */
static double filter_bound(const conf_case *each)
{
    char object[CONF_OBJECT];
    conf_object(each, object);
    const bool third = strstr(object, "_3d") || strstr(object, "_mipl") || strstr(object, "_srgb");
    return (third ? 0x1.8p-8 : 0x1p-9) * (object[0] == 's' ? 2 : 1);
}

bool conf_accept(const conf_case *each, int output, const uint64_t *in, uint64_t got, uint64_t want)
{
    if (each->kind <= CONF_BITS)
        return got == want;
    if (each->kind == CONF_MMA) /* terms below 1, at most 33 of them: each may be cut, and the sum is rounded */
        return got == want ||
               fabs(value_of(each->outputs[output].type, got) - value_of(each->outputs[output].type, want)) <=
                   (each->outputs[output].type[0] == 'f' && each->outputs[output].bits == 32 &&
                            each->outputs[output].type[1] == '3'
                        ? 0x1p-16
                        : 0x1p-4);
    if (each->kind == CONF_FILTER)
        return fabs(value_of("f32", got) - value_of("f32", want)) <= filter_bound(each);
    const char *type = each->outputs[output].type;
    if (strcmp(type + strlen(type) - 2, "x2") == 0)
        return near(each, type, in[0], in[1], got & 0xffff, want & 0xffff) &&
               near(each, type, in[0] >> 16, in[1] >> 16, got >> 16, want >> 16);
    return near(each, type, in[0], in[1], got, want);
}
