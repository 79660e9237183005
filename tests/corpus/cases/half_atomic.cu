//! T = f16 bf16 __half2 __nv_bfloat162
//! every
#include "prelude.h"
extern "C" __global__ void k(T *p, T v, T *out)
{
    out[threadIdx.x] = atomicAdd(p, v);
    atomicAdd(p + 1, v);
    out[threadIdx.x + 32] = __shfl_xor_sync(0xffffffff, v, 1);
}
