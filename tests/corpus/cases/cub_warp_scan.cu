//! T = u8 int u64 float double
//! L = 4 16 32
#include <cub/warp/warp_scan.cuh>
#include "prelude.h"
extern "C" __global__ void k(const T *in, T *out)
{
    using scan = cub::WarpScan<T, L>;
    __shared__ typename scan::TempStorage room[32];
    T v = in[threadIdx.x], a, b, sum;
    scan(room[threadIdx.x / L]).InclusiveSum(v, a, sum);
    __syncwarp();
    scan(room[threadIdx.x / L]).ExclusiveScan(v, b, T(0), [](T x, T y) { return x < y ? y : x; });
    __syncwarp();
    out[threadIdx.x] = a;
    out[threadIdx.x + 1024] = b;
    out[threadIdx.x + 2048] = scan(room[threadIdx.x / L]).Broadcast(sum, 1);
}
