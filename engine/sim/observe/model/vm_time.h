/* vm_time.h - estimates how long the blocks of a trace take on an SM of a device. ESTIMATE.md describes the model. */
#ifndef KILN_SIM_VM_TIME_H
#define KILN_SIM_VM_TIME_H

#include "vm_cost.h"
#include "vm_trace.h"

/* Registers that ptxas spills to local memory, per thread. The PTX does not contain these accesses, so a trace does not
 * contain them either. */
typedef struct vm_spills {
    /* bytes of all spill stores and of all spill loads in the machine code; each instruction counts once */
    double stores, loads;
    double bytes;        /* bytes of local memory that the spills occupy */
    uint32_t first, end; /* range of the kernel's instructions in vm_cost.insns */
} vm_spills;

/* The launch to be estimated. */
typedef struct vm_time_launch {
    const sim_model *model;
    const struct vm_trace *trace;
    const vm_cost *cost;
    vm_device *device;    /* needed to find the allocation of a line */
    uint64_t block_count; /* number of blocks of the whole launch */
    uint32_t resident;    /* number of blocks that an SM holds at once */
    /* number of blocks that the device can hold at once if it must place whole clusters; 0 if the launch has no
     * clusters */
    uint64_t at_once;
    double shared_bytes; /* shared memory of a block, with the part that the system reserves */
    vm_spills spills;    /* if there are no spills, or if the spills are unknown, all members are zero */
} vm_time_launch;

/* The estimate, and how busy each part of the SM is. */
typedef struct vm_time_result {
    double clocks; /* clocks of the whole launch, without the overhead of a launch */
    /* for each part of the SM, the share of the time for which the part is busy */
    double issue, unit[VM_UNITS], l2, dram;
    double shared;     /* share of the time for which the path to shared memory and the L1 is busy */
    double starting;   /* share of the time in which the device starts blocks */
    double l2_bytes;   /* bytes that the SM has read from the L2 or written to it */
    double hottest;    /* clocks for which the atomics keep the most used 2 KiB of memory busy */
    uint64_t replayed; /* number of instructions that were replayed */
} vm_time_result;

/* Estimates the time of a launch. Returns false if memory runs out. */
bool model_time_estimate(const kiln_allocator *mem, const vm_time_launch *launch, vm_time_result *result);
/* Returns a factor from 1 to 1.04. If the estimates of two launches are nearly equal, the clocks times this factor
 * decide their order (ties.c). */
double model_time_tie_factor(const vm_time_launch *launch, const vm_time_result *result);
/* Names the bottleneck of the launch in a few words: "memory", "fp32 units". `overhead` is the time of starting the
 * launch in clocks. result->clocks does not include it. The text is static. */
const char *model_time_bound(const vm_time_result *result, double overhead);
#endif
