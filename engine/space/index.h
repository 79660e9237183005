/* index.h - counts the valid configurations of a space and finds the n-th configuration, without storing them. The page
 * README.md describes the method. */
#ifndef KILN_SPACE_INDEX_H
#define KILN_SPACE_INDEX_H

#include "space.h"

typedef struct kiln__index kiln__index;

/* Counts the configurations of a space and gives each a number. The space must outlive the index. Only one thread at a
 * time may use an index. If there are 2^64 - 1 configurations or more, *index stays NULL, because 64 bits cannot number
 * them. */
kiln_status kiln__index_open(const kiln__space *space, kiln__index **index, kiln_error **error);
/* Opens an index. `effort` limits the work. If the effort ends first, or if there are 2^64 - 1 configurations or more,
 * *index stays NULL, and *found gets a lower bound of the number of configurations. */
kiln_status kiln__index_open_within(const kiln__space *space, kiln__effort *effort, kiln__index **index,
                                    uint64_t *found, kiln_error **error);
void kiln__index_free(kiln__index *index); /* NULL is allowed */
/* Returns the number of valid configurations, which is below UINT64_MAX. */
uint64_t kiln__index_count(const kiln__index *index);
/* Sets settings[param_count] to the configuration with the number `number`, which must be below the count. The settings
 * are in the variant's order. Each valid configuration has exactly one number. The order of the numbers has no meaning,
 * but it is always the same for the same space. */
kiln_status kiln__index_at(kiln__index *index, uint64_t number, kiln_setting *settings, kiln_error **error);

/* Finds some configurations by their numbers. *quick tells whether finding a configuration took at most `units` units
 * of work on average (kiln__effort). */
kiln_status kiln__index_quick(kiln__index *index, uint64_t units, bool *quick, kiln_error **error);

/* These functions describe a configuration by positions. The position of a param is the index of its value, counted
 * from 0. A param that the caller fixed has one value. The function kiln__index_values() returns the number of values
 * of a param. */
size_t kiln__index_values(const kiln__index *index, size_t param, const kiln_value **values);
kiln_status kiln__index_positions(kiln__index *index, uint64_t number, uint32_t *positions, kiln_error **error);
/* Sets *holds to true if the constraints allow a configuration. If a constraint cannot be computed, *holds is false.
 * Each position must be below the number of values of its param. */
kiln_status kiln__index_holds(kiln__index *index, const uint32_t *positions, bool *holds, kiln_error **error);
#endif
