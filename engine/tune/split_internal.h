/* split_internal.h - a sample at two sizes (split.c). */
#ifndef KILN_TUNE_SPLIT_INTERNAL_H
#define KILN_TUNE_SPLIT_INTERNAL_H

#include "plan.h"

/* Refuses what `verify_size_set` of the options cannot be used for (KILN_ERROR_UNSUPPORTED). */
kiln_status kiln__split_check(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              kiln_error **error);
/* " at tiny (N=300)": where samples are verified. False: there is no such set. */
bool kiln__split_print(const kiln_spec *spec, const kiln_tune_options *options, kiln__text *out);
/* A plan of a configuration, with its code. *invalid: there is no such configuration; then there is no plan, and no
 * error. */
kiln_status kiln__split_plan(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, kiln_plan **plan,
                             bool *invalid, kiln_error **error);
/* Its code alone, at `verify_size_set`, for a process that measures. */
kiln_status kiln__split_code(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             const kiln_sample *sample, kiln__code *code, bool *invalid, kiln_error **error);
/* Runs the configuration at `verify_size_set`, and fills in the verdict on its answer. A configuration that is not valid
 * at these sizes stays unverified. */
kiln_status kiln__split_verify(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                               kiln__shared *shared, const kiln_sample *sample, kiln_result *result,
                               kiln_error **error);

#endif
