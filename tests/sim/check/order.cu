// order.cu - kernels with races, barriers and warp operations, with planted bugs and without. See memory.cu.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define FULL 0xffffffffu

// ---- shared memory between warps ----
K bug_no_barrier(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x]; // @no_barrier.other
    out[threadIdx.x] = s[63 - threadIdx.x]; // @no_barrier
}
K ok_barrier(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
K bug_write_after_read(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int v = s[63 - threadIdx.x]; // @write_after_read.other
    s[threadIdx.x] = v; // @write_after_read
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
K ok_write_after_read(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int v = s[63 - threadIdx.x];
    __syncthreads();
    s[threadIdx.x] = v;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
K bug_two_writers(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x % 32] = threadIdx.x; // @two_writers
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x % 32];
}
K bug_reduction(int *in, int *out, int *raw, int n)
{
    __shared__ int s[128];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (int h = 64; h > 0; h /= 2)
        if (threadIdx.x < h)
            s[threadIdx.x] += s[threadIdx.x + h]; // @reduction
    if (threadIdx.x == 0) out[0] = s[0];
}
K ok_reduction(int *in, int *out, int *raw, int n)
{
    __shared__ int s[128];
    s[threadIdx.x] = in[threadIdx.x];
    for (int h = 64; h > 0; h /= 2) {
        __syncthreads();
        if (threadIdx.x < h)
            s[threadIdx.x] += s[threadIdx.x + h];
    }
    if (threadIdx.x == 0) out[0] = s[0];
}
K bug_loop_tile(int *in, int *out, int *raw, int n)
{
    __shared__ int tile[64];
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        tile[threadIdx.x] = in[64 * k + threadIdx.x]; // @loop_tile
        __syncthreads();
        for (int j = 0; j < 64; j++)
            sum += tile[j]; // @loop_tile.other
    }
    out[threadIdx.x] = sum;
}
K ok_loop_tile(int *in, int *out, int *raw, int n)
{
    __shared__ int tile[64];
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        tile[threadIdx.x] = in[64 * k + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 64; j++)
            sum += tile[j];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
K ok_double_buffer(int *in, int *out, int *raw, int n)
{
    __shared__ int tile[2][64];
    int sum = 0;
    tile[0][threadIdx.x] = in[threadIdx.x];
    for (int k = 0; k < 4; k++) {
        __syncthreads();
        if (k < 3) tile[(k + 1) & 1][threadIdx.x] = in[64 * (k + 1) + threadIdx.x];
        for (int j = 0; j < 64; j++)
            sum += tile[k & 1][j];
    }
    out[threadIdx.x] = sum;
}
K bug_histogram(int *in, int *out, int *raw, int n)
{
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    bins[(in[threadIdx.x] / 16) % 8]++; // @histogram
    __syncthreads();
    if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
K ok_histogram(int *in, int *out, int *raw, int n)
{
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[in[threadIdx.x] % 8], 1);
    __syncthreads();
    if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
K bug_atomic_and_plain(int *in, int *out, int *raw, int n)
{
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 1); // @atomic_and_plain.other
    out[threadIdx.x] = count; // @atomic_and_plain
}
K bug_one_instruction(int *in, int *out, int *raw, int n)
{
    __shared__ int s;
    s = in[threadIdx.x]; // @one_instruction
    __syncthreads();
    out[threadIdx.x] = s;
}
K ok_one_value(int *in, int *out, int *raw, int n)
{
    __shared__ int s;
    s = 7;
    __syncthreads();
    out[threadIdx.x] = s;
}
K bug_bytes(int *in, int *out, int *raw, int n)
{
    __shared__ unsigned char s[64];
    s[threadIdx.x] = (unsigned char)in[threadIdx.x]; // @bytes.other
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // @bytes
}
K ok_bytes_apart(int *in, int *out, int *raw, int n)
{
    __shared__ unsigned char s[64];
    s[(threadIdx.x % 32) * 2 + threadIdx.x / 32] = (unsigned char)in[threadIdx.x];
    out[threadIdx.x] = s[(threadIdx.x % 32) * 2 + threadIdx.x / 32];
}

// ---- lanes of one warp ----
K bug_warp_synchronous(int *in, int *out, int *raw, int n)
{
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x]; // @warp_synchronous.other
    out[threadIdx.x] = s[31 - threadIdx.x]; // @warp_synchronous
}
K ok_syncwarp(int *in, int *out, int *raw, int n)
{
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = s[31 - threadIdx.x];
}
K bug_half_syncwarp(int *in, int *out, int *raw, int n)
{
    __shared__ int s[32];
    unsigned mask = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    s[threadIdx.x] = in[threadIdx.x]; // @half_syncwarp.other
    __syncwarp(mask);
    out[threadIdx.x] = s[31 - threadIdx.x]; // @half_syncwarp
}
K ok_tiles(int *in, int *out, int *raw, int n)
{
    __shared__ int s[32];
    auto half = cg::tiled_partition<16>(cg::this_thread_block());
    auto quad = cg::tiled_partition<4>(half);
    s[threadIdx.x] = in[threadIdx.x];
    half.sync();
    int v = s[threadIdx.x ^ 15];
    quad.sync();
    int u = s[threadIdx.x ^ 9];
    half.sync();
    s[threadIdx.x] = v + u;
    quad.sync();
    out[threadIdx.x] = s[threadIdx.x ^ 3];
}
K bug_warp_reduce_shared(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    s[threadIdx.x + 32] = in[threadIdx.x + 32];
    __syncwarp();
    int v = s[threadIdx.x] + s[threadIdx.x + 16]; // @warp_reduce_shared.read
    s[threadIdx.x] = v; // @warp_reduce_shared
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x];
}
K ok_warp_reduce_shared(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    s[threadIdx.x + 32] = in[threadIdx.x + 32];
    __syncwarp();
    int v = s[threadIdx.x] + s[threadIdx.x + 16];
    __syncwarp();
    s[threadIdx.x] = v;
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}

// ---- named barriers ----
__device__ void named_sync(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }
__device__ void named_arrive(int id, int count) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory"); }
K ok_producer(int *in, int *out, int *raw, int n) // warp 0 fills a buffer, warp 1 reads it
{
    __shared__ int s[32];
    for (int k = 0; k < 4; k++)
        if (threadIdx.x < 32) {
            if (k > 0) named_sync(2, 64);
            s[threadIdx.x] = in[32 * k + threadIdx.x];
            named_arrive(1, 64);
        } else {
            named_sync(1, 64);
            out[32 * k + threadIdx.x - 32] = s[63 - threadIdx.x];
            if (k < 3) named_arrive(2, 64);
        }
}
K bug_producer(int *in, int *out, int *raw, int n) // the producer does not wait until the buffer is free
{
    __shared__ int s[32];
    for (int k = 0; k < 4; k++)
        if (threadIdx.x < 32) {
            s[threadIdx.x] = in[32 * k + threadIdx.x]; // @producer.other
            if (k == 0) named_arrive(1, 64);
        } else if (k == 0) {
            named_sync(1, 64);
            out[32 * k + threadIdx.x - 32] = s[63 - threadIdx.x]; // @producer
        }
}
K bug_wrong_barrier(int *in, int *out, int *raw, int n) // warps 2 and 3 meet, but warp 3 reads values of warp 0
{
    __shared__ int s[128];
    s[threadIdx.x] = in[threadIdx.x]; // @wrong_barrier.other
    named_sync(1 + threadIdx.x / 64, 64);
    out[threadIdx.x] = s[127 - threadIdx.x]; // @wrong_barrier
}
K ok_pairs(int *in, int *out, int *raw, int n)
{
    __shared__ int s[128];
    s[threadIdx.x] = in[threadIdx.x];
    named_sync(1 + threadIdx.x / 64, 64);
    out[threadIdx.x] = s[threadIdx.x ^ 63];
}

// ---- asynchronous copies ----
K bug_no_wait(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(16) int s[32];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    out[threadIdx.x] = s[threadIdx.x]; // @no_wait
    __pipeline_wait_prior(0);
}
K bug_wait_no_barrier(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(16) int s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[63 - threadIdx.x]; // @wait_no_barrier
}
K bug_wait_one_too_few(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(16) int s[2][64];
    for (int k = 0; k < 2; k++) {
        __pipeline_memcpy_async(&s[k][threadIdx.x], &in[64 * k + threadIdx.x], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    out[threadIdx.x] = s[0][63 - threadIdx.x];
    out[threadIdx.x] += s[1][63 - threadIdx.x]; // @wait_one_too_few
}
K ok_copy_async(int *in, int *out, int *raw, int n)
{
    __shared__ __align__(16) int s[2][64];
    int sum = 0;
    __pipeline_memcpy_async(&s[0][threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&s[(k + 1) & 1][threadIdx.x], &in[64 * (k + 1) + threadIdx.x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int j = 0; j < 64; j++)
            sum += s[k & 1][j];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
K bug_copy_over_reads(int *in, int *out, int *raw, int n) // like the kernel above, without the second barrier
{
    __shared__ __align__(16) int s[2][64];
    int sum = 0;
    __pipeline_memcpy_async(&s[0][threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&s[(k + 1) & 1][threadIdx.x], &in[64 * (k + 1) + threadIdx.x], 4); // @copy_over_reads
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int j = 0; j < 64; j++)
            sum += s[k & 1][j];
    }
    out[threadIdx.x] = sum;
}

// ---- blocks ----
__device__ int cell, flag, ticket, value[64], lock_word, guarded, status[64];
__device__ unsigned long long packed[64];
K bug_blocks_write(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 0) out[0] = blockIdx.x; // @blocks_write
}
K ok_blocks_write(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
}
K note_blocks_same(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 0) out[0] = 1;
}
K bug_blocks_count(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x == 0) out[3]++; // @blocks_count
}
K ok_blocks_count(int *in, int *out, int *raw, int n)
{
    atomicAdd(out + 3, 1);
}
K bug_neighbour_block(int *in, int *out, int *raw, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i; // @neighbour_block.other
    __syncthreads();
    raw[i] = i >= 32 ? out[i - 32] : 0; // @neighbour_block
}
K bug_flag_no_fence(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        cell = 42; // @flag_no_fence.other
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0) {}
        __threadfence();
        out[0] = cell; // @flag_no_fence
    }
}
K ok_flag(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        cell = 42;
        __threadfence();
        atomicExch(&flag, 1);
    } else {
        while (*(volatile int *)&flag == 0) {}
        __threadfence();
        out[0] = cell;
    }
}
K bug_last_block(int *in, int *out, int *raw, int n)
{
    __shared__ bool last;
    value[blockIdx.x * 32 + threadIdx.x] = in[threadIdx.x]; // @last_block.other
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&ticket, 1) == (int)gridDim.x - 1;
    __syncthreads();
    if (last) out[threadIdx.x] = value[threadIdx.x] + value[threadIdx.x + 32]; // @last_block
}
K ok_last_block(int *in, int *out, int *raw, int n)
{
    __shared__ bool last;
    value[blockIdx.x * 32 + threadIdx.x] = in[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&ticket, 1) == (int)gridDim.x - 1;
    __syncthreads();
    if (last) out[threadIdx.x] = value[threadIdx.x] + value[threadIdx.x + 32];
}
K ok_last_block_one_fence(int *in, int *out, int *raw, int n)
{
    __shared__ bool last;
    value[blockIdx.x * 32 + threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc((unsigned *)&ticket, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) out[threadIdx.x] = value[threadIdx.x] + value[threadIdx.x + 32];
}
K ok_look_back(int *in, int *out, int *raw, int n) // a scan over blocks; each block waits for the block before it
{
    __shared__ int carry;
    int v = in[blockIdx.x * 32 + threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(FULL, v, d);
        if (threadIdx.x >= d) v += u;
    }
    if (threadIdx.x == 31) {
        int before = 0;
        if (blockIdx.x) {
            while (*(volatile int *)&status[blockIdx.x - 1] == 0) {}
            __threadfence();
            before = value[blockIdx.x - 1];
        }
        value[blockIdx.x] = before + v;
        __threadfence();
        *(volatile int *)&status[blockIdx.x] = 1;
        carry = before;
    }
    __syncwarp();
    out[blockIdx.x * 32 + threadIdx.x] = v + carry;
}
K ok_packed_look_back(int *in, int *out, int *raw, int n) // a flag and a value in one word need no fence
{
    if (threadIdx.x) return;
    unsigned long long before = 0;
    if (blockIdx.x)
        while (((before = *(volatile unsigned long long *)&packed[blockIdx.x - 1]) >> 32) == 0) {}
    *(volatile unsigned long long *)&packed[blockIdx.x] = 1ull << 32 | (unsigned)(before + in[blockIdx.x]);
    out[blockIdx.x] = (int)before;
}
__device__ int arrived;
__device__ void grid_sync(int goal) // like grid.sync() of cooperative groups, but without the driver's workspace
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&arrived, 1);
        while (*(volatile int *)&arrived < goal) {}
        __threadfence();
    }
    __syncthreads();
}
K ok_grid_sync(int *in, int *out, int *raw, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    out[i] = in[i];
    grid_sync(gridDim.x);
    raw[i] = out[all - 1 - i];
    grid_sync(2 * gridDim.x);
    out[i] = raw[all - 1 - i];
}
K bug_no_grid_sync(int *in, int *out, int *raw, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    out[i] = in[i]; // @no_grid_sync.other
    __syncthreads();
    raw[i] = out[all - 1 - i]; // @no_grid_sync
}
K ok_spin_lock(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x % 32) return;
    for (int k = 0; k < 3; k++) {
        while (atomicCAS(&lock_word, 0, 1)) {}
        __threadfence();
        guarded += 1;
        __threadfence();
        atomicExch(&lock_word, 0);
    }
}
K bug_no_lock(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x % 32) return;
    while (atomicCAS(&lock_word, 0, 1)) {}
    __threadfence();
    guarded += 1; // @no_lock
    atomicExch(&lock_word, 0);
}
K ok_aggregated(int *in, int *out, int *raw, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] % 3 == 0) {
        unsigned active = __activemask();
        int leader = __ffs(active) - 1, base = 0;
        if ((int)(threadIdx.x % 32) == leader) base = atomicAdd(&ticket, __popc(active));
        base = __shfl_sync(active, base, leader);
        out[base + __popc(active & ((1u << threadIdx.x % 32) - 1))] = in[i];
    }
}
K bug_block_global(int *in, int *out, int *raw, int n) // threads of one block race in global memory
{
    out[threadIdx.x] = in[threadIdx.x]; // @block_global.other
    raw[threadIdx.x] = out[63 - threadIdx.x]; // @block_global
}
K ok_block_global(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    raw[threadIdx.x] = out[63 - threadIdx.x];
}
K ok_shared_flag(int *in, int *out, int *raw, int n) // warp 1 waits for warp 0 by a flag in shared memory
{
    __shared__ int data[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[threadIdx.x] = in[threadIdx.x];
        __syncwarp();
        __threadfence_block();
        if (threadIdx.x == 0) ready = 1;
    } else {
        while (ready == 0) {}
        __threadfence_block();
        out[threadIdx.x - 32] = data[63 - threadIdx.x];
    }
}
K bug_shared_flag(int *in, int *out, int *raw, int n)
{
    __shared__ int data[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[threadIdx.x] = in[threadIdx.x]; // @shared_flag.other
        if (threadIdx.x == 0) ready = 1;
    } else {
        while (ready == 0) {}
        out[threadIdx.x - 32] = data[63 - threadIdx.x]; // @shared_flag
    }
}

// ---- barriers ----
K bug_divergent(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x % 2) __syncthreads(); // @divergent
    out[threadIdx.x] = s[threadIdx.x];
}
K bug_two_places(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x % 2) {
        out[threadIdx.x] = 1;
        __syncthreads(); // @two_places
    } else {
        out[threadIdx.x] = 2;
        __syncthreads(); // @two_places.other
        out[threadIdx.x] = 3;
    }
}
K bug_counts(int *in, int *out, int *raw, int n)
{
    named_sync(3, threadIdx.x < 32 ? 64 : 96); // @counts
}
K bug_never_complete(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x < 32) asm volatile("bar.sync 4, 64;"); // @never_complete
}
K bug_part_of_warp(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x < 32 || threadIdx.x % 2) asm volatile("bar.sync 5, 64;" ::: "memory"); // @part_of_warp
    out[threadIdx.x] = 1;
}
K ok_early_return(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    if (threadIdx.x >= 40) return;
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[39 - threadIdx.x];
}
K ok_uniform_loop(int *in, int *out, int *raw, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    for (int k = 0; k < in[3]; k++) {
        __syncthreads();
        int v = s[threadIdx.x ^ 33];
        __syncthreads();
        s[threadIdx.x] = v;
    }
    out[threadIdx.x] = s[threadIdx.x];
}
K ok_votes(int *in, int *out, int *raw, int n)
{
    int any = __syncthreads_or(in[threadIdx.x] == 17), all = __syncthreads_and(in[threadIdx.x] >= 0);
    out[threadIdx.x] = any + 2 * all + 4 * __syncthreads_count(in[threadIdx.x] > 30);
}

// ---- warp operations ----
K bug_shuffle_inactive(int *in, int *out, int *raw, int n)
{
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, v, 20); // @shuffle_inactive
}
K bug_not_in_mask(int *in, int *out, int *raw, int n)
{
    out[threadIdx.x] = __ballot_sync(0x0000ffffu, in[threadIdx.x] > 3); // @not_in_mask
}
K bug_shuffle_gone(int *in, int *out, int *raw, int n) // a block of 48 threads
{
    int v = in[threadIdx.x];
    for (int d = 16; d; d /= 2)
        v += __shfl_down_sync(FULL, v, d); // @shuffle_gone
    out[threadIdx.x] = v;
}
K bug_masks_differ(int *in, int *out, int *raw, int n)
{
    unsigned mask = threadIdx.x < 8 ? 0x00ffu : 0xffffffffu;
    out[threadIdx.x] = __any_sync(mask, in[threadIdx.x] > 3); // @masks_differ
}
K bug_elsewhere(int *in, int *out, int *raw, int n)
{
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_sync(FULL, in[threadIdx.x], 3); // @elsewhere
    else
        out[threadIdx.x] = __shfl_xor_sync(FULL, in[threadIdx.x + 1], 1);
}
K ok_warp_operations(int *in, int *out, int *raw, int n)
{
    int v = in[threadIdx.x];
    for (int d = 16; d; d /= 2)
        v += __shfl_down_sync(FULL, v, d);
    if (threadIdx.x < 16) v += __shfl_xor_sync(0x0000ffffu, v, 5);
    unsigned same = __match_any_sync(FULL, in[threadIdx.x] % 4);
    v += __reduce_add_sync(same, in[threadIdx.x]);
    unsigned mask = __ballot_sync(FULL, in[threadIdx.x] % 2);
    if (in[threadIdx.x] % 2) v += __shfl_sync(mask, v, __ffs(mask) - 1);
    out[threadIdx.x] = v;
}
__noinline__ __device__ int sum_of(cg::thread_block_tile<16> tile, int *slots, int v)
{
    slots[threadIdx.x] = v;
    tile.sync();
    int other = slots[threadIdx.x ^ 15];
    tile.sync();
    for (int d = 8; d; d /= 2)
        v += tile.shfl_xor(v, d);
    return v + other;
}
K ok_groups_apart(int *in, int *out, int *raw, int n) // tiles of 16 whose lanes call from different places, at different times
{
    __shared__ int s[32];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int v = in[threadIdx.x], sum = 0;
    for (int k = 0; k < 2 + (int)tile.meta_group_rank(); k++)
        if ((v + k) % 3 == 0)
            sum += sum_of(tile, s, v + k);
        else
            sum -= sum_of(tile, s, v - k);
    out[threadIdx.x] = sum + tile.any(v == 17);
}
K bug_groups_apart(int *in, int *out, int *raw, int n) // like the kernel above, but each tile reads values of the other tile
{
    __shared__ int s[32];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int v = in[threadIdx.x];
    s[threadIdx.x] = v; // @groups_apart.other
    if (v % 3 == 0)
        tile.sync();
    else
        tile.sync();
    out[threadIdx.x] = s[31 - threadIdx.x]; // @groups_apart
}
K ok_half_warp(int *in, int *out, int *raw, int n) // a block of 48 threads: the mask names lanes that do not exist
{
    int v = in[threadIdx.x];
    v += __shfl_xor_sync(FULL, v, 1);
    out[threadIdx.x] = v + __popc(__ballot_sync(FULL, v > 0));
}

// ---- the system's shared memory, which tiles of more than 32 threads use, begins as zeros ----
K ok_system(int *in, int *out, int *raw, int n)
{
    unsigned at, before;
    asm volatile("mov.u32 %0, %%reserved_smem_offset_1;" : "=r"(at));
    asm volatile("atom.shared.add.u32 %0, [%1+4], 1;" : "=r"(before) : "r"(at) : "memory");
    out[threadIdx.x] = before;
}

// ---- one lane waits for a flag of another block, and the other lanes learn of it only by __syncwarp() ----
static __device__ int heard, heard_data[32];
static __device__ void hear(int *out, bool joined)
{
    if (blockIdx.x == 0) {
        heard_data[threadIdx.x] = threadIdx.x; // @heard.other
        __threadfence();
        __syncwarp();
        if (threadIdx.x == 0) atomicExch(&heard, 1);
        return;
    }
    if (threadIdx.x == 0)
        while (atomicAdd(&heard, 0) == 0) {}
    if (joined) __syncwarp();
    out[threadIdx.x] = heard_data[31 - threadIdx.x]; // @heard
}
K bug_heard(int *in, int *out, int *raw, int n) { hear(out, false); }
K ok_heard(int *in, int *out, int *raw, int n) { hear(out, true); }

// ---- a barrier of the grid: all threads or only the first thread execute a fence before the barrier of the block ----
static __device__ int gathered, gathered_data[128];
static __device__ void gather(int *out, bool all)
{
    const int at = blockIdx.x * 64 + threadIdx.x;
    gathered_data[at] = at; // @gather.other
    if (all || threadIdx.x == 0) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&gathered, 1);
        while (atomicAdd(&gathered, 0) < 2) {}
    }
    __syncthreads();
    out[at] = gathered_data[127 - at]; // @gather
}
K bug_gather(int *in, int *out, int *raw, int n) { gather(out, false); }
K ok_gather(int *in, int *out, int *raw, int n) { gather(out, true); }
