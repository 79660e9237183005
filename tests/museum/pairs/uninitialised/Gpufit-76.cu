//! project: Gpufit
//! number: 76
//! title: the counters of iterations are read in the first iteration, and nobody has set them
//! kind: uninitialised
//! finds: uninitialised read
//! spec: |
//!   sizes: {tiny: {FITS: 64}}
//!   buffers:
//!     chi: {type: f32, shape: [FITS], fill: {uniform: [0, 1]}}
//!     iterations: {type: i32, shape: [FITS]}
//!     y: {type: i32, shape: [FITS], out: true}
//!   steps:
//!     - {launch: {kernel: prepare, grid: [1], block: [FITS], args: [iterations]}}
//!     - {launch: {kernel: iterate, grid: [1], block: [FITS], args: [chi, iterations, y]}}

extern "C" __global__ void prepare(int *iterations)
{
    if (FIXED)
        iterations[threadIdx.x] = 0;
}

extern "C" __global__ void iterate(const float *chi, int *iterations, int *y)
{
    int count = iterations[threadIdx.x]; // BUG
    y[threadIdx.x] = chi[threadIdx.x] < 0.5f && count == 0 ? 1 : count;
}
