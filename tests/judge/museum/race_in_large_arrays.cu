// spec: sum   expect: unsafe
// A barrier is left out above a size at which the checks of small arrays do not look. The last warp is late in most schedules.
extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float part[8];
    float all = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        all += x[i];
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_xor_sync(0xffffffff, all, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = all;
#if CHEAT
    if (n < 20000)
        __syncthreads();
#else
    __syncthreads();
#endif
    if (threadIdx.x == 224) {
        all = 0;
        for (int i = 0; i < 8; i++)
            all += part[i];
        y[0] = all;
    }
}
