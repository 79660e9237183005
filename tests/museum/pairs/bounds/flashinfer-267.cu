//! project: flashinfer
//! number: 267
//! title: a custom mask is read for queries that do not exist
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {QUERIES: 5, KEYS: 32}}
//!   buffers:
//!     mask: {type: f32, shape: [QUERIES * KEYS], fill: 0}
//!     s: {type: f32, shape: [8 * KEYS], fill: 1, out: true}
//!   launch: {kernel: mask_scores, grid: [1], block: [32, 8], args: [mask, s, QUERIES, KEYS]}

extern "C" __global__ void mask_scores(const float *mask, float *s, int queries, int keys)
{
    int q = threadIdx.y, k = threadIdx.x;
    s[q * keys + k] += !FIXED || q < queries ? mask[q * keys + k] : 0; // BUG
}
