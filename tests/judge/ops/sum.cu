extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float part[256];
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
