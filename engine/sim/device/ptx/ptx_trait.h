/* ptx_trait.h - properties of an opcode for counters, estimate and checks: three columns of its row in ops.def.
 *
 * The folders that use the class and the cost have switches without a default. So a row without them does not compile,
 * and a new enumerator compiles only when every such switch handles it. If the class or cost depends on types,
 * modifiers or the state space, the enumerator names a rule. The folder that uses it has a function for this rule. */
#ifndef KILN_SIM_PTX_TRAIT_H
#define KILN_SIM_PTX_TRAIT_H

/* The kind of instruction, for the counters. observe/count/class.c converts it to a kiln_class. */
typedef enum ptx_class {
    /* the counters' class of these depends on the instruction's type: fp32, fp64, fp16 or integer */
    PTX_CLASS_ADD,     /* counts as one floating-point operation */
    PTX_CLASS_MUL,     /* counts as one floating-point operation */
    PTX_CLASS_FMA,     /* counts as two floating-point operations */
    PTX_CLASS_SIGN,    /* abs and neg: not counted as a floating-point operation */
    PTX_CLASS_MIN_MAX, /* not counted as a floating-point operation; for f32 the counters' class is comparison */
    PTX_CLASS_DIVIDE,  /* for integer types the counters' class is integer, for floats special function */
    /* the counters' class of these depends on the state space */
    PTX_CLASS_LOAD,
    PTX_CLASS_STORE,
    /* the counters' class of these is fixed */
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

/* The machine code that a PTX instruction becomes, for the estimate of times. observe/model/cost.c converts it to a
 * functional unit and a number of machine instructions. */
typedef enum ptx_cost {
    PTX_COST_FREE, /* ptxas makes no machine instruction */
    /* one machine instruction of the named unit: */
    PTX_COST_ALU,
    PTX_COST_MULTIPLY,
    PTX_COST_SFU,
    PTX_COST_SHUFFLE,
    PTX_COST_MEMORY, /* loads of parameters cost nothing */
    PTX_COST_TENSOR, /* depends on the shape and the types */
    /* The cost is unknown and counts as one ALU instruction (engine/sim/observe/model/ESTIMATE.md, "What it cannot
     * see"). */
    PTX_COST_COARSE,
    /* rules: */
    PTX_COST_SUM,        /* one instruction of the unit of the type; two for 64-bit integers */
    PTX_COST_LOGIC,      /* like SUM, but operations on predicates cost nothing */
    PTX_COST_SHIFT_LEFT, /* like SUM; a following addition may be fused with the shift */
    PTX_COST_SELECT,     /* runs on the ALU for all types; two instructions for 64 bits */
    PTX_COST_FMA,        /* one instruction of the unit of the type */
    /* Depends on the type and on the half of the product that the instruction returns. A wide product may be fused with
     * an addition. */
    PTX_COST_PRODUCT,
    PTX_COST_DIVISION, /* the instruction sequence of a division */
    /* costs nothing for floats, because it becomes a modifier of the instruction that reads the result */
    PTX_COST_SIGN,
    PTX_COST_MIN_MAX,
    PTX_COST_BIT_COUNT, /* on the SFU: one instruction, or two for 64 bits */
    PTX_COST_PAIR,      /* two instructions, or four for 64 bits */
    PTX_COST_COMPARE,
    PTX_COST_MOVE,
    PTX_COST_CONVERT,
    PTX_COST_FUNCTION,
    PTX_COST_FUNCTION_TWICE, /* one or two instructions on the SFU; a sequence of instructions for f64 */
    PTX_COST_ROOT            /* rcp and sqrt: like FUNCTION if approximate, otherwise a sequence */
} ptx_cost;

/* The effect of an instruction besides writing registers. effects.def has one row for each effect, and says how the
 * observers handle it. */
typedef enum ptx_effect {
#define EFFECT(name, flow, engine, access, check, act, result) PTX_EFFECT_##name,
#include "effects.def"
} ptx_effect;

#endif
