/* model_internal.h - an engine for the model of a GPU (model.c). */
#ifndef KILN_TUNE_MODEL_INTERNAL_H
#define KILN_TUNE_MODEL_INTERNAL_H

#include "engine.h"

/* Opens an engine for the model of the GPU `device`. The name "sim" means the profile that is nearest to the engine's
 * own GPU. The new engine compiles the same code as for the GPU, so that the search later finds this code in the cache.
 * The arena must outlive the new engine. */
kiln_status kiln__estimates_open(kiln_engine *engine, const char *device, kiln__arena *arena, kiln_engine **model,
                                 kiln_error **error);

#endif
