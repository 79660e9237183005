/* sim.h - the simulated device as a CUDA driver. Its functions have the names and signatures of the driver API, and
 * kiln__sim_symbol() finds them by name. This header depends only on engine/base. As in libcuda, the device, its
 * contexts and the calling thread's current context are state of the process, because the driver API has no handle for
 * them. */
#ifndef KILN_SIM_CUDA_H
#define KILN_SIM_CUDA_H

#include "simulator.h"
#include "tensor_map.h"

/* Returns the simulated driver's function of this name, such as "cuMemAlloc", or NULL if the simulator has no such
 * function. */
void *kiln__sim_symbol(const char *name);
/* Adds the functions that only CUDA programs need (programs/): graphs, captures, pools and others, and the profile of a
 * program. kiln__sim_symbol() finds these functions only after this call. Any thread may call kiln__sim_add_programs(),
 * any number of times. A build with KILN_SIM_PROGRAMS=OFF lacks kiln__sim_add_programs(). */
void kiln__sim_add_programs(void);
/* The functions of KILN__SIMULATOR_MAP (simulator.h), for the driver's table (driver.h). */
extern const kiln__simulator kiln__sim_simulator;
/* Returns one sentence about the last fault of the calling thread's current context: kernel, source line, block,
 * thread, address, allocation. Returns "" if the context had no fault. The text is valid until the next fault. */
const char *kiln__sim_last_fault(void);
/* Sets *seconds to the host time that kernels took since the process started, and *warp_instructions to the number of
 * warp instructions that they executed. Progress messages and tests use these totals. */
void kiln__sim_totals(double *seconds, uint64_t *warp_instructions);
/* Selects the device profile of this name. NULL means "generic". Returns false if the name is unknown, or if the device
 * is in use with another profile. The profile can change only while no caller retains the primary context. */
bool kiln__sim_profile(const char *name);
const char *kiln__sim_profile_name(void); /* returns the name of the selected profile */
/* Adds a device profile from its text (profile.c). The function writes errors to `log`. If a profile of this name
 * exists, the existing profile stays. */
kiln__sim_added kiln__sim_profile_add(const char *name, const char *text, size_t length, kiln__text *log);
/* Returns true if the map follows all rules of cuTensorMapEncode*. If the map breaks a rule, sets *fault to the first
 * such rule. */
bool kiln__tensor_map_check(const kiln__tensor_map *map, kiln__tensor_fault *fault);
/* Returns true if the simulated device can use the map. The map must have passed kiln__tensor_map_check(). If the
 * simulated device cannot use the map, *fault names the missing feature. */
bool kiln__tensor_map_simulated(const kiln__tensor_map *map, kiln__tensor_fault *fault);
/* Returns how many columns of tensor memory a kernel of a PTX text allocates, at most 512. Returns -1 if the text does
 * not tell the number, or if the simulator cannot read the text. */
int kiln__sim_tensor_columns(const char *ptx, size_t length, const char *kernel);
/* returns whether the simulated device can load modules with this instruction, such as "wgmma.mma_async" */
bool kiln__sim_runs(const char *instruction);
const char *kiln__sim_profile_at(size_t index); /* returns NULL after the last profile */
/* Returns true if `context` is a CUcontext of the simulated device. libcuda never returns a pointer with such a
 * value. */
bool kiln__sim_has_context(const void *context);
/* Opens the library that compiles hot code of kernels (sim/device/jit), and returns the library's name. Returns NULL if
 * no usable library is found. */
const char *kiln__sim_compiler(const kiln_allocator *mem);

/* ---- limits of time ---- */

/* Sets the limits of time for kernels that the calling thread launches from now on. `deadline` is a time of
 * kiln__now_ns(), or 0 for no deadline. At the deadline a launch ends with LAUNCH_TIMEOUT, and its context becomes
 * unusable. `stop` may be NULL. A launch also ends when *stop becomes nonzero. In that case the context stays usable,
 * and the launching call returns CUDA_ERROR_TIMEOUT. */
void kiln__sim_limit(uint64_t deadline, const volatile int *stop);

/* Limits the steps of kernels that the calling thread launches from now on. A step is an instruction of a warp, so this
 * limit does not depend on the load of the machine. Each launch subtracts its steps from *left. If no steps are left,
 * or if the launch reaches the device's limit KILN_SIM_STEPS, the launch ends with LAUNCH_TIMEOUT. Its context then
 * becomes unusable, and *left becomes 0. If `left` is NULL, only the limit of the device applies. *left must stay valid
 * until the caller calls this function again. */
void kiln__sim_steps(uint64_t *left);
/* Keeps the context usable after a limit of time or of steps has ended a launch of the calling thread. The launching
 * call then returns CUDA_ERROR_TIMEOUT. */
void kiln__sim_keep(bool keep);

/* Sets the order in which the blocks of later launches of the calling thread start. 0 means ascending block numbers,
 * which is the default. 1 means descending numbers. Any other number is the seed of a shuffle. CUDA promises no order
 * of blocks, so the answer of a correct kernel does not depend on the order. In a launch with clusters, the order is an
 * order of whole clusters.
 *
 * If the seed has the bit KILN__SIM_LATE, the simulator also delays blocks. Without this bit a block usually runs
 * until it waits or ends. With this bit as many blocks as possible take turns. The lengths of the turns differ by a
 * factor of 2^16, so other blocks overtake a block at any instruction. */
#define KILN__SIM_LATE ((uint64_t)1 << 63)
void kiln__sim_order(uint64_t order);

/* Sets the name and the role of memory. Messages and findings of the calling thread's current context use them. A role
 * is a text such as "an input". If the name is NULL, the function removes the name. The function does nothing if the
 * memory is not one whole allocation. */
void kiln__sim_memory_name(uint64_t address, uint64_t bytes, const char *name, const char *role);

/* Gives the device of the calling thread's context all the memory of its profile. By default the device has only half
 * of the host's memory. This is for callers that touch only a few pages of large allocations. If $KILN_SIM_MEMORY is
 * set, it still limits the memory. */
void kiln__sim_use_all_memory(void);
/* Fills one whole allocation of device memory with a repeated pattern, as vm_repeat() does. Returns false if that is
 * impossible. In that case the content is undefined. */
bool kiln__sim_repeat(uint64_t address, uint64_t bytes, const void *pattern, uint64_t period);

/* ---- estimates of times, see engine/sim/observe/model/ESTIMATE.md ---- */

bool kiln__sim_has_model(void); /* returns true if the selected profile has a model */
/* Returns the compute capability (such as 90) of the profile with this index. Returns 0 if the profile has no model, or
 * if there is no such profile. */
int kiln__sim_model_at(size_t index);
/* Returns how many fused multiply-adds an SM of the profile `index` executes per clock on a unit (KILN_UNIT_...). The
 * operands are dense. Returns a negative number if the profile has no rates, or if the device has no such unit. */
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
/* Tells the model how many registers per thread the machine code of a kernel uses, and how much it spills. PTX contains
 * neither number. `function` is a CUfunction of the current context. */
bool kiln__sim_kernel_registers(const void *function, int registers, const kiln__sim_spills *spills);

/* ---- counters of kernels, see engine/sim/observe/count/COUNTERS.md ---- */

/* Starts counting the launches of the calling thread's current context. In each launch the simulator calls `see` with
 * the accesses of block number `block`. `see` may be NULL. Returns false if counting is already on in the context, or
 * if memory runs out. */
bool kiln__sim_count_begin(kiln__sim_access_fn see, void *user, uint64_t block);
/* Ends counting and returns the counted kernels in the order of their first launch. The arena holds the list. The list
 * lacks kernels of modules that were unloaded in the meantime. Returns false if memory runs out. */
bool kiln__sim_count_end(kiln__arena *arena, kiln__sim_kernel **kernels, size_t *count);

/* ---- checks of kernels, see engine/sim/observe/check/CHECKS.md ---- */

/* Starts checking the launches of the calling thread's current context. The checks treat memory that is already
 * allocated as written. Returns false if checking is already on in this context, or if memory runs out. */
bool kiln__sim_check_begin(void);
/* Makes the checks treat this memory as never written from now on. A program must not rely on values that a test wrote
 * to the memory. */
void kiln__sim_check_forget(uint64_t address, uint64_t bytes);
/* Ends the checks and reports the findings in the order in which they were found, even after a fault. `report` may be
 * NULL. */
void kiln__sim_check_end(kiln_check_fn report, void *user);
#endif
