//! project: opencv
//! number: 12721
//! title: lanes of a warp scan in place and rely on running together
//! kind: race inside a warp
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 8}}
//!   buffers:
//!     h: {type: i32, shape: [N], fill: 1}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: scan_coarse, grid: [1], block: [32], args: [h, y]}

extern "C" __global__ void scan_coarse(const int *h, int *y)
{
    __shared__ int scan[8];
    int t = threadIdx.x;
    if (t < 8)
        scan[t] = h[t];
    __syncthreads();
#if FIXED
    for (int d = 1; d < 8; d *= 2) {
        int below = t >= d && t < 8 ? scan[t - d] : 0;
        __syncthreads();
        if (t < 8)
            scan[t] += below;
        __syncthreads();
    }
#else
    if (t < 8) {
        if (t >= 1)
            scan[t] += scan[t - 1]; // BUG
        if (t >= 2)
            scan[t] += scan[t - 2]; // BUG
        if (t >= 4)
            scan[t] += scan[t - 4]; // BUG
    }
    __syncthreads();
#endif
    if (t < 8)
        y[t] = scan[t];
}
