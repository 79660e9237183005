//! project: DeepEP
//! number: 674
//! title: a stage is loaded again while the copy that stores it still reads
//! kind: asynchronous order
//! finds: race
//! spec: |
//!   sizes: {tiny: {ROUNDS: 5}}
//!   buffers:
//!     x: {type: f32, shape: [64 * ROUNDS], fill: 1}
//!     y: {type: f32, shape: [64 * ROUNDS], out: true}
//!   launch: {kernel: copy_through, grid: [1], block: [32], args: [x, y, ROUNDS]}
#include "bulk.cuh"

// One thread copies by way of two stages of shared memory. The wait leaves the store of this stage in flight.
extern "C" __global__ void copy_through(const float *x, float *y, int rounds)
{
    __shared__ __align__(16) float stage[2][64];
    __shared__ unsigned long long bar[2];
    if (threadIdx.x != 0)
        return;
    init(&bar[0], 1), init(&bar[1], 1);
    FENCE_INIT();
    for (int k = 0; k < 2; k++)
        load(stage[k], x + 64 * k, 256, &bar[k]);
    for (int k = 0; k < rounds; k++) {
        wait(&bar[k % 2], k / 2 & 1);
        store(y + 64 * k, stage[k % 2], 256); // BUG
        if (k + 2 < rounds) {
#if FIXED
            STORE_WAIT_READ(0);
#else
            STORE_WAIT_READ(1);
#endif
            load(stage[k % 2], x + 64 * (k + 2), 256, &bar[k % 2]);
        }
    }
    STORE_WAIT(0);
}
