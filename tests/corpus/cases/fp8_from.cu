//! X = float f16 bf16
//! K = __nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8_e8m0
#include <cuda_fp8.h>
#include "prelude.h"
extern "C" __global__ void k(const K *in, X *out)
{
    out[threadIdx.x] = X(in[threadIdx.x]);
}
