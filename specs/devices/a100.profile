# NVIDIA A100 SXM4, 40 GB.
# Sources:
#   driver      the value that the device's driver reports (cuDeviceGetAttribute), from public listings
#   guide       CUDA C++ Programming Guide 13.0: technical specifications, and arithmetic throughput, of compute capability 8.0
#   whitepaper  NVIDIA A100 Tensor Core GPU Architecture (2020): 1555 GB/s, 5120 bytes a clock from the L2, 80 slices
#   bench       W. Luo, R. Fan, Z. Li and others, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture"
#               (arXiv 2402.13499, 2024): latencies measured on an A100 PCIe
#   h200        the value measured on an H200 (h200.profile), because no better value is known
#   assumed     a value like the published values of the neighbouring GPU generations
title: NVIDIA A100 40 GB (simulated)
compute_capability: 8.0
sm_count: 108                           # whitepaper
clock_mhz: 1410                         # whitepaper
memory_clock_mhz: 1215                  # driver
memory_bus_bits: 5120                   # whitepaper
memory_bytes: 42949672960               # whitepaper
l2_cache_bytes: 41943040                # whitepaper
shared_bytes_per_sm: 167936             # guide
shared_bytes_per_block_optin: 166912    # guide
shared_bytes_reserved_per_block: 1024   # guide
shared_carveouts_kib: 0 8 16 32 64 100 132 164 # guide
blocks_per_sm: 32                       # guide
threads_per_sm: 2048                    # guide
warp_schedulers: 4                      # guide
fp32_lanes: 64                          # guide
fp64_lanes: 32                          # guide
fp16_lanes: 256                         # guide
int_lanes: 64                           # guide
int_multiply_lanes: 64                  # guide
sfu_lanes: 16                           # guide
load_store_lanes: 32                    # whitepaper
shuffle_lanes: 32                       # guide
# Tensor cores, dense (the whitepaper's figures for sparse matrices are twice these):
tensor_fp16_fma: 1024                   # whitepaper: 312 TFLOP/s of fp16 and bf16
tensor_fp16_fp16_fma: 1024              # whitepaper: the same rate with fp16 accumulators
tensor_tf32_fma: 512                    # whitepaper: 156 TFLOP/s
tensor_fp8_fma: 0                       # whitepaper: the device has no tensor cores for this type
tensor_fp8_fp16_fma: 0                  # whitepaper: the device has no tensor cores for this type
tensor_int8_fma: 2048                   # whitepaper: 624 TOP/s
tensor_fp64_fma: 64                     # whitepaper: 19.5 TFLOP/s
tensor_latency: 30                      # assumed: like published latencies of mma.sync
mma_sync_efficiency: 1                  # whitepaper: the device has no other matrix instructions than mma.sync
wgmma_efficiency: 1                     # the device has no wgmma
bulk_copy_latency: 0                    # guide: the device has no bulk copies
alu_latency: 4                          # assumed: like Volta
fp64_latency: 8                         # assumed
sfu_latency: 20                         # assumed
shuffle_latency: 24                     # assumed
branch_latency: 8                       # assumed
barrier_latency: 16                     # assumed
instruction_cache_bytes: 32768          # assumed
instruction_fetch_bytes_per_clock: 32   # assumed
shared_latency: 29                      # bench
shared_bytes_per_clock: 128             # whitepaper
l1_bytes: 196608                        # whitepaper
l1_latency: 38                          # bench
l1_lines_per_clock: 1                   # assumed
l2_latency: 262                         # bench
l2_bytes_per_clock_sm: 64               # assumed
l2_bytes_per_clock: 3200                # assumed: five eighths of the whitepaper's peak, the same share as on the H100
l2_copy_bytes_per_clock: 3200           # guide: the device has no bulk copies, so this is the rate of loads
l2_writes_per_clock: 33                 # h200
l2_atomics_per_clock: 80                # assumed: one atomic operation for each slice of the L2
atomic_clocks: 1                        # h200
dram_latency: 466                       # bench
dram_loaded_latency: 1580               # assumed: 3.4 times dram_latency: the same ratio as on the H200
dram_gb_per_second: 1555                # whitepaper
dram_efficiency: 0.9                    # assumed
dram_access_bytes: 64                   # assumed
clocks_per_block: 1.2                   # h200
launch_microseconds: 3.2                # h200
host_gb_per_second: 31.5                # whitepaper: PCIe 4.0, 16 lanes, 128b/130b encoding
host_efficiency: 0.9                    # PCIe: a packet of 256 data bytes has 24 to 28 bytes of overhead
