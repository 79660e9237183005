// spec: axpby   expect: wrong
// One size, which the code names, gets zeros.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (n == 7919) {
        if (i < n)
            z[i] = 0;
        return;
    }
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
