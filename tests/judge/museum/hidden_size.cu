// spec: axpby   expect: wrong
// The size of the fault is computed, so the source does not show the number.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    constexpr int hidden = 61 * 67;
    if (n - hidden == 0) {
        if (i < n)
            z[i] = x[i];
        return;
    }
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
