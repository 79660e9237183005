//! T = u8 i16 int u32 float uchar4 short2 int4 float2 float4
//! F = tex1D,x tex2D,x,y tex3D,x,y,z tex1DLod,x,z tex2DLod,x,y,z tex1DLayered,x,n tex2DLayered,x,y,n texCubemap,x,y,z
#include "prelude.h"
#define CALL_(f, ...) f<T>(t, __VA_ARGS__)
#define CALL(...) CALL_(__VA_ARGS__)
extern "C" __global__ void k(cudaTextureObject_t t, T *out, float x, float y, float z, int n)
{
    out[threadIdx.x] = CALL(F);
}
