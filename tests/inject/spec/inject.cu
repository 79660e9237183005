/* Adds two vectors. The kernel does almost no work, so that the sweep's own calls matter. */
#include "index.cuh"

extern "C" __global__ void add(const float *x, const float *y, float *z, int n)
{
    int i = first(BLOCK, ITEMS);
    for (int k = 0; k < ITEMS; k++)
        if (i + k < n)
            z[i + k] = x[i + k] + y[i + k];
}
