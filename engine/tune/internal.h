/* internal.h - between the files of tune/: the outcome of a sweep, and the walk over its configurations. */
#ifndef KILN_TUNE_INTERNAL_H
#define KILN_TUNE_INTERNAL_H

#include "plan/plan.h"

/* ---- the outcome (tuning.c) ---- */

struct kiln_tuning {
    kiln_allocator mem_copy;
    const kiln_allocator *mem;   /* NULL: malloc */
    kiln__arena arena;           /* samples with all they point to: callers hold on to them */
    kiln_sample **samples;       /* in order of completion until kiln__tuning_rank() */
    size_t count, capacity;
    uint64_t drawn;              /* samples made */
    const kiln_sample *best;     /* NULL: none yet */
    kiln_tuning_totals totals;
};

kiln_tuning *kiln__tuning_new(const kiln_allocator *mem); /* NULL: no memory */
/* A sample with copies of everything, not yet counted. NULL: no memory. */
kiln_sample *kiln__tuning_sample(kiln_tuning *tuning, const char *variant, const kiln_setting *params, size_t count);
/* Notes how it ended and counts it. False: no memory. */
bool kiln__tuning_add(kiln_tuning *tuning, kiln_sample *sample, kiln_status status, const char *message);
/* Fastest first, then the failed ones; ties in the order in which the samples were made. */
void kiln__tuning_rank(kiln_tuning *tuning);
/* What samples are ranked by: measured or estimated seconds, else the simulator's wall time. */
double kiln__tuning_seconds(const kiln_result *result);

/* ---- the configurations to try, in order (source.c) ---- */

typedef struct kiln__tune_source kiln__tune_source;
/* Checks the names in `options` against the spec and counts. The options and the spec must outlive it. */
kiln_status kiln__tune_source_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                   kiln__tune_source **source, kiln_error **error);
void kiln__tune_source_free(kiln__tune_source *source); /* NULL is fine */
uint64_t kiln__tune_source_total(const kiln__tune_source *source);
/* The next choice; its params are owned by the source until the next call. *choice has no variant at the end. */
kiln_status kiln__tune_source_next(kiln__tune_source *source, kiln_choice *choice, kiln_error **error);

#endif
