/* sim.h - the simulated device as a CUDA driver: functions with the driver API's names and signatures, prefixed `sim_`.
 * Knows nothing of the rest of the engine but base. As in libcuda, the device, its contexts and the calling thread's
 * current context are state of the process: the driver API has no handle that could carry them. */
#ifndef KILN_SIM_CUDA_H
#define KILN_SIM_CUDA_H

#include "simulator.h"

/* The function of that name ("cuMemAlloc"), or NULL. */
void *kiln__sim_symbol(const char *name);
/* All of the following but the totals, for the driver's table. */
extern const kiln__simulator kiln__sim_simulator;
/* The last fault of the calling thread's current context in one sentence (kernel, source line, block, thread, address,
 * allocation), "" if there was none. Lives until the next fault. */
const char *kiln__sim_last_fault(void);
/* Host seconds that kernels took, and warp instructions, since the process started: for progress and tests. */
void kiln__sim_totals(double *seconds, uint64_t *warp_instructions);
/* Selects the profile ("generic", NULL). False if there is none of that name, or if the device is in use with another
 * one: it can change only while its primary context is not retained. */
bool kiln__sim_profile(const char *name);
const char *kiln__sim_profile_name(void); /* the selected one */
/* Adds the profile of a text (profile.c); what is wrong with it goes to `log`. A name stands for its first text. */
kiln__sim_added kiln__sim_profile_add(const char *name, const char *text, size_t length, kiln__text *log);
const char *kiln__sim_profile_at(size_t index); /* of CUdevice `index`; NULL past the last */
/* True for a CUcontext of the simulated device (it is no pointer that libcuda could have made). */
bool kiln__sim_has_context(const void *context);

/* ---- limits of time ---- */

/* Kernels that the calling thread launches from now on end at `deadline` (kiln__now_ns(); 0: none) with LAUNCH_TIMEOUT,
 * which the context does not survive, and when *stop (may be NULL) is no longer 0: then it does survive, and the call that
 * launched gives CUDA_ERROR_TIMEOUT. (0, NULL) ends both. */
void kiln__sim_limit(uint64_t deadline, const volatile int *stop);

/* ---- estimates of times. ESTIMATE.md ---- */

/* From now on the kernels that the calling thread launches are timed by the model of the selected profile. False: it has
 * none. `sampled`: only the blocks that are looked at run, so that what kernels leave in memory is not whole. */
bool kiln__sim_has_model(void);              /* the selected profile */
void kiln__sim_model_print(kiln__text *out); /* all that its estimates follow from; nothing where it has none */
bool kiln__sim_estimate_begin(bool sampled);
/* Ends it: seconds of all launches since, one after the other; negative if one of them could not be timed. */
double kiln__sim_estimate_end(uint64_t *launches);
/* How many registers a thread of the kernel (a CUfunction of the current context) has in machine code; PTX does not say. */
bool kiln__sim_kernel_registers(const void *function, int registers);

/* ---- counting: what kernels do. COUNTERS.md ---- */

/* From now on the launches of the calling thread's current context are counted. `see` (may be NULL) is shown the
 * accesses of the block of that number in each launch. False: it counts already, or memory is out. */
bool kiln__sim_count_begin(kiln__sim_access_fn see, void *user, uint64_t block);
/* Ends it: the kernels in the order of their first launch, in the arena. What modules that were unloaded meanwhile did
 * is not among it. False: memory is out. */
bool kiln__sim_count_end(kiln__arena *arena, kiln__sim_kernel **kernels, size_t *count);

/* ---- checks: what kernels do wrong. CHECKS.md ---- */

/* From now on the launches of the calling thread's current context are checked. False: they are already, or memory is
 * out. What the context has allocated so far counts as written. */
bool kiln__sim_check_begin(void);
/* That memory counts as never written: what a test put there is not what a program may rely on. */
void kiln__sim_check_forget(uint64_t address, uint64_t bytes);
/* Ends it and reports what was found, in the order it was found in, also after a fault. `report` may be NULL. */
void kiln__sim_check_end(kiln_check_fn report, void *user);
#endif
