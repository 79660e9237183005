//! project: cutlass
//! number: 1326
//! title: copies that the main loop has issued are still in flight when the epilogue writes
//! kind: asynchronous order
//! finds: race
//! spec: |
//!   sizes: {tiny: {STAGES: 3}}
//!   buffers:
//!     a: {type: f32, shape: [128 * STAGES], fill: 1}
//!     c: {type: f32, shape: [128], out: true}
//!   launch: {kernel: multistage, grid: [1], block: [128], args: [a, c, STAGES]}

__device__ void copy_async(float *to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// The last round prefetches a tile that nobody needs.
extern "C" __global__ void multistage(const float *a, float *c, int stages)
{
    __shared__ float tile[2][128];
    int t = threadIdx.x;
    float sum = 0;
    copy_async(&tile[0][t], a + t);
    for (int k = 0; k < stages; k++) {
        int next = k + 1 < stages ? k + 1 : k;
        copy_async(&tile[(k + 1) % 2][t], a + next * 128 + t);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += tile[k % 2][127 - t];
        __syncthreads();
    }
#if FIXED
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
#endif
    tile[stages % 2][127 - t] = sum; // BUG
    __syncthreads();
    c[t] = tile[stages % 2][t];
}
