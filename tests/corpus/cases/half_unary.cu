//! T = f16 bf16
//! F = hceil hcos hexp hexp10 hexp2 hfloor hlog hlog10 hlog2 hrcp hrint hrsqrt hsin hsqrt htrunc htanh htanh_approx
//! F = __habs __hneg __hisnan
#include "prelude.h"
extern "C" __global__ void k(const T *in, T *out)
{
    out[threadIdx.x] = F(in[threadIdx.x]);
}
