//! project: opencv_contrib
//! number: b72527f
//! title: a reduction has an element for each warp, and writes an element for each thread
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {N: 256}}
//!   buffers:
//!     sums: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [1], out: true}
//!   launch: {kernel: otsu_score, grid: [1], block: [N], args: [sums, y]}

extern "C" __global__ void otsu_score(const float *sums, float *y)
{
    __shared__ float part[FIXED ? 256 : 8];
    int t = threadIdx.x;
    part[t] = sums[t]; // BUG
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d)
            part[t] = fminf(part[t], part[t + d]); // BUG
        __syncthreads();
    }
    if (t == 0)
        y[0] = part[0];
}
