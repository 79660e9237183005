/* space.h - enumerates the configurations of one variant. The walk tests each constraint as soon as all names in it
 * have values. The functions of this header know nothing about compiling. */
#ifndef KILN_SPACE_H
#define KILN_SPACE_H

#include "spec.h"

/* A limit on the work of a walk. A walk checks its limit at every step, but it reads the clock and calls the caller's
 * `stop` only every 65,536 units. If a pointer to this struct is NULL, there is no limit. */
typedef struct kiln__effort {
    uint64_t deadline; /* a time on the clock of kiln__now_ns(); 0 means no deadline */
    /* The limit in units of work. 0 means no limit. A walk needs the same number of units on every machine. A unit
     * takes some nanoseconds. */
    uint64_t most;
    bool (*stop)(void *user); /* returns true to end the walk at once; may be NULL */
    void *user;
    uint64_t done, asked; /* the units of work so far, and the units at the last look at the clock */
    bool over, stopped;   /* `over`: a limit was reached; `stopped`: the caller has ended the walk */
} kiln__effort;
/* Checks the limit with the clock and the caller's `stop`. Returns false if the walk must stop. */
bool kiln__effort_ask(kiln__effort *effort);
/* Counts a step that takes `units` units of work. Returns false if the walk must stop. Then all later calls also return
 * false. */
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

/* Opens a space. `fixed` gives some tuning parameters fixed values, which may be outside of their lists. The function
 * copies `fixed`, and ignores names in it that are not tuning parameters. `outer` has the sizes and the device names.
 * `variant` and `outer` must outlive the space. */
kiln_status kiln__space_open(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                             kiln__settings fixed, kiln__space **space, kiln_error **error);
void kiln__space_free(kiln__space *space);

/* Returns the product of the numbers of values of all tuning parameters. The product saturates at UINT64_MAX. */
uint64_t kiln__space_raw(const kiln__space *space);
/* Counts the valid configurations. *valid is UINT64_MAX if there are 2^64 - 1 or more. If an expression cannot be
 * evaluated, the function fails with the place of the expression. */
kiln_status kiln__space_count(const kiln__space *space, uint64_t *valid, kiln_error **error);
/* Counts the valid configurations with limited work. *counted is false if the limit was reached, or if there are 2^64 -
 * 1 configurations or more. Then *valid is a lower bound. */
kiln_status kiln__space_count_within(const kiln__space *space, kiln__effort *effort, bool *counted, uint64_t *valid,
                                     kiln_error **error);

/* A walk through the valid configurations in lexicographic order of the tuning parameters. Only one thread at a time
 * may use a walk. */
typedef struct kiln__walk kiln__walk;
kiln_status kiln__walk_open(const kiln__space *space, kiln__walk **walk, kiln_error **error);
void kiln__walk_free(kiln__walk *walk);
/* Limits the work of the walk from now on. The walk keeps the pointer `effort`. When the limit is reached,
 * kiln__walk_next() returns no settings. With a new limit the walk continues from there. */
void kiln__walk_limit(kiln__walk *walk, kiln__effort *effort);
/* How many values were tried, and how many of them each constraint rejected. */
typedef struct kiln__tally {
    uint64_t tried;     /* how often a tuning parameter was given a value */
    uint64_t *rejected; /* for each constraint, the number of values that it rejected */
} kiln__tally;
const kiln__tally *kiln__walk_tally(const kiln__walk *walk);
/* Returns KILN_ERROR_CONSTRAINT because no valid configuration was found. The message has the number of values that
 * were tried, and the constraint that rejected most of them. */
kiln_status kiln__space_none_found(const kiln__space *space, const kiln__tally *tally, double seconds,
                                   kiln_error **error);
/* Gives the next valid configuration, one setting per tuning parameter in the variant's order. The settings are valid
 * until the next call. After the last configuration, *settings is NULL. */
kiln_status kiln__walk_next(kiln__walk *walk, const kiln_setting **settings, kiln_error **error);

/* Draws valid configurations at random, without knowing how many there are. Each tuning parameter in order gets a
 * random value. If a constraint fails, the tuning parameter gets another value. If no value is left, the sampler goes
 * back to the previous tuning parameter, and after a while it restarts. Therefore not all configurations are equally
 * likely, and a configuration may be drawn twice. */
typedef struct kiln__sampler kiln__sampler;
kiln_status kiln__sampler_open(const kiln__space *space, kiln__sampler **sampler, kiln_error **error);
void kiln__sampler_free(kiln__sampler *sampler); /* `sampler` may be NULL */
/* Returns a random number that is less than `bound`. `bound` is at least 1. */
typedef uint64_t (*kiln__below_fn)(void *user, uint64_t bound);
/* Draws the index of a value for each tuning parameter. *found is false if the work reached its limit first, or if no
 * configuration is valid. */
kiln_status kiln__sampler_draw(kiln__sampler *sampler, kiln__below_fn below, void *user, kiln__effort *effort,
                               uint32_t *positions, bool *found, kiln_error **error);
/* returns true if the whole space was searched and no configuration is valid */
bool kiln__sampler_none(const kiln__sampler *sampler);
const kiln__tally *kiln__sampler_tally(const kiln__sampler *sampler);
/* The next two functions describe a configuration by positions, like an index. The position of a tuning parameter is
 * the index of its value. The function kiln__space_values() returns the number of values of a tuning parameter, which
 * is 1 if the caller fixed it. *holds tells whether the constraints allow the configuration. If a constraint cannot be
 * computed, *holds is false. */
size_t kiln__space_values(const kiln__space *space, size_t param, const kiln_value **values);
kiln_status kiln__space_holds_at(const kiln__space *space, const uint32_t *positions, bool *holds, kiln_error **error);

/* Explains why a variant has no valid configurations. Adds to `out` how many configurations each constraint leaves,
 * alone and together with the constraints before it. The function has the same arguments as kiln__space_open(). */
kiln_status kiln__space_explain(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *outer,
                                kiln__settings fixed, kiln__text *out, kiln_error **error);

/* Tests a complete configuration against the constraints. The message of KILN_ERROR_CONSTRAINT has the first constraint
 * that fails, with the values of its names. */
kiln_status kiln__space_check(const kiln__space *space, const kiln_setting *settings, kiln_error **error);
/* Tests a configuration without a space. `scope` has the tuning parameters, the sizes and the device names. */
kiln_status kiln__space_check_scope(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                                    kiln_error **error);
/* Evaluates the named expressions (key `let` of the spec) of a variant in order, and writes their values to `lets`.
 * `scope` must have the tuning parameters and the sizes. */
kiln_status kiln__lets_eval(const kiln_allocator *mem, const kiln__variant *variant, const kiln__scope *scope,
                            kiln_setting *lets, kiln_error **error);
#endif
