/* space.h - the configurations of one variant: enumeration with constraints applied as early as their names are bound.
 * Knows nothing of compiling. */
#ifndef KILN_SPACE_H
#define KILN_SPACE_H

#include "spec.h"

typedef struct kiln__space kiln__space;

/* `fixed` pins params (unknown names are ignored here; a value outside the param's list is allowed and pinned).
 * `outer` gives sizes and device names; referenced, must outlive the space. */
kiln_status kiln__space_open(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                             const kiln_setting *fixed, size_t fixed_count, kiln__space **space, kiln_error **error);
void kiln__space_free(kiln__space *space);

uint64_t kiln__space_raw(const kiln__space *space);   /* product of the value counts; saturates */
/* Counts the valid ones. An expression that fails to evaluate is an error (with its place). */
kiln_status kiln__space_count(const kiln__space *space, uint64_t *valid, kiln_error **error);

/* A walk in lexical order of the params. One thread. */
typedef struct kiln__walk kiln__walk;
kiln_status kiln__walk_open(const kiln__space *space, kiln__walk **walk, kiln_error **error);
void kiln__walk_free(kiln__walk *walk);
/* The next valid configuration: param_count settings in the variant's order, owned by the walk until the next call;
 * *settings is NULL at the end. */
kiln_status kiln__walk_next(kiln__walk *walk, const kiln_setting **settings, kiln_error **error);

/* Checks one whole configuration against the constraints: KILN_ERROR_CONSTRAINT names the first that fails, with the
 * values of its names. */
kiln_status kiln__space_check(const kiln__space *space, const kiln_setting *settings, kiln_error **error);
/* The same without a space: `scope` knows params, sizes and device names. */
kiln_status kiln__space_check_scope(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                                    kiln_error **error);
/* Evaluates the variant's lets, in order, into lets[let_count], given a scope that knows params and sizes. */
kiln_status kiln__lets_eval(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                            kiln_setting *lets, kiln_error **error);
#endif
