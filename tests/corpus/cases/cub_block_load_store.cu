//! T = u8 int double odd
//! I = 1 4
//! ALG = DIRECT STRIPED VECTORIZE TRANSPOSE WARP_TRANSPOSE WARP_TRANSPOSE_TIMESLICED
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include "prelude.h"
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
extern "C" __global__ void k(T *in, T *out, int valid, T other)
{
    using load = cub::BlockLoad<T, 128, I, cub::JOIN(BLOCK_LOAD_, ALG)>;
    using store = cub::BlockStore<T, 128, I, cub::JOIN(BLOCK_STORE_, ALG)>;
    __shared__ union { typename load::TempStorage load; typename store::TempStorage store; } room;
    T v[I];
    load(room.load).Load(in, v, valid, other);
    __syncthreads();
    store(room.store).Store(out, v);
    __syncthreads();
    load(room.load).Load(in + 128 * I, v);
    __syncthreads();
    store(room.store).Store(out + 128 * I, v, valid);
}
