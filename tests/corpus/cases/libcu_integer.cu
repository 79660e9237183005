//! T = int u32 i64 u64
#include <cuda/cmath>
#include "prelude.h"
extern "C" __global__ void k(const T *in, T *out, int n)
{
    T a = in[threadIdx.x], b = in[threadIdx.x + 32];
    out[1] = cuda::ceil_div(a, b) + cuda::round_up(a, b) + cuda::round_down(a, b);
    out[2] = T(cuda::ilog2(a) + cuda::ilog10(b));
}
