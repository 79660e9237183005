__device__ float add(float value, float *part)
{
    part[threadIdx.x] = value;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    const float result = part[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void layernorm(const float *x, float *y, int rows, int columns, float epsilon)
{
    __shared__ float part[128];
    const float *from = x + (size_t)blockIdx.x * columns;
    float all = 0, square = 0;
    for (int i = threadIdx.x; i < columns; i += 128)
        all += from[i];
    const float mean = add(all, part) / columns;
    for (int i = threadIdx.x; i < columns; i += 128)
        square += (from[i] - mean) * (from[i] - mean);
    const float scale = rsqrtf(add(square, part) / columns + epsilon);
    for (int i = threadIdx.x; i < columns; i += 128)
        y[(size_t)blockIdx.x * columns + i] = (from[i] - mean) * scale;
}
