/* mergesort.c has sort_keys, which makes the input of sorts (n keys of a kind), and sort_exact, the reference of sorts.
 * Keys are u32, i32 or f32.
 *
 * Floats are in the total order of IEEE 754: negative NaN, -infinity, ..., -0, 0, ..., infinity, NaN. So the bits
 * determine the order, and equal keys have equal bits. The function `ordered` maps the bits of a key to an unsigned
 * integer in that order. The function `raw` is its inverse.
 *
 * The reference is a stable radix sort with four passes. Each pass sorts by one byte. Each thread counts the bytes of
 * its part of the keys. The counts are scanned in the order of bytes, and for equal bytes in the order of parts. Then
 * each thread moves the keys of its part. */
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "random.h"

enum { PARTS = 64, LEAST = 1 << 16, BINS = 256 }; /* largest number of parts; smallest number of keys in a part */

static uint32_t ordered(kiln_type type, uint32_t bits)
{
    if (type == KILN_u32)
        return bits;
    if (type == KILN_i32)
        return bits ^ UINT32_C(0x80000000);
    return bits & UINT32_C(0x80000000) ? ~bits : bits | UINT32_C(0x80000000);
}

static uint32_t raw(kiln_type type, uint32_t key)
{
    if (type != KILN_f32)
        return ordered(type, key);
    return key & UINT32_C(0x80000000) ? key ^ UINT32_C(0x80000000) : ~key;
}

/* ---- inputs ---- */

/* X(name) */
#define SORT_KINDS(X)                                                                                                  \
    X(random)                                                                                                          \
    X(sorted)                                                                                                          \
    X(reversed)                                                                                                        \
    X(few)                                                                                                             \
    X(equal)                                                                                                           \
    X(nearly)                                                                                                          \
    X(special)
typedef enum sort_kind {
#define KILN_X(name) SORT_##name,
    SORT_KINDS(KILN_X)
#undef KILN_X
        SORT_KIND_COUNT
} sort_kind;

typedef struct source {
    sort_kind kind;
    kiln_type type;
    uint64_t n, seed;
    uint32_t *keys;
} source;

/* Makes a number from random bits, and returns it as ordered bits. A float is in [-1, 1) and grows with `bits`. It uses
 * the upper 24 bits. */
static uint32_t number(const source *s, uint32_t bits)
{
    if (s->type != KILN_f32)
        return bits;
    float value = (float)((int32_t)(bits >> 8) - (1 << 23)) * 0x1p-23F;
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return ordered(s->type, word);
}

/* The extreme keys as raw bits: zeros, infinities, NaN of both signs, denormals, and the extremes of integers. */
static const uint32_t SPECIAL[] = {0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000,
                                   0x7F800001, 0xFFFFFFFF, 0x7FFFFFFF, 1,          0x80000001, 0x007FFFFF,
                                   0x7F7FFFFF, 0xFF7FFFFF, 0xFFFFFFFE, 0xFF800001};

static uint32_t key_at(const source *s, uint64_t i)
{
    uint64_t bits = kiln__random_mix(s->seed + UINT64_C(0x9E3779B97F4A7C15) * (i + 1));
    uint32_t random = (uint32_t)(bits >> 32);
    switch (s->kind) {
    case SORT_random: return number(s, random);
    case SORT_sorted: return number(s, (uint32_t)((i << 32) / s->n));
    case SORT_reversed: return number(s, (uint32_t)(((s->n - 1 - i) << 32) / s->n));
    case SORT_few: /* the keys have sixteen values */ return number(s, (random >> 28) * UINT32_C(0x0FEDCBA9));
    case SORT_equal: return number(s, (uint32_t)(kiln__random_mix(s->seed) >> 32));
    case SORT_nearly: /* sorted keys, except that one key in 64 is any number */
        return number(s, bits % 64 == 0 ? random : (uint32_t)((i << 32) / s->n));
    case SORT_special: /* half of the keys are extreme keys, and the others have any bits */
    case SORT_KIND_COUNT: break;
    }
    return ordered(s->type, bits % 2 ? random : SPECIAL[bits / 2 % KILN__COUNT(SPECIAL)]);
}

static void make_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const source *s = user;
    uint64_t first = (uint64_t)part * LEAST;
    for (uint64_t i = first; i < first + LEAST && i < s->n; i++)
        s->keys[i] = raw(s->type, key_at(s, i));
}

/* ---- statistics of keys ---- */

enum { SAMPLE = 1 << 16 }; /* largest number of keys in the sample in which equal keys are counted */

typedef struct order {
    kiln_type type;
    uint64_t n;
    const uint32_t *keys;
    uint64_t ascents; /* number of neighbouring pairs in order, whose first key is not above the second */
} order;

static void count_ascents(void *user, size_t part, size_t worker)
{
    (void)worker;
    order *o = user;
    uint64_t first = (uint64_t)part * LEAST, count = 0;
    for (uint64_t i = first; i < first + LEAST && i + 1 < o->n; i++)
        count += ordered(o->type, o->keys[i]) <= ordered(o->type, o->keys[i + 1]);
    __atomic_fetch_add(&o->ascents, count, __ATOMIC_RELAXED);
}

static int by_bits(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Counts equal keys in a sample of keys that are at equal distances. Sets `different` to the number of different keys,
 * and `commonest` to the number of copies of the most frequent key. */
static void count_equal(const order *o, uint32_t *sample, uint64_t count, uint64_t *different, uint64_t *commonest)
{
    for (uint64_t i = 0; i < count; i++)
        sample[i] = o->keys[i * (o->n / count)];
    qsort(sample, (size_t)count, sizeof *sample, by_bits);
    *different = *commonest = 0;
    for (uint64_t i = 0, begin = 0; i < count; i++) {
        begin = i && sample[i] == sample[i - 1] ? begin : i;
        *different += begin == i;
        *commonest = i - begin + 1 > *commonest ? i - begin + 1 : *commonest;
    }
}

/* Exports the statistics of the keys as shares from 0 to 1. */
static kiln_status export_description(kiln_call *call, const source *s)
{
    order o = {.type = s->type, .n = s->n, .keys = s->keys};
    uint64_t count = s->n < SAMPLE ? s->n : SAMPLE, different = 0, commonest = 0;
    uint32_t *sample = kiln__alloc(kiln_call_allocator(call), ((size_t)count + 1) * sizeof *sample);
    if (!sample)
        return kiln_call_fail(call, "out of host memory");
    kiln__parallel(0, (size_t)((s->n + LEAST - 1) / LEAST), count_ascents, &o);
    if (count)
        count_equal(&o, sample, count, &different, &commonest);
    kiln__free(kiln_call_allocator(call), sample);
    if (kiln_call_export_float(call, "ascents", s->n > 1 ? (double)o.ascents / (double)(s->n - 1) : 1) != KILN_OK ||
        kiln_call_export_float(call, "different", count ? (double)different / (double)count : 1) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    return kiln_call_export_float(call, "commonest", count ? (double)commonest / (double)count : 1);
}

/* The arguments are `keys` (a name of SORT_KINDS), `type` (u32, i32 or f32), `n` and `seed`. The function exports
 * `keys` and these statistics:
 *
 * - `ascents`: the share of neighbouring keys that are in order, which is 1/2 for random keys and 1 for sorted keys.
 * - `different`: the share of different keys in a sample of 65,536 keys, or of all keys if there are fewer.
 * - `commonest`: the share of the most frequent key in this sample. */
static kiln_status sort_keys(void *user, kiln_call *call)
{
    (void)user;
    static const char *const names[] = {
#define KILN_X(name) #name,
        SORT_KINDS(KILN_X)
#undef KILN_X
    };
    const int64_t usual_seed = 1;
    source s = {.kind = SORT_random};
    const char *name, *type;
    int64_t n, seed;
    kiln_array *keys;
    if (kiln_call_text(call, "keys", NULL, &name) != KILN_OK || kiln_call_text(call, "type", NULL, &type) != KILN_OK ||
        kiln_call_int(call, "n", NULL, &n) != KILN_OK || kiln_call_int(call, "seed", &usual_seed, &seed) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    while (s.kind < SORT_KIND_COUNT && strcmp(names[s.kind], name) != 0)
        s.kind++;
    if (s.kind == SORT_KIND_COUNT)
        return kiln_call_fail(call, "keys must be random, sorted, reversed, few, equal, nearly or special, not '%s'",
                              name);
    if (!kiln__type_find(type, &s.type) || (s.type != KILN_u32 && s.type != KILN_i32 && s.type != KILN_f32))
        return kiln_call_fail(call, "the type of keys must be u32, i32 or f32, not '%s'", type);
    if (n < 0 || n > UINT32_MAX)
        return kiln_call_fail(call, "n must be 0 to 2^32 - 1");
    s.n = (uint64_t)n;
    s.seed = (uint64_t)seed;
    kiln_status status = kiln_call_export_array(call, "keys", s.type, 1, &s.n, &keys);
    if (status != KILN_OK)
        return status;
    s.keys = keys->data;
    kiln__parallel(0, (size_t)((s.n + LEAST - 1) / LEAST), make_part, &s);
    return export_description(call, &s);
}

/* ---- the reference ---- */

typedef struct line {
    uint32_t *keys, *values;
} line; /* values may be NULL */

typedef struct pass {
    kiln_type type;
    uint64_t n, stretch;
    size_t parts;
    unsigned shift;
    bool first, last; /* `first`: the pass reads raw bits; `last`: the pass writes raw bits */
    line from, to;
    uint64_t *at; /* for each part and byte: first the number of keys, then the place of the next key */
} pass;

static uint32_t key_of(const pass *p, uint64_t i)
{
    return p->first ? ordered(p->type, p->from.keys[i]) : p->from.keys[i];
}

static uint64_t end_of(const pass *p, size_t part)
{
    uint64_t first = (uint64_t)part * p->stretch;
    return p->n - first < p->stretch ? p->n : first + p->stretch;
}

static void count_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const pass *p = user;
    uint64_t *count = p->at + part * BINS;
    memset(count, 0, BINS * sizeof *count);
    for (uint64_t i = (uint64_t)part * p->stretch; i < end_of(p, part); i++)
        count[key_of(p, i) >> p->shift & 0xFF]++;
}

static void move_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const pass *p = user;
    uint64_t *at = p->at + part * BINS;
    for (uint64_t i = (uint64_t)part * p->stretch; i < end_of(p, part); i++) {
        uint32_t key = key_of(p, i);
        uint64_t to = at[key >> p->shift & 0xFF]++;
        p->to.keys[to] = p->last ? raw(p->type, key) : key;
        if (p->to.values)
            p->to.values[to] = p->from.values[i];
    }
}

static void sort_all(pass *p, line in, line out, line scratch)
{
    for (unsigned byte = 0; byte < 4; byte++) {
        p->shift = 8 * byte;
        p->first = byte == 0;
        p->last = byte == 3;
        p->from = byte == 0 ? in : byte % 2 ? scratch : out;
        p->to = byte % 2 ? out : scratch;
        kiln__parallel(0, p->parts, count_part, p);
        uint64_t sum = 0;
        for (size_t bin = 0; bin < BINS; bin++) {
            for (size_t part = 0; part < p->parts; part++) {
                uint64_t count = p->at[part * BINS + bin];
                p->at[part * BINS + bin] = sum;
                sum += count;
            }
        }
        kiln__parallel(0, p->parts, move_part, p);
    }
}

static bool is_line(const kiln_array *array, kiln_type type, uint64_t n)
{
    return array->dims == 1 && array->type == type && array->shape[0] == n;
}

/* Sorts keys and their values in the order of the keys. Equal keys keep their order. If there are no values, the
 * function sorts keys alone. */
static kiln_status sort_exact(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *keys, *values;
    kiln_array *sorted_keys, *sorted_values;
    if (kiln_call_array(call, "keys", &keys) != KILN_OK || kiln_call_array(call, "values", &values) != KILN_OK ||
        kiln_call_output(call, "sorted_keys", &sorted_keys) != KILN_OK ||
        kiln_call_output(call, "sorted_values", &sorted_values) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    pass p = {.type = keys->type, .n = keys->dims == 1 ? keys->shape[0] : 0};
    bool pairs = values->dims == 1 && values->shape[0] > 0;
    if (keys->dims != 1 || (p.type != KILN_u32 && p.type != KILN_i32 && p.type != KILN_f32) ||
        !is_line(sorted_keys, p.type, p.n) || !is_line(values, KILN_u32, pairs ? p.n : 0) ||
        !is_line(sorted_values, KILN_u32, pairs ? p.n : 0))
        return kiln_call_fail(call, "keys and sorted_keys must be one-dimensional, of one length, and of u32, i32 or "
                                    "f32; values and sorted_values must be of u32, and have this length or none");
    if (p.n == 0)
        return KILN_OK;
    p.stretch = (p.n - 1) / PARTS + 1;
    p.stretch = p.stretch < LEAST ? LEAST : p.stretch;
    p.parts = (size_t)((p.n - 1) / p.stretch + 1);
    p.at = kiln__alloc(kiln_call_allocator(call), p.parts * BINS * sizeof *p.at);
    line scratch = {kiln__alloc(kiln_call_allocator(call), (size_t)p.n * sizeof *scratch.keys),
                    pairs ? kiln__alloc(kiln_call_allocator(call), (size_t)p.n * sizeof *scratch.values) : NULL};
    kiln_status status = KILN_OK;
    if (p.at && scratch.keys && (scratch.values || !pairs))
        sort_all(&p, (line){keys->data, values->data}, (line){sorted_keys->data, pairs ? sorted_values->data : NULL},
                 scratch);
    else
        status = kiln_call_fail(call, "out of host memory");
    kiln__free(kiln_call_allocator(call), scratch.values);
    kiln__free(kiln_call_allocator(call), scratch.keys);
    kiln__free(kiln_call_allocator(call), p.at);
    return status;
}

KILN__FAMILY(mergesort,
             KILN__HOST("sort_exact", KILN_HOST_REFERENCE, sort_exact, "keys, values", "sorted_keys, sorted_values"),
             KILN__HOST("sort_keys", KILN_HOST_INPUT, sort_keys, "keys (a kind), type, n, [seed]",
                        "keys, and facts about them"))
