/* simulator.h - functions of a simulated device beyond the driver API. The driver's table contains these functions in
 * an optional member, which is NULL on a GPU (driver.h). sim/include/sim.h documents each function. */
#ifndef KILN_SIMULATOR_H
#define KILN_SIMULATOR_H

#include "base.h"

/* The result of adding the text of a device profile. */
typedef enum kiln__sim_added {
    KILN__SIM_ADDED,
    KILN__SIM_KNOWN,
    KILN__SIM_BAD_PROFILE,
    KILN__SIM_NO_ROOM
} kiln__sim_added;

/* The counters of one PTX instruction. */
typedef struct kiln__sim_insn {
    const char *file; /* source file, or "" if it is unknown */
    uint32_t line, ptx_line;
    kiln_class what;
    unsigned flops; /* number of floating-point operations per lane */
    bool l1;        /* the instruction is a load or store that the L1 cache may serve */
    kiln_counters counters;
} kiln__sim_insn;
/* The counters of one kernel, over all its launches while counting was on. */
typedef struct kiln__sim_kernel {
    const char *symbol;
    uint64_t launches, blocks, warps;
    uint32_t grid[3], block[3]; /* `grid`, `block` and `dynamic_shared` describe the first launch */
    uint64_t static_shared, dynamic_shared, local_bytes;
    uint32_t register_estimate, max_threads;
    int32_t tensor_columns; /* columns of tensor memory that the kernel allocates, or -1 if the number is unknown */
    size_t insn_count;
    const kiln__sim_insn *insns;
} kiln__sim_kernel;
/* The registers per thread that the compiler spills to local memory. store_bytes and load_bytes are the bytes of all
 * spill instructions in the machine code, where each instruction counts once. local_bytes is the local memory of the
 * kernel. All members are zero if the kernel spills nothing, or if the spills are unknown. */
typedef struct kiln__sim_spills {
    int64_t store_bytes, load_bytes;
    uint64_t local_bytes;
} kiln__sim_spills;
/* A memory access that an instruction of one warp is about to make, for callers that observe accesses. */
typedef struct kiln__sim_access {
    const char *kernel, *file, *space; /* `space` is "global", "shared", "local", "constant" or "other" */
    uint32_t line, ptx_line, block[3], warp, lanes, bytes;
    bool reads, writes;
    const uint32_t (*threads)[32]; /* x, y and z of the thread in each lane: threads[axis][lane] */
    const uint64_t *address;       /* one address for each lane */
} kiln__sim_access;
typedef void (*kiln__sim_access_fn)(void *user, const kiln__sim_access *access);

/* The functions: X(result, name, arguments). sim.h declares each function as kiln__sim_NAME. */
#define KILN__SIMULATOR_MAP(X)                                                                                         \
    X(const char *, last_fault, (void))                                                                                \
    /* device profiles */                                                                                              \
    X(bool, profile, (const char *name))                                                                               \
    X(const char *, profile_name, (void))                                                                              \
    X(const char *, profile_at, (size_t index))                                                                        \
    X(kiln__sim_added, profile_add, (const char *name, const char *text, size_t length, kiln__text *log))              \
    X(int, tensor_columns, (const char *ptx, size_t length, const char *kernel))                                       \
    X(bool, runs, (const char *instruction))                                                                           \
    X(void, memory_name, (uint64_t address, uint64_t bytes, const char *name, const char *role))                       \
    X(void, use_all_memory, (void))                                                                                    \
    X(bool, repeat, (uint64_t address, uint64_t bytes, const void *pattern, uint64_t period))                          \
    X(const char *, compiler, (const kiln_allocator *mem))                                                             \
    X(bool, has_context, (const void *context))                                                                        \
    X(void, limit, (uint64_t deadline, const volatile int *stop))                                                      \
    X(void, steps, (uint64_t * left))                                                                                  \
    X(void, keep, (bool keep))                                                                                         \
    X(void, order, (uint64_t order))                                                                                   \
    /* estimates of times */                                                                                           \
    X(bool, has_model, (void))                                                                                         \
    X(double, unit_rate, (size_t index, unsigned unit))                                                                \
    X(int, model_at, (size_t index))                                                                                   \
    X(void, model_print, (kiln__text * out))                                                                           \
    X(bool, estimate_begin, (bool sampled))                                                                            \
    X(double, estimate_end, (uint64_t * launches))                                                                     \
    X(bool, kernel_registers, (const void *function, int registers, const kiln__sim_spills *spills))                   \
    /* counting */                                                                                                     \
    X(bool, count_begin, (kiln__sim_access_fn see, void *user, uint64_t block))                                        \
    X(bool, count_end, (kiln__arena * arena, kiln__sim_kernel * *kernels, size_t * count))                             \
    /* checks */                                                                                                       \
    X(bool, check_begin, (void))                                                                                       \
    X(void, check_forget, (uint64_t address, uint64_t bytes))                                                          \
    X(void, check_end, (kiln_check_fn report, void *user))

typedef struct kiln__simulator {
#define KILN_X(result, name, arguments) result(*name) arguments;
    KILN__SIMULATOR_MAP(KILN_X)
#undef KILN_X
} kiln__simulator;
#endif
