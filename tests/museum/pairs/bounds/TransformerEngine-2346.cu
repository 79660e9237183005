//! project: TransformerEngine
//! number: 2346
//! title: the last block of a dequantisation has no test for rows behind the end
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {ROWS: 7, GROUPS: 6}}
//!   buffers:
//!     packed: {type: u64, shape: [ROWS * GROUPS], fill: 1}
//!     y: {type: f32, shape: [ROWS * GROUPS * 4], out: true}
//!   launch: {kernel: unpack, grid: ["ceil_div(ROWS * GROUPS, 32)"], block: [32], args: [packed, y, GROUPS, ROWS]}

extern "C" __global__ void unpack(const unsigned long long *packed, float *y, int groups, int rows)
{
    int i = blockIdx.x * 32 + threadIdx.x, row = i / groups;
    if (FIXED && row >= rows)
        return;
    unsigned long long bits = packed[i]; // BUG
    for (int k = 0; k < 4; k++)
        y[4 * i + k] = (float)(bits >> (16 * k) & 0xffff); // BUG
}
