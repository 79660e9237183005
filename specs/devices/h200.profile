# NVIDIA H200 SXM, 141 GB.
# Sources:
#   driver      the value that the device's driver reports (cuDeviceGetAttribute)
#   guide       CUDA C++ Programming Guide 13.0: technical specifications, and arithmetic throughput, of compute capability 9.0
#   whitepaper  NVIDIA H100 Tensor Core GPU Architecture (2022)
#   datasheet   NVIDIA H200 Tensor Core GPU: 4.8 TB/s
#   bench       W. Luo, R. Fan, Z. Li and others, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture"
#               (arXiv 2402.13499, 2024): latencies measured on an H100 PCIe
#   cc          "Nvidia's H100: Funny L2, and Tons of Bandwidth", chipsandcheese.com (2023): 5.5 to 5.7 TB/s from the L2 of
#               an H100 PCIe at 1755 MHz
#   measured    unpublished figures, measured on an H200 with the specs in tests/estimate/specs
#   assumed     a value like the published values of the neighbouring GPU generations
title: NVIDIA H200 (simulated)
compute_capability: 9.0
sm_count: 132                           # driver
clock_mhz: 1980                         # driver
memory_clock_mhz: 3201                  # driver
memory_bus_bits: 6144                   # driver
memory_bytes: 150754820096              # driver
l2_cache_bytes: 52428800                # driver
shared_bytes_per_sm: 233472             # guide
shared_bytes_per_block_optin: 232448    # guide
shared_bytes_reserved_per_block: 1024   # guide
shared_carveouts_kib: 0 8 16 32 64 100 132 164 196 228 # guide
blocks_per_sm: 32                       # guide
threads_per_sm: 2048                    # guide
gpc_sms: 18 18 18 18 18 18 16 8          # measured: cuOccupancyMaxActiveClusters gives 66, 30, 15 and 7 for clusters of 2, 4, 8 and 16 blocks, one block for each SM
warp_schedulers: 4                      # guide
fp32_lanes: 128                         # guide
fp64_lanes: 64                          # guide
fp16_lanes: 256                         # guide
int_lanes: 64                           # guide
int_multiply_lanes: 64                  # guide
sfu_lanes: 16                           # guide
load_store_lanes: 32                    # whitepaper
shuffle_lanes: 32                       # guide
# Tensor cores, dense (the whitepaper's figures for sparse matrices are twice these), from the whitepaper's clock of
# 1830 MHz and 132 SMs:
tensor_fp16_fma: 2048                   # whitepaper: 989.4 TFLOP/s of fp16 and bf16
tensor_fp16_fp16_fma: 2048              # whitepaper: the same rate with fp16 accumulators
tensor_tf32_fma: 1024                   # whitepaper: 494.7 TFLOP/s
tensor_fp8_fma: 4096                    # whitepaper: 1978.9 TFLOP/s
tensor_fp8_fp16_fma: 4096               # whitepaper: the same rate with fp16 accumulators
tensor_int8_fma: 4096                   # whitepaper: 1978.9 TOP/s
tensor_fp64_fma: 128                    # whitepaper: 66.9 TFLOP/s at 1980 MHz
tensor_latency: 30                      # assumed: like published latencies of mma.sync
mma_sync_efficiency: 0.62               # bench: 62.9 % of the peak on average; only wgmma reaches the peak
wgmma_efficiency: 0.8                   # measured: gemm wgmma_specialised at size 8192 reaches 0.78 (bf16) and 0.77 (f8e4m3) of the peak
bulk_copy_latency: 800                 # measured: gemm 4096 with rings of 2 and 3 stages: with S stages a step takes (products + 1.3 to 1.5 us) / S
alu_latency: 4                          # assumed: like Volta to Ampere
fp64_latency: 8                         # assumed
sfu_latency: 20                         # assumed
shuffle_latency: 24                     # assumed
branch_latency: 8                       # assumed
barrier_latency: 16                     # assumed
instruction_cache_bytes: 32768          # assumed
instruction_fetch_bytes_per_clock: 32   # assumed
shared_latency: 29                      # bench
shared_bytes_per_clock: 128             # whitepaper: 32 banks of 4 bytes
l1_bytes: 262144                        # whitepaper
l1_latency: 41                          # bench
l1_lines_per_clock: 1                   # assumed
l2_latency: 263                         # bench
l2_bytes_per_clock_sm: 64               # assumed: like published values of Volta and Ampere
l2_bytes_per_clock: 3200                # cc
l2_copy_bytes_per_clock: 7200           # measured: gemm wgmma_specialised with tiles of 64 x 256 x 64 copies 2.7 GB in 188 us
l2_writes_per_clock: 33                 # measured: uncoalesced stores of transpose naive: 16.8 million in 252 us; each request has 32 lines
l2_atomics_per_clock: 96                # assumed: one atomic operation for each slice of the L2
atomic_clocks: 1                        # measured: histogram global; the time does not depend on the number of bins
dram_latency: 540                       # bench: 479 clocks at 1755 MHz
dram_loaded_latency: 1840               # measured: reduction one_pass with 8, 16 and 32 KiB of loads in flight in an SM: 459, 305 and 254 us
dram_gb_per_second: 4800                # datasheet
dram_efficiency: 0.9                    # assumed
dram_access_bytes: 64                   # assumed
clocks_per_block: 1.2                   # measured: a copy with 524288 blocks of 64 threads takes 319 us
launch_microseconds: 3.2                # measured: the shortest time between two events around a kernel
host_gb_per_second: 63                  # whitepaper: PCIe 5.0, 16 lanes, 128b/130b encoding
host_efficiency: 0.9                    # PCIe: a packet of 256 data bytes has 24 to 28 bytes of overhead
