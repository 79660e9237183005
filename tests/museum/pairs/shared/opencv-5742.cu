//! project: opencv
//! number: 5742
//! title: histograms of cells are combined while other threads still normalise them
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 144}}
//!   buffers:
//!     cell: {type: f32, shape: [N], fill: {uniform: [0, 1]}}
//!     y: {type: f32, shape: [36], out: true}
//!   launch: {kernel: block_histogram, grid: [1], block: [36, 4], args: [cell, y]}

// Four rows of threads sum four parts of a block's histogram.
extern "C" __global__ void block_histogram(const float *cell, float *y)
{
    __shared__ float part[4][36];
    part[threadIdx.y][threadIdx.x] = cell[threadIdx.y * 36 + threadIdx.x];
    __syncthreads();
    if (threadIdx.y < 2)
        part[threadIdx.y][threadIdx.x] += part[threadIdx.y + 2][threadIdx.x];
#if FIXED
    __syncthreads();
#endif
    if (threadIdx.y == 0) {
        part[0][threadIdx.x] += part[1][threadIdx.x]; // BUG
        y[threadIdx.x] = part[0][threadIdx.x];
    }
}
