//! project: llama.cpp
//! number: 5853
//! title: the first warp clears partial results that other warps still read
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: normalise, grid: [1], block: [128], args: [x, y]}

__device__ float add_lanes(float v)
{
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}

// The maximum and the sum pass through the same partial results.
extern "C" __global__ void normalise(const float *x, float *y)
{
    __shared__ float part[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0)
        part[lane] = 0; // BUG
    __syncthreads();
    if (lane == 0)
        part[warp] = x[threadIdx.x];
    __syncthreads();
    float scale = add_lanes(part[lane]);
#if FIXED
    __syncthreads();
#endif
    if (warp == 0)
        part[lane] = 0; // BUG
    __syncthreads();
    float sum = add_lanes(x[threadIdx.x] * scale);
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    y[threadIdx.x] = add_lanes(part[lane]);
}
