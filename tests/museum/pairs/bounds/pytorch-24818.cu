//! project: pytorch
//! number: 24818
//! title: the counter of a grid-stride loop overflows behind the last element
//! kind: integer overflow
//! finds: out of bounds
//! spec: |
//!   sizes: {tiny: {N: 2147483600}}
//!   buffers:
//!     window: {type: f32, shape: [64], out: true}
//!   launch: {kernel: fill_tail, grid: [2], block: [64], args: [window, 2147483536, N]}

#if FIXED
typedef long long counter;
#else
typedef int counter;
#endif

// The window holds the last elements of a large array. A negative counter is still less than n, so the loop continues.
extern "C" __global__ void fill_tail(float *window, int first, int n)
{
    for (counter i = first + (counter)(blockIdx.x * 64 + threadIdx.x); i < n; i += 128) {
        window[(long long)i - first] = 1; // BUG
        if (i < 0)
            return;
    }
}
