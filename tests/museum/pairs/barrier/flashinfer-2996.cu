//! project: flashinfer
//! number: 2996
//! title: lanes that are not elected leave a barrier that the other threads wait for
//! kind: barrier
//! finds: barrier misuse
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [N], out: true}
//!   launch: {kernel: tiny_product, grid: [1], block: [128], args: [x, y]}

// Two warps load, and two warps compute. Lane 0 of a loading warp does the work.
extern "C" __global__ void tiny_product(const float *x, float *y)
{
    __shared__ float tile[64], sum[64];
    int t = threadIdx.x, warp = t / 32;
    if (FIXED ? warp >= 2 : warp >= 2 && t % 32 == 0) {
        if (t % 32 == 0)
            for (int i = 0; i < 32; i++)
                tile[(warp - 2) * 32 + i] = x[(warp - 2) * 32 + i];
        asm volatile("bar.sync 1, 128;" ::: "memory"); // BUG
    } else if (FIXED || warp < 2) {
        asm volatile("bar.sync 1, 128;" ::: "memory"); // BUG
        sum[t] = tile[63 - t];
    } else {
        sum[t - 64] = 0;
    }
    __syncthreads();
    if (t < 64)
        y[t] = sum[t];
}
