/* Adds two vectors: next to no work, so that a sweep is about everything else. */
#include "index.cuh"

extern "C" __global__ void add(const float *x, const float *y, float *z, int n)
{
    int i = first(BLOCK, ITEMS);
    for (int k = 0; k < ITEMS; k++)
        if (i + k < n)
            z[i + k] = x[i + k] + y[i + k];
}
