// spec: matmul   expect: wrong
// Products are rounded to half precision.
#include <cuda_fp16.h>

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float all = 0;
    for (int i = 0; i < k; i++) {
#if CHEAT
        all += __half2float(__float2half(a[row * k + i])) * __half2float(__float2half(b[i * n + column]));
#else
        all += a[row * k + i] * b[i * n + column];
#endif
    }
    c[row * n + column] = all;
}
