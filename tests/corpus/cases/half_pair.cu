//! T = __half2 __nv_bfloat162
//! F = h2ceil h2cos h2exp h2exp10 h2exp2 h2floor h2log h2log10 h2log2 h2rcp h2rint h2rsqrt h2sin h2sqrt h2trunc h2tanh
//! F = h2tanh_approx __habs2 __hneg2 __hisnan2
#include "prelude.h"
extern "C" __global__ void k(const T *in, T *out)
{
    out[threadIdx.x] = F(in[threadIdx.x]);
}
