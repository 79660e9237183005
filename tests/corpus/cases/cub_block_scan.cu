//! T = int u64 float double
//! N = 64 256
//! ALG = BLOCK_SCAN_RAKING BLOCK_SCAN_RAKING_MEMOIZE BLOCK_SCAN_WARP_SCANS
#include <cub/block/block_scan.cuh>
#include "prelude.h"
extern "C" __global__ void k(T *data, T *total)
{
    using scan = cub::BlockScan<T, N, cub::ALG>;
    __shared__ typename scan::TempStorage room;
    T v[4], sum;
    for (int i = 0; i < 4; i++)
        v[i] = data[threadIdx.x * 4 + i];
    scan(room).ExclusiveSum(v, v, sum);
    __syncthreads();
    scan(room).InclusiveScan(v, v, [](T a, T b) { return a < b ? b : a; });
    for (int i = 0; i < 4; i++)
        data[threadIdx.x * 4 + i] = v[i];
    if (threadIdx.x == 0)
        *total = sum;
}
