//! project: cuCollections
//! number: 522
//! title: a barrier of the block is inside the test for the last element
//! kind: barrier
//! finds: barrier misuse
//! spec: |
//!   sizes: {tiny: {N: 100}}
//!   buffers:
//!     key: {type: i32, shape: [N], fill: {iota: [0, 3]}}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: find, grid: [2], block: [64], args: [key, y, N]}

extern "C" __global__ void find(const int *key, int *y, int n)
{
    __shared__ int output[64];
    int i = blockIdx.x * 64 + threadIdx.x;
#if FIXED
    if (i < n)
        output[threadIdx.x] = key[i] % 7;
    __syncthreads();
    if (i < n)
        y[i] = output[threadIdx.x];
#else
    if (i < n) {
        output[threadIdx.x] = key[i] % 7;
        __syncthreads(); // BUG
        y[i] = output[threadIdx.x];
    } else {
        output[threadIdx.x] = 0;
    }
    __syncthreads();
#endif
}
