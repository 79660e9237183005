//! T = u8 int float double wide
//! N = 64 256
//! I = 2 7
#include <cub/block/block_merge_sort.cuh>
#include "prelude.h"
extern "C" __global__ void k(T *data, int valid, T worst)
{
    using sort = cub::BlockMergeSort<T, N, I>;
    __shared__ typename sort::TempStorage room;
    auto less = [](const T &a, const T &b) { return a < b; };
    T v[I];
    for (int i = 0; i < I; i++)
        v[i] = data[threadIdx.x * I + i];
    sort(room).Sort(v, less);
    __syncthreads();
    sort(room).StableSort(v, less, valid, worst);
    for (int i = 0; i < I; i++)
        data[threadIdx.x * I + i] = v[i];
}
