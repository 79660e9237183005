/* space_internal.h - types and functions that the files of space/ share. */
#ifndef KILN_SPACE_INTERNAL_H
#define KILN_SPACE_INTERNAL_H

#include "space.h"

typedef struct kiln__axis {
    const kiln_value *values;
    size_t count;
    bool pinned;
} kiln__axis;

/* A let to compute or a constraint to test. */
typedef struct kiln__check {
    const kiln__expr *expr;
    const uint32_t *slots;    /* slots of the names in expr */
    uint32_t target;          /* the slot of a let's value; KILN__CONSTRAINT for a constraint */
    uint32_t number;          /* number of a constraint in the variant's `where` */
    size_t level;             /* number of params that must have a value before */
    struct kiln__check *next; /* next check of the same level */
} kiln__check;
#define KILN__CONSTRAINT UINT32_MAX

struct kiln__space {
    kiln__arena arena;
    kiln_allocator mem_copy;
    const kiln_allocator *mem;
    const kiln__variant *variant;
    const kiln__scope *outer;
    kiln__axis *axes;
    kiln_value *slots; /* values of params, lets, then outer names, which have values from the start */
    size_t slot_count, slot_capacity;
    const char **outer_names; /* names of the slots after the lets */
    kiln__check **levels;     /* param_count + 1 lists */
    kiln__check **let_checks; /* NULL if no constraint needs this let */
    size_t deepest;           /* the last level with a check */
};

typedef enum kiln__outcome { KILN__FAILED, KILN__EXCLUDED, KILN__HOLDS } kiln__outcome;
/* Runs the lets and constraints of one level, in order. `tally` (may be NULL) counts the rejections by each
 * constraint. */
kiln__outcome kiln__space_run(const kiln__check *checks, kiln_value *slots, kiln__tally *tally, kiln__diag *diag);

enum { KILN__CHECK_UNITS = 16 }; /* units of work of evaluating an expression */

/* Counts by walking. If the effort ends first, *valid is the number found so far. */
kiln_status kiln__space_walk_count(const kiln__space *space, kiln__effort *effort, uint64_t *valid, kiln_error **error);
/* Tests one constraint, by its number, in a scope with params and outer names. Returns false if it cannot be computed,
 * or if memory runs out. */
bool kiln__space_holds(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                       size_t constraint, bool *holds);
#endif
