/* lead_internal.h - the configurations with which a search begins (lead.c). */
#ifndef KILN_TUNE_LEAD_INTERNAL_H
#define KILN_TUNE_LEAD_INTERNAL_H

#include "known_internal.h"

/* A sweep whose first configurations are wanted. */
typedef struct kiln__lead_question {
    const kiln_spec *spec;
    const kiln_tune_options *options;
    const kiln__variant *const *variants; /* variants of the sweep */
    size_t count;
    kiln__settings sizes;
    bool leaves_slow; /* the sweep leaves out the variants that are known or estimated to be slow */
} kiln__lead_question;
/* The answer. */
typedef struct kiln__lead {
    kiln__known *items; /* the configurations to try first, in order; some may be invalid */
    size_t count;
    const char *whence;  /* names the kind of the configurations in a message, such as "the defaults of the variants" */
    bool shipped;        /* true: `items` are shipped with the spec; false: `items` are defaults of variants */
    kiln_left_out *slow; /* the variants that the sweep leaves out because they are slow */
    size_t slow_count;
} kiln__lead;
/* Tells whether a variant has a step that runs on the host. */
bool kiln__lead_is_host(const kiln__variant *variant);
/* Tells whether the sweep leaves out the variants that have steps on the host. The sweep leaves these variants out if
 * it has a limit, names no variants, and has other variants. */
bool kiln__lead_leaves_host(const kiln_spec *spec, const kiln_tune_options *options);
/* Finds the configurations with which the search begins, and allocates them in `arena`. An empty list is not an
 * error. */
kiln_status kiln__lead_find(kiln_engine *engine, const kiln__lead_question *question, kiln__arena *arena,
                            kiln__lead *lead, kiln_error **error);

#endif
