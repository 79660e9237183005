/* model_internal.h - an engine for the model of a GPU (model.c). */
#ifndef KILN_TUNE_MODEL_INTERNAL_H
#define KILN_TUNE_MODEL_INTERNAL_H

#include "engine.h"

/* An engine for the model of the GPU `device` ("sim": the nearest to the engine's own). Code that it compiles is the code
 * that the GPU gets, so that the cache has it then. The arena must outlive it. */
kiln_status kiln__estimates_open(kiln_engine *engine, const char *device, kiln__arena *arena, kiln_engine **model,
                                 kiln_error **error);

#endif
