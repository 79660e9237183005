//! project: llama.cpp
//! number: 13852
//! title: a condition instead of a loop leaves a part of shared memory unwritten
//! kind: uninitialised
//! finds: uninitialised read
//! spec: |
//!   sizes: {tiny: {PARTS: 96}}
//!   buffers:
//!     meta: {type: f32, shape: [PARTS], fill: 1}
//!     y: {type: f32, shape: [64], out: true}
//!   launch: {kernel: combine_parts, grid: [1], block: [64], args: [meta, y, PARTS]}

// Partial results were once never more than the threads of a block.
extern "C" __global__ void combine_parts(const float *meta, float *y, int parts)
{
    __shared__ float held[128];
#if FIXED
    for (int i = threadIdx.x; i < parts; i += 64)
        held[i] = meta[i];
#else
    if (threadIdx.x < parts)
        held[threadIdx.x] = meta[threadIdx.x];
#endif
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < parts; i++)
        sum += held[i]; // BUG
    y[threadIdx.x] = sum;
}
