//! N = 4 32
//! every
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, unsigned *out)
{
    auto tile = cg::tiled_partition<N>(cg::this_thread_block());
    int predicate = 0, v = in[threadIdx.x];
    out[threadIdx.x] = tile.match_any(v) + tile.match_all(v, predicate) + predicate;
    out[threadIdx.x + 1024] = cg::reduce(tile, v, cg::bit_xor<int>()) + cg::reduce(tile, v, cg::bit_and<int>()) +
                              cg::reduce(tile, v, cg::less<int>());
}
