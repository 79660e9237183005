/* space.h - the configurations of one variant. The enumeration tests each constraint as soon as its names have
 * values. This code knows nothing about compiling. */
#ifndef KILN_SPACE_H
#define KILN_SPACE_H

#include "spec.h"

/* A limit on the work of a walk. A walk checks it at every step, but reads the clock and calls the caller's `stop`
 * only every 65,536 units. NULL means no limit. */
typedef struct kiln__effort {
    uint64_t deadline; /* a time on the clock of kiln__now_ns(); 0 means no deadline */
    /* Limit in units of work; 0 means no limit. A walk needs the same number of units on every machine. A unit takes
     * some nanoseconds. */
    uint64_t most;
    bool (*stop)(void *user); /* returns true to end the walk now; may be NULL */
    void *user;
    uint64_t done, asked; /* units so far; units at the last check of the clock */
    bool over, stopped;   /* the limit is reached; the caller ended the walk */
} kiln__effort;
bool kiln__effort_ask(kiln__effort *effort); /* checks everything now, and returns false if the walk must stop */
/* Counts a step of `units`. Returns false if the walk must stop; all later calls then return false too. */
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

/* Opens a space. `fixed` gives params fixed values, which may be outside of the params' lists. The function copies
 * `fixed`, and ignores unknown names in it. `outer` has the sizes and the device names. `variant` and `outer` must
 * outlive the space. */
kiln_status kiln__space_open(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                             kiln__settings fixed, kiln__space **space, kiln_error **error);
void kiln__space_free(kiln__space *space);

uint64_t kiln__space_raw(const kiln__space *space); /* product of the numbers of values; saturates */
/* Counts the valid configurations; UINT64_MAX stands for UINT64_MAX or more. If an expression cannot be evaluated, the
 * function fails with its place. */
kiln_status kiln__space_count(const kiln__space *space, uint64_t *valid, kiln_error **error);
/* Counts with limited effort. *counted is false if the effort ended first, or if there are 2^64 - 1 configurations or
 * more; *valid is then a lower bound. */
kiln_status kiln__space_count_within(const kiln__space *space, kiln__effort *effort, bool *counted, uint64_t *valid,
                                     kiln_error **error);

/* A walk through the valid configurations in lexicographic order of the params. Only one thread may use it. */
typedef struct kiln__walk kiln__walk;
kiln_status kiln__walk_open(const kiln__space *space, kiln__walk **walk, kiln_error **error);
void kiln__walk_free(kiln__walk *walk);
/* Limits the walk from now on. `effort` is referenced. When the effort ends, kiln__walk_next() returns no settings;
 * with a new effort the walk continues from there. */
void kiln__walk_limit(kiln__walk *walk, kiln__effort *effort);
/* The number of tried values, and how many of them each constraint rejected. */
typedef struct kiln__tally {
    uint64_t tried;     /* values that were given to a param */
    uint64_t *rejected; /* number of rejections by each constraint */
} kiln__tally;
const kiln__tally *kiln__walk_tally(const kiln__walk *walk);
/* Returns KILN_ERROR_CONSTRAINT because no configuration was found. The message has the number of tried values, and
 * the constraint that rejected most of them. */
kiln_status kiln__space_none_found(const kiln__space *space, const kiln__tally *tally, double seconds,
                                   kiln_error **error);
/* Gives the next valid configuration: param_count settings in the variant's order, valid until the next call. *settings
 * is NULL at the end. */
kiln_status kiln__walk_next(kiln__walk *walk, const kiln_setting **settings, kiln_error **error);

/* Draws valid configurations at random without knowing their number. Each param in order gets a random value. If a
 * constraint fails, the param gets another value. If no value is left, the sampler backtracks, and after a while it
 * restarts. Therefore not all configurations are equally likely, and one may be drawn twice. */
typedef struct kiln__sampler kiln__sampler;
kiln_status kiln__sampler_open(const kiln__space *space, kiln__sampler **sampler, kiln_error **error);
void kiln__sampler_free(kiln__sampler *sampler);                /* NULL is allowed */
typedef uint64_t (*kiln__below_fn)(void *user, uint64_t bound); /* a random number below bound >= 1 */
/* Draws the index of a value for each param. *found is false if no configuration was found within the effort, or if
 * none exists. */
kiln_status kiln__sampler_draw(kiln__sampler *sampler, kiln__below_fn below, void *user, kiln__effort *effort,
                               uint32_t *positions, bool *found, kiln_error **error);
/* true if the whole space was searched and nothing is valid */
bool kiln__sampler_none(const kiln__sampler *sampler);
const kiln__tally *kiln__sampler_tally(const kiln__sampler *sampler);
/* These two functions describe a configuration by positions, as an index does. kiln__space_values() returns the number
 * of values of a param, which is 1 if the param is pinned. *holds tells whether the constraints allow the
 * configuration. A constraint that cannot be computed does not hold. */
size_t kiln__space_values(const kiln__space *space, size_t param, const kiln_value **values);
kiln_status kiln__space_holds_at(const kiln__space *space, const uint32_t *positions, bool *holds, kiln_error **error);

/* Adds to `out`, for a variant without valid configurations, how many configurations each constraint leaves, alone and
 * together with the constraints before it. The function has the same arguments as kiln__space_open(). */
kiln_status kiln__space_explain(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                                kiln__settings fixed, kiln__text *out, kiln_error **error);

/* Tests a complete configuration against the constraints. The message of KILN_ERROR_CONSTRAINT shows the first
 * constraint that fails, with the values of its names. */
kiln_status kiln__space_check(const kiln__space *space, const kiln_setting *settings, kiln_error **error);
/* Tests a configuration without a space: `scope` has the params, sizes and device names. */
kiln_status kiln__space_check_scope(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                                    kiln_error **error);
/* Evaluates the variant's lets, in order, into lets[let_count], given a scope that knows params and sizes. */
kiln_status kiln__lets_eval(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                            kiln_setting *lets, kiln_error **error);
#endif
