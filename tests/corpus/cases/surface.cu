//! T = u8 i16 int u64 float uchar4 short2 int4 float2 float4
//! MODE = cudaBoundaryModeTrap cudaBoundaryModeClamp cudaBoundaryModeZero
#include "prelude.h"
extern "C" __global__ void k(cudaSurfaceObject_t s, cudaSurfaceObject_t d, int x, int y, int z)
{
    T v;
    surf1Dread(&v, s, x, MODE);
    surf1Dwrite(v, d, x, MODE);
    surf2Dread(&v, s, x, y, MODE);
    surf2Dwrite(v, d, x, y, MODE);
    surf3Dread(&v, s, x, y, z, MODE);
    surf3Dwrite(v, d, x, y, z, MODE);
    surf2DLayeredread(&v, s, x, y, z, MODE);
    surf2DLayeredwrite(v, d, x, y, z, MODE);
}
