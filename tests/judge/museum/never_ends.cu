// spec: axpby   expect: timeout
// The kernel does not end.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    for (volatile int turn = 0; turn >= 0; turn = 0)
        ;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
