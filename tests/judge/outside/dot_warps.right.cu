// spec: dot
// Right: an atomic addition a warp.
extern "C" __global__ void dot(const float *a, const float *b, float *y, int n)
{
    float all = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        all = fmaf(a[i], b[i], all);
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_down_sync(0xffffffffu, all, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(y, all);
}
