//! project: cudf
//! number: 4199
//! title: the copy of a block ends with a barrier of the warp
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 256}}
//!   buffers:
//!     x: {type: u32, shape: [N], fill: {iota: [0, 1]}}
//!     y: {type: u32, shape: [N], out: true}
//!   launch: {kernel: parse_pages, grid: [1], block: [128], args: [x, y, N]}

__device__ void copy_block(unsigned *to, const unsigned *from, int n)
{
    for (int i = threadIdx.x; i < n; i += 128)
        to[i] = from[i]; // BUG
#if FIXED
    __syncthreads();
#else
    __syncwarp();
#endif
}

extern "C" __global__ void parse_pages(const unsigned *x, unsigned *y, int n)
{
    __shared__ unsigned header[256];
    copy_block(header, x, n);
    for (int i = threadIdx.x; i < n; i += 128)
        y[i] = header[n - 1 - i];
}
