/* scan.c has scan_f64, the reference of scans. The element y[i] is the sum of x up to and including element i. If
 * EXCLUSIVE is 1, the sum does not include element i. Floats are summed in double. Integers are summed modulo 2^64, and
 * y keeps the lower bits of the sums. Threads sum parts of x, and the sums of the parts are scanned in order. A second
 * pass over the parts writes y. */
#include <inttypes.h>
#include <string.h>

#include "catalogue.h"

enum { STRETCH = 1 << 16, LINE = 1024 };

typedef struct before {
    double value;
    uint64_t whole; /* the same sum, if the elements are integers */
} before;

typedef struct scan {
    const kiln_array *x;
    kiln_array *y;
    uint64_t n;
    bool integers, exclusive;
    before *before; /* for each part: first its sum, and later the sum of all parts before it */
} scan;

static size_t next_line(const scan *s, uint64_t i, uint64_t end, double *line)
{
    size_t count = end - i < LINE ? (size_t)(end - i) : LINE;
    kiln__to_doubles(s->x->type, s->x->data, i, count, line);
    return count;
}

static uint64_t end_of(const scan *s, size_t index)
{
    uint64_t end = ((uint64_t)index + 1) * STRETCH;
    return end < s->n ? end : s->n;
}

static void add_up(void *user, size_t index, size_t worker)
{
    (void)worker;
    const scan *s = user;
    double line[LINE];
    before sum = {0};
    uint64_t end = end_of(s, index);
    for (uint64_t i = (uint64_t)index * STRETCH; i < end; i += LINE) {
        size_t count = next_line(s, i, end, line);
        for (size_t k = 0; k < count; k++)
            sum.value += line[k];
        for (size_t k = 0; s->integers && k < count; k++)
            sum.whole += (uint64_t)(int64_t)line[k];
    }
    s->before[index] = sum;
}

static void go_through(void *user, size_t index, size_t worker)
{
    (void)worker;
    const scan *s = user;
    double line[LINE];
    before sum = s->before[index];
    uint64_t end = end_of(s, index);
    for (uint64_t i = (uint64_t)index * STRETCH; i < end; i += LINE) {
        size_t count = next_line(s, i, end, line);
        for (size_t k = 0; s->integers && k < count; k++) {
            uint64_t was = sum.whole;
            sum.whole += (uint64_t)(int64_t)line[k];
            uint32_t lower = (uint32_t)(s->exclusive ? was : sum.whole);
            memcpy((char *)s->y->data + (i + k) * sizeof lower, &lower, sizeof lower);
        }
        for (size_t k = 0; !s->integers && k < count; k++) {
            double was = sum.value;
            sum.value += line[k];
            line[k] = s->exclusive ? was : sum.value;
        }
        if (!s->integers)
            kiln__from_doubles(s->y->type, s->y->data, i, count, line);
    }
}

/* The reference of scans. A first pass computes the sum of each part of x. Parts have a fixed length. A second pass
 * walks each part, and begins with the sum of all parts before it. So the result does not depend on the number of
 * threads. */
static kiln_status scan_f64(void *user, kiln_call *call)
{
    (void)user;
    scan s = {0};
    int64_t exclusive;
    if (kiln_call_array(call, "x", &s.x) != KILN_OK || kiln_call_output(call, "y", &s.y) != KILN_OK ||
        kiln_call_int(call, "EXCLUSIVE", NULL, &exclusive) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    s.integers = s.x->type == KILN_i32;
    s.exclusive = exclusive != 0;
    if (s.x->dims != 1 || (s.x->type != KILN_f32 && !s.integers) || s.y->type != s.x->type || s.y->dims != 1 ||
        s.y->shape[0] != s.x->shape[0])
        return kiln_call_fail(call, "x and y must be one-dimensional, of f32 or i32, and of the same type and length");
    s.n = s.x->shape[0];
    size_t count = (size_t)(s.n / STRETCH + (s.n % STRETCH != 0));
    s.before = kiln__calloc(kiln_call_allocator(call), count + 1, sizeof *s.before);
    if (!s.before)
        return kiln_call_fail(call, "out of host memory");
    kiln__parallel(0, count, add_up, &s);
    before sum = {0};
    for (size_t i = 0; i < count; i++) {
        before mine = s.before[i];
        s.before[i] = sum;
        sum.value += mine.value;
        sum.whole += mine.whole;
    }
    kiln__parallel(0, count, go_through, &s);
    kiln__free(kiln_call_allocator(call), s.before);
    return KILN_OK;
}

KILN__FAMILY(scan, KILN__HOST("scan_f64", KILN_HOST_REFERENCE, scan_f64, "x, EXCLUSIVE", "y"))
