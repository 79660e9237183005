/* normalise.c has normalise_f64, the reference of softmax, layer norm and RMS norm of rows, in double. KIND is 0 for
 * softmax, 1 for layer norm, and 2 for RMS norm. NaN and infinities propagate by the rules of IEEE 754. */
#include <inttypes.h>
#include <math.h>

#include "catalogue.h"

enum { SOFTMAX, LAYER_NORM, RMS_NORM };

typedef struct problem {
    const kiln_array *x, *gamma, *beta;
    kiln_array *y;
    int64_t kind;
    double epsilon;
    size_t width;
    double *lines; /* for each worker a row of doubles; after these the rows gamma and beta */
    const double *weights, *shifts;
} problem;

static void softmax(double *row, size_t width)
{
    double maximum = -INFINITY, sum = 0;
    for (size_t i = 0; i < width; i++)
        maximum = row[i] > maximum ? row[i] : maximum;
    for (size_t i = 0; i < width; i++) {
        row[i] = exp(row[i] - maximum);
        sum += row[i];
    }
    for (size_t i = 0; i < width; i++)
        row[i] /= sum;
}

static void norm(const problem *p, double *row)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < p->width && p->kind == LAYER_NORM; i++)
        mean += row[i];
    mean /= (double)p->width;
    for (size_t i = 0; i < p->width; i++)
        squares += (row[i] - mean) * (row[i] - mean);
    double scale = 1 / sqrt(squares / (double)p->width + p->epsilon);
    for (size_t i = 0; i < p->width; i++)
        row[i] = (row[i] - mean) * scale * p->weights[i] + (p->shifts ? p->shifts[i] : 0);
}

static void one_row(void *user, size_t index, size_t worker)
{
    const problem *p = user;
    double *row = p->lines + worker * p->width;
    uint64_t first = (uint64_t)index * p->width;
    kiln__to_doubles(p->x->type, p->x->data, first, p->width, row);
    if (p->kind == SOFTMAX)
        softmax(row, p->width);
    else
        norm(p, row);
    kiln__from_doubles(p->y->type, p->y->data, first, p->width, row);
}

static bool is_row(const problem *p, const kiln_array *weights)
{
    return weights->type == p->x->type && weights->dims == 1 && weights->shape[0] == p->x->shape[1];
}

/* The reference computes softmax, layer norm or RMS norm of each row of x, by all cores. Each thread has its own row of
 * doubles. The function converts gamma and beta once, into two rows after the rows of the threads. */
static kiln_status normalise_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {0};
    if (kiln_call_array(call, "x", &p.x) != KILN_OK || kiln_call_array(call, "gamma", &p.gamma) != KILN_OK ||
        kiln_call_array(call, "beta", &p.beta) != KILN_OK || kiln_call_output(call, "y", &p.y) != KILN_OK ||
        kiln_call_int(call, "KIND", NULL, &p.kind) != KILN_OK ||
        kiln_call_float(call, "EPSILON", NULL, &p.epsilon) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (p.kind < SOFTMAX || p.kind > RMS_NORM)
        return kiln_call_fail(call, "KIND must be 0 (softmax), 1 (layer norm) or 2 (RMS norm), not %" PRId64, p.kind);
    if (p.x->dims != 2 || p.y->dims != 2 || p.y->type != p.x->type || p.y->shape[0] != p.x->shape[0] ||
        p.y->shape[1] != p.x->shape[1])
        return kiln_call_fail(call, "x and y must be two-dimensional, of the same type and shape");
    if ((p.kind != SOFTMAX && !is_row(&p, p.gamma)) || (p.kind == LAYER_NORM && !is_row(&p, p.beta)))
        return kiln_call_fail(
            call, "gamma and beta must be one-dimensional, of x's type, with one element for each column of x");
    p.width = (size_t)p.x->shape[1];
    const size_t threads = kiln__cpu_count() + 1, room = threads + 2;
    if (p.width == 0 || p.x->shape[0] == 0)
        return KILN_OK;
    p.lines = kiln__calloc(kiln_call_allocator(call), p.width, room * sizeof *p.lines);
    if (!p.lines)
        return kiln__call_no_memory(call);
    double *weights = p.lines + threads * p.width;
    if (p.kind != SOFTMAX)
        kiln__to_doubles(p.gamma->type, p.gamma->data, 0, p.width, weights);
    p.weights = weights;
    if (p.kind == LAYER_NORM) {
        kiln__to_doubles(p.beta->type, p.beta->data, 0, p.width, weights + p.width);
        p.shifts = weights + p.width;
    }
    kiln__parallel(threads - 1, (size_t)p.x->shape[0], one_row, &p);
    kiln__free(kiln_call_allocator(call), p.lines);
    return KILN_OK;
}

KILN__FAMILY(normalise,
             KILN__HOST("normalise_f64", KILN_HOST_REFERENCE, normalise_f64, "x, gamma, beta, KIND, EPSILON", "y"))
