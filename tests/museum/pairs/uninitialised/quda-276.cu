//! project: quda
//! number: 276
//! title: threads without an element leave, and a reduction reads their part of shared memory
//! kind: uninitialised
//! finds: uninitialised read
//! spec: |
//!   sizes: {tiny: {N: 100}}
//!   buffers:
//!     x: {type: f64, shape: [N], fill: 1}
//!     y: {type: f64, shape: [2], out: true}
//!   launch: {kernel: plaquette, grid: [2], block: [64], args: [x, y, N]}

extern "C" __global__ void plaquette(const double *x, double *y, int n)
{
    __shared__ double part[64];
    int i = blockIdx.x * 64 + threadIdx.x;
#if FIXED
    part[threadIdx.x] = i < n ? x[i] : 0;
#else
    if (i >= n)
        return;
    part[threadIdx.x] = x[i];
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int k = 0; k < 64; k++)
            sum += part[k]; // BUG
        y[blockIdx.x] = sum;
    }
}
