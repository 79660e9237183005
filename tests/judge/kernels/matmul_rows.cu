// spec: matmul
// wrong no-rest: for (; i < k; i++) => for (; i < 0; i++)
// wrong overlap: i + 3 < k => i + 2 < k
// wrong three-sums: (sum[2] + sum[3]) => sum[2]
// wrong leading: (size_t)(i + u) * n => (size_t)(i + u) * k
// wrong row-guard: row >= m || column >= n => column >= n
// wrong column-guard: row >= m || column >= n => row >= m
// wrong store: (size_t)row * n + column] = sum => (size_t)row * m + column] = sum
// wrong start: {0, 0, 0, 0} => {1e-3f, 0, 0, 0}
// A thread an element, without shared memory, four partial sums.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float sum[4] = {0, 0, 0, 0};
    int i = 0;
    for (; i + 3 < k; i += 4)
        for (int u = 0; u < 4; u++)
            sum[u] += a[(size_t)row * k + i + u] * b[(size_t)(i + u) * n + column];
    for (; i < k; i++)
        sum[0] += a[(size_t)row * k + i] * b[(size_t)i * n + column];
    c[(size_t)row * n + column] = sum[0] + sum[1] + (sum[2] + sum[3]);
}
