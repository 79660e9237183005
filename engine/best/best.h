/* best.h - declarations that the files of best/ share: the collected knowledge, and the candidates for one problem. */
#ifndef KILN_BEST_H
#define KILN_BEST_H

#include "known.h"
#include "plan.h"
#include "shipped.h"
#include "store.h"

/* Known configurations for many problems, from a store or from a file. */
struct kiln_knowledge {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL means malloc */
    kiln__known_list list;     /* one entry for each configuration of each problem */
};

/* Adds those samples of a store to the list that match the filter. Afterwards the caller must remove the duplicates
 * from the list. */
kiln_status kiln__known_collect(kiln_store *store, const kiln_store_filter *filter, kiln__known_list *list,
                                kiln_error **error);

/* A configuration that may be the answer for one problem. The candidates are sorted, and the best comes first. A
 * candidate is validated only if all better candidates were refused. */
typedef struct kiln__candidate {
    const kiln__known *known;
    kiln_best_from from;
    size_t variant; /* the number of its variant in the spec */
    /* the number of its configuration in the space of the variant; UINT64_MAX if the number is too large or unknown */
    uint64_t place;
    int device_distance; /* 0 means that both devices have the same compute capability */
    double distance;     /* the distance of the sizes; if `inputs` is not 0, the distance of the features */
    /* the number of known inputs from which its slowdown was computed; 0 if features were not used */
    size_t inputs;
    double slowdown; /* the mean slowdown at these inputs, which is the candidate's time divided by the best time */
    /* the key by which candidates are sorted. This is the slowdown, and a smaller number for the default configuration
     * (see DOUBT in similar.c) */
    double rank;
} kiln__candidate;

/* The search for one problem. The candidates are sorted, and items[at] is the next candidate to validate. */
typedef struct kiln__best_search {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_choice *choice;
    kiln__config *asked;     /* a configuration that has the requested sizes */
    kiln__arena arena;       /* the memory of the features */
    kiln__settings features; /* the features of the requested input; empty if they are unknown or not needed */
    kiln__known_list list;   /* the samples of the spec, from the store and from the caller */
    kiln__candidate *items;
    size_t count, at;
    bool compares;   /* kiln__best_next() compares the present code with the code of the sample */
    bool ended;      /* the search has already returned the defaults */
    kiln_error *cut; /* the error if the search found no valid configuration within the limits */
} kiln__best_search;
/* Copies the options that the caller gave to the public function `function`, and checks the copy. */
kiln_status kiln__best_take(const kiln_engine *engine, const char *function, const kiln_best_options *given,
                            kiln_best_options *options, kiln_error **error);
kiln_status kiln__best_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                            const kiln_best_options *options, kiln__best_search *search, kiln_error **error);
void kiln__best_close(kiln__best_search *search);
/* Returns the next valid candidate as an answer, and after the last candidate the defaults. After the defaults, each
 * call sets *best to NULL and returns KILN_OK. The caller frees *best. */
kiln_status kiln__best_next(kiln__best_search *search, kiln_best **best, kiln_error **error);
/* Makes an answer of the kind KILN_BEST_TUNED from a sample that was made on this device at the requested sizes. If the
 * configuration of the sample is not valid, *best stays unchanged. The caller frees *best. */
kiln_status kiln__best_of_sample(kiln__best_search *search, const kiln_sample *sample, kiln_best **best,
                                 kiln_error **error);

/* Computes how fast the configurations of the nearest known inputs would be for the requested input. These candidates
 * get the kind KILN_BEST_SIMILAR, unless they belong to another device. The candidates must be in the order of `list`.
 * Returns false if memory runs out. */
bool kiln__best_similar(kiln__best_search *search);
/* Computes the Euclidean distance of two inputs over the logarithms of their features. Returns false if the features of
 * the inputs have different names. */
bool kiln__feature_distance(kiln__settings a, kiln__settings b, double *distance);

#endif
