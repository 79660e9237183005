/* best.h - best-known configurations, shared by the files of best/: what was collected, and the order for a problem. */
#ifndef KILN_BEST_H
#define KILN_BEST_H

#include "known.h"
#include "plan.h"
#include "shipped.h"
#include "store.h"

struct kiln_knowledge {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL: malloc */
    kiln__known_list list;     /* deduplicated */
};

/* Adds the samples of a store that match the filter. The list must be deduplicated afterwards. */
kiln_status kiln__known_collect(kiln_store *store, const kiln_store_filter *filter, kiln__known_list *list,
                                kiln_error **error);

/* The candidates for one problem, the best first; each is checked when it is reached. */
typedef struct kiln__candidate {
    const kiln__known *known;
    kiln_best_from from;
    int device_distance; /* 0: of the same compute capability */
    double distance;     /* of the sizes; where `inputs` is not 0, of the features */
    size_t inputs;       /* how many known inputs it was judged by; 0: not by features */
    double slowdown;     /* the mean there: its time over the best one's */
    double rank;         /* the same, but the default configuration gets the benefit of the doubt */
} kiln__candidate;
typedef struct kiln__best_search {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_choice *choice;
    kiln__config *asked;     /* the requested sizes */
    kiln__arena arena;       /* of the features */
    kiln__settings features; /* of the requested input; none: not needed, or not known */
    kiln__known_list list;   /* samples of the spec, from the store and from the caller */
    kiln__candidate *items;
    size_t count, at;
    bool ended;      /* the defaults were returned too */
    kiln_error *cut; /* set if no valid configuration was found within the limits */
} kiln__best_search;
/* Copies and checks the options of the public function `function`. */
kiln_status kiln__best_take(const kiln_engine *engine, const char *function, const kiln_best_options *given,
                            kiln_best_options *options, kiln_error **error);
kiln_status kiln__best_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                            const kiln_best_options *options, kiln__best_search *search, kiln_error **error);
void kiln__best_close(kiln__best_search *search);
/* The next valid one; the defaults come last. After these *best is NULL. */
kiln_status kiln__best_next(kiln__best_search *search, kiln_best **best, kiln_error **error);
/* A copy of a sample as an answer. */
kiln_status kiln__best_of_sample(kiln__best_search *search, const kiln_sample *sample, kiln_best **best,
                                 kiln_error **error);

/* Judges the configurations of the known inputs that are the nearest to `features`: those candidates become
 * KILN_BEST_SIMILAR, or of another device. They must be in the order of the list. False: no memory. */
bool kiln__best_similar(kiln__best_search *search);
/* The distance of two inputs: Euclidean, over the logarithms of their features. False: these have other names. */
bool kiln__feature_distance(kiln__settings a, kiln__settings b, double *distance);

#endif
