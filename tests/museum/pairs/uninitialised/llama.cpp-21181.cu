//! project: llama.cpp
//! number: 21181
//! title: the grid that fills n + 1 offsets is computed for n of them
//! kind: uninitialised
//! finds: uninitialised read
//! spec: |
//!   sizes: {tiny: {ROWS: 64}}
//!   buffers:
//!     offsets: {type: i32, shape: [ROWS + 1]}
//!     lengths: {type: i32, shape: [ROWS], out: true}
//!   steps:
//!     - {launch: {kernel: fill_offsets, grid: ["ceil_div(ROWS + FIXED, 64)"], block: [64], args: [offsets, ROWS]}}
//!     - {launch: {kernel: measure, grid: [1], block: [ROWS], args: [offsets, lengths]}}

// A segmented sort reads the end of each row from the next offset.
extern "C" __global__ void fill_offsets(int *offsets, int rows)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i <= rows)
        offsets[i] = i * 100;
}

extern "C" __global__ void measure(const int *offsets, int *lengths)
{
    lengths[threadIdx.x] = offsets[threadIdx.x + 1] - offsets[threadIdx.x]; // BUG
}
