// spec: axpby   expect: unsafe,wrong
// An element that is there already is not computed again.
extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (i < n && z[i] != 0 && z[i] == z[i])
        return;
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
