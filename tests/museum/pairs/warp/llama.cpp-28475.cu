//! project: llama.cpp
//! number: 28475
//! title: lanes read entries of other lanes without a barrier of the warp
//! kind: race inside a warp
//! finds: race (note)
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     x: {type: i32, shape: [N], fill: {iota: [0, 1]}}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: gather_ids, grid: [1], block: [32], args: [x, y, N]}

// A warp compacts its tokens into shared memory, adds counts by shuffles, and reads the tokens back in another order.
extern "C" __global__ void gather_ids(const int *x, int *y, int n)
{
    __shared__ int store[64];
    int before = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        store[i] = x[i];
        before += x[i] < 0;
    }
    for (int d = 16; d > 0; d /= 2)
        before += __shfl_xor_sync(0xffffffff, before, d);
#if FIXED
    __syncwarp();
#endif
    for (int i = threadIdx.x; i < n; i += 32)
        y[i] = store[n - 1 - i] + before;
}
