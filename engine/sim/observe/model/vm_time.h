/* vm_time.h - estimates how long the blocks of a trace take on an SM of a device. ESTIMATE.md describes the model. */
#ifndef KILN_SIM_VM_TIME_H
#define KILN_SIM_VM_TIME_H

#include "vm_cost.h"
#include "vm_trace.h"

/* Registers that ptxas spills to local memory, per thread. The PTX does not contain these accesses, so the trace does
 * not contain them either. */
typedef struct vm_spills {
    double stores, loads; /* bytes of all store and load instructions in the code, each counted once */
    double bytes;         /* local memory, which the spills occupy */
    uint32_t first, end;  /* the kernel's instructions in vm_cost.insns, among which the spills are */
} vm_spills;

/* The launch to be estimated. */
typedef struct vm_time_launch {
    const sim_model *model;
    const struct vm_trace *trace;
    const vm_cost *cost;
    vm_device *device;    /* finds the allocation to which a line belongs */
    uint64_t block_count; /* blocks of the whole launch */
    uint32_t resident;    /* resident blocks per SM */
    /* blocks of whole clusters that can be resident on the device at once; 0 if the launch has no clusters */
    uint64_t at_once;
    double shared_bytes; /* per block, including the system's part */
    vm_spills spills;    /* all members are zero if there are no spills, or if they are unknown */
} vm_time_launch;

/* The estimate, and the shares that explain it. */
typedef struct vm_time_result {
    double clocks; /* clocks of the whole launch, without its overhead */
    /* shares of an SM's time in which each part is busy */
    double issue, unit[VM_UNITS], l2, dram;
    double shared;     /* share of the time in which the path to shared memory and the L1 is busy */
    double starting;   /* share of the time in which the device starts blocks */
    double l2_bytes;   /* bytes that the SM has read from the L2 or written to it */
    double hottest;    /* clocks that the atomics at the most used line need */
    uint64_t replayed; /* * number of replayed instructions * */
} vm_time_result;

/* Estimates the time of a launch. Returns false if memory runs out. */
bool model_time_estimate(const kiln_allocator *mem, const vm_time_launch *launch, vm_time_result *result);
/* Returns a factor from 1 to 1.04. If the estimates of two launches are nearly equal, the clocks times this factor
 * decide their order (ties.c). */
double model_time_tie_factor(const vm_time_launch *launch, const vm_time_result *result);
/* Names the bottleneck of the launch in a few words: "memory", "fp32 units". `overhead` is the launch's overhead in
 * clocks, which `clocks` does not include. The text is static. */
const char *model_time_bound(const vm_time_result *result, double overhead);
#endif
