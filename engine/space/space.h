/* space.h - the configurations of one variant: enumeration with constraints applied as early as their names are bound.
 * Knows nothing of compiling. */
#ifndef KILN_SPACE_H
#define KILN_SPACE_H

#include "spec.h"

/* How much work a walk may be. Asked at every step, which is cheap: the clock and the caller are looked at now and then.
 * NULL stands for no bound everywhere. */
typedef struct kiln__effort {
    uint64_t deadline;        /* kiln__now_ns(); 0: none */
    uint64_t most;            /* units of work, each some nanoseconds; 0: no bound. The same on every machine */
    bool (*stop)(void *user); /* true: the caller wants to end. NULL: nobody asks */
    void *user;
    uint64_t done, asked; /* units so far, and when the clock was last looked at */
    bool over, stopped;   /* the work ended early; by the caller */
} kiln__effort;
bool kiln__effort_ask(kiln__effort *effort); /* looks at everything now. False: enough */
/* A step of so many units. False: enough, and it stays so. */
static inline bool kiln__effort_step(kiln__effort *effort, uint64_t units)
{
    enum { POLL = 1 << 16 };
    if (!effort)
        return true;
    effort->done += units;
    if (effort->done - effort->asked < POLL && (!effort->most || effort->done < effort->most))
        return !effort->over;
    return kiln__effort_ask(effort);
}

typedef struct kiln__space kiln__space;

/* `fixed` pins params (unknown names are ignored here; a value outside the param's list is allowed and pinned).
 * `outer` gives sizes and device names; referenced, must outlive the space. */
kiln_status kiln__space_open(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                             const kiln_setting *fixed, size_t fixed_count, kiln__space **space, kiln_error **error);
void kiln__space_free(kiln__space *space);

uint64_t kiln__space_raw(const kiln__space *space); /* product of the value counts; saturates */
/* Counts the valid ones. An expression that fails to evaluate is an error (with its place). */
kiln_status kiln__space_count(const kiln__space *space, uint64_t *valid, kiln_error **error);
/* The same for as long as the effort lasts. *counted false: it was over before, and *valid is how many there are at
 * least. */
kiln_status kiln__space_count_within(const kiln__space *space, kiln__effort *effort, bool *counted, uint64_t *valid,
                                     kiln_error **error);

/* A walk in lexical order of the params. One thread. */
typedef struct kiln__walk kiln__walk;
kiln_status kiln__walk_open(const kiln__space *space, kiln__walk **walk, kiln_error **error);
void kiln__walk_free(kiln__walk *walk);
/* Bounds the walk from here on; referenced. Where the effort is over, kiln__walk_next() gives no settings, and the walk
 * goes on from there when it is given another. */
void kiln__walk_limit(kiln__walk *walk, kiln__effort *effort);
/* What the constraints have rejected, on the way, of everything that was tried. */
typedef struct kiln__tally {
    uint64_t tried;     /* values that were given to a param */
    uint64_t *rejected; /* by each constraint */
} kiln__tally;
const kiln__tally *kiln__walk_tally(const kiln__walk *walk);
/* KILN_ERROR_CONSTRAINT: no configuration was found; how many were tried, and which constraint rejected most. */
kiln_status kiln__space_none_found(const kiln__space *space, const kiln__tally *tally, double seconds,
                                   kiln_error **error);
/* The next valid configuration: param_count settings in the variant's order, owned by the walk until the next call;
 * *settings is NULL at the end. */
kiln_status kiln__walk_next(kiln__walk *walk, const kiln_setting **settings, kiln_error **error);

/* Draws valid configurations at random without knowing how many there are: each param in order gets one of its values at
 * random, as soon as a constraint does not hold another one, and where none is left the one before; after a while anew.
 * So not all are equally likely, and one may come twice. */
typedef struct kiln__sampler kiln__sampler;
kiln_status kiln__sampler_open(const kiln__space *space, kiln__sampler **sampler, kiln_error **error);
void kiln__sampler_free(kiln__sampler *sampler); /* NULL is fine */
/* a random number below the bound, which is at least 1 */
typedef uint64_t (*kiln__below_fn)(void *user, uint64_t bound);
/* Which of its values each param has; *found false: none before the effort was over, or there is none at all. */
kiln_status kiln__sampler_draw(kiln__sampler *sampler, kiln__below_fn below, void *user, kiln__effort *effort,
                               uint32_t *positions, bool *found, kiln_error **error);
bool kiln__sampler_none(const kiln__sampler *sampler); /* it has been through the whole space, and nothing is valid */
const kiln__tally *kiln__sampler_tally(const kiln__sampler *sampler);
/* By positions: the values of a param (a pinned one has one), and whether the constraints allow a configuration. One that
 * cannot be computed does not hold. */
size_t kiln__space_values(const kiln__space *space, size_t param, const kiln_value **values);
kiln_status kiln__space_holds_at(const kiln__space *space, const uint32_t *positions, bool *holds, kiln_error **error);

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
