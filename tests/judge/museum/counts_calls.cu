// spec: axpby   expect: state
// The first calls, which a harness checks, are right; later ones do less.
__device__ unsigned calls[4096];

extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (i < n && i < 4096 && ++calls[i] > 40) {
        z[i] = x[i];
        return;
    }
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
