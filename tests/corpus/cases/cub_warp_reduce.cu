//! T = u8 int u32 u64 float double f16
//! L = 4 13 16 32
#include <cub/warp/warp_reduce.cuh>
#include "prelude.h"
extern "C" __global__ void k(const T *in, T *out, const int *flags, int valid)
{
    using reduce = cub::WarpReduce<T, L>;
    __shared__ typename reduce::TempStorage room[32];
    typename reduce::TempStorage &mine = room[threadIdx.x / L];
    T v = in[threadIdx.x];
    out[threadIdx.x] = reduce(mine).Sum(v);
    __syncwarp();
    out[threadIdx.x + 1024] = reduce(mine).Reduce(v, [](T a, T b) { return a < b ? a : b; }, valid);
    __syncwarp();
    out[threadIdx.x + 2048] = reduce(mine).HeadSegmentedSum(v, flags[threadIdx.x]);
}
