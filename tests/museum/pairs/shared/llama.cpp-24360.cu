//! project: llama.cpp
//! number: 24360
//! title: a staging buffer is filled again while other threads read it
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {STEPS: 3}}
//!   buffers:
//!     a: {type: f32, shape: [128], fill: 1}
//!     x: {type: f32, shape: [128 * STEPS], fill: 2}
//!     y: {type: f32, shape: [128 * STEPS], out: true}
//!   launch: {kernel: scan_state, grid: [1], block: [128], args: [a, x, y, STEPS]}

// Two inputs of a scan pass through one staging buffer, and each step stages its input there.
extern "C" __global__ void scan_state(const float *a, const float *x, float *y, int steps)
{
    __shared__ float stage[128];
    unsigned t = threadIdx.x;
    stage[t ^ 32] = a[t];
    __syncthreads();
    float decay = stage[t];
#if FIXED
    __syncthreads();
#endif
    stage[127 - t] = x[t]; // BUG
    __syncthreads();
    float state = stage[t];
    for (int i = 0; i < steps; i++) {
        __syncthreads();
        stage[127 - t] = x[i * 128 + t];
        __syncthreads();
        state = state * decay + stage[t];
        y[i * 128 + t] = state;
    }
}
