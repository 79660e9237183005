//! project: llama.cpp
//! number: 23610
//! title: the offset of a row of the mask overflows 32 bits
//! kind: integer overflow
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {COLUMNS: 32}}
//!   buffers:
//!     window: {type: f32, shape: [4096], fill: 1}
//!     y: {type: f32, shape: [COLUMNS], out: true}
//!   launch: {kernel: load_mask, grid: [1], block: [32], args: [window, y, 65536, 32768, 2147483648]}

// The buffer holds the elements from `first` on of a mask that is too large for a test.
extern "C" __global__ void load_mask(const float *window, float *y, int row, int stride, long long first)
{
#if FIXED
    long long offset = (long long)row * stride + threadIdx.x;
#else
    long long offset = row * stride + (int)threadIdx.x;
#endif
    y[threadIdx.x] = window[offset - first]; // BUG
}
