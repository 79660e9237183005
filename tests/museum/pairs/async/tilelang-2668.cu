//! project: tilelang
//! number: 2668
//! title: a copy overwrites a buffer before its last reader, because a pipeline moved it ahead
//! kind: asynchronous order
//! finds: race
//! spec: |
//!   sizes: {tiny: {ROUNDS: 3}}
//!   buffers:
//!     x: {type: f32, shape: [64 * ROUNDS], fill: 1}
//!     y: {type: f32, shape: [64], out: true}
//!   launch: {kernel: pipelined, grid: [1], block: [64], args: [x, y, ROUNDS]}

extern "C" __global__ void pipelined(const float *x, float *y, int rounds)
{
    __shared__ float tile[64];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(&tile[t]);
    float sum = 0;
    tile[t] = 0;
    __syncthreads();
    for (int k = 0; k < rounds; k++) {
#if FIXED
        sum += tile[63 - t];
        __syncthreads();
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(x + 64 * k + t) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
#else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(x + 64 * k + t) : "memory");
        sum += tile[63 - t]; // BUG
        asm volatile("cp.async.wait_all;" ::: "memory");
#endif
        __syncthreads();
    }
    y[t] = sum;
}
