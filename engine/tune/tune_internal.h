/* tune_internal.h - runs a sweep (tune.c). */
#ifndef KILN_TUNE_INTERNAL_H
#define KILN_TUNE_INTERNAL_H

#include "plan.h"

/* Runs a sweep like kiln_tune(), but returns KILN_OK even if every configuration failed. */
kiln_status kiln__tune(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *given, kiln_tuning **tuning,
                       kiln_error **error);

#endif
