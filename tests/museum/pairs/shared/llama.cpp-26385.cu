//! project: llama.cpp
//! number: 26385
//! title: a second reduction reuses the memory that slow warps still read
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: soften, grid: [1], block: [128], args: [x, y]}

// Reduces over the block. The memory must not be reused before all threads have returned.
__device__ float reduce(float value, float *part, bool largest)
{
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_xor_sync(0xffffffff, value, d);
        value = largest ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value; // BUG
    __syncthreads();
    value = part[0];
    for (int i = 1; i < 4; i++)
        value = largest ? fmaxf(value, part[i]) : value + part[i];
    return value;
}

extern "C" __global__ void soften(const float *x, float *y)
{
    __shared__ float part[4];
    float top = reduce(x[threadIdx.x], part, true);
    float e = expf(x[threadIdx.x] - top);
#if FIXED
    __syncthreads();
#endif
    y[threadIdx.x] = e / reduce(e, part, false);
}
