//! K = u8 int u64 float
//! V = int double wide
//! I = 1 4
#include <cub/block/block_radix_sort.cuh>
#include "prelude.h"
extern "C" __global__ void k(K *keys, V *values, int begin, int end)
{
    using sort = cub::BlockRadixSort<K, 128, I, V>;
    __shared__ typename sort::TempStorage room;
    K k[I];
    V v[I];
    for (int i = 0; i < I; i++) {
        k[i] = keys[threadIdx.x * I + i];
        v[i] = values[threadIdx.x * I + i];
    }
    sort(room).Sort(k, v, begin, end);
    for (int i = 0; i < I; i++) {
        keys[threadIdx.x * I + i] = k[i];
        values[threadIdx.x * I + i] = v[i];
    }
}
