/* budget_internal.h - checks the options of a sweep, and its limits (budget.c). */
#ifndef KILN_TUNE_BUDGET_INTERNAL_H
#define KILN_TUNE_BUDGET_INTERNAL_H

#include "plan.h"

typedef struct kiln__budget {
    const kiln_tune_options *options;
    uint64_t start;  /* kiln__now_ns() */
    uint64_t stale;  /* the number of samples since the last sample that was better than all samples before it */
    double mark;     /* the value of the last sample that was better than all samples before it */
    bool any;        /* at least one sample was successful */
    double roofline; /* the largest share of the roofline that a sample has reached so far */
    kiln_end end;    /* the reason why the sweep is over */
} kiln__budget;
bool kiln__budget_any(const kiln_tune_options *options); /* tells whether the options have a limit */
void kiln__budget_note(kiln__budget *budget, const kiln_sample *sample, double value);
bool kiln__budget_over(kiln__budget *budget);
/* Checks the caller's options and copies them. Copies the run options, to which the options point, to `run`. */
kiln_status kiln__tune_take(const kiln_allocator *mem, const char *function, const kiln_tune_options *given,
                            kiln_tune_options *options, kiln_run_options *run, kiln_error **error);

#endif
