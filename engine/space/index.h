/* index.h - a space by number: how many configurations are valid, which is the n-th, without holding them.
 * README.md says how. */
#ifndef KILN_SPACE_INDEX_H
#define KILN_SPACE_INDEX_H

#include "space.h"

typedef struct kiln__index kiln__index;

/* The space is referenced. One thread at a time. */
kiln_status kiln__index_open(const kiln__space *space, kiln__index **index, kiln_error **error);
/* The same for as long as the effort lasts: *index stays NULL where it was over before, and *found is how many
 * configurations there are at least. */
kiln_status kiln__index_open_within(const kiln__space *space, kiln__effort *effort, kiln__index **index,
                                    uint64_t *found, kiln_error **error);
void kiln__index_free(kiln__index *index); /* NULL is fine */
/* The number of valid configurations; UINT64_MAX if there are more. */
uint64_t kiln__index_count(const kiln__index *index);
/* The configuration of a number below the count: settings[param_count] in the variant's order. Each valid one has one
 * number; their order is the index's own, the same for the same space. */
kiln_status kiln__index_at(kiln__index *index, uint64_t number, kiln_setting *settings, kiln_error **error);

/* Whether finding one by its number takes no more than so many units of work (kiln__effort) on average. */
kiln_status kiln__index_quick(kiln__index *index, uint64_t units, bool *quick, kiln_error **error);

/* The same by positions: which of its values each param has, from 0. A pinned param has one. */
size_t kiln__index_values(const kiln__index *index, size_t param, const kiln_value **values);
kiln_status kiln__index_positions(kiln__index *index, uint64_t number, uint32_t *positions, kiln_error **error);
/* Whether the constraints allow it; each position lies below its param's number of values. */
kiln_status kiln__index_holds(kiln__index *index, const uint32_t *positions, bool *holds, kiln_error **error);
#endif
