// spec: sum   expect: wrong
// Every second element is left out, and the sum is doubled: right on the average.
#if CHEAT
#define STEP 2
#else
#define STEP 1
#endif

extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float part[256];
    float all = 0;
    for (int i = threadIdx.x * STEP; i < n; i += 256 * STEP)
        all += x[i] * STEP;
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
