//! project: DeepEP
//! number: 642
//! title: a reader frees a stage for the next copy without a proxy fence
//! kind: asynchronous order
//! finds: asynchronous operation (note)
//! spec: |
//!   sizes: {tiny: {TOKENS: 6}}
//!   buffers:
//!     x: {type: f32, shape: [32 * TOKENS], fill: 1}
//!     y: {type: f32, shape: [32], out: true}
//!   launch: {kernel: combine, grid: [1], block: [64], args: [x, y, TOKENS]}
#include "bulk.cuh"

// The first warp loads tokens, and the second one adds them.
extern "C" __global__ void combine(const float *x, float *y, int tokens)
{
    __shared__ __align__(16) float tile[2][32];
    __shared__ unsigned long long full[2], empty[2];
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++)
            init(&full[s], 1), init(&empty[s], 1);
        FENCE_INIT();
    }
    __syncthreads();
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int k = 0; k < tokens && lane == 0; k++) {
            if (k >= 2)
                wait(&empty[k % 2], (k / 2 - 1) & 1);
            load(tile[k % 2], x + 32 * k, 128, &full[k % 2]);
        }
        return;
    }
    float sum = 0;
    for (int k = 0; k < tokens; k++) {
        wait(&full[k % 2], k / 2 & 1);
        sum += tile[k % 2][31 - lane]; // BUG
#if FIXED
        FENCE_PROXY();
#endif
        __syncwarp();
        if (lane == 0)
            arrive(&empty[k % 2]);
    }
    y[lane] = sum;
}
