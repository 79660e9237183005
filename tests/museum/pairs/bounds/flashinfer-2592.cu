//! project: flashinfer
//! number: 2592
//! title: the length of a chunk is a difference without a sign, and some rows end before the chunk
//! kind: integer overflow
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {LENGTH: 40}}
//!   buffers:
//!     score: {type: f32, shape: [LENGTH], fill: {uniform: [0, 1]}}
//!     y: {type: f32, shape: [3], out: true}
//!   launch: {kernel: top_of_chunks, grid: [3], block: [32], args: [score, y, LENGTH, 32]}

// Each block has a chunk of a row.
extern "C" __global__ void top_of_chunks(const float *score, float *y, unsigned length, unsigned chunk)
{
    unsigned start = blockIdx.x * chunk;
    unsigned size = !FIXED || start < length ? min(chunk, length - start) : 0;
    float top = threadIdx.x < size ? score[start + threadIdx.x] : 0; // BUG
    for (int d = 16; d > 0; d /= 2)
        top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, d));
    if (threadIdx.x == 0)
        y[blockIdx.x] = top;
}
