// spec: dot
// Right: four elements a load, and a tail.
extern "C" __global__ void dot(const float *a, const float *b, float *y, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, all_threads = gridDim.x * blockDim.x;
    float all = 0;
    for (int i = t; i < n / 4; i += all_threads) {
        const float4 p = ((const float4 *)a)[i], q = ((const float4 *)b)[i];
        all += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
    if (t < n % 4)
        all += a[n / 4 * 4 + t] * b[n / 4 * 4 + t];
    for (int step = 16; step > 0; step /= 2)
        all += __shfl_xor_sync(0xffffffffu, all, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(y, all);
}
