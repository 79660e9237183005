//! project: FlashKDA
//! number: 25
//! title: a bulk copy stores what threads have written, without a proxy fence between them
//! kind: asynchronous order
//! finds: asynchronous operation
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: store_state, grid: [1], block: [N], args: [x, y]}
#include "bulk.cuh"

extern "C" __global__ void store_state(const float *x, float *y)
{
    __shared__ __align__(16) float state[128];
    state[threadIdx.x] = x[127 - threadIdx.x]; // BUG
#if FIXED
    FENCE_PROXY();
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
        store(y, state, 512);
        STORE_WAIT(0);
    }
}
