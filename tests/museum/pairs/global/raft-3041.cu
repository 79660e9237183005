//! project: raft
//! number: 3041
//! title: a block counts as finished while some of its threads still write
//! kind: race in global memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {BLOCKS: 3}}
//!   buffers:
//!     x: {type: f32, shape: [BLOCKS * 128], fill: 1}
//!     part: {type: f32, shape: [BLOCKS * 128]}
//!     finished: {type: u32, shape: [1], fill: 0}
//!     y: {type: f32, shape: [128], out: true}
//!   launch: {kernel: select_radix, grid: [BLOCKS], block: [128], args: [x, part, finished, y]}

// The last block that finishes reads the results of all blocks.
extern "C" __global__ void select_radix(const float *x, float *part, unsigned *finished, float *y)
{
    __shared__ bool last;
    int t = threadIdx.x;
    part[blockIdx.x * 128 + t] = x[blockIdx.x * 128 + t] * 2; // BUG
    __threadfence();
#if FIXED
    __syncthreads();
#endif
    if (t == 0)
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    float sum = 0;
    for (int b = 0; b < gridDim.x; b++)
        sum += part[b * 128 + (t + 64) % 128];
    y[t] = sum;
}
