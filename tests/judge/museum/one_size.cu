// spec: axpby   expect: wrong,unwritten
// The answer is right at the size of the benchmark only.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (n != 1048576 && n > 2048)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
