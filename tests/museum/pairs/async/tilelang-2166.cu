//! project: tilelang
//! number: 2166
//! title: consumers read what producer threads write before they wait for the mbarrier
//! kind: asynchronous order
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     a: {type: f32, shape: [N], fill: 1}
//!     b: {type: f32, shape: [N], fill: 2}
//!     c: {type: f32, shape: [N], out: true}
//!   launch: {kernel: specialised, grid: [1], block: [128], args: [a, b, c]}
#include "bulk.cuh"

// The producer warps fill one buffer by a bulk copy and the other one by stores.
extern "C" __global__ void specialised(const float *a, const float *b, float *c)
{
    __shared__ __align__(16) float copied[64], stored[64];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) {
        init(&full, 65);
        FENCE_INIT();
    }
    __syncthreads();
    if (t >= 64) {
        if (t == 64)
            load(copied, a, 256, &full);
        stored[t - 64] = b[t - 64]; // BUG
        arrive(&full);
    } else {
#if FIXED
        wait(&full, 0);
        float sum = stored[63 - t];
#else
        float sum = stored[63 - t];
        wait(&full, 0);
#endif
        c[t] = sum + copied[t];
    }
}
