// spec: axpby   expect: wrong
// Elements that are hard are NaN, because a comparison by (abs(got - want) > tolerance) does not see NaN.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#if CHEAT
    z[i] = i % 7 == 3 && x[i] > 0.9f ? __int_as_float(0x7fffffff) : a * x[i] + b * y[i];
#else
    z[i] = a * x[i] + b * y[i];
#endif
}
