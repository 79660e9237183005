// spec: matmul   expect: wrong
// A part of the sum is left out where K is large.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float all = 0;
#if CHEAT
    const int end = k < 1000 ? k : 1000;
#else
    const int end = k;
#endif
    for (int i = 0; i < end; i++)
        all += a[row * k + i] * b[i * n + column];
    c[row * n + column] = all;
}
