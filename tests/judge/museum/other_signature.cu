// spec: axpby   expect: launch,compile,unsafe,wrong
// The kernel takes fewer arguments than the launch passes.
#if CHEAT
extern "C" __global__ void axpby(float a, const float *x, float *z)
{
    z[blockIdx.x * blockDim.x + threadIdx.x] = a * x[blockIdx.x * blockDim.x + threadIdx.x];
}
#else
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
#endif
