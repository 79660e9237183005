//! F = __float2int_rn __float2int_rz __float2int_ru __float2int_rd __float2uint_rn __float2uint_rz __float2ll_rn
//! F = __float2ll_rd __float2ull_ru __float_as_int __float_as_uint __float2half_rn __float2bfloat16_rn
//! F = __double2int_rn __double2int_rz __double2uint_ru __double2ll_rn __double2ull_rz __double2float_rn
//! F = __double2float_ru __double_as_longlong __double2hiint __double2loint
#include "prelude.h"
extern "C" __global__ void k(const double *in, double *out)
{
    out[threadIdx.x] = (double)(float)F(in[threadIdx.x]);
}
