//! project: CUDA-Programming
//! number: 51
//! title: lanes call a shuffle whose mask does not name them
//! kind: warp operation
//! finds: undefined warp operation
//! spec: |
//!   sizes: {tiny: {N: 32}}
//!   buffers:
//!     x: {type: i32, shape: [N], fill: {iota: [0, 1]}}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: examples, grid: [1], block: [N], args: [x, y]}

// All lanes but the first take part.
extern "C" __global__ void examples(const int *x, int *y)
{
    int lane = threadIdx.x, value = x[lane];
    unsigned mask = __ballot_sync(0xffffffff, lane > 0);
#if FIXED
    if (lane > 0)
        value = __any_sync(mask, value > 30);
#else
    value = __any_sync(mask, value > 30); // BUG
#endif
    y[lane] = value;
}
