/* vm_cost.h - the cost of a module's instructions on a device: the number of machine instructions, the unit that they
 * use, the latency of the result; and the order that a compiler would give them. */
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

/* How the replay handles an instruction. */
typedef enum vm_act {
    VM_ACT_PLAIN,
    VM_ACT_LOAD,
    VM_ACT_STORE,
    VM_ACT_ATOMIC,
    VM_ACT_COPY,
    VM_ACT_BARRIER,
    VM_ACT_BRANCH,
    VM_ACT_FENCE,   /* orders memory accesses; costs only its instruction */
    VM_ACT_PRODUCT, /* wgmma: the tensor core works while the warp continues */
    VM_ACT_ENGINE,  /* a bulk copy or an operation on an mbarrier, which the record describes */
    VM_ACT_COMMIT,  /* the open work of a queue becomes a group */
    VM_ACT_WAIT     /* waits until at most `pending` groups of a queue are not complete */
} vm_act;

/* The queues of asynchronous work of a warp. */
typedef enum vm_queue { VM_QUEUE_COPIES, VM_QUEUE_PRODUCTS, VM_QUEUE_BULK, VM_QUEUES } vm_queue;

/* The cost of one instruction. */
typedef struct vm_cost_insn {
    uint8_t unit, act;
    uint8_t issue; /* number of machine instructions; 0 if the compiler removes the instruction */
    vm_traced traced;
    bool joined;            /* a branch inside of a region */
    uint8_t queue, pending; /* only COMMIT and WAIT use these */
    bool open;              /* for WAIT: also waits for work that is not committed */
    bool reading;           /* for WAIT: waits only until stores have read shared memory */
    uint16_t latency;
    uint16_t operands; /* for PRODUCT: bytes of this warp's operands in shared memory */
    float busy;        /* clocks that it keeps the unit of its scheduler busy */
    /* the registers, in vm_cost.registers from `first` on: the sources, then the results */
    uint32_t first, source_count, result_count;
    uint32_t region, leader; /* leader: the combined load that includes this load */
} vm_cost_insn;

/* Instructions that are scheduled together. They are a basic block, or several basic blocks that short forward branches
 * join, because such branches become predicates. */
typedef struct vm_region {
    uint32_t first, count;
    uint32_t order; /* place in vm_cost.order, with `count` instructions */
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
    uint32_t *place; /* indexed by instruction: number of machine instructions before it */
    bool sends;      /* a kernel sends data to other blocks of its cluster (st.async, red.async) */
    /* A kernel has volatile, relaxed or acquire loads, so it may read words that other blocks write during the
     * launch. */
    bool polls;
} vm_cost;

/* Computes the costs of a module. Returns NULL if memory runs out, or if the module is too large to be timed. */
vm_cost *model_cost_new(const kiln_allocator *mem, const vm_module *module, const sim_model *model);
void model_cost_free(vm_cost *cost);
/* Tells the trace what to record of each instruction. */
void model_cost_trace(const vm_cost *cost, struct vm_trace *trace);
#endif
