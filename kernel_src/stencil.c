/* stencil.c has stencil_f64, which computes STEPS explicit steps of the heat equation on a grid x[NZ][NY][NX]. The
 * result is y. A step computes centre / 4 + (the sum of the six neighbours) / 8, in double. Outside the grid, x is
 * zero. */
#include <inttypes.h>
#include <string.h>

#include "catalogue.h"

/* The values of the grid before or after a step. The type is the type of the input before the first step, double
 * between steps, and the type of the output after the last step. */
typedef struct field {
    kiln_type type;
    void *data;
} field;

typedef struct grid {
    size_t nx, ny, nz;
    field from, to;
    double *lines;    /* for each worker: five rows of the input with a zero on either side, and a row of the result */
    size_t line_room; /* number of doubles in one line */
} grid;

enum { LINES = 6, PAD = 1 };

/* Writes row y of plane z as doubles to `line`, between two zeros. If the grid has no such row, the whole line is
 * zero. */
static void read_line(const grid *g, size_t z, size_t y, double *line)
{
    line[0] = line[g->nx + 1] = 0;
    if (z >= g->nz || y >= g->ny) /* an index below 0 wraps around to a huge number */
        memset(line + PAD, 0, g->nx * sizeof *line);
    else
        kiln__to_doubles(g->from.type, g->from.data, (z * g->ny + y) * g->nx, g->nx, line + PAD);
}

/* Computes plane z after a step. The rows of the plane move through three lines, so that each row is converted only
 * once. The order of the additions determines the last bits of the result: first the neighbours along x, then along y,
 * then along z. */
static void step_plane(void *user, size_t z, size_t worker)
{
    const grid *g = user;
    double *line[LINES];
    for (size_t i = 0; i < LINES; i++)
        line[i] = g->lines + (worker * LINES + i) * g->line_room;
    double *above = line[0], *here = line[1], *below = line[2];
    const double *behind = line[3] + PAD, *before = line[4] + PAD;
    double *out = line[5];
    read_line(g, z, SIZE_MAX, above);
    read_line(g, z, 0, here);
    for (size_t y = 0; y < g->ny; y++) {
        read_line(g, z, y + 1, below);
        read_line(g, z - 1, y, line[3]);
        read_line(g, z + 1, y, line[4]);
        const double *up = above + PAD, *in = here + PAD, *down = below + PAD;
        for (size_t x = 0; x < g->nx; x++) {
            double around = in[(ptrdiff_t)x - 1] + in[x + 1];
            around += up[x] + down[x];
            around += behind[x] + before[x];
            out[x] = 0.25 * in[x] + 0.125 * around;
        }
        kiln__from_doubles(g->to.type, g->to.data, (z * g->ny + y) * g->nx, g->nx, out);
        double *first = above;
        above = here;
        here = below;
        below = first;
    }
}

/* Computes all steps. The first step reads x and the last step writes y. `between` has two fields of doubles for the
 * other steps. */
static void step_all(grid *g, int64_t steps, const kiln_array *x, kiln_array *y, double *const between[2])
{
    for (int64_t i = 0; i < steps; i++) {
        g->from = i == 0 ? (field){x->type, x->data} : (field){KILN_f64, between[(i + 1) % 2]};
        g->to = i + 1 == steps ? (field){y->type, y->data} : (field){KILN_f64, between[i % 2]};
        kiln__parallel(kiln__cpu_count(), g->nz, step_plane, g);
    }
}

typedef struct copy {
    const kiln_array *x;
    kiln_array *y;
    size_t plane;
} copy;

static void copy_plane(void *user, size_t z, size_t worker)
{
    enum { CHUNK = 1024 };
    (void)worker;
    const copy *c = user;
    double values[CHUNK];
    for (size_t i = 0; i < c->plane; i += CHUNK) {
        size_t count = c->plane - i < CHUNK ? c->plane - i : CHUNK;
        kiln__to_doubles(c->x->type, c->x->data, z * c->plane + i, count, values);
        kiln__from_doubles(c->y->type, c->y->data, z * c->plane + i, count, values);
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
    grid g = {.nx = (size_t)x->shape[2], .ny = (size_t)x->shape[1], .nz = (size_t)x->shape[0]};
    size_t count = g.nx * g.ny * g.nz; /* the product cannot overflow, because the array exists */
    if (count == 0)
        return KILN_OK;
    if (steps == 0) {
        copy c = {x, y, g.nx * g.ny};
        kiln__parallel(0, g.nz, copy_plane, &c);
        return KILN_OK;
    }
    g.line_room = g.nx + 2 * PAD;
    g.lines = kiln__alloc(kiln_call_allocator(call), kiln__cpu_count() * LINES * g.line_room * sizeof *g.lines);
    double *const between[] = {steps > 1 ? kiln__alloc(kiln_call_allocator(call), count * sizeof(double)) : NULL,
                               steps > 2 ? kiln__alloc(kiln_call_allocator(call), count * sizeof(double)) : NULL};
    bool whole = g.lines && (between[0] || steps < 2) && (between[1] || steps < 3);
    for (int i = 0; i < 2; i++)
        kiln__huge_pages(kiln_call_allocator(call), between[i], count * sizeof(double));
    if (whole)
        step_all(&g, steps, x, y, between);
    kiln__free(kiln_call_allocator(call), between[0]);
    kiln__free(kiln_call_allocator(call), between[1]);
    kiln__free(kiln_call_allocator(call), g.lines);
    return whole ? KILN_OK : kiln_call_fail(call, "out of host memory");
}

KILN__FAMILY(stencil, KILN__HOST("stencil_f64", KILN_HOST_REFERENCE, stencil_f64, "x, STEPS", "y"))
