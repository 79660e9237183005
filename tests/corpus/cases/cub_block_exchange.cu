//! T = u8 int double
//! OP = StripedToBlocked BlockedToStriped WarpStripedToBlocked BlockedToWarpStriped
//! SLICED = false true
#include <cub/block/block_exchange.cuh>
#include "prelude.h"
extern "C" __global__ void k(T *data)
{
    using exchange = cub::BlockExchange<T, 128, 4, SLICED>;
    __shared__ typename exchange::TempStorage room;
    T v[4];
    for (int i = 0; i < 4; i++)
        v[i] = data[threadIdx.x * 4 + i];
    exchange(room).OP(v, v);
    for (int i = 0; i < 4; i++)
        data[threadIdx.x * 4 + i] = v[i];
}
