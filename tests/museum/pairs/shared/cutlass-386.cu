//! project: cutlass
//! number: 386
//! title: the main loop of the next tile overwrites the epilogue's shared memory
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {TILES: 3}}
//!   buffers:
//!     a: {type: f32, shape: [TILES * 128], fill: 1}
//!     c: {type: f32, shape: [TILES * 128], out: true}
//!   launch: {kernel: grouped, grid: [1], block: [128], args: [a, c, TILES]}

// A persistent block multiplies tile after tile. The epilogue shares memory with the main loop.
extern "C" __global__ void grouped(const float *a, float *c, int tiles)
{
    __shared__ float memory[128];
    int t = threadIdx.x;
    for (int tile = 0; tile < tiles; tile++) {
#if FIXED
        __syncthreads();
#endif
        memory[(t + 32) % 128] = a[tile * 128 + t]; // BUG
        __syncthreads();
        float sum = 0;
        for (int k = 0; k < 128; k += 16)
            sum += memory[(t + k) % 128];
        __syncthreads();
        memory[127 - t] = sum;
        __syncthreads();
        c[tile * 128 + t] = memory[t];
    }
}
