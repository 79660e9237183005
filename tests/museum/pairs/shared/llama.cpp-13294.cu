//! project: llama.cpp
//! number: 13294
//! title: a table of row numbers is read before all threads have filled it
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {ROWS: 96}}
//!   buffers:
//!     ids: {type: i32, shape: [ROWS], fill: {iota: [0, 1]}}
//!     x: {type: f32, shape: [ROWS], fill: 1}
//!     y: {type: f32, shape: [ROWS], out: true}
//!   launch: {kernel: scatter_tile, grid: [1], block: [32, 3], args: [ids, x, y, ROWS]}

// Each warp fills a part of the table, and needs entries of the other warps.
extern "C" __global__ void scatter_tile(const int *ids, const float *x, float *y, int rows)
{
    __shared__ int row[96];
    for (int j = threadIdx.y * 32 + threadIdx.x; j < rows; j += 96)
        row[j] = ids[j]; // BUG
#if FIXED
    __syncthreads();
#endif
    for (int j = threadIdx.x * 3 + threadIdx.y; j < rows; j += 96)
        y[row[j]] = x[j];
}
