/* dcs.c - the reference and three host variants of direct Coulomb summation. The reference dcs_f64 computes in double
 * on all cores. The host functions dcs_scatter_c, dcs_gather_c and dcs_blocked_c are variants of the spec that run on
 * one core of the host in single precision.
 *
 * In the reference and in the variants, a squared distance below the normal numbers of single precision counts as 0. A
 * squared distance above them counts as infinite. The kernels treat such distances in the same way. */
#include <math.h>
#include <string.h>

#include "atoms.h"
#include "rows.h"
#include "vector.h"

typedef struct problem {
    const kiln_array *atoms;
    kiln_array *energy;
    float spacing;
    size_t count, nx, ny, nz;
} problem;

static kiln_status take(kiln_call *call, const char *spacing_name, problem *p)
{
    double spacing;
    if (kiln_call_array(call, "atoms", &p->atoms) != KILN_OK ||
        kiln_call_output(call, "energy", &p->energy) != KILN_OK ||
        kiln_call_float(call, spacing_name, NULL, &spacing) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (p->atoms->type != KILN_f32 || p->atoms->dims != 2 || p->atoms->shape[1] != 4 || p->energy->type != KILN_f32 ||
        p->energy->dims != 3)
        return kiln_call_fail(call, "atoms must be N x 4 of f32, and energy NZ x NY x NX of f32");
    p->spacing = (float)spacing;
    p->count = (size_t)p->atoms->shape[0];
    p->nz = (size_t)p->energy->shape[0], p->ny = (size_t)p->energy->shape[1], p->nx = (size_t)p->energy->shape[2];
    return KILN_OK;
}

/* ---- The reference ---- */

enum { VECTORS = 8, GROUP = KILN__LANES * VECTORS }; /* GROUP is the number of points that one call computes */

/* Computes the potential of the atoms at GROUP points of a row. */
static inline __attribute__((always_inline)) void row_points(const problem *p, double y, double z, const double *x,
                                                             double *to)
{
    const float *atom = p->atoms->data;
    kiln__vector at[VECTORS], sums[VECTORS] = {0};
    for (int v = 0; v < VECTORS; v++)
        memcpy(&at[v], x + v * KILN__LANES, sizeof at[v]);
    for (size_t a = 0; a < p->count; a++, atom += 4) {
        double dy = y - (double)atom[1], dz = z - (double)atom[2], rest = dy * dy + dz * dz;
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) {
            kiln__vector dx = at[v] - (double)atom[0], root = dx * dx + rest;
            kiln__inverse_root(&root);
            sums[v] += (double)atom[3] * root;
        }
    }
    memcpy(to, sums, sizeof sums);
}

typedef void points_fn(const problem *p, double y, double z, const double *x, double *to);

static void points_base(const problem *p, double y, double z, const double *x, double *to)
{
    row_points(p, y, z, x, to);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void points_avx2(const problem *p, double y, double z, const double *x,
                                                        double *to)
{
    row_points(p, y, z, x, to);
}
#endif

static points_fn *choose_points(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return points_avx2;
#endif
    return points_base;
}

enum { MOST_PAIRS_LOG = 31 }; /* 2^31 pairs take some seconds of one core */

typedef struct reference {
    problem p;
    points_fn *points;
    uint64_t every; /* the reference computes one row in `every` */
} reference;

static void reference_row(void *user, size_t row, size_t worker)
{
    (void)worker;
    const reference *r = user;
    const problem *p = &r->p;
    float *to = (float *)p->energy->data + row * p->nx;
    size_t slice = row / p->ny;
    if (!kiln__row_chosen(row, r->every))
        return;
    double y = (double)((float)(row % p->ny) * p->spacing), z = (double)((float)slice * p->spacing);
    for (size_t first = 0; first < p->nx; first += GROUP) {
        double x[GROUP], sums[GROUP];
        for (size_t k = 0; k < GROUP; k++)
            x[k] = (double)((float)(first + k) * p->spacing);
        r->points(p, y, z, x, sums);
        for (size_t k = 0; k < GROUP && first + k < p->nx; k++)
            to[first + k] = (float)sums[k];
    }
}

static kiln_status dcs_f64(void *user, kiln_call *call)
{
    (void)user;
    reference r = {.points = choose_points()};
    if (take(call, "SPACING", &r.p) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    double pairs = (double)r.p.nx * (double)r.p.ny * (double)r.p.nz * (double)r.p.count;
    if (!kiln__rows_every(call, pairs, ldexp(1, MOST_PAIRS_LOG), &r.every))
        return KILN_ERROR_HOST_FUNCTION;
    kiln__parallel(0, r.p.ny * r.p.nz, reference_row, &r);
    return KILN_OK;
}

/* ---- The variants on the host ---- */

static float potential(const float *atom, float x, float y, float z)
{
    float dx = x - atom[0], dy = y - atom[1], dz = z - atom[2];
    return atom[3] / sqrtf(dx * dx + (dy * dy + dz * dz));
}

static kiln_status dcs_scatter_c(void *user, kiln_call *call)
{
    (void)user;
    problem p;
    if (take(call, "spacing", &p) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    const float *atom = p.atoms->data;
    for (size_t a = 0; a < p.count; a++, atom += 4) {
        float *to = p.energy->data;
        for (size_t z = 0; z < p.nz; z++)
            for (size_t y = 0; y < p.ny; y++)
                for (size_t x = 0; x < p.nx; x++)
                    *to++ += potential(atom, (float)x * p.spacing, (float)y * p.spacing, (float)z * p.spacing);
    }
    return KILN_OK;
}

static kiln_status dcs_gather_c(void *user, kiln_call *call)
{
    (void)user;
    problem p;
    if (take(call, "spacing", &p) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    float *to = p.energy->data;
    for (size_t z = 0; z < p.nz; z++)
        for (size_t y = 0; y < p.ny; y++)
            for (size_t x = 0; x < p.nx; x++) {
                const float *atom = p.atoms->data;
                float sum = 0;
                for (size_t a = 0; a < p.count; a++, atom += 4)
                    sum += potential(atom, (float)x * p.spacing, (float)y * p.spacing, (float)z * p.spacing);
                *to++ = sum;
            }
    return KILN_OK;
}

enum { BLOCK_POINTS = 64 };

static void block_of_row(const problem *p, size_t first, float y, float z, float *to)
{
    const float *atom = p->atoms->data;
    float x[BLOCK_POINTS], sums[BLOCK_POINTS] = {0};
    for (size_t k = 0; k < BLOCK_POINTS; k++)
        x[k] = (float)(first + k) * p->spacing;
    for (size_t a = 0; a < p->count; a++, atom += 4) {
        float dy = y - atom[1], dz = z - atom[2], rest = dy * dy + dz * dz;
        for (size_t k = 0; k < BLOCK_POINTS; k++)
            sums[k] += atom[3] / sqrtf((x[k] - atom[0]) * (x[k] - atom[0]) + rest);
    }
    for (size_t k = 0; k < BLOCK_POINTS && first + k < p->nx; k++)
        to[first + k] = sums[k];
}

static kiln_status dcs_blocked_c(void *user, kiln_call *call)
{
    (void)user;
    problem p;
    if (take(call, "spacing", &p) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    float *to = p.energy->data;
    for (size_t z = 0; z < p.nz; z++)
        for (size_t y = 0; y < p.ny; y++, to += p.nx)
            for (size_t first = 0; first < p.nx; first += BLOCK_POINTS)
                block_of_row(&p, first, (float)y * p.spacing, (float)z * p.spacing, to);
    return KILN_OK;
}

KILN__FAMILY(dcs,
             KILN__HOST("dcs_atoms", KILN_HOST_INPUT, kiln__host_dcs_atoms,
                        "atoms (a file, or a kind), count, seed, nx, ny, nz, spacing", "atoms, count, charge, extent"),
             KILN__HOST("dcs_blocked_c", KILN_HOST_STEP, dcs_blocked_c, "atoms, spacing", "energy"),
             KILN__HOST("dcs_f64", KILN_HOST_REFERENCE, dcs_f64, "atoms, SPACING", "energy"),
             KILN__HOST("dcs_gather_c", KILN_HOST_STEP, dcs_gather_c, "atoms, spacing", "energy"),
             KILN__HOST("dcs_scatter_c", KILN_HOST_STEP, dcs_scatter_c, "atoms, spacing", "energy"))
