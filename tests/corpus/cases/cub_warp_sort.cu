//! T = u8 int float double wide
//! L = 8 32
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_store.cuh>
#include "prelude.h"
extern "C" __global__ void k(T *data)
{
    using load = cub::WarpLoad<T, 3, cub::WARP_LOAD_TRANSPOSE, L>;
    using sort = cub::WarpMergeSort<T, 3, L>;
    using exchange = cub::WarpExchange<T, 3, L>;
    using store = cub::WarpStore<T, 3, cub::WARP_STORE_STRIPED, L>;
    __shared__ union {
        typename load::TempStorage load;
        typename sort::TempStorage sort;
        typename exchange::TempStorage exchange;
        typename store::TempStorage store;
    } rooms[32];
    auto &room = rooms[threadIdx.x / L];
    T v[3];
    T *mine = data + threadIdx.x / L * L * 3;
    load(room.load).Load(mine, v);
    __syncwarp();
    sort(room.sort).Sort(v, [](const T &a, const T &b) { return a < b; });
    __syncwarp();
    exchange(room.exchange).BlockedToStriped(v, v);
    __syncwarp();
    store(room.store).Store(mine, v);
}
