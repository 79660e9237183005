/* search.h - search strategies, which choose the next point to try from the answers for earlier points. The page
 * README.md explains the algorithms. The default strategy, `surrogate`, is Bayesian optimisation: a Gaussian process
 * first, a random forest later. */
#ifndef KILN_SEARCH_H
#define KILN_SEARCH_H

#include "points.h"

/* All strategies. X has a name and a text about the strategy. The first strategy is the default. Users see the text
 * `about`. */
#define KILN__STRATEGIES(X)                                                                                            \
    X(surrogate, "a model learns from the measurements and proposes configurations (first a Gaussian process, "        \
                 "later a random forest); the default")                                                                \
    X(exhaustive, "every configuration in order")                                                                      \
    X(random, "uniformly at random, none twice")                                                                       \
    X(greedy, "go to the best of the adjacent configurations until none is better, then start again from a "           \
              "random one")                                                                                            \
    X(ils, "iterated local search: go to the first better configuration among those that differ in one "               \
           "param; if there is none, change a few params at random and go on")                                         \
    X(annealing, "simulated annealing: also go to worse configurations, but more and more rarely")                     \
    X(genetic, "genetic algorithm: cross and mutate the members of a population")                                      \
    X(evolution, "differential evolution: move each member along the difference of two others")

typedef struct kiln__strategy kiln__strategy;
/* Finds a strategy by its name. NULL or "" means the default strategy. Returns NULL if no strategy has this name. */
const kiln__strategy *kiln__strategy_find(const char *name);
/* Finds a strategy by its name. If no strategy has this name, the error names the strategy with the most similar
 * name. */
kiln_status kiln__strategy_named(const kiln_allocator *mem, const char *name, const kiln__strategy **strategy,
                                 kiln_error **error);
/* returns whether the strategy proposes all points in the order of their numbers */
bool kiln__strategy_in_order(const kiln__strategy *strategy);
/* returns whether the strategy uses answers to choose points */
bool kiln__strategy_learns(const kiln__strategy *strategy);

/* One search. Its proposals depend only on the seed and on the sequence of calls, so a run can be repeated. One thread
 * at a time uses a search. The search keeps a pointer to `points`, which must outlive the search. */
typedef struct kiln__search kiln__search;
kiln_status kiln__search_open(const kiln__points *points, const kiln__strategy *strategy, uint64_t seed,
                              kiln__search **search, kiln_error **error);
void kiln__search_free(kiln__search *search); /* NULL is fine */
/* Announces how many points the caller will ask for. 0 means unknown, which is also the default. */
void kiln__search_budget(kiln__search *search, uint64_t points);
/* Gives the search a hint, which is the expected value of a point, in any unit. The hint may be an estimate or a time
 * on another device. HUGE_VAL means that the point is expected to fail. The caller gives hints before it asks for the
 * first point, in any order. A hint for an invalid point is ignored. If a point has several hints, the first hint
 * counts. A strategy may ignore hints. A strategy that uses hints learns how far it can trust them. */
kiln_status kiln__search_hint(kiln__search *search, const uint32_t *point, double value, kiln_error **error);
/* Writes the next point to try. The point is valid and was never proposed before. *found is false if all points were
 * proposed, or if drawing finds no new point. The caller may ask before earlier points have answers. A strategy that
 * waits for an answer then gives a random point. */
kiln_status kiln__search_ask(kiln__search *search, uint32_t *point, bool *found, kiln_error **error);
/* Marks a valid point that the caller itself chose as proposed. *fresh is false if the point was proposed or answered
 * before. */
kiln_status kiln__search_claim(kiln__search *search, const uint32_t *point, bool *fresh, kiln_error **error);
/* Reports the answer for a point. A smaller value is better. HUGE_VAL means that the point failed. `cost` is the time
 * in seconds that trying the point took. 0 means that the time is unknown. If the point was never proposed, it becomes
 * known, and the search will not propose it. A second report for the same point fails with KILN_ERROR_ARGUMENT. */
kiln_status kiln__search_tell(kiln__search *search, const uint32_t *point, double value, double cost,
                              kiln_error **error);
#endif
