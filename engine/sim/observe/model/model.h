/* model.h - the figures of a device from which the model estimates the times of kernels. A device profile (profile.c)
 * states the figures, and ESTIMATE.md explains the model. */
#ifndef KILN_SIM_MODEL_H
#define KILN_SIM_MODEL_H

/* The figures of a device: X(member, key in a profile, smallest valid value, largest valid value). The unit is lanes or
 * bytes per clock and SM, unless a comment names another unit. */
#define SIM_MODEL_MAP(X)                                                                                               \
    X(schedulers, "warp_schedulers", 1, 16) /* schedulers of an SM; each issues one instruction per clock */           \
    X(fp32, "fp32_lanes", 1, 1024)          /* add, multiply, fused multiply-add */                                    \
    X(fp64, "fp64_lanes", 1, 1024)                                                                                     \
    X(fp16, "fp16_lanes", 1, 2048)   /* results; a packed instruction gives two results */                             \
    X(integer, "int_lanes", 1, 1024) /* add, logic, shift, compare, select */                                          \
    X(multiply, "int_multiply_lanes", 1, 1024)                                                                         \
    X(special, "sfu_lanes", 1, 1024)           /* reciprocal, square root, sine, conversions of floats */              \
    X(load_store, "load_store_lanes", 1, 1024) /* addresses of lanes */                                                \
    X(shuffle, "shuffle_lanes", 1, 1024)                                                                               \
    /* fused multiply-adds of the tensor cores for dense matrices. A second type in a key is the type of the sums;
     * otherwise the sums are fp32, int32 for int8, and fp64 for fp64 */     \
    X(tensor_fp16, "tensor_fp16_fma", 0, 65536) /* also for bf16 */                                                    \
    X(tensor_fp16_fp16, "tensor_fp16_fp16_fma", 0, 65536)                                                              \
    X(tensor_tf32, "tensor_tf32_fma", 0, 65536)                                                                        \
    X(tensor_fp8, "tensor_fp8_fma", 0, 65536)                                                                          \
    X(tensor_fp8_fp16, "tensor_fp8_fp16_fma", 0, 65536)                                                                \
    X(tensor_int8, "tensor_int8_fma", 0, 65536)                                                                        \
    X(tensor_fp64, "tensor_fp64_fma", 0, 65536)                                                                        \
    X(tensor_latency, "tensor_latency", 0, 1000)   /* clocks from the end of a product until its result can be used */ \
    X(mma_share, "mma_sync_efficiency", 0.01, 1)   /* share of the tensor rates that mma.sync and wmma reach */        \
    X(wgmma_share, "wgmma_efficiency", 0.01, 1)    /* share of the tensor rates that wgmma reaches */                  \
    X(bulk_latency, "bulk_copy_latency", 0, 10000) /* additional latency of a bulk copy compared with a load */        \
    X(alu_latency, "alu_latency", 1, 1000)         /* clocks until a result can be used */                             \
    X(fp64_latency, "fp64_latency", 1, 1000)                                                                           \
    X(special_latency, "sfu_latency", 1, 1000)                                                                         \
    X(shuffle_latency, "shuffle_latency", 1, 1000)                                                                     \
    X(branch_latency, "branch_latency", 0, 1000)               /* clocks from a branch to the next instruction */      \
    X(barrier_latency, "barrier_latency", 0, 1000)             /* clocks from the arrival of the last warp */          \
    X(code_bytes, "instruction_cache_bytes", 1024, 1e9)        /* code cache of an SM; an instruction has 16 bytes */  \
    X(code_rate, "instruction_fetch_bytes_per_clock", 1, 4096) /* rate at which the cache fills after a miss */        \
    X(shared_latency, "shared_latency", 1, 10000)                                                                      \
    X(shared_bytes, "shared_bytes_per_clock", 1, 4096)                                                                 \
    X(l1_bytes, "l1_bytes", 0, 16777216) /* bytes of the SM's memory for L1 and shared memory together */              \
    X(l1_latency, "l1_latency", 1, 10000)                                                                              \
    X(l1_lines, "l1_lines_per_clock", 0.01, 64) /* tags that the L1 looks up; a line has 128 bytes */                  \
    X(l2_latency, "l2_latency", 1, 10000)                                                                              \
    X(l2_bytes_sm, "l2_bytes_per_clock_sm", 1, 4096)  /* largest rate of one SM */                                     \
    X(l2_bytes, "l2_bytes_per_clock", 1, 65536)       /* rate of the whole device */                                   \
    X(l2_copies, "l2_copy_bytes_per_clock", 1, 65536) /* rate of the whole device for bulk copies */                   \
    X(l2_writes, "l2_writes_per_clock", 1, 65536)     /* written lines of the whole device, whole or in part */        \
    X(l2_atomics, "l2_atomics_per_clock", 1, 65536)   /* passes in the whole device */                                 \
    X(atomic_clocks, "atomic_clocks", 0.1, 1000)      /* clocks between two atomics in one slice of the L2 */          \
    X(dram_latency, "dram_latency", 1, 10000)         /* clocks while memory is idle */                                \
    X(dram_loaded, "dram_loaded_latency", 1, 100000)  /* clocks while memory is busy all the time */                   \
    X(dram_rate, "dram_gb_per_second", 1, 1000000)                                                                     \
    X(dram_share, "dram_efficiency", 0.01, 1) /* share of dram_rate that long copies reach */                          \
    X(dram_granule, "dram_access_bytes", 32, 1024)                                                                     \
    X(block_clocks, "clocks_per_block", 0, 10000) /* clocks between the starts of two blocks on the device */          \
    X(launch, "launch_microseconds", 0, 10000)    /* time of a kernel that does nothing */

/* Figures of the link between host and device. They give the times of copies in the timeline of a program (timeline.h).
 * The estimate of a kernel does not use them. If a profile leaves out a figure of this list, the default applies.
 * X(member, key in a profile, smallest valid value, largest valid value, default) */
#define SIM_LINK_MAP(X)                                                                                                \
    X(host_rate, "host_gb_per_second", 0.01, 100000, 31.5) /* each direction; default: PCIe 4.0, 16 lanes */           \
    X(host_share, "host_efficiency", 0.01, 1, 0.9)         /* share of data in packets of 256 bytes */

/* The version of the model. Increment it with every change that changes an estimate, because the version and the
 * figures are part of the key of stored samples (store/). tests/sim/test_estimate.c has expected estimates of this
 * version. */
#define SIM_MODEL_VERSION 10

/* The figures of a device. */
typedef struct sim_model {
#define SIM_X(member, key, least, most) double member;
    SIM_MODEL_MAP(SIM_X)
#undef SIM_X
#define SIM_X(member, key, least, most, usual) double member;
    SIM_LINK_MAP(SIM_X)
#undef SIM_X
    double clock;   /* clock rate in Hz; clock, l2_size and sm_count are also attributes of the device */
    double l2_size; /* bytes */
    double sm_count;
    double carveouts[16]; /* possible sizes of an SM's shared memory in bytes, in ascending order */
    unsigned carveout_count;
    /* Number of SMs of each GPC (a group of SMs). A cluster must fit into one GPC. All GPCs have sm_count SMs
     * together. */
    double gpcs[16];
    unsigned gpc_count; /* 0 if the GPCs are unknown */
} sim_model;
#endif
