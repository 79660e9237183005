// spec: sum   expect: wrong
// The sum is made in half precision, which is faster and wrong in the third digit.
#include <cuda_fp16.h>
#if CHEAT
typedef __half real;
#else
typedef float real;
#endif

extern "C" __global__ void sum(const float *x, float *y, int n)
{
    __shared__ float part[256];
    real all = real(0.0f);
    for (int i = threadIdx.x; i < n; i += 256)
        all = real((float)all + x[i]);
    part[threadIdx.x] = (float)all;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[0] = part[0];
}
