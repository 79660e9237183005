/* rows.h - which rows of a lattice a reference computes. All pairs of a large work would take minutes on two cores. */
#ifndef KILN_REFERENCE_ROWS_H
#define KILN_REFERENCE_ROWS_H

#include "catalogue.h"
#include "random.h"

/* One row in so many: as few as make `most` pairs, 1 where the spec wants all elements (`sampled` of `verify`). False:
 * the call has failed. */
static inline bool kiln__rows_every(kiln_call *call, double pairs, double most, uint64_t *every)
{
    const int64_t all = 0;
    int64_t sampled;
    if (kiln_call_int(call, "verify.sampled", &all, &sampled) != KILN_OK)
        return false;
    *every = sampled && pairs > most ? (uint64_t)(pairs / most) + 1 : 1;
    return true;
}

/* The same rows in every run, without a pattern that a kernel's tiles could have too. */
static inline bool kiln__row_chosen(uint64_t row, uint64_t every)
{
    return every == 1 || kiln__random_mix(row) % every == 0;
}
#endif
