//! project: cudf
//! number: 4369
//! title: the flag of the last chunk is tested at the end of a loop whose start changes it
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {CHUNKS: 3}}
//!   buffers:
//!     x: {type: i32, shape: [CHUNKS], fill: {iota: [0, 1]}}
//!     y: {type: i32, shape: [64], out: true}
//!   launch: {kernel: inflate, grid: [1], block: [64], args: [x, y, CHUNKS]}

extern "C" __global__ void inflate(const int *x, int *y, int chunks)
{
    __shared__ int last;
    int sum = 0;
    for (int k = 0;; k++) {
        if (threadIdx.x == 0)
            last = x[k] == chunks - 1; // BUG
        __syncthreads();
        sum += k;
        if (!FIXED)
            __syncthreads();
        if (last)
            break;
        if (FIXED)
            __syncthreads();
    }
    y[threadIdx.x] = sum;
}
