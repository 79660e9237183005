//! project: kokkos
//! number: 4855
//! title: the first lane writes its value to itself while the other lanes read it
//! kind: race inside a warp
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 32}}
//!   buffers:
//!     x: {type: f64, shape: [N], fill: 1}
//!     y: {type: f64, shape: [N], out: true}
//!   launch: {kernel: reduce_warp, grid: [1], block: [N], args: [x, y]}

extern "C" __global__ void reduce_warp(const double *x, double *y)
{
    __shared__ double value[32];
    int lane = threadIdx.x;
    value[lane] = x[lane];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        double sum = lane + d < 32 ? value[lane + d] : 0;
        __syncwarp();
        value[lane] += sum;
        __syncwarp();
    }
    if (!FIXED || lane != 0)
        *(volatile double *)&value[lane] = value[0]; // BUG
    __syncwarp();
    y[lane] = value[lane];
}
