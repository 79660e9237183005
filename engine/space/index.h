/* index.h - counts the valid configurations of a space and finds the n-th configuration, without storing them.
 * README.md describes the method. */
#ifndef KILN_SPACE_INDEX_H
#define KILN_SPACE_INDEX_H

#include "space.h"

typedef struct kiln__index kiln__index;

/* Counts the configurations of a space and gives each a number. The space must outlive the index. Only one thread at a
 * time may use an index. If there are 2^64 - 1 configurations or more, *index stays NULL, because 64 bits cannot number
 * them. */
kiln_status kiln__index_open(const kiln__space *space, kiln__index **index, kiln_error **error);
/* Opens an index. `effort` limits the work. If the limit is reached, or if there are 2^64 - 1 configurations or more,
 * *index stays NULL, and *found gets a lower bound of the number of configurations. */
kiln_status kiln__index_open_within(const kiln__space *space, kiln__effort *effort, kiln__index **index,
                                    uint64_t *found, kiln_error **error);
void kiln__index_free(kiln__index *index); /* `index` may be NULL */
/* Returns the number of valid configurations, which is below UINT64_MAX. */
uint64_t kiln__index_count(const kiln__index *index);
/* Writes the configuration with the number `number` to `settings`, one entry per tuning parameter in the variant's
 * order. `number` must be below the count. Each valid configuration has exactly one number. The order of the numbers
 * has no meaning, but it is always the same for the same space. */
kiln_status kiln__index_at(kiln__index *index, uint64_t number, kiln_setting *settings, kiln_error **error);

/* Finds some configurations by their numbers. *quick tells whether finding one took at most `units` units of work on
 * average (kiln__effort). */
kiln_status kiln__index_quick(kiln__index *index, uint64_t units, bool *quick, kiln_error **error);

/* The next three functions describe a configuration by positions. The position of a tuning parameter is the index of
 * its value, counted from 0. A tuning parameter that the caller fixed has only one value. The function
 * kiln__index_values() returns the number of values of a tuning parameter. */
size_t kiln__index_values(const kiln__index *index, size_t param, const kiln_value **values);
kiln_status kiln__index_positions(kiln__index *index, uint64_t number, uint32_t *positions, kiln_error **error);
/* Sets *holds to true if the constraints allow a configuration. If a constraint cannot be computed, *holds is false.
 * Each position must be below the number of values of its tuning parameter. */
kiln_status kiln__index_holds(kiln__index *index, const uint32_t *positions, bool *holds, kiln_error **error);
#endif
