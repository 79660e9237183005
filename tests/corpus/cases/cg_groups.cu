//! every
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out, int n)
{
    __shared__ int room[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, room, in, sizeof(int) * 256);
    cg::wait(block);
    auto warp = cg::tiled_partition<32>(block);
    if (room[threadIdx.x] > n) {
        auto some = cg::coalesced_threads();
        out[threadIdx.x] = some.thread_rank() + some.size() + some.shfl(room[threadIdx.x], 0);
        auto labels = cg::labeled_partition(some, room[threadIdx.x] & 3);
        out[threadIdx.x] += cg::reduce(labels, room[threadIdx.x], cg::plus<int>());
        some.sync();
    }
    auto halves = cg::binary_partition(warp, room[threadIdx.x] & 1);
    out[threadIdx.x] += halves.size();
    cg::invoke_one(block, [&] { out[0] = n; });
    block.sync();
    auto token = block.barrier_arrive();
    block.barrier_wait(static_cast<decltype(token) &&>(token));
}
