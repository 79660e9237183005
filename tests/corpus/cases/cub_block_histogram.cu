//! T = u8 int
//! N = 64 128
//! ALG = BLOCK_HISTO_SORT BLOCK_HISTO_ATOMIC
#include <cub/block/block_histogram.cuh>
#include "prelude.h"
extern "C" __global__ void k(const T *in, unsigned *bins)
{
    using histogram = cub::BlockHistogram<T, N, 4, 256, cub::ALG>;
    __shared__ typename histogram::TempStorage room;
    __shared__ unsigned counts[256];
    T v[4];
    for (int i = 0; i < 4; i++)
        v[i] = in[threadIdx.x * 4 + i];
    histogram(room).Histogram(v, counts);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += N)
        bins[i] = counts[i];
}
