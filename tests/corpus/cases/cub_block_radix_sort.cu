//! T = u8 i16 int u32 u64 float double f16 bf16
//! N = 64 128
//! I = 1 5
//! DOWN = 0 1
#include <cub/block/block_radix_sort.cuh>
#include "prelude.h"
extern "C" __global__ void k(T *data)
{
    using sort = cub::BlockRadixSort<T, N, I>;
    __shared__ typename sort::TempStorage room;
    T v[I];
    for (int i = 0; i < I; i++)
        v[i] = data[threadIdx.x * I + i];
    if (DOWN)
        sort(room).SortDescending(v);
    else
        sort(room).SortBlockedToStriped(v);
    for (int i = 0; i < I; i++)
        data[threadIdx.x * I + i] = v[i];
}
