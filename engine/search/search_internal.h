/* search_internal.h - declarations that the strategies and search.c share. */
#ifndef KILN_SEARCH_INTERNAL_H
#define KILN_SEARCH_INTERNAL_H

#include "forest.h"
#include "search.h"

/* Used instead of the number of an entry if there is no entry. */
#define KILN__NO_ENTRY SIZE_MAX

typedef struct kiln__search_entry { /* a point that was proposed or answered */
    double value, cost;             /* value: HUGE_VAL if it failed or has no answer. cost: seconds, 0 if unknown */
    uint32_t tag;                   /* private to the strategy that proposed the point; 0 means that no strategy did */
    bool told;
} kiln__search_entry;

/* A strategy. Its state is a zeroed block of state_size bytes for each search. A strategy without a state has the size
 * 1, because an allocator may return NULL for 0 bytes. */
struct kiln__strategy {
    const char *name;
    size_t state_size;
    /* Proposes a point in s->next. The caller checks that it is new and valid, and asks again a few times otherwise.
     * *found is false if the strategy has no proposal now. A NULL pointer means that all points are drawn, in random
     * order or in the order of their numbers. */
    kiln_status (*propose)(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error);
    kiln_status (*told)(kiln__search *s, void *state, size_t entry,
                        kiln_error **error);   /* called after each answer; may be NULL */
    void (*end)(kiln__search *s, void *state); /* frees what the state holds; may be NULL */
};

typedef struct kiln__prior kiln__prior; /* prior.c */

/* The state of one search. */
struct kiln__search {
    const kiln__points *points;
    const kiln_allocator *mem;
    const kiln__strategy *strategy;
    size_t width;
    uint64_t budget; /* points that the caller will ask for; 0 means unknown */
    kiln__random random;
    kiln__shuffle shuffle;
    uint64_t drawn; /* count of numbers that were drawn, in shuffled order or in order */
    bool in_order;
    uint32_t *coords; /* points of the entries, `width` numbers each, in the order of proposals */
    kiln__search_entry *entries;
    size_t count, coords_capacity, entry_capacity;
    uint32_t *table; /* hash table: entry + 1; its size is a power of two */
    size_t table_size;
    size_t told_count, best; /* best: an entry, or KILN__NO_ENTRY while none has succeeded */
    uint32_t *next;          /* `width` numbers: the point that is being proposed */
    kiln__prior *prior;      /* NULL means that there are no hints */
    void *state;
};

static inline const uint32_t *kiln__search_point(const kiln__search *s, size_t entry)
{
    return s->coords + entry * s->width;
}
size_t kiln__search_find(const kiln__search *s,
                         const uint32_t *point); /* returns KILN__NO_ENTRY if the point is unknown */
kiln_status kiln__search_holds(kiln__search *s, const uint32_t *point, bool *holds, kiln_error **error);
/* Draws a valid point that is new into s->next: the next number, shuffled or in order, or a random draw. */
kiln_status kiln__search_draw(kiln__search *s, bool *found, kiln_error **error);
/* Changes random axes of s->next to other values, `changes` times. Axes with one value are left out. One axis may be
 * drawn more than once. */
void kiln__search_kick(kiln__search *s, unsigned changes);

/* The prior: the logarithm of the expected value of a point, relative to the best hint. It goes from 0 for the best to
 * KILN__PRIOR_MOST. */
#define KILN__PRIOR_MOST 2.0
bool kiln__prior_open(kiln__search *s); /* call it after the last hint. Returns false if there is no memory */
void kiln__prior_free(const kiln__search *s, kiln__prior *prior);
double kiln__prior_of(const kiln__search *s, const uint32_t *point); /* 0 if there are no hints */
/* Returns kiln__prior_of() without the upper limit KILN__PRIOR_MOST for points that have a hint. */
double kiln__prior_level(const kiln__search *s, const uint32_t *point);
const uint32_t *kiln__prior_ranked(const kiln__search *s,
                                   size_t rank); /* hints in order, rank 0 is the best; NULL past the last */
/* Kendall's rank correlation of expected and measured values, from 1 (all pairs are in the expected order) to -1 (all
 * pairs are in the opposite order). One more pair that agrees is counted, so that the correlation is 1 without any
 * pair. */
double kiln__prior_agreement(const double *priors, const double *values, size_t count);

/* ---- candidates of the next proposal: random points, and neighbours of good points ---- */
enum { KILN__TOP = 6 }; /* the number of best configurations whose neighbours are candidates */
typedef struct kiln__candidate {
    uint64_t made;       /* number of grown trees when `means` was computed */
    uint32_t axis;       /* the axis in which a neighbour differs from the centre; UINT32_MAX: it is no neighbour */
    bool known;          /* the point was proposed or answered since */
    float prior;         /* the prior of the point */
    double worth, least; /* for the Gaussian process: predicted mean, and a lower bound of the acquisition function */
    float means[KILN__FOREST_TREES];
} kiln__candidate;
/* A group of candidates: the random pool, hinted points, or the neighbours of one entry. */
typedef struct kiln__batch {
    bool used, random; /* used: it holds the neighbours of `around`. random: it holds only some of them */
    uint32_t around;   /* the entry that is the centre */
    size_t count, point_capacity, item_capacity;
    uint32_t *points; /* `width` numbers for each candidate */
    kiln__candidate *items;
} kiln__batch;

/* Fits the Gaussian process (gaussian.c), which the first call creates. `entries` are those with answers, in the order
 * of answers. Later calls may only append to them, up to KILN__GAUSSIAN_MOST. `trusted` is the weight of a failure: 1
 * counts it like any answer, 0 means that failures are scattered and say nothing about nearby points. *usable is false
 * if the covariance matrix is numerically not positive definite. */
enum { KILN__GAUSSIAN_MOST = 128 };
typedef struct kiln__gaussian kiln__gaussian;
kiln_status kiln__gaussian_learn(kiln__search *s, kiln__gaussian **g, const uint32_t *entries, size_t count,
                                 double trusted, bool *usable, kiln_error **error);
/* Returns the unknown candidate with the least lower confidence bound: mean - boldness * standard deviation. NULL if
 * every candidate is known. */
const uint32_t *kiln__gaussian_choose(const kiln__search *s, kiln__gaussian *g, kiln__batch *const *batches,
                                      size_t count, double boldness);
double kiln__gaussian_trust(
    const kiln__gaussian *g); /* the fitted trust in hints: about 1 if they are right, 0 if they say nothing */
void kiln__gaussian_free(const kiln__search *s, kiln__gaussian *g);

/* The strategies that KILN__STRATEGIES lists. Each file of strategies defines its own. */
#define X(name, about) extern const kiln__strategy kiln__strategy_##name;
KILN__STRATEGIES(X)
#undef X
#endif
