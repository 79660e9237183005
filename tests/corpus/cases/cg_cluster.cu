//! arch 90 100
//! every
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int *out)
{
    __shared__ int room[32];
    auto cluster = cg::this_cluster();
    room[threadIdx.x] = threadIdx.x;
    cluster.sync();
    out[threadIdx.x] = *cluster.map_shared_rank(&room[threadIdx.x], cluster.block_rank() ^ 1);
    cluster.sync();
}
