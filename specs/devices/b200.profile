# NVIDIA B200 SXM, 180 GB. No figure of this profile was measured on a B200, because none was available.
# Sources:
#   guide       CUDA C++ Programming Guide 13.0: technical specifications, and arithmetic throughput, of compute capability 10.0
#   datasheet   NVIDIA HGX B200 and DGX B200 datasheets: figures of eight GPUs, divided by 8
#   cc          "Nvidia's B200: Keeping the CUDA Juggernaut Rolling", chipsandcheese.com (2025): measured on a B200
#   h200        the value measured on an H200 (h200.profile), because no better value is known
#   assumed     a value like the published values of the neighbouring GPU generations
# A. Jarmusch and S. Chandrasekaran, "Microbenchmarking NVIDIA's Blackwell Architecture" (arXiv 2512.02189, 2025), also
# has latencies of a B200. The profile does not use them, because only the abstract was available.
title: NVIDIA B200 (simulated)
compute_capability: 10.0
sm_count: 148                           # cc
clock_mhz: 1965                         # cc: about the clock of an H100 SXM; public listings of nvidia-smi show 1965 MHz
memory_clock_mhz: 3906                  # datasheet: 8 TB/s over 8192 bits, two transfers a clock
memory_bus_bits: 8192                   # assumed: eight stacks of HBM3e of 1024 bits
memory_bytes: 180000000000              # datasheet: 180 GB
l2_cache_bytes: 132120576               # cc: 126 MB, in two halves
shared_bytes_per_sm: 233472             # guide
shared_bytes_per_block_optin: 232448    # guide
shared_bytes_reserved_per_block: 1024   # guide
shared_carveouts_kib: 0 8 16 32 64 100 132 164 196 228 # guide
blocks_per_sm: 32                       # guide
threads_per_sm: 2048                    # guide
warp_schedulers: 4                      # guide
fp32_lanes: 128                         # guide
fp64_lanes: 64                          # guide
fp16_lanes: 256                         # guide
int_lanes: 64                           # guide
int_multiply_lanes: 64                  # guide
sfu_lanes: 16                           # guide
load_store_lanes: 32                    # assumed: like Hopper
shuffle_lanes: 32                       # guide
# Tensor cores, dense (the datasheet's figures for sparse matrices are twice these), rounded up to a power of two for
# 148 SMs and 1965 MHz:
tensor_fp16_fma: 4096                   # datasheet: 2.25 PFLOP/s of fp16 and bf16
tensor_fp16_fp16_fma: 4096              # assumed: the same rate with fp16 accumulators
tensor_tf32_fma: 2048                   # datasheet: 1.1 PFLOP/s
tensor_fp8_fma: 8192                    # datasheet: 4.5 PFLOP/s
tensor_fp8_fp16_fma: 8192               # assumed: the same rate with fp16 accumulators
tensor_int8_fma: 8192                   # datasheet: 4.5 POP/s
tensor_fp64_fma: 64                     # datasheet: 37 TFLOP/s
tensor_latency: 30                      # assumed: like Hopper
mma_sync_efficiency: 0.25               # assumed: 1024 multiply-adds a clock, like an SM of Ampere; no figure is published
wgmma_efficiency: 1                     # there is no wgmma; tcgen05 is not modelled (ESTIMATE.md)
bulk_copy_latency: 800                  # h200
alu_latency: 4                          # assumed: like Volta to Hopper
fp64_latency: 8                         # assumed
sfu_latency: 20                         # assumed
shuffle_latency: 24                     # assumed
branch_latency: 8                       # assumed
barrier_latency: 16                     # assumed
instruction_cache_bytes: 32768          # assumed
instruction_fetch_bytes_per_clock: 32   # assumed
shared_latency: 29                      # assumed: like Hopper
shared_bytes_per_clock: 128             # guide: 32 banks of 4 bytes
l1_bytes: 262144                        # cc
l1_latency: 39                          # cc: 19.6 ns
l1_lines_per_clock: 1                   # assumed
l2_latency: 295                         # cc: 150 ns in the near half of the L2
l2_bytes_per_clock_sm: 64               # assumed: like published values of Volta and Ampere
l2_bytes_per_clock: 3600                # assumed: the H100's rate for each SM
l2_copy_bytes_per_clock: 8000           # assumed: the H200's measured rate for each SM
l2_writes_per_clock: 37                 # assumed: the H200's measured rate for each SM
l2_atomics_per_clock: 96                # assumed: like Hopper
atomic_clocks: 1                        # h200
dram_latency: 600                       # assumed: the H100's latency plus the way between the halves of the L2
dram_loaded_latency: 2040               # assumed: 3.4 times dram_latency: the same ratio as on the H200
dram_gb_per_second: 8000                # datasheet
dram_efficiency: 0.9                    # assumed
dram_access_bytes: 64                   # assumed
clocks_per_block: 1.2                   # h200
launch_microseconds: 3.2                # h200
host_gb_per_second: 63                  # datasheet: PCIe 5.0, 16 lanes, 128b/130b encoding
host_efficiency: 0.9                    # PCIe: a packet of 256 data bytes has 24 to 28 bytes of overhead
