//! project: apex
//! number: 758826fc
//! title: the first block clears a flag that other blocks set in the same launch
//! kind: race in global memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     gradient: {type: f32, shape: [N], fill: {iota: [-100, 1]}}
//!     overflow: {type: i32, shape: [1], fill: 1, out: true}
//!   launch: {kernel: check_finite, grid: ["1 if FIXED == 1 else 2"], block: [64], args: [gradient, overflow, N]}

extern "C" __global__ void check_finite(const float *gradient, int *overflow, int n)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *overflow = 0; // BUG
    __syncthreads();
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x)
        if (gradient[i] > 20)
            atomicExch(overflow, 1);
}
