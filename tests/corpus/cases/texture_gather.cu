//! T = uchar4 int4 uint4 float4
#include "prelude.h"
extern "C" __global__ void k(cudaTextureObject_t t, T *out, float x, float y)
{
    out[0] = tex2Dgather<T>(t, x, y, 0);
    out[1] = tex2Dgather<T>(t, x, y, 3);
}
