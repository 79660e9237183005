// spec: rmsnorm
// Wrong: the mean divides by C rounded up to a multiple of 32.
extern "C" __global__ void rmsnorm(const float *x, const float *g, float *y, int rows, int columns, float epsilon)
{
    __shared__ float part[128];
    const float *from = x + (size_t)blockIdx.x * columns;
    float *to = y + (size_t)blockIdx.x * columns;
    const int t = threadIdx.x;
    float all = 0;
    for (int i = t; i < columns; i += 128)
        all += from[i] * from[i];
    part[t] = all;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (t < step)
            part[t] += part[t + step];
        __syncthreads();
    }
    const float scale = 1 / sqrtf(part[0] / ((columns + 31) / 32 * 32) + epsilon);
    for (int i = t; i < columns; i += 128)
        to[i] = from[i] * scale * g[i];
}
