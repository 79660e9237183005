// spec: axpby   expect: state
// The first call stores its answer; later calls copy it.
__device__ float kept[4096];
__device__ int known[4096];

extern "C" __global__ void axpby(float a, const float *x, float b, const float *y, float *z, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT
    if (i < n && i < 4096 && known[i] == n) {
        z[i] = kept[i];
        return;
    }
    if (i < n && i < 4096) {
        kept[i] = a * x[i] + b * y[i];
        known[i] = n;
    }
#endif
    if (i < n)
        z[i] = a * x[i] + b * y[i];
}
