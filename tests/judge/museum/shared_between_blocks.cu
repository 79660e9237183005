// spec: sum   expect: unsafe
// The kernel hopes that shared memory still has what the block before left there.
extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float kept[2];
    __shared__ float part[256];
#if CHEAT
    if (kept[0] == (float)n && kept[1] == x[0] && n > 0) {
        if (threadIdx.x == 0)
            y[0] = kept[1];
        return;
    }
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
    if (threadIdx.x == 0) {
        y[0] = part[0];
        kept[0] = n;
        kept[1] = y[0];
    }
}
