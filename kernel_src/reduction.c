/* reduction.c has reduction_f64, the reference of reductions. If OP is 0, y is the sum of x. If OP is 1, y is the
 * maximum of x. If OP is 2, y is the maximum of x, and `at` is the index of the maximum. Floats are summed in double,
 * and integers modulo 2^64. If y has fewer bits than the sum, y keeps the lower bits of the sum.
 *
 * The maximum follows IEEE 754-2019. It is NaN if any element is NaN, and 0 is above -0. The index is the first index
 * that has the maximum. Threads reduce parts of x. The results of the parts are combined in order. So the result does
 * not depend on the number of threads. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "catalogue.h"

enum { SUM, MAX, ARGMAX, STRETCH = 1 << 16, LINE = 1024 };

typedef struct part {
    double value;   /* the sum or the maximum of the part */
    uint64_t whole; /* the sum of the part, if the elements are integers */
    uint64_t at;    /* the index of the maximum; UINT64_MAX if the part has no element */
} part;

typedef struct reduction {
    const kiln_array *x;
    uint64_t n;
    bool integers, sum;
    part *parts;
} reduction;

/* Returns true if b replaces a in a search for the maximum. If the values are equal, the earlier element stays. */
static bool is_above(double b, double a)
{
    if (isnan(a) || isnan(b))
        return isnan(b) && !isnan(a);
    return b > a || (b == 0 && a == 0 && signbit(a) && !signbit(b));
}

static void take_maximum(part *p, double value, uint64_t at)
{
    if (p->at != UINT64_MAX && !is_above(value, p->value))
        return;
    p->value = value;
    p->at = at;
}

static void stretch(void *user, size_t index, size_t worker)
{
    (void)worker;
    const reduction *r = user;
    part *p = &r->parts[index];
    uint64_t first = (uint64_t)index * STRETCH, end = first + STRETCH < r->n ? first + STRETCH : r->n;
    double line[LINE];
    for (uint64_t i = first; i < end; i += LINE) {
        size_t count = end - i < LINE ? (size_t)(end - i) : LINE;
        kiln__to_doubles(r->x->type, r->x->data, i, count, line);
        for (size_t k = 0; r->sum && k < count; k++)
            p->value += line[k];
        for (size_t k = 0; r->sum && r->integers && k < count; k++)
            p->whole += (uint64_t)(int64_t)line[k];
        for (size_t k = 0; !r->sum && k < count; k++)
            take_maximum(p, line[k], i + k);
    }
}

static void give(const reduction *r, part total, kiln_array *y, kiln_array *at)
{
    if (r->sum && r->integers) {
        uint32_t lower = (uint32_t)total.whole;
        memcpy(y->data, &lower, sizeof lower);
        return;
    }
    if (!r->sum && total.at == UINT64_MAX)
        total.value = r->integers ? INT32_MIN : -INFINITY;
    kiln__from_doubles(y->type, y->data, 0, 1, &total.value);
    if (at) {
        int64_t place = total.at == UINT64_MAX ? -1 : (int64_t)total.at;
        memcpy(at->data, &place, sizeof place);
    }
}

/* The reference of reductions. Each part of x has a fixed length and its own result. The results are combined in order,
 * so the result does not depend on the number of threads. */
static kiln_status reduction_f64(void *user, kiln_call *call)
{
    (void)user;
    reduction r = {0};
    kiln_array *y, *at;
    int64_t op;
    if (kiln_call_array(call, "x", &r.x) != KILN_OK || kiln_call_output(call, "y", &y) != KILN_OK ||
        kiln_call_output(call, "at", &at) != KILN_OK || kiln_call_int(call, "OP", NULL, &op) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (op < SUM || op > ARGMAX)
        return kiln_call_fail(call, "OP must be 0 (sum), 1 (max) or 2 (argmax), not %" PRId64, op);
    r.integers = r.x->type == KILN_i32;
    r.sum = op == SUM;
    if (r.x->dims != 1 || (r.x->type != KILN_f32 && !r.integers) || y->type != r.x->type || y->dims != 1 ||
        y->shape[0] != 1)
        return kiln_call_fail(call, "x must be one-dimensional, of f32 or i32, and y one element of the same type");
    if (op == ARGMAX && (at->type != KILN_i64 || at->dims != 1 || at->shape[0] != 1))
        return kiln_call_fail(call, "at must be one i64");
    r.n = r.x->shape[0];
    size_t count = (size_t)(r.n / STRETCH + (r.n % STRETCH != 0));
    r.parts = kiln__calloc(kiln_call_allocator(call), count + 1, sizeof *r.parts);
    if (!r.parts)
        return kiln_call_fail(call, "out of host memory");
    for (size_t i = 0; i <= count; i++)
        r.parts[i].at = UINT64_MAX;
    kiln__parallel(0, count, stretch, &r);
    part total = r.parts[count];
    for (size_t i = 0; i < count; i++) {
        total.whole += r.parts[i].whole;
        if (r.sum)
            total.value += r.parts[i].value;
        else
            take_maximum(&total, r.parts[i].value, r.parts[i].at);
    }
    give(&r, total, y, op == ARGMAX ? at : NULL);
    kiln__free(kiln_call_allocator(call), r.parts);
    return KILN_OK;
}

KILN__FAMILY(reduction, KILN__HOST("reduction_f64", KILN_HOST_REFERENCE, reduction_f64, "x, OP", "y, at"))
