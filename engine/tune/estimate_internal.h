/* estimate_internal.h - estimates configurations before a search (estimate.c). */
#ifndef KILN_TUNE_ESTIMATE_INTERNAL_H
#define KILN_TUNE_ESTIMATE_INTERNAL_H

#include "source_internal.h"

/* The type of a function that runs a sweep, such as kiln__tune(). */
typedef kiln_status kiln__sweep(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *given,
                                kiln_tuning **tuning, kiln_error **error);
/* Estimates configurations for at most a tenth of `max_seconds`, and gives the estimates to the source as hints. The
 * model is the device profile that `estimates` of the options names. `sweep` runs the sweep of estimates. *count gets
 * the number of estimates that were made. If no estimate can be made, logs the reason and succeeds. */
kiln_status kiln__estimates_make(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                 const kiln__asker *watch, kiln__sweep *sweep, kiln__tune_source *source, size_t *count,
                                 kiln_error **error);

#endif
