// spec: biasgelu
// Wrong: the approximation by tanh, whose error of 4e-4 is beyond the tolerance, for example for v = 2.
extern "C" __global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    const float v = x[i] + b[i % columns];
    y[i] = 0.5f * v * (1 + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}
