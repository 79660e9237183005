//! project: llm.c
//! number: c73fa88
//! title: the result of a tree reduction is read before the last step is complete
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {C: 256}}
//!   buffers:
//!     x: {type: f32, shape: [C], fill: {uniform: [-1, 1]}}
//!     y: {type: f32, shape: [C], out: true}
//!   launch: {kernel: soften, grid: [1], block: [128], args: [x, y, C]}

extern "C" __global__ void soften(const float *x, float *y, int c)
{
    __shared__ float part[128];
    int t = threadIdx.x;
    float top = -1e30f;
    for (int i = t; i < c; i += 128)
        top = fmaxf(top, x[i]);
    part[t] = top;
    for (int stride = 64; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride)
            part[t] = fmaxf(part[t], part[t + stride]); // BUG
    }
#if FIXED
    __syncthreads();
    float offset = part[0];
#else
    float offset = part[0];
    __syncthreads();
#endif
    for (int i = t; i < c; i += 128)
        y[i] = expf(x[i] - offset);
}
