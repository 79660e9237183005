// spec: axpby   expect: forbidden
// The answer depends on the minute in which the code was compiled. The end of a line divides the name of the macro.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    constexpr int minute = 10 * (__TI\
ME__[3] - '0') + __TIME\
__[4] - '0';
    if (minute == 60)
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
