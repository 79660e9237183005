/* cutoff_host.c - the host functions cutoff_scatter_c, cutoff_gather_c, cutoff_blocked_c and cutoff_overflow. They
 * compute the potential within a radius on one core, in single precision as on a device. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "cutoff.h"

float kiln__cutoff_term(float charge, float r2, float radius)
{
    float s = 1 - r2 / (radius * radius);
    return charge * (s * s) / sqrtf(r2 < FLT_MIN ? 0 : r2);
}

typedef struct job {
    kiln__lattice lattice;
    const float *atoms;
    uint64_t count;
    float *energy;
} job;

static bool read_job(kiln_call *call, const char *atoms_name, job *j)
{
    const kiln_array *atoms;
    kiln_array *energy;
    if (!kiln__lattice_args(call, &j->lattice) || kiln_call_array(call, atoms_name, &atoms) != KILN_OK ||
        kiln_call_output(call, "energy", &energy) != KILN_OK)
        return false;
    const int64_t *n = j->lattice.n;
    if (!kiln__atoms_ok(atoms) || energy->type != KILN_f32 || energy->dims != 3 || energy->shape[0] != (uint64_t)n[2] ||
        energy->shape[1] != (uint64_t)n[1] || energy->shape[2] != (uint64_t)n[0])
        return kiln_call_fail(call, "%s must be N x 4 of f32, and energy nz x ny x nx of f32", atoms_name), false;
    j->atoms = atoms->data;
    j->count = atoms->shape[0];
    j->energy = energy->data;
    return true;
}

/* Adds the potential of an atom to the points x[0] to x[1] of a row. */
static void add_to_row(const kiln__lattice *l, const float *atom, int64_t j, int64_t k, const int64_t x[2], float *row)
{
    float dy = atom[1] - kiln__lattice_at(l, j), dz = atom[2] - kiln__lattice_at(l, k), across = dy * dy + dz * dz;
    float radius = (float)l->radius, off = radius * radius;
    for (int64_t i = x[0]; i <= x[1]; i++) {
        float dx = atom[0] - kiln__lattice_at(l, i), r2 = dx * dx + across;
        if (r2 < off)
            row[i] += kiln__cutoff_term(atom[3], r2, radius);
    }
}

static void scatter(const job *work)
{
    const kiln__lattice *l = &work->lattice;
    for (uint64_t a = 0; a < work->count; a++) {
        const float *atom = work->atoms + 4 * a;
        int64_t range[3][2];
        bool near = true;
        /* the range has one more point on each side, because the test in single precision in add_to_row() decides */
        for (int i = 0; i < 3; i++)
            near = near && kiln__lattice_range(l, i, (double)atom[i], l->radius + l->spacing, range[i]);
        for (int64_t k = near ? range[2][0] : 0; near && k <= range[2][1]; k++)
            for (int64_t j = range[1][0]; j <= range[1][1]; j++)
                add_to_row(l, atom, j, k, range[0], work->energy + (k * l->n[1] + j) * l->n[0]);
    }
}

/* For each atom, adds its potential to the points around it. */
kiln_status kiln__host_cutoff_scatter(void *user, kiln_call *call)
{
    (void)user;
    job work;
    if (!read_job(call, "atoms", &work))
        return KILN_ERROR_HOST_FUNCTION;
    memset(work.energy, 0, (size_t)(work.lattice.n[0] * work.lattice.n[1] * work.lattice.n[2]) * sizeof *work.energy);
    scatter(&work);
    return KILN_OK;
}

/* Adds the potential of the first taken[0] atoms of `overflow`. */
kiln_status kiln__host_cutoff_overflow(void *user, kiln_call *call)
{
    (void)user;
    job work;
    const kiln_array *taken;
    if (!read_job(call, "overflow", &work) || kiln_call_array(call, "taken", &taken) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (taken->type != KILN_u32 || taken->dims != 1 || taken->shape[0] < 1 || *(uint32_t *)taken->data > work.count)
        return kiln_call_fail(call, "taken must be the number of atoms in overflow");
    work.count = *(uint32_t *)taken->data;
    scatter(&work);
    return KILN_OK;
}

/* ---- point by point ---- */

/* The atoms in the order of their bins. The atoms of bin b are at atoms[4 * starts[b]] to atoms[4 * starts[b + 1] -
 * 1]. */
typedef struct sorted_atoms {
    kiln__bins bins;
    int64_t side;
    uint32_t *starts;
    float *atoms;
} sorted_atoms;

static bool sort_atoms(const kiln_allocator *mem, const job *work, sorted_atoms *s)
{
    uint64_t bin;
    double points = ceil(work->lattice.radius / 3 / work->lattice.spacing);
    s->side = points < 4 ? 4 : points > 64 ? 64 : (int64_t)points;
    kiln__bins_of(&work->lattice, s->side, &s->bins);
    s->starts = kiln__calloc(mem, (size_t)s->bins.count + 2, sizeof *s->starts);
    s->atoms = kiln__alloc(mem, ((size_t)work->count + 1) * 4 * sizeof *s->atoms);
    if (!s->starts || !s->atoms)
        return false;
    for (uint64_t i = 0; i < work->count; i++)
        if (kiln__bins_find(&work->lattice, &s->bins, work->atoms + 4 * i, &bin) != KILN__ATOM_DROPPED)
            s->starts[bin + 2]++;
    for (uint64_t b = 0; b < s->bins.count; b++)
        s->starts[b + 2] += s->starts[b + 1];
    for (uint64_t i = 0; i < work->count; i++)
        if (kiln__bins_find(&work->lattice, &s->bins, work->atoms + 4 * i, &bin) != KILN__ATOM_DROPPED)
            memcpy(s->atoms + 4 * (size_t)s->starts[bin + 1]++, work->atoms + 4 * i, 4 * sizeof(float));
    return true;
}

/* The atoms of a row of bins along x. These atoms are contiguous. If the row is too far away, there are no atoms in
 * it. */
typedef struct row_of_atoms {
    const float *first, *end;
} row_of_atoms;

static row_of_atoms atoms_of_row(const job *work, const sorted_atoms *s, const int64_t bin[3], int y, int z,
                                 const int reach[3])
{
    row_of_atoms none = {NULL, NULL};
    const int offset[] = {0, y, z};
    int64_t j = bin[1] + y, k = bin[2] + z, first = bin[0] - reach[0], last = bin[0] + reach[0];
    if (j < 0 || k < 0 || j >= s->bins.n[1] || k >= s->bins.n[2] ||
        !kiln__bins_near(&work->lattice, s->side, KILN__NEAR_CYLINDER, offset))
        return none;
    first = first < 0 ? 0 : first;
    last = last >= s->bins.n[0] ? s->bins.n[0] - 1 : last;
    int64_t row = (k * s->bins.n[1] + j) * s->bins.n[0];
    return (row_of_atoms){s->atoms + 4 * (size_t)s->starts[row + first],
                          s->atoms + 4 * (size_t)s->starts[row + last + 1]};
}

static float gather_point(const job *work, const sorted_atoms *s, const int64_t bin[3], const int reach[3],
                          const int64_t at[3])
{
    const kiln__lattice *l = &work->lattice;
    float place[3], radius = (float)l->radius, sum = 0;
    for (int i = 0; i < 3; i++)
        place[i] = kiln__lattice_at(l, at[i]);
    for (int z = -reach[2]; z <= reach[2]; z++)
        for (int y = -reach[1]; y <= reach[1]; y++) {
            row_of_atoms row = atoms_of_row(work, s, bin, y, z, reach);
            for (const float *atom = row.first; atom != row.end; atom += 4) {
                float dx = atom[0] - place[0], dy = atom[1] - place[1], dz = atom[2] - place[2];
                float r2 = dx * dx + (dy * dy + dz * dz);
                if (r2 < radius * radius)
                    sum += kiln__cutoff_term(atom[3], r2, radius);
            }
        }
    return sum;
}

static void gather_bin(const job *work, const sorted_atoms *s, const int64_t bin[3], const int reach[3],
                       int64_t range[3][2])
{
    int64_t at[3];
    for (at[2] = range[2][0]; at[2] <= range[2][1]; at[2]++)
        for (at[1] = range[1][0]; at[1] <= range[1][1]; at[1]++)
            for (at[0] = range[0][0]; at[0] <= range[0][1]; at[0]++)
                work->energy[(at[2] * work->lattice.n[1] + at[1]) * work->lattice.n[0] + at[0]] =
                    gather_point(work, s, bin, reach, at);
}

/* Adds the potential of each atom near a bin to all points of the bin. These points stay in the cache. */
static void block_bin(const job *work, const sorted_atoms *s, const int64_t bin[3], const int reach[3],
                      int64_t range[3][2])
{
    const kiln__lattice *l = &work->lattice;
    for (int64_t k = range[2][0]; k <= range[2][1]; k++)
        for (int64_t j = range[1][0]; j <= range[1][1]; j++)
            memset(work->energy + (k * l->n[1] + j) * l->n[0] + range[0][0], 0,
                   (size_t)(range[0][1] - range[0][0] + 1) * sizeof(float));
    for (int z = -reach[2]; z <= reach[2]; z++)
        for (int y = -reach[1]; y <= reach[1]; y++) {
            row_of_atoms row = atoms_of_row(work, s, bin, y, z, reach);
            for (const float *atom = row.first; atom != row.end; atom += 4)
                for (int64_t k = range[2][0]; k <= range[2][1]; k++)
                    for (int64_t j = range[1][0]; j <= range[1][1]; j++)
                        add_to_row(l, atom, j, k, range[0], work->energy + (k * l->n[1] + j) * l->n[0]);
        }
}

typedef void (*bin_work)(const job *work, const sorted_atoms *s, const int64_t bin[3], const int reach[3],
                         int64_t range[3][2]);

static void each_bin(const job *work, const sorted_atoms *s, bin_work call)
{
    const kiln__lattice *l = &work->lattice;
    int reach[3];
    int64_t bin[3], range[3][2];
    for (int i = 0; i < 3; i++)
        reach[i] = kiln__bins_reach(l, &s->bins, s->side, i);
    for (bin[2] = 0; bin[2] < s->bins.n[2]; bin[2]++)
        for (bin[1] = 0; bin[1] < s->bins.n[1]; bin[1]++)
            for (bin[0] = 0; bin[0] < s->bins.n[0]; bin[0]++) {
                for (int i = 0; i < 3; i++) {
                    range[i][0] = bin[i] * s->side;
                    range[i][1] = range[i][0] + s->side > l->n[i] ? l->n[i] - 1 : range[i][0] + s->side - 1;
                }
                call(work, s, bin, reach, range);
            }
}

static kiln_status by_bins(kiln_call *call, bin_work each)
{
    job work;
    sorted_atoms s = {0};
    if (!read_job(call, "atoms", &work))
        return KILN_ERROR_HOST_FUNCTION;
    bool sorted = sort_atoms(kiln_call_allocator(call), &work, &s);
    if (sorted)
        each_bin(&work, &s, each);
    kiln__free(kiln_call_allocator(call), s.starts);
    kiln__free(kiln_call_allocator(call), s.atoms);
    return sorted ? KILN_OK : kiln_call_fail(call, "out of host memory");
}

/* For each point, adds the potentials of the atoms in the bins around it. */
kiln_status kiln__host_cutoff_gather(void *user, kiln_call *call)
{
    (void)user;
    return by_bins(call, gather_bin);
}

/* For each bin, adds the potentials of the atoms around its points. */
kiln_status kiln__host_cutoff_blocked(void *user, kiln_call *call)
{
    (void)user;
    return by_bins(call, block_bin);
}
