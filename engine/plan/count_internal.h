/* count_internal.h - compares outputs with references on the device (count.c). The engine's context must be current in
 * all of these calls. */
#ifndef KILN_PLAN_COUNT_INTERNAL_H
#define KILN_PLAN_COUNT_INTERNAL_H

#include "data.h"
#include "layout_internal.h"

/* A comparison of the outputs in one buffer. `key` identifies the content of the reference, and is the key of its entry
 * in kiln__shared. */
typedef struct kiln__counting {
    const char *buffer, *key;
    const kiln_array *want;
    bool exact, sampled;
    double rtol, atol;
} kiln__counting;
/* Returns whether this run compares an output or input of `bytes` bytes on the device. */
bool kiln__counts_on_device(const kiln_plan *plan, uint64_t bytes);
/* Counts the same numbers as kiln__array_compare() and kiln__array_compare_sample(), but on the device. *done is false
 * if the device cannot count. The type may be complex, an 8-bit float, or different from the reference's type, or there
 * may be no memory for a copy. */
kiln_status kiln__count_on_device(kiln_plan *plan, const kiln__plan_buffer *b, const kiln__counting *of,
                                  kiln__counted *counted, bool *done, kiln_error **error);

#endif
