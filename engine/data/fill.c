/* fill.c - fills. Every element is computed only by IEEE additions, multiplications, divisions and square roots, in a
 * fixed order. The build sets -ffp-contract=off, so the compiler does not contract operations to fused multiply-adds.
 * Therefore the bytes of a fill are the same on every machine with IEEE arithmetic. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "data.h"

__extension__ typedef unsigned __int128 u128;

/* ---- random numbers: Philox 4x32-10 ----
 * Constants and rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */

void kiln__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53 * c0, p1 = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Draws two random words of 64 bits for a block number and an attempt. */
static void draw(uint64_t seed, uint64_t block, uint32_t attempt, uint64_t out[2])
{
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), attempt, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t words[4];
    kiln__philox(counter, key, words);
    out[0] = words[0] | (uint64_t)words[1] << 32;
    out[1] = words[2] | (uint64_t)words[3] << 32;
}

enum { LANES = 8 }; /* the number of blocks that draw_avx2() computes at once */

static void draw_base(uint64_t seed, uint64_t first, size_t count, uint64_t *words)
{
    for (size_t i = 0; i < count; i++)
        draw(seed, first + i, 0, words + 2 * i);
}

#if defined(__x86_64__)
/* The state of four blocks. Each 64-bit lane has one block. Only the lower 32 bits of a lane belong to the state. The
 * upper bits may have any value, because _mm256_mul_epu32() ignores them. So the rounds need no mask. */
typedef struct lanes {
    __m256i c[4];
} lanes;

__attribute__((target("avx2"))) static inline void begin_lanes(lanes *l, uint64_t first)
{
    l->c[0] = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)first), _mm256_set_epi64x(3, 2, 1, 0));
    l->c[1] = _mm256_srli_epi64(l->c[0], 32);
    l->c[2] = l->c[3] = _mm256_setzero_si256();
}

__attribute__((target("avx2"))) static inline void round_lanes(lanes *l, __m256i k0, __m256i k1)
{
    __m256i p0 = _mm256_mul_epu32(l->c[0], _mm256_set1_epi64x(0xD2511F53));
    __m256i p1 = _mm256_mul_epu32(l->c[2], _mm256_set1_epi64x(0xCD9E8D57));
    l->c[0] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), l->c[1]), k0);
    l->c[1] = p1;
    l->c[2] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), l->c[3]), k1);
    l->c[3] = p0;
}

__attribute__((target("avx2"))) static inline void end_lanes(const lanes *l, uint64_t *words)
{
    const __m256i lower = _mm256_set1_epi64x(0xFFFFFFFF);
    __m256i a = _mm256_or_si256(_mm256_and_si256(l->c[0], lower), _mm256_slli_epi64(l->c[1], 32));
    __m256i b = _mm256_or_si256(_mm256_and_si256(l->c[2], lower), _mm256_slli_epi64(l->c[3], 32));
    __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
    __m256i made[2] = {_mm256_permute2x128_si256(even, odd, 0x20), _mm256_permute2x128_si256(even, odd, 0x31)};
    memcpy(words, made, sizeof made);
}

__attribute__((target("avx2"))) static void draw_avx2(uint64_t seed, uint64_t first, size_t count, uint64_t *words)
{
    for (size_t i = 0; i < count; i += LANES) {
        /* two independent states, so that the processor computes one while the other waits for its multiplications */
        lanes low, high;
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        begin_lanes(&low, first + i);
        begin_lanes(&high, first + i + LANES / 2);
        for (int round = 0; round < 10; round++) {
            const __m256i key[2] = {_mm256_set1_epi64x(k0), _mm256_set1_epi64x(k1)};
            round_lanes(&low, key[0], key[1]);
            round_lanes(&high, key[0], key[1]);
            k0 += 0x9E3779B9;
            k1 += 0xBB67AE85;
        }
        end_lanes(&low, words + 2 * i);
        end_lanes(&high, words + 2 * i + LANES);
    }
}
#endif

/* Computes the random words of `count` blocks from the block `first` on, each for attempt 0. `words` has memory for a
 * multiple of LANES blocks. With vector instructions a block takes a quarter of the time of draw(). */
static void draw_blocks(uint64_t seed, uint64_t first, size_t count, uint64_t *words)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        draw_avx2(seed, first, count, words);
        return;
    }
#endif
    draw_base(seed, first, count, words);
}

static double unit(uint64_t word) /* converts a random word to a number in [0, 1) with 53 bits */
{
    return (double)(word >> 11) * 0x1p-53;
}

/* ---- functions: accurate to about one ulp, by series whose error on the reduced range is below the last bit ---- */

static const double LN2_HIGH = 0x1.62e42fefa38p-1,
                    LN2_LOW = 0x1.ef35793c7673p-45; /* the sum of the two numbers is ln 2; the high part has few bits */

/* Returns ln x for x > 0. With x = m 2^e, m in [1/sqrt 2, sqrt 2) and s = (m - 1) / (m + 1), ln x is 2 atanh s + e ln
 * 2. */
static double ln(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        exponent++;
    }
    double s = (m - 1) / (m + 1), z = s * s, sum = 0;
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * z;
    return exponent * LN2_HIGH + (exponent * LN2_LOW + 2 * (s + s * sum));
}

/* Returns e^x, with x = n ln 2 + r and |r| <= ln 2 / 2. The result is infinity above 709, and 0 below -708. */
static double exponential(double x)
{
    if (x > 709)
        return INFINITY;
    if (x < -708)
        return 0;
    double n = floor(x / (LN2_HIGH + LN2_LOW) + 0.5), r = (x - n * LN2_HIGH) - n * LN2_LOW, sum = 1;
    for (int k = 14; k >= 1; k--)
        sum = 1 + sum * r / k;
    uint64_t bits = (uint64_t)((int64_t)n + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

/* These two functions return (e^x - 1) / x and ln(1 + x) / x. For x = 0 they return the limit 1. */
static double exponential_ratio(double x)
{
    if (fabs(x) > 0.25)
        return (exponential(x) - 1) / x;
    double sum = 1;
    for (int k = 14; k >= 2; k--)
        sum = 1 + sum * x / k;
    return sum;
}

static double logarithm_ratio(double x)
{
    if (fabs(x) > 0.25)
        return ln(1 + x) / x;
    if (x == 0)
        return 1;
    double s = x / (2 + x), z = s * s, sum = 0; /* ln(1 + x) = 2 atanh(x / (2 + x)) */
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * z;
    return 2 * (s + s * sum) / x;
}

/* Computes cosine and sine of 2 pi u, for u in [0, 1). */
static void sine_and_cosine(double u, double *cosine, double *sine)
{
    double t = u * 4, quadrant = floor(t), f = t - quadrant;
    bool flip = f > 0.5; /* the cosine of the complement is the sine, so both series stay below pi / 4 */
    double x = (flip ? 1 - f : f) * 0x1.921fb54442d18p0, z = x * x, c = 1, s = 1;
    for (int k = 18; k >= 2; k -= 2)
        c = 1 - c * z / (k * (k - 1));
    for (int k = 17; k >= 3; k -= 2)
        s = 1 - s * z / (k * (k - 1));
    s *= x;
    if (flip) {
        double swap = c;
        c = s;
        s = swap;
    }
    switch ((int)quadrant) {
    case 0: *cosine = c, *sine = s; break;
    case 1: *cosine = -s, *sine = c; break;
    case 2: *cosine = -c, *sine = -s; break;
    default: *cosine = s, *sine = -c; break;
    }
}

/* ---- zipf: rejection-inversion, W. Hoermann and G. Derflinger, ACM TOMACS 6 (1996), for p(k) ~ (k + 1)^-s ---- */

typedef struct zipf {
    double n, s, high, low, shortcut;
    /* NULL, or a table: for each value of the first TABLE_BITS of a random word the value of the element, or
     * UNDECIDED */
    uint16_t *table;
} zipf;

static double zipf_integral(const zipf *z, double x)
{
    double l = ln(x);
    return exponential_ratio((1 - z->s) * l) * l;
}

static double zipf_inverse(const zipf *z, double x)
{
    double t = x * (1 - z->s);
    return exponential(logarithm_ratio(t < -1 ? -1 + 0x1p-53 : t) * x);
}

static double zipf_density(const zipf *z, double x) { return exponential(-z->s * ln(x)); }

static void zipf_begin(zipf *z, double n, double s)
{
    z->n = n;
    z->s = s;
    z->high = zipf_integral(z, n + 0.5);
    z->low = zipf_integral(z, 1.5) - 1;
    z->shortcut = 2 - zipf_inverse(z, zipf_integral(z, 2.5) - zipf_density(z, 2));
}

/* Makes one attempt of rejection-inversion with the uniform number `u`. Returns the value of the element. Returns -1 if
 * the attempt is rejected. */
static double zipf_attempt(const zipf *z, double u)
{
    double x = zipf_inverse(z, u), k = floor(x + 0.5);
    k = k < 1 ? 1 : k > z->n ? z->n : k;
    return k - x <= z->shortcut || u >= zipf_integral(z, k + 0.5) - zipf_density(z, k) ? k - 1 : -1;
}

static double zipf_uniform(const zipf *z, uint64_t word) { return z->high + unit(word) * (z->low - z->high); }

/* Returns the value of the element `index`, for whose first attempt `word` is the random word. */
static double zipf_element(const zipf *z, uint64_t seed, uint64_t index, uint64_t word)
{
    /* an attempt fails with a probability below 1/2, so 1000 attempts are enough */
    for (uint32_t attempt = 1;; attempt++) {
        double value = zipf_attempt(z, zipf_uniform(z, word));
        if (value >= 0 || attempt == 1000)
            return value >= 0 ? value : 0;
        uint64_t words[2];
        draw(seed, index, attempt, words);
        word = words[0];
    }
}

/* A table of values saves time, because an attempt takes 80 ns and the first bits of its random word mostly decide the
 * value. All words of a class have the first TABLE_BITS in common. As the word grows, u falls, and x falls with u. So a
 * condition holds for a whole class if it holds at both ends by more than the rounding errors. A class that contains
 * the border between two values is UNDECIDED, and the value is computed for each of its words. */
enum { TABLE_BITS = 16, TABLE_SIZE = 1 << TABLE_BITS, TABLE_VALUES = 1 << 14, TABLE_PART = 1 << 10 };
static const uint16_t UNDECIDED = UINT16_MAX;

/* Returns a bound for the error of zipf_inverse(). The error grows near 1 + t = 0, because 1 + t loses digits there.
 * The real error is below 2^-51 of this bound. */
static double zipf_error(const zipf *z, double u, double x)
{
    double t = u * (1 - z->s);
    return t > -1 ? x * (0x1p-40 + 0x1p-44 / (1 + t)) : (double)INFINITY;
}

static uint16_t zipf_class(const zipf *z, uint64_t first, uint64_t last)
{
    double u[2] = {zipf_uniform(z, first), zipf_uniform(z, last)};
    double x[2] = {zipf_inverse(z, u[0]), zipf_inverse(z, u[1])};
    double error = fmax(zipf_error(z, u[0], x[0]), zipf_error(z, u[1], x[1]));
    double low = fmin(x[0], x[1]) - error, high = fmax(x[0], x[1]) + error;
    double k = fmin(fmax(floor(low + 0.5), 1), z->n);
    if (!(isfinite(error) && fmin(fmax(floor(high + 0.5), 1), z->n) == k))
        return UNDECIDED;
    /* The class has only one k, so the right side of the second condition is the same for all words of the class. */
    bool accepted = k - low <= z->shortcut || fmin(u[0], u[1]) >= zipf_integral(z, k + 0.5) - zipf_density(z, k);
    return accepted ? (uint16_t)(k - 1) : UNDECIDED;
}

static void zipf_classes(void *user, size_t part, size_t worker)
{
    (void)worker;
    const zipf *z = user;
    for (uint64_t i = part * (uint64_t)TABLE_PART; i < (part + 1) * (uint64_t)TABLE_PART; i++)
        z->table[i] = zipf_class(z, i << (64 - TABLE_BITS), ((i + 1) << (64 - TABLE_BITS)) - 1);
}

/* Makes the table if the fill is longer than the table. Returns false if memory runs out. */
static bool zipf_tabulate(zipf *z, const kiln_allocator *mem, uint64_t count)
{
    if (z->n > TABLE_VALUES || count < TABLE_SIZE)
        return true;
    z->table = kiln__alloc(mem, TABLE_SIZE * sizeof *z->table);
    if (z->table)
        kiln__parallel(0, TABLE_SIZE / TABLE_PART, zipf_classes, z);
    return z->table;
}

/* ---- the ranges of the element types ---- */

static bool fits_type(kiln_type type, int64_t value)
{
    switch (type) {
    case KILN_i8: return value >= INT8_MIN && value <= INT8_MAX;
    case KILN_u8: return value >= 0 && value <= UINT8_MAX;
    case KILN_i16: return value >= INT16_MIN && value <= INT16_MAX;
    case KILN_u16: return value >= 0 && value <= UINT16_MAX;
    case KILN_i32: return value >= INT32_MIN && value <= INT32_MAX;
    case KILN_u32: return value >= 0 && value <= UINT32_MAX;
    case KILN_u64: return value >= 0;
    case KILN_bool: return value == 0 || value == 1;
    default: return true;
    }
}

static bool has_fraction(kiln_type type) { return kiln__types[type].exponent > 0; }

/* Returns true for a finite value that becomes an infinity or a NaN in the type. The conversions to f4e2m1, f6e2m3,
 * f6e3m2 and ue8m0 saturate. For these types, returns true for a value outside of the type's range. */
static bool overflows(kiln_type type, double value)
{
    uint64_t room[2];
    double back;
    const kiln__type_kind kind = kiln__types[type].kind;
    if (kind == KILN__TYPE_NUMBER)
        return !(fabs(value) <= kiln__narrow_greatest(type));
    if (kind == KILN__TYPE_POWER)
        return value < 0 || value > kiln__narrow_greatest(type);
    type = kiln__type_part(type);
    kiln__from_doubles(type, room, 0, 1, &value);
    kiln__to_doubles(type, room, 0, 1, &back);
    return isfinite(value) && !isfinite(back);
}

static void store_integer(kiln_type type, void *data, uint64_t index, uint64_t value)
{
    switch (kiln__type_bytes(type)) {
    case 1: ((uint8_t *)data)[index] = (uint8_t)value; break;
    case 2: ((uint16_t *)data)[index] = (uint16_t)value; break;
    case 4: ((uint32_t *)data)[index] = (uint32_t)value; break;
    default: ((uint64_t *)data)[index] = value; break;
    }
}

/* ---- filling one part of an array ---- */

/* both numbers are even, because two neighbouring elements share a block of random numbers */
enum { CHUNK = 1024, PART = 1 << 18 };

typedef struct fill_job {
    /* the type of the elements that are written; a random complex number is filled as two real elements */
    kiln_type type;
    void *data;
    uint64_t count;
    kiln__fill_values fill;
    zipf zipf;
} fill_job;

/* Computes two elements of a random fill from the two words of a block. */
static void float_pair(const kiln__fill_values *fill, const uint64_t words[2], double out[2])
{
    if (fill->kind == KILN__FILL_UNIFORM) {
        out[0] = fill->a + (fill->b - fill->a) * unit(words[0]);
        out[1] = fill->a + (fill->b - fill->a) * unit(words[1]);
        return;
    }
    /* Box-Muller method: 1 - unit is in (0, 1], so the logarithm is finite. */
    double cosine, sine, radius = sqrt(-2 * ln(1 - unit(words[0])));
    sine_and_cosine(unit(words[1]), &cosine, &sine);
    out[0] = fill->a + fill->b * (radius * cosine);
    out[1] = fill->a + fill->b * (radius * sine);
}

/* Computes the values of `count` elements from the element `first` on. `first` is even. If `count` is odd, the function
 * may write one more value. */
static void float_elements(const fill_job *job, uint64_t first, size_t count, double *values)
{
    const kiln__fill_values *fill = &job->fill;
    const bool pairs = fill->kind == KILN__FILL_UNIFORM || fill->kind == KILN__FILL_NORMAL;
    const zipf *z = &job->zipf;
    uint64_t words[2 * CHUNK];
    if (pairs)
        draw_blocks(fill->seed, first / 2, (count + 1) / 2, words);
    else if (fill->kind == KILN__FILL_ZIPF)
        draw_blocks(fill->seed, first, count, words);
    for (size_t i = 0; i < count && pairs; i += 2)
        float_pair(fill, words + i, values + i);
    for (size_t i = 0; i < count && !pairs; i++) {
        values[i] = fill->a;
        if (fill->kind == KILN__FILL_IOTA)
            values[i] = fill->a + fill->b * (double)(first + i);
        else if (fill->kind == KILN__FILL_ZIPF)
            values[i] = zipf_element(z, fill->seed, first + i, words[2 * i]);
    }
}

/* Fills the elements first .. first + count - 1 of an array of integers from the table. */
static void tabulated_elements(const fill_job *job, uint64_t first, size_t count)
{
    const zipf *z = &job->zipf;
    uint64_t words[2 * CHUNK];
    draw_blocks(job->fill.seed, first, count, words);
    for (size_t i = 0; i < count; i++) {
        uint16_t known = z->table[words[2 * i] >> (64 - TABLE_BITS)];
        if (known == UNDECIDED)
            known = (uint16_t)zipf_element(z, job->fill.seed, first + i, words[2 * i]);
        store_integer(job->type, job->data, first + i, known);
    }
}

/* Returns a number with this property: no smaller number becomes `end` or more when it is rounded to the type. The
 * error of rounding to the type is at most half of a step. */
static double keep_edge(kiln_type type, double end)
{
    const kiln__type_row *row = &kiln__types[type];
    return end - 2 * ldexp(fabs(end), -row->mantissa) - ldexp(1, 3 - (1 << (row->exponent - 1)) - row->mantissa);
}

/* Corrects the element `i` of a uniform fill of [low, end). If rounding to the type has made the element `end` or more,
 * replaces it by the next lower value. */
static void keep_below(kiln_type type, void *data, uint64_t i, double low, double end)
{
    if (type == KILN_f32) {
        float *value = (float *)data + i;
        if ((double)*value >= end && (double)*value > low)
            *value = nextafterf(*value, -INFINITY);
    } else if (type == KILN_f64) {
        double *value = (double *)data + i;
        if (*value >= end && *value > low)
            *value = nextafter(*value, -INFINITY);
    } else {
        bool wide = kiln__type_bytes(type) == 2;
        uint8_t *bytes = (uint8_t *)data + i;
        const uint16_t sign = (uint16_t)(1u << (kiln__types[type].exponent + kiln__types[type].mantissa));
        uint16_t *words = (uint16_t *)data + i, value = wide ? *words : *bytes;
        double got = kiln__narrow_to_double(type, value);
        if (!(got >= end && got > low) || (value == 0 && kiln__types[type].kind == KILN__TYPE_POWER))
            return;
        value = got > 0 ? (uint16_t)(value - 1) : got < 0 ? (uint16_t)(value + 1) : (uint16_t)(sign | 1);
        if (wide)
            *words = value;
        else
            *bytes = (uint8_t)value;
    }
}

static void fill_integers(const fill_job *job, uint64_t first, uint64_t last)
{
    const kiln__fill_values *fill = &job->fill;
    uint64_t range = (uint64_t)fill->ib - (uint64_t)fill->ia + 1; /* a range of 0 stands for 2^64 */
    uint64_t words[CHUNK] = {0};
    for (uint64_t i = first; i < last; i++) { /* `first` is even, because a block of Philox gives two elements */
        uint64_t value = (uint64_t)fill->ia;
        if (fill->kind == KILN__FILL_IOTA) {
            value += (uint64_t)fill->ib * i;
        } else if (fill->kind == KILN__FILL_UNIFORM) {
            size_t at = (size_t)((i - first) % CHUNK);
            if (at == 0)
                draw_blocks(fill->seed, i / 2, CHUNK / 2, words);
            /* Takes the high half of a product, whose distance from a uniform distribution is less than range /
             * 2^64. */
            value += range ? (uint64_t)((u128)words[at] * range >> 64) : words[at];
        }
        store_integer(job->type, job->data, i, value);
    }
}

/* Cuts off the tails of a distribution, because they would become NaN in a type without infinities. */
static void keep_finite(kiln_type type, double *values, size_t count)
{
    const double most = kiln__narrow_greatest(type);
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] > most ? most : values[i] < -most ? -most : values[i];
}

/* Fills the part number `part` of an array. The random numbers depend only on the index of an element. So any thread
 * may fill a part, in any order. */
static void fill_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const fill_job *job = user;
    const kiln__fill_values *fill = &job->fill;
    kiln_type type = job->type;
    uint64_t first = (uint64_t)part * PART, last = first + PART < job->count ? first + PART : job->count;
    if (fill->integers && !has_fraction(type)) {
        fill_integers(job, first, last);
        return;
    }
    double values[CHUNK];
    const double edge = has_fraction(type) ? keep_edge(type, fill->b) : 0;
    while (first < last) {
        size_t count = last - first < CHUNK ? (size_t)(last - first) : CHUNK;
        if (job->zipf.table && !has_fraction(type)) {
            tabulated_elements(job, first, count);
            first += count;
            continue;
        }
        float_elements(job, first, count, values);
        if (fill->kind == KILN__FILL_NORMAL && kiln__types[type].kind == KILN__TYPE_FINITE)
            keep_finite(type, values, count);
        kiln__from_doubles(type, job->data, first, count, values);
        for (size_t i = 0; i < count && fill->kind == KILN__FILL_UNIFORM; i++)
            if (values[i] >= edge)
                keep_below(type, job->data, first + i, fill->a, fill->b);
        first += count;
    }
}

/* ---- checking the values of a fill ---- */

static kiln_status check_integers(const fill_job *job, const kiln_allocator *mem, kiln_error **error)
{
    const kiln__fill_values *fill = &job->fill;
    kiln_type type = job->type;
    const char *name = kiln__type_name(type);
    if (!fill->integers)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "a buffer of %s must be filled with integers, not with %g",
                          name, fill->a);
    int64_t last = fill->kind == KILN__FILL_UNIFORM ? fill->ib : fill->ia;
    if (fill->kind == KILN__FILL_IOTA && job->count > 0 &&
        (job->count - 1 > INT64_MAX || __builtin_mul_overflow((int64_t)(job->count - 1), fill->ib, &last) ||
         __builtin_add_overflow(last, fill->ia, &last)))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "iota from %" PRId64 " by %" PRId64 " exceeds 64 bits",
                          fill->ia, fill->ib);
    if (!fits_type(type, fill->ia) || !fits_type(type, last))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%" PRId64 " is outside the range of %s",
                          fits_type(type, fill->ia) ? last : fill->ia, name);
    if (fill->kind == KILN__FILL_UNIFORM && fill->ia > fill->ib)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "uniform: [%" PRId64 ", %" PRId64 "] has no values",
                          fill->ia, fill->ib);
    return KILN_OK;
}

/* Checks that a float type can represent the values that the fill names. The type may round the open end of [a, b) to
 * infinity, which is no error. */
static kiln_status check_range(const fill_job *job, const kiln_allocator *mem, kiln_error **error)
{
    const kiln__fill_values *fill = &job->fill;
    double last = fill->a;
    if (!has_fraction(job->type) || fill->kind == KILN__FILL_ZIPF)
        return KILN_OK;
    if (fill->kind == KILN__FILL_IOTA && job->count)
        last += fill->b * (double)(job->count - 1);
    else if (fill->kind == KILN__FILL_UNIFORM && kiln__types[job->type].kind != KILN__TYPE_FLOAT)
        last = fill->b;
    if (!overflows(job->type, fill->a) && !overflows(job->type, last))
        return KILN_OK;
    return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%g is outside the range of %s",
                      overflows(job->type, fill->a) ? fill->a : last, kiln__type_name(job->type));
}

static kiln_status check_floats(fill_job *job, const kiln_allocator *mem, kiln_error **error)
{
    kiln__fill_values *fill = &job->fill;
    bool drawn = fill->kind == KILN__FILL_NORMAL || fill->kind == KILN__FILL_ZIPF;
    if (fill->integers && !drawn) {
        fill->a = (double)fill->ia;
        fill->b = (double)fill->ib;
    }
    if (fill->kind == KILN__FILL_UNIFORM && !(fill->a < fill->b && isfinite(fill->b - fill->a)))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "uniform: [%g, %g) has no values", fill->a, fill->b);
    if (fill->kind == KILN__FILL_NORMAL && !(fill->b >= 0 && isfinite(fill->a) && isfinite(fill->b)))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "normal: the deviation must be finite and 0 or more, not %g",
                          fill->b);
    if (fill->kind != KILN__FILL_ZIPF)
        return check_range(job, mem, error);
    if (!(fill->a >= 1 && fill->a <= 0x1p53 && fill->a == floor(fill->a)))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT,
                          "zipf: the number of values must be an integer of 1 or more, not %g", fill->a);
    if (!(fill->b >= 0 && fill->b <= 20))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "zipf: the exponent must be 0 to 20, not %g", fill->b);
    if (!fits_type(job->type, (int64_t)fill->a - 1) || (has_fraction(job->type) && overflows(job->type, fill->a - 1)))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "zipf: %g values do not fit into %s", fill->a,
                          kiln__type_name(job->type));
    zipf_begin(&job->zipf, fill->a, fill->b);
    return zipf_tabulate(&job->zipf, mem, job->count) ? KILN_OK : kiln__fail_memory(error);
}

kiln_status kiln__array_fill(kiln_array *array, const kiln__fill_values *fill, const kiln_allocator *mem,
                             kiln_error **error)
{
    fill_job job = {.type = array->type, .data = array->data, .fill = *fill};
    uint64_t bytes;
    if (!kiln__array_bytes(array->type, array->dims, array->shape, &bytes))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "cannot fill an array of more than 2^63 bytes");
    job.count = bytes / kiln__type_bytes(array->type);
    bool drawn = fill->kind == KILN__FILL_NORMAL || fill->kind == KILN__FILL_ZIPF;
    if (drawn || fill->kind == KILN__FILL_UNIFORM) { /* both parts of a complex number are drawn at random */
        job.type = kiln__type_part(array->type);
        job.count *= kiln__type_bytes(array->type) / kiln__type_bytes(job.type);
    }
    kiln_status status = has_fraction(job.type) || drawn ? check_floats(&job, mem, error)
                                                         : check_integers(&job, mem, error);
    if (drawn)
        job.fill.integers = false;
    if (status == KILN_OK)
        kiln__parallel(0, (size_t)((job.count + PART - 1) / PART), fill_part, &job);
    kiln__free(mem, job.zipf.table);
    return status;
}
