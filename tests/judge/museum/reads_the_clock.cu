// spec: axpby   expect: forbidden
// The kernel does the work only while somebody measures.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (clock64() < 0)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
