// spec: conv3
// Wrong: each thread loads one element of the tile, so 68 of its 324 elements are uninitialised.
extern "C" __global__ void conv3(const float *x, const float *w, float *y, int rows, int columns)
{
    __shared__ float tile[18][18];
    const int c0 = blockIdx.x * 16, r0 = blockIdx.y * 16;
    const int c = c0 + threadIdx.x, r = r0 + threadIdx.y;
    for (int k = threadIdx.y * 16 + threadIdx.x; k < 256; k += 256) {
        const int rr = r0 + k / 18 - 1, cc = c0 + k % 18 - 1;
        tile[k / 18][k % 18] = rr >= 0 && rr < rows && cc >= 0 && cc < columns ? x[rr * columns + cc] : 0.0f;
    }
    __syncthreads(); // tile
    if (r >= rows || c >= columns)
        return;
    float all = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            all += w[i * 3 + j] * tile[threadIdx.y + i][threadIdx.x + j];
    y[r * columns + c] = all;
}
