/* atoms.h - point charges from files. */
#ifndef KILN_REFERENCE_ATOMS_H
#define KILN_REFERENCE_ATOMS_H

#include "catalogue.h"

typedef struct kiln__atoms {
    size_t count, capacity;
    float (*items)[4]; /* x, y, z, charge */
} kiln__atoms;
void kiln__atoms_free(const kiln_allocator *mem, kiln__atoms *atoms);

/* The atoms of a text. Which format it has, its first line says:
 *   .xyz  a number alone: so many atoms follow behind a line of comment, `name x y z [charge]` each; what is behind
 *         them (more frames) is not read. An atom without a charge has 1
 *   .pqr  anything else. A line that begins with ATOM or HETATM is an atom, and its last five words are x, y, z,
 *         charge and radius; other lines count for nothing
 * Untrusted input: any text gives atoms with finite numbers, or an error with its line and column. text[length] is 0.
 */
kiln_status kiln__atoms_parse(const kiln_allocator *mem, const char *name, const char *text, size_t length,
                              kiln__atoms *atoms, kiln_error **error);

/* The atoms that the arguments `atoms`, `count` and `seed` of a host function ask for, in a lattice of nx x ny x nz points
 * `spacing` apart. `atoms` is a file, whose atoms are moved to the middle of the lattice; or
 *   uniform     anywhere in the lattice
 *   clustered   clouds of 4000 atoms, most of a cloud within 8 of its middle along each axis
 *   on_grid     each on a point of the lattice
 *   coincident  all on one point of the lattice
 *   one_bin     all within a quarter of the spacing along each axis
 *   outside     spread over four times the lattice along each axis */
kiln_status kiln__atoms_make(kiln_call *call, const int64_t points[3], float spacing, kiln__atoms *atoms);
/* The host function dcs_atoms. */
kiln_status kiln__host_dcs_atoms(void *user, kiln_call *call);
#endif
