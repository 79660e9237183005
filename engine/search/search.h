/* search.h - strategies: which point to try next, given what is known of those tried. README.md describes them. */
#ifndef KILN_SEARCH_H
#define KILN_SEARCH_H

#include "points.h"

/* The first one is the default. X(name, about) */
#define KILN__STRATEGIES(X)                                                                                            \
    X(surrogate, "a Gaussian process, then a random forest, learns from the measurements and proposes; the default")   \
    X(exhaustive, "every configuration in order")                                                                      \
    X(random, "uniformly at random, none twice")                                                                       \
    X(greedy, "to the best of the adjacent configurations until none is better, then again from a random one")         \
    X(ils, "iterated local search: to the first better one of those that differ in one param, then with a few params " \
           "changed at random")                                                                                        \
    X(annealing, "simulated annealing: worse steps are taken too, more and more rarely")                               \
    X(genetic, "a population whose members are crossed and mutated")                                                   \
    X(evolution, "differential evolution: members move along differences of others")

typedef struct kiln__strategy kiln__strategy;
const kiln__strategy *kiln__strategy_find(const char *name); /* NULL or "": the default. Returns NULL: unknown */
/* The same, with an error that names the nearest. */
kiln_status kiln__strategy_named(const kiln_allocator *mem, const char *name, const kiln__strategy **strategy,
                                 kiln_error **error);
bool kiln__strategy_in_order(const kiln__strategy *strategy); /* it proposes everything in the order of numbers */
bool kiln__strategy_learns(const kiln__strategy *strategy);   /* it uses the answers */

/* One search. Results depend only on the seed and on the answers, in their order. One thread at a time. */
typedef struct kiln__search kiln__search;
kiln_status kiln__search_open(const kiln__points *points, const kiln__strategy *strategy, uint64_t seed,
                              kiln__search **search, kiln_error **error);
void kiln__search_free(kiln__search *search); /* NULL is fine */
/* So many points will be asked for; 0, and until it is called: not known. */
void kiln__search_budget(kiln__search *search, uint64_t points);
/* What a point is expected to take, in any unit: an estimate, or what it took elsewhere; HUGE_VAL: it should fail.
 * Before the first point; of any number of points, in any order; one that is not valid is left out, the first of
 * several counts. Strategies may do without it, and learn how far it can be trusted. */
kiln_status kiln__search_hint(kiln__search *search, const uint32_t *point, double value, kiln_error **error);
/* The next point to try: valid, and none twice; *found is false when all were proposed. It may be called before earlier
 * points were answered: a strategy that needs an answer then returns a random point. */
kiln_status kiln__search_ask(kiln__search *search, uint32_t *point, bool *found, kiln_error **error);
/* Takes a valid point as proposed, which the caller chose; *fresh is false if it was proposed or answered before. */
kiln_status kiln__search_claim(kiln__search *search, const uint32_t *point, bool *fresh, kiln_error **error);
/* The answer for a point: less is better, HUGE_VAL: it failed; cost: the seconds that trying it took, 0: not known. Once
 * per point. A point that was never proposed counts as known, and will not be proposed. */
kiln_status kiln__search_tell(kiln__search *search, const uint32_t *point, double value, double cost,
                              kiln_error **error);
#endif
