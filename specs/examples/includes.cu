// The kernel of includes.yaml.
#include "vector.cuh" // specs/examples/headers/vector.cuh

extern "C" __global__ void vector_lengths(const float4 *v, float *lengths, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        lengths[i] = vector_length(v[i]);
}
