/* vm_cost.h - the cost of a module's instructions on a device: how many machine instructions each becomes, their unit
 * and latency. Also the order that a compiler would give them. */
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

/* Tells how the replay handles an instruction. */
typedef enum vm_act {
    VM_ACT_PLAIN,
    VM_ACT_LOAD,
    VM_ACT_STORE,
    VM_ACT_ATOMIC,
    VM_ACT_COPY,
    VM_ACT_BARRIER,
    VM_ACT_BRANCH,
    VM_ACT_FENCE,   /* orders memory accesses, and costs only its own instruction */
    VM_ACT_PRODUCT, /* wgmma: the tensor core works on the product while the warp continues */
    VM_ACT_ENGINE,  /* a bulk copy or an operation on an mbarrier, which the record describes */
    VM_ACT_COMMIT,  /* the work that a queue has not grouped yet becomes a group */
    VM_ACT_WAIT     /* waits until at most `pending` groups of a queue are incomplete */
} vm_act;

/* The queues of asynchronous work of a warp. */
typedef enum vm_queue { VM_QUEUE_COPIES, VM_QUEUE_PRODUCTS, VM_QUEUE_BULK, VM_QUEUES } vm_queue;

/* The cost of one instruction. */
typedef struct vm_cost_insn {
    uint8_t unit, act;
    uint8_t issue; /* number of machine instructions; 0 if the compiler removes the PTX instruction */
    vm_traced traced;
    bool joined;            /* a branch within a region */
    uint8_t queue, pending; /* the queue of a COMMIT or WAIT, and the `pending` of a WAIT */
    bool open;              /* a WAIT also waits for work that belongs to no group yet */
    bool reading;           /* a WAIT only waits until bulk stores have read shared memory */
    uint16_t latency;
    uint16_t operands; /* of a PRODUCT: bytes that the tensor core reads from shared memory for this warp */
    float busy;        /* clocks for which the instruction keeps its unit busy */
    /* the instruction's registers in vm_cost.registers, from index `first` on: the sources, then the results */
    uint32_t first, source_count, result_count;
    uint32_t region, leader; /* leader: the first load of the group of combined loads that contains this load */
} vm_cost_insn;

/* Instructions that the scheduler orders together. A region is one basic block, or several basic blocks with short
 * forward branches between them. Such branches become predicates. */
typedef struct vm_region {
    uint32_t first, count;
    uint32_t order; /* index in vm_cost.order, where the region has `count` instructions */
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
    uint32_t *place; /* indexed by instruction: number of machine instructions that precede it */
    bool sends;      /* a kernel of the module sends data to other blocks of its cluster (st.async, red.async) */
    /* A kernel of the module has volatile, relaxed or acquire loads, so it may read words that other blocks write
     * during the launch. */
    bool polls;
} vm_cost;

/* Computes the costs of a module. Returns NULL if memory runs out, or if the model cannot time the module because it is
 * too large. */
vm_cost *model_cost_new(const kiln_allocator *mem, const vm_module *module, const sim_model *model);
void model_cost_free(vm_cost *cost);
/* Tells the trace how to record each instruction. */
void model_cost_trace(const vm_cost *cost, struct vm_trace *trace);
#endif
