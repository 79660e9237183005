//! T = float double
//! F = exp exp2 expm1 log log2 log10 log1p logb sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
//! F = fabs ceil floor trunc round rint nearbyint
#include <cuda/std/cmath>
#include "prelude.h"
extern "C" __global__ void k(const T *in, T *out)
{
    out[threadIdx.x] = cuda::std::F(in[threadIdx.x]);
}
