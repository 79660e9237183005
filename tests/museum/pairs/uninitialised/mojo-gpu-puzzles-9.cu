//! project: mojo-gpu-puzzles
//! number: 9
//! title: the last block reads elements of its halo that it has not loaded
//! kind: uninitialised
//! finds: uninitialised read
//! spec: |
//!   sizes: {tiny: {N: 15}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     w: {type: f32, shape: [4], fill: 0.25}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: convolve, grid: [2], block: [8], args: [x, w, y, N]}

extern "C" __global__ void convolve(const float *x, const float *w, float *y, int n)
{
    __shared__ float tile[8 + 3];
    int t = threadIdx.x, i = blockIdx.x * 8 + t;
    if (FIXED)
        tile[t] = 0;
    if (i < n)
        tile[t] = x[i];
    if (t < 3) {
        if (FIXED || i + 8 < n)
            tile[t + 8] = i + 8 < n ? x[i + 8] : 0;
    }
    __syncthreads();
    if (i < n) {
        float sum = 0;
        for (int k = 0; k < 4; k++)
            sum += w[k] * tile[t + k]; // BUG
        y[i] = sum;
    }
}
