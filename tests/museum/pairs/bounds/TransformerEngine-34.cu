//! project: TransformerEngine
//! number: 34
//! title: the statistics of rows behind the last one are read
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {ROWS: 5, COLUMNS: 32}}
//!   buffers:
//!     mean: {type: f32, shape: [ROWS], fill: 0.5}
//!     x: {type: f32, shape: [ROWS * COLUMNS], fill: 1}
//!     y: {type: f32, shape: [ROWS * COLUMNS], out: true}
//!   launch: {kernel: centre, grid: [2], block: [32, 2], args: [mean, x, y, ROWS]}

// Four warps share the rows.
extern "C" __global__ void centre(const float *mean, const float *x, float *y, int rows)
{
    for (int first = blockIdx.x * 2; first < rows; first += 4) {
        int row = first + threadIdx.y;
        float m = !FIXED || row < rows ? mean[row] : 0; // BUG
        if (row < rows)
            y[row * 32 + threadIdx.x] = x[row * 32 + threadIdx.x] - m;
        else if (m < -1e30f)
            __trap();
    }
}
