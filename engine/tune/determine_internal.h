/* determine_internal.h - writes everything on which a sample depends (determine.c). */
#ifndef KILN_TUNE_DETERMINE_INTERNAL_H
#define KILN_TUNE_DETERMINE_INTERNAL_H

#include "plan.h"

/* Hashes everything that a variant does, except its code and its params' values. The hash has inputs, buffers, steps,
 * metrics, verification, and the contents of their files. The hash does not have the lists of values, the constraints
 * and the other variants. */
kiln_status kiln__determine_variant(kiln_engine *engine, const kiln_spec *spec, const kiln__variant *variant,
                                    const kiln_tune_options *options, kiln__hash128 *hash, kiln_error **error);
/* Writes the contents of the files that the sizes name (`MATRIX=web.mtx`). Writes nothing if no size is a text. */
kiln_status kiln__determine_sizes(kiln_engine *engine, const kiln_spec *spec, kiln__settings sizes, kiln__text *out,
                                  kiln_error **error);
/* Writes the fields that identify the device and its driver. */
void kiln__determine_device(const kiln_device_info *info, kiln__text *out);

#endif
