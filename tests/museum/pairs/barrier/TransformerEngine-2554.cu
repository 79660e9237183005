//! project: TransformerEngine
//! number: 2554
//! title: the number of a named barrier is 18, because a library adds 8 to it
//! kind: barrier
//! finds: barrier misuse
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: quantise, grid: [1], block: [64], args: [x, y, 10 - 8 * FIXED]}

// A library reserves the first eight barriers.
__device__ void sync_named(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number + 8), "r"(threads) : "memory"); // BUG
}

extern "C" __global__ void quantise(const float *x, float *y, int number)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    sync_named(number, 64);
    y[threadIdx.x] = tile[63 - threadIdx.x];
}
