/* space_internal.h - types and functions that the files of the folder space/ share. */
#ifndef KILN_SPACE_INTERNAL_H
#define KILN_SPACE_INTERNAL_H

#include "space.h"

typedef struct kiln__axis {
    const kiln_value *values;
    size_t count;
    bool pinned;
} kiln__axis;

/* A step of a walk: either computes a named expression (key `let` of the spec), or tests a constraint. */
typedef struct kiln__check {
    const kiln__expr *expr;
    const uint32_t *slots; /* for each name in the expression, the index of its value in kiln__space.slots */
    /* for a named expression, the index of its value in kiln__space.slots; KILN__CONSTRAINT for a constraint */
    uint32_t target;
    uint32_t number;          /* the index of a constraint in the variant's `where` */
    size_t level;             /* the number of tuning parameters that must have values before this step */
    struct kiln__check *next; /* the next step of the same level */
} kiln__check;
#define KILN__CONSTRAINT UINT32_MAX

struct kiln__space {
    kiln__arena arena;
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    const kiln__variant *variant;
    const kiln__scope *outer;
    kiln__axis *axes;
    /* The values of all names: first the tuning parameters, then the named expressions, then the outer names (sizes and
     * device names), which have values from the start. */
    kiln_value *slots;
    size_t slot_count, slot_capacity;
    const char **outer_names; /* the names of the slots after the named expressions */
    kiln__check **levels;     /* a list of steps for each level; there are param_count + 1 levels */
    kiln__check **let_checks; /* for each named expression, the step that computes it; NULL if no constraint needs it */
    size_t deepest;           /* the last level that has a step */
};

typedef enum kiln__outcome { KILN__FAILED, KILN__EXCLUDED, KILN__HOLDS } kiln__outcome;
/* Computes the named expressions and tests the constraints of one level, in order. `tally` counts the values that each
 * constraint rejects. It may be NULL. */
kiln__outcome kiln__space_run(const kiln__check *checks, kiln_value *slots, kiln__tally *tally, kiln__diag *diag);

enum { KILN__CHECK_UNITS = 16 }; /* the units of work for evaluating an expression */

/* Counts the valid configurations by a walk. If the limit of the work is reached, *valid is the number that was found
 * so far. */
kiln_status kiln__space_walk_count(const kiln__space *space, kiln__effort *effort, uint64_t *valid, kiln_error **error);
/* Tests the constraint with the index `constraint` in a scope that has tuning parameters and outer names. Returns false
 * if the constraint cannot be computed, or if memory runs out. */
bool kiln__space_holds(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                       size_t constraint, bool *holds);
#endif
