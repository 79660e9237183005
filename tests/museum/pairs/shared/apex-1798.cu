//! project: apex
//! number: 1798
//! title: only the threads with a result wait, so a second reduction overwrites what others read
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: reduce_twice, grid: [1], block: [128], args: [x, y]}

__device__ float reduce(float *shared, float v, bool share)
{
    int t = threadIdx.x;
    shared[t] = v; // BUG
    __syncthreads();
    for (int d = 64; d >= 32; d /= 2) {
        if (t < d)
            shared[t] = shared[t] + shared[t + d];
        __syncthreads();
    }
    float sum = 0;
    for (int i = 0; i < 32; i++)
        sum += shared[i];
    if (FIXED || share)
        __syncthreads();
    return sum;
}

extern "C" __global__ void reduce_twice(const float *x, float *y)
{
    __shared__ float shared[128];
    float a = reduce(shared, x[threadIdx.x], false);
    float b = reduce(shared, x[threadIdx.x] * a, false);
    y[threadIdx.x] = b;
}
