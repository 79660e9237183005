//! project: llama.cpp
//! number: 18448
//! title: the carry of a running sum changes while other threads read it
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {TILES: 3}}
//!   buffers:
//!     x: {type: f32, shape: [64 * TILES], fill: 1}
//!     y: {type: f32, shape: [64 * TILES], out: true}
//!   launch: {kernel: sum_tiles, grid: [1], block: [64], args: [x, y, TILES]}

// All threads add the carry to their elements, and the first thread updates the carry for the next tile.
extern "C" __global__ void sum_tiles(const float *x, float *y, int tiles)
{
    __shared__ float carry, total[2];
    int t = threadIdx.x;
    if (t == 0)
        carry = 0;
    __syncthreads();
    for (int k = 0; k < tiles; k++) {
        float sum = x[k * 64 + t];
        for (int d = 1; d < 32; d *= 2) {
            float below = __shfl_up_sync(0xffffffff, sum, d);
            sum += t % 32 >= d ? below : 0;
        }
        if (t % 32 == 31)
            total[t / 32] = sum;
        __syncthreads();
        y[k * 64 + t] = carry + sum + (t >= 32 ? total[0] : 0);
#if FIXED
        __syncthreads();
#endif
        if (t == 0)
            carry += total[0] + total[1]; // BUG
        __syncthreads();
    }
}
