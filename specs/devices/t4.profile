# NVIDIA T4, 16 GB.
# Sources:
#   driver      the value that the device's driver reports (cuDeviceGetAttribute), from public listings
#   guide       CUDA C++ Programming Guide 12.9: technical specifications, and arithmetic throughput, of compute capability 7.5
#   whitepaper  NVIDIA Turing GPU Architecture (2018)
#   bench       Z. Jia, M. Maggioni, J. Smith and D. P. Scarpazza, "Dissecting the NVidia Turing T4 GPU via Microbenchmarking"
#               (arXiv 1903.07486, 2019)
#   h200        the value measured on an H200 (h200.profile), because no better value is known
#   assumed     a value like the published values of the neighbouring GPU generations
title: NVIDIA T4 (simulated)
compute_capability: 7.5
sm_count: 40                            # whitepaper
clock_mhz: 1590                         # driver
memory_clock_mhz: 5001                  # driver
memory_bus_bits: 256                    # whitepaper
memory_bytes: 15843721216               # driver
l2_cache_bytes: 4194304                 # bench
shared_bytes_per_sm: 65536              # guide
shared_bytes_per_block_optin: 65536     # guide
shared_bytes_reserved_per_block: 0      # guide
shared_carveouts_kib: 32 64             # guide
blocks_per_sm: 16                       # guide
threads_per_sm: 1024                    # guide
warp_schedulers: 4                      # guide
fp32_lanes: 64                          # guide
fp64_lanes: 2                           # guide
fp16_lanes: 128                         # guide
int_lanes: 64                           # guide
int_multiply_lanes: 64                  # guide
sfu_lanes: 16                           # guide
load_store_lanes: 16                    # whitepaper
shuffle_lanes: 32                       # guide
# Tensor cores:
tensor_fp16_fma: 512                    # whitepaper: 65 TFLOP/s of fp16
tensor_fp16_fp16_fma: 512               # whitepaper: the same rate with fp16 accumulators; only GeForce products have half of it with fp32 accumulators
tensor_tf32_fma: 0                      # whitepaper: the device has neither tf32 nor bf16
tensor_fp8_fma: 0                       # whitepaper: the device has no tensor cores for this type
tensor_fp8_fp16_fma: 0                  # whitepaper: the device has no tensor cores for this type
tensor_int8_fma: 1024                   # whitepaper: 130 TOP/s
tensor_fp64_fma: 0                      # whitepaper: the device has no tensor cores for this type
tensor_latency: 30                      # assumed: like published latencies of mma.sync
mma_sync_efficiency: 1                  # whitepaper: the device has no other matrix instructions than mma.sync
wgmma_efficiency: 1                     # the device has no wgmma
bulk_copy_latency: 0                    # guide: the device has no bulk copies
alu_latency: 4                          # bench
fp64_latency: 48                        # bench
sfu_latency: 20                         # assumed
shuffle_latency: 22                     # assumed
branch_latency: 8                       # assumed
barrier_latency: 16                     # assumed
instruction_cache_bytes: 47104          # bench: 46 KiB
instruction_fetch_bytes_per_clock: 32   # assumed
shared_latency: 19                      # bench
shared_bytes_per_clock: 128             # guide: 32 banks of 4 bytes
l1_bytes: 98304                         # whitepaper: 96 KiB
l1_latency: 32                          # bench
l1_lines_per_clock: 1                   # assumed
l2_latency: 188                         # bench
l2_bytes_per_clock_sm: 64               # assumed
l2_bytes_per_clock: 800                 # bench: 1270 GB/s
l2_copy_bytes_per_clock: 800            # guide: the device has no bulk copies, so this is the rate of loads
l2_writes_per_clock: 12                 # assumed: like the H200, by the rates of reading
l2_atomics_per_clock: 16                # assumed
atomic_clocks: 1                        # h200
dram_latency: 296                       # bench
dram_loaded_latency: 1000                # assumed: 3.4 times dram_latency: the same ratio as on the H200
dram_gb_per_second: 320                 # whitepaper
dram_efficiency: 0.75                   # assumed
dram_access_bytes: 64                   # assumed
clocks_per_block: 1.2                   # h200
launch_microseconds: 3.2                # h200
host_gb_per_second: 15.75               # whitepaper: PCIe 3.0, 16 lanes, 128b/130b encoding
host_efficiency: 0.9                    # PCIe: a packet of 256 data bytes has 24 to 28 bytes of overhead
