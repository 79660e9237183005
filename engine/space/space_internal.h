/* internal.h - what the files of space/ share. */
#ifndef KILN_SPACE_INTERNAL_H
#define KILN_SPACE_INTERNAL_H

#include "space.h"

typedef struct kiln__axis {
    const kiln_value *values;
    size_t count;
    bool pinned;
} kiln__axis;

struct kiln__space {
    kiln__arena arena;
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    const kiln__variant *variant;
    const kiln__scope *outer;
    kiln__axis *axes;
    kiln_value *slots;     /* params, lets, then outer names, which have their values already */
    size_t slot_count, slot_capacity;
    const char **outer_names; /* of the slots behind the lets */
    struct check **levels; /* param_count + 1 lists */
    struct check **let_checks; /* NULL: no constraint needs this let */
    size_t deepest;        /* the last level with a check */
};

/* Counts by walking. */
kiln_status kiln__space_walk_count(const kiln__space *space, uint64_t *valid, kiln_error **error);
/* One constraint, by its number, in a scope that knows its params and what is outside. False: it cannot be computed. */
bool kiln__space_holds(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                       size_t constraint, bool *holds);
#endif
