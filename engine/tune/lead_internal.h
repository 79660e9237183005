/* lead_internal.h - the configurations with which a search begins (lead.c). */
#ifndef KILN_TUNE_LEAD_INTERNAL_H
#define KILN_TUNE_LEAD_INTERNAL_H

#include "known_internal.h"

/* A sweep for which first configurations are wanted. */
typedef struct kiln__lead_question {
    const kiln_spec *spec;
    const kiln_tune_options *options;
    const kiln__variant *const *variants; /* variants of the sweep */
    size_t count;
    kiln__settings sizes;
    bool leaves_slow; /* variants that are known or estimated to be slow are left out */
} kiln__lead_question;
/* The answer. */
typedef struct kiln__lead {
    kiln__known *items; /* configurations to try first, in order; some may be invalid */
    size_t count;
    const char *whence;  /* the kind of the configurations, for a message: "the defaults of the variants" */
    bool shipped;        /* true: `items` are shipped with the spec; false: they are defaults */
    kiln_left_out *slow; /* variants to leave out */
    size_t slow_count;
} kiln__lead;
/* Tells whether a variant has a step that runs on the host. */
bool kiln__lead_is_host(const kiln__variant *variant);
/* Tells whether the sweep leaves such variants out. It does so if it has a limit and names no variants, and if other
 * variants remain. */
bool kiln__lead_leaves_host(const kiln_spec *spec, const kiln_tune_options *options);
/* Finds the configurations with which the search begins, in `arena`. An empty list is not a failure. */
kiln_status kiln__lead_find(kiln_engine *engine, const kiln__lead_question *question, kiln__arena *arena,
                            kiln__lead *lead, kiln_error **error);

#endif
