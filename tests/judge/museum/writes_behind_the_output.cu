// spec: axpby   expect: unsafe,outside
// The kernel writes past the end of its output.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (i < n + 8)
#else
    if (i < n)
#endif
        z[i] = i < n ? a * x[i] + b * y[i] : 0;
}
