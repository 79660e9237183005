/* atoms.h - point charges from files. */
#ifndef KILN_REFERENCE_ATOMS_H
#define KILN_REFERENCE_ATOMS_H

#include "data.h"

typedef struct kiln__atoms {
    size_t count, capacity;
    float (*items)[4]; /* x, y, z, charge */
} kiln__atoms;
void kiln__atoms_free(const kiln_allocator *mem, kiln__atoms *atoms);

/* The atoms of a text. Which format it has, its first line says:
 *   .xyz  a number alone: so many atoms follow behind a line of comment, `name x y z [charge]` each; what is behind them
 *         (more frames) is not read. An atom without a charge has 1
 *   .pqr  anything else. A line that begins with ATOM or HETATM is an atom, and its last five words are x, y, z, charge and
 *         radius; other lines count for nothing
 * Untrusted input: any text gives atoms with finite numbers, or an error with its line and column. text[length] is 0. */
kiln_status kiln__atoms_parse(const kiln_allocator *mem, const char *name, const char *text, size_t length,
                              kiln__atoms *atoms, kiln_error **error);
#endif
