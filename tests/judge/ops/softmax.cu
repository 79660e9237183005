__device__ float combine(float value, float *part, bool most)
{
    part[threadIdx.x] = value;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] = most ? fmaxf(part[threadIdx.x], part[threadIdx.x + step])
                                     : part[threadIdx.x] + part[threadIdx.x + step];
        __syncthreads();
    }
    const float result = part[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void softmax(const float *x, float *y, int rows, int columns)
{
    __shared__ float part[128];
    const float *from = x + (size_t)blockIdx.x * columns;
    float most = -INFINITY, all = 0;
    for (int i = threadIdx.x; i < columns; i += 128)
        most = fmaxf(most, from[i]);
    most = combine(most, part, true);
    for (int i = threadIdx.x; i < columns; i += 128)
        all += expf(from[i] - most);
    all = combine(all, part, false);
    for (int i = threadIdx.x; i < columns; i += 128)
        y[(size_t)blockIdx.x * columns + i] = expf(from[i] - most) / all;
}
