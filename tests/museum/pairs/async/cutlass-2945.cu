//! project: cutlass
//! number: 2945
//! title: the producer issues copies of tiles that do not exist, and the block ends with them in flight
//! kind: asynchronous order
//! finds: asynchronous operation
//! spec: |
//!   sizes: {tiny: {TILES: 3}}
//!   buffers:
//!     a: {type: f32, shape: [64 * (TILES + 2)], fill: 1}
//!     c: {type: f32, shape: [64], out: true}
//!   launch: {kernel: product, grid: [1], block: [64], args: [a, c, TILES]}
#include "bulk.cuh"

extern "C" __global__ void product(const float *a, float *c, int tiles)
{
    __shared__ __align__(16) float tile[2][64];
    __shared__ unsigned long long bar[2];
    float sum = 0;
    if (threadIdx.x == 0) {
        init(&bar[0], 1), init(&bar[1], 1);
        FENCE_INIT();
        load(tile[0], a, 256, &bar[0]);
        load(tile[1], a + 64, 256, &bar[1]);
    }
    __syncthreads();
    for (int k = 0; k < tiles; k++) {
        wait(&bar[k % 2], k / 2 & 1);
        sum += tile[k % 2][63 - threadIdx.x];
        FENCE_PROXY();
        __syncthreads();
        if (threadIdx.x == 0 && (!FIXED || k + 2 < tiles))
            load(tile[k % 2], a + 64 * (k + 2), 256, &bar[k % 2]);
    }
    c[threadIdx.x] = sum;
}
