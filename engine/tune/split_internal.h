/* split_internal.h - makes a sample at two sets of sizes (split.c). */
#ifndef KILN_TUNE_SPLIT_INTERNAL_H
#define KILN_TUNE_SPLIT_INTERNAL_H

#include "plan.h"

/* Returns KILN_ERROR_UNSUPPORTED if `verify_size_set` cannot be used with the other options or with the spec. */
kiln_status kiln__split_check(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              kiln_error **error);
/* Writes the sizes at which samples are verified, for example " at tiny (N=300)". Returns false if the options name no
 * such set of sizes. */
bool kiln__split_print(const kiln_spec *spec, const kiln_tune_options *options, kiln__text *out);
/* Makes a plan of a configuration, with its code. If the configuration is not valid at its sizes, sets *invalid and
 * makes no plan. An invalid configuration is not an error. */
kiln_status kiln__split_plan(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice, kiln_plan **plan,
                             bool *invalid, kiln_error **error);
/* Makes only the code of a configuration at `verify_size_set`, for a runner process. */
kiln_status kiln__split_code(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             const kiln_sample *sample, kiln__code *code, bool *invalid, kiln_error **error);
/* Runs the configuration at `verify_size_set`, and sets the verdict on its answer in the result. If the configuration
 * is not valid at these sizes, its answer stays unverified. */
kiln_status kiln__split_verify(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                               kiln__shared *shared, const kiln_sample *sample, kiln_result *result,
                               kiln_error **error);

#endif
