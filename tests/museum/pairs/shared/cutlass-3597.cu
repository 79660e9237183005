//! project: cutlass
//! number: 3597
//! title: a reduction of maxima reuses its scratch before all warps have read it
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {TILES: 4}}
//!   buffers:
//!     x: {type: f32, shape: [TILES * 128], fill: {uniform: [-1, 1]}}
//!     y: {type: f32, shape: [128], out: true}
//!   launch: {kernel: attend, grid: [1], block: [128], args: [x, y, TILES]}

__device__ float largest_of_block(float v, float *scratch)
{
    for (int d = 16; d > 0; d /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = v; // BUG
    __syncthreads();
    return fmaxf(fmaxf(scratch[0], scratch[1]), fmaxf(scratch[2], scratch[3]));
}

extern "C" __global__ void attend(const float *x, float *y, int tiles)
{
    __shared__ float scratch[2][4];
    float top = -1e30f;
    for (int k = 0; k < tiles; k++)
        top = fmaxf(top, largest_of_block(x[k * 128 + threadIdx.x], scratch[FIXED ? k % 2 : 0]));
    y[threadIdx.x] = top;
}
