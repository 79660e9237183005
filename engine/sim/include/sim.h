/* sim.h - the simulated device as a CUDA driver: functions with the driver API's names and signatures, prefixed
 * `sim_`. Depends on base only. As in libcuda, the device, its contexts and the calling thread's current context are
 * state of the process, as the driver API has no handle for them. */
#ifndef KILN_SIM_CUDA_H
#define KILN_SIM_CUDA_H

#include "simulator.h"
#include "tensor_map.h"

/* The function of that name ("cuMemAlloc"), or NULL. */
void *kiln__sim_symbol(const char *name);
/* Adds the functions that only CUDA programs need (programs/): graphs, captures, pools and others, and the profile of
 * a program. Without the call kiln__sim_symbol() does not find them. A build with KILN_SIM_PROGRAMS=OFF does not have
 * this function. Any thread, any number of times. */
void kiln__sim_add_programs(void);
/* All of the following functions except the totals, for the driver's table. */
extern const kiln__simulator kiln__sim_simulator;
/* The last fault of the calling thread's current context in one sentence (kernel, source line, block, thread,
 * address, allocation), "": none. Valid until the next fault. */
const char *kiln__sim_last_fault(void);
/* Host seconds of kernels, and their warp instructions, since the process started; for progress and tests. */
void kiln__sim_totals(double *seconds, uint64_t *warp_instructions);
/* Selects the profile ("generic", NULL). False: unknown name, or the device is in use with another profile. It can
 * change only while its primary context is not retained. */
bool kiln__sim_profile(const char *name);
const char *kiln__sim_profile_name(void); /* the selected one */
/* Adds a profile from a text (profile.c); errors go to `log`. The first text of a name is kept. */
kiln__sim_added kiln__sim_profile_add(const char *name, const char *text, size_t length, kiln__text *log);
/* Returns true if the map follows all rules of cuTensorMapEncode*. Otherwise *fault is set. */
bool kiln__tensor_map_check(const kiln__tensor_map *map, kiln__tensor_fault *fault);
/* Returns true if the simulated device can use the map. The map must have passed kiln__tensor_map_check(). Otherwise
 * *fault names the missing feature. */
bool kiln__tensor_map_simulated(const kiln__tensor_map *map, kiln__tensor_fault *fault);
/* Returns the columns of tensor memory that a kernel of a PTX text allocates, at most 512. Returns -1 if the text does not
 * tell, or if the simulator cannot read it. */
int kiln__sim_tensor_columns(const char *ptx, size_t length, const char *kernel);
bool kiln__sim_runs(const char *instruction);   /* "wgmma.mma_async": it is not refused at load */
const char *kiln__sim_profile_at(size_t index); /* returns NULL after the last profile */
/* True for a CUcontext of the simulated device (its value cannot be a pointer from libcuda). */
bool kiln__sim_has_context(const void *context);
/* The library that compiles hot code of kernels (sim/device/jit); NULL: there is none that can be used. Opens it. */
const char *kiln__sim_compiler(const kiln_allocator *mem);

/* ---- limits of time ---- */

/* Sets the limits of time for kernels that the calling thread launches from now on. `deadline` is a time of
 * kiln__now_ns(), or 0 for no deadline. At the deadline a launch ends with LAUNCH_TIMEOUT, which also ends the
 * context. `stop` may be NULL. When *stop becomes nonzero, a launch ends too. Then the context stays usable, and the
 * launching call returns CUDA_ERROR_TIMEOUT. */
void kiln__sim_limit(uint64_t deadline, const volatile int *stop);

/* Limits the steps of kernels that the calling thread launches from now on. A step is an instruction of a warp, so this
 * limit does not depend on the load of the machine. Each launch subtracts its steps from *left. If none are left, or if
 * the launch reaches the device's limit KILN_SIM_STEPS, the launch ends with LAUNCH_TIMEOUT, so does the context, and
 * *left becomes 0. NULL: only the device's limit holds. The caller keeps *left until it calls this function again. */
void kiln__sim_steps(uint64_t *left);
/* Keeps the context usable after a limit of time or of steps has ended a launch of the calling thread: the launching call
 * returns CUDA_ERROR_TIMEOUT. */
void kiln__sim_keep(bool keep);

/* Sets the order in which the blocks of later launches of the calling thread start. 0: ascending numbers, which is
 * the default. 1: descending numbers. Any other number is the seed of a shuffle. CUDA promises no order, so the
 * answer of a correct kernel does not depend on the order. With clusters, the order is an order of whole clusters.
 *
 * If the seed has the bit KILN__SIM_LATE, blocks are late too. Usually a block runs until it waits or ends. With this bit as
 * many blocks as possible take turns, and the lengths of their turns differ by a factor of 2^16, so other blocks overtake a
 * block at any instruction. */
#define KILN__SIM_LATE ((uint64_t)1 << 63)
void kiln__sim_order(uint64_t order);

/* Names memory in messages and findings of the calling thread's current context, and says what it is: "an input".
 * NULL removes the name. Does nothing if the memory is not one whole allocation. */
void kiln__sim_memory_name(uint64_t address, uint64_t bytes, const char *name, const char *role);

/* Gives the device of the calling thread's context all the memory of its profile, not only half of the host's memory.
 * This is for callers that use a few pages of large allocations. If $KILN_SIM_MEMORY is set, it stays the limit. */
void kiln__sim_use_all_memory(void);
/* Fills one whole allocation of device memory with a repeated pattern, as vm_repeat() does. Returns false if that is
 * impossible; the content is then undefined. */
bool kiln__sim_repeat(uint64_t address, uint64_t bytes, const void *pattern, uint64_t period);

/* ---- estimates of times. engine/sim/observe/model/ESTIMATE.md ---- */

/* Starts estimates: from now on the model of the selected profile times the kernels that the calling thread launches.
 * Returns false if the profile has no model. `sampled`: only the traced blocks run, so the results of kernels are
 * incomplete. */
bool kiln__sim_has_model(void); /* the selected profile */
/* compute capability (such as 90) of profile `index`; 0: the profile has no model, or there is no such profile */
int kiln__sim_model_at(size_t index);
/* Fused multiply-adds that an SM of profile `index` does in a clock on the unit (KILN_UNIT_...), dense. Negative: it
 * has no figures, or there is no such unit. */
double kiln__sim_unit_rate(size_t index, unsigned unit);
void kiln__sim_model_print(kiln__text *out); /* prints all inputs of its estimates, or nothing if it has no model */
bool kiln__sim_estimate_begin(bool sampled);
/* Ends the estimates. Returns the seconds of all launches since, one after the other, or a negative number if a
 * launch could not be timed. */
double kiln__sim_estimate_end(uint64_t *launches);
/* Sets the registers per thread of the kernel (a CUfunction of the current context) in machine code, and its spills,
 * which PTX does not contain. */
bool kiln__sim_kernel_registers(const void *function, int registers, const kiln__sim_spills *spills);

/* ---- counters of kernels. engine/sim/observe/count/COUNTERS.md ---- */

/* Starts counting the launches of the calling thread's current context. `see` (may be NULL) is called with the
 * accesses of block number `block` in each launch. Returns false if the context counts already, or if memory runs
 * out. */
bool kiln__sim_count_begin(kiln__sim_access_fn see, void *user, uint64_t block);
/* Ends counting. Returns the kernels in the order of their first launch, in the arena. Kernels of modules that were
 * unloaded meanwhile are missing. Returns false if memory runs out. */
bool kiln__sim_count_end(kiln__arena *arena, kiln__sim_kernel **kernels, size_t *count);

/* ---- checks of kernels. engine/sim/observe/check/CHECKS.md ---- */

/* Starts checking the launches of the calling thread's current context. Memory that is allocated already counts as
 * written. Returns false if they are checked already, or if memory runs out. */
bool kiln__sim_check_begin(void);
/* This memory counts as never written from now on: a program must not rely on what a test wrote there. */
void kiln__sim_check_forget(uint64_t address, uint64_t bytes);
/* Ends the checks and reports the findings in the order in which they were found, also after a fault. `report` may be
 * NULL. */
void kiln__sim_check_end(kiln_check_fn report, void *user);
#endif
