/* cutoff.h - the common part of the host functions of the family `cutoff`: the lattice of points, and bins of atoms.
 *
 * The lattice has nx x ny x nz points. Neighbouring points along x are neighbours in memory. Along each axis, point i
 * lies at i * spacing, rounded to single precision. Bins are cubes of `side` lattice points along each axis. Along each
 * axis, bin b begins at point b * side. */
#ifndef KILN_DATA_CUTOFF_H
#define KILN_DATA_CUTOFF_H

#include "catalogue.h"

typedef struct kiln__lattice {
    int64_t n[3];
    double spacing, radius;
} kiln__lattice;

/* Checks the lattice. If it is too large, or if its spacing or radius is out of range, calls kiln_call_fail() and
 * returns false. */
bool kiln__lattice_ok(kiln_call *call, const kiln__lattice *lattice);
/* Reads the arguments nx, ny, nz, spacing and radius, and checks them. */
bool kiln__lattice_args(kiln_call *call, kiln__lattice *lattice);
/* Sets `range` to the first and the last point of an axis whose distance from the coordinate `at` is at most `reach`.
 * Returns false if there is no such point. */
bool kiln__lattice_range(const kiln__lattice *lattice, int axis, double at, double reach, int64_t range[2]);
/* Returns the number of lattice points within the radius of an atom. */
uint64_t kiln__lattice_points(const kiln__lattice *lattice, const float *atom);
static inline float kiln__lattice_at(const kiln__lattice *lattice, int64_t point)
{
    return (float)point * (float)lattice->spacing;
}
/* Returns the potential that an atom adds at a point, in single precision as in the kernels. `r2` is the squared
 * distance. */
float kiln__cutoff_term(float charge, float r2, float radius);
/* Returns whether `atoms` has the shape count x 4 and the type f32. */
bool kiln__atoms_ok(const kiln_array *atoms);

/* The place of an atom. An atom is in a bin. If its charge is not finite, it is in a list instead. If no point is near
 * it, it is dropped. */
typedef enum kiln__atom_fate { KILN__ATOM_BINNED, KILN__ATOM_LISTED, KILN__ATOM_DROPPED } kiln__atom_fate;
typedef struct kiln__bins {
    int64_t n[3];
    uint64_t count;
    double side; /* length of an edge of a bin */
} kiln__bins;
void kiln__bins_of(const kiln__lattice *lattice, int64_t side, kiln__bins *bins);
kiln__atom_fate kiln__bins_find(const kiln__lattice *lattice, const kiln__bins *bins, const float *atom, uint64_t *bin);

/* A region is the points of a bin. Returns whether a bin that is `offset` bins away from a region may have atoms within
 * the radius of the region's points. CUBE tests each axis alone. CYLINDER tests y and z together. SPHERE tests all
 * three axes together. */
typedef enum kiln__near_test { KILN__NEAR_CUBE, KILN__NEAR_CYLINDER, KILN__NEAR_SPHERE } kiln__near_test;
bool kiln__bins_near(const kiln__lattice *lattice, int64_t side, kiln__near_test test, const int offset[3]);
/* Returns the largest offset along an axis that passes the test. The result is at most the number of bins. */
int kiln__bins_reach(const kiln__lattice *lattice, const kiln__bins *bins, int64_t side, int axis);

/* The host functions cutoff_near, cutoff_shares and cutoff_bins are in cutoff_bins.c. The host functions
 * cutoff_scatter_c, cutoff_overflow, cutoff_gather_c and cutoff_blocked_c are in cutoff_host.c. */
kiln_status kiln__host_cutoff_near(void *user, kiln_call *call);
kiln_status kiln__host_cutoff_shares(void *user, kiln_call *call);
kiln_status kiln__host_cutoff_bins(void *user, kiln_call *call);
kiln_status kiln__host_cutoff_scatter(void *user, kiln_call *call);
kiln_status kiln__host_cutoff_overflow(void *user, kiln_call *call);
kiln_status kiln__host_cutoff_gather(void *user, kiln_call *call);
kiln_status kiln__host_cutoff_blocked(void *user, kiln_call *call);

#endif
