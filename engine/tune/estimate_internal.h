/* estimate_internal.h - estimates before a search (estimate.c). */
#ifndef KILN_TUNE_ESTIMATE_INTERNAL_H
#define KILN_TUNE_ESTIMATE_INTERNAL_H

#include "source_internal.h"

/* A function that sweeps: kiln__tune(). */
typedef kiln_status kiln__sweep(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *given,
                                kiln_tuning **tuning, kiln_error **error);
/* Estimates configurations by the model that `estimates` of the options names, for at most a tenth of `max_seconds`,
 * and gives them to the source as hints. `sweep` runs the sweep of estimates. *count gets the number of estimates. If
 * no estimate can be made, the function logs this and succeeds. */
kiln_status kiln__estimates_make(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                 const kiln__asker *watch, kiln__sweep *sweep, kiln__tune_source *source, size_t *count,
                                 kiln_error **error);

#endif
