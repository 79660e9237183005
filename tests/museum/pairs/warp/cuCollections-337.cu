//! project: cuCollections
//! number: 337
//! title: the first lane of a group resets a counter, and the group does not wait
//! kind: race inside a warp
//! finds: race (note)
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers:
//!     x: {type: i32, shape: [N], fill: {iota: [0, 1]}}
//!     y: {type: i32, shape: [N], out: true}
//!   launch: {kernel: retrieve, grid: [1], block: [64], args: [x, y]}

// A group of 32 lanes flushes its own buffer.
extern "C" __global__ void retrieve(const int *x, int *y)
{
    __shared__ int counter[2], buffer[2][32];
    int group = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0)
        counter[group] = 0;
#if FIXED
    __syncwarp();
#endif
    if (!__any_sync(0xffffffff, x[threadIdx.x] >= 0))
        return;
    buffer[group][atomicAdd(&counter[group], 1)] = x[threadIdx.x];
    __syncwarp();
    if (lane < counter[group])
        y[threadIdx.x] = buffer[group][lane];
}
