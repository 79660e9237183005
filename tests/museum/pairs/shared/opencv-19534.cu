//! project: opencv
//! number: 19534
//! title: barriers between the steps of a scan leave the read and the write of one step unordered
//! kind: race in shared memory
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
    for (int d = 1; d < 8; d *= 2) {
#if FIXED
        int below = t >= d && t < 8 ? scan[t - d] : 0;
        __syncthreads();
        if (t < 8)
            scan[t] += below;
#else
        if (t >= d && t < 8)
            scan[t] += scan[t - d]; // BUG
#endif
        __syncthreads();
    }
    if (t < 8)
        y[t] = scan[t];
}
