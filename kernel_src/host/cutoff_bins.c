/* cutoff_bins.c - the host functions cutoff_near, cutoff_shares and cutoff_bins. They compute the bins near a region,
 * the share of useful work, and the bins of atoms. */
#include <math.h>
#include <string.h>

#include "cutoff.h"

/* ---- bins ---- */

void kiln__bins_of(const kiln__lattice *l, int64_t side, kiln__bins *bins)
{
    bins->count = 1;
    bins->side = (double)side * l->spacing;
    for (int i = 0; i < 3; i++) {
        bins->n[i] = (l->n[i] + side - 1) / side;
        bins->count *= (uint64_t)bins->n[i];
    }
}

/* An atom outside the lattice goes to the nearest bin. No point of the lattice is further away from this bin than from
 * the atom. */
kiln__atom_fate kiln__bins_find(const kiln__lattice *l, const kiln__bins *bins, const float *atom, uint64_t *bin)
{
    int64_t at[3];
    for (int i = 0; i < 3; i++) {
        double place = (double)atom[i];
        if (l->n[i] < 1 || !(place > -l->radius && place < (double)(l->n[i] - 1) * l->spacing + l->radius))
            return KILN__ATOM_DROPPED;
        double number = floor(place / bins->side), last = (double)(bins->n[i] - 1);
        at[i] = (int64_t)(number < 0 ? 0 : number > last ? last : number);
    }
    *bin = (uint64_t)((at[2] * bins->n[1] + at[1]) * bins->n[0] + at[0]);
    return isfinite(atom[3]) ? KILN__ATOM_BINNED : KILN__ATOM_LISTED;
}

/* Returns the distance along an axis between a region and a bin. A region extends from its first to its last point. */
static double gap(const kiln__lattice *l, int64_t side, int offset)
{
    if (offset > 0)
        return (double)(offset * side - (side - 1)) * l->spacing;
    return offset < 0 ? (double)((-offset - 1) * side) * l->spacing : 0;
}

bool kiln__bins_near(const kiln__lattice *l, int64_t side, kiln__near_test test, const int offset[3])
{
    double x = gap(l, side, offset[0]), y = gap(l, side, offset[1]), z = gap(l, side, offset[2]), r = l->radius;
    if (test == KILN__NEAR_CUBE)
        return x < r && y < r && z < r;
    return x < r && y * y + z * z + (test == KILN__NEAR_SPHERE ? x * x : 0) < r * r;
}

int kiln__bins_reach(const kiln__lattice *l, const kiln__bins *bins, int64_t side, int axis)
{
    double reach = ceil(l->radius / ((double)side * l->spacing)), most = (double)(bins->n[axis] - 1);
    return most <= 0 ? 0 : (int)(reach > most ? most : reach);
}

/* ---- offsets of neighbouring bins ---- */

/* number of offsets that constant memory has room for; the largest offset that fits in a byte */
enum { MOST_OFFSETS = 16000, MOST_REACH = 127 };

/* The offsets from a region to the bins near it. `offsets` has single bins, and `rows` has the same bins as rows along
 * x. */
typedef struct neighbours {
    const kiln__lattice *lattice;
    int64_t side;
    kiln__near_test test;
    int reach[3];
    uint32_t *offsets, *rows;
    uint64_t offset_count, row_count;
} neighbours;

static uint32_t packed(const int offset[3])
{
    return (uint32_t)(offset[0] + 128) | (uint32_t)(offset[1] + 128) << 8 | (uint32_t)(offset[2] + 128) << 16;
}

static void walk_row(neighbours *n, int y, int z)
{
    int first = 128, last = -128;
    for (int x = -n->reach[0]; x <= n->reach[0]; x++) {
        const int offset[] = {x, y, z};
        if (!kiln__bins_near(n->lattice, n->side, n->test, offset))
            continue;
        if (n->offsets)
            n->offsets[n->offset_count] = packed(offset);
        n->offset_count++;
        first = x < first ? x : first;
        last = x;
    }
    if (first > last)
        return;
    const int row[] = {first, y, z};
    if (n->rows)
        n->rows[n->row_count] = packed(row) | (uint32_t)(last + 128) << 24;
    n->row_count++;
}

static void walk_neighbours(neighbours *n)
{
    n->offset_count = n->row_count = 0;
    for (int z = -n->reach[2]; z <= n->reach[2]; z++)
        for (int y = -n->reach[1]; y <= n->reach[1]; y++)
            walk_row(n, y, z);
}

static bool find_neighbours(kiln_call *call, const kiln__lattice *l, neighbours *n)
{
    int64_t test;
    kiln__bins bins;
    if (kiln_call_int(call, "bin", NULL, &n->side) != KILN_OK || kiln_call_int(call, "test", NULL, &test) != KILN_OK)
        return false;
    if (n->side < 1 || n->side > 1 << 20 || test < KILN__NEAR_CUBE || test > KILN__NEAR_SPHERE)
        return kiln_call_fail(call, "bin must be 1 or more, and test 0 (cube), 1 (cylinder) or 2 (sphere)"), false;
    kiln__bins_of(l, n->side, &bins);
    n->lattice = l;
    n->test = (kiln__near_test)test;
    for (int i = 0; i < 3; i++) {
        n->reach[i] = kiln__bins_reach(l, &bins, n->side, i);
        if (n->reach[i] > MOST_REACH)
            return kiln_call_fail(call, "the radius is more than %d bins", MOST_REACH), false;
    }
    walk_neighbours(n);
    return true;
}

/* Exports the offsets, in bins, from a region to the bins whose atoms the region examines. An element of `offsets` has
 * one byte for each axis. 128 is added to each offset. `rows` has the same bins as rows along x. The fourth byte of an
 * element is the last x of the row. Each of the two arrays has one element more than its count says. */
kiln_status kiln__host_cutoff_near(void *user, kiln_call *call)
{
    (void)user;
    kiln__lattice l;
    neighbours n = {0};
    kiln_array *offsets, *rows;
    if (!kiln__lattice_args(call, &l) || !find_neighbours(call, &l, &n))
        return KILN_ERROR_HOST_FUNCTION;
    if (n.offset_count > MOST_OFFSETS)
        return kiln_call_fail(call, "a region has %llu bins near it, and constant memory room for %d",
                              (unsigned long long)n.offset_count, MOST_OFFSETS);
    const uint64_t offset_room = n.offset_count + 1, row_room = n.row_count + 1;
    if (kiln_call_export_array(call, "offsets", KILN_u32, 1, &offset_room, &offsets) != KILN_OK ||
        kiln_call_export_array(call, "rows", KILN_u32, 1, &row_room, &rows) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    n.offsets = offsets->data;
    n.rows = rows->data;
    walk_neighbours(&n);
    n.offsets[n.offset_count] = n.rows[n.row_count] = 0;
    if (kiln_call_export_int(call, "offset_count", (int64_t)n.offset_count) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    return kiln_call_export_int(call, "row_count", (int64_t)n.row_count);
}

/* ---- the share of useful work: pairs of an atom and a point that are examined, and that are within the radius ---- */

typedef struct fit {
    const kiln__lattice *lattice;
    const kiln__bins *bins;
    /* If `near` is NULL, a region is a box of `group` points. It examines exactly the atoms within the radius of the
     * box. Otherwise a region is the points of a bin, and examines the bins of `near` */
    const neighbours *near;
    int64_t group[3];
    const float *atoms;
    uint64_t count, step; /* only the atoms 0, step, 2 * step, ... are counted */
    uint64_t *pairs, *examined;
} fit;

static int64_t points_of(const fit *f, int axis, int64_t region)
{
    int64_t rest = f->lattice->n[axis] - region * f->group[axis];
    return rest < f->group[axis] ? rest : f->group[axis];
}

/* Returns the number of points in the regions that examine a bin. */
static uint64_t examined_from_bin(const fit *f, uint64_t bin)
{
    const neighbours *n = f->near;
    int64_t at[] = {(int64_t)(bin % (uint64_t)f->bins->n[0]),
                    (int64_t)(bin / (uint64_t)f->bins->n[0] % (uint64_t)f->bins->n[1]),
                    (int64_t)(bin / (uint64_t)(f->bins->n[0] * f->bins->n[1]))};
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n->offset_count; i++) {
        uint64_t points = 1;
        for (int k = 0; k < 3 && points; k++) {
            int64_t region = at[k] - ((int64_t)(n->offsets[i] >> 8 * k & 255) - 128);
            points *= region < 0 || region >= f->bins->n[k] ? 0 : (uint64_t)points_of(f, k, region);
        }
        sum += points;
    }
    return sum;
}

/* Returns the number of points in the boxes whose distance from an atom is below the radius. */
static uint64_t examined_by_boxes(const fit *f, const float *atom)
{
    const kiln__lattice *l = f->lattice;
    uint64_t sum = 0;
    int64_t range[3][2];
    for (int k = 0; k < 3; k++) {
        if (!kiln__lattice_range(l, k, (double)atom[k], l->radius, range[k]))
            return 0;
        range[k][0] /= f->group[k];
        range[k][1] /= f->group[k];
    }
    int64_t at[3];
    for (at[2] = range[2][0]; at[2] <= range[2][1]; at[2]++)
        for (at[1] = range[1][0]; at[1] <= range[1][1]; at[1]++)
            for (at[0] = range[0][0]; at[0] <= range[0][1]; at[0]++) {
                double distance = 0;
                uint64_t points = 1;
                for (int k = 0; k < 3; k++) {
                    double low = (double)(at[k] * f->group[k]) * l->spacing - (double)atom[k];
                    double high = -low - (double)(f->group[k] - 1) * l->spacing, away = low > high ? low : high;
                    distance += away > 0 ? away * away : 0;
                    points *= (uint64_t)points_of(f, k, at[k]);
                }
                sum += distance < l->radius * l->radius ? points : 0;
            }
    return sum;
}

enum { SAMPLES_A_PART = 256, MOST_SAMPLES = 1 << 13 };

static void measure_fit(void *user, size_t part, size_t worker)
{
    (void)worker;
    const fit *f = user;
    for (size_t s = part * SAMPLES_A_PART; s < (part + 1) * SAMPLES_A_PART && s * f->step < f->count; s++) {
        const float *atom = f->atoms + 4 * s * f->step;
        uint64_t bin;
        if (kiln__bins_find(f->lattice, f->bins, atom, &bin) != KILN__ATOM_BINNED)
            continue;
        f->pairs[part] += kiln__lattice_points(f->lattice, atom);
        f->examined[part] += f->near ? examined_from_bin(f, bin) : examined_by_boxes(f, atom);
    }
}

static bool share_examined(kiln_call *call, fit *f, double *share)
{
    size_t samples = f->step ? (size_t)((f->count + f->step - 1) / f->step) : 0;
    size_t parts = (samples + SAMPLES_A_PART - 1) / SAMPLES_A_PART;
    uint64_t pairs = 0, examined = 0;
    f->pairs = kiln__calloc(kiln_call_allocator(call), 2 * parts + 1, sizeof *f->pairs);
    if (!f->pairs)
        return false;
    f->examined = f->pairs + parts;
    kiln__parallel(0, parts, measure_fit, f);
    for (size_t i = 0; i < parts; i++) {
        pairs += f->pairs[i];
        examined += f->examined[i];
    }
    kiln__free(kiln_call_allocator(call), f->pairs);
    *share = examined ? (double)pairs / (double)examined : 1;
    return true;
}

/* Counts the atoms that find their bin full, and the atoms that have a bin. */
static bool count_overflow(kiln_call *call, const fit *f, int64_t capacity, uint64_t *over, uint64_t *binned)
{
    uint64_t bin;
    uint32_t *counts = kiln__calloc(kiln_call_allocator(call), (size_t)f->bins->count + 1, sizeof *counts);
    if (!counts)
        return false;
    *over = *binned = 0;
    for (uint64_t i = 0; i < f->count; i++) {
        if (kiln__bins_find(f->lattice, f->bins, f->atoms + 4 * i, &bin) != KILN__ATOM_BINNED)
            continue;
        *binned += 1;
        *over += ++counts[bin] > capacity && capacity > 0;
    }
    kiln__free(kiln_call_allocator(call), counts);
    return true;
}

static kiln_status export_shares(kiln_call *call, fit *f, int64_t capacity)
{
    uint64_t over, binned;
    double share;
    f->step = f->count / MOST_SAMPLES + 1;
    if (!count_overflow(call, f, capacity, &over, &binned) || !share_examined(call, f, &share))
        return kiln_call_fail(call, "out of host memory");
    if (kiln_call_export_float(call, "overflow", binned ? (double)over / (double)binned : 0) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    return kiln_call_export_float(call, "within", share);
}

/* Exports two shares for bins of `bin` points along each axis. A bin has room for `capacity` atoms, or for any number
 * of atoms if `capacity` is 0.
 *
 * - `overflow`: the share of atoms that find their bin full.
 * - `within`: the share of those pairs of an atom and a point that are within the radius, among all examined pairs. The
 *   function computes it from up to 2^13 atoms.
 *
 * All points of a region examine the same atoms. A region is the points of a bin. If the argument `box` is given, a
 * region is instead a box of box x box_y x box_z points. It examines exactly the atoms within the radius of the box. */
kiln_status kiln__host_cutoff_shares(void *user, kiln_call *call)
{
    (void)user;
    const int64_t none = 0;
    const kiln_array *atoms;
    int64_t capacity;
    kiln__lattice l;
    kiln__bins bins;
    neighbours n = {0};
    fit f = {.lattice = &l, .bins = &bins};
    if (!kiln__lattice_args(call, &l) || kiln_call_array(call, "of", &atoms) != KILN_OK ||
        kiln_call_int(call, "capacity", &none, &capacity) != KILN_OK ||
        kiln_call_int(call, "box", &none, &f.group[0]) != KILN_OK ||
        kiln_call_int(call, "box_y", &none, &f.group[1]) != KILN_OK ||
        kiln_call_int(call, "box_z", &none, &f.group[2]) != KILN_OK || !find_neighbours(call, &l, &n))
        return KILN_ERROR_HOST_FUNCTION;
    if (!kiln__atoms_ok(atoms))
        return kiln_call_fail(call, "`of` must be the atoms, N x 4 of f32");
    kiln__bins_of(&l, n.side, &bins);
    f.atoms = atoms->data;
    f.count = atoms->shape[0];
    if (f.group[0] >= 1 && f.group[1] >= 1 && f.group[2] >= 1)
        return export_shares(call, &f, capacity);
    for (int i = 0; i < 3; i++)
        f.group[i] = n.side;
    f.near = &n;
    n.offsets = kiln__alloc(kiln_call_allocator(call), (size_t)(n.offset_count + 1) * sizeof *n.offsets);
    if (!n.offsets)
        return kiln_call_fail(call, "out of host memory");
    walk_neighbours(&n);
    kiln_status status = export_shares(call, &f, capacity);
    kiln__free(kiln_call_allocator(call), n.offsets);
    return status;
}

/* ---- bins that the host fills ---- */

/* Fills the bins (count x capacity x 4 floats), and sets `counts` to the numbers of atoms in them. If an atom
 * finds no place in a bin, it goes to `overflow`. taken[0] is the number of such atoms. */
kiln_status kiln__host_cutoff_bins(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *atoms;
    kiln_array *slots, *counts, *overflow, *taken;
    int64_t side;
    kiln__lattice l;
    kiln__bins bins;
    if (!kiln__lattice_args(call, &l) || kiln_call_array(call, "atoms", &atoms) != KILN_OK ||
        kiln_call_int(call, "bin", NULL, &side) != KILN_OK || kiln_call_output(call, "bins", &slots) != KILN_OK ||
        kiln_call_output(call, "counts", &counts) != KILN_OK ||
        kiln_call_output(call, "overflow", &overflow) != KILN_OK || kiln_call_output(call, "taken", &taken) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (side < 1)
        return kiln_call_fail(call, "bin is 1 or more");
    kiln__bins_of(&l, side, &bins);
    if (!kiln__atoms_ok(atoms) || !kiln__atoms_ok(overflow) || overflow->shape[0] < atoms->shape[0] ||
        slots->dims != 3 || slots->type != KILN_f32 || slots->shape[0] < bins.count || slots->shape[2] != 4 ||
        counts->dims != 1 || counts->type != KILN_u32 || counts->shape[0] != slots->shape[0] ||
        taken->type != KILN_u32 || taken->dims != 1 || taken->shape[0] < 1)
        return kiln_call_fail(call, "atoms and overflow must be N x 4 of f32, and bins B x CAPACITY x 4 of f32; counts "
                                    "must be B and taken 1 of u32");
    uint32_t *of = counts->data, *out = taken->data;
    const float *atom = atoms->data;
    uint64_t room = slots->shape[1], bin = 0;
    memset(of, 0, (size_t)counts->shape[0] * sizeof *of);
    *out = 0;
    for (uint64_t i = 0; i < atoms->shape[0]; i++, atom += 4) {
        kiln__atom_fate fate = kiln__bins_find(&l, &bins, atom, &bin);
        if (fate == KILN__ATOM_DROPPED)
            continue;
        bool binned = fate == KILN__ATOM_BINNED && of[bin] < room;
        float *to = binned ? (float *)slots->data + 4 * (bin * room + of[bin]++)
                           : (float *)overflow->data + 4 * (size_t)(*out)++;
        memcpy(to, atom, 4 * sizeof *to);
    }
    return KILN_OK;
}
