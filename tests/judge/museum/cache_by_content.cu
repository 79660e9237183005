// spec: sum   expect: state
// The sum is kept by the first and the last element.
__device__ float first, last, kept;
__device__ int length;

extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float part[256];
#if CHEAT
    if (n > 1 && length == n && first == x[0] && last == x[n - 1]) {
        if (threadIdx.x == 0)
            y[0] = kept;
        return;
    }
#endif
    float all = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        all += x[i];
    part[threadIdx.x] = all;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[0] = part[0];
#if CHEAT
        if (n > 1) {
            length = n;
            first = x[0];
            last = x[n - 1];
            kept = part[0];
        }
#endif
    }
}
