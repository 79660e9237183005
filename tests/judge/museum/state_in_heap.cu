// spec: axpby   expect: state,unsafe
// The kept answer lies in memory of malloc(), which no one frees.
__device__ float *kept;

extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (i == 0 && !kept) {
        kept = (float *)malloc(64);
        if (kept)
            kept[0] = a;
    }
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
