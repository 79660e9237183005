//! project: flashinfer
//! number: 2308
//! title: a vector load reads behind a row whose length is not a multiple of the vector
//! kind: out of bounds
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {LENGTH: 70}}
//!   buffers:
//!     score: {type: f32, shape: [LENGTH], fill: {uniform: [0, 1]}}
//!     histogram: {type: i32, shape: [8], fill: 0, out: true}
//!   launch: {kernel: count_scores, grid: [1], block: [32], args: [score, histogram, LENGTH]}

extern "C" __global__ void count_scores(const float *score, int *histogram, int length)
{
    int aligned = FIXED ? length / 4 * 4 : length;
    for (int i = threadIdx.x * 4; i < aligned; i += 128) {
        float4 v = *(const float4 *)(score + i); // BUG
        atomicAdd(&histogram[(int)(v.x * 7.9f) & 7], 1);
        atomicAdd(&histogram[(int)(v.y * 7.9f) & 7], 1);
        atomicAdd(&histogram[(int)(v.z * 7.9f) & 7], 1);
        atomicAdd(&histogram[(int)(v.w * 7.9f) & 7], 1);
    }
    for (int i = aligned + threadIdx.x; i < length; i += 32)
        atomicAdd(&histogram[(int)(score[i] * 7.9f) & 7], 1);
}
