/* input.c - makes the inputs of a case. First come the edge values of each type, in all pairs if there is room for
 * them. Then come random values near the places where a result changes its kind. All values follow from the name of the
 * case. */
#include <math.h>
#include <string.h>

#include "conformance.h"

/* Compares two words. The first character comes first, because one strcmp() per value and word took a third of the
 * suite's time. */
static bool is(const char *text, const char *word) { return text[0] == word[0] && strcmp(text, word) == 0; }

static const uint64_t HASH_BASIS = 0xcbf29ce484222325u;

static inline uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
    hash = (hash ^ byte) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

uint64_t conf_hash(const void *data, size_t length, uint64_t seed)
{
    const unsigned char *bytes = data;
    uint64_t hash = HASH_BASIS ^ seed;
    for (size_t i = 0; i < length; i++)
        hash = hash_byte(hash, bytes[i]);
    return hash;
}

void conf_hash_four(const void *const data[4], const size_t lengths[4], uint64_t hashes[4])
{
    size_t together = SIZE_MAX;
    for (int k = 0; k < 4; k++) {
        hashes[k] = HASH_BASIS;
        together = lengths[k] < together ? lengths[k] : together;
    }
    for (size_t i = 0; i < together; i++)
        for (int k = 0; k < 4; k++)
            hashes[k] = hash_byte(hashes[k], ((const unsigned char *)data[k])[i]);
    for (int k = 0; k < 4; k++)
        for (size_t i = together; i < lengths[k]; i++)
            hashes[k] = hash_byte(hashes[k], ((const unsigned char *)data[k])[i]);
}

static uint64_t random_next(uint64_t *state)
{ /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- edges ---- */

typedef struct edges {
    uint64_t values[96];
    int count;
} edges;

static void edge(edges *list, uint64_t value)
{
    if (list->count < (int)(sizeof list->values / sizeof *list->values))
        list->values[list->count++] = value;
}

/* Adds the edge values of an integer type: zero, the limits, their neighbours, powers of two, and patterns of bits. */
static void integer_edges(edges *list, int bits)
{
    const uint64_t top = 1ull << (bits - 1);
    static const uint64_t common[] = {0,
                                      1,
                                      2,
                                      3,
                                      7,
                                      10,
                                      0x55,
                                      0x80,
                                      0xff,
                                      0x100,
                                      0x7fff,
                                      0x8000,
                                      0xffff,
                                      0x10000,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x100000000,
                                      0x5555555555555555,
                                      0x0123456789abcdef,
                                      0x3fffffffffffffff,
                                      0x00ff00ff00ff00ff};
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (bits == 64 || common[i] >> bits == 0 || i >= 18)
            edge(list, common[i]);
    for (uint64_t i = 0; i < 3; i++) {
        edge(list, top - 1 - i);
        edge(list, top + i);
        edge(list, ~i);
    }
    edge(list, 0 - (uint64_t)10);
    edge(list, 0 - (uint64_t)128);
    edge(list, 0 - (uint64_t)129);
    edge(list, top >> 1);
    edge(list, top - top / 128);
}

/* Adds both signs of each edge of a format with `mantissa` bits below the leading one and `exponent` bits. */
static void float_edges(edges *list, int exponent, int mantissa)
{
    const uint64_t sign = 1ull << (exponent + mantissa), one = ((1ull << (exponent - 1)) - 1) << mantissa;
    const uint64_t unit = 1ull << mantissa, infinity = sign - unit;
    const uint64_t values[] = {
        0,
        1,
        unit - 1,
        unit,
        unit + 1,
        one,
        one + 1,
        one - 1,
        one + unit,
        one - unit,
        one + unit / 2,
        one + unit + unit / 4,
        one + unit * 2 - unit / 4 - 1,
        infinity - 1,
        infinity,
        infinity + unit / 2,
        infinity + 1,
        infinity + unit - 1,
        one + (uint64_t)mantissa * unit,
        one + (uint64_t)mantissa * unit + 1,
        one - (uint64_t)mantissa * unit,
        one + unit / 3,
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        edge(list, values[i]);
        edge(list, values[i] | sign);
    }
}

/* Adds values at which conversions saturate, round up to the next power of two, or become subnormal. */
static void conversion_edges(edges *list, const char *type)
{
    static const uint32_t singles[] = {
        0x3f000000, 0x3fc00000, 0x40200000, 0x40600000, 0x477fe000, 0x477fefff, 0x477ff000, 0x38800000, 0x387fffff,
        0x387fe000, 0x387ff000, 0x33800000, 0x33000000, 0x33000001, 0x7f7f0000, 0x7f7f7fff, 0x7f7f8000, 0x42fe0000,
        0x42ff0000, 0x43000000, 0x437f0000, 0x437f8000, 0x46fffe00, 0x46ffff00, 0x477fff80, 0x4effffff, 0x4f000000,
        0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f7fffff, 0x5f800000, 0x00404000};
    static const uint64_t doubles[] = {
        0x380fffffffffffff, 0x3810000000000000, 0x380ffffff0000000, 0x380fffffe0000000, 0x36a0000000000000,
        0x3690000000000000, 0x3690000000000001, 0x47efffffe0000000, 0x47effffff0000000, 0x47efffffefffffff,
        0x40effc0000000000, 0x40effe0000000000, 0x40effdffffffffff, 0x3f0fffffffffffff, 0x3e60000000000000,
        0x3e60000000000001, 0x41dfffffffc00000, 0x41dfffffffe00000, 0x41e0000000000000, 0x41efffffffe00000,
        0x41effffffff00000, 0x43dfffffffffffff, 0x43e0000000000000, 0x43efffffffffffff, 0x43f0000000000000,
        0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0x405fe00000000000, 0x406ff00000000000};
    for (size_t i = 0; strcmp(type, "f32") == 0 && i < sizeof singles / sizeof *singles; i++)
        edge(list, singles[i] | (i % 2 == 0 ? 0 : 0x80000000));
    for (size_t i = 0; strcmp(type, "f64") == 0 && i < sizeof doubles / sizeof *doubles; i++)
        edge(list, doubles[i] | (i % 3 == 0 ? 0x8000000000000000 : 0));
}

/* ---- kinds of values ---- */

bool conf_is_float(const char *type, int *exponent, int *mantissa)
{
    static const struct {
        const char *name;
        int exponent, mantissa;
    } formats[] = {{"f16", 5, 10}, {"bf16", 8, 7}, {"f32", 8, 23}, {"f64", 11, 52}, {"f16x2", 5, 10}, {"bf16x2", 8, 7}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(type, formats[i].name) == 0) {
            *exponent = formats[i].exponent;
            *mantissa = formats[i].mantissa;
            return true;
        }
    }
    return false;
}

static uint64_t random_integer(uint64_t *state, int bits)
{
    const uint64_t value = random_next(state), how = random_next(state);
    uint64_t cut = value >> (how % (uint64_t)bits + (64 - (uint64_t)bits));
    if (how >> 8 & 1)
        cut = 0 - cut;
    if ((how >> 9 & 7) == 0)
        cut = (1ull << (how >> 12) % (uint64_t)bits) + (value & 3) - 1;
    return cut;
}

static uint64_t random_float(uint64_t *state, int exponent, int mantissa)
{
    const uint64_t value = random_next(state), how = random_next(state);
    const uint64_t all = (1ull << exponent) - 1, bias = all >> 1, fraction = value & ((1ull << mantissa) - 1);
    const uint64_t sign = (how >> 60 & 1) << (exponent + mantissa);
    uint64_t power = (how >> 8) & all;
    if ((how & 3) != 0)
        power = bias + (how >> 8 & 15) - 7; /* near one */
    else if ((how & 4) != 0)
        power = bias - 8 + (how >> 8) % 76; /* whole numbers up to more than 2^64 */
    if ((how & 0x70) == 0)
        power = how >> 8 & 3; /* small */
    if (power > all)
        power = all - 1;
    uint64_t bits = fraction;
    if ((how & 0x80) != 0)
        bits &= ~0ull << (how >> 16) % (uint64_t)(mantissa + 1); /* few significant bits: halves, exact products */
    return sign | power << mantissa | (bits & ((1ull << mantissa) - 1));
}

/* Returns a small whole number, with which products and sums are exact. */
static uint64_t whole(const conf_operand *o, int number)
{
    const int exponent = o->exponent, mantissa = o->mantissa;
    if (!exponent)
        return (uint64_t)(int64_t)number;
    if (number == 0)
        return 0;
    const uint64_t size = (uint64_t)(number < 0 ? -number : number);
    int top = 0;
    while (size >> (top + 1))
        top++;
    return (uint64_t)(number < 0) << (exponent + mantissa) | (uint64_t)(top + (1 << (exponent - 1)) - 1) << mantissa |
           ((size << (mantissa - top)) & ((1ull << mantissa) - 1));
}

/* Returns a number from 2^-9 to just below 1 with any fraction and either sign. */
static uint64_t unit(const conf_operand *o, uint64_t r)
{
    const int exponent = o->exponent, mantissa = o->mantissa;
    if (!exponent)
        return r;
    return (r >> 63) << (exponent + mantissa) | (uint64_t)((1 << (exponent - 1)) - 2 - (int)(r >> 52 & 7)) << mantissa |
           (r & ((1ull << mantissa) - 1));
}

/* Returns four numbers of 8 bits each: integers from 0 to 6, or numbers from 2^-4 to below 1. */
static uint64_t narrow_floats(int mantissa, uint64_t r, uint64_t sign, bool fractions)
{
    uint64_t value = 0;
    const int one = ((1 << (6 - mantissa)) - 1) << mantissa, unit_bit = 1 << mantissa;
    for (int k = 0; k < 4; k++, r >>= 8) {
        const int small[8] = {0,
                              one,
                              one + unit_bit,
                              one + unit_bit + unit_bit / 2,
                              one + 2 * unit_bit,
                              one,
                              0,
                              one + 2 * unit_bit + unit_bit / 2};
        const int part = one - unit_bit - (int)(r & 3) * unit_bit + (int)(r >> 3 & (uint64_t)(unit_bit - 1));
        value |= (uint64_t)(fractions ? part : small[r & 7]) << 8 * k | (sign >> k & 1) << (8 * k + 7);
    }
    return value;
}

static uint64_t metadata(uint64_t r, bool ones)
{
    static const uint64_t pairs[6] = {4, 8, 9, 12, 13, 14};
    uint64_t value = 0;
    for (int k = 0; k < 32; k += 4, r >>= 4)
        value |= (ones ? (r & 1 ? 14u : 4u) : pairs[(r & 15) % 6]) << k;
    return value;
}

/* Makes a coordinate for a texture or surface. A side has 4, 8 or 16 texels. The coordinate keeps away from the borders
 * between texels, because rounding decides there. */
static bool for_texture(const char *pool, uint64_t r, uint64_t *value)
{
    const int high = (int)(r >> 40 & 0xffff);
    const float part = (float)(1 + (int)(r >> 8 & 0xff) % 63) / 64 + (float)(r >> 24 & 0xff) * 0x1p-16f;
    float f = 0;
    uint32_t bits;
    if (is(pool, "pix")) /* coordinates for sides up to 16 texels, inside and outside */
        f = (float)(high % 24 - 4) + part;
    else if (is(pool, "norm"))
        f = ((float)(high % 80 - 32) + part) / 16;
    else if (is(pool, "whole"))
        f = (float)(high % 20 - 2);
    else if (is(pool, "quart")) /* these coordinates also keep away from the middles of texels */
        f = (float)(high % 20 - 2) + (float)(2 * (int)(r >> 8 & 3) + 1) / 8;
    else if (is(pool, "lod"))
        f = (float)(2 * (high % 48) + 1) / 16 - 1;
    else if (is(pool, "grad"))
        f = high % 10 == 0 ? 0 : ldexpf(high & 1024 ? 1.0f : -1.0f, high % 10 - 7);
    else if (is(pool, "face")) /* positions across a face of a cube */
        f = (float)(2 * (high % 8) - 7) / 8;
    else if (is(pool, "cube"))
        f = (float)(2 * (high % 64) - 63) / 64 + (float)(r >> 24 & 0xff) * 0x1p-14f;
    else if (is(pool, "tie")) /* directions through edges and corners of a cube */
        f = (high & 2 ? 1.0f : 0.375f) * (high & 1 ? 1 : -1);
    else if (is(pool, "major")) /* directions along an axis of a cube */
        f = ldexpf(high & 1024 ? 1.0f : -1.0f, high % 3);
    else {
        *value = (uint64_t)(int64_t)(is(pool, "layer")   ? high % 10 - 2
                                     : is(pool, "texel") ? high % 24 - 4
                                     : is(pool, "level") ? high % 8 - 1
                                     : is(pool, "sx")    ? high % 80 * 16 - 128
                                                         : high % 48 - 8); /* "sy" */
        return true;
    }
    memcpy(&bits, &f, 4);
    *value = bits;
    return true;
}

/* Takes a value from the operand's own pool. Returns whether it has one. */
static bool from_pool(const conf_operand *o, const conf_case *each, int tuple, uint64_t *state, uint64_t *value)
{
    const uint64_t r = random_next(state), warp = (uint64_t)tuple / 32;
    const char *pool = o->pool;
    const bool by_case = is(pool, "few") || is(pool, "warp");
    const uint64_t seed = by_case ? conf_hash(each->name, strlen(each->name), 9) : 0;
    if (is(pool, "byte"))
        *value = r & 1 ? (r >> 8) % 70 : (r >> 8) % 256;
    else if (is(pool, "count"))
        *value = (r & 7) == 0 ? r >> 8 : (r & 7) == 1 ? (uint64_t)-1 - (r >> 8 & 3) : (r >> 8) % 70;
    else if (is(pool, "lane"))
        *value = (r >> 8) % 32;
    else if (is(pool, "step"))
        *value = (r >> 8) % 67 - 33;
    else if (is(pool, "i24"))
        *value = o->type[0] == 's' ? (uint64_t)((int64_t)(random_integer(state, 24) << 40) >> 40)
                                   : random_integer(state, 24) & 0xffffff;
    else if (is(pool, "few"))
        *value = seed * ((r >> 8) % 3 + 1);
    else if (is(pool, "warp"))
        *value = seed * (warp + 1) + (warp % 4 == 1 && r % 32 == 0);
    else if (is(pool, "rare"))
        *value = warp % 4 == 0 ? 1 : warp % 4 == 1 ? 0 : r % 32 != 0;
    else if (is(pool, "clamp"))
        *value = r & 1 ? 0x1f : ((r >> 8) & 31) << 8 | ((r >> 16) & 31);
    /* Single-precision numbers for conversions to formats of 8 bits: a number of the format, the middle of two such
     * numbers, or a number near these. */
    else if (is(pool, "eight")) {
        const uint32_t power = (uint32_t)(127 - 18 + (r >> 8) % 36), top = (uint32_t)(r >> 20 & 31) << 18;
        *value = (r & 1) << 31 | power << 23 | top | ((r & 6) == 2 ? 1 : (r & 6) == 4 ? 0x3ffff : 0);
    } else if (is(pool, "whole"))
        *value = whole(o, (int)(r >> 8 & 15) - 8);
    else if (is(pool, "unit"))
        *value = unit(o, r);
    else if (is(pool, "e4m3") || is(pool, "e5m2"))
        *value = narrow_floats(pool[1] == '4' ? 3 : 2, r, random_next(state), (r >> 60 & 1) != 0);
    else if (is(pool, "pairs")) /* metadata of mma.sp that selects the first of four neighbours and a later one */
        *value = metadata(r, false);
    else if (is(pool, "ones"))
        *value = metadata(r, true);
    else if (is(pool, "angle") || is(pool, "power")) {
        const double range = (r & 3) == 0 ? 300 : pool[0] == 'a' ? 7 : 12;
        const float f = (float)(((double)(r >> 11) * 0x1p-52 - 1) * range);
        uint32_t bits;
        memcpy(&bits, &f, 4);
        *value = bits;
    } else
        return pool[0] == 'T' && for_texture(pool + 1, r, value);
    return true;
}

static uint64_t random_value(const conf_operand *o, const conf_case *each, int tuple, const edges *list,
                             uint64_t *state)
{
    uint64_t value = 0;
    /* These pools have no edge values. */
    const bool own = o->pool[0] == 'T' || is(o->pool, "whole") || is(o->pool, "unit");
    if (o->pool[0] && from_pool(o, each, tuple, state, &value) && (o->type[0] != 'f' || tuple >= list->count || own))
        return value;
    if (!o->exponent)
        return (random_next(state) & 3) == 0 ? list->values[random_next(state) % (uint64_t)list->count]
                                             : random_integer(state, o->bits);
    return (random_next(state) & 3) == 0 ? list->values[random_next(state) % (uint64_t)list->count]
                                         : random_float(state, o->exponent, o->mantissa);
}

static uint64_t one_value(const conf_case *each, int input, int tuple, const edges *list, uint64_t *state)
{
    const conf_operand *o = &each->inputs[input];
    uint64_t value = random_value(o, each, tuple, list, state);
    const uint64_t count = (uint64_t)list->count, n = (uint64_t)tuple;
    if (o->reg == 1)
        return o->pool[0] ? value : random_next(state) >> 17;
    if (o->pool[0] == 0 || is(o->pool, "nz")) {
        const bool grid = each->input_count >= 2 && input < 2 && count * count <= (uint64_t)each->tuples;
        if (grid && n < count * count)
            value = list->values[input == 0 ? n % count : n / count];
        else if (each->input_count == 1 && n < count)
            value = list->values[n];
    }
    if (strcmp(o->type + strlen(o->type) - 2, "x2") == 0) { /* sets the other half too */
        const uint64_t high = random_value(o, each, tuple, list, state);
        value = (value & 0xffff) | high << 16;
    }
    if (is(o->pool, "nz") && (o->bits == 64 ? value : value & ((1ull << o->bits) - 1)) == 0)
        value = 3;
    return value;
}

/* Sets the third operand so that it nearly cancels the product, where rounding is hardest. */
static void cancel(const conf_case *each, uint64_t *tuple, uint64_t *state)
{
    const uint64_t ulps = random_next(state) % 5 - 2;
    if (strcmp(each->inputs[0].type, "f32") == 0) {
        float a, b;
        memcpy(&a, &tuple[0], 4);
        memcpy(&b, &tuple[1], 4);
        const float c = -(a * b);
        uint32_t bits;
        memcpy(&bits, &c, 4);
        tuple[2] = bits + (uint32_t)ulps;
    } else {
        double a, b;
        memcpy(&a, &tuple[0], 8);
        memcpy(&b, &tuple[1], 8);
        const double c = -(a * b);
        memcpy(&tuple[2], &c, 8);
        tuple[2] += ulps;
    }
}

static uint64_t power(int exponent, int mantissa, int to)
{
    return (uint64_t)(to + (1 << (exponent - 1)) - 1) << mantissa;
}

/* Makes a product (1 + e) * (1 - e) * m, where m is the least normal number. The exact product is just too small to be
 * normal, but the rounded one is normal. Or makes m minus a far smaller product. */
static void tiny(const conf_operand *o, uint64_t *tuple, uint64_t *state)
{
    const int exponent = o->exponent, mantissa = o->mantissa;
    if (!exponent)
        return;
    const uint64_t r = random_next(state), sign = 1ull << (exponent + mantissa), least = 1ull << mantissa;
    const int low = 2 - (1 << (exponent - 1)), half = low / 2;
    const uint64_t bit = (r >> 8) % (uint64_t)(mantissa / 2), e = 1ull << bit;
    tuple[0] = (power(exponent, mantissa, half) + e) | (r & 1 ? sign : 0);
    tuple[1] = (power(exponent, mantissa, low - half) - 2 * e) | (r & 2 ? sign : 0);
    tuple[2] = r & 4 ? 0 : sign;
    if ((r & 24) == 0) {
        tuple[0] = power(exponent, mantissa, half - mantissa / 2) | (r & 1 ? sign : 0);
        tuple[1] = power(exponent, mantissa, half - mantissa / 2 - 2) | (r & 2 ? sign : 0);
        tuple[2] = least | (r & 4 ? sign : 0);
    }
}

void conf_inputs(const conf_case *each, uint64_t *in)
{
    edges lists[CONF_INPUTS] = {0};
    uint64_t state = conf_hash(each->name, strlen(each->name), 1);
    for (int i = 0; i < each->input_count; i++) {
        const conf_operand *o = &each->inputs[i];
        if (o->exponent)
            float_edges(&lists[i], o->exponent, o->mantissa);
        if (strncmp(each->name, "cvt", 3) == 0)
            conversion_edges(&lists[i], o->type);
        if (lists[i].count > 0)
            continue;
        if (o->bits > 1)
            integer_edges(&lists[i], o->bits);
        else
            edge(&lists[i], 0);
    }
    const bool fused = each->input_count == 3 && each->body[0] == 'f' &&
                       strcmp(each->inputs[0].type, each->inputs[2].type) == 0 &&
                       (strcmp(each->inputs[0].type, "f32") == 0 || strcmp(each->inputs[0].type, "f64") == 0);
    const bool arithmetic = each->kind == CONF_EXACT && each->input_count >= 2 && strchr("amf", each->body[0]) != NULL;
    for (int n = 0; n < each->tuples; n++) {
        uint64_t *tuple = in + (size_t)n * CONF_INPUTS;
        for (int i = 0; i < CONF_INPUTS; i++)
            tuple[i] = i < each->input_count ? one_value(each, i, n, &lists[i], &state) : 0;
        if (each->input_count >= 2 && strcmp(each->inputs[0].type, each->inputs[1].type) == 0 && n % 16 == 15 &&
            each->inputs[1].pool[0] == 0)
            tuple[1] = tuple[0];
        if (fused && n % 4 == 1)
            cancel(each, tuple, &state);
        if (arithmetic && n % 64 == 7)
            tiny(&each->inputs[0], tuple, &state);
        /* the bits above a narrow value in its register or slot are noise */
        for (int i = 0; i < each->input_count; i++)
            if (each->inputs[i].bits < 64 && each->inputs[i].reg != 1)
                tuple[i] = (tuple[i] & ((1ull << each->inputs[i].bits) - 1)) | random_next(&state)
                                                                                   << each->inputs[i].bits;
    }
}
