//! project: Fuser
//! number: 2391
//! title: a semaphore between blocks is released without a fence
//! kind: race in global memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     part: {type: f32, shape: [N], fill: 0, out: true}
//!     semaphore: {type: i32, shape: [1], fill: 0}
//!   launch: {kernel: split_k, grid: [3], block: [N], args: [part, semaphore]}

// The blocks add to one tile, one after the other.
extern "C" __global__ void split_k(float *part, int *semaphore)
{
    if (threadIdx.x == 0)
        while (atomicAdd(semaphore, 0) != blockIdx.x)
            ;
    __syncthreads();
    part[threadIdx.x] += blockIdx.x; // BUG
#if FIXED
    __threadfence();
#endif
    __syncthreads();
    if (threadIdx.x == 0)
        atomicExch(semaphore, blockIdx.x + 1);
}
