// spec: biasgelu
// Wrong: the column is found with a division in float; wrong where it rounds, for example at multiples of C = 41.
extern "C" __global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    const float v = x[i] + b[min(max(i - (int)(i * (1.0f / columns)) * columns, 0), columns - 1)];
    y[i] = 0.5f * v * (1 + erff(v * 0.70710678f));
}
