/* vm_cost.h - the cost of each PTX instruction on a device: the number of machine instructions, their functional unit
 * and latency. Also the order in which a compiler would place the instructions. */
#ifndef KILN_SIM_VM_COST_H
#define KILN_SIM_VM_COST_H

#include "model.h"
#include "vm_trace.h"

/* The functional units of an SM. */
typedef enum vm_unit {
    VM_UNIT_NONE,
    VM_UNIT_ALU,
    VM_UNIT_FMA,
    VM_UNIT_MULTIPLY,
    VM_UNIT_FP64,
    VM_UNIT_FP16,
    VM_UNIT_SFU,
    VM_UNIT_SHUFFLE,
    VM_UNIT_TENSOR,
    VM_UNIT_MEMORY,
    VM_UNITS
} vm_unit;

/* The way in which the replay (time.c) handles an instruction. */
typedef enum vm_act {
    VM_ACT_PLAIN,
    VM_ACT_LOAD,
    VM_ACT_STORE,
    VM_ACT_ATOMIC,
    VM_ACT_COPY,
    VM_ACT_BARRIER,
    VM_ACT_BRANCH,
    VM_ACT_FENCE,   /* orders memory accesses, and costs only its own instruction */
    VM_ACT_PRODUCT, /* wgmma: the tensor core multiplies while the warp continues */
    /* a bulk copy or an operation on an mbarrier, which the instruction's record in the trace describes */
    VM_ACT_ENGINE,
    VM_ACT_COMMIT, /* the asynchronous work of a queue that has no group yet becomes a group */
    VM_ACT_WAIT    /* the warp waits until at most `pending` groups of a queue are incomplete */
} vm_act;

/* The kinds of asynchronous work of a warp. Each kind has a queue. */
typedef enum vm_queue { VM_QUEUE_COPIES, VM_QUEUE_PRODUCTS, VM_QUEUE_BULK, VM_QUEUES } vm_queue;

/* The cost of one instruction. */
typedef struct vm_cost_insn {
    uint8_t unit, act;
    uint8_t issue; /* number of machine instructions; 0 if the compiler removes the PTX instruction */
    vm_traced traced;
    bool joined; /* true for a branch within a region, which the compiler replaces by predicates */
    /* queue: the queue of a COMMIT or WAIT; pending: the number of groups that may stay incomplete after a WAIT */
    uint8_t queue, pending;
    bool open;    /* a WAIT that also waits for work without a group */
    bool reading; /* a WAIT that only waits until bulk stores have read shared memory */
    uint16_t latency;
    uint16_t operands; /* for a wgmma: bytes of operands that the tensor core reads from shared memory for this warp */
    float busy;        /* number of clocks for which the instruction keeps its unit busy */
    /* the instruction's registers in vm_cost.registers, from index `first` on: the sources, then the results */
    uint32_t first, source_count, result_count;
    /* leader: the first load of the loads that the compiler combines with this load into one */
    uint32_t region, leader;
} vm_cost_insn;

/* A region: instructions that schedule.c orders together. A region is one basic block, or several basic blocks with
 * short forward branches between them. The compiler replaces these branches by predicates. */
typedef struct vm_region {
    uint32_t first, count;
    /* index in vm_cost.order of the region's first instruction; the region has `count` instructions there */
    uint32_t order;
} vm_region;

/* The costs of a module on a device, and the order of its regions. */
typedef struct vm_cost {
    const kiln_allocator *mem;
    /* longest: number of instructions of the longest region */
    uint32_t insn_count, region_count, register_count, longest;
    size_t operand_count, operand_capacity, region_capacity;
    vm_cost_insn *insns; /* indexed by count_tally_first() */
    vm_region *regions;
    uint32_t *order, *registers;
    uint32_t *place; /* indexed by instruction: number of machine instructions before it in the code */
    bool sends;      /* a kernel of the module sends data to other blocks of its cluster (st.async, red.async) */
    /* A kernel of the module has volatile, relaxed or acquire loads, so it may read words that other blocks write
     * during the launch. */
    bool polls;
} vm_cost;

/* Computes the costs of a module. Returns NULL if memory runs out, or if the model cannot time the module because it is
 * too large. */
vm_cost *model_cost_new(const kiln_allocator *mem, const vm_module *module, const sim_model *model);
void model_cost_free(vm_cost *cost);
/* Sets how the trace records each instruction. */
void model_cost_trace(const vm_cost *cost, struct vm_trace *trace);
#endif
