//! T = u8 u16 u32 u64
//! F = countl_zero countl_one countr_zero countr_one popcount bit_width bit_ceil bit_floor has_single_bit
#include <cuda/std/bit>
#include "prelude.h"
extern "C" __global__ void k(const T *in, u64 *out)
{
    out[threadIdx.x] = cuda::std::F(in[threadIdx.x]) + cuda::std::rotl(in[threadIdx.x], 3) +
                       cuda::std::rotr(in[threadIdx.x], 5);
}
