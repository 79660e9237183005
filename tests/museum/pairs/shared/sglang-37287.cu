//! project: sglang
//! number: 37287
//! title: partial sums overwrite the operand that other warps still read
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 128}}
//!   buffers:
//!     a: {type: f32, shape: [N], fill: 1}
//!     c: {type: f32, shape: [32], out: true}
//!   launch: {kernel: split_k, grid: [1], block: [N], args: [a, c]}

// The partial sums of the warps lie where the operand was.
extern "C" __global__ void split_k(const float *a, float *c)
{
    __shared__ float memory[128];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    memory[t] = a[t];
    asm volatile("bar.sync 1, 128;" ::: "memory");
    float sum = 0;
    for (int k = warp; k < 128; k += 4)
        sum += memory[(k + lane) % 128];
#if FIXED
    asm volatile("bar.sync 1, 128;" ::: "memory");
#endif
    memory[t] = sum; // BUG
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (warp == 0)
        c[lane] = memory[lane] + memory[32 + lane] + memory[64 + lane] + memory[96 + lane];
}
