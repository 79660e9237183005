/* index.h - counts the valid configurations and finds the n-th one, without storing them. README.md describes the
 * method. */
#ifndef KILN_SPACE_INDEX_H
#define KILN_SPACE_INDEX_H

#include "space.h"

typedef struct kiln__index kiln__index;

/* Counts the configurations of a space and gives each a number. The space must outlive the index. Only one thread at a
 * time may use an index. If there are 2^64 - 1 configurations or more, *index stays NULL, because their numbers would
 * not fit into 64 bits. */
kiln_status kiln__index_open(const kiln__space *space, kiln__index **index, kiln_error **error);
/* Opens an index with limited effort. If the effort ends first, or if there are 2^64 - 1 configurations or more, *index
 * stays NULL and *found is a lower bound of the number of configurations. */
kiln_status kiln__index_open_within(const kiln__space *space, kiln__effort *effort, kiln__index **index,
                                    uint64_t *found, kiln_error **error);
void kiln__index_free(kiln__index *index); /* NULL is allowed */
/* Returns the number of valid configurations, which is below UINT64_MAX. */
uint64_t kiln__index_count(const kiln__index *index);
/* Sets settings[param_count], in the variant's order, to the configuration with this number, which must be below the
 * count. Each valid configuration has exactly one number. The order of the numbers has no meaning, but is the same for
 * the same space. */
kiln_status kiln__index_at(kiln__index *index, uint64_t number, kiln_setting *settings, kiln_error **error);

/* Finds some configurations by their numbers. *quick tells whether this took at most `units` of work (kiln__effort) on
 * average. */
kiln_status kiln__index_quick(kiln__index *index, uint64_t units, bool *quick, kiln_error **error);

/* These functions describe a configuration by positions: for each param the index of its value, from 0. A pinned param
 * has one value. kiln__index_values() returns the number of values of a param. */
size_t kiln__index_values(const kiln__index *index, size_t param, const kiln_value **values);
kiln_status kiln__index_positions(kiln__index *index, uint64_t number, uint32_t *positions, kiln_error **error);
/* Sets *holds to whether the constraints allow a configuration. A constraint that cannot be computed does not hold.
 * Each position must be below the number of values of its param. */
kiln_status kiln__index_holds(kiln__index *index, const uint32_t *positions, bool *holds, kiln_error **error);
#endif
