//! T = u8 int double
//! L = u8 u32
#include <cub/block/block_run_length_decode.cuh>
#include "prelude.h"
extern "C" __global__ void k(const T *items, const L *lengths, T *out, unsigned *total)
{
    using decode = cub::BlockRunLengthDecode<T, 64, 2, 4>;
    __shared__ typename decode::TempStorage room;
    T v[2];
    L n[2];
    unsigned sum = 0;
    for (int i = 0; i < 2; i++) {
        v[i] = items[threadIdx.x * 2 + i];
        n[i] = lengths[threadIdx.x * 2 + i];
    }
    decode d(room, v, n, sum);
    for (unsigned at = 0; at < sum; at += 64 * 4) {
        T decoded[4];
        d.RunLengthDecode(decoded, at);
        for (int i = 0; i < 4; i++)
            if (at + threadIdx.x * 4 + i < sum)
                out[at + threadIdx.x * 4 + i] = decoded[i];
    }
    if (threadIdx.x == 0)
        *total = sum;
}
