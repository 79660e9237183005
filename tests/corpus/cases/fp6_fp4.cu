//! K = __nv_fp6_e2m3 __nv_fp6_e3m2 __nv_fp4_e2m1
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include "prelude.h"
extern "C" __global__ void k(const float *in, K *out, float *back)
{
    out[threadIdx.x] = K(in[threadIdx.x]);
    back[threadIdx.x] = float(out[threadIdx.x]);
}
