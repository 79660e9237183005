// spec: axpby   expect: unwritten
// The kernel does nothing; a harness that compares with memory of an earlier call passes it.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
