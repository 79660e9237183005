/* space.h - the configurations of one variant: enumeration that tests each constraint as soon as its names are bound.
 * Knows nothing of compiling. */
#ifndef KILN_SPACE_H
#define KILN_SPACE_H

#include "spec.h"

/* A limit on the work of a walk. It is checked at every step; the clock is read, and the caller's `stop` called, only
 * now and then. NULL: no limit. */
typedef struct kiln__effort {
    uint64_t deadline;        /* kiln__now_ns(); 0: none */
    uint64_t most;            /* units of work, some nanoseconds each, the same on every machine; 0: no limit */
    bool (*stop)(void *user); /* true: end now; NULL: none */
    void *user;
    uint64_t done, asked; /* units so far, and at the last look at the clock */
    bool over, stopped;   /* the limit is reached; the caller ended it */
} kiln__effort;
bool kiln__effort_ask(kiln__effort *effort); /* checks everything now. False: stop */
/* Counts a step of `units`. False: stop; all later calls return false too. */
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
 * `outer` gives sizes and device names; it is referenced and must outlive the space. */
kiln_status kiln__space_open(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                             kiln__settings fixed, kiln__space **space, kiln_error **error);
void kiln__space_free(kiln__space *space);

uint64_t kiln__space_raw(const kiln__space *space); /* product of the value counts; saturates */
/* Counts the valid ones; UINT64_MAX: that many or more. An expression that fails to evaluate is an error (with its
 * place). */
kiln_status kiln__space_count(const kiln__space *space, uint64_t *valid, kiln_error **error);
/* The same with limited effort. *counted false: the effort ended first, or there are 2^64 - 1 configurations or more;
 * *valid is a lower bound. */
kiln_status kiln__space_count_within(const kiln__space *space, kiln__effort *effort, bool *counted, uint64_t *valid,
                                     kiln_error **error);

/* A walk in lexicographic order of the params. One thread. */
typedef struct kiln__walk kiln__walk;
kiln_status kiln__walk_open(const kiln__space *space, kiln__walk **walk, kiln_error **error);
void kiln__walk_free(kiln__walk *walk);
/* Limits the walk from now on; referenced. When the effort ends, kiln__walk_next() returns no settings; with a new
 * effort the walk continues there. */
void kiln__walk_limit(kiln__walk *walk, kiln__effort *effort);
/* How many values were tried, and how many of them each constraint rejected. */
typedef struct kiln__tally {
    uint64_t tried;     /* values that were given to a param */
    uint64_t *rejected; /* by each constraint */
} kiln__tally;
const kiln__tally *kiln__walk_tally(const kiln__walk *walk);
/* KILN_ERROR_CONSTRAINT: no configuration was found; how many were tried, and which constraint rejected most. */
kiln_status kiln__space_none_found(const kiln__space *space, const kiln__tally *tally, double seconds,
                                   kiln_error **error);
/* The next valid configuration: param_count settings in the variant's order, valid until the next call; *settings is
 * NULL at the end. */
kiln_status kiln__walk_next(kiln__walk *walk, const kiln_setting **settings, kiln_error **error);

/* Draws valid configurations at random without knowing their number. Each param in order gets a random value. If a
 * constraint fails, the param gets another value. If no value is left, the sampler backtracks, and after a while it
 * restarts. Therefore not all configurations are equally likely, and one may be drawn twice. */
typedef struct kiln__sampler kiln__sampler;
kiln_status kiln__sampler_open(const kiln__space *space, kiln__sampler **sampler, kiln_error **error);
void kiln__sampler_free(kiln__sampler *sampler);                /* NULL is allowed */
typedef uint64_t (*kiln__below_fn)(void *user, uint64_t bound); /* a random number below bound >= 1 */
/* For each param the index of its value. *found false: none was found within the effort, or none exists. */
kiln_status kiln__sampler_draw(kiln__sampler *sampler, kiln__below_fn below, void *user, kiln__effort *effort,
                               uint32_t *positions, bool *found, kiln_error **error);
bool kiln__sampler_none(const kiln__sampler *sampler); /* it has searched the whole space: nothing is valid */
const kiln__tally *kiln__sampler_tally(const kiln__sampler *sampler);
/* By positions: the number of values of a param (1 if it is pinned), and whether the constraints allow a configuration.
 * A constraint that cannot be computed does not hold. */
size_t kiln__space_values(const kiln__space *space, size_t param, const kiln_value **values);
kiln_status kiln__space_holds_at(const kiln__space *space, const uint32_t *positions, bool *holds, kiln_error **error);

/* Adds to `out`, for a variant without valid configurations, how many configurations each constraint leaves, alone
 * and together with the constraints before it. The arguments are those of kiln__space_open(). */
kiln_status kiln__space_explain(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                                kiln__settings fixed, kiln__text *out, kiln_error **error);

/* Tests one complete configuration against the constraints. The message of KILN_ERROR_CONSTRAINT names the first that
 * fails, with the values of its names. */
kiln_status kiln__space_check(const kiln__space *space, const kiln_setting *settings, kiln_error **error);
/* The same without a space: `scope` knows params, sizes and device names. */
kiln_status kiln__space_check_scope(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                                    kiln_error **error);
/* Evaluates the variant's lets, in order, into lets[let_count], given a scope that knows params and sizes. */
kiln_status kiln__lets_eval(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                            kiln_setting *lets, kiln_error **error);
#endif
