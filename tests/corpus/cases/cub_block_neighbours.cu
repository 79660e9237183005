//! T = u8 int double
//! N = 32 256
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_shuffle.cuh>
#include "prelude.h"
extern "C" __global__ void k(T *data, int *flags)
{
    using heads = cub::BlockDiscontinuity<T, N>;
    using difference = cub::BlockAdjacentDifference<T, N>;
    using shuffle = cub::BlockShuffle<T, N>;
    __shared__ union {
        typename heads::TempStorage heads;
        typename difference::TempStorage difference;
        typename shuffle::TempStorage shuffle;
    } room;
    T v[3], d[3], up[3];
    int f[3], t[3];
    for (int i = 0; i < 3; i++)
        v[i] = data[threadIdx.x * 3 + i];
    heads(room.heads).FlagHeadsAndTails(f, t, v, [](T a, T b) { return a != b; });
    __syncthreads();
    difference(room.difference).SubtractLeft(v, d, [](T a, T b) { return (T)(a - b); });
    __syncthreads();
    shuffle(room.shuffle).Up(v, up);
    for (int i = 0; i < 3; i++) {
        data[threadIdx.x * 3 + i] = d[i] + up[i];
        flags[threadIdx.x * 3 + i] = f[i] + 2 * t[i];
    }
}
