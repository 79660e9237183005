/* kiln_sim.h - functions that only the simulated device offers: checks, profiles, traces, the list of its
 * instructions.
 *
 * Experimental: everything in this header may change in any version, also after 1.0. All other rules are the same as
 * in kiln.h. */
#ifndef KILN_SIM_H
#define KILN_SIM_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- check: the simulated device finds errors that a GPU does not report ----------------------------------------- */

/* The kinds of errors that the checks find. engine/sim/observe/check/CHECKS.md explains each kind, and the limits of
 * the checks. X(name, text) */
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
    X(ASYNC, "asynchronous operation")                                                                                 \
    X(TENSOR_PHASE, "tensor memory phase")                                                                             \
    X(TENSOR_COLUMNS, "tensor memory not allocated")                                                                   \
    X(TENSOR_OWNER, "tensor memory of another warp")                                                                   \
    X(TENSOR_BOUNDS, "tensor memory out of bounds")                                                                    \
    X(TENSOR_SIZE, "tensor memory granularity")                                                                        \
    X(TENSOR_ALIGNMENT, "tensor memory alignment")                                                                     \
    X(SPARSE_FLAG, "sparse flag")                                                                                      \
    X(SPARSE_USE, "sparse use")
typedef enum kiln_check_kind {
#define KILN_X(name, text) KILN_CHECK_##name,
    KILN_CHECK_MAP(KILN_X)
#undef KILN_X
        KILN_CHECK_KINDS
} kiln_check_kind;
/* Returns the text of a kind, such as "out of bounds". Returns "" for an unknown kind. */
KILN_API const char *kiln_check_text(kiln_check_kind kind);

/* One of the two places of a finding: an access, a call or a barrier. */
typedef struct kiln_check_side {
    const char *what;        /* text such as "write of 4 bytes"; NULL means that the finding has no such place */
    const char *file;        /* the source file of the place; "" if the code has no line numbers */
    unsigned line, ptx_line; /* the lines in the source and in the PTX; 0 if the line is not known */
    const char *text;        /* the text of the line; "" if the source is not available */
    /* The functions that the compiler inlined at this place, such as "in f, called at a.cu:12". The innermost call
     * comes first. "" means that the compiler inlined no function at this place. */
    const char *inlined;
    unsigned block[3], thread[3];
    /* 0 means that `block` or `thread` has no meaning: the block or thread is not known, or several of them caused the
     * finding. */
    int has_block, has_thread;
} kiln_check_side;

/* One error that the checks of the simulated device found. The finding and its texts live until the callback
 * returns. */
struct kiln_check_finding {
    kiln_check_kind kind;
    /* 1 means that the program may do this on purpose. For example, two threads write the same value. */
    int note;
    const char *kernel;  /* "" if the host caused the finding */
    const char *message; /* one sentence that describes the error */
    /* `at` is the place where the error occurred. `other` is a second place that belongs to the error, such as the
     * other access of a race, or the call that freed the memory. */
    kiln_check_side at, other;
    const char *space; /* "global", "shared", "local", "tensor"; "" if the finding is not about memory */
    uint64_t address, bytes;
    const char *allocation; /* the place in its allocation: "at offset 64 of an allocation of 256 bytes" */
    uint64_t count;         /* the number of threads with the same finding at the same place */
    /* The buffer of the plan that contains `address` or is next to `address`; "" if there is no such buffer. The
     * library recognises memory that the program bound to a buffer if this memory is a whole allocation. */
    const char *buffer, *role; /* role: "an input", "an output", "an input and output", "scratch memory" */
    /* The offset of `address` from the start of the buffer, in bytes. The offset is negative for an address before the
     * buffer. The offset is at least buffer_bytes for an address after the buffer. */
    int64_t offset;
    uint64_t buffer_bytes;
};

/* Returns 1 if a rule suppresses the finding, and otherwise 0.
 *
 * Each line of `rules` is a rule of up to three words: a kind with dashes in place of spaces (`out-of-bounds`), the
 * name of a kernel, and a place (`scan.cu:12`). Each word is a pattern of fnmatch(3). A rule may leave out the place,
 * or both the kernel and the place. A rule with a place suppresses only findings whose `at` or `other` is this place. A
 * line of `rules` that begins with # is a comment. A line of `rules` of 512 bytes or more suppresses nothing.
 * kiln_check_is_suppressed() returns 0 if an argument is NULL. Any thread may call it. */
KILN_API int kiln_check_is_suppressed(const char *rules, const kiln_check_finding *finding);

/* ---- profile: the work of kernels, counted on the simulated device
 * ------------------------------------------------ */

/* The classes of PTX instructions. X(name, text) */
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

/* The counters of a profile. X(name, SUM or MOST: add the values of several warps or take the largest, text).
 * engine/sim/observe/count/COUNTERS.md has the rules. A request is one memory instruction of one warp with at least one
 * active lane.
 *
 *   lanes        accesses by single threads
 *   bytes        bytes that all threads request together
 *   used         different bytes within each request
 *   sectors      different 32-byte pieces of memory that a request touches
 *   lines        different 128-byte pieces of memory that a request touches
 *   wavefronts   passes through the 32 banks of shared memory
 *   ideal        passes that would be needed without bank conflicts
 *   addresses    different addresses of a request
 *   serial       lanes on the address that most lanes of the request share */
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
    /* tensor cores: multiplications and additions by input type. The last three count some of these again. */         \
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
    /* asynchronous copies. read: bytes from global memory. bytes: bytes written, in all blocks of a multicast */      \
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
/* Return the name of a class, such as "fp32_add", and its text, such as "fp32 add". */
KILN_API const char *kiln_class_name(kiln_class what);
KILN_API const char *kiln_class_text(kiln_class what);

typedef struct kiln_profiling kiln_profiling;

typedef struct kiln_profiled_kernel {
    const char *name, *symbol; /* the name of the kernel in the spec, and its name in the module */
    uint64_t launches, blocks, warps;
    /* grid and block of the kernel's first launch; `dynamic_shared` is also of this launch */
    unsigned grid[3], block[3];
    uint64_t static_shared, dynamic_shared, local_bytes;
    int registers; /* registers of a thread */
    /* 1 means that `registers` comes from machine code for the device's architecture. 0 means that `registers` is
     * estimated from the PTX. */
    int registers_exact;
    int blocks_per_sm;
    /* The warps that are resident on an SM, divided by the most warps that an SM can hold. 0 means that the occupancy
     * is not known. */
    double occupancy;
    /* The resource that limits the occupancy: "registers", "shared memory", "threads", "blocks". */
    const char *limited_by;
    /* The number of floating-point operations. An addition or a multiplication counts 1, and a fused multiply-add
     * counts 2. */
    double flops;
    /* The number of executed warp instructions and thread instructions of each kiln_class. Both arrays have class_count
     * elements. */
    const uint64_t *class_executed, *class_lanes;
    size_t class_count;
    /* The counters, and everything else that this struct points to, belong to the kiln_profiling. */
    const kiln_counters *counters;
} kiln_profiled_kernel;

/* A line of the source, with the counters of all instructions that the compiler made from the line. For some
 * instructions the compiler names no line. */
typedef struct kiln_profiled_line {
    size_t kernel;
    const char *file, *text; /* the file, and the text of the line; "" if it is not known */
    unsigned line;
    const kiln_counters *counters;
} kiln_profiled_line;

/* A PTX instruction that the kernel executed. */
typedef struct kiln_profiled_insn {
    size_t kernel;
    const char *file, *ptx; /* the source file, and the text of the instruction */
    unsigned line, ptx_line;
    kiln_class what;
    /* 1 means that the instruction is a memory access that the L1 cache may serve. An access with a qualifier such as
     * .cg or .volatile bypasses L1. */
    int l1;
    const kiln_counters *counters;
} kiln_profiled_insn;

/* Fills the buffers, runs the steps once on the simulated device, counts every instruction, and verifies the answer.
 *
 * `options` may be NULL. Only the members flags, inputs, sample_timeout and stop of kiln_run_options have an effect.
 * Free *profiling with kiln_profiling_free(). KILN_ERROR_UNSUPPORTED: the engine's device is a GPU. */
KILN_API kiln_status kiln_profile(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                  const kiln_run_options *options, kiln_profiling **profiling, kiln_error **error);
KILN_API void kiln_profiling_free(kiln_profiling *profiling); /* NULL is allowed */
/* Returns 1 if the answer of the run was compared and is right. */
KILN_API int kiln_profiling_verified(const kiln_profiling *profiling);
/* These functions return the number of kernels, lines or instructions, or one kernel, line or instruction by its number
 * from 0. For a number past the last item they return NULL. Kernels are in the order of their first launch. Lines of
 * the source are in the order of kernel, file and line number. Executed instructions are in the order of kernel and
 * place in the code. */
KILN_API size_t kiln_profiling_kernel_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_kernel *kiln_profiling_kernel(const kiln_profiling *profiling, size_t kernel);
KILN_API size_t kiln_profiling_line_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_line *kiln_profiling_line(const kiln_profiling *profiling, size_t line);
KILN_API size_t kiln_profiling_insn_count(const kiln_profiling *profiling);
KILN_API const kiln_profiled_insn *kiln_profiling_insn(const kiln_profiling *profiling, size_t insn);

/* One memory access of one thread. */
typedef struct kiln_traced_access {
    const char *kernel, *file; /* the name of the kernel in the spec; the source file, or "" if it is not known */
    unsigned line;
    unsigned block[3], thread[3];
    uint64_t step;      /* the number of this access among the accesses of its warp, from 0 */
    const char *space;  /* "global", "shared", "local", "constant" */
    int reads, writes;  /* both are 1 for an atomic operation */
    const char *buffer; /* the buffer of the spec; NULL means that the address is in no buffer */
    kiln_type type;     /* the type of the buffer's elements */
    int dims;           /* number of dimensions of the buffer; 0 means that the address is in no buffer */
    /* The number of the accessed element in the buffer, and its index in each dimension. */
    uint64_t element, index[KILN_MAX_DIMS];
    /* If the access is in a buffer: its distance from the start of the buffer, in bytes. Otherwise: its address in the
     * memory space. */
    uint64_t address;
    unsigned bytes;
} kiln_traced_access;
/* A callback that receives one access. If the callback returns nonzero, kiln_trace() does not call it again. */
typedef int (*kiln_trace_fn)(void *user, const kiln_traced_access *access);
/* Runs the steps like kiln_profile(), and calls `show` for each access of one block in every launch. `block` is the
 * number of the block: x + y * grid.x + z * grid.x * grid.y. The struct `access` lives until `show` returns. */
KILN_API kiln_status kiln_trace(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                                const kiln_run_options *options, uint64_t block, kiln_trace_fn show, void *user,
                                kiln_error **error);

/* ---- the simulated device's instruction set -------------------------------------------------------------------- */

typedef enum kiln_sim_kind {
    KILN_SIM_RUNS,    /* an instruction that the device executes */
    KILN_SIM_REFUSED, /* an instruction of PTX that the device refuses when a module is loaded */
    KILN_SIM_REGISTER /* a special register that can be read */
} kiln_sim_kind;
typedef struct kiln_sim_instruction {
    const char *name; /* "ld", "mma.sp", "%tid.x" */
    kiln_sim_kind kind;
    /* The forms of the instruction that the device executes. The list ends with NULL. A form such as "rn|rz? ftz? f32 :
     * d0 s0 s0" lists suffixes and then operands. "@90" after a suffix means that this suffix needs the target sm_90.
     * "@90" as an element of the list means that the whole form needs sm_90. */
    const char *const *forms;
    size_t form_count;
    /* The target that the instruction needs, in the notation of ops.def. "90" means sm_90 and all later targets. "90a"
     * means only sm_90a. NULL means that the instruction runs on any target, or that the device refuses it. */
    const char *since;
} kiln_sim_instruction;
/* A callback that receives one instruction. If the callback returns nonzero, kiln_sim_instructions() ends. */
typedef int (*kiln_sim_instruction_fn)(void *user, const kiln_sim_instruction *instruction);
/* Visits all instructions in a fixed order: instructions that run, refused instructions, special registers. The structs
 * that the callback receives live as long as the process. */
KILN_API void kiln_sim_instructions(kiln_sim_instruction_fn visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
