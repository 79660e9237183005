//! project: LeetCUDA
//! number: 251
//! title: a memory fence takes the place of a barrier of the grid
//! kind: race in global memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 256}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: {uniform: [0, 1]}}
//!     total: {type: f32, shape: [1], fill: 0}
//!     y: {type: f32, shape: [N], out: true}
//!   steps:
//!     - {launch: {kernel: softmax, grid: [N / 64], block: [64], args: [x, total, y]}}
//!     - {launch: {kernel: divide, grid: [N / 64], block: [64], args: [total, y]}}

// Each block adds its sum to the total, and divides by the total of all blocks.
extern "C" __global__ void softmax(const float *x, float *total, float *y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    float e = expf(x[i]), sum = e;
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, sum);
#if FIXED
    y[i] = e;
#else
    __threadfence();
    y[i] = e / *total; // BUG
#endif
}

extern "C" __global__ void divide(const float *total, float *y)
{
    if (FIXED)
        y[blockIdx.x * 64 + threadIdx.x] /= *total;
}
