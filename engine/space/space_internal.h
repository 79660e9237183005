/* space_internal.h - types and functions that the files of the folder space/ share. */
#ifndef KILN_SPACE_INTERNAL_H
#define KILN_SPACE_INTERNAL_H

#include "space.h"

typedef struct kiln__axis {
    const kiln_value *values;
    size_t count;
    bool pinned;
} kiln__axis;

/* A let that is computed, or a constraint that is tested, during a walk. */
typedef struct kiln__check {
    const kiln__expr *expr;
    const uint32_t *slots;    /* the slots of the names in the expression */
    uint32_t target;          /* the slot for the value of a let; KILN__CONSTRAINT for a constraint */
    uint32_t number;          /* the number of a constraint in the variant's `where` */
    size_t level;             /* the number of params that must have a value before this check */
    struct kiln__check *next; /* the next check of the same level */
} kiln__check;
#define KILN__CONSTRAINT UINT32_MAX

struct kiln__space {
    kiln__arena arena;
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    const kiln__variant *variant;
    const kiln__scope *outer;
    kiln__axis *axes;
    kiln_value *slots; /* the values of params, then of lets, then of outer names, which have values from the start */
    size_t slot_count, slot_capacity;
    const char **outer_names; /* the names of the slots after the lets */
    kiln__check **levels;     /* param_count + 1 lists of checks */
    kiln__check **let_checks; /* the check that computes each let; NULL if no constraint needs the let */
    size_t deepest;           /* the last level that has a check */
};

typedef enum kiln__outcome { KILN__FAILED, KILN__EXCLUDED, KILN__HOLDS } kiln__outcome;
/* Computes the lets and tests the constraints of one level, in order. `tally` counts the values that each constraint
 * rejects. It may be NULL. */
kiln__outcome kiln__space_run(const kiln__check *checks, kiln_value *slots, kiln__tally *tally, kiln__diag *diag);

enum { KILN__CHECK_UNITS = 16 }; /* the units of work for evaluating an expression */

/* Counts by walking. If the effort ends first, *valid is the number that was found so far. */
kiln_status kiln__space_walk_count(const kiln__space *space, kiln__effort *effort, uint64_t *valid, kiln_error **error);
/* Tests the constraint with a number, in a scope that has params and outer names. Returns false if the constraint
 * cannot be computed, or if memory runs out. */
bool kiln__space_holds(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                       size_t constraint, bool *holds);
#endif
