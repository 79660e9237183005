//! project: llama.cpp
//! number: 13438
//! title: scores are initialised by one thread and read by another one without a barrier
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {D: 128}}
//!   buffers:
//!     q: {type: f32, shape: [D], fill: {uniform: [-1, 1]}}
//!     o: {type: f32, shape: [D], out: true}
//!   launch: {kernel: attend, grid: [1], block: [32, 4], args: [q, o]}

// The threads write scores by their number, and read them by rows of a warp.
extern "C" __global__ void attend(const float *q, float *o)
{
    __shared__ float score[128];
    unsigned t = threadIdx.y * 32 + threadIdx.x;
    score[t] = -65504.0f; // BUG
#if FIXED
    __syncthreads();
#endif
    float largest = q[t];
    for (int i = 0; i < 4; i++)
        largest = fmaxf(largest, score[threadIdx.x * 4 + i]);
    o[t] = largest;
}
