/* kiln_sim.h - what only the simulated device can do: checks, profiles, traces, the list of its instructions.
 *
 * Experimental: everything in this header may change in any version, also after 1.0. Otherwise the rules of kiln.h
 * hold.
 */
#ifndef KILN_SIM_H
#define KILN_SIM_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- check: the simulated device finds errors that a GPU does not report ----------------------------------------- */

/* X(name, text). What is found; engine/sim/check/CHECKS.md says what each means and what is not looked for. */
#define KILN_CHECK_MAP(X)                                                                                              \
    X(BOUNDS, "out of bounds")                                                                                         \
    X(MISALIGNED, "misaligned access")                                                                                 \
    X(FREED, "use after free")                                                                                         \
    X(BAD_FREE, "invalid free")                                                                                        \
    X(UNINITIALISED, "uninitialised read")                                                                             \
    X(RACE, "race")                                                                                                    \
    X(READ_ONLY, "read-only data written")                                                                             \
    X(BARRIER, "barrier misuse")                                                                                       \
    X(WARP, "undefined warp operation")                                                                                \
    X(LEAK, "leak")                                                                                                    \
    X(FAULT, "fault")                                                                                                  \
    X(ASYNC, "asynchronous operation")
typedef enum kiln_check_kind {
#define KILN_X(name, text) KILN_CHECK_##name,
    KILN_CHECK_MAP(KILN_X)
#undef KILN_X
        KILN_CHECK_KINDS
} kiln_check_kind;
KILN_API const char *kiln_check_text(kiln_check_kind kind); /* "out of bounds"; "" for an unknown kind */

/* One side of a finding: an access, a call, a barrier. */
typedef struct kiln_check_side {
    const char *what;        /* "write of 4 bytes"; NULL: there is no such side */
    const char *file;        /* "" if the code has no line numbers */
    unsigned line, ptx_line; /* 0: not known */
    const char *text;        /* of the line; "" if the source is not available */
    const char *inlined;     /* "in f, called at a.cu:12", innermost first; "" where nothing was inlined */
    unsigned block[3], thread[3];
    int has_block, has_thread; /* 0: not known, or several */
} kiln_check_side;

/* It and its texts live until the callback returns. */
struct kiln_check_finding {
    kiln_check_kind kind;
    int note;                  /* 1: may be intended, such as two threads that write the same value */
    const char *kernel;        /* "" for what the host did */
    const char *message;       /* one sentence */
    kiln_check_side at, other; /* other: what a race is with, where memory was freed, ... */
    const char *space;         /* "global", "shared", "local"; "" if it is not about memory */
    uint64_t address, bytes;
    const char *allocation; /* "at offset 64 of an allocation of 256 bytes", ... */
    uint64_t count;         /* of threads that did the same at the same place */
    /* The buffer of the plan in which `address` lies, or beside which; "": none. Memory that the program bound to it is
     * known if it is a whole allocation. */
    const char *buffer, *role; /* role: "an input", "an output", "an input and output", "scratch memory" */
    int64_t offset; /* of `address` from its beginning: negative before it, from buffer_bytes on past its end */
    uint64_t buffer_bytes;
};

/* ---- profile: what kernels do, counted on the simulated device ------------------------------------------------ */

/* What kind of instruction (of PTX) it is. X(name, text) */
#define KILN_CLASS_MAP(X)                                                                                              \
    X(fp32_add, "fp32 add")                                                                                            \
    X(fp32_mul, "fp32 mul")                                                                                            \
    X(fp32_fma, "fp32 fma")                                                                                            \
    X(fp64_add, "fp64 add")                                                                                            \
    X(fp64_mul, "fp64 mul")                                                                                            \
    X(fp64_fma, "fp64 fma")                                                                                            \
    X(fp16, "fp16")                                                                                                    \
    X(int, "integer")                                                                                                  \
    X(logic, "logic, shift")                                                                                           \
    X(convert, "conversion")                                                                                           \
    X(special, "special function")                                                                                     \
    X(compare, "compare, select")                                                                                      \
    X(move, "move")                                                                                                    \
    X(control, "control")                                                                                              \
    X(load_global, "load global")                                                                                      \
    X(store_global, "store global")                                                                                    \
    X(load_shared, "load shared")                                                                                      \
    X(store_shared, "store shared")                                                                                    \
    X(load_local, "load local")                                                                                        \
    X(store_local, "store local")                                                                                      \
    X(load_const, "load constant")                                                                                     \
    X(load_param, "parameter")                                                                                         \
    X(load_generic, "load generic")                                                                                    \
    X(store_generic, "store generic")                                                                                  \
    X(copy_async, "asynchronous copy")                                                                                 \
    X(atomic, "atomic")                                                                                                \
    X(barrier, "barrier")                                                                                              \
    X(warp, "warp operation")                                                                                          \
    X(tensor, "tensor")                                                                                                \
    X(texture, "texture")                                                                                              \
    X(other, "other")
typedef enum kiln_class {
#define KILN_X(name, text) KILN_CLASS_##name,
    KILN_CLASS_MAP(KILN_X)
#undef KILN_X
        KILN_CLASS_COUNT
} kiln_class;

/* Counters. A request is one memory instruction of one warp with at least one lane. `lanes` add up to the accesses of
 * threads, `bytes` to what they ask for, `used` to the different bytes among a request's, `sectors` and `lines` to the
 * different 32-byte and 128-byte pieces of memory that a request touches. A wavefront is a pass through the 32 banks of
 * shared memory; with `ideal` of them there were no conflict. `addresses` are the different ones of a request, `serial`
 * the lanes that fall on the one that most of them share. X(name, how it adds up, text). engine/sim/observe/COUNTERS.md
 * has the rules. */
#define KILN_COUNTER_TRAFFIC(X, name, text)                                                                            \
    X(name##_requests, SUM, text " requests")                                                                          \
    X(name##_lanes, SUM, text " lanes")                                                                                \
    X(name##_bytes, SUM, text " bytes")                                                                                \
    X(name##_used, SUM, text " different bytes")                                                                       \
    X(name##_sectors, SUM, text " sectors")                                                                            \
    X(name##_lines, SUM, text " lines")
#define KILN_COUNTER_BANKS(X, name, text)                                                                              \
    X(name##_requests, SUM, text " requests")                                                                          \
    X(name##_lanes, SUM, text " lanes")                                                                                \
    X(name##_bytes, SUM, text " bytes")                                                                                \
    X(name##_wavefronts, SUM, text " wavefronts")                                                                      \
    X(name##_ideal, SUM, text " wavefronts without conflicts")                                                         \
    X(name##_worst, MOST, text " wavefronts of one request, at most")
#define KILN_COUNTER_ATOMIC(X, name, text)                                                                             \
    X(name##_addresses, SUM, text " different addresses")                                                              \
    X(name##_serial, SUM, text " lanes in series")                                                                     \
    X(name##_most, MOST, text " lanes on one address, at most")
#define KILN_COUNTER_MAP(X)                                                                                            \
    X(executed, SUM, "warp instructions")                                                                              \
    X(lanes, SUM, "thread instructions")                                                                               \
    KILN_COUNTER_TRAFFIC(X, global_load, "global load")                                                                \
    KILN_COUNTER_TRAFFIC(X, global_store, "global store")                                                              \
    KILN_COUNTER_TRAFFIC(X, global_atomic, "global atomic")                                                            \
    KILN_COUNTER_ATOMIC(X, global_atomic, "global atomic")                                                             \
    KILN_COUNTER_TRAFFIC(X, local_load, "local load")                                                                  \
    KILN_COUNTER_TRAFFIC(X, local_store, "local store")                                                                \
    KILN_COUNTER_BANKS(X, shared_load, "shared load")                                                                  \
    KILN_COUNTER_BANKS(X, shared_store, "shared store")                                                                \
    KILN_COUNTER_BANKS(X, shared_atomic, "shared atomic")                                                              \
    KILN_COUNTER_ATOMIC(X, shared_atomic, "shared atomic")                                                             \
    X(const_requests, SUM, "constant requests")                                                                        \
    X(const_lanes, SUM, "constant lanes")                                                                              \
    X(const_addresses, SUM, "constant different addresses")                                                            \
    X(branches, SUM, "conditional branches")                                                                           \
    X(divergent, SUM, "divergent branches")                                                                            \
    X(barriers, SUM, "barrier arrivals of warps")                                                                      \
    X(warp_syncs, SUM, "warp operations that wait for lanes")                                                          \
    /* tensor cores: multiplications and additions by the type of what is multiplied, then some of them again */       \
    X(tensor_fp16, SUM, "tensor fp16 operations")                                                                      \
    X(tensor_bf16, SUM, "tensor bf16 operations")                                                                      \
    X(tensor_tf32, SUM, "tensor tf32 operations")                                                                      \
    X(tensor_fp8, SUM, "tensor fp8 operations")                                                                        \
    X(tensor_fp64, SUM, "tensor fp64 operations")                                                                      \
    X(tensor_int8, SUM, "tensor int8 operations")                                                                      \
    X(tensor_int4, SUM, "tensor int4 operations")                                                                      \
    X(tensor_int1, SUM, "tensor int1 operations")                                                                      \
    X(tensor_fp16_sums, SUM, "tensor operations with fp16 sums")                                                       \
    X(tensor_sparse, SUM, "tensor operations of sparse matrices")                                                      \
    X(tensor_wgmma, SUM, "tensor operations by wgmma")                                                                 \
    /* copies that no thread waits for. read: from global memory; bytes: written, in all blocks of a multicast */      \
    X(cp_async_requests, SUM, "cp.async requests")                                                                     \
    X(cp_async_bytes, SUM, "cp.async bytes")                                                                           \
    X(bulk_loads, SUM, "bulk copies to shared memory")                                                                 \
    X(bulk_load_bytes, SUM, "bulk copies to shared memory, bytes")                                                     \
    X(bulk_load_read, SUM, "bulk copies to shared memory, bytes read")                                                 \
    X(bulk_load_sectors, SUM, "bulk copies to shared memory, sectors read")                                            \
    X(bulk_multicasts, SUM, "bulk copies with multicast")                                                              \
    X(bulk_stores, SUM, "bulk copies to global memory")                                                                \
    X(bulk_store_bytes, SUM, "bulk copies to global memory, bytes")                                                    \
    X(bulk_store_sectors, SUM, "bulk copies to global memory, sectors")                                                \
    X(bulk_shared, SUM, "bulk copies between shared memories")                                                         \
    X(bulk_shared_bytes, SUM, "bulk copies between shared memories, bytes")                                            \
    X(bulk_reductions, SUM, "bulk copies that reduce")                                                                 \
    X(bulk_by_map, SUM, "bulk copies by a tensor map")                                                                 \
    X(mbarrier_waits, SUM, "waits of warps for an mbarrier")
typedef struct kiln_counters {
#define KILN_X(name, adds, text) uint64_t name;
    KILN_COUNTER_MAP(KILN_X)
#undef KILN_X
} kiln_counters;
KILN_API const char *kiln_class_name(kiln_class what); /* "fp32_add" */
KILN_API const char *kiln_class_text(kiln_class what); /* "fp32 add" */

typedef struct kiln_profiling kiln_profiling;

typedef struct kiln_profiled_kernel {
    const char *name, *symbol; /* as the spec names it; as the module does */
    uint64_t launches, blocks, warps;
    unsigned grid[3], block[3]; /* of the first launch, as is dynamic_shared */
    uint64_t static_shared, dynamic_shared, local_bytes;
    int registers;       /* a thread */
    int registers_exact; /* 1: of machine code for the device's architecture; 0: estimated from the PTX */
    int blocks_per_sm;
    double occupancy;                             /* resident warps over the most an SM holds; 0: not known */
    const char *limited_by;                       /* "registers", "shared memory", "threads", "blocks" */
    double flops;                                 /* add and mul count 1, fma 2 */
    const uint64_t *class_executed, *class_lanes; /* of each kiln_class, so many: */
    size_t class_count;
    const kiln_counters *counters; /* belongs to the kiln_profiling, as all that these structs point to */
} kiln_profiled_kernel;

/* A line of the source, as far as the compiler says where an instruction comes from. */
typedef struct kiln_profiled_line {
    size_t kernel;
    const char *file, *text; /* "" where they are not known */
    unsigned line;
    const kiln_counters *counters;
} kiln_profiled_line;

typedef struct kiln_profiled_insn {
    size_t kernel;
    const char *file, *ptx; /* ptx: the instruction */
    unsigned line, ptx_line;
    kiln_class what;
    int l1; /* 1: an access that the L1 cache may serve (no .cg, .volatile and so on) */
    const kiln_counters *counters;
} kiln_profiled_insn;

/* Fills the buffers, runs the steps once on the simulated device with every instruction counted, and verifies.
 * `options` (may be NULL) as for kiln_plan_run(), of which flags, inputs, sample_timeout and stop are used. Free
 * *profiling with kiln_profiling_free(). KILN_ERROR_UNSUPPORTED: the engine's device is not the simulated one. */
KILN_API kiln_status kiln_profile(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const kiln_run_options *options, kiln_profiling **profiling, kiln_error **error);
KILN_API void kiln_profiling_free(kiln_profiling *profiling); /* NULL is allowed */
KILN_API int kiln_profiling_verified(const kiln_profiling *profiling);
/* Kernels in the order of their first launch; lines by kernel, file and number; instructions that were executed by
 * kernel and place. NULL past the last. */
KILN_API size_t kiln_profiling_kernel_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_kernel *kiln_profiling_kernel(const kiln_profiling *profiling, size_t kernel);
KILN_API size_t kiln_profiling_line_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_line *kiln_profiling_line(const kiln_profiling *profiling, size_t line);
KILN_API size_t kiln_profiling_insn_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_insn *kiln_profiling_insn(const kiln_profiling *profiling, size_t insn);

/* One access of one thread. */
typedef struct kiln_traced_access {
    const char *kernel, *file; /* as the spec names it; "" where it is not known */
    unsigned line;
    unsigned block[3], thread[3];
    uint64_t step;                          /* counts the accesses of the thread's warp, from 0 */
    const char *space;                      /* "global" "shared" "local" "constant" */
    int reads, writes;                      /* both: an atomic operation */
    const char *buffer;                     /* of the spec; NULL: none */
    kiln_type type;                         /* of the buffer's elements */
    int dims;                               /* of the buffer; 0 without one */
    uint64_t element, index[KILN_MAX_DIMS]; /* flat, and by dimension; in a buffer */
    uint64_t address;                       /* in a buffer: bytes from its start; else in its space */
    unsigned bytes;
} kiln_traced_access;
/* Return nonzero to be shown no more. */
typedef int (*kiln_trace_fn)(void *user, const kiln_traced_access *access);
/* The same run. `show` is called for each access of one block (its number: x + y * grid.x + z * grid.x * grid.y) of
 * every launch; `access` lives until it returns. */
KILN_API kiln_status kiln_trace(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                const kiln_run_options *options, uint64_t block, kiln_trace_fn show, void *user,
                                kiln_error **error);

/* ---- the simulated device's instruction set -------------------------------------------------------------------- */

typedef enum kiln_sim_kind {
    KILN_SIM_RUNS,    /* an instruction that the device executes */
    KILN_SIM_REFUSED, /* one of PTX that it refuses at load, by its name */
    KILN_SIM_REGISTER /* a special register that can be read */
} kiln_sim_kind;
typedef struct kiln_sim_instruction {
    const char *name; /* "ld", "mma.sp", "%tid.x" */
    kiln_sim_kind kind;
    const char *const *forms; /* of RUNS: "rn|rz? ftz? f32 : d0 s0 s0", suffixes and operands; ends with NULL. "@90"
                                 after a suffix or among them: the target that the suffix or the form needs */
    size_t form_count;
    const char *since; /* the target that it needs, as ops.def writes it ("90": sm_90 and all later, "90a": that one
                          alone); of REFUSED, and where any will do: NULL */
} kiln_sim_instruction;
/* Return nonzero to be called no more. */
typedef int (*kiln_sim_instruction_fn)(void *user, const kiln_sim_instruction *instruction);
/* Visits all of them, in a fixed order: what runs, what is refused, the special registers. What is visited stays. */
KILN_API void kiln_sim_instructions(kiln_sim_instruction_fn visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
