# NVIDIA GeForce RTX 4090, 24 GB.
# Sources:
#   driver      the value that the device's driver reports (cuDeviceGetAttribute), from public listings
#   guide       CUDA C++ Programming Guide 13.0: technical specifications, and arithmetic throughput, of compute capability 8.9
#   whitepaper  NVIDIA Ada GPU Architecture (2022)
#   bench       W. Luo, R. Fan, Z. Li and others, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture"
#               (arXiv 2402.13499, 2024): latencies measured on an RTX 4090
#   h200        the value measured on an H200 (h200.profile), because no better value is known
#   assumed     a value like the published values of the neighbouring GPU generations
title: NVIDIA GeForce RTX 4090 (simulated)
compute_capability: 8.9
sm_count: 128                           # whitepaper
clock_mhz: 2520                         # whitepaper: boost
memory_clock_mhz: 10501                 # driver
memory_bus_bits: 384                    # whitepaper
memory_bytes: 25757220864               # driver
l2_cache_bytes: 75497472                # whitepaper
shared_bytes_per_sm: 102400             # guide
shared_bytes_per_block_optin: 101376    # guide
shared_bytes_reserved_per_block: 1024   # guide
shared_carveouts_kib: 0 8 16 32 64 100  # guide
blocks_per_sm: 24                       # guide
threads_per_sm: 1536                    # guide
warp_schedulers: 4                      # guide
fp32_lanes: 128                         # guide
fp64_lanes: 2                           # guide
fp16_lanes: 128                         # whitepaper: 82.6 TFLOP/s without tensor cores, equal to fp32
int_lanes: 64                           # guide
int_multiply_lanes: 64                  # guide
sfu_lanes: 16                           # guide
load_store_lanes: 32                    # assumed
shuffle_lanes: 32                       # guide
# Tensor cores, dense (the whitepaper's figures for sparse matrices are twice these).
# With fp32 accumulators a GeForce product has half of the chip's rate:
tensor_fp16_fma: 256                    # whitepaper: 165.2 TFLOP/s of fp16 and bf16
tensor_fp16_fp16_fma: 512               # whitepaper: 330.3 TFLOP/s
tensor_tf32_fma: 128                    # whitepaper: 82.6 TFLOP/s
tensor_fp8_fma: 512                     # whitepaper: 330.3 TFLOP/s
tensor_fp8_fp16_fma: 1024               # whitepaper: 660.6 TFLOP/s
tensor_int8_fma: 1024                   # whitepaper: 660.6 TOP/s
tensor_fp64_fma: 2                      # whitepaper: equal to fp64_lanes, because mma.f64 does not use tensor cores
tensor_latency: 30                      # assumed: like published latencies of mma.sync
mma_sync_efficiency: 1                  # whitepaper: the device has no other matrix instructions than mma.sync
wgmma_efficiency: 1                     # the device has no wgmma
bulk_copy_latency: 0                    # guide: the device has no bulk copies
alu_latency: 4                          # assumed: like Volta
fp64_latency: 50                        # assumed
sfu_latency: 20                         # assumed
shuffle_latency: 24                     # assumed
branch_latency: 8                       # assumed
barrier_latency: 16                     # assumed
instruction_cache_bytes: 32768          # assumed
instruction_fetch_bytes_per_clock: 32   # assumed
shared_latency: 30                      # bench
shared_bytes_per_clock: 128             # guide: 32 banks of 4 bytes
l1_bytes: 131072                        # whitepaper
l1_latency: 43                          # bench
l1_lines_per_clock: 1                   # assumed
l2_latency: 273                         # bench
l2_bytes_per_clock_sm: 64               # assumed
l2_bytes_per_clock: 2000                # assumed: published figures are about 5 TB/s
l2_copy_bytes_per_clock: 2000           # guide: the device has no bulk copies, so this is the rate of loads
l2_writes_per_clock: 33                 # h200
l2_atomics_per_clock: 48                # assumed
atomic_clocks: 1                        # h200
dram_latency: 542                       # bench
dram_loaded_latency: 1840               # assumed: 3.4 times dram_latency: the same ratio as on the H200
dram_gb_per_second: 1008                # whitepaper
dram_efficiency: 0.92                   # assumed
dram_access_bytes: 64                   # assumed
clocks_per_block: 1.2                   # h200
launch_microseconds: 3.2                # h200
host_gb_per_second: 31.5                # whitepaper: PCIe 4.0, 16 lanes, 128b/130b encoding
host_efficiency: 0.9                    # PCIe: a packet of 256 data bytes has 24 to 28 bytes of overhead
