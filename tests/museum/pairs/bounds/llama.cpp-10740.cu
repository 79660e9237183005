//! project: llama.cpp
//! number: 10740
//! title: one thread too many remains in the second stage of a reduction
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [1], out: true}
//!   launch: {kernel: dot, grid: [1], block: [128], args: [x, y]}

// The first warp reduces the sums of the warps, and the other threads leave.
extern "C" __global__ void dot(const float *x, float *y)
{
    __shared__ float part[32];
    int t = threadIdx.x;
    float sum = x[t];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (t < 32)
        part[t] = 0;
    __syncthreads();
    part[t / 32] = sum;
    __syncthreads();
    if (FIXED ? t >= 32 : t > 32)
        return;
    sum = part[t]; // BUG
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(__activemask(), sum, d);
    if (t == 0)
        y[0] = sum;
}
