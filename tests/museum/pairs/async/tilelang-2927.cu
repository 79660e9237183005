//! project: tilelang
//! number: 2927
//! title: the parity of a wait comes from the loop, and each round has an mbarrier of its own
//! kind: asynchronous order
//! finds: asynchronous operation
//! spec: |
//!   sizes: {tiny: {ROUNDS: 4}}
//!   buffers:
//!     x: {type: f32, shape: [64 * ROUNDS], fill: 1}
//!     y: {type: f32, shape: [64], out: true}
//!   launch: {kernel: copy_rounds, grid: [1], block: [64], args: [x, y, ROUNDS]}
#include "bulk.cuh"

extern "C" __global__ void copy_rounds(const float *x, float *y, int rounds)
{
    __shared__ __align__(16) float tile[4][64];
    __shared__ unsigned long long bar[4];
    float sum = 0;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 4; s++)
            init(&bar[s], 1);
        FENCE_INIT();
    }
    __syncthreads();
    for (int s = 0; s < rounds; s++) {
        if (threadIdx.x == 0)
            load(tile[s], x + 64 * s, 256, &bar[s]);
        wait(&bar[s], FIXED ? 0 : s & 1); // BUG
        sum += tile[s][63 - threadIdx.x];
    }
    __syncthreads();
    y[threadIdx.x] = sum;
    for (int s = 0; s < rounds; s++)
        wait(&bar[s], 0);
}
