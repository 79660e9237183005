//! project: llama.cpp
//! number: 13469
//! title: only some warps execute an additional barrier, so the others wait for the wrong one
//! kind: barrier
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: combine, grid: [1], block: [32, 4], args: [x, y]}

// The first warp of each pair combines the results of the pair. A barrier was added to this branch only.
extern "C" __global__ void combine(const float *x, float *y)
{
    __shared__ float part[128], sum[64];
    int warp = threadIdx.y, lane = threadIdx.x;
    part[warp * 32 + lane] = x[warp * 32 + lane];
    __syncthreads();
    if (warp % 2 == 0) {
        float both = part[warp * 32 + lane] + part[warp * 32 + 32 + lane];
        __syncthreads();
        sum[warp * 16 + lane] = both; // BUG
    }
#if FIXED
    else {
        __syncthreads();
    }
#endif
    __syncthreads();
    y[warp * 32 + lane] = sum[warp / 2 * 32 + 31 - lane];
}
