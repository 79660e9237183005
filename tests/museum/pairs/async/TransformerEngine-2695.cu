//! project: TransformerEngine
//! number: 2695
//! title: a copy overwrites a stage that threads have read, without a proxy fence between them
//! kind: asynchronous order
//! finds: asynchronous operation (note)
//! spec: |
//!   sizes: {tiny: {STAGES: 4}}
//!   buffers:
//!     x: {type: f32, shape: [128 * STAGES], fill: {uniform: [-1, 1]}}
//!     y: {type: f32, shape: [128], out: true}
//!   launch: {kernel: find_amax, grid: [1], block: [128], args: [x, y, STAGES]}
#include "bulk.cuh"

extern "C" __global__ void find_amax(const float *x, float *y, int stages)
{
    __shared__ __align__(16) float tile[2][128];
    __shared__ unsigned long long bar[4];
    float most = 0;
    if (threadIdx.x == 0) {
        for (int i = 0; i < stages; i++)
            init(&bar[i], 1);
        FENCE_INIT();
        load(tile[0], x, 512, &bar[0]);
    }
    __syncthreads();
    for (int i = 0; i < stages; i++) {
        if (i + 1 < stages && threadIdx.x == 0)
            load(tile[(i + 1) % 2], x + (i + 1) * 128, 512, &bar[i + 1]);
        wait(&bar[i], 0);
        most = fmaxf(most, fabsf(tile[i % 2][127 - threadIdx.x])); // BUG
#if FIXED
        FENCE_PROXY();
#endif
        __syncthreads();
    }
    y[threadIdx.x] = most;
}
