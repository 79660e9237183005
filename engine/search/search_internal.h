/* search_internal.h - what the strategies and search.c share. */
#ifndef KILN_SEARCH_INTERNAL_H
#define KILN_SEARCH_INTERNAL_H

#include "forest.h"
#include "search.h"

#define KILN__NO_ENTRY SIZE_MAX

typedef struct kiln__search_entry { /* a point that was proposed or answered */
    double value, cost;             /* HUGE_VAL: failed; seconds, 0: not known */
    uint32_t tag;                   /* private to the strategy, set when it proposed the point; 0: drawn at random */
    bool told;
} kiln__search_entry;

struct kiln__strategy {
    const char *name;
    size_t state_size;
    /* Proposes a point in s->next; the caller checks that it is new and valid, and retries a few times. *found false:
     * no proposal now. NULL: all points in random order. */
    kiln_status (*propose)(kiln__search *s, void *state, uint32_t *tag, bool *found, kiln_error **error);
    kiln_status (*told)(kiln__search *s, void *state, size_t entry, kiln_error **error); /* may be NULL */
    void (*end)(kiln__search *s, void *state); /* frees what the state holds; may be NULL */
};

typedef struct kiln__prior kiln__prior; /* prior.c */

struct kiln__search {
    const kiln__points *points;
    const kiln_allocator *mem;
    const kiln__strategy *strategy;
    size_t width;
    uint64_t budget; /* points; 0: not known */
    kiln__random random;
    kiln__shuffle shuffle;
    uint64_t drawn; /* numbers drawn so far, shuffled or in order */
    bool in_order;
    uint32_t *coords; /* of the entries, width each, in the order of proposals */
    kiln__search_entry *entries;
    size_t count, coords_capacity, entry_capacity;
    uint32_t *table; /* entry + 1 by hash; its size is a power of two */
    size_t table_size;
    size_t told_count, best; /* best: KILN__NO_ENTRY while all failed */
    uint32_t *next;          /* width: what is being proposed */
    kiln__prior *prior;      /* NULL: no hints */
    void *state;
};

static inline const uint32_t *kiln__search_point(const kiln__search *s, size_t entry)
{
    return s->coords + entry * s->width;
}
size_t kiln__search_find(const kiln__search *s, const uint32_t *point); /* KILN__NO_ENTRY: not known */
kiln_status kiln__search_holds(kiln__search *s, const uint32_t *point, bool *holds, kiln_error **error);
/* Draws a random valid point that is new into s->next. */
kiln_status kiln__search_draw(kiln__search *s, bool *found, kiln_error **error);
/* Changes `changes` axes of s->next that have more than one value to other values. */
void kiln__search_kick(kiln__search *s, unsigned changes);

/* What is expected of points: logarithms, from 0 for the best to KILN__PRIOR_MOST. */
#define KILN__PRIOR_MOST 2.0
bool kiln__prior_open(kiln__search *s); /* after the hints; false: no memory */
void kiln__prior_free(const kiln__search *s, kiln__prior *prior);
double kiln__prior_of(const kiln__search *s, const uint32_t *point); /* 0: there are no hints */
/* The same without that limit, of points with a hint. */
double kiln__prior_level(const kiln__search *s, const uint32_t *point);
const uint32_t *kiln__prior_ranked(const kiln__search *s, size_t rank); /* the best first; NULL: no more */
/* How far answers are in the order that was expected of them: 1 if all pairs of them are, or if there are none, -1 if none
 * is (Kendall's rank correlation, with one more pair that agrees). */
double kiln__prior_agreement(const double *priors, const double *values, size_t count);

/* Candidates of the next proposal: random points, or the neighbours of a good one. */
enum { KILN__TOP = 6 }; /* configurations whose neighbours are tried */
typedef struct kiln__candidate {
    uint64_t made;       /* trees that had grown when `means` were made */
    uint32_t axis;       /* in which a neighbour differs; UINT32_MAX: not one */
    bool known;          /* it was proposed or answered meanwhile */
    float prior;         /* what is expected of it */
    double worth, least; /* by the Gaussian process: expected, and not less than */
    float means[KILN__FOREST_TREES];
} kiln__candidate;
typedef struct kiln__batch {
    bool used, random; /* random: the neighbours are not all */
    uint32_t around;   /* the entry whose neighbours these are */
    size_t count, point_capacity, item_capacity;
    uint32_t *points; /* width each */
    kiln__candidate *items;
} kiln__batch;

/* A Gaussian process (gaussian.c), made at the first call. `entries`: those with answers, in the order of answers; they
 * only become more, at most KILN__GAUSSIAN_MOST. `trusted`: how much a failure tells of the points near it, from 0
 * (nothing: failures are scattered) to 1 (as much as any answer). *usable false: it cannot be computed. */
enum { KILN__GAUSSIAN_MOST = 128 };
typedef struct kiln__gaussian kiln__gaussian;
kiln_status kiln__gaussian_learn(kiln__search *s, kiln__gaussian **g, const uint32_t *entries, size_t count,
                                 double trusted, bool *usable, kiln_error **error);
/* The most promising that is not known; NULL: there are none. */
const uint32_t *kiln__gaussian_choose(const kiln__search *s, kiln__gaussian *g, kiln__batch *const *batches,
                                      size_t count, double boldness);
double
kiln__gaussian_trust(const kiln__gaussian *g); /* in hints: about 1 where they are right, 0 where they tell nothing */
void kiln__gaussian_free(const kiln__search *s, kiln__gaussian *g);

extern const kiln__strategy kiln__strategy_surrogate, kiln__strategy_exhaustive, kiln__strategy_random,
    kiln__strategy_greedy, kiln__strategy_ils, kiln__strategy_annealing, kiln__strategy_genetic,
    kiln__strategy_evolution;
#endif
