// spec: dot
// Wrong: no barrier in the last six steps of the tree, in the belief that a warp runs in step; a race.
extern "C" __global__ void dot(const float *a, const float *b, float *y, int n)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    float all = 0;
    for (int i = blockIdx.x * 256 + t; i < n; i += 16 * 256)
        all += a[i] * b[i];
    part[t] = all;
    __syncthreads(); // parts
    for (int step = 128; step > 0; step /= 2) {
        if (t < step)
            part[t] += part[t + step];
        if (step > 32)
            __syncthreads();
    }
    if (t == 0)
        atomicAdd(y, part[0]);
}
