//! project: llama.cpp
//! number: 27870
//! title: a barrier of the block is inside a branch that some warps do not take
//! kind: barrier
//! finds: barrier misuse
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: combine_meta, grid: [1], block: [16, 8], args: [x, y]}

// Rows of 16 threads share a warp. Every second row combines the maxima of two rows.
extern "C" __global__ void combine_meta(const float *x, float *y)
{
    __shared__ float meta[128];
    int t = threadIdx.y * 16 + threadIdx.x;
    meta[t] = x[t];
    __syncthreads();
    float value = meta[t];
    if (threadIdx.y % 2 == 0) {
        value = fmaxf(value, meta[t + 16]);
#if !FIXED
        __syncthreads(); // BUG
        meta[t] = value;
#endif
    }
#if FIXED
    __syncthreads();
    if (threadIdx.y % 2 == 0)
        meta[t] = value;
#endif
    __syncthreads();
    y[t] = meta[t];
}
