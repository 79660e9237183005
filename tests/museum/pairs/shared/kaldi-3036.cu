//! project: kaldi
//! number: 3036
//! title: a tree reduction over an odd number of threads adds an element that another thread changes
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 96}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: 1}
//!     y: {type: f32, shape: [1], out: true}
//!   launch: {kernel: sum_reduce, grid: [1], block: [N], args: [x, y]}

// The middle of an odd number of threads is rounded down, so the middle element is read and written in one step.
extern "C" __global__ void sum_reduce(const float *x, float *y)
{
    __shared__ float buffer[96];
    int t = threadIdx.x;
    buffer[t] = x[t];
    __syncthreads();
    for (int total = 96; total > 1;) {
        int half = FIXED ? (total + 1) / 2 : total / 2;
        if (t >= half && t < total)
            buffer[t - half] += buffer[t]; // BUG
        __syncthreads();
        total = FIXED ? half : (total + 1) / 2;
    }
    if (t == 0)
        y[0] = buffer[0];
}
