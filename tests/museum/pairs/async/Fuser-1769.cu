//! project: Fuser
//! number: 1769
//! title: threads arrive at an mbarrier that another thread may not have initialised yet
//! kind: asynchronous order
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: meet, grid: [1], block: [N], args: [x, y]}
#include "bulk.cuh"

extern "C" __global__ void meet(const float *x, float *y)
{
    __shared__ float tile[64];
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0)
        init(&bar, 64); // BUG
#if FIXED
    __syncthreads();
#endif
    tile[threadIdx.x] = x[threadIdx.x];
    arrive(&bar);
    wait(&bar, 0);
    y[threadIdx.x] = tile[63 - threadIdx.x];
}
