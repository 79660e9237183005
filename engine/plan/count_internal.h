/* count_internal.h - compares outputs with references on the device (count.c). The context must be current. */
#ifndef KILN_PLAN_COUNT_INTERNAL_H
#define KILN_PLAN_COUNT_INTERNAL_H

#include "data.h"
#include "layout_internal.h"

/* A comparison of one buffer. `key` is the key of the reference among the shared entries, and names its content. */
typedef struct kiln__counting {
    const char *buffer, *key;
    const kiln_array *want;
    bool exact, sampled;
    double rtol, atol;
} kiln__counting;
/* Returns whether the device compares an output or an input of this many bytes, in this run. */
bool kiln__counts_on_device(const kiln_plan *plan, uint64_t bytes);
/* Counts what kiln__array_compare() and kiln__array_compare_sample() count. *done is false if the device cannot count:
 * the type is complex, an 8-bit float, or different from the reference's type, or there is no memory for a copy. */
kiln_status kiln__count_on_device(kiln_plan *plan, const kiln__plan_buffer *b, const kiln__counting *of,
                                  kiln__counted *counted, bool *done, kiln_error **error);

#endif
