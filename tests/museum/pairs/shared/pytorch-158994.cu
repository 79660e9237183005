//! project: pytorch
//! number: 158994
//! title: the first thread sums the results of all threads without a barrier before it
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {DIM: 200}}
//!   buffers:
//!     x: {type: f32, shape: [DIM], fill: {uniform: [0, 1]}}
//!     y: {type: f32, shape: [1], out: true}
//!   launch: {kernel: margin_gradient, grid: [1], block: [128], args: [x, y, DIM]}

extern "C" __global__ void margin_gradient(const float *x, float *y, int dim)
{
    __shared__ float buffer[128];
    buffer[threadIdx.x] = 0;
    for (int i = threadIdx.x; i < dim; i += 128)
        buffer[threadIdx.x] += x[i] > 0.5f ? x[i] : 0;
#if FIXED
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < 128; i++)
            sum += buffer[i]; // BUG
        y[0] = -sum;
    }
}
