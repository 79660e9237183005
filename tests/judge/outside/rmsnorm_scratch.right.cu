// spec: rmsnorm
// Right: the output holds the squares before it gets the answer.
extern "C" __global__ void rmsnorm(const float *x, const float *g, float *y, int rows, int columns, float epsilon)
{
    const size_t row = (size_t)blockIdx.x * columns;
    __shared__ float scale;
    for (int i = threadIdx.x; i < columns; i += 128)
        y[row + i] = x[row + i] * x[row + i];
    __syncthreads();
    if (threadIdx.x == 0) {
        double all = 0;
        for (int i = 0; i < columns; i++)
            all += y[row + i];
        scale = (float)(1 / sqrt(all / columns + epsilon));
    }
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 128)
        y[row + i] = x[row + i] * scale * g[i];
}
