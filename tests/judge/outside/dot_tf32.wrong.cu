// spec: dot
// Wrong: each factor is cut to 10 bits of mantissa; beyond the tolerance, for example for a = b = 0.9999 everywhere.
extern "C" __global__ void dot(const float *a, const float *b, float *y, int n)
{
    __shared__ float part[256];
    const int t = threadIdx.x;
    float all = 0;
    for (int i = blockIdx.x * 256 + t; i < n; i += 16 * 256)
        all += __uint_as_float(__float_as_uint(a[i]) & 0xffffe000u) * b[i];
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
