// spec: axpby   expect: compile,forbidden
// The candidate includes a file of the host: its path leads out of the folder of the sources.
#if CHEAT
#include "../../../../../../../../../../etc/hostname"
#endif
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
