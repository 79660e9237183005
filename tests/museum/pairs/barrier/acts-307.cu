//! project: acts
//! number: 307
//! title: a barrier is inside a condition on the number of the thread
//! kind: barrier
//! finds: barrier misuse
//! spec: |
//!   sizes: {tiny: {N: 40}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: find_seeds, grid: [1], block: [64], args: [x, y, N]}

extern "C" __global__ void find_seeds(const float *x, float *y, int n)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
#if FIXED
    tile[t] = t < n ? x[t] : 0;
    __syncthreads();
    if (t < n)
        y[t] = tile[n - 1 - t];
#else
    if (t < n) {
        tile[t] = x[t];
        __syncthreads(); // BUG
        y[t] = tile[n - 1 - t];
    }
#endif
    __syncthreads();
    if (t < n && y[t] < 0)
        y[t] = 0;
}
