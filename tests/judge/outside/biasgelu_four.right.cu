// spec: biasgelu
// Right: a thread of the first quarter has four elements, 256 apart.
extern "C" __global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    const int n = rows * columns, first = blockIdx.x * 1024 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int i = first + k * 256;
        if (i < n) {
            const float v = x[i] + b[i % columns];
            y[i] = 0.5f * v * erfcf(v * -0.70710678f);
        }
    }
}
