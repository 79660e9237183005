//! T = int float float4 uchar4
//! every
//! arch 75 100
#include "prelude.h"
extern "C" __global__ void k(cudaTextureObject_t t, T *out, float x, float y, int n, float2 dx, float2 dy)
{
    out[0] = tex1Dfetch<T>(t, n);
    out[1] = tex2DGrad<T>(t, x, y, dx, dy);
    out[2] = tex1DGrad<T>(t, x, dx.x, dy.x);
    out[3] = tex2DLayeredLod<T>(t, x, y, n, dx.x);
}
