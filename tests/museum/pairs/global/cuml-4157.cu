//! project: cuml
//! number: 4157
//! title: only the first thread of a block executes the fence of a barrier of the grid
//! kind: race in global memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     x: {type: i32, shape: [N], fill: {iota: [0, 1]}}
//!     arrived: {type: i32, shape: [1], fill: 0}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: neighbours, grid: [2], block: [64], args: [x, arrived, y]}

// The fence stands before the barrier of the block, so it covers the writes of the first thread only.
extern "C" __global__ void neighbours(int *x, int *arrived, int *y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    x[i] = 2 * i; // BUG
    if (FIXED || threadIdx.x == 0)
        __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < 2)
            ;
    }
    __syncthreads();
    y[i] = x[127 - i];
}
