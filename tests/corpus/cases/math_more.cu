//! T = float double
//! every
#include "prelude.h"
__device__ float norms(int n, const float *v) { return normf(n, v) + rnormf(n, v); }
__device__ double norms(int n, const double *v) { return norm(n, v) + rnorm(n, v); }
extern "C" __global__ void k(const T *in, T *out, int n, int *whole)
{
    T a = in[threadIdx.x], b = in[threadIdx.x + 32], c = in[threadIdx.x + 64], s, t;
    out[0] = fma(a, b, c) + norm3d(a, b, c) + rnorm3d(a, b, c) + norm4d(a, b, c, a) + rnorm4d(a, b, c, a);
    out[4] = norms(n, in);
    out[1] = jn(n, a) + yn(n, b) + ldexp(a, n) + scalbn(b, n) + scalbln(c, (long)n);
    sincos(a, &s, &t);
    out[2] = s + t;
    sincospi(b, &s, &t);
    out[3] = s * t + frexp(a, whole) + modf(b, &s) + remquo(a, b, whole + 1) + s;
    whole[2] = ilogb(a) + isfinite(a) + isinf(b) + isnan(c) + signbit(a) + (int)lrint(a) + (int)lround(b);
    whole[3] = (int)llrint(a) + (int)llround(b);
}
