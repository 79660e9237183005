/* ptx_trait.h - properties of an opcode for counters, estimate and checks: three columns of its row in ops.def.
 *
 * The rooms that use them have switches without a default. So a row without these words does not compile, nor does a
 * new word until every room handles it. If the answer depends on types, modifiers or the state space, the word names
 * the rule, and the room has one function for it. */
#ifndef KILN_SIM_PTX_TRAIT_H
#define KILN_SIM_PTX_TRAIT_H

/* The kind of instruction, for the counters: observe/count/class.c makes a kiln_class of it. */
typedef enum ptx_class {
    /* by the type: fp32, fp64, fp16 or integer */
    PTX_CLASS_ADD,     /* one floating-point operation */
    PTX_CLASS_MUL,     /* one */
    PTX_CLASS_FMA,     /* two */
    PTX_CLASS_SIGN,    /* abs, neg: none */
    PTX_CLASS_MIN_MAX, /* none; for f32 a comparison */
    PTX_CLASS_DIVIDE,  /* of integers, or a special function */
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
    PTX_COST_TENSOR, /* by the shape and the types */
    /* counted as one ALU instruction, cost unknown: engine/sim/observe/model/ESTIMATE.md, "What it cannot see" */
    PTX_COST_COARSE,
    /* by a rule */
    PTX_COST_SUM,        /* by the type; two for 64-bit integers */
    PTX_COST_LOGIC,      /* the same; of predicates: free */
    PTX_COST_SHIFT_LEFT, /* the same, or fused with an addition */
    PTX_COST_SELECT,     /* on the ALU whatever the type; two for 64 bits */
    PTX_COST_FMA,        /* by the type, one */
    PTX_COST_PRODUCT,    /* by the type and the half; a wide product may be fused with an addition */
    PTX_COST_DIVISION,   /* its known sequence */
    PTX_COST_SIGN,       /* for floats: free, a modifier of the instruction that reads the result */
    PTX_COST_MIN_MAX,
    PTX_COST_BIT_COUNT, /* one, two for 64 bits, on the SFU */
    PTX_COST_PAIR,      /* two, four for 64 bits */
    PTX_COST_COMPARE,
    PTX_COST_MOVE,
    PTX_COST_CONVERT,
    PTX_COST_FUNCTION,
    PTX_COST_FUNCTION_TWICE, /* on the SFU, once or twice; of f64 a sequence */
    PTX_COST_ROOT            /* rcp, sqrt: as FUNCTION if approximate, a sequence otherwise */
} ptx_cost;

/* The effects of an instruction besides the registers that it writes. Three rooms use them:
 *   observe/count/watch.c                    memory accesses for counters, traces and checks
 *   observe/check/code.c                       the rules of the checks
 *   observe/model/cost.c, observe/model/schedule.c     waiting and ordering in the estimate */
typedef enum ptx_effect {
    PTX_EFFECT_NONE,
    PTX_EFFECT_HINT, /* names memory without an access */
    /* memory, lane by lane; LOAD and STORE of a parameter are not accesses */
    PTX_EFFECT_LOAD,
    PTX_EFFECT_STORE,
    PTX_EFFECT_ATOMIC,
    PTX_EFFECT_REDUCTION, /* an atomic without a result */
    PTX_EFFECT_TEXTURE,   /* through a texture or surface: no access is shown */
    /* memory, the warp as a whole */
    PTX_EFFECT_ROWS_LOAD,
    PTX_EFFECT_ROWS_STORE, /* ldmatrix, stmatrix */
    PTX_EFFECT_FRAGMENT_LOAD,
    PTX_EFFECT_FRAGMENT_STORE, /* wmma */
    /* asynchronous copies */
    PTX_EFFECT_COPY,
    PTX_EFFECT_COMMIT,
    PTX_EFFECT_WAIT,        /* cp.async and its groups */
    PTX_EFFECT_COPY_ARRIVE, /* ... that arrive at an mbarrier */
    PTX_EFFECT_BULK,        /* memory to memory; done when issued, only the checks see its accesses */
    PTX_EFFECT_TENSOR,      /* by a tensor map: the same */
    PTX_EFFECT_BULK_STORE,  /* st.bulk: the same */
    PTX_EFFECT_REMOTE,      /* st.async, red.async: the same */
    PTX_EFFECT_BULK_GROUP,  /* nothing to wait for here */
    PTX_EFFECT_MBARRIER,
    /* order among threads */
    PTX_EFFECT_FENCE,
    PTX_EFFECT_PROXY_FENCE, /* orders proxies or an mbarrier's init; no effect, as there is only one proxy here */
    PTX_EFFECT_BARRIER,
    PTX_EFFECT_CLUSTER_ARRIVE,
    PTX_EFFECT_CLUSTER_WAIT,
    PTX_EFFECT_WARP_BARRIER, /* of the lanes in a mask */
    PTX_EFFECT_EXCHANGE,     /* among the lanes in a mask */
    PTX_EFFECT_WHOLE_WARP,   /* among all lanes */
    PTX_EFFECT_WARPGROUP,    /* wgmma: among four warps; reads shared memory, which is not shown as accesses */
    /* control */
    PTX_EFFECT_BRANCH,
    PTX_EFFECT_BRANCH_INDEXED,
    PTX_EFFECT_CALL,
    PTX_EFFECT_LEAVE /* ret, exit */
} ptx_effect;

#endif
