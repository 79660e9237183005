/* axpby.c - the reference axpby_f64, which computes y = A x + B y in double on all cores. */
#include "catalogue.h"

enum { STRETCH = 1 << 16, LINE = 512 };

typedef struct sums {
    double a, b;
    const kiln_array *x;
    kiln_array *y;
} sums;

/* Computes one part of the array, a few elements at a time. */
static void add_stretch(void *user, size_t index, size_t worker)
{
    (void)worker;
    const sums *s = user;
    const uint64_t begin = (uint64_t)index * STRETCH, n = s->y->shape[0];
    const uint64_t end = n - begin < STRETCH ? n : begin + STRETCH;
    double x[LINE], y[LINE];
    for (uint64_t i = begin; i < end; i += LINE) {
        const size_t count = end - i < LINE ? (size_t)(end - i) : LINE;
        kiln__to_doubles(s->x->type, s->x->data, i, count, x);
        kiln__to_doubles(s->y->type, s->y->data, i, count, y);
        for (size_t k = 0; k < count; k++)
            y[k] = s->a * x[k] + s->b * y[k];
        kiln__from_doubles(s->y->type, s->y->data, i, count, y);
    }
}

/* The output y already has the contents that the kernels find in it. */
static kiln_status axpby_f64(void *user, kiln_call *call)
{
    (void)user;
    sums s = {0};
    if (kiln_call_float(call, "A", NULL, &s.a) != KILN_OK || kiln_call_float(call, "B", NULL, &s.b) != KILN_OK ||
        kiln_call_array(call, "x", &s.x) != KILN_OK || kiln_call_output(call, "y", &s.y) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (s.x->dims != 1 || s.y->dims != 1 || s.x->shape[0] != s.y->shape[0])
        return kiln_call_fail(call, "x and y must be one-dimensional, and of the same length");
    kiln__parallel(0, (size_t)(s.y->shape[0] / STRETCH + (s.y->shape[0] % STRETCH != 0)), add_stretch, &s);
    return KILN_OK;
}

KILN__FAMILY(axpby, KILN__HOST("axpby_f64", KILN_HOST_REFERENCE, axpby_f64, "x, y, A, B", "y"))
