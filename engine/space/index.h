/* index.h - numbers of configurations: how many are valid, and which is the n-th, without storing them.
 * README.md says how. */
#ifndef KILN_SPACE_INDEX_H
#define KILN_SPACE_INDEX_H

#include "space.h"

typedef struct kiln__index kiln__index;

/* The space is referenced. One thread at a time. *index stays NULL where there are 2^64 - 1 configurations or more: their
 * numbers would not fit into 64 bits. */
kiln_status kiln__index_open(const kiln__space *space, kiln__index **index, kiln_error **error);
/* The same with limited effort. If it ends first, or there are 2^64 - 1 configurations or more, *index stays NULL and
 * *found is a lower bound of the number of configurations. */
kiln_status kiln__index_open_within(const kiln__space *space, kiln__effort *effort, kiln__index **index,
                                    uint64_t *found, kiln_error **error);
void kiln__index_free(kiln__index *index); /* NULL is allowed */
/* The number of valid configurations, always below UINT64_MAX. */
uint64_t kiln__index_count(const kiln__index *index);
/* The configuration of a number below the count: settings[param_count] in the variant's order. Each valid one has one
 * number. Their order is private to the index, and the same for the same space. */
kiln_status kiln__index_at(kiln__index *index, uint64_t number, kiln_setting *settings, kiln_error **error);

/* *quick: finding a configuration by its number takes at most `units` of work (kiln__effort) on average. */
kiln_status kiln__index_quick(kiln__index *index, uint64_t units, bool *quick, kiln_error **error);

/* The same by positions: for each param the index of its value, from 0. A pinned param has one value. */
size_t kiln__index_values(const kiln__index *index, size_t param, const kiln_value **values);
kiln_status kiln__index_positions(kiln__index *index, uint64_t number, uint32_t *positions, kiln_error **error);
/* Whether the constraints allow it. Each position must be below the number of values of its param. */
kiln_status kiln__index_holds(kiln__index *index, const uint32_t *positions, bool *holds, kiln_error **error);
#endif
