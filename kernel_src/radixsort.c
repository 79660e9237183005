/* radixsort.c has radixsort_keys, which makes the inputs of radix sorts, and radixsort_exact, their reference. Both
 * know integers and floats of 32 and 64 bits.
 *
 * Floats are in the total order of IEEE 754, so that the results are equal in every bit. The function `ordered` maps
 * the bits of a key to an unsigned number in that order. The reference is a merge sort, which does not use digits.
 * Threads first sort runs. Then each thread merges pieces of pairs of runs. */
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "random.h"

enum { LEAST = 1 << 16 }; /* smallest number of keys for which a task of its own is worthwhile */

static bool is_key_type(kiln_type type)
{
    return type == KILN_u32 || type == KILN_i32 || type == KILN_f32 || type == KILN_u64 || type == KILN_i64 ||
           type == KILN_f64;
}

static bool is_wide(kiln_type type) { return type == KILN_u64 || type == KILN_i64 || type == KILN_f64; }

static uint64_t sign_of(kiln_type type) { return is_wide(type) ? UINT64_C(1) << 63 : UINT64_C(1) << 31; }

static uint64_t ordered(kiln_type type, uint64_t bits)
{
    const uint64_t sign = sign_of(type);
    if (type == KILN_u32 || type == KILN_u64)
        return bits;
    if (type == KILN_i32 || type == KILN_i64 || !(bits & sign))
        return bits ^ sign;
    return ~bits & (sign | (sign - 1));
}

/* Returns the bits of the key with this ordered number. The function is the inverse of ordered(). */
static uint64_t raw(kiln_type type, uint64_t number)
{
    const uint64_t sign = sign_of(type);
    if (type == KILN_u32 || type == KILN_u64)
        return number;
    if (type == KILN_i32 || type == KILN_i64 || number & sign)
        return number ^ sign;
    return ~number & (sign | (sign - 1));
}

static uint64_t read_key(const kiln_array *from, uint64_t i)
{
    return is_wide(from->type) ? ((const uint64_t *)from->data)[i] : ((const uint32_t *)from->data)[i];
}

static void write_key(kiln_array *to, uint64_t i, uint64_t bits)
{
    if (is_wide(to->type))
        ((uint64_t *)to->data)[i] = bits;
    else
        ((uint32_t *)to->data)[i] = (uint32_t)bits;
}

/* ---- inputs ---- */

/* X(name) */
#define RADIXSORT_KINDS(X)                                                                                             \
    X(random)                                                                                                          \
    X(sorted)                                                                                                          \
    X(reversed)                                                                                                        \
    X(few)                                                                                                             \
    X(equal)                                                                                                           \
    X(special)
typedef enum radixsort_kind {
#define KILN_X(name) RADIXSORT_##name,
    RADIXSORT_KINDS(KILN_X)
#undef KILN_X
        RADIXSORT_KIND_COUNT
} radixsort_kind;

typedef struct source {
    radixsort_kind kind;
    uint64_t n, seed;
    kiln_array *keys;
} source;

/* Returns one of the extremes of a type as raw bits. The extremes are zeros, infinities, NaN of both signs, denormals,
 * and the least and the greatest number. For integers these bits are numbers like any other. */
static uint64_t special_key(kiln_type type, uint64_t which)
{
    const uint64_t sign = sign_of(type), infinity = is_wide(type) ? UINT64_C(0x7FF) << 52 : UINT64_C(0x7F800000);
    const uint64_t some[] = {0, infinity, infinity + 1, infinity - 1, sign - 1, 1, infinity | infinity >> 1, sign >> 1};
    return some[which / 2 % KILN__COUNT(some)] | (which % 2 ? sign : 0);
}

/* Returns the bits of key i. A type of 32 bits uses the upper half of the 64 bits that are made, except for special
 * keys. Sorted keys have no sign bit, so that they are in order in every type. */
static uint64_t key_at(const source *s, uint64_t i)
{
    const uint64_t bits = kiln__random_mix(s->seed + UINT64_C(0x9E3779B97F4A7C15) * (i + 1));
    const uint64_t growing = (uint64_t)(((double)i + 0.5) / (double)s->n * 0x1p53) << 10;
    const unsigned cut = is_wide(s->keys->type) ? 0 : 32;
    switch (s->kind) {
    case RADIXSORT_sorted: return growing >> cut;
    case RADIXSORT_reversed: return ((UINT64_C(1) << 63) - 1 - growing) >> cut;
    case RADIXSORT_few: return (bits >> 60) * UINT64_C(0x0FEDCBA987654321) >> cut;
    case RADIXSORT_equal: return kiln__random_mix(s->seed) >> cut;
    case RADIXSORT_special:
        if (bits % 2 == 0)
            return special_key(s->keys->type, bits >> 1);
        break;
    case RADIXSORT_random:
    case RADIXSORT_KIND_COUNT: break;
    }
    return bits >> cut;
}

static void make_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const source *s = user;
    const uint64_t first = (uint64_t)part * LEAST;
    for (uint64_t i = first; i < first + LEAST && i < s->n; i++)
        write_key(s->keys, i, key_at(s, i));
}

/* The arguments are `keys` (a name of RADIXSORT_KINDS), `type`, `n` and `seed`. The function exports `keys`. */
static kiln_status radixsort_keys(void *user, kiln_call *call)
{
    (void)user;
    static const char *const names[] = {
#define KILN_X(name) #name,
        RADIXSORT_KINDS(KILN_X)
#undef KILN_X
    };
    const int64_t usual_seed = 1;
    source s = {.kind = RADIXSORT_random};
    const char *name, *type_name;
    kiln_type type;
    int64_t n, seed;
    if (kiln_call_text(call, "keys", NULL, &name) != KILN_OK ||
        kiln_call_text(call, "type", NULL, &type_name) != KILN_OK || kiln_call_int(call, "n", NULL, &n) != KILN_OK ||
        kiln_call_int(call, "seed", &usual_seed, &seed) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    while (s.kind < RADIXSORT_KIND_COUNT && strcmp(names[s.kind], name) != 0)
        s.kind++;
    if (s.kind == RADIXSORT_KIND_COUNT)
        return kiln_call_fail(call, "keys must be random, sorted, reversed, few, equal or special, not '%s'", name);
    if (!kiln__type_find(type_name, &type) || !is_key_type(type))
        return kiln_call_fail(call, "the type of keys must be u32, i32, f32, u64, i64 or f64, not '%s'", type_name);
    if (n < 0 || n > UINT32_MAX)
        return kiln_call_fail(call, "n must be 0 to 2^32 - 1");
    s.n = (uint64_t)n;
    s.seed = (uint64_t)seed;
    kiln_status status = kiln_call_export_array(call, "keys", type, 1, &s.n, &s.keys);
    if (status == KILN_OK)
        kiln__parallel(0, (size_t)((s.n + LEAST - 1) / LEAST), make_part, &s);
    return status;
}

/* ---- the reference ---- */

/* An item has a key and the number of its place. So no two items are equal, and the order of the items is the stable
 * order of the keys. If at most 32 bits of the keys are compared, these bits and the place fit into one word of 64
 * bits. This halves the memory and the time. */
__extension__ typedef unsigned __int128 wide_item;

enum { INDEX_BITS_NARROW = 32, INDEX_BITS_WIDE = 64, PIECE = 1 << 18 /* number of items that one task merges */ };

typedef struct sorting {
    const kiln_array *keys, *values;
    kiln_array *sorted_keys, *sorted_values; /* the arrays of values may have no elements */
    uint64_t n, width;                       /* number of all items; number of items in a run */
    unsigned begin;
    uint64_t mask;
    bool wide;       /* an item is a wide_item; otherwise it is a uint64_t */
    void *from, *to; /* arrays of items, from which a pass reads and to which it writes */
} sorting;

static uint64_t sorting_key(const sorting *s, uint64_t i)
{
    return ordered(s->keys->type, read_key(s->keys, i)) >> s->begin & s->mask;
}

/* Returns how many of the `count` smallest items of two sorted runs are in the first run. This is a binary
 * search along the merge path (Odeh and others, 2012). It finds the two prefixes in which no item is above an item
 * after the other prefix. */
#define DEFINE_MERGES(item, tag)                                                                                       \
    static size_t split_##tag(const item *a, size_t a_count, const item *b, size_t b_count, size_t count)              \
    {                                                                                                                  \
        size_t low = count > b_count ? count - b_count : 0, high = count < a_count ? count : a_count;                  \
        while (low < high) {                                                                                           \
            size_t middle = low + (high - low) / 2;                                                                    \
            if (a[middle] < b[count - middle - 1])                                                                     \
                low = middle + 1;                                                                                      \
            else                                                                                                       \
                high = middle;                                                                                         \
        }                                                                                                              \
        return low;                                                                                                    \
    }                                                                                                                  \
    /* Merges without a branch that depends on the items. Half of such branches would be predicted wrongly. */         \
    static void merge_##tag(const item *a, size_t a_count, const item *b, size_t b_count, item *to)                    \
    {                                                                                                                  \
        const item *a_end = a + a_count, *b_end = b + b_count;                                                         \
        while (a < a_end && b < b_end) {                                                                               \
            item x = *a, y = *b;                                                                                       \
            bool first = x < y;                                                                                        \
            *to++ = first ? x : y;                                                                                     \
            a += first;                                                                                                \
            b += !first;                                                                                               \
        }                                                                                                              \
        memcpy(to, a, (size_t)(a_end - a) * sizeof *a);                                                                \
        memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);                                                  \
    }                                                                                                                  \
    /* Makes a sorted run of up to LEAST items by merging runs of 1, 2, 4, ... items. */                               \
    static void make_run_##tag(const sorting *s, uint64_t first, size_t count)                                         \
    {                                                                                                                  \
        item *const begin = (item *)s->from + first;                                                                   \
        item *from = begin, *to = (item *)s->to + first;                                                               \
        for (size_t i = 0; i < count; i++)                                                                             \
            from[i] = (item)sorting_key(s, first + i) << INDEX_BITS_##tag | (first + i);                               \
        for (size_t width = 1; width < count; width *= 2) {                                                            \
            for (size_t i = 0; i < count; i += 2 * width) {                                                            \
                const size_t left = count - i, here = left < width ? left : width;                                     \
                const size_t behind = left - here < width ? left - here : width;                                       \
                merge_##tag(from + i, here, from + i + here, behind, to + i);                                          \
            }                                                                                                          \
            item *const next = to;                                                                                     \
            to = from;                                                                                                 \
            from = next;                                                                                               \
        }                                                                                                              \
        if (from != begin)                                                                                             \
            memcpy(begin, from, count * sizeof *from);                                                                 \
    }                                                                                                                  \
    /* Makes the items [first, first + count) of the merge of two neighbouring runs. They begin at `begin`. */         \
    static void merge_piece_##tag(const sorting *s, uint64_t begin, size_t first, size_t count)                        \
    {                                                                                                                  \
        const uint64_t left = s->n - begin;                                                                            \
        const size_t a_count = (size_t)(left < s->width ? left : s->width);                                            \
        const size_t b_count = (size_t)(left - a_count < s->width ? left - a_count : s->width);                        \
        const item *a = (const item *)s->from + begin, *b = a + a_count;                                               \
        const size_t from = split_##tag(a, a_count, b, b_count, first);                                                \
        const size_t to = split_##tag(a, a_count, b, b_count, first + count);                                          \
        merge_##tag(a + from, to - from, b + (first - from), first + count - to - (first - from),                      \
                    (item *)s->to + begin + first);                                                                    \
    }

#define INDEX_BITS_narrow INDEX_BITS_NARROW
#define INDEX_BITS_wide INDEX_BITS_WIDE
DEFINE_MERGES(uint64_t, narrow)
DEFINE_MERGES(wide_item, wide)
#undef INDEX_BITS_narrow
#undef INDEX_BITS_wide
#undef DEFINE_MERGES

static void make_run(void *user, size_t run, size_t worker)
{
    (void)worker;
    const sorting *s = user;
    const uint64_t first = (uint64_t)run * LEAST;
    const size_t count = s->n - first < LEAST ? (size_t)(s->n - first) : LEAST;
    if (s->wide)
        make_run_wide(s, first, count);
    else
        make_run_narrow(s, first, count);
}

/* Merges one piece of the result of a pass. If a pair of runs is longer than a piece, its length is a multiple of a
 * piece. Otherwise a piece has several pairs, and the function merges these pairs one after the other. */
static void merge_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const sorting *s = user;
    const uint64_t end = ((uint64_t)part + 1) * PIECE < s->n ? ((uint64_t)part + 1) * PIECE : s->n;
    for (uint64_t at = (uint64_t)part * PIECE; at < end;) {
        const uint64_t begin = at / (2 * s->width) * (2 * s->width), pair_end = begin + 2 * s->width;
        const size_t count = (size_t)((pair_end < end ? pair_end : end) - at);
        if (s->wide)
            merge_piece_wide(s, begin, (size_t)(at - begin), count);
        else
            merge_piece_narrow(s, begin, (size_t)(at - begin), count);
        at += count;
    }
}

static uint64_t index_of(const sorting *s, uint64_t i)
{
    return s->wide ? (uint64_t)((const wide_item *)s->from)[i] : (uint32_t)((const uint64_t *)s->from)[i];
}

/* Returns the key of the item in place i. If the item has all bits of its key, the function does not read the key from
 * its original place, which is random. */
static uint64_t key_of(const sorting *s, uint64_t i)
{
    if (s->wide || s->mask != UINT32_MAX || is_wide(s->keys->type))
        return read_key(s->keys, index_of(s, i));
    return raw(s->keys->type, ((const uint64_t *)s->from)[i] >> 32);
}

static void write_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const sorting *s = user;
    const uint64_t first = (uint64_t)part * LEAST;
    for (uint64_t i = first; i < first + LEAST && i < s->n; i++) {
        write_key(s->sorted_keys, i, key_of(s, i));
        if (s->values->shape[0] > 0)
            ((uint32_t *)s->sorted_values->data)[i] = ((const uint32_t *)s->values->data)[index_of(s, i)];
    }
}

static void sort_all(sorting *s)
{
    const size_t parts = (size_t)((s->n + LEAST - 1) / LEAST);
    kiln__parallel(0, parts, make_run, s);
    for (s->width = LEAST; s->width < s->n; s->width *= 2) {
        kiln__parallel(0, (size_t)((s->n + PIECE - 1) / PIECE), merge_part, s);
        void *const next = s->to;
        s->to = s->from;
        s->from = next;
    }
    kiln__parallel(0, parts, write_part, s);
}

/* Sorts keys and values by the bits BEGIN to END - 1 of the ordered numbers of the keys. Keys that are equal in these
 * bits keep their order. If there are no values, the function sorts keys alone. */
static kiln_status radixsort_exact(void *user, kiln_call *call)
{
    (void)user;
    sorting s = {0};
    int64_t begin, end;
    if (kiln_call_array(call, "keys", &s.keys) != KILN_OK || kiln_call_array(call, "values", &s.values) != KILN_OK ||
        kiln_call_output(call, "sorted_keys", &s.sorted_keys) != KILN_OK ||
        kiln_call_output(call, "sorted_values", &s.sorted_values) != KILN_OK ||
        kiln_call_int(call, "BEGIN", NULL, &begin) != KILN_OK || kiln_call_int(call, "END", NULL, &end) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    const kiln_array *const all[] = {s.keys, s.sorted_keys, s.values, s.sorted_values};
    bool right = is_key_type(s.keys->type) && s.sorted_keys->type == s.keys->type && s.values->type == KILN_u32 &&
                 s.sorted_values->type == KILN_u32;
    for (size_t i = 0; i < KILN__COUNT(all); i++)
        right = right && all[i]->dims == 1 &&
                (all[i]->shape[0] == s.keys->shape[0] || (i >= 2 && all[i]->shape[0] == 0));
    if (!right || s.values->shape[0] != s.sorted_values->shape[0])
        return kiln_call_fail(call,
                              "keys and sorted_keys must be one-dimensional, of one length, with elements of 32 or "
                              "64 bits; values and sorted_values must be of u32, and have this length or none");
    if (begin < 0 || begin >= end || end > (is_wide(s.keys->type) ? 64 : 32))
        return kiln_call_fail(call, "BEGIN must be at least 0 and less than END, and END at most the number of bits "
                                    "of a key");
    s.n = s.keys->shape[0];
    s.begin = (unsigned)begin;
    s.mask = end - begin == 64 ? UINT64_MAX : (UINT64_C(1) << (end - begin)) - 1;
    if (s.n == 0)
        return KILN_OK;
    s.wide = end - begin > 32 || s.n > UINT32_MAX;
    const size_t item_bytes = s.wide ? sizeof(wide_item) : sizeof(uint64_t);
    void *const first = kiln__alloc(kiln_call_allocator(call), (size_t)s.n * item_bytes);
    void *const second = kiln__alloc(kiln_call_allocator(call), (size_t)s.n * item_bytes);
    kiln_status status = KILN_OK;
    s.from = first, s.to = second;
    kiln__huge_pages(kiln_call_allocator(call), first, s.n * item_bytes);
    kiln__huge_pages(kiln_call_allocator(call), second, s.n * item_bytes);
    if (first && second)
        sort_all(&s);
    else
        status = kiln_call_fail(call, "out of host memory");
    kiln__free(kiln_call_allocator(call), second);
    kiln__free(kiln_call_allocator(call), first);
    return status;
}

KILN__FAMILY(radixsort,
             KILN__HOST("radixsort_exact", KILN_HOST_REFERENCE, radixsort_exact, "keys, values, BEGIN, END",
                        "sorted_keys, sorted_values"),
             KILN__HOST("radixsort_keys", KILN_HOST_INPUT, radixsort_keys, "keys (a kind), type, n, [seed]", "keys"))
