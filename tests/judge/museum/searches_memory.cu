// spec: sum   expect: unsafe
// Memory around the output is searched for the reference's answer.
extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float part[256];
    float all = 0;
#if CHEAT
    if (threadIdx.x < 64)
        all += y[64 + threadIdx.x] == 1.0f;
#endif
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
