// spec: rmsnorm
// Wrong: only the first two of four warps are added; wrong if C > 64.
extern "C" __global__ void rmsnorm(const float *x, const float *g, float *y, int rows, int columns, float epsilon)
{
    __shared__ float part[4];
    const float *from = x + (size_t)blockIdx.x * columns;
    float *to = y + (size_t)blockIdx.x * columns;
    const int t = threadIdx.x;
    float all = 0;
    for (int i = t; i < columns; i += blockDim.x)
        all = fmaf(from[i], from[i], all);
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_xor_sync(0xffffffffu, all, step);
    if (t % 32 == 0)
        part[t / 32] = all;
    __syncthreads(); // parts
    all = part[0] + part[1];
    const float scale = rsqrtf(all / columns + epsilon);
    for (int i = t; i < columns; i += blockDim.x)
        to[i] = from[i] * scale * g[i];
}
