/* atoms.h - point charges that are read from files or generated. */
#ifndef KILN_REFERENCE_ATOMS_H
#define KILN_REFERENCE_ATOMS_H

#include "catalogue.h"

typedef struct kiln__atoms {
    size_t count, capacity;
    float (*items)[4]; /* each item has x, y, z and the charge */
} kiln__atoms;
void kiln__atoms_free(const kiln_allocator *mem, kiln__atoms *atoms);

/* Reads atoms from a text. The first line tells which of the two formats the text has.
 *
 * - In a .xyz file the first line is the number of atoms, and nothing else. The second line is a comment. Then each
 *   atom has a line `name x y z [charge]`. If the charge is missing, it is 1. The function does not read the lines
 *   after the last atom, which are further frames.
 * - In a .pqr file the first line is anything else. A line that begins with ATOM or HETATM is an atom. Its last five
 *   words are x, y, z, charge and radius. The function ignores all other lines.
 *
 * The input is untrusted: any text gives atoms with finite numbers, or an error with its line and column. text[length]
 * must be 0. */
kiln_status kiln__atoms_parse(const kiln_allocator *mem, const char *name, const char *text, size_t length,
                              kiln__atoms *atoms, kiln_error **error);

/* Makes the atoms for the arguments `atoms`, `count` and `seed` of a host function. The lattice has nx x ny x nz
 * points, and the distance of neighbouring points is `spacing`. The argument `atoms` is the path of a file, or one of
 * the kinds below. The atoms of a file are moved to the middle of the lattice.
 *
 * - `uniform`: the atoms are anywhere in the lattice.
 * - `clustered`: clouds of 4000 atoms; most atoms of a cloud are within 8 of its middle along each axis.
 * - `on_grid`: each atom is on a point of the lattice.
 * - `coincident`: all atoms are on one point of the lattice.
 * - `one_bin`: all atoms are within a quarter of the spacing along each axis.
 * - `outside`: the atoms are spread over four times the lattice along each axis. */
kiln_status kiln__atoms_make(kiln_call *call, const int64_t points[3], float spacing, kiln__atoms *atoms);
/* The host function dcs_atoms makes atoms and exports them. */
kiln_status kiln__host_dcs_atoms(void *user, kiln_call *call);
#endif
