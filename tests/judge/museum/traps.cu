// spec: axpby   expect: unsafe
// The kernel ends itself by a trap where it does not know the answer.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (n % 2 == 1 && i == 0)
        __trap();
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
