//! T = u8 int double
//! OP = ScatterToBlocked ScatterToStriped
#include <cub/block/block_exchange.cuh>
#include "prelude.h"
extern "C" __global__ void k(T *data, const int *places)
{
    using exchange = cub::BlockExchange<T, 64, 3>;
    __shared__ typename exchange::TempStorage room;
    T v[3];
    int at[3];
    for (int i = 0; i < 3; i++) {
        v[i] = data[threadIdx.x * 3 + i];
        at[i] = places[threadIdx.x * 3 + i];
    }
    exchange(room).OP(v, v, at);
    for (int i = 0; i < 3; i++)
        data[threadIdx.x * 3 + i] = v[i];
}
