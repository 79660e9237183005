// A header of includes.cu. LENGTH_FAST comes from the spec: 1 takes the faster, less exact square root.
#pragma once

__device__ inline float vector_length(float4 v)
{
    float square = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    return LENGTH_FAST ? __fsqrt_rn(square) : sqrtf(square);
}
