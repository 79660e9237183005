// spec: biasgelu
// Wrong: the bias lies in shared memory, of which only the first 256 elements are loaded; wrong if C > 256.
extern "C" __global__ void biasgelu(const float *x, const float *b, float *y, int rows, int columns)
{
    __shared__ float bias[1024];
    if (threadIdx.x < columns)
        bias[threadIdx.x] = b[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < rows * columns) {
        const float v = x[i] + bias[i % columns];
        y[i] = 0.5f * v * (1 + erff(v * 0.70710678f));
    }
}
