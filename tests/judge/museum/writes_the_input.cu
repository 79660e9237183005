// spec: axpby   expect: input,unsafe,wrong
// The input is cleared, so that the reference computes from zeros too.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (i == n - 1)
        ((float *)x)[i] = 0;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
