//! project: tilelang
//! number: 2556
//! title: a compiler drops the barrier of a region with 48 threads
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 48}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: guarded, grid: [1], block: [64], args: [x, y]}

extern "C" __global__ void guarded(const float *x, float *y)
{
    __shared__ float tile[48];
    if (threadIdx.x < 48)
        tile[threadIdx.x] = x[threadIdx.x]; // BUG
#if FIXED
    __syncthreads();
#endif
    if (threadIdx.x < 48)
        y[threadIdx.x] = tile[47 - threadIdx.x];
}
