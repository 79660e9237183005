//! project: llama.cpp
//! number: 15932
//! title: the padding of an odd row is written behind the row
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {DIM: 15}}
//!   buffers:
//!     t: {type: f32, shape: [4], fill: {iota: [0, 1]}}
//!     y: {type: f32, shape: [4, DIM], out: true}
//!   launch: {kernel: embed, grid: [4], block: [32], args: [t, y, DIM]}

extern "C" __global__ void embed(const float *t, float *y, int dim)
{
    int j = threadIdx.x, half = dim / 2;
    float *row = y + blockIdx.x * dim;
#if FIXED
    if (dim % 2 != 0 && j == half)
        row[2 * half] = 0;
#else
    if (dim % 2 != 0 && j == (dim + 1) / 2)
        row[dim] = 0; // BUG
#endif
    if (j >= half)
        return;
    row[j] = cosf(t[blockIdx.x] * j);
    row[j + half] = sinf(t[blockIdx.x] * j);
}
