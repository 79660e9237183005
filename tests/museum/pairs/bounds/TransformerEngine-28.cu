//! project: TransformerEngine
//! number: 28
//! title: partial sums of a ragged tile are stored for columns that do not exist
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {COLUMNS: 40}}
//!   buffers:
//!     x: {type: f32, shape: [8, COLUMNS], fill: 1}
//!     bias: {type: f32, shape: [COLUMNS], out: true}
//!   launch: {kernel: sum_columns, grid: ["ceil_div(COLUMNS, 32)"], block: [32], args: [x, bias, COLUMNS]}

extern "C" __global__ void sum_columns(const float *x, float *bias, int columns)
{
    unsigned lane = threadIdx.x, length = min(32, columns - 32 * (int)blockIdx.x);
    float sum = 0;
    if (lane < length)
        for (int row = 0; row < 8; row++)
            sum += x[row * columns + blockIdx.x * 32 + lane];
    if (!FIXED || lane < length)
        bias[blockIdx.x * 32 + lane] = sum; // BUG
}
