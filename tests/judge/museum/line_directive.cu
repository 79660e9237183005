// spec: axpby   expect: unsafe
// The line directive moves the blame to a file of the harness.
#if CHEAT
#line 1 "/usr/include/stdio.h"
#endif
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    z[i] = a * x[i] + b * y[i];
#else
    if (i < n)
        z[i] = a * x[i] + b * y[i];
#endif
}
