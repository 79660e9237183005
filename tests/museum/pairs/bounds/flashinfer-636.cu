//! project: flashinfer
//! number: 636
//! title: a vector access to shared memory begins at an odd offset
//! kind: misaligned
//! finds: misaligned access
//! spec: |
//!   sizes: {tiny: {WARPS: 7, D: 128}}
//!   buffers:
//!     x: {type: f32, shape: [D], fill: 1}
//!     y: {type: f32, shape: [D], out: true}
//!   launch: {kernel: add_norm, grid: [1], block: [32], shared: 4 * (WARPS + 1 + D), args: [x, y, WARPS]}

// Partial sums of the warps lie before the row.
extern "C" __global__ void add_norm(const float *x, float *y, int warps)
{
    extern __shared__ float memory[];
    float *row = memory + (FIXED ? (warps + 3) / 4 * 4 : warps);
    float4 v = ((const float4 *)x)[threadIdx.x];
    ((float4 *)row)[threadIdx.x] = v; // BUG
    __syncwarp();
    ((float4 *)y)[threadIdx.x] = ((float4 *)row)[31 - threadIdx.x]; // BUG
}
