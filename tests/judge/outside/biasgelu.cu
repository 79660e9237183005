// spec: biasgelu
extern "C" __global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    const float v = x[i] + b[i % columns];
    y[i] = 0.5f * v * (1 + erff(v * 0.70710678f));
}
