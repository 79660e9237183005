/* search_internal.h - declarations that the strategies and search.c share. */
#ifndef KILN_SEARCH_INTERNAL_H
#define KILN_SEARCH_INTERNAL_H

#include "forest.h"
#include "search.h"

/* This value means that there is no entry, where the number of an entry is expected. */
#define KILN__NO_ENTRY SIZE_MAX

typedef struct kiln__search_entry { /* a point that was proposed or has an answer */
    /* `value` is HUGE_VAL if the point failed or has no answer. `cost` is in seconds, and 0 if it is unknown. */
    double value, cost;
    /* a number that only the strategy that proposed the point uses; 0 means that no strategy proposed it */
    uint32_t tag;
    bool told;
} kiln__search_entry;

/* A search strategy. Its state is a block of state_size bytes for each search, and is zero at first. A
 * strategy without a state has state_size 1, because an allocator may return NULL for 0 bytes. */
struct kiln__strategy {
    const char *name;
    size_t state_size;
    /* Proposes a point in s->next. The caller checks that the point is new and valid. If it is not, the caller asks
     * again a few times. *found is false if the strategy has no proposal now. If `propose` is NULL, all points are
     * drawn, in random order or in the order of their numbers. */
    kiln_status (*propose)(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error);
    kiln_status (*told)(kiln__search *s, void *state, size_t entry,
                        kiln_error **error);   /* the caller calls `told` after each answer; it may be NULL */
    void (*end)(kiln__search *s, void *state); /* frees the memory to which the state points; may be NULL */
};

typedef struct kiln__prior kiln__prior; /* prior.c */

/* The state of one search. */
struct kiln__search {
    const kiln__points *points;
    const kiln_allocator *mem;
    const kiln__strategy *strategy;
    size_t width;
    uint64_t budget; /* the number of points that the caller will ask for; 0 means unknown */
    kiln__random random;
    kiln__shuffle shuffle;
    uint64_t drawn; /* how many numbers of points were drawn, in shuffled order or in order */
    bool in_order;
    uint32_t *coords; /* the points of the entries in the order of their proposals, `width` numbers each */
    kiln__search_entry *entries;
    size_t count, coords_capacity, entry_capacity;
    uint32_t *table; /* a hash table with the number of an entry + 1; its size is a power of two */
    size_t table_size;
    size_t told_count, best; /* best: the entry of the best point, or KILN__NO_ENTRY while no point was successful */
    uint32_t *next;          /* the point that is being proposed; `width` numbers */
    kiln__prior *prior;      /* NULL means that the caller gave no hints */
    void *state;
};

static inline const uint32_t *kiln__search_point(const kiln__search *s, size_t entry)
{
    return s->coords + entry * s->width;
}
size_t kiln__search_find(const kiln__search *s,
                         const uint32_t *point); /* returns KILN__NO_ENTRY if the point is unknown */
kiln_status kiln__search_holds(kiln__search *s, const uint32_t *point, bool *holds, kiln_error **error);
/* Draws a new valid point into s->next. The point is the next in shuffled order or in order, or is drawn at random. */
kiln_status kiln__search_draw(kiln__search *s, bool *found, kiln_error **error);
/* Changes random axes of s->next to other values, `changes` times. Leaves out the axes that have only one value. The
 * function may change the same axis more than once. */
void kiln__search_kick(kiln__search *s, unsigned changes);

/* The prior of a point is the logarithm of its expected value, relative to the best hint. It is 0 for the best hint,
 * and at most KILN__PRIOR_MOST. */
#define KILN__PRIOR_MOST 2.0
/* sorts the hints; call it after the last hint. Returns false if memory runs out */
bool kiln__prior_open(kiln__search *s);
void kiln__prior_free(const kiln__search *s, kiln__prior *prior);
double kiln__prior_of(const kiln__search *s, const uint32_t *point); /* returns 0 if there are no hints */
/* Returns kiln__prior_of() without the upper limit KILN__PRIOR_MOST for points that have a hint. */
double kiln__prior_level(const kiln__search *s, const uint32_t *point);
/* returns the hints in order, where rank 0 is the best; returns NULL after the last hint */
const uint32_t *kiln__prior_ranked(const kiln__search *s, size_t rank);
/* Returns Kendall's rank correlation of expected and measured values. It is 1 if all pairs are in the expected order,
 * and -1 if all pairs are in the opposite order. The function counts one more pair that agrees, so that the correlation
 * is 1 if there are no pairs. */
double kiln__prior_agreement(const double *priors, const double *values, size_t count);

/* ---- candidates for the next proposal: random points, and neighbours of good points ---- */
enum { KILN__TOP = 6 }; /* the number of best configurations whose neighbours are candidates */
typedef struct kiln__candidate {
    uint64_t made; /* the number of trees that had grown when `means` was computed */
    /* the axis in which a neighbour differs from the centre; UINT32_MAX means that the point is no neighbour */
    uint32_t axis;
    bool known;  /* the point has been proposed or answered since the batch was filled */
    float prior; /* the prior of the point */
    /* for the Gaussian process: the predicted mean, and a lower bound of the acquisition function */
    double worth, least;
    float means[KILN__FOREST_TREES];
} kiln__candidate;
/* A group of candidates: the random pool, hinted points, or the neighbours of one entry. */
typedef struct kiln__batch {
    bool used, random; /* used: the batch has the neighbours of `around`; random: it has only some of them */
    uint32_t around;   /* the entry of the centre, whose neighbours these are */
    size_t count, point_capacity, item_capacity;
    uint32_t *points; /* `width` numbers for the point of each candidate */
    kiln__candidate *items;
} kiln__batch;

/* Fits the Gaussian process (gaussian.c). The first call creates it. `entries` has the entries with answers, in the
 * order of the answers. Later calls may only append entries, up to KILN__GAUSSIAN_MOST. `trusted` is the weight of a
 * failure. With 1 a failure counts like any answer. With 0 failures are scattered and say nothing about nearby points.
 * *usable is false if the covariance matrix is numerically not positive definite. */
enum { KILN__GAUSSIAN_MOST = 128 };
typedef struct kiln__gaussian kiln__gaussian;
kiln_status kiln__gaussian_learn(kiln__search *s, kiln__gaussian **g, const uint32_t *entries, size_t count,
                                 double trusted, bool *usable, kiln_error **error);
/* Returns the unknown candidate with the least lower confidence bound, which is mean - boldness * standard deviation.
 * Returns NULL if every candidate is known. */
const uint32_t *kiln__gaussian_choose(const kiln__search *s, kiln__gaussian *g, kiln__batch *const *batches,
                                      size_t count, double boldness);
/* returns the fitted trust in hints: about 1 if the hints are right, 0 if they say nothing */
double kiln__gaussian_trust(const kiln__gaussian *g);
void kiln__gaussian_free(const kiln__search *s, kiln__gaussian *g);

/* The strategies in the list KILN__STRATEGIES. Each file with strategies defines its own strategies. */
#define X(name, about) extern const kiln__strategy kiln__strategy_##name;
KILN__STRATEGIES(X)
#undef X
#endif
