# NVIDIA H100 SXM5, 80 GB. The H100 has the same chip as the H200, so this profile also uses figures that were measured
# on an H200.
# Sources:
#   driver      the value that the device's driver reports (cuDeviceGetAttribute), from public listings
#   guide       CUDA C++ Programming Guide 13.0: technical specifications, and arithmetic throughput, of compute capability 9.0
#   whitepaper  NVIDIA H100 Tensor Core GPU Architecture (2022)
#   datasheet   NVIDIA H100 Tensor Core GPU: 80 GB, 3.35 TB/s
#   bench       W. Luo, R. Fan, Z. Li and others, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture"
#               (arXiv 2402.13499, 2024): latencies measured on an H100 PCIe
#   cc          "Nvidia's H100: Funny L2, and Tons of Bandwidth", chipsandcheese.com (2023): 5.5 to 5.7 TB/s from the L2 of
#               an H100 PCIe at 1755 MHz
#   h200        as measured on an H200: see h200.profile
#   assumed     a value like the published values of the neighbouring GPU generations
title: NVIDIA H100 80 GB (simulated)
compute_capability: 9.0
sm_count: 132                           # driver
clock_mhz: 1980                         # driver
memory_clock_mhz: 2619                  # driver
memory_bus_bits: 5120                   # whitepaper
memory_bytes: 85899345920               # datasheet
l2_cache_bytes: 52428800                # driver
shared_bytes_per_sm: 233472             # guide
shared_bytes_per_block_optin: 232448    # guide
shared_bytes_reserved_per_block: 1024   # guide
shared_carveouts_kib: 0 8 16 32 64 100 132 164 196 228 # guide
blocks_per_sm: 32                       # guide
threads_per_sm: 2048                    # guide
gpc_sms: 18 18 18 18 18 18 16 8          # h200
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
wgmma_efficiency: 0.8                   # assumed: like the H200
bulk_copy_latency: 800                 # h200
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
l2_copy_bytes_per_clock: 7200           # measured: gemm wgmma_specialised with tiles of 64 x 256 x 64 copies 2.7 GB in 188 us on an H200
l2_writes_per_clock: 33                 # h200
l2_atomics_per_clock: 96                # assumed: one atomic operation for each slice of the L2
atomic_clocks: 1                        # h200
dram_latency: 540                       # bench: 479 clocks at 1755 MHz
dram_loaded_latency: 1840               # assumed: 3.4 times dram_latency: the same ratio as on the H200
dram_gb_per_second: 3350                # datasheet
dram_efficiency: 0.9                    # assumed
dram_access_bytes: 64                   # assumed
clocks_per_block: 1.2                   # h200
launch_microseconds: 3.2                # h200
host_gb_per_second: 63                  # whitepaper: PCIe 5.0, 16 lanes, 128b/130b encoding
host_efficiency: 0.9                    # PCIe: a packet of 256 data bytes has 24 to 28 bytes of overhead
