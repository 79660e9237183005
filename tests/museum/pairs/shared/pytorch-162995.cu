//! project: pytorch
//! number: 162995
//! title: two stages of a reduction use the same shared memory without a barrier between them
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 256}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: {uniform: [0, 1]}}
//!     y: {type: f32, shape: [4], out: true}
//!   launch: {kernel: reduce_rows, grid: [1], block: [64, 4], args: [x, y]}

__device__ float reduce_y(float v, float *shared)
{
    shared[threadIdx.x + threadIdx.y * 64] = v;
    for (int offset = 2; offset > 0; offset /= 2) {
        __syncthreads();
        if (threadIdx.y < offset) {
            v += shared[threadIdx.x + (threadIdx.y + offset) * 64];
            shared[threadIdx.x + threadIdx.y * 64] = v;
        }
    }
    return v;
}

__device__ float reduce_x(float v, float *shared)
{
    shared[threadIdx.x + threadIdx.y * 64] = v; // BUG
    __syncthreads();
    if (threadIdx.x < 32)
        v += shared[threadIdx.x + 32 + threadIdx.y * 64];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}

extern "C" __global__ void reduce_rows(const float *x, float *y)
{
    __shared__ float shared[256];
    float v = reduce_y(x[threadIdx.x + threadIdx.y * 64], shared);
#if FIXED
    __syncthreads();
#endif
    v = reduce_x(v, shared);
    if (threadIdx.x == 0)
        y[threadIdx.y] = v;
}
