//! project: bitsandbytes
//! number: 1061
//! title: a table is cleared and filled by different threads without a barrier between them
//! kind: race in shared memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {N: 512}}
//!   buffers:
//!     x: {type: f32, shape: [N], fill: {uniform: [0, 1]}}
//!     code: {type: f32, shape: [256], out: true}
//!   launch: {kernel: estimate_quantiles, grid: [1], block: [256], args: [x, code]}

extern "C" __global__ void estimate_quantiles(const float *x, float *code)
{
    __shared__ int place[512];
    for (int j = threadIdx.x; j < 512; j += 256)
        place[j] = -1; // BUG
#if FIXED
    __syncthreads();
#endif
    int local = (int)roundf(threadIdx.x * (511.0f / 255.0f));
    place[local] = threadIdx.x;
    __syncthreads();
    for (int j = threadIdx.x; j < 512; j += 256)
        if (place[j] >= 0)
            code[place[j]] = x[j];
}
