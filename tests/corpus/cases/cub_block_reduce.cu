//! T = int u32 u64 float double f16
//! N = 32 96 256
//! ALG = BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY BLOCK_REDUCE_RAKING BLOCK_REDUCE_WARP_REDUCTIONS
#include <cub/block/block_reduce.cuh>
#include "prelude.h"
extern "C" __global__ void k(const T *in, T *out, int valid)
{
    using reduce = cub::BlockReduce<T, N, cub::ALG>;
    __shared__ typename reduce::TempStorage room;
    T sum = reduce(room).Sum(in[threadIdx.x]);
    __syncthreads();
    T part = reduce(room).Sum(in[threadIdx.x], valid);
    __syncthreads();
    T most = reduce(room).Reduce(in[threadIdx.x], [](T a, T b) { return a < b ? b : a; });
    if (threadIdx.x == 0) {
        out[0] = sum;
        out[1] = part;
        out[2] = most;
    }
}
