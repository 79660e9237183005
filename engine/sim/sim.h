/* sim.h - the simulated device as a CUDA driver: functions with the driver API's names and signatures, prefixed `sim_`.
 * Knows nothing of the rest of the engine but base. As in libcuda, the device, its contexts and the calling thread's
 * current context are state of the process: the driver API has no handle that could carry them. */
#ifndef KILN_SIM_H
#define KILN_SIM_H

#include "base/base.h"

/* The function of that name ("cuMemAlloc"), or NULL. */
void *kiln__sim_symbol(const char *name);
/* The last fault of the calling thread's current context in one sentence (kernel, source line, block, thread, address,
 * allocation), "" if there was none. Lives until the next fault. */
const char *kiln__sim_last_fault(void);
/* Host seconds that kernels took, and warp instructions, since the process started: for progress and tests. */
void kiln__sim_totals(double *seconds, uint64_t *warp_instructions);
/* Selects the profile ("generic", NULL). False if there is none of that name, or if the device is in use with another
 * one: it can change only while its primary context is not retained. */
bool kiln__sim_profile(const char *name);
const char *kiln__sim_profile_name(void);           /* the selected one */
const char *kiln__sim_profile_at(size_t index);     /* of CUdevice `index`; NULL past the last */
/* True for a CUcontext of the simulated device (it is no pointer that libcuda could have made). */
bool kiln__sim_has_context(const void *context);
#endif
