//! project: popsift
//! number: 82
//! title: a histogram is cleared by some threads and filled by others without a barrier
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     angle: {type: f32, shape: [N], fill: {uniform: [0, 35]}}
//!     y: {type: f32, shape: [36], out: true}
//!   launch: {kernel: orient, grid: [1], block: [64], args: [angle, y, N]}

extern "C" __global__ void orient(const float *angle, float *y, int n)
{
    __shared__ float histogram[36];
    for (int i = threadIdx.x; i < 36; i += 64)
        histogram[i] = 0; // BUG
#if FIXED
    __syncthreads();
#endif
    for (int i = threadIdx.x; i < n; i += 64)
        atomicAdd(&histogram[(int)angle[i]], 1.0f);
    __syncthreads();
    for (int i = threadIdx.x; i < 36; i += 64)
        y[i] = histogram[i];
}
