# NVIDIA GeForce RTX 4090, 24 GB.
# Sources:
#   driver      as the device's own driver reports it (cuDeviceGetAttribute), from public listings
#   guide       CUDA C++ Programming Guide 13.0: technical specifications, and arithmetic throughput, of compute capability 8.9
#   whitepaper  NVIDIA Ada GPU Architecture (2022)
#   bench       W. Luo, R. Fan, Z. Li and others, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture"
#               (arXiv 2402.13499, 2024): latencies measured on an RTX 4090
#   h200        as measured on an H200, because nothing better is known: see h200.profile
#   assumed     of the order of published figures of the neighbouring generations
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
fp16_lanes: 128                         # whitepaper: 82.6 TFLOP/s without tensor cores, as fp32
int_lanes: 64                           # guide
int_multiply_lanes: 64                  # guide
sfu_lanes: 16                           # guide
load_store_lanes: 32                    # assumed
shuffle_lanes: 32                       # guide
# Tensor cores, dense (the whitepaper's sparse figures are twice these). A GeForce has half the chip's rate with fp32 sums:
tensor_fp16_fma: 256                    # whitepaper: 165.2 TFLOP/s of fp16 and bf16
tensor_fp16_fp16_fma: 512               # whitepaper: 330.3 TFLOP/s
tensor_tf32_fma: 128                    # whitepaper: 82.6 TFLOP/s
tensor_fp8_fma: 512                     # whitepaper: 330.3 TFLOP/s
tensor_fp8_fp16_fma: 1024               # whitepaper: 660.6 TFLOP/s
tensor_int8_fma: 1024                   # whitepaper: 660.6 TOP/s
tensor_fp64_fma: 2                      # whitepaper: as fp64_lanes; mma.f64 runs, not on tensor cores
tensor_latency: 30                      # assumed: the order of published latencies of mma.sync
mma_sync_efficiency: 1                  # whitepaper: mma.sync is the only way to the tensor cores
wgmma_efficiency: 1                     # there is no wgmma
bulk_copy_latency: 0                    # guide: there are no bulk copies
alu_latency: 4                          # assumed: as Volta
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
l2_bytes_per_clock: 2000                # assumed: about 5 TB/s are published
l2_copy_bytes_per_clock: 2000           # guide: there are no bulk copies; as loads
l2_writes_per_clock: 33                 # h200
l2_atomics_per_clock: 48                # assumed
atomic_clocks: 1                        # h200
dram_latency: 542                       # bench
dram_loaded_latency: 1840               # assumed: 3.4 times dram_latency, as on the H200
dram_gb_per_second: 1008                # whitepaper
dram_efficiency: 0.92                   # assumed
dram_access_bytes: 64                   # assumed
clocks_per_block: 1.2                   # h200
launch_microseconds: 3.2                # h200
host_gb_per_second: 31.5                # whitepaper: PCIe 4.0, 16 lanes, less 2 bits of 130
host_efficiency: 0.9                    # PCIe: packets of 256 bytes of data have 24 to 28 more
