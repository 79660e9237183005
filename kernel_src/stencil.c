/* stencil_f64: STEPS explicit steps of the heat equation on a grid x[NZ][NY][NX], the result in y:
 * out = centre / 4 + (the six neighbours) / 8, zero outside, every step in double. */
#include <inttypes.h>
#include <string.h>

#include "catalogue.h"

typedef struct grid {
    size_t nx, ny, nz;
    const double *from;
    double *to;
} grid;

static void step_plane(void *user, size_t z, size_t worker)
{
    (void)worker;
    const grid *g = user;
    size_t plane = g->nx * g->ny;
    for (size_t y = 0; y < g->ny; y++) {
        const double *in = g->from + z * plane + y * g->nx;
        double *out = g->to + z * plane + y * g->nx;
        for (size_t x = 0; x < g->nx; x++) {
            double around = (x > 0 ? in[x - 1] : 0) + (x + 1 < g->nx ? in[x + 1] : 0);
            around += (y > 0 ? in[x - g->nx] : 0) + (y + 1 < g->ny ? in[x + g->nx] : 0);
            around += (z > 0 ? (in + x)[-(ptrdiff_t)plane] : 0) + (z + 1 < g->nz ? in[x + plane] : 0);
            out[x] = 0.25 * in[x] + 0.125 * around;
        }
    }
}

static kiln_status stencil_f64(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *x;
    kiln_array *y;
    int64_t steps;
    if (kiln_call_array(call, "x", &x) != KILN_OK || kiln_call_output(call, "y", &y) != KILN_OK ||
        kiln_call_int(call, "STEPS", NULL, &steps) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (x->dims != 3 || y->dims != 3 || memcmp(x->shape, y->shape, 3 * sizeof x->shape[0]) != 0)
        return kiln_call_fail(call, "x and y must have three dimensions and the same shape");
    if (kiln__type_part(x->type) != x->type || kiln__type_part(y->type) != y->type)
        return kiln_call_fail(call, "x and y must not be complex");
    if (steps < 0)
        return kiln_call_fail(call, "STEPS must be 0 or more, not %" PRId64, steps);
    grid g = {(size_t)x->shape[2], (size_t)x->shape[1], (size_t)x->shape[0], NULL, NULL};
    size_t count = g.nx * g.ny * g.nz; /* cannot overflow: the array exists */
    if (count == 0)
        return KILN_OK;
    double *now = kiln__calloc(kiln_call_allocator(call), count, sizeof *now),
           *next = kiln__calloc(kiln_call_allocator(call), count, sizeof *next);
    if (now && next) {
        kiln__to_doubles(x->type, x->data, 0, count, now);
        for (int64_t i = 0; i < steps; i++) {
            g.from = now;
            g.to = next;
            kiln__parallel(kiln__cpu_count(), g.nz, step_plane, &g);
            double *swap = now;
            now = next;
            next = swap;
        }
        kiln__from_doubles(y->type, y->data, 0, count, now);
    }
    bool whole = now && next;
    kiln__free(kiln_call_allocator(call), now);
    kiln__free(kiln_call_allocator(call), next);
    return whole ? KILN_OK : kiln_call_fail(call, "out of host memory");
}

KILN__FAMILY(stencil, KILN__HOST("stencil_f64", KILN_HOST_REFERENCE, stencil_f64, "x, STEPS", "y"))
