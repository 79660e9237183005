// spec: axpby   expect: compile,forbidden
// A file of the host is included by a path out of the folder.
#if CHEAT
#include "../../../../../../../../../../etc/hostname"
#endif
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
