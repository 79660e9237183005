/* best.h - declarations that the files of best/ share: collected knowledge, and the candidates for one problem. */
#ifndef KILN_BEST_H
#define KILN_BEST_H

#include "known.h"
#include "plan.h"
#include "shipped.h"
#include "store.h"

/* Knowledge about many problems, from a store or a file. */
struct kiln_knowledge {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL means malloc */
    kiln__known_list list;     /* one entry for each configuration at a problem */
};

/* Adds the samples of a store that match the filter. The caller must deduplicate the list afterwards. */
kiln_status kiln__known_collect(kiln_store *store, const kiln_store_filter *filter, kiln__known_list *list,
                                kiln_error **error);

/* A candidate for one problem. Candidates are sorted, the best first. Each candidate is validated only when all better
 * candidates were refused. */
typedef struct kiln__candidate {
    const kiln__known *known;
    kiln_best_from from;
    size_t variant; /* number of its variant in the spec */
    uint64_t place; /* number of its configuration in the space of the variant; UINT64_MAX if the number is too large or
                     * unknown */
    int device_distance; /* 0 means the same compute capability */
    double distance;     /* distance of the sizes; if `inputs` is not 0, distance of the features */
    size_t inputs;       /* number of known inputs from which its slowdown was computed; 0 if features were not used */
    double slowdown;     /* mean slowdown at these inputs: the candidate's time divided by the best time */
    /* the key by which candidates are sorted: the slowdown; for the default configuration a smaller number, see DOUBT
     * in similar.c */
    double rank;
} kiln__candidate;

/* The search for one problem. Its candidates are sorted; items[at] is the next candidate to validate. */
typedef struct kiln__best_search {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_choice *choice;
    kiln__config *asked;     /* a configuration with the requested sizes */
    kiln__arena arena;       /* memory of the features */
    kiln__settings features; /* features of the requested input; empty if they are unknown or not needed */
    kiln__known_list list;   /* samples of the spec from the store and the caller */
    kiln__candidate *items;
    size_t count, at;
    bool compares;   /* kiln__best_next() compares the present code with the code of the sample */
    bool ended;      /* the defaults were returned already */
    kiln_error *cut; /* the error if no valid configuration was found within the limits */
} kiln__best_search;
/* Copies the options that the caller gave to the public function `function`, and checks the copy. */
kiln_status kiln__best_take(const kiln_engine *engine, const char *function, const kiln_best_options *given,
                            kiln_best_options *options, kiln_error **error);
kiln_status kiln__best_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                            const kiln_best_options *options, kiln__best_search *search, kiln_error **error);
void kiln__best_close(kiln__best_search *search);
/* Gives the next valid candidate, and at last the defaults. Later calls set *best to NULL and return KILN_OK. The
 * caller frees *best. */
kiln_status kiln__best_next(kiln__best_search *search, kiln_best **best, kiln_error **error);
/* Makes an answer of the kind KILN_BEST_TUNED from a sample of this device at the requested sizes. *best stays as it is
 * if the configuration is not valid. The caller frees *best. */
kiln_status kiln__best_of_sample(kiln__best_search *search, const kiln_sample *sample, kiln_best **best,
                                 kiln_error **error);

/* Computes how well the configurations of the known inputs that are nearest to `features` would do. These candidates
 * get the kind KILN_BEST_SIMILAR, unless they belong to another device. The candidates must be in the order of the
 * list. Returns false if there is no memory. */
bool kiln__best_similar(kiln__best_search *search);
/* Computes the distance of two inputs: Euclidean, over the logarithms of their features. Returns false if the features
 * have other names. */
bool kiln__feature_distance(kiln__settings a, kiln__settings b, double *distance);

#endif
