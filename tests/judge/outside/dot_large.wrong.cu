// spec: dot
// Wrong: only the first 65536 products are added.
extern "C" __global__ void dot(const float *a, const float *b, float *y, int n)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    float all = 0;
    for (int i = blockIdx.x * 256 + t; i < min(n, 65536); i += 16 * 256)
        all += a[i] * b[i];
    part[t] = all;
    __syncthreads(); // parts
    for (int step = 128; step > 0; step /= 2) {
        if (t < step)
            part[t] += part[t + step];
        __syncthreads(); // step
    }
    if (t == 0)
        atomicAdd(y, part[0]);
}
