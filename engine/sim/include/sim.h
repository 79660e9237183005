/* sim.h - the simulated device as a CUDA driver: functions with the names and signatures of the driver API, which
 * kiln__sim_symbol() finds by name. This header depends on base only. The device, its contexts and the calling thread's
 * current context are state of the process, as in libcuda, because the driver API has no handle for them. */
#ifndef KILN_SIM_CUDA_H
#define KILN_SIM_CUDA_H

#include "simulator.h"
#include "tensor_map.h"

/* Returns the simulated driver's function of this name, such as "cuMemAlloc", or NULL if the simulator has no such
 * function. */
void *kiln__sim_symbol(const char *name);
/* Adds the functions that only CUDA programs need (programs/): graphs, captures, pools and others, and the profile of
 * a program. kiln__sim_symbol() finds these functions only after this call. Any thread may call it, any number of
 * times. A build with KILN_SIM_PROGRAMS=OFF does not have this function. */
void kiln__sim_add_programs(void);
/* The functions of KILN__SIMULATOR_MAP (simulator.h), for the driver's table (driver.h). */
extern const kiln__simulator kiln__sim_simulator;
/* Returns one sentence about the last fault of the calling thread's current context: kernel, source line, block,
 * thread, address, allocation. Returns "" if there was no fault. The text is valid until the next fault. */
const char *kiln__sim_last_fault(void);
/* Sets the host seconds that kernels took since the process started, and the number of warp instructions that they
 * executed. Progress messages and tests use these totals. */
void kiln__sim_totals(double *seconds, uint64_t *warp_instructions);
/* Selects the device profile of this name. NULL means "generic". Returns false if the name is unknown, or if the device
 * is in use with another profile: the profile can change only while nobody retains the primary context. */
bool kiln__sim_profile(const char *name);
const char *kiln__sim_profile_name(void); /* returns the name of the selected profile */
/* Adds a profile from its text (profile.c). Writes errors to `log`. If a profile of this name exists, the existing
 * profile stays. */
kiln__sim_added kiln__sim_profile_add(const char *name, const char *text, size_t length, kiln__text *log);
/* Returns true if the map follows all rules of cuTensorMapEncode*. Otherwise sets *fault to the first rule that it
 * breaks. */
bool kiln__tensor_map_check(const kiln__tensor_map *map, kiln__tensor_fault *fault);
/* Returns true if the simulated device can use the map. The map must have passed kiln__tensor_map_check(). Otherwise
 * *fault names the missing feature. */
bool kiln__tensor_map_simulated(const kiln__tensor_map *map, kiln__tensor_fault *fault);
/* Returns the columns of tensor memory that a kernel of a PTX text allocates, at most 512. Returns -1 if the text does
 * not tell, or if the simulator cannot read it. */
int kiln__sim_tensor_columns(const char *ptx, size_t length, const char *kernel);
/* true if modules with this instruction, such as "wgmma.mma_async", can be loaded */
bool kiln__sim_runs(const char *instruction);
const char *kiln__sim_profile_at(size_t index); /* returns NULL after the last profile */
/* Returns true for a CUcontext of the simulated device. libcuda never returns a pointer with such a value. */
bool kiln__sim_has_context(const void *context);
/* Opens the library that compiles hot code of kernels (sim/device/jit), and returns its name. Returns NULL if no usable
 * library is found. */
const char *kiln__sim_compiler(const kiln_allocator *mem);

/* ---- limits of time ---- */

/* Sets the limits of time for kernels that the calling thread launches from now on. `deadline` is a time of
 * kiln__now_ns(), or 0 for no deadline. At the deadline a launch ends with LAUNCH_TIMEOUT, which also ends the
 * context. `stop` may be NULL. When *stop becomes nonzero, a launch ends too. Then the context stays usable, and the
 * launching call returns CUDA_ERROR_TIMEOUT. */
void kiln__sim_limit(uint64_t deadline, const volatile int *stop);

/* Limits the steps of kernels that the calling thread launches from now on. A step is an instruction of a warp, so this
 * limit does not depend on the load of the machine. Each launch subtracts its steps from *left. If none are left, or if
 * the launch reaches the device's limit KILN_SIM_STEPS, the launch and its context end with LAUNCH_TIMEOUT, and *left
 * becomes 0. If `left` is NULL, only the device's limit holds. The caller keeps *left until it calls this function
 * again. */
void kiln__sim_steps(uint64_t *left);
/* Keeps the context usable after a limit of time or of steps has ended a launch of the calling thread: the launching
 * call returns CUDA_ERROR_TIMEOUT. */
void kiln__sim_keep(bool keep);

/* Sets the order in which the blocks of later launches of the calling thread start. 0: ascending numbers, which is
 * the default. 1: descending numbers. Any other number is the seed of a shuffle. CUDA promises no order, so the
 * answer of a correct kernel does not depend on the order. With clusters, the order is an order of whole clusters.
 *
 * If the seed has the bit KILN__SIM_LATE, blocks are late too. Usually a block runs until it waits or ends. With this
 * bit as many blocks as possible take turns, and the lengths of their turns differ by a factor of 2^16, so other blocks
 * overtake a block at any instruction. */
#define KILN__SIM_LATE ((uint64_t)1 << 63)
void kiln__sim_order(uint64_t order);

/* Sets the name and the role of memory for messages and findings of the calling thread's current context. A role is a
 * text such as "an input". NULL removes the name. Does nothing if the memory is not one whole allocation. */
void kiln__sim_memory_name(uint64_t address, uint64_t bytes, const char *name, const char *role);

/* Gives the device of the calling thread's context all the memory of its profile, not only half of the host's memory.
 * This is for callers that use a few pages of large allocations. If $KILN_SIM_MEMORY is set, it stays the limit. */
void kiln__sim_use_all_memory(void);
/* Fills one whole allocation of device memory with a repeated pattern, as vm_repeat() does. Returns false if that is
 * impossible; the content is then undefined. */
bool kiln__sim_repeat(uint64_t address, uint64_t bytes, const void *pattern, uint64_t period);

/* ---- estimates of times. engine/sim/observe/model/ESTIMATE.md ---- */

bool kiln__sim_has_model(void); /* returns true if the selected profile has a model */
/* Returns the compute capability (such as 90) of the profile with this index. Returns 0 if the profile has no model, or
 * if there is no such profile. */
int kiln__sim_model_at(size_t index);
/* Returns how many fused multiply-adds an SM of the profile `index` executes per clock on a unit (KILN_UNIT_...), for
 * dense operands. Returns a negative number if the profile has no figures, or if there is no such unit. */
double kiln__sim_unit_rate(size_t index, unsigned unit);
/* prints all inputs of the selected profile's model, or nothing if the profile has no model */
void kiln__sim_model_print(kiln__text *out);
/* Starts estimates: from now on the model of the selected profile computes a time for each kernel that the calling
 * thread launches. Returns false if the profile has no model. If `sampled` is true, only the traced blocks run, so the
 * results of kernels are incomplete. */
bool kiln__sim_estimate_begin(bool sampled);
/* Ends the estimates. Returns the sum of the estimated seconds of all launches since kiln__sim_estimate_begin(), or a
 * negative number if a launch could not be timed. */
double kiln__sim_estimate_end(uint64_t *launches);
/* Tells the model how many registers per thread the machine code of a kernel uses, and how much it spills. PTX has
 * neither figure. `function` is a CUfunction of the current context. */
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
 * written. Returns false if the launches of this context are checked already, or if memory runs out. */
bool kiln__sim_check_begin(void);
/* Makes the checks treat this memory as never written from now on, because a program must not rely on values that a
 * test wrote there. */
void kiln__sim_check_forget(uint64_t address, uint64_t bytes);
/* Ends the checks and reports the findings in the order in which they were found, also after a fault. `report` may be
 * NULL. */
void kiln__sim_check_end(kiln_check_fn report, void *user);
#endif
