// spec: dot
// Right: the last steps of the tree are ordered by __syncwarp.
extern "C" __global__ void dot(const float *a, const float *b, float *y, int n)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    float all = 0, lost = 0; // compensated
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
        const float v = a[i] * b[i] - lost, next = all + v;
        lost = (next - all) - v;
        all = next;
    }
    part[t] = all;
    __syncthreads();
    for (int step = 128; step >= 32; step /= 2) {
        if (t < step)
            part[t] += part[t + step];
        __syncthreads();
    }
    if (t < 32)
        for (int step = 16; step > 0; step /= 2) {
            const float v = t < step ? part[t + step] : 0.0f;
            __syncwarp();
            part[t] += v;
            __syncwarp();
        }
    if (t == 0)
        atomicAdd(y, part[0]);
}
