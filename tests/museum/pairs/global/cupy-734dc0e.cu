//! project: cupy
//! number: 734dc0e
//! title: entries at one place of a sparse matrix are added without atomics
//! kind: race in global memory
//! finds: race
//! spec: |
//!   sizes: {tiny: {ENTRIES: 64}}
//!   buffers:
//!     place: {type: i32, shape: [ENTRIES], fill: 7}
//!     data: {type: f32, shape: [ENTRIES], fill: {iota: [1, 1]}}
//!     out: {type: f32, shape: [16], fill: 0, out: true}
//!   launch: {kernel: to_dense, grid: [2], block: [32], args: [place, data, out]}

extern "C" __global__ void to_dense(const int *place, const float *data, float *out)
{
    int i = blockIdx.x * 32 + threadIdx.x;
#if FIXED
    atomicAdd(&out[place[i]], data[i]);
#else
    out[place[i]] += data[i]; // BUG
#endif
}
