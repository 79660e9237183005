/* vm_time.h - estimates the time of a launch from the traces of some of its blocks. ESTIMATE.md describes the model. */
#ifndef KILN_SIM_VM_TIME_H
#define KILN_SIM_VM_TIME_H

#include "vm_cost.h"
#include "vm_trace.h"

/* The spills of a kernel, per thread: registers that ptxas stores to local memory. The PTX, and therefore a trace, does
 * not contain the accesses of spills. */
typedef struct vm_spills {
    /* bytes that the spill stores and the spill loads of the machine code move, if each instruction executes once */
    double stores, loads;
    double bytes;        /* bytes of local memory that the spills occupy */
    uint32_t first, end; /* bounds of the kernel's instructions in vm_cost.insns */
} vm_spills;

/* The launch to be estimated. */
typedef struct vm_time_launch {
    const sim_model *model;
    const struct vm_trace *trace;
    const vm_cost *cost;
    vm_device *device;    /* the device of the allocations that the trace accesses */
    uint64_t block_count; /* number of blocks of the whole launch */
    uint32_t resident;    /* number of blocks that an SM holds at once */
    /* for a launch with clusters: number of blocks that the device holds at once; otherwise 0 */
    uint64_t at_once;
    double shared_bytes; /* bytes of shared memory of a block, including the part that the system reserves */
    vm_spills spills;    /* all members are zero if the kernel has no spills, or if the spills are unknown */
} vm_time_launch;

/* The estimate, and how busy each part of the SM is. */
typedef struct vm_time_result {
    double clocks; /* clocks of the whole launch, without the figure launch_microseconds */
    /* the shares of the time for which the issue slots, the functional units, the L2 and the memory are busy */
    double issue, unit[VM_UNITS], l2, dram;
    double shared;     /* share of the time for which shared memory and the L1 are busy */
    double starting;   /* share of the time in which the device starts blocks */
    double l2_bytes;   /* bytes that the SM has read from the L2 or written to it */
    double hottest;    /* number of clocks for which atomics keep the 2 KiB of memory busy that they use most */
    uint64_t replayed; /* number of replayed machine instructions */
} vm_time_result;

/* Estimates the time of a launch. Returns false if memory runs out. */
bool model_time_estimate(const kiln_allocator *mem, const vm_time_launch *launch, vm_time_result *result);
/* Returns a factor from 1 to 1.04. If the estimated clocks of two launches are nearly equal, the products of clocks and
 * factor decide their order (ties.c). */
double model_time_tie_factor(const vm_time_launch *launch, const vm_time_result *result);
/* Returns the name of the launch's bottleneck, such as "memory" or "fp32 units". `overhead` is the time of an empty
 * launch in clocks, which result->clocks does not include. The text is static. */
const char *model_time_bound(const vm_time_result *result, double overhead);
#endif
