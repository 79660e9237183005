//! project: llama.cpp
//! number: 7479
//! title: the last tile reads rows beyond the end of the queries
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {ROWS: 6}}
//!   buffers:
//!     q: {type: f32, shape: [ROWS, 64], fill: 1}
//!     o: {type: f32, shape: [ROWS, 64], out: true}
//!   launch: {kernel: load_tiles, grid: ["ceil_div(ROWS, 4)"], block: [32, 4], args: [q, o, ROWS]}

// A tile of queries is scaled in shared memory. Rows that do not exist must become zeros.
extern "C" __global__ void load_tiles(const float *q, float *o, int rows)
{
    __shared__ float tile[4][64];
    int row = blockIdx.x * 4 + threadIdx.y;
    for (int i = threadIdx.x; i < 64; i += 32)
        tile[threadIdx.y][i] = (!FIXED || row < rows ? q[row * 64 + i] : 0) * 0.125f; // BUG
    __syncwarp();
    for (int i = threadIdx.x; i < 64; i += 32)
        if (row < rows)
            o[row * 64 + i] = tile[threadIdx.y][63 - i];
}
