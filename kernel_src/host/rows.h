/* rows.h - chooses the rows of a lattice for which a reference computes results. For a large lattice, all pairs of an
 * atom and a point would take minutes on two cores. */
#ifndef KILN_REFERENCE_ROWS_H
#define KILN_REFERENCE_ROWS_H

#include "catalogue.h"
#include "random.h"

/* Sets *every to n if the reference computes one row in n. If the spec wants all elements (`verify` without `sampled`),
 * n is 1. Otherwise n is the smallest number for which about `most` of the `pairs` pairs remain. Returns false if the
 * call has failed. */
static inline bool kiln__rows_every(kiln_call *call, double pairs, double most, uint64_t *every)
{
    const int64_t all = 0;
    int64_t sampled;
    if (kiln_call_int(call, "verify.sampled", &all, &sampled) != KILN_OK)
        return false;
    *every = sampled && pairs > most ? (uint64_t)(pairs / most) + 1 : 1;
    return true;
}

/* Returns whether the reference computes this row. The choice is the same in every run. It has no pattern that could
 * match the tiles of a kernel. */
static inline bool kiln__row_chosen(uint64_t row, uint64_t every)
{
    return every == 1 || kiln__random_mix(row) % every == 0;
}
#endif
