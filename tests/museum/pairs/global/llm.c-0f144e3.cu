//! project: llm.c
//! number: 0f144e3
//! title: one thread reads a logit that other threads replace by its gradient
//! kind: race in global memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {V: 256}}
//!   buffers:
//!     logits: {type: f32, shape: [V], fill: {uniform: [0, 1]}, out: true}
//!     loss: {type: f32, shape: [1], out: true}
//!   launch: {kernel: classify, grid: [1], block: [128], args: [logits, loss, 200, V]}

extern "C" __global__ void classify(float *logits, float *loss, int target, int v)
{
    if (threadIdx.x == 0)
        loss[0] = -logits[target]; // BUG
#if FIXED
    __syncthreads();
#endif
    for (int i = threadIdx.x; i < v; i += 128)
        logits[i] = logits[i] - (i == target);
}
