/* array.c - makes arrays, and converts their elements to and from doubles. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "data.h"

size_t kiln__type_bytes(kiln_type type) { return kiln__types[type].bytes; }

const char *kiln__type_name(kiln_type type) { return kiln__types[type].name; }

bool kiln__type_find(const char *name, kiln_type *type)
{
    for (unsigned i = 0; i < KILN_TYPE_COUNT; i++)
        if (strcmp(kiln__types[i].name, name) == 0) {
            *type = (kiln_type)i;
            return true;
        }
    return false;
}

bool kiln__array_bytes(kiln_type type, int dims, const uint64_t *shape, uint64_t *bytes)
{
    uint64_t total = kiln__types[type].bytes;
    bool empty = false;
    for (int i = 0; i < dims; i++)
        empty |= shape[i] == 0;
    for (int i = 0; i < dims && !empty; i++)
        if (__builtin_mul_overflow(total, shape[i], &total))
            return false;
    /* the size is limited so that the difference of two pointers is always defined */
    if (!empty && total > SIZE_MAX / 2)
        return false;
    *bytes = empty ? 0 : total;
    return true;
}

kiln_status kiln__array_make(const kiln_allocator *mem, kiln_type type, int dims, const uint64_t *shape,
                             kiln_array *array, kiln_error **error)
{
    uint64_t bytes;
    if (dims < 0 || dims > KILN_MAX_DIMS)
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "an array has 0 to %d dimensions, not %d", KILN_MAX_DIMS,
                          dims);
    if (!kiln__array_bytes(type, dims, shape, &bytes))
        return kiln__fail(mem, error, KILN_ERROR_MEMORY, "an array of more than 2^63 bytes is not possible");
    kiln_array made = {.type = type, .dims = dims};
    for (int i = 0; i < dims; i++)
        made.shape[i] = shape[i];
    made.data = kiln__calloc(mem, 1, bytes ? (size_t)bytes : 1);
    if (!made.data)
        return kiln__fail(mem, error, KILN_ERROR_MEMORY, "out of host memory for an array of %" PRIu64 " bytes", bytes);
    kiln__huge_pages(mem, made.data, bytes);
    *array = made;
    return KILN_OK;
}

void kiln__array_free(const kiln_allocator *mem, kiln_array *array)
{
    kiln__free(mem, array->data);
    array->data = NULL;
}

void kiln__huge_pages(const kiln_allocator *mem, void *block, uint64_t bytes)
{
    enum { PAGE = 1 << 21, LEAST = 16 * PAGE };
    if (mem || !block || bytes < LEAST)
        return;
    const uintptr_t at = (uintptr_t)block, first = (at + PAGE - 1) / PAGE * PAGE, end = (at + bytes) / PAGE * PAGE;
    if (first < end) /* the request is only advice, and the block works even if the system refuses it */
        (void)madvise((char *)block + (first - at), (size_t)(end - first), MADV_HUGEPAGE);
}

/* ---- poison ---- */

/* Returns a NaN for floats, and bytes 0xA5 for integers and booleans. The pattern of f64 repeats a 32-bit word, so that
 * a device's memset can write it. This word is a quiet NaN of f32 as well. The arithmetic of a kernel does not give
 * these NaNs. For a float of 8 bits the pattern is the NaN with the sign bit. For a float of fewer bits, the pattern is
 * a byte that no number has as its code. For ue8m0 the pattern is the only NaN of the type. */
uint32_t kiln__poison_pattern(kiln_type type, size_t *width)
{
    const kiln__type_row *row = &kiln__types[type];
    *width = row->exponent == 0 ? 1 : row->bytes < 4 ? row->bytes : 4;
    if (*width == 4)
        return 0x7FFDA5A5;
    if (*width == 1)
        return row->exponent ? 0xFF : 0xA5;
    uint32_t quiet = 1u << (row->mantissa - 1);
    return ((1u << row->exponent) - 1) << row->mantissa | quiet | (0xA5 & (quiet - 1));
}

enum { POISON_PIECE = 4096 /* every width of an element divides this number */, POISON_PART = 1 << 22 };

typedef struct poison_job {
    unsigned char *data, piece[POISON_PIECE];
    uint64_t bytes;
} poison_job;

static void poison_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const poison_job *job = user;
    const uint64_t first = (uint64_t)part * POISON_PART, end = first + POISON_PART;
    for (uint64_t at = first; at < end && at < job->bytes; at += POISON_PIECE)
        memcpy(job->data + at, job->piece, (size_t)(job->bytes - at < POISON_PIECE ? job->bytes - at : POISON_PIECE));
}

void kiln__array_poison(kiln_array *array)
{
    poison_job job = {.data = array->data};
    size_t width;
    uint32_t pattern = kiln__poison_pattern(array->type, &width);
    kiln__array_bytes(array->type, array->dims, array->shape, &job.bytes);
    for (size_t i = 0; i < POISON_PIECE; i++)
        job.piece[i] = (unsigned char)(pattern >> 8 * (i % width));
    kiln__parallel(0, (size_t)((job.bytes + POISON_PART - 1) / POISON_PART), poison_part, &job);
}

/* ---- conversions ---- */

static int bias_of(const kiln__type_row *row) { return (1 << (row->exponent - 1)) - 1; }

/* Returns the value that a code stands for. If a type has no sign, the bit above its exponent is 0. A byte with a bit
 * above the sign of its type is not a code, and gives NaN. */
double kiln__narrow_to_double(kiln_type type, uint16_t given)
{
    const kiln__type_row *row = &kiln__types[type];
    int e = row->exponent, m = row->mantissa, bias = bias_of(row);
    if (row->kind == KILN__TYPE_POWER)
        return given == 0xFF ? (double)NAN : ldexp(1, given - bias);
    if (given >> (e + m) > 1)
        return (double)NAN;
    uint64_t sign = (uint64_t)(given >> (e + m) & 1) << 63, all = (UINT64_C(1) << e) - 1, bits;
    uint64_t exponent = (uint64_t)given >> m & all, mantissa = given & ((UINT64_C(1) << m) - 1);
    double value;
    if (exponent == 0) {
        value = ldexp((double)mantissa, 1 - bias - m);
        return sign ? -value : value;
    }
    if (exponent == all &&
        (row->kind == KILN__TYPE_FLOAT || (row->kind == KILN__TYPE_FINITE && mantissa == (UINT64_C(1) << m) - 1)))
        bits = sign | UINT64_C(0x7FF) << 52 | mantissa << (52 - m);
    else
        bits = sign | (exponent + 1023 - (uint64_t)bias) << 52 | mantissa << (52 - m);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Converts the magnitude of a number to a code of a type that has only powers of two. Rounds to the nearest power. A
 * tie goes to the larger power, as IEEE 754-2019, 4.3.1, demands for numbers of one digit. */
static uint16_t double_to_power(const kiln__type_row *row, double value)
{
    const int most = (1 << row->exponent) - 2;
    if (isnan(value))
        return (uint16_t)(most + 1);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int code = (int)(bits >> 52 & 0x7FF) - 1023 + bias_of(row) + (int)(bits >> 51 & 1);
    return (uint16_t)(code < 0 ? 0 : code > most ? most : code);
}

/* Rounds a number to nearest even, and returns the code of the result. A number that is too large becomes an infinity.
 * If the type has no infinities, it becomes NaN. If the type has no NaN either, it becomes the greatest number, as for
 * cvt.rn.satfinite. */
uint16_t kiln__double_to_narrow(kiln_type type, double value)
{
    const kiln__type_row *row = &kiln__types[type];
    int e = row->exponent, m = row->mantissa, least = 1 - bias_of(row);
    bool finite = row->kind != KILN__TYPE_FLOAT;
    if (row->kind == KILN__TYPE_POWER)
        return double_to_power(row, value);
    if (row->kind == KILN__TYPE_NUMBER && isnan(value))
        return (uint16_t)((1u << (e + m)) - 1);
    uint64_t bits, all = ((UINT64_C(1) << e) - 1) << m, most = finite ? all | ((UINT64_C(1) << m) - 1) : all;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << (e + m);
    int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 1024 && mantissa && !finite)
        return (uint16_t)(sign | all | UINT64_C(1) << (m - 1) | mantissa >> (52 - m));
    if (exponent > bias_of(row) + finite)
        return (uint16_t)(sign | most); /* the result is an infinity, NaN or the greatest number */
    if (exponent < least - m - 1)
        return (uint16_t)sign;
    int shift = 52 - m + (exponent >= least ? 0 : least - exponent); /* a subnormal number keeps fewer bits */
    uint64_t whole = mantissa | UINT64_C(1) << 52, kept = whole >> shift, rest = whole & ((UINT64_C(1) << shift) - 1);
    uint64_t tie = UINT64_C(1) << (shift - 1);
    kept += rest > tie || (rest == tie && (kept & 1));
    /* The addition (instead of an or) lets a carry out of the mantissa raise the exponent, up to infinity. */
    uint64_t base = exponent >= least ? (uint64_t)(exponent - least) << m : 0, sum = base + kept;
    return (uint16_t)(sign | (sum > most ? most : sum));
}

/* Converts floats of at most 16 bits to doubles. A normal number needs only two shifts and an addition, in a loop whose
 * constants are known. */
static void widen(kiln_type type, const void *data, uint64_t first, size_t count, double *out)
{
    const kiln__type_row *row = &kiln__types[type];
    const unsigned e = (unsigned)row->exponent, m = (unsigned)row->mantissa, all = (1u << e) - 1;
    const uint64_t rebias = (uint64_t)(1023 - bias_of(row)) << m;
    for (size_t i = 0; i < count; i++) {
        uint16_t given = row->bytes == 2 ? ((const uint16_t *)data)[first + i] : ((const uint8_t *)data)[first + i];
        unsigned exponent = (unsigned)given >> m & all;
        uint64_t sign = (uint64_t)((unsigned)given >> (e + m) & 1) << 63, magnitude = given & ((1u << (e + m)) - 1);
        uint64_t bits = sign | (magnitude + rebias) << (52 - m);
        if (exponent == 0 || exponent == all || (unsigned)given >> (e + m) > 1)
            out[i] = kiln__narrow_to_double(type, given);
        else
            memcpy(&out[i], &bits, sizeof bits);
    }
}

static void narrow(kiln_type type, void *data, uint64_t first, size_t count, const double *in)
{
    const kiln__type_row *row = &kiln__types[type];
    const unsigned e = (unsigned)row->exponent, m = (unsigned)row->mantissa, shift = 52 - m;
    const uint64_t least = (uint64_t)(1024 - bias_of(row)), normal = (uint64_t)(2 * bias_of(row) - 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits, made;
        memcpy(&bits, &in[i], sizeof bits);
        uint64_t magnitude = bits & ~(UINT64_C(1) << 63);
        /* uses the general conversion for types of powers of two, for subnormal numbers, and for numbers that may
         * exceed the range after rounding */
        if (m == 0 || (magnitude >> 52) - least >= normal) {
            made = kiln__double_to_narrow(type, in[i]);
        } else { /* rounds to nearest even: a tie is rounded up if the last bit is set */
            uint64_t half = (UINT64_C(1) << (shift - 1)) - 1 + (magnitude >> shift & 1);
            made = (bits >> 63 << (e + m)) | (((magnitude + half) >> shift) - ((least - 1) << m));
        }
        if (row->bytes == 2)
            ((uint16_t *)data)[first + i] = (uint16_t)made;
        else
            ((uint8_t *)data)[first + i] = (uint8_t)made;
    }
}

double kiln__narrow_greatest(kiln_type type)
{
    const kiln__type_row *row = &kiln__types[type];
    const unsigned all = (1u << (row->exponent + row->mantissa)) - 1;
    const unsigned infinite = 1u << row->mantissa; /* the number of codes that stand for infinity and NaN */
    const unsigned beyond = row->kind == KILN__TYPE_FLOAT ? infinite : row->kind == KILN__TYPE_NUMBER ? 0 : 1;
    return kiln__narrow_to_double(type, (uint16_t)(all - beyond));
}

/* Converts the elements first .. first + count - 1 to doubles. The conversion is exact except for 64-bit integers
 * beyond 2^53. For complex elements, converts the real part. */
void kiln__to_doubles(kiln_type type, const void *data, uint64_t first, size_t count, double *out)
{
#define KILN_CONVERT(tag, ctype)                                                                                       \
    case KILN_##tag: {                                                                                                 \
        const ctype *from = (const ctype *)data + first;                                                               \
        for (size_t i = 0; i < count; i++)                                                                             \
            out[i] = (double)from[i];                                                                                  \
        break;                                                                                                         \
    }
    switch (type) {
        KILN_CONVERT(i8, int8_t)
        KILN_CONVERT(u8, uint8_t)
        KILN_CONVERT(bool, uint8_t)
        KILN_CONVERT(i16, int16_t)
        KILN_CONVERT(u16, uint16_t)
        KILN_CONVERT(i32, int32_t)
        KILN_CONVERT(u32, uint32_t)
        KILN_CONVERT(i64, int64_t)
        KILN_CONVERT(u64, uint64_t)
        KILN_CONVERT(f32, float)
        KILN_CONVERT(f64, double)
    case KILN_f16:
    case KILN_bf16:
    case KILN_f8e4m3:
    case KILN_f8e5m2:
    case KILN_f4e2m1:
    case KILN_f6e2m3:
    case KILN_f6e3m2:
    case KILN_ue8m0: widen(type, data, first, count, out); break;
    case KILN_complex64:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)((const float *)data)[2 * (first + i)];
        break;
    case KILN_complex128:
        for (size_t i = 0; i < count; i++)
            out[i] = ((const double *)data)[2 * (first + i)];
        break;
    case KILN_TYPE_COUNT: break;
    }
#undef KILN_CONVERT
}

void kiln__from_doubles(kiln_type type, void *data, uint64_t first, size_t count, const double *in)
{
/* `past` is the first double above the range, because a double cannot represent the largest 64-bit integers. */
#define KILN_CONVERT(tag, ctype, least, past, most)                                                                    \
    case KILN_##tag: {                                                                                                 \
        ctype *to = (ctype *)data + first;                                                                             \
        for (size_t i = 0; i < count; i++) {                                                                           \
            double value = rint(in[i]);                                                                                \
            to[i] = value >= past            ? (ctype)most                                                             \
                    : value >= (double)least ? (ctype)value                                                            \
                    : isnan(value)           ? 0                                                                       \
                                             : (ctype)least;                                                                     \
        }                                                                                                              \
        break;                                                                                                         \
    }
    switch (type) {
        KILN_CONVERT(i8, int8_t, INT8_MIN, 0x1p7, INT8_MAX)
        KILN_CONVERT(u8, uint8_t, 0, 0x1p8, UINT8_MAX)
        KILN_CONVERT(i16, int16_t, INT16_MIN, 0x1p15, INT16_MAX)
        KILN_CONVERT(u16, uint16_t, 0, 0x1p16, UINT16_MAX)
        KILN_CONVERT(i32, int32_t, INT32_MIN, 0x1p31, INT32_MAX)
        KILN_CONVERT(u32, uint32_t, 0, 0x1p32, UINT32_MAX)
        KILN_CONVERT(i64, int64_t, INT64_MIN, 0x1p63, INT64_MAX)
        KILN_CONVERT(u64, uint64_t, 0, 0x1p64, UINT64_MAX)
    case KILN_f16:
    case KILN_bf16:
    case KILN_f8e4m3:
    case KILN_f8e5m2:
    case KILN_f4e2m1:
    case KILN_f6e2m3:
    case KILN_f6e3m2:
    case KILN_ue8m0: narrow(type, data, first, count, in); break;
    case KILN_bool:
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)data)[first + i] = in[i] != 0;
        break;
    case KILN_complex64:
        for (size_t i = 0; i < 2 * count; i++)
            ((float *)data)[2 * first + i] = i % 2 ? 0 : (float)in[i / 2];
        break;
    case KILN_complex128:
        for (size_t i = 0; i < 2 * count; i++)
            ((double *)data)[2 * first + i] = i % 2 ? 0 : in[i / 2];
        break;
    case KILN_f32:
        for (size_t i = 0; i < count; i++)
            ((float *)data)[first + i] = (float)in[i];
        break;
    case KILN_f64: memcpy((double *)data + first, in, count * sizeof *in); break;
    case KILN_TYPE_COUNT: break;
    }
#undef KILN_CONVERT
}
