/* cutoff.c - the input cutoff_atoms and the reference cutoff_f64 of the potential of the atoms within a radius. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "atoms.h"
#include "cutoff.h"
#include "rows.h"
#include "vector.h"

/* ---- The atoms ---- */

typedef struct pair_count {
    const kiln__lattice *lattice;
    const float *atoms;
    uint64_t count, *parts;
} pair_count;

enum { ATOMS_A_PART = 4096 };

static void count_pairs(void *user, size_t part, size_t worker)
{
    (void)worker;
    const pair_count *p = user;
    uint64_t sum = 0;
    for (uint64_t i = (uint64_t)part * ATOMS_A_PART; i < p->count && i < ((uint64_t)part + 1) * ATOMS_A_PART; i++)
        sum += kiln__lattice_points(p->lattice, p->atoms + 4 * i);
    p->parts[part] = sum;
}

/* Returns the largest number of atoms in a cube whose side is half the radius. This number limits the number of terms
 * in a sum. */
static uint64_t most_in_a_cube(kiln_call *call, const kiln__lattice *l, const float *atoms, uint64_t count)
{
    kiln__lattice cubes = *l;
    kiln__bins bins;
    uint64_t most = 1, bin;
    double widest = (double)l->n[0] + (double)l->n[1] + (double)l->n[2], side = ceil(l->radius / 2 / l->spacing);
    kiln__bins_of(&cubes, side < 1 ? 1 : side > widest ? (int64_t)widest + 1 : (int64_t)side, &bins);
    uint32_t *counts = kiln__calloc(kiln_call_allocator(call), (size_t)bins.count + 1, sizeof *counts);
    if (!counts)
        return UINT64_MAX;
    for (uint64_t i = 0; i < count; i++)
        if (kiln__bins_find(l, &bins, atoms + 4 * i, &bin) == KILN__ATOM_BINNED && ++counts[bin] > most)
            most = counts[bin];
    kiln__free(kiln_call_allocator(call), counts);
    return most;
}

static kiln_status export_facts(kiln_call *call, const kiln__lattice *l, const float *atoms, uint64_t count)
{
    uint64_t most = most_in_a_cube(call, l, atoms, count), pairs = 0;
    size_t parts = (size_t)((count + ATOMS_A_PART - 1) / ATOMS_A_PART);
    pair_count p = {l, atoms, count, kiln__calloc(kiln_call_allocator(call), parts + 1, sizeof *p.parts)};
    if (!p.parts || most == UINT64_MAX) {
        kiln__free(kiln_call_allocator(call), p.parts);
        return kiln_call_fail(call, "out of host memory");
    }
    kiln__parallel(0, parts, count_pairs, &p);
    for (size_t i = 0; i < parts; i++)
        pairs += p.parts[i];
    kiln__free(kiln_call_allocator(call), p.parts);
    double width = 0;
    for (int i = 0; i < 3; i++)
        width = fmax(width, (double)l->n[i] * l->spacing);
    if (kiln_call_export_int(call, "most", (int64_t)most) != KILN_OK ||
        kiln_call_export_float(call, "width", fmin(l->radius / 2, width) + l->spacing) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    return kiln_call_export_int(call, "pairs", (int64_t)pairs);
}

/* Exports
 *   atoms, count  x, y, z, charge of each atom, and the number of atoms
 *   pairs         the number of pairs of an atom and a point within the radius
 *   most          the largest number of atoms in a cube half the radius wide
 *   width         about the width of this cube, but at most the width of the lattice */
static kiln_status cutoff_atoms(void *user, kiln_call *call)
{
    (void)user;
    kiln__lattice l;
    kiln__atoms atoms = {0};
    kiln_array *array;
    if (!kiln__lattice_args(call, &l))
        return KILN_ERROR_HOST_FUNCTION;
    kiln_status status = kiln__atoms_make(call, l.n, (float)l.spacing, &atoms);
    const uint64_t shape[] = {atoms.count, 4};
    if (status == KILN_OK)
        status = kiln_call_export_array(call, "atoms", KILN_f32, 2, shape, &array);
    if (status == KILN_OK && atoms.count > 0)
        memcpy(array->data, atoms.items, atoms.count * sizeof *atoms.items);
    kiln__atoms_free(kiln_call_allocator(call), &atoms);
    if (status == KILN_OK)
        status = kiln_call_export_int(call, "count", (int64_t)shape[0]);
    return status == KILN_OK ? export_facts(call, &l, array->data, shape[0]) : status;
}

/* ---- The reference: a worker computes one slice of points at a time, from all atoms that reach it ---- */

enum { MOST_PAIRS_LOG = 31 }; /* 2^31 pairs take one core some seconds */

typedef struct reference reference;
typedef void atom_fn(const reference *r, const float *atom, int64_t slice, double *sums);

struct reference {
    const kiln__lattice *lattice;
    const float *atoms;
    const uint32_t *starts, *order; /* the atoms of slice z are order[starts[z]] to order[starts[z + 1] - 1] */
    const double *x;                /* the coordinates of a row's points, followed by infinities up to whole vectors */
    float *energy;
    double *sums; /* one slice for each worker */
    size_t room;  /* number of elements of each slice */
    /* for each slice, next[row] is the first row from `row` on that is computed. Each slice also has an entry after its
     * last row */
    const uint32_t *next;
    atom_fn *add_atom;
};

/* Sets `range` to the points of an axis within `reach` of the coordinate `at`, and at most one more point on each side.
 * Returns false if there is no such point. */
static inline bool points_near(const kiln__lattice *l, int axis, double at, double reach, size_t range[2])
{
    double low = (at - reach) / l->spacing - 0.5, high = (at + reach) / l->spacing + 0.5;
    double end = (double)l->n[axis] - 1;
    if (!(low <= end && high >= 0))
        return false;
    range[0] = low < 0 ? 0 : (size_t)low;
    range[1] = high > end ? (size_t)end : (size_t)high;
    return true;
}

/* Adds the potential of an atom to the points first to last of a row, rounded up to whole vectors. The additional
 * points are outside the radius, so 0 is added to them. */
static inline __attribute__((always_inline)) void add_points(const double *x, size_t first, size_t last, double at,
                                                             double across, double charge, double off, double *row)
{
    double per_square = 1 / off;
    for (size_t i = first; i <= last; i += KILN__LANES) {
        kiln__vector place, sum;
        memcpy(&place, x + i, sizeof place);
        memcpy(&sum, row + i, sizeof sum);
        kiln__vector dx = place - at, r2 = dx * dx + across, s = 1 - r2 * per_square;
        s = (kiln__vector)((kiln__words)s & (kiln__words)(s > 0));
        kiln__inverse_root(&r2);
        sum += charge * (s * s) * r2;
        memcpy(row + i, &sum, sizeof sum);
    }
}

/* Adds the potential of an atom whose charge is not finite. It changes only the points within the radius. */
static void add_special(const double *x, size_t first, size_t last, double at, double across, double charge, double off,
                        double *row)
{
    for (size_t i = first; i <= last; i++) {
        double dx = at - x[i], r2 = dx * dx + across, s = 1 - r2 / off;
        if (r2 < off)
            row[i] += charge * (s * s) / sqrt(r2 < (double)FLT_MIN ? 0 : r2);
    }
}

static inline __attribute__((always_inline)) void add_rows(const reference *r, const float *atom, int64_t slice,
                                                           double *sums)
{
    const kiln__lattice *l = r->lattice;
    double dz = (double)atom[2] - (double)kiln__lattice_at(l, slice), off = l->radius * l->radius;
    size_t y[2], x[2];
    if (!points_near(l, 1, (double)atom[1], l->radius, y))
        return;
    const uint32_t *next = r->next + (size_t)slice * ((size_t)l->n[1] + 1);
    for (size_t j = next[y[0]]; j <= y[1]; j = next[j + 1]) {
        double dy = (double)atom[1] - (double)kiln__lattice_at(l, (int64_t)j), across = dz * dz + dy * dy;
        double *row = sums + j * (size_t)l->n[0];
        if (!(across < off) || !points_near(l, 0, (double)atom[0], sqrt(off - across), x))
            continue;
        if (isfinite(atom[3]))
            add_points(r->x, x[0], x[1], (double)atom[0], across, (double)atom[3], off, row);
        else
            add_special(r->x, x[0], x[1], (double)atom[0], across, (double)atom[3], off, row);
    }
}

static void add_base(const reference *r, const float *atom, int64_t slice, double *sums)
{
    add_rows(r, atom, slice, sums);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_avx2(const reference *r, const float *atom, int64_t slice, double *sums)
{
    add_rows(r, atom, slice, sums);
}
#endif

static atom_fn *choose_add(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return add_avx2;
#endif
    return add_base;
}

static void add_slice(void *user, size_t k, size_t worker)
{
    const reference *r = user;
    const kiln__lattice *l = r->lattice;
    size_t points = (size_t)l->n[0] * (size_t)l->n[1];
    double *sums = r->sums + worker * r->room;
    float *to = r->energy + k * points;
    memset(sums, 0, r->room * sizeof *sums);
    for (uint32_t a = r->starts[k]; a < r->starts[k + 1]; a++)
        r->add_atom(r, r->atoms + 4 * (size_t)r->order[a], (int64_t)k, sums);
    const size_t rows = points / (size_t)l->n[0];
    const uint32_t *next = r->next + k * (rows + 1);
    for (size_t j = next[0]; j < rows; j = next[j + 1])
        for (size_t i = j * (size_t)l->n[0]; i < (j + 1) * (size_t)l->n[0]; i++)
            to[i] = (float)sums[i];
}

/* Returns, for each row, the number of the next row that is computed. For each atom, the reference looks up the first
 * such row there. So it skips the rows that are not computed, which are most rows. */
static uint32_t *choose_rows(const kiln_allocator *mem, const kiln__lattice *l, uint64_t every)
{
    const size_t rows = (size_t)l->n[1], slices = (size_t)l->n[2];
    uint32_t *next = rows < UINT32_MAX ? kiln__alloc(mem, (slices * (rows + 1) + 1) * sizeof *next) : NULL;
    for (size_t k = 0; next && k < slices; k++) {
        uint32_t *of = next + k * (rows + 1);
        of[rows] = (uint32_t)rows;
        for (size_t j = rows; j-- > 0;)
            of[j] = kiln__row_chosen(k * rows + j, every) ? (uint32_t)j : of[j + 1];
    }
    return next;
}

/* Returns the coordinates of the points of a row. */
static double *make_places(const kiln_allocator *mem, const kiln__lattice *l)
{
    size_t count = (size_t)l->n[0];
    double *x = kiln__alloc(mem, (count + KILN__LANES) * sizeof *x);
    for (size_t i = 0; x && i < count + KILN__LANES; i++)
        x[i] = i < count ? (double)kiln__lattice_at(l, (int64_t)i) : (double)INFINITY;
    return x;
}

/* The slices that each atom reaches, and the list of atoms for each slice. */
typedef struct slicing {
    const kiln__lattice *lattice;
    const float *atoms;
    uint64_t count;
    uint32_t (*ranges)[2]; /* for each atom, its first slice and the slice after its last slice */
    uint32_t *starts, *order;
} slicing;

enum { SLICES_A_PART = 16 };

static void range_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const slicing *s = user;
    const kiln__lattice *l = s->lattice;
    for (uint64_t i = (uint64_t)part * ATOMS_A_PART; i < s->count && i < ((uint64_t)part + 1) * ATOMS_A_PART; i++) {
        int64_t z[2];
        const bool reaches = kiln__lattice_range(l, 2, (double)s->atoms[4 * i + 2], l->radius + l->spacing, z);
        s->ranges[i][0] = reaches ? (uint32_t)z[0] : 0;
        s->ranges[i][1] = reaches ? (uint32_t)z[1] + 1 : 0;
    }
}

/* Lists the atoms of some slices. Each task reads all ranges, which is less work than dividing the lists between
 * tasks. */
static void list_slices(void *user, size_t part, size_t worker)
{
    (void)worker;
    const slicing *s = user;
    const uint32_t first = (uint32_t)(part * SLICES_A_PART), all = (uint32_t)s->lattice->n[2];
    const uint32_t end = all - first < SLICES_A_PART ? all : first + SLICES_A_PART;
    uint32_t at[SLICES_A_PART];
    memcpy(at, s->starts + first, (end - first) * sizeof *at);
    for (uint64_t i = 0; i < s->count; i++) {
        const uint32_t low = s->ranges[i][0] > first ? s->ranges[i][0] : first;
        const uint32_t high = s->ranges[i][1] < end ? s->ranges[i][1] : end;
        for (uint32_t k = low; k < high; k++)
            s->order[at[k - first]++] = (uint32_t)i;
    }
}

/* Returns the atoms of each slice, in the order of atoms, or NULL if there is not enough memory. The array `starts` has
 * n[2] + 1 elements, which must be zeros. */
static uint32_t *order_by_slice(const kiln_allocator *mem, const kiln__lattice *l, const float *atoms, uint64_t count,
                                uint32_t *starts)
{
    slicing s = {l, atoms, count, kiln__alloc(mem, (size_t)(count + 1) * sizeof *s.ranges), starts, NULL};
    const size_t slices = (size_t)l->n[2];
    uint64_t total = 0, here = 0;
    if (!s.ranges)
        return NULL;
    kiln__parallel(0, (size_t)((count + ATOMS_A_PART - 1) / ATOMS_A_PART), range_part, &s);
    /* differences: the number of atoms whose first slice is this slice, minus the number of atoms whose last slice is
     * the slice before */
    for (uint64_t i = 0; i < count; i++) {
        starts[s.ranges[i][0]]++;
        starts[s.ranges[i][1]]--; /* the count may wrap below 0, and the prefix sum wraps back */
        total += s.ranges[i][1] - s.ranges[i][0];
    }
    for (size_t k = 0, begin = 0; k <= slices; k++) {
        here = (uint32_t)(here + starts[k]);
        starts[k] = (uint32_t)begin;
        begin += here;
    }
    s.order = total <= UINT32_MAX ? kiln__alloc(mem, (size_t)(total + 1) * sizeof *s.order) : NULL;
    if (s.order)
        kiln__parallel(0, (slices + SLICES_A_PART - 1) / SLICES_A_PART, list_slices, &s);
    kiln__free(mem, s.ranges);
    return s.order;
}

/* The reference cutoff_f64 computes energy[z][y][x], the sum of charge (1 - r^2 / radius^2)^2 / r over the atoms with r
 * < radius, in double. */
static kiln_status cutoff_f64(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *atoms;
    kiln_array *energy;
    kiln__lattice l;
    if (kiln_call_array(call, "atoms", &atoms) != KILN_OK || kiln_call_output(call, "energy", &energy) != KILN_OK ||
        kiln_call_float(call, "SPACING", NULL, &l.spacing) != KILN_OK ||
        kiln_call_float(call, "RADIUS", NULL, &l.radius) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (!kiln__atoms_ok(atoms) || energy->dims != 3 || energy->type != KILN_f32)
        return kiln_call_fail(call, "atoms must be N x 4 of f32, and energy NZ x NY x NX of f32");
    for (int i = 0; i < 3; i++)
        l.n[i] = (int64_t)energy->shape[2 - i];
    if (!kiln__lattice_ok(call, &l))
        return KILN_ERROR_HOST_FUNCTION;
    size_t points = (size_t)(l.n[0] * l.n[1]), room = points + KILN__LANES, workers = kiln__cpu_count() + 1;
    uint32_t *starts = kiln__calloc(kiln_call_allocator(call), (size_t)l.n[2] + 2, sizeof *starts), *order = NULL;
    double *sums = kiln__alloc(kiln_call_allocator(call), workers * room * sizeof *sums),
           *x = make_places(kiln_call_allocator(call), &l);
    if (starts && sums && x)
        order = order_by_slice(kiln_call_allocator(call), &l, atoms->data, atoms->shape[0], starts);
    double sphere = 4.19 * pow(l.radius / l.spacing, 3), all = (double)points * (double)l.n[2];
    double pairs = (double)atoms->shape[0] * (sphere < all ? sphere : all);
    uint64_t every;
    uint32_t *chosen = NULL;
    if (kiln__rows_every(call, pairs, ldexp(1, MOST_PAIRS_LOG), &every))
        chosen = choose_rows(kiln_call_allocator(call), &l, every);
    reference r = {&l, atoms->data, starts, order, x, energy->data, sums, room, chosen, choose_add()};
    if (order && chosen)
        kiln__parallel(workers - 1, (size_t)l.n[2], add_slice, &r);
    kiln__free(kiln_call_allocator(call), order);
    kiln__free(kiln_call_allocator(call), chosen);
    kiln__free(kiln_call_allocator(call), x);
    kiln__free(kiln_call_allocator(call), sums);
    kiln__free(kiln_call_allocator(call), starts);
    return order && chosen ? KILN_OK : kiln_call_fail(call, "out of host memory");
}

KILN__FAMILY(cutoff,
             KILN__HOST("cutoff_atoms", KILN_HOST_INPUT, cutoff_atoms,
                        "atoms (a file, or a kind), count, seed, nx, ny, nz, spacing, radius",
                        "atoms, count, most, width, pairs"),
             KILN__HOST("cutoff_bins", KILN_HOST_STEP, kiln__host_cutoff_bins,
                        "atoms, bin, nx, ny, nz, spacing, radius", "bins, counts, overflow, taken"),
             KILN__HOST("cutoff_blocked_c", KILN_HOST_STEP, kiln__host_cutoff_blocked,
                        "atoms, nx, ny, nz, spacing, radius", "energy"),
             KILN__HOST("cutoff_f64", KILN_HOST_REFERENCE, cutoff_f64, "atoms, SPACING, RADIUS", "energy"),
             KILN__HOST("cutoff_gather_c", KILN_HOST_STEP, kiln__host_cutoff_gather,
                        "atoms, nx, ny, nz, spacing, radius", "energy"),
             KILN__HOST("cutoff_near", KILN_HOST_INPUT, kiln__host_cutoff_near,
                        "bin, test, nx, ny, nz, spacing, radius", "offsets, offset_count, rows, row_count"),
             KILN__HOST("cutoff_overflow", KILN_HOST_STEP, kiln__host_cutoff_overflow,
                        "overflow, taken, nx, ny, nz, spacing, radius", "energy"),
             KILN__HOST("cutoff_scatter_c", KILN_HOST_STEP, kiln__host_cutoff_scatter,
                        "atoms, nx, ny, nz, spacing, radius", "energy"),
             KILN__HOST("cutoff_shares", KILN_HOST_INPUT, kiln__host_cutoff_shares,
                        "of (atoms), bin, test, [capacity, box, box_y, box_z], nx, ny, nz, spacing, radius",
                        "overflow, within"))
