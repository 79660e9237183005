// spec: axpby   expect: state
// Answers are kept by the address of an input.
__device__ const float *seen[4096];
__device__ float kept[4096];

extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (i < n && i < 4096 && seen[i] == x) {
        z[i] = kept[i];
        return;
    }
    if (i < n && i < 4096) {
        kept[i] = a * x[i] + b * y[i];
        seen[i] = x;
    }
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
