//! project: FlashKDA
//! number: 25
//! title: a copy completes on an mbarrier that was initialised without a fence
//! kind: asynchronous order
//! finds: asynchronous operation
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: load_once, grid: [1], block: [N], args: [x, y]}
#include "bulk.cuh"

extern "C" __global__ void load_once(const float *x, float *y)
{
    __shared__ __align__(16) float tile[128];
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
#if FIXED
        FENCE_INIT();
#endif
        load(tile, x, 512, &bar); // BUG
    }
    __syncthreads();
    wait(&bar, 0);
    y[threadIdx.x] = tile[127 - threadIdx.x];
}
