/* best.h - best-known configurations between the files of best/: what was collected, and the order for a problem. */
#ifndef KILN_BEST_H
#define KILN_BEST_H

#include "known.h"
#include "plan.h"
#include "store.h"

struct kiln_knowledge {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL: malloc */
    kiln__known_list list;     /* settled */
};

/* Adds what a store has of the filter. The list has to be settled then. */
kiln_status kiln__known_collect(kiln_store *store, const kiln_store_filter *filter, kiln__known_list *list,
                                kiln_error **error);

/* What may answer for one problem, the best first, each checked when its turn comes. */
typedef struct kiln__candidate {
    const kiln__known *known;
    kiln_best_from from;
    int device_distance; /* 0: of the same compute capability */
    double distance;
} kiln__candidate;
typedef struct kiln__best_search {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_choice *choice;
    kiln__config *asked;   /* has the sizes */
    kiln__known_list list; /* of the spec: from the store and from what the caller knows */
    kiln__candidate *items;
    size_t count, at;
    bool ended;      /* the defaults were given too */
    kiln_error *cut; /* no valid configuration was found in the time there is to look for one; NULL: it was
                        not so */
} kiln__best_search;
/* The options of a public function, `function`, taken and looked through. */
kiln_status kiln__best_take(const kiln_engine *engine, const char *function, const kiln_best_options *given,
                            kiln_best_options *options, kiln_error **error);
kiln_status kiln__best_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                            const kiln_best_options *options, kiln__best_search *search, kiln_error **error);
void kiln__best_close(kiln__best_search *search);
/* The next valid one; the defaults are the last. *best is NULL behind them. */
kiln_status kiln__best_next(kiln__best_search *search, kiln_best **best, kiln_error **error);
/* A copy of a sample as an answer. */
kiln_status kiln__best_of_sample(kiln__best_search *search, const kiln_sample *sample, kiln_best **best,
                                 kiln_error **error);

/* How far sizes are from each other: Euclidean, over the binary logarithms. False: they have not the same names. */
bool kiln__size_distance(const kiln_setting *a, size_t a_count, const kiln_setting *b, size_t b_count, double *distance,
                         bool *same);

#endif
