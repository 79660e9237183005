//! project: popsift
//! number: 82
//! title: the total of a prefix sum grows while other threads still add it
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 192}}
//!   buffers:
//!     x: {type: i32, shape: [N], fill: 1}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: prefix, grid: [1], block: [32, 2], args: [x, y, N]}

extern "C" __global__ void prefix(const int *x, int *y, int n)
{
    __shared__ int total, sums[2];
    if (threadIdx.x == 0 && threadIdx.y == 0)
        total = 0;
    __syncthreads();
    for (int first = 0; first < n; first += 64) {
        int cell = first + threadIdx.y * 32 + threadIdx.x, sum = x[cell];
        for (int d = 1; d < 32; d *= 2) {
            int below = __shfl_up_sync(0xffffffff, sum, d);
            sum += threadIdx.x >= d ? below : 0;
        }
        if (threadIdx.x == 31)
            sums[threadIdx.y] = sum;
        __syncthreads();
        y[cell] = total + sum - x[cell] + (threadIdx.y == 1 ? sums[0] : 0);
#if FIXED
        __syncthreads();
#endif
        if (threadIdx.y == 0 && threadIdx.x == 31)
            total += sums[0] + sums[1]; // BUG
        __syncthreads();
    }
}
