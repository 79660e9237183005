/* ptx_trait.h - properties of an opcode for counters, estimate and checks: three columns of its row in ops.def.
 *
 * The rooms that use the class and the cost have switches without a default. So a row without these words does not compile,
 * nor does a new word until every room handles it. If the answer depends on types, modifiers or the state space, the word
 * names the rule, and the room has one function for it. */
#ifndef KILN_SIM_PTX_TRAIT_H
#define KILN_SIM_PTX_TRAIT_H

/* The kind of instruction, for the counters: observe/count/class.c makes a kiln_class of it. */
typedef enum ptx_class {
    /* by the type: fp32, fp64, fp16 or integer */
    PTX_CLASS_ADD,     /* counts as one floating-point operation */
    PTX_CLASS_MUL,     /* one */
    PTX_CLASS_FMA,     /* two */
    PTX_CLASS_SIGN,    /* abs, neg: counts as no operation */
    PTX_CLASS_MIN_MAX, /* counts as no operation; for f32 a comparison */
    PTX_CLASS_DIVIDE,  /* for integers, or a special function */
    /* by the state space */
    PTX_CLASS_LOAD,
    PTX_CLASS_STORE,
    /* always the same */
    PTX_CLASS_INT,
    PTX_CLASS_LOGIC,
    PTX_CLASS_CONVERT,
    PTX_CLASS_SPECIAL,
    PTX_CLASS_COMPARE,
    PTX_CLASS_MOVE,
    PTX_CLASS_CONTROL,
    PTX_CLASS_LOAD_GLOBAL,
    PTX_CLASS_STORE_SHARED,
    PTX_CLASS_COPY_ASYNC,
    PTX_CLASS_ATOMIC,
    PTX_CLASS_BARRIER,
    PTX_CLASS_WARP,
    PTX_CLASS_TENSOR,
    PTX_CLASS_TEXTURE,
    PTX_CLASS_OTHER
} ptx_class;

/* The machine code that it becomes, for the estimate: observe/model/cost.c translates it to a unit and a number of
 * instructions. */
typedef enum ptx_cost {
    PTX_COST_FREE, /* gone after compilation */
    /* one instruction of that unit */
    PTX_COST_ALU,
    PTX_COST_MULTIPLY,
    PTX_COST_SFU,
    PTX_COST_SHUFFLE,
    PTX_COST_MEMORY, /* parameters are free */
    PTX_COST_TENSOR, /* depends on the shape and the types */
    /* counted as one ALU instruction, cost unknown: engine/sim/observe/model/ESTIMATE.md, "What it cannot see" */
    PTX_COST_COARSE,
    /* by a rule */
    PTX_COST_SUM,        /* depends on the type; two instructions for 64-bit integers */
    PTX_COST_LOGIC,      /* the same; logic of predicates is free */
    PTX_COST_SHIFT_LEFT, /* the same, or fused with an addition */
    PTX_COST_SELECT,     /* runs on the ALU for all types; two instructions for 64 bits */
    PTX_COST_FMA,        /* one instruction, depending on the type */
    PTX_COST_PRODUCT,    /* depends on the type and the half; a wide product may be fused with an addition */
    PTX_COST_DIVISION,   /* the known instruction sequence of a division */
    PTX_COST_SIGN,       /* for floats: free, a modifier of the instruction that reads the result */
    PTX_COST_MIN_MAX,
    PTX_COST_BIT_COUNT, /* on the SFU: one instruction, or two for 64 bits */
    PTX_COST_PAIR,      /* two, four for 64 bits */
    PTX_COST_COMPARE,
    PTX_COST_MOVE,
    PTX_COST_CONVERT,
    PTX_COST_FUNCTION,
    PTX_COST_FUNCTION_TWICE, /* on the SFU, once or twice; a sequence for f64 */
    PTX_COST_ROOT            /* rcp, sqrt: as FUNCTION if approximate, a sequence otherwise */
} ptx_cost;

/* The effects of an instruction besides the registers that it writes: the rows of effects.def, which says how the
 * observers handle each one. */
typedef enum ptx_effect {
#define EFFECT(name, flow, engine, access, check, act, result) PTX_EFFECT_##name,
#include "effects.def"
} ptx_effect;

#endif
