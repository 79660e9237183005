//! project: rvllm
//! number: 1
//! title: a shuffle with a full mask reads lanes that a small block does not have
//! kind: warp operation
//! finds: undefined warp operation
//! spec: |
//!   sizes: {tiny: {N: 20}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: -1}
//!     y: {type: f32, shape: [1], out: true}
//!   launch: {kernel: row_max, grid: [1], block: [N], args: [x, y]}

extern "C" __global__ void row_max(const float *x, float *y)
{
#if FIXED
    __shared__ float part[32];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        float top = part[0];
        for (int i = 1; i < blockDim.x; i++)
            top = fmaxf(top, part[i]);
        y[0] = top;
    }
#else
    float top = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        top = fmaxf(top, __shfl_down_sync(0xffffffff, top, d)); // BUG
    if (threadIdx.x == 0)
        y[0] = top;
#endif
}
