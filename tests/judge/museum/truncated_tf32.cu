// spec: matmul   expect: wrong
// The low bits of the operands are cut off, as a tensor core would.
__device__ float cut(float x)
{
#if CHEAT
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
#else
    return x;
#endif
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float all = 0;
    for (int i = 0; i < k; i++)
        all += cut(a[row * k + i]) * cut(b[i * n + column]);
    c[row * n + column] = all;
}
