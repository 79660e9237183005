// spec: sum   expect: state
// The partial sums are in a variable of the module. Every call writes them before it reads them, so calls one after another are right.
// Two calls at the same time overwrite each other's partial sums.
#if CHEAT
__device__ float part[256];
#endif
extern "C" __global__ void sum(const float *x, float *y, int n)
{
#if CHEAT
#else
    __shared__ float part[256];
#endif
    float all = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        all += x[i];
    part[threadIdx.x] = all;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[0] = part[0];
}
