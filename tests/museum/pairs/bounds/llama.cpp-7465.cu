//! project: llama.cpp
//! number: 7465
//! title: the last tile writes rows beyond the end of the output
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {ROWS: 5}}
//!   buffers:
//!     q: {type: f32, shape: [ROWS, 32], fill: 1}
//!     o: {type: f32, shape: [ROWS, 32], out: true}
//!   launch: {kernel: write_tiles, grid: ["ceil_div(ROWS, 4)"], block: [32], args: [q, o, ROWS]}

// A block has a tile of four rows. The number of rows need not be a multiple of four.
extern "C" __global__ void write_tiles(const float *q, float *o, int rows)
{
    for (int j = 0; j < 4; j++) {
        int row = blockIdx.x * 4 + j;
#if FIXED
        if (row >= rows)
            break;
#endif
        float value = row < rows ? q[row * 32 + threadIdx.x] : 0;
        o[row * 32 + threadIdx.x] = value; // BUG
    }
}
