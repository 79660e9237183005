// spec: biasgelu
// Wrong: the bias of the first call is kept in a __device__ array and used by later calls.
__device__ float kept[1000];
__device__ int filled;

extern "C" __global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= rows * columns)
        return;
    const int c = i % columns;
    const float v = x[i] + (filled > c ? kept[c] : b[c]);
    y[i] = 0.5f * v * (1 + erff(v * 0.70710678f));
    if (i == rows * columns - 1) {
        for (int k = 0; k < columns; k++)
            kept[k] = b[k];
        filled = columns;
    }
}
