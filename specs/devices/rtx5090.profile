# NVIDIA GeForce RTX 5090, 32 GB. No figure of this profile was measured on an RTX 5090, because none was available.
# Sources:
#   guide       CUDA C++ Programming Guide 13.0: technical specifications, and arithmetic throughput, of compute capability 12.0
#   whitepaper  NVIDIA RTX Blackwell GPU Architecture (2025)
#   h200        the value measured on an H200 (h200.profile), because no better value is known
#   assumed     a value like the published values of the neighbouring GPU generations
# A. Jarmusch, N. Graddon and S. Chandrasekaran, "Dissecting the NVIDIA Blackwell Architecture with Microbenchmarks"
# (arXiv 2507.10789, 2025), has latencies of an RTX 5080. The profile does not use them: the RTX 5080 is another chip,
# and only the abstract was available.
title: NVIDIA GeForce RTX 5090 (simulated)
compute_capability: 12.0
sm_count: 170                           # whitepaper
clock_mhz: 2407                         # whitepaper: boost
memory_clock_mhz: 14001                 # whitepaper: 28 Gbit/s, two transfers a clock
memory_bus_bits: 512                    # whitepaper
memory_bytes: 34359738368               # whitepaper: 32 GB
l2_cache_bytes: 100663296               # whitepaper: 96 MB
shared_bytes_per_sm: 102400             # guide
shared_bytes_per_block_optin: 101376    # guide
shared_bytes_reserved_per_block: 1024   # guide
shared_carveouts_kib: 0 8 16 32 64 100  # guide
blocks_per_sm: 24                       # guide
threads_per_sm: 1536                    # guide
warp_schedulers: 4                      # guide
fp32_lanes: 128                         # guide
fp64_lanes: 2                           # guide
fp16_lanes: 128                         # whitepaper: 104.8 TFLOP/s without tensor cores, equal to fp32
int_lanes: 128                          # whitepaper: twice as many as in Ada
int_multiply_lanes: 64                  # assumed: like Ada (RTX 4090)
sfu_lanes: 16                           # guide
load_store_lanes: 32                    # assumed
shuffle_lanes: 32                       # guide
# Tensor cores, dense (the whitepaper's figures for sparse matrices are twice these).
# With fp32 accumulators a GeForce product has half of the chip's rate:
tensor_fp16_fma: 256                    # whitepaper: 209.5 TFLOP/s of fp16 and bf16
tensor_fp16_fp16_fma: 512               # whitepaper: 419 TFLOP/s
tensor_tf32_fma: 128                    # whitepaper: 104.8 TFLOP/s
tensor_fp8_fma: 512                     # whitepaper: 419 TFLOP/s
tensor_fp8_fp16_fma: 1024               # whitepaper: 838 TFLOP/s
tensor_int8_fma: 1024                   # whitepaper: 838 TOP/s
tensor_fp64_fma: 2                      # whitepaper: equal to fp64_lanes, because mma.f64 does not use tensor cores
tensor_latency: 30                      # assumed: like published latencies of mma.sync
mma_sync_efficiency: 1                  # whitepaper: the device has no other matrix instructions than mma.sync
wgmma_efficiency: 1                     # the device has no wgmma
bulk_copy_latency: 800                  # h200
alu_latency: 4                          # assumed: like Volta
fp64_latency: 50                        # assumed
sfu_latency: 20                         # assumed
shuffle_latency: 24                     # assumed
branch_latency: 8                       # assumed
barrier_latency: 16                     # assumed
instruction_cache_bytes: 32768          # assumed
instruction_fetch_bytes_per_clock: 32   # assumed
shared_latency: 30                      # assumed: like Ada (RTX 4090)
shared_bytes_per_clock: 128             # guide: 32 banks of 4 bytes
l1_bytes: 131072                        # whitepaper: 128 KB
l1_latency: 43                          # assumed: like Ada (RTX 4090)
l1_lines_per_clock: 1                   # assumed
l2_latency: 300                         # assumed: the value of Ada (RTX 4090), increased for a larger chip
l2_bytes_per_clock_sm: 64               # assumed
l2_bytes_per_clock: 2600                # assumed: the rate of Ada (RTX 4090) for each SM
l2_copy_bytes_per_clock: 2600           # assumed: as loads
l2_writes_per_clock: 33                 # h200
l2_atomics_per_clock: 64                # assumed
atomic_clocks: 1                        # h200
dram_latency: 650                       # assumed: the value of Ada (RTX 4090), increased for a larger chip
dram_loaded_latency: 2210               # assumed: 3.4 times dram_latency: the same ratio as on the H200
dram_gb_per_second: 1792                # whitepaper
dram_efficiency: 0.92                   # assumed
dram_access_bytes: 64                   # assumed
clocks_per_block: 1.2                   # h200
launch_microseconds: 3.2                # h200
host_gb_per_second: 63                  # whitepaper: PCIe 5.0, 16 lanes, 128b/130b encoding
host_efficiency: 0.9                    # PCIe: a packet of 256 data bytes has 24 to 28 bytes of overhead
