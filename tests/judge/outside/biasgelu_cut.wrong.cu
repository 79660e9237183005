// spec: biasgelu
// Wrong: values below -3 become 0; wrong for v = -3.5, where the answer is -8e-4.
extern "C" __global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    const float v = x[i] + b[i % columns];
    y[i] = v < -3 ? 0.0f : 0.5f * v * (1 + erff(v * 0.70710678f));
}
