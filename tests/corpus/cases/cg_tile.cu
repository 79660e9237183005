//! T = int u64 float
//! N = 1 2 8 16 32
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "prelude.h"
namespace cg = cooperative_groups;
extern "C" __global__ void k(const T *in, T *out, unsigned *votes)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<N>(block);
    T v = in[block.thread_rank()];
    out[block.thread_rank()] = cg::reduce(tile, v, cg::plus<T>()) + cg::inclusive_scan(tile, v) +
                               cg::exclusive_scan(tile, v, cg::plus<T>()) + tile.shfl(v, 0) + tile.shfl_down(v, 1) +
                               tile.shfl_up(v, 1) + tile.shfl_xor(v, 1) + cg::reduce(tile, v, cg::greater<T>());
    votes[block.thread_rank()] = tile.any(v > 3) + tile.all(v > 4) + tile.ballot(v > 5) + tile.meta_group_rank();
    tile.sync();
}
