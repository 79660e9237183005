extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float left[16][16], right[16][16];
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float all = 0;
    for (int first = 0; first < k; first += 16) {
        const int at = first + threadIdx.x, down = first + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && at < k ? a[row * k + at] : 0;
        right[threadIdx.y][threadIdx.x] = down < k && column < n ? b[down * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            all += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = all;
}
