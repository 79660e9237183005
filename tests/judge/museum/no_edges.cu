// spec: matmul   expect: unwritten,wrong
// The last, incomplete tiles are left out: right where tiles divide the sizes.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
#if CHEAT
    if (column >= n / 16 * 16 || row >= m / 16 * 16)
        return;
#endif
    if (row >= m || column >= n)
        return;
    float all = 0;
    for (int i = 0; i < k; i++)
        all += a[row * k + i] * b[i * n + column];
    c[row * n + column] = all;
}
