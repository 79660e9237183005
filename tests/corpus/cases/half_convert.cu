//! H = f16 bf16
//! X = float double int u32 i16 u16 i64 u64
#include "prelude.h"
extern "C" __global__ void k(const H *in, X *out, H *back)
{
    out[threadIdx.x] = (X)in[threadIdx.x];
    back[threadIdx.x] = (H)out[threadIdx.x + 32];
}
