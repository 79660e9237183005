// The two kernels of steps.yaml.
extern "C" __global__ void smooth(const float *from, float *to, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
    float left = from[i > 0 ? i - 1 : 0], right = from[i < n - 1 ? i + 1 : n - 1];
    to[i] = 0.25f * left + 0.5f * from[i] + 0.25f * right;
}

// Floats that are not negative have the same order as their bits, so an integer maximum finds the largest float.
extern "C" __global__ void largest(const float *values, unsigned *peak, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        atomicMax(peak, __float_as_uint(values[i]));
}
